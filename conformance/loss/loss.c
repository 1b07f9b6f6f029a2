/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - cases of the elementwise losses: mse, l1, smooth l1, huber, and
 * binary cross-entropy with logits. */
#include "conformance/suite.h"

#include "conformance/bounds_rows.h"
#include "conformance/difference.h"
#include "conformance/loss/loss.h"

#include <stdio.h>
#include <string.h>

enum kind { MSE, L1, SMOOTH_L1, HUBER, BCE, KINDS };
static const char *const kind_words[] = {"mse", "l1", "smooth_l1", "huber",
                                         "bce_with_logits"};

static const struct {
    int rank;
    int64_t shape[3];
} shapes[] = {
    {1, {7}},        {0, {0}},       {2, {3, 5}},  {2, {13, 17}},
    {3, {2, 3, 11}}, {1, {1}},       {1, {0}},     {2, {0, 4}},
    {2, {31, 67}},   {3, {5, 1, 3}}, {1, {50257}},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
static const enum fill fills[] = {FILL_NORMAL, FILL_NORMAL, FILL_HUGE,
                                  FILL_SPECIAL, FILL_TINY};
/* huge and special: sums stay below 2^128, or every term is above it */
static const double scales[] = {1.0, 100.0, 0.01, 0.01, 1.0};
static const char *const fill_words[] = {"normal", "wide", "huge", "special",
                                         "tiny"};
static const double parameters[] = {1.0, 0.5, 3.0};

enum weighting {
    WEIGHT_NONE,
    WEIGHT_FULL,
    WEIGHT_LAST /* the last dimension only */
};
enum place { PLACE_OWN, PLACE_X, PLACE_TARGET };

struct loss_entry {
    enum kind kind;
    int rank;
    int64_t shape[3];
    ssq_dtype in, target, out;
    enum layout layout_in, layout_out;
    unsigned data;
    double parameter;
    enum weighting weight, pos_weight;
    int seeding; /* 0 NULL, 1 scalar, 2 each */
    ssq_reduction reduction;
    bool want_loss, want_gradient;
    enum place place;
};

/* splitmix64 of the case's number: every pair of choices occurs. */
static unsigned loss_choose(uint64_t *state, unsigned n)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

static struct loss_entry loss_entry_of(size_t i)
{
    uint64_t s = 0x7055u + i;
    size_t shape = i / KINDS % SHAPES;
    struct loss_entry e = {.kind = (enum kind)(i % KINDS),
                           .rank = shapes[shape].rank};
    memcpy(e.shape, shapes[shape].shape, sizeof(e.shape));
    e.in = dtypes[loss_choose(&s, 3)];
    e.target = dtypes[loss_choose(&s, 3)];
    e.out = dtypes[loss_choose(&s, 3)];
    e.layout_in = (enum layout)loss_choose(&s, 3);
    e.layout_out = (enum layout)loss_choose(&s, 3);
    unsigned data = loss_choose(&s, 10);
    e.data = data < 5 ? data : 0;
    e.parameter = e.kind == SMOOTH_L1 || e.kind == HUBER
                      ? parameters[loss_choose(&s, 3)]
                      : 0.0;
    if (e.kind == SMOOTH_L1 && loss_choose(&s, 5) == 0)
        e.parameter = 0.0;
    bool loss_bce = e.kind == BCE && e.rank > 0;
    e.weight = loss_bce ? (enum weighting)loss_choose(&s, 3) : WEIGHT_NONE;
    e.pos_weight = loss_bce ? (enum weighting)loss_choose(&s, 3) : WEIGHT_NONE;
    e.reduction = (ssq_reduction)loss_choose(&s, 3);
    e.seeding = (int)loss_choose(&s, e.reduction == SSQ_REDUCTION_NONE ? 3 : 2);
    unsigned outputs = loss_choose(&s, 4);
    e.want_loss = outputs != 1;
    e.want_gradient = outputs != 2;
    unsigned place = loss_choose(&s, 6);
    e.place = e.want_gradient && place < 3 ? (enum place)place : PLACE_OWN;
    return e;
}

static void loss_entry_text(const struct loss_entry *e, char *text,
                            size_t bytes)
{
    static const char *const layouts[] = {"dense", "padded", "transposed"};
    static const char *const reductions[] = {"mean", "sum", "none"};
    static const char *const weights[] = {"none", "full", "last"};
    static const char *const seeds[] = {"no", "one", "each"};
    static const char *const places[] = {"dx", "dx is x", "dx is target"};
    char shape[48] = "[";
    for (int i = 0; i < e->rank; i++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%d",
                 i == 0 ? "" : "x", (int)e->shape[i]);
    snprintf(text, bytes,
             "%s %s] %s %s %s, target %s, to %s %s, %s, parameter %g, weights "
             "%s and %s, %s dloss, %s%s%s",
             kind_words[e->kind], shape, fill_words[e->data],
             ssq_dtype_name(e->in), layouts[e->layout_in],
             ssq_dtype_name(e->target), ssq_dtype_name(e->out),
             layouts[e->layout_out], reductions[e->reduction], e->parameter,
             weights[e->weight], weights[e->pos_weight], seeds[e->seeding],
             e->want_loss ? "loss" : "",
             e->want_loss && e->want_gradient ? " and " : "",
             e->want_gradient ? places[e->place] : "");
}

/* ---- the oracle ---- */

struct term {
    double value, value_m, slope, slope_m;
};

static double loss_softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static double loss_sigmoid(double x)
{
    return x < 0.0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x));
}

static double loss_sign(double d)
{
    return isnan(d) ? d : (double)(d > 0.0) - (double)(d < 0.0);
}

static struct term loss_bce(double x, double t, double p)
{
    /* fmax drops NaNs */
    double up = isnan(x) ? x : loss_softplus(x),
           down = isnan(x) ? x : loss_softplus(-x);
    double a = p * t * down, b = (1.0 - t) * up;
    double c = (1.0 - t) * loss_sigmoid(x), d = p * t * loss_sigmoid(-x);
    return (struct term){a + b, fabs(a) + fabs(b), c - d, fabs(c) + fabs(d)};
}

/* c: beta or delta. */
static struct term term_of(enum kind kind, double x, double t, double c,
                           double p)
{
    double d = x - t, a = fabs(d), near, far;
    switch (kind) {
    case MSE:
        return (struct term){d * d, d * d, 2.0 * d, 2.0 * a};
    case SMOOTH_L1:
        if (c > 0.0) {
            near = d * d / (2.0 * c);
            far = a - c / 2.0;
            return a < c ? (struct term){near, near, d / c, a / c}
                         : (struct term){far, a + c / 2.0, loss_sign(d), 1.0};
        }
        return (struct term){a, a, loss_sign(d), 1.0};
    case HUBER:
        return a <= c ? (struct term){d * d / 2.0, d * d / 2.0, d, a}
                      : (struct term){c * (a - c / 2.0), c * (a + c / 2.0),
                                      c * loss_sign(d), c};
    case BCE:
        return loss_bce(x, t, p);
    default:
        return (struct term){a, a, loss_sign(d), 1.0};
    }
}

/** Dense values; weights one per element, or 1. */
struct loss_problem {
    const struct loss_entry *e;
    int64_t n;
    const double *target, *weight, *pos_weight, *dloss;
};

static double weight_at(const struct loss_problem *p, const double *w,
                        enum weighting how, int64_t i)
{
    const struct loss_entry *e = p->e;
    if (how == WEIGHT_NONE)
        return 1.0;
    return w[how == WEIGHT_FULL ? i : i % e->shape[e->rank - 1]];
}

static double seed_at(const struct loss_problem *p, int64_t i)
{
    double count = p->e->reduction == SSQ_REDUCTION_MEAN ? (double)p->n : 1.0;
    if (p->e->seeding == 0)
        return 1.0 / count;
    return p->dloss[p->e->seeding == 2 ? i : 0] / count;
}

static struct term weighted_term(const struct loss_problem *p, const double *x,
                                 int64_t i)
{
    const struct loss_entry *e = p->e;
    double w = weight_at(p, p->weight, e->weight, i);
    struct term t = term_of(e->kind, x[i], p->target[i], e->parameter,
                            weight_at(p, p->pos_weight, e->pos_weight, i));
    return (struct term){t.value * w, t.value_m * fabs(w), t.slope * w,
                         t.slope_m * fabs(w)};
}

static void loss_oracle(const struct loss_problem *p, const double *x,
                        double tiny, double *loss, double *loss_error,
                        double *dx, double *dx_error)
{
    double sum = 0.0, m = 0.0;
    bool each = p->e->reduction == SSQ_REDUCTION_NONE;
    for (int64_t i = 0; i < p->n; i++) {
        struct term t = weighted_term(p, x, i);
        double seed = seed_at(p, i);
        sum += t.value;
        m += t.value_m;
        dx[i] = t.slope * seed;
        dx_error[i] = bound_loss_slope(t.slope_m, seed, tiny);
        if (each) {
            loss[i] = t.value;
            loss_error[i] = bound_loss_value(t.value_m, tiny);
        }
    }
    double count = p->e->reduction == SSQ_REDUCTION_MEAN ? (double)p->n : 1.0;
    if (!each) {
        loss[0] = sum / count;
        loss_error[0] = bound_loss_total((double)p->n, m / count, tiny);
    }
}

static double seeded_sum(const void *data, const double *x)
{
    const struct loss_problem *p = data;
    double sum = 0.0;
    for (int64_t i = 0; i < p->n; i++)
        sum += weighted_term(p, x, i).value * seed_at(p, i);
    return sum;
}

/* The oracle's slope against differences of its value. Third derivatives: 0
 * for squares and lines; softplus'' changes by at most 1/(6 sqrt(3)). Across a
 * kink of the slope, where f'' jumps by 1 (1 / beta), the difference is off by
 * at most step * jump: written as a third derivative of 6 jump / step. The
 * kink of the value itself is left out. */
static bool loss_differentiable(struct harness *b, const struct loss_problem *p,
                                const double *x, const double *dx)
{
    const struct loss_entry *e = p->e;
    const double step = 0x1p-13;
    double *copy = harness_alloc(b, (size_t)(p->n + 1) * sizeof(*copy));
    double size = 1.0, most = 0.0;
    if (p->n > 250 || e->data > 1)
        return true;
    for (int64_t i = 0; i < p->n; i++) {
        bool bent = e->kind == L1 || (e->kind == SMOOTH_L1 && !e->parameter);
        if (bent && fabs(x[i] - p->target[i]) <= step)
            return true;
        struct term t = weighted_term(p, x, i);
        double seed = fabs(seed_at(p, i));
        copy[i] = x[i];
        size += t.value_m * seed;
        double w = fabs(weight_at(p, p->weight, e->weight, i)) * seed;
        most = fmax(most, w * (1.0 + fabs(weight_at(p, p->pos_weight,
                                                    e->pos_weight, i))));
    }
    double third = e->kind == BCE ? most : 0.0;
    if ((e->kind == SMOOTH_L1 && e->parameter > 0.0) || e->kind == HUBER)
        third = 6.0 * most * fmax(1.0, 1.0 / e->parameter) / step;
    return difference_check(b, seeded_sum, p, copy, (size_t)p->n, dx, step,
                            third, size);
}

/* ---- operands ---- */

struct loss_operands {
    struct operand x, target, weight, pos_weight, loss, dx, dloss;
};

static void loss_make_data(struct harness *b, const struct loss_entry *e,
                           struct operand *x, ssq_dtype dtype, enum fill fill,
                           double scale)
{
    harness_input(b, x, dtype, e->rank, e->shape, e->layout_in, fill);
    if (scale == 1.0)
        return;
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    for (int64_t i = 0; i < x->n; i++)
        v[i] = x->value[i] * scale;
    harness_values(b, x, dtype, e->rank, e->shape, e->layout_in, v);
}

static void make_weight(struct harness *b, const struct loss_entry *e,
                        enum weighting how, struct operand *w)
{
    if (how == WEIGHT_FULL)
        harness_input(b, w, SSQ_F32, e->rank, e->shape, e->layout_out,
                      FILL_POSITIVE);
    else if (how == WEIGHT_LAST)
        harness_input(b, w, e->in, 1, e->shape + e->rank - 1, LAYOUT_DENSE,
                      FILL_POSITIVE);
}

/* dx may be an operand that it fits; otherwise it has its own place. */
static void loss_make_operands(struct harness *b, const struct loss_entry *e,
                               struct loss_operands *o)
{
    memset(o, 0, sizeof(*o));
    bool each = e->reduction == SSQ_REDUCTION_NONE;
    /* one element of any rank */
    const int64_t ones[] = {1, 1, 1, 1, 1};
    int one_rank = e->rank % 2 == 0 ? 5 : 0;
    loss_make_data(b, e, &o->x, e->in, fills[e->data], scales[e->data]);
    if (e->kind == BCE)
        loss_make_data(b, e, &o->target, e->target, FILL_POSITIVE, 1.0);
    else
        loss_make_data(b, e, &o->target, e->target, fills[e->data],
                       scales[e->data]);
    make_weight(b, e, e->weight, &o->weight);
    make_weight(b, e, e->pos_weight, &o->pos_weight);
    if (e->seeding == 2)
        harness_input(b, &o->dloss, SSQ_F32, e->rank, e->shape, e->layout_out,
                      FILL_NORMAL);
    else if (e->seeding == 1)
        harness_input(b, &o->dloss, SSQ_F32, one_rank, ones, LAYOUT_DENSE,
                      FILL_NORMAL);
    if (e->want_loss)
        harness_output(b, &o->loss, SSQ_F32, each ? e->rank : one_rank,
                       each ? e->shape : ones, e->layout_out);
    if (e->place == PLACE_X)
        o->dx = o->x;
    else if (e->place == PLACE_TARGET)
        o->dx = o->target;
    else if (e->want_gradient)
        harness_output(b, &o->dx, e->out, e->rank, e->shape, e->layout_out);
}

/* One args struct holds what they all share. */
static ssq_status loss_call(struct harness *b, const struct loss_entry *e,
                            const struct loss_operands *o)
{
    ssq_mse_args m = SSQ_MSE_INIT;
    m.x = o->x.t;
    m.target = o->target.t;
    m.loss = o->loss.t;
    m.dx = o->dx.t;
    m.dloss = o->dloss.t;
    m.reduction = e->reduction;
    ssq_smooth_l1_args s = SSQ_SMOOTH_L1_INIT;
    ssq_huber_args h = SSQ_HUBER_INIT;
    ssq_bce_with_logits_args c = SSQ_BCE_WITH_LOGITS_INIT;
    s.x = h.x = c.x = m.x;
    s.target = h.target = c.target = m.target;
    s.loss = h.loss = c.loss = m.loss;
    s.dx = h.dx = c.dx = m.dx;
    s.dloss = h.dloss = c.dloss = m.dloss;
    s.reduction = h.reduction = c.reduction = m.reduction;
    s.beta = h.delta = e->parameter;
    c.weight = o->weight.t;
    c.pos_weight = o->pos_weight.t;
    switch (e->kind) {
    case MSE:
        return ssq_mse(b->queue, &m);
    case L1:
        return ssq_l1(b->queue, &m);
    case SMOOTH_L1:
        return ssq_smooth_l1(b->queue, &s);
    case HUBER:
        return ssq_huber(b->queue, &h);
    default:
        return ssq_bce_with_logits(b->queue, &c);
    }
}

static double *loss_copied(struct harness *b, const struct operand *x)
{
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    memcpy(v, x->value, (size_t)x->n * sizeof(*v));
    return v;
}

static bool loss_run_entry(struct harness *b, const struct loss_entry *e)
{
    struct loss_operands o;
    loss_make_operands(b, e, &o);
    struct loss_problem p = {.e = e, .n = o.x.n};
    const double *x = loss_copied(b, &o.x);
    p.target = loss_copied(b, &o.target);
    p.weight = o.weight.value;
    p.pos_weight = o.pos_weight.value;
    p.dloss = o.dloss.value;
    b->flops = 8.0 * (double)p.n;
    b->bytes = (double)p.n *
               (ssq_dtype_bits(e->in) + ssq_dtype_bits(e->target) +
                (e->want_gradient ? ssq_dtype_bits(o.dx.dtype) : 0)) /
               8.0;
    HARNESS_OP(b, loss_call(b, e, &o));
    if (e->want_loss)
        harness_read(b, &o.loss);
    if (e->want_gradient)
        harness_read(b, &o.dx);
    size_t n = (size_t)p.n + 1;
    bool fresh;
    double *loss = harness_keep(b, 0, n, &fresh);
    double *loss_error = harness_keep(b, 1, n, &fresh);
    double *dx = harness_keep(b, 2, n, &fresh);
    double *dx_error = harness_keep(b, 3, n, &fresh);
    if (fresh) {
        bool flushed = b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
        loss_oracle(&p, x, bound_tiny(flushed), loss, loss_error, dx, dx_error);
        if (!loss_differentiable(b, &p, x, dx))
            return false;
    }
    return (!e->want_loss || harness_bound(b, &o.loss, loss, loss_error)) &&
           (!e->want_gradient || harness_bound(b, &o.dx, dx, dx_error));
}

#define DRAWN 330

static void loss_describe(size_t i, char *text, size_t bytes)
{
    if (i >= DRAWN) {
        snprintf(text, bytes, "%s",
                 i == DRAWN ? "bce_with_logits as torch, with both weights"
                            : "losses refuse wrong arguments");
        return;
    }
    struct loss_entry e = loss_entry_of(i);
    loss_entry_text(&e, text, bytes);
}

static bool loss_table_run(struct harness *b, size_t i)
{
    if (i >= DRAWN)
        return i == DRAWN ? loss_torch(b) : loss_refusals(b);
    struct loss_entry e = loss_entry_of(i);
    return loss_run_entry(b, &e);
}

extern const struct suite loss_suite;
const struct suite loss_suite = {.op = "loss",
                                 .name = "loss",
                                 .n = DRAWN + 2,
                                 .describe = loss_describe,
                                 .run = loss_table_run,
                                 .floor = 600};
