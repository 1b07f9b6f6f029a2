/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h - what the tests of communicators share: groups of local ranks, and
 * sums over ranks as they are promised. */
#ifndef TESTS_COMM_COMM_H
#define TESTS_COMM_COMM_H

#include <sesqui/comm.h>

#include "tests/core/core.h"

#define MOST_RANKS 6

struct group {
    unsigned n;
    ssq_device *dev[MOST_RANKS];
    ssq_queue *queue[MOST_RANKS];
    ssq_comm *comm[MOST_RANKS];
};

static inline void group_open(struct group *g, unsigned n,
                              const char *const *names,
                              const ssq_comm_options *options)
{
    *g = (struct group){.n = n};
    for (unsigned r = 0; r < n; r++) {
        g->dev[r] = core_open(names[r]);
        g->queue[r] = core_queue(g->dev[r]);
    }
    NEED(ssq_comm_local_create(g->dev, n, options, g->comm));
}

static inline void group_close(struct group *g)
{
    for (unsigned r = 0; r < g->n; r++) {
        ssq_comm_destroy(&g->comm[r]);
        ssq_queue_destroy(&g->queue[r]);
        ssq_device_close(&g->dev[r]);
    }
}

/* The same device for all ranks. */
static inline void group_of(struct group *g, unsigned n, const char *name,
                            double timeout)
{
    const char *names[MOST_RANKS];
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;

    for (unsigned r = 0; r < n; r++)
        names[r] = name;
    options.timeout = timeout;
    group_open(g, n, names, &options);
}

static inline ssq_status reduce_one(struct group *g, unsigned r,
                                    const ssq_tensor *x,
                                    ssq_comm_reduction reduction,
                                    const char *tag)
{
    return ssq_comm_all_reduce(g->queue[r], g->comm[r],
                               SSQ_COMM_ALL_REDUCE(.tensors = &x, .n = 1,
                                                   .reduction = reduction,
                                                   .tag = tag));
}

/* A vector of one value. */
static inline ssq_tensor *group_vector(struct group *g, unsigned r, int64_t n,
                                       double value)
{
    ssq_tensor *x = core_vector(g->dev[r], SSQ_F32, n);

    NEED(ssq_fill(g->queue[r], SSQ_FILL(.x = x, .value = value)));
    return x;
}

static inline float first_of(struct group *g, unsigned r, const ssq_tensor *x)
{
    ssq_tensor *view = NULL;
    float value = -1;

    NEED(ssq_tensor_slice(x, 0, 0, 1, 1, &view));
    NEED(ssq_tensor_read(g->queue[r], view, &value, sizeof(value), SSQ_F32));
    NEED(ssq_queue_sync(g->queue[r]));
    ssq_tensor_destroy(&view);
    return value;
}

#endif
