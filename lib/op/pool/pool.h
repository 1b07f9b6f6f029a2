/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the op of max and average pooling and their backward.
 *
 * Views are [n, c, h, w] for both layouts, which differ only in the strides.
 * The channels or the last dimension have stride 1. Global pooling is a mean:
 * lib/op/reduce/reduce.h. */
#ifndef LIB_OP_POOL_POOL_H
#define LIB_OP_POOL_POOL_H

#include <sesqui/ops/pool.h>

#include "lib/op/conv/slide.h"

enum pool_kind {
    POOL_MAX,          /* map, index = the maxima of image */
    POOL_MAX_BACKWARD, /* image = the map's elements, at the places in index */
    POOL_AVG,          /* map = the averages of image */
    POOL_AVG_BACKWARD  /* image = shares of the map's elements */
};

/** The output is not empty; inputs may be. */
struct pool_op {
    struct op op;
    enum pool_kind kind;
    bool count_padding; /* averages: taps in the padding count as well */
    uint8_t gap[3];
    int64_t divisor; /* averages: instead of a count, unless it is 0 */
    struct slide slide[AXES];
    struct view image, map;
    struct view index; /* i32: row * width + column, or -1: none; optional for
                          POOL_MAX, absent for averages */
};

#endif
