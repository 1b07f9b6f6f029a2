/* SPDX-License-Identifier: Apache-2.0 */
/* unscaled.h - the gradients that were unscaled since a scaler's last update.
 *
 * A set of memory, not of tensors: another tensor over the same bytes is the
 * same gradient. NULL is the empty set. A set that somebody else holds too (the
 * snapshots of a capture do) is copied before it changes. It holds the buffers:
 * no other tensor gets their memory while the set says that it is unscaled. */
#ifndef LIB_AMP_UNSCALED_H
#define LIB_AMP_UNSCALED_H

#include "lib/core/core.h"

struct unscaled;

/** How much of a gradient is in a set. */
enum coverage { COVER_NONE, COVER_PART, COVER_ALL };

/** How much of a gradient the set has; of an empty tensor COVER_NONE.
 *  COVER_PART also where regions and gradient share bytes that cannot be
 *  counted, two different strided views of the same memory: what is in doubt is
 *  refused. */
enum coverage unscaled_covers(const struct unscaled *set, const struct view *v);
/** Regions of the set: as many as gradients were added that it did not have. */
size_t unscaled_count(const struct unscaled *set);
/** Make *set the caller's alone, with room for n more, so that unscaled_add
 *  cannot fail: it is called where the work is enqueued already. NOMEM: *set is
 *  as it was; what begins the text. */
ssq_status unscaled_reserve(struct unscaled **set, size_t n, const char *what);
/** Add a gradient of which the set has all or nothing; there is room. */
void unscaled_add(struct unscaled *set, const struct view *v);
void unscaled_get(struct unscaled *set);
void unscaled_put(struct unscaled *set);

#endif
