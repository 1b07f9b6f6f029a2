/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - the ops of attention, forward and backward.
 *
 * Shapes are as in include/sesqui/ops/attention.h. There is at least one batch,
 * head, query and key. In all views except mask and lse, the last dimension has
 * stride 1 or one element. mask has rank 4. A dimension of mask with size 1 and
 * stride 0 is repeated; its repetitions do not count as elements of a launch.
 *
 *     d == 0      q, k, dq, dk absent: the dot products are 0, scale is 1
 *     dv == 0     forward: v, y absent, lse present; backward: not enqueued
 *
 * Sums over keys or queries are float32 or wider, in any order. */
#ifndef LIB_OP_ATTENTION_ATTENTION_H
#define LIB_OP_ATTENTION_ATTENTION_H

#include "lib/core/core.h"
#include "lib/op/random/random.h"

/** Parameters that both directions receive by value. */
struct attention_params {
    /* kv_heads divides heads; tq queries, tk keys; a head has d elements in q
     * and k, and dv in v */
    int64_t batch, heads, kv_heads, tq, tk, d, dv;
    float scale;   /* of the dot products */
    float softcap; /* 0: none */
    bool causal;
    uint8_t gap[7];
    int64_t causal_offset; /* key j is excluded for j > i + causal_offset */
    bool dropout;          /* false: stream, drop and keep are not read */
    uint8_t gap2[7];
    struct stream stream;
    struct chance drop;
    float keep; /* factor for elements that are not dropped */
    uint32_t gap3;
};

struct attention_op {
    struct op op;
    struct attention_params p;
    struct view q, k, v;
    struct view mask;   /* optional: float or u8 */
    struct view step;   /* optional: i32, one element */
    struct view y, lse; /* out, optional; lse f32 */
};

/** No operand overlaps an output. */
struct attention_backward_op {
    struct op op;
    struct attention_params p;
    struct view q, k, v;
    struct view mask; /* optional: float or u8 */
    struct view step; /* optional: i32, one element */
    struct view y, lse, dy;
    struct view dq, dk, dv; /* out, optional; at least one is present */
};

#endif
