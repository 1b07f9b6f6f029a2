/* SPDX-License-Identifier: Apache-2.0 */
/* by_hand.c - steps of a perceptron by a trainer leave the bits that the same
 * ops leave when they are called one by one: parameters, masters, moments and
 * scaler. */
#include "tests/tape/hand.h"

#define BATCH  12
#define IN     10
#define HIDDEN 16
#define OUT    8
#define LAYERS 3

/* ---- by a tape ---- */

static ssq_var net(ssq_tape *t, const ssq_tensor *const *data)
{
    ssq_var x = ssq_var_input(t, data[0]);
    x = ssq_relu_var(ssq_nn_linear(t, "fc1", x, HIDDEN, NULL));
    x = ssq_gelu_var(ssq_nn_linear(t, "fc2", x, HIDDEN, NULL));
    x = ssq_nn_linear(t, "fc3", x, OUT, NULL);
    return ssq_cross_entropy_var(x, SSQ_CROSS_ENTROPY(.target = data[1]));
}

/* ---- by hand ---- */

struct by_hand_layer {
    const ssq_tensor *x; /* in the compute dtype */
    ssq_tensor *y, *a;   /* of the product, of the activation */
};

static ssq_tensor *part(struct hand *h, int layer, const char *end, bool grad)
{
    char name[32];
    snprintf(name, sizeof(name), "fc%d.%s", layer + 1, end);
    size_t i = hand_at(h, name);
    return grad ? h->grad[i] : h->value[i];
}

static void forward(struct hand *h, struct by_hand_layer *layer,
                    const ssq_tensor *x)
{
    for (int i = 0; i < LAYERS; i++) {
        struct by_hand_layer *l = &layer[i];
        const int64_t shape[] = {BATCH, i == LAYERS - 1 ? OUT : HIDDEN};
        l->x = x;
        l->y = hand_make(h, h->dtype, 2, shape);
        l->a = hand_make(h, h->dtype, 2, shape);
        NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = x, .b = part(h, i, "weight", 0),
                                         .bias = part(h, i, "bias", 0),
                                         .trans_b = true, .d = l->y)));
        if (i == 0)
            NEED(ssq_relu(h->queue, SSQ_UNARY(.x = l->y, .y = l->a)));
        if (i == 1)
            NEED(ssq_gelu(h->queue, SSQ_UNARY(.x = l->y, .y = l->a)));
        x = l->a;
    }
}

/* dy: the gradient of the last product. */
static void backward(struct hand *h, const struct by_hand_layer *layer,
                     ssq_tensor *dy)
{
    for (int i = LAYERS - 1; i >= 0; i--) {
        const struct by_hand_layer *l = &layer[i];
        NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = dy, .b = l->x, .trans_a = true,
                                         .d = part(h, i, "weight", true))));
        NEED(ssq_sum_to(h->queue,
                        SSQ_SUM_TO(.x = dy, .y = part(h, i, "bias", true))));
        if (i == 0)
            break;
        ssq_tensor *da = hand_like(h, h->dtype, l->x);
        NEED(ssq_gemm(
            h->queue,
            SSQ_GEMM(.a = dy, .b = part(h, i, "weight", false), .d = da)));
        dy = hand_like(h, h->dtype, l->x);
        if (i == 2)
            NEED(ssq_gelu_backward(
                h->queue,
                SSQ_UNARY_BACKWARD(.x = layer[1].y, .dy = da, .dx = dy)));
        else
            NEED(ssq_relu_backward(
                h->queue,
                SSQ_UNARY_BACKWARD(.x = layer[0].a, .dy = da, .dx = dy)));
    }
}

static void hand(struct hand *h, const ssq_tensor *const *data)
{
    struct by_hand_layer layer[LAYERS];
    forward(h, layer, hand_cast(h, data[0], h->dtype));
    ssq_tensor *logits = layer[LAYERS - 1].y;
    ssq_tensor *dy = hand_like(h, h->dtype, logits);
    NEED(ssq_cross_entropy(
        h->queue, SSQ_CROSS_ENTROPY(.logits = logits, .target = data[1],
                                    .dlogits = dy, .dloss = hand_scale(h))));
    backward(h, layer, dy);
}

static void batch(int step, void *const *data)
{
    float *x = data[0];
    int *y = data[1];
    unsigned seed = (unsigned)step * 7919u + 17u;
    for (int i = 0; i < BATCH * IN; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
    }
    for (int i = 0; i < BATCH; i++)
        y[i] = (x[i * IN] > 0.0f) * 4 + (x[i * IN + 1] > x[i * IN + 2]);
    if (step == 7) /* an overflow, which every scaler skips */
        x[3] = 3e38f;
}

int main(void)
{
    const struct hand_net both = {"mlp",
                                  net,
                                  hand,
                                  batch,
                                  {2, 1},
                                  {{BATCH, IN}, {BATCH}},
                                  {SSQ_F32, SSQ_I32}};
    return hand_main(&both);
}
