/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_case.c - the oracle of the gemm family: float64 and libm, independent of
 * the library's arithmetic; compensated sums where k is long. */
#include "conformance/gemm/gemm_case.h"

#include "conformance/bounds.h"
#include "conformance/activation.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of one element before alpha: the sum, the sum of absolute values (of finite
 * products), and the part of it that has a float32-subnormal factor; lost: the
 * products of such a one and infinity, which is NaN where it is flushed. */
struct sum {
    double value, size, subnormal, lost;
};

static void gemm_case_say(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void gemm_case_say(char *text, size_t bytes, const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, bytes - at, format, args);
    va_end(args);
}

static void say_shape(char *text, size_t bytes, const char *what, int rank,
                      const int64_t *size)
{
    gemm_case_say(text, bytes, "%s[", what);
    for (int i = 0; i < rank; i++)
        gemm_case_say(text, bytes, "%s%lld", i == 0 ? "" : ",",
                      (long long)size[i]);
    gemm_case_say(text, bytes, "]");
}

static void describe_c(const struct gemm_case *g, char *text, size_t bytes)
{
    static const char *const from[] = {"",      "full",   "in place", "row",
                                       "[1,n]", "column", "scalar",   "batch"};
    if (g->from != C_NONE)
        gemm_case_say(text, bytes, " beta %g c %s %s", g->beta,
                      ssq_dtype_name(g->c), from[g->from]);
    if (g->bias != 0)
        gemm_case_say(text, bytes, " bias %s", ssq_dtype_name(g->bias));
    if (g->activation != SSQ_ACTIVATION_NONE)
        gemm_case_say(text, bytes, " %s", ssq_activation_name(g->activation));
}

void gemm_describe(const struct gemm_case *g, char *text, size_t bytes)
{
    static const char layouts[] = "dptb";
    static const char *const fills[] = {
        "normal", "uniform", "positive", "integers", "tiny",
        "huge",   "special", "zero",     "NaN",      "ones"};
    text[0] = '\0';
    if (g->name != NULL)
        gemm_case_say(text, bytes, "%s: ", g->name);
    gemm_case_say(text, bytes, "gemm %s x %s -> %s %lldx%lldx%lld %c%c %c%c%c",
                  ssq_dtype_name(g->a), ssq_dtype_name(g->b),
                  ssq_dtype_name(g->d), (long long)g->m, (long long)g->n,
                  (long long)g->k, g->trans_a ? 't' : 'n',
                  g->trans_b ? 't' : 'n', layouts[g->layout_a],
                  layouts[g->layout_b], layouts[g->layout_d]);
    const struct gemm_batch_case *t = &g->batch;
    if (t->rank > 0) {
        say_shape(text, bytes, " batch ", t->rank, t->d);
        say_shape(text, bytes, " of ", t->a_rank, t->a);
        say_shape(text, bytes, " and ", t->b_rank, t->b);
    }
    gemm_case_say(text, bytes, " alpha %g", g->alpha);
    describe_c(g, text, bytes);
    gemm_case_say(text, bytes, " %s", fills[g->fill_a]);
    if (g->fill_b != g->fill_a)
        gemm_case_say(text, bytes, " by %s", fills[g->fill_b]);
}

static int with_batch(int64_t *shape, int rank, const int64_t *batch,
                      int64_t rows, int64_t columns)
{
    memcpy(shape, batch, (size_t)rank * sizeof(*batch));
    shape[rank] = rows;
    shape[rank + 1] = columns;
    return rank + 2;
}

static int shape_c(const struct gemm_case *g, int64_t *shape)
{
    const struct gemm_batch_case *t = &g->batch;
    switch (g->from) {
    case C_ROW:
        shape[0] = g->n;
        return 1;
    case C_ROW2:
        return with_batch(shape, 0, t->d, 1, g->n);
    case C_COLUMN:
        return with_batch(shape, 0, t->d, g->m, 1);
    case C_SCALAR:
        return 0;
    case C_BATCH:
        return with_batch(shape, t->rank, t->d, 1, 1);
    default:
        return with_batch(shape, t->rank, t->d, g->m, g->n);
    }
}

int gemm_shape(const struct gemm_case *g, char which, int64_t *shape)
{
    const struct gemm_batch_case *t = &g->batch;
    if (which == 'a')
        return with_batch(shape, t->a_rank, t->a, g->trans_a ? g->k : g->m,
                          g->trans_a ? g->m : g->k);
    if (which == 'b')
        return with_batch(shape, t->b_rank, t->b, g->trans_b ? g->n : g->k,
                          g->trans_b ? g->k : g->n);
    if (which == 'c')
        return shape_c(g, shape);
    return with_batch(shape, t->rank, t->d, g->m, g->n);
}

void gemm_operands(struct harness *b, const struct gemm_case *g,
                   struct gemm_work *w)
{
    int64_t shape[SSQ_MAX_RANK];
    *w = (struct gemm_work){.g = g};
    int rank = gemm_shape(g, 'a', shape);
    harness_input(b, &w->a, g->a, rank, shape, g->layout_a, g->fill_a);
    rank = gemm_shape(g, 'b', shape);
    harness_input(b, &w->b, g->b, rank, shape, g->layout_b, g->fill_b);
    rank = gemm_shape(g, 'c', shape);
    if (g->from != C_NONE && g->from != C_PLACE)
        harness_input(b, &w->c, g->c, rank, shape, g->layout_c, g->fill_c);
    if (g->bias != 0)
        harness_input(b, &w->bias, g->bias, 1, &g->n, g->layout_bias,
                      g->fill_c);
    rank = gemm_shape(g, 'd', shape);
    if (g->from == C_PLACE) {
        harness_input(b, &w->d, g->d, rank, shape, g->layout_d, g->fill_c);
        w->c = w->d;
    } else {
        harness_output(b, &w->d, g->d, rank, shape, g->layout_d);
    }
}

void gemm_must(struct harness *b, ssq_status status)
{
    if (status != SSQ_OK)
        harness_fail(b, "%s: %s", ssq_status_name(status), ssq_last_error());
}

ssq_gemm_args gemm_args(const struct gemm_work *w)
{
    ssq_gemm_args args = SSQ_GEMM_INIT;
    args.a = w->a.t;
    args.b = w->b.t;
    args.c = w->c.t;
    args.bias = w->bias.t;
    args.d = w->d.t;
    args.trans_a = w->g->trans_a;
    args.trans_b = w->g->trans_b;
    args.alpha = w->g->alpha;
    args.beta = w->g->beta;
    args.activation = w->g->activation;
    return args;
}

/* The matrix of x for element (batch index t of d): first dense index. */
static int64_t batch_start(const struct operand *x, int rank,
                           const int64_t *index, int64_t matrix)
{
    int64_t at = 0;
    int own = x->rank - 2;
    for (int i = 0; i < own; i++)
        at = at * x->shape[i] + (x->shape[i] == 1 ? 0 : index[i + rank - own]);
    return at * matrix;
}

static bool is_subnormal(double x)
{
    return x != 0.0 && fabs(x) < 0x1p-126;
}

/* op(x) as rows of k. */
struct gemm_case_rows {
    double *value;
    bool plain; /* all are finite, and no float32 subnormal is among them */
};

/* From dense values; rows are x's or its columns. */
static struct gemm_case_rows gemm_case_gather(struct harness *b,
                                              const double *x, int64_t rows,
                                              int64_t k, bool by_columns)
{
    struct gemm_case_rows r = {
        harness_alloc(b, (size_t)(rows * k) * sizeof(double)), true};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t q = 0; q < k; q++) {
            double v = by_columns ? x[q * rows + i] : x[i * k + q];
            r.value[i * k + q] = v;
            r.plain = r.plain && isfinite(v) && !is_subnormal(v);
        }
    return r;
}

/* Neumaier's compensated sum: the error is of second order. */
static struct sum dot(const double *x, const double *y, int64_t k)
{
    struct sum s = {0.0, 0.0, 0.0, 0.0};
    double lost = 0.0;
    for (int64_t q = 0; q < k; q++) {
        double p = x[q] * y[q], t = s.value + p; /* p is exact */
        if (!isfinite(p)) {
            s.value = t;
            s.lost += is_subnormal(x[q]) || is_subnormal(y[q]);
            continue;
        }
        if (k > 8192 && isfinite(t))
            lost += fabs(s.value) >= fabs(p) ? (s.value - t) + p
                                             : (p - t) + s.value;
        s.value = t;
        s.size += fabs(p);
        if (is_subnormal(x[q]) || is_subnormal(y[q]))
            s.subnormal += fabs(p);
    }
    s.value += lost;
    return s;
}

#define CHAINS 4

/* The same where no product is special and k is at most 8192: in several chains
 * of additions, which a processor does at a time. */
static struct sum plain_dot(const double *x, const double *y, int64_t k)
{
    double value[CHAINS] = {0.0}, size[CHAINS] = {0.0};
    int64_t q = 0;
    for (; q + CHAINS <= k; q += CHAINS)
        for (int c = 0; c < CHAINS; c++) {
            double p = x[q + c] * y[q + c]; /* exact */
            value[c] += p;
            size[c] += fabs(p);
        }
    struct sum s = dot(x + q, y + q, k - q);
    for (int c = 0; c < CHAINS; c++) {
        s.value += value[c];
        s.size += size[c];
    }
    return s;
}

/* Sums of one matrix of the batch. */
static void sum_matrix(struct harness *b, const struct gemm_work *w,
                       const int64_t *index, struct sum *s)
{
    const struct gemm_case *g = w->g;
    int rank = g->batch.rank;
    int64_t at_a = batch_start(&w->a, rank, index, g->m * g->k);
    int64_t at_b = batch_start(&w->b, rank, index, g->k * g->n);
    struct gemm_case_rows x =
        gemm_case_gather(b, w->a.value + at_a, g->m, g->k, g->trans_a);
    struct gemm_case_rows y =
        gemm_case_gather(b, w->b.value + at_b, g->n, g->k, !g->trans_b);
    bool plain = x.plain && y.plain && g->k <= 8192;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            const double *u = x.value + i * g->k, *v = y.value + j * g->k;
            s[i * g->n + j] = plain ? plain_dot(u, v, g->k) : dot(u, v, g->k);
        }
}

/* The batch index that follows. */
static void next_index(const struct gemm_batch_case *t, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++index[i] < t->d[i])
            return;
        index[i] = 0;
    }
}

static const struct sum *gemm_case_sums(struct harness *b,
                                        const struct gemm_work *w)
{
    bool fresh;
    size_t n = (size_t)w->d.n;
    struct sum *s = (struct sum *)harness_keep(
        b, 0, n * sizeof(*s) / sizeof(double), &fresh);
    int64_t index[SSQ_MAX_RANK] = {0}, matrix = w->g->m * w->g->n;
    for (int64_t at = 0; fresh && at < w->d.n; at += matrix) {
        sum_matrix(b, w, index, s + at);
        next_index(&w->g->batch, index);
    }
    return s;
}

/* The value of c for dense element i of d. */
static double c_value(const struct gemm_work *w, int64_t i)
{
    const struct gemm_case *g = w->g;
    int64_t column = i % g->n, row = i / g->n % g->m;
    switch (g->from) {
    case C_ROW:
    case C_ROW2:
        return w->c0[column];
    case C_COLUMN:
        return w->c0[row];
    case C_SCALAR:
        return w->c0[0];
    case C_BATCH:
        return w->c0[i / (g->m * g->n)];
    default:
        return w->c0[i];
    }
}

/* The expected element i, and its permitted error before the store. */
struct gemm_case_target {
    double want, error, alarm;
    bool open;  /* float32 sums may overflow: anything goes */
    bool exact; /* integers below 2^24 in every order */
};

/* The value before the activation. */
static double gemm_case_before(const struct gemm_work *w, const struct sum *s,
                               int64_t i, double *product, double *added,
                               double *x0)
{
    const struct gemm_case *g = w->g;
    double alpha = (double)(float)g->alpha, beta = (double)(float)g->beta;
    bool multiplies = alpha != 0.0 && g->k > 0;
    double x = multiplies ? alpha * s->value : 0.0;
    *product = multiplies ? fabs(alpha) * s->size : 0.0;
    *added = 0.0;
    if (g->from != C_NONE && beta != 0.0) {
        double c = beta * c_value(w, i);
        *added = fabs(c);
        x += c;
    }
    *x0 = x;
    return g->bias == 0 ? x : x + w->bias.value[i % g->n];
}

static bool is_unit(double x)
{
    return fabs(x) == 1.0 || x == 0.0;
}

static struct gemm_case_target gemm_case_aim(const struct harness *b,
                                             const struct gemm_work *w,
                                             const struct sum *s, int64_t i,
                                             const ssq_gemm_explanation *how)
{
    const struct gemm_case *g = w->g;
    bool flushed =
        how->flushed || b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
    double block = (double)how->block;
    double product, added, x0;
    double x = gemm_case_before(w, s, i, &product, &added, &x0);
    double bias = g->bias == 0 ? 0.0 : fabs(w->bias.value[i % g->n]);
    double k = (double)g->k, eta = bound_eta_product(g->a, g->b, flushed);
    double alpha = g->k == 0 ? 0.0 : fabs((double)(float)g->alpha);
    if (flushed && s->lost > 0.0 && isnan(w->d.value[i]))
        x = (double)NAN; /* infinity times what was flushed to 0 */
    struct gemm_case_target t = {.want = activation_oracle(x, g->activation)};
    double most = fmax(s->size, product) + added + bias;
    t.open = isfinite(most) && most >= 0x1p127;
    t.exact = g->fill_a == FILL_INTEGERS && g->fill_b == FILL_INTEGERS &&
              (g->from == C_NONE || g->fill_c == FILL_INTEGERS) &&
              (g->bias == 0 || g->fill_c == FILL_INTEGERS) &&
              is_unit(g->alpha) && is_unit(g->beta) && most < 0x1p24 &&
              g->activation <= SSQ_ACTIVATION_RELU;
    /* an infinite or NaN value was so exactly: only the activation rounds */
    if (isfinite(x)) {
        t.error = bound_gemm(k, block, product, added, alpha, eta, flushed);
        t.alarm = bound_gemm(0, 0, 0, added, alpha, eta, flushed) +
                  alpha * k * eta + bound_gemm_alarm(k, product);
        if (flushed) {
            t.error += alpha * s->subnormal;
            t.alarm += alpha * s->subnormal;
        }
        /* the oracle itself: float64 sums of up to 8192, or compensated */
        double own = 0x1p-39 * (product + added + bias);
        t.error += own;
        t.alarm += own;
    }
    if (g->bias != 0 && isfinite(x)) {
        t.error = bound_add(t.error, x);
        t.alarm = bound_add(t.alarm, x);
    }
    if (g->activation != SSQ_ACTIVATION_NONE && isfinite(t.want)) {
        double l = activation_lipschitz(g->activation);
        t.error = bound_activation(t.error, l, t.want);
        t.alarm = bound_activation(t.alarm, l, t.want);
    }
    return t;
}

bool gemm_exactly(struct harness *b, const struct operand *d,
                  const double *want)
{
    bool passes = b->failed || b->skipped || b->bench || b->admit;
    for (int64_t i = 0; i < d->n && !passes; i++) {
        double r = harness_round(want[i], d->dtype);
        if (d->value[i] != r && !(isnan(r) && isnan(d->value[i])))
            return harness_fail(b,
                                "element %lld of %lld (%s) is %.9g (0x%x), "
                                "expected exactly %.9g",
                                (long long)i, (long long)d->n,
                                ssq_dtype_name(d->dtype), d->value[i],
                                (unsigned)d->bits[i], r);
    }
    return !b->failed;
}

static bool averages_out(const struct gemm_case *g)
{
    return g->d == SSQ_F32 && g->k > 0 && g->k <= 8192 &&
           g->fill_a <= FILL_UNIFORM && g->fill_b <= FILL_UNIFORM;
}

static bool gemm_case_compare(struct harness *b, struct gemm_work *w,
                              const ssq_gemm_explanation *how)
{
    const struct sum *s = gemm_case_sums(b, w);
    size_t bytes = (size_t)w->d.n * sizeof(double);
    double *want = harness_alloc(b, bytes), *error = harness_alloc(b, bytes);
    double *alarm = harness_alloc(b, bytes);
    bool exact = w->d.n > 0;
    int64_t open = 0;
    for (int64_t i = 0; i < w->d.n; i++) {
        struct gemm_case_target t = gemm_case_aim(b, w, &s[i], i, how);
        exact = exact && t.exact;
        open += t.open;
        want[i] = t.open ? w->d.value[i] : t.want;
        error[i] = t.error;
        alarm[i] = t.alarm;
    }
    if (open > 0 && open == w->d.n)
        return harness_fail(b, "the case tests nothing: all sums may overflow");
    if (exact)
        gemm_exactly(b, &w->d, want);
    if (averages_out(w->g) && !b->failed)
        harness_bound(b, &w->d, want, alarm);
    return harness_bound(b, &w->d, want, error);
}

static ssq_status gemm_case_call(struct harness *b, const struct gemm_work *w,
                                 const ssq_gemm_args *args)
{
    return w->g->batch.rank > 0 ? ssq_gemm_batched(b->queue, args)
                                : ssq_gemm(b->queue, args);
}

/* The same bits from the same call. */
static void gemm_case_run_again(struct harness *b, struct gemm_work *w,
                                const ssq_gemm_args *args)
{
    size_t bytes = (size_t)w->d.n * sizeof(uint32_t);
    uint32_t *first = harness_alloc(b, bytes);
    memcpy(first, w->d.bits, bytes);
    HARNESS_OP(b, gemm_case_call(b, w, args));
    harness_read(b, &w->d);
    harness_bits(b, &w->d, first);
}

bool gemm_finish(struct harness *b, struct gemm_work *w)
{
    const struct gemm_case *g = w->g;
    ssq_gemm_args args = gemm_args(w);
    ssq_gemm_explanation how = SSQ_GEMM_EXPLANATION_INIT;
    if (b->failed)
        return false;
    size_t bytes = (size_t)w->c.n * sizeof(double);
    w->c0 = harness_alloc(b, bytes);
    if (w->c.t != NULL)
        memcpy(w->c0, w->c.value, bytes);
    /* alpha 0 multiplies nothing */
    b->flops = g->alpha == 0.0 ? 0.0 : 2.0 * (double)w->d.n * (double)g->k;
    const struct operand *x[] = {&w->a, &w->b, &w->d};
    for (int i = 0; i < 3; i++)
        b->bytes += (double)x[i]->n * ssq_dtype_bits(x[i]->dtype) / 8;
    HARNESS_OP(b, gemm_case_call(b, w, &args));
    if (b->bench || b->admit || b->failed || b->skipped)
        return !b->failed;
    gemm_must(b, ssq_gemm_explain(b->queue, &args, &how));
    harness_read(b, &w->d);
    if (g->twice)
        gemm_case_run_again(b, w, &args);
    return !b->failed && gemm_case_compare(b, w, &how);
}

bool gemm_run(struct harness *b, const struct gemm_case *g)
{
    struct gemm_work w;
    gemm_operands(b, g, &w);
    return gemm_finish(b, &w);
}
