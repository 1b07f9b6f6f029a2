/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - cases of cast: all 16-bit inputs, every pair of dtypes, roundings,
 * NaN payloads, stochastic rounding. Oracles work in float64. */
#include "conformance/case.h"

#include "conformance/bounds.h"

#include <stdlib.h>

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32, SSQ_U8};

static bool cast_is_float(ssq_dtype d)
{
    return d == SSQ_F32 || d == SSQ_F16 || d == SSQ_BF16;
}

static double cast_largest(ssq_dtype d)
{
    return d == SSQ_F16 ? 65504.0 : d == SSQ_BF16 ? 0x1.FEp127 : 0x1.FFFFFEp127;
}

/* Toward zero, to a float dtype. */
static double truncated(double x, ssq_dtype d)
{
    double r = harness_round(x, d);
    if (isnan(x) || isinf(x) || fabs(r) <= fabs(x))
        return r;
    if (isinf(r))
        return copysign(cast_largest(d), x);
    /* one step back: the spacing below |r| */
    int e, digits = d == SSQ_F16 ? 11 : d == SSQ_BF16 ? 8 : 24;
    double m = frexp(fabs(r), &e);
    double ulp = ldexp(1.0, e - digits - (m == 0.5));
    ulp = fmax(ulp, 2.0 * bound_eta(d));
    return copysign(fabs(r) - ulp, x);
}

/* The contract of ssq_convert, except for NaN payloads and randomness. */
static double cast_oracle(double x, ssq_dtype from, ssq_dtype to,
                          ssq_rounding mode)
{
    if (to == SSQ_I32 || to == SSQ_U8) {
        double low = to == SSQ_I32 ? -2147483648.0 : 0.0;
        double high = to == SSQ_I32 ? 2147483647.0 : 255.0;
        return isnan(x) ? 0.0 : trunc(fmin(fmax(x, low), high)) + 0.0;
    }
    if (!cast_is_float(from)) /* to nearest, once */
        return harness_round(x, to);
    return mode == SSQ_ROUND_TOWARD_ZERO ? truncated(x, to)
                                         : harness_round(x, to);
}

/* Float NaNs: quiet, sign kept, the payload's upper bits kept. */
static uint32_t cast_nan_bits(uint32_t u, ssq_dtype from, ssq_dtype to)
{
    uint32_t wide = u;
    if (from == SSQ_F16)
        wide = (u & 0x8000) << 16 | 0x7f800000 | (u & 0x3ff) << 13;
    if (from == SSQ_BF16)
        wide = u << 16;
    wide |= 0x400000;
    if (to == SSQ_BF16)
        return wide >> 16;
    if (to == SSQ_F16)
        return (wide >> 16 & 0x8000) | 0x7c00 | (wide >> 13 & 0x3ff);
    return wide;
}

/* Inputs of one dtype: all of them for 8 and 16 bits; for 32 bits every upper
 * half with lower halves on and around the ties of both 16-bit formats. */
static uint32_t *all_bits(struct harness *b, ssq_dtype d, int64_t *n)
{
    static const uint32_t low[] = {0,      1,      0x0fff, 0x1000, 0x1001,
                                   0x1fff, 0x3000, 0x7fff, 0x8000, 0x8001,
                                   0xefff, 0xf000, 0xffff};
    unsigned size = ssq_dtype_bits(d);
    *n = size == 32 ? 65536 * (int64_t)COUNT(low) : 1 << size;
    uint32_t *bits = harness_alloc(b, (size_t)*n * sizeof(uint32_t));
    for (int64_t i = 0; i < *n; i++)
        bits[i] = size < 32 ? (uint32_t)i
                            : (uint32_t)(i / (int64_t)COUNT(low)) << 16 |
                                  low[i % (int64_t)COUNT(low)];
    return bits;
}

#define PAIRS (COUNT(dtypes) * COUNT(dtypes) * 2)

static bool run_pair(struct harness *b, size_t i)
{
    ssq_rounding mode = (ssq_rounding)pick(&i, 2);
    ssq_dtype from = dtypes[pick(&i, COUNT(dtypes))], to = dtypes[i];
    int64_t n;
    uint32_t *bits = all_bits(b, from, &n);
    struct operand x, y;
    harness_raw(b, &x, from, 1, &n, LAYOUT_DENSE, bits);
    harness_output(b, &y, to, 1, &n, LAYOUT_DENSE);
    ssq_cast_args args = SSQ_CAST_INIT;
    args.x = x.t;
    args.y = y.t;
    args.rounding = mode;
    b->bytes = (double)n * (ssq_dtype_bits(from) + ssq_dtype_bits(to)) / 8.0;
    HARNESS_OP(b, ssq_cast(b->queue, &args));
    harness_read(b, &y);
    if (from == to)
        return harness_raw_equal(b, &y, bits);
    bool fresh;
    double *want = harness_keep(b, 0, (size_t)n, &fresh);
    for (int64_t k = 0; k < n; k++) {
        if (fresh)
            want[k] = cast_oracle(x.value[k], from, to, mode);
        bool nan = cast_is_float(to) && isnan(x.value[k]);
        if (nan && !b->bench && !b->failed &&
            y.bits[k] != cast_nan_bits(bits[k], from, to))
            return harness_fail(b, "NaN 0x%x became 0x%x, expected 0x%x",
                                (unsigned)bits[k], (unsigned)y.bits[k],
                                (unsigned)cast_nan_bits(bits[k], from, to));
    }
    return harness_exact(b, &y, want) && harness_same(b, &y);
}

/* Away from a tie of bf16: what float32 rounds up to it or down to it. */
static const int32_t off_ties[] = {-129, -128, -127, -65, -64, -63, -3,
                                   -2,   -1,   0,    1,   2,   3,   63,
                                   64,   65,   127,  128, 129};

#define TIES (INT64_C(2) * 8 * 128 * (int64_t)COUNT(off_ties))

/* i32 on and around the ties of bf16 from 2^23 to 2^31: rounding to float32
 * first would move many onto a tie. Also by ssq_convert, on the host. */
static bool run_ties(struct harness *b, ssq_dtype to)
{
    const int64_t n = TIES;
    int32_t *bits = harness_alloc(b, TIES * sizeof(*bits));
    double *want = harness_alloc(b, TIES * sizeof(*want));
    for (int64_t k = 0; k < n; k++) {
        size_t i = (size_t)k;
        int32_t off = off_ties[pick(&i, COUNT(off_ties))];
        int32_t sign = pick(&i, 2) == 0 ? 1 : -1;
        int64_t odd = 2 * (128 + (int64_t)pick(&i, 128)) + 1;
        bits[k] = (int32_t)(sign * ((odd << (15 + i)) + off));
        want[k] = harness_round((double)bits[k], to);
    }
    struct operand x, y;
    harness_raw(b, &x, SSQ_I32, 1, &n, LAYOUT_DENSE, (const uint32_t *)bits);
    harness_output(b, &y, to, 1, &n, LAYOUT_DENSE);
    ssq_cast_args args = SSQ_CAST_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_cast(b->queue, &args));
    harness_read(b, &y);
    if (!harness_exact(b, &y, want) || !harness_same(b, &y))
        return false;
    uint32_t *word = harness_alloc(b, TIES * sizeof(*word));
    uint16_t *half = harness_alloc(b, TIES * sizeof(*half));
    harness_status(b, ssq_convert(to == SSQ_F32 ? (void *)word : half, to, bits,
                                  SSQ_I32, (size_t)n, SSQ_ROUND_NEAREST, 0));
    for (int64_t k = 0; k < n && to != SSQ_F32; k++)
        word[k] = half[k];
    return harness_raw_equal(b, &y, word);
}

static const enum layout pairs[][2] = {
    {LAYOUT_PADDED, LAYOUT_DENSE},
    {LAYOUT_TRANSPOSED, LAYOUT_PADDED},
    {LAYOUT_DENSE, LAYOUT_TRANSPOSED},
    {LAYOUT_BROADCAST, LAYOUT_DENSE},
};

static const struct shape shapes[] = {
    {0, {0}}, {1, {13}}, {2, {0, 3}}, {2, {7, 5}}, {4, {2, 3, 1, 5}},
};

#define STRIDED (COUNT(pairs) * COUNT(shapes) * 3)

/* Strides change nothing, stochastic rounding included: the words follow the
 * row-major order. ssq_convert is the same stream on the host. */
static bool cast_run_strided(struct harness *b, size_t i)
{
    ssq_rounding mode = (ssq_rounding)pick(&i, 3);
    const struct shape *s = &shapes[pick(&i, COUNT(shapes))];
    struct operand x, y;
    harness_input(b, &x, SSQ_F32, s->rank, s->d, pairs[i][0], FILL_SPECIAL);
    harness_output(b, &y, SSQ_F16, s->rank, s->d, pairs[i][1]);
    ssq_cast_args args = SSQ_CAST_INIT;
    args.x = x.t;
    args.y = y.t;
    args.rounding = mode;
    args.seed = 0x123456789abcdefu;
    HARNESS_OP(b, ssq_cast(b->queue, &args));
    harness_read(b, &y);
    uint16_t *half = harness_alloc(b, (size_t)x.n * 2);
    uint32_t *want = harness_alloc(b, (size_t)x.n * 4);
    harness_status(b, ssq_convert(half, SSQ_F16, x.bits, SSQ_F32, (size_t)x.n,
                                  mode, args.seed));
    for (int64_t k = 0; k < x.n; k++)
        want[k] = half[k];
    return harness_raw_equal(b, &y, want) && harness_unchanged(b, &x) &&
           harness_same(b, &y);
}

#define DRAWS 65536

/* x is a fraction p above its lower neighbour: of n draws, n p go up, give
 * or take 6 sqrt(n p (1 - p)) (a binomial's deviation; 2e-9 beyond it). */
static bool chances(struct harness *b, const struct operand *y, double low,
                    double high, double p)
{
    int64_t up = 0;
    for (int64_t i = 0; i < y->n && !b->failed && !b->bench; i++) {
        if (y->value[i] != low && y->value[i] != high)
            return harness_fail(b, "%.9g is neither %.9g nor %.9g", y->value[i],
                                low, high);
        up += y->value[i] == high;
    }
    double n = (double)y->n, off = fabs((double)up - n * p);
    if (!b->bench && off > 6.0 * sqrt(n * p * (1.0 - p)))
        return harness_fail(b, "%lld of %g went up, expected %g", (long long)up,
                            n, n * p);
    return !b->failed;
}

static const struct {
    ssq_dtype to;
    double low, high, p;
    ssq_dtype from; /* 0: float32 */
} coins[] = {
    {SSQ_F16, 1.0, 1.0009765625, 0.25},
    {SSQ_F16, 1.0, 1.0009765625, 0.0001220703125},
    {SSQ_F16, -2.0, -2.001953125, 0.75},
    {SSQ_F16, 2048.0, 2050.0, 0.5},
    {SSQ_F16, 0x1p-24, 0x1p-23, 0.5},
    {SSQ_F16, 0.0, 0x1p-24, 0.125},
    {SSQ_F16, 1.0, 1.0009765625, 0.0},
    {SSQ_BF16, 1.0, 1.0078125, 0.5},
    {SSQ_BF16, -256.0, -258.0, 0.9375},
    {SSQ_BF16, 3.0, 3.015625, 0.0000152587890625},
    {SSQ_BF16, 0.0, 0x1p-133, 0.25},
    {SSQ_BF16, 1.0, 1.0078125, 0.25, SSQ_F16},
    {SSQ_F16, 0.0, 0x1p-24, 0.25, SSQ_BF16},
};

static bool run_coin(struct harness *b, size_t i)
{
    const int64_t n = DRAWS;
    double *value = harness_alloc(b, DRAWS * sizeof(double));
    for (int k = 0; k < DRAWS; k++)
        value[k] = coins[i].low + coins[i].p * (coins[i].high - coins[i].low);
    struct operand x, y;
    harness_values(b, &x, coins[i].from == 0 ? SSQ_F32 : coins[i].from, 1, &n,
                   LAYOUT_DENSE, value);
    harness_output(b, &y, coins[i].to, 1, &n, LAYOUT_DENSE);
    ssq_cast_args args = SSQ_CAST_INIT;
    args.x = x.t;
    args.y = y.t;
    args.rounding = SSQ_ROUND_STOCHASTIC;
    args.seed = 7;
    args.id = (uint32_t)i;
    HARNESS_OP(b, ssq_cast(b->queue, &args));
    harness_read(b, &y);
    return chances(b, &y, coins[i].low, coins[i].high, coins[i].p) &&
           harness_same(b, &y);
}

/* id and the step word choose another stream; step 0 is the absent step. */
static bool cast_run_streams(struct harness *b)
{
    const int64_t n = 1000, one = 1;
    struct operand x, y[4], step[2];
    const double steps[] = {0.0, 5.0};
    harness_input(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    for (int k = 0; k < 2; k++)
        harness_values(b, &step[k], SSQ_I32, 1, &one, LAYOUT_DENSE, &steps[k]);
    for (int k = 0; k < 4; k++) {
        harness_output(b, &y[k], SSQ_BF16, 1, &n, LAYOUT_DENSE);
        ssq_cast_args args = SSQ_CAST_INIT;
        args.x = x.t;
        args.y = y[k].t;
        args.rounding = SSQ_ROUND_STOCHASTIC;
        args.step = k == 0 ? NULL : step[k == 2].t;
        args.id = k == 3;
        HARNESS_OP(b, ssq_cast(b->queue, &args));
        harness_read(b, &y[k]);
    }
    /* two streams of n words agree on all roundings with a chance of 2^-n/2 */
    bool differ = !b->failed && memcmp(y[0].bits, y[2].bits, (size_t)n * 4) &&
                  memcmp(y[0].bits, y[3].bits, (size_t)n * 4);
    if (!differ)
        harness_fail(b, "another step or id gave the same roundings");
    return harness_raw_equal(b, &y[1], y[0].bits) && harness_same(b, &y[2]);
}

static bool cast_run_in_place(struct harness *b, ssq_dtype from, ssq_dtype to)
{
    const int64_t shape[] = {5, 9};
    struct operand x, y;
    harness_input(b, &x, from, 2, shape, LAYOUT_DENSE, FILL_SPECIAL);
    /* the same bytes as another dtype */
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    harness_status(b, ssq_tensor_desc_get(x.t, &d));
    ssq_buffer *buffer = NULL;
    ssq_tensor *tx = NULL, *ty = NULL;
    harness_status(b, ssq_buffer_create(b->device, (uint64_t)x.n * 4, &buffer));
    harness_status(
        b, ssq_tensor_from_buffer(buffer, from, 2, shape, NULL, 0, &tx));
    harness_status(b,
                   ssq_tensor_from_buffer(buffer, to, 2, shape, NULL, 0, &ty));
    harness_output(b, &y, to, 2, shape, LAYOUT_DENSE);
    ssq_copy_args in = SSQ_COPY_INIT, out = SSQ_COPY_INIT;
    in.x = x.t;
    in.y = tx;
    ssq_cast_args args = SSQ_CAST_INIT;
    args.x = tx;
    args.y = ty;
    out.x = ty;
    out.y = y.t;
    harness_status(b, ssq_copy(b->queue, &in));
    HARNESS_OP(b, ssq_cast(b->queue, &args));
    harness_status(b, ssq_copy(b->queue, &out));
    harness_read(b, &y);
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
    ssq_buffer_destroy(&buffer);
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    for (int64_t k = 0; k < y.n; k++)
        want[k] = cast_oracle(x.value[k], from, to, SSQ_ROUND_NEAREST);
    return harness_exact(b, &y, want);
}

static bool cast_run_refused(struct harness *b)
{
    const int64_t n = 6, two = 2;
    struct operand x, y, f, steps, h;
    harness_input(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F16, 1, &n, LAYOUT_DENSE);
    harness_output(b, &f, SSQ_F32, 1, &n, LAYOUT_DENSE);
    harness_output(b, &h, SSQ_F16, 1, &two, LAYOUT_DENSE);
    harness_input(b, &steps, SSQ_I32, 1, &two, LAYOUT_DENSE, FILL_ZERO);
    ssq_cast_args a = SSQ_CAST_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_cast(b->queue, &a), "x is NULL");
    a.x = x.t;
    a.y = y.t;
    a.rounding = (ssq_rounding)3;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_cast(b->queue, &a),
                       "3 is not a rounding");
    a.rounding = SSQ_ROUND_STOCHASTIC;
    a.step = steps.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_cast(b->queue, &a),
                       "step has 2 elements");
    a.step = NULL;
    a.x = y.t;
    a.y = f.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_cast(b->queue, &a),
                       "stochastic rounding to f32");
    a.rounding = SSQ_ROUND_NEAREST;
    a.x = x.t;
    a.y = h.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_cast(b->queue, &a),
                       "x is [6], which does not broadcast to y, [2]");
    ssq_tensor *low = NULL, *high = NULL;
    harness_status(b, ssq_tensor_slice(x.t, 0, 0, 4, 1, &low));
    harness_status(b, ssq_tensor_slice(x.t, 0, 1, 5, 1, &high));
    a.x = low;
    a.y = high;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_cast(b->queue, &a),
                       "is not exactly the same");
    ssq_tensor_destroy(&low);
    ssq_tensor_destroy(&high);
    return harness_unchanged(b, &x) && harness_unchanged(b, &y) &&
           harness_unchanged(b, &f) && harness_unchanged(b, &h);
}

static const struct {
    ssq_dtype from, to;
} places[] = {{SSQ_F32, SSQ_I32},
              {SSQ_I32, SSQ_F32},
              {SSQ_F16, SSQ_BF16},
              {SSQ_BF16, SSQ_F16}};

static const struct {
    ssq_dtype from, to;
} large[] = {{SSQ_F32, SSQ_F16},
             {SSQ_F32, SSQ_BF16},
             {SSQ_F16, SSQ_F32},
             {SSQ_BF16, SSQ_F32}};

/* For bench: how near to a copy's throughput a cast comes. No operands, whose
 * images on the host would be larger still. */
static bool cast_run_large(struct harness *b, ssq_dtype from, ssq_dtype to)
{
    const int64_t n = 16 << 20;
    ssq_fill_args ones = SSQ_FILL_INIT;
    ssq_cast_args args = SSQ_CAST_INIT;
    ones.value = 1.0;
    ssq_tensor *x = NULL, *y = NULL;
    harness_status(b, ssq_tensor_create(b->device, from, 1, &n, &x));
    harness_status(b, ssq_tensor_create(b->device, to, 1, &n, &y));
    ones.x = x;
    if (x != NULL && !b->admit)
        harness_status(b, ssq_fill(b->queue, &ones));
    args.x = x;
    args.y = y;
    b->bytes = (double)n * (ssq_dtype_bits(from) + ssq_dtype_bits(to)) / 8.0;
    HARNESS_OP(b, ssq_cast(b->queue, &args));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    return !b->failed;
}

#define AT_COINS   (PAIRS + STRIDED)
#define AT_PLACES  (AT_COINS + COUNT(coins))
#define AT_TIES    (AT_PLACES + COUNT(places))
#define AT_STREAMS (AT_TIES + 3)
#define AT_LARGE   (AT_STREAMS + 2)

/* A kernel for each pair of dtypes. */
static int cast_turn(size_t i)
{
    if (i >= PAIRS)
        return SUITE_ALL;
    (void)pick(&i, 2); /* the mode */
    size_t from = pick(&i, COUNT(dtypes));
    return (int)(from + i);
}

static void cast_describe(size_t i, char *text, size_t bytes)
{
    static const char *const modes[] = {"to nearest", "toward zero",
                                        "stochastic"};
    char shape[64];
    if (i < PAIRS) {
        size_t mode = pick(&i, 2), from = pick(&i, COUNT(dtypes));
        snprintf(text, bytes, "cast %s to %s %s, %s",
                 ssq_dtype_name(dtypes[from]), ssq_dtype_name(dtypes[i]),
                 modes[mode],
                 ssq_dtype_bits(dtypes[from]) == 32 ? "851,968 values"
                                                    : "all values");
    } else if (i < AT_COINS) {
        i -= PAIRS;
        size_t mode = pick(&i, 3);
        const struct shape *s = &shapes[pick(&i, COUNT(shapes))];
        snprintf(text, bytes, "cast f32 to f16 %s %s %s to %s", modes[mode],
                 shape_text(s, shape, sizeof(shape)), layout_text(pairs[i][0]),
                 layout_text(pairs[i][1]));
    } else if (i < AT_PLACES) {
        i -= AT_COINS;
        snprintf(text, bytes, "cast to %s stochastic, %g above %g",
                 ssq_dtype_name(coins[i].to), coins[i].p, coins[i].low);
    } else if (i >= AT_TIES && i < AT_STREAMS) {
        snprintf(text, bytes, "cast i32 to %s around the ties of bf16",
                 ssq_dtype_name(dtypes[i - AT_TIES]));
    } else if (i < AT_STREAMS) {
        i -= AT_PLACES;
        snprintf(text, bytes, "cast %s to %s in place",
                 ssq_dtype_name(places[i].from), ssq_dtype_name(places[i].to));
    } else if (i >= AT_LARGE) {
        i -= AT_LARGE;
        snprintf(text, bytes, "cast %s to %s, 16,777,216 elements",
                 ssq_dtype_name(large[i].from), ssq_dtype_name(large[i].to));
    } else {
        snprintf(text, bytes, "%s",
                 i == AT_STREAMS ? "cast stochastic by step and id"
                                 : "cast refuses misuse");
    }
}

static bool cast_run(struct harness *b, size_t i)
{
    if (i < PAIRS)
        return run_pair(b, i);
    if (i < AT_COINS)
        return cast_run_strided(b, i - PAIRS);
    if (i < AT_PLACES)
        return run_coin(b, i - AT_COINS);
    if (i >= AT_TIES && i < AT_STREAMS)
        return run_ties(b, dtypes[i - AT_TIES]);
    if (i < AT_STREAMS)
        return cast_run_in_place(b, places[i - AT_PLACES].from,
                                 places[i - AT_PLACES].to);
    if (i >= AT_LARGE)
        return cast_run_large(b, large[i - AT_LARGE].from,
                              large[i - AT_LARGE].to);
    return i == AT_STREAMS ? cast_run_streams(b) : cast_run_refused(b);
}

const struct suite cast_suite = {.op = "cast",
                                 .name = "cast",
                                 .n = AT_LARGE,
                                 .describe = cast_describe,
                                 .run = cast_run,
                                 .turn = cast_turn,
                                 .bit_equal = true,
                                 .subnormals = true,
                                 .large = COUNT(large),
                                 .floor = 254};
