/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - cases of layer norm and RMS norm: forward. */
#include "conformance/norm/layer_norm.h"

#include "conformance/case.h"
#include "conformance/norm/near.h"

#include <stdio.h>
#include <string.h>

static const struct {
    int rank, ndim;
    int64_t shape[4];
} shapes[] = {
    {2, 1, {3, 8}},       {1, 1, {7}},          {2, 1, {5, 1}},
    {3, 2, {2, 3, 5}},    {3, 1, {2, 3, 5}},    {4, 2, {2, 3, 4, 5}},
    {4, 4, {2, 3, 4, 5}}, {2, 1, {4, 1000}},    {2, 1, {70, 3}},
    {2, 2, {13, 17}},     {2, 1, {1, 4099}},    {2, 1, {0, 5}},
    {2, 1, {5, 0}},       {3, 1, {2, 0, 3}},    {3, 2, {3, 1, 9}},
    {3, 3, {1, 1, 2}},    {3, 1, {11, 13, 17}}, {4, 3, {2, 3, 4, 5}},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
enum data {
    DATA_NORMAL,
    DATA_FAR, /* mean 100, deviation 1 */
    DATA_TINY,
    DATA_CONSTANT,
    DATA_SPECIAL,
    DATA_ZERO,
    DATA_NEAR /* apart by a few units in the last place */
};
static const char *const data_words[] = {"normal",  "far",  "tiny", "constant",
                                         "special", "zero", "near"};

/* splitmix64 of the case's number: every pair of choices occurs. */
static unsigned layer_norm_choose(uint64_t *state, unsigned n)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

struct norm_entry norm_entry_of(size_t i)
{
    uint64_t s = 0x40122u + i;
    size_t shape = i / 2 % SHAPES;
    struct norm_entry e = {.rms = i % 2 != 0,
                           .rank = shapes[shape].rank,
                           .ndim = shapes[shape].ndim};
    memcpy(e.shape, shapes[shape].shape, sizeof(e.shape));
    e.in = dtypes[layer_norm_choose(&s, 3)];
    e.out = dtypes[layer_norm_choose(&s, 3)];
    e.param = dtypes[layer_norm_choose(&s, 3)];
    e.layout_in = (enum layout)layer_norm_choose(&s, 3);
    e.layout_out = (enum layout)layer_norm_choose(&s, 3);
    e.layout_param = (enum layout)layer_norm_choose(&s, 3);
    unsigned data = layer_norm_choose(&s, 10);
    e.data = data < 7 ? data : DATA_NORMAL;
    unsigned eps = layer_norm_choose(&s, 4);
    e.eps = eps == 0 ? 1e-2 : 1e-5;
    if (eps == 1 && e.data == DATA_NORMAL)
        e.eps = 0.0; /* needs a variance; one element has none: NaN */
    e.gamma = layer_norm_choose(&s, 3) != 0;
    e.beta = !e.rms && layer_norm_choose(&s, 2) != 0;
    e.stats = (int)layer_norm_choose(&s, 3);
    e.place = (int)layer_norm_choose(&s, 6);
    e.place = e.place > 2 ? 0 : e.place;
    e.grad = e.place == 0 && i % 5 == 4 ? dtypes[i / 5 % 3] : e.in;
    e.outputs = 1 + layer_norm_choose(&s, 7);
    if (e.rms && (e.outputs & 3) == 0)
        e.outputs |= 1;
    return e;
}

void norm_entry_text(const struct norm_entry *e, bool backward, char *text,
                     size_t bytes)
{
    static const char *const layouts[] = {"dense", "padded", "transposed"};
    static const char *const stats[] = {"no statistics", "statistics",
                                        "statistics with ones"};
    static const char *const places[] = {"", ", over x", ", over dy"};
    char shape[48] = "";
    for (int i = 0; i < e->rank; i++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%d",
                 i == 0                   ? ""
                 : i == e->rank - e->ndim ? "|"
                                          : "x",
                 (int)e->shape[i]);
    snprintf(text, bytes,
             "%s%s %s %s %s %s to %s %s, parameters %s %s%s%s, eps %g, %s%s",
             e->rms ? "rms_norm" : "layer_norm", backward ? "_backward" : "",
             shape, data_words[e->data], ssq_dtype_name(e->in),
             layouts[e->layout_in], ssq_dtype_name(e->out),
             layouts[e->layout_out], ssq_dtype_name(e->param),
             layouts[e->layout_param], e->gamma ? " gamma" : "",
             e->beta ? " beta" : "", e->eps, stats[e->stats],
             backward || e->place == 1 ? places[e->place] : "");
    if (backward)
        snprintf(text + strlen(text), bytes - strlen(text), ":%s%s%s%s",
                 (e->outputs & 1) != 0 ? " dx " : "",
                 (e->outputs & 1) != 0 ? ssq_dtype_name(e->grad) : "",
                 (e->outputs & 2) != 0 ? " dgamma" : "",
                 (e->outputs & 4) != 0 && !e->rms ? " dbeta" : "");
}

void norm_make_x(struct harness *b, const struct norm_entry *e,
                 struct operand *x)
{
    static const enum fill fills[] = {FILL_NORMAL, FILL_NORMAL,  FILL_TINY,
                                      FILL_NORMAL, FILL_SPECIAL, FILL_ZERO,
                                      FILL_NORMAL};
    harness_input(b, x, e->in, e->rank, e->shape, e->layout_in, fills[e->data]);
    if (e->data != DATA_FAR && e->data != DATA_CONSTANT &&
        e->data != DATA_NEAR && !(e->data == DATA_SPECIAL && e->in != SSQ_F16))
        return;
    /* special: squares must stay below 2^128, which the contract excludes */
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    for (int64_t i = 0; i < x->n; i++)
        v[i] = e->data == DATA_FAR        ? x->value[i] + 100.0
               : e->data == DATA_NEAR     ? near_value(e->in, x->value[i])
               : e->data == DATA_CONSTANT ? 0.7
                                          : x->value[i] * 0x1p-70;
    harness_values(b, x, e->in, e->rank, e->shape, e->layout_in, v);
}

bool norm_finite(const struct norm_entry *e)
{
    return e->data != DATA_SPECIAL;
}

struct norm_problem norm_problem_of(const struct norm_entry *e)
{
    struct norm_problem p = {
        .rms = e->rms, .rows = 1, .n = 1, .eps = (double)(float)e->eps};
    for (int i = 0; i < e->rank; i++)
        *(i < e->rank - e->ndim ? &p.rows : &p.n) *= e->shape[i];
    return p;
}

struct norm_layer_norm_operands {
    struct operand x, gamma, beta, y, mean, rstd;
};

static void layer_norm_make_operands(struct harness *b,
                                     const struct norm_entry *e,
                                     struct norm_layer_norm_operands *o)
{
    memset(o, 0, sizeof(*o));
    int lead = e->rank - e->ndim;
    int64_t shape[4] = {1, 1, 1, 1};
    memcpy(shape, e->shape, (size_t)lead * sizeof(shape[0]));
    int rank = e->stats == 2 ? e->rank : lead;
    norm_make_x(b, e, &o->x);
    if (e->gamma)
        harness_input(b, &o->gamma, e->param, e->ndim, e->shape + lead,
                      e->layout_param, FILL_NORMAL);
    if (e->beta)
        harness_input(b, &o->beta, e->param, e->ndim, e->shape + lead,
                      LAYOUT_PADDED, FILL_NORMAL);
    if (e->stats != 0)
        harness_output(b, &o->rstd, SSQ_F32, rank, shape, e->layout_out);
    if (e->stats != 0 && !e->rms)
        harness_output(b, &o->mean, SSQ_F32, rank, shape, LAYOUT_DENSE);
    if (e->place == 1)
        o->y = o->x;
    else
        harness_output(b, &o->y, e->out, e->rank, e->shape, e->layout_out);
}

static ssq_status layer_norm_call(struct harness *b, const struct norm_entry *e,
                                  const struct norm_layer_norm_operands *o)
{
    ssq_layer_norm_args a = SSQ_LAYER_NORM_INIT;
    ssq_rms_norm_args r = SSQ_RMS_NORM_INIT;
    a.x = r.x = o->x.t;
    a.gamma = r.gamma = o->gamma.t;
    a.beta = o->beta.t;
    a.y = r.y = o->y.t;
    a.mean = o->mean.t;
    a.rstd = r.rstd = o->rstd.t;
    a.ndim = r.ndim = e->ndim;
    a.eps = r.eps = e->eps;
    return e->rms ? ssq_rms_norm(b->queue, &r) : ssq_layer_norm(b->queue, &a);
}

/* Saved statistics against the oracle's. */
static bool layer_norm_check_stats(struct harness *b,
                                   const struct norm_entry *e,
                                   const struct norm_problem *p,
                                   const double *x,
                                   struct norm_layer_norm_operands *o)
{
    if (e->stats == 0)
        return true;
    size_t bytes = (size_t)p->rows * sizeof(double);
    double *mean = harness_alloc(b, bytes),
           *mean_error = harness_alloc(b, bytes);
    double *rstd = harness_alloc(b, bytes),
           *rstd_error = harness_alloc(b, bytes);
    for (int64_t r = 0; r < p->rows; r++) {
        struct norm_facts f = norm_facts_of(p, x, r);
        mean[r] = p->n == 0 ? (double)NAN : f.mean;
        rstd[r] = p->n == 0 ? (double)NAN : f.rstd;
        mean_error[r] = f.mean_error;
        rstd_error[r] = f.rstd * f.rstd_error;
    }
    harness_read(b, &o->rstd);
    if (!e->rms) {
        harness_read(b, &o->mean);
        harness_bound(b, &o->mean, mean, mean_error);
    }
    return harness_bound(b, &o->rstd, rstd, rstd_error);
}

static bool layer_norm_run_entry(struct harness *b, const struct norm_entry *e)
{
    struct norm_layer_norm_operands o;
    layer_norm_make_operands(b, e, &o);
    size_t n = (size_t)o.x.n;
    double *x = harness_alloc(b, n * sizeof(*x));
    memcpy(x, o.x.value, n * sizeof(*x));
    struct norm_problem p = norm_problem_of(e);
    p.gamma = o.gamma.value;
    p.beta = o.beta.value;
    b->flops = 9.0 * (double)n;
    b->bytes =
        (double)n * (ssq_dtype_bits(e->in) + ssq_dtype_bits(o.y.dtype)) / 8.0;
    HARNESS_OP(b, layer_norm_call(b, e, &o));
    harness_read(b, &o.y);
    bool fresh;
    double *y = harness_keep(b, 0, n, &fresh),
           *error = harness_keep(b, 1, n, &fresh);
    if (fresh)
        norm_forward(&p, x, y, error);
    return layer_norm_check_stats(b, e, &p, x, &o) &&
           harness_bound(b, &o.y, y, error);
}

/* torch 2.15.0, layer_norm and rms_norm with eps 1e-5: rows with an Inf. */
static bool run_inf(struct harness *b)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    const int64_t shape[] = {2, 3};
    const double x[] = {1, 2, inf, 1, nan, 2};
    const double layer[] = {nan, nan, nan, nan, nan, nan};
    const double rms[] = {0, 0, nan, nan, nan, nan};
    struct operand in, y;
    harness_values(b, &in, SSQ_F32, 2, shape, LAYOUT_DENSE, x);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    ssq_layer_norm_args a = SSQ_LAYER_NORM_INIT;
    ssq_rms_norm_args r = SSQ_RMS_NORM_INIT;
    a.x = r.x = in.t;
    a.y = r.y = y.t;
    HARNESS_OP(b, ssq_layer_norm(b->queue, &a));
    harness_read(b, &y);
    harness_bound1(b, &y, layer, 0.0);
    HARNESS_OP(b, ssq_rms_norm(b->queue, &r));
    harness_read(b, &y);
    return harness_bound1(b, &y, rms, 0.0);
}

/* A row of one number, whose mean that is: y is 0, and of dx only rstd g is
 * left, whether the statistics are saved or not. The first mean is off by a few
 * units in the last place: the deviations are that number of units, all equal,
 * and their sums have so few bits that none is lost. */
static bool layer_norm_run_constant(struct harness *b)
{
    enum { ROWS = 3, ROW = 1000 };
    static const double number[ROWS] = {1677721.75, 10000.1, 1.7e9};
    const int64_t shape[] = {ROWS, ROW};
    double *zero = harness_alloc(b, ROWS * ROW * sizeof(*zero));
    double *x = harness_alloc(b, ROWS * ROW * sizeof(*x));
    double *g = harness_alloc(b, ROWS * ROW * sizeof(*g)), mean[ROWS];
    struct operand in, y, m, r, dy, dx[2];
    for (int i = 0; i < ROWS * ROW; i++) {
        x[i] = mean[i / ROW] = (double)(float)number[i / ROW];
        g[i] = i % 2 == 0 ? 1.0 : -1.0;
    }
    harness_values(b, &in, SSQ_F32, 2, shape, LAYOUT_DENSE, x);
    harness_values(b, &dy, SSQ_F32, 2, shape, LAYOUT_DENSE, g);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_output(b, &m, SSQ_F32, 1, shape, LAYOUT_DENSE);
    harness_output(b, &r, SSQ_F32, 1, shape, LAYOUT_DENSE);
    HARNESS_OP(
        b, ssq_layer_norm(b->queue, SSQ_LAYER_NORM(.x = in.t, .y = y.t,
                                                   .mean = m.t, .rstd = r.t)));
    harness_read(b, &y);
    harness_read(b, &m);
    harness_read(b, &r);
    for (int k = 0; k < 2; k++) {
        harness_output(b, &dx[k], SSQ_F32, 2, shape, LAYOUT_DENSE);
        HARNESS_OP(
            b, ssq_layer_norm_backward(
                   b->queue,
                   SSQ_LAYER_NORM_BACKWARD(.x = in.t, .dy = dy.t, .dx = dx[k].t,
                                           .mean = k == 0 ? m.t : NULL,
                                           .rstd = k == 0 ? r.t : NULL)));
        harness_read(b, &dx[k]);
    }
    for (int i = 0; i < ROWS * ROW && !harness_over(b); i++)
        g[i] *= r.value[i / ROW];
    return harness_exact(b, &y, zero) && harness_exact(b, &m, mean) &&
           harness_exact(b, &dx[0], g) && harness_exact(b, &dx[1], g);
}

static bool layer_norm_refused(struct harness *b, const ssq_layer_norm_args *a,
                               const char *text)
{
    harness_refused(b, SSQ_ERR_INVALID, ssq_layer_norm(b->queue, a));
    return strcmp(ssq_last_error(), text) == 0 ||
           harness_fail(b, "the text is: %s", ssq_last_error());
}

static bool layer_norm_run_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3};
    struct operand x, y, g;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_input(b, &g, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    ssq_layer_norm_args good = SSQ_LAYER_NORM_INIT;
    good.x = x.t;
    good.y = y.t;
    ssq_layer_norm_args a = good;
    a.ndim = 3;
    bool ok = layer_norm_refused(b, &a, "layer_norm: ndim is 3, x has rank 2");
    a = good;
    a.ndim = 0;
    ok = ok && layer_norm_refused(b, &a, "layer_norm: ndim is 0, x has rank 2");
    a = good;
    a.eps = -1.0;
    ok = ok &&
         layer_norm_refused(
             b, &a, "layer_norm: eps is -1, expected >= 0, finite in float32");
    a = good;
    a.gamma = g.t;
    ok = ok && layer_norm_refused(
                   b, &a,
                   "layer_norm: gamma is [2], expected the last 1 sizes of "
                   "x, [2,3]");
    a = good;
    a.ndim = 2;
    a.rstd = g.t;
    ok = ok && layer_norm_refused(
                   b, &a,
                   "layer_norm: rstd is [2], expected the first 0 sizes of "
                   "x, [2,3]");
    a = good;
    a.mean = y.t;
    ok = ok && layer_norm_refused(b, &a, "layer_norm: y overlaps mean");
    uint32_t before[6];
    memcpy(before, y.bits, sizeof(before));
    harness_read(b, &y);
    return ok && harness_bits(b, &y, before);
}

#define DRAWN 288

static const char *const words[] = {
    "norms of rows with an Inf or a NaN, as torch",
    "layer_norm 3x1000: rows of one number have the mean exactly, y is 0",
    "layer_norm refuses wrong arguments",
};

static void layer_norm_describe(size_t i, char *text, size_t bytes)
{
    struct norm_entry e;
    if (i < DRAWN) {
        e = norm_entry_of(i);
        norm_entry_text(&e, false, text, bytes);
    } else {
        snprintf(text, bytes, "%s", words[i - DRAWN]);
    }
}

static bool layer_norm_run(struct harness *b, size_t i)
{
    if (i >= DRAWN)
        return i == DRAWN       ? run_inf(b)
               : i == DRAWN + 1 ? layer_norm_run_constant(b)
                                : layer_norm_run_refusals(b);
    struct norm_entry e = norm_entry_of(i);
    return layer_norm_run_entry(b, &e);
}

extern const struct suite layer_norm_suite;
const struct suite layer_norm_suite = {.op = "layer_norm",
                                       .name = "layer_norm",
                                       .n = DRAWN + COUNT(words),
                                       .describe = layer_norm_describe,
                                       .run = layer_norm_run,
                                       .floor = 550};
