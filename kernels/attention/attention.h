/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - what the kernels of attention share: parameters, and scores.
 *
 * A group has a block of ATTENTION_ROWS_OF(WG) rows, queries or keys, and goes
 * over blocks of ATTENTION_COLS of the others. Products are made of pieces of
 * ATTENTION_DEPTH elements of their vectors. */
#ifndef KERNELS_ATTENTION_ATTENTION_H
#define KERNELS_ATTENTION_ATTENTION_H

#include "kernels/operands/either.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/random/random.h"
#include "kernels/gemm/tile.h"

/* Rows and columns of a block of scores, and the depth of a piece. */
#define ATTENTION_ROWS_OF(GROUP) ((GROUP) == 1 ? 32 : 16)
#define ATTENTION_COLS           64
#define ATTENTION_DEPTH          32

/* Parameters that all kernels of attention share. The arrays _step are in
 * elements, from batch to batch, head to head and index to index, and for the
 * mask from key to key as well. A query i sees the keys before i + 1 + ahead -
 * back: all of them without a causal mask, where ahead is large. */
struct attention_shared {
    u32 tasks;
    u32 chunks; /* of a result's columns */
    u32 blocks; /* of rows */
    u32 heads;
    u32 group; /* heads that share a head of keys */
    u32 tq; /* queries */
    u32 tk; /* keys */
    u32 d;  /* elements of a query and a key */
    u32 dv; /* elements of a value */
    u32 ahead;
    u32 back;
    float scale;
    float softcap; /* 0: none */
    u32 dtype;      /* of q, k and v */
    u32 mask_dtype; /* 0: none */
    u32 dropout;   /* weights are dropped, by random words: */
    u32 threshold;
    u32 seed_low;
    u32 seed_high;
    u32 id;
    u32 base_low;
    u32 base_high;
    u32 step_given;
    float keep; /* 0: all are dropped */
    u32 mask_step[4];
    u32 q_step[3];
    u32 k_step[3];
    u32 v_step[3];
    u32 lse_step[3];
};

/* One past the last key that query i sees. */
FN u32 attention_end(u32 i, u32 ahead, u32 back, u32 tk)
{
    u32 end = i + 1u + ahead;

    end = end > back ? end - back : 0u;
    return end < tk ? end : tk;
}

/* The first query that sees key j. */
FN u32 attention_begin(u32 j, u32 ahead, u32 back)
{
    return j + back > ahead ? j + back - ahead : 0u;
}

/* Which word of the random stream decides on the weight of query row `row`, of
 * all, and key j: base + row tk + j in 64 bits, of which this is the low half
 * or, with high, the high one. */
FN u32 attention_word(u32 base_low, u32 base_high, u32 row, u32 tk, u32 j,
                      bool high)
{
    u32 a = row * tk;
    u32 b = a + j;
    u32 c = b + base_low;
    u32 carry = (b < a ? 1u : 0u) + (c < b ? 1u : 0u);

    return high ? u32_mul_high(row, tk) + base_high + carry : c;
}

/* x rounded to the dtype of q, k and v, and back: the value that a product with
 * a weight of that dtype would see. */
FN float attention_round(float x, u32 dtype)
{
    return dtype == DT_F32 ? x : cell_2(to_cell_2(x, dtype), dtype);
}

/* The score of a key that is not seen: its weight is exactly 0. */
#define ATTENTION_NONE AS_F32(F32_INF | F32_SIGN)

/* The mask's term of a score. The head's part of the mask begins at MASK. A
 * mask of bytes says which keys are seen, one of floats is added. */
#define ATTENTION_MASK_AT(MASK, I, J)                                          \
    ((MASK) + (I)*pc.both.mask_step[2] + (J)*pc.both.mask_step[3])
#define ATTENTION_MASK_BITS(X) ((X) != 0u ? 0.0f : ATTENTION_NONE)
#define ATTENTION_MASK(MASK, I, J)                                             \
    (pc.both.mask_dtype == 0u ? 0.0f                                           \
     : pc.both.mask_dtype == DT_U8                                             \
         ? ATTENTION_MASK_BITS(                                                \
               U32(AT(mask1, ATTENTION_MASK_AT(MASK, I, J))))                  \
         : LOAD_EITHER(mask, ATTENTION_MASK_AT(MASK, I, J),                    \
                       pc.both.mask_dtype))

/* The score of a query and a key that it sees. Where the mask has -inf the
 * score is that, for any product: inf - inf would be NaN. */
FN float attention_score(float product, float mask, float scale, float softcap)
{
    EXACT float score = scale * product;

    if (softcap != 0.0f) {
        EXACT float x = s_div(score, softcap);

        score = softcap * s_tanh(x);
    }
    score = score + mask;
    return mask == ATTENTION_NONE ? mask : score;
}
/* That of query I and key J. A key that is out of reach, or not there, has
 * none. */
#define ATTENTION_SCORE(PRODUCT, MASK, I, J)                                   \
    ((I) < pc.both.tq && (J) < attention_end(I, pc.both.ahead, pc.both.back,   \
                                             pc.both.tk)                       \
         ? attention_score(PRODUCT, ATTENTION_MASK(MASK, I, J),                \
                           pc.both.scale, pc.both.softcap)                     \
         : ATTENTION_NONE)

/* Is the weight of query row ROW, of all, and key J dropped? */
#define ATTENTION_DROPS(ROW, J, STEP)                                          \
    random_chance(                                                             \
        random_u32(pc.both.seed_low, pc.both.seed_high, STEP, pc.both.id,      \
                   attention_word(pc.both.base_low, pc.both.base_high, ROW,    \
                                  pc.both.tk, J, false),                       \
                   attention_word(pc.both.base_low, pc.both.base_high, ROW,    \
                                  pc.both.tk, J, true)),                       \
        pc.both.threshold, pc.both.keep == 0.0f)

/* SUM += products of ROWS vectors and COLS others, N long: VECTOR(t, c) and
 * OTHER(t, c) are elements c of vectors t, of which the given number exists.
 * Shared: a and b. */
#define ATTENTION_PRODUCTS(SUM, N, VECTOR, VECTORS, OTHER, OTHERS)             \
    for (u32 ap_c = 0u; ap_c < (N); ap_c += U32(ATTENTION_DEPTH)) {            \
        u32 ap_n = (N)-ap_c;                                                   \
        ap_n = ap_n < U32(ATTENTION_DEPTH) ? ap_n : U32(ATTENTION_DEPTH);      \
        EACH_CELL(ap_r, ap_k, ROWS, ATTENTION_DEPTH)                           \
        {                                                                      \
            EXACT float ap_x = 0.0f;                                           \
            if (ap_r < (VECTORS) && ap_k < ap_n)                               \
                ap_x = VECTOR(ap_r, ap_c + ap_k);                              \
            a[ap_r * U32(ATTENTION_DEPTH) + ap_k] = ap_x;                      \
        }                                                                      \
        EACH_CELL(ap_j, ap_l, ATTENTION_COLS, ATTENTION_DEPTH)                 \
        {                                                                      \
            EXACT float ap_y = 0.0f;                                           \
            if (ap_j < (OTHERS) && ap_l < ap_n)                                \
                ap_y = OTHER(ap_j, ap_c + ap_l);                               \
            b[ap_l * U32(TURNED) + ap_j] = ap_y;                               \
        }                                                                      \
        BARRIER();                                                             \
        TILE_MULTIPLY(SUM, ROWS, ATTENTION_COLS, a, ATTENTION_DEPTH, b,        \
                      TURNED, TILE_DEPTH(ap_n))                                \
        BARRIER();                                                             \
    }

/* Rows of b between turned vectors: one more, for the banks of a GPU. */
#define TURNED (WG == 1 ? ATTENTION_COLS : ATTENTION_COLS + 1)

/* SUM += the words in s times vectors: VECTOR(t, c) is element c of vector t of
 * the ones that s has columns for, and there are N of them; the tile's columns
 * begin at FROM of DV. Shared: s and b, with room for PIECE vectors. */
#define ATTENTION_GATHER(SUM, N, VECTOR, FROM, DV)                             \
    for (u32 ag_j = 0u; ag_j < (N); ag_j += U32(PIECE)) {                      \
        EACH_CELL(ag_r, ag_c, PIECE, CHUNK)                                    \
        {                                                                      \
            EXACT float ag_x = 0.0f;                                           \
            if (ag_j + ag_r < (N) && (FROM) + ag_c < (DV))                     \
                ag_x = VECTOR(ag_j + ag_r, (FROM) + ag_c);                     \
            b[ag_r * U32(CHUNK) + ag_c] = ag_x;                                \
        }                                                                      \
        BARRIER();                                                             \
        TILE_MULTIPLY_SOME(SUM, ROWS, CHUNK, s, ag_j, ATTENTION_COLS, b,       \
                           CHUNK, U32(PIECE))                                  \
        BARRIER();                                                             \
    }

#endif
