/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - the end of a training step. Gradients are checked, unscaled and
 * clipped. AdamW steps the float32 master copies and writes the parameters.
 * Then the scale is updated. Sizes are ELEMENTSxTENSORS. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

struct bench_model {
    int64_t n;
    ssq_tensor **param, **grad;
    ssq_optimizer *o;
    ssq_scaler *scaler;
    ssq_tensor *logits, *target; /* of a loss that is scaled */
};

static ssq_status tool_optimizer_step(struct workload *w)
{
    struct bench_model *m = w->state;
    ssq_status st = ssq_cross_entropy(
        w->queue,
        SSQ_CROSS_ENTROPY(.logits = m->logits, .target = m->target,
                          .dlogits = m->logits,
                          .dloss = ssq_scaler_scale_tensor(m->scaler)));
    if (st == SSQ_OK)
        st = ssq_optimizer_step(w->queue, m->o, m->scaler);
    return st == SSQ_OK ? ssq_scaler_update(w->queue, m->scaler) : st;
}

static void optimizer_drop(struct workload *w)
{
    struct bench_model *m = w->state;
    for (int64_t i = 0; i < m->n; i++) {
        if (m->param != NULL)
            ssq_tensor_destroy(&m->param[i]);
        if (m->grad != NULL)
            ssq_tensor_destroy(&m->grad[i]);
    }
    free(m->param);
    free(m->grad);
    ssq_tensor_destroy(&m->logits);
    ssq_tensor_destroy(&m->target);
    ssq_optimizer_destroy(&m->o);
    ssq_scaler_destroy(&m->scaler);
}

static ssq_status make_machine(const struct workload *w, struct bench_model *m)
{
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.lr = 1e-4;
    options.clip_norm = 1.0;
    ssq_status st = ssq_optimizer_create(w->device, "adamw", &options, &m->o);
    if (st == SSQ_OK)
        st = ssq_scaler_create(w->device, "pytorch", NULL, &m->scaler);
    if (st == SSQ_OK)
        st = workload_tensor(w, SSQ_F32, 2, (int64_t[]){1, 8}, 1.0, &m->logits);
    return st == SSQ_OK ? workload_classes(w, 1, 8, &m->target) : st;
}

static ssq_status make_parameter(const struct workload *w,
                                 struct bench_model *m, int64_t i)
{
    const int64_t *size = &w->c.size[0];
    char name[32];
    snprintf(name, sizeof(name), "p%lld", (long long)i);
    ssq_status st = workload_tensor(w, w->c.dtype, 1, size, 0.02, &m->param[i]);
    if (st == SSQ_OK)
        st = workload_tensor(w, w->c.dtype, 1, size, 0.01, &m->grad[i]);
    return st == SSQ_OK
               ? ssq_optimizer_add(m->o, name, m->param[i], m->grad[i], NULL)
               : st;
}

/* Bytes for each 16-bit element: the gradient is read twice (2 + 2), first to
 * check and measure it. The parameter is written (2). The master copy and two
 * moments are read and written (3 times 8). A float32 parameter is its own
 * master copy. */
static ssq_status optimizer_make(struct workload *w)
{
    if (strcmp(w->c.op, "adamw") != 0 || w->c.sizes != 2)
        return SSQ_ERR_NOT_FOUND;
    struct bench_model *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return SSQ_ERR_NOMEM;
    w->state = m;
    w->run = tool_optimizer_step;
    w->drop = optimizer_drop;
    w->bytes = (w->c.dtype == SSQ_F32 ? 32.0 : 30.0) * (double)w->c.size[0] *
               (double)w->c.size[1];
    m->n = w->c.size[1];
    m->param = calloc((size_t)m->n, sizeof(ssq_tensor *));
    m->grad = calloc((size_t)m->n, sizeof(ssq_tensor *));
    if (m->param == NULL || m->grad == NULL)
        return SSQ_ERR_NOMEM;
    ssq_status st = make_machine(w, m);
    for (int64_t i = 0; i < m->n && st == SSQ_OK; i++)
        st = make_parameter(w, m, i);
    return st;
}

static const struct bench_grid grids[] = {
    {"adamw", "f16 bf16", "4194304x24 104858x960"}, {NULL, NULL, NULL}};

const struct bench_family optimizer_family = {.suite = "optimizer",
                                              .grids = grids,
                                              .step = true,
                                              .memory = true,
                                              .make = optimizer_make};
