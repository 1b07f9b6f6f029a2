/* SPDX-License-Identifier: Apache-2.0 */
/* amp_norm.h - a group folds the three sums of norm.h, one for each class.
 *
 *     NORM_SHARED(lanes)
 *     float s0[NORM_OWN]; ..                an item's own lanes
 *     NORM_EACH(k) s0[k] = 0.0f; ..
 *     for (..)                              FOLD_LANES elements at a time
 *         NORM_EACH(k) { NORM_ADD(s, k, x of lane NORM_LANE(k)) }
 *     NORM_PUT(lanes, s)
 *     NORM_TREE(lanes)                      lanes[0], [256], [512]: the sums */
#ifndef KERNELS_AMP_AMP_NORM_H
#define KERNELS_AMP_AMP_NORM_H

#include "kernels/reduce/norm.h"

#if WG == 1
#define NORM_OWN     256
#define NORM_LANE(K) (K)
#define NORM_EACH(K) for (INDEX K = 0u; K < FOLD_LANES; K++)
#else
#if WG < 256
#define NORM_OWN (256 / WG)
#else
#define NORM_OWN 1
#endif
#define NORM_LANE(K) (LOCAL_ID + (K)*U32(WG))
#define NORM_EACH(K)                                                           \
    for (INDEX K = 0u; K < U32(NORM_OWN) && NORM_LANE(K) < FOLD_LANES; K++)
#endif
#define NORM_MID_AT    256u
#define NORM_BIG_AT    512u
#define NORM_SHARED(N) SHARED(float, N, 768)
#define NORM_ADD(S, K, X)                                                      \
    S##0 [K] = S##0 [K] + norm_add(X, NORM_SMALL);                             \
    S##1 [K] = S##1 [K] + norm_add(X, NORM_MID);                               \
    S##2 [K] = S##2 [K] + norm_add(X, NORM_BIG);
#define NORM_SUMS(S)                                                           \
    EXACT float S##0 [NORM_OWN];                                               \
    EXACT float S##1 [NORM_OWN];                                               \
    EXACT float S##2 [NORM_OWN];                                               \
    NORM_EACH(S##_k)                                                           \
    {                                                                          \
        S##0 [S##_k] = 0.0f;                                                   \
        S##1 [S##_k] = 0.0f;                                                   \
        S##2 [S##_k] = 0.0f;                                                   \
    }
#define NORM_PUT(N, S)                                                         \
    NORM_EACH(S##_p)                                                           \
    {                                                                          \
        N[NORM_LANE(S##_p)] = S##0 [S##_p];                                    \
        N[NORM_LANE(S##_p) + NORM_MID_AT] = S##1 [S##_p];                      \
        N[NORM_LANE(S##_p) + NORM_BIG_AT] = S##2 [S##_p];                      \
    }
#define NORM_JOIN(N, I, J) N[I] = N[I] + N[J];
/* Any item may read N[0] afterwards. Before N is written again: BARRIER(). */
#define NORM_TREE(N)                                                           \
    BARRIER();                                                                 \
    for (u32 N##_s = FOLD_LANES / 2u; N##_s > 0u; N##_s >>= 1u) {              \
        for (u32 N##_l = LOCAL_ID; N##_l < N##_s; N##_l += U32(WG)) {          \
            NORM_JOIN(N, N##_l, N##_l + N##_s)                                 \
            NORM_JOIN(N, N##_l + NORM_MID_AT, N##_l + NORM_MID_AT + N##_s)     \
            NORM_JOIN(N, N##_l + NORM_BIG_AT, N##_l + NORM_BIG_AT + N##_s)     \
        }                                                                      \
        BARRIER();                                                             \
    }

/* Fold COUNT partials of a list in the same order into UP[0], [256] and [512].
 * Class C of number I is AS_F32(AT(PARTS, (FIELD + C) * STRIDE + FROM + I)). N
 * and UP are NORM_SHARED. */
#define NORM_PARTIAL(PARTS, C, I) AS_F32(AT(PARTS, (C)*pc.parts + (I)))
#define NORM_PARTIALS(N, UP, PARTS, FIELD, FROM, COUNT)                        \
    for (u32 UP##_l = LOCAL_ID; UP##_l < 768u; UP##_l += U32(WG))              \
        UP[UP##_l] = 0.0f;                                                     \
    BARRIER();                                                                 \
    for (u32 UP##_c = 0u; UP##_c < (COUNT); UP##_c += FOLD_CHUNK) {            \
        u32 UP##_n = (COUNT)-UP##_c;                                           \
        UP##_n = UP##_n < FOLD_CHUNK ? UP##_n : FOLD_CHUNK;                    \
        NORM_SUMS(N##_s)                                                       \
        NORM_EACH(N##_k)                                                       \
        {                                                                      \
            for (u32 N##_j = NORM_LANE(N##_k); N##_j < UP##_n;                 \
                 N##_j += FOLD_LANES) {                                        \
                u32 N##_i = (FROM) + UP##_c + N##_j;                           \
                N##_s0[N##_k] =                                                \
                    N##_s0[N##_k] + NORM_PARTIAL(PARTS, FIELD, N##_i);         \
                N##_s1[N##_k] =                                                \
                    N##_s1[N##_k] + NORM_PARTIAL(PARTS, (FIELD) + 1u, N##_i);  \
                N##_s2[N##_k] =                                                \
                    N##_s2[N##_k] + NORM_PARTIAL(PARTS, (FIELD) + 2u, N##_i);  \
            }                                                                  \
        }                                                                      \
        NORM_PUT(N, N##_s)                                                     \
        NORM_TREE(N)                                                           \
        if (LOCAL_ID == 0u) {                                                  \
            u32 UP##_i = UP##_c / FOLD_CHUNK % FOLD_LANES;                     \
            NORM_JOIN2(UP, UP##_i, N, 0u)                                      \
            NORM_JOIN2(UP, UP##_i + NORM_MID_AT, N, NORM_MID_AT)               \
            NORM_JOIN2(UP, UP##_i + NORM_BIG_AT, N, NORM_BIG_AT)               \
        }                                                                      \
        BARRIER();                                                             \
    }                                                                          \
    NORM_TREE(UP)
#define NORM_JOIN2(N, I, M, J) N[I] = N[I] + M[J];

#endif
