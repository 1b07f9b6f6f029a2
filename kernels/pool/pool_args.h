/* SPDX-License-Identifier: Apache-2.0 */
/* pool_args.h - the parameters of pool2d.k. */
#ifndef KERNELS_POOL_POOL_ARGS_H
#define KERNELS_POOL_POOL_ARGS_H

#include "kernels/operands/either.h"
#include "kernels/pool/pool.h"

/* The table has POOL_WORDS of every row of the result, then of every column;
 * after them, for averages backward, the count of every row and column of the
 * map. Places are modulo 2^32. */
#define POOL_WORDS 4u
#define POOL_PLACE 0u /* of tap 0; backward: x + before */
#define POOL_FIRST 1u /* tap, or position backward */
#define POOL_END   2u
#define POOL_COUNT 3u

struct pool_args {
    u32 table_at;
    u32 x_at;
    u32 y2_at;
    u32 y4_at;
    u32 index_at; /* averages have none */
    u32 n;        /* elements of the result */
    u32 channels_last;
    u32 channels;
    u32 rows;
    u32 columns;
    u32 x_step[4]; /* n, c, h, w */
    u32 y_step[4];
    u32 index_step[4];
    u32 stride[2];
    u32 dilation[2];
    u32 width;    /* of the image */
    u32 map_rows; /* of the counts */
    u32 x_dtype;
    u32 y_dtype;
    u32 indexed;
    float divisor; /* 0: count */
};

#endif
