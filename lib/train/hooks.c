/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.c - call hooks at the places of a training, and end the training. */
#include "lib/tape/params.h"
#include "lib/tape/tape.h"
#include "lib/train/trainer.h"

#include <sesqui/ops/elementwise.h>

ssq_status trainer_refuse_failed_load(const char *what)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: a load has failed while it wrote: load again", what);
}

ssq_status ssq_trainer_hook_add(ssq_trainer *trainer, ssq_trainer_hook *hook,
                                void *user)
{
    static const char what[] = "trainer_hook_add";
    if (trainer == NULL || hook == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         trainer == NULL ? "trainer" : "hook");
    struct hook *h = mem_alloc(sizeof(*h));
    if (h == NULL)
        return error_nomem(what, sizeof(*h));
    *h = (struct hook){NULL, hook, user};
    *trainer->hooks_end = h;
    trainer->hooks_end = &h->next;
    return SSQ_OK;
}

void trainer_free_hooks(ssq_trainer *t)
{
    for (struct hook *h = t->hooks, *next; h != NULL; h = next) {
        next = h->next;
        mem_free(h);
    }
}

static const char *const names[] = {
    "SSQ_PLACE_TRAIN_BEGIN",    "SSQ_PLACE_LOSS_BEGIN",
    "SSQ_PLACE_BACKWARD_BEGIN", "SSQ_PLACE_BACKWARD_END",
    "SSQ_PLACE_STEP_END",       "SSQ_PLACE_TRAIN_END",
    "SSQ_PLACE_EPOCH_BEGIN",    "SSQ_PLACE_EPOCH_END",
    "SSQ_PLACE_VALIDATE_BEGIN", "SSQ_PLACE_VALIDATE_END",
    "SSQ_PLACE_BATCH_BEGIN",    "SSQ_PLACE_BATCH_END"};

/* Call a hook. If it fails without setting an error text, set one, so that the
 * text of an older error is not reported. */
static ssq_status hook_call(const struct hook *h, ssq_trainer *t,
                            ssq_trainer_place place, ssq_var *var)
{
    char before[ERROR_TEXT];
    error_take(before);
    ssq_status st = h->fn(h->user, t, place, var);
    if (error_restore(before) && st != SSQ_OK)
        return error_set(st, "trainer: a hook at %s returned %s without a text",
                         names[place], ssq_status_name(st));
    return st;
}

ssq_status trainer_call_hooks(ssq_trainer *t, ssq_trainer_place place,
                              ssq_var *var)
{
    ssq_status st = SSQ_OK;
    for (struct hook *h = t->hooks; h != NULL && st == SSQ_OK; h = h->next)
        st = hook_call(h, t, place, var);
    return st;
}

/* Such hooks nest: one at BACKWARD_BEGIN may call ssq_trainer_output(). */
ssq_status trainer_call_hooks_inside(ssq_trainer *t, ssq_trainer_place place,
                                     ssq_var *var)
{
    const char *was = t->inside;
    t->inside = names[place];
    ssq_status st = trainer_call_hooks(t, place, var);
    t->inside = was;
    return st;
}

ssq_status trainer_call_hooks_outside(ssq_trainer *t, ssq_trainer_place place)
{
    t->outside = names[place];
    ssq_status st = trainer_call_hooks(t, place, NULL);
    t->outside = NULL;
    return st;
}

ssq_status trainer_check_not_inside(const ssq_trainer *t, const char *what)
{
    if (t == NULL || t->inside == NULL)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: called by a hook at %s, which must not end the pass",
                     what, t->inside);
}

ssq_status trainer_check_not_in_hook(const ssq_trainer *t, const char *what)
{
    ssq_status st = trainer_check_not_inside(t, what);
    if (st != SSQ_OK || t == NULL || t->outside == NULL)
        return st;
    return error_set(SSQ_ERR_INVALID,
                     "%s: called by a hook at %s, which may evaluate, but not "
                     "train",
                     what, t->outside);
}

ssq_var ssq_trainer_output(ssq_trainer *trainer, ssq_var output)
{
    static const char what[] = "trainer_output";
    if (trainer == NULL)
        return var_inert(NULL);
    ssq_tape *t = trainer->tape;
    if (t->status != SSQ_OK ||
        var_value(t, output, what, what, "output") == NULL)
        return var_inert(t);
    ssq_var y = ssq_var_cast_at(what, output, SSQ_F32);
    ssq_status st =
        trainer_call_hooks_inside(trainer, SSQ_PLACE_LOSS_BEGIN, &y);
    if (st == SSQ_OK)
        return y;
    latch(t, st, what, what);
    return var_inert(t);
}

/* ---- gradients ---- */

ssq_status ssq_trainer_unscale(ssq_trainer *trainer)
{
    static const char what[] = "trainer_unscale";
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    if (trainer->due != DUE_STEP)
        return error_set(SSQ_ERR_INVALID,
                         "%s: no step is due: %u of %u passes have run", what,
                         trainer->passes, trainer->accumulate);
    if (trainer->unscaled)
        return SSQ_OK;
    ssq_status st = ssq_optimizer_unscale(trainer->queue, trainer->optimizer,
                                          trainer->scaler);
    trainer->unscaled = st == SSQ_OK;
    return st;
}

/* Clip gradients by value, once for each step: a failed step may be
 * repeated. */
ssq_status trainer_clip_gradients(ssq_trainer *t)
{
    if (t->clip_value == 0.0 || t->clipped)
        return SSQ_OK;
    ssq_status st = ssq_trainer_unscale(t);
    for (size_t i = 0; i < t->params->n && st == SSQ_OK; i++) {
        const ssq_tensor *g = param_of(t->params, (uint32_t)i)->grad;
        if (g != NULL && view_elements(&g->view) > 0)
            st = ssq_clamp(t->queue,
                           SSQ_CLAMP(.x = g, .y = g, .min = -t->clip_value,
                                     .max = t->clip_value));
    }
    t->clipped = st == SSQ_OK;
    return st;
}

/* ---- the end ---- */

ssq_status ssq_trainer_end(ssq_trainer *trainer)
{
    static const char what[] = "trainer_end";
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    ssq_status st = trainer_check_not_in_hook(trainer, what);
    if (st != SSQ_OK)
        return st;
    if (trainer->ended && trainer->end_hooks_called)
        return error_set(SSQ_ERR_INVALID, "%s: the training has ended", what);
    if (trainer->load_failed) /* after an end nothing could load again */
        return trainer_refuse_failed_load(what);
    if (trainer->passes > 0 || trainer->due != DUE_NOTHING)
        return trainer_refuse_accumulating(trainer, what);
    ssq_tape_begin(trainer->tape, false);
    st = ssq_params_to_float32(trainer->params, trainer->queue,
                               trainer->optimizer);
    if (st != SSQ_OK)
        return st;
    trainer->ended = true;
    trainer->begun = false;
    trainer->epoch = trainer->validating = false;
    st = trainer_call_hooks_outside(trainer, SSQ_PLACE_TRAIN_END);
    trainer->end_hooks_called =
        st == SSQ_OK; /* else the call may be repeated */
    return st;
}
