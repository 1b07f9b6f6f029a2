/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.h - the same ops again and again: compared as they are enqueued, and
 * handed over together, as a graph.
 *
 * Between repeat_begin() and repeat_end() lies a span: a step of training. An
 * op that is what a span before had in its place is not handed over at once: it
 * waits until the last of them has come, and then a graph of all is launched.
 * With the first op that differs, what waits is handed over, and the rest of
 * the span goes the ordinary way. So what runs is what was asked for, in its
 * order, whatever was there before; that a call was the same is never assumed.
 *
 * Nobody can tell but by the clock: whatever looks at the queue or is no op of
 * the device (a sync, an event, a copy from or to host memory, a graph) has
 * what waits handed over first. */
#ifndef LIB_CORE_REPEAT_H
#define LIB_CORE_REPEAT_H

#include "lib/core/core.h"

struct repeat;

/** A queue is to have spans; nothing for one that has them. */
ssq_status repeat_create(ssq_queue *queue);
/** Begin a span on such a queue, in the name of owner, which is not NULL, for
 *  repeat_end; one that is under way is ended. */
ssq_status repeat_begin(ssq_queue *queue, const void *owner);
/** End the span, if it is this owner's: all that waits is handed over. After an
 *  error it still waits, for whatever comes next on the queue.
 *  @param whole  all that came was launched as graphs */
ssq_status repeat_end(ssq_queue *queue, const void *owner, bool *whole);
/** Forget all that was seen: memory is held by it. What waits is handed over
 *  first. */
void repeat_forget(ssq_queue *queue);

/** Between pause and resume ops go the ordinary way and are no part of a
 *  sequence: those that differ each time, and what is no op. What waits is
 *  handed over by pause. After an error there is nothing to resume. */
ssq_status repeat_pause(ssq_queue *queue);
void repeat_resume(ssq_queue *queue);
/** Pause and resume. */
ssq_status repeat_flush(ssq_queue *queue);

/* ---- for the ways that an op takes ---- */

/** True where the op waits now, or could not be (*st); else it is to be
 *  enqueued, and repeat_enqueued told of its status. */
bool repeat_takes(ssq_queue *queue, const struct op *op, ssq_status *st);
void repeat_enqueued(ssq_queue *queue, ssq_status st);
/** A command of that op was handed over, or put into a bundle. */
void repeat_learn(ssq_queue *queue, const struct command *c);
/** The outermost bundle begins; true: none has to be made until an op comes
 *  that does not wait. And it ends, with what its caller found. */
bool repeat_bundle_begin(ssq_queue *queue);
ssq_status repeat_bundle_end(ssq_queue *queue, ssq_status st);
/** The scratch that a call in this place got before, with a reference for the
 *  caller; NULL: it needs its own, and repeat_scratch_learn is told of it. */
ssq_buffer *repeat_scratch(ssq_queue *queue, uint64_t bytes);
void repeat_scratch_learn(ssq_queue *queue, ssq_buffer *buffer);

/** With the queue. */
void repeat_free(struct repeat *r);
void repeat_hold(struct repeat *r); /* for a fork; NULL is allowed */
void repeat_let_go(struct repeat *r);

#endif
