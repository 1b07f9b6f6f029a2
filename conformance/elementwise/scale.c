/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c - cases of y = x (alpha scale). */
#include "conformance/suite.h"

#include <stdio.h>
#include <string.h>

static const struct variant {
    const char *text;
    ssq_dtype x, y;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    enum layout lx, ly;
    enum fill fill;
    double alpha, scale; /* 0: no device scale */
    bool in_place;
} variants[] = {
    {"f32 [37]", SSQ_F32, SSQ_F32, 1, {37}, 0, 0, FILL_NORMAL, 0.7, 0, false},
    {"f16 [5,13] padded, scale 1/65536",
     SSQ_F16,
     SSQ_F16,
     2,
     {5, 13},
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     FILL_NORMAL,
     1,
     0x1p-16,
     false},
    {"bf16 to f32 [7,9] transposed",
     SSQ_BF16,
     SSQ_F32,
     2,
     {7, 9},
     LAYOUT_TRANSPOSED,
     0,
     FILL_NORMAL,
     -1.3,
     0.3,
     false},
    {"f32 to f16 [4,9], one x repeated",
     SSQ_F32,
     SSQ_F16,
     2,
     {4, 9},
     LAYOUT_BROADCAST,
     LAYOUT_TRANSPOSED,
     FILL_NORMAL,
     3,
     7,
     false},
    {"f32 of no dimensions",
     SSQ_F32,
     SSQ_F32,
     0,
     {0},
     0,
     0,
     FILL_NORMAL,
     2,
     3,
     false},
    {"f32 [0]", SSQ_F32, SSQ_F32, 1, {0}, 0, 0, FILL_NORMAL, 2, 3, false},
    {"f32 [301] with specials",
     SSQ_F32,
     SSQ_F32,
     1,
     {301},
     0,
     0,
     FILL_SPECIAL,
     1.7,
     0,
     false},
    {"f32 to bf16 [301] with specials",
     SSQ_F32,
     SSQ_BF16,
     1,
     {301},
     0,
     0,
     FILL_SPECIAL,
     1.7,
     0,
     false},
    {"f32 [99] huge",
     SSQ_F32,
     SSQ_F32,
     1,
     {99},
     0,
     0,
     FILL_HUGE,
     1.5,
     0,
     false},
    {"f32 [99] tiny",
     SSQ_F32,
     SSQ_F32,
     1,
     {99},
     0,
     0,
     FILL_TINY,
     0.3,
     0.5,
     false},
    {"f16 [99] huge, overflows at 65520",
     SSQ_F16,
     SSQ_F16,
     1,
     {99},
     0,
     0,
     FILL_HUGE,
     1.5,
     0,
     false},
    {"f32 [9,5] padded, in place",
     SSQ_F32,
     SSQ_F32,
     2,
     {9, 5},
     LAYOUT_PADDED,
     0,
     FILL_NORMAL,
     0.1,
     10,
     true},
    {"f32 [1501] with specials",
     SSQ_F32,
     SSQ_F32,
     1,
     {1501},
     0,
     0,
     FILL_SPECIAL,
     1.7,
     0.7,
     false},
    {"f16 [1501] huge",
     SSQ_F16,
     SSQ_F16,
     1,
     {1501},
     0,
     0,
     FILL_HUGE,
     1.5,
     0,
     false},
    {"bf16 [3,700] with specials, in place",
     SSQ_BF16,
     SSQ_BF16,
     2,
     {3, 700},
     0,
     0,
     FILL_SPECIAL,
     0.1,
     3,
     true},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static bool scale_run_variant(struct harness *b, const struct variant *v)
{
    struct operand x, y, s, *out = &y;
    harness_input(b, &x, v->x, v->rank, v->shape, v->lx, v->fill);
    harness_values(b, &s, SSQ_F32, 0, NULL, LAYOUT_DENSE, &v->scale);
    if (v->in_place)
        out = &x;
    else
        harness_output(b, &y, v->y, v->rank, v->shape, v->ly);
    double *want = harness_alloc(b, (size_t)x.n * sizeof(*want));
    volatile float factor = (float)v->alpha;
    if (v->scale != 0)
        factor = factor * (float)v->scale;
    for (int64_t i = 0; i < x.n; i++) {
        volatile float p = (float)x.value[i] * factor;
        want[i] = harness_round((double)p, out->dtype);
    }
    ssq_scale_args args = SSQ_SCALE_INIT;
    args.x = x.t;
    args.y = out->t;
    args.alpha = v->alpha;
    args.scale = v->scale != 0 ? s.t : NULL;
    HARNESS_OP(b, ssq_scale(b->queue, &args));
    harness_read(b, &s);
    harness_read(b, &x);
    harness_read(b, out);
    return harness_ulps(b, out, want, 0) && harness_same(b, out);
}

/* A replayed graph reads the device's scale of that time. */
static bool scale_run_graph(struct harness *b)
{
    enum { N = 1200 };
    const int64_t shape[] = {N};
    const double values[] = {2.0, 5.0};
    struct operand x, y, s, t;
    harness_input(b, &x, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_INTEGERS);
    harness_output(b, &y, SSQ_F32, 1, shape, LAYOUT_DENSE);
    harness_values(b, &s, SSQ_F32, 0, NULL, LAYOUT_DENSE, &values[0]);
    harness_values(b, &t, SSQ_F32, 0, NULL, LAYOUT_DENSE, &values[1]);
    if (b->failed || b->skipped || b->bench || b->admit)
        return true;
    ssq_scale_args args = SSQ_SCALE_INIT;
    args.x = x.t;
    args.y = y.t;
    args.scale = s.t;
    const ssq_copy_args copy = {sizeof(copy), t.t, s.t};
    ssq_graph *graph = NULL;
    ssq_status st = ssq_graph_begin(b->queue);
    if (st == SSQ_OK)
        st = ssq_scale(b->queue, &args);
    if (st == SSQ_OK)
        st = ssq_graph_end(b->queue, &graph);
    for (int k = 0; k < 2 && st == SSQ_OK && !b->failed; k++) {
        double want[N];
        if (k == 1)
            st = ssq_copy(b->queue, &copy);
        if (st == SSQ_OK)
            st = ssq_graph_launch(b->queue, graph);
        harness_read(b, &y);
        for (int i = 0; i < N; i++)
            want[i] = x.value[i] * values[k];
        harness_ulps(b, &y, want, 0);
    }
    ssq_graph_destroy(&graph);
    return st == SSQ_OK || harness_fail(b, "%s", ssq_last_error());
}

#define MISUSES 5
static bool scale_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "scale: x is NULL",
        "scale: x is i32, expected f32, f16, bf16",
        "scale: scale is f16, expected f32",
        "scale: scale has 7 elements, expected 1",
        "scale: y overlaps scale",
    };
    const int64_t shape[] = {7};
    struct operand x, i, h, y, one;
    harness_input(b, &x, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &i, SSQ_I32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &h, SSQ_F16, 0, NULL, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 1, shape, LAYOUT_DENSE);
    harness_output(b, &one, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    const ssq_tensor *calls[MISUSES][3] = {{NULL, y.t, NULL},
                                           {i.t, y.t, NULL},
                                           {x.t, y.t, h.t},
                                           {x.t, y.t, x.t},
                                           {one.t, one.t, one.t}};
    ssq_scale_args args = SSQ_SCALE_INIT;
    args.x = calls[k][0];
    args.y = calls[k][1];
    args.scale = calls[k][2];
    if (b->failed || b->skipped)
        return true;
    uint32_t before = y.bits[0];
    harness_refused(b, SSQ_ERR_INVALID, ssq_scale(b->queue, &args));
    if (!b->failed && strcmp(ssq_last_error(), text[k]) != 0)
        harness_fail(b, "\"%s\" is not \"%s\"", ssq_last_error(), text[k]);
    harness_read(b, &y);
    return b->failed || y.bits[0] == before || harness_fail(b, "y was written");
}

static void scale_describe(size_t i, char *text, size_t bytes)
{
    if (i < VARIANTS)
        snprintf(text, bytes, "scale %s, alpha %g, scale %g", variants[i].text,
                 variants[i].alpha, variants[i].scale);
    else if (i == VARIANTS)
        snprintf(text, bytes, "scale in a graph reads the scale at launch");
    else
        snprintf(text, bytes, "scale misuse %zu is refused", i - VARIANTS - 1);
}

static bool scale_run(struct harness *b, size_t i)
{
    if (i < VARIANTS)
        return scale_run_variant(b, &variants[i]);
    return i == VARIANTS ? scale_run_graph(b)
                         : scale_run_misuse(b, i - VARIANTS - 1);
}

const struct suite scale_suite = {.op = "scale",
                                  .name = "scale",
                                  .n = VARIANTS + 1 + MISUSES,
                                  .describe = scale_describe,
                                  .run = scale_run,
                                  .bit_equal = true,
                                  .floor = 36};
