/* SPDX-License-Identifier: Apache-2.0 */
/* pool_kernels.h - what pooling calls of an instruction set: rows of results
 * from planes (conv_kernels.h), in which taps are shifts. */
#ifndef BACKENDS_CPU_CONV_POOL_KERNELS_H
#define BACKENDS_CPU_CONV_POOL_KERNELS_H

#include <stdint.h>

#include <sesqui/dtype.h>

/** A row of results. */
struct pool_row {
    const float *planes;    /* at the first position */
    const uint32_t *offset; /* of each tap */
    uint32_t taps, wide;    /* results */
    ssq_dtype dtype;        /* of y */
    void *y;
    /* averages: each is divided by row_count times */
    const float *count;
    float row_count;
    /* maxima: where they are; NULL: no one asks. Tap t of the first position is
     * at place[t] + row_place, of the others as far from there as column[] says
     * (LANES words and more); the first tap within the image is at first[] +
     * row_first, or nowhere: less than 0 */
    int32_t *index;
    const int32_t *place, *column, *first;
    int32_t row_place, row_first;
};

struct pool_kernels {
    uint32_t width;
    void (*average)(const struct pool_row *row);
    void (*most)(const struct pool_row *row);
};

#endif
