/* SPDX-License-Identifier: Apache-2.0 */
/* conv_line.c - rows of images into planes, of planes into panels, and of sums
 * into images. */
#include "backends/cpu/isa/cells.h"
#include "backends/cpu/isa/conv/conv.h"
#include "kernels/gemm/epilogue.h"

#if LANES == 16
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif LANES == 8
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS  1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVENS 0, 2, 4, 6
#define ODDS  1, 3, 5, 7
#endif

/* ---- rows of images ---- */

INLINE float cell(ssq_dtype dtype, const char *p)
{
    if (dtype == SSQ_F32) {
        float x;
        memcpy(&x, p, sizeof(x));
        return x;
    }
    uint16_t h;
    memcpy(&h, p, sizeof(h));
    return dtype == SSQ_F16 ? f16_load(h) : bf16_load(h);
}

/* ---- whole vectors of a padded row ---- */

/* The source of a word: a constant. */
enum made_of { OF_F32, OF_F16, OF_BF16, OF_PAIRS };

/* Lanes first .. end - 1 of halves at p, the others 0; nothing else is read. */
INLINE halves halves_between(const char *p, uint32_t first, uint32_t end)
{
#if LANES == 16
    uint32_t mask = ((1u << end) - 1u) & ~((1u << first) - 1u);
    return (halves)_mm256_maskz_loadu_epi16((__mmask16)mask, p);
#else
    halves x = {0};
    for (uint32_t i = first; i < end; i++)
        memcpy((char *)&x + 2 * i, p + 2 * i, 2);
    return x;
#endif
}

INLINE words words_between(const char *p, uint32_t first, uint32_t end)
{
#if LANES == 16
    uint32_t mask = ((1u << end) - 1u) & ~((1u << first) - 1u);
    return (words)_mm512_maskz_loadu_epi32((__mmask16)mask, p);
#else
    words x = {0};
    for (uint32_t i = first; i < end; i++)
        memcpy((char *)&x + 4 * i, p + 4 * i, 4);
    return x;
#endif
}

/* Words of elements at p, and for pairs at next; 0 outside of those lanes. */
INLINE words made_between(enum made_of of, const char *p, const char *next,
                          uint32_t first, uint32_t end)
{
    if (of == OF_F32)
        return words_between(p, first, end);
    halves h = halves_between(p, first, end);
    if (of == OF_F16)
        return (words)floats_of_f16(h);
    if (of == OF_BF16)
        return (words)floats_of_bf16(h);
    words low = words_of_halves(h);
    if (next == NULL)
        return low;
    return low | words_of_halves(halves_between(next, first, end)) << 16;
}

/* LANES words of a padded row, from word `at` on. */
INLINE words padded(enum made_of of, const struct conv_line *l,
                    const char *from, const char *next, uint32_t at)
{
    const int64_t bytes = of == OF_F32 ? 4 : 2;
    int64_t first = (int64_t)at - l->before, left = l->n - first;
    const char *p = from + first * bytes;
    if (next != NULL)
        next += first * bytes;
    if (first >= 0 && left >= LANES)
        return made_between(of, p, next, 0, LANES);
    uint32_t begin = first >= 0 ? 0 : first > -LANES ? (uint32_t)-first : LANES;
    uint32_t end = left >= LANES  ? LANES
                   : left > begin ? (uint32_t)left
                                  : begin;
    words x = made_between(of, p, next, begin, end);
    words lane = (words){0}, i;
    for (int k = 0; k < LANES; k++)
        lane[k] = (uint32_t)k;
    i = (words)(lane >= begin) & (words)(lane < end);
    return (x & i) | ((words)floats_splat(l->padding) & ~i);
}

/* of is a constant. Rows of a plane, or of two that take turns. */
INLINE void fill_whole(enum made_of of, const struct conv_line *l,
                       const char *from, const char *next, float *to)
{
    const uint32_t n = l->words;
    if (l->phases == 1) {
        for (uint32_t i = 0; i < n; i += LANES)
            words_store(to + i, padded(of, l, from, next, i));
        return;
    }
    for (uint32_t i = 0; i < n; i += LANES) {
        words x = padded(of, l, from, next, 2 * i);
        words y = padded(of, l, from, next, 2 * i + LANES);
        if ((l->used & 1u) != 0)
            words_store(to + i, SHUFFLE(x, y, EVENS));
        if ((l->used & 2u) != 0)
            words_store(to + l->apart + i, SHUFFLE(x, y, ODDS));
    }
}

static void fill(enum made_of of, const struct conv_line *l, const char *from,
                 const char *next, float *to)
{
    if (of == OF_F32)
        fill_whole(OF_F32, l, from, next, to);
    else if (of == OF_F16)
        fill_whole(OF_F16, l, from, next, to);
    else if (of == OF_BF16)
        fill_whole(OF_BF16, l, from, next, to);
    else
        fill_whole(OF_PAIRS, l, from, next, to);
}

/* ---- rows word by word ---- */

/* Any other row, by way of the padded row as a whole. */
static void fill_words(const struct conv_line *l, const char *from,
                       const char *next, bool paired, float *to)
{
    const int64_t step = l->step * cell_bytes(l->dtype);
    const uint32_t all = l->phases * l->words;
    for (uint32_t i = 0; i < all; i++)
        l->spare[i] = l->padding;
    for (uint32_t i = 0; i < l->n; i++) {
        float *word = &l->spare[l->before + i];
        uint16_t pair[2] = {0};
        if (!paired) {
            *word = cell(l->dtype, from + i * step);
            continue;
        }
        memcpy(&pair[0], from + i * step, 2);
        if (next != NULL)
            memcpy(&pair[1], next + i * step, 2);
        memcpy(word, pair, sizeof(pair));
    }
    for (uint32_t i = 0; i < l->phases; i++, to += l->apart)
        for (uint32_t j = 0; j < l->words && (l->used >> i & 1u) != 0; j++)
            to[j] = l->spare[j * l->phases + i];
}

void ISA_NAME(conv_fill)(const struct conv_line *l, const void *from,
                         const void *next, void *to)
{
    (void)next;
    if (l->step != 1 || l->phases > 2)
        fill_words(l, from, NULL, false, to);
    else
        fill(l->dtype == SSQ_F32   ? OF_F32
             : l->dtype == SSQ_F16 ? OF_F16
                                   : OF_BF16,
             l, from, NULL, to);
}

void ISA_NAME(conv_fill_pairs)(const struct conv_line *l, const void *from,
                               const void *next, void *to)
{
    if (l->step != 1 || l->phases > 2)
        fill_words(l, from, next, true, to);
    else
        fill(OF_PAIRS, l, from, next, to);
}

/* bf16s as they are, with zeros on both sides. */
static void pad_halves(const struct conv_line *l, const char *from, uint32_t n,
                       uint16_t *to)
{
    memset(to, 0, l->before * sizeof(*to));
    memcpy(to + l->before, from, l->n * sizeof(*to));
    memset(to + l->before + l->n, 0, (n - l->before - l->n) * sizeof(*to));
}

/* Every second one of a row; up to LANES after them are overwritten. */
static void halve_halves(const uint16_t *from, uint32_t n, uint32_t phase,
                         uint16_t *to)
{
    for (uint32_t i = 0; i < n; i += LANES) {
        words x = words_load(from + 2 * i);
        x = phase == 0 ? x & 0xffffu : x >> 16;
        halves h = halves_of_words(x);
        memcpy(to + i, &h, sizeof(h));
    }
}

void ISA_NAME(conv_fill_halves)(const struct conv_line *l, const void *from,
                                const void *next, void *to)
{
    const uint32_t phases = l->phases, n = l->words;
    uint16_t *at = to, *spare = (uint16_t *)(void *)l->spare;
    (void)next;
    if (phases == 1) {
        pad_halves(l, from, n, at);
        return;
    }
    pad_halves(l, from, phases * n, spare);
    for (uint32_t i = 0; i < phases; i++, at += l->apart) {
        if ((l->used >> i & 1u) == 0)
            continue;
        if (phases == 2)
            halve_halves(spare, n, i, at);
        else
            for (uint32_t j = 0; j < n; j++)
                at[j] = spare[j * phases + i];
    }
}

/* ---- rows of panels ---- */

/* n is a constant where rows are long: few moves make one. */
INLINE void gather(const char *planes, uint32_t bytes, const uint32_t *offset,
                   uint32_t depth, const struct conv_move *moves,
                   const uint32_t n, char *to, size_t row)
{
    for (uint32_t k = 0; k < depth; k++, to += row) {
        const char *p = planes + (size_t)offset[k] * bytes;
        for (uint32_t i = 0; i < n; i++)
            words_store(to + moves[i].to, words_load(p + moves[i].from));
    }
}

void ISA_NAME(conv_gather)(const void *planes, uint32_t bytes,
                           const uint32_t *offset, uint32_t depth,
                           const struct conv_move *moves, uint32_t n, void *to,
                           size_t row)
{
    if (n == 2)
        gather(planes, bytes, offset, depth, moves, 2, to, row);
    else if (n == 3)
        gather(planes, bytes, offset, depth, moves, 3, to, row);
    else
        gather(planes, bytes, offset, depth, moves, n, to, row);
}

/* ---- rows of sums ---- */

/* A value that is only stored is unchanged. */
static void finish(const struct conv_result *r, float *x)
{
    const uint32_t n = r->wide;
    if (r->biased)
        for (uint32_t i = 0; i < n; i++)
            x[i] = x[i] + r->bias;
    if (r->activation == ACT_RELU)
        for (uint32_t i = 0; i < n; i++)
            x[i] = x[i] < 0.0f ? 0.0f : x[i];
    else if (r->activation != ACT_NONE)
        for (uint32_t i = 0; i < n; i++)
            x[i] = activate(x[i], r->activation);
}

/* Elements that are `step` apart. */
INLINE void scatter(ssq_dtype dtype, floats x, uint32_t n, char *d,
                    int64_t step)
{
    const int64_t bytes = cell_bytes(dtype);
    char line[4 * LANES];
    cells_store(dtype, line, x, LANES);
    for (uint32_t i = 0; i < n; i++)
        memcpy(d + i * step * bytes, line + i * bytes, (size_t)bytes);
}

/* dtype is a constant. */
INLINE void put_row(ssq_dtype dtype, const float *x, uint32_t n, char *d,
                    int64_t step)
{
    const int64_t bytes = cell_bytes(dtype);
    for (uint32_t i = 0; i < n; i += LANES) {
        floats v = floats_load(x + i);
        uint32_t some = n - i < LANES ? n - i : LANES;
        if (step == 1)
            cells_store(dtype, d + i * bytes, v, some);
        else
            scatter(dtype, v, some, d + i * step * bytes, step);
    }
}

void ISA_NAME(conv_put)(const struct conv_result *r, float *sums, void *d)
{
    char *to = d;
    for (uint32_t p = 0; p < r->high; p++, sums += r->sums_row) {
        finish(r, sums);
        if (r->dtype == SSQ_F32)
            put_row(SSQ_F32, sums, r->wide, to, r->w);
        else if (r->dtype == SSQ_F16)
            put_row(SSQ_F16, sums, r->wide, to, r->w);
        else
            put_row(SSQ_BF16, sums, r->wide, to, r->w);
        to += r->h * cell_bytes(r->dtype);
    }
}
