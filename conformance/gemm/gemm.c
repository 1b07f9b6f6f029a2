/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - the covering table of gemm: sizes at tile edges, dtypes, layouts,
 * transposes, epilogues and batches, each level with each other one. */
#include "conformance/gemm/gemm_case.h"
#include "conformance/pairwise.h"

#include <stdio.h>
#include <string.h>

#define ROWS 600

/* Tile edges and primes; 0 is in gemm_shapes.c: it would hide the rest. */
static const int64_t sizes[] = {1,  2,  3,  5,  7,  8,  9,  13,  15,  16, 17,
                                31, 32, 33, 61, 63, 64, 65, 127, 128, 129};
static const int64_t depths[] = {1,  2,   3,   5,   7,   8,   9,  13, 15,
                                 16, 17,  31,  32,  33,  61,  63, 64, 65,
                                 97, 127, 128, 129, 255, 256, 257};
static const ssq_dtype pairs[][2] = {
    {SSQ_F32, SSQ_F32},  {SSQ_F16, SSQ_F16}, {SSQ_BF16, SSQ_BF16},
    {SSQ_F16, SSQ_F32},  {SSQ_F32, SSQ_F16}, {SSQ_BF16, SSQ_F32},
    {SSQ_F32, SSQ_BF16},
};
static const ssq_dtype floats[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
static const ssq_dtype biases[] = {(ssq_dtype)0, SSQ_F32, SSQ_F16, SSQ_BF16};
static const double alphas[] = {1.0, -1.0, 0.7, 1.0, 0.0, 2.5};
static const double betas[] = {0.0, 1.0, -1.0, 0.7};

/* The contents of the operands. Huge values meet tiny ones where a product of
 * two would leave float32. */
static const struct {
    enum fill a, b, c;
} data[] = {
    {FILL_NORMAL, FILL_NORMAL, FILL_NORMAL},
    {FILL_UNIFORM, FILL_UNIFORM, FILL_NORMAL},
    {FILL_POSITIVE, FILL_POSITIVE, FILL_NORMAL},
    {FILL_INTEGERS, FILL_INTEGERS, FILL_INTEGERS},
    {FILL_TINY, FILL_NORMAL, FILL_TINY},
    {FILL_TINY, FILL_HUGE, FILL_NORMAL},
    {FILL_HUGE, FILL_TINY, FILL_NORMAL},
    {FILL_INTEGERS, FILL_INTEGERS, FILL_INTEGERS},
    {FILL_HUGE, FILL_UNIFORM, FILL_NORMAL}, /* f16 only, see make */
};

static const struct gemm_batch_case batches[] = {
    {.rank = 0},
    {1, 1, 1, {3}, {3}, {3}},
    {1, 0, 1, {3}, {0}, {3}},          /* all share a */
    {1, 1, 0, {3}, {3}, {0}},          /* all share b: folds into m */
    {2, 2, 1, {2, 3}, {2, 1}, {3}},    /* as torch.matmul */
    {2, 2, 2, {2, 3}, {2, 3}, {1, 1}}, /* folds */
    {3, 3, 3, {2, 1, 2}, {2, 1, 2}, {2, 1, 2}},
};

#define N(A) ((unsigned char)(sizeof(A) / sizeof((A)[0])))

enum factor {
    M,
    COLUMNS,
    K,
    PAIR,
    D,
    C,
    FROM,
    LAYOUT_C,
    BIAS,
    LAYOUT_BIAS,
    TRANS_A,
    TRANS_B,
    LAYOUT_A,
    LAYOUT_B,
    LAYOUT_D,
    ALPHA,
    BETA,
    ACTIVATION,
    DATA,
    BATCH,
    FACTORS
};

static const unsigned char levels[FACTORS] = {
    [M] = N(sizes),
    [COLUMNS] = N(sizes),
    [K] = N(depths),
    [PAIR] = N(pairs),
    [D] = N(floats),
    [C] = N(floats),
    [FROM] = C_BATCH + 1,
    [LAYOUT_C] = 4,
    [BIAS] = N(biases),
    [LAYOUT_BIAS] = 2, /* dense, or one element repeated */
    [TRANS_A] = 2,
    [TRANS_B] = 2,
    [LAYOUT_A] = 3,
    [LAYOUT_B] = 3,
    [LAYOUT_D] = 3,
    [ALPHA] = N(alphas),
    [BETA] = N(betas),
    [ACTIVATION] = SSQ_ACTIVATION_TANH + 1,
    [DATA] = N(data),
    [BATCH] = N(batches),
};

static unsigned char table[ROWS][FACTORS];
static size_t needed; /* rows until all pairs were covered; 0: not made yet */

static const unsigned char *gemm_row(size_t i)
{
    if (needed == 0)
        needed = pairwise(levels, FACTORS, table[0], ROWS);
    return table[i];
}

static struct gemm_case gemm_table_make(size_t i)
{
    const unsigned char *r = gemm_row(i);
    struct gemm_case g = {
        .m = sizes[r[M]],
        .n = sizes[r[COLUMNS]],
        .k = depths[r[K]],
        .a = pairs[r[PAIR]][0],
        .b = pairs[r[PAIR]][1],
        .c = floats[r[C]],
        .d = floats[r[D]],
        .bias = biases[r[BIAS]],
        .from = (enum gemm_c)r[FROM],
        .trans_a = r[TRANS_A] != 0,
        .trans_b = r[TRANS_B] != 0,
        .layout_a = (enum layout)r[LAYOUT_A],
        .layout_b = (enum layout)r[LAYOUT_B],
        .layout_c = (enum layout)r[LAYOUT_C],
        .layout_d = (enum layout)r[LAYOUT_D],
        .layout_bias = r[LAYOUT_BIAS] == 0 ? LAYOUT_DENSE : LAYOUT_BROADCAST,
        .alpha = alphas[r[ALPHA]],
        .beta = betas[r[BETA]],
        .activation = (ssq_activation)r[ACTIVATION],
        .fill_a = data[r[DATA]].a,
        .fill_b = data[r[DATA]].b,
        .fill_c = data[r[DATA]].c,
        .batch = batches[r[BATCH]],
    };
    if (g.from == C_PLACE)
        g.c = g.d;
    if (g.from == C_NONE)
        g.beta = 0.0;
    if (g.fill_b == FILL_UNIFORM && g.a != SSQ_F16 && g.fill_a == FILL_HUGE)
        g.fill_b = FILL_TINY;
    return g;
}

static void gemm_table_describe(size_t i, char *text, size_t bytes)
{
    if (i == ROWS) {
        snprintf(text, bytes, "gemm: %d rows cover all pairs of levels", ROWS);
        return;
    }
    struct gemm_case g = gemm_table_make(i);
    gemm_describe(&g, text, bytes);
}

static bool gemm_table_run(struct harness *b, size_t i)
{
    if (i == ROWS)
        return gemm_row(0) != NULL && needed <= ROWS
                   ? !b->failed
                   : harness_fail(b, "%d rows do not cover all pairs", ROWS);
    struct gemm_case g = gemm_table_make(i);
    return gemm_run(b, &g);
}

const struct suite gemm_suite = {.op = "gemm",
                                 .name = "gemm",
                                 .n = ROWS + 1,
                                 .turn = suite_half,
                                 .describe = gemm_table_describe,
                                 .run = gemm_table_run,
                                 .floor = 2 * 601};
