/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - the squared norm: its terms, the order of its sums, its root.
 *
 * The order of every fold of class B (ssq_norm, and the norm used for
 * clipping), which sums of class R take too where nothing else is faster:
 *
 *   1. Element i of a tensor, in row-major order, is in chunk i / FOLD_CHUNK.
 *   2. In a chunk, element j is added to virtual lane j % FOLD_LANES, in
 *      ascending j. A lane begins with its first element (or 0 plus it).
 *   3. A halving tree ends the chunk: for s = 128, 64, .. 1, for l < s,
 *      lane[l] = lane[l] + lane[l + s]; lane[0] is the chunk's partial.
 *      Lanes that no element reached are left out (or are 0).
 *  4. The partials, in the order of their chunks, are folded as the
 *      elements of steps 1 to 3, until one is left. A list of tensors has one
 *      list of partials: its first tensor's, then of its second, ...;
 *      every tensor begins a new chunk.
 *
 * The terms are not negative, so both readings of 2 and 3 give equal bits.
 * Which thread or group does what is free.
 *
 * A square can overflow or vanish in float32, so there are three such sums at
 * once (Blue, "A portable Fortran program to find the Euclidean norm of a
 * vector", ACM TOMS 4(1), 1978): magnitudes from 2^40 up are scaled by 2^-88,
 * those below 2^-50 by 2^88. An element adds norm_term(x) to the sum of its
 * norm_class(x) and 0 to the other two. All terms lie in [2^-122, 2^80), so
 * 2^40 of them cannot overflow, and no sum is subnormal. */
#ifndef SSQ_KERNELS_NORM_H
#define SSQ_KERNELS_NORM_H

#include "kernels/scalar/scalar.h"

#define FOLD_CHUNK 16384u
#define FOLD_LANES 256u

#define NORM_SMALL 0u
#define NORM_MID   1u
#define NORM_BIG   2u

#define NORM_UP   3.0948501e26f  /* 2^88 */
#define NORM_DOWN 3.2311743e-27f /* 2^-88 */

/* Which of the sums x belongs to; infinities and NaNs are big. */
FN u32 norm_class(float x)
{
    u32 a = AS_U32(x) & 0x7fffffffu;

    if (a >= 0x53800000u) /* 2^40 */
        return NORM_BIG;
    return a < 0x26800000u ? NORM_SMALL : NORM_MID; /* 2^-50 */
}

/* The square of x, scaled by its class; exact except for one rounding. */
FN float norm_term(float x)
{
    u32 c = norm_class(x);
    EXACT float scale = c == NORM_SMALL ? NORM_UP
                        : c == NORM_MID ? 1.0f
                                        : NORM_DOWN;
    EXACT float y = x * scale;
    EXACT float square = y * y;

    return square;
}

/* The term of x in the sum of class c. */
FN float norm_add(float x, u32 c)
{
    return norm_class(x) == c ? norm_term(x) : 0.0f;
}

/* The total, scaled by 2^-176, 1 or 2^176: see norm_unscale. A number that is
 * two classes away cannot be seen. */
FN float norm_total(float small, float mid, float big)
{
    if (AS_U32(big) != 0u) {
        EXACT float m = mid * NORM_DOWN;

        m = m * NORM_DOWN;
        return big + m;
    }
    if (AS_U32(mid) != 0u) {
        EXACT float s = small * NORM_DOWN;

        s = s * NORM_DOWN;
        return mid + s;
    }
    return small;
}

/* The factor of a root of that total. */
FN float norm_unscale(float mid, float big)
{
    if (AS_U32(big) != 0u)
        return NORM_UP;
    return AS_U32(mid) != 0u ? 1.0f : NORM_DOWN;
}

/* The norm; the one NaN when there is a NaN. */
FN float norm_root(float small, float mid, float big)
{
    EXACT float root = s_sqrt(norm_total(small, mid, big));
    EXACT float norm = root * norm_unscale(mid, big);

    return s_canonical(norm);
}

/* The squared norm: infinite from 2^128 on, subnormal or 0 below 2^-126. */
FN float norm_squared(float small, float mid, float big)
{
    EXACT float unscale = norm_unscale(mid, big);
    EXACT float square = norm_total(small, mid, big) * unscale;

    square = square * unscale;
    return s_canonical(square);
}

#endif
