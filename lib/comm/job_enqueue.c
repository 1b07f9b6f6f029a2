/* SPDX-License-Identifier: Apache-2.0 */
/* job_enqueue.c - enqueue a job for its communicator's thread.
 *
 * The queue waits at a gate. With .work, ssq_comm_wait() puts the gate on the
 * queue (work.c). With a direct transport only comparisons use the thread and
 * a gate. */
#include "lib/comm/direct.h"

#include "lib/core/queue/replay.h"
#include "lib/core/queue/observer.h"
#include "lib/core/core.h"

/* Report the writes of a job to observers during the call, so that they are in
 * the order of calls. */
static void job_report_writes(const ssq_queue *queue, const struct job *job)
{
    size_t first = 0, end = job->n;
    if (job->call == CALL_COMPARE)
        return; /* writes nothing */
    bool pair =
        job->call == CALL_REDUCE_SCATTER || job->call == CALL_ALL_GATHER;
    if (pair && job->parts == NULL)
        first = 1; /* y */
    for (size_t i = first; i < end; i++) {
        struct upload_op op = upload_of(&job->views[i], NULL, 0);
        observers_report(queue, &op.op);
    }
}

/* Create the events and the gate of a job. All that may fail comes before the
 * gate is put on the queue or given to the caller. With a direct transport, the
 * thread makes the library calls of a comparison; direct_follow() puts them in
 * order, too. */
static ssq_status job_prepare(ssq_comm *comm, ssq_queue *queue, struct job *job,
                              ssq_comm_work **made)
{
    ssq_status st = comm->direct == NULL ? SSQ_OK : direct_follow(comm, queue);
    if (st == SSQ_OK)
        st = ssq_event_create(comm->device, &job->before);
    if (st == SSQ_OK)
        st = ssq_event_create(comm->device, &job->after);
    if (st == SSQ_OK)
        st = ssq_event_record(job->before, queue);
    if (st != SSQ_OK)
        return st;
    job->gate = gate_create();
    if (job->gate == NULL)
        return SSQ_ERR_NOMEM;
    if (job->work == NULL)
        return gate_enqueue(queue, job->gate);
    *made = work_create(queue, job->gate);
    return *made == NULL ? SSQ_ERR_NOMEM : SSQ_OK;
}

static void job_push(ssq_comm *comm, struct job *job)
{
    job->number = ++comm->number;
    pthread_mutex_lock(&comm->lock);
    *comm->jobs_end = job;
    comm->jobs_end = &job->next;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

/* Enqueue a call on the queue itself. Later work waits for it, even if .work is
 * set. */
static ssq_status job_enqueue_direct(ssq_comm *comm, ssq_queue *queue,
                                     struct job *job)
{
    ssq_comm_work **work = job->work, *made = NULL;
    if (work != NULL && (made = work_create(queue, NULL)) == NULL) {
        job_free(job);
        return SSQ_ERR_NOMEM;
    }
    ssq_status st = direct_enqueue(comm, queue, job);
    if (st == SSQ_OK && work != NULL)
        *work = made;
    else
        ssq_comm_work_destroy(&made);
    return st;
}

ssq_status job_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job)
{
    ssq_comm_work *made = NULL;
    if (comm->direct != NULL && job->call != CALL_COMPARE)
        return job_enqueue_direct(comm, queue, job);
    ssq_status st = replay_pause(queue);
    if (st == SSQ_OK) {
        st = job_prepare(comm, queue, job, &made);
        replay_resume(queue);
    }
    if (st != SSQ_OK) {
        if (job->gate != NULL)
            gate_put(job->gate);
        job_free(job);
        return st;
    }
    if (job->work != NULL)
        *job->work = made;
    if (comm->direct != NULL)
        direct_set_last(comm, queue);
    job_report_writes(queue, job);
    job_push(comm, job);
    return SSQ_OK;
}
