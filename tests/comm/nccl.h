/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h - what the tests of NCCL's communicators share: ranks that are threads
 * of this process, on devices of the stand-in driver. */
#ifndef TESTS_COMM_NCCL_H
#define TESTS_COMM_NCCL_H

#include <pthread.h>

#include <sesqui/nccl.h>

#include "tests/comm/comm.h"
#include "tests/core/driver.h"
#include "tests/fakecuda/nccl/fakenccl.h"

#define NCCL_TEST_RANKS 3

struct rank {
    unsigned rank, size;
    ssq_device *dev;
    ssq_queue *queue;
    ssq_comm *comm;
    ssq_status status;
    char text[1024];
    void (*fn)(struct rank *r, void *arg);
    void *arg;
    pthread_t thread;
};

static inline void rank_note(struct rank *r, ssq_status st)
{
    r->status = st;
    snprintf(r->text, sizeof(r->text), "%s",
             st == SSQ_OK ? "" : ssq_last_error());
}

static inline void *rank_main(void *arg)
{
    struct rank *r = arg;

    r->fn(r, r->arg);
    return NULL;
}

/* Each rank does fn, at the same time. */
static inline void ranks_do(struct rank *r, unsigned n,
                            void (*fn)(struct rank *, void *), void *arg)
{
    for (unsigned i = 0; i < n; i++) {
        r[i].fn = fn;
        r[i].arg = arg;
        if (pthread_create(&r[i].thread, NULL, rank_main, &r[i]) != 0)
            tap_bail("no thread");
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(r[i].thread, NULL);
}

struct nccl_joining {
    unsigned char id[SSQ_NCCL_ID_BYTES];
    double timeout;
};

static inline void rank_join(struct rank *r, void *arg)
{
    const struct nccl_joining *j = arg;
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;

    options.timeout = j->timeout;
    rank_note(r, ssq_comm_nccl_join(r->dev, j->id, sizeof(j->id), r->rank,
                                    r->size, &options, &r->comm));
}

static inline void rank_open(struct rank *r, unsigned rank, unsigned size,
                             unsigned device)
{
    char name[16];

    *r = (struct rank){.rank = rank, .size = size};
    snprintf(name, sizeof(name), "cuda:%u", device);
    r->dev = core_open(name);
    r->queue = core_queue(r->dev);
}

static inline void ranks_close(struct rank *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        ssq_comm_destroy(&r[i].comm);
        ssq_queue_destroy(&r[i].queue);
        ssq_device_close(&r[i].dev);
    }
}

/* A group that has joined. */
static inline void ranks_open(struct rank *r, unsigned n, double timeout)
{
    struct nccl_joining j = {.timeout = timeout};

    for (unsigned i = 0; i < n; i++)
        rank_open(&r[i], i, n, i);
    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    ranks_do(r, n, rank_join, &j);
    for (unsigned i = 0; i < n; i++)
        if (r[i].status != SSQ_OK)
            tap_bail("rank %u: %s", i, r[i].text);
}

static inline ssq_status rank_reduce(struct rank *r, const ssq_tensor *x,
                                     ssq_comm_reduction reduction,
                                     const char *tag)
{
    return ssq_comm_all_reduce(r->queue, r->comm,
                               SSQ_COMM_ALL_REDUCE(.tensors = &x, .n = 1,
                                                   .reduction = reduction,
                                                   .tag = tag));
}

static inline ssq_tensor *rank_vector(struct rank *r, ssq_dtype dtype,
                                      int64_t n, double value)
{
    ssq_tensor *x = core_vector(r->dev, dtype, n);

    NEED(ssq_fill(r->queue, SSQ_FILL(.x = x, .value = value)));
    return x;
}

static inline float rank_first(struct rank *r, const ssq_tensor *x)
{
    ssq_tensor *view = NULL;
    float value = -1;

    NEED(ssq_tensor_slice(x, 0, 0, 1, 1, &view));
    NEED(ssq_tensor_read(r->queue, view, &value, sizeof(value), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    ssq_tensor_destroy(&view);
    return value;
}

/* Nothing is left, and nothing was against NCCL's or the driver's rules. */
static inline void nccl_clean(void)
{
    char text[512];
    unsigned long n = fakenccl_faults(text, sizeof(text));

    tap_ok(n == 0, "nothing was against NCCL's documentation: %s",
           n == 0 ? "" : text);
    n = fakecuda_refused(text, sizeof(text));
    tap_ok(n == 0, "nor against CUDA's: %s", n == 0 ? "" : text);
    for (int i = 0; i < 200 && fakenccl_live() > 0; i++)
        usleep(10000); /* a destroyed communicator ends by its own thread */
    tap_ok(fakenccl_live() == 0, "no communicator of NCCL's is left, but %lu",
           fakenccl_live());
}

#endif
