/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.h - a scaler's inside, for the ops and optimizers that use it. */
#ifndef LIB_AMP_SCALER_H
#define LIB_AMP_SCALER_H

#include <sesqui/amp/scaler.h>

#include "kernels/amp.h"
#include "lib/core.h"

/** block |= verdict of a check record. One thread. */
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

/** The device words, i32 [SCALER_WORDS]; lives as long as the scaler. */
const ssq_tensor *scaler_block(const ssq_scaler *scaler);
/** INVALID unless the scaler is of the queue's device and its scale was used
 *  (ssq_scaler_scale or _scale_tensor) since it was made. what:
 *  "optimizer_step" begins the text. */
ssq_status scaler_ready(const ssq_queue *queue, const ssq_scaler *scaler,
                        const char *what);
/** After a check was enqueued: call the rank hook on the record's verdict and
 *  enqueue the join. From now on an update is legal. A capture watches the
 *  scaler from here on. */
ssq_status scaler_checked(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_tensor *record);
/** The number of updates enqueued on the host so far: an optimizer whose check
 *  or step belongs to an earlier number is READY again. Inside a capture the
 *  same holds. */
uint64_t scaler_epoch(const ssq_scaler *scaler);
void scaler_get(ssq_scaler *scaler); /* one more reference */
void scaler_put(ssq_scaler *scaler);

#endif
