/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - cases of random fills: bits from our own Philox, independence of
 * layout and split, and statistics.
 *
 * Statistics: n draws; a mean, variance or count must lie within 6 of its own
 * standard deviations of the truth (2e-9 beyond, and the seeds are fixed). */
#include "conformance/case.h"
#include "conformance/random/philox.h"

#include "conformance/bounds.h"

enum kind { UNIFORM, NORMAL, TRUNCATED, BERNOULLI, KINDS };

static const char *const kinds[] = {"uniform", "normal", "truncated_normal",
                                    "bernoulli"};

/* a, b: low and high, mean and std, or p. */
struct draw {
    enum kind kind;
    double a, b;
    uint64_t seed, offset;
    uint32_t id;
    const ssq_tensor *step;
};

static ssq_status random_call(struct harness *b, const struct draw *d,
                              const ssq_tensor *x)
{
    if (d->kind == UNIFORM) {
        ssq_random_uniform_args u = SSQ_RANDOM_UNIFORM_INIT;
        u = (ssq_random_uniform_args){u.struct_size, x,         d->seed, d->id,
                                      d->step,       d->offset, d->a,    d->b};
        return ssq_random_uniform(b->queue, &u);
    }
    if (d->kind == BERNOULLI) {
        ssq_random_bernoulli_args p = SSQ_RANDOM_BERNOULLI_INIT;
        p = (ssq_random_bernoulli_args){
            p.struct_size, x, d->seed, d->id, d->step, d->offset, d->a};
        return ssq_random_bernoulli(b->queue, &p);
    }
    ssq_random_normal_args n = SSQ_RANDOM_NORMAL_INIT;
    n = (ssq_random_normal_args){n.struct_size, x,         d->seed, d->id,
                                 d->step,       d->offset, d->a,    d->b};
    return d->kind == NORMAL ? ssq_random_normal(b->queue, &n)
                             : ssq_random_truncated_normal(b->queue, &n);
}

/* phi(z) = P(Z < z). */
static double phi(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

/* The quantile of p in (0, 1/2], by bisection of its mirror image; negative. */
static double quantile(double p)
{
    double low = -7.0, high = 0.0;
    for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (low + high);
        *(phi(mid) < p ? &low : &high) = mid;
    }
    return 0.5 * (low + high);
}

/* The variate of a word, in float64. */
static double variate(enum kind kind, uint32_t r)
{
    if (kind == UNIFORM)
        return (double)(r >> 8) * 0x1p-24;
    bool upper = r >= 0x80000000u;
    double p = ((double)(upper ? ~r : r) + 0.5) * 0x1p-32;
    if (kind == TRUNCATED)
        p = phi(-2.0) + p * (1.0 - 2.0 * phi(-2.0));
    return upper ? -quantile(p) : quantile(p);
}

static const struct {
    ssq_dtype dtype;
    struct shape shape;
    enum layout layout;
    double a, b;
} fields[] = {
    {SSQ_F32, {1, {1009}}, LAYOUT_DENSE, 0.0, 1.0},
    {SSQ_F32, {2, {17, 61}}, LAYOUT_TRANSPOSED, -3.0, 5.0},
    {SSQ_F16, {2, {17, 61}}, LAYOUT_PADDED, 0.25, 0.5},
    {SSQ_BF16, {3, {5, 7, 29}}, LAYOUT_TRANSPOSED, 1.0, 2.0},
    {SSQ_F16, {0, {0}}, LAYOUT_DENSE, 0.0, 1.0},
    {SSQ_F32, {2, {0, 3}}, LAYOUT_DENSE, 0.0, 1.0},
    {SSQ_F32, {1, {7}}, LAYOUT_DENSE, 2.0, 2.0},
    {SSQ_F16, {1, {300}}, LAYOUT_DENSE, 60000.0, 65504.0},
};

/* Words before the first: the number of a block of four carries into its upper
 * word, and words past 2^64 are the first ones again. */
static const uint64_t offsets[] = {0, 0x3fffffffeu, UINT64_MAX - 500};

#define FIELDS (COUNT(fields) * COUNT(offsets) * KINDS)

/* Every element against its own word. Uniform and bernoulli have one right
 * answer; normals are within 4 ulp of the float64 quantile, and the product
 * and the sum round once each. */
static bool run_field(struct harness *b, size_t i)
{
    enum kind kind = (enum kind)pick(&i, KINDS);
    uint64_t offset = offsets[pick(&i, COUNT(offsets))];
    struct draw d = {.kind = kind,
                     .a = fields[i].a,
                     .b = fields[i].b,
                     .seed = 0xfedcba9876543210u + i,
                     .offset = offset,
                     .id = (uint32_t)i * 77u};
    if (d.kind == BERNOULLI)
        d.a = 0.3;
    const struct shape *s = &fields[i].shape;
    struct operand x;
    harness_output(b, &x, fields[i].dtype, s->rank, s->d, fields[i].layout);
    b->bytes = (double)x.n * ssq_dtype_bits(x.dtype) / 8.0;
    HARNESS_OP(b, random_call(b, &d, x.t));
    harness_read(b, &x);
    double *want = harness_alloc(b, (size_t)x.n * sizeof(double));
    double *error = harness_alloc(b, (size_t)x.n * sizeof(double));
    for (int64_t k = 0; k < x.n; k++) {
        uint32_t r = philox_word(d.seed, 0, d.id, d.offset + (uint64_t)k);
        if (d.kind == BERNOULLI) {
            want[k] = (double)r < floor(0.3 * 0x1p32 + 0.5) ? 1.0 : 0.0;
            continue;
        }
        double z = variate(d.kind, r);
        if (d.kind == UNIFORM) {
            float product = (float)(d.b - d.a) * (float)z;
            want[k] = harness_round((double)((float)d.a + product), x.dtype);
            continue;
        }
        want[k] = d.a + d.b * z;
        double product = 9.0 * U_F32 * fabs(d.b * z); /* 4 ulp: 8 u */
        error[k] = product + U_F32 * (fabs(want[k]) + product);
    }
    if (d.kind == UNIFORM || d.kind == BERNOULLI)
        return harness_exact(b, &x, want) && harness_same(b, &x);
    return harness_bound(b, &x, want, error) && harness_same(b, &x);
}

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32, SSQ_U8};

static const double chances[] = {0.0, 1.0, 0.5, 0x1p-32, 1.0 - 0x1p-32, 1e-12};

/* Exact ends: p = 0 never, p = 1 always, the least p at word 0 only. */
static bool run_chance(struct harness *b, size_t i)
{
    const double p = chances[i / COUNT(dtypes)];
    const int64_t n = 5000;
    struct draw d = {.kind = BERNOULLI, .a = p, .seed = i};
    struct operand x;
    harness_output(b, &x, dtypes[i % COUNT(dtypes)], 1, &n, LAYOUT_DENSE);
    HARNESS_OP(b, random_call(b, &d, x.t));
    harness_read(b, &x);
    double *want = harness_alloc(b, (size_t)n * sizeof(double));
    for (int64_t k = 0; k < n; k++) {
        double r = (double)philox_word(i, 0, 0, (uint64_t)k);
        want[k] = r < floor(p * 0x1p32 + 0.5) ? 1.0 : 0.0;
    }
    return harness_exact(b, &x, want) && harness_same(b, &x);
}

/* Pieces with the offsets of their first elements make up the whole, cut
 * where no block of four words ends. */
static bool run_split(struct harness *b, enum kind kind)
{
    const int64_t n = 1000, cuts[] = {0, 3, 502, 503, 1000};
    struct draw d = {kind, 0.25, 0.75, 11, 0xfffffff0u, 5, NULL};
    struct operand whole, parts;
    harness_output(b, &whole, SSQ_F32, 1, &n, LAYOUT_DENSE);
    harness_output(b, &parts, SSQ_F32, 1, &n, LAYOUT_PADDED);
    HARNESS_OP(b, random_call(b, &d, whole.t));
    for (int k = 0; k < 4; k++) {
        ssq_tensor *piece = NULL;
        struct draw e = d;
        e.offset += (uint64_t)cuts[k];
        harness_status(
            b, ssq_tensor_slice(parts.t, 0, cuts[k], cuts[k + 1], 1, &piece));
        harness_status(b, random_call(b, &e, piece));
        ssq_tensor_destroy(&piece);
    }
    harness_read(b, &whole);
    harness_read(b, &parts);
    return harness_raw_equal(b, &parts, whole.bits);
}

/* seed, id and step each choose another stream; a step word of 0 is none; a
 * graph that is launched again after the word changed draws again. */
static bool random_run_streams(struct harness *b)
{
    enum { NONE, ZERO, STEP, SEED, ID, HIGH, REPLAY, STREAMS };
    const int64_t n = 64, one = 1;
    const double words[] = {0.0, 9.0};
    struct operand x[STREAMS], step[2], moving;
    for (int k = 0; k < 2; k++)
        harness_values(b, &step[k], SSQ_I32, 1, &one, LAYOUT_DENSE, &words[k]);
    harness_values(b, &moving, SSQ_I32, 0, NULL, LAYOUT_DENSE, words);
    for (int k = 0; k < STREAMS; k++) {
        struct draw d = {.kind = UNIFORM, .b = 1.0};
        d.step = k == ZERO ? step[0].t : k == STEP ? step[1].t : NULL;
        d.seed = k == SEED ? 1 : k == HIGH ? (uint64_t)1 << 32 : 0;
        d.id = k == ID;
        harness_output(b, &x[k], SSQ_F32, 1, &n, LAYOUT_DENSE);
        if (k == REPLAY)
            break;
        HARNESS_OP(b, random_call(b, &d, x[k].t));
        harness_read(b, &x[k]);
    }
    if (b->admit)
        return true; /* in a capture, which holds no other */
    ssq_graph *graph = NULL;
    struct draw d = {.kind = UNIFORM, .b = 1.0, .step = moving.t};
    const int32_t nine = 9;
    harness_status(b, ssq_graph_begin(b->queue));
    harness_status(b, random_call(b, &d, x[REPLAY].t));
    harness_status(b, ssq_graph_end(b->queue, &graph));
    harness_status(b, ssq_graph_launch(b->queue, graph));
    harness_status(
        b, ssq_tensor_write(b->queue, moving.t, &nine, sizeof(nine), SSQ_I32));
    harness_status(b, ssq_graph_launch(b->queue, graph));
    ssq_graph_destroy(&graph);
    harness_read(b, &x[REPLAY]);
    for (int k = STEP; k < REPLAY && !b->failed; k++)
        for (int j = 0; j < k; j++)
            if (j != NONE || k != ZERO)
                if (memcmp(x[j].bits, x[k].bits, (size_t)n * 4) == 0)
                    harness_fail(b, "streams %d and %d are equal", j, k);
    return harness_raw_equal(b, &x[ZERO], x[NONE].bits) &&
           harness_raw_equal(b, &x[REPLAY], x[STEP].bits);
}

#define N    (1 << 18)
#define BINS 256

/* P(variate < x). */
static double distribution(enum kind kind, double x)
{
    if (kind == UNIFORM)
        return x;
    if (kind == NORMAL)
        return phi(x);
    return (phi(x) - phi(-2.0)) / (1.0 - 2.0 * phi(-2.0));
}

/* Variance and fourth central moment of one draw. Truncated at +-c, with f the
 * density at c and m = 1 - 2 phi(-c): E x^2 = 1 - 2 c f / m, and by parts
 * E x^4 = 3 E x^2 - 2 c^3 f / m. */
static void moments(enum kind kind, double *var, double *fourth)
{
    double c = 2.0, m = 1.0 - 2.0 * phi(-c);
    double f = exp(-c * c / 2.0) / sqrt(2.0 * 3.14159265358979323846);
    *var = kind == UNIFORM ? 1.0 / 12.0 : 1.0;
    *fourth = kind == UNIFORM ? 1.0 / 80.0 : 3.0;
    if (kind != TRUNCATED)
        return;
    *var = 1.0 - 2.0 * c * f / m;
    *fourth = 3.0 * *var - 2.0 * c * c * c * f / m;
}

static bool random_near(struct harness *b, const char *what, double got,
                        double want, double deviation)
{
    if (fabs(got - want) <= 6.0 * deviation)
        return true;
    return harness_fail(b, "%s is %.9g, expected %.9g +- 6 * %.3g", what, got,
                        want, deviation);
}

static bool run_statistics(struct harness *b, enum kind kind)
{
    const int64_t n = N;
    struct draw d = {.kind = kind, .b = 1.0, .seed = 2024, .id = 3};
    struct operand x;
    harness_output(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE);
    HARNESS_OP(b, random_call(b, &d, x.t));
    harness_read(b, &x);
    if (b->failed || b->bench)
        return !b->failed;
    double centre = kind == UNIFORM ? 0.5 : 0.0, var, fourth;
    double sum = 0.0, square = 0.0, lag = 0.0, chi = 0.0;
    int64_t bin[BINS] = {0};
    moments(kind, &var, &fourth);
    for (int64_t i = 0; i < n; i++) {
        double v = x.value[i] - centre;
        sum += v;
        square += v * v;
        lag += i > 0 ? v * (x.value[i - 1] - centre) : 0.0;
        int k = (int)(distribution(kind, x.value[i]) * BINS);
        if (k < 0 || k > BINS || (kind == UNIFORM && k == BINS))
            return harness_fail(b, "element %lld is %.9g", (long long)i,
                                x.value[i]);
        bin[k == BINS ? BINS - 1 : k]++;
    }
    for (int k = 0; k < BINS; k++) {
        double off = (double)bin[k] - (double)N / BINS;
        chi += off * off / ((double)N / BINS);
    }
    /* chi^2 of k - 1 degrees: mean k - 1, variance 2 (k - 1); the square about
     * the known centre has variance fourth - var^2 */
    return random_near(b, "mean", sum / N, 0.0, sqrt(var / N)) &&
           random_near(b, "variance", square / N, var,
                       sqrt((fourth - var * var) / N)) &&
           random_near(b, "lag-1 correlation", lag / N / var, 0.0,
                       1.0 / sqrt(N)) &&
           random_near(b, "chi^2", chi, BINS - 1, sqrt(2.0 * (BINS - 1)));
}

static bool random_run_refused(struct harness *b)
{
    const int64_t n = 4, two = 2;
    struct operand x, i, steps, word;
    harness_output(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE);
    harness_output(b, &i, SSQ_I32, 1, &n, LAYOUT_DENSE);
    harness_input(b, &steps, SSQ_I32, 1, &two, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &word, SSQ_F32, 0, NULL, LAYOUT_DENSE, FILL_ZERO);
    static const struct {
        enum kind kind;
        double a, b;
        const char *words;
    } bad[] = {
        {UNIFORM, 1.0, 0.0, "low is 1, high is 0"},
        {UNIFORM, -3e38, 3e38, "finite float32"},
        {UNIFORM, 0.0, (double)INFINITY, "high is inf"},
        {UNIFORM, (double)NAN, 1.0, "low is nan"},
        {NORMAL, 0.0, -1.0, "random_normal: mean is 0, std is -1"},
        {TRUNCATED, (double)INFINITY, 1.0, "truncated_normal: mean is inf"},
        {NORMAL, 0.0, 1e39, "std is 1e+39"},
        {BERNOULLI, 1.5, 0.0, "p is 1.5"},
        {BERNOULLI, -0.1, 0.0, "p is -0.1"},
        {BERNOULLI, (double)NAN, 0.0, "p is nan"},
    };
    for (size_t k = 0; k < COUNT(bad); k++) {
        struct draw d = {.kind = bad[k].kind, .a = bad[k].a, .b = bad[k].b};
        harness_refused_as(b, SSQ_ERR_INVALID, random_call(b, &d, x.t),
                           bad[k].words);
    }
    struct draw d = {.kind = NORMAL, .b = 1.0};
    harness_refused_as(b, SSQ_ERR_INVALID, random_call(b, &d, NULL),
                       "x is NULL");
    harness_refused_as(b, SSQ_ERR_INVALID, random_call(b, &d, i.t), "x is i32");
    d.step = steps.t;
    harness_refused_as(b, SSQ_ERR_INVALID, random_call(b, &d, x.t),
                       "step has 2 elements");
    d.step = word.t;
    harness_refused_as(b, SSQ_ERR_INVALID, random_call(b, &d, x.t),
                       "step is f32");
    d.kind = BERNOULLI;
    d.step = NULL;
    ssq_tensor *first = NULL;
    harness_status(b, ssq_tensor_slice(i.t, 0, 0, 1, 1, &first));
    d.step = first;
    harness_refused_as(b, SSQ_ERR_INVALID, random_call(b, &d, i.t),
                       "x overlaps step");
    ssq_tensor_destroy(&first);
    return harness_unchanged(b, &x) && harness_unchanged(b, &i);
}

#define CHANCES       (COUNT(dtypes) * COUNT(chances))
#define AT_SPLIT      (FIELDS + CHANCES)
#define AT_STATISTICS (AT_SPLIT + KINDS)
#define AT_STREAMS    (AT_STATISTICS + KINDS - 1)

static void random_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i < FIELDS) {
        size_t kind = pick(&i, KINDS);
        uint64_t offset = offsets[pick(&i, COUNT(offsets))];
        snprintf(text, bytes, "random %s %s %s %s, %g and %g, from word 0x%llx",
                 kinds[kind], ssq_dtype_name(fields[i].dtype),
                 shape_text(&fields[i].shape, shape, sizeof(shape)),
                 layout_text(fields[i].layout), fields[i].a, fields[i].b,
                 (unsigned long long)offset);
    } else if (i < AT_SPLIT) {
        i -= FIELDS;
        snprintf(text, bytes, "random bernoulli %s of 5000, p %.10g",
                 ssq_dtype_name(dtypes[i % COUNT(dtypes)]),
                 chances[i / COUNT(dtypes)]);
    } else if (i < AT_STATISTICS) {
        snprintf(text, bytes, "random %s f32 of 1000 in four pieces",
                 kinds[i - AT_SPLIT]);
    } else if (i < AT_STREAMS) {
        snprintf(text, bytes, "random %s f32 of %d: moments, chi^2",
                 kinds[i - AT_STATISTICS], N);
    } else {
        snprintf(text, bytes, "%s",
                 i == AT_STREAMS ? "random streams by seed, id, step, replay"
                                 : "random fills refuse misuse");
    }
}

static bool random_run(struct harness *b, size_t i)
{
    if (i < FIELDS)
        return run_field(b, i);
    if (i < AT_SPLIT)
        return run_chance(b, i - FIELDS);
    if (i < AT_STATISTICS)
        return run_split(b, (enum kind)(i - AT_SPLIT));
    if (i < AT_STREAMS)
        return run_statistics(b, (enum kind)(i - AT_STATISTICS));
    return i == AT_STREAMS ? random_run_streams(b) : random_run_refused(b);
}

const struct suite random_suite = {.op = "random",
                                   .name = "random",
                                   .n = AT_STREAMS + 2,
                                   .describe = random_describe,
                                   .run = random_run,
                                   .bit_equal = true,
                                   .floor = 270};
