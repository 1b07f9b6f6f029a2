/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - orders of an optimizer's calls that once stepped on wrong numbers
 * without an error. */
#include "tests/amp/amp.h"

/* A parameter of one element, sgd with lr 1, and its gradient. */
struct one {
    ssq_tensor *p, *g;
    ssq_optimizer *o;
};

static struct one one_open(const struct rig *r, double clip_norm)
{
    struct one s;
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.lr = 1.0;
    options.clip_norm = clip_norm;
    s.p = core_vector(r->device, SSQ_F32, 1);
    s.g = core_vector(r->device, SSQ_F32, 1);
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = s.p, .value = 0.0)));
    NEED(ssq_optimizer_create(r->device, "sgd", &options, &s.o));
    NEED(ssq_optimizer_add(s.o, "p", s.p, s.g, NULL));
    return s;
}

static void one_close(struct one *s)
{
    ssq_optimizer_destroy(&s->o);
    ssq_tensor_destroy(&s->p);
    ssq_tensor_destroy(&s->g);
}

static void set(const struct rig *r, ssq_tensor *x, double value)
{
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = x, .value = value)));
}

static float get(const struct rig *r, const ssq_tensor *x)
{
    float v = NAN;
    NEED(ssq_tensor_read(r->queue, x, &v, sizeof(v), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return v;
}

/* A check without clip_norm has measured no norm to clip by. */
static void clips(const struct rig *r)
{
    struct one s = one_open(r, 1.0);
    set(r, s.g, 100.0);
    NEED(ssq_optimizer_step(r->queue, s.o, NULL));
    NEED(ssq_optimizer_set(r->queue, s.o, NULL, SSQ_HYPER_CLIP_NORM, 0.0));
    set(r, s.g, 0.01);
    set(r, s.p, 0.0);
    NEED(ssq_optimizer_check(r->queue, s.o, NULL));
    core_status(
        ssq_optimizer_set(r->queue, s.o, NULL, SSQ_HYPER_CLIP_NORM, 1.0),
        SSQ_ERR_INVALID, "no norm|before the check",
        "%s: clip_norm after a check without one", r->name);
    NEED(ssq_optimizer_step(r->queue, s.o, NULL));
    tap_ok(get(r, s.p) == -0.01f, "%s: the step is not clipped", r->name);
    NEED(ssq_optimizer_set(r->queue, s.o, NULL, SSQ_HYPER_CLIP_NORM, 0.5));
    NEED(ssq_optimizer_check(r->queue, s.o, NULL));
    NEED(ssq_optimizer_set(r->queue, s.o, NULL, SSQ_HYPER_CLIP_NORM, 1.0));
    NEED(ssq_optimizer_step(r->queue, s.o, NULL));
    tap_ok(get(r, s.p) == -0.02f,
           "%s: another clip_norm after a check with one", r->name);
    /* the check has measured the norm; clip_norm has changed since */
    set(r, s.g, 4.0);
    set(r, s.p, 0.0);
    NEED(ssq_optimizer_check(r->queue, s.o, NULL));
    NEED(ssq_optimizer_set(r->queue, s.o, NULL, SSQ_HYPER_CLIP_NORM, 0.0));
    core_status(
        ssq_optimizer_set(r->queue, s.o, NULL, SSQ_HYPER_CLIP_NORM, 2.0),
        SSQ_OK, "", "%s: clip_norm off and on after a check with one", r->name);
    NEED(ssq_optimizer_step(r->queue, s.o, NULL));
    float p = get(r, s.p);
    tap_ok(fabsf(p + 2.0f) < 1e-5f, "%s: which clips: %g", r->name, (double)p);
    one_close(&s);
}

/* Sums of the scale 8 are not stepped with the scale 2. */
static void sums(const struct rig *r)
{
    struct one s = one_open(r, 0.0);
    ssq_scaler_options options = SSQ_SCALER_OPTIONS_INIT;
    NEED(ssq_scaler_options_preset("fixed", &options));
    options.init_scale = 8.0;
    ssq_scaler *scaler = rig_scaler(r, NULL, &options);
    const ssq_tensor *clean = r->clean;
    set(r, s.g, 8.0);
    NEED(ssq_optimizer_accumulate(r->queue, s.o, 1.0));
    NEED(ssq_scaler_check(r->queue, scaler, 1, &clean));
    NEED(ssq_scaler_update_to(r->queue, scaler, 2.0));
    NEED(scale_used(r->queue, scaler));
    core_status(ssq_optimizer_step(r->queue, s.o, scaler), SSQ_ERR_INVALID,
                "updated after|scale", "%s: a step of sums of an old scale",
                r->name);
    core_status(ssq_optimizer_check(r->queue, s.o, scaler), SSQ_ERR_INVALID,
                "updated after|scale", "%s: or a check", r->name);
    core_status(ssq_optimizer_unscale(r->queue, s.o, scaler), SSQ_ERR_INVALID,
                "optimizer_unscale: |updated after", "%s: or unscaled",
                r->name);
    core_status(ssq_optimizer_step(r->queue, s.o, NULL), SSQ_ERR_INVALID,
                "ssq_optimizer_zero_grad", "%s: nor without a scaler", r->name);
    tap_ok(get(r, s.p) == 0.0f && get(r, s.g) == 8.0f,
           "%s: nothing has changed", r->name);
    /* they are dropped, and the scale of new sums is used */
    NEED(ssq_optimizer_zero_grad(r->queue, s.o));
    size_t needed;
    core_status(ssq_optimizer_save(r->queue, s.o, NULL, 0, &needed), SSQ_OK, "",
                "%s: zero_grad drops them: a save", r->name);
    set(r, s.g, 6.0);
    NEED(ssq_optimizer_accumulate(r->queue, s.o, 1.0));
    NEED(ssq_optimizer_step(r->queue, s.o, scaler));
    NEED(ssq_scaler_update(r->queue, scaler));
    NEED(scale_used(r->queue, scaler));
    tap_ok(get(r, s.p) == -3.0f, "%s: and a step of new sums: %g", r->name,
           (double)get(r, s.p));
    one_close(&s);
    /* an update before the sums is allowed, and so is one of another scaler */
    s = one_open(r, 0.0);
    ssq_scaler *other = rig_scaler(r, "pytorch", NULL);
    set(r, s.g, 2.0);
    NEED(ssq_optimizer_accumulate(r->queue, s.o, 1.0));
    NEED(ssq_scaler_check(r->queue, other, 1, &clean));
    NEED(ssq_scaler_update(r->queue, other));
    NEED(ssq_optimizer_zero_grad(r->queue, s.o)); /* the sums stay */
    set(r, s.g, 2.0);
    NEED(ssq_optimizer_accumulate(r->queue, s.o, 1.0));
    NEED(ssq_optimizer_step(r->queue, s.o, scaler));
    NEED(ssq_scaler_update(r->queue, scaler));
    tap_ok(get(r, s.p) == -2.0f, "%s: two sums and a step: %g", r->name,
           (double)get(r, s.p));
    ssq_scaler_destroy(&other);
    ssq_scaler_destroy(&scaler);
    one_close(&s);
}

/* Nor where another state replaces the scaler's. */
static void replaced(const struct rig *r)
{
    struct one s = one_open(r, 0.0);
    ssq_scaler_options options = SSQ_SCALER_OPTIONS_INIT;
    NEED(ssq_scaler_options_preset("fixed", &options));
    options.init_scale = 8.0;
    ssq_scaler *scaler = rig_scaler(r, NULL, &options);
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    NEED(ssq_scaler_state_get(r->queue, scaler, &state));
    set(r, s.g, 8.0);
    NEED(ssq_optimizer_accumulate(r->queue, s.o, 1.0));
    state.scale = 2.0;
    NEED(ssq_scaler_state_set(r->queue, scaler, &state));
    NEED(scale_used(r->queue, scaler));
    core_status(ssq_optimizer_step(r->queue, s.o, scaler), SSQ_ERR_INVALID,
                "updated after|scale", "%s: sums of a scale that was replaced",
                r->name);
    tap_ok(get(r, s.p) == 0.0f, "%s: nothing has changed", r->name);
    ssq_scaler_destroy(&scaler);
    one_close(&s);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct rig r = rig_open(core_device(i));
        clips(&r);
        sums(&r);
        replaced(&r);
        rig_close(&r);
    }
    return tap_done(2 * 15);
}
