/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - a launch whose elements draw the words of a random stream.
 *
 * Element i draws word base + i modulo 2^64. Philox makes four words at a time:
 * the counter of blocks of four has 62 bits. */
#ifndef KERNELS_RANDOM_STREAM_H
#define KERNELS_RANDOM_STREAM_H

#include "kernels/random/random.h"
#include "kernels/operands/tensor.h"

/* n elements. dense: all operands are contiguous, so that whole blocks of words
 * can be used. step is an operand; step_given 0: the step is 0. */
struct random_stream {
    u32 n;
    u32 dense;
    u32 seed_low;
    u32 seed_high;
    u32 id;
    u32 base_low;
    u32 base_high;
    u32 step_given;
};

/* Elements before the first whole block, and how many whole blocks. */
FN u32 stream_head(u32 base, u32 n)
{
    u32 head = (0u - base) & 3u;
    return head < n ? head : n;
}

/* The word of element I alone, of whose block the other three are thrown
 * away. */
#define STREAM_WORD(I, STEP)                                                   \
    random_u32(pc.stream.seed_low, pc.stream.seed_high, STEP, pc.stream.id,    \
               pc.stream.base_low + (I),                                       \
               pc.stream.base_high +                                           \
                   (pc.stream.base_low + (I) < pc.stream.base_low ? 1u : 0u))

/* Blocks that are made together: the loops over them, and over their words,
 * become vector instructions of a processor. */
#if WG == 1
#define STREAM_BLOCKS 32u
#else
#define STREAM_BLOCKS 1u
#endif

/* For a dense run: DENSE(i, word). Else, and at a dense run's edges, one by
 * one: STRIDED(i, word), which is right for a dense run too. */
#define EACH_WORD(DENSE, STRIDED)                                              \
    u32 sw_step = 0u;                                                          \
    if (pc.stream.step_given != 0u)                                            \
        sw_step = AT(step, 0u);                                                \
    u32 sw_head = stream_head(pc.stream.base_low, pc.stream.n);                \
    u32 sw_runs = pc.stream.dense != 0u                                        \
                      ? (pc.stream.n - sw_head) / (4u * STREAM_BLOCKS)         \
                      : 0u;                                                    \
    u32 sw_low = pc.stream.base_low + sw_head;                                 \
    u32 sw_high =                                                              \
        pc.stream.base_high + (sw_low < pc.stream.base_low ? 1u : 0u);         \
    u32 sw_block = (sw_low >> 2u) | (sw_high << 30u);                          \
    EACH(sw_r, sw_runs)                                                        \
    {                                                                          \
        u32 sw_words[4u * STREAM_BLOCKS];                                      \
        for (u32 sw_b = 0u; sw_b < STREAM_BLOCKS; sw_b++) {                    \
            u32 sw_c0 = sw_block + sw_r * STREAM_BLOCKS + sw_b;                \
            u32 sw_c1 = (sw_high >> 2u) + (sw_c0 < sw_block ? 1u : 0u);        \
            sw_c1 &= 0x3fffffffu; /* of 62 bits */                             \
            u32 sw_c2 = pc.stream.id;                                          \
            u32 sw_c3 = sw_step;                                               \
            PHILOX(sw_c0, sw_c1, sw_c2, sw_c3, pc.stream.seed_low,             \
                   pc.stream.seed_high)                                        \
            sw_words[4u * sw_b] = sw_c0;                                       \
            sw_words[4u * sw_b + 1u] = sw_c1;                                  \
            sw_words[4u * sw_b + 2u] = sw_c2;                                  \
            sw_words[4u * sw_b + 3u] = sw_c3;                                  \
        }                                                                      \
        u32 sw_first = sw_head + sw_r * (4u * STREAM_BLOCKS);                  \
        for (u32 sw_i = 0u; sw_i < 4u * STREAM_BLOCKS; sw_i++)                 \
            DENSE(sw_first + sw_i, sw_words[sw_i])                             \
    }                                                                          \
    u32 sw_done = sw_runs * (4u * STREAM_BLOCKS);                              \
    EACH(sw_e, pc.stream.n - sw_done)                                          \
    {                                                                          \
        u32 sw_i = sw_e < sw_head ? sw_e : sw_e + sw_done;                     \
        u32 sw_word = STREAM_WORD(sw_i, sw_step);                              \
        STRIDED(sw_i, sw_word)                                                 \
    }

#endif
