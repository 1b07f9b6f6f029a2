/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c - the sets of instructions that the library was compiled for. */
#include "backends/cpu/isa.h"

#include "backends/cpu/attention_kernels.h"
#include "backends/cpu/terms.h"

#include <stddef.h>
#include <string.h>

#define KERNELS(OF)                                                            \
    extern const struct backend_kernel *const native_kernels_##OF[];           \
    extern const struct gemm_kernels gemm_fma_##OF;                            \
    extern const struct attention_kernels attention_##OF;                      \
    extern const struct table_kernels table_kernels_##OF;                      \
    extern const struct term_kernels term_kernels_##OF;
KERNELS(plain)
#ifdef __x86_64__
KERNELS(avx2)
KERNELS(avx512)
extern const struct gemm_kernels gemm_dot_avx512;
#endif

/* Best first. */
static const struct isa isas[] = {
#ifdef __x86_64__
    {.name = "avx512",
     .width = 16,
     .kernels = native_kernels_avx512,
     .gemm = &gemm_fma_avx512,
     .dot = &gemm_dot_avx512,
     .table = &table_kernels_avx512},
    {.name = "avx2",
     .width = 8,
     .kernels = native_kernels_avx2,
     .gemm = &gemm_fma_avx2,
     .table = &table_kernels_avx2},
#endif
    {.name = "plain",
     .width = 4,
     .kernels = native_kernels_plain,
     .gemm = &gemm_fma_plain,
     .table = &table_kernels_plain},
};
#define ISAS (sizeof(isas) / sizeof(isas[0]))

static bool has(const struct cpu_features *f, const struct isa *isa)
{
    if (strcmp(isa->name, "avx512") == 0)
        return f->avx512;
    return strcmp(isa->name, "avx2") != 0 || f->avx2;
}

const struct isa *isa_choose(const struct cpu_features *f, const char *name)
{
    size_t i = 0;
    while (i < ISAS && name[0] != '\0' && strcmp(isas[i].name, name) != 0)
        i++;
    while (i < ISAS && !has(f, &isas[i]))
        i++;
    return i < ISAS ? &isas[i] : NULL;
}

const struct attention_kernels *isa_attention(const struct isa *isa)
{
#ifdef __x86_64__
    if (strcmp(isa->name, "avx512") == 0)
        return &attention_avx512;
    if (strcmp(isa->name, "avx2") == 0)
        return &attention_avx2;
#endif
    (void)isa;
    return &attention_plain;
}

const struct term_kernels *isa_terms(const struct isa *isa)
{
#ifdef __x86_64__
    if (strcmp(isa->name, "avx512") == 0)
        return &term_kernels_avx512;
    if (strcmp(isa->name, "avx2") == 0)
        return &term_kernels_avx2;
#endif
    (void)isa;
    return &term_kernels_plain;
}
