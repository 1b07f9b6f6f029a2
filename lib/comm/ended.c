/* SPDX-License-Identifier: Apache-2.0 */
/* ended.c - the end of a group, and the error that all ranks report for it. */
#include "lib/comm/comm.h"

#include <stdio.h>

ssq_status comm_check(ssq_comm *comm, const char *what)
{
    if (comm->forks != fork_count())
        return error_set(SSQ_ERR_DEVICE,
                         "%s: the communicator was made before this process "
                         "was forked: only the parent can use it",
                         what);
    pthread_mutex_lock(&comm->lock);
    ssq_status st = comm->status;
    pthread_mutex_unlock(&comm->lock);
    return st == SSQ_OK ? SSQ_OK : error_set(st, "%s", comm->text);
}

ssq_status comm_usable(ssq_comm *comm, const char *what)
{
    ssq_status st = comm_check(comm, what);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&comm->lock);
    bool given_up = comm->end.facts != NULL;
    pthread_mutex_unlock(&comm->lock);
    return given_up ? error_set(SSQ_ERR_COMM, "%s", comm->end_text) : SSQ_OK;
}

/* The text is written before the status, and never again. */
bool comm_end_here(ssq_comm *comm, ssq_status status, const char *text)
{
    pthread_mutex_lock(&comm->lock);
    bool first = comm->status == SSQ_OK;
    if (first) {
        (void)snprintf(comm->text, sizeof(comm->text), "%s", text);
        comm->status = status;
    }
    pthread_mutex_unlock(&comm->lock);
    return first;
}

void comm_end(ssq_comm *comm, ssq_status status, const char *text)
{
    if (!comm_end_here(comm, status, text))
        return;
    if (comm->fail != NULL)
        (void)comm->fail(comm, comm_check(comm, ""));
    comm->transport->abandon(comm->link, text);
}

bool comm_pending(const ssq_comm *comm)
{
    return comm->transport->pending != NULL &&
           comm->transport->pending(comm->link);
}

ssq_status ssq_comm_status(const ssq_comm *comm)
{
    if (comm == NULL)
        return error_set(SSQ_ERR_INVALID, "comm_status: comm is NULL");
    return comm_usable((ssq_comm *)(uintptr_t)comm, "comm_status");
}
