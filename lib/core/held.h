/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - what a queue holds behind a gate (gate.h), in order. */
#ifndef LIB_CORE_HELD_H
#define LIB_CORE_HELD_H

#include "lib/core/event.h"

struct gate;

enum held_kind { HELD_COMMANDS, HELD_GATE, HELD_RECORD, HELD_WAIT };

/** One thing that is held. chain: of COMMANDS, n of them; gate: of GATE; event:
 *  of RECORD and WAIT, which for record `mark` of `other` waits. All are
 *  references. */
struct held {
    struct held *next;
    enum held_kind kind;
    bool told;
    struct pending *chain;
    size_t n;
    struct gate *gate;
    unsigned forks;
    ssq_event *event;
    ssq_queue *other; /* NULL: the record has been made */
    uint64_t mark;
};

/** One of a kind, with nothing; NULL without memory, with its text. */
struct held *held_create(enum held_kind kind);

/** Is anything held on the queue? */
bool held_any(const ssq_queue *queue);
/** SSQ_ERR_DEVICE in a child of fork where what the parent's queue held would
 *  be held for ever, since nobody opens the gate; else SSQ_OK. what begins the
 *  text. */
ssq_status held_reachable(const ssq_queue *queue, const char *what);
/** Wait until nothing is held (HELD_ALL), or a record of an event has been
 *  made.
 *  @return the queue's sticky error; as held_reachable */
#define HELD_ALL UINT64_MAX
ssq_status held_wait(ssq_queue *queue, uint64_t mark);

/* ---- with the queue's lock ---- */

/** Behind all that is held. */
void held_append(ssq_queue *queue, struct held *held);
/** n commands, the chain's, which is taken over. */
ssq_status held_commands(ssq_queue *queue, struct pending *chain, size_t n);
/** A record of an event, which is held: *mark is its number. */
ssq_status held_record(ssq_queue *queue, ssq_event *event, uint64_t *mark);

#endif
