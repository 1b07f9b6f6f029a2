/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - what a reduction makes of the ranks' values.
 *
 * The order is a tree over the ranks' indices:
 *
 *     0   1   2   3   4        (0 + 1) + (2 + 3) first, then + 4
 *      \ /     \ /    |
 *       +       +     |
 *        \     /     /
 *          + - - - +
 *
 * in float32 for each element alone, whatever is its neighbour. Pieces, shares
 * and transports decide who adds where, and never what is added to what. */
#include "lib/comm/comm.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/scalar/scalar.h"

#include <string.h>

/* Elements that are summed at a time: their floats of all levels of the tree
 * stay in a processor's first cache. */
#define BLOCK 256

/* Of the tree over SSQ_COMM_MAX_SIZE ranks, 2^10. */
#define LEVELS 11

struct tree {
    ssq_comm_reduction reduction;
    ssq_dtype dtype;
    unsigned size;
    const void *const *terms;
    float waiting[LEVELS][BLOCK]; /* the right branch of each level */
};

static void load(ssq_dtype dtype, const void *from, size_t at, size_t n,
                 float *to)
{
    const uint16_t *half = (const uint16_t *)from + at;
    if (dtype == SSQ_F32)
        memcpy(to, (const float *)from + at, n * sizeof(*to));
    else if (dtype == SSQ_F16)
        for (size_t i = 0; i < n; i++)
            to[i] = f16_load(half[i]);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = bf16_load(half[i]);
}

static void store(ssq_dtype dtype, void *to, size_t at, size_t n,
                  const float *from)
{
    uint16_t *half = (uint16_t *)to + at;
    if (dtype == SSQ_F32)
        memcpy((float *)to + at, from, n * sizeof(*from));
    else if (dtype == SSQ_F16)
        for (size_t i = 0; i < n; i++)
            half[i] = (uint16_t)f16_store(from[i]);
    else
        for (size_t i = 0; i < n; i++)
            half[i] = (uint16_t)bf16_store(from[i]);
}

/* The values of ranks from .. from + 2^level - 1, as far as there are so many,
 * of n elements from at on. */
static void branch(struct tree *t, unsigned from, unsigned level, size_t at,
                   size_t n, float *out)
{
    if (level == 0) {
        load(t->dtype, t->terms[from], at, n, out);
        return;
    }
    unsigned half = 1u << (level - 1);
    branch(t, from, level - 1, at, n, out);
    if (from + half >= t->size)
        return;
    float *right = t->waiting[level - 1];
    branch(t, from + half, level - 1, at, n, right);
    if (t->reduction == SSQ_COMM_MAX)
        for (size_t i = 0; i < n; i++)
            out[i] = f32_maximum(out[i], right[i]);
    else
        for (size_t i = 0; i < n; i++)
            out[i] += right[i];
}

static void reduce_floats(struct tree *t, void *out, size_t n)
{
    float sum[BLOCK];
    unsigned level = 0;
    while ((1u << level) < t->size)
        level++;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t some = n - at < BLOCK ? n - at : BLOCK;
        branch(t, 0, level, at, some, sum);
        for (size_t i = 0; i < some && t->reduction == SSQ_COMM_MEAN; i++)
            sum[i] = sum[i] / (float)t->size;
        for (size_t i = 0; i < some; i++)
            sum[i] = s_canonical(sum[i]);
        store(t->dtype, out, at, some, sum);
    }
}

/* Whole numbers have a maximum, in whichever order. */
static void reduce_integers(unsigned size, const void *const *terms, void *out,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t most = ((const int32_t *)terms[0])[i];
        for (unsigned r = 1; r < size; r++) {
            int32_t x = ((const int32_t *)terms[r])[i];
            most = x > most ? x : most;
        }
        ((int32_t *)out)[i] = most;
    }
}

void reduce_run(ssq_comm_reduction reduction, ssq_dtype dtype, unsigned size,
                const void *const *terms, void *out, size_t n)
{
    struct tree t = {
        .reduction = reduction, .dtype = dtype, .size = size, .terms = terms};
    if (dtype == SSQ_I32)
        reduce_integers(size, terms, out, n);
    else
        reduce_floats(&t, out, n);
}
