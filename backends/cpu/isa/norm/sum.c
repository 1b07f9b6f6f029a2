/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c - the sum of a row of neighbours, in the order of
 * kernels/reduce/reduce_rows.k: 64 lanes, blocks of 64 steps that are added in
 * pairs, pairs of pairs, and at last the lanes by halves. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/norm/row.h"
#include "backends/cpu/norm/sum_kernels.h"

#define LINKS  64 /* steps of a block */
#define LEVELS 4  /* of pairs: SUM_LONGEST is less than 2^4 blocks */

/* -0, so that -0 alone stays -0. */
static void empty(struct row_lanes *l)
{
    ROW_EACH(v)
    l->v[v] = floats_splat(-0.0f);
}

static void join(struct row_lanes *l, const struct row_lanes *other)
{
    ROW_EACH(v)
    l->v[v] += other->v[v];
}

INLINE float sum_of(ssq_dtype is, const char *x, size_t n)
{
    struct row_lanes acc, saved[LEVELS];
    size_t i = 0, blocks = 0;
    empty(&acc);
    for (; i + LINKS * ROW_STEP <= n; blocks++) {
        for (size_t end = i + LINKS * ROW_STEP; i < end; i += ROW_STEP)
            ROW_EACH(v)
        acc.v[v] += row_load(is, x, i + v * LANES);
        size_t level = 0;
        for (; (blocks >> level & 1) != 0; level++)
            join(&acc, &saved[level]);
        saved[level] = acc;
        empty(&acc);
    }
    for (; i + ROW_STEP <= n; i += ROW_STEP)
        ROW_EACH(v)
    acc.v[v] += row_load(is, x, i + v * LANES);
    for (int v = 0; i < n; v++, i += LANES)
        acc.v[v] +=
            i + LANES <= n ? row_load(is, x, i) : row_rest(is, x, i, n, -0.0f);
    for (size_t level = 0; blocks >> level != 0; level++)
        if ((blocks >> level & 1) != 0)
            join(&acc, &saved[level]);
    return row_sum(&acc);
}

static float sum(ssq_dtype is, const void *x, size_t n)
{
    if (is == SSQ_F32)
        return sum_of(SSQ_F32, x, n);
    if (is == SSQ_F16)
        return sum_of(SSQ_F16, x, n);
    return sum_of(SSQ_BF16, x, n);
}

extern const struct sum_kernels ISA_NAME(sum_kernels);
const struct sum_kernels ISA_NAME(sum_kernels) = {sum};
