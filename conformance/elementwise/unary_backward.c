/* SPDX-License-Identifier: Apache-2.0 */
/* unary_backward.c - cases of dx = dy f'(x). */
#include "conformance/suite.h"

#include "conformance/bounds.h"
#include "conformance/elementwise/functions.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const struct variant {
    const char *text;
    ssq_dtype x, dy, dx;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    enum layout lx, ldy, ldx;
    enum fill fill, dfill;
    int in_place; /* 1: dx is x; 2: dx is dy */
} variants[] = {
    {"f32 [41]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {41},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"f16 [5,13]",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     2,
     {5, 13},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"bf16 [3,17], all padded",
     SSQ_BF16,
     SSQ_BF16,
     SSQ_BF16,
     2,
     {3, 17},
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"x f16, dy f32, dx bf16 [11,7], x transposed",
     SSQ_F16,
     SSQ_F32,
     SSQ_BF16,
     2,
     {11, 7},
     LAYOUT_TRANSPOSED,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"x f32, dy f16, dx f32 [7,11], one dy repeated",
     SSQ_F32,
     SSQ_F16,
     SSQ_F32,
     2,
     {7, 11},
     0,
     LAYOUT_BROADCAST,
     LAYOUT_TRANSPOSED,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"f32 [2,0]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     2,
     {2, 0},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"f32 of no dimensions",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     0,
     {0},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     0},
    {"f32 [509] x special",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {509},
     0,
     0,
     0,
     FILL_SPECIAL,
     FILL_NORMAL,
     0},
    {"f32 [509] x and dy special",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {509},
     0,
     0,
     0,
     FILL_SPECIAL,
     FILL_SPECIAL,
     0},
    {"f16 [509] x and dy special",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     1,
     {509},
     0,
     0,
     0,
     FILL_SPECIAL,
     FILL_SPECIAL,
     0},
    {"f32 [101] x huge",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {101},
     0,
     0,
     0,
     FILL_HUGE,
     FILL_NORMAL,
     0},
    {"f32 [101] dy huge",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {101},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_HUGE,
     0},
    {"f32 [101] x tiny",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {101},
     0,
     0,
     0,
     FILL_TINY,
     FILL_NORMAL,
     0},
    {"f32 [101] dy tiny",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     1,
     {101},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_TINY,
     0},
    {"f32 [13,5], dx is x",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     2,
     {13, 5},
     LAYOUT_PADDED,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     1},
    {"f16 [67], dx is dy",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     1,
     {67},
     0,
     0,
     0,
     FILL_NORMAL,
     FILL_NORMAL,
     2},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* After these: every f16 and every bf16 as x, and the difference quotient. */
#define EVERY   VARIANTS
#define SLOPES  (VARIANTS + 2)
#define OF_EACH (VARIANTS + 3)

static double unary_backward_bound(const struct function *f, double x,
                                   double dy, double dx, ssq_dtype to)
{
    return bound_unary_backward(f->roundings, f->subnormals, f->divisions, x,
                                dy, dx, to);
}

static void unary_backward_oracle(const struct function *f,
                                  const struct operand *x,
                                  const struct operand *dy, ssq_dtype to,
                                  double *want, double *error)
{
    for (int64_t i = 0; i < x->n; i++) {
        double xi = x->value[i], dyi = dy->value[i];
        want[i] =
            (double)f->gradient((long double)xi, (long double)dyi,
                                (long double)f->alpha, (long double)f->beta);
        error[i] = isfinite(want[i]) && isfinite(dyi)
                       ? unary_backward_bound(f, xi, dyi, want[i], to)
                       : 0;
    }
}

/* The five-point difference quotient of the forward oracle, h = 2^-9: error
 * h^4 / 30 |f^(5)|, for which the difference to the quotient of 2h, 15 times
 * as much, stands; plus what rounding f costs. */
static void unary_backward_quotient(const struct function *f,
                                    const struct operand *x,
                                    const struct operand *dy, ssq_dtype to,
                                    double *want, double *error)
{
    long double a = (long double)f->alpha, c = (long double)f->beta;
    for (int64_t i = 0; i < x->n; i++) {
        long double d[2], t = (long double)x->value[i], most = 0;
        for (int k = 0; k < 2; k++) {
            long double h = k == 0 ? 0x1p-9L : 0x1p-8L;
            long double p1 = f->value(t + h, a, c), m1 = f->value(t - h, a, c);
            long double p2 = f->value(t + 2 * h, a, c),
                        m2 = f->value(t - 2 * h, a, c);
            d[k] = (8 * (p1 - m1) - (p2 - m2)) / (12 * h);
            most = fmaxl(fmaxl(fabsl(p2), fabsl(m2)), most);
        }
        want[i] = dy->value[i] * (double)d[0];
        error[i] =
            unary_backward_bound(f, x->value[i], dy->value[i], want[i], to) +
            fabs(dy->value[i]) *
                (double)(fabsl(d[1] - d[0]) +
                         2 * (long double)LDBL_EPSILON * most * 512);
    }
}

static bool unary_backward_run_one(struct harness *b, const struct function *f,
                                   struct operand *x, struct operand *dy,
                                   struct operand *dx, bool slopes)
{
    bool fresh;
    double *want = harness_keep(b, 0, 2 * (size_t)x->n, &fresh);
    if (fresh)
        (slopes ? unary_backward_quotient : unary_backward_oracle)(
            f, x, dy, dx->dtype, want, want + x->n);
    const struct unary_backward_call args = {x->t, dy->t, dx->t, f->alpha,
                                             f->beta};
    HARNESS_OP(b, f->backward(b->queue, &args));
    harness_read(b, dx);
    if (x != dx)
        harness_read(b, x);
    if (dy != dx)
        harness_read(b, dy);
    return harness_bound(b, dx, want, want + x->n) && harness_same(b, dx);
}

static bool unary_backward_run_variant(struct harness *b,
                                       const struct function *f,
                                       const struct variant *v)
{
    struct operand x, dy, dx, *out = &dx;
    harness_input(b, &x, v->x, v->rank, v->shape, v->lx, v->fill);
    harness_input(b, &dy, v->dy, v->rank, v->shape, v->ldy, v->dfill);
    if (v->in_place == 0)
        harness_output(b, &dx, v->dx, v->rank, v->shape, v->ldx);
    else
        out = v->in_place == 1 ? &x : &dy;
    return unary_backward_run_one(b, f, &x, &dy, out, false);
}

static bool unary_backward_run_every(struct harness *b,
                                     const struct function *f, ssq_dtype dtype)
{
    const int64_t shape[] = {65536};
    struct operand x, dy, dx;
    uint32_t *bits = harness_alloc(b, 65536 * sizeof(*bits));
    for (uint32_t i = 0; i < 65536; i++)
        bits[i] = i;
    harness_raw(b, &x, dtype, 1, shape, LAYOUT_DENSE, bits);
    harness_input(b, &dy, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &dx, SSQ_F32, 1, shape, LAYOUT_DENSE);
    return unary_backward_run_one(b, f, &x, &dy, &dx, false);
}

/* x where f is smooth: normals, or 1/4 and more where f ends at 0. */
static bool unary_backward_run_slopes(struct harness *b,
                                      const struct function *f)
{
    const int64_t shape[] = {307};
    double value[307];
    struct operand x, dy, dx;
    for (int i = 0; i < 307; i++) {
        do {
            value[i] = 8 * harness_uniform(b) - 4;
            if (f->smooth == ABOVE_ZERO)
                value[i] = fabs(value[i]) + 0.25;
        } while (!function_is_smooth(f, value[i], 0x1p-6));
    }
    harness_values(b, &x, SSQ_F32, 1, shape, LAYOUT_DENSE, value);
    harness_input(b, &dy, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &dx, SSQ_F32, 1, shape, LAYOUT_DENSE);
    return unary_backward_run_one(b, f, &x, &dy, &dx, true);
}

/* Selected gradients: not even NaN comes through where the slope is 0. */
static const struct exact {
    const char *name;
    uint32_t x, dy, dx;
} exact[] = {
    {"relu", 0x00000000, 0x7fc00000, 0x00000000},
    {"relu", 0xbf800000, 0x7f800000, 0x00000000},
    {"relu", 0x7fc00000, 0x3f800000, 0x3f800000},
    {"relu", 0x3f800000, 0xffc00001, 0x7fc00000},
    {"clamp", 0xbf400000, 0x40000000, 0x40000000},
    {"clamp", 0x3fc00000, 0x40000000, 0x40000000},
    {"clamp", 0x3fc00001, 0x7fc00000, 0x00000000},
    {"clamp", 0x7fc00000, 0x40000000, 0x00000000},
    {"clamp", 0xffc00001, 0x7fc00000, 0x00000000},
    {"abs", 0x80000000, 0x40000000, 0x00000000},
    {"abs", 0x00000000, 0xc0000000, 0x80000000},
    {"abs", 0x7fc00000, 0x40000000, 0x00000000},
    {"abs", 0xffc00001, 0xc0000000, 0x80000000},
    {"abs", 0x7fc00000, 0x7f800000, 0x7fc00000},
    {"abs", 0xff800000, 0x40000000, 0xc0000000},
    {"sqrt", 0x00000000, 0x3f800000, 0x7f800000},
    {"sqrt", 0x00000000, 0x00000000, 0x7fc00000},
    {"log", 0x80000000, 0x3f800000, 0xff800000},
    {"exp", 0xff800000, 0x40000000, 0x00000000},
    {"rsqrt", 0x80000000, 0x3f800000, 0x7f800000},
    {"rsqrt", 0x80000000, 0xbf800000, 0xff800000},
    {"rsqrt", 0x00000000, 0x3f800000, 0xff800000},
    {"rsqrt", 0x80000000, 0x00000000, 0x7fc00000},
    {"rsqrt", 0xbf800000, 0x3f800000, 0x7fc00000},
    {"rsqrt", 0x7f800000, 0x3f800000, 0x80000000},
    /* underflow: -15.5, -17, -200, -Inf; -10.95, -12 */
    {"gelu", 0xc1780000, 0x40000000, 0x00000000},
    {"gelu", 0xc1780000, 0xc0000000, 0x80000000},
    {"gelu", 0xc1880000, 0x40000000, 0x00000000},
    {"gelu", 0xc3480000, 0x40000000, 0x00000000},
    {"gelu", 0xff800000, 0x40000000, 0x00000000},
    {"gelu", 0x7f800000, 0x40000000, 0x40000000},
    {"gelu_tanh", 0xc12f3333, 0x40000000, 0x00000000},
    {"gelu_tanh", 0xc1400000, 0x40000000, 0x00000000},
    {"gelu_tanh", 0xff800000, 0x40000000, 0x00000000},
    {"gelu_tanh", 0xff800000, 0xc0000000, 0x80000000},
    {"gelu_tanh", 0x7f800000, 0x40000000, 0x40000000},
    {"silu", 0x7f800000, 0x40000000, 0x40000000},
    {"silu", 0xff800000, 0x40000000, 0x80000000},
    {"tanh", 0x7f800000, 0x40000000, 0x00000000},
};
#define EXACTS (sizeof(exact) / sizeof(exact[0]))

static bool unary_backward_run_exact(struct harness *b, const struct exact *e)
{
    const struct function *f = functions;
    while (strcmp(f->name, e->name) != 0)
        f++;
    struct operand x, dy, dx;
    harness_raw(b, &x, SSQ_F32, 0, NULL, LAYOUT_DENSE, &e->x);
    harness_raw(b, &dy, SSQ_F32, 0, NULL, LAYOUT_DENSE, &e->dy);
    harness_output(b, &dx, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    const struct unary_backward_call args = {x.t, dy.t, dx.t, f->alpha,
                                             f->beta};
    HARNESS_OP(b, f->backward(b->queue, &args));
    harness_read(b, &dx);
    if (!b->failed && !b->skipped && dx.bits[0] != e->dx)
        return harness_fail(b, "0x%08x came out", (unsigned)dx.bits[0]);
    return true;
}

static ssq_status minus_softplus(ssq_queue *queue,
                                 const ssq_unary_backward_args *args)
{
    return ssq_softplus_backward(
        queue, SSQ_SOFTPLUS_BACKWARD(.x = args->x, .dy = args->dy,
                                     .dx = args->dx, .beta = -1));
}

#define MISUSES 7
static bool unary_backward_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "relu_backward: x is NULL",
        "relu_backward: dy is NULL",
        "relu_backward: dx is NULL",
        "tanh_backward: dy is i32, expected f32, f16, bf16",
        "tanh_backward: x is [4,6], dy is [6,4]",
        "softplus_backward: beta is -1, expected > 0",
        "exp_backward: elements of output dx share memory",
    };
    const int64_t shape[] = {4, 6}, turned[] = {6, 4};
    struct operand x, y, i, t, one;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_input(b, &i, SSQ_I32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &t, SSQ_F32, 2, turned, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &one, SSQ_F32, 2, shape, LAYOUT_BROADCAST);
    if (b->failed || b->skipped)
        return true;
    const size_t size = sizeof(ssq_unary_backward_args);
    const struct {
        ssq_status (*call)(ssq_queue *, const ssq_unary_backward_args *);
        ssq_unary_backward_args args;
    } calls[MISUSES] = {
        {ssq_relu_backward, {size, NULL, x.t, y.t}},
        {ssq_relu_backward, {size, x.t, NULL, y.t}},
        {ssq_relu_backward, {size, x.t, x.t, NULL}},
        {ssq_tanh_backward, {size, x.t, i.t, y.t}},
        {ssq_tanh_backward, {size, x.t, t.t, y.t}},
        {minus_softplus, {size, x.t, x.t, y.t}},
        {ssq_exp_backward, {size, x.t, x.t, one.t}},
    };
    uint32_t before = y.bits[0];
    harness_refused(b, SSQ_ERR_INVALID,
                    calls[k].call(b->queue, &calls[k].args));
    if (!b->failed && strstr(ssq_last_error(), text[k]) == NULL)
        harness_fail(b, "\"%s\" does not say \"%s\"", ssq_last_error(),
                     text[k]);
    harness_read(b, &y);
    if (!b->failed && y.bits[0] != before)
        harness_fail(b, "dx was written");
    return true;
}

#define AT_EXACT  (FUNCTIONS_BACKWARD * OF_EACH)
#define AT_MISUSE (AT_EXACT + EXACTS)

static void unary_backward_describe(size_t i, char *text, size_t bytes)
{
    const struct function *f = &functions[i / OF_EACH];
    size_t k = i % OF_EACH;
    if (i >= AT_MISUSE)
        snprintf(text, bytes, "unary_backward misuse %zu is refused",
                 i - AT_MISUSE);
    else if (i >= AT_EXACT)
        snprintf(text, bytes, "%s backward at 0x%08x of 0x%08x is 0x%08x",
                 exact[i - AT_EXACT].name, (unsigned)exact[i - AT_EXACT].x,
                 (unsigned)exact[i - AT_EXACT].dy,
                 (unsigned)exact[i - AT_EXACT].dx);
    else if (k < EVERY)
        snprintf(text, bytes, "%s backward %s, beta %g", f->name,
                 variants[k].text, f->beta);
    else if (k < SLOPES)
        snprintf(text, bytes, "%s backward at every %s, beta %g", f->name,
                 k == EVERY ? "f16" : "bf16", f->beta);
    else
        snprintf(text, bytes,
                 "%s backward is the difference quotient, f32 [307], beta %g",
                 f->name, f->beta);
}

static int unary_backward_turn(size_t i)
{
    return i < AT_EXACT    ? suite_turn(functions[i / OF_EACH].name)
           : i < AT_MISUSE ? suite_turn(exact[i - AT_EXACT].name)
                           : SUITE_ALL;
}

static bool unary_backward_run(struct harness *b, size_t i)
{
    const struct function *f = &functions[i / OF_EACH];
    size_t k = i % OF_EACH;
    if (i >= AT_MISUSE)
        return unary_backward_run_misuse(b, i - AT_MISUSE);
    if (i >= AT_EXACT)
        return unary_backward_run_exact(b, &exact[i - AT_EXACT]);
    if (k < EVERY)
        return unary_backward_run_variant(b, f, &variants[k]);
    if (k < SLOPES)
        return unary_backward_run_every(b, f, k == EVERY ? SSQ_F16 : SSQ_BF16);
    return unary_backward_run_slopes(b, f);
}

const struct suite unary_backward_suite = {.op = "unary_backward",
                                           .name = "unary_backward",
                                           .n = AT_MISUSE + MISUSES,
                                           .describe = unary_backward_describe,
                                           .run = unary_backward_run,
                                           .turn = unary_backward_turn,
                                           .bit_equal = true,
                                           .floor = 962};
