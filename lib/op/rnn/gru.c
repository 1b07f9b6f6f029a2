/* SPDX-License-Identifier: Apache-2.0 */
/* gru.c - GRU over a sequence and its backward, from gemms and cells.
 *
 * If the state is reset before it is multiplied, the matmul of a step with w_hh
 * has two parts: the first two gates, and then, from p = r h', the last gate.
 * Backward has two parts as well: dp = dv_n w_hn is computed between two stages
 * of the cell. */
#include <sesqui/ops/elementwise.h>
#include <sesqui/ops/rnn.h>

#include "kernels/rnn/rnn.h"
#include "lib/core/core.h"
#include "lib/op/rnn/rnn.h"

/* The two parts of reserve, [t, batch, 4h]. First, gates contains the matmul of
 * x. Then the cell overwrites it with the values that backward needs. */
struct gru_saved {
    struct view gates, q; /* [t, batch, 3h] and [t, batch, h] */
};

/* Return the parts of reserve, or of scratch of its shape. */
static struct gru_saved gru_saved_of(const struct rnn *r,
                                     const struct view *reserve)
{
    return (struct gru_saved){view_columns(reserve, 0, 3 * r->h),
                              view_columns(reserve, 3 * r->h, r->h)};
}

/* The scratch of the steps. */
struct between {
    struct view v; /* [batch, 3h]: the previous state times w_hh^T + b_hh */
    struct view p; /* [batch, h], y's dtype: r h'; may be absent */
};

/* Compute n gates of v, from gate number `from`, as the matmul of the previous
 * state, or of the reset state. Without a previous state v is the bias alone. y
 * then replaces the state, because a gemm needs an operand of its shape. */
static ssq_status multiply_state(ssq_queue *queue, const struct rnn *r,
                                 const struct view *h, const struct view *y,
                                 const struct view *v, int64_t from, int64_t n)
{
    const struct view bias = tensor_view(r->b_hh, ACCESS_READ);
    struct rnn_product p = {
        .a = h->buffer == NULL ? *y : *h,
        .b = rnn_places(&r->w_hh->view, from * r->h, n * r->h),
        .bias = bias,
        .d = view_columns(v, from * r->h, n * r->h),
        .trans_b = true,
        .none = h->buffer == NULL};
    if (r->b_hh != NULL)
        p.bias = rnn_places(&bias, from * r->h, n * r->h);
    return rnn_multiply(queue, &p);
}

/* Compute p = r h' by the cell's first stage, and the last gate of v from
 * it. */
static ssq_status reset(ssq_queue *queue, const struct rnn *r,
                        const struct gru_cell_op *cell, const struct view *p)
{
    struct gru_cell_op op = *cell;
    op.stage = GRU_RESET;
    op.y = *p;
    op.gates = op.q = tensor_view(NULL, ACCESS_WRITE);
    ssq_status st = queue_enqueue(queue, &op.op);
    if (st != SSQ_OK)
        return st;
    return multiply_state(queue, r, p, p, &cell->v, 2, 1);
}

/* Run step s: the matmuls of the state, then the cell. Without a previous state
 * there is nothing to reset, and one matmul computes all three gates. */
static ssq_status gru_step(ssq_queue *queue, const struct rnn *r,
                           const struct gru_saved *saved,
                           const struct between *k, int64_t s)
{
    int64_t at = rnn_place(r, s);
    struct view gates = rnn_at(&saved->gates, at), h = rnn_before(r, s);
    struct view y = tensor_view(r->y, ACCESS_WRITE);
    y = rnn_at(&y, at);
    struct gru_cell_op op = {.op = OP_HEADER(gru_cell, u),
                             .stage = r->reset_first ? GRU_REST : GRU_WHOLE,
                             .u = gates,
                             .v = k->v,
                             .h = h,
                             .y = y,
                             .gates = gates,
                             .q = rnn_at(&saved->q, at)};
    op.u.access = op.v.access = ACCESS_READ;
    op.gates.access = op.q.access = ACCESS_WRITE;
    bool twice = r->reset_first && h.buffer != NULL;
    ssq_status st = multiply_state(queue, r, &h, &y, &k->v, 0, twice ? 2 : 3);
    if (st == SSQ_OK && twice)
        st = reset(queue, r, &op, &k->p);
    return st == SSQ_OK ? queue_enqueue(queue, &op.op) : st;
}

/* Enqueue all ops of a forward call, in one bundle. One matmul computes x's
 * part of all steps; the matmuls of the state follow each other. */
static ssq_status gru_steps(ssq_queue *queue, const struct rnn *r,
                            const struct gru_saved *saved,
                            const struct between *k)
{
    struct view hn = tensor_view(r->hn, ACCESS_WRITE);
    struct view last = rnn_before(r, r->t);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = rnn_inputs(queue, r, &saved->gates);
    for (int64_t s = 0; s < r->t && st == SSQ_OK; s++)
        st = gru_step(queue, r, saved, k, s);
    if (st == SSQ_OK && r->hn != NULL)
        st = enqueue_copy(queue, &last, &hn);
    return queue_bundle_end(queue, st);
}

/* Check, get scratch, enqueue. If the caller gives no reserve, scratch takes
 * its place, because the cells need it. The ops hold the scratch. */
static ssq_status gru_forward(ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check(queue, r);
    if (st != SSQ_OK || rnn_empty(r))
        return st == SSQ_OK ? rnn_run_empty(queue, r) : st;
    const int64_t all[] = {r->t, r->batch, 4 * r->h};
    const int64_t one[] = {r->batch, 3 * r->h}, state[] = {r->batch, r->h};
    struct view reserve = {.buffer = NULL};
    struct between k = {.v = {.buffer = NULL}};
    st = scratch_get(queue, SSQ_F32, 2, one, &k.v);
    if (st == SSQ_OK && r->reset_first)
        st = scratch_get(queue, r->y->view.dtype, 2, state, &k.p);
    if (st == SSQ_OK && r->reserve == NULL)
        st = scratch_get(queue, SSQ_F32, 3, all, &reserve);
    if (st == SSQ_OK) {
        const struct gru_saved saved =
            gru_saved_of(r, r->reserve == NULL ? &reserve : &r->reserve->view);
        st = gru_steps(queue, r, &saved, &k);
    }
    scratch_put(&k.v);
    scratch_put(&k.p);
    scratch_put(&reserve);
    return st;
}

ssq_status ssq_gru(ssq_queue *queue, const ssq_gru_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru");
    if (st != SSQ_OK)
        return st;
    struct rnn r = {.name = "gru",
                    .parts = 3,
                    .saved = 4,
                    .reset_first = args->reset_first,
                    RNN_FORWARD(args)};
    return gru_forward(queue, &r);
}

/* The scratch of the gradients: of all u and v, and of the state. */
struct gru_scratch {
    struct view du, dv; /* [t, batch, 3h], y's dtype */
    struct view dh;     /* [batch, h], f32: of the state, from step to step */
    struct view dp;     /* the same, of p; dp and reset may be absent */
    struct view reset;  /* [t, batch, h], y's dtype: all p */
    struct view dw;     /* from rnn_weight_scratch(); may be absent */
};

/* Get the scratch that this call needs; other members are absent.
 * gru_put_scratch() must follow, after a failure as well. */
static ssq_status gru_get_scratch(ssq_queue *queue, const struct rnn *r,
                                  struct gru_scratch *k)
{
    const int64_t all[] = {r->t, r->batch, 3 * r->h};
    const int64_t one[] = {r->batch, r->h};
    const int64_t states[] = {r->t, r->batch, r->h};
    *k = (struct gru_scratch){.du = {.buffer = NULL}};
    ssq_status st = scratch_get(queue, r->y->view.dtype, 3, all, &k->du);
    if (st == SSQ_OK)
        st = scratch_get(queue, r->y->view.dtype, 3, all, &k->dv);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, one, &k->dh);
    if (st == SSQ_OK && r->reset_first)
        st = scratch_get(queue, SSQ_F32, 2, one, &k->dp);
    if (st == SSQ_OK && r->reset_first && r->dw_hh != NULL)
        st = scratch_get(queue, r->y->view.dtype, 3, states, &k->reset);
    return st == SSQ_OK ? rnn_weight_scratch(queue, r, &k->dw) : st;
}

static void gru_put_scratch(struct gru_scratch *k)
{
    scratch_put(&k->du);
    scratch_put(&k->dv);
    scratch_put(&k->dh);
    scratch_put(&k->dp);
    scratch_put(&k->reset);
    scratch_put(&k->dw);
}

/* Compute p = gates h for any number of places. The op rounds to y's dtype, as
 * the forward call did. */
static ssq_status multiply_reset(ssq_queue *queue, const struct view *gates,
                                 const struct view *h, const struct view *p)
{
    const ssq_tensor a = {.view = *gates}, b = {.view = *h}, y = {.view = *p};
    ssq_binary_args m = SSQ_BINARY_INIT;
    m.a = &a;
    m.b = &b;
    m.y = &y;
    return ssq_mul(queue, &m);
}

/* Recompute all p from the saved r and the previous states. y has the previous
 * states of all steps except the first, shifted by one place. The first step's
 * is h0; without h0 its p is 0. */
static ssq_status reset_states(ssq_queue *queue, const struct rnn *r,
                               const struct gru_saved *saved,
                               const struct view *p)
{
    struct view gate = view_columns(&saved->gates, 0, r->h);
    int64_t first = rnn_place(r, 0), later = r->reverse ? 0 : 1;
    struct view g0 = rnn_at(&gate, first), p0 = rnn_at(p, first);
    struct view h0 = rnn_before(r, 0);
    ssq_status st = h0.buffer == NULL ? enqueue_fill(queue, &p0, 0.0)
                                      : multiply_reset(queue, &g0, &h0, &p0);
    if (st != SSQ_OK || r->t == 1)
        return st;
    struct view g = rnn_places(&gate, later, r->t - 1);
    struct view h = rnn_places(&r->y->view, 1 - later, r->t - 1);
    struct view all = rnn_places(p, later, r->t - 1);
    return multiply_reset(queue, &g, &h, &all);
}

/* Run the second half of a step back, after the cell's stage GRU_REST. It
 * computes dp = dv_n w_hn, and from it the first gate's gradients and p's part
 * of the state's gradient. */
static ssq_status reset_back(ssq_queue *queue, const struct rnn *r,
                             const struct gru_cell_backward_op *cell,
                             const struct view *dp)
{
    const struct rnn_product product = {
        .a = view_columns(&cell->dv, 2 * r->h, r->h),
        .b = rnn_places(&r->w_hh->view, 2 * r->h, r->h),
        .d = *dp};
    struct gru_cell_backward_op op = *cell;
    op.stage = GRU_RESET;
    op.q = *dp;
    op.q.access = ACCESS_READ;
    op.dy = tensor_view(NULL, ACCESS_READ);
    op.dh = op.dh_in;
    op.dh.access = ACCESS_READ;
    ssq_status st = rnn_multiply(queue, &product);
    return st == SSQ_OK ? queue_enqueue(queue, &op.op) : st;
}

/* Run step s backward. dh, the gradient of the previous state, is the cell's
 * part plus dv w_hh of the gates that multiplied the state before reset. For
 * the first step it is needed only if the caller wants dh0. */
static ssq_status gru_step_back(ssq_queue *queue, const struct rnn *r,
                                const struct gru_saved *saved,
                                const struct gru_scratch *k, int64_t s)
{
    int64_t at = rnn_place(r, s);
    bool unread = s == 0 && r->dh0 == NULL;
    struct view dy = tensor_view(r->dy, ACCESS_READ);
    struct gru_cell_backward_op op = {
        .op = OP_HEADER(gru_cell_backward, gates),
        .stage = r->reset_first ? GRU_REST : GRU_WHOLE,
        .gates = rnn_at(&saved->gates, at),
        .q = rnn_at(&saved->q, at),
        .h = rnn_before(r, s),
        .dy = rnn_at(&dy, at),
        .dh = s == r->t - 1 ? tensor_view(r->dhn, ACCESS_READ) : k->dh,
        .du = rnn_at(&k->du, at),
        .dv = rnn_at(&k->dv, at),
        .dh_in = unread ? tensor_view(NULL, ACCESS_WRITE) : k->dh};
    op.gates.access = op.q.access = op.dh.access = ACCESS_READ;
    ssq_status st = queue_enqueue(queue, &op.op);
    if (st == SSQ_OK && r->reset_first)
        st = reset_back(queue, r, &op, &k->dp);
    if (st != SSQ_OK || unread)
        return st;
    int64_t wide = (r->reset_first ? 2 : 3) * r->h;
    const struct rnn_product p = {.a = view_columns(&op.dv, 0, wide),
                                  .b = rnn_places(&r->w_hh->view, 0, wide),
                                  .c = k->dh,
                                  .d = s == 0 ? r->dh0->view : k->dh};
    return rnn_multiply(queue, &p);
}

/* Run the steps from the last to the first, then the matmuls over all steps. */
static ssq_status op_gru_backward(ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check(queue, r);
    if (st != SSQ_OK || rnn_empty(r))
        return st == SSQ_OK ? rnn_run_empty(queue, r) : st;
    const struct gru_saved saved = gru_saved_of(r, &r->reserve->view);
    struct gru_scratch k;
    st = gru_get_scratch(queue, r, &k);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        goto out_scratch;
    for (int64_t s = r->t - 1; s >= 0 && st == SSQ_OK; s--)
        st = gru_step_back(queue, r, &saved, &k, s);
    if (st == SSQ_OK && k.reset.buffer != NULL)
        st = reset_states(queue, r, &saved, &k.reset);
    r->reset = k.reset;
    if (st == SSQ_OK)
        st = rnn_finish(queue, r, &k.du, &k.dv, &k.dw);
    st = queue_bundle_end(queue, st);
out_scratch:
    gru_put_scratch(&k);
    return st;
}

ssq_status ssq_gru_backward(ssq_queue *queue, const ssq_gru_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru_backward");
    if (st != SSQ_OK)
        return st;
    struct rnn r = {.name = "gru_backward",
                    .parts = 3,
                    .saved = 4,
                    .reset_first = args->reset_first,
                    RNN_BACKWARD(args)};
    return op_gru_backward(queue, &r);
}
