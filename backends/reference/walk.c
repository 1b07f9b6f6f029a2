/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - element access of the reference: walking, loading, storing. */
#include "backends/reference/reference.h"

#include "kernels/dialect/convert.h"

/* The first view gives the shape, and all begin at their first element. The
 * strides of an absent view are 0, so that it stays where it is. */
void walk_begin(struct walk *w, const struct view *const *views, int n)
{
    *w = (struct walk){.rank = views[0]->rank, .n = n};
    for (int i = 0; i < w->rank; i++)
        w->shape[i] = views[0]->shape[i];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < w->rank; i++)
            w->stride[k][i] = views[k]->stride[i];
}

/* Counts up like an odometer: the last dimension that is not at its end takes a
 * step, and those behind it go back to 0. */
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

/* By the size of an element alone: what its bits mean is up to the caller. */
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

/* The conversions are those of the kernels: one text for all devices. */
float load_f32(const void *base, ssq_dtype dtype, int64_t i)
{
    return bits_to_f32(load_bits(base, dtype, i), dtype);
}

void store_f32(void *base, ssq_dtype dtype, int64_t i, float value)
{
    store_bits(base, dtype, i, f32_to_bits(value, dtype, ROUND_NEAREST, 0));
}
