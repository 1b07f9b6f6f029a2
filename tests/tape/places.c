/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - hooks at epochs, batches and validation: in which order, in passes
 * that accumulate, fail and are taken again. */
#include "tests/tape/bed.h"

#define IN   4
#define OUT  3
#define ROWS 5

static ssq_trainer *trainer_of(const struct bed *b,
                               const ssq_trainer_args *args)
{
    ssq_trainer *t = NULL;
    NEED(ssq_trainer_create(b->queue, args, &t));
    return t;
}

static ssq_var forward(const struct bed *b, ssq_tape *t)
{
    ssq_var y = ssq_nn_linear(t, "fc", ssq_var_input(t, b->x), OUT, NULL);
    return ssq_mse_var(y, SSQ_MSE(.target = b->target));
}

static ssq_status step(const struct bed *b, ssq_trainer *trainer)
{
    return ssq_trainer_step(trainer, forward(b, ssq_trainer_begin(trainer)));
}

/* A letter for each place where the hook was called. */
struct diary {
    const struct bed *b;
    char text[96];
    bool failing, evaluates;
    ssq_trainer_place fail_at; /* once, if failing */
    int vars;                  /* that were given */
};

static ssq_status write_diary(void *user, ssq_trainer *trainer,
                              ssq_trainer_place place, ssq_var *var)
{
    struct diary *d = user;
    size_t n = strlen(d->text);
    if (n + 1 < sizeof(d->text))
        d->text[n] = "TLBGSE{}()be"[place];
    d->vars += var != NULL && place > SSQ_PLACE_TRAIN_END;
    if (d->evaluates && place >= SSQ_PLACE_EPOCH_BEGIN &&
        place <= SSQ_PLACE_VALIDATE_END &&
        ssq_params_count(ssq_trainer_params(trainer)) > 0) {
        ssq_tape *t = ssq_trainer_evaluate(trainer);
        (void)forward(d->b, t);
        NEED(ssq_tape_status(t));
    }
    if (!d->failing || place != d->fail_at)
        return SSQ_OK;
    d->failing = false;
    return ssq_trainer_group(trainer, NULL, NULL, NULL); /* sets a text */
}

/* Two epochs of four passes, two to a step, and a validation of two. */
static void fit(const struct bed *b, ssq_trainer *t)
{
    for (int epoch = 0; epoch < 2; epoch++) {
        NEED(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN));
        for (int i = 0; i < 4; i++)
            NEED(step(b, t));
        NEED(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_BEGIN));
        for (int i = 0; i < 2; i++)
            NEED(ssq_tape_status(forward(b, ssq_trainer_evaluate(t)).tape));
        NEED(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_END));
        NEED(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_END));
    }
    NEED(ssq_trainer_end(t));
}

static void order(const struct bed *b)
{
    for (int k = 0; k < 2; k++) {
        struct diary d = {.b = b, .evaluates = k == 1};
        ssq_trainer *t =
            trainer_of(b, SSQ_TRAINER(.accumulate = 2, .replay = k == 1));
        NEED(ssq_trainer_hook_add(t, write_diary, &d));
        fit(b, t);
        tap_ok(strcmp(d.text, "T{bBGebBGSebBGebBGSe()}"
                              "{bBGebBGSebBGebBGSe()}E") == 0 &&
                   d.vars == 0,
               "%s: two epochs%s: %s", b->name,
               k == 1 ? ", hooks that evaluate, replay" : "", d.text);
        ssq_trainer_destroy(&t);
    }
}

/* Evaluation alone, as model.evaluate(): no epoch, and no training begins. */
static void evaluation(const struct bed *b)
{
    struct diary d = {.b = b};
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(step(b, t));
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    NEED(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_BEGIN));
    NEED(ssq_tape_status(forward(b, ssq_trainer_evaluate(t)).tape));
    NEED(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_END));
    tap_ok(strcmp(d.text, "()") == 0, "%s: a validation alone: %s", b->name,
           d.text);
    ssq_trainer_destroy(&t);
}

/* What follows when the hook fails at a place, and all is called again. */
static void failing(const struct bed *b, ssq_trainer_place place,
                    const char *wanted)
{
    struct diary d = {.b = b, .failing = true, .fail_at = place};
    ssq_trainer *t = trainer_of(b, NULL);
    ssq_status first = SSQ_OK;
    bool named;
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    if (place == SSQ_PLACE_BATCH_BEGIN || place == SSQ_PLACE_BATCH_END ||
        place == SSQ_PLACE_BACKWARD_END) {
        first = step(b, t);
        named = core_has(ssq_last_error(), "pattern is NULL");
        NEED(step(b, t));
    } else {
        if (place == SSQ_PLACE_EPOCH_END)
            NEED(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN));
        ssq_trainer_place at =
            place == SSQ_PLACE_TRAIN_BEGIN ? SSQ_PLACE_EPOCH_BEGIN : place;
        first = ssq_trainer_notify(t, at);
        named = core_has(ssq_last_error(), "pattern is NULL");
        NEED(ssq_trainer_notify(t, at));
    }
    tap_ok(first == SSQ_ERR_INVALID && named && strcmp(d.text, wanted) == 0,
           "%s: a hook fails at %d: %s", b->name, (int)place, d.text);
    ssq_trainer_destroy(&t);
}

static void failures(const struct bed *b)
{
    failing(b, SSQ_PLACE_TRAIN_BEGIN, "TT{");
    failing(b, SSQ_PLACE_EPOCH_BEGIN, "T{{");
    failing(b, SSQ_PLACE_EPOCH_END, "T{}}");
    failing(b, SSQ_PLACE_VALIDATE_BEGIN, "((");
    failing(b, SSQ_PLACE_BATCH_BEGIN, "TbbBGSe");
    /* the pass counts, and its step is made by the next begin */
    failing(b, SSQ_PLACE_BACKWARD_END, "TbBGSebBGSe");
    failing(b, SSQ_PLACE_BATCH_END, "TbBGSebBGSe");
}

/* A step that failed, and is made by a flush. */
static void flushed(const struct bed *b)
{
    struct diary d = {
        .b = b, .failing = true, .fail_at = SSQ_PLACE_BACKWARD_END};
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    ssq_status st = step(b, t);
    NEED(ssq_trainer_flush(t));
    tap_ok(st == SSQ_ERR_INVALID && strcmp(d.text, "TbBGSe") == 0,
           "%s: a pass that fails and is flushed: %s", b->name, d.text);
    ssq_trainer_destroy(&t);
}

static void misuse(const struct bed *b)
{
    struct diary d = {.b = b};
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    core_status(ssq_trainer_notify(NULL, SSQ_PLACE_EPOCH_BEGIN),
                SSQ_ERR_INVALID, "trainer is NULL", "%s: nobody's epoch",
                b->name);
    core_status(ssq_trainer_notify(t, SSQ_PLACE_STEP_END), SSQ_ERR_INVALID,
                "place is 4, expected SSQ_PLACE_EPOCH_BEGIN",
                "%s: a place of the trainer's", b->name);
    core_status(ssq_trainer_notify(t, (ssq_trainer_place)12), SSQ_ERR_INVALID,
                "place is 12", "%s: no place", b->name);
    core_status(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_END), SSQ_ERR_INVALID,
                "an epoch ends that has not begun", "%s: an end alone",
                b->name);
    core_status(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_END), SSQ_ERR_INVALID,
                "a validation ends that has not begun",
                "%s: a validation's end alone", b->name);
    tap_ok(d.text[0] == '\0', "%s: and no hook is called", b->name);
    NEED(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN));
    core_status(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN), SSQ_ERR_INVALID,
                "an epoch has begun, and not ended", "%s: an epoch in another",
                b->name);
    NEED(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_BEGIN));
    core_status(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_END), SSQ_ERR_INVALID,
                "within a validation", "%s: an epoch ends in a validation",
                b->name);
    tap_ok(strcmp(d.text, "T{(") == 0, "%s: hooks were called thrice: %s",
           b->name, d.text);
    ssq_trainer_destroy(&t);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        struct bed b = bed_open(core_device(i), ROWS, IN, OUT);
        order(&b);
        evaluation(&b);
        failures(&b);
        flushed(&b);
        misuse(&b);
        bed_close(&b);
    }
    return tap_done(20);
}
