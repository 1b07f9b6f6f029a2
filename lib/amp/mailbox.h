/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.h - copies of a device block that arrive on the host when they do.
 *
 * Each post enqueues a copy into a letter that no unfinished copy of another
 * queue writes; a read looks only at letters whose copies are finished, so it
 * races with nothing and waits for nothing. A copy keeps the mailbox alive, not
 * what owns it. There is no lock: a mailbox is used by one thread at a time, as
 * the scaler or optimizer is that has it. */
#ifndef LIB_AMP_MAILBOX_H
#define LIB_AMP_MAILBOX_H

#include "lib/core/core.h"

struct mailbox;

/** For copies of n words.
 *  @param words  what a read finds before anything has arrived; copied
 *  @param magic  the index of a word of the block that is never 0 and never
 *                changes: a copy that has it has arrived, and was not dropped
 *                by a queue that failed
 *  @return NULL: no memory, text set. Drop with mailbox_put. */
struct mailbox *mailbox_create(const uint32_t *words, uint32_t n,
                               uint32_t magic);
void mailbox_put(struct mailbox *box);

/** Enqueue an op (NULL: none) and, behind it, a copy of the first words of the
 *  block, i32: both or neither. Not in a capture, since the letter that a
 *  launch should write is known only then; and not in a bundle, since the copy
 *  must have its place on the queue when this returns. */
ssq_status mailbox_post(struct mailbox *box, ssq_queue *queue, struct op *op,
                        const ssq_tensor *block);
/** The number of the last post, from 1. */
uint64_t mailbox_posted(const struct mailbox *box);

/** The words of the newest copy that has arrived.
 *  @return the number of its post; 0 none has */
uint64_t mailbox_read(struct mailbox *box, uint32_t *words);

#endif
