/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - code for one set of instructions.
 *
 * Hot code is compiled several times from the same source: the kernels
 * (native.sh) and the files of isa/, whose external names all use ISA_NAME. A
 * device chooses one set when it opens. Bits of class B do not depend on it. */
#ifndef BACKENDS_CPU_ISA_H
#define BACKENDS_CPU_ISA_H

#include "backends/cpu/compiled.h"
#include "backends/cpu/device/features.h"
#include "backends/cpu/kernel.h"

/* ISA is plain, avx2 or avx512 in code that is compiled for one. */
#define ISA_PASTE(NAME, OF) NAME##_##OF
#define ISA_JOIN(NAME, OF)  ISA_PASTE(NAME, OF)
#define ISA_NAME(NAME)      ISA_JOIN(NAME, ISA)

enum isa_number { ISA_PLAIN, ISA_AVX2, ISA_AVX512 };

struct gemm_kernels;
struct table_kernels;

struct isa {
    const char *name;
    enum isa_number number;
    uint32_t width; /* float32s of a vector */
    /* of each kernel, by enum kernel_id: all variants in their order */
    const struct backend_kernel *const *kernels;
    const struct gemm_kernels *gemm; /* of float32 words */
    const struct gemm_kernels *dot;  /* of pairs of bf16; NULL: none */
    const struct table_kernels *table;
};

/* The address of NAME_<set>, or NULL if --with-cpu-isa left the set out. */
#if CPU_PLAIN
#define ISA_OF_PLAIN(NAME) &NAME##_plain
#else
#define ISA_OF_PLAIN(NAME) NULL
#endif
#if CPU_AVX2
#define ISA_OF_AVX2(NAME) &NAME##_avx2
#else
#define ISA_OF_AVX2(NAME) NULL
#endif
#if CPU_AVX512
#define ISA_OF_AVX512(NAME) &NAME##_avx512
#else
#define ISA_OF_AVX512(NAME) NULL
#endif

/** Declare the constants NAME_plain, NAME_avx2 and NAME_avx512 of a type, and
 * define NAME_of[]: their addresses, by enum isa_number. */
#define ISA_TABLE(TYPE, NAME)                                                  \
    extern const TYPE NAME##_plain, NAME##_avx2, NAME##_avx512;                \
    static const TYPE *const NAME##_of[] = {                                   \
        ISA_OF_PLAIN(NAME), ISA_OF_AVX2(NAME), ISA_OF_AVX512(NAME)};

/** Define kernels_of(isa), which returns the struct NAME of isa/ for the
 * device's instructions. */
#define ISA_KERNELS(NAME)                                                      \
    ISA_TABLE(struct NAME, NAME)                                               \
    static const struct NAME *kernels_of(const struct isa *isa)                \
    {                                                                          \
        return NAME##_of[isa->number];                                         \
    }

/** Return the best set of instructions that the processor has, that was
 * compiled, and that is not better than the set of that name; "" sets no limit.
 * NULL: no set is left, or the name is unknown. */
const struct isa *isa_choose(const struct cpu_features *f, const char *name);

/** Return whether a set of that name exists, compiled or not. */
bool isa_exists(const char *name);

#endif
