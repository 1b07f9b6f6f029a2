/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - the only list of ops.
 *
 * An op is what crosses from the core to a backend: a header, its parameters
 * by value, and its operands as views, in one block of memory that can be
 * copied and kept. Each line of SSQ_OPS names an op X; struct X_op is defined
 * in the header of its family, lib/op/<room>/<family>.h, the public function
 * checks its arguments and fills the struct in lib/op/<room>/<file>.c, and
 * every backend has a best-first list of implementations for it, struct
 * X_impl. */
#ifndef LIB_OP_OPS_H
#define LIB_OP_OPS_H

#include "lib/core/view.h"

/** Every op, in the order of their families. */
/* clang-format off */
#define SSQ_OPS(X) \
    X(upload) \
    X(download) \
    X(fill) \
    X(copy) \
    X(cast) \
    X(gather) \
    X(scatter_add) \
    X(one_hot) \
    X(reduce) \
    X(argmax) \
    X(reduce_backward) \
    X(norm) \
    X(random) \
    X(dropout) \
    X(gemm) \
    X(unary) \
    X(unary_backward) \
    X(binary) \
    X(binary_backward) \
    X(compare) \
    X(where) \
    X(scale) \
    X(softmax) \
    X(softmax_backward) \
    X(cross_entropy) \
    X(loss) \
    X(layer_norm) \
    X(layer_norm_backward) \
    X(channel_norm) \
    X(channel_norm_backward) \
    X(lstm_cell) \
    X(lstm_cell_backward) \
    X(gru_cell) \
    X(gru_cell_backward) \
    X(conv) \
    X(pool) \
    X(attention) \
    X(attention_backward) \
    X(rotary) \
    X(top_k_accuracy) \
    X(scaler_join) \
    X(scaler_update) \
    X(check) \
    X(unscale) \
    X(accumulate) \
    X(master) \
    X(tick) \
    X(lamb) \
    X(optimizer) \
    /* the end of the list */
/* clang-format on */

enum op_id {
#define X(NAME) OP_##NAME,
    SSQ_OPS(X)
#undef X
        OP_COUNT
};

/** The first member of every op struct. The views stand together at the
 *  struct's end, from byte views_at on. */
struct op {
    enum op_id id;
    uint32_t bytes;
    uint32_t views_at;
    uint32_t nviews;
    struct view_list *list; /* more operands, shared; or NULL */
    uint64_t first; /* elements before this window: for random streams */
    struct object *keep; /* host memory that the op works on; or NULL */
};

/** Start of the views of an op. */
static inline struct view *op_views(struct op *op)
{
    return (struct view *)((char *)op + op->views_at);
}

static inline const struct view *op_views_const(const struct op *op)
{
    return (const struct view *)((const char *)op + op->views_at);
}

/** Initialiser of the header of struct NAME_op whose first view is FIRST. */
#define OP_HEADER(NAME, FIRST)                                                 \
    {                                                                          \
        OP_##NAME, sizeof(struct NAME##_op),                                   \
            offsetof(struct NAME##_op, FIRST),                                 \
            (sizeof(struct NAME##_op) - offsetof(struct NAME##_op, FIRST)) /   \
                sizeof(struct view),                                           \
            NULL, 0, NULL                                                      \
    }

#define X(NAME) struct NAME##_op;
SSQ_OPS(X)
#undef X

/** "gemm" */
const char *op_name(enum op_id id);
/** The id of a name; OP_COUNT when there is none. */
enum op_id op_from_name(const char *name);

#endif
