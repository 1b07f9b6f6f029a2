/* SPDX-License-Identifier: Apache-2.0 */
/* stand.c - a job on its way to its communicator's thread: the queue stands at
 * a gate. Where a library does all on the device, nothing does. */
#include "lib/comm/direct.h"

#include "lib/core/repeat.h"
#include "lib/core/witness.h"
#include "lib/op/data/data.h"

/* Who watches memory hears of the write now, in the order of calls, and not
 * when the thread comes to it. */
static void tell(const ssq_queue *queue, const struct job *job)
{
    size_t first = 0, end = job->n;
    bool pair =
        job->call == CALL_REDUCE_SCATTER || job->call == CALL_ALL_GATHER;
    if (pair && job->parts == NULL)
        first = 1; /* y */
    for (size_t i = first; i < end; i++) {
        struct upload_op op = upload_of(&job->views[i], NULL, 0);
        witness_tell(queue, &op.op);
    }
}

/* Event and gate: everything that may fail comes before the gate. */
static ssq_status stand(ssq_comm *comm, ssq_queue *queue, struct job *job)
{
    ssq_status st = ssq_event_create(comm->device, &job->before);
    if (st == SSQ_OK)
        st = ssq_event_create(comm->device, &job->after);
    if (st == SSQ_OK)
        st = ssq_event_record(job->before, queue);
    if (st != SSQ_OK)
        return st;
    job->gate = gate_create();
    if (job->gate == NULL)
        return SSQ_ERR_NOMEM;
    return queue_gate(queue, job->gate);
}

ssq_status job_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job)
{
    if (comm->direct != NULL && job->call != CALL_COMPARE)
        return direct_enqueue(comm, queue, job);
    ssq_status st = repeat_pause(queue);
    if (st == SSQ_OK) {
        st = stand(comm, queue, job);
        repeat_resume(queue);
    }
    if (st != SSQ_OK) {
        if (job->gate != NULL)
            gate_drop(job->gate);
        job_free(job);
        return st;
    }
    tell(queue, job);
    job->number = ++comm->number;
    pthread_mutex_lock(&comm->lock);
    *comm->jobs_end = job;
    comm->jobs_end = &job->next;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    return SSQ_OK;
}
