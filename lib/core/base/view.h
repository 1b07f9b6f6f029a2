/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - an operand of an op: a tensor by value, ready for a backend. */
#ifndef LIB_CORE_BASE_VIEW_H
#define LIB_CORE_BASE_VIEW_H

#include <sesqui/tensor.h>

#include "lib/core/base/object.h"

/** How an op accesses a view, in bits. NONE is for an absent operand: a launch
 *  binds another operand in its place, but does not access it. */
enum access {
    ACCESS_NONE = 0,
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_UPDATE = 3
};

/** One operand. buffer == NULL: the optional operand is absent. */
struct view {
    ssq_buffer *buffer; /* borrowed, until op_hold takes a reference */
    uint64_t offset;    /* bytes, in the buffer */
    ssq_dtype dtype;
    int rank;
    enum access access;
    bool continues; /* in a list: same tensor as the view before */
    int64_t shape[SSQ_MAX_RANK];
    int64_t stride[SSQ_MAX_RANK]; /* elements */
};

/** An immutable, shared list of views, such as the tensors of an optimizer. */
struct view_list {
    struct object object;
    size_t n;
    struct view v[];
};

/* All functions that follow are pure. */

/** True if this optional operand is absent. */
static inline bool view_absent(const struct view *v)
{
    return v->buffer == NULL;
}
/** Values for kernels: the dtype, and the distance in elements from one index
 *  of dimension i to the next. Both are 0 for an absent view. */
static inline uint32_t view_dtype(const struct view *v)
{
    return view_absent(v) ? 0 : (uint32_t)v->dtype;
}
static inline uint32_t view_step(const struct view *v, int i)
{
    return view_absent(v) ? 0 : (uint32_t)v->stride[i];
}
/** Return the product of the sizes. It fits: tensors check this when created.
 */
int64_t view_elements(const struct view *v);
/** True for row-major without gaps; sizes of 1 may have any stride. */
bool view_contiguous(const struct view *v);
/** Return the bytes from the first to the end of the last element; 0 if empty.
 */
uint64_t view_span(const struct view *v);
/** Return the bytes of an element; 0 for an invalid dtype. */
size_t dtype_bytes(ssq_dtype dtype);
/** True for f32, f16 and bf16. */
bool dtype_is_float(ssq_dtype dtype);
bool view_same_shape(const struct view *a, const struct view *b);
/** True if an element may appear twice, because of a stride of 0 or of strides
 *  that overlap. */
bool view_self_overlap(const struct view *v);
/** Broadcast v in place to a shape. @return false if it does not match. */
bool view_broadcast(struct view *v, int rank, const int64_t *shape);
/** Return n columns of the last dimension, starting with column from. */
struct view view_columns(const struct view *v, int64_t from, int64_t n);
/** Write the shape to buf, for messages: "[64,32]"; returns buf. */
char *view_text(const struct view *v, char *buf, size_t bytes);

/** Merge neighbouring dimensions if every one of n views walks them evenly,
 *  drop sizes of 1, and pad to rank >= 1. All views must have the same shape.
 */
void views_collapse(struct view **v, int n);

#endif
