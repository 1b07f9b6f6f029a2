/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - the elements of x that become one element of y. */
#ifndef BACKENDS_REFERENCE_REDUCE_PART_H
#define BACKENDS_REFERENCE_REDUCE_PART_H

#include "backends/reference/reference.h"
#include "lib/core/core.h"

/** Return the reduced dimensions of x as a view, for the kept dimensions at an
 *  offset. */
static inline struct view reduce_part(const struct view *x, int kept,
                                      int64_t at)
{
    struct view v = view_part(x, kept, x->rank);
    v.offset += (uint64_t)at * dtype_bytes(v.dtype);
    return v;
}

#endif
