/* SPDX-License-Identifier: Apache-2.0 */
/* totals.h - the greatest score and the sum of exponentials of each query,
 * block of keys after block.
 *
 * Shared: s, of ROWS by ATTENTION_COLS words; part, of ROWS * PARTS; most,
 * total and next, of ROWS. most begins as ATTENTION_NONE, total as 0. */
#ifndef KERNELS_ATTENTION_TOTALS_H
#define KERNELS_ATTENTION_TOTALS_H

#include "kernels/attention/attention.h"
#include "kernels/scalar/exp_neg.h"

/* Parts in which a row of scores is folded. */
#define PARTS 4
#define PART  (ATTENTION_COLS / PARTS)

/* Writes into s the scores of queries I0 on and keys J0 on, as bits. */
#define SCORES(PRODUCT, MASK, I0, J0)                                          \
    EACH_OWN_CELL(r, c, ROWS, ATTENTION_COLS)                                  \
    {                                                                          \
        u32 i = I0 + TILE_ROW(r);                                              \
        u32 j = J0 + TILE_COL(c);                                              \
        TILE_PICK(x, PRODUCT, TILE_CELL(r, c, ATTENTION_COLS),                 \
                  TILE_OWN(ROWS, ATTENTION_COLS))                              \
        EXACT float score = ATTENTION_SCORE(x, MASK, i, j);                    \
        s[TILE_ROW(r) * U32(ATTENTION_COLS) + TILE_COL(c)] = AS_U32(score);    \
    }                                                                          \
    BARRIER();
/* Write into next the greatest score of each query up to this block. PARTS
 * items share a row. */
#define GREATEST                                                               \
    EACH_SHARED(e, ROWS *PARTS)                                                \
    {                                                                          \
        EXACT float m = ATTENTION_NONE;                                        \
        for (u32 n = 0u; n < U32(PART); n++) {                                 \
            EXACT float x = AS_F32(s[e * U32(PART) + n]);                      \
            m = x > m ? x : m;                                                 \
        }                                                                      \
        part[e] = m;                                                           \
    }                                                                          \
    BARRIER();                                                                 \
    EACH_SHARED(r, ROWS)                                                       \
    {                                                                          \
        EXACT float m = most[r];                                               \
        for (u32 n = 0u; n < U32(PARTS); n++) {                                \
            EXACT float x = part[r * U32(PARTS) + n];                          \
            m = x > m ? x : m;                                                 \
        }                                                                      \
        next[r] = m;                                                           \
    }                                                                          \
    BARRIER();
/* Turns s into exp(score - greatest), and adds these up into part. A key that
 * is not seen becomes TILE_SKIP: its vector is not multiplied at all, since 0
 * times an infinite value would be NaN. */
#define WEIGHTS                                                                \
    EACH_CELL(r, c, ROWS, ATTENTION_COLS)                                      \
    {                                                                          \
        u32 at = r * U32(ATTENTION_COLS) + c;                                  \
        EXACT float x = AS_F32(s[at]);                                         \
        EXACT float e = s_exp_neg(x - next[r]);                                \
        s[at] = x == ATTENTION_NONE ? TILE_SKIP : AS_U32(s_canonical(e));      \
    }                                                                          \
    BARRIER();                                                                 \
    EACH_SHARED(e, ROWS *PARTS)                                                \
    {                                                                          \
        EXACT float x = 0.0f;                                                  \
        for (u32 n = 0u; n < U32(PART); n++) {                                 \
            u32 word = s[e * U32(PART) + n];                                   \
            x = x + (word == TILE_SKIP ? 0.0f : AS_F32(word));                 \
        }                                                                      \
        part[e] = x;                                                           \
    }                                                                          \
    BARRIER();
/* Update total and most with this block. KEEP(r, the share of earlier blocks in
 * the total of query r, its total). A query that has seen no key
 * yet has a total of 0. */
#define TOTALS(KEEP)                                                           \
    EACH_SHARED(r, ROWS)                                                       \
    {                                                                          \
        EXACT float old = 0.0f;                                                \
        if (most[r] != ATTENTION_NONE)                                         \
            old = total[r] * s_exp_neg(most[r] - next[r]);                     \
        EXACT float x = old;                                                   \
        for (u32 n = 0u; n < U32(PARTS); n++)                                  \
            x = x + part[r * U32(PARTS) + n];                                  \
        total[r] = x;                                                          \
        most[r] = next[r];                                                     \
        KEEP(r, old, x)                                                        \
    }                                                                          \
    BARRIER();

#endif
