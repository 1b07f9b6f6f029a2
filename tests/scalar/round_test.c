/* SPDX-License-Identifier: Apache-2.0 */
/* round_test.c - s_round, s_floor and s_ceil are C's rintf, floorf and ceilf.
 *
 * Bit for bit, for every float32 with SSQ_TEST_FULL=1, else every 97th and all
 * those next to a multiple of 0.5 below 2^13. */

#include "kernels/elementwise/elementwise.h"
#include "tests/tap.h"

static bool same(u32 u)
{
    float x = AS_F32(u);

    return is_nan_bits(u) || (AS_U32(s_round(x)) == AS_U32(rintf(x)) &&
                              AS_U32(s_floor(x)) == AS_U32(floorf(x)) &&
                              AS_U32(s_ceil(x)) == AS_U32(ceilf(x)));
}

static void test_sweep(u32 step)
{
    u32 bad = 0, first = 0, n = 0;
    for (uint64_t u = 0; u <= 0xffffffffu; u += step, n++)
        if (!same((u32)u) && bad++ == 0)
            first = (u32)u;
    tap_ok(bad == 0, "every %u. of 2^32 floats: %u of %u differ, first 0x%08x",
           step, bad, n, first);
}

static void test_ties(void)
{
    u32 bad = 0;
    for (int i = -16384; i <= 16384; i++)
        for (u32 k = 0; k < 3; k++)
            bad += !same(AS_U32((float)i / 2) + k - 1u);
    tap_ok(bad == 0, "ties below 2^13 and their neighbours: %u differ", bad);
}

int main(void)
{
    test_sweep(getenv("SSQ_TEST_FULL") != NULL ? 1u : 97u);
    test_ties();
    return tap_done(2);
}
