/* SPDX-License-Identifier: Apache-2.0 */
/* by_hand_cnn.c - steps of examples/cnn's net by a tape leave the bits that the
 * same ops leave when they are called one by one. */
#include "tests/tape/hand.h"

#define N    6
#define SIDE 8

/* ---- by a tape ---- */

static ssq_var conv_layer(ssq_tape *t, const char *name, ssq_var x, int64_t out,
                          bool norm)
{
    ssq_tape_push(t, name);
    x = ssq_nn_conv2d(
        t, "conv", x, out, 3, 3,
        SSQ_NN_CONV2D(.stride = {2, 2}, .padding = {1, 1, 1, 1}, .bias = !norm,
                      .weight_init.kind = SSQ_INIT_KAIMING_NORMAL));
    x = ssq_relu_var(x);
    if (norm)
        x = ssq_nn_batch_norm(t, "bn", x, NULL);
    ssq_tape_pop(t);
    return x;
}

static ssq_var net(ssq_tape *t, const ssq_tensor *const *data)
{
    ssq_var x = ssq_var_reshape(ssq_var_input(t, data[0]), 4,
                                (int64_t[]){N, 1, SIDE, SIDE});
    x = ssq_var_broadcast(x, 4, (int64_t[]){N, 3, SIDE, SIDE});
    x = conv_layer(t, "0", x, 16, true);
    x = conv_layer(t, "1", x, 16, true);
    x = conv_layer(t, "2", x, 2, false);
    x = ssq_var_reshape(ssq_global_avg_pool2d_var(x, NULL), 2,
                        (int64_t[]){N, 2});
    return ssq_cross_entropy_var(ssq_var_cast(x, SSQ_F32),
                                 SSQ_CROSS_ENTROPY(.target = data[1]));
}

/* ---- by hand ---- */

/* The forward values that the backward of a layer needs. */
struct by_hand_cnn_layer {
    const char *name;
    int64_t out, side;
    const ssq_tensor *x; /* in the compute dtype */
    ssq_tensor *y, *r;   /* of the convolution, of relu */
    ssq_tensor *mean, *rstd, *b;
};

static ssq_tensor *part(struct hand *h, const struct by_hand_cnn_layer *l,
                        const char *end, bool grad)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.%s", l->name, end);
    size_t i = hand_at(h, name);
    return grad ? h->grad[i] : h->value[i];
}

static void layer(struct hand *h, struct by_hand_cnn_layer *l,
                  const ssq_tensor *x, bool norm)
{
    const int64_t shape[] = {N, l->out, l->side, l->side}, c[] = {l->out};
    l->x = hand_cast(h, x, h->dtype);
    l->y = hand_make(h, h->dtype, 4, shape);
    l->r = hand_make(h, h->dtype, 4, shape);
    NEED(ssq_conv2d(
        h->queue,
        SSQ_CONV2D(.x = l->x, .w = part(h, l, "conv.weight", false),
                   .bias = norm ? NULL : part(h, l, "conv.bias", false),
                   .y = l->y, .stride = {2, 2}, .padding = {1, 1, 1, 1})));
    NEED(ssq_relu(h->queue, SSQ_UNARY(.x = l->y, .y = l->r)));
    if (!norm)
        return;
    l->b = hand_make(h, SSQ_F32, 4, shape);
    l->mean = hand_make(h, SSQ_F32, 1, c);
    l->rstd = hand_make(h, SSQ_F32, 1, c);
    NEED(ssq_batch_norm(
        h->queue,
        SSQ_BATCH_NORM(.x = l->r, .gamma = part(h, l, "bn.weight", false),
                       .beta = part(h, l, "bn.bias", false),
                       .running_mean = part(h, l, "bn.running_mean", false),
                       .running_var = part(h, l, "bn.running_var", false),
                       .y = l->b, .mean = l->mean, .rstd = l->rstd)));
}

/* From the gradient of relu's result to that of x, in the compute dtype; NULL:
 * not wanted. */
static void filters_back(struct hand *h, const struct by_hand_cnn_layer *l,
                         const ssq_tensor *dr, bool bias, const ssq_tensor *dx)
{
    ssq_tensor *dy = hand_like(h, h->dtype, l->y);
    NEED(ssq_relu_backward(h->queue,
                           SSQ_UNARY_BACKWARD(.x = l->r, .dy = dr, .dx = dy)));
    if (dx != NULL)
        NEED(ssq_conv2d_backward_data(
            h->queue,
            SSQ_CONV2D_BACKWARD_DATA(.dy = dy,
                                     .w = part(h, l, "conv.weight", false),
                                     .dx = dx, .stride = {2, 2},
                                     .padding = {1, 1, 1, 1})));
    NEED(ssq_conv2d_backward_weight(
        h->queue,
        SSQ_CONV2D_BACKWARD_WEIGHT(.x = l->x, .dy = dy,
                                   .dw = part(h, l, "conv.weight", true),
                                   .db = bias ? part(h, l, "conv.bias", true)
                                              : NULL,
                                   .stride = {2, 2}, .padding = {1, 1, 1, 1})));
}

/* From the gradient of the norm's result. */
static ssq_tensor *norm_back(struct hand *h, const struct by_hand_cnn_layer *l,
                             const ssq_tensor *db)
{
    ssq_tensor *dr = hand_like(h, h->dtype, l->r);
    NEED(ssq_batch_norm_backward(
        h->queue,
        SSQ_BATCH_NORM_BACKWARD(.x = l->r,
                                .gamma = part(h, l, "bn.weight", false),
                                .mean = l->mean, .rstd = l->rstd, .dy = db,
                                .dx = dr,
                                .dgamma = part(h, l, "bn.weight", true),
                                .dbeta = part(h, l, "bn.bias", true))));
    return dr;
}

static void hand(struct hand *h, const ssq_tensor *const *data)
{
    struct by_hand_cnn_layer l[] = {{.name = "0", .out = 16, .side = 4},
                                    {.name = "1", .out = 16, .side = 2},
                                    {.name = "2", .out = 2, .side = 1}};
    const int64_t grey[] = {N, 1, SIDE, SIDE}, rgb[] = {N, 3, SIDE, SIDE};
    const int64_t two[] = {N, 2}, four[] = {N, 2, 1, 1};
    ssq_tensor *x = NULL;
    NEED(ssq_tensor_broadcast(hand_reshape(h, data[0], 4, grey), 4, rgb, &x));
    hand_keep(h, x);
    layer(h, &l[0], x, true);
    layer(h, &l[1], l[0].b, true);
    layer(h, &l[2], l[1].b, false);
    ssq_tensor *pooled = hand_make(h, h->dtype, 4, four);
    NEED(ssq_global_avg_pool2d(
        h->queue, SSQ_GLOBAL_AVG_POOL2D(.x = l[2].r, .y = pooled)));
    const ssq_tensor *logits =
        hand_cast(h, hand_reshape(h, pooled, 2, two), SSQ_F32);

    ssq_tensor *dlogits = hand_make(h, SSQ_F32, 2, two);
    NEED(ssq_cross_entropy(
        h->queue,
        SSQ_CROSS_ENTROPY(.logits = logits, .target = data[1],
                          .dlogits = dlogits, .dloss = hand_scale(h))));
    const ssq_tensor *dp =
        hand_reshape(h, hand_cast(h, dlogits, h->dtype), 4, four);
    ssq_tensor *dr = hand_like(h, h->dtype, l[2].r);
    NEED(ssq_global_avg_pool2d_backward(
        h->queue, SSQ_GLOBAL_AVG_POOL2D_BACKWARD(.dy = dp, .dx = dr)));
    for (int i = 2; i >= 0; i--) {
        ssq_tensor *dx = i > 0 ? hand_like(h, h->dtype, l[i].x) : NULL;
        filters_back(h, &l[i], dr, i == 2, dx);
        if (i > 0)
            dr = norm_back(h, &l[i - 1], hand_cast(h, dx, SSQ_F32));
    }
}

static void batch(int step, void *const *data)
{
    float *x = data[0];
    int *y = data[1];
    unsigned seed = (unsigned)step * 7919u + 17u;
    for (int i = 0; i < N * SIDE * SIDE; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-24f;
    }
    for (int i = 0; i < N; i++)
        y[i] = x[i * SIDE * SIDE] > 0.5f;
    if (step == 7) /* an overflow, which every scaler skips */
        x[3] = 3e38f;
}

int main(void)
{
    const struct hand_net both = {"cnn",
                                  net,
                                  hand,
                                  batch,
                                  {2, 1},
                                  {{N, SIDE * SIDE}, {N}},
                                  {SSQ_F32, SSQ_I32}};
    return hand_main(&both);
}
