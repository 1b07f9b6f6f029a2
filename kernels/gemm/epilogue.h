/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - what happens to a sum of products before it is stored:
 * activation(alpha sum + beta c + bias), each step rounded to float32.
 *
 * Activations are the values of ssq_activation. */
#ifndef KERNELS_GEMM_EPILOGUE_H
#define KERNELS_GEMM_EPILOGUE_H

#include "kernels/scalar/scalar.h"

#define ACT_NONE      0u
#define ACT_RELU      1u
#define ACT_GELU      2u
#define ACT_GELU_TANH 3u
#define ACT_SILU      4u
#define ACT_SIGMOID   5u
#define ACT_TANH      6u

FN float activate(float x, u32 activation)
{
    if (activation == ACT_RELU)
        return x < 0.0f ? 0.0f : x; /* NaN stays */
    if (activation == ACT_GELU)
        return s_gelu(x);
    if (activation == ACT_GELU_TANH)
        return s_gelu_tanh(x);
    if (activation == ACT_SILU)
        return s_silu(x);
    if (activation == ACT_SIGMOID)
        return s_sigmoid(x);
    if (activation == ACT_TANH)
        return s_tanh(x);
    return x;
}

#endif
