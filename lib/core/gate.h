/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - gates: what is enqueued behind one waits until it is open.
 *
 * A collective is work of the host and of other ranks, which no device can wait
 * for. So the queue waits in the host's memory: commands, and records of and
 * waits for events, are held behind the gate as they come, with all that they
 * use, and are handed over in their order once it is open. The caller goes on
 * at once. Whoever opens the gate hands over (gate_pass), also on queues that
 * wait for an event of this one. */
#ifndef LIB_CORE_GATE_H
#define LIB_CORE_GATE_H

#include "lib/core/held.h"

/** A closed gate; NULL without memory, with its text. One reference. */
struct gate *gate_create(void);
/** Put the gate behind all that was enqueued on the queue: what follows is
 *  held. The gate holds the queue until it is opened or has failed. Once, also
 *  after gate_pass: what may go is handed over then. */
ssq_status queue_gate(ssq_queue *queue, struct gate *gate);
/** Open it: after is an event of the same device, which the queue waits for
 *  then; NULL: none. Once; from any thread. gate_pass does the rest. */
void gate_open(struct gate *gate, ssq_event *after);
/** Instead: the queue fails with status and text, and drops what it holds. */
void gate_fail(struct gate *gate, ssq_status status, const char *text);
/** One more reference, and without any other doing let go of one. */
void gate_hold(struct gate *gate);
void gate_drop(struct gate *gate);
/** Hand over what may go on the queue of a gate that was opened or has failed,
 *  if it stands on one by now, and on the queues that wait for it; then drop a
 *  reference, and that to the queue. On a device without asynchrony this
 *  computes. Once. */
void gate_pass(struct gate *gate);

/** Hold a wait for an event's record of that number on another queue, whatever
 *  the queue holds and without its lock; other NULL: for one that was made.
 */
ssq_status held_event_wait(ssq_queue *queue, ssq_event *event, ssq_queue *other,
                           uint64_t mark);

#endif
