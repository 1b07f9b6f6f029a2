/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - what the files of this backend share.
 *
 * guard computes as the reference does and behaves as a GPU does. Its one
 * lock per device is held by every call that touches a queue, an event or the
 * protection of memory: two queues of a device may have two threads. */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/core/backend.h"
#include "lib/core/fpenv.h"

extern const struct backend guard_backend;

/** What the core lent to init. */
extern const struct services *guard_core;

/** Fresh memory, and the bytes round it. Both read as a NaN in float32, and
 *  each of their halves as a NaN in f16 and in bf16: all ones in the exponent,
 *  a fraction that is not 0. They differ, so poison that is copied over a
 *  buffer's end is seen. */
#define GUARD_POISON UINT32_C(0x7fc0ffee)
#define GUARD_CANARY UINT32_C(0xfff17fed)

/** Bytes of every buffer's alignment, and the least of canary at an end. */
#define GUARD_ALIGN 256u

struct guard_mem {
    struct backend_mem mem; /* first: the core's pointer is ours */
    struct backend_device *device;
    unsigned char *map; /* [no access][rw: front, data, back][no access] */
    uint64_t map_bytes;
    unsigned char *body; /* the part between the two pages */
    uint64_t body_bytes;
    int prot;        /* of the body now */
    unsigned access; /* what the command with this epoch does to it */
    uint64_t epoch;  /* of the last command that named it */
};

struct backend_device {
    pthread_mutex_t lock;
    size_t page;
    uint64_t memory_bytes; /* of the host */
    ssq_subnormals subnormals;
    uint64_t epoch; /* counts commands */
    /* memory that is not PROT_NONE now: empty unless a command runs */
    struct guard_mem **open;
    size_t open_count, open_room;
};

/** A point of a queue. Held by its queue until it is reached, by the event
 *  that recorded it, and by every queue that waits for it. */
struct guard_mark {
    unsigned refs;
    struct backend_queue *queue; /* valid until done */
    bool done;
    double seconds;    /* when that was */
    ssq_status status; /* of the queue then */
    char *text;        /* of its error; NULL when there was no memory */
};

/* memory.c */
ssq_status guard_alloc(struct backend_device *device, uint64_t bytes,
                       struct backend_mem **mem);
void guard_free(struct backend_device *device, struct backend_mem *mem);
/** Make room for the op's operands: guard_unlock needs no memory then. */
ssq_status guard_reserve(struct backend_device *device, const struct op *op);
/** Give the host the op's operands, and nothing else of the device. */
ssq_status guard_unlock(struct backend_device *device, const struct op *op);
/** Look at the canaries of all that the op may have written. */
ssq_status guard_canaries(struct backend_device *device, const struct op *op);
/** Take everything back. */
void guard_lock(struct backend_device *device);

/* queue.c */
ssq_status guard_queue_open(struct backend_device *device,
                            struct backend_queue **queue);
void guard_queue_close(struct backend_queue *queue);
ssq_status guard_queue_sync(struct backend_queue *queue);
ssq_status guard_submit(struct backend_queue *queue, const struct command *c);
ssq_status guard_queue_reserve(struct backend_queue *queue,
                               const struct command *commands, size_t n);
uint64_t guard_completed(struct backend_queue *queue);

/* With the device's lock held: */
/** Append "mark reached", or "wait for mark". Takes a reference of its own. */
ssq_status guard_queue_mark(struct backend_queue *queue,
                            struct guard_mark *mark);
ssq_status guard_queue_wait(struct backend_queue *queue,
                            struct guard_mark *mark);
/** Run the mark's queue until the mark is reached. */
void guard_mark_run(struct guard_mark *mark);
/** SSQ_OK, or the error of the mark's queue with its text. */
ssq_status guard_mark_status(const struct guard_mark *mark);
void guard_mark_put(struct guard_mark *mark);

/* event.c */
ssq_status guard_event_open(struct backend_device *device,
                            struct backend_event **event);
void guard_event_close(struct backend_event *event);
ssq_status guard_event_record(struct backend_event *event,
                              struct backend_queue *queue);
ssq_status guard_event_wait(struct backend_queue *queue,
                            struct backend_event *event);
ssq_status guard_event_query(struct backend_event *event);
ssq_status guard_event_sync(struct backend_event *event);
ssq_status guard_event_elapsed(struct backend_event *from,
                               struct backend_event *to, double *seconds);

#endif
