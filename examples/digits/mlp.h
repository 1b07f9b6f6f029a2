/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.h - a multi-layer perceptron, backward written by hand. */
#ifndef EXAMPLES_DIGITS_MLP_H
#define EXAMPLES_DIGITS_MLP_H

#include "examples/common/run.h"

#define MLP_LAYERS  12 /* at most */
#define MLP_CLASSES 16 /* 10 digits; matrix units want multiples of 8 */
#define MLP_HIDDEN  64

/** One layer: z = h_in w^T + b, h = activation(z). Tensors marked "compute"
 *  have the policy's compute dtype. */
struct layer {
    ssq_tensor *w, *dw; /* [out, in], compute: the optimizer has the master */
    ssq_tensor *b, *db; /* [out], float32: too few to be worth 16 bits */
    ssq_tensor *z;      /* [batch, out], compute; float32 in the last layer */
    ssq_tensor *h;      /* [batch, out], compute; NULL in the last layer */
    ssq_tensor *dz;     /* [batch, out], compute */
    int64_t in, out;
};

struct mlp {
    ssq_device *device;
    bool sigmoid; /* else relu */
    unsigned layers;
    struct layer layer[MLP_LAYERS];
    ssq_tensor *x; /* [batch, in], compute: the input, not owned */
};

/** Make the layers for a batch and fill the weights. in: of the first layer.
 *  On failure the text was printed; mlp_destroy is still due. */
bool mlp_create(struct mlp *m, ssq_queue *queue, ssq_dtype compute,
                const struct run_options *o, int64_t batch, ssq_tensor *x);
void mlp_destroy(struct mlp *m);
/** Register all parameters. */
bool mlp_parameters(struct mlp *m, ssq_optimizer *optimizer);
/** Logits of x into the last layer's z. */
ssq_status mlp_forward(struct mlp *m, ssq_queue *queue);
/** From the last layer's dz to all dw and db. */
ssq_status mlp_backward(struct mlp *m, ssq_queue *queue);

#endif
