/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h - labels out of range: counted on the device beside the losses of a
 * trainer's passes, reported when their words have arrived.
 *
 * A block of device words has a record (ssq_index_check) for passes of training
 * and one for passes of evaluation. Its first two words differ if labels of the
 * current step were out of range: the optimizer's check reads them and skips
 * the step. With ranks the check reads the flag instead, which is summed with
 * the gradients, so that all ranks skip the step. */
#ifndef LIB_TRAIN_LABELS_H
#define LIB_TRAIN_LABELS_H

#include "lib/core/core.h"

struct labels;

/** Make the words and add their report to the queue.
 *  @param ranks  there are several */
ssq_status labels_create(ssq_queue *queue, bool ranks, struct labels **labels);
/** Drop them; NULL is allowed. */
void labels_destroy(struct labels *labels, ssq_queue *queue);

/** The two words for the optimizer's check. Borrowed. */
const ssq_tensor *labels_words(const struct labels *labels);
/** With ranks: the tensor to be summed over them. Borrowed. */
const ssq_tensor *labels_flag(const struct labels *labels);

/** Enqueue the check of a loss's labels. */
ssq_status labels_check(struct labels *labels, ssq_queue *queue, bool training,
                        const ssq_tensor *target, int64_t n,
                        int64_t ignore_index);
/** With ranks, before the sum over them: set the flag for this rank's passes of
 *  the step. */
ssq_status labels_raise(struct labels *labels, ssq_queue *queue);
/** The step was made or dropped: the next one begins without wrong labels. */
ssq_status labels_settle(struct labels *labels, ssq_queue *queue, bool summed);

/** Send the words to the host, if they may have changed; waits for nothing. */
ssq_status labels_send(struct labels *labels, ssq_queue *queue);
/** SSQ_ERR_INVALID, once, if words have arrived that say that labels were out
 *  of range; else SSQ_OK. */
ssq_status labels_tell(struct labels *labels);
/** True, once, after a report of labels of training: losses since the last one
 *  are NaN. */
bool labels_spoilt(struct labels *labels);

#endif
