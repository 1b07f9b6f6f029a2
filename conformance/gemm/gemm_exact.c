/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_exact.c - gemm where one answer is right, to the bit: ties, overflow,
 * subnormals; and where NaN and infinity go. */
#include "conformance/gemm/gemm_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define F32  SSQ_F32
#define F16  SSQ_F16
#define BF16 SSQ_BF16
#define INF  (double)INFINITY

/* alpha sum a b + beta c + bias, 1x1xk, all exact in float32 in any order. */
static const struct dot {
    ssq_dtype a_dtype, b_dtype, d_dtype;
    int k;
    double a[4], b[4], alpha, beta, c, bias, want;
    ssq_activation activation;
    bool subnormal; /* in float32: 0 where the device flushes */
} dots[] = {
    /* ties to even; one rounding */
    {F16, F16, F16, 2, {2048, 1}, {1, 1}, 1, 0, 0, 0, 2048, 0, 0},
    {F16, F16, F16, 2, {2050, 1}, {1, 1}, 1, 0, 0, 0, 2052, 0, 0},
    {F16, F16, F16, 2, {-2048, 1}, {1, -1}, 1, 0, 0, 0, -2048, 0, 0},
    {F16, F16, F16, 2, {-2050, 1}, {1, -1}, 1, 0, 0, 0, -2052, 0, 0},
    {F16, F16, F16, 3, {2048, 1, 1}, {1, 1, 0x1p-11}, 1, 0, 0, 0, 2050, 0, 0},
    {F16, F16, F16, 3, {2048, 1, 1}, {1, 1, -0x1p-11}, 1, 0, 0, 0, 2048, 0, 0},
    {F16, F16, F16, 2, {2048, 1}, {1, 1}, -1, 0, 0, 0, -2048, 0, 0},
    {F16, F16, F16, 1, {2048}, {1}, 1, 0, 0, 1, 2048, 0, 0},
    {F16, F16, F16, 1, {2050}, {1}, 1, 0, 0, 1, 2052, 0, 0},
    {F16, F16, F16, 1, {2048}, {1}, 1, 0.5, 2, 0, 2048, 0, 0},
    {F16, F16, F16, 1, {2048}, {1}, 1, 0.5, 2, 0x1p-11, 2050, 0, 0},
    {F16, F16, F16, 1, {4100}, {1}, 0.5, 1, 1, 0, 2052, 0, 0},
    {BF16, BF16, F16, 2, {2048, 1}, {1, 1}, 1, 0, 0, 0, 2048, 0, 0},
    {F32, F32, F16, 1, {2051}, {1}, 1, 0, 0, 0, 2052, 0, 0},
    {F16, F32, F16, 1, {1}, {2049.000244140625}, 1, 0, 0, 0, 2050, 0, 0},
    {BF16, BF16, BF16, 2, {256, 1}, {1, 1}, 1, 0, 0, 0, 256, 0, 0},
    {BF16, BF16, BF16, 2, {258, 1}, {1, 1}, 1, 0, 0, 0, 260, 0, 0},
    {BF16, BF16, BF16, 2, {-256, -1}, {1, 1}, 1, 0, 0, 0, -256, 0, 0},
    {BF16, BF16, BF16, 3, {256, 1, 1}, {1, 1, 0x1p-7}, 1, 0, 0, 0, 258, 0, 0},
    {BF16, BF16, BF16, 1, {256}, {1}, 1, 0, 0, 1, 256, 0, 0},
    {BF16, BF16, BF16, 1, {258}, {1}, 1, 1, 1, 0, 260, 0, 0},
    {F16, F16, BF16, 2, {256, 1}, {1, 1}, 1, 0, 0, 0, 256, 0, 0},
    {F32, BF16, BF16, 1, {257.0078125}, {1}, 1, 0, 0, 0, 258, 0, 0},
    /* relu of a tie is a tie of relu */
    {F16, F16, F16, 2, {2048, 1}, {1, 1}, 1, 0, 0, 0, 2048, 1, 0},
    {F16, F16, F16, 2, {2048, 1}, {1, 1}, -1, 0, 0, 0, 0, 1, 0},
    /* overflow of f16 from 65520 on */
    {F16, F16, F16, 2, {65504, 15}, {1, 1}, 1, 0, 0, 0, 65504, 0, 0},
    {F16, F16, F16, 2, {65504, 15.9921875}, {1, 1}, 1, 0, 0, 0, 65504, 0, 0},
    {F16, F16, F16, 2, {65504, 16}, {1, 1}, 1, 0, 0, 0, INF, 0, 0},
    {F16, F16, F16, 2, {-65504, -16}, {1, 1}, 1, 0, 0, 0, -INF, 0, 0},
    {F16, F16, F16, 2, {65504, 16}, {1, 1}, -1, 0, 0, 0, -INF, 0, 0},
    {F16, F16, F16, 2, {65504, 65504}, {1, 1}, 1, 0, 0, 0, INF, 0, 0},
    {F16, F16, F32, 2, {65504, 65504}, {1, 1}, 1, 0, 0, 0, 131008, 0, 0},
    {F32, F32, F16, 1, {65520}, {1}, 1, 0, 0, 0, INF, 0, 0},
    {F32, F32, F16, 1, {65519.99609375}, {1}, 1, 0, 0, 0, 65504, 0, 0},
    {BF16, BF16, F16, 1, {256}, {256}, 1, 0, 0, 0, INF, 0, 0},
    /* but not on the way */
    {F16,
     F16,
     F16,
     3,
     {60000, 60000, 60000},
     {1, 1, -1},
     1,
     0,
     0,
     0,
     60000,
     0,
     0},
    {F16, F16, F16, 2, {65504, 65504}, {1, 1}, 0.5, 0, 0, 0, 65504, 0, 0},
    {F16, F16, F16, 2, {65504, 16}, {1, 1}, 1, 0, 0, -16, 65504, 0, 0},
    {F16, F16, F16, 2, {65504, 16}, {1, 1}, 1, 1, -16, 0, 65504, 0, 0},
    {F16, F16, F16, 1, {65504}, {1}, 1, 0, 0, 16, INF, 0, 0},
    {F16, F16, F16, 1, {65504}, {1}, 1, 1, 16, 0, INF, 0, 0},
    {F16, F16, F16, 2, {-65504, -16}, {1, 1}, 1, 0, 0, 0, 0, 1, 0},
    {F16, F16, F16, 2, {65504, 16}, {1, 1}, 1, 0, 0, 0, 1, 6, 0},
    /* bf16 and f32 */
    {BF16,
     BF16,
     BF16,
     2,
     {0x1.FEp127, 0x1p118},
     {1, 1},
     1,
     0,
     0,
     0,
     0x1.FEp127,
     0,
     0},
    {BF16, BF16, BF16, 2, {0x1.FEp127, 0x1p119}, {1, 1}, 1, 0, 0, 0, INF, 0, 0},
    {BF16,
     BF16,
     F32,
     2,
     {0x1.FEp127, 0x1p119},
     {1, 1},
     1,
     0,
     0,
     0,
     0x1.FFp127,
     0,
     0},
    {F32, F32, F32, 1, {0x1p127}, {2}, 1, 0, 0, 0, INF, 0, 0},
    {F32,
     F32,
     F32,
     1,
     {-0x1.FFFFFEp127},
     {1},
     1,
     0,
     0,
     0,
     -0x1.FFFFFEp127,
     0,
     0},
    /* f16 subnormals are kept, in and out */
    {F16, F16, F32, 1, {0x1p-24}, {1}, 1, 0, 0, 0, 0x1p-24, 0, 0},
    {F16, F16, F32, 1, {0x1p-24}, {0x1p-24}, 1, 0, 0, 0, 0x1p-48, 0, 0},
    {F16, F16, F16, 1, {0x1p-24}, {1}, 1, 0, 0, 0, 0x1p-24, 0, 0},
    {F16, F16, BF16, 1, {-0x1p-24}, {1}, 1, 0, 0, 0, -0x1p-24, 0, 0},
    {F16, F16, F16, 1, {0x1p-24}, {0.5}, 1, 0, 0, 0, 0, 0, 0},
    {F16, F16, F16, 1, {0x3p-24}, {0.5}, 1, 0, 0, 0, 0x2p-24, 0, 0},
    {F16, F16, F16, 1, {0x1p-24}, {0.50048828125}, 1, 0, 0, 0, 0x1p-24, 0, 0},
    {F16, F16, F16, 1, {0x3FFp-24}, {1}, 1, 0, 0, 0, 0x3FFp-24, 0, 0},
    {F16, F16, F16, 2, {0x3FFp-24, 0x1p-24}, {1, 1}, 1, 0, 0, 0, 0x1p-14, 0, 0},
    {F16,
     F16,
     F16,
     4,
     {0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24},
     {1, 1, 1, 1},
     1,
     0,
     0,
     0,
     0x1p-22,
     0,
     0},
    {F16, F16, F16, 1, {0x1p-24}, {1}, 1, 1, 0x1p-24, 0x1p-24, 0x3p-24, 0, 0},
    {F16, F16, F16, 1, {1}, {0}, 1, 1, 0x1p-24, 0, 0x1p-24, 0, 0},
    {F16, F32, F32, 1, {0x1p-24}, {0x1p100}, 1, 0, 0, 0, 0x1p76, 0, 0},
    {F32, F16, F32, 1, {0x1p100}, {0x3FFp-24}, 1, 0, 0, 0, 0x3FFp76, 0, 0},
    /* and bf16's and f32, where the device has them */
    {BF16, BF16, BF16, 1, {0x1p-133}, {1}, 1, 0, 0, 0, 0x1p-133, 0, 1},
    {BF16, BF16, F32, 1, {0x1p-133}, {1}, 1, 0, 0, 0, 0x1p-133, 0, 1},
    {BF16, BF16, F32, 1, {0x1p-133}, {0x1p100}, 1, 0, 0, 0, 0x1p-33, 0, 1},
    {F32, F32, F32, 1, {0x1p-149}, {1}, 1, 0, 0, 0, 0x1p-149, 0, 1},
    {F32, F32, F32, 1, {-0x1p-149}, {0x1p100}, 1, 0, 0, 0, -0x1p-49, 0, 1},
    {F32, F32, F32, 1, {0x1p-100}, {0x1p-40}, 1, 0, 0, 0, 0x1p-140, 0, 1},
    {F32, F32, BF16, 1, {0x1p-134}, {1}, 1, 0, 0, 0, 0, 0, 1},
    {F32, F32, BF16, 1, {0x3p-134}, {1}, 1, 0, 0, 0, 0x2p-133, 0, 1},
    {F32, F32, F32, 1, {1}, {0}, 1, 1, 0x1p-149, 0x1p-149, 0x1p-148, 0, 1},
};
#define DOTS (sizeof(dots) / sizeof(dots[0]))

static struct gemm_case case_of_dot(const struct dot *t)
{
    struct gemm_case g = {.m = 1,
                          .n = 1,
                          .k = t->k,
                          .a = t->a_dtype,
                          .b = t->b_dtype,
                          .d = t->d_dtype,
                          .c = F32,
                          .from = t->beta != 0.0 ? C_SCALAR : C_NONE,
                          .bias = t->bias != 0.0 ? F32 : (ssq_dtype)0,
                          .alpha = t->alpha,
                          .beta = t->beta,
                          .activation = t->activation};
    return g;
}

/* Does what runs these arguments take float32's subnormals for 0? */
static bool gemm_exact_flushes(struct harness *b, const ssq_gemm_args *args)
{
    ssq_gemm_explanation how = SSQ_GEMM_EXPLANATION_INIT;
    if (b->failed || b->skipped || b->bench || b->admit)
        return false;
    gemm_must(b, ssq_gemm_explain(b->queue, args, &how));
    return how.flushed || b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
}

static bool gemm_exact_run_dot(struct harness *b, const struct dot *t)
{
    struct gemm_case g = case_of_dot(t);
    struct gemm_work w = {.g = &g};
    const int64_t row[] = {1, t->k}, column[] = {t->k, 1}, one[] = {1, 1};
    harness_values(b, &w.a, g.a, 2, row, LAYOUT_DENSE, t->a);
    harness_values(b, &w.b, g.b, 2, column, LAYOUT_DENSE, t->b);
    if (g.from != C_NONE)
        harness_values(b, &w.c, F32, 0, NULL, LAYOUT_DENSE, &t->c);
    if (g.bias != 0)
        harness_values(b, &w.bias, F32, 1, one, LAYOUT_DENSE, &t->bias);
    harness_output(b, &w.d, g.d, 2, one, LAYOUT_DENSE);
    ssq_gemm_args args = gemm_args(&w);
    HARNESS_OP(b, ssq_gemm(b->queue, &args));
    harness_read(b, &w.d);
    if (t->subnormal && w.d.value != NULL && w.d.value[0] == 0.0 &&
        gemm_exact_flushes(b, &args))
        return !b->failed;
    return gemm_exactly(b, &w.d, &t->want);
}

static void describe_dot(const struct dot *t, char *text, size_t bytes)
{
    struct gemm_case g = case_of_dot(t);
    char shape[192];
    gemm_describe(&g, shape, sizeof(shape));
    snprintf(text, bytes, "%g * %g + .. is %g: %s", t->a[0], t->b[0], t->want,
             shape);
}

/* One NaN or infinity among positive numbers: the oracle says which elements
 * of d it reaches, and all others must be as without it. */
static const double poisons[] = {(double)NAN, INF, -INF};
static const struct {
    ssq_dtype a, b, d;
} mixes[] = {
    {F16, F16, F16},  {BF16, BF16, BF16}, {F32, F32, F32},  {F16, F16, F32},
    {BF16, F32, F16}, {F32, F16, BF16},   {F32, BF16, F32},
};
#define MIXES  (sizeof(mixes) / sizeof(mixes[0]))
#define PLACES (3 * 5 * 3) /* what, in which operand, where in it */

static const char *const hosts[] = {"a", "b", "c", "bias", "a against 0 in b"};
static const char *const places[] = {"first", "middle", "last"};

static void make_poisoned(struct harness *b, struct operand *x, ssq_dtype dtype,
                          int rank, const int64_t *shape, enum layout layout,
                          int64_t at, double poison)
{
    int64_t n = shape[0] * (rank == 2 ? shape[1] : 1);
    double *v = harness_alloc(b, (size_t)n * sizeof(*v));
    for (int64_t i = 0; i < n; i++)
        v[i] = 1.0 - 0.5 * harness_uniform(b);
    if (at >= 0)
        v[at] = poison;
    harness_values(b, x, dtype, rank, shape, layout, v);
}

static struct gemm_case case_of_place(size_t i)
{
    struct gemm_case g = {.m = 17,
                          .n = 33,
                          .k = 18,
                          .a = mixes[i % MIXES].a,
                          .b = mixes[i % MIXES].b,
                          .d = mixes[i % MIXES].d,
                          .c = mixes[i % MIXES].b,
                          .from = C_FULL,
                          .bias = mixes[i % MIXES].a,
                          .trans_a = i / 2 % 2 == 1,
                          .trans_b = i / 3 % 2 == 1,
                          .layout_a = (enum layout)(i % 3),
                          .layout_b = (enum layout)(i / 5 % 3),
                          .alpha = 1.0,
                          .beta = 1.0};
    return g;
}

/* Element (i, j) of [rows,columns], or of its transpose in memory. */
static int64_t gemm_exact_index_of(int64_t i, int64_t j, int64_t rows,
                                   int64_t columns, bool transposed)
{
    return transposed ? j * rows + i : i * columns + j;
}

static bool run_place(struct harness *b, size_t i)
{
    struct gemm_case g = case_of_place(i);
    struct gemm_work w = {.g = &g};
    size_t host = i / 3 % 5, place = i / 15;
    double poison = poisons[i % 3];
    int64_t shape[SSQ_MAX_RANK];
    int64_t r[] = {0, g.m / 2, g.m - 1}, c[] = {0, g.n / 2, g.n - 1};
    int64_t q[] = {0, g.k / 2, g.k - 1}, at[4] = {-1, -1, -1, -1};
    at[0] = gemm_exact_index_of(r[place], q[place], g.m, g.k, g.trans_a);
    at[1] = gemm_exact_index_of(q[place], c[place], g.k, g.n, g.trans_b);
    at[2] = gemm_exact_index_of(r[place], c[place], g.m, g.n, false);
    at[3] = c[place];
    gemm_shape(&g, 'a', shape);
    make_poisoned(b, &w.a, g.a, 2, shape, g.layout_a,
                  host % 4 == 0 ? at[0] : -1, poison);
    gemm_shape(&g, 'b', shape);
    make_poisoned(b, &w.b, g.b, 2, shape, g.layout_b,
                  host == 1 || host == 4 ? at[1] : -1,
                  host == 4 ? 0.0 : poison);
    gemm_shape(&g, 'c', shape);
    make_poisoned(b, &w.c, g.c, 2, shape, LAYOUT_PADDED, host == 2 ? at[2] : -1,
                  poison);
    make_poisoned(b, &w.bias, g.bias, 1, &g.n, LAYOUT_DENSE,
                  host == 3 ? at[3] : -1, poison);
    gemm_shape(&g, 'd', shape);
    harness_output(b, &w.d, g.d, 2, shape, LAYOUT_PADDED);
    return gemm_finish(b, &w);
}

static void describe_place(size_t i, char *text, size_t bytes)
{
    struct gemm_case g = case_of_place(i);
    char shape[192];
    gemm_describe(&g, shape, sizeof(shape));
    snprintf(text, bytes, "%g %s in %s: %s", poisons[i % 3], places[i / 15],
             hosts[i / 3 % 5], shape);
}

/* Special values all over, and coefficients that are not finite. */
#define SIZES(M, N, K) .m = M, .n = N, .k = K
#define TYPES(A, B, D) .a = A, .b = B, .d = D
#define FILLS(A, B, C)                                                         \
    .fill_a = FILL_##A, .fill_b = FILL_##B, .fill_c = FILL_##C
#define ACT(X)          .activation = SSQ_ACTIVATION_##X
#define ADD(FROM, C, B) .from = C_##FROM, .c = C, .bias = B
#define SCALE(A, B)     .alpha = A, .beta = B
#define NONE            (ssq_dtype)0

static const struct gemm_case cases[] = {
    /* data that is not read cannot harm */
    {.name = "beta 0",
     SIZES(9, 17, 5),
     TYPES(F16, F16, F32),
     SCALE(1, 0),
     ADD(FULL, F32, NONE),
     FILLS(NORMAL, NORMAL, NAN)},
    {.name = "beta 0",
     SIZES(9, 17, 5),
     TYPES(F32, F32, F16),
     SCALE(1, 0),
     ADD(PLACE, F16, NONE),
     FILLS(NORMAL, NORMAL, NAN)},
    {.name = "beta -0",
     SIZES(9, 17, 5),
     TYPES(BF16, BF16, BF16),
     SCALE(1, -0.0),
     ADD(ROW, F32, NONE),
     FILLS(NORMAL, NORMAL, NAN)},
    {.name = "beta 2^-200 is 0 in float32",
     SIZES(3, 4, 5),
     TYPES(F32, F32, F32),
     SCALE(1, 0x1p-200),
     ADD(FULL, F32, NONE),
     FILLS(NORMAL, NORMAL, NAN)},
    {.name = "alpha 0",
     SIZES(33, 7, 19),
     TYPES(F16, F16, F16),
     SCALE(0, 1),
     ADD(FULL, F32, NONE),
     FILLS(NAN, NAN, NORMAL)},
    {.name = "alpha -0",
     SIZES(33, 7, 19),
     TYPES(F32, BF16, F32),
     SCALE(-0.0, 0),
     ADD(NONE, F32, BF16),
     FILLS(NAN, NAN, NORMAL)},
    {.name = "alpha 0, beta 0",
     SIZES(33, 7, 19),
     TYPES(BF16, BF16, F32),
     SCALE(0, 0),
     ADD(PLACE, F32, NONE),
     FILLS(NAN, NAN, NAN)},
    {.name = "alpha 0, beta 0.7, in place",
     SIZES(5, 66, 19),
     TYPES(F16, F16, F16),
     SCALE(0, 0.7),
     ADD(PLACE, F16, F32),
     FILLS(NAN, NAN, NORMAL),
     ACT(GELU)},
    {.name = "k 0, alpha NaN",
     SIZES(5, 6, 0),
     TYPES(F16, F16, F32),
     SCALE((double)NAN, 1),
     ADD(FULL, F16, NONE),
     FILLS(NORMAL, NORMAL, NORMAL)},
    /* coefficients */
    {.name = "alpha NaN",
     SIZES(5, 6, 7),
     TYPES(F16, F16, F16),
     SCALE((double)NAN, 0),
     FILLS(NORMAL, NORMAL, NORMAL)},
    {.name = "alpha NaN",
     SIZES(65, 6, 1),
     TYPES(F32, F32, F32),
     SCALE((double)NAN, 1),
     ADD(FULL, F16, F32),
     FILLS(NORMAL, NORMAL, NORMAL)},
    {.name = "beta NaN",
     SIZES(5, 66, 7),
     TYPES(BF16, BF16, BF16),
     SCALE(1, (double)NAN),
     ADD(FULL, F32, NONE),
     FILLS(NORMAL, NORMAL, NORMAL)},
    {.name = "beta NaN, c 0",
     SIZES(5, 6, 7),
     TYPES(F16, F32, F32),
     SCALE(0, (double)NAN),
     ADD(ROW, F32, NONE),
     FILLS(NORMAL, NORMAL, ZERO)},
    {.name = "alpha infinite",
     SIZES(5, 6, 7),
     TYPES(F16, F16, F16),
     SCALE(-INF, 0),
     FILLS(POSITIVE, POSITIVE, NORMAL)},
    {.name = "beta infinite",
     SIZES(5, 6, 7),
     TYPES(F32, F32, BF16),
     SCALE(1, INF),
     ADD(COLUMN, F16, NONE),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
    {.name = "alpha 2^200 is infinite in float32",
     SIZES(5, 6, 7),
     TYPES(F32, F32, F32),
     SCALE(0x1p200, 0),
     FILLS(POSITIVE, POSITIVE, NORMAL)},
    {.name = "infinity minus infinity",
     SIZES(4, 4, 4),
     TYPES(F32, F32, F32),
     SCALE(INF, -INF),
     ADD(FULL, F32, NONE),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Special values: every mix and depth; every activation and output. */
#define SPECIALS    (7 * 3 * 2)
#define ACTIVATIONS (7 * 3)

static struct gemm_case special_case(size_t i)
{
    static const ssq_dtype floats[] = {F32, F16, BF16};
    struct gemm_case g = {.m = 31,
                          .n = 23,
                          .k = 1 + (int64_t)(i / 7 % 3),
                          .a = mixes[i % 7].a,
                          .b = mixes[i % 7].b,
                          .d = floats[i % 3],
                          .c = F32,
                          .from = i / 21 == 1 ? C_FULL : C_NONE,
                          .alpha = 1.0,
                          .beta = i / 21 == 1 ? 1.0 : 0.0,
                          .fill_a = FILL_SPECIAL,
                          .fill_b = FILL_SPECIAL};
    if (i >= SPECIALS) { /* 1 x special x 1, then the activation */
        i -= SPECIALS;
        g = (struct gemm_case){.m = 41,
                               .n = 43,
                               .k = 1,
                               .a = F16,
                               .b = F16,
                               .d = floats[i % 3],
                               .alpha = 1.0,
                               .activation = (ssq_activation)(i / 3),
                               .fill_a = FILL_SPECIAL,
                               .fill_b = FILL_ONES};
    }
    return g;
}

static const struct gemm_case *table_case(size_t i, struct gemm_case *g)
{
    if (i < CASES)
        return &cases[i];
    *g = special_case(i - CASES);
    return g;
}

static void gemm_exact_describe(size_t i, char *text, size_t bytes)
{
    struct gemm_case g;
    if (i < DOTS)
        describe_dot(&dots[i], text, bytes);
    else if (i < DOTS + PLACES)
        describe_place(i - DOTS, text, bytes);
    else
        gemm_describe(table_case(i - DOTS - PLACES, &g), text, bytes);
}

static bool gemm_exact_run(struct harness *b, size_t i)
{
    struct gemm_case g;
    if (i < DOTS)
        return gemm_exact_run_dot(b, &dots[i]);
    if (i < DOTS + PLACES)
        return run_place(b, i - DOTS);
    return gemm_run(b, table_case(i - DOTS - PLACES, &g));
}

const struct suite gemm_exact_suite = {.op = "gemm",
                                       .name = "gemm_exact",
                                       .n = DOTS + PLACES + CASES + SPECIALS +
                                            ACTIVATIONS,
                                       .turn = suite_half,
                                       .describe = gemm_exact_describe,
                                       .run = gemm_exact_run,
                                       .floor = 2 * 196};
