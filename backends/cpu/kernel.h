/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - a kernel's source as a function, which native.sh makes. */
#ifndef BACKENDS_CPU_KERNEL_H
#define BACKENDS_CPU_KERNEL_H

#include <stdint.h>

/** A kernel's source in one variant, as the core hands it to launches: group
 *  `group` out of that number. operand[i] is the start of binding i, words are
 * the parameters. */
struct backend_kernel {
    void (*run)(void *const *operand, const void *words, uint32_t group,
                uint32_t groups);
};

#endif
