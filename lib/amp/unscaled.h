/* SPDX-License-Identifier: Apache-2.0 */
/* unscaled.h - the gradients that were unscaled since a scaler's last update.
 *
 * A set of memory, not of tensors: another tensor over the same bytes is the
 * same gradient. NULL is the empty set. A set that somebody else holds too is
 * copied before it changes. */
#ifndef LIB_AMP_UNSCALED_H
#define LIB_AMP_UNSCALED_H

#include "lib/core/core.h"

struct unscaled;

/** How much of a gradient is in a set. */
enum coverage { COVER_NONE, COVER_PART, COVER_ALL };

/** Of an empty tensor: COVER_NONE. */
enum coverage unscaled_covers(const struct unscaled *set, const struct view *v);
/** Regions of the set. */
size_t unscaled_count(const struct unscaled *set);
/** Make *set the caller's alone, with room for n more. */
ssq_status unscaled_reserve(struct unscaled **set, size_t n, const char *what);
/** Add a gradient of which the set has all or nothing; there is room. */
void unscaled_add(struct unscaled *set, const struct view *v);
void unscaled_get(struct unscaled *set);
void unscaled_put(struct unscaled *set);

#endif
