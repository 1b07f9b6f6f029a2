/* SPDX-License-Identifier: Apache-2.0 */
/* modes.c - the caller's floating-point modes change no bit of a trace: FTZ and
 * DAZ where there are such, and all rounding directions. */
#include "tests/amp/amp.h"

#include <fenv.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define STEPS 320

struct modes_result {
    uint64_t scales[STEPS]; /* the simulator's, as bits */
    uint64_t on_device[STEPS];
    uint64_t loaded, value;
};

static uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

/* A factor that rounds, and scales down to the last subnormal. */
static void compute(const struct rig *r, struct modes_result *result)
{
    static const uint8_t bad = 1, clean = 0;
    ssq_scaler_options o = rig_preset("pytorch");
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    ssq_schedule cosine = SSQ_SCHEDULE_INIT;
    double value = 0, scale;
    o.growth_factor = 1.7;
    o.backoff_factor = 0.7;
    o.growth_interval = 1;
    o.init_scale = 0x1p-60;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    for (int i = 0; i < STEPS; i++) {
        bool overflow = i % 5 != 0;
        NEED(ssq_scaler_simulate(&o, &s, 1, overflow ? &bad : &clean, &scale,
                                 NULL));
        result->scales[i] = bits_of(scale);
        rig_step(r, scaler, overflow);
        ssq_scaler_state got = rig_state(r, scaler);
        result->on_device[i] = bits_of(got.scale);
    }
    s.scale = 0x1.23p-140;
    NEED(ssq_scaler_state_set(r->queue, scaler, &s));
    result->loaded = bits_of(rig_state(r, scaler).scale);
    cosine.kind = SSQ_SCHEDULE_COSINE;
    cosine.total_steps = 77;
    NEED(ssq_schedule_value(&cosine, 33, &value));
    result->value = bits_of(value);
    ssq_scaler_destroy(&scaler);
}

static void directions(const struct rig *r, const struct modes_result *want)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    static const char *const names[] = {"up", "down", "toward zero"};
    for (int i = 0; i < 3; i++) {
        static struct modes_result got;
        memset(&got, 0, sizeof(got));
        fesetround(modes[i]);
        compute(r, &got);
        int after = fegetround();
        fesetround(FE_TONEAREST);
        tap_ok(memcmp(&got, want, sizeof(got)) == 0 && after == modes[i],
               "%s: %d steps are the same when the caller rounds %s", r->name,
               STEPS, names[i]);
    }
}

static void flushing(const struct rig *r, const struct modes_result *want)
{
#if defined(__SSE__)
    static struct modes_result got;
    unsigned before = _mm_getcsr();
    memset(&got, 0, sizeof(got));
    _mm_setcsr(before | 0x8040); /* FTZ and DAZ */
    compute(r, &got);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    tap_ok(memcmp(&got, want, sizeof(got)) == 0 && (after & 0x8040) == 0x8040,
           "%s: %d steps are the same with FTZ and DAZ", r->name, STEPS);
#else
    (void)want;
    tap_skip("no SSE", "%s: steps with FTZ and DAZ", r->name);
#endif
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        static struct modes_result want;
        struct rig r = rig_open(core_device(d));
        compute(&r, &want);
        tap_ok(want.scales[STEPS - 1] != 0 &&
                   want.scales[STEPS - 1] < bits_of(0x1p-126) &&
                   want.on_device[STEPS - 1] < bits_of(0x1p-126) &&
                   want.loaded == bits_of(0x1.23p-140),
               "%s: the run ends in subnormal scales", r.name);
        directions(&r, &want);
        flushing(&r, &want);
        rig_close(&r);
    }
    return tap_done(8);
}
