/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h - labels out of range: counted on the device together with the
 * losses of a trainer, and reported when the words have arrived on the host.
 *
 * A block of device words has one record (ssq_index_check()) for training
 * passes and one for evaluation passes. Its first two words differ if labels of
 * the current step were out of range. The optimizer's check reads them and
 * skips the step.
 *
 * If there are several ranks, the check reads the flag instead. The flag is
 * summed with the gradients, so that all ranks skip the step. */
#ifndef LIB_TRAIN_LABELS_H
#define LIB_TRAIN_LABELS_H

#include "lib/core/core.h"

struct labels;

/** Create the words and add their report to the queue.
 *  @param ranks  true if there are several ranks */
ssq_status labels_create(ssq_queue *queue, bool ranks, struct labels **labels);
/** Remove the report and release the words. NULL is allowed. */
void labels_destroy(struct labels *labels, ssq_queue *queue);

/** Return the two words for the optimizer's check. Borrowed. */
const ssq_tensor *labels_words(const struct labels *labels);
/** Return the flag that is summed over ranks, or NULL if there is only one
 *  rank. Borrowed. */
const ssq_tensor *labels_flag(const struct labels *labels);

/** Enqueue the check of a loss's labels. */
ssq_status labels_check(struct labels *labels, ssq_queue *queue, bool training,
                        const ssq_tensor *target, int64_t n,
                        int64_t ignore_index);
/** Set the flag for this rank's passes of the step. Call it only if there are
 *  several ranks, before the sum over them. */
ssq_status labels_set_flag(struct labels *labels, ssq_queue *queue);
/** Begin the next step without wrong labels, after a step was made or dropped.
 *  @param summed  the flag was summed over ranks */
ssq_status labels_clear(struct labels *labels, ssq_queue *queue, bool summed);

/** Send the words to the host if they may have changed. Never waits. */
ssq_status labels_send(struct labels *labels, ssq_queue *queue);
/** Report labels out of range, if words that say so have arrived.
 *  @return SSQ_ERR_INVALID once for each report; otherwise SSQ_OK */
ssq_status labels_get_error(struct labels *labels);
/** Return true once after labels of training were reported. The losses since
 *  the previous report are NaN. */
bool labels_take_nan(struct labels *labels);

#endif
