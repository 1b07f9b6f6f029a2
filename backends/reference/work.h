/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - host memory of one op: operands as float32, rows, sums.
 *
 *     struct work w = {.n = 0};
 *     float *x = work_view(&w, &op->x), *row = work_floats(&w, n);
 *     if (!w.failed) ..
 *     work_free(&w); */
#ifndef BACKENDS_REFERENCE_WORK_H
#define BACKENDS_REFERENCE_WORK_H

#include "backends/reference/walk.h"

/** Blocks that one call frees. Initialise it with zeros. */
#define WORK_BLOCKS 16
struct work {
    void *block[WORK_BLOCKS];
    int n;
    bool failed;
};

/** Allocate n zeroed elements. If memory is short, return NULL and set
 *  w->failed. A caller can allocate all blocks, and test w->failed once, before
 *  it uses them. Release all blocks with work_free(). */
float *work_floats(struct work *w, int64_t n);
double *work_doubles(struct work *w, int64_t n);
/** Allocate a block with the elements of a view as float32, in row-major order.
 *  A caller reads elements repeatedly, but this converts them only once. */
float *work_view(struct work *w, const struct view *v);
void work_free(struct work *w);

#endif
