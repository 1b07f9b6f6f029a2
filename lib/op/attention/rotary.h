/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.h - the op of rotary positions.
 *
 * Each pair of elements of a row is rotated by an angle. The angle is its
 * position times the frequency of the pair, or its cosine and sine are
 * given. */
#ifndef LIB_OP_ATTENTION_ROTARY_H
#define LIB_OP_ATTENTION_ROTARY_H

#include "lib/core/core.h"

/** Rotate rows of x [..., t, d], which is not empty; y may be exactly x. */
struct rotary_op {
    struct op op;
    int64_t dims;     /* even, <= d; further elements are copied */
    int64_t offset;   /* the first position, if position is absent */
    bool interleaved; /* pairs are adjacent, else dims / 2 apart */
    bool inverse;     /* rotate by the negative angle: backward */
    uint8_t gap[6];
    struct view x;
    struct view position; /* optional: i32, x's shape, last stride 0 */
    struct view freq;     /* f32 [dims / 2]; absent if cosine is present */
    struct view cosine;   /* optional: float, x's shape with dims / 2 last */
    struct view sine;     /* as cosine, or both absent */
    struct view y;
};

#endif
