/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - rows of averages and of maxima, a vector of results at a time: the
 * taps of each in the order of rows, as kernels/pool/pool2d.k has them. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/cells.h"
#include "backends/cpu/conv/pool_kernels.h"

typedef int32_t numbers __attribute__((vector_size(4 * LANES)));

INLINE numbers numbers_splat(int32_t x)
{
    return (numbers){0} + x;
}

INLINE words chosen(words mask, words yes, words no)
{
    return (mask & yes) | (~mask & no);
}

INLINE void put(const struct pool_row *r, uint32_t i, floats x)
{
    char *y = r->y;
    cells_store(r->dtype, y + i * cell_bytes(r->dtype), x, r->wide - i);
}

static void average(const struct pool_row *r)
{
    for (uint32_t i = 0; i < r->wide; i += LANES) {
        floats sum = {0};
        for (uint32_t t = 0; t < r->taps; t++)
            sum += floats_load(r->planes + r->offset[t] + i);
        put(r, i, sum / (r->row_count * floats_load(r->count + i)));
    }
}

/* Of the ones that are not in order, with any NaN as the one NaN. */
INLINE floats canonical(floats x)
{
    const words nan = (words){0} + 0x7fc00000u;
    return (floats)chosen((words)(x != x), nan, (words)x);
}

/* indexed is a constant. A NaN replaces the earlier value, and nothing
 * else the place of a NaN: no number is greater. */
INLINE void most_of(const struct pool_row *r, const bool indexed)
{
    for (uint32_t i = 0; i < r->wide; i += LANES) {
        floats best = (floats)((words){0} + 0xff800000u); /* -Inf */
        words where = {0};
        numbers column = {0};
        if (indexed) {
            numbers first = (numbers)words_load(r->first + i);
            where = chosen(
                (words)(first < 0) | (words)numbers_splat(-(r->row_first < 0)),
                (words)numbers_splat(-1), (words)(first + r->row_first));
            column = (numbers)words_load(r->column + i) + r->row_place;
        }
        for (uint32_t t = 0; t < r->taps; t++) {
            floats x = floats_load(r->planes + r->offset[t] + i);
            words takes = (words)(x > best) | (words)(x != x);
            best = (floats)chosen(takes, (words)x, (words)best);
            if (indexed)
                where = chosen(takes, (words)(column + r->place[t]), where);
        }
        put(r, i, canonical(best));
        if (indexed)
            cells_store(SSQ_F32, (char *)(r->index + i), (floats)where,
                        r->wide - i);
    }
}

static void most(const struct pool_row *r)
{
    if (r->index != NULL)
        most_of(r, true);
    else
        most_of(r, false);
}

extern const struct pool_kernels ISA_NAME(pool_kernels);
const struct pool_kernels ISA_NAME(pool_kernels) = {
    .width = LANES, .average = average, .most = most};
