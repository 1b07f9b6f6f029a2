/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_amx.c - the tile kernels on the tiles of x86 (AMX).
 *
 * tdpfp16ps is written as its bytes, because compilers and assemblers that know
 * the other instructions do not know it yet. */
#include "backends/cpu/isa/gemm/gemm.h"

#include "backends/cpu/isa/target.h"
#include "backends/cpu/isa/vector.h"

#if LANES == 16
TARGET_BEGIN("amx-tile,amx-bf16")

/* The operand of ldtilecfg: all eight tiles have 16 rows of 64 bytes. */
struct gemm_amx_tile_config {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static void tiles_configure(void)
{
    _Alignas(64) struct gemm_amx_tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    _tile_loadconfig(&c);
}

/* Tiles in use are 8 KiB more for the system to save and to load again. */
static void tiles_release(void)
{
    _tile_release();
}

#define TILE_ZERO(T)           _tile_zero(T)
#define TILE_LOAD(T, P, ROW)   _tile_loadd(T, P, ROW)
#define TILE_STREAM(T, P, ROW) _tile_stream_loadd(T, P, ROW)
#define TILE_STORE(T, P, ROW)  _tile_stored(T, P, ROW)
/* VEX.128.F2.0F38.W0 5C /r: the sum in ModRM.reg, a in ModRM.rm, b in vvvv */
#define TILE_F16(C, A, B)                                                      \
    __asm__ volatile(".byte 0xc4, 0xe2, %c0, 0x5c, %c1" ::"i"(0x7b - 8 * (B)), \
                     "i"(0xc0 + 8 * (C) + (A)))
#define TILE_ADD(C, A, B, F16)                                                 \
    do {                                                                       \
        if (F16)                                                               \
            TILE_F16(C, A, B);                                                 \
        else                                                                   \
            _tile_dpbf16ps(C, A, B);                                           \
    } while (0)
#include "backends/cpu/isa/gemm/gemm_tiles.h"

TILES_ALL(bf16, f16, four, three)
const struct gemm_tiles ISA_NAME(gemm_amx) = {
    .bf16 = &bf16, .f16 = &f16, .four = &four, .three = &three};

TARGET_END
#endif
