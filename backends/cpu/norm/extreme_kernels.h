/* SPDX-License-Identifier: Apache-2.0 */
/* extreme_kernels.h - maxima and minima, with an instruction set. */
#ifndef BACKENDS_CPU_NORM_EXTREME_KERNELS_H
#define BACKENDS_CPU_NORM_EXTREME_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sesqui/dtype.h>

/** Of some elements: the largest key, a signed number that grows with an
 * element's value, or falls if a minimum is wanted; and the largest magnitude,
 * as bits without a sign, which shows a NaN. */
struct extreme {
    int32_t key, magnitude;
};

struct extreme_kernels {
    struct extreme (*find)(ssq_dtype dtype, bool minimum, const void *x,
                           size_t n);
};

#endif
