/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - functions that the plans of attention and its backward
 * share. */
#ifndef LIB_PLAN_ATTENTION_ATTENTION_H
#define LIB_PLAN_ATTENTION_ATTENTION_H

#include "kernels/attention/attention_args.h"
#include "lib/op/attention/attention.h"
#include "lib/plan/windows.h"

/** Set the fields that both directions have, except tasks, chunks and
 *  blocks. */
void attention_set(struct attention_shared *a, const struct attention_params *p,
                   const struct view *q, const struct view *k,
                   const struct view *v, const struct view *mask,
                   const struct view *lse, const struct view *step);
/** Divide a launch into tasks: blocks of rows in each of `heads` heads, and
 *  chunks of the columns of the result.
 *  @return the chunk, a key of the kernels */
uint8_t attention_divide(struct attention_shared *a, uint32_t group,
                         uint64_t heads, int64_t rows, int64_t columns);
/** Return the loops of a task over n keys (or queries), in blocks. They compute
 *  the scores, with slopes also the products with dy, and `chunk` columns of
 *  the result. All gradients except dv need slopes. */
uint64_t attention_loops(const struct backend_limits *l,
                         const struct attention_shared *a, uint32_t n,
                         bool slopes, uint8_t chunk);
/** Return how to cut an op: by batches, and by heads if each head has its own
 *  keys. `walked` are the views with both dimensions. With dropout, windows
 *  come in order because the random words do. */
struct window_cut attention_cut(const struct attention_params *p,
                                unsigned walked);
/** Change *p to the parameters of a window. v is a view of the window; `first`
 *  is the number of batches, or heads, before it. */
void attention_window(struct attention_params *p, const struct view *v,
                      uint64_t first);

/** Bind a mask as elements of 1, 2 and 4 bytes; those with the wrong size are
 *  absent. */
void attention_bind_mask(struct plan *p, const struct view *mask);
/** Bind a float operand as elements of 2 and 4 bytes; one of the two is
 *  absent. */
void attention_bind_both(struct plan *p, const struct view *v,
                         enum access access);
/** Get the steps of batch, head and index, in elements. The elements at an
 *  index are contiguous and need no step. */
void attention_steps(const struct view *v, uint32_t *step);

#endif
