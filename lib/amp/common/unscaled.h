/* SPDX-License-Identifier: Apache-2.0 */
/* unscaled.h - the gradients that were unscaled since a scaler's last update.
 *
 * This is a set of memory, not of tensors: another tensor over the same bytes
 * is the same gradient. NULL is the empty set. A set with other references, for
 * example by snapshots of a capture, is copied before it changes. It holds the
 * buffers, so that no other tensor gets memory that the set calls unscaled. */
#ifndef LIB_AMP_COMMON_UNSCALED_H
#define LIB_AMP_COMMON_UNSCALED_H

#include "lib/core/core.h"

struct unscaled;

/** The part of a gradient that is in a set. */
enum coverage { COVER_NONE, COVER_PART, COVER_ALL };

/** Return the part of a gradient that is in the set; COVER_NONE for an empty
 * tensor. Also COVER_PART if regions and gradient share bytes that cannot be
 * counted, for example two different strided views of the same memory: callers
 * refuse these. */
enum coverage unscaled_covers(const struct unscaled *set, const struct view *v);
/** Return the number of regions: of added gradients that were not in the set.
 */
size_t unscaled_count(const struct unscaled *set);
/** Make *set unshared, with capacity for n more, so that unscaled_add() cannot
 * fail: it is called after the work was enqueued. NOMEM: *set is unchanged;
 * `what` begins the text. */
ssq_status unscaled_reserve(struct unscaled **set, size_t n, const char *what);
/** Add a gradient of which the set has all or nothing. Capacity is reserved. */
void unscaled_add(struct unscaled *set, const struct view *v);
void unscaled_get(struct unscaled *set);
void unscaled_put(struct unscaled *set);

#endif
