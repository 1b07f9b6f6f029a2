/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - sums and products in the order of kernels/reduce/norm.h. Elements
 * are added one by one.
 *
 *     struct fold f;
 *     fold_begin(&f, false);
 *     for (..) fold_add(&f, x[i]);
 *     float sum = fold_end(&f); */
#ifndef BACKENDS_REFERENCE_REDUCE_FOLD_H
#define BACKENDS_REFERENCE_REDUCE_FOLD_H

#include "kernels/reduce/norm.h"

#include <stdbool.h>

/* 16384^4 = 2^56 elements: more than memory holds */
#define FOLD_LEVELS 4

/** A chunk that is being filled: of elements, of partials, of partials of
 *  partials, .. */
struct fold_level {
    u32 n; /* elements in it */
    float lane[FOLD_LANES];
};

struct fold {
    bool product; /* multiply instead of add */
    struct fold_level level[FOLD_LEVELS];
};

void fold_begin(struct fold *f, bool product);
void fold_add(struct fold *f, float x);
/** End the chunk even if it is not full, between the tensors of a list. */
void fold_break(struct fold *f);
/** Return the result. Without elements it is 0, or 1 for a product. */
float fold_end(struct fold *f);

/** The three sums of a squared norm. */
struct norm_fold {
    struct fold sum[3]; /* index: norm_class */
};

void norm_fold_begin(struct norm_fold *f);
void norm_fold_add(struct norm_fold *f, float x);
void norm_fold_break(struct norm_fold *f);
/** Set the three totals, with norm_class as the index, for norm_root() and
 *  norm_squared(). */
void norm_fold_end(struct norm_fold *f, float total[3]);

#endif
