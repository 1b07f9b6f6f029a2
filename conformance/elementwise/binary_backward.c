/* SPDX-License-Identifier: Apache-2.0 */
/* binary_backward.c - cases of the gradients of binary ops, summed over what
 * was broadcast. */
#include "conformance/suite.h"

#include "conformance/bounds.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

static real value_add(real a, real b)
{
    return a + b;
}
static real value_sub(real a, real b)
{
    return a - b;
}
static real value_mul(real a, real b)
{
    return a * b;
}
static real value_div(real a, real b)
{
    return a / b;
}
static real value_maximum(real a, real b)
{
    return a > b ? a : b;
}
static real value_minimum(real a, real b)
{
    return a < b ? a : b;
}

/* A term of da (second 0) or db in exact arithmetic; NaN as the contract. */
static real term_add(real a, real b, real dy, int second)
{
    return (void)a, (void)b, (void)second, dy;
}
static real term_sub(real a, real b, real dy, int second)
{
    return (void)a, (void)b, second ? -dy : dy;
}
static real term_mul(real a, real b, real dy, int second)
{
    return dy * (second ? a : b);
}
static real term_div(real a, real b, real dy, int second)
{
    return second ? -dy * (a / b / b) : dy / b;
}
static real term_maximum(real a, real b, real dy, int second)
{
    if (a == b)
        return dy / 2;
    return (second ? b < a : a < b) ? 0 : dy;
}
static real term_minimum(real a, real b, real dy, int second)
{
    if (a == b)
        return dy / 2;
    return (second ? b > a : a > b) ? 0 : dy;
}
static real term_pow(real a, real b, real dy, int second)
{
    if (!second)
        return b == 0 ? 0 : dy * (b * powl(a, b - 1));
    return dy * (a == 0 && b >= 0 ? 0 : powl(a, b) * logl(a));
}

/* Roundings of one term that are not the sum's. pow: a^(b - 1) is 1 ulp off
 * and its exponent u |b - 1|, which costs log(a) times as much; two products.
 * pow's db: a^b and log(a) 1 ulp each, two products. */
static double roundings(const char *name, int second, double a, double b)
{
    if (strcmp(name, "pow") == 0)
        return second ? 6 : 4 + fabs(log(fabs(a)) * (b - 1));
    if (strcmp(name, "div") == 0)
        return second ? 3 : 1;
    return strcmp(name, "mul") == 0 ? 1 : 0;
}

static const struct op {
    const char *name;
    ssq_status (*call)(ssq_queue *, const ssq_binary_backward_args *);
    real (*value)(real a, real b);
    real (*term)(real a, real b, real dy, int second);
} ops[] = {
    {"add", ssq_add_backward, value_add, term_add},
    {"sub", ssq_sub_backward, value_sub, term_sub},
    {"mul", ssq_mul_backward, value_mul, term_mul},
    {"div", ssq_div_backward, value_div, term_div},
    {"maximum", ssq_maximum_backward, value_maximum, term_maximum},
    {"minimum", ssq_minimum_backward, value_minimum, term_minimum},
    {"pow", ssq_pow_backward, powl, term_pow},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

struct binary_backward_shape {
    int rank;
    int64_t size[SSQ_MAX_RANK];
};

static const struct variant {
    const char *text;
    ssq_dtype a, b, dy, da, db;
    struct binary_backward_shape sa, sb, sy;
    enum layout la, ldy, lda;
    enum fill fill; /* FILL_NORMAL: a and b positive for pow */
} variants[] = {
    {"f32 [43]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {43}},
     {1, {43}},
     {1, {43}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f16 [5,13] and [13]",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {2, {5, 13}},
     {1, {13}},
     {2, {5, 13}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"bf16 [4,1] and f16 [1,7], dy f32",
     SSQ_BF16,
     SSQ_F16,
     SSQ_F32,
     SSQ_BF16,
     SSQ_F32,
     {2, {4, 1}},
     {2, {1, 7}},
     {2, {4, 7}},
     0,
     LAYOUT_TRANSPOSED,
     0,
     FILL_NORMAL},
    {"f32 [2,1,3,1] and [5,1,4], padded",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F16,
     {4, {2, 1, 3, 1}},
     {3, {5, 1, 4}},
     {4, {2, 5, 3, 4}},
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     FILL_NORMAL},
    {"f32 no dimensions and [2,3,2,3,2,3]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {0, {0}},
     {6, {2, 3, 2, 3, 2, 3}},
     {6, {2, 3, 2, 3, 2, 3}},
     0,
     LAYOUT_PADDED,
     0,
     FILL_NORMAL},
    {"f32 [2,1,2,1,2,1] and [1,3,1,3,1,3]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {6, {2, 1, 2, 1, 2, 1}},
     {6, {1, 3, 1, 3, 1, 3}},
     {6, {2, 3, 2, 3, 2, 3}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 no dimensions",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {0, {0}},
     {0, {0}},
     {0, {0}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [1] and [3,0]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {1}},
     {2, {3, 0}},
     {2, {3, 0}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [2,1] and [0]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {2, 1}},
     {1, {0}},
     {2, {2, 0}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [2503,1] and [3]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {2503, 1}},
     {1, {3}},
     {2, {2503, 3}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [16500,5] and [5]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {16500, 5}},
     {1, {5}},
     {2, {16500, 5}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [2100] and [7,2100]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {2100}},
     {2, {7, 2100}},
     {2, {7, 2100}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [16400] and [2,16400]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {16400}},
     {2, {2, 16400}},
     {2, {2, 16400}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [2,16400] and [16400]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {2, 16400}},
     {1, {16400}},
     {2, {2, 16400}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f16 [257,3] and [3]",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {2, {257, 3}},
     {1, {3}},
     {2, {257, 3}},
     0,
     0,
     0,
     FILL_NORMAL},
    {"f32 [31,1] and [1,37] with specials",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {31, 1}},
     {2, {1, 37}},
     {2, {31, 37}},
     0,
     0,
     0,
     FILL_SPECIAL},
    {"f32 [301] with specials",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {301}},
     {1, {301}},
     {1, {301}},
     0,
     0,
     0,
     FILL_SPECIAL},
    {"f32 [20,30] and [30] integers",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {20, 30}},
     {1, {30}},
     {2, {20, 30}},
     0,
     0,
     0,
     FILL_INTEGERS},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* Where element i of a tensor of shape y lies in one of shape s. */
static int64_t binary_backward_from(const struct binary_backward_shape *s,
                                    const struct binary_backward_shape *y,
                                    int64_t i)
{
    int64_t at = 0, step = 1;
    for (int k = y->rank - 1; k >= 0; k--) {
        int64_t index = i % y->size[k];
        int d = k - (y->rank - s->rank);
        i /= y->size[k];
        if (d < 0)
            continue;
        at += s->size[d] == 1 ? 0 : index * step;
        step *= s->size[d];
    }
    return at;
}

struct inputs {
    struct operand a, b, dy;
    const struct variant *v;
};

static bool normal_or_special(real x)
{
    return x == 0 || !isfinite(x) ||
           (fabsl(x) >= 0x1p-126L && fabsl(x) < 0x1p127L);
}

/* Are the intermediate values of a term normal numbers of float32? Else dy
 * may meet an infinity or a zero that exact arithmetic does not know. */
static bool is_tame(const struct op *op, int second, real a, real b)
{
    bool tame = normal_or_special(op->term(a, b, 1, second));
    if (strcmp(op->name, "div") == 0 && second)
        tame = tame && normal_or_special(a / b);
    if (strcmp(op->name, "pow") == 0)
        tame = tame && normal_or_special(powl(a, second ? b : b - 1));
    return tame;
}

/* dx and its bound: each term has its own roundings and may be subnormal,
 * 2^-149 and that much times dy; a term that is the result is rounded at the
 * store only, in float32. skip marks elements that float32 cannot hold on the
 * way. */
static void binary_backward_oracle(const struct op *op, const struct inputs *in,
                                   int second, double *want, double *error,
                                   double *skip, int64_t n)
{
    const struct variant *v = in->v;
    const struct binary_backward_shape *s = second ? &v->sb : &v->sa;
    double *size = calloc((size_t)n + 1, sizeof(double));
    real *sum = calloc((size_t)n + 1, sizeof(real));
    if (size == NULL || sum == NULL)
        abort();
    for (int64_t i = 0; i < in->dy.n; i++) {
        double a = in->a.value[binary_backward_from(&v->sa, &v->sy, i)];
        double c = in->b.value[binary_backward_from(&v->sb, &v->sy, i)];
        double dy = in->dy.value[i];
        int64_t at = binary_backward_from(s, &v->sy, i);
        real t = op->term((real)a, (real)c, (real)dy, second);
        double own = roundings(op->name, second, a, c);
        sum[at] += t;
        size[at] += isfinite((double)t) ? fabs((double)t) : 0;
        if (isfinite(dy) && isfinite((double)t) && isfinite(own))
            error[at] += bound_gamma(own, U_F32) * fabs((double)t) +
                         0x1p-149 * (1 + fabs(dy));
        if (!is_tame(op, second, (real)a, (real)c))
            skip[at] = 1;
    }
    for (int64_t i = 0; i < n; i++) {
        want[i] = (double)sum[i];
        error[i] = bound_fold((double)(in->dy.n / n), size[i], error[i]);
        if (size[i] >= 0x1p127)
            skip[i] = 1; /* a partial sum may overflow */
        if (!isfinite(want[i]))
            error[i] = 0;
    }
    free(size);
    free(sum);
}

static bool binary_backward_compare(struct harness *b, const struct op *op,
                                    const struct inputs *in, int second,
                                    struct operand *dx)
{
    bool fresh;
    size_t n = (size_t)dx->n;
    double *want = harness_keep(b, second, 3 * n, &fresh);
    if (fresh)
        binary_backward_oracle(op, in, second, want, want + n, want + 2 * n,
                               dx->n);
    harness_read(b, dx);
    for (size_t i = 0; i < n && !b->failed; i++)
        if (want[2 * n + i] != 0) /* harness_same still compares it */
            want[i] = dx->value[i];
    return harness_bound(b, dx, want, want + n) && harness_same(b, dx);
}

static bool binary_backward_run_variant(struct harness *b, const struct op *op,
                                        const struct variant *v)
{
    struct inputs in = {.v = v};
    struct operand da, db;
    enum fill fill = strcmp(op->name, "pow") == 0 && v->fill == FILL_NORMAL
                         ? FILL_POSITIVE
                         : v->fill;
    harness_input(b, &in.a, v->a, v->sa.rank, v->sa.size, v->la, fill);
    harness_input(b, &in.b, v->b, v->sb.rank, v->sb.size, LAYOUT_DENSE, fill);
    harness_input(b, &in.dy, v->dy, v->sy.rank, v->sy.size, v->ldy, v->fill);
    harness_output(b, &da, v->da, v->sa.rank, v->sa.size, v->lda);
    harness_output(b, &db, v->db, v->sb.rank, v->sb.size, LAYOUT_DENSE);
    const ssq_binary_backward_args args = {sizeof(args), in.a.t, in.b.t,
                                           in.dy.t,      da.t,   db.t};
    HARNESS_OP(b, op->call(b->queue, &args));
    harness_read(b, &in.a);
    harness_read(b, &in.b);
    harness_read(b, &in.dy);
    return binary_backward_compare(b, op, &in, 0, &da) &&
           binary_backward_compare(b, op, &in, 1, &db);
}

/* Both gradients against the five-point quotient of the forward function,
 * h = 2^-9: its error is below the difference to the quotient of 2h. */
static bool binary_backward_run_slopes(struct harness *b, const struct op *op)
{
    const int64_t shape[] = {211};
    struct operand a, c, dy, da, db;
    double x[211], z[211];
    for (int i = 0; i < 211; i++) {
        do {
            x[i] = 0.25 + 3 * harness_uniform(b);
            z[i] = 0.25 + 3 * harness_uniform(b);
        } while (fabs(x[i] - z[i]) < 0x1p-5);
    }
    harness_values(b, &a, SSQ_F32, 1, shape, LAYOUT_DENSE, x);
    harness_values(b, &c, SSQ_F32, 1, shape, LAYOUT_DENSE, z);
    harness_input(b, &dy, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &da, SSQ_F32, 1, shape, LAYOUT_DENSE);
    harness_output(b, &db, SSQ_F32, 1, shape, LAYOUT_DENSE);
    const ssq_binary_backward_args args = {sizeof(args), a.t,  c.t,
                                           dy.t,         da.t, db.t};
    HARNESS_OP(b, op->call(b->queue, &args));
    harness_read(b, &da);
    harness_read(b, &db);
    for (int second = 0; second < 2 && !b->failed; second++) {
        double want[211], error[211];
        for (int i = 0; i < 211; i++) {
            real d[2], most = 0;
            for (int k = 0; k < 2; k++) {
                real h = k == 0 ? 0x1p-9L : 0x1p-8L, f[5];
                for (int j = -2; j <= 2; j++) {
                    real p = (real)a.value[i] + (second ? 0 : j * h);
                    real q = (real)c.value[i] + (second ? j * h : 0);
                    f[j + 2] = op->value(p, q);
                    most = fmaxl(most, fabsl(f[j + 2]));
                }
                d[k] = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * h);
            }
            double n = roundings(op->name, second, a.value[i], c.value[i]);
            want[i] = dy.value[i] * (double)d[0];
            error[i] =
                bound_gamma(n + 1, U_F32) * fabs(want[i]) +
                fabs(dy.value[i]) * (double)(fabsl(d[1] - d[0]) +
                                             1024 * (real)LDBL_EPSILON * most);
        }
        harness_bound(b, second ? &db : &da, want, error);
    }
    return true;
}

/* The documented order, by arrays instead of a stream. */
static float binary_backward_in_order(float *t, size_t n)
{
    while (n > 1) {
        size_t chunks = (n + 16383) / 16384;
        for (size_t c = 0; c < chunks; c++) {
            float lane[256];
            size_t end = (c + 1) * 16384 < n ? (c + 1) * 16384 : n, used = 0;
            for (size_t i = c * 16384; i < end; i++) {
                size_t l = i % 256;
                lane[l] = l == used && used < 256 ? t[i] : lane[l] + t[i];
                used += l == used && used < 256;
            }
            for (size_t h = 128; h > 0; h /= 2)
                for (size_t l = 0; l < h; l++)
                    if (l + h < used)
                        lane[l] += lane[l + h];
            t[c] = lane[0];
        }
        n = chunks;
    }
    return t[0];
}

static const int64_t lengths[] = {2,   3,     128,   255,   256,   257,  511,
                                  513, 16383, 16384, 16385, 33000, 70001};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* db of mul, a [n], b []: the sum of dy a, bit for bit in this order. */
static bool binary_backward_run_order(struct harness *b, int64_t n)
{
    struct operand a, c, dy, db;
    harness_input(b, &a, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &c, SSQ_F32, 0, NULL, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &dy, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &db, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    const ssq_binary_backward_args args = {sizeof(args), a.t,  c.t,
                                           dy.t,         NULL, db.t};
    HARNESS_OP(b, ssq_mul_backward(b->queue, &args));
    harness_read(b, &db);
    float *t = harness_alloc(b, (size_t)n * sizeof(*t));
    for (int64_t i = 0; i < n; i++) {
        volatile float p = (float)a.value[i] * (float)dy.value[i];
        t[i] = p;
    }
    double want = (double)binary_backward_in_order(t, (size_t)n);
    return harness_ulps(b, &db, &want, 0) && harness_same(b, &db);
}

/* Only the operands that are needed, and only one gradient. */
static bool run_lean(struct harness *b)
{
    const int64_t sa[] = {3, 4}, sb[] = {4};
    struct operand a, c, dy, da, db;
    double want[4];
    harness_input(b, &a, SSQ_F32, 2, sa, LAYOUT_DENSE, FILL_INTEGERS);
    harness_input(b, &c, SSQ_F32, 1, sb, LAYOUT_DENSE, FILL_INTEGERS);
    harness_input(b, &dy, SSQ_F32, 2, sa, LAYOUT_DENSE, FILL_INTEGERS);
    harness_output(b, &da, SSQ_F32, 2, sa, LAYOUT_DENSE);
    harness_output(b, &db, SSQ_F32, 1, sb, LAYOUT_DENSE);
    ssq_binary_backward_args args = {sizeof(args), NULL, NULL,
                                     dy.t,         NULL, db.t};
    HARNESS_OP(b, ssq_sub_backward(b->queue, &args));
    harness_read(b, &db);
    for (int i = 0; i < 4; i++)
        want[i] = -(dy.value[i] + dy.value[i + 4] + dy.value[i + 8]);
    harness_ulps(b, &db, want, 0);
    args.a = a.t;
    HARNESS_OP(b, ssq_mul_backward(b->queue, &args));
    harness_read(b, &db);
    for (int i = 0; i < 4; i++)
        want[i] = dy.value[i] * a.value[i] + dy.value[i + 4] * a.value[i + 4] +
                  dy.value[i + 8] * a.value[i + 8];
    harness_read(b, &da); /* not wanted: untouched */
    return harness_ulps(b, &db, want, 0);
}

#define MISUSES 8
static bool binary_backward_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "mul_backward: da and db are NULL",
        "mul_backward: dy is NULL",
        "mul_backward: b is NULL",
        "div_backward: a is NULL",
        "add_backward: da is [5], which does not broadcast to dy, [3,4]",
        "mul_backward: a is [3,4], da is [4]",
        "mul_backward: da overlaps dy",
        "mul_backward: a is [4], b is [4], dy is [3,4], expected [4]",
    };
    const int64_t sa[] = {3, 4}, sb[] = {4}, sc[] = {5};
    struct operand a, c, dy, da, db, odd;
    harness_input(b, &a, SSQ_F32, 2, sa, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &c, SSQ_F32, 1, sb, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &dy, SSQ_F32, 2, sa, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &da, SSQ_F32, 2, sa, LAYOUT_DENSE);
    harness_output(b, &db, SSQ_F32, 1, sb, LAYOUT_DENSE);
    harness_output(b, &odd, SSQ_F32, 1, sc, LAYOUT_DENSE);
    if (b->failed || b->skipped)
        return true;
    const size_t size = sizeof(ssq_binary_backward_args);
    const struct {
        ssq_status (*call)(ssq_queue *, const ssq_binary_backward_args *);
        ssq_binary_backward_args args;
    } calls[MISUSES] = {
        {ssq_mul_backward, {size, a.t, c.t, dy.t, NULL, NULL}},
        {ssq_mul_backward, {size, a.t, c.t, NULL, da.t, db.t}},
        {ssq_mul_backward, {size, a.t, NULL, dy.t, da.t, NULL}},
        {ssq_div_backward, {size, NULL, c.t, dy.t, NULL, db.t}},
        {ssq_add_backward, {size, NULL, NULL, dy.t, odd.t, NULL}},
        {ssq_mul_backward, {size, a.t, c.t, dy.t, db.t, NULL}},
        {ssq_mul_backward, {size, a.t, c.t, dy.t, dy.t, NULL}},
        {ssq_mul_backward, {size, c.t, c.t, dy.t, NULL, db.t}},
    };
    uint32_t before = da.bits[0];
    harness_refused(b, SSQ_ERR_INVALID,
                    calls[k].call(b->queue, &calls[k].args));
    if (!b->failed && strncmp(ssq_last_error(), text[k], strlen(text[k])) != 0)
        harness_fail(b, "\"%s\" is not \"%s\"", ssq_last_error(), text[k]);
    harness_read(b, &da);
    if (!b->failed && da.bits[0] != before)
        harness_fail(b, "da was written");
    return true;
}

#define AT_SLOPES (OPS * VARIANTS)
#define AT_ORDER  (AT_SLOPES + OPS)
#define AT_LEAN   (AT_ORDER + LENGTHS)
#define AT_MISUSE (AT_LEAN + 1)

static void binary_backward_describe(size_t i, char *text, size_t bytes)
{
    if (i >= AT_MISUSE)
        snprintf(text, bytes, "binary_backward misuse %zu is refused",
                 i - AT_MISUSE);
    else if (i >= AT_LEAN)
        snprintf(text, bytes, "sub and mul backward of b [4] from [3,4] alone");
    else if (i >= AT_ORDER)
        snprintf(text, bytes, "mul backward sums %lld terms in order",
                 (long long)lengths[i - AT_ORDER]);
    else if (i >= AT_SLOPES)
        snprintf(text, bytes,
                 "%s backward is the difference quotient, f32 [211]",
                 ops[i - AT_SLOPES].name);
    else
        snprintf(text, bytes, "%s backward %s", ops[i / VARIANTS].name,
                 variants[i % VARIANTS].text);
}

static int binary_backward_turn(size_t i)
{
    return i < AT_SLOPES  ? suite_turn(ops[i / VARIANTS].name)
           : i < AT_ORDER ? suite_turn(ops[i - AT_SLOPES].name)
                          : SUITE_ALL;
}

static bool binary_backward_run(struct harness *b, size_t i)
{
    if (i >= AT_MISUSE)
        return binary_backward_run_misuse(b, i - AT_MISUSE);
    if (i >= AT_LEAN)
        return run_lean(b);
    if (i >= AT_ORDER)
        return binary_backward_run_order(b, lengths[i - AT_ORDER]);
    if (i >= AT_SLOPES)
        return binary_backward_run_slopes(b, &ops[i - AT_SLOPES]);
    return binary_backward_run_variant(b, &ops[i / VARIANTS],
                                       &variants[i % VARIANTS]);
}

const struct suite binary_backward_suite = {.op = "binary_backward",
                                            .name = "binary_backward",
                                            .n = AT_MISUSE + MISUSES,
                                            .describe =
                                                binary_backward_describe,
                                            .run = binary_backward_run,
                                            .turn = binary_backward_turn,
                                            .bit_equal = true,
                                            .floor = 282};
