/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - the one op behind convolution, its gradients, and the transposed.
 *
 * Three operands meet in the products image * filter * map; one of them is
 * what the op computes:
 *
 *     kind           writes   reads           conv2d            transposed
 *     CONV_FORWARD   map      image, filter   conv2d            backward_data
 *     CONV_DATA      image    map, filter     backward_data conv_transpose2d
 *     CONV_WEIGHT    filter   image, map      backward_weight   backward_weight
 *
 * Views are in one form whatever the layout (it is in the strides; one of a
 * channel's or the last stride is 1):
 *
 *     image   [n, groups, c, h, w]
 *     map     [n, groups, o, p, q]
 *     filter  [groups, o, c, r, s]
 *     bias    [groups, channels of what is written], optional, not for weights
 *
 * What is written is not empty; what is read may be. A map may have fewer
 * positions than its image has room for (an output_padding above stride). */
#ifndef LIB_OP_CONV_CONV_H
#define LIB_OP_CONV_CONV_H

#include <sesqui/ops/conv.h>

#include "lib/op/conv/slide.h"

enum conv_kind { CONV_FORWARD, CONV_DATA, CONV_WEIGHT };

/** The sum of all products of an element, then bias and activation in float32,
 *  one rounding. Taps in the padding are zeros that are multiplied, except in
 *  CONV_DATA, where a tap that meets no position may be left out. */
struct conv_op {
    struct op op;
    enum conv_kind kind;
    uint32_t gap;
    int64_t n, groups; /* examples; groups of channels */
    int64_t c, o;      /* channels of image and map in a group */
    struct slide slide[AXES];
    ssq_activation activation;
    uint32_t gap2;
    struct view image, filter, map;
    struct view bias; /* optional */
};

#endif
