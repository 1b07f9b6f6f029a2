/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - sums and products in the one order of doc/design/numbers.md, section
 * 8, which kernels/reduce/norm.h has for kernels. */
#include "backends/reference/reduce/fold.h"

void fold_begin(struct fold *f, bool product)
{
    f->product = product;
    for (int k = 0; k < FOLD_LEVELS; k++)
        f->level[k].n = 0;
}

/* Combine two numbers by the operation of the fold. */
static float fold_join(const struct fold *f, float a, float b)
{
    return f->product ? a * b : a + b;
}

/* Combine the lanes in use by a halving tree, and empty the level. */
static float fold_tree(const struct fold *f, struct fold_level *v)
{
    u32 used = v->n < FOLD_LANES ? v->n : FOLD_LANES;
    for (u32 s = FOLD_LANES / 2; s > 0; s /= 2)
        for (u32 l = 0; l < s && l + s < used; l++)
            v->lane[l] = fold_join(f, v->lane[l], v->lane[l + s]);
    v->n = 0;
    return v->lane[0];
}

/* Add x at level k. The lane of an element is its number modulo FOLD_LANES. A
 * full chunk becomes one element of the next level. */
static void fold_add_at(struct fold *f, int k, float x)
{
    for (; k < FOLD_LEVELS; k++) {
        struct fold_level *v = &f->level[k];
        float *lane = &v->lane[v->n % FOLD_LANES];
        *lane = v->n < FOLD_LANES ? x : fold_join(f, *lane, x);
        if (++v->n < FOLD_CHUNK)
            return;
        x = fold_tree(f, v);
    }
}

void fold_add(struct fold *f, float x)
{
    fold_add_at(f, 0, x);
}

/* An empty chunk adds nothing to the next level: a tensor may end exactly at
 * the end of a chunk. */
void fold_break(struct fold *f)
{
    if (f->level[0].n > 0)
        fold_add_at(f, 1, fold_tree(f, &f->level[0]));
}

/* Return whether all levels above k are empty. */
static bool fold_empty_above(const struct fold *f, int k)
{
    for (k++; k < FOLD_LEVELS; k++)
        if (f->level[k].n > 0)
            return false;
    return true;
}

/* Each level, from the lowest up, is combined and added to the next. The result
 * comes from the highest level that is not empty. */
float fold_end(struct fold *f)
{
    for (int k = 0; k < FOLD_LEVELS; k++) {
        struct fold_level *v = &f->level[k];
        if (v->n == 0)
            continue;
        bool last = fold_empty_above(f, k);
        float x = fold_tree(f, v);
        if (last)
            return x;
        fold_add_at(f, k + 1, x);
    }
    return f->product ? 1.0f : 0.0f;
}

void norm_fold_begin(struct norm_fold *f)
{
    for (int c = 0; c < 3; c++)
        fold_begin(&f->sum[c], false);
}

/* Add the term of x to the sum of each class: see norm_add(). */
void norm_fold_add(struct norm_fold *f, float x)
{
    for (u32 c = 0; c < 3; c++)
        fold_add(&f->sum[c], norm_add(x, c));
}

void norm_fold_break(struct norm_fold *f)
{
    for (int c = 0; c < 3; c++)
        fold_break(&f->sum[c]);
}

void norm_fold_end(struct norm_fold *f, float total[3])
{
    for (int c = 0; c < 3; c++)
        total[c] = fold_end(&f->sum[c]);
}
