/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - cases of softmax, log-softmax and their backward. */
#include "conformance/suite.h"

#include "conformance/bounds_rows.h"
#include "conformance/difference.h"

#include <stdio.h>
#include <string.h>

#define DENSE      LAYOUT_DENSE
#define PADDED     LAYOUT_PADDED
#define TRANSPOSED LAYOUT_TRANSPOSED
#define F32        SSQ_F32
#define F16        SSQ_F16
#define BF16       SSQ_BF16

struct softmax_entry {
    int rank;
    int64_t shape[4];
    int axis;
    ssq_dtype in, out;
    enum layout layout_in, layout_out;
    enum fill fill;
    double scale; /* of the logits; 0: 1 */
    bool in_place;
    ssq_dtype grad; /* of dx; 0: out */
};

static const struct softmax_entry table[] = {
    {1, {1}, 0, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
    {1, {2}, -1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, true},
    {1, {7}, 0, F16, F16, PADDED, DENSE, FILL_NORMAL, 0, false},
    {2, {3, 1}, 1, BF16, BF16, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {3, 1}, 0, BF16, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {5, 10}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {5, 10}, 0, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {5, 10}, -1, F16, F32, TRANSPOSED, PADDED, FILL_NORMAL, 0, false},
    {2, {13, 17}, -2, F32, BF16, PADDED, TRANSPOSED, FILL_NORMAL, 0, false},
    {2, {13, 17}, 1, F16, F16, PADDED, PADDED, FILL_NORMAL, 0, true},
    {2, {13, 17}, 1, BF16, F16, DENSE, PADDED, FILL_NORMAL, 8.0, false},
    {3, {2, 5, 3}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, true},
    {3, {2, 5, 3}, 1, F32, F32, TRANSPOSED, PADDED, FILL_NORMAL, 0, false},
    {3, {4, 3, 11}, 0, F16, BF16, PADDED, TRANSPOSED, FILL_NORMAL, 0, false},
    {4, {2, 3, 4, 5}, 2, F32, F16, DENSE, TRANSPOSED, FILL_NORMAL, 0, false},
    {4, {2, 3, 4, 5}, -3, F32, F32, TRANSPOSED, DENSE, FILL_NORMAL, 0, false},
    {2, {4, 8}, 1, F32, F32, LAYOUT_BROADCAST, DENSE, FILL_NORMAL, 0, false},
    {2, {4, 1000}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {4, 1000}, 1, F16, F16, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {1000, 3}, 0, F32, F32, DENSE, DENSE, FILL_NORMAL, 4.0, false},
    {2, {2, 50257}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 3.0, false},
    {2, {5, 33}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 100.0, false},
    {2, {5, 33}, 1, F16, F32, DENSE, DENSE, FILL_NORMAL, 1000.0, false},
    {2, {5, 33}, 1, F32, F32, DENSE, DENSE, FILL_HUGE, 0, false},
    {2, {5, 33}, 1, F16, F16, DENSE, DENSE, FILL_HUGE, 0, false},
    {2, {5, 33}, 1, BF16, F32, DENSE, DENSE, FILL_HUGE, 0, false},
    {2, {5, 33}, 1, F32, F32, DENSE, DENSE, FILL_TINY, 0, false},
    {2, {3, 9}, 1, F32, F32, DENSE, DENSE, FILL_ZERO, 0, false},
    {2, {40, 3}, 1, F32, F32, DENSE, DENSE, FILL_SPECIAL, 0, false},
    {2, {40, 3}, 1, F16, F32, PADDED, DENSE, FILL_SPECIAL, 0, false},
    {2, {40, 3}, 1, BF16, BF16, DENSE, DENSE, FILL_SPECIAL, 0, true},
    {2, {3, 5}, 1, F32, F32, DENSE, DENSE, FILL_NAN, 0, false},
    {2, {3, 97}, 1, F32, F16, DENSE, DENSE, FILL_NORMAL, 0, false, F32},
    {2, {3, 1024}, 1, F32, F16, DENSE, DENSE, FILL_NORMAL, 0, false, F32},
    {2, {2, 3076}, 1, F16, BF16, DENSE, DENSE, FILL_NORMAL, 4.0, false},
    {2, {3, 2054}, 1, BF16, F32, DENSE, DENSE, FILL_NORMAL, 4.0, false, F16},
    {2, {2, 4100}, 1, F16, F16, DENSE, DENSE, FILL_NORMAL, 2.0, true},
    {2, {2, 2052}, 1, F32, F32, PADDED, DENSE, FILL_NORMAL, 2.0, false},
    {2, {3, 97}, 1, F32, BF16, DENSE, PADDED, FILL_NORMAL, 0, false},
    {2, {3, 97}, 1, F16, F32, PADDED, DENSE, FILL_NORMAL, 0, false},
    {2, {3, 97}, 1, F16, BF16, DENSE, DENSE, FILL_NORMAL, 0, false, F32},
    {2, {3, 97}, 1, BF16, F16, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {3, 97}, 1, BF16, BF16, DENSE, DENSE, FILL_NORMAL, 0, true},
    {2, {3, 97}, 1, BF16, F32, DENSE, DENSE, FILL_NORMAL, 0, false, F16},
    {2, {3, 97}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false, BF16},
    {2, {0, 5}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
    {2, {5, 0}, 1, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, false},
};
#define ENTRIES (sizeof(table) / sizeof(table[0]))

/* Dense index of element k of line r along an axis. */
struct lines {
    int64_t n, inner, count;
};

static struct lines softmax_lines_of(const struct softmax_entry *e)
{
    struct lines l = {1, 1, 1};
    int axis = e->axis < 0 ? e->axis + e->rank : e->axis;
    for (int i = 0; i < e->rank; i++) {
        if (i != axis)
            l.count *= e->shape[i];
        if (i > axis)
            l.inner *= e->shape[i];
    }
    l.n = e->shape[axis];
    return l;
}

static int64_t line_at(const struct lines *l, int64_t r, int64_t k)
{
    return (r / l->inner * l->n + k) * l->inner + r % l->inner;
}

static struct softmax_facts softmax_facts_of(const double *x,
                                             const struct lines *l, int64_t r)
{
    struct softmax_facts f = {.n = (double)l->n, .max = -(double)INFINITY};
    for (int64_t k = 0; k < l->n; k++)
        f.max = fmax(f.max, x[line_at(l, r, k)]);
    for (int64_t k = 0; k < l->n; k++)
        f.total += exp(x[line_at(l, r, k)] - f.max);
    f.log_total = log(f.total);
    for (int64_t k = 0; k < l->n; k++) {
        double t = x[line_at(l, r, k)] - f.max, p = exp(t) / f.total;
        f.spread += p == 0.0 ? 0.0 : p * fabs(t);
    }
    return f;
}

static void softmax_oracle(const struct softmax_entry *e, bool log_kind,
                           const double *x, double tiny, double *want,
                           double *error)
{
    struct lines l = softmax_lines_of(e);
    for (int64_t r = 0; r < l.count; r++) {
        struct softmax_facts f = softmax_facts_of(x, &l, r);
        for (int64_t k = 0; k < l.n; k++) {
            int64_t i = line_at(&l, r, k);
            double t = x[i] - f.max, p = exp(t) / f.total;
            want[i] = log_kind ? t - f.log_total : p;
            error[i] = log_kind ? bound_log_softmax(&f, t)
                                : bound_softmax(&f, p, t) + tiny;
        }
    }
}

static void make_logits(struct harness *b, const struct softmax_entry *e,
                        struct operand *x)
{
    harness_input(b, x, e->in, e->rank, e->shape, e->layout_in, e->fill);
    if (e->scale == 0.0)
        return;
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    for (int64_t i = 0; i < x->n; i++)
        v[i] = x->value[i] * e->scale;
    harness_values(b, x, e->in, e->rank, e->shape, e->layout_in, v);
}

static const char *softmax_entry_text(const struct softmax_entry *e, char *text,
                                      size_t bytes)
{
    static const char *const layouts[] = {"dense", "padded", "transposed",
                                          "broadcast"};
    static const char *const fills[] = {
        "normal", "uniform", "positive", "integer", "tiny",
        "huge",   "special", "zero",     "NaN",     "one"};
    char shape[64] = "";
    for (int i = 0; i < e->rank; i++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%d",
                 i == 0 ? "" : "x", (int)e->shape[i]);
    snprintf(text, bytes, "%s axis %d %s %s to %s %s, %s logits times %g%s%s%s",
             shape, e->axis, ssq_dtype_name(e->in), layouts[e->layout_in],
             ssq_dtype_name(e->out), layouts[e->layout_out], fills[e->fill],
             e->scale == 0.0 ? 1.0 : e->scale, e->in_place ? ", in place" : "",
             e->grad == 0 ? "" : ", dx ",
             e->grad == 0 ? "" : ssq_dtype_name(e->grad));
    return text;
}

static bool softmax_flushes(const struct harness *b)
{
    return b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
}

/* ---- forward ---- */

static bool softmax_table_run_forward(struct harness *b,
                                      const struct softmax_entry *e,
                                      bool log_kind)
{
    struct operand x, y;
    make_logits(b, e, &x);
    size_t n = (size_t)x.n;
    double *given = harness_alloc(b, n * sizeof(*given));
    memcpy(given, x.value, n * sizeof(*given));
    if (!e->in_place)
        harness_output(b, &y, e->out, e->rank, e->shape, e->layout_out);
    else
        y = x;
    b->flops = 12.0 * (double)n;
    b->bytes =
        (double)n * (ssq_dtype_bits(e->in) + ssq_dtype_bits(e->out)) / 8.0;
    ssq_softmax_args args = SSQ_SOFTMAX_INIT;
    args.x = x.t;
    args.y = y.t;
    args.axis = e->axis;
    HARNESS_OP(b, log_kind ? ssq_log_softmax(b->queue, &args)
                           : ssq_softmax(b->queue, &args));
    harness_read(b, &y);
    if (!e->in_place)
        harness_read(b, &x);
    bool fresh;
    double *want = harness_keep(b, 0, n, &fresh),
           *error = harness_keep(b, 1, n, &fresh);
    if (fresh)
        softmax_oracle(e, log_kind, given, bound_tiny(softmax_flushes(b)), want,
                       error);
    return harness_bound(b, &y, want, error);
}

/* Rows whose results the contract names, and rows far below 0: t is -1 after
 * all. */
static bool run_named_rows(struct harness *b)
{
    const double inf = (double)INFINITY, nan = (double)NAN, low = -0x1p127;
    const double z = 1.0 + 2.0 * exp(-1.0), lz = log(z), p = exp(-1.0) / z;
    const double x[6][3] = {{inf, 0, 1},         {-inf, -inf, -inf},
                            {-inf, 0, 0},        {nan, 0, 1},
                            {low, low, 2 * low}, {-1000, -1001, -1001}};
    const double want[6][3] = {{nan, nan, nan}, {nan, nan, nan}, {0, 0.5, 0.5},
                               {nan, nan, nan}, {0.5, 0.5, 0},   {1 / z, p, p}};
    const double log_want[6][3] = {{nan, nan, nan},
                                   {nan, nan, nan},
                                   {-inf, -log(2.0), -log(2.0)},
                                   {nan, nan, nan},
                                   {-log(2.0), -log(2.0), -inf},
                                   {-lz, -1 - lz, -1 - lz}};
    const int64_t shape[] = {6, 3};
    struct operand in, y, l;
    harness_values(b, &in, F32, 2, shape, DENSE, x[0]);
    harness_output(b, &y, F32, 2, shape, DENSE);
    harness_output(b, &l, F32, 2, shape, DENSE);
    ssq_softmax_args args = SSQ_SOFTMAX_INIT;
    args.x = in.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_softmax(b->queue, &args));
    args.y = l.t;
    HARNESS_OP(b, ssq_log_softmax(b->queue, &args));
    harness_read(b, &y);
    harness_read(b, &l);
    /* |t| <= 1 and log(total) < 1 where anything is between 0 and 1 */
    return harness_bound1(b, &y, want[0], bound_chain(3, 2)) &&
           harness_bound1(b, &l, log_want[0], bound_chain(3, 4));
}

/* A row long enough to be shared out, all of it far below 0: some parts are
 * -inf only, and the rest of the results 1 / (n - masked). */
static bool run_masked_row(struct harness *b)
{
    const int64_t n = 65536, masked = 40000, shape[] = {n};
    const double each = 1.0 / (double)(n - masked);
    double *x = harness_alloc(b, (size_t)n * sizeof(*x)),
           *want = harness_alloc(b, (size_t)n * sizeof(*want));
    for (int64_t i = 0; i < n; i++) {
        x[i] = i < masked ? -(double)INFINITY : -200.0;
        want[i] = i < masked ? 0.0 : each;
    }
    struct operand in, y;
    harness_values(b, &in, F32, 1, shape, DENSE, x);
    harness_output(b, &y, F32, 1, shape, DENSE);
    ssq_softmax_args args = SSQ_SOFTMAX_INIT;
    args.x = in.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_softmax(b->queue, &args));
    harness_read(b, &y);
    return harness_bound1(b, &y, want,
                          bound_chain(bound_terms((double)n), each));
}

static bool softmax_run_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3}, other[] = {3, 2};
    struct operand x, y, z, i;
    harness_input(b, &x, F32, 2, shape, DENSE, FILL_NORMAL);
    harness_output(b, &y, F32, 2, shape, DENSE);
    harness_output(b, &z, F32, 2, other, DENSE);
    harness_input(b, &i, SSQ_I32, 2, shape, DENSE, FILL_INTEGERS);
    ssq_softmax_args args = SSQ_SOFTMAX_INIT;
    args.y = y.t;
    harness_refused(b, SSQ_ERR_INVALID, ssq_softmax(b->queue, &args));
    args.x = x.t;
    args.axis = 2;
    harness_refused(b, SSQ_ERR_INVALID, ssq_softmax(b->queue, &args));
    if (strcmp(ssq_last_error(), "softmax: axis 2 of rank 2") != 0)
        return harness_fail(b, "the text is: %s", ssq_last_error());
    args.axis = 0;
    args.y = z.t;
    harness_refused(b, SSQ_ERR_INVALID, ssq_log_softmax(b->queue, &args));
    if (strcmp(ssq_last_error(), "log_softmax: x is [2,3], y is [3,2]") != 0)
        return harness_fail(b, "the text is: %s", ssq_last_error());
    args.y = y.t;
    args.x = i.t;
    harness_refused(b, SSQ_ERR_INVALID, ssq_softmax(b->queue, &args));
    args.x = x.t;
    args.struct_size = 8;
    harness_refused(b, SSQ_ERR_INVALID, ssq_softmax(b->queue, &args));
    uint32_t *before = harness_alloc(b, (size_t)y.n * sizeof(*before));
    memcpy(before, y.bits, (size_t)y.n * sizeof(*before));
    harness_read(b, &y);
    return harness_bits(b, &y, before);
}

/* For bench: logits of a batch of texts. */
static const ssq_dtype large[] = {F32, F16};
#define LARGE (sizeof(large) / sizeof(large[0]))

static bool softmax_run_large(struct harness *b, ssq_dtype dtype)
{
    const int64_t shape[] = {4096, 1024};
    double n = (double)(shape[0] * shape[1]);
    ssq_softmax_args args = SSQ_SOFTMAX_INIT;
    args.x = harness_large(b, dtype, 2, shape);
    args.y = harness_large(b, dtype, 2, shape);
    b->flops = 4.0 * n;
    b->bytes = 2.0 * n * ssq_dtype_bits(dtype) / 8.0;
    HARNESS_OP(b, ssq_softmax(b->queue, &args));
    return !b->failed;
}

static void softmax_describe(size_t i, char *text, size_t bytes)
{
    char entry[200];
    if (i >= 2 * ENTRIES + 3) {
        snprintf(text, bytes, "softmax %s [4096,1024]",
                 ssq_dtype_name(large[i - 2 * ENTRIES - 3]));
        return;
    }
    static const char *const named[] = {
        "softmax of rows with +Inf, only -Inf, one -Inf, NaN, far below 0",
        "softmax refuses what its contract excludes",
        "softmax of a long row with parts of only -Inf, the rest far below 0"};
    if (i < 2 * ENTRIES)
        snprintf(text, bytes, "%s %s", i % 2 != 0 ? "log_softmax" : "softmax",
                 softmax_entry_text(&table[i / 2], entry, sizeof(entry)));
    else
        snprintf(text, bytes, "%s", named[i - 2 * ENTRIES]);
}

static bool softmax_run(struct harness *b, size_t i)
{
    if (i < 2 * ENTRIES)
        return softmax_table_run_forward(b, &table[i / 2], i % 2 != 0);
    if (i >= 2 * ENTRIES + 3)
        return softmax_run_large(b, large[i - 2 * ENTRIES - 3]);
    if (i == 2 * ENTRIES + 2)
        return run_masked_row(b);
    return i == 2 * ENTRIES ? run_named_rows(b) : softmax_run_refusals(b);
}

extern const struct suite softmax_suite;
const struct suite softmax_suite = {.op = "softmax",
                                    .name = "softmax",
                                    .n = 2 * ENTRIES + 3,
                                    .large = LARGE,
                                    .describe = softmax_describe,
                                    .run = softmax_run,
                                    .floor = 126};

/* ---- backward ---- */

struct softmax_table_slope {
    const struct softmax_entry *e;
    bool log_kind;
    const double *dy;
};

/* sum dy softmax(x) */
static double softmax_weighted(const void *data, const double *x)
{
    const struct softmax_table_slope *s = data;
    struct lines l = softmax_lines_of(s->e);
    double sum = 0.0;
    for (int64_t r = 0; r < l.count; r++) {
        struct softmax_facts f = softmax_facts_of(x, &l, r);
        for (int64_t k = 0; k < l.n; k++) {
            int64_t i = line_at(&l, r, k);
            double t = x[i] - f.max;
            sum +=
                s->dy[i] * (s->log_kind ? t - f.log_total : exp(t) / f.total);
        }
    }
    return sum;
}

/* want and error of dx for given y and dy. */
static void backward_oracle(const struct softmax_entry *e, bool log_kind,
                            const double *y, const double *dy, double tiny,
                            double *want, double *error)
{
    struct lines l = softmax_lines_of(e);
    double n = (double)l.n;
    for (int64_t r = 0; r < l.count; r++) {
        double s = 0.0, abs_s = 0.0;
        for (int64_t k = 0; k < l.n; k++) {
            int64_t i = line_at(&l, r, k);
            double term = log_kind ? dy[i] : y[i] * dy[i];
            s += term;
            abs_s += fabs(term);
        }
        for (int64_t k = 0; k < l.n; k++) {
            int64_t i = line_at(&l, r, k);
            double p = log_kind ? exp(y[i]) : y[i];
            want[i] = log_kind ? dy[i] - p * s : p * (dy[i] - s);
            error[i] =
                log_kind ? bound_log_softmax_backward(n, p, dy[i], abs_s, tiny)
                         : bound_softmax_backward(n, p, dy[i], abs_s, tiny);
        }
    }
}

/* The oracle is the derivative. Along one variable softmax is a logistic
 * curve and what is left: its third derivative is at most 1/8, that of
 * log(total) at most 1/(6 sqrt(3)); times sum |dy|. */
static bool backward_difference(struct harness *b,
                                const struct softmax_entry *e, bool log_kind,
                                double *x, const double *dy, size_t n)
{
    double *y = harness_alloc(b, n * sizeof(*y)),
           *dx = harness_alloc(b, n * sizeof(*y));
    double *error = harness_alloc(b, n * sizeof(*y));
    softmax_oracle(e, log_kind, x, 0.0, y, error);
    backward_oracle(e, log_kind, y, dy, 0.0, dx, error);
    double size = 1.0;
    for (size_t i = 0; i < n; i++)
        size += fabs(dy[i]) * (1.0 + fabs(x[i]));
    struct softmax_table_slope s = {e, log_kind, dy};
    return difference_check(b, softmax_weighted, &s, x, n, dx, 0x1p-13,
                            size / 8.0, size);
}

static bool finite_entry(const struct softmax_entry *e)
{
    return e->fill != FILL_HUGE && e->fill != FILL_SPECIAL &&
           e->fill != FILL_NAN;
}

static bool softmax_table_run_backward(struct harness *b,
                                       const struct softmax_entry *e,
                                       bool log_kind)
{
    struct operand x, y, dy, dx;
    make_logits(b, e, &x);
    size_t n = (size_t)x.n;
    double *p = harness_alloc(b, n * sizeof(*p)),
           *e0 = harness_alloc(b, n * sizeof(*p));
    softmax_oracle(e, log_kind, x.value, 0.0, p, e0);
    harness_values(b, &y, e->in, e->rank, e->shape, e->layout_in, p);
    harness_input(b, &dy, e->out, e->rank, e->shape, e->layout_out,
                  e->fill == FILL_SPECIAL ? FILL_SPECIAL : FILL_NORMAL);
    double *g = harness_alloc(b, n * sizeof(*g));
    memcpy(g, dy.value, n * sizeof(*g));
    memcpy(p, y.value, n * sizeof(*p));
    if (e->in_place)
        dx = dy;
    else
        harness_output(b, &dx, e->grad == 0 ? e->out : e->grad, e->rank,
                       e->shape, e->layout_out);
    b->flops = 4.0 * (double)n;
    b->bytes = (double)n *
               (ssq_dtype_bits(e->in) + 2.0 * ssq_dtype_bits(e->out)) / 8.0;
    ssq_softmax_backward_args args = SSQ_SOFTMAX_BACKWARD_INIT;
    args.y = y.t;
    args.dy = dy.t;
    args.dx = dx.t;
    args.axis = e->axis;
    HARNESS_OP(b, log_kind ? ssq_log_softmax_backward(b->queue, &args)
                           : ssq_softmax_backward(b->queue, &args));
    harness_read(b, &dx);
    harness_read(b, &y);
    bool fresh;
    double *want = harness_keep(b, 0, n, &fresh),
           *error = harness_keep(b, 1, n, &fresh);
    if (fresh) {
        backward_oracle(e, log_kind, p, g, bound_tiny(softmax_flushes(b)), want,
                        error);
        if (n <= 200 && finite_entry(e) &&
            !backward_difference(b, e, log_kind, x.value, g, n))
            return false;
    }
    return harness_bound(b, &dx, want, error);
}

/* dx may be y; may not be something else that overlaps. */
static bool run_backward_places(struct harness *b)
{
    const int64_t shape[] = {2, 3}, flat[] = {7};
    struct operand y, dy, both;
    harness_input(b, &y, F32, 2, shape, DENSE, FILL_POSITIVE);
    harness_input(b, &dy, F32, 2, shape, DENSE, FILL_NORMAL);
    harness_output(b, &both, F32, 1, flat, DENSE);
    double want[6], error[6], p[6];
    memcpy(p, y.value, sizeof(p));
    const struct softmax_entry e = {.rank = 2, .shape = {2, 3}, .axis = 1};
    backward_oracle(&e, false, p, dy.value, bound_tiny(softmax_flushes(b)),
                    want, error);
    ssq_softmax_backward_args args = SSQ_SOFTMAX_BACKWARD_INIT;
    args.y = y.t;
    args.dy = dy.t;
    args.dx = y.t;
    HARNESS_OP(b, ssq_softmax_backward(b->queue, &args));
    harness_read(b, &y);
    ssq_tensor *part[2] = {NULL, NULL}, *view[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++)
        if (ssq_tensor_slice(both.t, 0, k, 6 + k, 1, &part[k]) != SSQ_OK ||
            ssq_tensor_reshape(part[k], 2, shape, &view[k]) != SSQ_OK)
            harness_fail(b, "no view: %s", ssq_last_error());
    args.y = y.t;
    args.dy = view[0];
    args.dx = view[1];
    harness_refused(b, SSQ_ERR_INVALID, ssq_softmax_backward(b->queue, &args));
    args.dx = NULL;
    harness_refused(b, SSQ_ERR_INVALID,
                    ssq_log_softmax_backward(b->queue, &args));
    for (int k = 0; k < 2; k++) {
        ssq_tensor_destroy(&part[k]);
        ssq_tensor_destroy(&view[k]);
    }
    return harness_bound(b, &y, want, error);
}

static void softmax_backward_describe(size_t i, char *text, size_t bytes)
{
    char entry[200];
    if (i < 2 * ENTRIES)
        snprintf(text, bytes, "%s %s",
                 i % 2 != 0 ? "log_softmax_backward" : "softmax_backward",
                 softmax_entry_text(&table[i / 2], entry, sizeof(entry)));
    else
        snprintf(text, bytes,
                 "softmax_backward into y, and refused over half of dy");
}

static bool backward_run(struct harness *b, size_t i)
{
    return i < 2 * ENTRIES
               ? softmax_table_run_backward(b, &table[i / 2], i % 2 != 0)
               : run_backward_places(b);
}

extern const struct suite softmax_backward_suite;
const struct suite softmax_backward_suite = {.op = "softmax_backward",
                                             .name = "softmax_backward",
                                             .n = 2 * ENTRIES + 1,
                                             .describe =
                                                 softmax_backward_describe,
                                             .run = backward_run,
                                             .floor = 126};
