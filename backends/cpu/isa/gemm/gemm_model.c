/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_model.c - the tile kernels on the model of tiles: SSQ_CPU_TILES=model.
 */
#include "backends/cpu/isa/gemm/gemm_tiles.h"

static void tiles_configure(void)
{
    model_configure(&model);
}

static void tiles_release(void)
{
    model_release(&model);
}

TILES_ALL(bf16, f16, four, three)
const struct gemm_tiles ISA_NAME(gemm_model) = {
    .bf16 = &bf16, .f16 = &f16, .four = &four, .three = &three};
