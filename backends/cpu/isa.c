/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c - the sets of instructions for which the library was compiled. */
#include "backends/cpu/isa.h"

#include "backends/cpu/attention/attention_kernels.h"
#include "backends/cpu/device/terms.h"

#include <stddef.h>
#include <string.h>

ISA_TABLE(struct attention_kernels, attention)
ISA_TABLE(struct term_kernels, term_kernels)
extern const struct backend_kernel *const native_kernels_plain[],
    *const native_kernels_avx2[], *const native_kernels_avx512[];
extern const struct gemm_kernels gemm_fma_plain, gemm_fma_avx2, gemm_fma_avx512,
    gemm_dot_avx512;
extern const struct table_kernels table_kernels_plain, table_kernels_avx2,
    table_kernels_avx512;

/* The compiled sets, best first. */
static const struct isa isas[] = {
#if CPU_AVX512
    {.name = "avx512",
     .number = ISA_AVX512,
     .width = 16,
     .kernels = native_kernels_avx512,
     .gemm = &gemm_fma_avx512,
     .dot = &gemm_dot_avx512,
     .table = &table_kernels_avx512},
#endif
#if CPU_AVX2
    {.name = "avx2",
     .number = ISA_AVX2,
     .width = 8,
     .kernels = native_kernels_avx2,
     .gemm = &gemm_fma_avx2,
     .table = &table_kernels_avx2},
#endif
#if CPU_PLAIN
    {.name = "plain",
     .number = ISA_PLAIN,
     .width = 4,
     .kernels = native_kernels_plain,
     .gemm = &gemm_fma_plain,
     .table = &table_kernels_plain},
#endif
};
#define ISAS (sizeof(isas) / sizeof(isas[0]))

/* By enum isa_number. */
static const char *const names[] = {"plain", "avx2", "avx512"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static bool isa_has(const struct cpu_features *f, enum isa_number number)
{
    return number == ISA_AVX512 ? f->avx512
           : number == ISA_AVX2 ? f->avx2
                                : true;
}

/* Return the index of a name; NAMES if it is not a set. */
static size_t isa_number_of(const char *name)
{
    size_t i = 0;
    while (i < NAMES && strcmp(names[i], name) != 0)
        i++;
    return i;
}

bool isa_exists(const char *name)
{
    return isa_number_of(name) < NAMES;
}

const struct isa *isa_choose(const struct cpu_features *f, const char *name)
{
    size_t most = name[0] == '\0' ? ISA_AVX512 : isa_number_of(name);
    size_t i = 0;
    while (i < ISAS && (isas[i].number > most || !isa_has(f, isas[i].number)))
        i++;
    return i < ISAS && most < NAMES ? &isas[i] : NULL;
}

const struct attention_kernels *isa_attention(const struct isa *isa)
{
    return attention_of[isa->number];
}

const struct term_kernels *isa_terms(const struct isa *isa)
{
    return term_kernels_of[isa->number];
}
