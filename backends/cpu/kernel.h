/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - a kernel's source as a function: what native.sh makes of it. */
#ifndef BACKENDS_CPU_KERNEL_H
#define BACKENDS_CPU_KERNEL_H

#include <stdint.h>

/** A kernel's source in one variant, as the core hands it to launches: group
 *  `group` of so many. operand[i] is where binding i begins, words are the
 *  parameters. */
struct backend_kernel {
    void (*run)(void *const *operand, const void *words, uint32_t group,
                uint32_t groups);
};

#endif
