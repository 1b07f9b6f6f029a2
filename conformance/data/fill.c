/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c - cases of fill: every dtype, rounding, saturation, layouts. */
#include "conformance/case.h"

static const struct shape shapes[] = {
    {2, {5, 7}},
    {0, {0}},
    {2, {3, 0}},
    {6, {2, 1, 3, 1, 2, 5}},
};

static const double values[] = {
    0.0,    -0.0,         1.0,          -1.5,     0.1,  65519.999,
    65520., 3.4028236e38, -1e40,        NAN,      300., -5.7,
    254.9,  2147483648.0, -2147483649., 0x1p-150, 6e-8, INFINITY,
};

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32, SSQ_U8};

struct fill_choice {
    struct shape shape;
    double value;
    ssq_dtype dtype;
    enum layout layout;
};

static struct fill_choice fill_choose(size_t i)
{
    struct fill_choice c;
    c.value = values[pick(&i, COUNT(values))];
    c.dtype = dtypes[pick(&i, COUNT(dtypes))];
    c.layout = (enum layout)pick(&i, 3);
    c.shape = shapes[pick(&i, COUNT(shapes))];
    return c;
}

#define PRODUCT (COUNT(values) * COUNT(dtypes) * 3 * COUNT(shapes))

/* To float32 and then to the dtype; integers from the double itself. */
static double fill_converted(double value, ssq_dtype dtype)
{
    double low = dtype == SSQ_I32 ? -2147483648.0 : 0.0;
    double high = dtype == SSQ_I32 ? 2147483647.0 : 255.0;
    if (dtype != SSQ_I32 && dtype != SSQ_U8)
        return harness_round((double)(float)value, dtype);
    if (isnan(value))
        return 0.0;
    return trunc(fmin(fmax(value, low), high)) + 0.0;
}

static bool fill_run_refused(struct harness *b)
{
    const int64_t n = 3;
    struct operand x;
    harness_output(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE);
    ssq_tensor *wide = NULL;
    const int64_t one = 1, two[] = {2, 1};
    ssq_tensor *first = NULL;
    harness_status(b, ssq_tensor_slice(x.t, 0, 0, one, 1, &first));
    harness_status(b, ssq_tensor_broadcast(first, 2, two, &wide));
    ssq_fill_args a = SSQ_FILL_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_fill(b->queue, &a), "x is NULL");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_fill(b->queue, NULL), "args");
    a.x = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_fill(NULL, &a), "queue is NULL");
    a.struct_size--;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_fill(b->queue, &a),
                       "struct_size");
    a.struct_size++;
    a.x = wide;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_fill(b->queue, &a),
                       "share memory");
    ssq_tensor_destroy(&wide);
    ssq_tensor_destroy(&first);
    return harness_unchanged(b, &x);
}

static void fill_describe(size_t i, char *text, size_t bytes)
{
    struct fill_choice c = fill_choose(i);
    char shape[64];
    if (i == PRODUCT) {
        snprintf(text, bytes, "fill refuses misuse");
        return;
    }
    snprintf(text, bytes, "fill %s %s %s with %.9g", ssq_dtype_name(c.dtype),
             shape_text(&c.shape, shape, sizeof(shape)), layout_text(c.layout),
             c.value);
}

static bool data_fill_run(struct harness *b, size_t i)
{
    if (i == PRODUCT)
        return fill_run_refused(b);
    struct fill_choice c = fill_choose(i);
    struct operand x;
    harness_output(b, &x, c.dtype, c.shape.rank, c.shape.d, c.layout);
    double *want = harness_alloc(b, (size_t)x.n * sizeof(double));
    for (int64_t k = 0; k < x.n; k++)
        want[k] = fill_converted(c.value, c.dtype);
    ssq_fill_args args = SSQ_FILL_INIT;
    args.x = x.t;
    args.value = c.value;
    b->bytes = (double)x.n * ssq_dtype_bits(c.dtype) / 8.0;
    HARNESS_OP(b, ssq_fill(b->queue, &args));
    harness_read(b, &x);
    return harness_exact(b, &x, want) && harness_same(b, &x);
}

const struct suite fill_suite = {.op = "fill",
                                 .name = "fill",
                                 .n = PRODUCT + 1,
                                 .describe = fill_describe,
                                 .run = data_fill_run,
                                 .bit_equal = true,
                                 .subnormals = true,
                                 .floor = 2162};
