/* SPDX-License-Identifier: Apache-2.0 */
/* training.h - a whole small training program, one call per stage, so that
 * tests can fail, repeat or race any of its calls.
 *
 * A perceptron in mixed precision: float16 weights and activations, float32
 * masters, a scaled cross-entropy, AdamW. Two eager steps, then a captured one
 * that is launched twice. */
#ifndef TESTS_API_TRAINING_H
#define TESTS_API_TRAINING_H

#include <sesqui.h>

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    T_X,
    T_TARGET,
    T_W1,
    T_B1,
    T_W2,
    T_H,
    T_LOGITS,
    T_LOSS,
    T_DLOGITS,
    T_DH,
    T_DPRE,
    T_DW1,
    T_DB1,
    T_DW2,
    T_COUNT
};

static const struct {
    ssq_dtype dtype;
    int rank;
    int64_t shape[2];
} training_tensors[T_COUNT] = {
    [T_X] = {SSQ_F16, 2, {6, 9}},       [T_TARGET] = {SSQ_I32, 1, {6, 0}},
    [T_W1] = {SSQ_F16, 2, {9, 16}},     [T_B1] = {SSQ_F16, 1, {16, 0}},
    [T_W2] = {SSQ_F16, 2, {16, 5}},     [T_H] = {SSQ_F16, 2, {6, 16}},
    [T_LOGITS] = {SSQ_F32, 2, {6, 5}},  [T_LOSS] = {SSQ_F32, 0, {0, 0}},
    [T_DLOGITS] = {SSQ_F16, 2, {6, 5}}, [T_DH] = {SSQ_F16, 2, {6, 16}},
    [T_DPRE] = {SSQ_F16, 2, {6, 16}},   [T_DW1] = {SSQ_F16, 2, {9, 16}},
    [T_DB1] = {SSQ_F16, 1, {16, 0}},    [T_DW2] = {SSQ_F16, 2, {16, 5}},
};

struct training {
    const char *name; /* of the device */
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *t[T_COUNT];
    ssq_optimizer *o;
    ssq_scaler *scaler;
    ssq_event *event;
    ssq_graph *graph;
    int written, added; /* inputs and parameters so far */
    float input[256];   /* may be read until the next sync */
    int32_t target[6];
    float loss;
    ssq_scaler_state state;
};

/* ---- making ---- */

static inline ssq_status training_open(struct training *p)
{
    return ssq_device_open(p->name, NULL, &p->dev);
}

static inline ssq_status training_queue(struct training *p)
{
    return ssq_queue_create(p->dev, NULL, &p->q);
}

static inline ssq_status training_make(struct training *p)
{
    ssq_status st = SSQ_OK;
    for (int i = 0; i < T_COUNT && st == SSQ_OK; i++)
        if (p->t[i] == NULL)
            st = ssq_tensor_create(p->dev, training_tensors[i].dtype,
                                   training_tensors[i].rank,
                                   training_tensors[i].shape, &p->t[i]);
    return st;
}

static inline ssq_status training_write(struct training *p)
{
    ssq_status st = SSQ_OK;
    for (int i = 0; i < 256; i++)
        p->input[i] = (float)(i * 37 % 64 - 32) / 64.0f;
    for (int i = 0; i < 6; i++)
        p->target[i] = i * 3 % 5;
    for (; p->written <= T_W2 && st == SSQ_OK; p->written += st == SSQ_OK)
        st = p->written == T_TARGET
                 ? ssq_tensor_write(p->q, p->t[T_TARGET], p->target,
                                    sizeof(p->target), SSQ_I32)
                 : ssq_tensor_write(p->q, p->t[p->written], p->input,
                                    sizeof(p->input), SSQ_F32);
    return st;
}

static inline ssq_status training_optimizer(struct training *p)
{
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.lr = 0.01;
    options.clip_norm = 1.0;
    options.statistics = true;
    return ssq_optimizer_create(p->dev, "adamw", &options, &p->o);
}

static inline ssq_status training_add(struct training *p)
{
    static const struct {
        const char *name;
        int param, grad;
    } all[] = {{"w1", T_W1, T_DW1}, {"b1", T_B1, T_DB1}, {"w2", T_W2, T_DW2}};
    ssq_status st = SSQ_OK;
    for (; p->added < 3 && st == SSQ_OK; p->added += st == SSQ_OK)
        st = ssq_optimizer_add(p->o, all[p->added].name,
                               p->t[all[p->added].param],
                               p->t[all[p->added].grad], NULL);
    return st;
}

static inline ssq_status training_scaler(struct training *p)
{
    return ssq_scaler_create(p->dev, "sesqui", NULL, &p->scaler);
}

static inline ssq_status training_event(struct training *p)
{
    return ssq_event_create(p->dev, &p->event);
}

/* ---- a step ---- */

static inline ssq_status training_gemm(struct training *p, int a, bool trans_a,
                                       int b, bool trans_b, int d)
{
    ssq_gemm_args args = SSQ_GEMM_INIT;
    args.a = p->t[a];
    args.b = p->t[b];
    args.d = p->t[d];
    args.trans_a = trans_a;
    args.trans_b = trans_b;
    if (d == T_H) {
        args.bias = p->t[T_B1];
        args.activation = SSQ_ACTIVATION_RELU;
    }
    return ssq_gemm(p->q, &args);
}

static inline ssq_status training_hidden(struct training *p)
{
    return training_gemm(p, T_X, false, T_W1, false, T_H);
}

static inline ssq_status training_logits(struct training *p)
{
    return training_gemm(p, T_H, false, T_W2, false, T_LOGITS);
}

static inline ssq_status training_loss(struct training *p)
{
    ssq_cross_entropy_args args = SSQ_CROSS_ENTROPY_INIT;
    args.logits = p->t[T_LOGITS];
    args.target = p->t[T_TARGET];
    args.loss = p->t[T_LOSS];
    args.dlogits = p->t[T_DLOGITS];
    args.dloss = ssq_scaler_scale_tensor(p->scaler);
    return ssq_cross_entropy(p->q, &args);
}

static inline ssq_status training_dw2(struct training *p)
{
    return training_gemm(p, T_H, true, T_DLOGITS, false, T_DW2);
}

static inline ssq_status training_dh(struct training *p)
{
    return training_gemm(p, T_DLOGITS, false, T_W2, true, T_DH);
}

static inline ssq_status training_relu(struct training *p)
{
    ssq_unary_backward_args args = SSQ_UNARY_BACKWARD_INIT;
    args.x = p->t[T_H];
    args.dy = p->t[T_DH];
    args.dx = p->t[T_DPRE];
    return ssq_relu_backward(p->q, &args);
}

static inline ssq_status training_dw1(struct training *p)
{
    return training_gemm(p, T_X, true, T_DPRE, false, T_DW1);
}

static inline ssq_status training_db1(struct training *p)
{
    ssq_sum_args args = SSQ_SUM_INIT;
    args.x = p->t[T_DPRE];
    args.y = p->t[T_DB1];
    args.axes[0] = 0; /* the rows */
    args.n_axes = 1;
    return ssq_sum(p->q, &args);
}

static inline ssq_status training_step(struct training *p)
{
    return ssq_optimizer_step(p->q, p->o, p->scaler);
}

static inline ssq_status training_update(struct training *p)
{
    return ssq_scaler_update(p->q, p->scaler);
}

/* ---- the rest ---- */

static inline ssq_status training_record(struct training *p)
{
    return ssq_event_record(p->event, p->q);
}

static inline ssq_status training_wait(struct training *p)
{
    return ssq_event_sync(p->event);
}

static inline ssq_status training_poll(struct training *p)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    return ssq_scaler_poll(p->scaler, &s);
}

static inline ssq_status training_begin(struct training *p)
{
    return ssq_graph_begin(p->q);
}

static inline ssq_status training_end(struct training *p)
{
    return ssq_graph_end(p->q, &p->graph);
}

static inline ssq_status training_launch(struct training *p)
{
    return ssq_graph_launch(p->q, p->graph);
}

static inline ssq_status training_read(struct training *p)
{
    return ssq_tensor_read(p->q, p->t[T_LOSS], &p->loss, sizeof(p->loss),
                           SSQ_F32);
}

static inline ssq_status training_sync(struct training *p)
{
    return ssq_queue_sync(p->q);
}

static inline ssq_status training_state(struct training *p)
{
    p->state = (ssq_scaler_state)SSQ_SCALER_STATE_INIT;
    return ssq_scaler_state_get(p->q, p->scaler, &p->state);
}

#define TRAINING_STEP                                                          \
    {"gemm: hidden", training_hidden, false},                                  \
        {"gemm: logits", training_logits, false},                              \
        {"cross_entropy", training_loss, false},                               \
        {"gemm: dw2", training_dw2, false}, {"gemm: dh", training_dh, false},  \
        {"relu_backward", training_relu, false},                               \
        {"gemm: dw1", training_dw1, false},                                    \
    {                                                                          \
        "sum: db1", training_db1, false                                        \
    }

/** Its calls, in order. Those marked change what training learns, when no
 *  capture is in progress and the optimizer has been used before. */
static const struct {
    const char *name;
    ssq_status (*run)(struct training *p);
    bool learns;
} training_stages[] = {
    {"device_open", training_open, false},
    {"queue_create", training_queue, false},
    {"tensor_create", training_make, false},
    {"tensor_write", training_write, false},
    {"optimizer_create", training_optimizer, false},
    {"optimizer_add", training_add, false},
    {"scaler_create", training_scaler, false},
    {"event_create", training_event, false},
    TRAINING_STEP,
    {"first optimizer_step", training_step, false},
    {"first scaler_update", training_update, false},
    {"event_record", training_record, false},
    {"event_sync", training_wait, false},
    {"scaler_poll", training_poll, false},
    TRAINING_STEP,
    {"optimizer_step", training_step, true},
    {"scaler_update", training_update, true},
    {"graph_begin", training_begin, false},
    TRAINING_STEP,
    {"captured optimizer_step", training_step, false},
    {"captured scaler_update", training_update, false},
    {"graph_end", training_end, false},
    {"graph_launch", training_launch, true},
    {"second graph_launch", training_launch, true},
    {"tensor_read", training_read, false},
    {"queue_sync", training_sync, false},
    {"scaler_state_get", training_state, false},
};
#define TRAINING_STAGES (sizeof(training_stages) / sizeof(training_stages[0]))

/** Release everything, at any stage. */
static inline void training_close(struct training *p)
{
    ssq_graph_destroy(&p->graph);
    ssq_event_destroy(&p->event);
    ssq_optimizer_destroy(&p->o);
    ssq_scaler_destroy(&p->scaler);
    for (int i = 0; i < T_COUNT; i++)
        ssq_tensor_destroy(&p->t[i]);
    ssq_queue_destroy(&p->q);
    ssq_device_close(&p->dev);
}

/* ---- what it has learnt ---- */

/** Parameters, masters, moments, t, the scaler's words: raw bytes. */
struct learnt {
    size_t bytes;
    ssq_status status;
    ssq_queue *q;
    unsigned char data[8192];
};

static inline ssq_status learnt_add(void *user, const char *name,
                                    const ssq_tensor *t)
{
    struct learnt *l = user;
    (void)name;
    size_t n = (size_t)ssq_tensor_elements(t) *
               (size_t)ssq_dtype_bits(ssq_tensor_dtype(t)) / 8;
    if (n > sizeof(l->data) - l->bytes)
        return SSQ_ERR_NOMEM;
    ssq_status st =
        ssq_tensor_read(l->q, t, l->data + l->bytes, sizeof(l->data) - l->bytes,
                        ssq_tensor_dtype(t));
    l->bytes += n;
    return st;
}

static inline ssq_status learnt_take(struct training *p, struct learnt *l)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    memset(l, 0, sizeof(*l));
    l->q = p->q;
    ssq_status st = ssq_scaler_state_get(p->q, p->scaler, &s);
    /* without the padding after the last member */
    l->bytes = offsetof(ssq_scaler_state, action) + sizeof(s.action);
    memcpy(l->data, &s, l->bytes);
    for (int i = T_W1; i <= T_W2 && st == SSQ_OK; i++)
        st = learnt_add(l, "", p->t[i]);
    if (st == SSQ_OK)
        st = ssq_optimizer_visit(p->q, p->o, learnt_add, l);
    return st == SSQ_OK ? ssq_queue_sync(p->q) : st;
}

static inline bool learnt_same(const struct learnt *a, const struct learnt *b)
{
    return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

#endif
