/* SPDX-License-Identifier: Apache-2.0 */
/* readback.c - asynchronous readback of a device block. */
#include "lib/amp/common/readback.h"

#include "lib/core/queue/replay.h"

#include "lib/core/core.h"

#include <string.h>

/* Most slots in flight on one queue. Further copies go into the newest of them,
 * whose arrival each of them delays. The other one arrives undisturbed, so that
 * a reader gets new words however often a program enqueues copies. A readback
 * has at most two slots for each queue. */
#define MOST_IN_FLIGHT 2

/* Host memory that a copy writes. */
struct readback_slot {
    struct readback_slot *next;
    struct progress *progress; /* of its queue; NULL: not in flight */
    uint64_t position;         /* of the last copy into it, on its queue */
    uint64_t number;           /* of its last copy; 0: empty */
    uint32_t words[];
};

struct readback {
    struct object object;
    struct readback_slot *slots; /* freed with the readback, not before */
    uint32_t n, magic;           /* words of a slot; index of one never 0 */
    uint64_t enqueued;           /* the number of the last copy */
    uint64_t number;  /* of the slot that was copied to words; 0: none */
    uint32_t words[]; /* the newest that has arrived */
};

static size_t readback_bytes_of(const struct readback *r)
{
    return r->n * sizeof(r->words[0]);
}

/* No slot is in flight any more, because each copy has held the readback. */
static void readback_free(struct object *o)
{
    struct readback *r = (struct readback *)o;
    for (struct readback_slot *s = r->slots, *next; s != NULL; s = next) {
        next = s->next;
        progress_put(s->progress);
        mem_free(s);
    }
    mem_free(r);
}

struct readback *readback_create(const uint32_t *words, uint32_t n,
                                 uint32_t magic)
{
    size_t bytes = sizeof(struct readback) + n * sizeof(words[0]);
    struct readback *r = mem_alloc(bytes);
    if (r == NULL) {
        (void)error_nomem("mailbox", bytes);
        return NULL;
    }
    object_init(&r->object, readback_free);
    r->n = n;
    r->magic = magic;
    memcpy(r->words, words, readback_bytes_of(r));
    return r;
}

void readback_put(struct readback *r)
{
    if (r != NULL)
        object_put(&r->object);
}

/* Read the slots that have arrived, and mark them free. A failed queue drops
 * copies: their slots have no magic word. */
static void readback_collect(struct readback *r)
{
    for (struct readback_slot *s = r->slots; s != NULL; s = s->next) {
        if (s->progress == NULL || !progress_reached(s->progress, s->position))
            continue;
        progress_put(s->progress);
        s->progress = NULL;
        if (s->words[r->magic] == r->words[r->magic] && s->number > r->number) {
            memcpy(r->words, s->words, readback_bytes_of(r));
            r->number = s->number;
        }
    }
}

/* Return the slot to copy into from this queue: the newest in flight if there
 * are enough, otherwise a spare one or a new one. NULL: no memory. */
static struct readback_slot *readback_choose(struct readback *r,
                                             struct progress *progress)
{
    struct readback_slot *spare = NULL, *newest = NULL;
    int in_flight = 0;
    for (struct readback_slot *s = r->slots; s != NULL; s = s->next) {
        if (s->progress == NULL) {
            spare = s;
        } else if (s->progress == progress) {
            in_flight++;
            if (newest == NULL || s->number > newest->number)
                newest = s;
        }
    }
    if (in_flight >= MOST_IN_FLIGHT)
        return newest; /* in order on its queue: the later copy wins */
    if (spare != NULL)
        return spare;
    struct readback_slot *s = mem_alloc(sizeof(*s) + readback_bytes_of(r));
    if (s == NULL) {
        (void)error_nomem("mailbox", sizeof(*s) + readback_bytes_of(r));
        return NULL;
    }
    s->next = r->slots;
    r->slots = s;
    return s;
}

/* Enqueue the op, if there is one, and then the copy. */
static ssq_status enqueue_both(ssq_queue *queue, struct op *op, struct op *copy)
{
    if (op == NULL)
        return queue_enqueue(queue, copy);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = queue_enqueue(queue, op);
    if (st == SSQ_OK)
        st = queue_enqueue(queue, copy);
    return queue_bundle_end(queue, st);
}

ssq_status readback_enqueue(struct readback *r, ssq_queue *queue, struct op *op,
                            const ssq_tensor *block)
{
    bool recorded;
    ssq_status st = queue_recorded(queue, &recorded);
    if (st != SSQ_OK)
        return st;
    if (recorded) /* a slot could not be assigned to a launch */
        return op == NULL ? SSQ_OK : queue_enqueue(queue, op);
    readback_collect(r);
    struct progress *progress = queue_progress(queue);
    struct readback_slot *s = readback_choose(r, progress);
    if (s == NULL) {
        progress_put(progress);
        return SSQ_ERR_NOMEM;
    }
    /* Until the copy has arrived, the slot lacks the magic word. A slot in
     * flight is not changed: the device may write it. */
    if (s->progress == NULL)
        s->words[r->magic] = 0;
    struct download_op copy = {.op = OP_HEADER(download, src),
                               .host = s->words,
                               .bytes = readback_bytes_of(r),
                               .src = tensor_view(block, ACCESS_READ)};
    copy.src.shape[0] = r->n;
    copy.op.keep = &r->object; /* keeps the slot until the copy is done */
    st = replay_pause(queue);  /* each copy has another slot */
    if (st == SSQ_OK) {
        st = enqueue_both(queue, op, &copy.op);
        replay_resume(queue);
    }
    if (st != SSQ_OK) {
        progress_put(progress);
        return st;
    }
    progress_put(s->progress);
    s->progress = progress;
    s->position = queue_position(queue);
    s->number = ++r->enqueued;
    return SSQ_OK;
}

uint64_t readback_enqueued(const struct readback *r)
{
    return r->enqueued;
}

uint64_t readback_read(struct readback *r, uint32_t *words)
{
    readback_collect(r);
    memcpy(words, r->words, readback_bytes_of(r));
    return r->number;
}
