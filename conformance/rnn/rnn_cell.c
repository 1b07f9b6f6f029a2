/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_cell.c - cases of the LSTM and GRU cells, forward and backward: the same
 * bits everywhere, and near the oracle. */
#include "conformance/case.h"
#include "conformance/rnn/rnn.h"

static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {2, 8},  {5, 13},
                                   {0, 4}, {4, 0}, {1, 67}, {17, 5}};
static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
static const enum fill fills[] = {FILL_NORMAL, FILL_NORMAL,  FILL_HUGE,
                                  FILL_TINY,   FILL_SPECIAL, FILL_ZERO};

/** One choice of every factor. */
struct rnn_cell_entry {
    int64_t batch, h;
    ssq_dtype in, out, saved; /* of a, u, v, h; of y; of gates and q */
    enum layout layout_in, layout_out, layout_state;
    enum fill fill;
    bool state, save, second; /* c or h; gates; dh beside dy */
    bool over;                /* outputs over the inputs they may be */
    unsigned gradients;       /* backward: 1 dy, 2 dh, 4 dc, 8 what passes on */
    bool reset_first;         /* of a GRU */
};

static struct rnn_cell_entry rnn_cell_entry_of(size_t i, bool gru)
{
    size_t k = i;
    struct rnn_cell_entry e = {.batch = sizes[i % COUNT(sizes)][0],
                               .h = sizes[i % COUNT(sizes)][1]};
    k = k * 0x9e3779b97f4a7c15u >> 7; /* spread the digits */
    e.in = dtypes[pick(&k, 3)];
    e.out = dtypes[pick(&k, 3)];
    e.saved = pick(&k, 2) == 0 ? SSQ_F32 : dtypes[pick(&k, 3)];
    e.layout_in = (enum layout)pick(&k, 3);
    e.layout_out = (enum layout)pick(&k, 3);
    e.layout_state = (enum layout)pick(&k, 3);
    e.fill = fills[pick(&k, COUNT(fills))];
    e.state = pick(&k, 4) != 0;
    e.save = pick(&k, 4) != 0;
    e.over = pick(&k, 4) == 0;
    e.gradients = (unsigned)pick(&k, 16);
    e.reset_first = pick(&k, 2) == 0 && gru;
    if (i % 9 == 0) { /* one dtype, and no dh, which is float32 */
        e.out = e.saved = e.in;
        e.gradients &= ~2u;
    }
    return e;
}

static void rnn_cell_entry_text(const char *name,
                                const struct rnn_cell_entry *e, bool backward,
                                char *text, size_t bytes)
{
    snprintf(
        text, bytes, "%s%s %dx%d %s %s %s to %s %s, gates %s, state %s%s%s%s",
        name, e->reset_first ? " reset first" : "", (int)e->batch, (int)e->h,
        fill_text(e->fill), ssq_dtype_name(e->in), layout_text(e->layout_in),
        ssq_dtype_name(e->out), layout_text(e->layout_out),
        backward || e->save ? ssq_dtype_name(e->saved) : "unsaved",
        layout_text(e->layout_state), e->state ? "" : " absent",
        e->over ? ", in place" : "", backward ? ":" : "");
    static const char *const words[] = {" dy", " dh", " dc", " passed on"};
    for (int k = 0; backward && k < 4; k++)
        if ((e->gradients >> k & 1) != 0)
            strncat(text, words[k], bytes - strlen(text) - 1);
}

/* [batch, parts h]. */
static void rnn_cell_matrix(struct harness *b, const struct rnn_cell_entry *e,
                            struct operand *x, ssq_dtype dtype, int parts,
                            enum layout layout, enum fill fill)
{
    const int64_t shape[] = {e->batch, parts * e->h};
    harness_input(b, x, dtype, 2, shape, layout, fill);
}

static void rnn_cell_result(struct harness *b, const struct rnn_cell_entry *e,
                            struct operand *x, ssq_dtype dtype, int parts,
                            enum layout layout)
{
    const int64_t shape[] = {e->batch, parts * e->h};
    harness_output(b, x, dtype, 2, shape, layout);
}

/* Gradients and states of the backward ops: special ones so small that no
 * product of two leaves float32, where the oracle has other infinities. */
static void moderate(struct harness *b, const struct rnn_cell_entry *e,
                     struct operand *x, ssq_dtype dtype, enum layout layout)
{
    enum fill fill = e->fill == FILL_HUGE ? FILL_NORMAL : e->fill;
    rnn_cell_matrix(b, e, x, dtype, 1, layout, fill);
    if (e->fill != FILL_SPECIAL || dtype == SSQ_F16)
        return;
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    for (int64_t i = 0; i < x->n; i++)
        v[i] = x->value[i] * 0x1p-70;
    const int64_t shape[] = {e->batch, e->h};
    harness_values(b, x, dtype, 2, shape, layout, v);
}

/* Values of gates: those in the mask are tanhs, the others sigmoids. */
static void gates(struct harness *b, const struct rnn_cell_entry *e,
                  struct operand *x, int parts, unsigned tanhs)
{
    const int64_t shape[] = {e->batch, parts * e->h};
    int64_t n = e->batch * parts * e->h;
    double *v = harness_alloc(b, (size_t)n * sizeof(*v));
    for (int64_t i = 0; i < n; i++) {
        int64_t part = e->h == 0 ? 0 : i % (parts * e->h) / e->h;
        double u = harness_uniform(b), special = harness_uniform(b);
        v[i] = (tanhs >> part & 1) != 0 ? 2.0 * u - 1.0 : u;
        if (e->fill == FILL_SPECIAL && special < 0.1)
            v[i] = (double)NAN;
        else if (e->fill == FILL_SPECIAL && special < 0.3)
            v[i] = special < 0.2 ? 0.0 : 1.0; /* saturated */
    }
    harness_values(b, x, e->saved, 2, shape, e->layout_in, v);
}

/* Element (r, part, j) of an operand's values before the op; 0 of none. */
static struct num rnn_cell_number(const struct rnn_cell_entry *e,
                                  const double *v, int64_t r, int parts,
                                  int part, int64_t j)
{
    return num_exact(v == NULL ? 0.0 : v[(r * parts + part) * e->h + j]);
}

static double *rnn_cell_copied(struct harness *b, const struct operand *x)
{
    double *v =
        x->t == NULL ? NULL : harness_alloc(b, (size_t)x->n * sizeof(*v));
    if (v != NULL)
        memcpy(v, x->value, (size_t)x->n * sizeof(*v));
    return v;
}

static struct num *wanted(struct harness *b, const struct rnn_cell_entry *e,
                          int parts)
{
    return harness_alloc(b, (size_t)(e->batch * parts * e->h) *
                                sizeof(struct num));
}

/* An output that may be absent: near the oracle, and the same everywhere. */
static bool rnn_cell_check(struct harness *b, struct operand *y,
                           const struct num *want)
{
    if (y->t == NULL)
        return true;
    return rnn_compare(b, y, want) && harness_same(b, y);
}

/* ---- LSTM ---- */

static bool rnn_cell_run_lstm(struct harness *b, size_t i)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, false);
    struct operand a, c = {.t = NULL}, y, c_out, saved = {.t = NULL};
    rnn_cell_matrix(b, &e, &a, e.in, 4, e.layout_in, e.fill);
    if (e.state)
        rnn_cell_matrix(b, &e, &c, SSQ_F32, 1, e.layout_state,
                        e.fill == FILL_HUGE ? FILL_NORMAL : e.fill);
    rnn_cell_result(b, &e, &y, e.out, 1, e.layout_out);
    if (e.over && e.state)
        c_out = c;
    else
        rnn_cell_result(b, &e, &c_out, SSQ_F32, 1, e.layout_state);
    if (e.save && e.over)
        saved = a;
    else if (e.save)
        rnn_cell_result(b, &e, &saved, e.saved, 4, e.layout_out);
    double *va = rnn_cell_copied(b, &a), *vc = rnn_cell_copied(b, &c);
    ssq_lstm_cell_args args = SSQ_LSTM_CELL_INIT;
    args.a = a.t;
    args.c = c.t;
    args.y = y.t;
    args.c_out = c_out.t;
    args.gates = saved.t;
    b->bytes = (double)y.n * 4.0 * (4 + 1 + 2 + 4);
    HARNESS_OP(b, ssq_lstm_cell(b->queue, &args));
    struct num *wg = wanted(b, &e, 4), *wc = wanted(b, &e, 1);
    struct num *wy = wanted(b, &e, 1);
    for (int64_t k = 0; va != NULL && k < e.batch * e.h; k++) {
        int64_t r = k / e.h, j = k % e.h;
        struct num n[4];
        for (int m = 0; m < 4; m++)
            n[m] = rnn_cell_number(&e, va, r, 4, m, j);
        struct lstm_element s =
            lstm_element(n, rnn_cell_number(&e, vc, r, 1, 0, j));
        for (int m = 0; m < 4; m++)
            wg[(r * 4 + m) * e.h + j] = s.gate[m];
        wc[k] = s.c_out;
        wy[k] = s.y;
    }
    return rnn_cell_check(b, &saved, wg) && rnn_cell_check(b, &c_out, wc) &&
           rnn_cell_check(b, &y, wy);
}

static bool run_lstm_backward(struct harness *b, size_t i)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, false);
    struct operand saved, c = {.t = NULL}, c_out, dy = c, dh = c, dc = c, da;
    struct operand dc_in = c;
    gates(b, &e, &saved, 4, 1u << 2);
    moderate(b, &e, &c_out, SSQ_F32, e.layout_state);
    if (e.state)
        moderate(b, &e, &c, SSQ_F32, e.layout_out);
    if ((e.gradients & 1) != 0)
        moderate(b, &e, &dy, e.in, e.layout_out);
    if ((e.gradients & 2) != 0)
        moderate(b, &e, &dh, SSQ_F32, e.layout_in);
    if ((e.gradients & 4) != 0)
        moderate(b, &e, &dc, SSQ_F32, LAYOUT_PADDED);
    double *vg = rnn_cell_copied(b, &saved), *vc = rnn_cell_copied(b, &c),
           *vo = rnn_cell_copied(b, &c_out);
    double *vy = rnn_cell_copied(b, &dy), *vh = rnn_cell_copied(b, &dh),
           *vd = rnn_cell_copied(b, &dc);
    if (e.over)
        da = saved;
    else
        rnn_cell_result(b, &e, &da, e.out, 4, e.layout_out);
    if ((e.gradients & 8) != 0 && e.over && dc.t != NULL)
        dc_in = dc;
    else if ((e.gradients & 8) != 0)
        rnn_cell_result(b, &e, &dc_in, SSQ_F32, 1, e.layout_state);
    ssq_lstm_cell_backward_args args = SSQ_LSTM_CELL_BACKWARD_INIT;
    args.gates = saved.t;
    args.c = c.t;
    args.c_out = c_out.t;
    args.dy = dy.t;
    args.dh = dh.t;
    args.dc = dc.t;
    args.da = da.t;
    args.dc_in = dc_in.t;
    HARNESS_OP(b, ssq_lstm_cell_backward(b->queue, &args));
    struct num *wa = wanted(b, &e, 4), *wc = wanted(b, &e, 1);
    for (int64_t k = 0; vg != NULL && k < e.batch * e.h; k++) {
        int64_t r = k / e.h, j = k % e.h;
        struct num n[4];
        for (int m = 0; m < 4; m++)
            n[m] = rnn_cell_number(&e, vg, r, 4, m, j);
        struct num s = num_add(rnn_cell_number(&e, vy, r, 1, 0, j),
                               rnn_cell_number(&e, vh, r, 1, 0, j));
        struct lstm_slope g = lstm_slope(n, rnn_cell_number(&e, vc, r, 1, 0, j),
                                         rnn_cell_number(&e, vo, r, 1, 0, j), s,
                                         rnn_cell_number(&e, vd, r, 1, 0, j));
        for (int m = 0; m < 4; m++)
            wa[(r * 4 + m) * e.h + j] = g.da[m];
        wc[k] = g.dc_in;
    }
    return rnn_cell_check(b, &da, wa) && rnn_cell_check(b, &dc_in, wc);
}

/* ---- GRU ---- */

/* y = r h, of the same u, v and h. */
static bool run_reset(struct harness *b, const struct rnn_cell_entry *e,
                      struct operand *u, struct operand *v, struct operand *h)
{
    struct operand y;
    if (!e->reset_first || h->t == NULL)
        return true;
    rnn_cell_result(b, e, &y, e->out, 1, e->layout_in);
    ssq_gru_reset_args args = SSQ_GRU_RESET_INIT;
    args.u = u->t;
    args.v = v->t;
    args.h = h->t;
    args.y = y.t;
    HARNESS_OP(b, ssq_gru_reset(b->queue, &args));
    struct num *want = wanted(b, e, 1);
    for (int64_t k = 0; u->value != NULL && k < e->batch * e->h; k++) {
        int64_t r = k / e->h, j = k % e->h;
        want[k] = gru_reset(rnn_cell_number(e, u->value, r, 3, 0, j),
                            rnn_cell_number(e, v->value, r, 3, 0, j),
                            rnn_cell_number(e, h->value, r, 1, 0, j));
    }
    return rnn_cell_check(b, &y, want);
}

/* After the cell's backward op that of r h, whose gradient is dp: du_r and
 * dv_r, and what dh_in had is added to. */
static ssq_status reset_backward(struct harness *b,
                                 const ssq_gru_cell_backward_args *cell,
                                 const struct operand *dp)
{
    ssq_gru_reset_backward_args args = SSQ_GRU_RESET_BACKWARD_INIT;
    args.gates = cell->gates;
    args.h = cell->h;
    args.dy = dp->t;
    args.dh = cell->dh_in;
    args.du = cell->du;
    args.dv = cell->dv;
    args.dh_in = cell->dh_in;
    return ssq_gru_reset_backward(b->queue, &args);
}

/* Element (r, j) of its result, from the cell's result. */
static void reset_slope(const struct rnn_cell_entry *e, struct num gate,
                        struct num dp, const double *h, struct num state,
                        ssq_dtype dtype, struct gru_slope *g)
{
    if (!e->reset_first)
        return;
    if (h != NULL)
        g->du[0] = g->dv[0] = gru_reset_slope(gate, state, dp);
    g->dh_in = num_add(num_store(g->dh_in, dtype), num_mul(dp, gate));
}

static bool rnn_cell_run_gru(struct harness *b, size_t i)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, true);
    struct operand u, v, h = {.t = NULL}, y, saved = h, q = h;
    rnn_cell_matrix(b, &e, &u, e.in, 3, e.layout_in, e.fill);
    rnn_cell_matrix(b, &e, &v, e.saved, 3, e.layout_state, e.fill);
    if (e.state)
        rnn_cell_matrix(b, &e, &h, e.out, 1, e.layout_out,
                        e.fill == FILL_HUGE ? FILL_NORMAL : e.fill);
    if (e.over && e.state)
        y = h;
    else
        rnn_cell_result(b, &e, &y, e.out, 1, e.layout_out);
    if (e.save && e.over)
        saved = u;
    else if (e.save)
        rnn_cell_result(b, &e, &saved, e.saved, 3, e.layout_out);
    if (e.save)
        rnn_cell_result(b, &e, &q, e.saved, 1, e.layout_in);
    double *vu = rnn_cell_copied(b, &u), *vv = rnn_cell_copied(b, &v),
           *vh = rnn_cell_copied(b, &h);
    if (!run_reset(b, &e, &u, &v, &h))
        return false;
    ssq_gru_cell_args args = SSQ_GRU_CELL_INIT;
    args.u = u.t;
    args.v = v.t;
    args.h = h.t;
    args.y = y.t;
    args.gates = saved.t;
    args.q = q.t;
    args.reset_first = e.reset_first;
    b->bytes = (double)y.n * 4.0 * (6 + 1 + 1 + 4);
    HARNESS_OP(b, ssq_gru_cell(b->queue, &args));
    struct num *wg = wanted(b, &e, 3), *wq = wanted(b, &e, 1);
    struct num *wy = wanted(b, &e, 1);
    for (int64_t k = 0; vu != NULL && k < e.batch * e.h; k++) {
        int64_t r = k / e.h, j = k % e.h;
        struct num nu[3], nv[3];
        for (int m = 0; m < 3; m++) {
            nu[m] = rnn_cell_number(&e, vu, r, 3, m, j);
            nv[m] = rnn_cell_number(&e, vv, r, 3, m, j);
        }
        struct gru_element s = gru_element(
            nu, nv, rnn_cell_number(&e, vh, r, 1, 0, j), e.reset_first);
        for (int m = 0; m < 3; m++)
            wg[(r * 3 + m) * e.h + j] = s.gate[m];
        wq[k] = nv[2];
        wy[k] = s.y;
    }
    return rnn_cell_check(b, &saved, wg) && rnn_cell_check(b, &q, wq) &&
           rnn_cell_check(b, &y, wy);
}

static bool run_gru_backward(struct harness *b, size_t i)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, true);
    struct operand saved, q, h = {.t = NULL}, dy = h, dh = h, du, dv, dh_in = h;
    gates(b, &e, &saved, 3, 1u << 2);
    moderate(b, &e, &q, e.saved, e.layout_state);
    if (e.state)
        moderate(b, &e, &h, e.in, e.layout_out);
    if ((e.gradients & 1) != 0)
        moderate(b, &e, &dy, e.in, e.layout_out);
    if ((e.gradients & 2) != 0)
        moderate(b, &e, &dh, SSQ_F32, e.layout_in);
    double *vg = rnn_cell_copied(b, &saved), *vq = rnn_cell_copied(b, &q),
           *vh = rnn_cell_copied(b, &h);
    double *vy = rnn_cell_copied(b, &dy), *vd = rnn_cell_copied(b, &dh);
    if (e.over)
        du = saved;
    else
        rnn_cell_result(b, &e, &du, e.out, 3, e.layout_out);
    rnn_cell_result(b, &e, &dv, e.out, 3, e.layout_in);
    if ((e.gradients & 8) != 0 && e.over && dh.t != NULL)
        dh_in = dh;
    else if ((e.gradients & 8) != 0)
        rnn_cell_result(b, &e, &dh_in, e.saved, 1, e.layout_state);
    ssq_gru_cell_backward_args args = SSQ_GRU_CELL_BACKWARD_INIT;
    args.gates = saved.t;
    args.q = e.reset_first ? NULL : q.t; /* else it is dp */
    args.h = h.t;
    args.dy = dy.t;
    args.dh = dh.t;
    args.du = du.t;
    args.dv = dv.t;
    args.dh_in = dh_in.t;
    args.reset_first = e.reset_first;
    HARNESS_OP(b, ssq_gru_cell_backward(b->queue, &args));
    if (e.reset_first)
        HARNESS_OP(b, reset_backward(b, &args, &q));
    struct num *wu = wanted(b, &e, 3), *wv = wanted(b, &e, 3);
    struct num *wh = wanted(b, &e, 1);
    for (int64_t k = 0; vg != NULL && k < e.batch * e.h; k++) {
        int64_t r = k / e.h, j = k % e.h;
        struct num n[3];
        for (int m = 0; m < 3; m++)
            n[m] = rnn_cell_number(&e, vg, r, 3, m, j);
        struct num s = num_add(rnn_cell_number(&e, vy, r, 1, 0, j),
                               rnn_cell_number(&e, vd, r, 1, 0, j));
        struct num q_or_dp = rnn_cell_number(&e, vq, r, 1, 0, j);
        struct num state = rnn_cell_number(&e, vh, r, 1, 0, j);
        struct gru_slope g = gru_slope(n, q_or_dp, state, s, e.reset_first);
        reset_slope(&e, n[0], q_or_dp, vh, state,
                    dh_in.t == NULL ? SSQ_F32 : dh_in.dtype, &g);
        for (int m = 0; m < 3; m++) {
            wu[(r * 3 + m) * e.h + j] = g.du[m];
            wv[(r * 3 + m) * e.h + j] = g.dv[m];
        }
        wh[k] = g.dh_in;
    }
    return rnn_cell_check(b, &du, wu) && rnn_cell_check(b, &dv, wv) &&
           rnn_cell_check(b, &dh_in, wh);
}

/* ---- edges ---- */

/* Gradients beyond 65504 become infinite in f16. */
static bool rnn_cell_run_overflow(struct harness *b)
{
    const int64_t one[] = {3, 1}, four[] = {3, 4};
    const double inf = (double)INFINITY;
    const double gate[] = {0.5, 0.5, 0.0, 0.5, 0.5, 0.5,
                           0.0, 0.5, 0.5, 0.5, 0.0, 0.5};
    const double state[] = {1.0, 1.0, 1.0};
    /* da_f = dc c / 4, da_g = dc i */
    const double dc[] = {4.0 * 65504.0, 4.0 * 65519.0, -4.0 * 65520.0};
    const double want[] = {0.0, 65504.0, inf,  0.0,  0.0,  65504.0,
                           inf, 0.0,     -0.0, -inf, -inf, 0.0};
    struct operand g, c, c_out, d, da;
    harness_values(b, &g, SSQ_F32, 2, four, LAYOUT_DENSE, gate);
    harness_values(b, &c, SSQ_F32, 2, one, LAYOUT_DENSE, state);
    harness_values(b, &c_out, SSQ_F32, 2, one, LAYOUT_DENSE, state);
    harness_values(b, &d, SSQ_F32, 2, one, LAYOUT_DENSE, dc);
    harness_output(b, &da, SSQ_F16, 2, four, LAYOUT_DENSE);
    ssq_lstm_cell_backward_args args = SSQ_LSTM_CELL_BACKWARD_INIT;
    args.gates = g.t;
    args.c = c.t;
    args.c_out = c_out.t;
    args.dc = d.t;
    args.da = da.t;
    HARNESS_OP(b, ssq_lstm_cell_backward(b->queue, &args));
    harness_read(b, &da);
    return harness_exact(b, &da, want);
}

static bool run_refusals_lstm(struct harness *b)
{
    const int64_t one[] = {2, 3}, four[] = {2, 12}, wrong[] = {2, 9};
    struct operand a, c, y, c_out, odd, half;
    harness_input(b, &a, SSQ_F32, 2, four, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &odd, SSQ_F32, 2, wrong, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &c, SSQ_F32, 2, one, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &half, SSQ_F16, 2, one, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, one, LAYOUT_DENSE);
    harness_output(b, &c_out, SSQ_F32, 2, one, LAYOUT_DENSE);
    ssq_lstm_cell_args good = SSQ_LSTM_CELL_INIT;
    good.a = a.t;
    good.c = c.t;
    good.y = y.t;
    good.c_out = c_out.t;
    ssq_lstm_cell_args f = good;
    f.a = odd.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_lstm_cell(b->queue, &f),
                       "lstm_cell: a is [2,9], expected [2,12] for y, [2,3]");
    f = good;
    f.c = half.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_lstm_cell(b->queue, &f),
                       "lstm_cell: c is f16, expected f32");
    f = good;
    f.c_out = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_lstm_cell(b->queue, &f),
                       "lstm_cell: y overlaps c_out");
    f = good;
    f.c_out = NULL;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_lstm_cell(b->queue, &f),
                       "lstm_cell: c_out is NULL");
    ssq_lstm_cell_backward_args g = SSQ_LSTM_CELL_BACKWARD_INIT;
    g.gates = a.t;
    g.c_out = c.t;
    g.da = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_lstm_cell_backward(b->queue, &g),
                       "lstm_cell_backward: da is [2,3], expected [2,12] for "
                       "c_out, [2,3]");
    return harness_unchanged(b, &y) && harness_unchanged(b, &c_out) &&
           harness_unchanged(b, &a);
}

static bool run_refusals_gru(struct harness *b)
{
    const int64_t one[] = {2, 3}, three[] = {2, 9}, line[] = {6};
    struct operand u, v, y, flat;
    harness_input(b, &u, SSQ_F32, 2, three, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &v, SSQ_F32, 2, three, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, one, LAYOUT_DENSE);
    harness_output(b, &flat, SSQ_F32, 1, line, LAYOUT_DENSE);
    ssq_gru_cell_args good = SSQ_GRU_CELL_INIT;
    good.u = u.t;
    good.v = v.t;
    good.y = y.t;
    ssq_gru_cell_args f = good;
    f.y = flat.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_cell(b->queue, &f),
                       "gru_cell: y is [6], expected [batch, h]");
    f = good;
    f.h = u.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_cell(b->queue, &f),
                       "gru_cell: h is [2,9], expected [2,3] for y, [2,3]");
    f = good;
    f.gates = v.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_cell(b->queue, &f),
                       "gru_cell: gates overlaps v");
    ssq_gru_reset_args p = SSQ_GRU_RESET_INIT;
    p.u = u.t;
    p.v = v.t;
    p.y = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_reset(b->queue, &p),
                       "gru_reset: h is NULL");
    p.h = v.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_reset(b->queue, &p),
                       "gru_reset: h is [2,9], expected [2,3] for y, [2,3]");
    ssq_gru_cell_backward_args g = SSQ_GRU_CELL_BACKWARD_INIT;
    g.gates = u.t;
    g.du = v.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_cell_backward(b->queue, &g),
                       "gru_cell_backward: q is NULL");
    g.dv = y.t;
    g.reset_first = true;
    harness_refused_as(
        b, SSQ_ERR_INVALID, ssq_gru_cell_backward(b->queue, &g),
        "gru_cell_backward: dv is [2,3], expected [2,9] for gates, "
        "[2,9]");
    g.reset_first = false;
    g.q = y.t;
    g.dv = v.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gru_cell_backward(b->queue, &g),
                       "gru_cell_backward: du overlaps dv");
    return harness_unchanged(b, &y) && harness_unchanged(b, &v);
}

/* ---- the tables ---- */

#define DRAWN 144

static void rnn_cell_describe_lstm(size_t i, char *text, size_t bytes)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, false);
    if (i < DRAWN)
        rnn_cell_entry_text("lstm_cell", &e, false, text, bytes);
    else
        snprintf(text, bytes, "lstm_cell refuses wrong arguments");
}

static bool run_lstm_case(struct harness *b, size_t i)
{
    return i < DRAWN ? rnn_cell_run_lstm(b, i) : run_refusals_lstm(b);
}

extern const struct suite lstm_cell_suite;
const struct suite lstm_cell_suite = {.op = "lstm_cell",
                                      .name = "lstm_cell",
                                      .n = DRAWN + 1,
                                      .describe = rnn_cell_describe_lstm,
                                      .run = run_lstm_case,
                                      .bit_equal = true,
                                      .floor = 250};

static void describe_lstm_backward(size_t i, char *text, size_t bytes)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, false);
    if (i < DRAWN)
        rnn_cell_entry_text("lstm_cell_backward", &e, true, text, bytes);
    else
        snprintf(text, bytes,
                 "lstm_cell_backward 3x1 overflows f16 from 65520 on");
}

static bool run_lstm_backward_case(struct harness *b, size_t i)
{
    return i < DRAWN ? run_lstm_backward(b, i) : rnn_cell_run_overflow(b);
}

extern const struct suite lstm_cell_backward_suite;
const struct suite lstm_cell_backward_suite = {.op = "lstm_cell_backward",
                                               .name = "lstm_cell_backward",
                                               .n = DRAWN + 1,
                                               .describe =
                                                   describe_lstm_backward,
                                               .run = run_lstm_backward_case,
                                               .bit_equal = true,
                                               .floor = 250};

static void rnn_cell_describe_gru(size_t i, char *text, size_t bytes)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, true);
    if (i < DRAWN)
        rnn_cell_entry_text("gru_cell", &e, false, text, bytes);
    else
        snprintf(text, bytes, "gru_cell refuses wrong arguments");
}

static bool run_gru_case(struct harness *b, size_t i)
{
    return i < DRAWN ? rnn_cell_run_gru(b, i) : run_refusals_gru(b);
}

extern const struct suite gru_cell_suite;
const struct suite gru_cell_suite = {.op = "gru_cell",
                                     .name = "gru_cell",
                                     .n = DRAWN + 1,
                                     .describe = rnn_cell_describe_gru,
                                     .run = run_gru_case,
                                     .bit_equal = true,
                                     .floor = 250};

static void describe_gru_backward(size_t i, char *text, size_t bytes)
{
    struct rnn_cell_entry e = rnn_cell_entry_of(i, true);
    rnn_cell_entry_text("gru_cell_backward", &e, true, text, bytes);
}

extern const struct suite gru_cell_backward_suite;
const struct suite gru_cell_backward_suite = {.op = "gru_cell_backward",
                                              .name = "gru_cell_backward",
                                              .n = DRAWN,
                                              .describe = describe_gru_backward,
                                              .run = run_gru_backward,
                                              .bit_equal = true,
                                              .floor = 250};
