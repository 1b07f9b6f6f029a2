/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot.c - cases of one-hot: axes, dtypes, indices that are not a class. */
#include "conformance/case.h"

static const struct {
    struct shape y;
    int axis, real;
    ssq_dtype dtype;
    double on, off;
    enum layout layout;
} rows[] = {
    {{2, {9, 4}}, -1, 1, SSQ_F32, 1.0, 0.0, LAYOUT_DENSE},
    {{2, {4, 9}}, 0, 0, SSQ_F16, 0.9, 0.0125, LAYOUT_PADDED},
    {{3, {5, 3, 7}}, 1, 1, SSQ_BF16, 1.0, -1.0, LAYOUT_TRANSPOSED},
    {{3, {2, 6, 5}}, -1, 2, SSQ_I32, 7.0, -7.0, LAYOUT_PADDED},
    {{1, {6}}, 0, 0, SSQ_U8, 1.0, 0.0, LAYOUT_DENSE},
    {{2, {3, 4}}, 1, 1, SSQ_U8, 300.0, -2.0, LAYOUT_DENSE},
    {{2, {3, 4}}, 1, 1, SSQ_F16, 65520.0, (double)NAN, LAYOUT_DENSE},
    {{2, {9, 0}}, -1, 1, SSQ_F32, 1.0, 0.0, LAYOUT_DENSE},
    {{2, {0, 4}}, -1, 1, SSQ_F32, 1.0, 0.0, LAYOUT_DENSE},
    {{6, {2, 3, 1, 2, 3, 5}}, 5, 5, SSQ_F32, 1.0, 0.0, LAYOUT_DENSE},
};

static double one_hot_converted(double value, ssq_dtype dtype)
{
    if (dtype == SSQ_U8)
        return fmin(fmax(value, 0.0), 255.0);
    return harness_round((double)(float)value, dtype);
}

static bool one_hot_run_row(struct harness *b, size_t i)
{
    const struct shape *s = &rows[i].y;
    struct shape t = {s->rank - 1, {0}};
    int64_t inner = 1, classes = s->d[rows[i].real];
    for (int d = 0, k = 0; d < s->rank; d++) {
        if (d != rows[i].real)
            t.d[k++] = s->d[d];
        if (d > rows[i].real)
            inner *= s->d[d];
    }
    int64_t n = shape_elements(&t);
    double *value = harness_alloc(b, (size_t)n * sizeof(double));
    for (int64_t k = 0; k < n; k++) /* one below and one above the classes */
        value[k] = floor(harness_uniform(b) * (double)(classes + 2)) - 1.0;
    struct operand index, y;
    harness_values(b, &index, SSQ_I32, t.rank, t.d, LAYOUT_PADDED, value);
    harness_output(b, &y, rows[i].dtype, s->rank, s->d, rows[i].layout);
    ssq_one_hot_args args = SSQ_ONE_HOT_INIT;
    args.index = index.t;
    args.y = y.t;
    args.axis = rows[i].axis;
    args.on = rows[i].on;
    args.off = rows[i].off;
    HARNESS_OP(b, ssq_one_hot(b->queue, &args));
    harness_read(b, &y);
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    for (int64_t k = 0; k < y.n; k++) {
        int64_t c = k / inner % classes, outer = k / inner / classes;
        bool on = index.value[outer * inner + k % inner] == (double)c;
        want[k] = one_hot_converted(on ? rows[i].on : rows[i].off, y.dtype);
    }
    return harness_exact(b, &y, want) && harness_same(b, &y);
}

static bool one_hot_run_refused(struct harness *b)
{
    const int64_t n = 3, good[] = {3, 4}, bad[] = {4, 4};
    struct operand index, y, z, f;
    harness_input(b, &index, SSQ_I32, 1, &n, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &f, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_ZERO);
    harness_output(b, &y, SSQ_F32, 2, good, LAYOUT_DENSE);
    harness_output(b, &z, SSQ_F32, 2, bad, LAYOUT_DENSE);
    ssq_one_hot_args a = SSQ_ONE_HOT_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_one_hot(b->queue, &a),
                       "index is NULL");
    a.index = index.t;
    a.y = z.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_one_hot(b->queue, &a),
                       "y is [4,4], expected index, [3], with the classes at "
                       "dimension 1");
    a.y = index.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_one_hot(b->queue, &a),
                       "overlaps");
    a.y = y.t;
    a.axis = 2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_one_hot(b->queue, &a),
                       "axis 2 of rank 2");
    a.axis = -1;
    a.index = f.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_one_hot(b->queue, &a),
                       "index is f32");
    return harness_unchanged(b, &y) && harness_unchanged(b, &z);
}

static void one_hot_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i == COUNT(rows))
        snprintf(text, bytes, "one_hot refuses misuse");
    else
        snprintf(text, bytes, "one_hot %s %s %s axis %d, %g and %g",
                 ssq_dtype_name(rows[i].dtype),
                 shape_text(&rows[i].y, shape, sizeof(shape)),
                 layout_text(rows[i].layout), rows[i].axis, rows[i].on,
                 rows[i].off);
}

static bool one_hot_run(struct harness *b, size_t i)
{
    return i < COUNT(rows) ? one_hot_run_row(b, i) : one_hot_run_refused(b);
}

const struct suite one_hot_suite = {.op = "one_hot",
                                    .name = "one_hot",
                                    .n = COUNT(rows) + 1,
                                    .describe = one_hot_describe,
                                    .run = one_hot_run,
                                    .bit_equal = true,
                                    .subnormals = true,
                                    .floor = 22};
