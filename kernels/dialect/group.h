/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - what the items of a group find out together.
 *
 * A row is shared out over LANES lanes: lane l sees elements l, l + LANES, ...
 * An item of a GPU's group is one lane; a group of one item is all of them, in
 * an array that becomes vector registers:
 *
 *     SHARED(float, sum, LANES)
 *     ...
 *     float acc[OWN];
 *     EACH_OWN(k) acc[k] = 0.0f;
 *     u32 i = 0u;
 *     for (; i + U32(LANES) <= n; i += U32(LANES))
 *         EACH_OWN(k) acc[k] = acc[k] + x(i + LANE(k));
 *     EACH_OWN(k)
 *         if (i + LANE(k) < n) acc[k] = acc[k] + x(i + LANE(k));
 *     EACH_OWN(k) sum[LANE(k)] = acc[k];
 *     GROUP_SUM(sum)          now sum[0] is the sum, for every item
 *     ...
 *     BARRIER();              before sum is written again
 *
 * A chain of additions has ceil(n / LANES) + log2(LANES) links. */
#ifndef KERNELS_DIALECT_GROUP_H
#define KERNELS_DIALECT_GROUP_H

#include "kernels/dialect/dialect.h"

#if WG == 1
#define LANES 64
#else
#define LANES WG /* a power of two, at least 64 */
#endif
#define OWN         (LANES / WG)
#define EACH_OWN(K) LANES_LOOP FLAT for (INDEX K = 0u; K < U32(OWN); K++)
#define LANE(K)     (LOCAL_ID + (K)*U32(WG))

/* N[0] = F(...F(N[0], N[LANES / 2])...): a halving tree over N[LANES]. An item
 * goes through its own lanes below the half, no others: alone it has 63 sums
 * to make, not 6 times 64 lanes to look at. */
#define GROUP_FOLD(N, F)                                                       \
    BARRIER();                                                                 \
    for (u32 N##_half = U32(LANES) / 2u; N##_half > 0u; N##_half >>= 1u) {     \
        for (u32 N##_k = LOCAL_ID; N##_k < N##_half; N##_k += U32(WG))         \
            N[N##_k] = F(N[N##_k], N[N##_k + N##_half]);                       \
        BARRIER();                                                             \
    }
#define GROUP_ADD(A, B) ((A) + (B))
#define GROUP_SUM(N)    GROUP_FOLD(N, GROUP_ADD)

#endif
