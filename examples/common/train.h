/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - the training loop of the examples, and what it asks of a model. */
#ifndef EXAMPLES_COMMON_TRAIN_H
#define EXAMPLES_COMMON_TRAIN_H

#include "examples/common/group.h"
#include "examples/common/run.h"

/** Classes of the logits: 10 digits, and 6 more that never occur, because
 *  matrix units want multiples of 8. */
#define TRAIN_CLASSES 16

/** A model for a batch of one size. */
struct model {
    void *state;               /* the model's own */
    const ssq_tensor *logits;  /* [batch, TRAIN_CLASSES] f32: of forward */
    const ssq_tensor *dlogits; /* likewise, compute dtype: for backward */
};

/** Most parameters of a model. */
#define TRAIN_PARAMETERS 32

/** A parameter, as the optimizer knows it, and its gradient. */
struct train_parameter {
    char name[32];
    ssq_tensor *value, *grad; /* the model's */
};

/** How a kind of model is made and run. Functions that return bool have
 *  printed what failed. */
struct model_kind {
    /** Make all tensors. x: [batch, pixels], compute dtype, read by forward.
     *  share: NULL, or the model whose parameters this one uses. On failure
     *  destroy is still called. */
    bool (*create)(struct model *m, ssq_queue *queue, ssq_dtype compute,
                   const struct run_options *o, int64_t batch,
                   const ssq_tensor *x, const struct model *share);
    void (*destroy)(struct model *m); /* also after a zeroed create */
    /** List all parameters; how many they are. */
    size_t (*parameters)(const struct model *m, struct train_parameter *list);
    ssq_status (*forward)(struct model *m, ssq_queue *queue, bool training);
    /** From dlogits to the gradients of all parameters. */
    ssq_status (*backward)(struct model *m, ssq_queue *queue);
};

/** main of an example: options over the defaults in o, training, one line. */
int train_main(int argc, char **argv, const struct model_kind *kind,
               struct run_options o);

/** A second handle on a tensor: shares the buffer. */
bool train_share(const ssq_tensor *from, ssq_tensor **to);
/** A tensor of up to four sizes; unused ones are 0. */
bool train_tensor(ssq_device *device, ssq_dtype dtype, int rank,
                  const int64_t *shape, ssq_tensor **t);

#endif
