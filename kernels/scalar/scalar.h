/* SPDX-License-Identifier: Apache-2.0 */
/* scalar.h - the scalar arithmetic of the whole library, written once.
 *
 * Only float32 + - * (never contracted), u32 operations, and division and
 * square root rounded correctly: equal inputs give equal bits in C, OpenCL,
 * CUDA and Vulkan wherever float32 subnormals are kept. No libm, no fused
 * multiply-add except for a product's rounding error (pair.h), which is exact,
 * no native transcendental, no 64-bit integers.
 *
 * Accuracy, tested against long double and MPFR: below 0.9 ulp for every
 * function here, above all the derivatives next to their zeros; division and
 * square root 0.5 ulp; random_normal and random_truncated_normal 2 ulp. (s_elu
 * and s_elu_grad: for |alpha| between 2^-20 and 2^20.) After rounding to f16 or
 * bf16 that is 0.501 ulp for all 65,536 inputs. The polynomials come from
 * tests/scalar/polynomials.py.
 *
 * NaN: a NaN argument returns quiet with its sign and payload; a NaN made
 * from other values is 0x7fc00000. Only s_quotient and s_root do not say which
 * NaN they give. */

#ifndef SSQ_KERNELS_SCALAR_H
#define SSQ_KERNELS_SCALAR_H

#include "kernels/dialect/dialect.h"

#include "kernels/scalar/bits.h"
#include "kernels/scalar/cast.h"
#include "kernels/scalar/div.h"
#include "kernels/scalar/pair.h"
#include "kernels/scalar/exp.h"
#include "kernels/scalar/log.h"
#include "kernels/scalar/trig.h"
#include "kernels/scalar/sigmoid.h"
#include "kernels/scalar/erf.h"
#include "kernels/scalar/random.h"

#endif
