/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - one rank's NCCL communicator, and how it ends. */
#ifndef COMMS_NCCL_LINK_H
#define COMMS_NCCL_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "comms/nccl/calls.h"

struct comm_link {
    const struct services *services;
    struct nccl_calls calls;
    unsigned rank, size;
    bool lent;            /* comm is owned by the program */
    pthread_mutex_t lock; /* for comm: one thread uses it at a time */
    ncclComm_t comm;      /* NULL: it was aborted */
    atomic_bool leaving;  /* calls that wait in the link must give up */
};

/** Return the time of the monotonic clock in seconds. */
double nccl_now(void);
/** Set SSQ_ERR_COMM with the name of the call, NCCL's text for the result, and
 *  its last error. */
ssq_status nccl_error(const struct comm_link *link, const char *call,
                      ncclResult_t result);
/** Wait while a call on a non-blocking communicator is in progress, at most
 *  timeout seconds. result is the value that the call returned.
 *  @return SSQ_ERR_COMM: NCCL failed, the time is over, or `leaving` was set */
ssq_status nccl_settle(struct comm_link *link, const char *call,
                       ncclResult_t result, double timeout);

/* ---- ending.c ---- */

/** End a communicator in a separate thread, because NCCL may wait.
 *  - gently: finalize and destroy it. This waits for work in flight and for
 *    other ranks. If it takes more than 10 seconds or fails, abort.
 *  - otherwise: abort it, which should wait for no other rank.
 *
 *  Waits at most patience seconds for the thread, which continues after
 *  that. */
void nccl_end(const struct services *services, const struct nccl_calls *calls,
              ncclComm_t comm, bool gently, double patience);

#endif
