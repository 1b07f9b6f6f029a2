/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_explain.c - what ssq_gemm_explain answers, matrix units that are
 * required, names, and operands that are destroyed early. */
#include "conformance/gemm/gemm_case.h"

#include "conformance/bounds.h"

#include <stdio.h>
#include <string.h>

static bool gemm_explain_check(struct harness *b, bool ok, const char *what)
{
    return b->failed || ok || harness_fail(b, "explain: %s is wrong", what);
}

/* The explained product: 5 matrices 2x4x3, f16 to f32. */
static const struct gemm_case own = {.m = 2,
                                     .n = 4,
                                     .k = 3,
                                     .a = SSQ_F16,
                                     .b = SSQ_F16,
                                     .d = SSQ_F32,
                                     .alpha = 1.0,
                                     .batch = {1, 1, 1, {5}, {5}, {5}}};
static const struct gemm_case shared = {.m = 2,
                                        .n = 4,
                                        .k = 3,
                                        .a = SSQ_F16,
                                        .b = SSQ_F16,
                                        .d = SSQ_F32,
                                        .alpha = 1.0,
                                        .batch = {1, 1, 0, {5}, {5}, {0}}};

/* A device that cannot do it does not explain it: skipped as its op is. */
static bool gemm_explain_explained(struct harness *b, const ssq_gemm_args *args,
                                   ssq_gemm_explanation *x)
{
    harness_status(b, ssq_gemm_explain(b->queue, args, x));
    return !b->failed && !b->skipped;
}

/* The fields; and that requiring matrix units is refused exactly where they
 * are missed, with the condition, leaving d alone. */
static bool run_fields(struct harness *b, const struct gemm_case *g,
                       int64_t batch, int64_t m)
{
    struct gemm_work w;
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    gemm_operands(b, g, &w);
    ssq_gemm_args args = gemm_args(&w);
    if (b->failed)
        return false;
    if (!gemm_explain_explained(b, &args, &x))
        return !b->failed;
    gemm_explain_check(b, strcmp(x.implementation, b->impl) == 0,
                       "implementation");
    gemm_explain_check(b, x.accumulator == SSQ_F32 || x.accumulator == SSQ_F64,
                       "accumulator");
    gemm_explain_check(b, x.matrix_units == (x.condition[0] == '\0'),
                       "condition");
    gemm_explain_check(b, x.matrix_units || x.block == 0, "block");
    gemm_explain_check(b, x.batch == batch && x.m == m, "batch, m");
    gemm_explain_check(b, x.n == 4 && x.k == 3, "n, k");
    gemm_explain_check(b, x.padded_m == (m + 7) / 8 * 8, "padded_m");
    gemm_explain_check(b, x.padded_n == 8 && x.padded_k == 8,
                       "padded_n, padded_k");
    args.flags = SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    gemm_must(b, ssq_gemm_explain(b->queue, &args, &x));
    ssq_status st = ssq_gemm_batched(b->queue, &args);
    if (x.matrix_units)
        return harness_refused(b, SSQ_OK, st);
    harness_refused(b, SSQ_ERR_UNSUPPORTED, st);
    if (strstr(ssq_last_error(), x.condition) == NULL)
        harness_fail(b, "said \"%.200s\"", ssq_last_error());
    uint32_t *before = harness_alloc(b, (size_t)w.d.n * sizeof(uint32_t));
    memcpy(before, w.d.bits, (size_t)w.d.n * sizeof(uint32_t));
    harness_read(b, &w.d);
    return harness_bits(b, &w.d, before);
}

/* Rows of every second element of a, one per matrix: folded into m they would
 * have no unit stride, so they stay a batch. */
static bool run_stepped(struct harness *b)
{
    const struct gemm_case g = {.m = 1,
                                .n = 4,
                                .k = 6,
                                .a = SSQ_F16,
                                .b = SSQ_F16,
                                .d = SSQ_F32,
                                .alpha = 1.0,
                                .batch = {1, 1, 0, {5}, {5}, {0}}};
    struct gemm_work w;
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    ssq_tensor *a = NULL;
    gemm_operands(b, &g, &w);
    if (b->failed)
        return false;
    gemm_must(b, ssq_tensor_slice(w.a.t, -1, 0, 6, 2, &a));
    ssq_gemm_args args = gemm_args(&w);
    args.a = a;
    ssq_tensor *top = NULL; /* the first 3 rows of b */
    gemm_must(b, ssq_tensor_slice(w.b.t, 0, 0, 3, 1, &top));
    args.b = top;
    if (gemm_explain_explained(b, &args, &x)) {
        gemm_explain_check(b, x.batch == 5 && x.m == 1 && x.k == 3,
                           "batch, m, k");
        HARNESS_OP(b, ssq_gemm_batched(b->queue, &args));
    }
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&top);
    if (b->failed || b->skipped)
        return !b->failed;
    harness_read(b, &w.d);
    double want[20], error[20];
    for (int i = 0; i < 20; i++) {
        double size = 0.0;
        want[i] = 0.0;
        for (int q = 0; q < 3; q++) {
            double p = w.a.value[i / 4 * 6 + 2 * q] * w.b.value[q * 4 + i % 4];
            want[i] += p;
            size += fabs(p);
        }
        error[i] = bound_gemm(3, x.block, size, 0, 1, 0, false);
    }
    return harness_bound(b, &w.d, want, error);
}

/* Without a product matrix units are not missed. */
static bool run_no_product(struct harness *b)
{
    const struct gemm_case g = {.m = 3,
                                .n = 5,
                                .k = 7,
                                .a = SSQ_F16,
                                .b = SSQ_F16,
                                .d = SSQ_F32,
                                .c = SSQ_F32,
                                .from = C_FULL,
                                .beta = 1.0,
                                .fill_c = FILL_INTEGERS};
    struct gemm_work w;
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    gemm_operands(b, &g, &w);
    ssq_gemm_args args = gemm_args(&w);
    args.flags = SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    if (!gemm_explain_explained(b, &args, &x))
        return !b->failed;
    gemm_explain_check(b, !x.matrix_units && x.k == 0 && x.condition[0] != '\0',
                       "alpha 0");
    HARNESS_OP(b, ssq_gemm(b->queue, &args));
    harness_read(b, &w.d);
    return gemm_exactly(b, &w.d, w.c.value);
}

/* Nothing runs where d is empty. */
static bool gemm_explain_run_empty(struct harness *b)
{
    const struct gemm_case g = {.m = 0,
                                .n = 5,
                                .k = 7,
                                .a = SSQ_F16,
                                .b = SSQ_F16,
                                .d = SSQ_F32,
                                .alpha = 1.0};
    struct gemm_work w;
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    gemm_operands(b, &g, &w);
    ssq_gemm_args args = gemm_args(&w);
    args.flags = SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    gemm_must(b, ssq_gemm_explain(b->queue, &args, &x));
    gemm_explain_check(b, x.implementation[0] == '\0' && !x.matrix_units,
                       "empty d");
    return harness_refused(b, SSQ_OK, ssq_gemm(b->queue, &args));
}

static bool run_names(struct harness *b)
{
    static const char *const names[] = {"none",      "relu",    "gelu",
                                        "gelu_tanh", "silu",    "sigmoid",
                                        "tanh",      "invalid", "invalid"};
    for (int i = 0; i < 9; i++)
        if (strcmp(ssq_activation_name((ssq_activation)i), names[i]) != 0)
            return harness_fail(b, "activation %d is %s", i,
                                ssq_activation_name((ssq_activation)i));
    return !b->failed;
}

/* Operands may be destroyed once the call returned. */
static bool run_lifetime(struct harness *b)
{
    const int64_t shape[] = {2, 2};
    static const float ones[] = {1, 1, 1, 1};
    static const double want[] = {2, 2, 2, 2};
    struct operand d;
    ssq_tensor *x = NULL;
    ssq_gemm_args args = SSQ_GEMM_INIT;
    harness_output(b, &d, SSQ_F32, 2, shape, LAYOUT_DENSE);
    gemm_must(b, ssq_tensor_create(b->device, SSQ_F16, 2, shape, &x));
    if (b->failed)
        return false;
    gemm_must(b, ssq_tensor_write(b->queue, x, ones, sizeof(ones), SSQ_F32));
    args.a = args.b = x;
    args.d = d.t;
    HARNESS_OP(b, ssq_gemm(b->queue, &args));
    ssq_tensor_destroy(&x);
    harness_read(b, &d);
    return gemm_exactly(b, &d, want);
}

static void gemm_explain_describe(size_t i, char *text, size_t bytes)
{
    static const char *const names[] = {
        "5 matrices 2x4x3, and matrix units required",
        "5 matrices 2x4x3 that share b are 10x4x3",
        "5 rows of every second element stay a batch",
        "required matrix units, alpha 0",
        "required matrix units, empty d",
        "names of activations",
        "operands destroyed after the call",
    };
    snprintf(text, bytes, "gemm_explain: %s", names[i]);
}

static bool gemm_explain_run(struct harness *b, size_t i)
{
    if (b->bench || b->admit)
        return true; /* nothing to time */
    switch (i) {
    case 0:
        return run_fields(b, &own, 5, 2);
    case 1:
        return run_fields(b, &shared, 1, 10);
    case 2:
        return run_stepped(b);
    case 3:
        return run_no_product(b);
    case 4:
        return gemm_explain_run_empty(b);
    case 5:
        return run_names(b);
    default:
        return run_lifetime(b);
    }
}

const struct suite gemm_explain_suite = {.op = "gemm",
                                         .name = "gemm_explain",
                                         .n = 7,
                                         .describe = gemm_explain_describe,
                                         .run = gemm_explain_run,
                                         .floor = 2 * 7};
