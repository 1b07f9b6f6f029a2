/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - cases of y = f(x). */
#include "conformance/suite.h"

#include "conformance/elementwise/functions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct variant {
    const char *text;
    ssq_dtype x, y;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    enum layout lx, ly;
    enum fill fill;
    bool in_place;
} variants[] = {
    {"f32 [37]", SSQ_F32, SSQ_F32, 1, {37}, 0, 0, FILL_NORMAL, false},
    {"f16 [5,13]", SSQ_F16, SSQ_F16, 2, {5, 13}, 0, 0, FILL_NORMAL, false},
    {"bf16 [3,17], both padded",
     SSQ_BF16,
     SSQ_BF16,
     2,
     {3, 17},
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     FILL_NORMAL,
     false},
    {"f16 to f32 [11,7], x transposed",
     SSQ_F16,
     SSQ_F32,
     2,
     {11, 7},
     LAYOUT_TRANSPOSED,
     0,
     FILL_NORMAL,
     false},
    {"f32 to bf16 [7,11], y transposed",
     SSQ_F32,
     SSQ_BF16,
     2,
     {7, 11},
     0,
     LAYOUT_TRANSPOSED,
     FILL_NORMAL,
     false},
    {"bf16 to f16 [4,9], one x repeated",
     SSQ_BF16,
     SSQ_F16,
     2,
     {4, 9},
     LAYOUT_BROADCAST,
     0,
     FILL_NORMAL,
     false},
    {"f32 [2,3,2,5,3,7], both padded",
     SSQ_F32,
     SSQ_F32,
     6,
     {2, 3, 2, 5, 3, 7},
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     FILL_NORMAL,
     false},
    {"f32 to f16 of no dimensions",
     SSQ_F32,
     SSQ_F16,
     0,
     {0},
     0,
     0,
     FILL_NORMAL,
     false},
    {"f32 [3,0,2]", SSQ_F32, SSQ_F32, 3, {3, 0, 2}, 0, 0, FILL_NORMAL, false},
    {"f32 [1]", SSQ_F32, SSQ_F32, 1, {1}, 0, 0, FILL_NORMAL, false},
    {"f32 [509] with specials",
     SSQ_F32,
     SSQ_F32,
     1,
     {509},
     0,
     0,
     FILL_SPECIAL,
     false},
    {"f32 to bf16 [509] with specials",
     SSQ_F32,
     SSQ_BF16,
     1,
     {509},
     0,
     0,
     FILL_SPECIAL,
     false},
    {"f32 to f16 [101] huge",
     SSQ_F32,
     SSQ_F16,
     1,
     {101},
     0,
     0,
     FILL_HUGE,
     false},
    {"f32 [101] huge", SSQ_F32, SSQ_F32, 1, {101}, 0, 0, FILL_HUGE, false},
    {"f32 [101] tiny", SSQ_F32, SSQ_F32, 1, {101}, 0, 0, FILL_TINY, false},
    {"f32 [13,5] in place, padded",
     SSQ_F32,
     SSQ_F32,
     2,
     {13, 5},
     LAYOUT_PADDED,
     0,
     FILL_NORMAL,
     true},
    {"f16 [67] in place", SSQ_F16, SSQ_F16, 1, {67}, 0, 0, FILL_SPECIAL, true},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* After these, every f16 and every bf16. */
#define OF_EACH (VARIANTS + 2)

static void unary_oracle(struct harness *b, const struct function *f,
                         const struct operand *x, double *want)
{
    (void)b;
    for (int64_t i = 0; i < x->n; i++)
        want[i] = (double)f->value((long double)x->value[i],
                                   (long double)f->alpha, (long double)f->beta);
}

/* Run f on x into y, and compare. */
static bool unary_run_one(struct harness *b, const struct function *f,
                          struct operand *x, struct operand *y)
{
    bool fresh;
    double *want = harness_keep(b, 0, (size_t)x->n, &fresh);
    if (fresh)
        unary_oracle(b, f, x, want);
    const struct unary_call args = {x->t, y->t, f->alpha, f->beta};
    b->bytes = (double)x->n *
               (ssq_dtype_bits(x->dtype) / 8 + ssq_dtype_bits(y->dtype) / 8);
    HARNESS_OP(b, f->call(b->queue, &args));
    harness_read(b, y);
    if (x != y)
        harness_read(b, x);
    /* rounded to 16 bits: at most 1 ulp, for any bound of float32 */
    double ulps = y->dtype == SSQ_F32 ? f->ulps : fmin(f->ulps, 1);
    /* results that float32 rounds first may be half an ulp and a bit off */
    if (y->dtype != SSQ_F32 && ulps > 0)
        ulps = 1;
    if (y->dtype != SSQ_F32 && ulps == 0)
        ulps = 0.5;
    return harness_ulps(b, y, want, ulps) && harness_same(b, y);
}

static bool unary_run_variant(struct harness *b, const struct function *f,
                              const struct variant *v)
{
    struct operand x, y;
    ssq_dtype to = f->test ? SSQ_U8 : v->y;
    harness_input(b, &x, v->x, v->rank, v->shape, v->lx, v->fill);
    if (v->in_place && !f->test)
        return unary_run_one(b, f, &x, &x);
    harness_output(b, &y, to, v->rank, v->shape, v->ly);
    return unary_run_one(b, f, &x, &y);
}

static bool unary_run_every(struct harness *b, const struct function *f,
                            ssq_dtype dtype)
{
    const int64_t shape[] = {65536};
    struct operand x, y;
    uint32_t *bits = harness_alloc(b, 65536 * sizeof(*bits));
    for (uint32_t i = 0; i < 65536; i++)
        bits[i] = i;
    harness_raw(b, &x, dtype, 1, shape, LAYOUT_DENSE, bits);
    harness_output(b, &y, f->test ? SSQ_U8 : dtype, 1, shape, LAYOUT_DENSE);
    return unary_run_one(b, f, &x, &y);
}

static const struct function *unary_find(const char *name)
{
    const struct function *f = functions;
    while (strcmp(f->name, name) != 0)
        f++;
    return f;
}

/* The exact values of f. */
static bool unary_run_exact(struct harness *b, const struct function *f)
{
    size_t tried = 0;
    for (const struct function_exact *e = functions_exact; e->name != NULL;
         e++) {
        struct operand x, y;
        if (strcmp(e->name, f->name) != 0)
            continue;
        harness_raw(b, &x, SSQ_F32, 0, NULL, LAYOUT_DENSE, &e->x);
        harness_output(b, &y, f->test ? SSQ_U8 : SSQ_F32, 0, NULL,
                       LAYOUT_DENSE);
        const struct unary_call args = {
            x.t, y.t, e->alpha != 0.0 ? e->alpha : f->alpha, f->beta};
        HARNESS_OP(b, f->call(b->queue, &args));
        harness_read(b, &y);
        if (!b->failed && !b->skipped && y.bits[0] != e->y && x.bits[0] == e->x)
            return harness_fail(b, "0x%08x came out of 0x%08x, expected 0x%08x",
                                (unsigned)y.bits[0], (unsigned)e->x,
                                (unsigned)e->y);
        tried++;
    }
    return tried > 0 ||
           harness_fail(b, "no line of functions_exact is about it");
}

/* abs and neg of integers: x, y dtypes; modulo 2^32 and 2^8. */
static bool unary_run_integers(struct harness *b, ssq_dtype from, ssq_dtype to)
{
    static const uint32_t bits[] = {
        0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
    const int64_t shape[] = {9};
    uint32_t raw[9], want[9];
    struct operand x, y;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 9; i++) {
            raw[i] = from == SSQ_U8 ? bits[i] & 0xff : bits[i];
            want[i] = k == 0 ? 0u - raw[i]
                             : (uint32_t)llabs((long long)(int32_t)raw[i]);
            want[i] = to == SSQ_U8 ? want[i] & 0xff : want[i];
        }
        harness_raw(b, &x, from, 1, shape, LAYOUT_DENSE, raw);
        harness_output(b, &y, to, 1, shape, LAYOUT_DENSE);
        ssq_unary_args args = SSQ_UNARY_INIT;
        args.x = x.t;
        args.y = y.t;
        HARNESS_OP(b, (k == 0 ? ssq_neg : ssq_abs)(b->queue, &args));
        harness_read(b, &y);
        if (!harness_bits(b, &y, want))
            return false;
    }
    return true;
}

/* softplus with a sharpness that is not a power of two: t = beta x is off by
 * u |t|, which moves softplus(t) by as much times sigmoid(t); then 1 ulp of
 * softplus, and a division. */
static bool run_sharp(struct harness *b)
{
    const int64_t shape[] = {401};
    struct operand x, y;
    harness_input(b, &x, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 1, shape, LAYOUT_DENSE);
    HARNESS_OP(b, ssq_softplus(b->queue,
                               SSQ_SOFTPLUS(.x = x.t, .y = y.t, .beta = 3.0)));
    harness_read(b, &y);
    double want[401], error[401];
    for (int i = 0; i < 401; i++) {
        double t = 3.0 * x.value[i];
        double s = (t > 0 ? t : 0) + log1p(exp(-fabs(t)));
        want[i] = s / 3.0;
        error[i] = (0x1p-24 * fabs(t) / (1 + exp(-t)) + 0x1.001p-23 * s) / 3.0;
    }
    return harness_bound(b, &y, want, error) && harness_same(b, &y);
}

static ssq_status dull_softplus(ssq_queue *queue, const ssq_unary_args *args)
{
    return ssq_softplus(queue,
                        SSQ_SOFTPLUS(.x = args->x, .y = args->y, .beta = 0));
}

#define MISUSES 11
static bool unary_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "relu: x is NULL",
        "relu: y is NULL",
        "relu: x is i32, expected f32, f16, bf16",
        "relu: y is u8, expected f32, f16, bf16",
        "neg: y is u8, expected i32",
        "isnan: y is f32, expected u8",
        "gelu: x is [4,6], y is [6,4]",
        "gelu: struct_size is 3, expected",
        "softplus: beta is 0, expected > 0",
        "exp: elements of output y share memory",
        "exp: y overlaps x and is not exactly the same",
    };
    const int64_t shape[] = {4, 6}, turned[] = {6, 4};
    struct operand x, y, i, u, t, one;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_input(b, &i, SSQ_I32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &u, SSQ_U8, 2, shape, LAYOUT_DENSE);
    harness_output(b, &t, SSQ_F32, 2, turned, LAYOUT_DENSE);
    harness_output(b, &one, SSQ_F32, 2, shape, LAYOUT_BROADCAST);
    if (b->failed || b->skipped)
        return true;
    ssq_tensor *low = NULL, *high = NULL;
    if (ssq_tensor_slice(y.t, 0, 0, 3, 1, &low) != SSQ_OK ||
        ssq_tensor_slice(y.t, 0, 1, 4, 1, &high) != SSQ_OK)
        return harness_fail(b, "%s", ssq_last_error());
    const struct {
        ssq_status (*call)(ssq_queue *, const ssq_unary_args *);
        ssq_unary_args args;
    } calls[MISUSES] = {
        {ssq_relu, {sizeof(ssq_unary_args), NULL, y.t}},
        {ssq_relu, {sizeof(ssq_unary_args), x.t, NULL}},
        {ssq_relu, {sizeof(ssq_unary_args), i.t, y.t}},
        {ssq_relu, {sizeof(ssq_unary_args), x.t, u.t}},
        {ssq_neg, {sizeof(ssq_unary_args), i.t, u.t}},
        {ssq_isnan, {sizeof(ssq_unary_args), x.t, y.t}},
        {ssq_gelu, {sizeof(ssq_unary_args), x.t, t.t}},
        {ssq_gelu, {3, x.t, y.t}},
        {dull_softplus, {sizeof(ssq_unary_args), x.t, y.t}},
        {ssq_exp, {sizeof(ssq_unary_args), x.t, one.t}},
        {ssq_exp, {sizeof(ssq_unary_args), low, high}},
    };
    uint32_t before = y.bits[0];
    harness_refused(b, SSQ_ERR_INVALID,
                    calls[k].call(b->queue, &calls[k].args));
    if (!b->failed && strstr(ssq_last_error(), text[k]) == NULL)
        harness_fail(b, "\"%s\" does not say \"%s\"", ssq_last_error(),
                     text[k]);
    harness_read(b, &y);
    if (!b->failed && y.bits[0] != before)
        harness_fail(b, "y was written");
    ssq_tensor_destroy(&low);
    ssq_tensor_destroy(&high);
    return true;
}

/* For bench: how near to a copy's throughput relu comes, and what gelu adds. */
static const struct {
    const char *name;
    ssq_dtype dtype;
} large[] = {{"relu", SSQ_F32}, {"relu", SSQ_F16}, {"gelu", SSQ_F32}};
#define LARGE (sizeof(large) / sizeof(large[0]))

static bool unary_run_large(struct harness *b, size_t k)
{
    const int64_t n = 16 << 20;
    const struct unary_call args = {harness_large(b, large[k].dtype, 1, &n),
                                    harness_large(b, large[k].dtype, 1, &n), 1,
                                    1};
    b->bytes = 2.0 * (double)n * ssq_dtype_bits(large[k].dtype) / 8.0;
    HARNESS_OP(b, unary_find(large[k].name)->call(b->queue, &args));
    return !b->failed;
}

/* The cases: functions x OF_EACH, exact values, integers, sharp softplus,
 * misuse. */
#define AT_EXACT    (FUNCTIONS * OF_EACH)
#define AT_INTEGERS (AT_EXACT + FUNCTIONS)
#define AT_SHARP    (AT_INTEGERS + 3)
#define AT_MISUSE   (AT_SHARP + 1)
#define AT_LARGE    (AT_MISUSE + MISUSES)

static const ssq_dtype integers[3][2] = {
    {SSQ_I32, SSQ_I32}, {SSQ_U8, SSQ_U8}, {SSQ_U8, SSQ_I32}};

static void unary_describe(size_t i, char *text, size_t bytes)
{
    if (i >= AT_LARGE)
        snprintf(text, bytes, "%s %s, 16,777,216 elements",
                 large[i - AT_LARGE].name,
                 ssq_dtype_name(large[i - AT_LARGE].dtype));
    else if (i >= AT_MISUSE)
        snprintf(text, bytes, "unary misuse %zu is refused", i - AT_MISUSE);
    else if (i >= AT_SHARP)
        snprintf(text, bytes, "softplus beta 3 f32 [401]");
    else if (i >= AT_INTEGERS)
        snprintf(text, bytes, "neg and abs %s to %s [9]",
                 ssq_dtype_name(integers[i - AT_INTEGERS][0]),
                 ssq_dtype_name(integers[i - AT_INTEGERS][1]));
    else if (i >= AT_EXACT)
        snprintf(text, bytes, "%s has its exact values, beta %g",
                 functions[i - AT_EXACT].name, functions[i - AT_EXACT].beta);
    else if (i % OF_EACH < VARIANTS)
        snprintf(text, bytes, "%s %s, beta %g", functions[i / OF_EACH].name,
                 variants[i % OF_EACH].text, functions[i / OF_EACH].beta);
    else
        snprintf(text, bytes, "%s of every %s, beta %g",
                 functions[i / OF_EACH].name,
                 i % OF_EACH == VARIANTS ? "f16" : "bf16",
                 functions[i / OF_EACH].beta);
}

static int unary_turn(size_t i)
{
    return i < AT_EXACT      ? suite_turn(functions[i / OF_EACH].name)
           : i < AT_INTEGERS ? suite_turn(functions[i - AT_EXACT].name)
                             : SUITE_ALL;
}

static bool elementwise_unary_run(struct harness *b, size_t i)
{
    if (i >= AT_LARGE)
        return unary_run_large(b, i - AT_LARGE);
    if (i >= AT_MISUSE)
        return unary_run_misuse(b, i - AT_MISUSE);
    if (i >= AT_SHARP)
        return run_sharp(b);
    if (i >= AT_INTEGERS)
        return unary_run_integers(b, integers[i - AT_INTEGERS][0],
                                  integers[i - AT_INTEGERS][1]);
    if (i >= AT_EXACT)
        return unary_run_exact(b, &functions[i - AT_EXACT]);
    const struct function *f = &functions[i / OF_EACH];
    if (i % OF_EACH < VARIANTS)
        return unary_run_variant(b, f, &variants[i % OF_EACH]);
    return unary_run_every(b, f, i % OF_EACH == VARIANTS ? SSQ_F16 : SSQ_BF16);
}

const struct suite unary_suite = {.op = "unary",
                                  .name = "unary",
                                  .n = AT_LARGE,
                                  .large = LARGE,
                                  .describe = unary_describe,
                                  .run = elementwise_unary_run,
                                  .turn = unary_turn,
                                  .bit_equal = true,
                                  .floor = 1264};
