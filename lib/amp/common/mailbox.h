/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.h - asynchronous readback of a device block.
 *
 * Each post enqueues a copy into a letter that no unfinished copy of another
 * queue writes. A read uses only letters whose copies have finished, so it has
 * no races and does not wait. A copy holds the mailbox, but not the mailbox's
 * owner. There is no lock: as its scaler or optimizer, a mailbox may be used by
 * one thread at a time. */
#ifndef LIB_AMP_COMMON_MAILBOX_H
#define LIB_AMP_COMMON_MAILBOX_H

#include "lib/core/core.h"

struct mailbox;

/** Create a mailbox for copies of n words.
 *  @param words  the result of a read before anything has arrived; copied
 *  @param magic  the index of a word of the block that is never 0 and never
 *                changes. A copy with this word has arrived, and was not
 * dropped by a failed queue
 *  @return NULL: no memory; the text is set. Release it with mailbox_put(). */
struct mailbox *mailbox_create(const uint32_t *words, uint32_t n,
                               uint32_t magic);
void mailbox_put(struct mailbox *box);

/** Enqueue an op (NULL: none) and then a copy of the first words of the block,
 *  i32: both or neither. Must not be called in a capture, because the letter is
 *  known only at a launch; nor in a bundle, because the copy must have its
 *  position on the queue when this returns. */
ssq_status mailbox_post(struct mailbox *box, ssq_queue *queue, struct op *op,
                        const ssq_tensor *block);
/** Return the number of the last post, from 1. */
uint64_t mailbox_posted(const struct mailbox *box);

/** Copy the words of the newest copy that has arrived.
 *  @return the number of its post; 0 if none has arrived */
uint64_t mailbox_read(struct mailbox *box, uint32_t *words);

#endif
