/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - an in-order queue that runs only when a thread waits for it.
 *
 * A ring contains commands, marks and waits in the order of their calls.
 * Running a queue runs other queues as far as it waits for them. This ends: a
 * wait refers to a mark that was recorded earlier. A queue that is reached
 * again has passed that mark, so no queue is entered twice. */

#include "backends/guard/guard.h"

#include "backends/reference/reference.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/** Size of the buffer for a queue's error text. */
#define TEXT_BYTES 1024

enum entry_kind {
    RUN,  /* a command */
    MARK, /* an event was recorded here */
    WAIT  /* until a mark of another queue is reached */
};

/* An entry of the ring. RUN uses command; MARK and WAIT use mark, to which the
 * entry holds a reference. */
struct queue_entry {
    enum entry_kind kind;
    struct command command;
    struct guard_mark *mark;
};

/* The device's lock guards all members except `completed`, which the core reads
 * without it. */
struct backend_queue {
    struct backend_device *device;
    struct queue_entry *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t head, count;
    atomic_uint_fast64_t completed;
    ssq_status status; /* of the first failure; sticky */
    char text[TEXT_BYTES];
};

/* Create a queue. The first entry allocates the ring. */
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

/* Return the queue's first error, with its text. */
static ssq_status guard_queue_status(const struct backend_queue *q)
{
    if (q->status == SSQ_OK)
        return SSQ_OK;
    return guard_core->error_set(q->status, "%s", q->text);
}

/* Enlarge the ring for n more entries. */
static ssq_status guard_queue_grow(struct backend_queue *q, size_t n)
{
    if (q->capacity - q->count >= n)
        return SSQ_OK;
    size_t capacity = q->capacity == 0 ? 64 : 2 * q->capacity;
    while (capacity - q->count < n)
        capacity *= 2;
    struct queue_entry *ring = guard_core->mem_alloc(capacity * sizeof(*ring));
    if (ring == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu queued commands",
            capacity);
    for (size_t i = 0; i < q->count; i++)
        ring[i] = q->ring[(q->head + i) & (q->capacity - 1)];
    guard_core->mem_free(q->ring);
    q->ring = ring;
    q->capacity = capacity;
    q->head = 0;
    return SSQ_OK;
}

/* Append an entry. A queue that has failed returns its error instead. */
static ssq_status guard_queue_push(struct backend_queue *q,
                                   const struct queue_entry *e)
{
    ssq_status st = guard_queue_status(q);
    if (st == SSQ_OK)
        st = guard_queue_grow(q, 1);
    if (st == SSQ_OK)
        q->ring[(q->head + q->count++) & (q->capacity - 1)] = *e;
    return st;
}

/* Append a command. The list of open memory is enlarged here, where a failure
 * can be returned to the caller. */
ssq_status guard_submit(struct backend_queue *queue, const struct command *c)
{
    const struct queue_entry e = {.kind = RUN, .command = *c};
    pthread_mutex_lock(&queue->device->lock);
    ssq_status st = guard_reserve(queue->device, c->op);
    if (st == SSQ_OK)
        st = guard_queue_push(queue, &e);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}

/* Allocate all host memory that the commands will need. */
ssq_status guard_queue_reserve(struct backend_queue *queue,
                               const struct command *commands, size_t n)
{
    pthread_mutex_lock(&queue->device->lock);
    ssq_status st = guard_queue_grow(queue, n);
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        st = guard_reserve(queue->device, commands[i].op);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}

/* Append an entry with a mark. On success the entry holds a reference to it. */
static ssq_status guard_queue_push_mark(struct backend_queue *q,
                                        enum entry_kind kind,
                                        struct guard_mark *mark)
{
    const struct queue_entry e = {.kind = kind, .mark = mark};
    ssq_status st = guard_queue_push(q, &e);
    if (st == SSQ_OK)
        mark->refs++;
    return st;
}

ssq_status guard_queue_mark(struct backend_queue *queue,
                            struct guard_mark *mark)
{
    return guard_queue_push_mark(queue, MARK, mark);
}

ssq_status guard_queue_wait(struct backend_queue *queue,
                            struct guard_mark *mark)
{
    return guard_queue_push_mark(queue, WAIT, mark);
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

/* Store the first failure; the caller must check that there is none. The text
 * is the thread's error text. */
static void guard_queue_fail(struct backend_queue *q, ssq_status status)
{
    q->status = status;
    snprintf(q->text, sizeof(q->text), "%s", guard_core->error_text());
}

/* Open the op's memory, run the reference, and check the canaries. The memory
 * stays open for the next command: the caller must call guard_lock() at the
 * end. */
static ssq_status guard_queue_run_command(struct backend_queue *q,
                                          const struct command *c)
{
    ssq_status st = guard_unlock(q->device, c->op);
    if (st == SSQ_OK)
        st = command_run(&reference_ops, q, c);
    if (st == SSQ_OK)
        st = guard_canaries(q->device, c->op);
    return st;
}

/* Mark as reached, with the time and the queue's status. The mark stores both,
 * because the queue may be closed before they are read. */
static void guard_queue_reach(const struct backend_queue *q,
                              struct guard_mark *mark)
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

/* Run entries until the mark is reached; all of them if it is NULL. After a
 * failure commands are dropped, because their operands are not valid. Marks are
 * still reached, so that no thread waits forever. */
static void guard_queue_run(struct backend_queue *q,
                            const struct guard_mark *until)
{
    while (until != NULL ? !until->done : q->count > 0) {
        struct queue_entry e = q->ring[q->head];
        ssq_status st = SSQ_OK;
        q->head = (q->head + 1) & (q->capacity - 1);
        q->count--;
        if (e.kind == MARK) {
            guard_queue_reach(q, e.mark);
        } else if (e.kind == WAIT && q->status == SSQ_OK) {
            if (!e.mark->done)
                guard_queue_run(e.mark->queue, e.mark);
            st = guard_mark_status(e.mark);
        } else if (q->status == SSQ_OK) {
            st = guard_queue_run_command(q, &e.command);
        }
        if (st != SSQ_OK)
            guard_queue_fail(q, st);
        if (e.kind == RUN)
            atomic_fetch_add(&q->completed, 1);
        guard_mark_put(e.mark);
    }
}

void guard_mark_run(struct guard_mark *mark)
{
    if (!mark->done) {
        struct backend_device *device = mark->queue->device;
        guard_queue_run(mark->queue, mark);
        guard_lock(device);
    }
}

ssq_status guard_queue_sync(struct backend_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    guard_queue_run(queue, NULL);
    guard_lock(queue->device);
    ssq_status st = guard_queue_status(queue);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}

/* Close a queue after running all entries, because other queues may wait for
 * its marks. Failures cannot be reported any more. */
void guard_queue_close(struct backend_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    guard_queue_run(queue, NULL);
    guard_lock(queue->device);
    pthread_mutex_unlock(&queue->device->lock);
    guard_core->mem_free(queue->ring);
    guard_core->mem_free(queue);
}

uint64_t guard_completed(struct backend_queue *queue)
{
    return atomic_load(&queue->completed);
}

ssq_status guard_queue_failure(struct backend_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    ssq_status st = guard_queue_status(queue);
    pthread_mutex_unlock(&queue->device->lock);
    return st;
}
