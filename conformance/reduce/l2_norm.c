/* SPDX-License-Identifier: Apache-2.0 */
/* l2_norm.c - cases of the L2 norm: accuracy over the whole range of float32,
 * and the promised order of its sums, bit for bit. */
#include "conformance/case.h"

#include "conformance/bounds.h"

#include <stdlib.h>

static const int64_t lengths[] = {1,
                                  2,
                                  7,
                                  255,
                                  256,
                                  257,
                                  1009,
                                  16383,
                                  16384,
                                  16385,
                                  32769,
                                  70001,
                                  16384 * 257 + 3};

static const enum fill fills[] = {FILL_NORMAL, FILL_HUGE, FILL_TINY, FILL_ZERO};

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

struct l2_norm_choice {
    int64_t n;
    ssq_dtype dtype;
    enum fill fill;
    bool spread; /* magnitudes over all of the dtype's range instead */
};

#define SHORT (COUNT(lengths) - 1) /* the longest runs once */
#define TABLE (SHORT * COUNT(dtypes) * (COUNT(fills) + 1) + 1)

static struct l2_norm_choice l2_norm_choose(size_t i)
{
    struct l2_norm_choice c = {.n = lengths[SHORT], .dtype = SSQ_F16};
    if (i == TABLE - 1)
        return c;
    c.dtype = dtypes[pick(&i, COUNT(dtypes))];
    size_t fill = pick(&i, COUNT(fills) + 1);
    c.spread = fill == COUNT(fills);
    c.fill = c.spread ? FILL_NORMAL : fills[fill];
    c.n = lengths[i];
    return c;
}

/* Independent text of the order in ops/reduce.h and kernels/reduce/norm.h, over
 * a whole array at a time. v is overwritten. */
static float l2_norm_fold(float *v, int64_t n)
{
    while (n > 1) {
        int64_t chunks = (n + 16383) / 16384;
        for (int64_t c = 0; c < chunks; c++) {
            float lane[256] = {0};
            int64_t end = (c + 1) * 16384 < n ? (c + 1) * 16384 : n;
            for (int64_t i = c * 16384; i < end; i++)
                lane[i % 256] += v[i];
            for (int s = 128; s > 0; s /= 2)
                for (int l = 0; l < s; l++)
                    lane[l] += lane[l + s];
            v[c] = lane[0];
        }
        n = chunks;
    }
    return n == 0 ? 0.0f : v[0];
}

/* The three sums apart, joined and unscaled: the promised bits. */
static float l2_norm_ordered(const double *x, int64_t n)
{
    static const float scale[] = {0x1p88f, 1.0f, 0x1p-88f};
    float *v = calloc((size_t)n + 1, sizeof(float)), total[3];
    if (v == NULL)
        abort();
    for (int c = 0; c < 3; c++) {
        for (int64_t i = 0; i < n; i++) {
            double a = fabs(x[i]);
            int class = a >= 0x1p40 ? 2 : a < 0x1p-50 ? 0 : 1;
            float y = (float)x[i] * scale[class];
            v[i] = class == c ? y * y : 0.0f;
        }
        total[c] = l2_norm_fold(v, n);
    }
    free(v);
    if (total[2] > 0)
        return sqrtf(total[2] + total[1] * 0x1p-88f * 0x1p-88f) * 0x1p88f;
    if (total[1] > 0)
        return sqrtf(total[1] + total[0] * 0x1p-88f * 0x1p-88f);
    return sqrtf(total[0]) * 0x1p-88f;
}

/* The norm in long double: 15 bits of exponent cannot overflow, and 11 more
 * bits of significand make its own error vanish in the bound. */
static double truth(const double *x, int64_t n)
{
    long double sum = 0.0L;
    for (int64_t i = 0; i < n; i++)
        sum += (long double)x[i] * (long double)x[i];
    return (double)sqrtl(sum);
}

static void spread_input(struct harness *b, struct operand *x, ssq_dtype d,
                         int64_t n)
{
    double *value = harness_alloc(b, (size_t)n * sizeof(double));
    int low = d == SSQ_F16 ? -24 : d == SSQ_BF16 ? -133 : -149;
    int high = d == SSQ_F16 ? 15 : 120; /* 120: the norm itself stays finite */
    for (int64_t i = 0; i < n; i++) {
        double e = low + harness_uniform(b) * (high - low);
        value[i] = (harness_uniform(b) < 0.5 ? -1.0 : 1.0) * exp2(e);
    }
    harness_values(b, x, d, 1, &n, LAYOUT_DENSE, value);
}

static bool l2_norm_compare(struct harness *b, struct operand *x,
                            struct operand *y)
{
    bool fresh;
    double *want = harness_keep(b, 0, 2, &fresh);
    if (fresh) {
        want[0] = truth(x->value, x->n);
        want[1] = (double)l2_norm_ordered(x->value, x->n);
    }
    return harness_exact(b, y, &want[1]) &&
           harness_bound1(b, y, want, bound_norm((double)x->n, want[0])) &&
           harness_same(b, y);
}

static bool l2_norm_run_table(struct harness *b, size_t i)
{
    struct l2_norm_choice c = l2_norm_choose(i);
    struct operand x, y;
    if (c.spread)
        spread_input(b, &x, c.dtype, c.n);
    else
        harness_input(b, &x, c.dtype, 1, &c.n, LAYOUT_DENSE, c.fill);
    harness_output(b, &y, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    ssq_norm_args args = SSQ_NORM_INIT;
    args.x = x.t;
    args.y = y.t;
    b->bytes = (double)x.n * ssq_dtype_bits(c.dtype) / 8.0;
    HARNESS_OP(b, ssq_norm(b->queue, &args));
    harness_read(b, &y);
    return l2_norm_compare(b, &x, &y);
}

/* Values at the borders: single ones return exactly, also the least
 * subnormal and the largest; two of those overflow only together. */
static const struct {
    int n;
    double x[4], norm;
} borders[] = {
    {1, {0x1p-149}, 0x1p-149},
    {1, {-0x1p-149}, 0x1p-149},
    {1, {0x1.FFFFFEp127}, 0x1.FFFFFEp127},
    {1, {-0.0}, 0.0},
    {2, {0x1.FFFFFEp127, 0x1.FFFFFEp127}, (double)INFINITY},
    {2, {3 * 0x1p100, -4 * 0x1p100}, 5 * 0x1p100},
    {2, {3 * 0x1p-140, 4 * 0x1p-140}, 5 * 0x1p-140},
    {4, {3 * 0x1p-52, 4 * 0x1p-52, 0, 0}, 5 * 0x1p-52},
    {4, {3 * 0x1p39, 4 * 0x1p39, 0, -0.0}, 5 * 0x1p39},
    {3, {0x1p40, 0x1p-149, 0x1p-60}, 0x1p40},
    {3, {1, (double)INFINITY, 2}, (double)INFINITY},
    {3, {1, -(double)INFINITY, (double)INFINITY}, (double)INFINITY},
    {3, {1, (double)NAN, (double)INFINITY}, (double)NAN},
    {3, {(double)NAN, 0x1p127, 0x1p127}, (double)NAN},
    {0, {0}, 0.0},
};

static bool run_border(struct harness *b, size_t i)
{
    const int64_t n = borders[i].n, one = 1;
    struct operand x, y;
    harness_values(b, &x, SSQ_F32, 1, &n, LAYOUT_PADDED, borders[i].x);
    harness_output(b, &y, SSQ_F32, 1, &one, LAYOUT_PADDED);
    ssq_norm_args args = SSQ_NORM_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_norm(b->queue, &args));
    harness_read(b, &y);
    if (isnan(borders[i].norm) && !b->failed && !b->bench &&
        y.bits[0] != 0x7fc00000)
        return harness_fail(b, "the NaN is 0x%x", (unsigned)y.bits[0]);
    return harness_exact(b, &y, &borders[i].norm) && harness_same(b, &y);
}

/* The order is the elements', not of memory: strides change no bit. */
static bool l2_norm_run_strided(struct harness *b, enum layout layout)
{
    const int64_t shape[] = {7, 11, 431};
    struct operand x, y;
    harness_input(b, &x, SSQ_F32, 3, shape, layout, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    ssq_norm_args args = SSQ_NORM_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_norm(b->queue, &args));
    harness_read(b, &y);
    return l2_norm_compare(b, &x, &y) && harness_unchanged(b, &x);
}

static bool l2_norm_run_refused(struct harness *b)
{
    const int64_t n = 3;
    struct operand x, y, i, h;
    harness_input(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &i, SSQ_I32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &h, SSQ_F16, 0, NULL, LAYOUT_DENSE);
    ssq_norm_args a = SSQ_NORM_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_norm(b->queue, &a), "x is NULL");
    a.x = i.t;
    a.y = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_norm(b->queue, &a), "x is i32");
    a.x = x.t;
    a.y = h.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_norm(b->queue, &a), "y is f16");
    a.y = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_norm(b->queue, &a), "overlaps");
    a.x = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_norm(b->queue, &a),
                       "y has 3 elements, expected 1");
    return harness_unchanged(b, &y) && harness_unchanged(b, &h) &&
           harness_unchanged(b, &x);
}

#define AT_STRIDED (TABLE + COUNT(borders))
#define LAYOUTS    4

static void l2_norm_describe(size_t i, char *text, size_t bytes)
{
    if (i < TABLE) {
        struct l2_norm_choice c = l2_norm_choose(i);
        snprintf(text, bytes, "norm %s of %lld %s", ssq_dtype_name(c.dtype),
                 (long long)c.n,
                 c.spread ? "of all magnitudes" : fill_text(c.fill));
    } else if (i < AT_STRIDED) {
        i -= TABLE;
        snprintf(text, bytes, "norm f32 of %d is %g: %g %g %g", borders[i].n,
                 borders[i].norm, borders[i].x[0], borders[i].x[1],
                 borders[i].x[2]);
    } else if (i < AT_STRIDED + LAYOUTS) {
        snprintf(text, bytes, "norm f32 7x11x431 %s",
                 layout_text((enum layout)(i - AT_STRIDED)));
    } else {
        snprintf(text, bytes, "norm refuses misuse");
    }
}

static bool l2_norm_run(struct harness *b, size_t i)
{
    if (i < TABLE)
        return l2_norm_run_table(b, i);
    if (i < AT_STRIDED)
        return run_border(b, i - TABLE);
    if (i < AT_STRIDED + LAYOUTS)
        return l2_norm_run_strided(b, (enum layout)(i - AT_STRIDED));
    return l2_norm_run_refused(b);
}

const struct suite l2_norm_suite = {.op = "norm",
                                    .name = "l2_norm",
                                    .n = AT_STRIDED + LAYOUTS + 1,
                                    .describe = l2_norm_describe,
                                    .run = l2_norm_run,
                                    .bit_equal = true,
                                    .floor = 402};
