/* SPDX-License-Identifier: Apache-2.0 */
/* dropout.c - cases of dropout and its backward: exact, from our own Philox. */
#include "conformance/case.h"
#include "conformance/random/philox.h"

/* Words past 2^64 are the first ones again. */
static const struct {
    ssq_dtype x, y;
    struct shape shape;
    enum layout layout;
    uint64_t offset;
} fields[] = {
    {SSQ_F32, SSQ_F32, {1, {1009}}, LAYOUT_DENSE, 2},
    {SSQ_F16, SSQ_F16, {2, {17, 61}}, LAYOUT_PADDED, 2},
    {SSQ_BF16, SSQ_BF16, {3, {5, 7, 29}}, LAYOUT_TRANSPOSED, 2},
    {SSQ_F16, SSQ_F16, {2, {61, 17}}, LAYOUT_TRANSPOSED, 2},
    {SSQ_F32, SSQ_F16, {2, {8, 9}}, LAYOUT_DENSE, 2},
    {SSQ_F16, SSQ_F32, {2, {0, 9}}, LAYOUT_DENSE, 2},
    {SSQ_BF16, SSQ_F32, {0, {0}}, LAYOUT_DENSE, 2},
    {SSQ_F16, SSQ_F16, {1, {1009}}, LAYOUT_DENSE, UINT64_MAX - 500},
};

static const double chances[] = {0.1, 0.0, 1.0, 0.5, 0.999, 1.0 - 0x1p-40};

enum mode { PLAIN, MASK, IN_PLACE, BACKWARD, MODES };

static const char *const modes[] = {"dropout", "dropout with mask",
                                    "dropout in place", "dropout_backward"};

#define TABLE (COUNT(fields) * COUNT(chances) * MODES)

struct dropout_choice {
    size_t field;
    double p;
    enum mode mode;
};

static struct dropout_choice dropout_choose(size_t i)
{
    struct dropout_choice c;
    c.mode = (enum mode)pick(&i, MODES);
    c.p = chances[pick(&i, COUNT(chances))];
    c.field = i;
    return c;
}

static ssq_status dropout_call(struct harness *b,
                               const struct dropout_choice *c,
                               const struct operand *x, const struct operand *y,
                               const struct operand *mask,
                               const ssq_tensor *step)
{
    if (c->mode == BACKWARD) {
        ssq_dropout_backward_args a = SSQ_DROPOUT_BACKWARD_INIT;
        a.dy = x->t;
        a.dx = y->t;
        a.seed = 99;
        a.id = 4;
        a.step = step;
        a.offset = fields[c->field].offset;
        a.p = c->p;
        return ssq_dropout_backward(b->queue, &a);
    }
    ssq_dropout_args a = SSQ_DROPOUT_INIT;
    a.x = x->t;
    a.y = y->t;
    a.mask = c->mode == MASK ? mask->t : NULL;
    a.seed = 99;
    a.id = 4;
    a.step = step;
    a.offset = fields[c->field].offset;
    a.p = c->p;
    return ssq_dropout(b->queue, &a);
}

/* Word offset + k of (99, 6, 4) below p 2^32 drops element k: +0 even for NaN.
 */
static bool dropout_run_table(struct harness *b, size_t i)
{
    struct dropout_choice c = dropout_choose(i);
    const struct shape *s = &fields[c.field].shape;
    const enum layout layout = fields[c.field].layout;
    const double six = 6.0;
    struct operand x, y, mask, step;
    harness_input(b, &x, fields[c.field].x, s->rank, s->d, layout,
                  FILL_SPECIAL);
    harness_output(b, &y, fields[c.field].y, s->rank, s->d, layout);
    harness_output(b, &mask, SSQ_U8, s->rank, s->d, LAYOUT_PADDED);
    harness_values(b, &step, SSQ_I32, 0, NULL, LAYOUT_DENSE, &six);
    struct operand *out = &y;
    if (c.mode == IN_PLACE && x.dtype == y.dtype)
        out = &x;
    double *want = harness_alloc(b, (size_t)x.n * sizeof(double));
    double *kept = harness_alloc(b, (size_t)x.n * sizeof(double));
    double below = floor(c.p * 0x1p32 + 0.5);
    for (int64_t k = 0; k < x.n; k++) {
        uint64_t word = fields[c.field].offset + (uint64_t)k;
        kept[k] = (double)philox_word(99, 6, 4, word) >= below;
        float product = (float)x.value[k] * (float)(1.0 / (1.0 - c.p));
        want[k] =
            kept[k] != 0.0 ? harness_round((double)product, y.dtype) : 0.0;
    }
    b->bytes = (double)x.n * 4.0;
    HARNESS_OP(b, dropout_call(b, &c, &x, out, &mask, step.t));
    harness_read(b, out);
    if (!harness_exact(b, out, want) || !harness_same(b, out))
        return false;
    if (c.mode != MASK)
        return harness_unchanged(b, &mask);
    harness_read(b, &mask);
    return harness_exact(b, &mask, kept) && harness_unchanged(b, &x);
}

/* Dropped of n: n p, give or take 6 sqrt(n p (1 - p)); and the mean of ones
 * stays 1 within the same count, as each kept one is 1 / (1 - p). */
static bool dropout_run_share(struct harness *b)
{
    const int64_t n = 1 << 18;
    const double p = 0.3;
    struct dropout_choice c = {0, p, PLAIN};
    struct operand x, y;
    harness_input(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_ONES);
    harness_output(b, &y, SSQ_F32, 1, &n, LAYOUT_DENSE);
    HARNESS_OP(b, dropout_call(b, &c, &x, &y, NULL, NULL));
    harness_read(b, &y);
    double dropped = 0.0;
    for (int64_t k = 0; k < n; k++)
        dropped += y.value[k] == 0.0;
    double off = fabs(dropped - (double)n * p);
    if (!b->bench && off > 6.0 * sqrt((double)n * p * (1.0 - p)))
        return harness_fail(b, "%g of %lld dropped", dropped, (long long)n);
    return harness_same(b, &y);
}

static bool dropout_run_refused(struct harness *b)
{
    const int64_t n = 4, five = 5;
    struct operand x, y, m, wide, word;
    harness_input(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 1, &n, LAYOUT_DENSE);
    harness_output(b, &m, SSQ_U8, 1, &n, LAYOUT_DENSE);
    harness_output(b, &wide, SSQ_F32, 1, &five, LAYOUT_DENSE);
    harness_input(b, &word, SSQ_U8, 0, NULL, LAYOUT_DENSE, FILL_ZERO);
    ssq_dropout_args a = SSQ_DROPOUT_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "x is NULL");
    a.x = x.t;
    a.y = wide.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "x is [4], y is [5]");
    a.y = y.t;
    a.p = -0.5;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "p is -0.5");
    a.p = (double)NAN;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "p is nan");
    a.p = 0.5;
    a.mask = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "mask is f32, expected u8");
    a.mask = NULL;
    a.step = word.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "step is u8, expected i32");
    a.step = NULL;
    a.x = m.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout(b->queue, &a),
                       "x is u8");
    ssq_dropout_backward_args d = SSQ_DROPOUT_BACKWARD_INIT;
    d.dx = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout_backward(b->queue, &d),
                       "dropout_backward: dy is NULL");
    ssq_tensor *low = NULL, *high = NULL;
    harness_status(b, ssq_tensor_slice(y.t, 0, 0, 3, 1, &low));
    harness_status(b, ssq_tensor_slice(y.t, 0, 1, 4, 1, &high));
    d.dy = low;
    d.dx = high;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_dropout_backward(b->queue, &d),
                       "dx overlaps dy and is not exactly the same");
    ssq_tensor_destroy(&low);
    ssq_tensor_destroy(&high);
    return harness_unchanged(b, &y) && harness_unchanged(b, &m) &&
           harness_unchanged(b, &x);
}

static void dropout_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i >= TABLE) {
        snprintf(text, bytes, "%s",
                 i == TABLE ? "dropout f32 of 262144, p 0.3: share dropped"
                            : "dropout refuses misuse");
        return;
    }
    struct dropout_choice c = dropout_choose(i);
    snprintf(text, bytes, "%s %s to %s %s %s p %.12g, from word 0x%llx",
             modes[c.mode], ssq_dtype_name(fields[c.field].x),
             ssq_dtype_name(fields[c.field].y),
             shape_text(&fields[c.field].shape, shape, sizeof(shape)),
             layout_text(fields[c.field].layout), c.p,
             (unsigned long long)fields[c.field].offset);
}

static bool dropout_run(struct harness *b, size_t i)
{
    if (i < TABLE)
        return dropout_run_table(b, i);
    return i == TABLE ? dropout_run_share(b) : dropout_run_refused(b);
}

const struct suite dropout_suite = {.op = "dropout",
                                    .name = "dropout",
                                    .n = TABLE + 2,
                                    .describe = dropout_describe,
                                    .run = dropout_run,
                                    .bit_equal = true,
                                    .floor = 292};
