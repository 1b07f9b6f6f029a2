/* SPDX-License-Identifier: Apache-2.0 */
/* index_check.c - cases of indices out of range: exact. */
#include "conformance/case.h"

static const struct {
    struct shape shape;
    int64_t n, ignore;
    enum layout layout;
    double wrong; /* how many of the elements are drawn out of range */
} rows[] = {
    {{1, {7}}, 2, INT64_MIN, LAYOUT_DENSE, 1.0},
    {{0}, 10, -100, LAYOUT_DENSE, 1.0},
    {{0}, 10, -100, LAYOUT_DENSE, 0.0},
    {{1, {64}}, 10, -100, LAYOUT_DENSE, 0.0},
    {{1, {65}}, 10, -100, LAYOUT_PADDED, 0.1},
    {{2, {31, 5}}, 3, 7, LAYOUT_TRANSPOSED, 0.5},
    {{3, {5, 3, 7}}, 26, -1, LAYOUT_PADDED, 0.02},
    {{6, {2, 3, 1, 2, 3, 5}}, 5, 3, LAYOUT_TRANSPOSED, 0.1},
    {{2, {9, 4}}, 0, -100, LAYOUT_BROADCAST, 0.5},
    {{1, {5}}, INT32_MAX, INT64_MAX, LAYOUT_DENSE, 0.5},
    {{1, {0}}, 4, -100, LAYOUT_DENSE, 1.0},
    {{1, {8192}}, 10, -100, LAYOUT_DENSE, 0.001},
    {{1, {8193}}, 10, -100, LAYOUT_DENSE, 0.001},
    {{2, {67, 301}}, 10, 11, LAYOUT_TRANSPOSED, 0.0005},
    {{1, {20000}}, 10, -100, LAYOUT_DENSE, 0.0},
};

/* Beside the range, far away, or ignored. */
static double draw_wrong(struct harness *b, int64_t n, int64_t ignore)
{
    const double far[] = {-1.0, -2147483648.0, 2147483647.0, (double)n};
    size_t k = (size_t)floor(harness_uniform(b) * 5.0);
    double x = k < 4 ? far[k] : (double)ignore;
    return x < -2147483648.0 || x > 2147483647.0 ? -1.0 : x;
}

static void index_check_draw(struct harness *b, size_t i, double *value,
                             int64_t elements)
{
    for (int64_t k = 0; k < elements; k++)
        value[k] = harness_uniform(b) < rows[i].wrong || rows[i].n == 0
                       ? draw_wrong(b, rows[i].n, rows[i].ignore)
                       : floor(harness_uniform(b) * (double)rows[i].n);
}

/* Twice: the second call adds to what the first has counted. */
static bool index_check_run_row(struct harness *b, size_t i)
{
    const struct shape *s = &rows[i].shape;
    const double before[] = {5.0, -2.0, -3.0, -4.0};
    const int64_t words = 4;
    double want[4];
    double *value =
        harness_alloc(b, (size_t)shape_elements(s) * sizeof(*value));
    struct operand index, record;
    index_check_draw(b, i, value, shape_elements(s));
    harness_values(b, &index, SSQ_I32, s->rank, s->d, rows[i].layout, value);
    harness_values(b, &record, SSQ_I32, 1, &words, LAYOUT_DENSE, before);
    ssq_index_check_args a = SSQ_INDEX_CHECK_INIT;
    a.index = index.t;
    a.record = record.t;
    a.n = rows[i].n;
    a.ignore_index = rows[i].ignore;
    HARNESS_OP(b, ssq_index_check(b->queue, &a));
    HARNESS_OP(b, ssq_index_check(b->queue, &a));
    harness_read(b, &record);
    memcpy(want, before, sizeof(want));
    double count = 0.0;
    for (int64_t k = 0; k < index.n; k++) {
        double x = index.value[k];
        if ((x >= 0.0 && x < (double)rows[i].n) || x == (double)rows[i].ignore)
            continue;
        if (count++ == 0.0) {
            want[1] = (double)k;
            want[2] = x;
            want[3] = (double)rows[i].n;
        }
    }
    want[0] += 2.0 * count;
    return harness_exact(b, &record, want) && harness_same(b, &record) &&
           harness_unchanged(b, &index);
}

static void index_check_refuse(struct harness *b, const ssq_index_check_args *a,
                               const char *words)
{
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_index_check(b->queue, a), words);
}

static bool index_check_run_refused(struct harness *b)
{
    const int64_t n = 4, five = 5;
    struct operand index, record, wide, f;
    harness_input(b, &index, SSQ_I32, 1, &n, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &f, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_ZERO);
    harness_output(b, &record, SSQ_I32, 1, &n, LAYOUT_DENSE);
    harness_output(b, &wide, SSQ_I32, 1, &five, LAYOUT_DENSE);
    ssq_index_check_args a = SSQ_INDEX_CHECK_INIT;
    index_check_refuse(b, &a, "index is NULL");
    a.index = index.t;
    index_check_refuse(b, &a, "record is NULL");
    a.record = wide.t;
    index_check_refuse(b, &a, "record is [5], expected a contiguous [4]");
    a.record = f.t;
    index_check_refuse(b, &a, "record is f32, expected i32");
    a.record = index.t;
    index_check_refuse(b, &a, "record overlaps index");
    a.record = record.t;
    a.n = -1;
    index_check_refuse(b, &a, "n is -1, expected 0 to 2147483647");
    a.n = INT64_C(1) << 31;
    index_check_refuse(b, &a, "n is 2147483648, expected 0 to 2147483647");
    a.n = 3;
    a.struct_size = 0;
    index_check_refuse(b, &a, "struct_size is 0");
    return harness_unchanged(b, &record);
}

static void index_check_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i == COUNT(rows))
        snprintf(text, bytes, "index_check refuses misuse");
    else
        snprintf(text, bytes,
                 "index_check %s %s of %lld, %g out of range, "
                 "ignored %lld",
                 shape_text(&rows[i].shape, shape, sizeof(shape)),
                 layout_text(rows[i].layout), (long long)rows[i].n,
                 rows[i].wrong, (long long)rows[i].ignore);
}

static bool index_check_run(struct harness *b, size_t i)
{
    return i < COUNT(rows) ? index_check_run_row(b, i)
                           : index_check_run_refused(b);
}

const struct suite index_check_suite = {.op = "index_check",
                                        .name = "index_check",
                                        .n = COUNT(rows) + 1,
                                        .describe = index_check_describe,
                                        .run = index_check_run,
                                        .bit_equal = true,
                                        .floor = 30};
