/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - what is bound by memory: a copy, by which the others are judged,
 * softmax, layer norm, and cross-entropy over a vocabulary, with gradients. */
#include "tests/gpu/gpu.h"

#include <stdio.h>

#define MOST 8

/* Operands of a workload, which decides their use. */
struct rows_of_rows {
    ssq_tensor *t[MOST];
};

static void drop(struct gpu *g, struct rows_of_rows *r)
{
    for (int i = 0; i < MOST; i++)
        ssq_tensor_destroy(&r->t[i]);
    (void)ssq_device_trim(g->device);
}

/* n matrices of rows x columns in f16 from place `first` on. */
static ssq_status matrices(struct gpu *g, struct rows_of_rows *r, int first,
                           int n, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    ssq_status st = SSQ_OK;

    for (int i = first; i < first + n && st == SSQ_OK; i++)
        st = gpu_tensor(g, SSQ_F16, 2, shape, 1.0, &r->t[i]);
    return st;
}

/* ---- copy ---- */

static ssq_status copy(struct gpu *g, void *user)
{
    const struct rows_of_rows *r = user;

    return ssq_copy(g->queue, SSQ_COPY(.x = r->t[0], .y = r->t[1]));
}

void gpu_copy(struct gpu *g)
{
    int64_t rows = g->brief ? 16 : 16384, columns = g->brief ? 64 : 16384;
    struct rows_of_rows r = {{NULL}};
    ssq_status st = matrices(g, &r, 0, 2, rows, columns);

    gpu_time(g, "copy", "chosen", st, copy, &r, 0.0,
             4.0 * (double)rows * (double)columns);
    drop(g, &r);
}

/* ---- softmax ---- */

static ssq_status softmax(struct gpu *g, void *user)
{
    const struct rows_of_rows *r = user;

    return ssq_softmax(g->queue, SSQ_SOFTMAX(.x = r->t[0], .y = r->t[1]));
}

static ssq_status softmax_backward(struct gpu *g, void *user)
{
    const struct rows_of_rows *r = user;

    return ssq_softmax_backward(
        g->queue,
        SSQ_SOFTMAX_BACKWARD(.y = r->t[0], .dy = r->t[1], .dx = r->t[2]));
}

static void softmaxes(struct gpu *g, int64_t rows, int64_t columns)
{
    double elements = (double)rows * (double)columns;
    struct rows_of_rows r = {{NULL}};
    ssq_status st = matrices(g, &r, 0, 3, rows, columns);
    char name[64];

    snprintf(name, sizeof(name), "softmax f16 %lldx%lld", (long long)rows,
             (long long)columns);
    gpu_time(g, name, "chosen", st, softmax, &r, 0.0, 4.0 * elements);
    snprintf(name, sizeof(name), "softmax backward f16 %lldx%lld",
             (long long)rows, (long long)columns);
    gpu_time(g, name, "chosen", st, softmax_backward, &r, 0.0, 6.0 * elements);
    drop(g, &r);
}

/* ---- layer norm ---- */

static ssq_status norm(struct gpu *g, void *user)
{
    const struct rows_of_rows *r = user;

    return ssq_layer_norm(g->queue,
                          SSQ_LAYER_NORM(.x = r->t[0], .gamma = r->t[3],
                                         .beta = r->t[4], .y = r->t[1],
                                         .mean = r->t[5], .rstd = r->t[6]));
}

static ssq_status norm_backward(struct gpu *g, void *user)
{
    const struct rows_of_rows *r = user;

    return ssq_layer_norm_backward(
        g->queue,
        SSQ_LAYER_NORM_BACKWARD(.x = r->t[0], .gamma = r->t[3], .mean = r->t[5],
                                .rstd = r->t[6], .dy = r->t[1], .dx = r->t[2],
                                .dgamma = r->t[7], .dbeta = r->t[4]));
}

static void norms(struct gpu *g, int64_t rows, int64_t columns)
{
    double elements = (double)rows * (double)columns;
    struct rows_of_rows r = {{NULL}};
    ssq_status st = matrices(g, &r, 0, 3, rows, columns);
    char name[64];

    for (int i = 3; i < MOST && st == SSQ_OK; i++) {
        bool saved = i == 5 || i == 6;

        st = gpu_tensor(g, saved ? SSQ_F32 : SSQ_F16, 1,
                        saved ? &rows : &columns, 1.0, &r.t[i]);
    }
    snprintf(name, sizeof(name), "layer norm f16 %lldx%lld", (long long)rows,
             (long long)columns);
    gpu_time(g, name, "chosen", st, norm, &r, 0.0, 4.0 * elements);
    snprintf(name, sizeof(name), "layer norm backward f16 %lldx%lld",
             (long long)rows, (long long)columns);
    gpu_time(g, name, "chosen", st, norm_backward, &r, 0.0, 6.0 * elements);
    drop(g, &r);
}

/* ---- cross-entropy ---- */

static ssq_status loss(struct gpu *g, void *user)
{
    const struct rows_of_rows *r = user;

    return ssq_cross_entropy(
        g->queue, SSQ_CROSS_ENTROPY(.logits = r->t[0], .target = r->t[2],
                                    .loss = r->t[3], .dlogits = r->t[1]));
}

static void losses(struct gpu *g, int64_t rows, int64_t classes)
{
    double elements = (double)rows * (double)classes;
    struct rows_of_rows r = {{NULL}};
    ssq_status st = matrices(g, &r, 0, 2, rows, classes);
    char name[64];

    if (st == SSQ_OK)
        st = gpu_classes(g, rows, classes, &r.t[2]);
    if (st == SSQ_OK)
        st = ssq_tensor_create(g->device, SSQ_F32, 0, NULL, &r.t[3]);
    snprintf(name, sizeof(name), "cross-entropy and gradient f16 %lldx%lld",
             (long long)rows, (long long)classes);
    gpu_time(g, name, "chosen", st, loss, &r, 0.0, 4.0 * elements);
    drop(g, &r);
}

void gpu_rows(struct gpu *g)
{
    softmaxes(g, g->brief ? 8 : 16384, g->brief ? 33 : 4096);
    norms(g, g->brief ? 8 : 16384, g->brief ? 33 : 4096);
    losses(g, g->brief ? 8 : 4096, g->brief ? 33 : 50257);
}
