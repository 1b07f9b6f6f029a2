/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - gates: work enqueued after a gate waits until the gate is open.
 *
 * A collective is work of the host and of other ranks, which no device can wait
 * for. The queue therefore waits in host memory: commands, and records of and
 * waits for events, are held at the gate, with all objects that they use. They
 * are handed over in order when the gate is open. The caller does not wait. The
 * thread that opens the gate hands over (gate_pass), also on queues that wait
 * for an event of this queue. */
#ifndef LIB_CORE_QUEUE_GATE_H
#define LIB_CORE_QUEUE_GATE_H

#include "lib/core/queue/held.h"

/** Create a closed gate, with one reference. NULL without memory; the error
 *  text is set. */
struct gate *gate_create(void);
/** Put the gate after all work that was enqueued on the queue: later work is
 *  held. The gate holds the queue until the handover. Call this once. If
 *  gate_pass() was called before, this hands over. */
ssq_status queue_gate(ssq_queue *queue, struct gate *gate);
/** Open the gate. after is an event of the same device, which the queue then
 *  waits for; NULL: none. Call this once, from any thread, then gate_pass(). */
void gate_open(struct gate *gate, ssq_event *after);
/** Instead of gate_open(): make the queue fail with status and text, and drop
 *  the work that it holds. gate_pass() does this. */
void gate_fail(struct gate *gate, ssq_status status, const char *text);
/** Add a reference, and drop one without any other effect. */
void gate_hold(struct gate *gate);
void gate_drop(struct gate *gate);
/** Hand over held work of the gate's queue, after gate_open() or gate_fail(),
 *  and of queues that wait for it. If the gate is not on a queue yet,
 *  queue_gate() hands over instead. Drops one reference to the gate; the
 *  handover drops the gate's reference to the queue. A device without
 *  asynchrony computes here. Call this once. */
void gate_pass(struct gate *gate);

/** Hold a wait for record `mark` of an event, which is held on queue `other`.
 *  If other is NULL, the record was made. The queue need not hold anything. The
 *  caller must not hold its lock. */
ssq_status held_event_wait(ssq_queue *queue, ssq_event *event, ssq_queue *other,
                           uint64_t mark);

#endif
