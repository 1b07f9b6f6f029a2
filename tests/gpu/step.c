/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - a whole training step of a perceptron in mixed precision, call by
 * call and as a graph: forward, loss, gradients, AdamW, loss scale. */
#include "tests/gpu/gpu.h"

#include <stdio.h>

#define LAYERS 3

struct net {
    int64_t batch, size[LAYERS + 1];
    ssq_tensor *x[LAYERS + 1];  /* activations; x[0] is the input */
    ssq_tensor *dx[LAYERS + 1]; /* their gradients; none of x[0] */
    ssq_tensor *w[LAYERS], *dw[LAYERS], *b[LAYERS], *db[LAYERS];
    ssq_tensor *target, *loss;
    ssq_optimizer *o;
    ssq_scaler *scaler;
    ssq_graph *graph;
};

static ssq_status make_layer(struct gpu *g, struct net *n, int i)
{
    const int64_t w[] = {n->size[i], n->size[i + 1]};
    const int64_t y[] = {n->batch, n->size[i + 1]};
    char name[16];
    ssq_status st = gpu_tensor(g, SSQ_F16, 2, w, 0.02, &n->w[i]);

    if (st == SSQ_OK)
        st = gpu_tensor(g, SSQ_F16, 2, w, 0.0, &n->dw[i]);
    if (st == SSQ_OK)
        st = gpu_tensor(g, SSQ_F16, 1, &w[1], 0.0, &n->b[i]);
    if (st == SSQ_OK)
        st = gpu_tensor(g, SSQ_F16, 1, &w[1], 0.0, &n->db[i]);
    if (st == SSQ_OK)
        st = ssq_tensor_create(g->device, SSQ_F16, 2, y, &n->x[i + 1]);
    if (st == SSQ_OK)
        st = ssq_tensor_create(g->device, SSQ_F16, 2, y, &n->dx[i + 1]);
    snprintf(name, sizeof(name), "w%d", i);
    if (st == SSQ_OK)
        st = ssq_optimizer_add(n->o, name, n->w[i], n->dw[i], NULL);
    snprintf(name, sizeof(name), "b%d", i);
    if (st == SSQ_OK)
        st = ssq_optimizer_add(n->o, name, n->b[i], n->db[i], NULL);
    return st;
}

static ssq_status make(struct gpu *g, struct net *n)
{
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    const int64_t x[] = {n->batch, n->size[0]};

    options.lr = 1e-3;
    ssq_status st = ssq_optimizer_create(g->device, "adamw", &options, &n->o);
    if (st == SSQ_OK)
        st = ssq_scaler_create(g->device, "pytorch", NULL, &n->scaler);
    if (st == SSQ_OK)
        st = gpu_tensor(g, SSQ_F16, 2, x, 1.0, &n->x[0]);
    if (st == SSQ_OK)
        st = gpu_classes(g, n->batch, n->size[LAYERS], &n->target);
    if (st == SSQ_OK)
        st = ssq_tensor_create(g->device, SSQ_F32, 0, NULL, &n->loss);
    for (int i = 0; i < LAYERS && st == SSQ_OK; i++)
        st = make_layer(g, n, i);
    return st;
}

static void drop(struct gpu *g, struct net *n)
{
    ssq_graph_destroy(&n->graph);
    ssq_optimizer_destroy(&n->o);
    ssq_scaler_destroy(&n->scaler);
    ssq_tensor_destroy(&n->target);
    ssq_tensor_destroy(&n->loss);
    for (int i = 0; i <= LAYERS; i++) {
        ssq_tensor_destroy(&n->x[i]);
        ssq_tensor_destroy(&n->dx[i]);
    }
    for (int i = 0; i < LAYERS; i++) {
        ssq_tensor_destroy(&n->w[i]);
        ssq_tensor_destroy(&n->dw[i]);
        ssq_tensor_destroy(&n->b[i]);
        ssq_tensor_destroy(&n->db[i]);
    }
    (void)ssq_device_trim(g->device);
}

/* The calls of a step. i: the layer; others take none. */
static ssq_status forward(struct gpu *g, const struct net *n, int i)
{
    return ssq_gemm(
        g->queue,
        SSQ_GEMM(.a = n->x[i], .b = n->w[i], .bias = n->b[i], .d = n->x[i + 1],
                 .activation = i + 1 < LAYERS ? SSQ_ACTIVATION_RELU
                                              : SSQ_ACTIVATION_NONE));
}

static ssq_status loss(struct gpu *g, const struct net *n, int i)
{
    (void)i;
    return ssq_cross_entropy(
        g->queue,
        SSQ_CROSS_ENTROPY(.logits = n->x[LAYERS], .target = n->target,
                          .loss = n->loss, .dlogits = n->dx[LAYERS],
                          .dloss = ssq_scaler_scale_tensor(n->scaler)));
}

static ssq_status weight(struct gpu *g, const struct net *n, int i)
{
    return ssq_gemm(g->queue, SSQ_GEMM(.a = n->x[i], .b = n->dx[i + 1],
                                       .d = n->dw[i], .trans_a = true));
}

static ssq_status bias(struct gpu *g, const struct net *n, int i)
{
    return ssq_sum(g->queue, SSQ_SUM(.x = n->dx[i + 1], .y = n->db[i],
                                     .axes = {0}, .n_axes = 1));
}

/* No one asks for the input's gradient. */
static ssq_status data(struct gpu *g, const struct net *n, int i)
{
    if (i == 0)
        return SSQ_OK;
    ssq_status st =
        ssq_gemm(g->queue, SSQ_GEMM(.a = n->dx[i + 1], .b = n->w[i],
                                    .d = n->dx[i], .trans_b = true));
    return st != SSQ_OK
               ? st
               : ssq_relu_backward(
                     g->queue, SSQ_UNARY_BACKWARD(.x = n->x[i], .dy = n->dx[i],
                                                  .dx = n->dx[i]));
}

/* A step needs gradients of a scaled loss. */
static ssq_status update(struct gpu *g, const struct net *n, int i)
{
    ssq_status st = loss(g, n, i);

    if (st == SSQ_OK)
        st = ssq_optimizer_step(g->queue, n->o, n->scaler);
    return st == SSQ_OK ? ssq_scaler_update(g->queue, n->scaler) : st;
}

static ssq_status step(struct gpu *g, void *user)
{
    const struct net *n = user;
    ssq_status st = SSQ_OK;

    for (int i = 0; i < LAYERS && st == SSQ_OK; i++)
        st = forward(g, n, i);
    if (st == SSQ_OK)
        st = loss(g, n, 0);
    for (int i = LAYERS - 1; i >= 0 && st == SSQ_OK; i--) {
        st = weight(g, n, i);
        if (st == SSQ_OK)
            st = bias(g, n, i);
        if (st == SSQ_OK)
            st = data(g, n, i);
    }
    if (st == SSQ_OK)
        st = ssq_optimizer_step(g->queue, n->o, n->scaler);
    return st == SSQ_OK ? ssq_scaler_update(g->queue, n->scaler) : st;
}

/* One of those calls by itself, which its time alone is of. */
struct part {
    const struct net *n;
    ssq_status (*call)(struct gpu *g, const struct net *n, int i);
    int i;
};

static ssq_status run_part(struct gpu *g, void *user)
{
    const struct part *p = user;

    return p->call(g, p->n, p->i);
}

/* Where a step's time goes. */
static void parts(struct gpu *g, const struct net *n)
{
    static const struct {
        const char *name;
        ssq_status (*call)(struct gpu *g, const struct net *n, int i);
        bool layers; /* for each layer */
    } calls[] = {{"forward", forward, true},
                 {"loss", loss, false},
                 {"weights' gradient", weight, true},
                 {"bias's gradient", bias, true},
                 {"data's gradient", data, true},
                 {"loss and update", update, false}};

    for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
        for (int i = 0; i < (calls[k].layers ? LAYERS : 1); i++) {
            struct part p = {n, calls[k].call, i};
            char name[96];

            snprintf(name, sizeof(name), "of that step: %s%s", calls[k].name,
                     calls[k].layers ? (const char *[]){" 1", " 2", " 3"}[i]
                                     : "");
            if (calls[k].call != data || i > 0)
                gpu_time(g, name, "eager", SSQ_OK, run_part, &p, 0.0, 0.0);
        }
}

static ssq_status launch(struct gpu *g, void *user)
{
    return ssq_graph_launch(g->queue, ((const struct net *)user)->graph);
}

static ssq_status capture(struct gpu *g, struct net *n)
{
    ssq_status st = ssq_graph_begin(g->queue);

    if (st != SSQ_OK)
        return st;
    st = step(g, n);
    ssq_status ended = ssq_graph_end(g->queue, &n->graph);
    return st == SSQ_OK ? ended : st;
}

/* Does the host wait in a step? Enqueue enough steps to keep the device busy
 * for a while, then an event, then one more step. If the host has waited in
 * that step, the event is reached before the step returns. */
static ssq_status wait_in(struct gpu *g, gpu_fn fn, struct net *n,
                          ssq_event *event, bool *waited)
{
    int before = g->brief ? 6 : 60;
    ssq_status st = fn(g, n);

    if (st == SSQ_OK)
        st = ssq_queue_sync(g->queue);
    for (int i = 0; i < before && st == SSQ_OK; i++)
        st = fn(g, n);
    if (st == SSQ_OK)
        st = ssq_event_record(event, g->queue);
    if (st == SSQ_OK)
        st = fn(g, n);
    if (st != SSQ_OK)
        return st;
    st = ssq_event_query(event);
    *waited = st != SSQ_ERR_NOT_READY;
    return *waited ? st : ssq_queue_sync(g->queue);
}

static void waits(struct gpu *g, const char *impl, ssq_status st, gpu_fn fn,
                  struct net *n)
{
    ssq_event *event = NULL;
    bool waited = false;

    if (st == SSQ_OK)
        st = ssq_event_create(g->device, &event);
    if (st == SSQ_OK)
        st = wait_in(g, fn, n, event, &waited);
    if (st == SSQ_OK)
        printf("host waits\t%s\t%d\t0\t0\n", impl, waited ? 1 : 0);
    else
        printf("host waits\t%s\t-\t0\t0\t%s\n", impl, ssq_last_error());
    g->failed = g->failed || st != SSQ_OK;
    ssq_event_destroy(&event);
}

void gpu_step(struct gpu *g)
{
    struct net n = {.batch = 8192, .size = {784, 4096, 4096, 10}};
    double flops = 0.0;
    char name[96];

    if (g->brief)
        n = (struct net){.batch = 16, .size = {24, 32, 32, 10}};
    for (int i = 0; i < LAYERS; i++) /* forward, dw, and dx but of the input */
        flops += (i == 0 ? 4.0 : 6.0) * (double)n.batch * (double)n.size[i] *
                 (double)n.size[i + 1];
    snprintf(name, sizeof(name), "step of a perceptron, batch %lld",
             (long long)n.batch);
    ssq_status st = make(g, &n);
    gpu_time(g, name, "eager", st, step, &n, flops, 0.0);
    waits(g, "eager", st, step, &n);
    if (st == SSQ_OK)
        parts(g, &n);
    if (st == SSQ_OK)
        st = capture(g, &n);
    gpu_time(g, name, "captured", st, launch, &n, flops, 0.0);
    waits(g, "captured", st, launch, &n);
    drop(g, &n);
}
