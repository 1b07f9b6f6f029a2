/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_misuse.c - what gemm refuses, with which text, and that d keeps its
 * bits. */
#include "conformance/gemm/gemm_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Good operands of 2x4x3, f16 x f16 -> f32 with c and bias, to be spoilt. */
struct gemm_misuse_scene {
    struct harness *harness;
    struct operand a, b, c, bias, d;
    ssq_gemm_args args;
    ssq_tensor *made[4]; /* tensors that the case made */
    int n;
    ssq_device *other; /* opened by the case, or NULL */
};

static void gemm_misuse_operand(struct gemm_misuse_scene *t, struct operand *x,
                                ssq_dtype dtype, int rank, int64_t s0,
                                int64_t s1, int64_t s2)
{
    const int64_t shape[] = {s0, s1, s2};
    harness_input(t->harness, x, dtype, rank, shape, LAYOUT_DENSE, FILL_ONES);
}

static void gemm_misuse_set_up(struct gemm_misuse_scene *t, struct harness *b)
{
    *t = (struct gemm_misuse_scene){.harness = b, .args = SSQ_GEMM_INIT};
    gemm_misuse_operand(t, &t->a, SSQ_F16, 2, 2, 3, 0);
    gemm_misuse_operand(t, &t->b, SSQ_F16, 2, 3, 4, 0);
    gemm_misuse_operand(t, &t->c, SSQ_F32, 2, 2, 4, 0);
    gemm_misuse_operand(t, &t->bias, SSQ_F32, 1, 4, 0, 0);
    gemm_misuse_operand(t, &t->d, SSQ_F32, 2, 2, 4, 0);
    t->args.a = t->a.t;
    t->args.b = t->b.t;
    t->args.c = t->c.t;
    t->args.bias = t->bias.t;
    t->args.d = t->d.t;
    t->args.beta = 1.0;
}

/* Replace an operand by a new dense one. */
static const ssq_tensor *gemm_misuse_fresh(struct gemm_misuse_scene *t,
                                           ssq_dtype dtype, int rank,
                                           int64_t s0, int64_t s1, int64_t s2)
{
    struct operand x;
    gemm_misuse_operand(t, &x, dtype, rank, s0, s1, s2);
    return x.t;
}

/* A tensor [rows,columns] with these strides. */
static const ssq_tensor *gemm_misuse_over(struct gemm_misuse_scene *t,
                                          ssq_dtype dtype, int64_t rows,
                                          int64_t columns, int64_t row,
                                          int64_t column)
{
    const int64_t shape[] = {rows, columns}, stride[] = {row, column};
    ssq_buffer *buffer = NULL;
    gemm_must(t->harness, ssq_buffer_create(t->harness->device, 4096, &buffer));
    gemm_must(t->harness, ssq_tensor_from_buffer(buffer, dtype, 2, shape,
                                                 stride, 0, &t->made[t->n++]));
    ssq_buffer_destroy(&buffer);
    return t->made[t->n - 1];
}

/* Every second column: no unit stride. */
static const ssq_tensor *gemm_misuse_stepped(struct gemm_misuse_scene *t,
                                             ssq_dtype dtype, int64_t rows,
                                             int64_t columns)
{
    return gemm_misuse_over(t, dtype, rows, columns, 2 * columns, 2);
}

/* d becomes the first rows of a tensor [8,4]; rows start.. of it. */
static const ssq_tensor *gemm_misuse_overlap(struct gemm_misuse_scene *t,
                                             int64_t start, int64_t rows)
{
    const ssq_tensor *big = gemm_misuse_fresh(t, SSQ_F32, 2, 8, 4, 0);
    ssq_tensor **view = &t->made[t->n];
    t->n += 2;
    t->args.a = gemm_misuse_fresh(t, SSQ_F32, 2, 2, 3, 0);
    t->args.b = gemm_misuse_fresh(t, SSQ_F32, 2, 3, 4, 0);
    gemm_must(t->harness, ssq_tensor_slice(big, 0, 0, 2, 1, &view[0]));
    gemm_must(t->harness,
              ssq_tensor_slice(big, 0, start, start + rows, 1, &view[1]));
    t->args.d = view[0];
    return view[1];
}

static const ssq_tensor *gemm_misuse_reshaped(struct gemm_misuse_scene *t,
                                              const ssq_tensor *x, int rank,
                                              int64_t s0, int64_t s1)
{
    const int64_t shape[] = {s0, s1};
    gemm_must(t->harness, ssq_tensor_reshape(x, rank, shape, &t->made[t->n++]));
    return t->made[t->n - 1];
}

static const ssq_tensor *transposed(struct gemm_misuse_scene *t,
                                    const ssq_tensor *x)
{
    gemm_must(t->harness, ssq_tensor_transpose(x, NULL, &t->made[t->n++]));
    return t->made[t->n - 1];
}

static void gemm_misuse_other_device(struct gemm_misuse_scene *t)
{
    const int64_t shape[] = {2, 3};
    gemm_must(t->harness, ssq_device_open("reference", NULL, &t->other));
    gemm_must(t->harness,
              ssq_tensor_create(t->other, SSQ_F16, 2, shape, &t->made[t->n++]));
    t->args.a = t->made[t->n - 1];
}

/* 3 matrices each of 2x4x3; d, a, b of these leading sizes. */
static void batched(struct gemm_misuse_scene *t, int64_t d, int64_t a,
                    int64_t b)
{
    t->args.d = gemm_misuse_fresh(t, SSQ_F32, 3, d, 2, 4);
    t->args.a = gemm_misuse_fresh(t, SSQ_F16, 3, a, 2, 3);
    t->args.b = gemm_misuse_fresh(t, SSQ_F16, 3, b, 3, 4);
}

enum which {
    NULL_A,
    NULL_B,
    NULL_D,
    STRUCT_SIZE,
    DEVICE,
    INT_A,
    INT_B,
    INT_C,
    INT_BIAS,
    INT_D,
    F16_BF16,
    BF16_F16,
    RANK_A,
    RANK_B,
    RANK_D,
    RANK_1,
    INNER,
    INNER_T,
    SHAPE_D,
    SHAPE_D_T,
    SHAPE_BIAS,
    RANK_BIAS,
    SHAPE_C,
    RANK_C,
    STRIDE_A,
    STRIDE_B,
    STRIDE_D,
    STRIDE_0,
    REPEATED_D,
    BETA,
    BETA_NAN,
    ACTIVATION,
    ACTIVATION_NEGATIVE,
    FLAGS,
    D_IS_A,
    D_OVER_B,
    D_OVER_C,
    D_OVER_BIAS,
    D_LIKE_C,
    B_RANK_2,
    B_BATCH,
    B_BATCH_AB,
    B_BATCH_D,
    B_RANK_A,
    REFUSALS
};

static const struct {
    const char *text; /* part of the text of ssq_last_error */
    bool batched;
} refusals[] = {
    [NULL_A] = {"gemm: a is NULL", 0},
    [NULL_B] = {"gemm: b is NULL", 0},
    [NULL_D] = {"gemm: d is NULL", 0},
    [STRUCT_SIZE] = {"gemm: struct_size is 7, expected", 0},
    [DEVICE] = {"gemm: a is on another device, reference, than the queue", 0},
    [INT_A] = {"gemm: a is i32, expected f32, f16, bf16", 0},
    [INT_B] = {"gemm: b is u8, expected f32, f16, bf16", 0},
    [INT_C] = {"gemm: c is i32, expected f32, f16, bf16", 0},
    [INT_BIAS] = {"gemm: bias is i32, expected f32, f16, bf16", 0},
    [INT_D] = {"gemm: d is i32, expected f32, f16, bf16", 0},
    [F16_BF16] = {"gemm: a is f16, b is bf16: they have no common 16-bit", 0},
    [BF16_F16] = {"gemm: a is bf16, b is f16: they have no common 16-bit", 0},
    [RANK_A] = {"gemm: a has rank 1, expected 2", 0},
    [RANK_B] = {"gemm: b has rank 3, expected 2", 0},
    [RANK_D] = {"gemm: d has rank 3, expected 2", 0},
    [RANK_1] = {"gemm: d has rank 1, expected 2", 0},
    [INNER] = {"gemm: a is [2,3], b is [5,4]: inner dimensions 3 and 5 differ",
               0},
    [INNER_T] = {"gemm: a is [2,3] transposed, b is [3,4] transposed: inner "
                 "dimensions 2 and 4 differ",
                 0},
    [SHAPE_D] = {"gemm: the product is [2,4], d is [4,2]", 0},
    [SHAPE_D_T] = {"gemm: the product is [3,4], d is [2,4]", 0},
    [SHAPE_BIAS] = {"gemm: bias is [2], expected [4]", 0},
    [RANK_BIAS] = {"gemm: bias is [1,4], expected [4]", 0},
    [SHAPE_C] = {"gemm: c is [3,4], which does not broadcast to d, [2,4]", 0},
    [RANK_C] = {"gemm: c is [1,2,4], which does not broadcast to d, [2,4]", 0},
    [STRIDE_A] = {"gemm: a has strides 6 and 2, one must be 1", 0},
    [STRIDE_B] = {"gemm: b has strides 8 and 2, one must be 1", 0},
    [STRIDE_D] = {"gemm: d has strides 8 and 2, one must be 1", 0},
    [STRIDE_0] = {"gemm: a has strides 0 and 0, one must be 1", 0},
    [REPEATED_D] = {"gemm: elements of output d share memory", 0},
    [BETA] = {"gemm: beta is 1, but c is NULL", 0},
    [BETA_NAN] = {"but c is NULL", 0},
    [ACTIVATION] = {"gemm: 7 is not an activation", 0},
    [ACTIVATION_NEGATIVE] = {"gemm: -1 is not an activation", 0},
    [FLAGS] = {"gemm: 0x8 has unknown flags", 0},
    [D_IS_A] = {"gemm: d overlaps a", 0},
    [D_OVER_B] = {"gemm: d overlaps b", 0},
    [D_OVER_C] = {"gemm: d overlaps c and is not exactly the same", 0},
    [D_OVER_BIAS] = {"gemm: d overlaps bias", 0},
    [D_LIKE_C] = {"gemm: d overlaps c and is not exactly the same", 0},
    [B_RANK_2] = {"gemm_batched: d has rank 2, expected 3 to 6", 1},
    [B_BATCH] = {"gemm_batched: the batches of a, [3,2,3], and b, [3,3,4], do "
                 "not broadcast to that of d, [2,2,4]",
                 1},
    [B_BATCH_AB] = {"gemm_batched: the batches of a, [2,2,3], and b, [3,3,4]",
                    1},
    [B_BATCH_D] = {"gemm_batched: the batches of a, [1,2,3], and b, [1,3,4], "
                   "do not broadcast to that of d, [3,2,4]",
                   1},
    [B_RANK_A] = {"gemm_batched: a has rank 4, expected 2 to 3", 1},
};

static ssq_tensor *operand_rank_4(struct gemm_misuse_scene *t)
{
    const int64_t shape[] = {1, 1, 2, 3};
    struct operand x;
    harness_input(t->harness, &x, SSQ_F16, 4, shape, LAYOUT_DENSE, FILL_ONES);
    return x.t;
}

/* Operands that are wrong by themselves. */
static void gemm_misuse_spoil_operand(struct gemm_misuse_scene *t,
                                      enum which which)
{
    ssq_gemm_args *g = &t->args;
    switch (which) {
    case NULL_A:
        g->a = NULL;
        break;
    case NULL_B:
        g->b = NULL;
        break;
    case NULL_D:
        g->d = NULL;
        break;
    case STRUCT_SIZE:
        g->struct_size = 7;
        break;
    case DEVICE:
        gemm_misuse_other_device(t);
        break;
    case INT_A:
        g->a = gemm_misuse_fresh(t, SSQ_I32, 2, 2, 3, 0);
        break;
    case INT_B:
        g->b = gemm_misuse_fresh(t, SSQ_U8, 2, 3, 4, 0);
        break;
    case INT_C:
        g->c = gemm_misuse_fresh(t, SSQ_I32, 2, 2, 4, 0);
        break;
    case INT_BIAS:
        g->bias = gemm_misuse_fresh(t, SSQ_I32, 1, 4, 0, 0);
        break;
    case INT_D:
        g->d = gemm_misuse_fresh(t, SSQ_I32, 2, 2, 4, 0);
        break;
    case F16_BF16:
        g->b = gemm_misuse_fresh(t, SSQ_BF16, 2, 3, 4, 0);
        break;
    case BF16_F16:
        g->a = gemm_misuse_fresh(t, SSQ_BF16, 2, 2, 3, 0);
        break;
    case RANK_A:
        g->a = gemm_misuse_fresh(t, SSQ_F16, 1, 6, 0, 0);
        break;
    case RANK_B:
        g->b = gemm_misuse_fresh(t, SSQ_F16, 3, 1, 3, 4);
        break;
    case RANK_D:
        g->d = gemm_misuse_fresh(t, SSQ_F32, 3, 1, 2, 4);
        break;
    case RANK_1:
        g->d = gemm_misuse_fresh(t, SSQ_F32, 1, 8, 0, 0);
        break;
    case B_RANK_A:
        batched(t, 1, 1, 1);
        g->a = operand_rank_4(t);
        break;
    default:
        break;
    }
}

/* Operands that do not fit together. */
static void spoil_fit(struct gemm_misuse_scene *t, enum which which)
{
    ssq_gemm_args *g = &t->args;
    switch (which) {
    case INNER:
        g->b = gemm_misuse_fresh(t, SSQ_F16, 2, 5, 4, 0);
        break;
    case INNER_T:
        g->trans_a = g->trans_b = true;
        break;
    case SHAPE_D:
        g->d = gemm_misuse_fresh(t, SSQ_F32, 2, 4, 2, 0);
        break;
    case SHAPE_D_T:
        g->a = gemm_misuse_fresh(t, SSQ_F16, 2, 3, 3, 0);
        break;
    case SHAPE_BIAS:
        g->bias = gemm_misuse_fresh(t, SSQ_F32, 1, 2, 0, 0);
        break;
    case RANK_BIAS:
        g->bias = gemm_misuse_fresh(t, SSQ_F32, 2, 1, 4, 0);
        break;
    case SHAPE_C:
        g->c = gemm_misuse_fresh(t, SSQ_F32, 2, 3, 4, 0);
        break;
    case RANK_C:
        g->c = gemm_misuse_fresh(t, SSQ_F32, 3, 1, 2, 4);
        break;
    case BETA:
        g->c = NULL;
        break;
    case BETA_NAN:
        g->c = NULL;
        g->beta = (double)NAN;
        break;
    case ACTIVATION:
        g->activation = (ssq_activation)7;
        break;
    case ACTIVATION_NEGATIVE:
        g->activation = (ssq_activation)-1;
        break;
    case FLAGS:
        g->flags = 8;
        break;
    case B_RANK_2:
        break;
    case B_BATCH:
        batched(t, 2, 3, 3);
        break;
    case B_BATCH_AB:
        batched(t, 3, 2, 3);
        break;
    case B_BATCH_D:
        batched(t, 3, 1, 1);
        break;
    default:
        break;
    }
}

/* Strides and memory. */
static void spoil_memory(struct gemm_misuse_scene *t, enum which which)
{
    ssq_gemm_args *g = &t->args;
    switch (which) {
    case STRIDE_A:
        g->a = gemm_misuse_stepped(t, SSQ_F16, 2, 3);
        break;
    case STRIDE_B:
        g->b = gemm_misuse_stepped(t, SSQ_F16, 3, 4);
        break;
    case STRIDE_D:
        g->d = gemm_misuse_stepped(t, SSQ_F32, 2, 4);
        break;
    case STRIDE_0:
        g->a = gemm_misuse_over(t, SSQ_F16, 2, 3, 0, 0);
        break;
    case REPEATED_D:
        g->d = gemm_misuse_over(t, SSQ_F32, 2, 4, 0, 1);
        break;
    case D_IS_A:
        g->a = t->d.t;
        g->b = gemm_misuse_fresh(t, SSQ_F32, 2, 4, 4, 0);
        break;
    case D_OVER_B:
        g->b = gemm_misuse_overlap(t, 1, 3);
        break;
    case D_OVER_C:
        g->c = gemm_misuse_overlap(t, 1, 2);
        break;
    case D_OVER_BIAS:
        g->bias =
            gemm_misuse_reshaped(t, gemm_misuse_overlap(t, 1, 1), 1, 4, 0);
        break;
    case D_LIKE_C: /* the same bytes, row by row and column by column */
        g->c = transposed(
            t, gemm_misuse_reshaped(t, gemm_misuse_overlap(t, 0, 2), 2, 4, 2));
        break;
    default:
        break;
    }
}

static bool gemm_misuse_kept(struct harness *b, struct operand *d)
{
    size_t bytes = (size_t)d->n * sizeof(uint32_t);
    uint32_t *before = harness_alloc(b, bytes);
    memcpy(before, d->bits, bytes);
    harness_read(b, d);
    return harness_bits(b, d, before);
}

static bool gemm_misuse_refused(struct harness *b, ssq_status want,
                                ssq_status got, const char *text)
{
    if (!harness_refused(b, want, got))
        return false;
    const char *said = strstr(ssq_last_error(), text);
    return said != NULL
               ? true
               : harness_fail(b, "said \"%.200s\", expected \"%.200s\"",
                              ssq_last_error(), text);
}

static bool gemm_misuse_run_refusal(struct harness *b, enum which which)
{
    struct gemm_misuse_scene t;
    ssq_gemm_explanation how = SSQ_GEMM_EXPLANATION_INIT;
    gemm_misuse_set_up(&t, b);
    gemm_misuse_spoil_operand(&t, which);
    spoil_fit(&t, which);
    spoil_memory(&t, which);
    const char *text = refusals[which].text;
    if (!b->failed)
        gemm_misuse_refused(b, SSQ_ERR_INVALID,
                            refusals[which].batched
                                ? ssq_gemm_batched(b->queue, &t.args)
                                : ssq_gemm(b->queue, &t.args),
                            text);
    /* explain is of gemm or gemm_batched by d's rank, else the same */
    if (which != RANK_D && which != B_RANK_2)
        harness_refused(b, SSQ_ERR_INVALID,
                        ssq_gemm_explain(b->queue, &t.args, &how));
    while (t.n > 0)
        ssq_tensor_destroy(&t.made[--t.n]);
    ssq_device_close(&t.other);
    return gemm_misuse_kept(b, &t.d) && !b->failed;
}

/* No queue, no args; explain's own. */
static bool run_null(struct harness *b)
{
    struct gemm_misuse_scene t;
    ssq_gemm_explanation how = SSQ_GEMM_EXPLANATION_INIT;
    gemm_misuse_set_up(&t, b);
    how.struct_size = 1;
    harness_refused(b, SSQ_ERR_INVALID, ssq_gemm(NULL, &t.args));
    harness_refused(b, SSQ_ERR_INVALID, ssq_gemm(b->queue, NULL));
    harness_refused(b, SSQ_ERR_INVALID, ssq_gemm_batched(NULL, &t.args));
    harness_refused(b, SSQ_ERR_INVALID, ssq_gemm_batched(b->queue, NULL));
    harness_refused(b, SSQ_ERR_INVALID,
                    ssq_gemm_explain(b->queue, &t.args, NULL));
    harness_refused(b, SSQ_ERR_INVALID,
                    ssq_gemm_explain(b->queue, &t.args, &how));
    how.struct_size = sizeof(how);
    harness_refused(b, SSQ_ERR_INVALID, ssq_gemm_explain(NULL, &t.args, &how));
    harness_refused(b, SSQ_ERR_INVALID, ssq_gemm_explain(b->queue, NULL, &how));
    return gemm_misuse_kept(b, &t.d);
}

static void gemm_misuse_describe(size_t i, char *text, size_t bytes)
{
    snprintf(text, bytes, "refused: %s",
             i < REFUSALS ? refusals[i].text : "gemm: NULL arguments");
}

static bool gemm_misuse_run(struct harness *b, size_t i)
{
    if (b->bench)
        return true; /* nothing to time */
    return i < REFUSALS ? gemm_misuse_run_refusal(b, (enum which)i)
                        : run_null(b);
}

const struct suite gemm_misuse_suite = {.op = "gemm",
                                        .name = "gemm_misuse",
                                        .n = REFUSALS + 1,
                                        .describe = gemm_misuse_describe,
                                        .run = gemm_misuse_run,
                                        .floor = 2 * 45};
