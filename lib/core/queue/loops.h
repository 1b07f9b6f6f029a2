/* SPDX-License-Identifier: Apache-2.0 */
/* loops.h - count the iterations of an item's loops.
 *
 * Some drivers leave all loops of an item after a certain number of iterations
 * in total (backend_limits.iterations). Each launch therefore gives the largest
 * count over its tasks: the sum over its loops, where nested loops multiply. A
 * count may be somewhat too large, but never too small. Loops that are
 * UNROLLed, or FLAT on a GPU, do not count.
 *
 *     for (u32 i = LOCAL_ID; i < n; i += WG)      loops_shared(l, n,
 *         for (u32 d = 0u; d < rank; d++)             loops_of(rank, 0)) */
#ifndef LIB_CORE_QUEUE_LOOPS_H
#define LIB_CORE_QUEUE_LOOPS_H

#include "lib/core/module/backend.h"

/** Loops that do not depend on a shape: over the dimensions of a view, over the
 *  levels of a tree in a group, over the steps of a division. */
#define LOOPS_WALK   8u
#define LOOPS_TREE   32u
#define LOOPS_DIVIDE 9u
#define LOOPS_FEW    64u

/** The limit that plans use if the driver has none. After this many consecutive
 *  iterations, some tens of ms on a slow device, a launch with few items begins
 *  to look hung. Systems stop a hung launch after a second or two. */
#define LOOPS_WATCHED (UINT32_C(1) << 20)

/** The largest count. It is always over a driver's limit. */
#define LOOPS_MOST UINT32_MAX

/** Return the count of a loop of n rounds, each of which adds body. The final
 *  test that ends the loop counts as a round. */
static inline uint64_t loops_of(uint64_t n, uint64_t body)
{
    n = n < LOOPS_MOST ? n : LOOPS_MOST;
    body = body < LOOPS_MOST - 1 ? body : LOOPS_MOST - 1;
    uint64_t all = n * (body + 1) + 1;
    return all < LOOPS_MOST ? all : LOOPS_MOST;
}

/** The same for n rounds that the items of a group share. */
static inline uint64_t loops_shared(const struct backend_limits *l, uint64_t n,
                                    uint64_t body)
{
    return loops_of((uint64_t)size_div_up((int64_t)n, l->group), body);
}

#endif
