/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - a variant of gemm_mma.nv: its code, its tiles, the memory that
 * its groups want; and how one is refused. */
#include "backends/mma/mma.h"

#include <stdarg.h>
#include <stdio.h>

/* As the source lists them: LEVEL X A_TURNED B_TURNED LARGE. */
#define TURNED(LEVEL, X)                                                       \
    {LEVEL, X, 0, 0, 0}, {LEVEL, X, 0, 0, 1}, {LEVEL, X, 0, 1, 0},             \
        {LEVEL, X, 0, 1, 1}, {LEVEL, X, 1, 0, 0}, {LEVEL, X, 1, 0, 1},         \
        {LEVEL, X, 1, 1, 0},                                                   \
    {                                                                          \
        LEVEL, X, 1, 1, 1                                                      \
    }
static const uint8_t variants[][LAUNCH_KEYS] = {TURNED(MMA_LEAST, DT_F16),
                                                TURNED(MMA_ASYNC, DT_F16),
                                                TURNED(MMA_ASYNC, DT_BF16)};

static const struct kernel kernel = {
    .name = "gemm_mma",
    .id = KERNEL_gemm_mma,
    .nkeys = 5,
    .keys = {"LEVEL", "X", "A_TURNED", "B_TURNED", "LARGE"},
    .nvariants = sizeof(variants) / sizeof(variants[0]),
    .variants = variants};

bool mma_refuse(struct why *why, const char *format, ...)
{
    va_list args;
    if (why == NULL)
        return false;
    va_start(args, format);
    (void)vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return false;
}

uint32_t mma_tile(unsigned variant)
{
    return (variant & MMA_LARGE) != 0 ? 128 : 64;
}

/* Stages of 32 of k of both factors, as ROOM in the source has them. */
uint32_t mma_local_bytes(const struct mma *mma, unsigned variant)
{
    bool large = (variant & MMA_LARGE) != 0;
    uint32_t stages = mma->level >= MMA_ASYNC || !large ? 3 : 2;
    return stages * 2 * mma_tile(variant) * 32 * (uint32_t)sizeof(uint16_t);
}

uint32_t mma_block(int capability)
{
    return capability < 80 ? 4 : capability < 90 ? 8 : 16;
}

ssq_status mma_code(const struct mma *mma, struct backend_device *d,
                    ssq_dtype dtype, unsigned variant,
                    const struct backend_kernel **code)
{
    const uint8_t key[LAUNCH_KEYS] = {
        mma->level, dtype == SSQ_F16 ? DT_F16 : DT_BF16,
        (variant & MMA_A_TURNED) != 0, (variant & MMA_B_TURNED) != 0,
        (variant & MMA_LARGE) != 0};
    return mma->calls->kernel_get(d, &kernel, key, code);
}
