/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - recorded gradients, some of which overflow, at several scales:
 * every device has the reference's loss scales, parameters and moments. */
#include "tests/amp/train.h"

#define STEPS 24

/* Scales to begin with: f16 gradients overflow above 65504 / their largest. */
static const double scales[] = {1.0, 32768.0, 16777216.0};
#define SCALES (sizeof(scales) / sizeof(scales[0]))

struct record {
    double scale[STEPS]; /* after each step */
    uint32_t t;
    struct train_image image;
};

static ssq_scaler *scaler_at(const struct rig *r, double scale)
{
    ssq_scaler_options o = rig_preset("sesqui");

    o.init_scale = scale;
    o.growth_interval = 5;
    return rig_scaler(r, "sesqui", &o);
}

/* Steps whose gradients are what a backward pass at the scale would give. */
static void play(const struct rig *r, const char *kind,
                 const struct train_storage *s, double scale,
                 struct record *record)
{
    ssq_optimizer_options o = train_options(kind, s);
    ssq_scaler *scaler = scaler_at(r, scale);
    struct train t;

    train_open(&t, r, kind, s, &o);
    for (unsigned step = 0; step < STEPS; step++) {
        double now = rig_state(r, scaler).scale;
        enum flaw flaw = step % 11 == 7    ? FLAW_INF
                         : step % 11 == 10 ? FLAW_NAN
                                           : FLAW_NONE;
        train_step(&t, scaler, step, now, flaw);
        record->scale[step] = rig_state(r, scaler).scale;
    }
    record->t = train_t(&t);
    record->image = image_take(&t);
    ssq_scaler_destroy(&scaler);
    train_close(&t);
}

static void compare(const struct rig *r, const char *kind,
                    const struct train_storage *s, double scale,
                    const struct record *want)
{
    struct record got;
    unsigned same = 0;

    play(r, kind, s, scale, &got);
    while (same < STEPS &&
           memcmp(&got.scale[same], &want->scale[same], sizeof(double)) == 0)
        same++;
    tap_ok(same == STEPS && got.t == want->t && got.t < STEPS - 3 &&
               image_equal(&got.image, &want->image),
           "%s: %s %s from scale %g: %u of %u scales, %u steps, %zu bytes",
           r->name, kind, s->name, scale, same, (unsigned)STEPS, got.t,
           got.image.bytes);
    image_free(&got.image);
}

int main(void)
{
    size_t devices = core_device_count();
    struct rig rigs[CORE_MOST];

    for (size_t d = 0; d < devices; d++)
        rigs[d] = rig_open(core_device(d));
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < STORAGES; s++)
            for (size_t i = 0; i < SCALES; i++) {
                struct record want;

                play(&rigs[0], kinds[k], &storages[s], scales[i], &want);
                for (size_t d = 1; d < devices; d++)
                    if (train_tries(&rigs[d], (int)k, (int)s))
                        compare(&rigs[d], kinds[k], &storages[s], scales[i],
                                &want);
                image_free(&want.image);
            }
    for (size_t d = 0; d < devices; d++)
        rig_close(&rigs[d]);
    return tap_done((long)(KINDS * STORAGES * SCALES));
}
