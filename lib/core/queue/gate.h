/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - gates: work enqueued after a gate is deferred until the gate opens.
 *
 * A collective is work of the host and of other ranks, which no device can wait
 * for. The queue therefore waits in host memory: commands, and records of and
 * waits for events, are deferred, with all objects that they use (deferred.h).
 * They are submitted in order when the gate is open. The caller does not wait.
 * The thread that opens the gate submits them (gate_drain), also on queues that
 * wait for an event of this queue. */
#ifndef LIB_CORE_QUEUE_GATE_H
#define LIB_CORE_QUEUE_GATE_H

#include "lib/core/core.h"

struct gate;

/** Create a closed gate, with one reference. NULL without memory; the error
 *  text is set. */
struct gate *gate_create(void);
/** Put the gate after all work that was enqueued on the queue: later work is
 *  deferred. The gate holds the queue until that work is submitted. Call this
 *  once. If gate_drain() was called before, this submits deferred work. */
ssq_status gate_enqueue(ssq_queue *queue, struct gate *gate);
/** Open the gate. after is an event of the same device, which the queue then
 *  waits for; NULL: none. Call this once, from any thread, then gate_drain().
 */
void gate_open(struct gate *gate, ssq_event *after);
/** Instead of gate_open(): make the queue fail with status and text, and drop
 *  its deferred work. gate_drain() does this. */
void gate_fail(struct gate *gate, ssq_status status, const char *text);
/** Add a reference, and drop one without any other effect. */
void gate_get(struct gate *gate);
void gate_put(struct gate *gate);
/** Submit deferred work of the gate's queue, after gate_open() or gate_fail(),
 *  and of queues that wait for it. If the gate is not on a queue yet,
 *  gate_enqueue() submits instead. Drops one reference to the gate. The gate
 *  then drops its reference to the queue. A device without asynchrony computes
 *  here. Call this once. */
void gate_drain(struct gate *gate);

/** Defer a wait for record number `record` of an event, which is deferred on
 *  queue `other`. If other is NULL, the record was submitted. The queue need
 *  not have deferred work. The caller must not hold its lock. */
ssq_status deferred_add_wait(ssq_queue *queue, ssq_event *event,
                             ssq_queue *other, uint64_t record);

#endif
