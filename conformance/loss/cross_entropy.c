/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - cases of cross-entropy and negative log-likelihood. */
#include "conformance/suite.h"

#include "conformance/bounds_rows.h"
#include "conformance/difference.h"
#include "conformance/loss/cross_entropy.h"

#include <stdio.h>
#include <string.h>

#define SPLITMIX_STEP 0x9e3779b97f4a7c15u

static const struct {
    int rank;
    int64_t shape[4];
} shapes[] = {
    {2, {3, 10}},   {1, {5}},          {2, {1, 1}},   {2, {7, 2}},
    {3, {2, 7, 3}}, {4, {2, 3, 4, 5}}, {2, {17, 10}}, {2, {6, 1}},
    {2, {4, 1000}}, {2, {0, 5}},       {2, {3, 0}},   {3, {2, 5, 0}},
    {2, {67, 13}},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
static const double smoothings[] = {0.0, 0.0, 0.1, 1.0};
static const enum fill fills[] = {FILL_NORMAL, FILL_NORMAL, FILL_HUGE,
                                  FILL_SPECIAL};
/* huge and special: sums of losses stay below 2^128 */
static const double scales[] = {1.0, 10.0, 0.01, 0.01};
static const char *const fill_words[] = {"normal", "wide", "huge", "special"};

enum ignoring {
    IGNORE_NONE,
    IGNORE_SOME,  /* -100 */
    IGNORE_CLASS, /* the class 1 */
    IGNORE_ALL
};
enum seeding { SEED_NULL, SEED_SCALAR, SEED_EACH };

/* One choice of every factor. */
struct cross_entropy_entry {
    int rank;
    int64_t shape[4];
    bool log_probs, soft, weighted, wrong;
    ssq_dtype in, out, weight_dtype;
    enum layout layout_in, layout_out;
    unsigned data; /* of fills */
    double smoothing;
    enum ignoring ignoring;
    enum seeding seeding;
    ssq_reduction reduction;
    bool want_loss, want_gradient, in_place;
};

/* splitmix64 of the case's number: every pair of choices occurs. */
static unsigned cross_entropy_choose(uint64_t *state, unsigned n)
{
    uint64_t z = *state += SPLITMIX_STEP;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

static struct cross_entropy_entry cross_entropy_entry_of(size_t i)
{
    uint64_t s = 0x10055u + i;
    size_t shape = i % SHAPES;
    struct cross_entropy_entry e = {.rank = shapes[shape].rank};
    memcpy(e.shape, shapes[shape].shape, sizeof(e.shape));
    unsigned kind =
        cross_entropy_choose(&s, 8); /* 1 in 8 nll, 2 in 8 soft targets */
    e.log_probs = kind == 0;
    e.soft = kind == 1 || kind == 2;
    e.weighted = cross_entropy_choose(&s, 2) != 0;
    e.in = dtypes[cross_entropy_choose(&s, 3)];
    e.out = dtypes[cross_entropy_choose(&s, 3)];
    e.weight_dtype = cross_entropy_choose(&s, 3) != 0 ? SSQ_F32 : SSQ_F16;
    e.layout_in = (enum layout)cross_entropy_choose(&s, 3);
    e.layout_out = (enum layout)cross_entropy_choose(&s, 3);
    unsigned data = cross_entropy_choose(&s, 8);
    e.data = data < 4 ? data : 0;
    e.smoothing = e.log_probs ? 0.0 : smoothings[cross_entropy_choose(&s, 4)];
    e.ignoring =
        e.soft ? IGNORE_NONE : (enum ignoring)cross_entropy_choose(&s, 4);
    if (e.ignoring == IGNORE_ALL && cross_entropy_choose(&s, 3) != 0)
        e.ignoring = IGNORE_SOME;
    e.wrong = !e.soft && cross_entropy_choose(&s, 8) == 0;
    e.reduction = (ssq_reduction)cross_entropy_choose(&s, 3);
    e.seeding = (enum seeding)cross_entropy_choose(
        &s, e.reduction == SSQ_REDUCTION_NONE ? 3 : 2);
    unsigned outputs = cross_entropy_choose(&s, 4);
    e.want_loss = outputs != 1;
    e.want_gradient = outputs != 2;
    e.in_place = e.want_gradient && cross_entropy_choose(&s, 4) == 0;
    if (e.in_place)
        e.out = e.in;
    return e;
}

static void cross_entropy_entry_text(const struct cross_entropy_entry *e,
                                     char *text, size_t bytes)
{
    static const char *const layouts[] = {"dense", "padded", "transposed"};
    static const char *const reductions[] = {"mean", "sum", "none"};
    static const char *const ignorings[] = {
        "", ", some ignored", ", class 1 ignored", ", all ignored"};
    static const char *const seeds[] = {"", ", one dloss", ", dloss each"};
    char shape[48] = "";
    for (int i = 0; i < e->rank; i++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%d",
                 i == 0 ? "" : "x", (int)e->shape[i]);
    snprintf(
        text, bytes, "%s %s %s %s %s to %s %s, %s%s%s smoothing %g%s%s%s%s%s",
        e->log_probs ? "nll_loss" : "cross_entropy", shape, fill_words[e->data],
        ssq_dtype_name(e->in), layouts[e->layout_in], ssq_dtype_name(e->out),
        layouts[e->layout_out], reductions[e->reduction],
        e->soft ? ", probabilities" : "", e->weighted ? ", weights," : ",",
        e->smoothing, ignorings[e->ignoring], e->wrong ? ", wrong targets" : "",
        seeds[e->seeding],
        e->want_loss ? e->want_gradient ? "" : ", loss only"
                     : ", gradient only",
        e->in_place ? ", in place" : "");
}

/* ---- operands ---- */

struct cross_entropy_operands {
    struct operand x, target, prob, weight, loss, dx, dloss;
    double *logits; /* as given: dx may be x */
};

static void cross_entropy_make_x(struct harness *b,
                                 const struct cross_entropy_entry *e,
                                 struct operand *x)
{
    harness_input(b, x, e->in, e->rank, e->shape, e->layout_in, fills[e->data]);
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    for (int64_t i = 0; i < x->n; i++)
        v[i] = x->value[i] * scales[e->data];
    if (scales[e->data] != 1.0)
        harness_values(b, x, e->in, e->rank, e->shape, e->layout_in, v);
}

static double draw_target(struct harness *b,
                          const struct cross_entropy_entry *e, int64_t r,
                          int64_t classes)
{
    static const double wrong[] = {-1.0, -2147483648.0, 2147483647.0};
    double u = harness_uniform(b), v = harness_uniform(b);
    if (e->ignoring == IGNORE_ALL ||
        (e->ignoring == IGNORE_SOME && u < 0.3 && r > 0))
        return -100.0;
    if (e->wrong && u > 0.8)
        return v < 0.25 ? (double)classes : wrong[(int)(v * 3.0)];
    return floor(v * (double)classes);
}

static void cross_entropy_make_target(struct harness *b,
                                      const struct cross_entropy_entry *e,
                                      const struct row_set *s,
                                      struct cross_entropy_operands *o)
{
    double *v = harness_alloc(b, (size_t)(o->x.n + s->count) * sizeof(*v));
    if (e->soft) {
        /* rows that sum to about 1, with zeros */
        for (int64_t i = 0; i < o->x.n; i++)
            v[i] = harness_uniform(b) < 0.3
                       ? 0.0
                       : 2.0 * harness_uniform(b) / (double)s->n;
        harness_values(b, &o->prob, e->in, e->rank, e->shape, e->layout_out, v);
        return;
    }
    for (int64_t r = 0; r < s->count; r++)
        v[r] = draw_target(b, e, r, s->n);
    harness_values(b, &o->target, SSQ_I32, s->rank, s->shape, e->layout_in, v);
}

static void cross_entropy_make_operands(struct harness *b,
                                        const struct cross_entropy_entry *e,
                                        const struct row_set *s,
                                        struct cross_entropy_operands *o)
{
    memset(o, 0, sizeof(*o));
    cross_entropy_make_x(b, e, &o->x);
    o->logits = harness_alloc(b, (size_t)o->x.n * sizeof(double));
    memcpy(o->logits, o->x.value, (size_t)o->x.n * sizeof(double));
    cross_entropy_make_target(b, e, s, o);
    if (e->weighted)
        harness_input(b, &o->weight, e->weight_dtype, 1, &s->n, LAYOUT_DENSE,
                      FILL_POSITIVE);
    bool each = e->reduction == SSQ_REDUCTION_NONE;
    /* one element of any rank */
    const int64_t ones[] = {1, 1, 1, 1, 1};
    int one_rank = e->rank % 2 == 0 ? 5 : 0;
    if (e->seeding == SEED_EACH)
        harness_input(b, &o->dloss, SSQ_F32, s->rank, s->shape, e->layout_out,
                      FILL_NORMAL);
    else if (e->seeding == SEED_SCALAR)
        harness_input(b, &o->dloss, SSQ_F32, one_rank, ones, LAYOUT_DENSE,
                      FILL_NORMAL);
    if (e->want_loss)
        harness_output(b, &o->loss, SSQ_F32, each ? s->rank : one_rank,
                       each ? s->shape : ones, e->layout_out);
    if (e->in_place)
        o->dx = o->x;
    else if (e->want_gradient)
        harness_output(b, &o->dx, e->out, e->rank, e->shape, e->layout_out);
}

static ssq_status cross_entropy_call(struct harness *b,
                                     const struct cross_entropy_entry *e,
                                     const struct cross_entropy_operands *o)
{
    int64_t ignore = e->ignoring == IGNORE_CLASS ? 1 : -100;
    ssq_nll_loss_args n = SSQ_NLL_LOSS_INIT;
    n.x = o->x.t;
    n.target = o->target.t;
    n.weight = o->weight.t;
    n.loss = o->loss.t;
    n.dx = o->dx.t;
    n.dloss = o->dloss.t;
    n.ignore_index = ignore;
    n.reduction = e->reduction;
    if (e->log_probs)
        return ssq_nll_loss(b->queue, &n);
    ssq_cross_entropy_args a = SSQ_CROSS_ENTROPY_INIT;
    a.logits = o->x.t;
    a.target = o->target.t;
    a.target_prob = o->prob.t;
    a.weight = o->weight.t;
    a.loss = o->loss.t;
    a.dlogits = o->dx.t;
    a.dloss = o->dloss.t;
    a.ignore_index = ignore;
    a.label_smoothing = e->smoothing;
    a.reduction = e->reduction;
    return ssq_cross_entropy(b->queue, &a);
}

/* ---- the case ---- */

static struct problem problem_of(const struct cross_entropy_entry *e,
                                 const struct row_set *s,
                                 const struct cross_entropy_operands *o)
{
    return (struct problem){.rows = *s,
                            .log_probs = e->log_probs,
                            .smoothing = e->smoothing,
                            .ignore = e->ignoring == IGNORE_CLASS ? 1 : -100,
                            .reduction = e->reduction,
                            .target = e->soft ? NULL : o->target.value,
                            .prob = e->soft ? o->prob.value : NULL,
                            .weight = e->weighted ? o->weight.value : NULL,
                            .dloss =
                                e->seeding == SEED_NULL ? NULL : o->dloss.value,
                            .dloss_each = e->seeding == SEED_EACH};
}

/* Does the oracle's gradient belong to its loss? Along one logit a row's loss
 * is sum_q log(total) minus a line: its third derivative is at most sum_q / (6
 * sqrt(3)). */
static bool cross_entropy_differentiable(struct harness *b,
                                         const struct cross_entropy_entry *e,
                                         const struct problem *p,
                                         const double *x, size_t n,
                                         const double *gradient)
{
    if (n > 150 || e->data > 1 || e->wrong || e->ignoring == IGNORE_ALL)
        return true;
    double size = cross_entropy_size(p, x);
    if (!(size < (double)INFINITY))
        return true; /* nothing counts: a mean of no rows */
    double *copy = harness_alloc(b, (n + 1) * sizeof(*copy));
    memcpy(copy, x, n * sizeof(*copy));
    return difference_check(b, cross_entropy_sum, p, copy, n, gradient, 0x1p-13,
                            size, size);
}

static bool cross_entropy_run_entry(struct harness *b,
                                    const struct cross_entropy_entry *e)
{
    struct row_set s = row_set_of(e->rank, e->shape);
    struct cross_entropy_operands o;
    cross_entropy_make_operands(b, e, &s, &o);
    struct problem p = problem_of(e, &s, &o);
    b->flops = 14.0 * (double)o.x.n;
    b->bytes =
        (double)o.x.n * (ssq_dtype_bits(e->in) + ssq_dtype_bits(e->out)) / 8.0;
    HARNESS_OP(b, cross_entropy_call(b, e, &o));
    if (e->want_loss)
        harness_read(b, &o.loss);
    if (e->want_gradient)
        harness_read(b, &o.dx);
    if (!e->in_place)
        harness_read(b, &o.x);
    size_t n = (size_t)o.x.n, rows = (size_t)s.count + 1;
    bool fresh;
    double *loss = harness_keep(b, 0, rows, &fresh);
    double *loss_error = harness_keep(b, 1, rows, &fresh);
    double *dx = harness_keep(b, 2, n, &fresh);
    double *dx_error = harness_keep(b, 3, n, &fresh);
    if (fresh) {
        bool flushed = b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
        cross_entropy_oracle(&p, o.logits, bound_tiny(flushed), loss,
                             loss_error, dx, dx_error);
        if (!cross_entropy_differentiable(b, e, &p, o.logits, n, dx))
            return false;
    }
    return (!e->want_loss || harness_bound(b, &o.loss, loss, loss_error)) &&
           (!e->want_gradient || harness_bound(b, &o.dx, dx, dx_error));
}

/* A vocabulary, once per dtype: chains of 50257. */
static struct cross_entropy_entry vocabulary(size_t i)
{
    return (struct cross_entropy_entry){.rank = 2,
                                        .shape = {2, 50257},
                                        .in = dtypes[i % 3],
                                        .out = dtypes[i % 3],
                                        .smoothing = i == 0 ? 0.1 : 0.0,
                                        .want_loss = true,
                                        .want_gradient = true,
                                        .in_place = i == 1};
}

#define DRAWN        390
#define VOCABULARIES 3

static void cross_entropy_describe(size_t i, char *text, size_t bytes)
{
    struct cross_entropy_entry e;
    if (i < DRAWN + VOCABULARIES) {
        e = i < DRAWN ? cross_entropy_entry_of(i) : vocabulary(i - DRAWN);
        cross_entropy_entry_text(&e, text, bytes);
        return;
    }
    cross_entropy_edge_text(i - DRAWN - VOCABULARIES, text, bytes);
}

static bool loss_cross_entropy_run(struct harness *b, size_t i)
{
    if (i < DRAWN + VOCABULARIES) {
        struct cross_entropy_entry e =
            i < DRAWN ? cross_entropy_entry_of(i) : vocabulary(i - DRAWN);
        return cross_entropy_run_entry(b, &e);
    }
    return cross_entropy_edge(b, i - DRAWN - VOCABULARIES);
}

extern const struct suite cross_entropy_suite;
const struct suite cross_entropy_suite = {.op = "cross_entropy",
                                          .name = "cross_entropy",
                                          .n = DRAWN + VOCABULARIES +
                                               CROSS_ENTROPY_EDGES,
                                          .describe = cross_entropy_describe,
                                          .run = loss_cross_entropy_run,
                                          .floor = 700};
