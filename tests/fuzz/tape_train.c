/* SPDX-License-Identifier: Apache-2.0 */
/* tape_train.c - steps of a program over tapes: backward, parameters, and what
 * a trainer does. */

#include <stdio.h>
#include <string.h>

#include "tests/fuzz/tapes.h"

static void begin_step(struct program *t)
{
    program_begin(t);
}

/* A loss of any var; rarely the var itself. */
static void some_loss(struct program *t, ssq_var loss[SIDES])
{
    program_pick(t, -1, loss);
    const char *where = program_where(t);
    unsigned b = input_byte(t->in);
    if (b >= 248 || (ssq_var_rank(loss[0]) == 0 && b >= 128))
        return;
    for (unsigned s = 0; s < SIDES; s++)
        loss[s] = b % 2 == 0 ? ssq_mean_var_at(where, loss[s], NULL)
                             : ssq_sum_var_at(where, loss[s], NULL);
    (void)program_latched(t, "loss");
}

static void check_step(struct program *t)
{
    ssq_var loss[SIDES];
    ssq_status st[SIDES];
    some_loss(t, loss);
    for (unsigned s = 0; s < SIDES && !t->apart; s++)
        st[s] = ssq_tape_check(t->tape[s], loss[s]);
    if (!t->apart)
        (void)program_same(t, "tape_check", st);
}

/* A parameter that there is, or any var. */
static void some_leaf(struct program *t, ssq_var x[SIDES])
{
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    unsigned b = input_byte(t->in);
    size_t n = ssq_params_count(t->params[0]);
    if (b >= 240 || n == 0 ||
        ssq_params_get(t->params[0], b % n, &info) != SSQ_OK) {
        program_pick(t, -1, x);
        return;
    }
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        x[s] = ssq_var_named_at(where, t->tape[s], info.name);
}

/* Gradients of up to three vars, as vars that the program continues with. */
static void grad_step(struct program *t)
{
    ssq_var loss[SIDES], x[3][SIDES], vars[3], grads[SIDES][3];
    ssq_tape_grad_args args = SSQ_TAPE_GRAD_INIT;
    some_loss(t, loss);
    unsigned b = input_byte(t->in), n = 1 + b % 3;
    args.create_graph = b % 8 != 7;
    args.allow_unused = b / 8 % 8 != 7;
    bool scaled = b / 64 == 0;
    for (unsigned i = 0; i < n; i++)
        some_leaf(t, x[i]);
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES && !t->apart; s++) {
        for (unsigned i = 0; i < n; i++)
            vars[i] = x[i][s];
        args.scaler = scaled ? t->scaler[s] : NULL;
        ssq_tape_grad_at(where, t->tape[s], loss[s], vars, n, &args, grads[s]);
    }
    for (unsigned i = 0; i < n && !t->apart; i++) {
        const ssq_var y[SIDES] = {grads[0][i], grads[1][i]};
        if ((y[0].tape == NULL) != (y[1].tape == NULL))
            fuzz_fail("one side has a gradient, the other has none");
        if (y[0].tape != NULL)
            program_made(t, "grad", y);
    }
}

/* A report of labels is not a failure of a call. */
static ssq_status past_report(ssq_status st, bool *told)
{
    const bool report = pair_told(st);
    *told = *told || report;
    return report ? SSQ_OK : st;
}

static void backward_step(struct program *t)
{
    ssq_var loss[SIDES];
    ssq_status st[SIDES];
    some_loss(t, loss);
    bool scaled = input_byte(t->in) % 4 != 3;
    if (t->apart)
        return;
    program_sync(t);
    bool told = false;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] =
            past_report(t->trainer[s] != NULL
                            ? ssq_trainer_step(t->trainer[s], loss[s])
                            : ssq_tape_backward(t->tape[s], loss[s],
                                                scaled ? t->scaler[s] : NULL),
                        &told);
    if (told) /* both sides begin the mean of losses again at the same pass */
        program_sync(t);
    if (program_same(t, t->trainer[0] != NULL ? "trainer_step" : "backward",
                     st) == SSQ_OK)
        program_params(t, t->trainer[0] == NULL);
    if (!t->apart && input_byte(t->in) % 8 != 7)
        program_begin(t); /* the values of this pass are gone */
}

static void optimize(struct program *t, const char *pattern)
{
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES; s++)
        st[s] =
            ssq_params_optimize(t->params[s], t->optimizer[s], pattern, NULL);
    (void)program_same(t, "params_optimize", st);
}

static void optimize_step(struct program *t)
{
    static const char *const patterns[] = {"*", NULL, "*weight", "w.?", "none"};
    const char *pattern = patterns[input_byte(t->in) % 16 % 5];
    if (t->trainer[0] == NULL && t->optimizer[0] != NULL)
        optimize(t, pattern);
}

static void update_step(struct program *t)
{
    ssq_status st[SIDES];
    bool scaled = t->scaler[0] != NULL && input_byte(t->in) % 4 != 3;
    if (t->trainer[0] != NULL || t->optimizer[0] == NULL)
        return;
    if (input_byte(t->in) % 2 == 0)
        optimize(t, NULL);
    program_sync(t);
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_optimizer_step(t->pair->queue[s], t->optimizer[s],
                                   scaled ? t->scaler[s] : NULL);
    if (program_same(t, "optimizer_step", st) != SSQ_OK)
        return;
    for (unsigned s = 0; s < SIDES && scaled; s++)
        st[s] = ssq_scaler_update(t->pair->queue[s], t->scaler[s]);
    if (scaled)
        (void)program_same(t, "scaler_update", st);
    if (!t->apart)
        program_params(t, false);
}

static void clean_step(struct program *t)
{
    for (unsigned s = 0; s < SIDES; s++)
        ssq_params_clean(t->params[s]);
}

static void wide_step(struct program *t)
{
    ssq_status st[SIDES];
    if (t->trainer[0] != NULL || input_byte(t->in) % 4 != 3)
        return;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_params_to_float32(t->params[s], t->pair->queue[s],
                                      t->optimizer[s]);
    (void)program_same(t, "params_to_float32", st);
}

/* The values of a parameter, or of all: others are written on both sides, and
 * exist to the last bit. */
static void values_step(struct program *t)
{
    static float x[SIDES][ELEMENTS];
    ssq_params_stats all = SSQ_PARAMS_STATS_INIT;
    ssq_status st[SIDES];
    const char *name = NULL;
    const unsigned which = input_byte(t->in), b = input_byte(t->in);
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    if (ssq_params_stats_get(t->params[0], &all) != SSQ_OK)
        fuzz_fail("params_stats_get");
    size_t n = (size_t)all.elements;
    if (ssq_params_get(t->params[0], which, &info) == SSQ_OK) {
        name = info.name;
        n = (size_t)ssq_tensor_elements(info.tensor);
    }
    n += b == 255;
    if (n > ELEMENTS)
        return;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] =
            ssq_params_read(t->params[s], t->pair->queue[s],
                            b % 4 == 0 ? NULL : t->optimizer[s], name, x[s], n);
    if (program_same(t, "params_read", st) != SSQ_OK || b % 2 == 0)
        return;
    for (size_t i = 0; i < n; i++)
        x[0][i] = 1.0f / (float)(i + b);
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_params_write(t->params[s], t->pair->queue[s],
                                 b % 8 == 1 ? NULL : t->optimizer[s], name,
                                 x[0], n);
    if (program_same(t, "params_write", st) != SSQ_OK)
        return;
    for (unsigned s = 0; s < SIDES; s++)
        if (ssq_params_read(t->params[s], t->pair->queue[s], NULL, name, x[s],
                            n) != SSQ_OK)
            fuzz_fail("params_read: %s", ssq_last_error());
    if (memcmp(x[0], x[1], n * sizeof(x[0][0])) != 0)
        fuzz_fail("parameters that were written differ");
}

static void stats_step(struct program *t)
{
    ssq_tape_stats stats[SIDES];
    ssq_status st[SIDES];
    size_t wrong = input_byte(t->in) == 255;
    for (unsigned s = 0; s < SIDES; s++) {
        stats[s] = (ssq_tape_stats)SSQ_TAPE_STATS_INIT;
        stats[s].struct_size += wrong;
        st[s] = ssq_tape_stats_get(t->tape[s], &stats[s]);
    }
    if (program_same(t, "tape_stats_get", st) == SSQ_OK &&
        (stats[0].vars != stats[1].vars || stats[0].nodes != stats[1].nodes ||
         stats[0].passes != stats[1].passes))
        fuzz_fail("stats: %u vars, %u nodes, %llu passes; on %s %u, %u, %llu",
                  stats[0].vars, stats[0].nodes,
                  (unsigned long long)stats[0].passes, fuzz_device(),
                  stats[1].vars, stats[1].nodes,
                  (unsigned long long)stats[1].passes);
}

/* ---- files ---- */

static void file_step(struct program *t)
{
    static const char *const paths[] = {"tapes-0.safetensors",
                                        "tapes-1.safetensors"};
    ssq_status st[SIDES];
    unsigned b = input_byte(t->in);
    bool save = b % 2 == 0;
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_checkpoint_args args = SSQ_CHECKPOINT_INIT;
        args.params = b / 2 % 8 == 7 ? NULL : t->params[s];
        args.optimizer = b / 16 % 4 == 3 ? t->optimizer[s] : NULL;
        args.scaler = b / 64 % 4 == 3 ? t->scaler[s] : NULL;
        if (t->trainer[s] != NULL)
            st[s] = save ? ssq_trainer_save(t->trainer[s], paths[s])
                         : ssq_trainer_load(t->trainer[s], paths[s]);
        else
            st[s] =
                save ? ssq_checkpoint_save(t->pair->queue[s], paths[s], &args)
                     : ssq_checkpoint_load(t->pair->queue[s], paths[s], &args);
    }
    (void)program_same(t, save ? "save" : "load", st);
    if (!t->apart)
        program_params(t, false);
}

/* Parameters alone, matrices the other way round or not; now and then the file
 * is another one. */
static void weights_step(struct program *t)
{
    static const char *const paths[] = {"tapes-0.weights", "tapes-1.weights"};
    static const int swapped[] = {1, 0};
    const ssq_params_rule rules[] = {{"w*", "their.w*", swapped, 2},
                                     {"*", "x*", NULL, 0}};
    ssq_status st[SIDES];
    unsigned b = input_byte(t->in);
    bool save = b % 2 == 0;
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_params_file_args args = SSQ_PARAMS_FILE_INIT;
        args.optimizer = b / 2 % 4 == 3 ? NULL : t->optimizer[s];
        args.rules = rules + b / 8 % 2;
        args.count = b / 16 % 2 == 0 ? 1 : 0;
        args.missing = b / 32 % 2 == 0;
        args.unused = b / 64 % 2 == 0;
        st[s] = save ? ssq_params_save(t->params[s], t->pair->queue[s],
                                       paths[s], &args)
                     : ssq_params_load(t->params[s], t->pair->queue[s],
                                       paths[s], &args);
    }
    (void)program_same(t, save ? "params_save" : "params_load", st);
    if (!t->apart)
        program_params(t, false);
}

/* ---- of a trainer ---- */

/* A program without a trainer asks for one rarely. */
static bool wrong_kind(const struct program *t)
{
    return t->trainer[0] == NULL && t->calls % 8 != 7;
}

static void group_step(struct program *t)
{
    static const char *const patterns[] = {"*bias", "w*", "nothing", "*", NULL};
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    ssq_group *group[SIDES];
    ssq_status st[SIDES];
    if (t->trainer[0] == NULL)
        return;
    unsigned b = input_byte(t->in);
    const char *pattern = patterns[b < 240 ? b % 2 : b % 5];
    options.lr = b % 4 == 3 ? -1.0 : 0.25;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_trainer_group(t->trainer[s], pattern, &options, &group[s]);
    (void)program_same(t, "trainer_group", st);
}

static void schedule_step(struct program *t)
{
    if (wrong_kind(t))
        return;
    ssq_schedule schedule = SSQ_SCHEDULE_INIT;
    ssq_status st[SIDES];
    unsigned b = input_byte(t->in);
    schedule.kind = (ssq_schedule_kind)(b % 8);
    schedule.total_steps = 8;
    schedule.warmup_steps = b / 8 % 4;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_trainer_schedule(t->trainer[s], SSQ_HYPER_LR,
                                     b >= 240 ? NULL : &schedule);
    (void)program_same(t, "trainer_schedule", st);
}

/* Unscales where that is due, and halves the output and the loss. */
static ssq_status hook(void *user, ssq_trainer *trainer,
                       ssq_trainer_place place, ssq_var *var)
{
    (void)user;
    if (place == SSQ_PLACE_BACKWARD_END)
        (void)!ssq_trainer_unscale(trainer);
    if (var != NULL)
        *var = ssq_neg_var_at("hook:1", *var);
    return SSQ_OK;
}

static void hook_step(struct program *t)
{
    if (wrong_kind(t))
        return;
    ssq_status st[SIDES];
    unsigned b = input_byte(t->in);
    if (b >= 200 && b < 216) { /* some of them are not valid places */
        bool told = false;
        for (unsigned s = 0; s < SIDES; s++)
            st[s] = past_report(
                ssq_trainer_notify(t->trainer[s], (ssq_trainer_place)(b - 202)),
                &told);
        if (!told)
            (void)program_same(t, "trainer_notify", st);
        return;
    }
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = b % 2 == 0 ? ssq_trainer_unscale(t->trainer[s])
                           : ssq_trainer_hook_add(t->trainer[s],
                                                  b == 255 ? NULL : hook, NULL);
    (void)program_same(t, b % 2 == 0 ? "trainer_unscale" : "trainer_hook_add",
                       st);
}

static void output_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    if (t->trainer[0] == NULL)
        return;
    program_pick(t, -1, x);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_trainer_output(t->trainer[s], x[s]);
    program_made(t, "trainer_output", y);
}

/* The result of a poll has arrived on both sides after a sync: one of two polls
 * receives it, on some devices the first. */
static void poll_step(struct program *t)
{
    ssq_trainer_progress found[SIDES];
    ssq_status st[SIDES];
    bool told = false;
    for (unsigned s = 0; s < SIDES; s++)
        found[s] = (ssq_trainer_progress)SSQ_TRAINER_PROGRESS_INIT;
    program_sync(t); /* sums of earlier polls, and reports */
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned s = 0; s < SIDES; s++) {
            ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
            st[s] = past_report(ssq_trainer_poll(t->trainer[s], &p), &told);
            found[s] = p.passes > 0 ? p : found[s];
        }
        program_sync(t);
        if (program_same(t, "trainer_poll", st) != SSQ_OK || told)
            return;
    }
    if (ssq_trainer_steps(t->trainer[0]) != ssq_trainer_steps(t->trainer[1]) ||
        found[0].passes != found[1].passes ||
        (t->pair->same_bits &&
         memcmp(&found[0].loss, &found[1].loss, sizeof(found[0].loss)) != 0))
        fuzz_fail("%llu passes have the loss %.17g on the reference, %llu have "
                  "%.17g on %s",
                  (unsigned long long)found[0].passes, found[0].loss,
                  (unsigned long long)found[1].passes, found[1].loss,
                  fuzz_device());
}

static void loss_step(struct program *t)
{
    if (wrong_kind(t))
        return;
    if (input_byte(t->in) % 2 == 1) {
        poll_step(t);
        return;
    }
    double mean[SIDES] = {0.0, 0.0};
    ssq_status st[SIDES];
    bool told = false;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = past_report(ssq_trainer_loss(t->trainer[s], &mean[s]), &told);
    if (told)
        program_sync(t);
    if (program_same(t, "trainer_loss", st) == SSQ_OK && !told &&
        t->pair->same_bits && memcmp(&mean[0], &mean[1], sizeof(mean[0])) != 0)
        fuzz_fail("the loss is %.17g on the reference, %.17g on %s", mean[0],
                  mean[1], fuzz_device());
}

static void scaler_step(struct program *t)
{
    if (wrong_kind(t))
        return;
    ssq_status st[SIDES];
    unsigned b = input_byte(t->in);
    ssq_scaler *scaler[SIDES] = {NULL, NULL};
    for (unsigned s = 0; s < SIDES && b % 4 != 0; s++)
        if (ssq_scaler_create(t->pair->device[s], "pytorch", NULL,
                              &scaler[s]) != SSQ_OK)
            fuzz_fail("scaler_create");
    for (unsigned s = 0; s < SIDES; s++) {
        st[s] = ssq_trainer_set_scaler(t->trainer[s], scaler[s]);
        if (t->trainer[s] != NULL)
            t->scaler[s] = ssq_trainer_scaler(t->trainer[s]);
        ssq_scaler_destroy(&scaler[s]);
    }
    (void)program_same(t, "trainer_set_scaler", st);
}

static void end_step(struct program *t)
{
    if (wrong_kind(t))
        return;
    ssq_status st[SIDES];
    if (input_byte(t->in) % 4 != 3)
        return;
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_trainer_end(t->trainer[s]);
    (void)program_same(t, "trainer_end", st);
    t->fresh = 0;
    if (!t->apart)
        program_params(t, false);
}

/* Step with the passes of an accumulation, or drop them. */
static void flush_step(struct program *t)
{
    if (wrong_kind(t))
        return;
    ssq_status st[SIDES];
    const bool drop = input_byte(t->in) % 2 == 1;
    bool told = false;
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_trainer *trainer = t->trainer[s];
        st[s] = past_report(drop ? ssq_trainer_zero_grad(trainer)
                                 : ssq_trainer_flush(trainer),
                            &told);
        if (st[s] == SSQ_OK && ssq_trainer_accumulated(trainer) != 0)
            fuzz_fail("passes are left of an accumulation that was ended");
    }
    if (told)
        program_sync(t);
    (void)program_same(t, drop ? "trainer_zero_grad" : "trainer_flush", st);
    t->fresh = 0;
    if (!t->apart)
        program_params(t, false);
}

/* Names that passes may make, and parameters that go. */
static void names_step(struct program *t)
{
    static const char *const patterns[] = {"*", NULL, "w*", "?0", "b*", "no"};
    const unsigned n = sizeof(patterns) / sizeof(patterns[0]);
    ssq_status st[SIDES];
    const char *pattern = patterns[input_byte(t->in) % n];
    const bool remove = input_byte(t->in) % 4 == 0;
    size_t removed[SIDES] = {0};
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = remove ? ssq_params_remove(t->params[s], pattern, &removed[s])
                       : ssq_params_allow(t->params[s], pattern);
    if (program_same(t, remove ? "params_remove" : "params_allow", st) ==
            SSQ_OK &&
        removed[0] != removed[1])
        fuzz_fail("%zu parameters were removed, and %zu", removed[0],
                  removed[1]);
}

const struct step train_steps[] = {
    {"backward", backward_step, 16}, {"begin", begin_step, 8},
    {"check", check_step, 3},        {"optimize", optimize_step, 5},
    {"update", update_step, 6},      {"clean", clean_step, 2},
    {"to_float32", wide_step, 1},    {"stats", stats_step, 1},
    {"file", file_step, 3},          {"group", group_step, 2},
    {"schedule", schedule_step, 2},  {"hook", hook_step, 2},
    {"output", output_step, 3},      {"loss", loss_step, 2},
    {"scaler", scaler_step, 1},      {"end", end_step, 1},
    {"values", values_step, 2},      {"weights", weights_step, 2},
    {"grad", grad_step, 6},          {"flush", flush_step, 2},
    {"names", names_step, 2},
};
const size_t train_steps_count = sizeof(train_steps) / sizeof(train_steps[0]);
