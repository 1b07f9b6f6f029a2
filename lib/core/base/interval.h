/* SPDX-License-Identifier: Apache-2.0 */
/* interval.h - a tree of byte ranges. It finds the ranges that overlap one, the
 * next before or after a byte, and the first that is long enough. */
#ifndef LIB_CORE_BASE_INTERVAL_H
#define LIB_CORE_BASE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/** A range of bytes, from..to - 1, of a space. Ranges of different spaces never
 *  overlap. The caller owns the memory and sets the first three members; the
 *  tree sets the others. */
struct interval {
    uintptr_t space;
    uint64_t from, to;
    struct interval *left, *right;
    uint64_t priority; /* at least the priority of each child */
    uint64_t last;     /* the greatest `to` of the node and its subtree */
    uint64_t longest;  /* the greatest `to` - `from` of these */
};

/* A tree is a pointer to its root; NULL is an empty tree. The time of a call
 * grows as the logarithm of the number of ranges, plus the number of ranges
 * passed to fn. */

/** Add a range. Other ranges may begin at the same byte. */
void interval_add(struct interval **tree, struct interval *s);
/** Remove a range that is in the tree. */
void interval_remove(struct interval **tree, const struct interval *s);

/** Called for a range that overlaps. Return false to end the search. */
typedef bool interval_fn(void *user, struct interval *s);
/** Call fn for each range of a space that contains a byte of from..to - 1, in
 *  order.
 *  @return false if fn did */
bool interval_overlapping(struct interval *tree, uintptr_t space, uint64_t from,
                          uint64_t to, interval_fn *fn, void *user);

/** Return the first range of at least `bytes` bytes, or NULL. */
struct interval *interval_first(struct interval *tree, uint64_t bytes);
/** Return the last range of a space that begins before a byte, or NULL. */
struct interval *interval_before(struct interval *tree, uintptr_t space,
                                 uint64_t at);
/** Return the first range of a space that begins at or after a byte, or NULL.
 */
struct interval *interval_after(struct interval *tree, uintptr_t space,
                                uint64_t at);

#endif
