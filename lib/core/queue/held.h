/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - the work that a queue holds at a gate (gate.h), in order. */
#ifndef LIB_CORE_QUEUE_HELD_H
#define LIB_CORE_QUEUE_HELD_H

#include "lib/core/queue/event.h"

struct gate;

enum held_kind { HELD_COMMANDS, HELD_GATE, HELD_RECORD, HELD_WAIT };

/** One held item. HELD_COMMANDS: chain, with n commands. HELD_GATE: gate.
 *  HELD_RECORD: event. HELD_WAIT: event, and the record `mark` of `other` that
 *  it waits for. All pointers are references. */
struct held {
    struct held *next;
    enum held_kind kind;
    struct pending *chain;
    size_t n;
    struct gate *gate;
    unsigned forks;
    ssq_event *event;
    ssq_queue *other; /* NULL: the record has been made */
    uint64_t mark;
};

/** Create an empty item. NULL without memory; the error text is set. */
struct held *held_create(enum held_kind kind);

/** True if the queue holds anything. */
bool held_any(const ssq_queue *queue);
/** Return SSQ_ERR_DEVICE in a child of fork if work of the parent's queue would
 *  be held forever, because no thread opens the gate; else SSQ_OK. The error
 *  text begins with `what`. */
ssq_status held_reachable(const ssq_queue *queue, const char *what);
/** Wait until nothing is held (HELD_ALL), or until record `mark` was made.
 *  @return the queue's sticky error; the error of held_reachable() */
#define HELD_ALL UINT64_MAX
ssq_status held_wait(ssq_queue *queue, uint64_t mark, const char *what);

/* ---- with the queue's lock ---- */

/** Append an item to all that are held. */
void held_append(ssq_queue *queue, struct held *held);
/** Hold n commands of a chain. Takes over the chain, unless it fails. */
ssq_status held_commands(ssq_queue *queue, struct pending *chain, size_t n);
/** Hold a record of an event. Sets *mark to its number. */
ssq_status held_record(ssq_queue *queue, ssq_event *event, uint64_t *mark);

#endif
