/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - access to elements: walk, load and store. */
#include "backends/reference/reference.h"

#include "kernels/scalar/convert.h"

/* Begin a walk, in which all views are at their first element. The first view
 * determines the shape. The strides of an absent view are 0, so its offset does
 * not change. */
void walk_begin(struct walk *w, const struct view *const *views, int n)
{
    *w = (struct walk){.rank = views[0]->rank, .n = n};
    for (int i = 0; i < w->rank; i++)
        w->shape[i] = views[0]->shape[i];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < w->rank; i++)
            w->stride[k][i] = views[k]->stride[i];
}

/* Go to the next element, as in counting: increment the last dimension that is
 * not at its end, and reset the dimensions after it. Returns false, and resets
 * all, after the last element. */
bool walk_next(struct walk *w)
{
    for (int i = w->rank - 1; i >= 0; i--) {
        for (int k = 0; k < w->n; k++)
            w->at[k] += w->stride[k][i];
        if (++w->index[i] < w->shape[i])
            return true;
        for (int k = 0; k < w->n; k++)
            w->at[k] -= w->shape[i] * w->stride[k][i];
        w->index[i] = 0;
    }
    return false;
}

/* The size of an element is enough to load and store bits; the caller must know
 * their meaning. */
uint32_t load_bits(const void *base, ssq_dtype dtype, int64_t i)
{
    switch (dtype_bytes(dtype)) {
    case 1:
        return ((const uint8_t *)base)[i];
    case 2:
        return ((const uint16_t *)base)[i];
    default:
        return ((const uint32_t *)base)[i];
    }
}

void store_bits(void *base, ssq_dtype dtype, int64_t i, uint32_t bits)
{
    switch (dtype_bytes(dtype)) {
    case 1:
        ((uint8_t *)base)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)base)[i] = (uint16_t)bits;
        break;
    default:
        ((uint32_t *)base)[i] = bits;
    }
}

/* Conversions use the code of the kernels, which is the same for all
 * devices. */
float load_f32(const void *base, ssq_dtype dtype, int64_t i)
{
    return bits_to_f32(load_bits(base, dtype, i), dtype);
}

void store_f32(void *base, ssq_dtype dtype, int64_t i, float value)
{
    store_bits(base, dtype, i, f32_to_bits(value, dtype, ROUND_NEAREST, 0));
}
