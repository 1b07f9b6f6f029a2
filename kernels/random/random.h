/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random fills and dropout, from one random word per element. */
#ifndef SSQ_KERNELS_RANDOM_H
#define SSQ_KERNELS_RANDOM_H

#include "kernels/scalar/scalar.h"

/* values of enum random_kind */
#define RANDOM_UNIFORM          0u
#define RANDOM_NORMAL           1u
#define RANDOM_TRUNCATED_NORMAL 2u
#define RANDOM_BERNOULLI        3u

/* With probability threshold / 2^32; always says 1. */
FN bool random_chance(u32 r, u32 threshold, bool always)
{
    return always || r < threshold;
}

/* a + b * a variate of a kind but RANDOM_BERNOULLI: the product and the sum
 * are rounded apart. */
FN float random_affine(u32 kind, u32 r, float a, float b)
{
    EXACT float z;

    if (kind == RANDOM_UNIFORM)
        z = random_uniform(r);
    else if (kind == RANDOM_NORMAL)
        z = random_normal(r);
    else
        z = random_truncated_normal(r);
    z = b * z;
    return a + z;
}

/* One element of dropout. The choice is one of bits: over a choice between
 * floats, of which s_canonical's is a choice of bits, LLVM 18 in PoCL 6.0 ends
 * the process ("Instruction Combining did not reach a fixpoint"). */
FN float dropout_value(float x, bool drop, float scale)
{
    EXACT float y = x * scale;
    u32 u = AS_U32(s_canonical(y));

    return AS_F32(drop ? 0u : u);
}

#endif
