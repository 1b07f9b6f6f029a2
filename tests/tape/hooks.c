/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.c - what others do at the six places of a training; gradients that are
 * read and clipped without their scale; parameters at the end; two models and
 * two losses on one scaler. */
#include "tests/tape/harness.h"

#include <math.h>

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

static ssq_status step(const struct tape_harness *b, ssq_trainer *trainer)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var y = ssq_nn_linear(t, "fc1", ssq_var_input(t, b->x), 6, NULL);
    y = ssq_nn_linear(t, "fc2", ssq_tanh_var(y), OUT, NULL);
    y = ssq_trainer_output(trainer, y);
    return ssq_trainer_step(trainer,
                            ssq_mse_var(y, SSQ_MSE(.target = b->target)));
}

/* All parameters, or all gradients, as float32; returns how many. */
static size_t values(const struct tape_harness *b, ssq_params *params,
                     bool grads, float *to)
{
    size_t n = 0;
    for (size_t i = 0; i < ssq_params_count(params); i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &p));
        const ssq_tensor *x = grads ? p.grad : p.tensor;
        size_t k = (size_t)ssq_tensor_elements(x);
        NEED(ssq_tensor_read(b->queue, x, to + n, k * sizeof(*to), SSQ_F32));
        n += k;
    }
    NEED(ssq_queue_sync(b->queue));
    return n;
}

/* ---- places ---- */

struct hooks_diary {
    char text[96];
    ssq_trainer_place fail_at; /* once, if failing */
    bool failing, wide, has_var;
    double factor; /* of the loss; 0: as it is */
};

static ssq_status write_diary(void *user, ssq_trainer *trainer,
                              ssq_trainer_place place, ssq_var *var)
{
    struct hooks_diary *d = user;
    size_t n = strlen(d->text);
    bool wants =
        place == SSQ_PLACE_LOSS_BEGIN || place == SSQ_PLACE_BACKWARD_BEGIN;
    if (n < sizeof(d->text) - 1)
        d->text[n] = "TLBGSE{}()be"[place];
    d->has_var = d->has_var && (var != NULL) == wants;
    if (place == SSQ_PLACE_LOSS_BEGIN)
        d->wide = d->wide && ssq_tensor_dtype(ssq_var_tensor(*var)) == SSQ_F32;
    if (place == SSQ_PLACE_BACKWARD_BEGIN && d->factor != 0)
        *var = ssq_scale_var(*var, SSQ_SCALE(.alpha = d->factor));
    if (d->failing && place == d->fail_at) {
        d->failing = false;
        ssq_group *none = NULL;
        /* an error text of the library, as in hooks of users */
        return ssq_trainer_group(trainer, NULL, NULL, &none);
    }
    return SSQ_OK;
}

static void places(const struct tape_harness *b)
{
    struct hooks_diary d = {.wide = true, .has_var = true};
    ssq_trainer *t =
        trainer_of(b, SSQ_TRAINER(.policy = "mixed_float16", .accumulate = 2));
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    for (int i = 0; i < 4; i++)
        NEED(step(b, t));
    (void)ssq_trainer_evaluate(t);
    NEED(ssq_trainer_end(t));
    tap_ok(strcmp(d.text, "TbLBGebLBGSebLBGebLBGSeE") == 0 && d.wide &&
               d.has_var,
           "%s: four passes, two steps: %s", b->name, d.text);
    core_status(ssq_trainer_end(t), SSQ_ERR_INVALID, "has ended",
                "%s: no second end", b->name);
    memset(d.text, 0, sizeof(d.text));
    NEED(step(b, t));
    NEED(step(b, t));
    NEED(ssq_trainer_end(t));
    tap_ok(strcmp(d.text, "TbLBGebLBGSeE") == 0,
           "%s: two passes after the end, and another end: %s", b->name,
           d.text);
    ssq_trainer_destroy(&t);
}

/* A hook that fails stops the call; the training continues as if the hook had
 * not. */
static void failures(const struct tape_harness *b)
{
    static const char *const names[] = {"train begin",    "loss begin",
                                        "backward begin", "backward end",
                                        "step end",       "train end"};
    float want[128], got[128];
    for (int place = 0; place < 5; place++) {
        struct hooks_diary d = {.fail_at = (ssq_trainer_place)place};
        size_t n = 0;
        bool ok = true;
        for (int k = 0; k < 2; k++) {
            ssq_trainer *t = trainer_of(b, NULL);
            d.failing = k == 1;
            NEED(ssq_trainer_hook_add(t, write_diary, &d));
            ssq_status st = step(b, t);
            ok = ok && st == (k == 1 ? SSQ_ERR_INVALID : SSQ_OK);
            ok =
                ok && (k == 0 || core_has(ssq_last_error(), "pattern is NULL"));
            /* after the backward a pass counts: the next begin steps */
            if (k == 1 && place < SSQ_PLACE_BACKWARD_END)
                ok = ok && step(b, t) == SSQ_OK;
            ok = ok && step(b, t) == SSQ_OK;
            n = values(b, ssq_trainer_params(t), false, k == 0 ? want : got);
            ssq_trainer_destroy(&t);
        }
        tap_ok(ok && memcmp(want, got, n * sizeof(*want)) == 0,
               "%s: a hook that fails at %s: the training is the same", b->name,
               names[place]);
    }
}

static ssq_status fail_once(ssq_queue *queue, const ssq_tensor *verdict,
                            void *user)
{
    bool *armed = user, fails = *armed;
    (void)queue;
    (void)verdict;
    *armed = false;
    return fails ? SSQ_ERR_INVALID : SSQ_OK;
}

/* A flush that is repeated ends no batch: its passes have ended theirs. */
static void flush_again(const struct tape_harness *b)
{
    struct hooks_diary d = {.wide = true};
    bool armed = false;
    ssq_trainer *t =
        trainer_of(b, SSQ_TRAINER(.policy = "mixed_float16", .accumulate = 4));
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    NEED(ssq_scaler_rank_hook_set(ssq_trainer_scaler(t), fail_once, &armed));
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < 3; i++)
            NEED(step(b, t));
        memset(d.text, 0, sizeof(d.text));
        armed = true;
        core_status(ssq_trainer_flush(t), SSQ_ERR_INVALID, "hook",
                    "%s: a flush whose step fails", b->name);
        armed = again == 2;
        if (again == 2)
            core_status(step(b, t), SSQ_ERR_INVALID, "hook",
                        "%s: and the begin of a pass that repeats it", b->name);
        if (again == 0)
            NEED(ssq_trainer_flush(t));
        else
            NEED(ssq_tape_status(ssq_trainer_begin(t)));
        tap_ok(strcmp(d.text, again == 0 ? "S" : "Sb") == 0,
               "%s: repeated by %s: %s", b->name,
               again == 0 ? "a flush" : "a begin", d.text);
    }
    ssq_trainer_destroy(&t);
}

/* ssq_trainer_end may be repeated if a hook has failed. */
static void failed_end(const struct tape_harness *b)
{
    struct hooks_diary d = {.fail_at = SSQ_PLACE_TRAIN_END, .failing = true};
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, write_diary, &d));
    NEED(step(b, t));
    core_status(ssq_trainer_end(t), SSQ_ERR_INVALID, "pattern is NULL",
                "%s: a hook fails at the end", b->name);
    core_status(ssq_trainer_end(t), SSQ_OK, "", "%s: the end again", b->name);
    core_status(ssq_trainer_end(t), SSQ_ERR_INVALID, "has ended",
                "%s: and not once more", b->name);
    ssq_trainer_destroy(&t);
}

/* Makes gradients overflow, and fails before the optimizer steps: the next
 * begin makes the step. */
static ssq_status overflow(void *user, ssq_trainer *trainer,
                           ssq_trainer_place place, ssq_var *var)
{
    (void)user;
    (void)trainer;
    if (place == SSQ_PLACE_BACKWARD_BEGIN)
        *var = ssq_scale_var(*var, SSQ_SCALE(.alpha = 1e30));
    return place == SSQ_PLACE_BACKWARD_END
               ? ssq_error_set(SSQ_ERR_IO, "not now")
               : SSQ_OK;
}

/* Too many skips in a row are told by the begin whose update finds them. */
static void scale_in_begin(const struct tape_harness *b)
{
    ssq_trainer *t =
        trainer_of(b, SSQ_TRAINER(.policy = "mixed_float16",
                                  .scaler = "sesqui,max_consecutive_skips=2"));
    int told = 0, refused = 0;
    NEED(ssq_trainer_hook_add(t, overflow, NULL));
    for (int i = 0; i < 8 && told == 0; i++) {
        refused += step(b, t) == SSQ_ERR_IO;
        NEED(ssq_queue_sync(b->queue));
        ssq_status st = ssq_tape_status(ssq_trainer_begin(t));
        told += st == SSQ_ERR_SCALE;
        NEED(ssq_queue_sync(b->queue));
    }
    tap_ok(told == 1 && refused >= 2,
           "%s: after %d steps that were made by a begin it says SSQ_ERR_SCALE",
           b->name, refused);
    ssq_trainer_destroy(&t);
}

/* ---- hooks that do more ---- */

struct hooks_worker {
    const struct tape_harness *b;
    const char *path; /* to load from; NULL: none */
    ssq_trainer_place at;
    bool begins, evaluates;
    const char *text; /* to fail with; "": without a text */
    float y[OUT];
    ssq_status was;
};

static ssq_status work(void *user, ssq_trainer *trainer,
                       ssq_trainer_place place, ssq_var *var)
{
    struct hooks_worker *w = user;
    ssq_status st = SSQ_OK;
    (void)var;
    if (place != w->at)
        return SSQ_OK;
    if (w->path != NULL)
        st = ssq_trainer_load(trainer, w->path);
    if (st == SSQ_OK && w->evaluates) {
        ssq_tape *t = ssq_trainer_evaluate(trainer);
        ssq_var y = ssq_var_named(t, "fc2.bias");
        st = ssq_tensor_read(w->b->queue, ssq_var_tensor(y), w->y, sizeof(w->y),
                             SSQ_F32);
        if (st == SSQ_OK)
            st = ssq_queue_sync(w->b->queue);
    }
    if (w->begins) {
        w->was = ssq_tape_status(ssq_trainer_begin(trainer));
        return w->was;
    }
    if (w->text != NULL)
        return *w->text == '\0' ? SSQ_ERR_IO
                                : ssq_error_set(SSQ_ERR_IO, w->text);
    return st;
}

/* Two steps after a load: by a hook, and by the program. */
static void loads_in_hook(const struct tape_harness *b, ssq_trainer_place at)
{
    char path[] = "/tmp/sesqui-hook-XXXXXX";
    float want[128], got[128];
    size_t n = 0;
    const int fd = mkstemp(path);
    if (fd < 0)
        tap_bail("no temporary file");
    close(fd);
    ssq_trainer *t = trainer_of(b, NULL);
    for (int i = 0; i < 3; i++)
        NEED(step(b, t));
    NEED(ssq_trainer_save(t, path));
    for (int i = 0; i < 2; i++)
        NEED(step(b, t));
    n = values(b, ssq_trainer_params(t), false, want);
    ssq_trainer_destroy(&t);
    struct hooks_worker w = {.b = b, .path = path, .at = at, .evaluates = true};
    t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, work, &w));
    bool begins = at == SSQ_PLACE_TRAIN_BEGIN;
    ssq_status st = step(b, t); /* at its end the other hook loads */
    w.path = begins ? w.path : NULL;
    for (int i = begins ? 1 : 0; i < 2 && st == SSQ_OK; i++)
        st = step(b, t);
    if (st == SSQ_OK)
        (void)values(b, ssq_trainer_params(t), false, got);
    tap_ok(st == SSQ_OK && memcmp(want, got, n * sizeof(*want)) == 0,
           "%s: a hook at place %d loads and evaluates: %s", b->name, (int)at,
           st == SSQ_OK ? "the training goes on from there" : ssq_last_error());
    ssq_trainer_destroy(&t);
    unlink(path);
}

static void texts(const struct tape_harness *b)
{
    static const struct {
        const char *text, *part;
    } cases[] = {{"my hook: enough", "my hook: enough"},
                 {"100 %s%n", "100 %s%n"},
                 {"", "a hook at SSQ_PLACE_STEP_END returned SSQ_ERR_IO"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct hooks_worker w = {
            .b = b, .at = SSQ_PLACE_STEP_END, .text = cases[i].text};
        ssq_trainer *t = trainer_of(b, NULL), *none = NULL;
        NEED(ssq_trainer_hook_add(t, work, &w));
        (void)!ssq_trainer_create(NULL, NULL, &none); /* an older text */
        core_status(step(b, t), SSQ_ERR_IO, cases[i].part,
                    "%s: a hook's own text: %s", b->name, ssq_last_error());
        ssq_trainer_destroy(&t);
    }
    struct hooks_worker w = {
        .b = b, .at = SSQ_PLACE_LOSS_BEGIN, .text = "stop"};
    ssq_trainer *t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, work, &w));
    (void)!step(b, t);
    tap_ok(strcmp(ssq_last_error(), "trainer_output: stop") == 0,
           "%s: a text names its call once: %s", b->name, ssq_last_error());
    ssq_trainer_destroy(&t);
    w = (struct hooks_worker){
        .b = b, .at = SSQ_PLACE_TRAIN_BEGIN, .begins = true};
    t = trainer_of(b, NULL);
    NEED(ssq_trainer_hook_add(t, work, &w));
    core_status(step(b, t), SSQ_ERR_INVALID, "called by a hook",
                "%s: a hook begins a pass for training: %s", b->name,
                ssq_last_error());
    w.begins = false;
    tap_ok(step(b, t) == SSQ_OK, "%s: and the trainer goes on", b->name);
    w.begins = true;
    w.at = SSQ_PLACE_STEP_END;
    core_status(step(b, t), SSQ_ERR_INVALID, "called by a hook",
                "%s: also at the end of a step", b->name);
    ssq_trainer_destroy(&t);
    tap_ok(ssq_error_set(SSQ_ERR_IO, NULL) == SSQ_ERR_IO &&
               ssq_last_error()[0] == '\0' &&
               ssq_error_set(SSQ_OK, "x") == SSQ_OK &&
               ssq_last_error()[0] == '\0',
           "an error without a text; SSQ_OK sets none");
}

static void replaced(const struct tape_harness *b)
{
    float one[128], twice[128];
    double shown[2] = {0, 0};
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        struct hooks_diary d = {.factor = k == 0 ? 0.0 : 2.0};
        ssq_trainer *t =
            trainer_of(b, SSQ_TRAINER(.optimizer = "sgd", .options.lr = 0.125));
        NEED(ssq_trainer_hook_add(t, write_diary, &d));
        NEED(step(b, t));
        n = values(b, ssq_trainer_params(t), true, k == 0 ? one : twice);
        NEED(ssq_trainer_loss(t, &shown[k]));
        ssq_trainer_destroy(&t);
    }
    bool doubled = n > 0;
    for (size_t i = 0; i < n; i++)
        doubled = doubled && twice[i] == 2 * one[i];
    tap_ok(doubled && shown[0] == shown[1] && shown[0] > 0,
           "%s: a hook doubles the loss, and the gradients; %g is shown as %g",
           b->name, shown[0], shown[1]);
}

/* ssq_trainer_loss returns the mean of the losses since its last call. */
static void mean_starts_anew(const struct tape_harness *b)
{
    double each[2], both = 0.0, nothing = 0.0;
    for (int k = 0; k < 2; k++) {
        ssq_trainer *t =
            trainer_of(b, SSQ_TRAINER(.optimizer = "sgd", .options.lr = 0.125));
        for (int i = 0; i < 2; i++) {
            NEED(step(b, t));
            NEED(k == 0 ? ssq_trainer_loss(t, &each[i]) : SSQ_OK);
        }
        NEED(ssq_trainer_loss(t, k == 0 ? &nothing : &both));
        ssq_trainer_destroy(&t);
    }
    float sum = (float)each[0] + (float)each[1];
    tap_ok(each[0] != each[1] && (double)sum / 2 == both && nothing != nothing,
           "%s: losses %g and %g have the mean %g; then there is none", b->name,
           each[0], each[1], both);
}

/* ---- true gradients ---- */

struct look {
    const struct tape_harness *b;
    float grads[128];
    size_t n;
    ssq_status early;
};

static ssq_status look(void *user, ssq_trainer *trainer,
                       ssq_trainer_place place, ssq_var *var)
{
    struct look *l = user;
    (void)var;
    if (place == SSQ_PLACE_BACKWARD_BEGIN)
        l->early = ssq_trainer_unscale(trainer);
    if (place != SSQ_PLACE_BACKWARD_END)
        return SSQ_OK;
    ssq_status st = ssq_trainer_unscale(trainer);
    if (st == SSQ_OK)
        l->n = values(l->b, ssq_trainer_params(trainer), true, l->grads);
    return st == SSQ_ERR_INVALID && l->n == 0 ? SSQ_OK : st;
}

/* A scale of 2^16 changes no bit of float32 gradients: unscaled they are those
 * of a training without a scaler. */
static void unscaled(const struct tape_harness *b)
{
    for (uint32_t accumulate = 1; accumulate < 3; accumulate++) {
        struct look l[2] = {{.b = b}, {.b = b}};
        float after[2][128];
        size_t n = 0;
        for (int k = 0; k < 2; k++) {
            ssq_trainer *t =
                trainer_of(b, SSQ_TRAINER(.scaler = k == 0 ? "none" : "pytorch",
                                          .accumulate = accumulate));
            NEED(ssq_trainer_hook_add(t, look, &l[k]));
            for (uint32_t i = 0; i < accumulate; i++)
                NEED(step(b, t));
            n = values(b, ssq_trainer_params(t), false, after[k]);
            ssq_trainer_destroy(&t);
        }
        tap_ok(l[0].n == n && l[1].n == n && n > 30 &&
                   memcmp(l[0].grads, l[1].grads, n * sizeof(float)) == 0 &&
                   memcmp(after[0], after[1], n * sizeof(float)) == 0 &&
                   l[0].early == SSQ_ERR_INVALID,
               "%s: %u passes: %zu gradients without their scale are true, and "
               "so is the step",
               b->name, accumulate, n);
    }
}

/* sgd moves a parameter by lr times what is left of its gradient. */
static void clipped(const struct tape_harness *b)
{
    static const char *const policies[] = {"float32", "mixed_float16"};
    for (int k = 0; k < 2; k++)
        for (uint32_t accumulate = 1; accumulate < 3; accumulate++) {
            struct look l = {.b = b};
            float before[128], after[128];
            size_t n = 0, cut = 0, wrong = 0;
            ssq_trainer *t = trainer_of(
                b, SSQ_TRAINER(.policy = policies[k], .optimizer = "sgd",
                               .options.lr = 1.0, .clip_value = 0.0625,
                               .accumulate = accumulate));
            NEED(ssq_trainer_hook_add(t, look, &l));
            ssq_tape *tape = ssq_trainer_begin(t);
            ssq_var y =
                ssq_nn_linear(tape, "fc1", ssq_var_input(tape, b->x), 6, NULL);
            (void)ssq_nn_linear(tape, "fc2", y, OUT, NULL);
            NEED(ssq_tape_status(tape));
            n = values(b, ssq_trainer_params(t), false, before);
            for (uint32_t i = 0; i < accumulate; i++)
                NEED(step(b, t));
            n = values(b, ssq_trainer_params(t), false, after);
            for (size_t i = 0; i < n; i++) {
                double g = l.grads[i], c = fmax(-0.0625, fmin(0.0625, g));
                double slack = k == 0 ? 1e-6 : 1e-3;
                cut += c != g;
                wrong += fabs(before[i] - c - after[i]) > slack;
            }
            tap_ok(wrong == 0 && cut > 0 && cut < n && l.n == n,
                   "%s: %s, %u passes: %zu of %zu gradients are cut to 1/16",
                   b->name, policies[k], accumulate, cut, n);
            ssq_trainer_destroy(&t);
        }
}

/* ---- the end ---- */

struct masters {
    float at[128];
    size_t n;
    const struct tape_harness *b;
};

static ssq_status keep(void *user, const char *name, const ssq_tensor *x)
{
    struct masters *m = user;
    size_t k = (size_t)ssq_tensor_elements(x);
    if (strstr(name, ".master") == NULL)
        return SSQ_OK;
    NEED(ssq_tensor_read(m->b->queue, x, m->at + m->n, k * sizeof(float),
                         SSQ_F32));
    m->n += k;
    return ssq_queue_sync(m->b->queue);
}

static void end(const struct tape_harness *b)
{
    struct masters m = {.b = b};
    float now[128];
    ssq_trainer *t = trainer_of(b, SSQ_TRAINER(.policy = "mixed_bfloat16"));
    for (int i = 0; i < 3; i++)
        NEED(step(b, t));
    NEED(ssq_optimizer_visit(b->queue, ssq_trainer_optimizer(t), keep, &m));
    double loss[2];
    const ssq_tensor *y[2];
    for (int k = 0; k < 2; k++) {
        float got = 0;
        ssq_tape *tape = ssq_trainer_evaluate(t);
        ssq_var x = ssq_var_input(tape, b->x);
        x = ssq_tanh_var(ssq_nn_linear(tape, "fc1", x, 6, NULL));
        x = ssq_nn_linear(tape, "fc2", x, OUT, NULL);
        y[k] = ssq_var_tensor(ssq_mse_var(x, SSQ_MSE(.target = b->target)));
        NEED(ssq_tape_status(tape));
        NEED(ssq_tensor_read(b->queue, y[k], &got, sizeof(got), SSQ_F32));
        NEED(ssq_queue_sync(b->queue));
        loss[k] = got;
        if (k == 0)
            NEED(ssq_trainer_end(t));
    }
    ssq_param_info p = SSQ_PARAM_INFO_INIT;
    NEED(ssq_params_get(ssq_trainer_params(t), 0, &p));
    size_t n = values(b, ssq_trainer_params(t), false, now);
    tap_ok(ssq_tensor_dtype(p.tensor) == SSQ_F32 && n == m.n && n > 30 &&
               memcmp(now, m.at, n * sizeof(float)) == 0,
           "%s: at the end %zu parameters are float32, as their masters",
           b->name, n);
    /* biases are not rounded any more: matmuls read them as they are */
    tap_ok(fabs(loss[0] - loss[1]) < 0.01 * loss[0],
           "%s: and an evaluation is nearly as before: %g, %g", b->name,
           loss[0], loss[1]);
    ssq_trainer_destroy(&t);
    core_status(ssq_params_to_float32(NULL, b->queue, NULL), SSQ_ERR_INVALID,
                "params is NULL", "%s: no parameters", b->name);
}

static void misuse(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, SSQ_TRAINER(.accumulate = 2));
    core_status(ssq_trainer_hook_add(t, NULL, NULL), SSQ_ERR_INVALID,
                "hook is NULL", "%s: no hook", b->name);
    core_status(ssq_trainer_hook_add(NULL, look, NULL), SSQ_ERR_INVALID,
                "trainer is NULL", "%s: a hook for nobody", b->name);
    core_status(ssq_trainer_unscale(NULL), SSQ_ERR_INVALID, "NULL",
                "%s: unscale nothing", b->name);
    core_status(ssq_trainer_unscale(t), SSQ_ERR_INVALID, "no step is due",
                "%s: unscale before a step", b->name);
    core_status(ssq_trainer_end(NULL), SSQ_ERR_INVALID, "NULL",
                "%s: end nothing", b->name);
    NEED(step(b, t));
    core_status(ssq_trainer_end(t), SSQ_ERR_INVALID, "1 of 2 passes",
                "%s: end within an accumulation", b->name);
    tap_ok(ssq_trainer_output(NULL, SSQ_VAR_NONE).tape == NULL,
           "%s: no trainer has no output", b->name);
    ssq_trainer_destroy(&t);
    core_status(
        ssq_trainer_create(b->queue, SSQ_TRAINER(.clip_value = -1.0), &t),
        SSQ_ERR_INVALID, "clip_value is -1", "%s: a bound below 0", b->name);
    core_status(
        ssq_trainer_create(b->queue, SSQ_TRAINER(.clip_value = NAN), &t),
        SSQ_ERR_INVALID, "clip_value is nan", "%s: a bound of NaN", b->name);
}

/* ---- several models, losses and optimizers: torch's recipe ---- */

/* https://pytorch.org/docs/stable/notes/amp_examples.html, "Working with
 * Multiple Models, Losses, and Optimizers": both models are in both losses, one
 * optimizer's gradients are unscaled to be looked at, one update at the end.
 * The two losses are added: one backward does for both. */
static void recipe(const struct tape_harness *b, bool scaled, float *after,
                   size_t *n)
{
    ssq_params *params = NULL;
    ssq_tape *t = NULL;
    ssq_scaler *scaler = NULL;
    ssq_optimizer *o[2] = {NULL, NULL};
    NEED(ssq_params_create(b->device, "float32", NULL, &params));
    NEED(ssq_tape_create(b->queue, params, &t));
    if (scaled)
        NEED(ssq_scaler_create(b->device, "pytorch", NULL, &scaler));
    for (int i = 0; i < 2; i++)
        NEED(ssq_optimizer_create(b->device, "adam", NULL, &o[i]));
    for (int i = 0; i < 3; i++) {
        ssq_tape_begin(t, true);
        ssq_params_clean(params);
        ssq_var x = ssq_var_input(t, b->x);
        ssq_var y0 = ssq_nn_linear(t, "model0", x, OUT, NULL);
        ssq_var y1 = ssq_nn_linear(t, "model1", x, OUT, NULL);
        const ssq_scale_args *two = SSQ_SCALE(.alpha = 2),
                             *three = SSQ_SCALE(.alpha = 3),
                             *five = SSQ_SCALE(.alpha = -5);
        ssq_var a =
            ssq_add_var(ssq_scale_var(y0, two), ssq_scale_var(y1, three));
        ssq_var c =
            ssq_add_var(ssq_scale_var(y0, three), ssq_scale_var(y1, five));
        ssq_var loss0 = ssq_mse_var(a, SSQ_MSE(.target = b->target));
        ssq_var loss1 = ssq_mse_var(c, SSQ_MSE(.target = b->target));
        NEED(ssq_tape_backward(t, ssq_add_var(loss0, loss1), scaler));
        if (i == 0) {
            NEED(ssq_params_optimize(params, o[0], "model0.*", NULL));
            NEED(ssq_params_optimize(params, o[1], "model1.*", NULL));
        }
        if (scaled)
            NEED(ssq_optimizer_unscale(b->queue, o[0], scaler));
        NEED(ssq_optimizer_step(b->queue, o[0], scaler));
        NEED(ssq_optimizer_step(b->queue, o[1], scaler));
        if (scaled)
            NEED(ssq_scaler_update(b->queue, scaler));
    }
    *n = values(b, params, false, after);
    for (int i = 0; i < 2; i++)
        ssq_optimizer_destroy(&o[i]);
    ssq_scaler_destroy(&scaler);
    ssq_tape_destroy(&t);
    ssq_params_destroy(&params);
}

static void two_models(const struct tape_harness *b)
{
    float with[128], without[128];
    size_t n = 0, m = 0;
    recipe(b, true, with, &n);
    recipe(b, false, without, &m);
    tap_ok(n == m && n == 30 && memcmp(with, without, n * sizeof(float)) == 0,
           "%s: two models, losses and optimizers on one scaler: %zu "
           "parameters as without it",
           b->name, n);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        places(&b);
        replaced(&b);
        mean_starts_anew(&b);
        unscaled(&b);
        clipped(&b);
        end(&b);
        two_models(&b);
        if (i < 2) {
            failures(&b);
            scale_in_begin(&b);
            failed_end(&b);
            flush_again(&b);
            misuse(&b);
            loads_in_hook(&b, SSQ_PLACE_TRAIN_BEGIN);
            loads_in_hook(&b, SSQ_PLACE_STEP_END);
            texts(&b);
        }
        harness_close(&b);
    }
    return tap_done(2 * 40);
}
