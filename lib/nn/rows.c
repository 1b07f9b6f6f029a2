/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - treat a sequence of vectors as an image of height 1. */
#include "lib/nn/rows.h"

#include "lib/op/conv/slide.h"
#include "lib/tape/tape.h"

bool row_begin(const struct layer *l, ssq_var x, ssq_layout layout)
{
    ssq_status st = layout_check(layout, l->kind);
    if (st == SSQ_OK && ssq_var_rank(x) != 3)
        st = error_set(SSQ_ERR_INVALID, "x has rank %d, expected 3",
                       ssq_var_rank(x));
    if (st != SSQ_OK)
        latch(l->tape, st, l->where, l->kind);
    return st == SSQ_OK;
}

ssq_var row_of(const char *where, ssq_var x, ssq_layout layout)
{
    const int64_t n = ssq_var_size(x, 0), second = ssq_var_size(x, 1),
                  third = ssq_var_size(x, 2);
    const int64_t nchw[] = {n, second, 1, third},
                  nhwc[] = {n, 1, second, third};
    return ssq_var_reshape_at(where, x, 4,
                              layout == SSQ_LAYOUT_NHWC ? nhwc : nchw);
}

ssq_var row_end(const char *where, ssq_var y, ssq_layout layout)
{
    const bool last = layout == SSQ_LAYOUT_NHWC;
    const int64_t shape[] = {ssq_var_size(y, 0), ssq_var_size(y, last ? 2 : 1),
                             ssq_var_size(y, 3)};
    return ssq_var_reshape_at(where, y, 3, shape);
}
