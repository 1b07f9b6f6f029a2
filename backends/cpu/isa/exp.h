/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - exp of a vector, by the scalar text. */
#ifndef BACKENDS_CPU_ISA_EXP_H
#define BACKENDS_CPU_ISA_EXP_H

#include "backends/cpu/isa/vector.h"
#include "kernels/scalar/exp_neg.h"

/* As s_exp_neg, whose arithmetic is right up to EXP_MOST. */
#define EXP_MOST 40.0f
INLINE floats floats_exp_neg(floats x)
{
    float e[LANES];
    floats_store(e, x);
    for (int i = 0; i < LANES; i++)
        e[i] = s_exp_neg(e[i]);
    return floats_load(e);
}

#endif
