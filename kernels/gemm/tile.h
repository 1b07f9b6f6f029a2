/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - products of tiles in shared memory, shared out over a group.
 *
 * A tile of ROWS by COLS sums, multiples of 16 and of 64, belongs to a grid of
 * TILE_X by TILE_Y items: cell (r, i) of an item is row TILE_ROW(r) and column
 * TILE_COL(i), number r * TILE_OWN_COLS(COLS) + i of its private array. A group
 * of one item has all of them, and its inner loop goes along a row. */
#ifndef KERNELS_GEMM_TILE_H
#define KERNELS_GEMM_TILE_H

#include "kernels/dialect/dialect.h"

#if WG == 1
#define TILE_X 1
#elif WG <= 256
#define TILE_X 16
#else
#define TILE_X (WG / 16)
#endif
#define TILE_Y (WG / TILE_X)

#define TILE_OWN_ROWS(ROWS)   ((ROWS) / TILE_Y)
#define TILE_OWN_COLS(COLS)   ((COLS) / TILE_X)
#define TILE_OWN(ROWS, COLS)  (TILE_OWN_ROWS(ROWS) * TILE_OWN_COLS(COLS))
#define TILE_ROW(R)           (LOCAL_ID / U32(TILE_X) + (R)*U32(TILE_Y))
#define TILE_COL(I)           (LOCAL_ID % U32(TILE_X) + (I)*U32(TILE_X))
#define TILE_CELL(R, I, COLS) ((R)*U32(TILE_OWN_COLS(COLS)) + (I))

/* Each cell of this item. */
#define EACH_OWN_CELL(R, I, ROWS, COLS)                                        \
    ROLLED for (u32 R = 0u; R < U32(TILE_OWN_ROWS(ROWS)); R++)                 \
        ROLLED for (u32 I = 0u; I < U32(TILE_OWN_COLS(COLS)); I++)
#define EACH_OWN_SUM(E, ROWS, COLS)                                            \
    LANES_LOOP FLAT for (INDEX E = 0u; E < U32(TILE_OWN(ROWS, COLS)); E++)

/* Each cell of a tile, by any item; neighbours are in one row. */
#if WG == 1
#define EACH_CELL(R, C, ROWS, COLS)                                            \
    for (u32 R = 0u; R < U32(ROWS); R++)                                       \
        LANES_LOOP for (INDEX C = 0u; C < U32(COLS); C++)
#else
#define EACH_CELL(R, C, ROWS, COLS)                                            \
    for (u32 R##_e = LOCAL_ID; R##_e < U32((ROWS) * (COLS)); R##_e += U32(WG)) \
    FLAT for (u32 R##_one = 0u, R = R##_e / U32(COLS), C = R##_e % U32(COLS);  \
              R##_one < 1u; R##_one++)
#endif

/* Declares X, element I of A, which has N and belongs to an item. On a GPU an
 * array that is indexed by a variable is in memory: there the loop picks the
 * element out of registers. */
#if WG == 1
#define TILE_PICK(X, A, I, N) EXACT float X = A[I];
#else
#define TILE_PICK(X, A, I, N)                                                  \
    EXACT float X = A[0];                                                      \
    UNROLL for (u32 X##_e = 1u; X##_e < U32(N); X##_e++) if (X##_e == (I))     \
        X = A[X##_e];
#endif

/* Each of N, by any item. */
#define EACH_SHARED(E, N) for (u32 E = LOCAL_ID; E < U32(N); E += U32(WG))

/* ACC += A B: A [ROWS] rows A_STEP apart, B rows of COLS that are B_STEP apart,
 * depth K = TILE_DEPTH(n): elements after the n-th of both must be zero. */
#if WG == 1
#define TILE_DEPTH(N) (((N) + 3u) & ~3u)
#else
#define TILE_DEPTH(N) (N)
#endif
#if WG == 1
#define TILE_MULTIPLY(ACC, ROWS, COLS, A, A_STEP, B, B_STEP, K)                \
    for (u32 tm_r = 0u; tm_r < U32(ROWS); tm_r++)                              \
        for (u32 tm_k = 0u; tm_k < (K); tm_k += 4u) {                          \
            u32 tm_a = tm_r * U32(A_STEP) + tm_k;                              \
            TILE_ADD4(ACC, tm_r, COLS, A[tm_a], A[tm_a + 1u], A[tm_a + 2u],    \
                      A[tm_a + 3u], B, B_STEP, tm_k)                           \
        }
#define TILE_ADD4(ACC, R, COLS, A0, A1, A2, A3, B, B_STEP, K)                  \
    LANES_LOOP for (INDEX ta_i = 0u; ta_i < U32(COLS); ta_i++)                 \
        ACC[(R)*U32(COLS) + ta_i] = tile_add4(                                 \
            ACC[(R)*U32(COLS) + ta_i], A0, B[(K)*U32(B_STEP) + ta_i], A1,      \
            B[((K) + 1u) * U32(B_STEP) + ta_i], A2,                            \
            B[((K) + 2u) * U32(B_STEP) + ta_i], A3,                            \
            B[((K) + 3u) * U32(B_STEP) + ta_i]);
FN_INLINE float tile_add4(float sum, float a0, float b0, float a1, float b1,
                          float a2, float b2, float a3, float b3)
{
    EXACT float x = FMA(a0, b0, sum);

    x = FMA(a1, b1, x);
    x = FMA(a2, b2, x);
    return FMA(a3, b3, x);
}
#else
#define TILE_MULTIPLY(ACC, ROWS, COLS, A, A_STEP, B, B_STEP, K)                \
    for (u32 tm_k = 0u; tm_k < (K); tm_k++) {                                  \
        float tm_b[TILE_OWN_COLS(COLS)];                                       \
        FLAT for (u32 tm_i = 0u; tm_i < U32(TILE_OWN_COLS(COLS)); tm_i++)      \
            tm_b[tm_i] = B[tm_k * U32(B_STEP) + TILE_COL(tm_i)];               \
        FLAT for (u32 tm_r = 0u; tm_r < U32(TILE_OWN_ROWS(ROWS)); tm_r++)      \
        {                                                                      \
            EXACT float tm_a = A[TILE_ROW(tm_r) * U32(A_STEP) + tm_k];         \
            FLAT for (u32 tm_i = 0u; tm_i < U32(TILE_OWN_COLS(COLS)); tm_i++)  \
                ACC[TILE_CELL(tm_r, tm_i, COLS)] =                             \
                    FMA(tm_a, tm_b[tm_i], ACC[TILE_CELL(tm_r, tm_i, COLS)]);   \
        }                                                                      \
    }
#endif

/* The same where A is words of floats, from FROM on, of which TILE_SKIP, the
 * bits of a NaN that nothing computes, is not multiplied: not even with an
 * infinity. */
#define TILE_SKIP 0xffffffffu
#if WG == 1
#define TILE_MULTIPLY_SOME(ACC, ROWS, COLS, A, FROM, A_STEP, B, B_STEP, K)     \
    for (u32 tm_r = 0u; tm_r < U32(ROWS); tm_r++)                              \
        for (u32 tm_k = 0u; tm_k < (K); tm_k += 4u) {                          \
            u32 tm_a = (FROM) + tm_r * U32(A_STEP) + tm_k;                     \
            if (A[tm_a] != TILE_SKIP && A[tm_a + 1u] != TILE_SKIP &&           \
                A[tm_a + 2u] != TILE_SKIP && A[tm_a + 3u] != TILE_SKIP) {      \
                TILE_ADD4(ACC, tm_r, COLS, AS_F32(A[tm_a]),                    \
                          AS_F32(A[tm_a + 1u]), AS_F32(A[tm_a + 2u]),          \
                          AS_F32(A[tm_a + 3u]), B, B_STEP, tm_k)               \
                continue;                                                      \
            }                                                                  \
            for (u32 tm_j = 0u; tm_j < 4u; tm_j++) {                           \
                if (A[tm_a + tm_j] == TILE_SKIP)                               \
                    continue;                                                  \
                EXACT float tm_x = AS_F32(A[tm_a + tm_j]);                     \
                u32 tm_b = (tm_k + tm_j) * U32(B_STEP);                        \
                LANES_LOOP for (INDEX tm_i = 0u; tm_i < U32(COLS); tm_i++)     \
                    ACC[tm_r * U32(COLS) + tm_i] = FMA(                        \
                        tm_x, B[tm_b + tm_i], ACC[tm_r * U32(COLS) + tm_i]);   \
            }                                                                  \
        }
#else
#define TILE_MULTIPLY_SOME(ACC, ROWS, COLS, A, FROM, A_STEP, B, B_STEP, K)     \
    for (u32 tm_k = 0u; tm_k < (K); tm_k++) {                                  \
        float tm_b[TILE_OWN_COLS(COLS)];                                       \
        FLAT for (u32 tm_i = 0u; tm_i < U32(TILE_OWN_COLS(COLS)); tm_i++)      \
            tm_b[tm_i] = B[tm_k * U32(B_STEP) + TILE_COL(tm_i)];               \
        FLAT for (u32 tm_r = 0u; tm_r < U32(TILE_OWN_ROWS(ROWS)); tm_r++)      \
        {                                                                      \
            u32 tm_a = A[(FROM) + TILE_ROW(tm_r) * U32(A_STEP) + tm_k];        \
            if (tm_a == TILE_SKIP)                                             \
                continue;                                                      \
            FLAT for (u32 tm_i = 0u; tm_i < U32(TILE_OWN_COLS(COLS)); tm_i++)  \
                ACC[TILE_CELL(tm_r, tm_i, COLS)] =                             \
                    FMA(AS_F32(tm_a), tm_b[tm_i],                              \
                        ACC[TILE_CELL(tm_r, tm_i, COLS)]);                     \
        }                                                                      \
    }
#endif

#endif
