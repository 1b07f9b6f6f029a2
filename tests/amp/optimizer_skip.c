/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_skip.c - under a bad verdict no bit of the state changes, and the
 * steps that follow continue as if the bad one had never been. */
#include "tests/amp/train.h"

#define SCALE 1024.0

/* Clean steps, with a bad one after every second if wanted. */
static void run(struct train *t, ssq_scaler *scaler, bool bad)
{
    for (unsigned step = 0; step < 6; step++) {
        train_step(t, scaler, step, SCALE, FLAW_NONE);
        if (bad && step % 2 == 1)
            train_step(t, scaler, 50 + step, SCALE,
                       step % 4 == 1 ? FLAW_INF : FLAW_NAN);
    }
}

static void test_skip(const struct rig *r, const char *kind,
                      const struct train_storage *s)
{
    ssq_optimizer_options o = train_options(kind, s);
    ssq_scaler *scaler = train_fixed(r, SCALE);
    struct train t, twin;
    struct train_image before, after, end, other;

    train_open(&t, r, kind, s, &o);
    train_open(&twin, r, kind, s, &o);
    train_step(&t, scaler, 0, SCALE, FLAW_NONE);
    before = image_take(&t);
    train_step(&t, scaler, 1, SCALE, FLAW_INF);
    train_step(&t, scaler, 2, SCALE, FLAW_NAN);
    after = image_take(&t);
    tap_ok(image_equal(&before, &after) && train_t(&t) == 1,
           "%s: %s, %s: two overflows change none of %zu bytes", r->name, kind,
           s->name, before.bytes);
    image_free(&after);
    train_step(&t, scaler, 3, SCALE, FLAW_NONE);
    after = image_take(&t);
    tap_ok(!image_equal(&before, &after) && train_t(&t) == 2,
           "%s: %s, %s: a clean step after them does", r->name, kind, s->name);
    train_close(&t);
    train_open(&t, r, kind, s, &o);
    run(&t, scaler, true);
    run(&twin, scaler, false);
    end = image_take(&t);
    other = image_take(&twin);
    tap_ok(image_equal(&end, &other),
           "%s: %s, %s: 6 steps with 3 skips between are the 6 steps", r->name,
           kind, s->name);
    image_free(&before);
    image_free(&after);
    image_free(&end);
    image_free(&other);
    train_close(&t);
    train_close(&twin);
    ssq_scaler_destroy(&scaler);
}

/* Four micro-batches; the flaw is in the second. */
static void window(struct train *t, ssq_scaler *scaler, unsigned step,
                   enum flaw flaw)
{
    for (unsigned micro = 0; micro < 4; micro++) {
        train_send(t, t->grad, 10 * step + micro, SCALE,
                   micro == 1 ? flaw : FLAW_NONE);
        NEED(ssq_optimizer_accumulate(t->r->queue, t->o, 0.25));
    }
    NEED(ssq_optimizer_step(t->r->queue, t->o, scaler));
    NEED(update_used(t->r->queue, scaler));
}

/* The mean of four multiples of 2^-10 is exact in float32: with float32
 * gradients a window is one step on it. */
static void test_mean(const struct rig *r, ssq_scaler *scaler)
{
    ssq_optimizer_options o = train_options("adamw", &storages[0]);
    struct train t, twin;
    struct train_image a, b;
    float g[130];

    train_open(&t, r, "adamw", &storages[0], &o);
    train_open(&twin, r, "adamw", &storages[0], &o);
    window(&t, scaler, 7, FLAW_NONE);
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        for (int64_t i = 0; i < t.n[k]; i++) {
            double sum = 0.0;
            for (unsigned micro = 0; micro < 4; micro++)
                sum += train_gradient(70 + micro, k, i);
            g[i] = (float)(0.25 * SCALE * sum);
        }
        NEED(ssq_tensor_write(r->queue, twin.grad[k], g, sizeof(g), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
    }
    NEED(ssq_optimizer_step(r->queue, twin.o, scaler));
    NEED(update_used(r->queue, scaler));
    a = image_take(&t);
    b = image_take(&twin);
    tap_ok(image_equal(&a, &b),
           "%s: 4 micro-batches are one step on their mean", r->name);
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&twin);
}

/* A window that was checked and never stepped ends with the update. */
static void test_dropped(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[1]);
    ssq_scaler *scaler = train_fixed(r, SCALE);
    struct train t, twin;
    struct train_image a, b;

    train_open(&t, r, "adamw", &storages[1], &o);
    train_open(&twin, r, "adamw", &storages[1], &o);
    train_send(&t, t.grad, 5, SCALE, FLAW_INF);
    NEED(ssq_optimizer_accumulate(r->queue, t.o, 0.25));
    NEED(ssq_optimizer_check(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    train_step(&t, scaler, 6, SCALE, FLAW_NONE);
    window(&t, scaler, 7, FLAW_NONE);
    train_step(&twin, scaler, 6, SCALE, FLAW_NONE);
    window(&twin, scaler, 7, FLAW_NONE);
    a = image_take(&t);
    b = image_take(&twin);
    tap_ok(image_equal(&a, &b) && train_t(&t) == 2,
           "%s: a window that was checked but not stepped ends at the update",
           r->name);
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&twin);
    ssq_scaler_destroy(&scaler);
}

static void test_accumulate(const struct rig *r, const struct train_storage *s)
{
    ssq_optimizer_options o = train_options("adamw", s);
    ssq_scaler *scaler = train_fixed(r, SCALE);
    struct train t, twin;
    struct train_image a, b;

    train_open(&t, r, "adamw", s, &o);
    train_open(&twin, r, "adamw", s, &o);
    window(&t, scaler, 0, FLAW_NONE);
    window(&t, scaler, 1, FLAW_INF);
    window(&t, scaler, 2, FLAW_NONE);
    window(&twin, scaler, 0, FLAW_NONE);
    window(&twin, scaler, 2, FLAW_NONE);
    a = image_take(&t);
    b = image_take(&twin);
    tap_ok(image_equal(&a, &b) && train_t(&t) == 2,
           "%s: %s: an overflow in micro-step 2 of 4 drops its window only",
           r->name, s->name);
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&twin);
    if (s == &storages[0])
        test_mean(r, scaler);
    ssq_scaler_destroy(&scaler);
}

/* One overflows, one does not; each has its own verdict, update their OR. */
static void test_two_optimizers(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[1]);
    ssq_scaler_options so = rig_preset("pytorch");
    ssq_scaler *scaler = NULL;
    struct train t, u;
    struct train_image t0, t1, u0, u1;
    ssq_scaler_state state;

    so.init_scale = SCALE;
    scaler = rig_scaler(r, NULL, &so);
    train_open(&t, r, "adamw", &storages[1], &o);
    train_open(&u, r, "adamw", &storages[1], &o);
    t0 = image_take(&t);
    u0 = image_take(&u);
    train_send(&t, t.grad, 1, SCALE, FLAW_INF);
    train_send(&u, u.grad, 1, SCALE, FLAW_NONE);
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(ssq_optimizer_step(r->queue, u.o, scaler));
    NEED(update_used(r->queue, scaler));
    t1 = image_take(&t);
    u1 = image_take(&u);
    state = rig_state(r, scaler);
    tap_ok(image_equal(&t0, &t1) && !image_equal(&u0, &u1),
           "%s: two optimizers on one scaler: only the bad one skips", r->name);
    tap_ok(state.scale == SCALE / 2 && state.skipped == 1,
           "%s: two optimizers on one scaler: the update sees their OR",
           r->name);
    image_free(&t0);
    image_free(&t1);
    image_free(&u0);
    image_free(&u1);
    train_close(&t);
    train_close(&u);
    ssq_scaler_destroy(&scaler);
}

/* One optimizer, alternating between two scalers. */
static void test_two_scalers(const struct rig *r)
{
    ssq_optimizer_options o = train_options("sgd", &storages[0]);
    ssq_scaler_options so = rig_preset("pytorch");
    ssq_scaler *one = NULL, *two = NULL;
    struct train t;
    ssq_scaler_state a, b;

    so.init_scale = SCALE;
    one = rig_scaler(r, NULL, &so);
    two = rig_scaler(r, NULL, &so);
    train_open(&t, r, "sgd", &storages[0], &o);
    train_step(&t, one, 0, SCALE, FLAW_NONE);
    train_step(&t, two, 1, SCALE, FLAW_NAN);
    train_step(&t, one, 2, SCALE, FLAW_NONE);
    a = rig_state(r, one);
    b = rig_state(r, two);
    tap_ok(a.scale == SCALE && a.updates == 2 && b.scale == SCALE / 2 &&
               b.skipped == 1 && train_t(&t) == 2,
           "%s: two scalers on one optimizer: each moves for its own steps",
           r->name);
    train_send(&t, t.grad, 3, SCALE, FLAW_NONE);
    NEED(ssq_optimizer_check(r->queue, t.o, one));
    core_status(ssq_optimizer_step(r->queue, t.o, two), SSQ_ERR_INVALID,
                "optimizer_step: |another scaler",
                "%s: a step with another scaler than the check is refused",
                r->name);
    core_status(ssq_optimizer_step(r->queue, t.o, NULL), SSQ_ERR_INVALID,
                "optimizer_step: |a scaler",
                "%s: a step without the check's scaler is refused", r->name);
    NEED(ssq_optimizer_step(r->queue, t.o, one));
    NEED(update_used(r->queue, one));
    train_close(&t);
    ssq_scaler_destroy(&one);
    ssq_scaler_destroy(&two);
}

/* fastai applies what overflows at its floor; without a scaler all is applied.
 */
static void test_applied(const struct rig *r)
{
    ssq_optimizer_options o = train_options("sgd", &storages[0]);
    ssq_scaler_options so = rig_preset("fastai");
    ssq_scaler *scaler = NULL;
    struct train t;
    float p[33];

    so.init_scale = 2.0;
    scaler = rig_scaler(r, NULL, &so);
    for (int with = 0; with < 2; with++) {
        train_open(&t, r, "sgd", &storages[0], &o);
        if (with == 1) {
            train_step(&t, scaler, 1, 2.0, FLAW_INF); /* skipped: 2 -> 1 */
            train_step(&t, scaler, 1, 1.0, FLAW_INF); /* applied */
        } else {
            train_step(&t, NULL, 1, 1.0, FLAW_INF);
        }
        NEED(ssq_tensor_read(r->queue, t.param[2], p, sizeof(p), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        tap_ok(isinf(p[1]) && train_t(&t) == 1 && isfinite(p[2]),
               "%s: %s applies an infinite gradient", r->name,
               with == 1 ? "fastai at its floor" : "no scaler");
        train_close(&t);
    }
    ssq_scaler_destroy(&scaler);
}

/* A step applies the gradient times 1 / scale, which must be finite too. Of the
 * four values `bad` are not finite then. */
static void tiny(const struct rig *r, ssq_dtype dtype, double scale,
                 const float values[4], unsigned bad, double clip)
{
    const float ones[4] = {1, 1, 1, 1};
    float after[4] = {0};
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_optimizer *opt = NULL;
    ssq_overflow_report report = SSQ_OVERFLOW_REPORT_INIT;
    const int64_t n = 4;
    ssq_tensor *p = NULL, *g = NULL;
    ssq_scaler *scaler = rig_scaler(r, "pytorch", NULL);

    o.lr = 1.0;
    o.clip_norm = clip;
    NEED(ssq_tensor_create(r->device, SSQ_F32, 1, &n, &p));
    NEED(ssq_tensor_create(r->device, dtype, 1, &n, &g));
    NEED(ssq_tensor_write(r->queue, p, ones, sizeof(ones), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, g, values, sizeof(ones), SSQ_F32));
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &opt));
    NEED(ssq_optimizer_add(opt, "p", p, g, NULL));
    NEED(ssq_scaler_update_to(r->queue, scaler, scale));
    NEED(scale_used(r->queue, scaler));
    NEED(ssq_optimizer_step(r->queue, opt, scaler));
    NEED(ssq_scaler_update(r->queue, scaler));
    ssq_scaler_state state = rig_state(r, scaler);
    NEED(ssq_tensor_read(r->queue, p, after, sizeof(after), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    ssq_status found = ssq_optimizer_overflow(r->queue, opt, &report);
    bool same = memcmp(after, ones, sizeof(ones)) == 0;
    tap_ok(
        state.skipped == (bad > 0) && same == (bad > 0) &&
            (bad == 0 || (found == SSQ_OK && report.infs + report.nans == bad)),
        "%s: %s, scale %g, clip %g: %u of 4 are not finite when applied: "
        "%u skipped, %llu infs, %llu nans",
        r->name, ssq_dtype_name(dtype), scale, clip, bad, state.skipped,
        (unsigned long long)report.infs, (unsigned long long)report.nans);
    ssq_optimizer_destroy(&opt);
    ssq_tensor_destroy(&g);
    ssq_tensor_destroy(&p);
    ssq_scaler_destroy(&scaler);
}

static void test_tiny(const struct rig *r)
{
    static const float some[4] = {0x1p-20f, -1, 0, 0x1p-10f},
                       large[4] = {1, 0x1p100f, -3, 0};
    const ssq_dtype dtypes[] = {SSQ_F32, SSQ_BF16, SSQ_F16};

    for (int d = 0; d < 3; d++)
        for (int c = 0; c < 2; c++) {
            double clip = c == 0 ? 0.0 : 1e30;
            tiny(r, dtypes[d], 0x1p-127, some, 0, clip);
            tiny(r, dtypes[d], 0x1p-128, some, 4, clip);
            tiny(r, dtypes[d], 0x1p-149, some, 4, clip);
            if (dtypes[d] == SSQ_F16)
                continue; /* which has no 2^100 */
            tiny(r, dtypes[d], 0x1p-27, large, 0, clip);
            tiny(r, dtypes[d], 0x1p-28, large, 1, clip);
        }
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STORAGES; s++)
                if (train_tries(&r, k, s))
                    test_skip(&r, kinds[k], &storages[s]);
        for (int s = 0; s < STORAGES; s++)
            test_accumulate(&r, &storages[s]);
        test_dropped(&r);
        test_two_optimizers(&r);
        test_two_scalers(&r);
        test_applied(&r);
        test_tiny(&r);
        rig_close(&r);
    }
    return tap_done(2 * (KINDS * STORAGES * 3 + STORAGES + 1 + 1 + 2 + 3 + 2));
}
