/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - a sequence of vectors as an image that is one row high. */
#ifndef LIB_NN_ROWS_H
#define LIB_NN_ROWS_H

#include "lib/nn/layer.h"

/** False after latching that x is not of rank 3, or that there is no such
 *  layout. */
bool row_begin(const struct layer *l, ssq_var x, ssq_layout layout);
/** [n, c, l] as [n, c, 1, l], or [n, l, c] as [n, 1, l, c]. */
ssq_var row_of(const char *where, ssq_var x, ssq_layout layout);
/** Back. */
ssq_var row_end(const char *where, ssq_var y, ssq_layout layout);

#endif
