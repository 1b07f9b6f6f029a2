/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - common code of LSTM and GRU over a sequence: checks, views of steps,
 * and the matmuls over all steps. */
#include "lib/op/rnn/rnn.h"

#include <sesqui/ops/gemm.h>
#include <sesqui/ops/reduce.h>

#include "lib/core/core.h"
#include "lib/op/operands.h"

#define F32_BIT  DTYPE_BIT(SSQ_F32)
#define OPTIONAL OPERAND_OPTIONAL
#define OUT      OPERAND_OUT

/* ---- checks ---- */

/* Check presence, dtypes and overlaps of either direction. A tensor that a kind
 * of sequence or a direction does not have is NULL, and optional. hn may be h0,
 * and cn may be c0. */
static ssq_status rnn_check_operands(const ssq_queue *queue,
                                     const struct rnn *r)
{
    const unsigned fl = DTYPES_FLOAT;
    const struct operand_rule forward[] = {
        {r->x, "x", fl, 0, 0},
        {r->w_ih, "w_ih", fl, 0, 0},
        {r->w_hh, "w_hh", fl, 0, 0},
        {r->b_ih, "b_ih", fl, OPTIONAL, 0},
        {r->b_hh, "b_hh", fl, OPTIONAL, 0},
        {r->h0, "h0", fl, OPTIONAL, 0},
        {r->c0, "c0", F32_BIT, OPTIONAL, 0},
        {r->y, "y", fl, OUT, 0},
        {r->hn, "hn", fl, OUT | OPTIONAL, 1u << 5},
        {r->cn, "cn", F32_BIT, OUT | OPTIONAL, 1u << 6},
        {r->reserve, "reserve", F32_BIT, OUT | OPTIONAL, 0},
    };
    const struct operand_rule backward[] = {
        {r->x, "x", fl, 0, 0},
        {r->w_ih, "w_ih", fl, 0, 0},
        {r->w_hh, "w_hh", fl, 0, 0},
        {r->h0, "h0", fl, OPTIONAL, 0},
        {r->c0, "c0", F32_BIT, OPTIONAL, 0},
        {r->y, "y", fl, 0, 0},
        {r->reserve, "reserve", F32_BIT, 0, 0},
        {r->dy, "dy", fl, OPTIONAL, 0},
        {r->dhn, "dhn", fl, OPTIONAL, 0},
        {r->dcn, "dcn", F32_BIT, OPTIONAL, 0},
        {r->dx, "dx", fl, OUT | OPTIONAL, 0},
        {r->dw_ih, "dw_ih", fl, OUT | OPTIONAL, 0},
        {r->dw_hh, "dw_hh", fl, OUT | OPTIONAL, 0},
        {r->db_ih, "db_ih", fl, OUT | OPTIONAL, 0},
        {r->db_hh, "db_hh", fl, OUT | OPTIONAL, 0},
        {r->dh0, "dh0", fl, OUT | OPTIONAL, 0},
        {r->dc0, "dc0", F32_BIT, OUT | OPTIONAL, 0},
    };
    return r->backward ? OPERANDS_CHECK(queue, r->name, backward)
                       : OPERANDS_CHECK(queue, r->name, forward);
}

/* Refuse two 16-bit formats among the operands that are multiplied: neither f16
 * nor bf16 holds the other's values. h0 is the state before y's first, so it
 * must have y's dtype. */
static ssq_status check_formats(const struct rnn *r)
{
    const ssq_tensor *t[] = {r->x, r->w_ih, r->w_hh, r->y};
    static const char *const what[] = {"x", "w_ih", "w_hh", "y"};
    int first = -1;
    for (int i = 0; i < 4; i++) {
        ssq_dtype d = t[i]->view.dtype;
        if (d == SSQ_F32)
            continue;
        if (first < 0)
            first = i;
        if (d != t[first]->view.dtype)
            return error_set(SSQ_ERR_INVALID,
                             "%s: %s is %s, %s is %s: they have no common "
                             "16-bit format, cast one",
                             r->name, what[first],
                             ssq_dtype_name(t[first]->view.dtype), what[i],
                             ssq_dtype_name(d));
    }
    if (r->h0 == NULL)
        return SSQ_OK;
    return check_dtype(r->h0, DTYPE_BIT(r->y->view.dtype), r->name, "h0");
}

/* Read the sizes from x and y; the other tensors are compared with these. The
 * bound of h keeps products with the number of gates from overflowing. */
static ssq_status rnn_find_sizes(struct rnn *r)
{
    const struct view *x = &r->x->view, *y = &r->y->view;
    char tx[128], ty[128];
    if (x->rank != 3 || y->rank != 3)
        return error_set(SSQ_ERR_INVALID,
                         "%s: x is %s, y is %s, expected [t, batch, in] and "
                         "[t, batch, h]",
                         r->name, view_text(x, tx, sizeof(tx)),
                         view_text(y, ty, sizeof(ty)));
    r->t = y->shape[0];
    r->batch = y->shape[1];
    r->in = x->shape[2];
    r->h = y->shape[2];
    if (r->h > INT64_MAX / 8)
        return error_set(SSQ_ERR_INVALID, "%s: h is %lld", r->name,
                         (long long)r->h);
    return SSQ_OK;
}

/* Check that t has these sizes, and a last stride of 1 if its rank and its last
 * size are more than 1. NULL passes. */
static ssq_status rnn_check_shape(const struct rnn *r, const ssq_tensor *t,
                                  const char *what, int rank, int64_t a,
                                  int64_t b, int64_t c)
{
    const struct view want = {.rank = rank, .shape = {a, b, c}};
    char tt[128], tw[128], tx[128], ty[128];
    if (t == NULL)
        return SSQ_OK;
    if (!view_same_shape(&t->view, &want))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %s is %s, expected %s for x, %s, and y, %s",
                         r->name, what, view_text(&t->view, tt, sizeof(tt)),
                         view_text(&want, tw, sizeof(tw)),
                         view_text(&r->x->view, tx, sizeof(tx)),
                         view_text(&r->y->view, ty, sizeof(ty)));
    int last = rank - 1;
    if (rank > 1 && t->view.shape[last] > 1 && t->view.stride[last] != 1)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the last dimension of %s has stride %lld, "
                         "expected 1",
                         r->name, what, (long long)t->view.stride[last]);
    return SSQ_OK;
}

/* Check that t is [t, batch, n] and can be read as [t * batch, n]: the matmuls
 * over all steps use it as one matrix. NULL passes. */
static ssq_status rnn_check_rows(const struct rnn *r, const ssq_tensor *t,
                                 const char *what, int64_t n)
{
    ssq_status st = rnn_check_shape(r, t, what, 3, r->t, r->batch, n);
    if (st != SSQ_OK || t == NULL || view_elements(&t->view) == 0)
        return st;
    const int64_t *stride = t->view.stride;
    if (r->t == 1 || r->batch == 1 || stride[0] == r->batch * stride[1])
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the rows of %s are not evenly spaced: t has stride "
                     "%lld, %lld times batch's %lld was expected",
                     r->name, what, (long long)stride[0], (long long)r->batch,
                     (long long)stride[1]);
}

/* Check the shapes of all tensors that have no dimension of t. */
static ssq_status check_matrices(const struct rnn *r)
{
    int64_t wide = r->parts * r->h;
    const struct {
        const ssq_tensor *t;
        const char *what;
        int64_t rows, n; /* n < 0: a vector */
    } all[] = {
        {r->w_ih, "w_ih", wide, r->in},   {r->w_hh, "w_hh", wide, r->h},
        {r->b_ih, "b_ih", wide, -1},      {r->b_hh, "b_hh", wide, -1},
        {r->h0, "h0", r->batch, r->h},    {r->c0, "c0", r->batch, r->h},
        {r->hn, "hn", r->batch, r->h},    {r->cn, "cn", r->batch, r->h},
        {r->dhn, "dhn", r->batch, r->h},  {r->dcn, "dcn", r->batch, r->h},
        {r->dw_ih, "dw_ih", wide, r->in}, {r->dw_hh, "dw_hh", wide, r->h},
        {r->db_ih, "db_ih", wide, -1},    {r->db_hh, "db_hh", wide, -1},
        {r->dh0, "dh0", r->batch, r->h},  {r->dc0, "dc0", r->batch, r->h},
    };
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && st == SSQ_OK; i++)
        st = rnn_check_shape(r, all[i].t, all[i].what, all[i].n < 0 ? 1 : 2,
                             all[i].rows, all[i].n, 0);
    return st;
}

ssq_status rnn_check(const ssq_queue *queue, struct rnn *r)
{
    ssq_status st = rnn_check_operands(queue, r);
    if (st == SSQ_OK)
        st = check_formats(r);
    if (st == SSQ_OK)
        st = rnn_find_sizes(r);
    if (st == SSQ_OK)
        st = rnn_check_rows(r, r->x, "x", r->in);
    if (st == SSQ_OK)
        st = check_matrices(r);
    if (st == SSQ_OK)
        st = rnn_check_rows(r, r->y, "y", r->h);
    if (st == SSQ_OK)
        st = rnn_check_rows(r, r->reserve, "reserve", r->saved * r->h);
    if (st == SSQ_OK)
        st = rnn_check_shape(r, r->dy, "dy", 3, r->t, r->batch, r->h);
    if (st == SSQ_OK)
        st = rnn_check_rows(r, r->dx, "dx", r->in);
    if (st == SSQ_OK && r->backward && r->dx == NULL && r->dw_ih == NULL &&
        r->dw_hh == NULL && r->db_ih == NULL && r->db_hh == NULL &&
        r->dh0 == NULL && r->dc0 == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: no output: all of them are NULL",
                         r->name);
    return st;
}

/* ---- without elements ---- */

bool rnn_empty(const struct rnn *r)
{
    return r->t == 0 || r->batch == 0 || r->h == 0;
}

/* Copy `from` to `to`, or fill `to` with 0 if `from` is NULL. Does nothing if
 * `to` is NULL, or if both are the same elements. */
static ssq_status rnn_pass(ssq_queue *queue, const ssq_tensor *from,
                           const ssq_tensor *to)
{
    struct view x = tensor_view(from, ACCESS_READ);
    struct view y = tensor_view(to, ACCESS_WRITE);
    if (to == NULL ||
        (from != NULL && x.dtype == y.dtype && view_same_place(&x, &y)))
        return SSQ_OK;
    return from == NULL ? enqueue_fill(queue, &y, 0.0)
                        : enqueue_copy(queue, &x, &y);
}

/* Without steps the state and the gradients do not change; sums over no
 * elements are 0. */
ssq_status rnn_run_empty(ssq_queue *queue, const struct rnn *r)
{
    const ssq_tensor *const pairs[][2] = {
        {r->h0, r->hn},   {r->c0, r->cn},   {r->dhn, r->dh0},
        {r->dcn, r->dc0}, {NULL, r->dx},    {NULL, r->dw_ih},
        {NULL, r->dw_hh}, {NULL, r->db_ih}, {NULL, r->db_hh}};
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && st == SSQ_OK;
         i++)
        st = rnn_pass(queue, pairs[i][0], pairs[i][1]);
    return queue_bundle_end(queue, st);
}

/* ---- views ---- */

int64_t rnn_place(const struct rnn *r, int64_t s)
{
    return r->reverse ? r->t - 1 - s : s;
}

struct view rnn_places(const struct view *v, int64_t from, int64_t n)
{
    struct view part = *v;
    if (v->buffer != NULL)
        part.offset += (uint64_t)(from * v->stride[0]) * dtype_bytes(v->dtype);
    part.shape[0] = n;
    return part;
}

struct view rnn_at(const struct view *v, int64_t place)
{
    struct view one = rnn_places(v, place, 1);
    return v->buffer == NULL ? one : view_part(&one, 1, 3);
}

struct view rnn_before(const struct rnn *r, int64_t s)
{
    struct view y = tensor_view(r->y, ACCESS_READ);
    return s == 0 ? tensor_view(r->h0, ACCESS_READ)
                  : rnn_at(&y, rnn_place(r, s - 1));
}

/* rnn_check_rows() has checked that the rows are evenly spaced. A batch of one
 * may have any stride, so t's is used then. */
struct view rnn_rows(const struct view *v)
{
    struct view rows = view_part(v, 1, 3);
    if (v->shape[1] == 1)
        rows.stride[0] = v->stride[0];
    rows.shape[0] = v->shape[0] * v->shape[1];
    return rows;
}

/* ---- products ---- */

/* Return a tensor around a view, for a public call. It may be on the stack,
 * because a call uses its tensors only until it returns, and ops hold buffers.
 * Its reference count is never used. */
static ssq_tensor tensor_of(const struct view *v)
{
    return (ssq_tensor){.view = *v};
}

/* none: alpha is 0, so a and b are not read at all. */
ssq_status rnn_multiply(ssq_queue *queue, const struct rnn_product *p)
{
    const ssq_tensor a = tensor_of(&p->a), b = tensor_of(&p->b);
    const ssq_tensor c = tensor_of(&p->c), d = tensor_of(&p->d);
    const ssq_tensor bias = tensor_of(&p->bias);
    ssq_gemm_args g = SSQ_GEMM_INIT;
    g.a = &a;
    g.b = &b;
    g.c = p->c.buffer == NULL ? NULL : &c;
    g.bias = p->bias.buffer == NULL ? NULL : &bias;
    g.d = &d;
    g.trans_a = p->trans_a;
    g.trans_b = p->trans_b;
    g.alpha = p->none ? 0.0 : 1.0;
    g.beta = p->c.buffer == NULL ? 0.0 : 1.0;
    return ssq_gemm(queue, &g);
}

ssq_status rnn_inputs(ssq_queue *queue, const struct rnn *r,
                      const struct view *gates)
{
    const struct rnn_product p = {.a = rnn_rows(&r->x->view),
                                  .b = r->w_ih->view,
                                  .bias = tensor_view(r->b_ih, ACCESS_READ),
                                  .d = rnn_rows(gates),
                                  .trans_b = true};
    return rnn_multiply(queue, &p);
}

ssq_status rnn_weight_scratch(ssq_queue *queue, const struct rnn *r,
                              struct view *work)
{
    const int64_t shape[] = {r->parts * r->h, r->h};
    *work = (struct view){.buffer = NULL};
    if (r->dw_hh == NULL || r->h0 == NULL || r->t == 1)
        return SSQ_OK;
    return scratch_get(queue, SSQ_F32, 2, shape, work);
}

/* Compute dw = dv^T h'. One matmul covers all steps whose h' is in y. If h0 is
 * given, another one covers the first step; it is written to work in float32
 * and added. dw is dw_hh or the part of some gates; dv has the same gates. */
static ssq_status recurrent_weight(ssq_queue *queue, const struct rnn *r,
                                   const struct view *dv, struct view dw,
                                   const struct view *work)
{
    struct view later = rnn_places(dv, r->reverse ? 0 : 1, r->t - 1);
    struct view first = rnn_at(dv, rnn_place(r, 0));
    struct view before = rnn_places(&r->y->view, r->reverse ? 1 : 0, r->t - 1);
    struct rnn_product p = {.trans_a = true};
    ssq_status st = SSQ_OK;
    if (r->h0 == NULL && r->t == 1)
        return enqueue_fill(queue, &dw, 0.0);
    if (r->h0 != NULL) {
        p.a = first;
        p.b = r->h0->view;
        p.d = r->t == 1 ? dw : *work;
        st = rnn_multiply(queue, &p);
        p.c = p.d;
    }
    if (st != SSQ_OK || r->t == 1)
        return st;
    p.a = rnn_rows(&later);
    p.b = rnn_rows(&before);
    p.d = dw;
    return rnn_multiply(queue, &p);
}

/* Compute dw_hh if the state is reset first. The last gate's part of w_hh was
 * not multiplied by h' but by r h', which is in r->reset. */
static ssq_status reset_weight(ssq_queue *queue, const struct rnn *r,
                               const struct view *dv, const struct view *work)
{
    int64_t before = (r->parts - 1) * r->h;
    struct view all = r->dw_hh->view;
    struct view some = view_columns(dv, 0, before), part = *work;
    struct view last = view_columns(dv, before, r->h);
    if (work->buffer != NULL)
        part = rnn_places(work, 0, before);
    ssq_status st =
        recurrent_weight(queue, r, &some, rnn_places(&all, 0, before), &part);
    const struct rnn_product p = {.a = rnn_rows(&last),
                                  .b = rnn_rows(&r->reset),
                                  .d = rnn_places(&all, before, r->h),
                                  .trans_a = true};
    return st == SSQ_OK ? rnn_multiply(queue, &p) : st;
}

/* Compute db, the sum over all steps and examples, unless it is NULL. */
static ssq_status rnn_bias_gradient(ssq_queue *queue, const struct view *d,
                                    const ssq_tensor *db)
{
    const struct view rows = rnn_rows(d);
    const ssq_tensor x = tensor_of(&rows);
    ssq_sum_args sum = SSQ_SUM_INIT;
    sum.x = &x;
    sum.y = db;
    sum.axes[0] = 0; /* rows */
    sum.n_axes = 1;
    return db == NULL ? SSQ_OK : ssq_sum(queue, &sum);
}

ssq_status rnn_finish(ssq_queue *queue, const struct rnn *r,
                      const struct view *du, const struct view *dv,
                      const struct view *work)
{
    struct rnn_product p = {.a = rnn_rows(du), .b = r->w_ih->view};
    ssq_status st = SSQ_OK;
    if (r->dx != NULL) {
        p.d = rnn_rows(&r->dx->view);
        st = rnn_multiply(queue, &p);
    }
    if (st == SSQ_OK && r->dw_ih != NULL) {
        p.b = rnn_rows(&r->x->view);
        p.d = r->dw_ih->view;
        p.trans_a = true;
        st = rnn_multiply(queue, &p);
    }
    if (st == SSQ_OK && r->dw_hh != NULL && r->reset_first)
        st = reset_weight(queue, r, dv, work);
    else if (st == SSQ_OK && r->dw_hh != NULL)
        st = recurrent_weight(queue, r, dv, r->dw_hh->view, work);
    if (st == SSQ_OK)
        st = rnn_bias_gradient(queue, du, r->db_ih);
    return st == SSQ_OK ? rnn_bias_gradient(queue, dv, r->db_hh) : st;
}
