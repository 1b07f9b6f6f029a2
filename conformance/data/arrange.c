/* SPDX-License-Identifier: Apache-2.0 */
/* arrange.c - cases of concat and slice-assign. */
#include "conformance/case.h"

#define PIECES 4

/* Pieces along an axis of y: rows of sizes. */
static const struct {
    struct shape y;
    int axis; /* as given */
    int real;
    int n;
    int64_t size[PIECES];
    ssq_dtype x, to;
    enum layout layout;
} concats[] = {
    {{1, {9}}, 0, 0, 3, {4, 0, 5}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{2, {5, 7}}, 0, 0, 2, {2, 3}, SSQ_F16, SSQ_F16, LAYOUT_TRANSPOSED},
    {{2, {5, 7}}, -1, 1, 3, {1, 4, 2}, SSQ_BF16, SSQ_BF16, LAYOUT_PADDED},
    {{3, {2, 7, 3}}, 1, 1, 2, {3, 4}, SSQ_I32, SSQ_I32, LAYOUT_DENSE},
    {{3, {2, 3, 6}}, 2, 2, 4, {1, 1, 3, 1}, SSQ_U8, SSQ_U8, LAYOUT_DENSE},
    {{2, {4, 5}}, 1, 1, 2, {2, 3}, SSQ_F16, SSQ_F32, LAYOUT_DENSE},
    {{2, {4, 5}}, 0, 0, 2, {1, 3}, SSQ_F32, SSQ_BF16, LAYOUT_PADDED},
    {{2, {0, 5}}, 1, 1, 2, {2, 3}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{2, {3, 5}}, 0, 0, 1, {3}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
};

static bool run_concat(struct harness *b, size_t i)
{
    struct operand x[PIECES], y;
    const ssq_tensor *list[PIECES] = {NULL};
    const struct shape *s = &concats[i].y;
    for (int k = 0; k < concats[i].n; k++) {
        struct shape piece = *s;
        piece.d[concats[i].real] = concats[i].size[k];
        harness_input(b, &x[k], concats[i].x, piece.rank, piece.d,
                      concats[i].layout, FILL_SPECIAL);
        list[k] = x[k].t;
    }
    harness_output(b, &y, concats[i].to, s->rank, s->d, concats[i].layout);
    ssq_concat_args args = SSQ_CONCAT_INIT;
    args.x = list;
    args.n = (size_t)concats[i].n;
    args.y = y.t;
    args.axis = concats[i].axis;
    HARNESS_OP(b, ssq_concat(b->queue, &args));
    harness_read(b, &y);
    int64_t inner = 1;
    for (int d = concats[i].real + 1; d < s->rank; d++)
        inner *= s->d[d];
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    for (int64_t e = 0; e < y.n; e++) {
        int64_t at = e / inner % s->d[concats[i].real];
        int64_t outer = e / inner / s->d[concats[i].real];
        int k = 0;
        for (; at >= concats[i].size[k]; k++)
            at -= concats[i].size[k];
        int64_t from = (outer * concats[i].size[k] + at) * inner + e % inner;
        want[e] = harness_round(x[k].value[from], y.dtype);
    }
    return harness_exact(b, &y, want) && harness_same(b, &y);
}

static bool run_concat_refused(struct harness *b)
{
    struct operand x, y, h;
    harness_input(b, &x, SSQ_F32, 2, (const int64_t[]){2, 3}, LAYOUT_DENSE,
                  FILL_NORMAL);
    harness_input(b, &h, SSQ_F32, 2, (const int64_t[]){2, 4}, LAYOUT_DENSE,
                  FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, (const int64_t[]){4, 3}, LAYOUT_DENSE);
    const ssq_tensor *list[] = {x.t, x.t, x.t, h.t, NULL, y.t};
    ssq_concat_args a = SSQ_CONCAT_INIT;
    a.y = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "x is NULL");
    a.x = list;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a), "n is 0");
    a.n = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "2 short of y, 4 along dimension 0");
    a.n = 3;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "x[0] to x[2] are longer than y");
    a.axis = 2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "axis 2 of rank 2");
    a.axis = 0;
    a.x = list + 2;
    a.n = 2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "x[1] is [2,4], y is [4,3]");
    a.x = list + 4;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "x[0] is NULL");
    a.x = list + 5;
    a.n = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_concat(b->queue, &a),
                       "y overlaps x[0]");
    return harness_unchanged(b, &y);
}

static const struct {
    struct shape x, y;
    int64_t start[3], step[3];
    bool none; /* start and step are not named */
    ssq_dtype from, to;
    enum layout layout;
} slices[] = {
    {{1, {3}}, {1, {10}}, {2}, {3}, false, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{1, {10}}, {1, {10}}, {0}, {1}, true, SSQ_F16, SSQ_F16, LAYOUT_DENSE},
    {{2, {2, 3}},
     {2, {5, 7}},
     {1, 0},
     {2, 3},
     false,
     SSQ_BF16,
     SSQ_BF16,
     LAYOUT_PADDED},
    {{3, {1, 2, 2}},
     {3, {2, 4, 5}},
     {1, 2, 3},
     {1, 1, 1},
     false,
     SSQ_U8,
     SSQ_U8,
     LAYOUT_TRANSPOSED},
    {{2, {3, 2}},
     {2, {3, 4}},
     {0, 1},
     {1, 2},
     false,
     SSQ_F32,
     SSQ_F16,
     LAYOUT_DENSE},
    {{2, {0, 2}},
     {2, {3, 4}},
     {3, 1},
     {9, 2},
     false,
     SSQ_F32,
     SSQ_F32,
     LAYOUT_DENSE},
    {{1, {1}},
     {1, {4}},
     {3},
     {INT64_MAX},
     false,
     SSQ_I32,
     SSQ_I32,
     LAYOUT_DENSE},
};

static bool run_slice(struct harness *b, size_t i)
{
    struct operand x, y;
    const struct shape *sx = &slices[i].x, *sy = &slices[i].y;
    harness_input(b, &x, slices[i].from, sx->rank, sx->d, slices[i].layout,
                  FILL_SPECIAL);
    harness_input(b, &y, slices[i].to, sy->rank, sy->d, slices[i].layout,
                  FILL_SPECIAL);
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    memcpy(want, y.value, (size_t)y.n * sizeof(double));
    for (int64_t e = 0; e < x.n; e++) {
        int64_t rest = e, at = 0, pitch = 1;
        for (int d = sx->rank - 1; d >= 0; d--) {
            int64_t k = rest % sx->d[d];
            rest /= sx->d[d];
            if (!slices[i].none && k > 0)
                k *= slices[i].step[d];
            if (!slices[i].none)
                k += slices[i].start[d];
            at += k * pitch;
            pitch *= sy->d[d];
        }
        want[at] = harness_round(x.value[e], y.dtype);
    }
    ssq_slice_assign_args args = SSQ_SLICE_ASSIGN_INIT;
    args.x = x.t;
    args.y = y.t;
    if (!slices[i].none) {
        memcpy(args.start, slices[i].start, sizeof(slices[i].start));
        memcpy(args.step, slices[i].step, sizeof(slices[i].step));
    }
    HARNESS_OP(b, ssq_slice_assign(b->queue, &args));
    harness_read(b, &y);
    return harness_exact(b, &y, want) && harness_same(b, &y);
}

static bool run_slice_refused(struct harness *b)
{
    struct operand x, y, v;
    harness_input(b, &x, SSQ_F32, 2, (const int64_t[]){2, 3}, LAYOUT_DENSE,
                  FILL_NORMAL);
    harness_input(b, &v, SSQ_F32, 1, (const int64_t[]){3}, LAYOUT_DENSE,
                  FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, (const int64_t[]){4, 5}, LAYOUT_DENSE);
    ssq_slice_assign_args a = SSQ_SLICE_ASSIGN_INIT;
    a.x = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
                       "y is NULL");
    a.y = y.t;
    a.start[1] = -1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
                       "start -1");
    a.start[1] = 3;
    harness_refused_as(
        b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
        "3 elements from 3 in steps of 1 are outside dimension 1");
    a.start[1] = 4;
    a.step[1] = INT64_MAX;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
                       "outside dimension 1 of y, 5");
    a.start[1] = 0;
    a.step[1] = 0;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
                       "step 0");
    a.step[1] = 2;
    a.x = v.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
                       "x has rank 1, y has rank 2");
    a.x = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_slice_assign(b->queue, &a),
                       "y overlaps x");
    return harness_unchanged(b, &y) && harness_unchanged(b, &x);
}

static void arrange_describe(size_t i, char *text, size_t bytes)
{
    char x[64], y[64];
    if (i < COUNT(concats)) {
        snprintf(text, bytes, "concat %d of %s to %s %s %s along %d",
                 concats[i].n, ssq_dtype_name(concats[i].x),
                 ssq_dtype_name(concats[i].to),
                 shape_text(&concats[i].y, y, sizeof(y)),
                 layout_text(concats[i].layout), concats[i].axis);
        return;
    }
    i -= COUNT(concats);
    if (i < COUNT(slices)) {
        snprintf(text, bytes, "slice_assign %s %s into %s %s %s",
                 ssq_dtype_name(slices[i].from),
                 shape_text(&slices[i].x, x, sizeof(x)),
                 ssq_dtype_name(slices[i].to),
                 shape_text(&slices[i].y, y, sizeof(y)),
                 layout_text(slices[i].layout));
        return;
    }
    snprintf(text, bytes, "%s refuses misuse",
             i == COUNT(slices) ? "concat" : "slice_assign");
}

static bool arrange_run(struct harness *b, size_t i)
{
    if (i < COUNT(concats))
        return run_concat(b, i);
    i -= COUNT(concats);
    if (i < COUNT(slices))
        return run_slice(b, i);
    return i == COUNT(slices) ? run_concat_refused(b) : run_slice_refused(b);
}

const struct suite arrange_suite = {.op = "copy",
                                    .name = "arrange",
                                    .n = COUNT(concats) + COUNT(slices) + 2,
                                    .describe = arrange_describe,
                                    .run = arrange_run,
                                    .bit_equal = true,
                                    .subnormals = true,
                                    .floor = 36};
