/* SPDX-License-Identifier: Apache-2.0 */
/* where.c - cases of where. */
#include "conformance/suite.h"

#include <stdio.h>
#include <string.h>

/* cond [rows,1], a [cols], b [rows,cols]; or all [rows,cols]. */
static const struct variant {
    const char *text;
    ssq_dtype a, b, y;
    int64_t rows, cols;
    bool outer;
    enum layout lc, la, ly;
    enum fill fill;
    int in_place; /* 1: y is a; 2: y is b; 3: y is cond */
} variants[] = {
    {"f32 [5,13]", SSQ_F32, SSQ_F32, SSQ_F32, 5, 13, false, 0, 0, 0,
     FILL_SPECIAL, 0},
    {"f16 [5,13], padded, transposed", SSQ_F16, SSQ_F16, SSQ_F16, 5, 13, false,
     LAYOUT_PADDED, LAYOUT_TRANSPOSED, LAYOUT_PADDED, FILL_SPECIAL, 0},
    {"cond [11,1], a f32 [7], b f16 [11,7] to bf16", SSQ_F32, SSQ_F16, SSQ_BF16,
     11, 7, true, 0, 0, 0, FILL_SPECIAL, 0},
    {"cond [11,1], a bf16 [7], b bf16 [11,7] to f32", SSQ_BF16, SSQ_BF16,
     SSQ_F32, 11, 7, true, 0, 0, 0, FILL_SPECIAL, 0},
    {"f32 to f16 [9,9] huge", SSQ_F32, SSQ_F32, SSQ_F16, 9, 9, false, 0, 0, 0,
     FILL_HUGE, 0},
    {"cond [11,1], a i32 [7], b i32 [11,7]", SSQ_I32, SSQ_I32, SSQ_I32, 11, 7,
     true, 0, 0, 0, FILL_HUGE, 0},
    {"cond [11,1], a u8 [7], b i32 [11,7] to i32", SSQ_U8, SSQ_I32, SSQ_I32, 11,
     7, true, 0, 0, 0, FILL_HUGE, 0},
    {"u8 [6,7]", SSQ_U8, SSQ_U8, SSQ_U8, 6, 7, false, 0, 0, 0, FILL_HUGE, 0},
    {"f32 [0,4]", SSQ_F32, SSQ_F32, SSQ_F32, 0, 4, false, 0, 0, 0, FILL_NORMAL,
     0},
    {"f32 [1,1]", SSQ_F32, SSQ_F32, SSQ_F32, 1, 1, false, 0, 0, 0, FILL_NORMAL,
     0},
    {"bf16 [5,7], y is a", SSQ_BF16, SSQ_BF16, SSQ_BF16, 5, 7, false, 0, 0, 0,
     FILL_NORMAL, 1},
    {"f32 [5,7], y is b", SSQ_F32, SSQ_F32, SSQ_F32, 5, 7, true, 0, 0, 0,
     FILL_NORMAL, 2},
    {"u8 [5,7], y is cond", SSQ_U8, SSQ_U8, SSQ_U8, 5, 7, false, 0, 0, 0,
     FILL_HUGE, 3},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static bool where_run_variant(struct harness *b, const struct variant *v)
{
    const int64_t shape[] = {v->rows, v->cols}, column[] = {v->rows, 1};
    struct operand cond, x, z, y, *out = &y;
    harness_input(b, &cond, SSQ_U8, 2, v->outer ? column : shape, v->lc,
                  FILL_NORMAL);
    for (int64_t i = 0; i < cond.n; i++) /* 0, 1 and more, also 256ths */
        cond.bits[i] = (uint32_t)(harness_uniform(b) * 3) * 0x7fu;
    harness_raw(b, &cond, SSQ_U8, 2, v->outer ? column : shape, v->lc,
                cond.bits);
    if (v->outer)
        harness_input(b, &x, v->a, 1, shape + 1, v->la, v->fill);
    else
        harness_input(b, &x, v->a, 2, shape, v->la, v->fill);
    harness_input(b, &z, v->b, 2, shape, LAYOUT_DENSE, v->fill);
    if (v->in_place == 0)
        harness_output(b, &y, v->y, 2, shape, v->ly);
    else
        out = v->in_place == 1 ? &x : v->in_place == 2 ? &z : &cond;
    double *want = harness_alloc(b, (size_t)out->n * sizeof(*want));
    uint32_t *bits = harness_alloc(b, (size_t)out->n * sizeof(*bits));
    bool copied = v->a == v->b && v->a == v->y;
    for (int64_t i = 0; i < out->n && !b->failed; i++) {
        bool first = cond.bits[v->outer ? i / v->cols : i] != 0;
        int64_t k = v->outer ? i % v->cols : i;
        want[i] = harness_round(first ? x.value[k] : z.value[i], out->dtype);
        bits[i] = first ? x.bits[k] : z.bits[i];
    }
    const ssq_where_args args = {sizeof(args), cond.t, x.t, z.t, out->t};
    HARNESS_OP(b, ssq_where(b->queue, &args));
    harness_read(b, &cond);
    harness_read(b, &x);
    harness_read(b, &z);
    harness_read(b, out);
    return harness_ulps(b, out, want, 0) &&
           (!copied || harness_bits(b, out, bits)) && harness_same(b, out);
}

/* A signalling NaN with a payload and -0 pass as they are. */
static bool run_raw(struct harness *b)
{
    static const uint32_t ones[] = {1, 0, 1};
    static const uint32_t a[] = {0x7f812345, 0, 0xffc54321};
    static const uint32_t c[] = {0, 0x80000000, 0};
    static const uint32_t want[] = {0x7f812345, 0x80000000, 0xffc54321};
    const int64_t shape[] = {3};
    struct operand cond, x, z, y;
    harness_raw(b, &cond, SSQ_U8, 1, shape, LAYOUT_DENSE, ones);
    harness_raw(b, &x, SSQ_F32, 1, shape, LAYOUT_DENSE, a);
    harness_raw(b, &z, SSQ_F32, 1, shape, LAYOUT_DENSE, c);
    harness_output(b, &y, SSQ_F32, 1, shape, LAYOUT_DENSE);
    const ssq_where_args args = {sizeof(args), cond.t, x.t, z.t, y.t};
    HARNESS_OP(b, ssq_where(b->queue, &args));
    harness_read(b, &y);
    for (int i = 0; i < 3 && !b->failed && !b->skipped; i++)
        if (y.bits[i] != want[i])
            return harness_fail(b, "0x%08x came out for 0x%08x",
                                (unsigned)y.bits[i], (unsigned)want[i]);
    return true;
}

#define MISUSES 5
static bool where_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "where: cond is NULL",
        "where: cond is f32, expected u8",
        "where: b is i32, expected f32, f16, bf16",
        "where: y is i32, expected f32, f16, bf16",
        "where: a is [5,7], b is [7], cond is [5]: they do not broadcast",
    };
    const int64_t shape[] = {5, 7};
    struct operand x, i, r, u, v, y;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &i, SSQ_I32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &r, SSQ_F32, 1, shape + 1, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &u, SSQ_U8, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &v, SSQ_U8, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    const ssq_tensor *calls[MISUSES][4] = {{NULL, x.t, x.t, y.t},
                                           {x.t, x.t, x.t, y.t},
                                           {u.t, x.t, i.t, y.t},
                                           {u.t, x.t, x.t, i.t},
                                           {v.t, x.t, r.t, y.t}};
    const ssq_where_args args = {sizeof(args), calls[k][0], calls[k][1],
                                 calls[k][2], calls[k][3]};
    if (b->failed || b->skipped)
        return true;
    uint32_t before = y.bits[0];
    harness_refused(b, SSQ_ERR_INVALID, ssq_where(b->queue, &args));
    if (!b->failed && strcmp(ssq_last_error(), text[k]) != 0)
        harness_fail(b, "\"%s\" is not \"%s\"", ssq_last_error(), text[k]);
    harness_read(b, &y);
    return b->failed || y.bits[0] == before || harness_fail(b, "y was written");
}

static void where_describe(size_t i, char *text, size_t bytes)
{
    if (i < VARIANTS)
        snprintf(text, bytes, "where %s", variants[i].text);
    else if (i == VARIANTS)
        snprintf(text, bytes, "where f32 [3] keeps NaN payloads and -0");
    else
        snprintf(text, bytes, "where misuse %zu is refused", i - VARIANTS - 1);
}

static bool where_run(struct harness *b, size_t i)
{
    if (i < VARIANTS)
        return where_run_variant(b, &variants[i]);
    return i == VARIANTS ? run_raw(b) : where_run_misuse(b, i - VARIANTS - 1);
}

const struct suite where_suite = {.op = "where",
                                  .name = "where",
                                  .n = VARIANTS + 1 + MISUSES,
                                  .describe = where_describe,
                                  .run = where_run,
                                  .bit_equal = true,
                                  .floor = 38};
