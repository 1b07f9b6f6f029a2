/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - a mistyped name makes no layer, except in a pass for training
 * before the first step; ssq_params_allow and ssq_params_remove. */
#include "tests/tape/harness.h"

#define IN   6
#define OUT  3
#define ROWS 8

static char path[64];

static ssq_trainer *trainer_of(const struct tape_harness *b)
{
    ssq_trainer *t = NULL;
    NEED(ssq_trainer_create(b->queue, SSQ_TRAINER(.policy = "mixed_bfloat16"),
                            &t));
    return t;
}

/* body and head name the two layers; the head has this many outputs. */
static ssq_var net(const struct tape_harness *b, ssq_tape *t, const char *body,
                   const char *head, int64_t outputs)
{
    ssq_var y = ssq_nn_linear(t, body, ssq_var_input(t, b->x), 5, NULL);
    return ssq_nn_linear(t, head, ssq_relu_var(y), outputs, NULL);
}

static ssq_status step(const struct tape_harness *b, ssq_trainer *t,
                       const char *body, const char *head)
{
    ssq_var y = net(b, ssq_trainer_begin(t), body, head, OUT);
    return ssq_trainer_step(t, ssq_mse_var(y, SSQ_MSE(.target = b->target)));
}

static ssq_status look(const struct tape_harness *b, ssq_trainer *t,
                       const char *body, const char *head)
{
    ssq_tape *tape = ssq_trainer_evaluate(t);
    (void)net(b, tape, body, head, OUT);
    return ssq_tape_status(tape);
}

static size_t count(ssq_trainer *t)
{
    return ssq_params_count(ssq_trainer_params(t));
}

/* Does a trainer's file go into a new one? */
static bool comes_back(const struct tape_harness *b, ssq_trainer *t)
{
    ssq_trainer *other = trainer_of(b);
    bool good = ssq_trainer_save(t, path) == SSQ_OK &&
                ssq_trainer_load(other, path) == SSQ_OK &&
                count(other) == count(t);
    ssq_trainer_destroy(&other);
    return good;
}

static void typos(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b);
    core_status(look(b, t, "fc", "head"), SSQ_ERR_NOT_FOUND,
                "names.c:|\"fc.weight\" among 0|for evaluation|"
                "ssq_params_allow",
                "%s: an evaluation makes no parameters", b->name);
    tap_ok(count(t) == 0, "%s: and has made none", b->name);
    NEED(step(b, t, "fc", "head"));
    core_status(look(b, t, "fc1", "head"), SSQ_ERR_NOT_FOUND,
                "names.c:|\"fc1.weight\" among 4|did you mean \"fc.weight\"",
                "%s: a typo in an evaluation", b->name);
    core_status(step(b, t, "fc", "haed"), SSQ_ERR_NOT_FOUND,
                "names.c:|\"haed.weight\"|did you mean \"head.weight\"|after "
                "the first step",
                "%s: a typo behind the first step", b->name);
    core_status(look(b, t, "encoder", "head"), SSQ_ERR_NOT_FOUND,
                "\"encoder.weight\" among 4 parameters",
                "%s: a name that is like no other", b->name);
    tap_ok(count(t) == 4 && step(b, t, "fc", "head") == SSQ_OK &&
               comes_back(b, t),
           "%s: the set is as it was, and the training goes on", b->name);
    ssq_trainer *other = trainer_of(b);
    NEED(ssq_trainer_load(other, path));
    core_status(look(b, other, "fc1", "head"), SSQ_ERR_NOT_FOUND,
                "did you mean \"fc.weight\"", "%s: a typo behind a load",
                b->name);
    core_status(step(b, other, "fc1", "head"), SSQ_ERR_NOT_FOUND,
                "after a load", "%s: also in a pass for training", b->name);
    tap_ok(count(other) == 4 && look(b, other, "fc", "head") == SSQ_OK &&
               step(b, other, "fc", "head") == SSQ_OK,
           "%s: the right names are there", b->name);
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    core_status(ssq_params_find(ssq_trainer_params(t), "fc.wieght", &info),
                SSQ_ERR_NOT_FOUND, "did you mean \"fc.weight\"",
                "%s: params_find knows it, too", b->name);
    ssq_trainer_destroy(&other);
    ssq_trainer_destroy(&t);
}

/* A parameter made after the first step has no moments, and cannot be saved. */
static void late(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b);
    ssq_params *p = ssq_trainer_params(t);
    size_t n = 0;
    NEED(step(b, t, "fc", "head"));
    NEED(ssq_params_allow(p, "new.*"));
    core_status(look(b, t, "fc", "old"), SSQ_ERR_NOT_FOUND, "\"old.weight\"",
                "%s: only what is allowed is made", b->name);
    tap_ok(look(b, t, "fc", "new") == SSQ_OK && count(t) == 6,
           "%s: and that in an evaluation, too", b->name);
    core_status(ssq_trainer_save(t, path), SSQ_ERR_INVALID,
                "\"new.weight\"|ssq_params_remove",
                "%s: a file of it could not be loaded", b->name);
    core_status(step(b, t, "fc", "new"), SSQ_ERR_INVALID,
                "\"new.weight\"|after the first step|ssq_params_remove",
                "%s: nor is it trained", b->name);
    core_status(ssq_params_remove(p, "fc.*", &n), SSQ_ERR_INVALID,
                "\"fc.weight\" was given to an optimizer",
                "%s: a parameter that is trained stays", b->name);
    core_status(ssq_params_remove(p, "*", &n), SSQ_ERR_INVALID,
                "was given to an optimizer", "%s: also among others", b->name);
    core_status(ssq_params_remove(p, "nwe.weight", NULL), SSQ_ERR_NOT_FOUND,
                "did you mean \"new.weight\"", "%s: nothing of that name",
                b->name);
    tap_ok(n == 0 && count(t) == 6, "%s: nothing was removed", b->name);
    NEED(ssq_params_remove(p, "new.*", &n));
    tap_ok(n == 2 && count(t) == 4 && step(b, t, "fc", "head") == SSQ_OK &&
               comes_back(b, t),
           "%s: without it all goes on", b->name);
    NEED(ssq_params_allow(p, NULL));
    core_status(look(b, t, "fc", "new"), SSQ_ERR_NOT_FOUND, "\"new.weight\"",
                "%s: and no longer allowed", b->name);
    core_status(ssq_params_allow(NULL, "*"), SSQ_ERR_INVALID, "params is NULL",
                "%s: a NULL", b->name);
    core_status(ssq_params_remove(p, NULL, NULL), SSQ_ERR_INVALID,
                "pattern is NULL", "%s: another", b->name);
    ssq_trainer_destroy(&t);
}

/* A pass knows parameters by their places. */
static void within(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b);
    ssq_params *p = ssq_trainer_params(t);
    ssq_tape *tape = ssq_trainer_begin(t);
    ssq_var y = net(b, tape, "fc", "head", OUT);
    ssq_var loss = ssq_mse_var(y, SSQ_MSE(.target = b->target));
    NEED(ssq_tape_status(tape));
    NEED(ssq_params_remove(p, "fc.weight", NULL));
    core_status(ssq_trainer_step(t, loss), SSQ_ERR_INVALID,
                "removed since the pass began",
                "%s: a backward of what is gone", b->name);
    tape = ssq_trainer_begin(t);
    (void)net(b, tape, "fc", "head", OUT);
    NEED(ssq_params_remove(p, "head.bias", NULL));
    (void)ssq_var_named(tape, "fc.weight");
    core_status(ssq_tape_status(tape), SSQ_ERR_INVALID,
                "removed since the pass began", "%s: a var of what is there",
                b->name);
    tape = ssq_trainer_begin(t);
    (void)net(b, tape, "fc", "head", OUT);
    ssq_var w = ssq_var_named(tape, "fc.weight");
    NEED(ssq_params_remove(p, "fc.weight", NULL));
    (void)ssq_var_cast(w, SSQ_F16);
    core_status(ssq_tape_status(tape), SSQ_ERR_INVALID,
                "removed since the pass began",
                "%s: a cast of a parameter that is gone", b->name);
    tap_ok(step(b, t, "fc", "head") == SSQ_OK && count(t) == 4,
           "%s: the next pass is a new one", b->name);
    ssq_trainer_destroy(&t);
}

/* A pass that was refused after its backward is not in the mean of losses. */
static void refused_pass(const struct tape_harness *b)
{
    ssq_trainer *t[] = {trainer_of(b), trainer_of(b)};
    double mean[2];
    for (int k = 0; k < 2; k++) {
        NEED(step(b, t[k], "fc", "head"));
        NEED(ssq_params_allow(ssq_trainer_params(t[k]), "new.*"));
        if (k == 1)
            tap_ok(step(b, t[k], "fc", "new") == SSQ_ERR_INVALID &&
                       ssq_params_remove(ssq_trainer_params(t[k]), "new.*",
                                         NULL) == SSQ_OK,
                   "%s: a pass with another head is refused", b->name);
        NEED(step(b, t[k], "fc", "head"));
        NEED(ssq_trainer_loss(t[k], &mean[k]));
        ssq_trainer_destroy(&t[k]);
    }
    tap_ok(mean[0] == mean[1], "%s: its loss is not in the mean, %g, %g",
           b->name, mean[0], mean[1]);
}

/* An optimizer gets all parameters that match, or none. */
static void all_or_none(const struct tape_harness *b)
{
    const int64_t shape[] = {2};
    const float values[] = {1, 2};
    const struct tape_rig r = {.device = b->device, .queue = b->queue};
    ssq_trainer *t = trainer_of(b);
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = NULL;
    ssq_tensor *x = rig_floats(&r, 1, shape, values);
    ssq_tensor *g = rig_floats(&r, 1, shape, values);
    size_t n = 0;
    NEED(ssq_params_allow(p, "*"));
    NEED(look(b, t, "fc", "head"));
    NEED(ssq_optimizer_create(b->device, "sgd", NULL, &o));
    NEED(ssq_optimizer_add(o, "head.weight", x, g, NULL));
    core_status(ssq_params_optimize(p, o, NULL, NULL), SSQ_ERR_INVALID,
                "head.weight is taken", "%s: a name that is taken", b->name);
    core_status(ssq_optimizer_add(o, "fc.bias", x, g, NULL), SSQ_ERR_INVALID,
                "param of fc.bias overlaps", "%s: its name is free, x is not",
                b->name);
    core_status(ssq_params_remove(p, "*", &n), SSQ_OK, NULL,
                "%s: none was given to it", b->name);
    tap_ok(n == 4, "%s: four are removed", b->name);
    ssq_optimizer_destroy(&o);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&g);
    ssq_trainer_destroy(&t);
}

/* A group of another optimizer is refused, even if nothing is added to it. */
static void wrong_group(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b);
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = NULL, *other = NULL;
    ssq_group *group = NULL;
    NEED(ssq_params_allow(p, "*"));
    NEED(look(b, t, "fc", "head"));
    NEED(ssq_optimizer_create(b->device, "sgd", NULL, &o));
    NEED(ssq_optimizer_create(b->device, "sgd", NULL, &other));
    NEED(ssq_optimizer_group(other, NULL, &group));
    NEED(ssq_params_optimize(p, o, NULL, NULL));
    core_status(ssq_params_optimize(p, o, NULL, group), SSQ_ERR_INVALID,
                "params_optimize: the group belongs to another optimizer",
                "%s: a group of another optimizer", b->name);
    ssq_optimizer_destroy(&other);
    ssq_optimizer_destroy(&o);
    ssq_trainer_destroy(&t);
}

/* A load that fails takes its parameters back from the optimizer; the ones that
 * the program gave to it stay there. */
static void refused_load(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b), *other = NULL;
    ssq_params *p;
    size_t n = 0;
    NEED(step(b, t, "fc", "head"));
    NEED(ssq_trainer_save(t, path));
    NEED(ssq_trainer_create(b->queue,
                            SSQ_TRAINER(.policy = "mixed_bfloat16",
                                        .optimizer = "adam",
                                        .options.master = SSQ_MASTER_SPLIT),
                            &other));
    p = ssq_trainer_params(other);
    NEED(ssq_params_allow(p, "*"));
    NEED(look(b, other, "fc", "head"));
    NEED(ssq_params_optimize(p, ssq_trainer_optimizer(other), "fc.*", NULL));
    tap_ok(ssq_trainer_load(other, path) != SSQ_OK, "%s: another optimizer: %s",
           b->name, ssq_last_error());
    core_status(ssq_params_remove(p, "fc.*", NULL), SSQ_ERR_INVALID,
                "was given to an optimizer",
                "%s: what the program gave stays given", b->name);
    tap_ok(ssq_params_remove(p, "head.*", &n) == SSQ_OK && n == 2 &&
               step(b, other, "fc", "head") == SSQ_OK,
           "%s: the rest may go and come again", b->name);
    ssq_trainer_destroy(&other);
    ssq_trainer_destroy(&t);
}

/* A model that was trained gets another head. */
static void fine_tune(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b), *next = trainer_of(b);
    ssq_params *p = ssq_trainer_params(next);
    NEED(step(b, t, "fc", "head"));
    NEED(ssq_params_save(ssq_trainer_params(t), b->queue, path, NULL));
    NEED(ssq_params_allow(p, "*"));
    (void)net(b, ssq_trainer_evaluate(next), "fc", "head", OUT);
    NEED(ssq_params_load(p, b->queue, path, NULL));
    NEED(ssq_params_remove(p, "head.*", NULL));
    NEED(ssq_params_allow(p, "head.*"));
    ssq_tape *tape = ssq_trainer_evaluate(next);
    ssq_var y = net(b, tape, "fc", "head", 7);
    tap_ok(ssq_tape_status(tape) == SSQ_OK && ssq_var_size(y, 1) == 7 &&
               count(next) == 4,
           "%s: a head of seven outputs in place of three", b->name);
    NEED(ssq_params_allow(p, NULL));
    tape = ssq_trainer_begin(next);
    y = net(b, tape, "fc", "head", 7);
    tap_ok(ssq_trainer_step(next, ssq_mean_var(ssq_square_var(y), NULL)) ==
                   SSQ_OK &&
               comes_back(b, next),
           "%s: and it is trained", b->name);
    ssq_trainer_destroy(&next);
    ssq_trainer_destroy(&t);
}

int main(void)
{
    snprintf(path, sizeof(path), "names-%ld", (long)getpid());
    for (size_t i = 0; i < 2; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        typos(&b);
        late(&b);
        within(&b);
        fine_tune(&b);
        refused_load(&b);
        refused_pass(&b);
        all_or_none(&b);
        wrong_group(&b);
        harness_close(&b);
    }
    unlink(path);
    return tap_done(70);
}
