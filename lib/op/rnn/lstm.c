/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c - LSTM over a sequence and its backward, from gemms and cells. */
#include <sesqui/ops/rnn.h>

#include "lib/core/core.h"
#include "lib/op/rnn/rnn.h"

/* The two parts of reserve, [t, batch, 5h]. First, gates contains the matmuls
 * of x and of the state. Then the cell overwrites it with the values that
 * backward needs. */
struct lstm_saved {
    struct view gates, c; /* [t, batch, 4h] and [t, batch, h] */
};

/* Return the parts of reserve, or of scratch of its shape. */
static struct lstm_saved lstm_saved_of(const struct rnn *r,
                                       const struct view *reserve)
{
    return (struct lstm_saved){view_columns(reserve, 0, 4 * r->h),
                               view_columns(reserve, 4 * r->h, r->h)};
}

/* Return the cell state before step s: c0 for the first step, else the state
 * that the step before saved. It is absent, which means 0, if c0 is. */
static struct view state_before(const struct rnn *r, const struct lstm_saved *v,
                                int64_t s)
{
    struct view c = s == 0 ? tensor_view(r->c0, ACCESS_READ)
                           : rnn_at(&v->c, rnn_place(r, s - 1));
    c.access = ACCESS_READ;
    return c;
}

/* Run step s: add the matmul of the state to that of x, then run the cell.
 * Without a previous state only the bias is added. y then replaces the state,
 * because a gemm needs an operand of its shape. */
static ssq_status lstm_step(ssq_queue *queue, const struct rnn *r,
                            const struct lstm_saved *v, int64_t s)
{
    int64_t at = rnn_place(r, s);
    struct view gates = rnn_at(&v->gates, at), h = rnn_before(r, s);
    struct view y = tensor_view(r->y, ACCESS_WRITE);
    y = rnn_at(&y, at);
    const struct rnn_product p = {.a = h.buffer == NULL ? y : h,
                                  .b = r->w_hh->view,
                                  .c = gates,
                                  .bias = tensor_view(r->b_hh, ACCESS_READ),
                                  .d = gates,
                                  .trans_b = true,
                                  .none = h.buffer == NULL};
    ssq_status st = rnn_multiply(queue, &p);
    if (st != SSQ_OK)
        return st;
    struct lstm_cell_op op = {.op = OP_HEADER(lstm_cell, a),
                              .a = gates,
                              .c = state_before(r, v, s),
                              .y = y,
                              .c_out = rnn_at(&v->c, at),
                              .gates = gates};
    op.a.access = ACCESS_READ;
    op.gates.access = op.c_out.access = ACCESS_WRITE;
    return queue_enqueue(queue, &op.op);
}

/* Copy the state after the last step to hn and cn, if the caller wants them. */
static ssq_status last_state(ssq_queue *queue, const struct rnn *r,
                             const struct lstm_saved *v)
{
    struct view h = rnn_before(r, r->t), c = state_before(r, v, r->t);
    struct view hn = tensor_view(r->hn, ACCESS_WRITE);
    struct view cn = tensor_view(r->cn, ACCESS_WRITE);
    ssq_status st = SSQ_OK;
    if (r->hn != NULL)
        st = enqueue_copy(queue, &h, &hn);
    if (st == SSQ_OK && r->cn != NULL)
        st = enqueue_copy(queue, &c, &cn);
    return st;
}

/* Check, get scratch, enqueue all steps in one bundle. If the caller gives no
 * reserve, scratch takes its place, because the cells need it. */
static ssq_status lstm_forward(ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check(queue, r);
    if (st != SSQ_OK || rnn_empty(r))
        return st == SSQ_OK ? rnn_run_empty(queue, r) : st;
    const int64_t shape[] = {r->t, r->batch, 5 * r->h};
    struct view scratch = {.buffer = NULL};
    if (r->reserve == NULL)
        st = scratch_get(queue, SSQ_F32, 3, shape, &scratch);
    if (st != SSQ_OK)
        return st;
    const struct lstm_saved v =
        lstm_saved_of(r, r->reserve == NULL ? &scratch : &r->reserve->view);
    st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        goto out_scratch;
    st = rnn_inputs(queue, r, &v.gates);
    for (int64_t s = 0; s < r->t && st == SSQ_OK; s++)
        st = lstm_step(queue, r, &v, s);
    if (st == SSQ_OK)
        st = last_state(queue, r, &v);
    st = queue_bundle_end(queue, st);
out_scratch:
    scratch_put(&scratch);
    return st;
}

ssq_status ssq_lstm(ssq_queue *queue, const ssq_lstm_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "lstm");
    if (st != SSQ_OK)
        return st;
    struct rnn r = {.name = "lstm",
                    .parts = 4,
                    .saved = 5,
                    .c0 = args->c0,
                    .cn = args->cn,
                    RNN_FORWARD(args)};
    return lstm_forward(queue, &r);
}

/* The scratch of the gradients: of all a, and of the state. */
struct lstm_scratch {
    struct view da;     /* [t, batch, 4h], y's dtype */
    struct view dh, dc; /* [batch, h], f32: from step to step */
    struct view dw;     /* from rnn_weight_scratch(); may be absent */
};

/* Get the scratch. lstm_put_scratch() must follow, after a failure as well. */
static ssq_status lstm_get_scratch(ssq_queue *queue, const struct rnn *r,
                                   struct lstm_scratch *k)
{
    const int64_t all[] = {r->t, r->batch, 4 * r->h};
    const int64_t one[] = {r->batch, r->h};
    *k = (struct lstm_scratch){.da = {.buffer = NULL}};
    ssq_status st = scratch_get(queue, r->y->view.dtype, 3, all, &k->da);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, one, &k->dh);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, one, &k->dc);
    return st == SSQ_OK ? rnn_weight_scratch(queue, r, &k->dw) : st;
}

static void lstm_put_scratch(struct lstm_scratch *k)
{
    scratch_put(&k->da);
    scratch_put(&k->dh);
    scratch_put(&k->dc);
    scratch_put(&k->dw);
}

/* Run step s backward: the cell's gradients, then dh = da w_hh for the step
 * before. The last step reads the caller's dhn and dcn; the first one writes
 * dh0 and dc0, if they are given. */
static ssq_status lstm_step_back(ssq_queue *queue, const struct rnn *r,
                                 const struct lstm_saved *v,
                                 const struct lstm_scratch *k, int64_t s)
{
    int64_t at = rnn_place(r, s);
    bool last = s == r->t - 1;
    struct view dy = tensor_view(r->dy, ACCESS_READ);
    struct lstm_cell_backward_op op = {
        .op = OP_HEADER(lstm_cell_backward, gates),
        .gates = rnn_at(&v->gates, at),
        .c_out = rnn_at(&v->c, at),
        .c = state_before(r, v, s),
        .dy = rnn_at(&dy, at),
        .dh = last ? tensor_view(r->dhn, ACCESS_READ) : k->dh,
        .dc = last ? tensor_view(r->dcn, ACCESS_READ) : k->dc,
        .da = rnn_at(&k->da, at),
        .dc_in = s == 0 ? tensor_view(r->dc0, ACCESS_WRITE) : k->dc};
    op.gates.access = op.c_out.access = ACCESS_READ;
    op.dh.access = op.dc.access = ACCESS_READ;
    ssq_status st = queue_enqueue(queue, &op.op);
    if (st != SSQ_OK || (s == 0 && r->dh0 == NULL))
        return st;
    const struct rnn_product p = {
        .a = op.da, .b = r->w_hh->view, .d = s == 0 ? r->dh0->view : k->dh};
    return rnn_multiply(queue, &p);
}

/* Run the steps from the last to the first, then the matmuls over all steps.
 * The gates' sum is the sum of the matmuls of x and of the state: du and dv are
 * both da. */
static ssq_status op_lstm_backward(ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check(queue, r);
    if (st != SSQ_OK || rnn_empty(r))
        return st == SSQ_OK ? rnn_run_empty(queue, r) : st;
    const struct lstm_saved v = lstm_saved_of(r, &r->reserve->view);
    struct lstm_scratch k;
    st = lstm_get_scratch(queue, r, &k);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        goto out_scratch;
    for (int64_t s = r->t - 1; s >= 0 && st == SSQ_OK; s--)
        st = lstm_step_back(queue, r, &v, &k, s);
    if (st == SSQ_OK)
        st = rnn_finish(queue, r, &k.da, &k.da, &k.dw);
    st = queue_bundle_end(queue, st);
out_scratch:
    lstm_put_scratch(&k);
    return st;
}

ssq_status ssq_lstm_backward(ssq_queue *queue,
                             const ssq_lstm_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "lstm_backward");
    if (st != SSQ_OK)
        return st;
    struct rnn r = {.name = "lstm_backward",
                    .parts = 4,
                    .saved = 5,
                    .c0 = args->c0,
                    .dcn = args->dcn,
                    .dc0 = args->dc0,
                    RNN_BACKWARD(args)};
    return op_lstm_backward(queue, &r);
}
