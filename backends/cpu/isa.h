/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - code for one set of instructions.
 *
 * What is hot is compiled several times from the same text: the kernels
 * (native.sh) and the files of isa/, whose external names all go through
 * ISA_NAME. Which of them a device uses is chosen when it opens. Bits of class
 * B do not depend on it. */
#ifndef BACKENDS_CPU_ISA_H
#define BACKENDS_CPU_ISA_H

#include "backends/cpu/features.h"
#include "backends/cpu/kernel.h"

/* ISA is plain, avx2 or avx512 in what is compiled for one. */
#define ISA_PASTE(NAME, OF) NAME##_##OF
#define ISA_JOIN(NAME, OF)  ISA_PASTE(NAME, OF)
#define ISA_NAME(NAME)      ISA_JOIN(NAME, ISA)

struct gemm_kernels;
struct table_kernels;

struct isa {
    const char *name;
    uint32_t width; /* float32s of a vector */
    /* of each text, by enum kernel_id, all variants in their order */
    const struct backend_kernel *const *kernels;
    const struct gemm_kernels *gemm; /* of float32 words */
    const struct gemm_kernels *dot;  /* of pairs of bf16; NULL: none */
    const struct table_kernels *table;
};

/** Defines kernels_of(isa): the struct NAME that isa/ has for the device's
 *  instructions, by the width of their vectors. */
#ifdef __x86_64__
#define ISA_KERNELS(NAME)                                                      \
    extern const struct NAME NAME##_plain, NAME##_avx2, NAME##_avx512;         \
    static const struct NAME *kernels_of(const struct isa *isa)                \
    {                                                                          \
        return isa->width == 16  ? &NAME##_avx512                              \
               : isa->width == 8 ? &NAME##_avx2                                \
                                 : &NAME##_plain;                              \
    }
#else
#define ISA_KERNELS(NAME)                                                      \
    extern const struct NAME NAME##_plain;                                     \
    static const struct NAME *kernels_of(const struct isa *isa)                \
    {                                                                          \
        (void)isa;                                                             \
        return &NAME##_plain;                                                  \
    }
#endif

/** The best set of instructions that the processor has, and no better than the
 *  one of that name; "" names none. NULL: there is no such name. */
const struct isa *isa_choose(const struct cpu_features *f, const char *name);

#endif
