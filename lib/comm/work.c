/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - collectives that one call begins and another call waits for:
 * ssq_comm_wait() puts the gate of the job on the queue. */
#include "lib/comm/comm.h"

#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"

struct ssq_comm_work {
    struct gate *gate; /* holds a reference; NULL: the call needs none */
    ssq_queue *queue;  /* of the call; holds a reference */
};

ssq_comm_work *work_create(ssq_queue *queue, struct gate *gate)
{
    ssq_comm_work *w = mem_alloc(sizeof(*w));
    if (w == NULL) {
        (void)error_nomem("comm", sizeof(*w));
        return NULL;
    }
    if (gate != NULL)
        gate_get(gate);
    object_get(&queue->object);
    w->gate = gate;
    w->queue = queue;
    return w;
}

void ssq_comm_work_destroy(ssq_comm_work **work)
{
    if (work == NULL || *work == NULL)
        return;
    ssq_comm_work *w = *work;
    *work = NULL;
    if (w->gate != NULL)
        gate_put(w->gate);
    object_put(&w->queue->object);
    mem_free(w);
}

static ssq_status work_check(ssq_queue *queue, ssq_comm_work *const *work,
                             const char *what)
{
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (work == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: work is NULL", what);
    if (*work == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: *work is NULL: it was waited for, or destroyed",
                         what);
    if ((*work)->queue != queue)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the collective was begun on another queue", what);
    return (*work)->gate == NULL ? SSQ_OK : queue_uncaptured(queue, what);
}

static ssq_status work_enqueue_gate(ssq_queue *queue, struct gate *gate)
{
    ssq_status st = replay_pause(queue);
    if (st != SSQ_OK)
        return st;
    st = gate_enqueue(queue, gate);
    replay_resume(queue);
    return st;
}

ssq_status ssq_comm_wait(ssq_queue *queue, ssq_comm_work **work)
{
    ssq_status st = work_check(queue, work, "comm_wait");
    if (st == SSQ_OK && (*work)->gate != NULL)
        st = work_enqueue_gate(queue, (*work)->gate);
    if (st == SSQ_OK)
        ssq_comm_work_destroy(work);
    return st;
}
