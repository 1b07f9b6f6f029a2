/* SPDX-License-Identifier: Apache-2.0 */
/* terms.h - what sums over ranks are made of, by the processor's instructions.
 *
 * lib/comm says which terms are joined and in which order (lib/comm/reduce.c);
 * an element's result does not depend on its neighbours, nor on the set of
 * instructions. backends/cpu has the code, as it has all that is compiled for
 * several of them. */
#ifndef LIB_CORE_TERMS_H
#define LIB_CORE_TERMS_H

#include <sesqui/dtype.h>

#include <stddef.h>
#include <stdint.h>

/** Addresses are of n neighbours; an out may be an operand, element for
 *  element, and overlaps it in no other way. */
struct term_kernels {
    /* the values of f16 or bf16 */
    void (*load)(float *out, const uint16_t *from, ssq_dtype dtype, size_t n);
    void (*add)(float *out, const float *a, const float *b, size_t n);
    /* IEEE 754-2019's maximum, whose NaN is 0x7fc00000 */
    void (*maximum)(float *out, const float *a, const float *b, size_t n);
    void (*divide)(float *out, const float *x, float by, size_t n);
    /* rounded to f32, f16 or bf16; a NaN becomes that dtype's quiet one */
    void (*store)(void *out, const float *x, ssq_dtype dtype, size_t n);
    void (*maximum_i32)(int32_t *out, const int32_t *a, const int32_t *b,
                        size_t n);
};

/** Of the best set of instructions that the processor has, or of that which
 *  SSQ_CPU_ISA names. Chosen once; from any thread. */
const struct term_kernels *term_kernels(void);

#endif
