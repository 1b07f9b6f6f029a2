/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.h - a scaler's inside, for the ops and optimizers that use it.
 *
 * A scaler has two halves. Its words (scale, verdict, counters) are on the
 * device and move as the queue gets there. Its stages are on the host and move
 * as calls are made: they refuse calls in a wrong order, and know nothing of
 * what the device has found. `what` begins an error's text in all of these. */
#ifndef LIB_AMP_SCALER_H
#define LIB_AMP_SCALER_H

#include <sesqui/amp/scaler.h>

#include "kernels/amp/amp.h"
#include "lib/amp/unscaled.h"

/** block |= verdict of a check record: a step may have several checks. One
 *  thread. */
struct scaler_join_op {
    struct op op;
    struct view record; /* u32 words as i32 [RECORD_WORDS], read */
    struct view block;  /* i32 [SCALER_WORDS], updated */
};

/** Move the machine by one step: MACHINE_UPDATE. One thread. */
struct scaler_update_op {
    struct op op;
    uint32_t set;   /* 1: the scale becomes value instead (update_to) */
    uint32_t value; /* bits of a float32 */
    struct view block;
};

/** The device words, i32 [SCALER_WORDS]; owned by the scaler, lives as long. */
const ssq_tensor *scaler_block(const ssq_scaler *scaler);
/** INVALID unless the scaler is of the queue's device and its scale was used
 *  since its last update: an op that wrote a gradient bound it as dloss, or
 *  ssq_scaler_scale_grad. A step that divides by a scale that nobody multiplied
 *  with would otherwise go unnoticed, but for training that does not learn. */
ssq_status scaler_ready(const ssq_queue *queue, const ssq_scaler *scaler,
                        const char *what);
/** After a check was enqueued: call the rank hook on the record's verdict and
 *  enqueue the join. From now on an update is legal. A capture watches the
 *  scaler from here on. The hook's error is answered, with its own status; the
 *  check then does not count. */
ssq_status scaler_checked(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_tensor *record);
/** The number of updates enqueued on the host so far: an optimizer whose check
 *  or step belongs to an earlier number is READY again. Inside a capture the
 *  same holds, and the launch of a graph adds the updates that it has. */
uint64_t scaler_epoch(const ssq_scaler *scaler);
/** How much of a gradient was unscaled since the last update; scaler may be
 *  NULL. */
enum coverage scaler_unscaled(const ssq_scaler *scaler, const struct view *v);
/** Before gradients are unscaled: room for n of them, so that noting them
 *  cannot fail once the work is enqueued. A capture watches the scaler from
 *  here on. */
ssq_status scaler_unscale_begin(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                                const char *what);
/** Behind it: this memory holds a true gradient until the next update. */
void scaler_unscale_note(ssq_scaler *scaler, const struct view *v);

/** What an op that takes dloss calls, when it writes a gradient, before it is
 *  enqueued (bind, which may fail) and after (bound): if dloss is in a scaler's
 *  memory, its scale was used. dloss may be NULL. It is the buffer that knows
 *  its scaler, so that a loss needs no argument for one. */
ssq_status scale_bind(ssq_queue *queue, const ssq_tensor *dloss);
void scale_bound(const ssq_tensor *dloss);

void scaler_get(ssq_scaler *scaler); /* one more reference; not of NULL */
void scaler_put(ssq_scaler *scaler); /* one less; NULL is allowed */

#endif
