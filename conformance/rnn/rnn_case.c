/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_case.c - LSTM and GRU over a sequence as test cases: operands, calls,
 * comparisons. */
#include "conformance/rnn/rnn_case.h"

#include "conformance/case.h"

static const struct {
    int64_t t, batch, in, h;
} sizes[] = {
    {1, 1, 1, 1}, {3, 2, 3, 2},  {2, 1, 5, 3},  {5, 3, 7, 9}, {4, 2, 1, 13},
    {7, 1, 4, 1}, {2, 17, 8, 5}, {1, 4, 6, 3},  {0, 2, 3, 4}, {3, 0, 2, 2},
    {2, 2, 0, 3}, {2, 2, 3, 0},  {12, 2, 3, 4},
};

/* Of x, w_ih, w_hh, the biases, y, and the gradients dx, dw. */
static const struct {
    ssq_dtype x, w_ih, w_hh, bias, y, gradient;
} formats[] = {
    {SSQ_F32, SSQ_F32, SSQ_F32, SSQ_F32, SSQ_F32, SSQ_F32},
    {SSQ_F16, SSQ_F16, SSQ_F16, SSQ_F32, SSQ_F16, SSQ_F16},
    {SSQ_BF16, SSQ_BF16, SSQ_BF16, SSQ_BF16, SSQ_BF16, SSQ_F32},
    {SSQ_F16, SSQ_F16, SSQ_F16, SSQ_F16, SSQ_F32, SSQ_F32},
    {SSQ_F32, SSQ_F16, SSQ_F32, SSQ_BF16, SSQ_F16, SSQ_BF16},
};

struct rnn_entry rnn_entry_of(size_t i, bool gru)
{
    size_t s = i % COUNT(sizes), k = (i + 1) * 0x9e3779b97f4a7c15u >> 9;
    struct rnn_entry e = {.gru = gru,
                          .t = sizes[s].t,
                          .batch = sizes[s].batch,
                          .in = sizes[s].in,
                          .h = sizes[s].h,
                          .format = i / COUNT(sizes) % COUNT(formats)};
    e.reverse = pick(&k, 3) == 0;
    e.bias = pick(&k, 4) != 0;
    e.h0 = pick(&k, 2) != 0;
    e.c0 = !gru && pick(&k, 2) != 0;
    e.dy = pick(&k, 4) != 0;
    e.dhn = pick(&k, 2) != 0;
    e.dcn = !gru && pick(&k, 2) != 0;
    e.last = pick(&k, 3) != 0;
    e.reserve = pick(&k, 5) != 0;
    e.over = !e.reserve && pick(&k, 2) != 0;
    e.outputs = pick(&k, 2) != 0 ? 127u : 1u + (unsigned)pick(&k, 127);
    e.layout = pick(&k, 2) != 0 ? LAYOUT_DENSE : LAYOUT_PADDED;
    e.nan = pick(&k, 8) == 0;
    e.reset_first = pick(&k, 3) == 0 && gru;
    if (gru && (e.outputs & 63u) == 0)
        e.outputs = 1;
    return e;
}

void rnn_entry_text(const struct rnn_entry *e, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "%s%s %d steps%s of %dx%d to %d, x %s, w %s %s, y %s "
             "%s%s%s%s%s%s%s",
             e->gru ? "gru" : "lstm", e->reset_first ? " reset first" : "",
             (int)e->t, e->reverse ? " back" : "", (int)e->batch, (int)e->in,
             (int)e->h, ssq_dtype_name(formats[e->format].x),
             ssq_dtype_name(formats[e->format].w_ih),
             ssq_dtype_name(formats[e->format].w_hh),
             ssq_dtype_name(formats[e->format].y), layout_text(e->layout),
             e->bias ? " bias" : "", e->h0 ? " h0" : "", e->c0 ? " c0" : "",
             e->nan ? " NaN" : "", e->last ? " last" : "",
             e->over ? " in place" : "");
    static const char *const words[] = {" dx",    " dw_ih", " dw_hh", " db_ih",
                                        " db_hh", " dh0",   " dc0"};
    if (!e->reserve)
        return;
    strncat(text, ", backward:", bytes - strlen(text) - 1);
    for (int k = 0; k < (e->gru ? 6 : 7); k++)
        if ((e->outputs >> k & 1) != 0)
            strncat(text, words[k], bytes - strlen(text) - 1);
}

struct rnn_shapes rnn_shapes_of(const struct rnn_entry *e)
{
    int64_t wide = (e->gru ? 3 : 4) * e->h;
    struct rnn_shapes s = {{e->t, e->batch, e->in},
                           {e->t, e->batch, e->h},
                           {e->t, e->batch, wide + e->h},
                           {wide, e->in},
                           {wide, e->h},
                           {wide},
                           {e->batch, e->h}};
    return s;
}

static void rnn_case_make_x(struct harness *b, const struct rnn_entry *e,
                            struct operand *x)
{
    const struct rnn_shapes s = rnn_shapes_of(e);
    ssq_dtype d = formats[e->format].x;
    harness_input(b, x, d, 3, s.x, e->layout, FILL_NORMAL);
    if (!e->nan || x->n == 0)
        return;
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    memcpy(v, x->value, (size_t)x->n * sizeof(*v));
    v[x->n / 2] = (double)NAN;
    harness_values(b, x, d, 3, s.x, e->layout, v);
}

void rnn_make_inputs(struct harness *b, const struct rnn_entry *e,
                     struct rnn_operands *o)
{
    const struct rnn_shapes s = rnn_shapes_of(e);
    ssq_dtype y = formats[e->format].y, bias = formats[e->format].bias;
    memset(o, 0, sizeof(*o));
    rnn_case_make_x(b, e, &o->x);
    harness_input(b, &o->w_ih, formats[e->format].w_ih, 2, s.w_ih, e->layout,
                  FILL_UNIFORM);
    harness_input(b, &o->w_hh, formats[e->format].w_hh, 2, s.w_hh,
                  LAYOUT_PADDED, FILL_UNIFORM);
    if (e->bias) {
        harness_input(b, &o->b_ih, bias, 1, s.bias, LAYOUT_DENSE, FILL_UNIFORM);
        harness_input(b, &o->b_hh, SSQ_F32, 1, s.bias, e->layout, FILL_UNIFORM);
    }
    if (e->h0)
        harness_input(b, &o->h0, y, 2, s.state, e->layout, FILL_UNIFORM);
    if (e->c0)
        harness_input(b, &o->c0, SSQ_F32, 2, s.state, e->layout, FILL_NORMAL);
    if (e->dy)
        harness_input(b, &o->dy, y, 3, s.y, e->layout, FILL_NORMAL);
    if (e->dhn)
        harness_input(b, &o->dhn, SSQ_F32, 2, s.state, e->layout, FILL_NORMAL);
    if (e->dcn)
        harness_input(b, &o->dcn, SSQ_F32, 2, s.state, LAYOUT_DENSE,
                      FILL_NORMAL);
}

void rnn_make_outputs(struct harness *b, const struct rnn_entry *e,
                      struct rnn_operands *o)
{
    const struct rnn_shapes s = rnn_shapes_of(e);
    harness_output(b, &o->y, formats[e->format].y, 3, s.y, e->layout);
    if (e->reserve)
        harness_output(b, &o->reserve, SSQ_F32, 3, s.reserve, e->layout);
    if (e->last) {
        harness_output(b, &o->hn, SSQ_F32, 2, s.state, e->layout);
        if (!e->gru)
            harness_output(b, &o->cn, SSQ_F32, 2, s.state, LAYOUT_PADDED);
    }
    if (e->over && e->h0)
        o->hn = o->h0;
    if (e->over && e->c0)
        o->cn = o->c0;
}

void rnn_make_gradients(struct harness *b, const struct rnn_entry *e,
                        struct rnn_operands *o)
{
    const struct rnn_shapes s = rnn_shapes_of(e);
    ssq_dtype d = formats[e->format].gradient;
    if ((e->outputs & 1) != 0)
        harness_output(b, &o->dx, d, 3, s.x, e->layout);
    if ((e->outputs & 2) != 0)
        harness_output(b, &o->dw_ih, d, 2, s.w_ih, e->layout);
    if ((e->outputs & 4) != 0)
        harness_output(b, &o->dw_hh, d, 2, s.w_hh, LAYOUT_PADDED);
    if ((e->outputs & 8) != 0)
        harness_output(b, &o->db_ih, SSQ_F32, 1, s.bias, LAYOUT_DENSE);
    if ((e->outputs & 16) != 0)
        harness_output(b, &o->db_hh, d, 1, s.bias, LAYOUT_DENSE);
    if ((e->outputs & 32) != 0)
        harness_output(b, &o->dh0, d, 2, s.state, e->layout);
    if ((e->outputs & 64) != 0 && !e->gru)
        harness_output(b, &o->dc0, SSQ_F32, 2, s.state, e->layout);
}

ssq_status rnn_run_forward(struct harness *b, const struct rnn_entry *e,
                           const struct rnn_operands *o)
{
    ssq_lstm_args l = SSQ_LSTM_INIT;
    ssq_gru_args g = SSQ_GRU_INIT;
    l.x = g.x = o->x.t;
    l.w_ih = g.w_ih = o->w_ih.t;
    l.w_hh = g.w_hh = o->w_hh.t;
    l.b_ih = g.b_ih = o->b_ih.t;
    l.b_hh = g.b_hh = o->b_hh.t;
    l.h0 = g.h0 = o->h0.t;
    l.c0 = o->c0.t;
    l.y = g.y = o->y.t;
    l.hn = g.hn = o->hn.t;
    l.cn = o->cn.t;
    l.reserve = g.reserve = o->reserve.t;
    l.reverse = g.reverse = e->reverse;
    g.reset_first = e->reset_first;
    return e->gru ? ssq_gru(b->queue, &g) : ssq_lstm(b->queue, &l);
}

ssq_status rnn_run_backward(struct harness *b, const struct rnn_entry *e,
                            const struct rnn_operands *o)
{
    ssq_lstm_backward_args l = SSQ_LSTM_BACKWARD_INIT;
    ssq_gru_backward_args g = SSQ_GRU_BACKWARD_INIT;
    l.x = g.x = o->x.t;
    l.w_ih = g.w_ih = o->w_ih.t;
    l.w_hh = g.w_hh = o->w_hh.t;
    l.h0 = g.h0 = o->h0.t;
    l.c0 = o->c0.t;
    l.y = g.y = o->y.t;
    l.reserve = g.reserve = o->reserve.t;
    l.dy = g.dy = o->dy.t;
    l.dhn = g.dhn = o->dhn.t;
    l.dcn = o->dcn.t;
    l.dx = g.dx = o->dx.t;
    l.dw_ih = g.dw_ih = o->dw_ih.t;
    l.dw_hh = g.dw_hh = o->dw_hh.t;
    l.db_ih = g.db_ih = o->db_ih.t;
    l.db_hh = g.db_hh = o->db_hh.t;
    l.dh0 = g.dh0 = o->dh0.t;
    l.dc0 = o->dc0.t;
    l.reverse = g.reverse = e->reverse;
    g.reset_first = e->reset_first;
    return e->gru ? ssq_gru_backward(b->queue, &g)
                  : ssq_lstm_backward(b->queue, &l);
}

struct rnn_problem rnn_problem_of(const struct rnn_entry *e,
                                  const struct rnn_operands *o)
{
    const struct rnn_problem p = {.gru = e->gru,
                                  .reverse = e->reverse,
                                  .reset_first = e->reset_first,
                                  .t = e->t,
                                  .batch = e->batch,
                                  .in = e->in,
                                  .h = e->h,
                                  .dtype = formats[e->format].y,
                                  .block = e->format == 0 ? 0.0 : 4.0,
                                  .x = o->x.value,
                                  .w_ih = o->w_ih.value,
                                  .w_hh = o->w_hh.value,
                                  .b_ih = o->b_ih.value,
                                  .b_hh = o->b_hh.value,
                                  .h0 = o->h0.value,
                                  .c0 = o->c0.value,
                                  .dy = o->dy.value,
                                  .dhn = o->dhn.value,
                                  .dcn = o->dcn.value};
    return p;
}

/* An output that may be absent. */
static bool rnn_case_near(struct harness *b, struct operand *y,
                          const struct num *want)
{
    return y->t == NULL || rnn_compare(b, y, want);
}

/* The state after the steps: the given one, if the sequence is empty. */
static bool near_last(struct harness *b, const struct rnn_problem *p,
                      const double *given, const struct num *all,
                      struct operand *y)
{
    int64_t n = p->batch * p->h;
    int64_t last = p->reverse ? 0 : (p->t - 1) * n;
    struct num *want = harness_alloc(b, (size_t)n * sizeof(*want));
    for (int64_t i = 0; i < n; i++)
        want[i] = p->t > 0 ? all[last + i]
                           : num_exact(given == NULL ? 0.0 : given[i]);
    return rnn_case_near(b, y, want);
}

/* reserve: gates and q, or gates and c. */
static bool near_reserve(struct harness *b, const struct rnn_problem *p,
                         const struct rnn_forward *f, struct operand *y)
{
    int64_t wide = rnn_parts(p) * p->h, row = wide + p->h;
    struct num *want = harness_alloc(b, (size_t)(y->n + 1) * sizeof(*want));
    for (int64_t i = 0; i < y->n; i++) {
        int64_t r = i / row, j = i % row;
        const struct num *extra = p->gru ? f->q : f->c;
        want[i] =
            j < wide ? f->gates[r * wide + j] : extra[r * p->h + j - wide];
    }
    return rnn_case_near(b, y, want);
}

bool rnn_compare_forward(struct harness *b, const struct rnn_problem *p,
                         const struct rnn_forward *f, struct rnn_operands *o)
{
    return rnn_case_near(b, &o->y, f->exact) &&
           near_last(b, p, p->h0, f->y, &o->hn) &&
           near_last(b, p, p->c0, f->c, &o->cn) &&
           near_reserve(b, p, f, &o->reserve);
}

bool rnn_compare_backward(struct harness *b, const struct rnn_backward *g,
                          struct rnn_operands *o)
{
    return rnn_case_near(b, &o->dx, g->dx) &&
           rnn_case_near(b, &o->dw_ih, g->dw_ih) &&
           rnn_case_near(b, &o->dw_hh, g->dw_hh) &&
           rnn_case_near(b, &o->db_ih, g->db_ih) &&
           rnn_case_near(b, &o->db_hh, g->db_hh) &&
           rnn_case_near(b, &o->dh0, g->dh0) &&
           rnn_case_near(b, &o->dc0, g->dc0);
}
