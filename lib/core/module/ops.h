/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - the only list of ops.
 *
 * An op is a request from the core to a backend. It consists of a header, its
 * parameters by value and its operands as views. All are in one block of memory
 * that can be copied and kept. The public function in
 * lib/op/<directory>/<file>.c checks its arguments and fills the struct. Every
 * backend has a best-first list of implementations for it, struct X_impl.
 *
 * Each property that every op has is in the op's entry here, and nowhere else:
 *
 *     X(name, walked, functions, struct)
 *
 * walked     which operands are traversed together (bit i: view i), so that the
 *            op can be split into windows. The others are scalars that every
 *            window needs. 0: the op is not split (lib/core/queue/window.c).
 *            BY_PLAN: its plans make the windows (lib/plan/windows.h), because
 *            they know which elements must stay together for the same bits. A
 *            backend whose own implementations see memory of any size gets it
 *            whole.
 * functions  the public functions that enqueue it, each with its autocast class
 *            (lib/amp/policy/policy.c). HALF: matmuls, which matrix units sum
 *            in float32. FLOAT32: ranges or sums that 16 bits cannot hold.
 *            PROMOTE: several operands. ANY: one operand, and a result that
 *            needs no more range or precision. A backward function has the
 *            class of its forward function. BACKWARD(x) lists x_backward;
 *            BACKWARDS(x) lists x_backward_data and x_backward_weight.
 *            UNARY_FUNCTIONS are the lines of UNARY_KINDS in
 *            kernels/elementwise/unary_kinds.h, UNARY_BACKWARDS their
 *            backwards. TAPE(...) after a function: tapes offer it, see below.
 * struct     MADE_OF(members): the members after the header. IN_HEADER: struct
 *            X_op is in lib/op/<directory>/<family>.h, because its members need
 *            comments.
 *
 * A function with TAPE exists for vars, too (include/sesqui/vars.h), in the
 * order of this list. lib/tape/vars.awk reads the words of TAPE. Operands and
 * options come from the function's header (include/sesqui/ops).
 *
 *     TAPE(RESULT:RULE... [FIELD=NAME]... [backward=OP|OWN] [vars=NAME,...]
 *          [as_is=NAME,...] [same=NAME] [float32=NAME,...] [ONCE])
 *
 * RESULT:RULE  a tensor that the function writes, and the rule for its shape
 *              (lib/tape/rules.c). If no backward reads its gradient, the
 *              tensor is kept for the backward only.
 * FIELD=NAME   a field of the backward's arguments whose name differs: conv2d
 *              has dbias, its backward db.
 * backward=OP  a backward with another name than OP_backward...; OWN: a
 *              function of lib/tape/own.h.
 * vars=...     the operands that receive gradients, if no backward names them.
 * as_is=...    operands that autocast does not cast.
 * same=NAME    an operand whose dtype the result must have.
 * float32=...  operands that autocast casts to float32 under any policy: the op
 *              accepts no other dtype.
 * ONCE         it has no second derivative. All other functions must have a
 *              rule, second_OP() of lib/tape/second_*.c.
 *
 * Each kind of UNARY_KINDS with a gradient has TAPE(y:like), and x=y if its
 * traits have DX_OF_Y. */
#ifndef LIB_CORE_MODULE_OPS_H
#define LIB_CORE_MODULE_OPS_H

#include "lib/core/base/view.h"

/* Words of an entry that are defined here. A file that expands the list defines
 * the other words. */
#define NO_FUNCTION
#define TAPE(...)
#define IN_HEADER
#define BY_PLAN 256
#define MADE_OF(...)                                                           \
    {                                                                          \
        struct op op;                                                          \
        __VA_ARGS__                                                            \
    }

/** All ops, grouped by family. */
/* clang-format off */
#define SSQ_OPS(X) \
    X(upload, 0, NO_FUNCTION, IN_HEADER) \
    X(download, 0, NO_FUNCTION, IN_HEADER) \
    X(fill, 1, ANY(fill), IN_HEADER) \
    X(copy, 3, ANY(copy) ANY(transpose) PROMOTE(concat) \
      PROMOTE(slice_assign), IN_HEADER) \
    X(cast, 3, ANY(cast), IN_HEADER) \
    X(unary, 3, UNARY_FUNCTIONS, IN_HEADER) \
    X(unary_backward, 7, UNARY_BACKWARDS, IN_HEADER) \
    X(binary, 7, PROMOTE(add) TAPE(y:broadcast) \
      PROMOTE(sub) TAPE(y:broadcast) PROMOTE(mul) TAPE(y:broadcast) \
      PROMOTE(div) TAPE(y:broadcast) PROMOTE(maximum) TAPE(y:broadcast) \
      PROMOTE(minimum) TAPE(y:broadcast) FLOAT32(pow) TAPE(y:broadcast) \
      PROMOTE(axpby), IN_HEADER) \
    X(binary_backward, 15, BACKWARD(add) BACKWARD(sub) BACKWARD(mul) \
      BACKWARD(div) BACKWARD(maximum) BACKWARD(minimum) BACKWARD(pow), \
      IN_HEADER) \
    X(compare, 7, PROMOTE(eq) PROMOTE(ne) PROMOTE(lt) PROMOTE(le) PROMOTE(gt) \
      PROMOTE(ge), IN_HEADER) \
    X(where, 15, PROMOTE(where) TAPE(y:where backward=OWN vars=a,b), \
      IN_HEADER) \
    X(glu, 7, PROMOTE(glu) TAPE(y:like), \
      MADE_OF(uint32_t gate, gap; struct view a, b, y;)) \
    X(glu_backward, 15, BACKWARD(glu), \
      MADE_OF(uint32_t gate, gap; struct view a, b, dy, db;)) \
    X(scale, 3, ANY(scale) TAPE(y:like backward=OWN vars=x), IN_HEADER) \
    X(random, 1, ANY(random_uniform) ANY(random_normal) \
      ANY(random_truncated_normal) ANY(random_bernoulli) ANY(init), IN_HEADER) \
    X(dropout, 7, ANY(dropout) TAPE(y:like vars=x) BACKWARD(dropout), \
      IN_HEADER) \
    X(reduce, 3, FLOAT32(sum) TAPE(y:reduce) FLOAT32(sum_to) \
      FLOAT32(mean) TAPE(y:reduce) \
      ANY(max) TAPE(y:reduce backward=max_backward same=x ONCE) \
      ANY(min) TAPE(y:reduce backward=max_backward same=x ONCE) \
      FLOAT32(prod) TAPE(y:reduce backward=OWN vars=x), IN_HEADER) \
    X(argmax, 3, ANY(argmax) ANY(argmin), IN_HEADER) \
    X(reduce_backward, 15, BACKWARD(sum) BACKWARD(mean) BACKWARD(max), \
      IN_HEADER) \
    X(norm, 0, FLOAT32(norm), IN_HEADER) \
    X(gemm, BY_PLAN, \
      HALF(gemm) TAPE(d:gemm backward=OWN vars=a,b,bias as_is=bias) \
      HALF(gemm_batched) \
      TAPE(d:gemm_batched backward=OWN vars=a,b,bias as_is=bias), IN_HEADER) \
    X(softmax, BY_PLAN, FLOAT32(softmax) TAPE(y:like) \
      FLOAT32(log_softmax) TAPE(y:like), IN_HEADER) \
    X(softmax_backward, BY_PLAN, BACKWARD(softmax) BACKWARD(log_softmax), \
      IN_HEADER) \
    X(cross_entropy, BY_PLAN, \
      FLOAT32(cross_entropy) TAPE(loss:class_loss backward=cross_entropy) \
      FLOAT32(nll_loss) TAPE(loss:class_loss backward=nll_loss), IN_HEADER) \
    X(loss, BY_PLAN, FLOAT32(mse) TAPE(loss:loss backward=mse) \
      FLOAT32(l1) TAPE(loss:loss backward=l1) \
      FLOAT32(smooth_l1) TAPE(loss:loss backward=smooth_l1) \
      FLOAT32(huber) TAPE(loss:loss backward=huber) \
      FLOAT32(bce_with_logits) TAPE(loss:loss backward=bce_with_logits), \
      IN_HEADER) \
    X(layer_norm, BY_PLAN, \
      FLOAT32(layer_norm) TAPE(y:like mean:rows rstd:rows) \
      FLOAT32(rms_norm) TAPE(y:like rstd:rows), IN_HEADER) \
    X(layer_norm_backward, BY_PLAN, BACKWARD(layer_norm) BACKWARD(rms_norm), \
      IN_HEADER) \
    X(channel_norm, 0, FLOAT32(batch_norm) \
      TAPE(y:like mean:channels rstd:channels float32=gamma,beta) \
      FLOAT32(group_norm) \
      TAPE(y:like mean:groups rstd:groups float32=gamma,beta), IN_HEADER) \
    X(channel_norm_backward, 0, BACKWARD(batch_norm) BACKWARD(group_norm), \
      IN_HEADER) \
    X(conv, BY_PLAN, HALF(conv2d) TAPE(y:conv db=dbias as_is=bias) \
      BACKWARDS(conv2d) HALF(conv_transpose2d) \
      TAPE(y:conv_transpose db=dbias as_is=bias) BACKWARDS(conv_transpose2d), \
      IN_HEADER) \
    X(pool, BY_PLAN, \
      ANY(max_pool2d) TAPE(y:pool argmax:argmax same=x ONCE) \
      ANY(avg_pool2d) TAPE(y:pool ONCE) \
      ANY(global_avg_pool2d) TAPE(y:global_pool ONCE) \
      BACKWARD(max_pool2d) BACKWARD(avg_pool2d) BACKWARD(global_avg_pool2d), \
      IN_HEADER) \
    X(gather, BY_PLAN, ANY(gather_rows) TAPE(y:gather backward=OWN vars=x), \
      IN_HEADER) \
    X(scatter_add, BY_PLAN, PROMOTE(scatter_add_rows), IN_HEADER) \
    X(one_hot, BY_PLAN, ANY(one_hot), IN_HEADER) \
    X(index_check, 0, ANY(index_check), IN_HEADER) \
    X(attention, BY_PLAN, HALF(attention) TAPE(y:attention lse:lse ONCE), \
      IN_HEADER) \
    X(attention_backward, BY_PLAN, BACKWARD(attention), IN_HEADER) \
    X(rotary, BY_PLAN, ANY(rotary) TAPE(y:like ONCE) BACKWARD(rotary), \
      IN_HEADER) \
    X(lstm_cell, BY_PLAN, HALF(lstm_cell) HALF(lstm) \
      TAPE(y:steps hn:state cn:cell reserve:lstm_reserve as_is=b_ih,b_hh \
           float32=c0 ONCE), IN_HEADER) \
    X(lstm_cell_backward, BY_PLAN, BACKWARD(lstm_cell) BACKWARD(lstm), \
      IN_HEADER) \
    X(gru_cell, BY_PLAN, HALF(gru_cell) HALF(gru_reset) HALF(gru) \
      TAPE(y:steps hn:state reserve:gru_reserve as_is=b_ih,b_hh ONCE), \
      IN_HEADER) \
    X(gru_cell_backward, BY_PLAN, BACKWARD(gru_cell) BACKWARD(gru_reset) \
      BACKWARD(gru), IN_HEADER) \
    X(top_k_accuracy, BY_PLAN, ANY(top_k_accuracy) FLOAT32(perplexity), \
      IN_HEADER) \
    X(scaler_join, 0, NO_FUNCTION, IN_HEADER) \
    X(scaler_update, 0, NO_FUNCTION, IN_HEADER) \
    X(check, 0, NO_FUNCTION, IN_HEADER) \
    X(unscale, 0, NO_FUNCTION, IN_HEADER) \
    X(accumulate, 0, NO_FUNCTION, IN_HEADER) \
    X(master, 0, NO_FUNCTION, IN_HEADER) \
    X(tick, 0, NO_FUNCTION, IN_HEADER) \
    X(lamb, 0, NO_FUNCTION, IN_HEADER) \
    X(optimizer, 0, NO_FUNCTION, IN_HEADER) \
    /* the end of the list */
/* clang-format on */

enum op_id {
#define X(NAME, ...) OP_##NAME,
    SSQ_OPS(X)
#undef X
        OP_COUNT,
    /* not in the list: work that another library enqueues by itself, and that
     * queue_call() puts into a queue's order (lib/core/queue/call.h) */
    OP_call = OP_COUNT
};

/** The first member of every op struct. The views are contiguous at the end of
 *  the struct, from byte views_at. No padding may be between this member and
 *   the views: it would contain garbage from the stack, and ops are compared by
 *   their bytes. A member, gap, takes its place; initialisers clear it. */
struct op {
    enum op_id id;
    uint32_t bytes;         /* of the whole struct, so that it can be copied */
    uint32_t views_at;      /* bytes from its start to the first view */
    uint32_t nviews;        /* views, including absent ones */
    struct view_list *list; /* more operands, shared; or NULL */
    uint64_t first;      /* elements before this window: for random streams */
    struct object *keep; /* host memory that the op works on; or NULL */
    uint16_t prefer;     /* implementation to ask first, from 1; 0: none */
};

/** Return the views of an op. */
static inline struct view *op_views(struct op *op)
{
    return (struct view *)((char *)op + op->views_at);
}

static inline const struct view *op_views_const(const struct op *op)
{
    return (const struct view *)((const char *)op + op->views_at);
}

/** Initialise the header of struct NAME_op, whose first view is FIRST. */
#define OP_HEADER(NAME, FIRST)                                                 \
    {                                                                          \
        OP_##NAME, sizeof(struct NAME##_op),                                   \
            offsetof(struct NAME##_op, FIRST),                                 \
            (sizeof(struct NAME##_op) - offsetof(struct NAME##_op, FIRST)) /   \
                sizeof(struct view),                                           \
            NULL, 0, NULL, 0                                                   \
    }

#define X(NAME, WALKED, FUNCTIONS, STRUCT) struct NAME##_op STRUCT;
SSQ_OPS(X)
#undef X

/** Return the name of an op, for example "gemm". */
const char *op_name(enum op_id id);
/** Return the id of a name, or OP_COUNT if no op has this name. */
enum op_id op_from_name(const char *name);
/** Return a copy of an op that holds the buffers, list and host memory of the
 *  op; release it with op_release(). NULL: no memory; the error text is set. */
struct op *op_hold(const struct op *op);
/** Drop the references that op_hold() took, and free the copy. */
void op_release(struct op *op);

#endif
