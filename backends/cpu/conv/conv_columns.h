/* SPDX-License-Identifier: Apache-2.0 */
/* conv_columns.h - positions of a band as the columns of a GEMM, side by
 * side, without the padding of planes. */
#ifndef BACKENDS_CPU_CONV_CONV_COLUMNS_H
#define BACKENDS_CPU_CONV_CONV_COLUMNS_H

#include "backends/cpu/conv/conv_kernels.h"

/** Positions of rows of one or several images, in planes. */
struct conv_columns {
    uint32_t bytes;       /* of an element of a plane */
    int64_t wide;         /* positions of a row */
    int64_t pitch;        /* elements from row to row, and */
    int64_t image;        /* from image to image */
    int64_t first;        /* the element of an image's first position */
    int64_t rows, others; /* of the first image, and of each other one */
    int64_t x, y, n;      /* the next position: column, row and image */
};

/** Set moves to the next `count` positions: the elements of a tile's columns at
 * most. vector: the bytes of one move. Return the number of moves. */
uint32_t conv_columns_next(struct conv_columns *c, uint32_t count,
                           uint32_t vector, struct conv_move *moves);

#endif
