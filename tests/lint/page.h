/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - what surrounds the C of doc/: a device, a model of one product, its
 * backward pass, and what a step of training needs. */
#ifndef TESTS_LINT_PAGE_H
#define TESTS_LINT_PAGE_H

#include <sesqui.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                              \
    do {                                                                       \
        ssq_status st_ = (call);                                               \
        if (st_ != SSQ_OK)                                                     \
            return st_;                                                        \
    } while (0)

/* y = x w^T, two parameters of a kind, and what a step needs: the names that
 * the pages use, some of which mean the same object. */
ssq_device *dev, *device;
ssq_queue *q, *queue;
ssq_scaler *scaler;
ssq_optimizer *opt, *opt2, *optimizer; /* of w and w2 */
ssq_optimizer *opt3;                   /* of w3 */
ssq_tensor *x, *y, *dy, *target;       /* [32,8]: f16, f32, f16, f32 */
ssq_tensor *w, *dw, *w2, *dw2;         /* [8,8] f16 */
ssq_tensor *w3, *dw3;                  /* [8,8] f16, with its gradient in f32 */
ssq_tensor *bias, *dbias;              /* [8] f32 */
ssq_tensor *scalar;                    /* f32 scalar */
int steps = 3;

ssq_status forward(void);
ssq_status backward(ssq_scaler *with);

ssq_status forward(void)
{
    ssq_gemm_args g = SSQ_GEMM_INIT;
    g.a = x;
    g.b = w;
    g.trans_b = true;
    g.bias = bias;
    g.d = y;
    return ssq_gemm(q, &g);
}

ssq_status backward(ssq_scaler *with)
{
    ssq_mse_args m = SSQ_MSE_INIT;
    m.x = y;
    m.target = target;
    m.loss = scalar;
    m.dx = dy;
    m.dloss = ssq_scaler_scale_tensor(with);
    TRY(ssq_mse(q, &m));
    ssq_gemm_args g = SSQ_GEMM_INIT;
    g.a = dy;
    g.trans_a = true;
    g.b = x;
    g.d = dw;
    TRY(ssq_gemm(q, &g));
    g.d = dw2;
    TRY(ssq_gemm(q, &g));
    g.d = dw3;
    TRY(ssq_gemm(q, &g));
    ssq_sum_args s = SSQ_SUM_INIT;
    s.x = dy;
    s.y = dbias;
    s.axes[0] = 0; /* the rows */
    s.n_axes = 1;
    return ssq_sum(q, &s);
}

/* A tensor [rows, 8] (or, by its rank, less of that) full of a value. */
static ssq_status page_tensor(ssq_dtype dtype, int rank, int64_t rows,
                              double value, ssq_tensor **t)
{
    const int64_t shape[2] = {rows, 8};
    ssq_fill_args f = SSQ_FILL_INIT;
    TRY(ssq_tensor_create(dev, dtype, rank, shape, t));
    f.x = *t;
    f.value = value;
    return ssq_fill(q, &f);
}

static ssq_status page_open(const char *name)
{
    TRY(ssq_device_open(name, NULL, &dev));
    TRY(ssq_queue_create(dev, NULL, &q));
    TRY(page_tensor(SSQ_F16, 2, 32, 0.5, &x));
    TRY(page_tensor(SSQ_F32, 2, 32, 0.0, &y));
    TRY(page_tensor(SSQ_F16, 2, 32, 0.0, &dy));
    TRY(page_tensor(SSQ_F32, 2, 32, 1.0, &target));
    TRY(page_tensor(SSQ_F16, 2, 8, 0.125, &w));
    TRY(page_tensor(SSQ_F16, 2, 8, 0.0, &dw));
    TRY(page_tensor(SSQ_F16, 2, 8, 0.125, &w2));
    TRY(page_tensor(SSQ_F16, 2, 8, 0.0, &dw2));
    TRY(page_tensor(SSQ_F16, 2, 8, 0.125, &w3));
    TRY(page_tensor(SSQ_F32, 2, 8, 0.0, &dw3));
    TRY(page_tensor(SSQ_F32, 1, 8, 0.0, &bias));
    TRY(page_tensor(SSQ_F32, 1, 8, 0.0, &dbias));
    TRY(page_tensor(SSQ_F32, 0, 0, 0.0, &scalar));
    TRY(ssq_scaler_create(dev, "pytorch", NULL, &scaler));
    TRY(ssq_optimizer_create(dev, "adamw", NULL, &opt));
    TRY(ssq_optimizer_add(opt, "w", w, dw, NULL));
    TRY(ssq_optimizer_create(dev, "sgd", NULL, &opt2));
    device = dev;
    queue = q;
    optimizer = opt;
    TRY(ssq_optimizer_add(opt2, "w2", w2, dw2, NULL));
    TRY(ssq_optimizer_create(dev, "sgd", NULL, &opt3));
    return ssq_optimizer_add(opt3, "w3", w3, dw3, NULL);
}

#endif
