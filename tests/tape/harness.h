/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - a device with a queue, and a batch of data for a small model. */
#ifndef TESTS_TAPE_HARNESS_H
#define TESTS_TAPE_HARNESS_H

#include "tests/tape/tape.h"

struct tape_harness {
    const char *name;
    ssq_device *device;
    ssq_queue *queue;
    ssq_tensor *x, *target; /* [rows, in] and [rows, out], float32 */
};

/** rows times in and rows times out are 64 at most. */
static inline struct tape_harness harness_open(const char *name, int64_t rows,
                                               int64_t in, int64_t out)
{
    float x[64], y[64];
    struct tape_harness b = {.name = name};
    for (int64_t i = 0; i < rows * in; i++)
        x[i] = (float)(i % 7) / 4 - 0.5f;
    for (int64_t i = 0; i < rows * out; i++)
        y[i] = (float)(i % 5) - 1;
    b.device = core_open(name);
    b.queue = core_queue(b.device);
    const struct tape_rig r = {.device = b.device, .queue = b.queue};
    b.x = rig_floats(&r, 2, (int64_t[]){rows, in}, x);
    b.target = rig_floats(&r, 2, (int64_t[]){rows, out}, y);
    return b;
}

static inline void harness_close(struct tape_harness *b)
{
    ssq_tensor_destroy(&b->x);
    ssq_tensor_destroy(&b->target);
    ssq_queue_destroy(&b->queue);
    ssq_device_close(&b->device);
}

#endif
