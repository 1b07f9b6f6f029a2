/* SPDX-License-Identifier: Apache-2.0 */
/* probe_test.c - what kernels/probe.k asks of a device, and what is made of it.
 *
 * The probe runs here as C, where nothing is flushed; then what flushing would
 * answer is put into its answer, word by word. */

#include "kernels/probe.k"

#include "backends/common/subnormals.h"
#include "tests/tap.h"

static struct probe_answer asked(void)
{
    struct probe_answer a;
    uint32_t x[PROBE_ROWS][3];

    memset(&a, 0, sizeof(a));
    memcpy(x, probe_asked, sizeof(x));
    probe(&x[0][0], (uint32_t *)(void *)&a,
          (probe_args){.x_at = 0, .y_at = 0, .n = PROBE_ROWS});
    return a;
}

static float flushed(u32 u)
{
    return AS_F32((u & 0x7f800000u) == 0 ? u & F32_SIGN : u);
}

static u32 flushed_bits(float x)
{
    return AS_U32(flushed(AS_U32(x)));
}

/* A word that is off is seen, by the verdict that it belongs to alone. */
static void test_words(const struct probe_answer *right)
{
    bool ok = true;
    for (int i = 0; i < PROBE_ROWS; i++)
        for (int k = 0; k < 4; k++) {
            struct probe_answer a = *right;
            a.row[i][k] ^= 1u;
            ok = ok && probe_keeps(&a) == (k >= 2) &&
                 probe_keeps_fused(&a) == (k < 2);
        }
    tap_ok(ok, "each of %d words that is off changes one verdict",
           4 * PROBE_ROWS);
}

/* Devices that flush what they read, or what they write, of one operation. */
static void test_flushing(const struct probe_answer *right)
{
    struct probe_answer mul = *right, add = *right, in = *right, out = *right;
    for (int i = 0; i < PROBE_ROWS; i++) {
        const uint32_t *x = probe_asked[i];
        mul.row[i][0] = AS_U32(flushed(x[0]) * flushed(x[1]));
        add.row[i][1] = flushed_bits(AS_F32(x[0]) + AS_F32(x[2]));
        float f = fmaf(flushed(x[0]), flushed(x[1]), flushed(x[2]));
        in.row[i][2] = in.row[i][3] = AS_U32(f);
        out.row[i][3] = flushed_bits(AS_F32(right->row[i][3]));
    }
    tap_ok(!probe_keeps(&mul), "a product that flushes its factors is seen");
    tap_ok(!probe_keeps(&add), "a sum that flushes its result is seen");
    tap_ok(probe_keeps(&in) && !probe_keeps_fused(&in),
           "an fma that flushes its operands is seen, beside a product and a "
           "sum that do not");
    tap_ok(!probe_keeps_fused(&out), "an fma of vectors alone is seen");
}

int main(void)
{
    struct probe_answer right = asked();
    tap_ok(probe_keeps(&right) && probe_keeps_fused(&right),
           "where nothing is flushed the probe says so");
    test_words(&right);
    test_flushing(&right);
    return tap_done(6);
}
