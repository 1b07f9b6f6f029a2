/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - passes, and the step after the last pass of an accumulation.
 *
 * ssq_trainer_begin()   finishes a step that failed before, and begins a pass
 * the program           computes the loss on the tape
 * ssq_trainer_step()    runs the backward, adds the gradients to the sums and,
 *                       after the last pass, makes the step:
 *
 *     run_pass()
 *         trainer_backward()      gradients of this pass, times its weight
 *         apply_gradients()
 *             add_pass_to_sums()  the pass counts from here on
 *             finish_due_step()   gradients of all ranks, clip, optimizer,
 * scaler end_replay()                submit ops that match an earlier pass
 *     return_label_error()        labels out of range, if known by now */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/scaler/scaler_object.h"
#include "lib/core/queue/replay.h"
#include "lib/tape/params.h"
#include "lib/tape/tape.h"
#include "lib/train/trainer.h"

#include <stdio.h>

/* ---- work that is due ---- */

/* Make the step and the scaler's update if they are due. If a part fails, the
 * next begin_pass() repeats it with the existing gradients, before a forward
 * pass could read parameters that change. SSQ_ERR_SCALE from the scaler is
 * returned, but does not count as a failure. */
static ssq_status finish_due_step(ssq_trainer *t)
{
    ssq_status st = SSQ_OK;
    if (t->due == DUE_STEP) {
        st = trainer_reduce_gradients(t);
        if (st == SSQ_OK)
            st = trainer_clip_gradients(t);
        if (st == SSQ_OK)
            st = ssq_optimizer_step(t->queue, t->optimizer, t->scaler);
        if (st != SSQ_OK)
            return st;
        t->passes = 0;
        t->unscaled = t->clipped = t->reduced = false;
        t->stepped = true;
        t->steps++;
        t->due = DUE_COMPARE;
    }
    if (t->due == DUE_COMPARE) {
        st = labels_clear(t->labels, t->queue, true);
        if (st == SSQ_OK)
            st = trainer_compare_values(t);
        if (st != SSQ_OK)
            return st;
        t->due = t->scaler == NULL ? DUE_NOTHING : DUE_UPDATE;
    }
    if (t->due == DUE_UPDATE) {
        st = ssq_scaler_update(t->queue, t->scaler);
        if (st == SSQ_OK || st == SSQ_ERR_SCALE)
            t->due = DUE_NOTHING;
    }
    return st;
}

/* ---- passes ---- */

/* Refuse a capture by the program, of a graph or of the queue's stream: a
 * captured step would count as made, but might never run. */
static ssq_status check_not_captured(const ssq_trainer *t, const char *what)
{
    if (queue_capturing(t->queue))
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured; a trainer with "
                         ".replay captures its steps itself",
                         what);
    return queue_check_runs(t->queue, what);
}

/* Call hooks at a place where a pass begins. A hook may evaluate, load or save,
 * which ends the caller's pass. Therefore begin that pass again. */
static ssq_status call_hooks_and_begin_pass(ssq_trainer *t,
                                            ssq_trainer_place place,
                                            bool training)
{
    ssq_status st = trainer_call_hooks_outside(t, place);
    if (t->hooks != NULL)
        ssq_tape_begin(t->tape, training);
    return st;
}

/* Finish a step that is due because a part of it has failed, and call the hooks
 * that come after it. */
static ssq_status finish_due_pass(ssq_trainer *t, bool training)
{
    ssq_status st = finish_due_step(t);
    if (t->due != DUE_NOTHING)
        return st;
    const bool batch_end = t->batch_end_due;
    t->batch_end_due = false;
    ssq_params_clean(t->params);
    ssq_status end = call_hooks_and_begin_pass(t, SSQ_PLACE_STEP_END, training);
    if (end == SSQ_OK && batch_end)
        end = call_hooks_and_begin_pass(t, SSQ_PLACE_BATCH_END, training);
    return st == SSQ_OK ? end : st;
}

/* Prepare a pass that trains. */
static ssq_status begin_training_pass(ssq_trainer *t)
{
    ssq_status st = SSQ_OK;
    if (!t->begun) {
        st = trainer_begin_training(t);
        ssq_tape_begin(t->tape, true); /* hooks may begin passes */
    }
    if (st == SSQ_OK && t->comm != NULL)
        st = ssq_comm_status(t->comm); /* sums of a pass may still be in
                                          flight */
    if (st == SSQ_OK)
        st = trainer_broadcast_params(t);
    if (st == SSQ_OK)
        st = call_hooks_and_begin_pass(t, SSQ_PLACE_BATCH_BEGIN, true);
    /* an abandoned pass, or a step by the optimizer's own function, may have
     * left wrong labels */
    if (st == SSQ_OK && t->passes == 0)
        st = labels_clear(t->labels, t->queue, false);
    if (st == SSQ_OK && t->replay)
        st = replay_begin(t->queue, t);
    return st;
}

static ssq_tape *begin_pass(ssq_trainer *t, bool training)
{
    if (t == NULL)
        return NULL;
    const char *what = training ? "trainer_begin" : "trainer_evaluate";
    bool whole;
    ssq_status st = training ? trainer_check_not_in_hook(t, what)
                             : trainer_check_not_inside(t, what);
    if (st != SSQ_OK) { /* a hook made this call: do not end its pass */
        latch(t->tape, st, "begin", what);
        return t->tape;
    }
    t->has_accuracy = false;
    ssq_tape_begin(t->tape, training);
    st = queue_check(t->queue, what);
    if (st == SSQ_OK)
        st = replay_end(t->queue, t, &whole);
    if (st == SSQ_OK && (training || t->due != DUE_NOTHING))
        st = check_not_captured(t, what);
    if (st == SSQ_OK && t->due != DUE_NOTHING)
        st = finish_due_pass(t, training);
    if (st == SSQ_OK && t->load_failed)
        st = trainer_refuse_failed_load(what);
    if (st == SSQ_OK && training)
        st = begin_training_pass(t);
    if (st != SSQ_OK)
        latch(t->tape, st, "begin", what);
    return t->tape;
}

ssq_tape *ssq_trainer_begin(ssq_trainer *trainer)
{
    return begin_pass(trainer, true);
}

ssq_tape *ssq_trainer_evaluate(ssq_trainer *trainer)
{
    return begin_pass(trainer, false);
}

/* ---- parameters ---- */

/* Add all parameters to the optimizer at the first step. Parameters that match
 * the pattern of a group come first, in the order of the groups. */
ssq_status trainer_add_params(ssq_trainer *t)
{
    ssq_status st = SSQ_OK;
    for (struct group_pattern *p = t->patterns; p != NULL && st == SSQ_OK;
         p = p->next)
        st = ssq_params_optimize(t->params, t->optimizer, p->pattern, p->group);
    if (st == SSQ_OK)
        st = ssq_params_optimize(t->params, t->optimizer, NULL, NULL);
    if (st != SSQ_OK)
        return st;
    t->params_added = t->params->n;
    for (size_t i = 0; i < t->params_added; i++)
        param_of(t->params, (uint32_t)i)->given = true;
    t->params->closed = "after the first step";
    return st;
}

ssq_status trainer_refuse_param(const struct param *p, const char *what)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: parameter \"%s\" was made after the first step, and "
                     "the optimizer has no moments of it; ssq_params_remove "
                     "takes it out",
                     what, p->name);
}

/* Refuse parameters that were created after the optimizer's state: they have no
 * moments. */
static ssq_status check_new_params(ssq_trainer *t)
{
    for (; t->params_added < t->params->n; t->params_added++) {
        struct param *p = param_of(t->params, (uint32_t)t->params_added);
        if (!p->state)
            return trainer_refuse_param(p, "trainer_step");
        p->given = true;
    }
    return SSQ_OK;
}

/* Add the pass's gradients to the sums, if there are sums, and its loss to the
 * window. They are one bundle: if either fails, the pass does not count, and
 * neither sum may contain it.
 * @param loss  NULL: the pass has none */
static ssq_status add_pass_to_sums(ssq_trainer *t, const ssq_var *loss)
{
    const double factor = trainer_mean_factor(t, t->accumulate);
    const bool sums = t->accumulate > 1 || t->comm != NULL;
    ssq_status st = SSQ_OK;
    if (sums && !t->bucketed)
        st = optimizer_accumulate_begin(t->queue, t->optimizer, factor);
    if (st != SSQ_OK || (!sums && loss == NULL))
        return st;
    st = queue_bundle_begin(t->queue);
    if (st != SSQ_OK)
        return st;
    if (t->bucketed)
        st = trainer_add_buckets(t);
    else if (sums)
        st = optimizer_accumulate_list(t->queue, t->optimizer,
                                       t->optimizer->state->accumulate);
    if (st == SSQ_OK && loss != NULL)
        st = trainer_add_loss(t, *loss);
    st = queue_bundle_end(t->queue, st);
    if (st != SSQ_OK)
        return st;
    if (sums)
        optimizer_accumulate_end(t->optimizer, factor);
    if (loss != NULL)
        trainer_count_loss(t);
    return SSQ_OK;
}

/* Use the gradients after a backward: add them to the sums and, after the last
 * pass, make the step.
 * @param loss  NULL: the pass has none */
static ssq_status apply_gradients(ssq_trainer *t, const ssq_var *loss)
{
    ssq_status st =
        t->params_added == 0 ? trainer_add_params(t) : check_new_params(t);
    if (st == SSQ_OK)
        st = trainer_compare_facts(t);
    if (st == SSQ_OK)
        st = add_pass_to_sums(t, loss);
    if (st != SSQ_OK)
        return st;
    /* the pass counts now; a hook may set the weight of the next one */
    t->weight = trainer_default_weight(t);
    t->passes++;
    if (t->passes >= t->accumulate)
        t->due = DUE_STEP;
    if (t->due == DUE_STEP)
        st = trainer_reduce_gradients(t);
    if (st == SSQ_OK)
        st = trainer_call_hooks_inside(t, SSQ_PLACE_BACKWARD_END, NULL);
    return st == SSQ_OK && t->due == DUE_STEP ? finish_due_step(t) : st;
}

/* Call the hooks before a backward. They may replace the loss, but the loss
 * that is reported is the one from the program. Keep its value until after the
 * backward. */
static ssq_status call_backward_hooks(ssq_trainer *t, ssq_var *loss)
{
    if (t->hooks == NULL || t->tape->status != SSQ_OK)
        return SSQ_OK;
    (void)ssq_var_tensor(*loss);
    ssq_status st =
        trainer_call_hooks_inside(t, SSQ_PLACE_BACKWARD_BEGIN, loss);
    if (st != SSQ_OK)
        latch(t->tape, st, "step", "trainer_step");
    return st;
}

/* End a pass whose backward returned st. SSQ_OK: its gradients are complete, so
 * use them, and call the hooks that come after a pass and a step.
 * @param loss  NULL: the pass has none */
static ssq_status finish_pass(ssq_trainer *t, ssq_status st,
                              const ssq_var *loss)
{
    bool counted = st == SSQ_OK;
    const uint32_t before = t->passes;
    if (counted)
        st = apply_gradients(t, loss);
    if (st != SSQ_OK && t->due == DUE_NOTHING && t->bucketed)
        st = trainer_abandon_buckets(t, st);
    if (t->due != DUE_NOTHING) {
        t->batch_end_due =
            t->batch_end_due || counted; /* else an earlier step is due */
        return st;
    }
    ssq_params_clean(t->params);
    counted = counted && (st == SSQ_OK || st == SSQ_ERR_SCALE);
    bool stepped = counted && t->passes == 0 && before + 1 == t->accumulate;
    ssq_status end =
        stepped ? trainer_call_hooks_outside(t, SSQ_PLACE_STEP_END) : SSQ_OK;
    if (counted && end == SSQ_OK)
        end = trainer_call_hooks_outside(t, SSQ_PLACE_BATCH_END);
    return st == SSQ_OK ? end : st;
}

/* Run the backward from a loss, and use its gradients. */
static ssq_status run_pass(ssq_trainer *t, ssq_var loss)
{
    ssq_var from = loss; /* or what a hook replaces it with */
    ssq_status st = call_backward_hooks(t, &from);
    if (st == SSQ_OK)
        st = trainer_choose_buckets(t);
    if (st == SSQ_OK)
        st = trainer_backward(t, trainer_weight_loss(t, from));
    const bool reported = t->weight != 0.0; /* else the pass has no rows */
    return finish_pass(t, st, reported ? &loss : NULL);
}

/* Run a pass in which this rank contributes zero gradients. */
static ssq_status run_idle_pass(ssq_trainer *t)
{
    static const char what[] = "trainer_idle";
    if (t->comm == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: the trainer has no comm", what);
    if (t->params_added == 0)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: no step was made yet: a pass creates the parameters", what);
    ssq_status st = ssq_tape_status(begin_pass(t, true));
    if (st != SSQ_OK)
        return st;
    tape_turn(t->tape);
    if (t->scaler != NULL) /* zeros are correct for any scale */
        scale_bound(t->scaler->scale);
    ssq_params_clean(t->params);
    st = params_settle(t->params, t->queue);
    if (st == SSQ_OK)
        st = trainer_choose_buckets(t);
    return finish_pass(t, st, NULL);
}

/* ---- accumulations that end early ---- */

/* End the current pass, before its accumulation is ended or dropped. */
static ssq_status end_pass(ssq_trainer *t, const char *what)
{
    bool whole;
    if (t == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    ssq_status st = trainer_check_not_inside(t, what);
    if (st == SSQ_OK)
        st = check_not_captured(t, what);
    if (st != SSQ_OK)
        return st;
    ssq_tape_begin(t->tape, false);
    st = replay_end(t->queue, t, &whole);
    if (st == SSQ_OK && t->load_failed)
        st = trainer_refuse_failed_load(what);
    if (st == SSQ_OK && t->comm != NULL)
        st = ssq_comm_status(t->comm);
    return st;
}

static ssq_status flush_passes(ssq_trainer *t)
{
    static const char what[] = "trainer_flush";
    const bool some = t != NULL && (t->passes > 0 || t->due != DUE_NOTHING);
    ssq_status st = some ? trainer_check_not_in_hook(t, what) : SSQ_OK;
    if (st == SSQ_OK)
        st = end_pass(t, what);
    if (st != SSQ_OK || !some)
        return st;
    if (t->due == DUE_NOTHING) {
        optimizer_set_factor(t->optimizer, trainer_mean_factor(t, t->passes));
        t->due = DUE_STEP;
    }
    st = finish_due_step(t);
    if (t->due != DUE_NOTHING)
        return st;
    const bool batch_end = t->batch_end_due;
    t->batch_end_due = false;
    ssq_params_clean(t->params);
    ssq_status end = trainer_call_hooks_outside(t, SSQ_PLACE_STEP_END);
    if (batch_end && end == SSQ_OK)
        end = trainer_call_hooks_outside(t, SSQ_PLACE_BATCH_END);
    return st == SSQ_OK ? end : st;
}

ssq_status ssq_trainer_zero_grad(ssq_trainer *trainer)
{
    static const char what[] = "trainer_zero_grad";
    ssq_trainer *t = trainer;
    ssq_status st = end_pass(t, what);
    if (st == SSQ_OK && t->due != DUE_NOTHING && t->due != DUE_STEP)
        st = error_set(SSQ_ERR_INVALID,
                       "%s: the step is made, and its update is due: the next "
                       "ssq_trainer_begin does it",
                       what);
    const bool some = st == SSQ_OK && (t->passes > 0 || t->due == DUE_STEP);
    if (some)
        st = optimizer_check_sums(t->queue, t->optimizer, what);
    if (st == SSQ_OK)
        st = labels_clear(t->labels, t->queue, false);
    if (st != SSQ_OK)
        return st;
    if (some)
        optimizer_drop_sums(t->optimizer);
    t->passes = 0;
    t->due = DUE_NOTHING;
    t->batch_end_due = t->unscaled = t->clipped = t->reduced = false;
    ssq_params_clean(t->params);
    return SSQ_OK;
}

uint32_t ssq_trainer_accumulated(const ssq_trainer *trainer)
{
    return trainer == NULL ? 0 : trainer->passes;
}

/* End the iteration and submit all matched ops, whether or not the pass
 * failed. */
static ssq_status end_replay(ssq_trainer *t, ssq_status st)
{
    if (!t->replay)
        return st;
    char text[ERROR_TEXT];
    if (st != SSQ_OK)
        (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    bool whole;
    ssq_status ended = replay_end(t->queue, t, &whole);
    t->tape->replayed += whole;
    return st == SSQ_OK ? ended : error_set(st, "%s", text);
}

/* Return the error of a call or, if there was none, an error about labels that
 * has arrived. After the latter the pass counts, and the step was made or
 * skipped. If memory is short, the words are sent by a later call, since this
 * one has done its work. */
static ssq_status return_label_error(ssq_trainer *t, ssq_status st)
{
    if (st != SSQ_OK)
        return st;
    st = labels_send(t->labels, t->queue);
    return st == SSQ_OK || st == SSQ_ERR_NOMEM ? labels_get_error(t->labels)
                                               : st;
}

ssq_status ssq_trainer_step(ssq_trainer *trainer, ssq_var loss)
{
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "trainer_step: trainer is NULL");
    ssq_status st = trainer_check_not_in_hook(trainer, "trainer_step");
    if (st == SSQ_OK)
        st = check_not_captured(trainer, "trainer_step");
    if (st != SSQ_OK)
        return st;
    st = run_pass(trainer, loss);
    st = end_replay(trainer, st);
    return return_label_error(trainer, st);
}

ssq_status ssq_trainer_flush(ssq_trainer *trainer)
{
    ssq_status st = flush_passes(trainer);
    return trainer == NULL ? st : return_label_error(trainer, st);
}

ssq_status ssq_trainer_idle(ssq_trainer *trainer)
{
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "trainer_idle: trainer is NULL");
    ssq_status st = trainer_check_not_in_hook(trainer, "trainer_idle");
    if (st != SSQ_OK)
        return st;
    st = run_idle_pass(trainer);
    st = end_replay(trainer, st);
    return return_label_error(trainer, st);
}
