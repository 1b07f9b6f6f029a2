/* SPDX-License-Identifier: Apache-2.0 */
/* fpenv.c - tests that the caller's floating-point modes neither change a
 * result nor are changed: FTZ, DAZ, and the rounding direction. */

#include <fenv.h>

#include "lib/core/base/fpenv.h"

#include "tests/core/core.h"

#define N 6

/* Subnormals, ties, overflow: results that the modes would change. */
static const float in[N] = {1e-40f,  -3e-39f, 1.00048828125f,
                            65519.f, 5.9e-8f, 0x1.000002p-126f};

struct fpenv_result {
    uint16_t half[N], cut[N], late[N];
    float back[N];
};

/* Casts at the call, on a device, and by the host function. */
static void compute(const char *name, struct fpenv_result *r)
{
    ssq_device *dev = core_open(name);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_tensor *h = core_vector(dev, SSQ_F16, N);
    ssq_cast_args args = SSQ_CAST_INIT;

    NEED(ssq_convert(r->half, SSQ_BF16, in, SSQ_F32, N, SSQ_ROUND_NEAREST, 0));
    NEED(
        ssq_convert(r->cut, SSQ_F16, in, SSQ_F32, N, SSQ_ROUND_TOWARD_ZERO, 0));
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    args.x = x;
    args.y = h;
    NEED(ssq_cast(q, &args));
    NEED(ssq_tensor_read(q, h, r->late, sizeof(r->late), SSQ_F16));
    NEED(ssq_tensor_read(q, h, r->back, sizeof(r->back), SSQ_F32));
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&h);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

static void test_rounding(const char *name, const struct fpenv_result *want)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

    for (int i = 0; i < 3; i++) {
        struct fpenv_result r;
        int after;

        memset(&r, 0, sizeof(r));
        fesetround(modes[i]);
        compute(name, &r);
        after = fegetround();
        fesetround(FE_TONEAREST);
        tap_ok(memcmp(&r, want, sizeof(r)) == 0,
               "%s: the same bits in rounding mode %d", name, modes[i]);
        tap_ok(after == modes[i], "%s: mode %d is kept", name, modes[i]);
    }
}

static void test_flushing(const char *name, const struct fpenv_result *want)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned saved = _mm_getcsr(), set = saved | 0x8040, after;
    struct fpenv_result r;

    memset(&r, 0, sizeof(r));
    _mm_setcsr(set); /* FTZ and DAZ */
    compute(name, &r);
    after = _mm_getcsr();
    _mm_setcsr(saved);
    tap_ok(memcmp(&r, want, sizeof(r)) == 0,
           "%s: the same bits under FTZ and DAZ", name);
    tap_ok((after & ~0x3fu) == (set & ~0x3fu),
           "%s: the caller's MXCSR %04x is kept: %04x", name, set, after);
#else
    (void)want;
    tap_skip("only tried on x86", "%s: the same bits under FTZ and DAZ", name);
#endif
}

/* A bit for each device that keeps subnormals. */
static int keepers(void)
{
    int bits = 0;

    for (size_t i = 0; i < core_device_count(); i++) {
        ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
        ssq_device *dev = core_open(core_device(i));

        NEED(ssq_device_props_get(dev, &p));
        bits |= (p.f32_subnormals == SSQ_SUBNORMALS_PRESERVED) << i;
        ssq_device_close(&dev);
    }
    return bits;
}

static int keepers_under_flushing(void *arg)
{
    (void)arg;
#if defined(__x86_64__) || defined(__i386__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    return keepers();
}

int main(void)
{
    struct fpenv_result want[CORE_MOST];

    memset(want, 0, sizeof(want));
    /* before a driver is loaded: its threads do not survive a fork */
    int st = tap_fork(keepers_under_flushing, NULL, 60), bits = keepers();
    tap_ok(tap_exited(st, bits) && (bits & 3) == 3,
           "devices opened under FTZ and DAZ keep subnormals as ever, %x: %s",
           (unsigned)bits, tap_status(st));
    for (size_t i = 0; i < core_device_count(); i++) {
        char name[16];

        snprintf(name, sizeof(name), "%s", core_device(i));
        compute(name, &want[i]);
        tap_ok(want[i].late[4] == 1 && want[i].half[0] == 0x0001,
               "%s: subnormals are not 0: %04x %04x", name, want[i].late[4],
               want[i].half[0]);
        test_rounding(name, &want[i]);
        test_flushing(name, &want[i]);
    }
    tap_ok(memcmp(&want[0], &want[1], sizeof(want[0])) == 0,
           "reference and guard give the same bits");
    return tap_done(17);
}
