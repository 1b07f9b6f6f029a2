/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_shapes.c - gemm at sizes that matter: empty, long sums, batches, the
 * shapes of ONNX and torch examples, and training's, worth timing. */
#include "conformance/gemm/gemm_case.h"

#include <stdio.h>
#include <string.h>

#define F32            SSQ_F32
#define F16            SSQ_F16
#define BF16           SSQ_BF16
#define NO             (ssq_dtype)0
#define SIZES(M, N, K) .m = M, .n = N, .k = K
#define TYPES(A, B, D) .a = A, .b = B, .d = D
#define FILLS(A, B, C)                                                         \
    .fill_a = FILL_##A, .fill_b = FILL_##B, .fill_c = FILL_##C
#define ACT(X)          .activation = SSQ_ACTIVATION_##X
#define ADD(FROM, C, B) .from = C_##FROM, .c = C, .bias = B
#define SCALE(A, B)     .alpha = A, .beta = B
#define TRANS(A, B)     .trans_a = A, .trans_b = B
#define LAY(A, B, D)                                                           \
    .layout_a = LAYOUT_##A, .layout_b = LAYOUT_##B, .layout_d = LAYOUT_##D

static const struct gemm_case cases[] = {
    /* nothing to do, or nothing to multiply */
    {SIZES(0, 5, 3), TYPES(F16, F16, F16), SCALE(1, 0)},
    {SIZES(4, 0, 3), TYPES(F32, F32, F32), SCALE(1, 1), ADD(FULL, F32, F32)},
    {SIZES(0, 0, 0), TYPES(BF16, BF16, BF16), SCALE(1, 0), TRANS(1, 1)},
    {SIZES(0, 5, 0), TYPES(F32, F32, F32), SCALE(1, 0), ADD(NONE, NO, F16)},
    {SIZES(4, 5, 0), TYPES(F16, F16, F16), SCALE(1, 0)},
    {SIZES(4, 5, 0), TYPES(F32, F32, F16), SCALE(1, 0),
     LAY(DENSE, DENSE, PADDED), ADD(NONE, NO, F32)},
    {SIZES(33, 5, 0), TYPES(BF16, BF16, BF16), SCALE(1, 0), ADD(NONE, NO, F32),
     ACT(SIGMOID)},
    {SIZES(33, 65, 0), TYPES(F16, F32, F32), SCALE(1, -1),
     ADD(PLACE, F32, BF16), TRANS(1, 0)},
    {SIZES(33, 65, 0), TYPES(F16, F16, BF16), SCALE(1, 0.7), TRANS(0, 1),
     ADD(COLUMN, F16, F16), ACT(RELU)},
    {SIZES(7, 9, 0), TYPES(F16, F16, F32), SCALE(2, 1), ADD(ROW, F32, NO),
     LAY(DENSE, DENSE, TRANSPOSED)},
    {SIZES(5, 6, 7), TYPES(F16, F16, F16), SCALE(1, 0),
     .batch = {1, 1, 1, {0}, {0}, {0}}},
    {SIZES(5, 6, 7), TYPES(F16, F16, F16), SCALE(1, 0),
     .batch = {2, 2, 1, {2, 0}, {2, 1}, {0}}},
    {SIZES(5, 0, 7), TYPES(F16, F16, F16), SCALE(1, 0),
     .batch = {1, 1, 1, {3}, {3}, {3}}},
    {SIZES(5, 6, 0), TYPES(F16, F16, F16), SCALE(1, 1), ADD(FULL, F16, F16),
     .batch = {2, 2, 2, {2, 3}, {2, 3}, {2, 3}}},
    /* long sums */
    {SIZES(3, 5, 1000), TYPES(F16, F16, F16), SCALE(1, 0)},
    {SIZES(5, 3, 1023), TYPES(BF16, BF16, F32), SCALE(1, 0), TRANS(1, 0)},
    {SIZES(2, 4, 4095), TYPES(F32, F32, F32), SCALE(0.7, 0), TRANS(0, 1)},
    {SIZES(2, 4, 4097), TYPES(F16, F32, F32), SCALE(-1, 1), ADD(ROW, F32, NO)},
    {SIZES(3, 3, 10007), TYPES(BF16, F32, BF16), SCALE(1, 0),
     FILLS(POSITIVE, POSITIVE, NORMAL)},
    {SIZES(3, 2, 65536), TYPES(F16, F16, F16), SCALE(0x1p-8, 0),
     FILLS(POSITIVE, POSITIVE, NORMAL)},
    {SIZES(2, 3, 65537), TYPES(F32, F16, F32), SCALE(1, 0), TRANS(1, 1),
     FILLS(UNIFORM, UNIFORM, NORMAL)},
    {SIZES(2, 2, 131071), TYPES(F32, BF16, F16), SCALE(0.01, 1), TRANS(1, 0),
     FILLS(POSITIVE, UNIFORM, NORMAL), ADD(SCALAR, F32, F32), ACT(TANH)},
    {SIZES(2, 2, 524288), TYPES(F16, F16, F32), SCALE(1, 1),
     FILLS(INTEGERS, INTEGERS, INTEGERS), ADD(FULL, F32, NO)},
    {SIZES(1, 2, 524287), TYPES(BF16, BF16, BF16), SCALE(-1, 0),
     FILLS(INTEGERS, INTEGERS, INTEGERS)},
    {SIZES(1, 1, 1048576), TYPES(F32, F32, F32), SCALE(1, 0),
     FILLS(UNIFORM, UNIFORM, NORMAL)},
    {SIZES(1, 2, 1048575), TYPES(F16, F16, F32), SCALE(1, 0),
     FILLS(POSITIVE, POSITIVE, NORMAL), TRANS(0, 1)},
    {SIZES(1, 1, 1048576), TYPES(BF16, BF16, F32), SCALE(1, 0),
     FILLS(ONES, INTEGERS, NORMAL)},
    /* zero-mean data: the sharper net, see gemm_case.c */
    {SIZES(16, 16, 16), TYPES(F16, F16, F32), SCALE(1, 0)},
    {SIZES(16, 16, 64), TYPES(BF16, BF16, F32), SCALE(1, 0)},
    {SIZES(16, 16, 256), TYPES(F32, F32, F32), SCALE(1, 0)},
    {SIZES(16, 16, 1024), TYPES(F16, F16, F32), SCALE(1, 0), .twice = true},
    {SIZES(16, 16, 1024), TYPES(F32, F32, F32), SCALE(1, 0), .twice = true},
    {SIZES(8, 16, 4096), TYPES(BF16, F32, F32), SCALE(1, 0)},
    {SIZES(8, 8, 8192), TYPES(F16, F16, F32), SCALE(1, 0)},
    {SIZES(8, 8, 8192), TYPES(F32, F32, F32), SCALE(1, 0),
     FILLS(UNIFORM, UNIFORM, NORMAL)},
    /* vectors */
    {SIZES(1, 257, 129), TYPES(F16, F16, F16), SCALE(1, 0)},
    {SIZES(257, 1, 129), TYPES(F16, F16, F16), SCALE(1, 0), TRANS(1, 0)},
    {SIZES(257, 129, 1), TYPES(BF16, BF16, F32), SCALE(1, 1),
     ADD(PLACE, F32, NO)},
    {SIZES(1, 1, 1), TYPES(F32, F32, F32), SCALE(0.7, -1), ADD(FULL, F32, F32)},
    /* batches; the first number of three is the rank of d's, a's, b's */
    {SIZES(5, 7, 9), TYPES(F32, F32, F32), SCALE(1, 0),
     .batch = {1, 1, 1, {4}, {1}, {4}}},
    {SIZES(5, 7, 9), TYPES(F16, F16, F32), SCALE(1, 0),
     .batch = {2, 2, 2, {2, 3}, {2, 1}, {1, 3}},
     LAY(PADDED, TRANSPOSED, PADDED)},
    {SIZES(5, 7, 9), TYPES(F16, F16, F32), SCALE(1, 1), ADD(BATCH, F16, F32),
     .batch = {2, 0, 2, {2, 3}, {0}, {2, 3}}, TRANS(1, 1)},
    {SIZES(3, 5, 2), TYPES(BF16, BF16, BF16), SCALE(1, 0),
     .batch = {4, 4, 4, {2, 1, 3, 2}, {2, 1, 1, 2}, {1, 1, 3, 1}}},
    {SIZES(3, 5, 2), TYPES(F32, F32, F32), SCALE(1, 1), ADD(FULL, F32, NO),
     .batch = {4, 4, 4, {2, 2, 3, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}}},
    {SIZES(6, 5, 4), TYPES(F16, F16, F16), SCALE(1, 1), ADD(ROW, F32, F32),
     .batch = {2, 2, 0, {3, 5}, {3, 5}, {0}}, ACT(GELU)}, /* folds twice */
    {SIZES(6, 5, 4), TYPES(F16, F16, F16), SCALE(1, 1), ADD(COLUMN, F32, F32),
     .batch = {1, 1, 0, {3}, {3}, {0}}}, /* c keeps it from folding */
    {SIZES(6, 5, 4), TYPES(F16, F16, F16), SCALE(1, 0), TRANS(1, 0),
     .batch = {1, 1, 0, {3}, {3}, {0}}}, /* columns do */
    {SIZES(6, 5, 4), TYPES(F16, F16, F16), SCALE(1, 0),
     .batch = {1, 1, 0, {3}, {3}, {0}}, LAY(PADDED, DENSE, DENSE)},
    {SIZES(6, 5, 4), TYPES(F16, F16, F16), SCALE(1, 0),
     .batch = {1, 1, 0, {3}, {3}, {0}}, LAY(DENSE, DENSE, TRANSPOSED)},
    {SIZES(1, 5, 4), TYPES(F16, F16, F32), SCALE(1, 0),
     .batch = {1, 1, 0, {70}, {70}, {0}}, TRANS(0, 1)}, /* rows of 1 fold */
    {SIZES(1, 5, 4), TYPES(F16, F16, F32), SCALE(1, 1), ADD(PLACE, F32, NO),
     .batch = {2, 1, 2, {2, 9}, {9}, {2, 1}}},
    {SIZES(1, 1, 4), TYPES(F32, F32, F32), SCALE(1, 0),
     .batch = {1, 1, 1, {300}, {300}, {300}}},
    /* attention: scores and values of 2 x 4 heads */
    {.name = "scores",
     SIZES(24, 24, 16),
     TYPES(F16, F16, F32),
     SCALE(0.25, 0),
     TRANS(0, 1),
     .batch = {2, 2, 2, {2, 4}, {2, 4}, {2, 4}}},
    {.name = "values",
     SIZES(24, 16, 24),
     TYPES(F16, F16, F16),
     SCALE(1, 0),
     FILLS(POSITIVE, NORMAL, NORMAL),
     .batch = {2, 2, 2, {2, 4}, {2, 4}, {2, 4}}},
    /* the node tests of ONNX Gemm, by their names and shapes */
    {.name = "onnx default_zero_bias",
     SIZES(3, 4, 5),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(ROW2, F32, NO),
     FILLS(POSITIVE, POSITIVE, ZERO)},
    {.name = "onnx default_no_bias",
     SIZES(2, 3, 10),
     TYPES(F32, F32, F32),
     SCALE(1, 0),
     FILLS(POSITIVE, POSITIVE, ZERO)},
    {.name = "onnx default_scalar_bias",
     SIZES(2, 4, 3),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(SCALAR, F32, NO),
     FILLS(POSITIVE, POSITIVE, ONES)},
    {.name = "onnx default_single_elem_vector_bias",
     SIZES(3, 3, 7),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(BATCH, F32, NO),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
    {.name = "onnx default_vector_bias",
     SIZES(2, 4, 7),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(ROW2, F32, NO),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
    {.name = "onnx default_matrix_bias",
     SIZES(3, 4, 6),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(FULL, F32, NO),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
    {.name = "onnx transposeA",
     SIZES(3, 4, 6),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(ROW2, F32, NO),
     TRANS(1, 0),
     FILLS(POSITIVE, POSITIVE, ZERO)},
    {.name = "onnx transposeB",
     SIZES(3, 4, 6),
     TYPES(F32, F32, F32),
     SCALE(1, 1),
     ADD(ROW2, F32, NO),
     TRANS(0, 1),
     FILLS(POSITIVE, POSITIVE, ZERO)},
    {.name = "onnx alpha",
     SIZES(3, 4, 5),
     TYPES(F32, F32, F32),
     SCALE(0.5, 1),
     ADD(ROW2, F32, NO),
     FILLS(POSITIVE, POSITIVE, ZERO)},
    {.name = "onnx beta",
     SIZES(2, 4, 7),
     TYPES(F32, F32, F32),
     SCALE(1, 0.5),
     ADD(ROW2, F32, NO),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
    {.name = "onnx all_attributes",
     SIZES(3, 5, 4),
     TYPES(F32, F32, F32),
     SCALE(0.25, 0.35),
     ADD(ROW2, F32, NO),
     TRANS(1, 1),
     FILLS(POSITIVE, POSITIVE, POSITIVE)},
    /* training, and worth timing: a linear layer y = gelu(x w' + bias), its
     * gradients dx = dy w and dw += dy' x, and squares */
    {.name = "linear",
     SIZES(128, 256, 512),
     TYPES(F16, F16, F16),
     SCALE(1, 0),
     TRANS(0, 1),
     ADD(NONE, NO, F32),
     ACT(GELU)},
    {.name = "linear dx",
     SIZES(128, 512, 256),
     TYPES(F16, F16, F16),
     SCALE(1, 0)},
    {.name = "linear dw",
     SIZES(256, 512, 128),
     TYPES(F16, F16, F32),
     SCALE(1, 1),
     TRANS(1, 0),
     ADD(PLACE, F32, NO)},
    {.name = "logits",
     SIZES(128, 10, 256),
     TYPES(BF16, BF16, F32),
     SCALE(1, 0),
     TRANS(0, 1),
     ADD(NONE, NO, F32)},
    {.name = "tokens",
     SIZES(64, 128, 128),
     TYPES(BF16, BF16, BF16),
     SCALE(1, 0),
     TRANS(0, 1),
     .batch = {1, 1, 0, {4}, {4}, {0}}},
    {.name = "square", SIZES(256, 256, 256), TYPES(F32, F32, F32), SCALE(1, 0)},
    {.name = "square", SIZES(256, 256, 256), TYPES(F16, F16, F32), SCALE(1, 0)},
    {.name = "square",
     SIZES(512, 512, 512),
     TYPES(F32, F32, F32),
     SCALE(1, 0),
     FILLS(UNIFORM, UNIFORM, NORMAL)},
    {.name = "square",
     SIZES(512, 512, 512),
     TYPES(F16, F16, F16),
     SCALE(1, 0),
     FILLS(UNIFORM, UNIFORM, NORMAL)},
    {.name = "square",
     SIZES(512, 512, 512),
     TYPES(BF16, BF16, BF16),
     SCALE(1, 0),
     FILLS(UNIFORM, UNIFORM, NORMAL)},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* For timing only: what a float64 product takes minutes for. */
#define TIMED(M, N, K, T, D)                                                   \
    {                                                                          \
        .name = "timed", SIZES(M, N, K), TYPES(T, T, D), SCALE(1, 0),          \
        FILLS(UNIFORM, UNIFORM, NORMAL)                                        \
    }
#define TIMED_ALL(M, N, K)                                                     \
    TIMED(M, N, K, F32, F32), TIMED(M, N, K, F16, F16),                        \
        TIMED(M, N, K, BF16, BF16)
static const struct gemm_case timed[] = {
    TIMED_ALL(256, 256, 256),          TIMED_ALL(512, 512, 512),
    TIMED_ALL(1024, 1024, 1024),       TIMED_ALL(2048, 2048, 2048),
    TIMED_ALL(1000, 1000, 1000),       TIMED_ALL(63, 2049, 511),
    TIMED_ALL(8, 4096, 4096),          TIMED(256, 256, 256, F16, F32),
    TIMED(512, 512, 512, F16, F32),    TIMED(1000, 1000, 1000, F16, F32),
    TIMED(1024, 1024, 1024, F16, F32),
};
#define TIMED_CASES (sizeof(timed) / sizeof(timed[0]))

const struct gemm_case *gemm_timed(size_t i)
{
    return i < TIMED_CASES ? &timed[i] : NULL;
}

/* Numbers that can be checked by hand: [[1,2,3],[4,5,6]] and
 * [[7,8],[9,10],[11,12]], transposed in every way. */
static bool by_hand(struct harness *b, bool trans_a, bool trans_b)
{
    static const double a[] = {1, 2, 3, 4, 5, 6}, at[] = {1, 4, 2, 5, 3, 6};
    static const double x[] = {7, 8, 9, 10, 11, 12},
                        xt[] = {7, 9, 11, 8, 10, 12};
    static const double want[] = {58, 64, 139, 154};
    const struct gemm_case g = {SIZES(2, 2, 3), TYPES(F16, F16, F32),
                                SCALE(1, 0), TRANS(trans_a, trans_b)};
    struct gemm_work w = {.g = &g};
    int64_t shape[SSQ_MAX_RANK];
    gemm_shape(&g, 'a', shape);
    harness_values(b, &w.a, F16, 2, shape, LAYOUT_DENSE, trans_a ? at : a);
    gemm_shape(&g, 'b', shape);
    harness_values(b, &w.b, F16, 2, shape, LAYOUT_PADDED, trans_b ? xt : x);
    gemm_shape(&g, 'd', shape);
    harness_output(b, &w.d, F32, 2, shape, LAYOUT_DENSE);
    ssq_gemm_args args = gemm_args(&w);
    HARNESS_OP(b, ssq_gemm(b->queue, &args));
    harness_read(b, &w.d);
    return gemm_exactly(b, &w.d, want);
}

/* torch.matmul of [2,1,2,1] and [3,1,2]: outer products, by hand. */
static bool outer_products(struct harness *b)
{
    static const double a[] = {1, 2, 3, 4}, x[] = {1, 10, 2, 20, 3, 30};
    const struct gemm_case g = {SIZES(2, 2, 1), TYPES(F32, F32, F32),
                                SCALE(1, 0),
                                .batch = {2, 2, 1, {2, 3}, {2, 1}, {3}}};
    struct gemm_work w = {.g = &g};
    int64_t shape[SSQ_MAX_RANK];
    double want[24];
    for (int i = 0; i < 24; i++) /* i is batch of a, batch of b, row, column */
        want[i] = a[i / 12 * 2 + i / 2 % 2] * x[i / 4 % 3 * 2 + i % 2];
    harness_values(b, &w.a, F32, gemm_shape(&g, 'a', shape), shape,
                   LAYOUT_DENSE, a);
    harness_values(b, &w.b, F32, gemm_shape(&g, 'b', shape), shape,
                   LAYOUT_DENSE, x);
    harness_output(b, &w.d, F32, gemm_shape(&g, 'd', shape), shape,
                   LAYOUT_DENSE);
    ssq_gemm_args args = gemm_args(&w);
    HARNESS_OP(b, ssq_gemm_batched(b->queue, &args));
    harness_read(b, &w.d);
    return gemm_exactly(b, &w.d, want);
}

/* Heads interleaved in memory, [tokens, heads, size], as a batch of heads: the
 * view [heads, tokens, size] that transpose makes. */
static void view_heads(struct harness *b, struct operand *x, ssq_tensor **view)
{
    static const int axes[] = {1, 0, 2};
    struct operand y = *x;
    if (b->failed)
        return;
    gemm_must(b, ssq_tensor_transpose(x->t, axes, view));
    int64_t tokens = x->shape[0], gemm_shapes_heads = x->shape[1],
            size = x->shape[2];
    y.t = *view;
    y.shape[0] = gemm_shapes_heads;
    y.shape[1] = tokens;
    y.value = harness_alloc(b, (size_t)y.n * sizeof(double));
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t h = 0; h < gemm_shapes_heads; h++)
            memcpy(y.value + (h * tokens + t) * size,
                   x->value + (t * gemm_shapes_heads + h) * size,
                   (size_t)size * sizeof(double));
    *x = y;
}

static bool gemm_shapes_heads(struct harness *b)
{
    static const int64_t shape[] = {19, 3, 8}, scores[] = {3, 19, 19};
    const struct gemm_case g = {SIZES(19, 19, 8), TYPES(F16, F16, F32),
                                SCALE(0.35355339, 0), TRANS(0, 1),
                                .batch = {1, 1, 1, {3}, {3}, {3}}};
    struct gemm_work w = {.g = &g};
    ssq_tensor *view[2] = {NULL, NULL};
    harness_input(b, &w.a, F16, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &w.b, F16, 3, shape, LAYOUT_PADDED, FILL_NORMAL);
    view_heads(b, &w.a, &view[0]);
    view_heads(b, &w.b, &view[1]);
    harness_output(b, &w.d, F32, 3, scores, LAYOUT_DENSE);
    bool ok = gemm_finish(b, &w);
    ssq_tensor_destroy(&view[0]);
    ssq_tensor_destroy(&view[1]);
    return ok;
}

#define BY_HAND 6

static void gemm_shapes_describe(size_t i, char *text, size_t bytes)
{
    if (i < CASES)
        gemm_describe(&cases[i], text, bytes);
    else if (i >= CASES + BY_HAND)
        gemm_describe(&timed[i - CASES - BY_HAND], text, bytes);
    else if (i < CASES + 4)
        snprintf(text, bytes, "gemm: 2x2x3 by hand, trans_a %d trans_b %d",
                 (int)(i - CASES) / 2, (int)(i - CASES) % 2);
    else
        snprintf(text, bytes, "gemm_batched: %s",
                 i == CASES + 4 ? "outer products [2,1,2,1] x [3,1,2] by hand"
                                : "3 interleaved heads of 19x19x8");
}

/* A chain of half a million products takes lavapipe, the first of drivers, ten
 * seconds; a deep product is divided on it by tests/conformance/long_test. */
static int gemm_shapes_turn(size_t i)
{
    return i < CASES && cases[i].k >= 1 << 19 ? 1 : SUITE_ALL;
}

static bool gemm_shapes_run(struct harness *b, size_t i)
{
    if (i < CASES)
        return gemm_run(b, &cases[i]);
    if (i >= CASES + BY_HAND)
        return gemm_run(b, &timed[i - CASES - BY_HAND]);
    size_t k = i - CASES;
    return k < 4    ? by_hand(b, k / 2 == 1, k % 2 == 1)
           : k == 4 ? outer_products(b)
                    : gemm_shapes_heads(b);
}

const struct suite gemm_shapes_suite = {.op = "gemm",
                                        .name = "gemm_shapes",
                                        .n = CASES + BY_HAND,
                                        .large = TIMED_CASES,
                                        .describe = gemm_shapes_describe,
                                        .run = gemm_shapes_run,
                                        .turn = gemm_shapes_turn,
                                        .floor = 2 * 81};
