/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - what the plans of attention and its backward share. */
#ifndef LIB_PLAN_ATTENTION_ATTENTION_H
#define LIB_PLAN_ATTENTION_ATTENTION_H

#include "kernels/attention/attention_args.h"
#include "lib/op/attention/attention.h"
#include "lib/plan/windows.h"

/** The fields that both directions have, but tasks, chunks and blocks. */
void attention_set(struct attention_shared *a, const struct attention_params *p,
                   const struct view *q, const struct view *k,
                   const struct view *v, const struct view *mask,
                   const struct view *lse, const struct view *step);
/** Tasks of a launch: blocks of rows in each of n heads, and chunks of the
 *  columns of what is made. @return the chunk, a key of the kernels */
uint8_t attention_divide(struct attention_shared *a, uint32_t group,
                         uint64_t heads, int64_t rows, int64_t columns);
/** Loops over n of the others, by blocks: scores, for a gradient but v's also
 *  products with dy, and chunk columns of the result. */
uint64_t attention_loops(const struct backend_limits *l,
                         const struct attention_shared *a, uint32_t n,
                         bool slopes, uint8_t chunk);
/** Cut by batches, and by heads if each head has its own keys. `walked` are the
 *  views with both dimensions. Random words follow the order. */
struct window_cut attention_cut(const struct attention_params *p,
                                unsigned walked);
/** Reduce the parameters to a window. v is a view of the window; `first` is the
 *  number of batches, or heads, before it. */
void attention_window(struct attention_params *p, const struct view *v,
                      uint64_t first);

/** A mask as elements of 1, 2 and 4 bytes. */
void attention_bind_mask(struct plan *p, const struct view *mask);
/** A float operand as elements of 2 and 4 bytes. */
void attention_bind_both(struct plan *p, const struct view *v,
                         enum access access);
/** Steps of batch, head and index, in elements. What lies behind an index, its
 *  elements, lies side by side and needs no step. */
void attention_steps(const struct view *v, uint32_t *step);

#endif
