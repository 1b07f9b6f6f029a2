/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile.c - tiles of a convolution: a gemm's, whose rows of one
 * factor are shifts of the same planes. */
#include "backends/cpu/isa/conv/conv_tile.h"

const struct conv_kernels ISA_NAME(conv_kernels) = {
    .rows = TILE_ROWS,
    .columns = 2 * LANES,
    .vector = 4 * LANES,
    .pair = 1,
    .fill = ISA_NAME(conv_fill),
    .multiply = shifted_choose,
    .fill_taps = ISA_NAME(conv_fill),
    .gather = ISA_NAME(conv_gather),
    .put = ISA_NAME(conv_put),
    .pack = ISA_NAME(gemm_pack)};
