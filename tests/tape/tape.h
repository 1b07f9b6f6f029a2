/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - what the tests of tapes share. */
#ifndef TESTS_TAPE_TAPE_H
#define TESTS_TAPE_TAPE_H

#include <sesqui.h>

#include "tests/core/core.h"

/** A device with a queue, parameters of a policy, and a tape. */
struct tape_rig {
    const char *name;
    ssq_device *device;
    ssq_queue *queue;
    ssq_params *params;
    ssq_tape *tape;
};

static inline struct tape_rig rig_open(const char *name, const char *policy)
{
    struct tape_rig r = {.name = name};

    r.device = core_open(name);
    r.queue = core_queue(r.device);
    NEED(ssq_params_create(r.device, policy, NULL, &r.params));
    NEED(ssq_tape_create(r.queue, r.params, &r.tape));
    return r;
}

static inline void rig_close(struct tape_rig *r)
{
    ssq_tape_destroy(&r->tape);
    ssq_params_destroy(&r->params);
    ssq_queue_destroy(&r->queue);
    ssq_device_close(&r->device);
}

/** A float32 tensor of the values given. */
static inline ssq_tensor *rig_floats(const struct tape_rig *r, int rank,
                                     const int64_t *shape, const float *x)
{
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_create(r->device, SSQ_F32, rank, shape, &t));
    NEED(ssq_tensor_write(
        r->queue, t, x, (size_t)ssq_tensor_elements(t) * sizeof(*x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return t;
}

static inline ssq_tensor *rig_words(const struct tape_rig *r, int rank,
                                    const int64_t *shape, const int *x)
{
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_create(r->device, SSQ_I32, rank, shape, &t));
    NEED(ssq_tensor_write(
        r->queue, t, x, (size_t)ssq_tensor_elements(t) * sizeof(*x), SSQ_I32));
    NEED(ssq_queue_sync(r->queue));
    return t;
}

#endif
