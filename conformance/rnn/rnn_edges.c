/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_edges.c - LSTM and GRU over a sequence: torch's and ONNX's numbers, the
 * same from public ops, overflow, misuse. */
#include "conformance/case.h"
#include "conformance/golden.h"
#include "conformance/golden_onnx.h"
#include "conformance/rnn/golden_rnn.h"
#include "conformance/rnn/rnn_case.h"

/* ---- what torch says ---- */

static double *rnn_edges_values(struct harness *b, const struct num *x,
                                int64_t n)
{
    double *v = harness_alloc(b, (size_t)n * sizeof(*v));
    for (int64_t i = 0; i < n; i++)
        v[i] = x[i].v;
    return v;
}

static bool agrees(struct harness *b, const char *what, const struct num *have,
                   const double *want, int64_t n)
{
    return golden_agrees(b, what, rnn_edges_values(b, have, n), want, n);
}

/* The problem of golden.py: the oracle is torch, then the op is the oracle. */
bool rnn_run_golden(struct harness *b, bool gru)
{
    const struct rnn_entry e = {.gru = gru,
                                .t = 3,
                                .batch = 2,
                                .in = 3,
                                .h = 2,
                                .reserve = true,
                                .last = true,
                                .outputs = 127u};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    struct rnn_operands o = {.x = {.t = NULL}};
    golden_input(b, &o.x, 11, 3, s.x);
    golden_input(b, &o.w_ih, 5, 2, s.w_ih);
    golden_input(b, &o.w_hh, 7, 2, s.w_hh);
    golden_input(b, &o.b_ih, 3, 1, s.bias);
    golden_input(b, &o.b_hh, 2, 1, s.bias);
    golden_input(b, &o.h0, 4, 2, s.state);
    golden_input(b, &o.dy, 13, 3, s.y);
    golden_input(b, &o.dhn, 9, 2, s.state);
    if (!gru) {
        golden_input(b, &o.c0, 6, 2, s.state);
        golden_input(b, &o.dcn, 10, 2, s.state);
    }
    rnn_make_outputs(b, &e, &o);
    rnn_make_gradients(b, &e, &o);
    const struct rnn_problem p = rnn_problem_of(&e, &o);
    struct rnn_forward f = rnn_forward(b, &p);
    struct rnn_backward g = rnn_backward(b, &p, &f);
    HARNESS_OP(b, rnn_run_forward(b, &e, &o));
    HARNESS_OP(b, rnn_run_backward(b, &e, &o));
#define SAYS(WHAT, HAVE, N)                                                    \
    agrees(b, #WHAT, HAVE, gru ? golden_gru_##WHAT : golden_lstm_##WHAT, N)
    if (!gru && (!agrees(b, "cn", f.c + 8, golden_lstm_cn, 4) ||
                 !agrees(b, "dc0", g.dc0, golden_lstm_dc0, 4)))
        return false;
    return SAYS(y, f.exact, 12) && SAYS(dx, g.dx, 18) && SAYS(dh0, g.dh0, 4) &&
           SAYS(dw_ih, g.dw_ih, s.w_ih[0] * 3) &&
           SAYS(dw_hh, g.dw_hh, s.w_hh[0] * 2) &&
           SAYS(db_ih, g.db_ih, s.bias[0]) && SAYS(db_hh, g.db_hh, s.bias[0]) &&
           rnn_compare_forward(b, &p, &f, &o) &&
           rnn_compare_backward(b, &g, &o);
#undef SAYS
}

/* The problem of golden_onnx.py. */
bool rnn_run_golden_onnx(struct harness *b)
{
    const struct rnn_entry e = {
        .gru = true, .reset_first = true, .t = 3, .batch = 2, .in = 3, .h = 2};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    struct rnn_operands o = {.x = {.t = NULL}};
    golden_input(b, &o.x, 11, 3, s.x);
    golden_input(b, &o.w_ih, 5, 2, s.w_ih);
    golden_input(b, &o.w_hh, 7, 2, s.w_hh);
    golden_input(b, &o.b_ih, 3, 1, s.bias);
    golden_input(b, &o.b_hh, 2, 1, s.bias);
    golden_input(b, &o.h0, 4, 2, s.state);
    rnn_make_outputs(b, &e, &o);
    const struct rnn_problem p = rnn_problem_of(&e, &o);
    struct rnn_forward f = rnn_forward(b, &p);
    HARNESS_OP(b, rnn_run_forward(b, &e, &o));
    return agrees(b, "y", f.exact, golden_onnx_gru_y, 12) &&
           rnn_compare_forward(b, &p, &f, &o);
}

/* ---- the same from public ops ---- */

static ssq_tensor *rnn_edges_reshaped(struct harness *b, const ssq_tensor *t,
                                      int64_t rows, int64_t n)
{
    const int64_t shape[] = {rows, n};
    ssq_tensor *view = NULL;
    if (t != NULL && ssq_tensor_reshape(t, 2, shape, &view) != SSQ_OK)
        harness_fail(b, "%s", ssq_last_error());
    return view;
}

/* Rows from.. of a matrix. */
static ssq_tensor *rnn_edges_rows_of(struct harness *b, const ssq_tensor *t,
                                     int64_t from, int64_t n)
{
    ssq_tensor *view = NULL;
    if (t != NULL && ssq_tensor_slice(t, 0, from, from + n, 1, &view) != SSQ_OK)
        harness_fail(b, "%s", ssq_last_error());
    return view;
}

static void rnn_edges_multiply(struct harness *b, const ssq_tensor *a,
                               const ssq_tensor *w, const ssq_tensor *c,
                               const ssq_tensor *bias, const ssq_tensor *d)
{
    ssq_gemm_args g = SSQ_GEMM_INIT;
    g.a = a;
    g.b = w;
    g.c = c;
    g.bias = bias;
    g.d = d;
    g.trans_b = true;
    g.beta = c == NULL ? 0.0 : 1.0;
    HARNESS_OP(b, ssq_gemm(b->queue, &g));
}

/* Columns from.. of a matrix. */
static ssq_tensor *columns_of(struct harness *b, const ssq_tensor *t,
                              int64_t from, int64_t n)
{
    ssq_tensor *view = NULL;
    if (t != NULL && ssq_tensor_slice(t, 1, from, from + n, 1, &view) != SSQ_OK)
        harness_fail(b, "%s", ssq_last_error());
    return view;
}

/* Gates from.. of v, n of h columns each, from a state. */
static void multiply_gates(struct harness *b, const struct rnn_operands *o,
                           const ssq_tensor *state, const struct operand *v,
                           int64_t h, int64_t from, int64_t n)
{
    ssq_tensor *w = rnn_edges_rows_of(b, o->w_hh.t, from * h, n * h);
    ssq_tensor *bias = rnn_edges_rows_of(b, o->b_hh.t, from * h, n * h);
    ssq_tensor *to = columns_of(b, v->t, from * h, n * h);
    rnn_edges_multiply(b, state, w, NULL, bias, to);
    ssq_tensor_destroy(&w);
    ssq_tensor_destroy(&bias);
    ssq_tensor_destroy(&to);
}

/* v of a GRU whose state is reset first: two gates of h, one of p = r h. */
static void compose_reset(struct harness *b, const struct rnn_operands *o,
                          const ssq_tensor *u, const struct operand *v,
                          const ssq_tensor *h, const struct operand *p)
{
    ssq_gru_reset_args r = SSQ_GRU_RESET_INIT;
    multiply_gates(b, o, h, v, p->shape[1], 0, 2);
    r.u = u;
    r.v = v->t;
    r.h = h;
    r.y = p->t;
    HARNESS_OP(b, ssq_gru_reset(b->queue, &r));
    multiply_gates(b, o, p->t, v, p->shape[1], 2, 1);
}

/* One step: from the rows of u, h (a view that it may be) to y. p: where the
 * state is reset first, else NULL. */
static void compose_step(struct harness *b, bool gru,
                         const struct rnn_operands *o, const ssq_tensor *u,
                         struct operand *v, const ssq_tensor *h,
                         const ssq_tensor *y, const struct operand *c,
                         const struct operand *p)
{
    ssq_lstm_cell_args l = SSQ_LSTM_CELL_INIT;
    ssq_gru_cell_args g = SSQ_GRU_CELL_INIT;
    if (p != NULL)
        compose_reset(b, o, u, v, h, p);
    else
        rnn_edges_multiply(b, h, o->w_hh.t, gru ? NULL : u, o->b_hh.t,
                           gru ? v->t : u);
    g.reset_first = p != NULL;
    l.a = g.u = u;
    g.v = v->t;
    g.h = h;
    l.y = g.y = y;
    l.c = l.c_out = c->t;
    if (gru)
        HARNESS_OP(b, ssq_gru_cell(b->queue, &g));
    else
        HARNESS_OP(b, ssq_lstm_cell(b->queue, &l));
}

/* gemms and cells, one after the other, give the bits of the sequence. */
bool rnn_run_composed(struct harness *b, bool gru, bool reset_first)
{
    const struct rnn_entry e = {.gru = gru,
                                .reset_first = reset_first,
                                .t = 5,
                                .batch = 3,
                                .in = 7,
                                .h = 6,
                                .format = 1,
                                .bias = true,
                                .h0 = true,
                                .c0 = !gru};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    const int64_t rows[] = {e.t * e.batch, s.bias[0]};
    const int64_t one[] = {e.batch, s.bias[0]};
    struct rnn_operands o;
    struct operand u, v, y, p;
    rnn_make_inputs(b, &e, &o);
    rnn_make_outputs(b, &e, &o);
    harness_output(b, &p, SSQ_F16, 2, s.state, LAYOUT_DENSE);
    harness_output(b, &u, SSQ_F32, 2, rows, LAYOUT_DENSE);
    harness_output(b, &v, SSQ_F32, 2, one, LAYOUT_DENSE);
    harness_output(b, &y, SSQ_F16, 3, s.y, LAYOUT_DENSE);
    HARNESS_OP(b, rnn_run_forward(b, &e, &o));
    harness_read(b, &o.y);
    ssq_tensor *x2 = rnn_edges_reshaped(b, o.x.t, rows[0], e.in);
    ssq_tensor *y2 = rnn_edges_reshaped(b, y.t, rows[0], e.h);
    rnn_edges_multiply(b, x2, o.w_ih.t, NULL, o.b_ih.t, u.t);
    for (int64_t t = 0; t < e.t; t++) {
        ssq_tensor *ut = rnn_edges_rows_of(b, u.t, t * e.batch, e.batch);
        ssq_tensor *yt = rnn_edges_rows_of(b, y2, t * e.batch, e.batch);
        ssq_tensor *ht =
            t == 0 ? NULL
                   : rnn_edges_rows_of(b, y2, (t - 1) * e.batch, e.batch);
        compose_step(b, gru, &o, ut, &v, t == 0 ? o.h0.t : ht, yt, &o.c0,
                     reset_first ? &p : NULL);
        ssq_tensor_destroy(&ut);
        ssq_tensor_destroy(&yt);
        ssq_tensor_destroy(&ht);
    }
    ssq_tensor_destroy(&x2);
    ssq_tensor_destroy(&y2);
    harness_read(b, &y);
    return harness_bits(b, &y, o.y.bits);
}

/* ---- edges ---- */

/* [t, 1, n], the second of three sequences. */
static ssq_tensor *second_of(struct harness *b, const ssq_tensor *t)
{
    ssq_tensor *view = NULL;
    if (t != NULL && ssq_tensor_slice(t, 1, 1, 2, 1, &view) != SSQ_OK)
        harness_fail(b, "%s", ssq_last_error());
    return view;
}

/* One sequence of a wider x into one of a wider y: the bits that it has in a
 * batch of all three. */
bool rnn_run_slice(struct harness *b, bool gru)
{
    const struct rnn_entry e = {
        .gru = gru, .t = 4, .batch = 3, .in = 5, .h = 3, .bias = true};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    struct rnn_operands all, one;
    struct operand y;
    rnn_make_inputs(b, &e, &all);
    harness_output(b, &y, SSQ_F32, 3, s.y, LAYOUT_DENSE);
    all.y = y;
    HARNESS_OP(b, rnn_run_forward(b, &e, &all));
    harness_read(b, &all.y);
    harness_output(b, &y, SSQ_F32, 3, s.y, LAYOUT_DENSE);
    one = all;
    ssq_tensor *x1 = second_of(b, all.x.t), *y1 = second_of(b, y.t);
    one.x.t = x1;
    one.y.t = y1;
    HARNESS_OP(b, rnn_run_forward(b, &e, &one));
    ssq_tensor_destroy(&x1);
    ssq_tensor_destroy(&y1);
    uint32_t *want = harness_alloc(b, (size_t)y.n * sizeof(*want));
    memcpy(want, y.bits, (size_t)y.n * sizeof(*want));
    for (int64_t i = 0; i < y.n; i++)
        if (i / e.h % 3 == 1)
            want[i] = all.y.bits[i];
    harness_read(b, &y);
    return harness_bits(b, &y, want);
}

/* f16 gradients of gates that overflow reach dx: a scaler sees them. */
bool rnn_run_overflow(struct harness *b, bool gru)
{
    struct rnn_entry e = {.gru = gru,
                          .t = 2,
                          .batch = 1,
                          .in = 3,
                          .h = 1,
                          .format = 1,
                          .dhn = true,
                          .reserve = true,
                          .outputs = 1};
    const double huge[] = {3e7};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    struct rnn_operands o;
    rnn_make_inputs(b, &e, &o);
    harness_values(b, &o.dhn, SSQ_F32, 2, s.state, LAYOUT_DENSE, huge);
    rnn_make_outputs(b, &e, &o);
    rnn_make_gradients(b, &e, &o);
    HARNESS_OP(b, rnn_run_forward(b, &e, &o));
    HARNESS_OP(b, rnn_run_backward(b, &e, &o));
    harness_read(b, &o.dx);
    for (int64_t i = 3; i < 6 && !harness_over(b); i++)
        if (isfinite(o.dx.value[i]))
            return harness_fail(b, "dx %d is finite: %g", (int)i,
                                o.dx.value[i]);
    return !b->failed;
}

/* Without steps hn is h0 converted, also if it is in the same place. */
bool rnn_run_no_steps(struct harness *b, bool gru)
{
    const struct rnn_entry e = {.gru = gru, .batch = 1, .in = 3, .h = 2};
    const float value[] = {3, -0.5f};
    const int64_t state[] = {1, 2};
    struct rnn_operands o;
    ssq_buffer *both = NULL;
    ssq_tensor *h0 = NULL, *hn = NULL, *y = NULL;
    ssq_device *d = ssq_queue_device(b->queue);
    float have[2] = {0, 0};
    rnn_make_inputs(b, &e, &o);
    harness_status(b, ssq_buffer_create(d, 4, &both));
    harness_status(
        b, ssq_tensor_from_buffer(both, SSQ_BF16, 2, state, NULL, 0, &h0));
    harness_status(
        b, ssq_tensor_from_buffer(both, SSQ_F16, 2, state, NULL, 0, &hn));
    harness_status(b,
                   ssq_tensor_create(d, SSQ_BF16, 3, (int64_t[]){0, 1, 2}, &y));
    if (!b->admit)
        harness_status(
            b, ssq_tensor_write(b->queue, h0, value, sizeof(value), SSQ_F32));
    o.h0.t = h0;
    o.hn.t = hn;
    o.y.t = y;
    harness_status(b, rnn_run_forward(b, &e, &o));
    if (!b->admit) {
        harness_status(
            b, ssq_tensor_read(b->queue, hn, have, sizeof(have), SSQ_F32));
        harness_status(b, ssq_queue_sync(b->queue));
    }
    ssq_tensor_destroy(&h0);
    ssq_tensor_destroy(&hn);
    ssq_tensor_destroy(&y);
    ssq_buffer_destroy(&both);
    if (!b->admit && (have[0] != value[0] || have[1] != value[1]))
        return harness_fail(b, "hn is %g %g, expected 3 -0.5", (double)have[0],
                            (double)have[1]);
    return !b->failed;
}

#define REFUSED(F, A, WORDS)                                                   \
    harness_refused_as(b, SSQ_ERR_INVALID, F(b->queue, &(A)), WORDS)

/* A tensor that is all right but for its place among the arguments. */
static void refusals_lstm_forward(struct harness *b, const struct rnn_shapes *s,
                                  const struct rnn_operands *o,
                                  const ssq_lstm_args *good)
{
    const int64_t wrong[] = {8, 3};
    struct operand w, half, brain;
    harness_input(b, &w, SSQ_F32, 2, wrong, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &half, SSQ_F16, 3, s->x, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &brain, SSQ_BF16, 2, s->w_ih, LAYOUT_DENSE, FILL_NORMAL);
    ssq_lstm_args f = *good;
    f.w_hh = w.t;
    REFUSED(ssq_lstm, f,
            "lstm: w_hh is [8,3], expected [12,3] for x, [5,2,7], and y, "
            "[5,2,3]");
    f = *good;
    f.x = half.t;
    f.w_ih = brain.t;
    REFUSED(ssq_lstm, f,
            "lstm: x is f16, w_ih is bf16: they have no common 16-bit format");
    f = *good;
    f.x = o->w_ih.t;
    REFUSED(ssq_lstm, f,
            "lstm: x is [12,7], y is [5,2,3], expected [t, batch, in] and [t, "
            "batch, h]");
    f = *good;
    f.h0 = NULL;
    f.b_ih = w.t;
    REFUSED(ssq_lstm, f, "lstm: b_ih is [8,3], expected [12] for x, [5,2,7]");
    f = *good;
    f.reserve = NULL;
    f.hn = o->h0.t;
    f.cn = o->h0.t;
    REFUSED(ssq_lstm, f, "lstm: hn overlaps cn");
    f = *good;
    f.y = o->dx.t;
    REFUSED(ssq_lstm, f, "lstm: w_ih is [12,7], expected [28,7] for x");
}

/* x is [batch, t, in], turned: the steps of a sequence are neighbours. */
static void refusal_of_turned(struct harness *b, const struct rnn_shapes *s,
                              const ssq_lstm_args *good)
{
    const int64_t shape[] = {s->x[1], s->x[0], s->x[2]};
    const int axes[] = {1, 0, 2};
    struct operand x;
    ssq_tensor *turned = NULL;
    ssq_lstm_args f = *good;
    harness_input(b, &x, SSQ_F32, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    if (x.t == NULL || ssq_tensor_transpose(x.t, axes, &turned) != SSQ_OK) {
        harness_fail(b, "%s", ssq_last_error());
        return;
    }
    f.x = turned;
    REFUSED(ssq_lstm, f,
            "lstm: the rows of x are not evenly spaced: t has stride 7, 2 "
            "times batch's 35 was expected");
    ssq_tensor_destroy(&turned);
}

static bool refusals_lstm(struct harness *b)
{
    const struct rnn_entry e = {.t = 5,
                                .batch = 2,
                                .in = 7,
                                .h = 3,
                                .reserve = true,
                                .h0 = true,
                                .outputs = 127u};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    struct rnn_operands o;
    rnn_make_inputs(b, &e, &o);
    rnn_make_outputs(b, &e, &o);
    rnn_make_gradients(b, &e, &o);
    ssq_lstm_args good = SSQ_LSTM_INIT;
    good.x = o.x.t;
    good.w_ih = o.w_ih.t;
    good.w_hh = o.w_hh.t;
    good.h0 = o.h0.t;
    good.y = o.y.t;
    good.reserve = o.reserve.t;
    refusals_lstm_forward(b, &s, &o, &good);
    refusal_of_turned(b, &s, &good);
    ssq_lstm_backward_args g = SSQ_LSTM_BACKWARD_INIT;
    g.x = o.x.t;
    g.w_ih = o.w_ih.t;
    g.w_hh = o.w_hh.t;
    g.y = o.y.t;
    g.reserve = o.reserve.t;
    REFUSED(ssq_lstm_backward, g,
            "lstm_backward: no output: all of them are NULL");
    g.dx = o.dx.t;
    g.dw_ih = o.dx.t;
    REFUSED(ssq_lstm_backward, g, "lstm_backward: dx overlaps dw_ih");
    g.dw_ih = NULL;
    g.reserve = NULL;
    REFUSED(ssq_lstm_backward, g, "lstm_backward: reserve is NULL");
    return harness_unchanged(b, &o.y) && harness_unchanged(b, &o.dx) &&
           harness_unchanged(b, &o.reserve) && harness_unchanged(b, &o.h0);
}

static bool refusals_gru(struct harness *b)
{
    const struct rnn_entry e = {
        .gru = true, .t = 4, .batch = 2, .in = 3, .h = 2, .reserve = true};
    const struct rnn_shapes s = rnn_shapes_of(&e);
    struct rnn_operands o;
    struct operand half, columns;
    rnn_make_inputs(b, &e, &o);
    rnn_make_outputs(b, &e, &o);
    harness_input(b, &half, SSQ_F16, 2, s.state, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &columns, SSQ_F32, 2, s.w_hh, LAYOUT_TRANSPOSED,
                  FILL_NORMAL);
    ssq_gru_args good = SSQ_GRU_INIT, f;
    good.x = o.x.t;
    good.w_ih = o.w_ih.t;
    good.w_hh = o.w_hh.t;
    good.y = o.y.t;
    f = good;
    f.h0 = half.t;
    REFUSED(ssq_gru, f, "gru: h0 is f16, expected f32");
    f = good;
    f.w_hh = columns.t;
    REFUSED(ssq_gru, f,
            "gru: the last dimension of w_hh has stride 6, expected 1");
    f = good;
    f.reserve = o.y.t;
    REFUSED(ssq_gru, f, "gru: y overlaps reserve");
    f = good;
    f.y = NULL;
    REFUSED(ssq_gru, f, "gru: y is NULL");
    return harness_unchanged(b, &o.y);
}

bool rnn_run_refusals(struct harness *b, bool gru)
{
    return gru ? refusals_gru(b) : refusals_lstm(b);
}
