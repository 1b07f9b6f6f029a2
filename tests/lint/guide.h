/* SPDX-License-Identifier: Apache-2.0 */
/* guide.h - what surrounds a fragment of C in doc/: guide.sh includes it, puts
 * the fragment into guide_fragment() and runs that on real devices. */
#ifndef TESTS_LINT_GUIDE_H
#define TESTS_LINT_GUIDE_H

#include <sesqui.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                              \
    do {                                                                       \
        ssq_status st_ = (call);                                               \
        if (st_ != SSQ_OK)                                                     \
            return st_;                                                        \
    } while (0)

/* y = x w^T, two parameters of a kind, and what a step needs. */
ssq_device *dev, *device;
ssq_queue *q, *queue;
ssq_scaler *scaler;
ssq_optimizer *opt, *opt2, *optimizer; /* of w and w2 */
ssq_tensor *x, *y, *dy, *target;       /* [32,8]: f16, f32, f16, f32 */
ssq_tensor *w, *dw, *w2, *dw2;         /* [8,8] f16 */
ssq_tensor *bias, *dbias;              /* [8] f32 */
ssq_tensor *loss;                      /* f32 scalar */
int steps = 3;

ssq_status forward(void);
ssq_status backward(ssq_scaler *with);
ssq_status guide_fragment(void);

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
    m.loss = loss;
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
    int rows = 0;
    ssq_sum_args s = SSQ_SUM_INIT;
    s.x = dy;
    s.y = dbias;
    s.axes = &rows;
    s.n_axes = 1;
    return ssq_sum(q, &s);
}

static ssq_status guide_tensor(ssq_dtype dtype, int rank, int64_t rows,
                               double value, ssq_tensor **t)
{
    const int64_t shape[2] = {rows, 8};
    ssq_fill_args f = SSQ_FILL_INIT;
    TRY(ssq_tensor_create(dev, dtype, rank, shape, t));
    f.x = *t;
    f.value = value;
    return ssq_fill(q, &f);
}

static ssq_status guide_open(const char *name)
{
    TRY(ssq_device_open(name, NULL, &dev));
    TRY(ssq_queue_create(dev, NULL, &q));
    TRY(guide_tensor(SSQ_F16, 2, 32, 0.5, &x));
    TRY(guide_tensor(SSQ_F32, 2, 32, 0.0, &y));
    TRY(guide_tensor(SSQ_F16, 2, 32, 0.0, &dy));
    TRY(guide_tensor(SSQ_F32, 2, 32, 1.0, &target));
    TRY(guide_tensor(SSQ_F16, 2, 8, 0.125, &w));
    TRY(guide_tensor(SSQ_F16, 2, 8, 0.0, &dw));
    TRY(guide_tensor(SSQ_F16, 2, 8, 0.125, &w2));
    TRY(guide_tensor(SSQ_F16, 2, 8, 0.0, &dw2));
    TRY(guide_tensor(SSQ_F32, 1, 8, 0.0, &bias));
    TRY(guide_tensor(SSQ_F32, 1, 8, 0.0, &dbias));
    TRY(guide_tensor(SSQ_F32, 0, 0, 0.0, &loss));
    TRY(ssq_scaler_create(dev, "pytorch", NULL, &scaler));
    TRY(ssq_optimizer_create(dev, "adamw", NULL, &opt));
    TRY(ssq_optimizer_add(opt, "w", w, dw, NULL));
    TRY(ssq_optimizer_create(dev, "sgd", NULL, &opt2));
    device = dev;
    queue = q;
    optimizer = opt;
    return ssq_optimizer_add(opt2, "w2", w2, dw2, NULL);
}

int main(int argc, char **argv)
{
    ssq_status st = guide_open(argc > 1 ? argv[1] : "auto");
    if (st == SSQ_OK)
        st = guide_fragment();
    if (st == SSQ_OK)
        st = ssq_queue_sync(q);
    if (st != SSQ_OK)
        fprintf(stderr, "%s: %s\n", ssq_status_name(st), ssq_last_error());
    return st != SSQ_OK; /* the process frees the rest */
}

#endif
