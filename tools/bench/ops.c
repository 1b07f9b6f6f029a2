/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the other ops, at sizes of training:
 *
 *  - reductions and losses: ROWSxCOLUMNS.
 *  - convolutions: NxCxSIDExOxKERNEL.
 *  - pooling: NxCxSIDE.
 *  - attention: NxHEADSxTOKENSxWIDTH.
 *  - embeddings: WORDSxWIDTHxTOKENS. */
#include "tools/bench/ring.h"

/* ---- rows ---- */

static ssq_status ops_sum(ssq_queue *q, ssq_tensor *const *t,
                          const struct bench_case *c)
{
    (void)c;
    return ssq_sum(q, SSQ_SUM(.x = t[0], .y = t[1], .axes = {1}, .n_axes = 1));
}

static ssq_status ops_most(ssq_queue *q, ssq_tensor *const *t,
                           const struct bench_case *c)
{
    (void)c;
    return ssq_max(q, SSQ_MAX(.x = t[0], .y = t[1], .axes = {1}, .n_axes = 1));
}

/* Sum over the rows, as for the gradient of a bias. */
static ssq_status ops_sum_rows(ssq_queue *q, ssq_tensor *const *t,
                               const struct bench_case *c)
{
    (void)c;
    return ssq_sum(q, SSQ_SUM(.x = t[0], .y = t[1], .axes = {0}, .n_axes = 1));
}

static ssq_status ops_cross_entropy(ssq_queue *q, ssq_tensor *const *t,
                                    const struct bench_case *c)
{
    (void)c;
    return ssq_cross_entropy(q,
                             SSQ_CROSS_ENTROPY(.logits = t[0], .target = t[1],
                                               .dlogits = t[2], .loss = t[3]));
}

/* Set o to x and a result with the size of dimension i. */
static bool reduced(const struct bench_case *c, struct ring_operand *o, int i)
{
    o[0] = (struct ring_operand){
        RING_NORMAL, c->dtype, 2, {c->size[0], c->size[1]}};
    o[1] = (struct ring_operand){RING_OUT, c->result, 1, {c->size[i]}};
    return c->sizes == 2;
}

static bool by_row(const struct bench_case *c, struct ring_operand *o)
{
    return reduced(c, o, 0);
}

static bool by_column(const struct bench_case *c, struct ring_operand *o)
{
    return reduced(c, o, 1);
}

static bool ops_loss(const struct bench_case *c, struct ring_operand *o)
{
    (void)reduced(c, o, 0);
    o[2] = o[0];
    o[1] = (struct ring_operand){
        RING_CLASSES, SSQ_I32, 1, {c->size[0], c->size[1]}};
    o[3] = (struct ring_operand){RING_OUT, SSQ_F32, 0, {0}};
    return c->sizes == 2;
}

static double ops_product(const struct bench_case *c)
{
    double n = 1.0;
    for (int i = 0; i < c->sizes; i++)
        n *= (double)c->size[i];
    return n;
}

/* ---- images ---- */

/* Padding that keeps the sides: strides are 1, and elements outside count
 * as 0. */
#define SAME(C)                                                                \
    .padding = {(C)->size[4] / 2, (C)->size[4] / 2, (C)->size[4] / 2,          \
                (C)->size[4] / 2}

static ssq_status conv2d(ssq_queue *q, ssq_tensor *const *t,
                         const struct bench_case *c)
{
    return ssq_conv2d(q, SSQ_CONV2D(.x = t[0], .w = t[1], .y = t[2], SAME(c)));
}

static ssq_status conv2d_data(ssq_queue *q, ssq_tensor *const *t,
                              const struct bench_case *c)
{
    return ssq_conv2d_backward_data(
        q,
        SSQ_CONV2D_BACKWARD_DATA(.dy = t[2], .w = t[1], .dx = t[0], SAME(c)));
}

static ssq_status conv2d_weight(ssq_queue *q, ssq_tensor *const *t,
                                const struct bench_case *c)
{
    return ssq_conv2d_backward_weight(
        q,
        SSQ_CONV2D_BACKWARD_WEIGHT(.x = t[0], .dy = t[2], .dw = t[1], SAME(c)));
}

static ssq_status depthwise(ssq_queue *q, ssq_tensor *const *t,
                            const struct bench_case *c)
{
    return ssq_conv2d(q, SSQ_CONV2D(.x = t[0], .w = t[1], .y = t[2],
                                    .groups = c->size[1], SAME(c)));
}

static ssq_status max_pool2d(ssq_queue *q, ssq_tensor *const *t,
                             const struct bench_case *c)
{
    (void)c;
    return ssq_max_pool2d(
        q, SSQ_MAX_POOL2D(.x = t[0], .y = t[1], .kernel = {2, 2}));
}

static ssq_status avg_pool2d(ssq_queue *q, ssq_tensor *const *t,
                             const struct bench_case *c)
{
    (void)c;
    return ssq_avg_pool2d(
        q, SSQ_AVG_POOL2D(.x = t[0], .y = t[1], .kernel = {2, 2}));
}

/* Set o to x, w, y. Only odd kernels keep the sides. */
static bool ops_images(const struct bench_case *c, struct ring_operand *o)
{
    const int64_t *s = c->size;
    o[0] = (struct ring_operand){
        RING_NORMAL, c->dtype, 4, {s[0], s[1], s[2], s[2]}};
    o[1] = (struct ring_operand){
        RING_NORMAL, c->dtype, 4, {s[3], s[1], s[4], s[4]}};
    o[2] = (struct ring_operand){
        RING_NORMAL, c->dtype, 4, {s[0], s[3], s[2], s[2]}};
    return c->sizes == 5 && s[4] % 2 == 1;
}

static bool ops_channels(const struct bench_case *c, struct ring_operand *o)
{
    bool ok = ops_images(c, o) && c->size[3] == c->size[1];
    o[1].shape[1] = 1;
    return ok;
}

static bool ops_pooled(const struct bench_case *c, struct ring_operand *o)
{
    const int64_t *s = c->size;
    o[0] = (struct ring_operand){
        RING_NORMAL, c->dtype, 4, {s[0], s[1], s[2], s[2]}};
    o[1] = (struct ring_operand){
        RING_OUT, c->dtype, 4, {s[0], s[1], s[2] / 2, s[2] / 2}};
    return c->sizes == 3 && s[2] % 2 == 0;
}

static double conv_flops(const struct bench_case *c)
{
    const double side = (double)c->size[2], kernel = (double)c->size[4];
    return 2.0 * (double)c->size[0] * (double)c->size[1] * side * side *
           (double)c->size[3] * kernel * kernel;
}

static double depthwise_flops(const struct bench_case *c)
{
    return conv_flops(c) / (double)c->size[1];
}

static double image_flops(const struct bench_case *c)
{
    return ops_product(c) * (double)c->size[2];
}

/* ---- tokens ---- */

static ssq_status ops_attention(ssq_queue *q, ssq_tensor *const *t,
                                const struct bench_case *c)
{
    (void)c;
    return ssq_attention(q, SSQ_ATTENTION(.q = t[0], .k = t[1], .v = t[2],
                                          .y = t[3], .causal = true));
}

static ssq_status embedding(ssq_queue *q, ssq_tensor *const *t,
                            const struct bench_case *c)
{
    (void)c;
    return ssq_gather_rows(
        q, SSQ_GATHER_ROWS(.x = t[0], .index = t[1], .y = t[2]));
}

static bool heads(const struct bench_case *c, struct ring_operand *o)
{
    for (int i = 0; i < 4; i++)
        o[i] = (struct ring_operand){
            RING_NORMAL,
            c->dtype,
            4,
            {c->size[0], c->size[1], c->size[2], c->size[3]}};
    return c->sizes == 4;
}

static bool table(const struct bench_case *c, struct ring_operand *o)
{
    const int64_t *s = c->size;
    o[0] = (struct ring_operand){RING_NORMAL, c->dtype, 2, {s[0], s[1]}};
    o[1] = (struct ring_operand){RING_CLASSES, SSQ_I32, 1, {s[2], s[0]}};
    o[2] = (struct ring_operand){RING_OUT, c->dtype, 2, {s[2], s[1]}};
    return c->sizes == 3;
}

/* Two products. The causal mask leaves half of each. */
static double attention_flops(const struct bench_case *c)
{
    return 2.0 * ops_product(c) * (double)c->size[2];
}

/* ---- the list ---- */

static const struct ring_op ops[] = {
    {"sum", ops_sum, by_row, ops_product},
    {"max", ops_most, by_row, ops_product},
    {"sum_rows", ops_sum_rows, by_column, ops_product},
    {"cross_entropy", ops_cross_entropy, ops_loss, ops_product},
    {"conv2d", conv2d, ops_images, conv_flops},
    {"conv2d_data", conv2d_data, ops_images, conv_flops},
    {"conv2d_weight", conv2d_weight, ops_images, conv_flops},
    {"depthwise", depthwise, ops_channels, depthwise_flops},
    {"max_pool2d", max_pool2d, ops_pooled, image_flops},
    {"avg_pool2d", avg_pool2d, ops_pooled, image_flops},
    {"attention", ops_attention, heads, attention_flops},
    {"embedding", embedding, table, NULL},
    {NULL, NULL, NULL, NULL}};

static ssq_status ops_make(struct workload *w)
{
    return ring_make(w, ops);
}

static const struct bench_grid grids[] = {
    {"sum max sum_rows", "f32 f16 bf16", "8192x4096"},
    {"cross_entropy", "f32 f16 bf16", "4096x8192"},
    {"conv2d conv2d_data conv2d_weight", "f32 f16 bf16", "16x64x56x64x3"},
    {"depthwise", "f32 f16 bf16", "16x128x56x128x3"},
    {"max_pool2d avg_pool2d", "f32 f16 bf16", "32x64x112"},
    {"attention", "f32 f16 bf16", "4x12x1024x64"},
    {"embedding", "f32 f16 bf16", "16384x768x16384"},
    {NULL, NULL, NULL}};

const struct bench_family ops_family = {
    .suite = "ops", .grids = grids, .make = ops_make};
