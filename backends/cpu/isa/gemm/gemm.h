/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - the parts of struct gemm_kernels, of one instruction set. */
#ifndef BACKENDS_CPU_ISA_GEMM_GEMM_H
#define BACKENDS_CPU_ISA_GEMM_GEMM_H

#include "backends/cpu/gemm/gemm_kernels.h"
#include "backends/cpu/isa.h"

gemm_pack_fn ISA_NAME(gemm_pack);
gemm_pack_fn ISA_NAME(gemm_pack_pairs);
gemm_pack_fn ISA_NAME(gemm_pack_tiles_a);
gemm_pack_fn ISA_NAME(gemm_pack_tiles_b);
gemm_pack_fn ISA_NAME(gemm_pack_halves_a);
gemm_pack_fn ISA_NAME(gemm_pack_halves_b);
gemm_finish_fn ISA_NAME(gemm_finish);
extern const struct gemm_kernels ISA_NAME(gemm_fma);
extern const struct gemm_kernels ISA_NAME(gemm_dot); /* avx512 alone */
extern const struct gemm_tiles ISA_NAME(gemm_model);
extern const struct gemm_tiles ISA_NAME(gemm_amx); /* avx512 alone */

#endif
