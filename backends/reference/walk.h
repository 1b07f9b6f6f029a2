/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - access to elements: walk, load and store.
 *
 * An offset is the number of an element in a buffer, as strides count. */
#ifndef BACKENDS_REFERENCE_WALK_H
#define BACKENDS_REFERENCE_WALK_H

#include "kernels/scalar/convert.h"
#include "lib/core/module/backend.h"

/** A walk over up to WALK_VIEWS views of one shape, in row-major order. at[k]
 *  is the offset of the current element in view k. Call walk_begin(), then
 *  `do { .. } while (walk_next(&w));`. The shape must have elements. */
#define WALK_VIEWS 8
/* rank, n: numbers of dimensions and views; shape: of all views; index: of the
 * current element; stride: of each view, in elements */
struct walk {
    int rank, n;
    int64_t shape[SSQ_MAX_RANK];
    int64_t index[SSQ_MAX_RANK];
    int64_t stride[WALK_VIEWS][SSQ_MAX_RANK];
    int64_t at[WALK_VIEWS];
};
/** Begin a walk, in which all views are at their first element. The first view
 *  determines the shape. The offset of an absent view stays 0. */
void walk_begin(struct walk *w, const struct view *const *views, int n);
/** Go to the next element. After the last one return false, and begin again. */
bool walk_next(struct walk *w);

/** Load the raw bits of element i, zero-extended. */
static inline uint32_t load_bits(const void *base, ssq_dtype dtype, int64_t i)
{
    switch (dtype) {
    case SSQ_F16:
    case SSQ_BF16:
        return ((const uint16_t *)base)[i];
    case SSQ_U8:
        return ((const uint8_t *)base)[i];
    default:
        return ((const uint32_t *)base)[i];
    }
}

/** Store the raw bits of element i. */
static inline void store_bits(void *base, ssq_dtype dtype, int64_t i,
                              uint32_t bits)
{
    switch (dtype) {
    case SSQ_F16:
    case SSQ_BF16:
        ((uint16_t *)base)[i] = (uint16_t)bits;
        break;
    case SSQ_U8:
        ((uint8_t *)base)[i] = (uint8_t)bits;
        break;
    default:
        ((uint32_t *)base)[i] = bits;
    }
}

/** Load element i of any dtype as float32. i32 is rounded to nearest even. */
static inline float load_f32(const void *base, ssq_dtype dtype, int64_t i)
{
    return bits_to_f32(load_bits(base, dtype, i), dtype);
}

/** Store a float32 in any dtype, by the rules of ssq_convert, rounded to
 *  nearest. */
static inline void store_f32(void *base, ssq_dtype dtype, int64_t i,
                             float value)
{
    store_bits(base, dtype, i, f32_to_bits(value, dtype, ROUND_NEAREST, 0));
}

/** Load the element of a view that is at an offset from its first one, as
 *  float32. */
static inline float view_load(const struct view *v, int64_t at)
{
    return load_f32(view_host(v), v->dtype, at);
}

/** Store an element of a view, rounded to its dtype. */
static inline void view_store(const struct view *v, int64_t at, float value)
{
    store_f32(view_host(v), v->dtype, at, value);
}

#endif
