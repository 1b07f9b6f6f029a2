/* SPDX-License-Identifier: Apache-2.0 */
/* hand.h - training without a tape, beside a trainer: its parameters are copied
 * before the first step, and each step's tensors live as long as the step. */
#ifndef TESTS_TAPE_HAND_H
#define TESTS_TAPE_HAND_H

#include "tests/tape/tape.h"

#define HAND_STEPS   20
#define HAND_PARAMS  40
#define HAND_TENSORS 128

struct hand {
    ssq_device *device;
    ssq_queue *queue;
    ssq_dtype dtype; /* the compute dtype */
    ssq_optimizer *optimizer;
    ssq_scaler *scaler;
    const char *name[HAND_PARAMS];
    ssq_tensor *value[HAND_PARAMS], *grad[HAND_PARAMS]; /* no grad: a state */
    size_t params;
    ssq_tensor *made[HAND_TENSORS]; /* in this step */
    size_t n;
};

/** A net, both ways: data is a batch on the device. */
struct hand_net {
    const char *name;
    ssq_var (*tape)(ssq_tape *t, const ssq_tensor *const *data);
    void (*hand)(struct hand *h, const ssq_tensor *const *data);
    /** Fills the batch of a step. */
    void (*batch)(int step, void *const *data);
    int rank[2];
    int64_t shape[2][2];
    ssq_dtype dtype[2];
};

static inline ssq_optimizer_options hand_options(void)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    o.clip_norm = 1.0;
    o.lr = 0.01;
    return o;
}

/** A batch of a net on a device. */
struct hand_data {
    const struct hand_net *net;
    ssq_queue *queue;
    ssq_tensor *tensor[2];
    void *host[2];
};

struct hand_data hand_data_open(const struct hand_net *net, ssq_queue *queue);
void hand_data_close(struct hand_data *d);
/** The batch of a step, waited for. */
const ssq_tensor *const *hand_batch(struct hand_data *d, int step);

/** A trainer with hand_options and torch's scaler where one is needed. */
ssq_trainer *hand_trainer(ssq_queue *queue, const char *policy);
/** Optimizer and scaler as bytes, to be freed. */
char *hand_saved(ssq_queue *q, ssq_optimizer *o, ssq_scaler *s, size_t *n);
bool hand_same(ssq_queue *q, const ssq_tensor *a, const ssq_tensor *b);

/** The place of a parameter. */
static inline size_t hand_at(const struct hand *h, const char *name)
{
    for (size_t i = 0; i < h->params; i++)
        if (strcmp(h->name[i], name) == 0)
            return i;
    printf("Bail out! no parameter %s\n", name);
    exit(1);
}

/** Kept until the step ends. */
static inline ssq_tensor *hand_keep(struct hand *h, ssq_tensor *t)
{
    if (h->n == HAND_TENSORS) {
        printf("Bail out! too many tensors\n");
        exit(1);
    }
    return h->made[h->n++] = t;
}

static inline ssq_tensor *hand_make(struct hand *h, ssq_dtype dtype, int rank,
                                    const int64_t *shape)
{
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_create(h->device, dtype, rank, shape, &t));
    return hand_keep(h, t);
}

/** Of a tensor's shape. */
static inline ssq_tensor *hand_like(struct hand *h, ssq_dtype dtype,
                                    const ssq_tensor *x)
{
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    NEED(ssq_tensor_desc_get(x, &d));
    return hand_make(h, dtype, d.rank, d.shape);
}

/** Return x in a dtype: x itself if it has that dtype. */
static inline const ssq_tensor *hand_cast(struct hand *h, const ssq_tensor *x,
                                          ssq_dtype dtype)
{
    if (ssq_tensor_dtype(x) == dtype)
        return x;
    ssq_tensor *y = hand_like(h, dtype, x);
    NEED(ssq_cast(h->queue, SSQ_CAST(.x = x, .y = y)));
    return y;
}

static inline ssq_tensor *hand_reshape(struct hand *h, const ssq_tensor *x,
                                       int rank, const int64_t *shape)
{
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_reshape(x, rank, shape, &t));
    return hand_keep(h, t);
}

static inline ssq_tensor *hand_transpose(struct hand *h, const ssq_tensor *x,
                                         const int *axes)
{
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_transpose(x, axes, &t));
    return hand_keep(h, t);
}

/** Without gaps. */
static inline ssq_tensor *hand_dense(struct hand *h, const ssq_tensor *x)
{
    ssq_tensor *t = hand_like(h, ssq_tensor_dtype(x), x);
    NEED(ssq_copy(h->queue, SSQ_COPY(.x = x, .y = t)));
    return t;
}

/** The scale that a loss's gradient takes; NULL: 1. */
static inline const ssq_tensor *hand_scale(const struct hand *h)
{
    return h->scaler == NULL ? NULL : ssq_scaler_scale_tensor(h->scaler);
}

/** 20 steps of a net by a trainer and by hand leave the same bytes in
 *  optimizer, scaler and parameters: one case. */
void hand_compare(const struct hand_net *net, const char *device,
                  const char *policy, ssq_dtype dtype);
/** One case; the count of them is in hand.c alone. */
TAP_PRINTF(2, 3)
void hand_case(bool good, const char *name, ...);
/** Steps that a file cuts in two, on each device: resume.c. */
void hand_resume(const struct hand_net *net, const char *policy);
/** The cases of a program: every device by mixed_float16, the first two by the
 *  other policies too. */
int hand_main(const struct hand_net *net);

#endif
