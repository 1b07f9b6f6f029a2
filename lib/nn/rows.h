/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - treat a sequence of vectors as an image of height 1. */
#ifndef LIB_NN_ROWS_H
#define LIB_NN_ROWS_H

#include "lib/nn/layer.h"

/** Check x. Latch an error and return false if x does not have rank 3, or if
 *  the layout is not valid. */
bool row_begin(const struct layer *l, ssq_var x, ssq_layout layout);
/** Reshape [n, c, l] to [n, c, 1, l], or [n, l, c] to [n, 1, l, c]. */
ssq_var row_of(const char *where, ssq_var x, ssq_layout layout);
/** Undo row_of() for a result y. */
ssq_var row_end(const char *where, ssq_var y, ssq_layout layout);

#endif
