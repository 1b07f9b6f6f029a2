/* SPDX-License-Identifier: Apache-2.0 */
/* cnn.c - a two-layer convolutional network, backward written by hand.
 *
 *     x [n,1,8,8]
 *       conv 3x3, 32  -> batch norm -> relu -> max pool 2x2   [n,32,4,4]
 *       conv 3x3, 64  -> batch norm -> relu -> max pool 2x2   [n,64,2,2]
 *       dropout -> linear                                     [n,16]
 *
 * Convolutions and the linear layer multiply in the compute dtype; batch norm
 * keeps float32 statistics and parameters, as under every policy. */
#include "examples/cnn-explicit/cnn.h"

#include <stdlib.h>

#define STAGES 2
#define SIDE   8    /* pixels */
#define DROP   0.25 /* chance of an element to be dropped */

static const int64_t channels[STAGES + 1] = {1, 32, 64};

/* conv -> batch norm -> relu -> max pool. "compute" is the compute dtype. */
struct cnn_stage {
    ssq_tensor *w, *dw;         /* [o,c,3,3] compute */
    ssq_tensor *gamma, *dgamma; /* [o] float32, and so on */
    ssq_tensor *beta, *dbeta;
    ssq_tensor *running_mean, *running_var; /* [o] float32: state */
    ssq_tensor *mean, *rstd;                /* [o] float32: saved */
    ssq_tensor *z;      /* [n,o,s,s] compute: the convolution's result */
    ssq_tensor *h;      /* likewise: after norm and relu */
    ssq_tensor *dz;     /* likewise: gradient of h, then of z */
    ssq_tensor *y;      /* [n,o,s/2,s/2] compute */
    ssq_tensor *argmax; /* likewise, i32 */
    ssq_tensor *dy;     /* likewise, compute */
};

struct cnn {
    ssq_tensor *x; /* [n,1,8,8]: a view of the input */
    struct cnn_stage stage[STAGES];
    ssq_tensor *flat, *dflat;    /* [n,256]: views of the last y and dy */
    ssq_tensor *dropped;         /* [n,256] compute */
    ssq_tensor *w, *dw, *b, *db; /* the linear layer */
    ssq_tensor *logits, *dlogits;
    ssq_tensor *step; /* i32: of the dropout's stream, moves by one a step */
    ssq_tensor *one;  /* i32: what it moves by */
    uint64_t seed;
};

static bool make4(ssq_queue *q, ssq_dtype dtype, int64_t a, int64_t b,
                  int64_t c, int64_t d, ssq_tensor **t)
{
    int64_t shape[4] = {a, b, c, d};
    return train_tensor(ssq_queue_device(q), dtype, 4, shape, t);
}

/* With b 0 a vector. */
static bool make2(ssq_queue *q, ssq_dtype dtype, int64_t a, int64_t b,
                  ssq_tensor **t)
{
    int64_t shape[2] = {a, b};
    return train_tensor(ssq_queue_device(q), dtype, b == 0 ? 1 : 2, shape, t);
}

static bool fill(ssq_queue *q, ssq_tensor *t, double value)
{
    return run_ok(ssq_fill(q, SSQ_FILL(.x = t, .value = value)), "fill");
}

static bool init(ssq_queue *q, ssq_tensor *w, uint64_t seed, uint32_t id)
{
    return run_ok(ssq_init(q, SSQ_INIT(.x = w, .seed = seed, .id = id,
                                       .kind = SSQ_INIT_KAIMING_NORMAL,
                                       .nonlinearity = "relu")),
                  "init");
}

/* What a stage learns or remembers; convolutions have no bias, since the norm
 * behind them would take it away again. */
static bool stage_parameters(ssq_queue *q, ssq_dtype compute,
                             struct cnn_stage *s, int64_t c, int64_t o,
                             uint64_t seed, uint32_t id)
{
    return make4(q, compute, o, c, 3, 3, &s->w) && init(q, s->w, seed, id) &&
           make2(q, SSQ_F32, o, 0, &s->gamma) && fill(q, s->gamma, 1.0) &&
           make2(q, SSQ_F32, o, 0, &s->beta) && fill(q, s->beta, 0.0) &&
           make2(q, SSQ_F32, o, 0, &s->running_mean) &&
           fill(q, s->running_mean, 0.0) &&
           make2(q, SSQ_F32, o, 0, &s->running_var) &&
           fill(q, s->running_var, 1.0);
}

/* The same of another model, running statistics included: they are what the
 * test set is normalised with. */
static bool stage_share(const struct cnn_stage *from, struct cnn_stage *s)
{
    return train_share(from->w, &s->w) && train_share(from->gamma, &s->gamma) &&
           train_share(from->beta, &s->beta) &&
           train_share(from->running_mean, &s->running_mean) &&
           train_share(from->running_var, &s->running_var);
}

/* What depends on the batch n, and the gradients. c channels become o. */
static bool stage_activations(ssq_queue *q, ssq_dtype compute,
                              struct cnn_stage *s, int64_t n, int64_t c,
                              int64_t o, int64_t side)
{
    int64_t half = side / 2;
    return make4(q, compute, o, c, 3, 3, &s->dw) &&
           make2(q, SSQ_F32, o, 0, &s->dgamma) &&
           make2(q, SSQ_F32, o, 0, &s->dbeta) &&
           make2(q, SSQ_F32, o, 0, &s->mean) &&
           make2(q, SSQ_F32, o, 0, &s->rstd) &&
           make4(q, compute, n, o, side, side, &s->z) &&
           make4(q, compute, n, o, side, side, &s->h) &&
           make4(q, compute, n, o, side, side, &s->dz) &&
           make4(q, compute, n, o, half, half, &s->y) &&
           make4(q, SSQ_I32, n, o, half, half, &s->argmax) &&
           make4(q, compute, n, o, half, half, &s->dy);
}

/* The linear layer on what the last stage leaves, flattened. */
static bool make_head(struct cnn *m, ssq_queue *q, ssq_dtype compute, int64_t n,
                      const struct cnn *other)
{
    const struct cnn_stage *last = &m->stage[STAGES - 1];
    int64_t in = channels[STAGES] * (SIDE >> STAGES) * (SIDE >> STAGES);
    int64_t flat[2] = {n, in};
    bool own = other == NULL ? make2(q, compute, TRAIN_CLASSES, in, &m->w) &&
                                   init(q, m->w, m->seed, STAGES + 1) &&
                                   make2(q, SSQ_F32, TRAIN_CLASSES, 0, &m->b) &&
                                   fill(q, m->b, 0.0)
                             : train_share(other->w, &m->w) &&
                                   train_share(other->b, &m->b);
    return own &&
           run_ok(ssq_tensor_reshape(last->y, 2, flat, &m->flat), "view") &&
           run_ok(ssq_tensor_reshape(last->dy, 2, flat, &m->dflat), "view") &&
           make2(q, compute, n, in, &m->dropped) &&
           make2(q, compute, TRAIN_CLASSES, in, &m->dw) &&
           make2(q, SSQ_F32, TRAIN_CLASSES, 0, &m->db) &&
           make2(q, SSQ_F32, n, TRAIN_CLASSES, &m->logits) &&
           make2(q, compute, n, TRAIN_CLASSES, &m->dlogits) &&
           make2(q, SSQ_I32, 1, 0, &m->step) && fill(q, m->step, 0.0) &&
           make2(q, SSQ_I32, 1, 0, &m->one) && fill(q, m->one, 1.0);
}

/* A network for n images; the parameters are those of share, if it is given. */
static bool create(struct model *model, ssq_queue *q, ssq_dtype compute,
                   const struct run_options *o, int64_t n, const ssq_tensor *x,
                   const struct model *share)
{
    struct cnn *m = calloc(1, sizeof(*m));
    model->state = m;
    if (m == NULL) {
        fprintf(stderr, "no memory for the model\n");
        return false;
    }
    m->seed = o->seed;
    const struct cnn *other = share == NULL ? NULL : share->state;
    int64_t image[4] = {n, channels[0], SIDE, SIDE};
    if (!run_ok(ssq_tensor_reshape(x, 4, image, &m->x), "view"))
        return false;
    for (int i = 0; i < STAGES; i++) {
        struct cnn_stage *s = &m->stage[i];
        int64_t c = channels[i], out = channels[i + 1];
        bool own = other == NULL ? stage_parameters(q, compute, s, c, out,
                                                    o->seed, (uint32_t)i + 1)
                                 : stage_share(&other->stage[i], s);
        if (!own || !stage_activations(q, compute, s, n, c, out, SIDE >> i))
            return false;
    }
    if (!make_head(m, q, compute, n, other))
        return false;
    model->logits = m->logits;
    model->dlogits = m->dlogits;
    return true;
}

static void destroy(struct model *model)
{
    struct cnn *m = model->state;
    for (int i = 0; m != NULL && i < STAGES; i++) {
        struct cnn_stage *s = &m->stage[i];
        ssq_tensor **all[] = {&s->w,
                              &s->dw,
                              &s->gamma,
                              &s->dgamma,
                              &s->beta,
                              &s->dbeta,
                              &s->running_mean,
                              &s->running_var,
                              &s->mean,
                              &s->rstd,
                              &s->z,
                              &s->h,
                              &s->dz,
                              &s->y,
                              &s->argmax,
                              &s->dy};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            ssq_tensor_destroy(all[k]);
    }
    if (m != NULL) {
        ssq_tensor **all[] = {&m->x,      &m->flat,    &m->dflat, &m->dropped,
                              &m->w,      &m->dw,      &m->b,     &m->db,
                              &m->logits, &m->dlogits, &m->step,  &m->one};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            ssq_tensor_destroy(all[k]);
    }
    free(m);
    model->state = NULL;
}

/* Running statistics are no parameters: no gradient moves them. */
static size_t parameters(const struct model *model,
                         struct train_parameter *list)
{
    const struct cnn *m = model->state;
    size_t n = 0;
    for (int i = 0; i < STAGES; i++) {
        const struct cnn_stage *s = &m->stage[i];
        const struct {
            const char *name;
            ssq_tensor *p, *g;
        } all[] = {{"conv.weight", s->w, s->dw},
                   {"norm.weight", s->gamma, s->dgamma},
                   {"norm.bias", s->beta, s->dbeta}};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
            struct train_parameter *to = &list[n++];
            *to = (struct train_parameter){.value = all[k].p, .grad = all[k].g};
            snprintf(to->name, sizeof(to->name), "%d.%s", i + 1, all[k].name);
        }
    }
    list[n++] = (struct train_parameter){"fc.weight", m->w, m->dw};
    list[n++] = (struct train_parameter){"fc.bias", m->b, m->db};
    return n;
}

/* The norm saves mean and rstd for its gradient only in training, when it also
 * moves the running statistics; otherwise it reads these. */
static ssq_status stage_forward(const struct cnn_stage *s, ssq_queue *q,
                                const ssq_tensor *x, bool training)
{
    ssq_status st = ssq_conv2d(
        q, SSQ_CONV2D(.x = x, .w = s->w, .y = s->z, .padding = {1, 1, 1, 1}));
    if (st != SSQ_OK)
        return st;
    st = ssq_batch_norm(
        q,
        SSQ_BATCH_NORM(.x = s->z, .gamma = s->gamma, .beta = s->beta,
                       .running_mean = s->running_mean,
                       .running_var = s->running_var, .y = s->h,
                       .mean = training ? s->mean : NULL,
                       .rstd = training ? s->rstd : NULL, .training = training,
                       .activation = SSQ_ACTIVATION_RELU));
    if (st != SSQ_OK)
        return st;
    return ssq_max_pool2d(q, SSQ_MAX_POOL2D(.x = s->h, .y = s->y,
                                            .argmax = s->argmax,
                                            .kernel = {2, 2}));
}

/* Dropout's stream is keyed by a device word that moves with every step, so
 * that a replayed graph drops other elements each time. */
static ssq_status drop(const struct cnn *m, ssq_queue *q)
{
    return ssq_dropout(q, SSQ_DROPOUT(.x = m->flat, .y = m->dropped, .p = DROP,
                                      .seed = m->seed, .step = m->step));
}

/* Logits of the whole batch. Dropout is for training alone: otherwise the
 * linear layer reads what the last stage left. */
static ssq_status forward(struct model *model, ssq_queue *q, bool training)
{
    struct cnn *m = model->state;
    const ssq_tensor *x = m->x;
    ssq_status st = SSQ_OK;
    for (int i = 0; i < STAGES && st == SSQ_OK; i++) {
        st = stage_forward(&m->stage[i], q, x, training);
        x = m->stage[i].y;
    }
    if (st == SSQ_OK && training)
        st = drop(m, q);
    if (st != SSQ_OK)
        return st;
    return ssq_gemm(q, SSQ_GEMM(.a = training ? m->dropped : m->flat, .b = m->w,
                                .trans_b = true, .bias = m->b, .d = m->logits));
}

/* dlogits -> the linear layer's gradients and dflat, through the dropout. */
static ssq_status head_backward(const struct cnn *m, ssq_queue *q)
{
    ssq_status st = ssq_gemm(q, SSQ_GEMM(.a = m->dlogits, .trans_a = true,
                                         .b = m->dropped, .d = m->dw));
    if (st == SSQ_OK)
        st = ssq_sum(
            q, SSQ_SUM(.x = m->dlogits, .y = m->db, .axes = {0}, .n_axes = 1));
    if (st == SSQ_OK)
        st = ssq_gemm(q, SSQ_GEMM(.a = m->dlogits, .b = m->w, .d = m->dflat));
    if (st == SSQ_OK)
        st = ssq_dropout_backward(
            q, SSQ_DROPOUT_BACKWARD(.dy = m->dflat, .dx = m->dflat, .p = DROP,
                                    .seed = m->seed, .step = m->step));
    /* the next step's stream: only now, both directions needed the same */
    return st == SSQ_OK
               ? ssq_add(q, SSQ_ADD(.a = m->step, .b = m->one, .y = m->step))
               : st;
}

/* From dy to the stage's gradients and, unless dx is NULL, that of its input.
 * dz holds one gradient after the other: of h, of the norm's result, of z. */
static ssq_status stage_backward(const struct cnn_stage *s, ssq_queue *q,
                                 const ssq_tensor *x, const ssq_tensor *dx)
{
    ssq_status st = ssq_max_pool2d_backward(
        q, SSQ_MAX_POOL2D_BACKWARD(.dy = s->dy, .argmax = s->argmax,
                                   .dx = s->dz, .kernel = {2, 2}));
    /* h > 0 exactly where what went into the relu was */
    if (st == SSQ_OK)
        st = ssq_relu_backward(
            q, SSQ_RELU_BACKWARD(.x = s->h, .dy = s->dz, .dx = s->dz));
    if (st == SSQ_OK)
        st = ssq_batch_norm_backward(
            q, SSQ_BATCH_NORM_BACKWARD(.x = s->z, .gamma = s->gamma,
                                       .mean = s->mean, .rstd = s->rstd,
                                       .dy = s->dz, .dx = s->dz,
                                       .dgamma = s->dgamma, .dbeta = s->dbeta));
    if (st == SSQ_OK)
        st = ssq_conv2d_backward_weight(
            q, SSQ_CONV2D_BACKWARD_WEIGHT(.x = x, .dy = s->dz, .dw = s->dw,
                                          .padding = {1, 1, 1, 1}));
    if (st != SSQ_OK || dx == NULL)
        return st;
    return ssq_conv2d_backward_data(
        q, SSQ_CONV2D_BACKWARD_DATA(.dy = s->dz, .w = s->w, .dx = dx,
                                    .padding = {1, 1, 1, 1}));
}

/* Head first, then the stages from the last to the first, which needs no
 * gradient of the images. */
static ssq_status backward(struct model *model, ssq_queue *q)
{
    struct cnn *m = model->state;
    ssq_status st = head_backward(m, q);
    for (int i = STAGES; i-- > 0 && st == SSQ_OK;)
        st = stage_backward(&m->stage[i], q, i == 0 ? m->x : m->stage[i - 1].y,
                            i == 0 ? NULL : m->stage[i - 1].dy);
    return st;
}

const struct model_kind cnn_kind = {
    .create = create,
    .destroy = destroy,
    .parameters = parameters,
    .forward = forward,
    .backward = backward,
};
