/* SPDX-License-Identifier: Apache-2.0 */
/* glu.h - gated linear units: the value of one element, and the source's
 * parameters.
 *
 * Gates are the values of ssq_activation, except for 0; the functions are those
 * of the unary ops, so that y and db are what they and a product give when
 * nothing between them is rounded to 16 bits. */
#ifndef KERNELS_ELEMENTWISE_GLU_H
#define KERNELS_ELEMENTWISE_GLU_H

#include "kernels/elementwise/unary_kinds.h"
#include "kernels/operands/runs.h"

#define GLU_RELU      1u
#define GLU_GELU      2u
#define GLU_GELU_TANH 3u
#define GLU_SILU      4u
#define GLU_SIGMOID   5u
#define GLU_TANH      6u

/* The unary kind of a gate. */
FN u32 glu_function(u32 gate)
{
    if (gate == GLU_RELU)
        return UNARY_relu;
    if (gate == GLU_GELU)
        return UNARY_gelu;
    if (gate == GLU_GELU_TANH)
        return UNARY_gelu_tanh;
    if (gate == GLU_SILU)
        return UNARY_silu;
    if (gate == GLU_SIGMOID)
        return UNARY_sigmoid;
    return UNARY_tanh;
}

/* a f(b), f by its unary kind. */
FN float glu_value(u32 kind, float a, float b)
{
    return s_canonical(a * unary_value(kind, b, 0.0f, 0.0f));
}

/* dy a f'(b): the product of dy and a is rounded first. */
FN float glu_gradient(u32 kind, float a, float b, float dy)
{
    return unary_grad(kind, b, dy * a, 0.0f, 0.0f);
}

/* Operands are bound twice, as 16-bit and as 32-bit words. */
struct glu_args {
    u32 a2_at;
    u32 a4_at;
    u32 b2_at;
    u32 b4_at;
    u32 y2_at;
    u32 y4_at;
    u32 dy2_at; /* of the gradient */
    u32 dy4_at;
    STRUCT(run_shape) run;
    u32 a_steps[RUN_RANK];
    u32 b_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
    u32 dy_steps[RUN_RANK];
};

#endif
