/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - ops of repeated iterations: compared with a recorded trace as they
 * are enqueued, and launched together, as a graph.
 *
 * An iteration is the work between replay_begin() and replay_end(), for example
 * a step of training. Its ops are recorded as a trace (trace.h). An op of a
 * later iteration that equals the trace's next op is matched: it is not
 * submitted yet. When the last op of a part of the trace has been matched, a
 * graph of the whole part is launched. At the first op that differs, the
 * matched ops are submitted, and the rest of the iteration is enqueued as
 * usual. The device therefore runs exactly the ops that were enqueued, in their
 * order. Every op is compared; that two iterations are equal is never assumed.
 *
 * Only the timing differs. A call that reads the queue's state, or is not an op
 * of the device, first submits the matched ops. Examples are a sync, an event,
 * a copy from or to host memory, and a graph. */
#ifndef LIB_CORE_QUEUE_REPLAY_H
#define LIB_CORE_QUEUE_REPLAY_H

#include "lib/core/core.h"

struct replay;

/** Enable replay on a queue. Does nothing if it is enabled already. */
ssq_status replay_create(ssq_queue *queue);
/** Begin an iteration on such a queue; ends the previous one, if it has not
 *  ended. owner identifies the iteration for replay_end(), and must not be
 *  NULL. */
ssq_status replay_begin(ssq_queue *queue, const void *owner);
/** End the iteration if it belongs to owner, and submit all matched ops. After
 *  an error they are submitted at the next use of the queue.
 *  @param whole  out: all ops of the iteration were launched as graphs */
ssq_status replay_end(ssq_queue *queue, const void *owner, bool *whole);
/** Submit the matched ops, end the iteration, and release all traces, because
 *  they hold memory. */
void replay_drop_traces(ssq_queue *queue);

/** Between pause and resume, ops are enqueued as usual and are not part of a
 *  trace. Use this for ops that differ each time, and for work that is not an
 *  op. replay_pause() submits the matched ops. If it fails, do not call
 *  replay_resume(). */
ssq_status replay_pause(ssq_queue *queue);
void replay_resume(ssq_queue *queue);
/** Pause and resume. */
ssq_status replay_flush(ssq_queue *queue);

/* ---- calls while an op is enqueued ---- */

/** True if the op was matched, or if this has failed (*st). If false, the
 *  caller must enqueue the op and pass its status to replay_enqueued().
 *  Between both, the replay is paused if the op may differ the next time
 *  although it is equal: a transfer from or to memory of the host, or a call
 *  of another library. */
bool replay_match(ssq_queue *queue, const struct op *op, ssq_status *st);
void replay_enqueued(ssq_queue *queue, const struct op *op, ssq_status st);
/** Record a command of that op, which was submitted or put into a bundle. */
void replay_record_command(ssq_queue *queue, const struct command *c);
/** Begin the outermost bundle. True: no graph is needed for it until an op is
 *  not matched. replay_bundle_end() ends the bundle; st is the caller's status
 *  so far. */
bool replay_bundle_begin(ssq_queue *queue);
ssq_status replay_bundle_end(ssq_queue *queue, ssq_status st);
/** Get the scratch that the trace has at this position, with a reference for
 *  the caller. If NULL, the caller must create scratch and pass it to
 *  replay_record_scratch(). */
ssq_buffer *replay_scratch(ssq_queue *queue, uint64_t bytes);
void replay_record_scratch(ssq_queue *queue, ssq_buffer *buffer);

/** Called when the queue is freed, held and released; NULL is allowed. */
void replay_free(struct replay *r);
void replay_hold(struct replay *r); /* for a fork */
void replay_let_go(struct replay *r);

#endif
