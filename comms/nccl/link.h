/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - a rank's communicator of NCCL's, and its end. */
#ifndef COMMS_NCCL_LINK_H
#define COMMS_NCCL_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "comms/nccl/calls.h"

struct comm_link {
    const struct services *services;
    struct nccl_calls calls;
    unsigned rank, size;
    bool lent;            /* comm is the program's */
    pthread_mutex_t lock; /* of comm, which one thread uses at a time */
    ncclComm_t comm;      /* NULL: it has been aborted */
    atomic_bool leaving;  /* who waits in the link gives up */
};

/** Seconds of the monotonic clock. */
double nccl_now(void);
/** SSQ_ERR_COMM with the call, NCCL's words for the result and its last error.
 */
ssq_status nccl_error(const struct comm_link *link, const char *call,
                      ncclResult_t result);
/** What a call of a communicator that does not block comes to: waits for it as
 *  long as it is in progress, at most timeout seconds. */
ssq_status nccl_settle(struct comm_link *link, const char *call,
                       ncclResult_t result, double timeout);

/* ---- ending.c ---- */

/** End a communicator, by a thread of its own, as NCCL may wait in it: for what
 *  is under way and for other ranks, or, not gently, for nobody but where it
 *  fails to. Waits at most so many seconds for that thread, which goes on. */
void nccl_end(const struct services *services, const struct nccl_calls *calls,
              ncclComm_t comm, bool gently, double patience);

#endif
