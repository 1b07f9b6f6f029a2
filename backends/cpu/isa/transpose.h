/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - LANES vectors as a square matrix: rows become columns.
 *
 * Each round exchanges blocks of words between pairs of vectors: single words,
 * then two of them, and with wider vectors blocks of four. */
#ifndef BACKENDS_CPU_ISA_TRANSPOSE_H
#define BACKENDS_CPU_ISA_TRANSPOSE_H

#include "backends/cpu/isa/vector.h"

#if LANES == 16
#define ONES_LOW   0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define ONES_HIGH  2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define PAIRS_LOW  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define PAIRS_HIGH 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define FOURS_EVEN 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define FOURS_ODD  4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#elif LANES == 8
#define ONES_LOW   0, 8, 1, 9, 4, 12, 5, 13
#define ONES_HIGH  2, 10, 3, 11, 6, 14, 7, 15
#define PAIRS_LOW  0, 1, 8, 9, 4, 5, 12, 13
#define PAIRS_HIGH 2, 3, 10, 11, 6, 7, 14, 15
#define FOURS_EVEN 0, 1, 2, 3, 8, 9, 10, 11
#define FOURS_ODD  4, 5, 6, 7, 12, 13, 14, 15
#else
#define ONES_LOW   0, 4, 1, 5
#define ONES_HIGH  2, 6, 3, 7
#define PAIRS_LOW  0, 1, 4, 5
#define PAIRS_HIGH 2, 3, 6, 7
#endif

/* In each four rows, within blocks of four columns. */
INLINE void transpose_fours(words r[LANES])
{
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i += 4) {
        words a = SHUFFLE(r[i], r[i + 1], ONES_LOW);
        words b = SHUFFLE(r[i], r[i + 1], ONES_HIGH);
        words c = SHUFFLE(r[i + 2], r[i + 3], ONES_LOW);
        words d = SHUFFLE(r[i + 2], r[i + 3], ONES_HIGH);
        r[i] = SHUFFLE(a, c, PAIRS_LOW);
        r[i + 1] = SHUFFLE(a, c, PAIRS_HIGH);
        r[i + 2] = SHUFFLE(b, d, PAIRS_LOW);
        r[i + 3] = SHUFFLE(b, d, PAIRS_HIGH);
    }
}

#if LANES > 4
/* Blocks of four columns, between vectors that are `apart`. */
INLINE void exchange_fours(words r[LANES], int apart)
{
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        if ((i & apart) == 0) {
            words even = SHUFFLE(r[i], r[i + apart], FOURS_EVEN);
            words odd = SHUFFLE(r[i], r[i + apart], FOURS_ODD);
            r[i] = even;
            r[i + apart] = odd;
        }
}
#endif

INLINE void transpose(words r[LANES])
{
    transpose_fours(r);
#if LANES == 8
    exchange_fours(r, 4);
#elif LANES == 16
    exchange_fours(r, 4);
    exchange_fours(r, 8);
#endif
}

#endif
