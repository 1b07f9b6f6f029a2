/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.h - what backends get for rotary positions.
 *
 * A pair of elements of a row turns by its position times the pair's frequency,
 * or by an angle whose cosine and sine are given. */
#ifndef LIB_OP_ATTENTION_ROTARY_H
#define LIB_OP_ATTENTION_ROTARY_H

#include "lib/core/core.h"

/** Turn rows of x [..., t, d], not empty; y may be x exactly. */
struct rotary_op {
    struct op op;
    int64_t dims;     /* even, <= d; the rest is copied */
    int64_t offset;   /* of positions, when position is absent */
    bool interleaved; /* pairs are neighbours, else dims / 2 apart */
    bool inverse;     /* by the negative angle: backward */
    uint8_t gap[6];
    struct view x;
    struct view position; /* optional: i32, x's shape, last stride 0 */
    struct view freq;     /* f32 [dims / 2]; absent when dims is 0 */
    struct view cosine;   /* optional: float, x's shape with dims / 2 last; */
    struct view sine;     /* both or none, and none of the two before */
    struct view y;
};

#endif
