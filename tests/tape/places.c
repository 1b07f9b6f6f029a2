/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - hooks at epochs, batches and validation: in which order, in passes
 * that accumulate, fail and are taken again. */
#include "tests/tape/harness.h"

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

static ssq_var forward(const struct tape_harness *b, ssq_tape *t)
{
    ssq_var y = ssq_nn_linear(t, "fc", ssq_var_input(t, b->x), OUT, NULL);
    return ssq_mse_var(y, SSQ_MSE(.target = b->target));
}

static ssq_status step(const struct tape_harness *b, ssq_trainer *trainer)
{
    return ssq_trainer_step(trainer, forward(b, ssq_trainer_begin(trainer)));
}

/* A letter for each place where the hook was called. */
struct places_diary {
    const struct tape_harness *b;
    char text[96];
    bool failing, evaluates;
    ssq_trainer_place fail_at; /* once, if failing */
    int vars;                  /* that were given */
};

static ssq_status write_diary(void *user, ssq_trainer *trainer,
                              ssq_trainer_place place, ssq_var *var)
{
    struct places_diary *d = user;
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
static void fit(const struct tape_harness *b, ssq_trainer *t)
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

static void order(const struct tape_harness *b)
{
    for (int k = 0; k < 2; k++) {
        struct places_diary d = {.b = b, .evaluates = k == 1};
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
static void evaluation(const struct tape_harness *b)
{
    struct places_diary d = {.b = b};
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

/* The order of places if the hook fails at one, and all is called again. */
static void failing(const struct tape_harness *b, ssq_trainer_place place,
                    const char *wanted)
{
    struct places_diary d = {.b = b, .failing = true, .fail_at = place};
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

static void failures(const struct tape_harness *b)
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
static void flushed(const struct tape_harness *b)
{
    struct places_diary d = {
        .b = b, .failing = true, .fail_at = SSQ_PLACE_BACKWARD_END};
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    ssq_status st = step(b, t);
    NEED(ssq_trainer_flush(t));
    tap_ok(st == SSQ_ERR_INVALID && strcmp(d.text, "TbBGSe") == 0,
           "%s: a pass that fails and is flushed: %s", b->name, d.text);
    ssq_trainer_destroy(&t);
}

/* ---- calls by hooks ---- */

enum call { BEGIN, EVALUATE, FLUSH, ZERO_GRAD, LOAD, STEP, IDLE, END, CALLS };
static const char *const calls[] = {
    "trainer_begin", "trainer_evaluate", "trainer_flush", "trainer_zero_grad",
    "trainer_load",  "trainer_step",     "trainer_idle",  "trainer_end"};

static ssq_status make(ssq_trainer *t, enum call call)
{
    switch (call) {
    case BEGIN:
        return ssq_tape_status(ssq_trainer_begin(t));
    case EVALUATE:
        return ssq_tape_status(ssq_trainer_evaluate(t));
    case FLUSH:
        return ssq_trainer_flush(t);
    case ZERO_GRAD:
        return ssq_trainer_zero_grad(t);
    case LOAD:
        return ssq_trainer_load(t, "places-none");
    case STEP:
        return ssq_trainer_step(t, SSQ_VAR_NONE);
    case IDLE:
        return ssq_trainer_idle(t);
    default:
        return ssq_trainer_end(t);
    }
}

/* A hook that makes one call, in its first run only. */
struct caller {
    ssq_trainer_place at;
    enum call call; /* CALLS: none any more */
    ssq_status was;
    char text[256];
    int steps, batches; /* that have ended */
};

static ssq_status call_once(void *user, ssq_trainer *trainer,
                            ssq_trainer_place place, ssq_var *var)
{
    struct caller *c = user;
    (void)var;
    c->steps += place == SSQ_PLACE_STEP_END;
    c->batches += place == SSQ_PLACE_BATCH_END;
    if (place != c->at || c->call == CALLS)
        return SSQ_OK;
    c->was = make(trainer, c->call);
    snprintf(c->text, sizeof(c->text), "%s", ssq_last_error());
    c->call = CALLS;
    return SSQ_OK;
}

/* Two passes, of which the hook makes its call in the first. A pass that has
 * not counted is repeated. The values after them. */
static void two_passes(const struct tape_harness *b, uint32_t accumulate,
                       struct caller *c, float *values)
{
    ssq_trainer *t = trainer_of(b, SSQ_TRAINER(.accumulate = accumulate));
    const int passes = (int)accumulate * 2;
    NEED(ssq_trainer_hook_add(t, call_once, c));
    for (int i = 0; i < passes + 1 && c->batches < passes; i++) {
        ssq_tape *tape = ssq_trainer_begin(t);
        ssq_var y =
            ssq_nn_linear(tape, "fc", ssq_var_input(tape, b->x), OUT, NULL);
        y = ssq_trainer_output(t, y);
        ssq_status st =
            ssq_trainer_step(t, ssq_mse_var(y, SSQ_MSE(.target = b->target)));
        if (st != SSQ_ERR_INVALID || i > 0)
            NEED(st);
    }
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue, NULL, NULL, values,
                         IN * OUT + OUT));
    ssq_trainer_destroy(&t);
}

/* Calls that would end the pass of the hook, or step in the middle of its
 * accumulation. */
static void nested(const struct tape_harness *b, ssq_trainer_place at,
                   const char *name, uint32_t accumulate, enum call from,
                   enum call to)
{
    float want[IN * OUT + OUT], got[IN * OUT + OUT];
    struct caller c = {.call = CALLS};
    int bad = 0;
    two_passes(b, accumulate, &c, want);
    const int batches = (int)accumulate * 2;
    for (enum call i = from; i < to; i++) {
        c = (struct caller){.at = at, .call = i};
        two_passes(b, accumulate, &c, got);
        bool good = c.was == SSQ_ERR_INVALID && core_has(c.text, calls[i]) &&
                    core_has(c.text, name) && c.steps == 2 &&
                    c.batches == batches &&
                    memcmp(want, got, sizeof(want)) == 0;
        if (!good)
            tap_diag("%s: %s: %d steps, %d batches: %s", calls[i],
                     ssq_status_name(c.was), c.steps, c.batches, c.text);
        bad += !good;
    }
    tap_ok(bad == 0, "%s: %d calls by a hook at %s are refused, %d not",
           b->name, (int)to - (int)from - bad, name, bad);
}

/* A hook that reports the place at which it is called. */
static ssq_status report_again(void *user, ssq_trainer *trainer,
                               ssq_trainer_place place, ssq_var *var)
{
    ssq_status *was = user;
    (void)var;
    if (place == SSQ_PLACE_EPOCH_BEGIN)
        *was = ssq_trainer_notify(trainer, place);
    return SSQ_OK;
}

static void reported(const struct tape_harness *b)
{
    ssq_status was = SSQ_OK;
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, report_again, &was));
    NEED(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN));
    core_status(was, SSQ_ERR_INVALID, "called by a hook",
                "%s: a hook reports its own place", b->name);
    ssq_trainer_destroy(&t);
}

static void misuse(const struct tape_harness *b)
{
    struct places_diary d = {.b = b};
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
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        order(&b);
        reported(&b);
        evaluation(&b);
        failures(&b);
        flushed(&b);
        misuse(&b);
        if (i < 2) {
            nested(&b, SSQ_PLACE_LOSS_BEGIN, "SSQ_PLACE_LOSS_BEGIN", 1, 0,
                   CALLS);
            nested(&b, SSQ_PLACE_BACKWARD_BEGIN, "SSQ_PLACE_BACKWARD_BEGIN", 1,
                   0, CALLS);
            nested(&b, SSQ_PLACE_BACKWARD_END, "SSQ_PLACE_BACKWARD_END", 1, 0,
                   CALLS);
            nested(&b, SSQ_PLACE_BATCH_END, "SSQ_PLACE_BATCH_END", 2, FLUSH,
                   FLUSH + 1);
        }
        harness_close(&b);
    }
    return tap_done(30);
}
