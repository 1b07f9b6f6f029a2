/* SPDX-License-Identifier: Apache-2.0 */
/* loops.h - how many iterations an item's loops count as.
 *
 * There are drivers that end all loops of an item after so many iterations of
 * all of them together (backend_limits.iterations). So each launch says what
 * its loops come to at most, for the largest of its tasks: the sum of its
 * loops, which are products where they are nested. The sums may be too large by
 * some, never too small. A loop that is UNROLLed, or FLAT on a GPU, is none.
 *
 *     for (u32 i = LOCAL_ID; i < n; i += WG)      loops_shared(l, n,
 *         for (u32 d = 0u; d < rank; d++)             loops_of(rank, 0)) */
#ifndef LIB_PLAN_LOOPS_H
#define LIB_PLAN_LOOPS_H

#include "lib/core/backend.h"

/** Of what no shape makes longer: the dimensions of a view, a tree over the
 *  items of a group, the steps of a division. */
#define LOOPS_WALK   8u
#define LOOPS_TREE   32u
#define LOOPS_DIVIDE 9u
#define LOOPS_FEW    64u

/** What plans divide by where no driver ends loops: after so many rounds in a
 *  row, some tens of ms on a slow device, a launch of few items would begin to
 *  look like one that hangs, which systems end after a second or two. */
#define LOOPS_WATCHED (UINT32_C(1) << 20)

/** A count that is too large anyway. */
#define LOOPS_MOST UINT32_MAX

/** A loop of n rounds, of which each counts body more; the round that finds
 *  that there is none is one, too. */
static inline uint64_t loops_of(uint64_t n, uint64_t body)
{
    n = n < LOOPS_MOST ? n : LOOPS_MOST;
    body = body < LOOPS_MOST - 1 ? body : LOOPS_MOST - 1;
    uint64_t all = n * (body + 1) + 1;
    return all < LOOPS_MOST ? all : LOOPS_MOST;
}

/** The same for n that the items of a group share. */
static inline uint64_t loops_shared(const struct backend_limits *l, uint64_t n,
                                    uint64_t body)
{
    return loops_of((uint64_t)size_div_up((int64_t)n, l->group), body);
}

#endif
