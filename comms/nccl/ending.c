/* SPDX-License-Identifier: Apache-2.0 */
/* ending.c - ends a communicator, which may take NCCL any length of time.
 *
 * If all work of a communicator is done, it is finalized and then destroyed,
 * because another rank may still read this rank's buffers. Otherwise it is
 * aborted. Both may wait for other ranks, or for a driver that hangs, longer
 * than a caller can accept. So a thread ends the communicator, and the caller
 * waits only for a limited time. */
#include "comms/nccl/link.h"

#include <signal.h>
#include <time.h>

/* Seconds to wait for all ranks to finalize. After that this rank aborts. */
#define GENTLY 10.0

struct ending {
    const struct services *services;
    struct nccl_calls calls;
    ncclComm_t comm;
    bool gently;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    unsigned users; /* two: the thread, and the caller that waits for it */
};

static void ending_put(struct ending *e)
{
    pthread_mutex_lock(&e->lock);
    bool last = --e->users == 0;
    pthread_mutex_unlock(&e->lock);
    if (!last)
        return;
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    e->services->mem_free(e);
}

static bool ending_finalized(const struct nccl_calls *c, ncclComm_t comm)
{
    static const struct timespec pause = {0, 1000000};
    double end = nccl_now() + GENTLY;
    ncclResult_t r = c->ncclCommFinalize(comm);
    while (r == ncclInProgress && nccl_now() < end) {
        nanosleep(&pause, NULL);
        if (c->ncclCommGetAsyncError(comm, &r) != ncclSuccess)
            return false;
    }
    return r == ncclSuccess;
}

static void ending_end(const struct nccl_calls *c, ncclComm_t comm, bool gently)
{
    if (gently && ending_finalized(c, comm))
        (void)c->ncclCommDestroy(comm);
    else
        (void)c->ncclCommAbort(comm);
}

static void *end_thread(void *arg)
{
    struct ending *e = arg;
    ending_end(&e->calls, e->comm, e->gently);
    pthread_mutex_lock(&e->lock);
    e->done = true;
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
    ending_put(e);
    return NULL;
}

static bool ending_start(struct ending *e)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, end_thread, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_detach(thread);
    return error == 0;
}

static struct ending *ending_create(const struct services *services,
                                    const struct nccl_calls *calls,
                                    ncclComm_t comm, bool gently)
{
    pthread_condattr_t attr;
    struct ending *e = services->mem_alloc(sizeof(*e));
    if (e == NULL)
        return NULL;
    e->services = services;
    e->calls = *calls;
    e->comm = comm;
    e->gently = gently;
    e->users = 2;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &attr);
    pthread_condattr_destroy(&attr);
    return e;
}

/* If memory or a thread cannot be had, end the communicator in the calling
 * thread, without a limit on the time. */
void nccl_end(const struct services *services, const struct nccl_calls *calls,
              ncclComm_t comm, bool gently, double patience)
{
    struct timespec until;
    double t = nccl_now() + patience;
    until.tv_sec = (time_t)t;
    until.tv_nsec = (long)((t - (double)until.tv_sec) * 1e9);
    struct ending *e = ending_create(services, calls, comm, gently);
    if (e == NULL) {
        ending_end(calls, comm, gently);
        return;
    }
    if (!ending_start(e)) {
        ending_put(e);
        ending_put(e);
        ending_end(calls, comm, gently);
        return;
    }
    int error = 0;
    pthread_mutex_lock(&e->lock);
    while (!e->done && error == 0)
        error = pthread_cond_timedwait(&e->changed, &e->lock, &until);
    pthread_mutex_unlock(&e->lock);
    ending_put(e);
}
