/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.h - repeated ops: compared as they are enqueued, and handed over
 * together, as a graph.
 *
 * A span is the work between repeat_begin() and repeat_end(), for example a
 * step of training. An op that equals the op at the same place of an earlier
 * span waits instead of being handed over. When the last of these ops has come,
 * a graph of all of them is launched. At the first op that differs, the waiting
 * ops are handed over, and the rest of the span is enqueued as usual. The
 * device therefore runs exactly the ops that were enqueued, in their order.
 * Every op is compared; that two spans are equal is never assumed.
 *
 * Only the timing differs. A call that observes the queue, or is not an op of
 * the device, first hands over the waiting ops. Examples are a sync, an event,
 * a copy from or to host memory, and a graph. */
#ifndef LIB_CORE_QUEUE_REPEAT_H
#define LIB_CORE_QUEUE_REPEAT_H

#include "lib/core/core.h"

struct repeat;

/** Enable spans on a queue. Does nothing if they are enabled already. */
ssq_status repeat_create(ssq_queue *queue);
/** Begin a span on such a queue; ends the previous one, if it has not ended.
 *  owner identifies the span for repeat_end(), and must not be NULL. */
ssq_status repeat_begin(ssq_queue *queue, const void *owner);
/** End the span if it belongs to owner, and hand over all waiting ops. After an
 *  error they still wait, until the next use of the queue.
 *  @param whole  out: all ops of the span were launched as graphs */
ssq_status repeat_end(ssq_queue *queue, const void *owner, bool *whole);
/** Hand over the waiting ops, end the span, and forget all sequences, because
 *  they hold memory. */
void repeat_forget(ssq_queue *queue);

/** Between pause and resume, ops are enqueued as usual and belong to no
 *  sequence. Use this for ops that differ each time, and for work that is not
 *  an op. repeat_pause() hands over the waiting ops. If it fails, do not call
 *  repeat_resume(). */
ssq_status repeat_pause(ssq_queue *queue);
void repeat_resume(ssq_queue *queue);
/** Pause and resume. */
ssq_status repeat_flush(ssq_queue *queue);

/* ---- calls while an op is enqueued ---- */

/** True if the op waits now, or if this has failed (*st). If false, the caller
 *  must enqueue the op and pass its status to repeat_enqueued(). */
bool repeat_takes(ssq_queue *queue, const struct op *op, ssq_status *st);
void repeat_enqueued(ssq_queue *queue, ssq_status st);
/** Report that a command of that op was handed over or put into a bundle. */
void repeat_learn(ssq_queue *queue, const struct command *c);
/** Begin the outermost bundle. True: no graph is needed for it until an op
 *  comes that does not wait. repeat_bundle_end() ends the bundle; st is the
 *  caller's status so far. */
bool repeat_bundle_begin(ssq_queue *queue);
ssq_status repeat_bundle_end(ssq_queue *queue, ssq_status st);
/** Get the scratch that a call at this place got before, with a reference for
 *  the caller. If NULL, the caller must create scratch and pass it to
 *  repeat_scratch_learn(). */
ssq_buffer *repeat_scratch(ssq_queue *queue, uint64_t bytes);
void repeat_scratch_learn(ssq_queue *queue, ssq_buffer *buffer);

/** Called when the queue is freed, held and released; NULL is allowed. */
void repeat_free(struct repeat *r);
void repeat_hold(struct repeat *r); /* for a fork */
void repeat_let_go(struct repeat *r);

#endif
