/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - the op of convolution, transposed convolution and their gradients.
 *
 * The products image * filter * map relate three operands. The op computes one
 * of them from the other two:
 *
 *     kind           writes   reads           conv2d            transposed
 *     CONV_FORWARD   map      image, filter   conv2d            backward_data
 *     CONV_DATA      image    map, filter     backward_data conv_transpose2d
 *     CONV_WEIGHT    filter   image, map      backward_weight   backward_weight
 *
 * Views have one form for both layouts, which differ only in the strides. The
 * channels or the last dimension have stride 1.
 *
 *     image   [n, groups, c, h, w]
 *     map     [n, groups, o, p, q]
 *     filter  [groups, o, c, r, s]
 *     bias    [groups, channels of the output], optional, not for weights
 *
 * The output is not empty; inputs may be. A map may have fewer positions than
 * fit into its image (an output_padding above stride). */
#ifndef LIB_OP_CONV_CONV_H
#define LIB_OP_CONV_CONV_H

#include <sesqui/ops/conv.h>

#include "lib/op/conv/slide.h"

enum conv_kind { CONV_FORWARD, CONV_DATA, CONV_WEIGHT };

/** An output element is the sum of its products, then bias and activation, in
 *  float32 with one rounding. Taps in the padding are zeros that are
 *  multiplied. Exception: CONV_DATA may leave out a tap that meets no
 *  position. */
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
