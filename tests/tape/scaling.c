/* SPDX-License-Identifier: Apache-2.0 */
/* scaling.c - the scaler of a trainer in one line: the policy's loss_scale, a
 * preset with other numbers, the whole options; and two that contradict. */
#include "tests/tape/harness.h"

#include <unistd.h>

#define IN   4
#define OUT  3
#define ROWS 5

static ssq_trainer *trainer_of(const struct tape_harness *b,
                               const ssq_trainer_args *args)
{
    ssq_trainer *t = NULL;
    NEED(ssq_trainer_create(b->queue, args, &t));
    return t;
}

/* factor 1e38 makes gradients of f16 that are not finite. */
static void step(const struct tape_harness *b, ssq_trainer *trainer,
                 double factor)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var y = ssq_nn_linear(t, "fc1", ssq_var_input(t, b->x), 6, NULL);
    y = ssq_nn_linear(t, "fc2", ssq_tanh_var(y), OUT, NULL);
    ssq_var loss = ssq_mse_var(y, SSQ_MSE(.target = b->target));
    loss = ssq_scale_var(loss, SSQ_SCALE(.alpha = factor));
    NEED(ssq_trainer_step(trainer, loss));
}

/* All parameters as float32; returns how many. */
static size_t values(const struct tape_harness *b, ssq_trainer *t, float *to)
{
    ssq_params *params = ssq_trainer_params(t);
    ssq_params_stats s = SSQ_PARAMS_STATS_INIT;
    NEED(ssq_params_stats_get(params, &s));
    NEED(ssq_params_read(params, b->queue, ssq_trainer_optimizer(t), NULL, to,
                         (size_t)s.elements));
    return (size_t)s.elements;
}

/* ---- scalers ---- */

/* The scale before, and after three good steps and two bad ones: 0, no scaler.
 */
static void becomes(const struct tape_harness *b, const char *what,
                    const ssq_trainer_args *args, double before, double after,
                    unsigned skipped)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT, e = SSQ_SCALER_STATE_INIT;
    ssq_trainer *t = trainer_of(b, args);
    s.scale = e.scale = 0.0;
    if (ssq_trainer_scaler(t) != NULL)
        NEED(ssq_scaler_state_get(b->queue, ssq_trainer_scaler(t), &s));
    for (int i = 0; i < 3; i++)
        step(b, t, 1.0);
    for (int i = 0; i < 2 && skipped > 0; i++)
        step(b, t, 1e38);
    if (ssq_trainer_scaler(t) != NULL)
        NEED(ssq_scaler_state_get(b->queue, ssq_trainer_scaler(t), &e));
    tap_ok(s.scale == before && e.scale == after && e.skipped == skipped,
           "%s: %s: scale %g, then %g, %u skipped", b->name, what, s.scale,
           e.scale, e.skipped);
    ssq_trainer_destroy(&t);
}

static void scalers(const struct tape_harness *b)
{
    becomes(b, "loss_scale=512",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=512"), 512, 512, 2);
    becomes(b, "loss_scale=1",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=1"), 1, 1, 2);
    becomes(b, "loss_scale=none",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=none"), 0, 0, 0);
    becomes(b, "loss_scale=dynamic",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=dynamic"), 65536,
            32768, 2);
    becomes(b, "bf16 has a scale if its text says so",
            SSQ_TRAINER(.policy = "mixed_bfloat16,loss_scale=2^4"), 16, 16, 2);
    becomes(b, "dynamic, by a preset",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=dynamic",
                        .scaler = "keras3"),
            32768, 8192, 2);
    becomes(b, "a preset with other numbers",
            SSQ_TRAINER(.policy = "mixed_float16",
                        .scaler = "pytorch,init_scale=1024,growth_interval=3"),
            1024, 512, 2);
    becomes(b, "a static scale, as a preset",
            SSQ_TRAINER(.policy = "mixed_float16",
                        .scaler = "fixed,init_scale=128"),
            128, 128, 2);
    becomes(
        b, "the whole options",
        SSQ_TRAINER(.policy = "mixed_float16",
                    .scaler_options = SSQ_SCALER_OPTIONS(.init_scale = 64,
                                                         .growth_interval = 1)),
        64, 256, 2);
    becomes(
        b, "options, and float32 that needs none",
        SSQ_TRAINER(.scaler_options = SSQ_SCALER_OPTIONS(.init_scale = 4,
                                                         .growth_interval = 1)),
        4, 16, 2);
    becomes(b, "fastai's first",
            SSQ_TRAINER(.policy = "mixed_float16", .scaler = "fastai_old"),
            0x1p32, 0x1p27, 5);
    becomes(b, "fastai 2's own",
            SSQ_TRAINER(.policy = "mixed_float16",
                        .scaler = "fastai2_non_native,init_scale=2^10"),
            1024, 256, 2);
}

/* The sixteen lines that the text represents. */
static void same_bits(const struct tape_harness *b)
{
    float at[2][128];
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        ssq_trainer *t = trainer_of(
            b, SSQ_TRAINER(.policy = k == 0 ? "mixed_float16,loss_scale=512"
                                            : "mixed_float16"));
        ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT;
        ssq_scaler *fixed = NULL;
        NEED(ssq_scaler_options_preset("fixed", &o));
        o.init_scale = 512.0;
        NEED(ssq_scaler_create(b->device, NULL, &o, &fixed));
        if (k == 1)
            NEED(ssq_trainer_set_scaler(t, fixed));
        ssq_scaler_destroy(&fixed);
        for (int i = 0; i < 4; i++)
            step(b, t, i == 2 ? 1e38 : 1.0);
        n = values(b, t, at[k]);
        ssq_trainer_destroy(&t);
    }
    tap_ok(n > 30 && memcmp(at[0], at[1], n * sizeof(float)) == 0,
           "%s: loss_scale=512 has the bits of a scaler of 512", b->name);
}

/* A file says which dtypes its parameters have, and the scaler's record what
 * their scale is: the policy's text is compared without it. */
static void saved(const struct tape_harness *b)
{
    char path[64];
    float at[2][128];
    snprintf(path, sizeof(path), "scaling.%ld.run", (long)getpid());
    ssq_trainer *t = trainer_of(
        b, SSQ_TRAINER(.policy = "mixed_float16,loss_scale=512,tanh=float32"));
    ssq_trainer *u =
        trainer_of(b, SSQ_TRAINER(.policy = "mixed_float16,tanh=float32",
                                  .scaler = "fixed"));
    step(b, t, 1.0);
    NEED(ssq_trainer_save(t, path));
    NEED(ssq_trainer_load(u, path));
    for (int i = 0; i < 2; i++) {
        step(b, t, 1.0);
        step(b, u, 1.0);
    }
    size_t n = values(b, t, at[0]);
    tap_ok(n == values(b, u, at[1]) && n > 30 &&
               memcmp(at[0], at[1], n * sizeof(float)) == 0,
           "%s: a run with loss_scale=512 goes on without the text", b->name);
    (void)remove(path);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&u);
}

/* ---- refused ---- */

static void refused(const struct tape_harness *b, ssq_status status,
                    const char *text, const ssq_trainer_args *args)
{
    ssq_trainer *t = NULL;
    core_status(ssq_trainer_create(b->queue, args, &t), status, text,
                "%s: refused: %s", b->name, text);
    tap_ok(t == NULL, "%s: and nothing is made", b->name);
}

static void misuse(const struct tape_harness *b)
{
    ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT;
    refused(b, SSQ_ERR_INVALID,
            "the policy \"mixed_float16,loss_scale=512\" has loss_scale, and "
            "the scaler is \"keras3\"",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=512",
                        .scaler = "keras3"));
    refused(b, SSQ_ERR_INVALID, "the scaler is \"none\"",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=dynamic",
                        .scaler = "none"));
    refused(b, SSQ_ERR_INVALID, "the scaler is scaler_options",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=none",
                        .scaler_options = &o));
    refused(b, SSQ_ERR_INVALID, "scaler is \"fastai\", and there are",
            SSQ_TRAINER(.policy = "mixed_float16", .scaler = "fastai",
                        .scaler_options = &o));
    refused(b, SSQ_ERR_INVALID, "loss_scale is \"big\"",
            SSQ_TRAINER(.policy = "mixed_float16,loss_scale=big"));
    refused(b, SSQ_ERR_INVALID, "init_scale is 0,",
            SSQ_TRAINER(.scaler = "pytorch,init_scale=0"));
    o.struct_size = 8;
    refused(b, SSQ_ERR_INVALID, "struct_size of options is 8",
            SSQ_TRAINER(.scaler_options = &o));
}

static void texts(const struct tape_harness *b)
{
    static const struct {
        const char *preset, *text;
        ssq_status status;
    } wrong[] = {
        {"kera", "no preset \"kera\"; there are sesqui", SSQ_ERR_NOT_FOUND},
        {",init_scale=2", "no preset \"\"", SSQ_ERR_NOT_FOUND},
        {"keras3,scale=2",
         "no setting \"scale\" in \"keras3,scale=2\"; there "
         "are init_scale, growth_factor",
         SSQ_ERR_NOT_FOUND},
        {"keras3,init_scale",
         "\"init_scale\" in \"keras3,init_scale\" has no "
         "value",
         SSQ_ERR_INVALID},
        {"keras3,", "\"\" in \"keras3,\" has no value", SSQ_ERR_INVALID},
        {"keras3,init_scale=", "init_scale is \"\"", SSQ_ERR_INVALID},
        {"keras3,init_scale=1k", "init_scale is \"1k\"|2^N", SSQ_ERR_INVALID},
        {"keras3,growth_interval=0.5", "expected a whole number below 2^32",
         SSQ_ERR_INVALID},
        {"keras3,growth_interval=2^32", "growth_interval is \"2^32\"",
         SSQ_ERR_INVALID},
        {"pytorch,max_scale=2^20", "no limit that \"max_scale\" would move",
         SSQ_ERR_INVALID},
        {"keras3,min_scale=1", "set floor in ssq_scaler_options",
         SSQ_ERR_INVALID},
    };
    ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT, kept = o;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        core_status(ssq_scaler_options_preset(wrong[i].preset, &o),
                    wrong[i].status, wrong[i].text, "refused: %s",
                    wrong[i].preset);
    tap_ok(memcmp(&o, &kept, sizeof(o)) == 0, "and nothing was written");
    NEED(ssq_scaler_options_preset(
        "fastai,init_scale=512,growth_factor=4,backoff_factor=0.25,"
        "growth_interval=500,first_lag=1,repeat_lag=2,min_scale=0.5,"
        "max_scale=2^20,hysteresis=3,tolerance=0.125,max_consecutive_skips=20",
        &o));
    tap_ok(o.init_scale == 512 && o.growth_factor == 4 &&
               o.backoff_factor == 0.25 && o.growth_interval == 500 &&
               o.first_lag == 1 && o.repeat_lag == 2 && o.min_scale == 0.5 &&
               o.max_scale == 0x1p20 && o.hysteresis == 3 &&
               o.tolerance == 0.125 && o.max_consecutive_skips == 20 &&
               o.cap == SSQ_CEILING_STOP && o.floor == SSQ_FLOOR_APPLY,
           "every number of a preset by its name");
    ssq_trainer *t = trainer_of(b, NULL);
    ssq_tape *tape = ssq_trainer_begin(t);
    ssq_tape_autocast_push(tape, "float32,loss_scale=512");
    core_status(ssq_tape_status(tape), SSQ_ERR_INVALID,
                "\"float32,loss_scale=512\" has loss_scale",
                "%s: a region has no loss scale", b->name);
    ssq_trainer_destroy(&t);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        scalers(&b);
        same_bits(&b);
        saved(&b);
        misuse(&b);
        if (i == 0)
            texts(&b);
        harness_close(&b);
    }
    return tap_done(40);
}
