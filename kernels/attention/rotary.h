/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.h - one pair of a row turned by the angle of its position. */

#ifndef SSQ_KERNELS_ROTARY_H
#define SSQ_KERNELS_ROTARY_H

#include "kernels/scalar/scalar.h"

/* The angle of a pair: the position as float32 times the frequency of the
 * pair. */
FN float rotary_angle(float position, float freq)
{
    EXACT float angle = position * freq;

    return angle;
}

/* sin of the angle, or of its negative. */
FN float rotary_sin(float angle, bool inverse)
{
    EXACT float s = s_sin(angle);

    return inverse ? s_neg(s) : s;
}

/* The pair (a, b) turned by an angle of cosine c and sine s. */
FN float rotary_first(float a, float b, float c, float s)
{
    EXACT float u = a * c;
    EXACT float v = b * s;
    EXACT float y = u - v;

    return s_canonical(y);
}

/* The second of the pair: products and sum are each rounded, too. */
FN float rotary_second(float a, float b, float c, float s)
{
    EXACT float u = b * c;
    EXACT float v = a * s;
    EXACT float y = u + v;

    return s_canonical(y);
}

#endif
