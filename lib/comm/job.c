/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - creates, names and frees the jobs of a communicator. */
#include "lib/comm/comm.h"

#include "lib/core/queue/queue.h"

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

struct view view_range(const struct view *v, int64_t at, int64_t n)
{
    struct view r = *v;
    r.rank = 1;
    r.shape[0] = n;
    r.stride[0] = 1;
    r.offset += (uint64_t)at * dtype_bytes(v->dtype);
    return r;
}

/* A gate waits for work of the host, which a graph cannot contain. */
ssq_status queue_uncaptured(ssq_queue *queue, const char *what)
{
    bool recorded = false;
    ssq_status st = queue_recorded(queue, &recorded);
    if (st != SSQ_OK)
        return st;
    if (queue_capturing(queue) || queue->bundle.graph != NULL || recorded)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured: it cannot have a "
                         "collective",
                         what);
    return SSQ_OK;
}
