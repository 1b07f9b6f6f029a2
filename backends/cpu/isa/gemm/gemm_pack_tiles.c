/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_pack_tiles.c - factors of a gemm into panels as the processor's tiles
 * are loaded: 16 rows of 64 bytes, one after the other.
 *
 * A panel is 32 lines. For each 32 elements of k it has two tiles, of its first
 * 16 lines and of its last ones; if words are halves, the high parts of both,
 * then the low parts:
 *
 *     a   a row of a tile is a line: 16 words, pairs of neighbours in k
 *     b   a row of a tile is a word of each of 16 lines
 *
 * f16 is cut into two bf16s whose sum it is: the high part is it rounded to
 * nearest, the low part is the rest, which has no more than 3 bits. None of
 * them is subnormal, since f16 begins at 2^-24. */
#include "backends/cpu/isa/gemm/gemm.h"

#include "backends/cpu/isa/gemm/across.h"
#include "backends/cpu/isa/transpose.h"

#define LINES 32u  /* of a panel */
#define ROWS  16u  /* of a tile */
#define WORDS 16u  /* of its row */
#define DEEP  32u  /* elements of k in a row */
#define TILE  256u /* words of a tile */

/* The source of a panel and its place: all constants. */
struct form {
    bool halves;
    bool rows;  /* a's: a row of a tile is a line */
    bool along; /* the source is contiguous along k */
};

INLINE floats of_f16(words x)
{
    return floats_of_f16(halves_of_words(x));
}

/* To nearest even, for finite values; bf16 is the upper half. */
INLINE words rounded(floats x)
{
    words u = (words)x;
    return (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
}

/* Pairs of f16 as pairs of their high and of their low parts. Words with an
 * element that has none are added to *bad. */
INLINE void split(words x, words *high, words *low, words *bad)
{
    const words first = x & 0x7c00u, second = x & 0x7c000000u;
    floats a = of_f16(x & 0xffffu), b = of_f16(x >> 16);
    words ha = rounded(a), hb = rounded(b);
    *bad |= (words)(first == 0x7c00u) | (words)(second == 0x7c000000u);
    *high = ha >> 16 | hb;
    *low =
        (words)(a - (floats)ha) >> 16 | ((words)(b - (floats)hb) & 0xffff0000u);
}

/* Word `word` of line `line`, both of a pair of tiles. */
INLINE float *place(const struct form f, float *to, uint32_t line,
                    uint32_t word)
{
    to += line / ROWS * TILE;
    return f.rows ? to + line % ROWS * WORDS + word
                  : to + word * WORDS + line % ROWS;
}

/* LANES lines by LANES words, from p on: `lines` of them and `depth` elements
 * of k exist. `step` is bytes to the next line, or along k. */
INLINE void square(const struct form f, const char *p, int64_t step,
                   uint32_t lines, uint32_t depth, float *to, uint32_t line,
                   uint32_t word, words *bad)
{
    words high[LANES], low[LANES];
#pragma GCC unroll 16
    for (uint32_t i = 0; i < LANES; i++) {
        words x = {0};
        if (f.along && i < lines && depth > 0)
            x = along(BF16_PAIRS, p + i * step, depth);
        else if (!f.along && 2 * i < depth && lines > 0)
            x = across(BF16_PAIRS, p + 2 * i * step, step, 2 * i + 1 < depth,
                       lines);
        high[i] = x;
        if (f.halves)
            split(x, &high[i], &low[i], bad);
    }
    if (f.along != f.rows) {
        transpose(high);
        if (f.halves)
            transpose(low);
    }
#pragma GCC unroll 16
    for (uint32_t i = 0; i < LANES; i++) {
        float *at = f.rows ? place(f, to, line + i, word)
                           : place(f, to, line, word + i);
        words_store(at, high[i]);
        if (f.halves)
            words_store(at + 2 * TILE, low[i]);
    }
}

INLINE uint32_t less(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* `depth` elements of k, DEEP at most, of a panel of which `lines` lines are
 * there. */
INLINE void block(const struct form f, const char *p, int64_t step,
                  uint32_t lines, uint32_t depth, float *to, words *bad)
{
    const int64_t line = f.along ? step : 2, k = f.along ? 2 : step;
    for (uint32_t i = 0; i < LINES; i += LANES)
        for (uint32_t q = 0; q < WORDS; q += LANES) {
            const char *from = p + i * line + 2 * q * k;
            if (lines >= LINES && depth >= DEEP)
                square(f, from, step, LANES, 2 * LANES, to, i, q, bad);
            else
                square(f, from, step, less(lines, i), less(depth, 2 * q), to, i,
                       q, bad);
        }
}

/* One word of each line of a panel of b: of two rows of k, one or none. */
INLINE void two_rows(const struct form f, const char *p, int64_t step,
                     uint32_t lines, uint32_t depth, float *to, uint32_t word,
                     words *bad)
{
    for (uint32_t i = 0; i < LINES; i += LANES) {
        words high = {0}, low;
        float *at = place(f, to, i, word);
        if (depth > 0 && lines > i)
            high = across(BF16_PAIRS, p + 2 * i, step, depth > 1, lines - i);
        if (f.halves) {
            split(high, &high, &low, bad);
            words_store(at + 2 * TILE, low);
        }
        words_store(at, high);
    }
}

/* Panels of b whose lines are neighbours: two rows of k at a time along all of
 * them, because two long runs are fetched ahead and 32 short ones are not. */
INLINE void pack_rows(const struct form f, const char *p, int64_t step,
                      int64_t lines, uint32_t depth,
                      const struct gemm_panels *to, words *bad)
{
    const uint32_t end = (depth + DEEP - 1) / DEEP * WORDS;
    for (uint32_t q = 0; q < end; q++) {
        const char *row = p + 2 * q * step;
        float *at = to->to + q / WORDS * (f.halves ? 4 * TILE : 2 * TILE);
        for (int64_t i = 0; i < lines; i += LINES, at += to->apart)
            if (lines - i >= LINES && 2 * q + 2 <= depth)
                two_rows(f, row + 2 * i, step, LINES, 2, at, q % WORDS, bad);
            else
                two_rows(f, row + 2 * i, step,
                         lines - i < LINES ? (uint32_t)(lines - i) : LINES,
                         less(depth, 2 * q), at, q % WORDS, bad);
    }
}

/* All others, block by block: lines that are neighbours as far as they go, and
 * the ones that are contiguous along k one panel after the other. */
INLINE void pack_blocks(const struct form f, const char *p, int64_t step,
                        int64_t lines, uint32_t depth,
                        const struct gemm_panels *to, words *bad)
{
    const int64_t panels = (lines + LINES - 1) / LINES;
    const int64_t blocks = (depth + DEEP - 1) / DEEP;
    for (int64_t n = 0; n < panels * blocks; n++) {
        int64_t i = LINES * (f.along ? n / blocks : n % panels);
        int64_t q = f.along ? n % blocks : n / panels;
        const char *from =
            p + (f.along ? i * step + q * DEEP * 2 : i * 2 + q * DEEP * step);
        float *at = to->to + (size_t)(i / LINES) * to->apart +
                    (size_t)q * (f.halves ? 4 * TILE : 2 * TILE);
        block(f, from, step, lines - i < LINES ? (uint32_t)(lines - i) : LINES,
              depth - (uint32_t)q * DEEP, at, bad);
    }
}

/* False if an element has no halves. */
INLINE bool pack(const struct form f, const struct gemm_source *from,
                 int64_t line, int64_t lines, int64_t k, uint32_t depth,
                 const struct gemm_panels *to)
{
    const int64_t step = 2 * (f.along ? from->line : from->step);
    const char *p =
        (const char *)from->data + 2 * (line * from->line + k * from->step);
    words bad = {0};
    if (f.along || f.rows)
        pack_blocks(f, p, step, lines, depth, to, &bad);
    else
        pack_rows(f, p, step, lines, depth, to, &bad);
    uint32_t any = 0;
    for (uint32_t i = 0; i < LANES; i++)
        any |= bad[i];
    return any == 0;
}

/* All lines of a source are neighbours, or none are. */
INLINE bool pack_either(bool cut, bool rows, const struct gemm_source *from,
                        int64_t line, int64_t lines, int64_t k, uint32_t depth,
                        const struct gemm_panels *to)
{
    if (from->line == 1)
        return pack((struct form){cut, rows, false}, from, line, lines, k,
                    depth, to);
    return pack((struct form){cut, rows, true}, from, line, lines, k, depth,
                to);
}

#define PACK(NAME, HALVES, ROWS_OF_LINES)                                      \
    void ISA_NAME(NAME)(const struct gemm_source *from, int64_t line,          \
                        int64_t lines, int64_t k, uint32_t depth,              \
                        const struct gemm_panels *to)                          \
    {                                                                          \
        if (!pack_either(HALVES, ROWS_OF_LINES, from, line, lines, k, depth,   \
                         to))                                                  \
            atomic_store_explicit(to->not_finite, true, memory_order_relaxed); \
    }
PACK(gemm_pack_tiles_a, false, true)
PACK(gemm_pack_tiles_b, false, false)
PACK(gemm_pack_halves_a, true, true)
PACK(gemm_pack_halves_b, true, false)
