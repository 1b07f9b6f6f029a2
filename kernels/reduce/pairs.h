/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - sums of any length whose chains of additions stay short.
 *
 * LINKS steps are added one after the other: a block. Two blocks are added to
 * one of twice the length, two of those again, as a binary counter carries:
 * SAVED has one sum for each bit of the number of blocks. n steps make a chain
 * of LINKS + log2(n / LINKS) links, for each element of ACC:
 *
 *     float acc[T], saved[T * PAIR_LEVELS];
 *     u32 blocks = 0u;
 *     EACH_T(k) acc[k] = EMPTY;
 *     PAIRS(acc, saved, T, EACH_T, blocks, steps, links, EMPTY, JOIN, STEP)
 *     ...                          LINKS - 1 steps may be left, and one more
 *     PAIRS_END(acc, saved, T, EACH_T, blocks, JOIN)
 *
 * STEP(I) is a statement that joins step I to all of acc. */
#ifndef KERNELS_REDUCE_PAIRS_H
#define KERNELS_REDUCE_PAIRS_H

#include "kernels/dialect/dialect.h"

/* As many as a sum of 2^31 steps in blocks of 64, or 2^26 in blocks of 2. */
#define PAIR_LEVELS 26

#define PAIRS(ACC, SAVED, T, EACH_T, BLOCKS, STEPS, LINKS, EMPTY, JOIN, STEP)  \
    {                                                                          \
        u32 pair_i = 0u;                                                       \
        while (pair_i + (LINKS) <= (STEPS)) {                                  \
            u32 pair_e = pair_i + (LINKS);                                     \
            for (; pair_i < pair_e; pair_i++)                                  \
                STEP(pair_i)                                                   \
            u32 pair_at = 0u;                                                  \
            for (u32 pair_b = BLOCKS; (pair_b & 1u) != 0u; pair_b >>= 1u) {    \
                EACH_T(pair_k)                                                 \
                ACC[pair_k] = JOIN(SAVED[pair_at + pair_k], ACC[pair_k]);      \
                pair_at += U32(T);                                             \
            }                                                                  \
            EACH_T(pair_k)                                                     \
            {                                                                  \
                SAVED[pair_at + pair_k] = ACC[pair_k];                         \
                ACC[pair_k] = EMPTY;                                           \
            }                                                                  \
            BLOCKS++;                                                          \
        }                                                                      \
        for (; pair_i < (STEPS); pair_i++)                                     \
            STEP(pair_i)                                                       \
    }

#define PAIRS_END(ACC, SAVED, T, EACH_T, BLOCKS, JOIN)                         \
    {                                                                          \
        u32 pair_at = 0u;                                                      \
        for (u32 pair_b = BLOCKS; pair_b != 0u; pair_b >>= 1u) {               \
            if ((pair_b & 1u) != 0u) {                                         \
                EACH_T(pair_k)                                                 \
                ACC[pair_k] = JOIN(SAVED[pair_at + pair_k], ACC[pair_k]);      \
            }                                                                  \
            pair_at += U32(T);                                                 \
        }                                                                      \
    }

#endif
