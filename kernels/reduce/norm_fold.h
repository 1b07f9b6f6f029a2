/* SPDX-License-Identifier: Apache-2.0 */
/* norm_fold.h - a group folds one chunk of the three sums of
 * kernels/reduce/norm.h.
 *
 *     SHARED(float, least, FOLD_LANES)
 *     SHARED(float, mid, FOLD_LANES)
 *     SHARED(float, big, FOLD_LANES)
 *     ...
 *     #define TERMS(J, S, M, B) norm_terms of the chunk's element J
 *     FOLD_CHUNK_OF(least, mid, big, n, TERMS)   n <= FOLD_CHUNK
 *     now least[0], mid[0] and big[0] are the partials, for every item
 *     ...
 *     BARRIER();              before the three are written again
 *
 * TERMS is a statement, in braces, that sets the float locals S, M and B:
 * NORM_TERMS(x, S, M, B) for an element, or three partials of a level below.
 * The lanes are virtual: any size of a group does the same additions. */
#ifndef KERNELS_REDUCE_NORM_FOLD_H
#define KERNELS_REDUCE_NORM_FOLD_H

#include "kernels/reduce/norm.h"

#if WG < 256
#define FOLD_OWN (256 / WG)
#else
#define FOLD_OWN 1
#endif
#define EACH_FOLD(K) FLAT for (u32 K = 0u; K < U32(FOLD_OWN); K++)
#define FOLD_LANE(K) (LOCAL_ID + (K)*U32(WG))

#define NORM_TERMS(X, S, M, B)                                                 \
    {                                                                          \
        EXACT float norm_x = X;                                                \
        u32 norm_c = norm_class(norm_x);                                       \
        EXACT float norm_y = norm_term(norm_x);                                \
        S = norm_c == NORM_SMALL ? norm_y : 0.0f;                              \
        M = norm_c == NORM_MID ? norm_y : 0.0f;                                \
        B = norm_c == NORM_BIG ? norm_y : 0.0f;                                \
    }

#define FOLD_ADD(J, K, TERMS)                                                  \
    {                                                                          \
        EXACT float fold_s;                                                    \
        EXACT float fold_m;                                                    \
        EXACT float fold_b;                                                    \
        TERMS(J, fold_s, fold_m, fold_b)                                       \
        fold_s3[K] = fold_s3[K] + fold_s;                                      \
        fold_m3[K] = fold_m3[K] + fold_m;                                      \
        fold_b3[K] = fold_b3[K] + fold_b;                                      \
    }

/* An item that has no lane of the 256 does as one beyond them. */
#define FOLD_CHUNK_OF(SMALL, MID, BIG, N, TERMS)                               \
    {                                                                          \
        EXACT float fold_s3[FOLD_OWN];                                         \
        EXACT float fold_m3[FOLD_OWN];                                         \
        EXACT float fold_b3[FOLD_OWN];                                         \
        u32 fold_j = 0u;                                                       \
        EACH_FOLD(fold_k)                                                      \
        {                                                                      \
            fold_s3[fold_k] = 0.0f;                                            \
            fold_m3[fold_k] = 0.0f;                                            \
            fold_b3[fold_k] = 0.0f;                                            \
        }                                                                      \
        if (LOCAL_ID < FOLD_LANES) {                                           \
            for (; fold_j + FOLD_LANES <= (N); fold_j += FOLD_LANES)           \
                EACH_FOLD(fold_k)                                              \
            FOLD_ADD(fold_j + FOLD_LANE(fold_k), fold_k, TERMS)                \
            EACH_FOLD(fold_k)                                                  \
            if (fold_j + FOLD_LANE(fold_k) < (N))                              \
                FOLD_ADD(fold_j + FOLD_LANE(fold_k), fold_k, TERMS)            \
            EACH_FOLD(fold_k)                                                  \
            {                                                                  \
                SMALL[FOLD_LANE(fold_k)] = fold_s3[fold_k];                    \
                MID[FOLD_LANE(fold_k)] = fold_m3[fold_k];                      \
                BIG[FOLD_LANE(fold_k)] = fold_b3[fold_k];                      \
            }                                                                  \
        }                                                                      \
        FOLD_TREE(SMALL, MID, BIG)                                             \
    }

#define FOLD_TREE(SMALL, MID, BIG)                                             \
    BARRIER();                                                                 \
    for (u32 fold_h = FOLD_LANES / 2u; fold_h > 0u; fold_h >>= 1u) {           \
        EACH_FOLD(fold_k)                                                      \
        {                                                                      \
            u32 fold_l = FOLD_LANE(fold_k);                                    \
            if (fold_l < fold_h) {                                             \
                SMALL[fold_l] = SMALL[fold_l] + SMALL[fold_l + fold_h];        \
                MID[fold_l] = MID[fold_l] + MID[fold_l + fold_h];              \
                BIG[fold_l] = BIG[fold_l] + BIG[fold_l + fold_h];              \
            }                                                                  \
        }                                                                      \
        BARRIER();                                                             \
    }

#endif
