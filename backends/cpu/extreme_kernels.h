/* SPDX-License-Identifier: Apache-2.0 */
/* extreme_kernels.h - maxima and minima, as an instruction set finds them. */
#ifndef BACKENDS_CPU_EXTREME_KERNELS_H
#define BACKENDS_CPU_EXTREME_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sesqui/dtype.h>

/** Of some elements: the greatest key, a signed number that grows with an
 *  element's value, or falls where a minimum is looked for; and the greatest
 *  magnitude, as bits without their sign, which tells of a NaN. */
struct extreme {
    int32_t key, magnitude;
};

struct extreme_kernels {
    struct extreme (*find)(ssq_dtype dtype, bool minimum, const void *x,
                           size_t n);
};

#endif
