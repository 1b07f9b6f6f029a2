/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.h - internals of a scaler, for the ops and optimizers that use it.
 *
 * A scaler has two halves. Its words (scale, overflow flag, counters) are on
 * the device and change when the queue runs. Its stages are on the host and
 * change when calls are made: they refuse a wrong order of calls, and do not
 * depend on what the device has found. `what` begins error texts in all
 * functions. */
#ifndef LIB_AMP_SCALER_SCALER_H
#define LIB_AMP_SCALER_SCALER_H

#include <sesqui/amp/scaler.h>

#include "kernels/amp/amp.h"
#include "lib/amp/common/unscaled.h"

/** Add the overflow flag of a check record to the block's by OR, because a step
 *  may have several checks. One thread. */
struct scaler_join_op {
    struct op op;
    struct view record; /* u32 words as i32 [RECORD_WORDS], read */
    struct view block;  /* i32 [SCALER_WORDS], updated */
};

/** Update the machine by one step: machine_next(). One thread. */
struct scaler_update_op {
    struct op op;
    uint32_t set;   /* 1: set the scale to value instead (update_to) */
    uint32_t value; /* bits of a float32 */
    struct view block;
};

/** Return the device words, i32 [SCALER_WORDS], borrowed from the scaler. */
const ssq_tensor *scaler_block(const ssq_scaler *scaler);
/** INVALID unless the scaler is on the queue's device and its scale was used
 * since its last update, by an op that wrote a gradient with it as dloss, or by
 *  ssq_scaler_scale_grad. Otherwise a step would divide by a scale that was not
 *  used, and training would not learn, without an error. */
ssq_status scaler_ready(const ssq_queue *queue, const ssq_scaler *scaler,
                        const char *what);
/** Call this after a check was enqueued. Calls the rank hook on the record's
 *  overflow flag, and enqueues the join. From then on an update is valid. A
 * capture watches the scaler. If the hook fails, its status is returned, and
 * the check does not count. */
ssq_status scaler_checked(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_tensor *record);
/** Return the number of updates enqueued so far. An optimizer whose check or
 * step has a lower number is READY again. This holds in a capture, too. A
 * launch of a graph adds the graph's updates. */
uint64_t scaler_epoch(const ssq_scaler *scaler);
/** Return the time of its last update that may have changed the scale, as
 * scaler_clock() shows it; 0: none. */
uint64_t scaler_updated(const ssq_scaler *scaler);
/** Return the present time: it advances with each such update of any scaler. */
uint64_t scaler_clock(void);
/** Return how much of a gradient was unscaled since the last update. scaler may
 * be NULL. */
enum coverage scaler_unscaled(const ssq_scaler *scaler, const struct view *v);
/** Call this before gradients are unscaled. Reserves memory for n of them, so
 * that noting them cannot fail after the work was enqueued. A capture watches
 * the scaler from then on. */
ssq_status scaler_unscale_begin(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                                const char *what);
/** Note that this memory has an unscaled gradient until the next update. */
void scaler_unscale_note(ssq_scaler *scaler, const struct view *v);

void scaler_get(ssq_scaler *scaler); /* add a reference; must not be NULL */
void scaler_put(ssq_scaler *scaler); /* drop a reference; may be NULL */

#endif
