/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_fma.c - tiles whose words are float32. */
#include "backends/cpu/isa/gemm/gemm_tile.h"
#include "backends/cpu/isa/gemm/gemv_tile.h"

static void multiply(const struct gemm_tile *tile)
{
    if (tile->b_rows == GEMM_F16)
        tile_choose(GEMM_F16, tile);
    else if (tile->b_rows == GEMM_BF16)
        tile_choose(GEMM_BF16, tile);
    else
        tile_choose(GEMM_F32, tile);
}

static void gemv(const struct gemv_tile *tile)
{
    if (tile->rows_are == GEMM_F16)
        gemv_choose(F16, F32, tile);
    else if (tile->rows_are == GEMM_BF16)
        gemv_choose(BF16, F32, tile);
    else
        gemv_choose(F32, F32, tile);
}

const struct gemm_kernels ISA_NAME(gemm_fma) = {.rows = TILE_ROWS,
                                                .columns = 2 * LANES,
                                                .pair = 1,
                                                .pack = ISA_NAME(gemm_pack),
                                                .multiply = multiply,
                                                .finish = ISA_NAME(gemm_finish),
                                                .gemv = gemv,
                                                .gemv_rows = GEMV_ROWS_OF_FEW};
