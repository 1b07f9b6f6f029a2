/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - a collective as its communicator's thread gets it. */
#include "lib/comm/comm.h"

#include "lib/core/repeat.h"
#include "lib/core/witness.h"
#include "lib/op/data/data.h"

#include <stdio.h>
#include <string.h>

static const char *const calls[] = {
    [CALL_BROADCAST] = "broadcast",
    [CALL_ALL_REDUCE] = "all_reduce",
    [CALL_REDUCE_SCATTER] = "reduce_scatter",
    [CALL_ALL_GATHER] = "all_gather",
    [CALL_BARRIER] = "barrier",
    [CALL_COMPARE] = "compare",
};

const char *call_name(uint32_t call)
{
    return call < sizeof(calls) / sizeof(calls[0]) ? calls[call]
                                                   : "an unknown call";
}

const char *reduction_name(uint32_t reduction)
{
    return reduction == SSQ_COMM_SUM    ? "sum"
           : reduction == SSQ_COMM_MEAN ? "mean"
                                        : "max";
}

const char *job_words(const struct job *job, char *text, size_t bytes)
{
    bool reduces =
        job->call == CALL_ALL_REDUCE || job->call == CALL_REDUCE_SCATTER;
    (void)snprintf(
        text, bytes, "%s%s%s number %llu%s%s%s", call_name(job->call),
        reduces ? " " : "", reduces ? reduction_name(job->reduction) : "",
        (unsigned long long)job->number, job->tag[0] == '\0' ? "" : " \"",
        job->tag, job->tag[0] == '\0' ? "" : "\"");
    return text;
}

struct job *job_create(enum comm_call call, const char *tag)
{
    struct job *job = mem_alloc(sizeof(*job));
    if (job == NULL) {
        (void)error_nomem("comm", sizeof(*job));
        return NULL;
    }
    job->call = call;
    if (tag != NULL)
        (void)snprintf(job->tag, sizeof(job->tag), "%s", tag);
    return job;
}

void job_hold(struct job *job, const ssq_tensor *t)
{
    struct view *v = &job->views[job->n++];
    *v = t->view;
    v->access = ACCESS_UPDATE;
    object_get(&v->buffer->object);
}

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    for (size_t i = 0; i < job->n; i++)
        object_put(&job->views[i].buffer->object);
    mem_free(job->views);
    mem_free(job->parts);
    mem_free(job->facts);
    ssq_event_destroy(&job->before);
    ssq_event_destroy(&job->after);
    mem_free(job);
}

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
