/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - extremes by integer rank, and shares of a gradient. */
#ifndef SSQ_KERNELS_REDUCE_H
#define SSQ_KERNELS_REDUCE_H

#include "kernels/scalar/convert.h"

FN bool extreme_float(u32 dtype)
{
    return dtype != DT_I32 && dtype != DT_U8;
}

/* How far an element's bits are from the sign of a word. */
FN u32 extreme_shift(u32 dtype)
{
    return dtype == DT_F16 || dtype == DT_BF16 ? 16u : 0u;
}

/* The greater rank is the maximum (or the minimum), of raw bits of any dtype;
 * NaNs have the greatest of all, and -0 is just below +0. Functions that depend
 * on the dtype alone are words, not branches, for loops that become vectors. */
FN u32 extreme_rank(u32 bits, u32 dtype, bool minimum)
{
    u32 negative = extreme_float(dtype) ? 0x7fffffffu : 0u;
    u32 sign = dtype == DT_U8 ? 0u : F32_SIGN;
    u32 infinity = dtype == DT_F16 ? 0x7c000000u : 0x7f800000u;
    u32 most = extreme_float(dtype) ? infinity : 0xffffffffu;
    u32 flip = minimum ? 0xffffffffu : 0u;
    u32 u = bits << extreme_shift(dtype);
    u32 rank = u ^ (((0u - (u >> 31)) & negative) | sign) ^ flip;

    return (u & 0x7fffffffu) > most ? 0xffffffffu : rank;
}

/* The same for positions of extremes, where -0 equals +0. */
FN u32 argmax_rank(u32 bits, u32 dtype, bool minimum)
{
    bool zero =
        dtype == DT_F32 ? (bits & 0x7fffffffu) == 0u : (bits & 0x7fffu) == 0u;

    if (zero && dtype != DT_I32 && dtype != DT_U8)
        return extreme_rank(0u, dtype, minimum);
    return extreme_rank(bits, dtype, minimum);
}

/* The raw bits that have a rank; of the NaNs one. */
FN u32 extreme_of_rank(u32 rank, u32 dtype, bool minimum)
{
    if (rank == 0xffffffffu && extreme_float(dtype))
        return f32_to_bits(AS_F32(F32_NAN), dtype, ROUND_NEAREST, 0u);
    u32 r = minimum ? ~rank : rank;

    if (dtype == DT_I32)
        return r ^ 0x80000000u;
    if (dtype == DT_U8)
        return r;
    r = (r & F32_SIGN) != 0u ? r ^ F32_SIGN : ~r;
    return r >> extreme_shift(dtype);
}

/* A result's bits: any NaN becomes the one NaN of its dtype. */
FN u32 extreme_bits(u32 bits, u32 dtype)
{
    if (dtype == DT_I32 || dtype == DT_U8)
        return bits;
    if (!s_is_nan(bits_to_f32(bits, dtype)))
        return bits;
    return f32_to_bits(AS_F32(F32_NAN), dtype, ROUND_NEAREST, 0u);
}

/* Does the gradient of an extreme y go to x? -0 equals +0, NaN nothing. */
FN bool extreme_tie(float x, float y)
{
    return !s_is_nan(x) && !s_is_nan(y) && x == y;
}

/* One tie's share of the gradient; NaN when nothing equals a NaN. */
FN float extreme_share(float dy, u32 ties)
{
    if (ties == 0u)
        return AS_F32(F32_NAN);
    return s_div(dy, u32_to_float(ties));
}

#endif
