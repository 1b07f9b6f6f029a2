/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - gates: what is enqueued behind one waits until it is open.
 *
 * A collective is work of the host and of other ranks, which no device can wait
 * for. So the queue waits in the host's memory: commands, and records of and
 * waits for events, are held behind the gate as they come, with all that they
 * use, and are handed over in their order once it is open. The caller goes on
 * at once. Whoever opens the gate hands over (queue_pump), and so does, on
 * queues that wait for each other, whoever made the event that was waited
 * for. */
#ifndef LIB_CORE_HELD_H
#define LIB_CORE_HELD_H

#include "lib/core/queue.h"

struct gate;

/** A closed gate; NULL without memory, with its text. One reference. */
struct gate *gate_create(void);
/** Put the gate behind all that was enqueued on the queue: what follows is
 *  held. The gate holds the queue until it is opened or has failed. */
ssq_status queue_gate(ssq_queue *queue, struct gate *gate);
/** Open it: after is an event of the same device, which the queue waits for
 *  then; NULL: none. Once; from any thread. queue_pump does the rest. */
void gate_open(struct gate *gate, ssq_event *after);
/** Instead: the queue fails with status and text, and drops what it holds. */
void gate_fail(struct gate *gate, ssq_status status, const char *text);
/** Let go of a gate that stands on no queue. */
void gate_drop(struct gate *gate);
/** Hand over what may go on the queue of a gate that was opened or has failed,
 *  and on the queues that wait for it; then drop the gate's reference and the
 *  queue's. On a device without asynchrony this computes. */
void gate_pass(struct gate *gate);

/** Is anything held on the queue? */
bool held_any(const ssq_queue *queue);
/** Wait until nothing is held (HELD_ALL), or a record of an event has been
 *  made.
 *  @return the queue's sticky error; SSQ_ERR_DEVICE in a child of fork, where
 *          nobody opens the gate */
#define HELD_ALL UINT64_MAX
ssq_status held_wait(ssq_queue *queue, uint64_t mark);

/* ---- with the queue's lock, where the queue holds something ---- */

/** n commands, the chain's, which is taken over; told: witnesses know. */
ssq_status held_commands(ssq_queue *queue, struct pending *chain, size_t n,
                         bool told);
/** A record of an event, which is held: *mark is its number. */
ssq_status held_record(ssq_queue *queue, ssq_event *event, uint64_t *mark);

/* ---- without it ---- */

/** Hold a wait for an event's record of that number on another queue, whatever
 *  the queue holds; false: *st, or there is nothing to wait for. */
ssq_status held_event_wait(ssq_queue *queue, ssq_event *event, ssq_queue *other,
                           uint64_t mark);

/* ---- what events are asked: lib/core/event.c ---- */

struct object *event_object(ssq_event *event);
/** Their backend's record and wait, with the queue's lock. */
ssq_status event_record_now(ssq_event *event, ssq_queue *queue);
ssq_status event_wait_now(ssq_event *event, ssq_queue *queue);

#endif
