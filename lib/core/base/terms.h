/* SPDX-License-Identifier: Apache-2.0 */
/* terms.h - the arithmetic of sums over ranks, for each instruction set.
 *
 * lib/comm/reduce.c decides which terms are combined, and in which order. An
 * element's result depends neither on its neighbours nor on the instruction
 * set. The code is in backends/cpu, like all code that is compiled for several
 * instruction sets. */
#ifndef LIB_CORE_BASE_TERMS_H
#define LIB_CORE_BASE_TERMS_H

#include <sesqui/dtype.h>

#include <stddef.h>
#include <stdint.h>

/** Each array has n consecutive elements. out may be equal to an operand, but
 *  must not overlap one in another way. */
struct term_kernels {
    /* the values of f16 or bf16, as f32 */
    void (*load)(float *out, const uint16_t *from, ssq_dtype dtype, size_t n);
    void (*add)(float *out, const float *a, const float *b, size_t n);
    /* the maximum of IEEE 754-2019; its NaN is 0x7fc00000 */
    void (*maximum)(float *out, const float *a, const float *b, size_t n);
    void (*divide)(float *out, const float *x, float by, size_t n);
    /* round to f32, f16 or bf16; a NaN becomes the quiet NaN of that dtype */
    void (*store)(void *out, const float *x, ssq_dtype dtype, size_t n);
    void (*maximum_i32)(int32_t *out, const int32_t *a, const int32_t *b,
                        size_t n);
};

/** Return the kernels for the processor's best instruction set, or for the one
 *  that SSQ_CPU_ISA names. The choice is made once. Thread-safe. */
const struct term_kernels *term_kernels(void);

#endif
