/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - the end of a training step: gradients are checked, unscaled and
 * clipped, AdamW steps float32 masters and writes f16 parameters, the scale is
 * updated. For a parameter that is all of a model, and for a thousand. */
#include "tests/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

struct optimizer_model {
    int n;
    ssq_tensor **param, **grad;
    ssq_optimizer *o;
    ssq_scaler *scaler;
    ssq_tensor *logits, *target; /* of a loss, which is scaled */
};

static ssq_status make(struct gpu *g, struct optimizer_model *m, int64_t size)
{
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    ssq_status st = SSQ_OK;
    char name[32];

    m->param = calloc((size_t)m->n, sizeof(ssq_tensor *));
    m->grad = calloc((size_t)m->n, sizeof(ssq_tensor *));
    if (m->param == NULL || m->grad == NULL)
        return SSQ_ERR_NOMEM;
    options.lr = 1e-4;
    options.clip_norm = 1.0;
    st = ssq_optimizer_create(g->device, "adamw", &options, &m->o);
    if (st == SSQ_OK)
        st = ssq_scaler_create(g->device, "pytorch", NULL, &m->scaler);
    if (st == SSQ_OK)
        st = gpu_tensor(g, SSQ_F32, 2, (int64_t[]){1, 8}, 1.0, &m->logits);
    if (st == SSQ_OK)
        st = gpu_classes(g, 1, 8, &m->target);
    for (int i = 0; i < m->n && st == SSQ_OK; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        st = gpu_tensor(g, SSQ_F16, 1, &size, 0.02, &m->param[i]);
        if (st == SSQ_OK)
            st = gpu_tensor(g, SSQ_F16, 1, &size, 0.01, &m->grad[i]);
        if (st == SSQ_OK)
            st = ssq_optimizer_add(m->o, name, m->param[i], m->grad[i], NULL);
    }
    return st;
}

static ssq_status step(struct gpu *g, void *user)
{
    struct optimizer_model *m = user;
    ssq_status st = ssq_cross_entropy(
        g->queue,
        SSQ_CROSS_ENTROPY(.logits = m->logits, .target = m->target,
                          .dlogits = m->logits,
                          .dloss = ssq_scaler_scale_tensor(m->scaler)));

    if (st == SSQ_OK)
        st = ssq_optimizer_step(g->queue, m->o, m->scaler);
    return st == SSQ_OK ? ssq_scaler_update(g->queue, m->scaler) : st;
}

/* Bytes of an element: the gradient is read to be checked and measured and read
 * again (2 + 2), the parameter written (2), master and two moments read and
 * written (3 times 8). */
static void time_model(struct gpu *g, const char *what, int n, int64_t size)
{
    struct optimizer_model m = {.n = n};
    ssq_status st = make(g, &m, size);
    char name[96];

    snprintf(name, sizeof(name), "adamw, clip, scaler: %s %d of %lld", what, n,
             (long long)size);
    gpu_time(g, name, "chosen", st, step, &m, 0.0,
             30.0 * (double)n * (double)size);
    for (int i = 0; i < n; i++) {
        if (m.param != NULL)
            ssq_tensor_destroy(&m.param[i]);
        if (m.grad != NULL)
            ssq_tensor_destroy(&m.grad[i]);
    }
    free(m.param);
    free(m.grad);
    ssq_tensor_destroy(&m.logits);
    ssq_tensor_destroy(&m.target);
    ssq_optimizer_destroy(&m.o);
    ssq_scaler_destroy(&m.scaler);
    (void)ssq_device_trim(g->device);
}

void gpu_optimizer(struct gpu *g)
{
    if (g->brief) {
        time_model(g, "one", 1, 1000);
        time_model(g, "many", 3, 100);
        return;
    }
    time_model(g, "one", 1, 100000000);
    time_model(g, "many", 1000, 100000);
    time_model(g, "one", 1, 1000000000);
    time_model(g, "many", 1000, 1000000);
}
