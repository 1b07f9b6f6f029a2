/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - cases of comparisons. */
#include "conformance/suite.h"

#include <stdio.h>
#include <string.h>

static bool is_eq(double a, double b)
{
    return a == b;
}
static bool is_ne(double a, double b)
{
    return a != b;
}
static bool is_lt(double a, double b)
{
    return a < b;
}
static bool is_le(double a, double b)
{
    return a <= b;
}
static bool is_gt(double a, double b)
{
    return a > b;
}
static bool is_ge(double a, double b)
{
    return a >= b;
}

static const struct {
    const char *name;
    ssq_status (*call)(ssq_queue *, const ssq_compare_args *);
    bool (*holds)(double a, double b);
} ops[] = {
    {"eq", ssq_eq, is_eq}, {"ne", ssq_ne, is_ne}, {"lt", ssq_lt, is_lt},
    {"le", ssq_le, is_le}, {"gt", ssq_gt, is_gt}, {"ge", ssq_ge, is_ge},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

/* a [rows,1] and b [cols] to y [rows,cols], or both [rows,cols]. */
static const struct variant {
    const char *text;
    ssq_dtype a, b;
    int64_t rows, cols;
    bool outer;
    enum layout la, lb, ly;
    enum fill fill;
} variants[] = {
    {"f32 [5,13]", SSQ_F32, SSQ_F32, 5, 13, false, 0, 0, 0, FILL_INTEGERS},
    {"f16 and bf16 [7,9], padded, transposed", SSQ_F16, SSQ_BF16, 7, 9, false,
     LAYOUT_PADDED, LAYOUT_TRANSPOSED, LAYOUT_PADDED, FILL_INTEGERS},
    {"f32 [31,1] and [37] with specials", SSQ_F32, SSQ_F32, 31, 37, true, 0, 0,
     0, FILL_SPECIAL},
    {"f16 [31,1] and f32 [37] with specials", SSQ_F16, SSQ_F32, 31, 37, true, 0,
     0, 0, FILL_SPECIAL},
    {"f32 [31,1] and [37] tiny", SSQ_F32, SSQ_F32, 31, 37, true, 0, 0, 0,
     FILL_TINY},
    {"f32 [23,1] and [29] zeros of both signs", SSQ_F32, SSQ_F32, 23, 29, true,
     0, 0, 0, FILL_ZERO},
    {"i32 [31,1] and [37]", SSQ_I32, SSQ_I32, 31, 37, true, 0, 0, 0, FILL_HUGE},
    {"u8 [31,1] and i32 [37]", SSQ_U8, SSQ_I32, 31, 37, true, 0, 0, 0,
     FILL_NORMAL},
    {"u8 [31,1] and [37]", SSQ_U8, SSQ_U8, 31, 37, true, 0, 0, 0, FILL_NORMAL},
    {"f32 [0,3]", SSQ_F32, SSQ_F32, 0, 3, false, 0, 0, 0, FILL_NORMAL},
    {"bf16 [1,1]", SSQ_BF16, SSQ_BF16, 1, 1, false, 0, 0, 0, FILL_INTEGERS},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static void compare_input(struct harness *b, struct operand *x, ssq_dtype dtype,
                          int rank, const int64_t *shape, enum layout layout,
                          enum fill fill)
{
    double zeros[64];
    if (fill != FILL_ZERO) {
        harness_input(b, x, dtype, rank, shape, layout, fill);
        return;
    }
    for (int i = 0; i < 64; i++)
        zeros[i] = harness_uniform(b) < 0.5 ? 0.0 : -0.0;
    harness_values(b, x, dtype, rank, shape, layout, zeros);
}

static bool compare_run_variant(struct harness *b, size_t k,
                                const struct variant *v)
{
    const int64_t shape[] = {v->rows, v->cols}, column[] = {v->rows, 1};
    struct operand a, c, y;
    compare_input(b, &a, v->a, 2, v->outer ? column : shape, v->la, v->fill);
    if (v->outer)
        compare_input(b, &c, v->b, 1, shape + 1, v->lb, v->fill);
    else
        compare_input(b, &c, v->b, 2, shape, v->lb, v->fill);
    harness_output(b, &y, SSQ_U8, 2, shape, v->ly);
    uint32_t *want = harness_alloc(b, (size_t)y.n * sizeof(*want));
    for (int64_t i = 0; i < y.n; i++)
        want[i] = ops[k].holds(a.value[v->outer ? i / v->cols : i],
                               c.value[v->outer ? i % v->cols : i]);
    const ssq_compare_args args = {sizeof(args), a.t, c.t, y.t};
    HARNESS_OP(b, ops[k].call(b->queue, &args));
    harness_read(b, &a);
    harness_read(b, &c);
    harness_read(b, &y);
    return harness_bits(b, &y, want) && harness_same(b, &y);
}

/* The answer replaces u8 operand a. */
static bool compare_run_in_place(struct harness *b)
{
    const int64_t shape[] = {5, 7};
    struct operand a, c;
    uint32_t want[35];
    harness_input(b, &a, SSQ_U8, 2, shape, LAYOUT_PADDED, FILL_NORMAL);
    harness_input(b, &c, SSQ_I32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    for (int i = 0; i < 35; i++)
        want[i] = a.value[i] < c.value[i];
    const ssq_compare_args args = {sizeof(args), a.t, c.t, a.t};
    HARNESS_OP(b, ssq_lt(b->queue, &args));
    harness_read(b, &a);
    return harness_bits(b, &a, want) && harness_same(b, &a);
}

#define MISUSES 4
static bool compare_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "eq: a is NULL",
        "eq: y is f32, expected u8",
        "eq: b is i32, expected f32, f16, bf16",
        "eq: a is [5,7], b is [5]: they do not broadcast",
    };
    const int64_t shape[] = {5, 7};
    struct operand x, i, r, y, f;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &i, SSQ_I32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &r, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_U8, 2, shape, LAYOUT_DENSE);
    harness_output(b, &f, SSQ_F32, 2, shape, LAYOUT_DENSE);
    const ssq_tensor *calls[MISUSES][3] = {
        {NULL, x.t, y.t}, {x.t, x.t, f.t}, {x.t, i.t, y.t}, {x.t, r.t, y.t}};
    const ssq_compare_args args = {sizeof(args), calls[k][0], calls[k][1],
                                   calls[k][2]};
    if (b->failed || b->skipped)
        return true;
    uint32_t before = y.bits[0];
    harness_refused(b, SSQ_ERR_INVALID, ssq_eq(b->queue, &args));
    if (!b->failed && strcmp(ssq_last_error(), text[k]) != 0)
        harness_fail(b, "\"%s\" is not \"%s\"", ssq_last_error(), text[k]);
    harness_read(b, &y);
    return b->failed || y.bits[0] == before || harness_fail(b, "y was written");
}

static void compare_describe(size_t i, char *text, size_t bytes)
{
    if (i < OPS * VARIANTS)
        snprintf(text, bytes, "%s %s", ops[i / VARIANTS].name,
                 variants[i % VARIANTS].text);
    else if (i == OPS * VARIANTS)
        snprintf(text, bytes, "lt u8 and i32 [5,7], y is a");
    else
        snprintf(text, bytes, "compare misuse %zu is refused",
                 i - OPS * VARIANTS - 1);
}

static bool compare_run(struct harness *b, size_t i)
{
    if (i < OPS * VARIANTS)
        return compare_run_variant(b, i / VARIANTS, &variants[i % VARIANTS]);
    if (i == OPS * VARIANTS)
        return compare_run_in_place(b);
    return compare_run_misuse(b, i - OPS * VARIANTS - 1);
}

const struct suite compare_suite = {.op = "compare",
                                    .name = "compare",
                                    .n = OPS * VARIANTS + 1 + MISUSES,
                                    .describe = compare_describe,
                                    .run = compare_run,
                                    .bit_equal = true,
                                    .floor = 142};
