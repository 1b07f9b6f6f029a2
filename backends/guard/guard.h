/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - the parts that the files of this backend share.
 *
 * guard computes like the reference and behaves like a GPU. Each device has one
 * lock. Every call that uses a queue, an event or the protection of memory
 * holds it, because two threads may use two queues of a device. */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/core/module/backend.h"
#include "lib/core/base/fpenv.h"

extern const struct backend guard_backend;

/** The services that the core passed to init. */
extern const struct services *guard_core;

/** The pattern of new memory, and of the bytes around it. Both read as a NaN in
 *  float32, and each of their halves as a NaN in f16 and bf16: the exponent is
 *  all ones, and the fraction is not 0. They differ, so that poison copied past
 *  a buffer's end is detected. */
#define GUARD_POISON UINT32_C(0x7fc0ffee)
#define GUARD_CANARY UINT32_C(0xfff17fed)

/** Alignment of every buffer, and the least size of a canary. In bytes. */
#define GUARD_ALIGN 256u

struct guard_mem {
    struct backend_mem mem; /* must be first: the core's pointer is converted to
                               one to this struct */
    struct backend_device *device;
    unsigned char *map; /* [no access][rw: front, data, back][no access] */
    uint64_t map_bytes;
    unsigned char *body; /* the part between the two pages */
    uint64_t body_bytes;
    int prot;        /* protection of the body now */
    unsigned access; /* accesses to it by the command of this epoch */
    uint64_t epoch;  /* number of the last command with it as an operand */
};

struct backend_device {
    pthread_mutex_t lock;
    size_t page;
    uint64_t memory_bytes; /* size of the host's memory */
    ssq_subnormals subnormals;
    uint64_t epoch; /* number of commands that have run */
    /* memory that is not PROT_NONE now; empty unless a queue runs */
    struct guard_mem **open;
    size_t open_count, open_capacity;
};

/** A position in a queue. References are held by its queue until it is reached,
 *  by the event that recorded it, and by each queue that waits for it. */
struct guard_mark {
    unsigned refs;
    struct backend_queue *queue; /* valid until done */
    bool done;
    double seconds;    /* time at which it was reached */
    ssq_status status; /* status of the queue at that time */
    char *text;        /* of the queue's error; NULL: none, or no memory for
                          it */
};

/* memory.c */
ssq_status guard_alloc(struct backend_device *device, uint64_t bytes,
                       struct backend_mem **mem);
void guard_free(struct backend_device *device, struct backend_mem *mem);
/** Enlarge the list of open memory for the op's operands, so that
 *  guard_unlock() needs no memory. */
ssq_status guard_reserve(struct backend_device *device, const struct op *op);
/** Open the memory of the op's operands, and close all other memory of the
 *  device. */
ssq_status guard_unlock(struct backend_device *device, const struct op *op);
/** Check the canaries of all memory that the op may have written. */
ssq_status guard_canaries(struct backend_device *device, const struct op *op);
/** Close all memory. */
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
ssq_status guard_queue_failure(struct backend_queue *queue);

/* The caller must hold the device's lock: */
/** Append a mark, or a wait for a mark, to a queue. The queue gets a reference
 *  to the mark. */
ssq_status guard_queue_mark(struct backend_queue *queue,
                            struct guard_mark *mark);
ssq_status guard_queue_wait(struct backend_queue *queue,
                            struct guard_mark *mark);
/** Run the mark's queue until the mark is reached. Then close all memory. */
void guard_mark_run(struct guard_mark *mark);
/** Return SSQ_OK, or the error of the mark's queue with its text. The mark must
 *  be reached. */
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
