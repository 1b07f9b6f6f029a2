/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - ops that move or convert elements without arithmetic. */
#ifndef LIB_CORE_MODULE_DATA_H
#define LIB_CORE_MODULE_DATA_H

#include "lib/core/module/ops.h"

/** Most bytes of an upload that are copied with its op. */
#define UPLOAD_INLINE 512

/** Copy host bytes to a contiguous view. */
struct upload_op {
    struct op op;
    const void *host;                     /* NULL: the bytes are in inlined */
    uint64_t bytes;                       /* the size of dst */
    unsigned char inlined[UPLOAD_INLINE]; /* copied with the op */
    bool scratch; /* dst is new, for these bytes and nothing before them */
    uint8_t gap[7];
    struct view dst;
};

/** Copy a contiguous view to host bytes. */
struct download_op {
    struct op op;
    void *host;     /* must stay valid until the bytes have arrived */
    uint64_t bytes; /* the size of src */
    void (*arrived)(struct object *keep); /* optional: called with op.keep when
                                             the bytes have arrived; not on
                                             failure */
    struct view src;
};

/** Return an op that is complete except for op.keep, which keeps host alive. */
struct upload_op upload_of(const struct view *dst, const void *host,
                           uint64_t bytes);
struct download_op download_of(const struct view *src, void *host,
                               uint64_t bytes);

/** Set every element of y to the low dtype_bytes(y.dtype) bytes of bits.
 *  Backends fill without knowing dtypes. */
struct fill_op {
    struct op op;
    uint32_t bits;
    uint32_t gap;
    struct view y;
};

/** y = x; the same dtype and shape, any strides. */
struct copy_op {
    struct op op;
    struct view x, y;
};

/** y = x, converted to y's dtype; the same shape, any strides. Stochastic
 *  rounding: element i of the collapsed order draws word i of (seed, step,
 *  id). */
struct cast_op {
    struct op op;
    ssq_rounding rounding;
    uint32_t seed[2]; /* low, high; words are drawn to round stochastically */
    uint32_t id;      /* of the stream of words */
    struct view x, y;
    struct view step; /* optional: i32, one element; absent: 0 */
};

/** y[i..., e...] = x[index[i...], e...], or zeros for an index outside x. index
 *  has index_rank dimensions. y has those, then x's except the first. */
struct gather_op {
    struct op op;
    int index_rank; /* 0: index is one element, and y one row */
    uint32_t gap;
    struct view x, index, y;
};

/** dx[index[i...], e...] += dy[i..., e...] in the row-major order of index, in
 *  float32, rounded once; indices outside dx are ignored. Fewer than 2^31 rows
 *  and positions. */
struct scatter_add_op {
    struct op op;
    int index_rank;
    uint32_t gap;
    struct view dy, index, dx;
    struct view work; /* i32, rows + positions words, contiguous: scratch */
};

/** y = index == position along axis ? on : off, as raw elements. index has y's
 *  shape, with stride 0 along axis. */
struct one_hot_op {
    struct op op;
    int axis;         /* of y: its position is compared */
    uint32_t on, off; /* bits, as in fill_op */
    uint32_t gap;
    struct view index, y;
};

/** Words of a record of ssq_index_check(). */
enum { INDEX_WRONG, INDEX_PLACE, INDEX_VALUE, INDEX_N, INDEX_WORDS };

/** Count indices outside 0 .. n - 1, except ignore_index. At least one index,
 *  fewer than 2^31. */
struct index_check_op {
    struct op op;
    int64_t n, ignore_index;
    struct view index;
    struct view record; /* i32 [INDEX_WORDS], contiguous, updated */
};

/** Return dimensions from..to - 1 of a view, at the same offset. */
static inline struct view view_part(const struct view *v, int from, int to)
{
    struct view part = *v;
    part.rank = to - from;
    for (int i = from; i < to; i++) {
        part.shape[i - from] = v->shape[i];
        part.stride[i - from] = v->stride[i];
    }
    return part;
}

#endif
