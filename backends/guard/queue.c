/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - an in-order queue that runs only when somebody waits.
 *
 * Commands, marks and waits stand in a ring in the order of their calls.
 * Running one queue runs others as far as it waits for them. That ends: a
 * wait names a mark that was recorded before, so a queue that is met again
 * has passed the mark already, and no queue is entered twice. */

#include "backends/guard/guard.h"

#include "backends/reference/reference.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/** Longest text that a queue keeps of its error. */
#define TEXT_BYTES 1024

enum what {
    RUN,  /* a command */
    MARK, /* here an event was recorded */
    WAIT  /* until a mark of another queue is reached */
};

/* One place in the ring. command: of RUN; mark: of the other two, with a
 * reference that the entry holds. */
struct entry {
    enum what what;
    struct command command;
    struct guard_mark *mark;
};

/* The device's lock guards all of it but `completed`, which the core reads
 * without it. */
struct backend_queue {
    struct backend_device *device;
    struct entry *ring;
    size_t room; /* a power of two, or 0 */
    size_t head, count;
    atomic_uint_fast64_t completed;
    ssq_status status; /* of the first failure; sticky */
    char text[TEXT_BYTES];
};

/* The ring is made by the first entry. */
ssq_status guard_queue_open(struct backend_device *device,
                            struct backend_queue **queue)
{
    struct backend_queue *q = guard_core->mem_alloc(sizeof(*q));
    if (q == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu bytes", sizeof(*q));
    q->device = device;
    atomic_init(&q->completed, 0);
    *queue = q;
    return SSQ_OK;
}

/* The queue's first error as the status of this call, with its text. */
static ssq_status sticky(const struct backend_queue *q)
{
    if (q->status == SSQ_OK)
        return SSQ_OK;
    return guard_core->error_set(q->status, "%s", q->text);
}

/* Make room for n more entries. */
static ssq_status grow(struct backend_queue *q, size_t n)
{
    if (q->room - q->count >= n)
        return SSQ_OK;
    size_t room = q->room == 0 ? 64 : 2 * q->room;
    while (room - q->count < n)
        room *= 2;
    struct entry *ring = guard_core->mem_alloc(room * sizeof(*ring));
    if (ring == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu queued commands",
            room);
    for (size_t i = 0; i < q->count; i++)
        ring[i] = q->ring[(q->head + i) & (q->room - 1)];
    guard_core->mem_free(q->ring);
    q->ring = ring;
    q->room = room;
    q->head = 0;
    return SSQ_OK;
}

/* A queue that has failed takes nothing more, and says why. */
static ssq_status push(struct backend_queue *q, const struct entry *e)
{
    ssq_status st = sticky(q);
    if (st == SSQ_OK)
        st = grow(q, 1);
    if (st == SSQ_OK)
        q->ring[(q->head + q->count++) & (q->room - 1)] = *e;
    return st;
}

/* Room in the list of open memory is made here, where the caller can be told
 * that there is none. */
ssq_status guard_submit(struct backend_queue *queue, const struct command *c)
{
    const struct entry e = {.what = RUN, .command = *c};
    pthread_mutex_lock(&queue->device->lock);
    ssq_status st = guard_reserve(queue->device, c->op);
    if (st == SSQ_OK)
        st = push(queue, &e);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}

/* All that the commands take of the host's memory. */
ssq_status guard_queue_reserve(struct backend_queue *queue,
                               const struct command *commands, size_t n)
{
    pthread_mutex_lock(&queue->device->lock);
    ssq_status st = grow(queue, n);
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        st = guard_reserve(queue->device, commands[i].op);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}

/* The entry has a reference to the mark from here on, unless it was not
 * made. */
static ssq_status push_mark(struct backend_queue *q, enum what what,
                            struct guard_mark *mark)
{
    const struct entry e = {.what = what, .mark = mark};
    ssq_status st = push(q, &e);
    if (st == SSQ_OK)
        mark->refs++;
    return st;
}

ssq_status guard_queue_mark(struct backend_queue *queue,
                            struct guard_mark *mark)
{
    return push_mark(queue, MARK, mark);
}

ssq_status guard_queue_wait(struct backend_queue *queue,
                            struct guard_mark *mark)
{
    return push_mark(queue, WAIT, mark);
}

void guard_mark_put(struct guard_mark *mark)
{
    if (mark == NULL || --mark->refs > 0)
        return;
    guard_core->mem_free(mark->text);
    guard_core->mem_free(mark);
}

ssq_status guard_mark_status(const struct guard_mark *mark)
{
    if (mark->status == SSQ_OK)
        return SSQ_OK;
    return guard_core->error_set(mark->status, "%s",
                                 mark->text != NULL
                                     ? mark->text
                                     : "guard: the event's queue had failed");
}

/* What failed first stays. */
static void fail(struct backend_queue *q, ssq_status status)
{
    q->status = status;
    snprintf(q->text, sizeof(q->text), "%s", guard_core->error_text());
}

/* The op's memory is opened, the reference computes, and the ends of what was
 * written are looked at. The memory stays open for the next command; who runs
 * the queue calls guard_lock at last. */
static ssq_status run_command(struct backend_queue *q, const struct command *c)
{
    ssq_status st = guard_unlock(q->device, c->op);
    if (st == SSQ_OK)
        st = command_run(&reference_ops, q, c);
    if (st == SSQ_OK)
        st = guard_canaries(q->device, c->op);
    return st;
}

/* What the mark knows of its queue from here on: the queue may be closed before
 * the mark is asked. */
static void reach(const struct backend_queue *q, struct guard_mark *mark)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    mark->seconds = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    mark->status = q->status;
    if (q->status != SSQ_OK) {
        size_t bytes = strlen(q->text) + 1;
        mark->text = guard_core->mem_alloc(bytes);
        if (mark->text != NULL)
            memcpy(mark->text, q->text, bytes);
    }
    mark->queue = NULL;
    mark->done = true;
}

/* Run entries until the mark is reached; all of them for NULL. After a failure
 * commands are dropped, they would work on garbage, but marks are reached, so
 * that nobody waits for ever. */
static void run(struct backend_queue *q, const struct guard_mark *until)
{
    while (until != NULL ? !until->done : q->count > 0) {
        struct entry e = q->ring[q->head];
        ssq_status st = SSQ_OK;
        q->head = (q->head + 1) & (q->room - 1);
        q->count--;
        if (e.what == MARK) {
            reach(q, e.mark);
        } else if (e.what == WAIT && q->status == SSQ_OK) {
            if (!e.mark->done)
                run(e.mark->queue, e.mark);
            st = guard_mark_status(e.mark);
        } else if (q->status == SSQ_OK) {
            st = run_command(q, &e.command);
        }
        if (st != SSQ_OK)
            fail(q, st);
        if (e.what == RUN)
            atomic_fetch_add(&q->completed, 1);
        guard_mark_put(e.mark);
    }
}

void guard_mark_run(struct guard_mark *mark)
{
    if (!mark->done) {
        struct backend_device *device = mark->queue->device;
        run(mark->queue, mark);
        guard_lock(device);
    }
}

ssq_status guard_queue_sync(struct backend_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    run(queue, NULL);
    guard_lock(queue->device);
    ssq_status st = sticky(queue);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}

/* A queue that is closed finishes its work, marks above all: others may wait
 * for them. A failure has nobody left to be told to. */
void guard_queue_close(struct backend_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    run(queue, NULL);
    guard_lock(queue->device);
    pthread_mutex_unlock(&queue->device->lock);
    guard_core->mem_free(queue->ring);
    guard_core->mem_free(queue);
}

uint64_t guard_completed(struct backend_queue *queue)
{
    return atomic_load(&queue->completed);
}
