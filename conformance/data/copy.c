/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - cases of copy, transpose, concat and slice-assign. */
#include "conformance/case.h"

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32, SSQ_U8};

static const struct shape shapes[] = {
    {0, {0}},    {1, {1}},    {1, {7}},
    {2, {3, 5}}, {2, {0, 4}}, {6, {2, 3, 4, 1, 2, 3}},
};

static const enum layout pairs[][2] = {
    {LAYOUT_DENSE, LAYOUT_DENSE},
    {LAYOUT_TRANSPOSED, LAYOUT_DENSE},
    {LAYOUT_PADDED, LAYOUT_TRANSPOSED},
    {LAYOUT_BROADCAST, LAYOUT_PADDED},
};

/* Any bits at all: NaN payloads must survive. */
static void raw_input(struct harness *b, struct operand *x, ssq_dtype dtype,
                      const struct shape *s, enum layout layout)
{
    int64_t n = shape_elements(s);
    uint32_t *bits = harness_alloc(b, (size_t)n * sizeof(uint32_t));
    uint32_t mask = 0xffffffffu >> (32 - ssq_dtype_bits(dtype));
    for (int64_t i = 0; i < n; i++)
        bits[i] = (uint32_t)(harness_uniform(b) * 4294967296.0) & mask;
    if (n > 1 && dtype != SSQ_U8)
        bits[1] = mask >> 1; /* a NaN of every float dtype */
    harness_raw(b, x, dtype, s->rank, s->d, layout, bits);
}

#define COPIES (COUNT(dtypes) * COUNT(shapes) * COUNT(pairs))

struct copy_choice {
    ssq_dtype dtype;
    struct shape shape;
    const enum layout *layout;
};

static struct copy_choice copy_choose(size_t i)
{
    struct copy_choice c;
    c.dtype = dtypes[pick(&i, COUNT(dtypes))];
    c.shape = shapes[pick(&i, COUNT(shapes))];
    c.layout = pairs[i];
    return c;
}

static bool run_copy(struct harness *b, size_t i)
{
    struct copy_choice c = copy_choose(i);
    struct operand x, y;
    raw_input(b, &x, c.dtype, &c.shape, c.layout[0]);
    harness_output(b, &y, c.dtype, c.shape.rank, c.shape.d, c.layout[1]);
    ssq_copy_args args = SSQ_COPY_INIT;
    args.x = x.t;
    args.y = y.t;
    b->bytes = 2.0 * (double)x.n * ssq_dtype_bits(c.dtype) / 8.0;
    HARNESS_OP(b, ssq_copy(b->queue, &args));
    harness_read(b, &y);
    return harness_raw_equal(b, &y, x.bits) && harness_unchanged(b, &x) &&
           harness_same(b, &y);
}

/* x [5,1] to y [2,5,3]: leading and inner dimensions repeat. */
static bool run_broadcast(struct harness *b)
{
    const struct shape sx = {2, {5, 1}}, sy = {3, {2, 5, 3}};
    struct operand x, y;
    raw_input(b, &x, SSQ_F16, &sx, LAYOUT_PADDED);
    harness_output(b, &y, SSQ_F16, 3, sy.d, LAYOUT_TRANSPOSED);
    ssq_copy_args args = SSQ_COPY_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_copy(b->queue, &args));
    harness_read(b, &y);
    uint32_t want[30];
    for (int i = 0; i < 30; i++)
        want[i] = x.bits[i / 3 % 5];
    return harness_raw_equal(b, &y, want);
}

/* Column slices of one buffer: their ranges overlap, their elements do not. */
static bool run_columns(struct harness *b)
{
    const struct shape s = {2, {4, 6}};
    struct operand m;
    raw_input(b, &m, SSQ_F32, &s, LAYOUT_DENSE);
    uint32_t want[24];
    for (int i = 0; i < 24; i++)
        want[i] = i % 6 >= 3 ? m.bits[i - 3] : m.bits[i];
    ssq_tensor *left = NULL, *right = NULL;
    harness_status(b, ssq_tensor_slice(m.t, 1, 0, 3, 1, &left));
    harness_status(b, ssq_tensor_slice(m.t, 1, 3, 6, 1, &right));
    ssq_copy_args args = SSQ_COPY_INIT;
    args.x = left;
    args.y = right;
    HARNESS_OP(b, ssq_copy(b->queue, &args));
    ssq_tensor_destroy(&left);
    ssq_tensor_destroy(&right);
    harness_read(b, &m);
    return harness_raw_equal(b, &m, want);
}

static bool copy_run_refused(struct harness *b)
{
    const int64_t six = 6, two_three[] = {2, 3}, four = 4;
    struct operand x, y, h, m;
    harness_input(b, &x, SSQ_F32, 1, &six, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, two_three, LAYOUT_DENSE);
    harness_output(b, &h, SSQ_F16, 1, &six, LAYOUT_DENSE);
    harness_output(b, &m, SSQ_F32, 1, &four, LAYOUT_DENSE);
    ssq_copy_args a = SSQ_COPY_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_copy(b->queue, &a), "x is NULL");
    a.x = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_copy(b->queue, &a), "y is NULL");
    a.y = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_copy(b->queue, &a),
                       "x is [6], which does not broadcast to y, [2,3]");
    a.y = h.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_copy(b->queue, &a),
                       "y is f16, expected f32");
    ssq_tensor *low = NULL, *high = NULL;
    harness_status(b, ssq_tensor_slice(x.t, 0, 0, 4, 1, &low));
    harness_status(b, ssq_tensor_slice(x.t, 0, 2, 6, 1, &high));
    a.x = low;
    a.y = high;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_copy(b->queue, &a), "overlaps");
    a.y = low;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_copy(b->queue, &a), "overlaps");
    ssq_tensor_destroy(&low);
    ssq_tensor_destroy(&high);
    return harness_unchanged(b, &x) && harness_unchanged(b, &y) &&
           harness_unchanged(b, &h) && harness_unchanged(b, &m);
}

/* Offset of dense element i of a shape, seen through axes. */
static int64_t permuted(const struct shape *s, const int *axes, int64_t i)
{
    int64_t index[SSQ_MAX_RANK] = {0}, at = 0;
    for (int k = s->rank - 1; k >= 0; k--) {
        index[axes[k]] = i % s->d[axes[k]];
        i /= s->d[axes[k]];
    }
    for (int k = 0; k < s->rank; k++)
        at = at * s->d[k] + index[k];
    return at;
}

static const struct {
    struct shape shape;
    int axes[SSQ_MAX_RANK]; /* as given */
    int real[SSQ_MAX_RANK]; /* as dimensions */
    bool none;              /* no axes are named */
} transposes[] = {
    {{2, {3, 5}}, {1, 0}, {1, 0}, false},
    {{2, {3, 5}}, {-2, -1}, {0, 1}, false},
    {{3, {2, 3, 4}}, {2, 0, 1}, {2, 0, 1}, false},
    {{3, {2, 3, 4}}, {0}, {2, 1, 0}, true},
    {{6, {2, 3, 1, 2, 2, 3}}, {5, 2, 0, 4, 1, 3}, {5, 2, 0, 4, 1, 3}, false},
    {{2, {0, 5}}, {1, 0}, {1, 0}, false},
    {{0, {0}}, {0}, {0}, true},
};

#define TRANSPOSES (COUNT(transposes) * 3)

static bool run_transpose(struct harness *b, size_t i)
{
    const ssq_dtype dtype = dtypes[i % 3];
    const size_t k = i / 3;
    const struct shape *s = &transposes[k].shape;
    struct shape t = {s->rank, {0}};
    for (int d = 0; d < s->rank; d++)
        t.d[d] = s->d[transposes[k].real[d]];
    struct operand x, y;
    raw_input(b, &x, dtype, s, LAYOUT_PADDED);
    harness_output(b, &y, dtype, t.rank, t.d, LAYOUT_DENSE);
    ssq_transpose_args args = SSQ_TRANSPOSE_INIT;
    args.x = x.t;
    args.y = y.t;
    if (!transposes[k].none)
        memcpy(args.axes, transposes[k].axes, sizeof(args.axes));
    HARNESS_OP(b, ssq_transpose(b->queue, &args));
    harness_read(b, &y);
    uint32_t *want = harness_alloc(b, (size_t)y.n * sizeof(uint32_t));
    for (int64_t e = 0; e < y.n; e++)
        want[e] = x.bits[permuted(s, transposes[k].real, e)];
    return harness_raw_equal(b, &y, want) && harness_same(b, &y);
}

static bool run_transpose_refused(struct harness *b)
{
    const int64_t s[] = {2, 3};
    struct operand x, y, h;
    harness_input(b, &x, SSQ_F32, 2, s, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, (const int64_t[]){3, 2}, LAYOUT_DENSE);
    harness_output(b, &h, SSQ_F16, 2, (const int64_t[]){3, 2}, LAYOUT_DENSE);
    ssq_transpose_args a = SSQ_TRANSPOSE_INIT;
    a.x = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_transpose(b->queue, &a),
                       "y is NULL");
    a.y = y.t;
    a.axes[0] = a.axes[1] = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_transpose(b->queue, &a),
                       "dimension 1 twice");
    a.axes[0] = 0;
    a.axes[1] = 2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_transpose(b->queue, &a),
                       "axis 2 of rank 2");
    a.axes[1] = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_transpose(b->queue, &a),
                       "x permuted is [2,3], y is [3,2]");
    a.axes[1] = 0;
    a.y = h.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_transpose(b->queue, &a),
                       "y is f16");
    return harness_unchanged(b, &y) && harness_unchanged(b, &h);
}

#define FIXED 4 /* cases without a table */

static void copy_describe(size_t i, char *text, size_t bytes)
{
    static const char *const fixed[] = {
        "copy f16 5x1 broadcast to 2x5x3",
        "copy f32 between column slices of one buffer", "copy refuses misuse",
        "transpose refuses misuse"};
    char shape[64];
    if (i < COPIES) {
        struct copy_choice c = copy_choose(i);
        snprintf(text, bytes, "copy %s %s %s to %s", ssq_dtype_name(c.dtype),
                 shape_text(&c.shape, shape, sizeof(shape)),
                 layout_text(c.layout[0]), layout_text(c.layout[1]));
        return;
    }
    i -= COPIES;
    if (i < TRANSPOSES) {
        const int *a = transposes[i / 3].real;
        snprintf(text, bytes, "transpose %s %s by %d%d%d%d%d%d",
                 ssq_dtype_name(dtypes[i % 3]),
                 shape_text(&transposes[i / 3].shape, shape, sizeof(shape)),
                 a[0], a[1], a[2], a[3], a[4], a[5]);
        return;
    }
    snprintf(text, bytes, "%s", fixed[i - TRANSPOSES]);
}

static bool copy_run(struct harness *b, size_t i)
{
    if (i < COPIES)
        return run_copy(b, i);
    if (i < COPIES + TRANSPOSES)
        return run_transpose(b, i - COPIES);
    switch (i - COPIES - TRANSPOSES) {
    case 0:
        return run_broadcast(b);
    case 1:
        return run_columns(b);
    case 2:
        return copy_run_refused(b);
    default:
        return run_transpose_refused(b);
    }
}

const struct suite copy_suite = {.op = "copy",
                                 .name = "copy",
                                 .n = COPIES + TRANSPOSES + FIXED,
                                 .describe = copy_describe,
                                 .run = copy_run,
                                 .bit_equal = true,
                                 .subnormals = true,
                                 .floor = 290};
