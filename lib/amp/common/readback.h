/* SPDX-License-Identifier: Apache-2.0 */
/* readback.h - asynchronous readback of a device block.
 *
 * Each copy goes into a slot, which is host memory that no unfinished copy of
 * another queue writes. A read uses only slots whose copies have finished, so
 * it has no races and does not wait. A copy holds the readback, but not the
 * readback's owner. There is no lock: as its scaler or optimizer, a readback
 * may be used by one thread at a time. */
#ifndef LIB_AMP_COMMON_READBACK_H
#define LIB_AMP_COMMON_READBACK_H

#include "lib/core/core.h"

struct readback;

/** Create a readback for copies of n words.
 *  @param words  the result of a read before anything has arrived; copied
 *  @param magic  the index of a word of the block that is never 0 and never
 *                changes. A copy with this word has arrived, and was not
 *                dropped by a failed queue
 *  @return NULL: no memory; the text is set. Release it with readback_put(). */
struct readback *readback_create(const uint32_t *words, uint32_t n,
                                 uint32_t magic);
void readback_put(struct readback *r);

/** Enqueue an op (NULL: none) and then a copy of the first words of the block,
 *  i32: both or neither. Must not be called in a capture, because the slot is
 *  known only at a launch; nor in a bundle, because the copy must have its
 *  position on the queue when this returns. */
ssq_status readback_enqueue(struct readback *r, ssq_queue *queue, struct op *op,
                            const ssq_tensor *block);
/** Return the number of the last copy, from 1. */
uint64_t readback_enqueued(const struct readback *r);

/** Copy the words of the newest copy that has arrived.
 *  @return the number of that copy; 0 if none has arrived */
uint64_t readback_read(struct readback *r, uint32_t *words);

#endif
