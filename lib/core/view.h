/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - a tensor as ops carry it: by value, ready for a backend. */
#ifndef LIB_CORE_VIEW_H
#define LIB_CORE_VIEW_H

#include <sesqui/tensor.h>

#include "lib/core/object.h"

/** What an op does to a view, in bits. NONE is for an absent operand, in whose
 *  place a launch binds another one without touching it. */
enum access {
    ACCESS_NONE = 0,
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_UPDATE = 3
};

/** One operand. buffer == NULL: the optional operand is absent. */
struct view {
    ssq_buffer *buffer; /* borrowed, until op_hold takes a reference */
    uint64_t offset; /* bytes, in the buffer */
    ssq_dtype dtype;
    int rank;
    enum access access;
    bool continues; /* in a list: of the same tensor as the view before */
    int64_t shape[SSQ_MAX_RANK];
    int64_t stride[SSQ_MAX_RANK]; /* elements */
};

/** An immutable, shared list of views: the tensors of an optimizer. */
struct view_list {
    struct object object;
    size_t n;
    struct view v[];
};

/** n absent views; one reference, drop it with object_put(&l->object). NULL:
 *  no memory, the text is set. what begins it. */
struct view_list *list_create(size_t n, const char *what);
/** View i becomes v with an access; its buffer gets a reference. */
void list_set(struct view_list *list, size_t i, const struct view *v,
              enum access access);

/* All of these are pure. */

/** An optional operand that is not there. */
static inline bool view_absent(const struct view *v)
{
    return v->buffer == NULL;
}
/** As kernels are told of it: the dtype, and the elements from one to the next
 *  of dimension i; 0 for an absent view. */
static inline uint32_t view_dtype(const struct view *v)
{
    return view_absent(v) ? 0 : (uint32_t)v->dtype;
}
static inline uint32_t view_step(const struct view *v, int i)
{
    return view_absent(v) ? 0 : (uint32_t)v->stride[i];
}
/** The product of the sizes; it fits, tensors are checked when made. */
int64_t view_elements(const struct view *v);
/** Row-major without gaps; sizes of 1 may have any stride. */
bool view_contiguous(const struct view *v);
/** Bytes from the first to the end of the last element; 0 when empty. */
uint64_t view_span(const struct view *v);
/** Bytes of an element; 0 for what is no dtype. */
size_t dtype_bytes(ssq_dtype dtype);
/** True for f32, f16 and bf16. */
bool dtype_is_float(ssq_dtype dtype);
bool view_same_shape(const struct view *a, const struct view *b);
/** Same buffer, offset, shape, strides and element size: in-place is safe. */
bool view_same_place(const struct view *a, const struct view *b);
/** True if the two may touch a common byte. Compares ranges of bytes, and knows
 *  column slices of one matrix apart: a yes may be wrong for other strided
 *  views that interleave, a no never is. */
bool view_overlap(const struct view *a, const struct view *b);
/** Where a view begins, for an index: views that overlap have the same *space,
 *  and bytes *at.. + view_span() in common. Of a buffer with memory. */
void view_place(const struct view *v, uintptr_t *space, uint64_t *at);
/** True if an element may appear twice, by a stride of 0 or by strides that
 *  overlap. */
bool view_self_overlap(const struct view *v);
/** Broadcast v in place to a shape. @return false when it does not match. */
bool view_broadcast(struct view *v, int rank, const int64_t *shape);
/** n columns of the last dimension, from one on. */
struct view view_columns(const struct view *v, int64_t from, int64_t n);
/** "[64,32]" in buf, for messages; returns buf. */
char *view_text(const struct view *v, char *buf, size_t bytes);

/** Merge neighbouring dimensions that every one of n views walks evenly, drop
 *  sizes of 1, and pad to rank >= 1. All views must have the same shape. */
void views_collapse(struct view **v, int n);

#endif
