/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - computes reductions of the ranks' values.
 *
 * The order is a tree over the ranks' indices:
 *
 *     0   1   2   3   4        (0 + 1) + (2 + 3) first, then + 4
 *      \ /     \ /    |
 *       +       +     |
 *        \     /     /
 *          + - - - +
 *
 * Each element is computed in float32, independently of its neighbours. Pieces,
 * parts and transports determine which rank computes an element. They never
 * change the order of its additions. */
#include "lib/comm/comm.h"

#include "lib/core/base/terms.h"

#include <string.h>

/* Elements that are summed at a time. Their floats of all levels of the tree
 * fit into the L1 cache of a processor. */
#define BLOCK 512

/* Levels of the tree over SSQ_COMM_MAX_SIZE ranks, 2^10. */
#define LEVELS 11

struct tree {
    const struct term_kernels *k;
    ssq_comm_reduction reduction;
    ssq_dtype dtype;
    unsigned size;
    const void *const *terms;
    float waiting[LEVELS][BLOCK]; /* the right branch of each level */
};

/* Return the reduced values of the existing ranks among from .. from + 2^level
 * - 1: n elements from `at` on. The result is in out, or in the memory of a
 * single rank with float32 values. */
static const float *tree_sum(struct tree *t, unsigned from, unsigned level,
                             size_t at, size_t n, float *out)
{
    if (level == 0 && t->dtype == SSQ_F32)
        return (const float *)t->terms[from] + at;
    if (level == 0) {
        t->k->load(out, (const uint16_t *)t->terms[from] + at, t->dtype, n);
        return out;
    }
    unsigned half = 1u << (level - 1);
    const float *left = tree_sum(t, from, level - 1, at, n, out);
    if (from + half >= t->size)
        return left;
    const float *right =
        tree_sum(t, from + half, level - 1, at, n, t->waiting[level - 1]);
    if (t->reduction == SSQ_COMM_MAX)
        t->k->maximum(out, left, right, n);
    else
        t->k->add(out, left, right, n);
    return out;
}

static void reduce_floats(struct tree *t, void *out, size_t n)
{
    float sum[BLOCK];
    unsigned level = 0;
    while ((1u << level) < t->size)
        level++;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t some = n - at < BLOCK ? n - at : BLOCK;
        const float *all = tree_sum(t, 0, level, at, some, sum);
        if (t->reduction == SSQ_COMM_MEAN) {
            t->k->divide(sum, all, (float)t->size, some);
            all = sum;
        }
        t->k->store((char *)out + at * dtype_bytes(t->dtype), all, t->dtype,
                    some);
    }
}

/* Integers have only a maximum, so the order does not matter. All terms of a
 * block are read before it is written, because out may be one of them. */
static void reduce_integers(struct tree *t, int32_t *out, size_t n)
{
    int32_t most[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t some = n - at < BLOCK ? n - at : BLOCK;
        memcpy(most, (const int32_t *)t->terms[0] + at, some * sizeof(*most));
        for (unsigned r = 1; r < t->size; r++)
            t->k->maximum_i32(most, most, (const int32_t *)t->terms[r] + at,
                              some);
        memcpy(out + at, most, some * sizeof(*most));
    }
}

void reduce_run(ssq_comm_reduction reduction, ssq_dtype dtype, unsigned size,
                const void *const *terms, void *out, size_t n)
{
    struct tree t;
    t.k = term_kernels();
    t.reduction = reduction;
    t.dtype = dtype;
    t.size = size;
    t.terms = terms;
    if (dtype == SSQ_I32)
        reduce_integers(&t, out, n);
    else
        reduce_floats(&t, out, n);
}
