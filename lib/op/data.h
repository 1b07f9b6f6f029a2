/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - ops that move or convert elements without arithmetic. */
#ifndef LIB_OP_DATA_H
#define LIB_OP_DATA_H

#include "lib/core.h"

/** Host bytes into a contiguous view. */
struct upload_op {
    struct op op;
    const void *host; /* NULL: the bytes are in inlined */
    uint64_t bytes;
    unsigned char inlined[UPLOAD_INLINE];
    struct view dst;
};

/** A contiguous view into host bytes. */
struct download_op {
    struct op op;
    void *host;
    uint64_t bytes;
    struct view src;
};

/** Every element of y gets the low dtype_bytes(y.dtype) bytes of bits. */
struct fill_op {
    struct op op;
    uint32_t bits;
    struct view y;
};

/** y = x, the same dtype and shape, any strides. */
struct copy_op {
    struct op op;
    struct view x, y;
};

/** y = x in another dtype, the same shape, any strides. Element i of the
 *  collapsed order draws word i of (seed, step, id). */
struct cast_op {
    struct op op;
    ssq_rounding rounding;
    uint32_t seed[2]; /* low, high */
    uint32_t id;
    struct view x, y;
    struct view step; /* optional: one u32 word, else 0 */
};

/** Enqueue y = x: a copy or a cast, from views that have the same shape.
 *  Zero elements are fine. */
ssq_status enqueue_copy(ssq_queue *queue, const struct view *x,
                        const struct view *y);

#endif
