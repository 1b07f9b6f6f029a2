/* SPDX-License-Identifier: Apache-2.0 */
/* by_hand.c - steps of a trainer leave the bits that the same ops leave when
 * they are called one by one: parameters, masters, moments and scaler. */
#include "tests/tape/tape.h"

#define BATCH  12
#define IN     10
#define HIDDEN 16
#define OUT    8
#define STEPS  20

/* ---- by a trainer ---- */

static ssq_var net(ssq_tape *t, ssq_var x)
{
    x = ssq_relu_var(ssq_nn_linear(t, "fc1", x, HIDDEN, NULL));
    x = ssq_gelu_var(ssq_nn_linear(t, "fc2", x, HIDDEN, NULL));
    return ssq_nn_linear(t, "fc3", x, OUT, NULL);
}

struct taped {
    ssq_trainer *trainer;
    ssq_queue *queue;
};

/* ---- by hand ---- */

#define LAYERS 3

struct layer {
    ssq_tensor *w, *b, *dw, *db; /* parameters and gradients */
    ssq_tensor *y, *dy;          /* what it makes, and its gradient */
    ssq_tensor *a, *da;          /* behind the activation; none at the end */
};

struct hand {
    ssq_queue *queue;
    struct layer layer[LAYERS];
    ssq_tensor *x, *loss; /* x in the compute dtype */
    ssq_optimizer *optimizer;
    ssq_scaler *scaler;
};

static ssq_tensor *matrix(ssq_device *d, ssq_dtype dtype, int64_t rows,
                          int64_t columns)
{
    ssq_tensor *t = NULL;
    const int64_t shape[] = {rows, columns};
    NEED(ssq_tensor_create(d, dtype, 2, shape, &t));
    return t;
}

/* Parameters with the values that the trainer's have before its first step. */
static void hand_open(struct hand *h, ssq_device *device, ssq_dtype dtype,
                      const ssq_params *params, bool scaled)
{
    static const int64_t in[] = {IN, HIDDEN, HIDDEN},
                         out[] = {HIDDEN, HIDDEN, OUT};
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.clip_norm = 1.0;
    options.lr = 0.01;
    h->queue = core_queue(device);
    NEED(ssq_optimizer_create(device, "adamw", &options, &h->optimizer));
    if (scaled)
        NEED(ssq_scaler_create(device, "pytorch", NULL, &h->scaler));
    h->x = matrix(device, dtype, BATCH, IN);
    NEED(ssq_tensor_create(device, SSQ_F32, 0, NULL, &h->loss));
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &h->layer[i];
        char name[32];
        l->w = matrix(device, dtype, out[i], in[i]);
        l->dw = matrix(device, dtype, out[i], in[i]);
        l->b = core_vector(device, dtype, out[i]);
        l->db = core_vector(device, dtype, out[i]);
        l->y = matrix(device, dtype, BATCH, out[i]);
        l->dy = matrix(device, dtype, BATCH, out[i]);
        l->a = matrix(device, dtype, BATCH, out[i]);
        l->da = matrix(device, dtype, BATCH, out[i]);
        ssq_tensor *to[] = {l->w, l->b}, *grad[] = {l->dw, l->db};
        for (int k = 0; k < 2; k++) {
            ssq_param_info info = SSQ_PARAM_INFO_INIT;
            snprintf(name, sizeof(name), "fc%d.%s", i + 1,
                     k == 0 ? "weight" : "bias");
            NEED(ssq_params_find(params, name, &info));
            NEED(ssq_copy(h->queue, SSQ_COPY(.x = info.tensor, .y = to[k])));
            NEED(ssq_optimizer_add(h->optimizer, name, to[k], grad[k], NULL));
        }
    }
    NEED(ssq_queue_sync(h->queue));
}

static void hand_close(struct hand *h)
{
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &h->layer[i];
        ssq_tensor **all[] = {&l->w, &l->b,  &l->dw, &l->db,
                              &l->y, &l->dy, &l->a,  &l->da};
        for (int k = 0; k < 8; k++)
            ssq_tensor_destroy(all[k]);
    }
    ssq_tensor_destroy(&h->x);
    ssq_tensor_destroy(&h->loss);
    ssq_optimizer_destroy(&h->optimizer);
    ssq_scaler_destroy(&h->scaler);
    ssq_queue_destroy(&h->queue);
}

static void forward(struct hand *h, const ssq_tensor *x, const ssq_tensor *y)
{
    const ssq_tensor *a = h->x;
    NEED(ssq_cast(h->queue, SSQ_CAST(.x = x, .y = h->x)));
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &h->layer[i];
        NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = a, .b = l->w, .bias = l->b,
                                         .trans_b = true, .d = l->y)));
        if (i == 0)
            NEED(ssq_relu(h->queue, SSQ_UNARY(.x = l->y, .y = l->a)));
        if (i == 1)
            NEED(ssq_gelu(h->queue, SSQ_UNARY(.x = l->y, .y = l->a)));
        a = l->a;
    }
    NEED(ssq_cross_entropy(h->queue,
                           SSQ_CROSS_ENTROPY(.logits = h->layer[2].y,
                                             .target = y, .loss = h->loss)));
}

static void backward(struct hand *h, const ssq_tensor *y)
{
    NEED(ssq_cross_entropy(
        h->queue,
        SSQ_CROSS_ENTROPY(.logits = h->layer[2].y, .target = y,
                          .dlogits = h->layer[2].dy,
                          .dloss = h->scaler == NULL
                                       ? NULL
                                       : ssq_scaler_scale_tensor(h->scaler))));
    for (int i = LAYERS - 1; i >= 0; i--) {
        struct layer *l = &h->layer[i];
        const ssq_tensor *x = i == 0 ? h->x : h->layer[i - 1].a;
        if (i == 1)
            NEED(ssq_gelu_backward(
                h->queue,
                SSQ_UNARY_BACKWARD(.x = l->y, .dy = l->da, .dx = l->dy)));
        if (i == 0)
            NEED(ssq_relu_backward(
                h->queue,
                SSQ_UNARY_BACKWARD(.x = l->a, .dy = l->da, .dx = l->dy)));
        if (i > 0)
            NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = l->dy, .b = l->w,
                                             .d = h->layer[i - 1].da)));
        NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = l->dy, .b = x, .trans_a = true,
                                         .d = l->dw)));
        NEED(ssq_sum_to(h->queue, SSQ_SUM_TO(.x = l->dy, .y = l->db)));
    }
}

static void hand_step(struct hand *h, const ssq_tensor *x, const ssq_tensor *y)
{
    forward(h, x, y);
    backward(h, y);
    NEED(ssq_optimizer_step(h->queue, h->optimizer, h->scaler));
    if (h->scaler != NULL)
        NEED(ssq_scaler_update(h->queue, h->scaler));
}

/* ---- both ---- */

/* Everything that a run leaves, as bytes. */
static void *saved(ssq_queue *q, ssq_optimizer *o, ssq_scaler *s, size_t *n)
{
    size_t a = 0, b = 0;
    NEED(ssq_queue_sync(q));
    NEED(ssq_optimizer_save(q, o, NULL, 0, &a));
    if (s != NULL)
        NEED(ssq_scaler_save(q, s, NULL, 0, &b));
    char *all = malloc(a + b + 1);
    NEED(ssq_optimizer_save(q, o, all, a, NULL));
    if (s != NULL)
        NEED(ssq_scaler_save(q, s, all + a, b, NULL));
    *n = a + b;
    return all;
}

static void batch(int step, float *x, int *y)
{
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

static void compare(const char *device, const char *policy, ssq_dtype dtype)
{
    ssq_device *d = core_open(device);
    const bool scaled = dtype == SSQ_F16;
    ssq_queue *q = core_queue(d);
    ssq_trainer *trainer = NULL;
    struct hand h = {0};
    float hx[BATCH * IN];
    int hy[BATCH];
    NEED(ssq_trainer_create(q,
                            SSQ_TRAINER(.policy = policy, .optimizer = "adamw",
                                        .options.clip_norm = 1.0,
                                        .options.lr = 0.01,
                                        .scaler = scaled ? "pytorch" : NULL),
                            &trainer));
    ssq_tensor *x = matrix(d, SSQ_F32, BATCH, IN);
    ssq_tensor *y = core_vector(d, SSQ_I32, BATCH);
    for (int i = 0; i < STEPS; i++) {
        batch(i, hx, hy);
        NEED(ssq_tensor_write(q, x, hx, sizeof(hx), SSQ_F32));
        NEED(ssq_tensor_write(q, y, hy, sizeof(hy), SSQ_I32));
        ssq_tape *t = ssq_trainer_begin(trainer);
        ssq_var loss = ssq_cross_entropy_var(net(t, ssq_var_input(t, x)),
                                             SSQ_CROSS_ENTROPY(.target = y));
        if (i == 0) {
            NEED(ssq_queue_sync(q));
            hand_open(&h, d, dtype, ssq_trainer_params(trainer), scaled);
        }
        NEED(ssq_trainer_step(trainer, loss));
        NEED(ssq_queue_sync(q));
        hand_step(&h, x, y);
        NEED(ssq_queue_sync(h.queue));
    }
    size_t n = 0, m = 0;
    void *by_tape = saved(q, ssq_trainer_optimizer(trainer),
                          ssq_trainer_scaler(trainer), &n);
    void *by_hand = saved(h.queue, h.optimizer, h.scaler, &m);
    tap_ok(n == m && memcmp(by_tape, by_hand, n) == 0,
           "%s: %s: %d steps leave the same %zu bytes", device, policy, STEPS,
           n);
    free(by_tape);
    free(by_hand);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    hand_close(&h);
    ssq_trainer_destroy(&trainer);
    ssq_queue_destroy(&q);
    ssq_device_close(&d);
}

/* The policy that has everything is asked of every device. */
int main(void)
{
    bool full = getenv("SSQ_TEST_FULL") != NULL;
    size_t n = core_device_count();
    for (size_t i = 0; i < n; i++) {
        compare(core_device(i), "mixed_float16", SSQ_F16);
        if (i >= 2 && !full)
            continue;
        compare(core_device(i), "float32", SSQ_F32);
        compare(core_device(i), "mixed_bfloat16", SSQ_BF16);
    }
    return tap_done(2 * 3);
}
