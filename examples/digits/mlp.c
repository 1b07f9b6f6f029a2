/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.c - a multi-layer perceptron, backward written by hand. */
#include "examples/digits/mlp.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS 12 /* at most */
#define HIDDEN 64 /* units of every layer but the last */

/* One layer: z = in w^T + b, h = activation(z). */
struct mlp_layer {
    ssq_tensor *w, *dw; /* [out, in], compute: the optimizer has the master */
    ssq_tensor *b, *db; /* [out], float32: too few to be worth 16 bits */
    ssq_tensor *z;      /* [batch, out], compute; float32 in the last layer */
    ssq_tensor *h;      /* [batch, out], compute; NULL in the last layer */
    ssq_tensor *dz;     /* [batch, out], compute */
    int64_t in, out;
};

struct mlp {
    bool sigmoid; /* else relu */
    unsigned layers;
    struct mlp_layer layer[LAYERS];
    const ssq_tensor *x; /* [batch, in], compute */
};

static bool make(ssq_device *device, ssq_dtype dtype, int rank, int64_t a,
                 int64_t b, ssq_tensor **t)
{
    int64_t shape[2] = {a, b};
    return train_tensor(device, dtype, rank, shape, t);
}

/* Gradients and activations of a layer, for a batch. */
static bool make_layer(ssq_device *d, struct mlp_layer *l, ssq_dtype compute,
                       int64_t batch, bool last)
{
    /* the model's output is float32 under every policy */
    ssq_dtype out = last ? SSQ_F32 : compute;
    return make(d, compute, 2, l->out, l->in, &l->dw) &&
           make(d, SSQ_F32, 1, l->out, 0, &l->db) &&
           make(d, out, 2, batch, l->out, &l->z) &&
           (last || make(d, compute, 2, batch, l->out, &l->h)) &&
           make(d, compute, 2, batch, l->out, &l->dz);
}

/* PyTorch's choice for these activations; biases start at 0. */
static bool fill_layer(const struct mlp *m, ssq_queue *queue,
                       struct mlp_layer *l, uint64_t seed, uint32_t id)
{
    return run_ok(
               ssq_init(
                   queue,
                   SSQ_INIT(.x = l->w, .seed = seed, .id = id,
                            .kind = m->sigmoid ? SSQ_INIT_XAVIER_UNIFORM
                                               : SSQ_INIT_KAIMING_UNIFORM,
                            .nonlinearity = m->sigmoid ? "sigmoid" : "relu")),
               "init") &&
           run_ok(ssq_fill(queue, SSQ_FILL(.x = l->b)), "fill");
}

static bool make_parameters(const struct mlp *m, ssq_queue *queue,
                            struct mlp_layer *l, ssq_dtype compute,
                            uint64_t seed, uint32_t id)
{
    ssq_device *d = ssq_queue_device(queue);
    return make(d, compute, 2, l->out, l->in, &l->w) &&
           make(d, SSQ_F32, 1, l->out, 0, &l->b) &&
           fill_layer(m, queue, l, seed, id);
}

/* Every model has its own activations and gradients, for its own batch; the
 * parameters are the other's where there is one. */
static bool create(struct model *model, ssq_queue *queue, ssq_dtype compute,
                   const struct run_options *o, int64_t batch,
                   const ssq_tensor *x, const struct model *share)
{
    struct mlp *m = calloc(1, sizeof(*m));
    model->state = m;
    if (m == NULL || o->layers < 1 || o->layers > LAYERS) {
        fprintf(stderr, "%u layers, expected 1..%d\n", o->layers, LAYERS);
        return false;
    }
    *m = (struct mlp){.sigmoid = strcmp(o->activation, "sigmoid") == 0,
                      .layers = o->layers,
                      .x = x};
    const struct mlp *other = share == NULL ? NULL : share->state;
    for (unsigned i = 0; i < m->layers; i++) {
        struct mlp_layer *l = &m->layer[i];
        bool last = i + 1 == m->layers;
        l->in = i == 0 ? ssq_tensor_size(x, 1) : HIDDEN;
        l->out = last ? TRAIN_CLASSES : HIDDEN;
        bool ok = other == NULL
                      ? make_parameters(m, queue, l, compute, o->seed, i + 1)
                      : train_share(other->layer[i].w, &l->w) &&
                            train_share(other->layer[i].b, &l->b);
        if (!ok ||
            !make_layer(ssq_queue_device(queue), l, compute, batch, last))
            return false;
    }
    model->logits = m->layer[m->layers - 1].z;
    model->dlogits = m->layer[m->layers - 1].dz;
    return true;
}

static void destroy(struct model *model)
{
    struct mlp *m = model->state;
    for (unsigned i = 0; m != NULL && i < m->layers; i++) {
        struct mlp_layer *l = &m->layer[i];
        ssq_tensor **all[] = {&l->w, &l->dw, &l->b, &l->db,
                              &l->z, &l->h,  &l->dz};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            ssq_tensor_destroy(all[k]);
    }
    free(m);
    model->state = NULL;
}

/* Named as PyTorch would, which is how the optimizer saves their state. */
static size_t parameters(const struct model *model,
                         struct train_parameter *list)
{
    const struct mlp *m = model->state;
    for (unsigned i = 0; i < m->layers; i++) {
        const struct mlp_layer *l = &m->layer[i];
        struct train_parameter *w = &list[2 * i], *b = w + 1;
        *w = (struct train_parameter){.value = l->w, .grad = l->dw};
        *b = (struct train_parameter){.value = l->b, .grad = l->db};
        snprintf(w->name, sizeof(w->name), "fc%u.weight", i + 1);
        snprintf(b->name, sizeof(b->name), "fc%u.bias", i + 1);
    }
    return 2 * (size_t)m->layers;
}

/* z = in w^T + b, and h = relu(z) in the same call where that is all. */
static ssq_status forward_layer(const struct mlp *m, ssq_queue *queue,
                                const struct mlp_layer *l, const ssq_tensor *in)
{
    bool fused = l->h != NULL && !m->sigmoid;
    ssq_status st =
        ssq_gemm(queue, SSQ_GEMM(.a = in, .b = l->w, .trans_b = true,
                                 .bias = l->b, .d = fused ? l->h : l->z,
                                 .activation = fused ? SSQ_ACTIVATION_RELU
                                                     : SSQ_ACTIVATION_NONE));
    if (st != SSQ_OK || l->h == NULL || fused)
        return st;
    return ssq_sigmoid(queue, SSQ_SIGMOID(.x = l->z, .y = l->h));
}

/* From x through all layers; each reads what the one below has left in h. */
static ssq_status forward(struct model *model, ssq_queue *queue, bool training)
{
    (void)training; /* nothing here behaves differently */
    struct mlp *m = model->state;
    const ssq_tensor *in = m->x;
    ssq_status st = SSQ_OK;
    for (unsigned i = 0; i < m->layers && st == SSQ_OK; i++) {
        st = forward_layer(m, queue, &m->layer[i], in);
        in = m->layer[i].h;
    }
    return st;
}

/* dw = dz^T in, db = the sum of dz over the batch. */
static ssq_status parameter_gradients(ssq_queue *queue,
                                      const struct mlp_layer *l,
                                      const ssq_tensor *in)
{
    ssq_status st = ssq_gemm(
        queue, SSQ_GEMM(.a = l->dz, .trans_a = true, .b = in, .d = l->dw));
    if (st != SSQ_OK)
        return st;
    return ssq_sum(queue,
                   SSQ_SUM(.x = l->dz, .y = l->db, .axes = {0}, .n_axes = 1));
}

/* dz of the layer below: dh = dz w, then through its activation. */
static ssq_status input_gradient(const struct mlp *m, ssq_queue *queue,
                                 const struct mlp_layer *l,
                                 const struct mlp_layer *below)
{
    ssq_status st =
        ssq_gemm(queue, SSQ_GEMM(.a = l->dz, .b = l->w, .d = below->dz));
    if (st != SSQ_OK)
        return st;
    if (m->sigmoid)
        return ssq_sigmoid_backward(
            queue, SSQ_SIGMOID_BACKWARD(.x = below->z, .dy = below->dz,
                                        .dx = below->dz));
    /* relu(z) > 0 exactly where z > 0, so h serves and z need not be kept */
    return ssq_relu_backward(
        queue,
        SSQ_RELU_BACKWARD(.x = below->h, .dy = below->dz, .dx = below->dz));
}

/* From the last layer to the first, each from its own dz, which the layer above
 * has written, or the loss. */
static ssq_status backward(struct model *model, ssq_queue *queue)
{
    struct mlp *m = model->state;
    ssq_status st = SSQ_OK;
    for (unsigned i = m->layers; i-- > 0 && st == SSQ_OK;) {
        const struct mlp_layer *l = &m->layer[i];
        st = parameter_gradients(queue, l, i == 0 ? m->x : l[-1].h);
        if (st == SSQ_OK && i > 0)
            st = input_gradient(m, queue, l, l - 1);
    }
    return st;
}

const struct model_kind mlp_kind = {
    .create = create,
    .destroy = destroy,
    .parameters = parameters,
    .forward = forward,
    .backward = backward,
};
