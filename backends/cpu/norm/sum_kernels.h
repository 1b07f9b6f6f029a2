/* SPDX-License-Identifier: Apache-2.0 */
/* sum_kernels.h - the sum of a row, as an instruction set makes it. */
#ifndef BACKENDS_CPU_NORM_SUM_KERNELS_H
#define BACKENDS_CPU_NORM_SUM_KERNELS_H

#include <stddef.h>

#include <sesqui/dtype.h>

/** Most elements of a row. */
#define SUM_LONGEST 16384

struct sum_kernels {
    float (*sum)(ssq_dtype dtype, const void *x, size_t n);
};

#endif
