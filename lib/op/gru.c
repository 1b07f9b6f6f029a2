/* SPDX-License-Identifier: Apache-2.0 */
/* gru.c - GRU over a sequence and its backward, from gemms and cells. */
#include <sesqui/ops/rnn.h>

#include "lib/op/data.h"
#include "lib/op/rnn.h"

/* reserve is [t, batch, 4h]: the gates, first as the products of x, then as the
 * cell saves them in their place; and q. */
struct saved {
    struct view gates, q;
};

static struct saved saved_of(const struct rnn *r, const struct view *reserve)
{
    return (struct saved){rnn_columns(reserve, 0, 3 * r->h),
                          rnn_columns(reserve, 3 * r->h, r->h)};
}

/* v: [batch, 3h], the product of the state before. */
static ssq_status step(ssq_queue *queue, const struct rnn *r,
                       const struct saved *saved, const struct view *v,
                       int64_t s)
{
    int64_t at = rnn_place(r, s);
    struct view gates = rnn_at(&saved->gates, at), h = rnn_before(r, s);
    struct view y = tensor_view(r->y, ACCESS_WRITE);
    y = rnn_at(&y, at);
    const struct rnn_product p = {.a = h.buffer == NULL ? y : h,
                                  .b = r->w_hh->view,
                                  .bias = tensor_view(r->b_hh, ACCESS_READ),
                                  .d = *v,
                                  .trans_b = true,
                                  .none = h.buffer == NULL};
    ssq_status st = rnn_multiply(queue, &p);
    if (st != SSQ_OK)
        return st;
    struct gru_cell_op op = {.op = OP_HEADER(gru_cell, u),
                             .u = gates,
                             .v = *v,
                             .h = h,
                             .y = y,
                             .gates = gates,
                             .q = rnn_at(&saved->q, at)};
    op.u.access = op.v.access = ACCESS_READ;
    op.gates.access = op.q.access = ACCESS_WRITE;
    return queue_enqueue(queue, &op.op);
}

static ssq_status steps(ssq_queue *queue, const struct rnn *r,
                        const struct saved *saved, const struct view *v)
{
    struct view hn = tensor_view(r->hn, ACCESS_WRITE);
    struct view last = rnn_before(r, r->t);
    ssq_status st = queue_batch_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = rnn_inputs(queue, r, &saved->gates);
    for (int64_t s = 0; s < r->t && st == SSQ_OK; s++)
        st = step(queue, r, saved, v, s);
    if (st == SSQ_OK && r->hn != NULL)
        st = enqueue_copy(queue, &last, &hn);
    return queue_batch_end(queue, st);
}

static ssq_status forward(ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check(queue, r);
    if (st != SSQ_OK || rnn_empty(r))
        return st == SSQ_OK ? rnn_run_empty(queue, r) : st;
    const int64_t all[] = {r->t, r->batch, 4 * r->h};
    const int64_t one[] = {r->batch, 3 * r->h};
    struct view reserve = {.buffer = NULL}, v = reserve;
    st = scratch_get(queue, SSQ_F32, 2, one, &v);
    if (st == SSQ_OK && r->reserve == NULL)
        st = scratch_get(queue, SSQ_F32, 3, all, &reserve);
    if (st == SSQ_OK) {
        const struct saved saved =
            saved_of(r, r->reserve == NULL ? &reserve : &r->reserve->view);
        st = steps(queue, r, &saved, &v);
    }
    scratch_put(&v);
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
                    .x = args->x,
                    .w_ih = args->w_ih,
                    .w_hh = args->w_hh,
                    .b_ih = args->b_ih,
                    .b_hh = args->b_hh,
                    .h0 = args->h0,
                    .y = args->y,
                    .hn = args->hn,
                    .reserve = args->reserve,
                    .reverse = args->reverse};
    return forward(queue, &r);
}

/* Gradients on their way back: of all u and v, and of the state. */
struct scratch {
    struct view du, dv; /* [t, batch, 3h], y's dtype */
    struct view dh;
    struct view dw; /* may be absent */
};

static ssq_status get_scratch(ssq_queue *queue, const struct rnn *r,
                              struct scratch *k)
{
    const int64_t all[] = {r->t, r->batch, 3 * r->h};
    const int64_t one[] = {r->batch, r->h};
    *k = (struct scratch){.du = {.buffer = NULL}};
    ssq_status st = scratch_get(queue, r->y->view.dtype, 3, all, &k->du);
    if (st == SSQ_OK)
        st = scratch_get(queue, r->y->view.dtype, 3, all, &k->dv);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, one, &k->dh);
    return st == SSQ_OK ? rnn_weight_scratch(queue, r, &k->dw) : st;
}

static void put_scratch(struct scratch *k)
{
    scratch_put(&k->du);
    scratch_put(&k->dv);
    scratch_put(&k->dh);
    scratch_put(&k->dw);
}

/* dh, from the last step on, is what the cell passes on plus dv w_hh. */
static ssq_status step_back(ssq_queue *queue, const struct rnn *r,
                            const struct saved *saved, const struct scratch *k,
                            int64_t s)
{
    int64_t at = rnn_place(r, s);
    bool unread = s == 0 && r->dh0 == NULL;
    struct view dy = tensor_view(r->dy, ACCESS_READ);
    struct gru_cell_backward_op op = {
        .op = OP_HEADER(gru_cell_backward, gates),
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
    if (st != SSQ_OK || unread)
        return st;
    const struct rnn_product p = {.a = op.dv,
                                  .b = r->w_hh->view,
                                  .c = k->dh,
                                  .d = s == 0 ? r->dh0->view : k->dh};
    return rnn_multiply(queue, &p);
}

static ssq_status backward(ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check(queue, r);
    if (st != SSQ_OK || rnn_empty(r))
        return st == SSQ_OK ? rnn_run_empty(queue, r) : st;
    const struct saved saved = saved_of(r, &r->reserve->view);
    struct scratch k;
    st = get_scratch(queue, r, &k);
    if (st == SSQ_OK)
        st = queue_batch_begin(queue);
    if (st != SSQ_OK)
        goto out_scratch;
    for (int64_t s = r->t - 1; s >= 0 && st == SSQ_OK; s--)
        st = step_back(queue, r, &saved, &k, s);
    if (st == SSQ_OK)
        st = rnn_finish(queue, r, &k.du, &k.dv, &k.dw);
    st = queue_batch_end(queue, st);
out_scratch:
    put_scratch(&k);
    return st;
}

ssq_status ssq_gru_backward(ssq_queue *queue, const ssq_gru_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru_backward");
    if (st != SSQ_OK)
        return st;
    struct rnn r = {.name = "gru_backward",
                    .backward = true,
                    .parts = 3,
                    .saved = 4,
                    .x = args->x,
                    .w_ih = args->w_ih,
                    .w_hh = args->w_hh,
                    .h0 = args->h0,
                    .y = args->y,
                    .reserve = args->reserve,
                    .dy = args->dy,
                    .dhn = args->dhn,
                    .dx = args->dx,
                    .dw_ih = args->dw_ih,
                    .dw_hh = args->dw_hh,
                    .db_ih = args->db_ih,
                    .db_hh = args->db_hh,
                    .dh0 = args->dh0,
                    .reverse = args->reverse};
    return backward(queue, &r);
}
