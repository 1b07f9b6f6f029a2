/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_step.c - check, unscale, accumulate, step: stages and ops.
 *
 * The host knows only the stage of a step. The device decides whether the step
 * changes anything, so all of this may be captured.
 *
 * A stage changes after the ops that belong to it. A step is several ops
 * without a bundle, and may fail between two of them. All except the last write
 * only words of the check and of the present step, so the call may be repeated.
 */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/optimizer/shards.h"

#include <float.h>
#include <math.h>

/* Check what the calls of a step check first. The capture is informed last,
 * when all arguments are valid. Stages may be changed only after that. */
static ssq_status optimizer_step_enter(ssq_queue *queue, ssq_optimizer *o,
                                       const ssq_scaler *scaler,
                                       const char *what)
{
    ssq_status st = optimizer_call(queue, o, what);
    if (st == SSQ_OK && o->n == 0)
        st = error_set(SSQ_ERR_INVALID, "%s: the optimizer has no parameters",
                       what);
    if (st == SSQ_OK && scaler != NULL)
        st = scaler_ready(queue, scaler, what);
    return st == SSQ_OK ? optimizer_watch(queue, o) : st;
}

/* Refuse if ranks have made a step and have not gathered its parameters. */
static ssq_status check_gathered(const ssq_optimizer *o, const char *what)
{
    return o->at.gathering
               ? error_set(SSQ_ERR_INVALID,
                           "%s: the last step has failed when ranks gathered "
                           "its parameters: call ssq_optimizer_step again",
                           what)
               : SSQ_OK;
}

static const ssq_tensor *optimizer_step_block_of(const ssq_scaler *scaler)
{
    return scaler == NULL ? NULL : scaler_block(scaler);
}

/* Return the factor by which a step multiplies, apart from 1 / scale: the
 * caller's factor, only for sums. It is rounded in default modes, because it
 * may become a subnormal float32. */
static float factor_of(const ssq_optimizer *o)
{
    struct fpenv env = fpenv_enter();
    float factor = o->at.accumulating ? (float)o->at.factor : 1.0f;
    FPENV_KEEP(factor);
    fpenv_leave(env);
    return factor;
}

/* Return the lists that a step reads: the sums, if there are sums that no step
 * has used. */
static const struct lists *source(const ssq_optimizer *o)
{
    return o->at.accumulating ? &o->state->sums : &o->state->grads;
}

/* If a later part of the call fails, this is not repeated: a repeated call goes
 * on with the sums as they are. */
ssq_status optimizer_reduce(ssq_queue *queue, ssq_optimizer *o)
{
    ssq_status st = o->at.reduced ? SSQ_OK : shards_reduce(queue, o);
    o->at.reduced = st == SSQ_OK;
    return st;
}

/* Enqueue the check and pass its overflow flag to the scaler. If gradients were
 * unscaled, the check gets no block and divides by no scale, so the norm is
 * that of the unscaled gradients. */
static ssq_status check_enqueue(ssq_queue *queue, ssq_optimizer *o,
                                ssq_scaler *scaler, bool unscaled)
{
    const struct state *s = o->state;
    const ssq_tensor *block = unscaled ? NULL : optimizer_step_block_of(scaler);
    ssq_status st = SSQ_OK;
    struct check_op op = check_op_of(source(o)->check, factor_of(o), s->record,
                                     block, s->control, s->stats);
    op.labels = tensor_view(o->labels, ACCESS_READ);
    if (o->comm == NULL) {
        st = queue_enqueue(queue, &op.op);
    } else {
        st = optimizer_reduce(queue, o);
        if (st == SSQ_OK && !o->at.checked) {
            st = shards_look(queue, o, &op);
            o->at.checked = st == SSQ_OK;
        }
        if (st == SSQ_OK)
            st = shards_judge(queue, o, &op);
    }
    return st == SSQ_OK && scaler != NULL
               ? scaler_checked(queue, scaler, s->record)
               : st;
}

/* A capture keeps all ops of the check or none. Without one, ranks do not
 * repeat what they have combined. */
static ssq_status run_check(ssq_queue *queue, ssq_optimizer *o,
                            ssq_scaler *scaler, bool unscaled)
{
    const struct optimizer_stages before = o->at;
    const size_t length = capture_length(queue);
    ssq_status st = check_enqueue(queue, o, scaler, unscaled);
    if (st != SSQ_OK && capture_cut(queue, length)) {
        o->at.reduced = before.reduced;
        o->at.checked = before.checked;
    }
    return st;
}

/* In torch's words, which users know and search for. */
static ssq_status stage_error(const ssq_optimizer *o, const char *what)
{
    if (o->at.stage == STAGE_STEPPED)
        return error_set(SSQ_ERR_INVALID,
                         "%s: is being called after step(), and the scaler "
                         "was not updated since",
                         what);
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s() has already been called on this optimizer "
                     "since the last update",
                     what, o->at.unscaled ? "unscale" : "check");
}

/* Ranks can only sum gradients that were accumulated. */
static ssq_status optimizer_step_check_ranks(const ssq_optimizer *o,
                                             const char *what)
{
    if (o->comm == NULL || o->at.accumulating)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the optimizer is distributed: its gradients are "
                     "summed over ranks by way of ssq_optimizer_accumulate, "
                     "which was not called since the last step",
                     what);
}

/* Change from READY to CHECKED. This may be the first use: the state is created
 * after all arguments were checked, so a refusal changes nothing. */
static ssq_status optimizer_step_check(ssq_queue *queue, ssq_optimizer *o,
                                       ssq_scaler *scaler, const char *what)
{
    bool unscaled = false;
    ssq_status st = check_gathered(o, what);
    if (st == SSQ_OK)
        st = optimizer_step_check_ranks(o, what);
    if (st == SSQ_OK)
        st = optimizer_sums_current(o, scaler, what);
    if (st == SSQ_OK)
        st = optimizer_gradients(o, scaler, what, &unscaled);
    if (st == SSQ_OK)
        st = optimizer_seal(queue, o, what);
    if (st == SSQ_OK)
        st = run_check(queue, o, scaler, unscaled);
    if (st != SSQ_OK)
        return st;
    o->at.unscaled = unscaled;
    o->at.measured = optimizer_measures(o);
    o->at.checked = false;
    optimizer_stage_set(o, STAGE_CHECKED, scaler);
    return SSQ_OK;
}

ssq_status ssq_optimizer_check(ssq_queue *queue, ssq_optimizer *optimizer,
                               ssq_scaler *scaler)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = optimizer_step_enter(queue, o, scaler, "optimizer_check");
    if (st == SSQ_OK && o->at.stage != STAGE_READY)
        st = stage_error(o, "optimizer_check");
    return st == SSQ_OK
               ? optimizer_step_check(queue, o, scaler, "optimizer_check")
               : st;
}

/* Also after accumulation: the sums are float32, but the gradients are written.
 */
static ssq_status refuse_f16(const ssq_optimizer *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->params[i].grad->view.dtype == SSQ_F16)
            return error_set(SSQ_ERR_INVALID,
                             "optimizer_unscale: the gradient of %.40s is f16: "
                             "unscaled gradients would flush to zero there",
                             o->params[i].name);
    return SSQ_OK;
}

/* Memory for the scaler's notes is reserved before anything is enqueued, so
 * that nothing fails after the unscale. The check comes first, because it reads
 * the gradients that the unscale overwrites. If the unscale cannot be enqueued,
 * the stage stays READY, and the next call checks again, which changes no
 * overflow flag.
 *
 * From here on the step reads unscaled gradients and uses no factor. Sums, if
 * there were some, have been written to the gradients, multiplied by the
 * factor.
 */
ssq_status ssq_optimizer_unscale(ssq_queue *queue, ssq_optimizer *optimizer,
                                 ssq_scaler *scaler)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = optimizer_step_enter(queue, o, scaler, "optimizer_unscale");
    if (st == SSQ_OK && o->at.stage != STAGE_READY)
        st = stage_error(o, "optimizer_unscale");
    if (st == SSQ_OK)
        st = refuse_f16(o);
    if (st == SSQ_OK)
        st = check_gathered(o, "optimizer_unscale");
    if (st == SSQ_OK)
        st = optimizer_step_check_ranks(o, "optimizer_unscale");
    if (st == SSQ_OK)
        st = optimizer_sums_current(o, scaler, "optimizer_unscale");
    if (st == SSQ_OK)
        st = optimizer_gradients_scaled(o, scaler, "optimizer_unscale",
                                        "already since the last update");
    if (st == SSQ_OK)
        st = optimizer_seal(queue, o, "optimizer_unscale");
    if (st == SSQ_OK && scaler != NULL)
        st = scaler_unscale_begin(queue, scaler, o->n, "optimizer_unscale");
    if (st == SSQ_OK)
        st = run_check(queue, o, scaler, false);
    if (st != SSQ_OK)
        return st;
    st = enqueue_unscale(queue, source(o)->unscale, factor_of(o),
                         optimizer_step_block_of(scaler));
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < o->n && scaler != NULL; i++)
        scaler_unscale_note(scaler, &o->params[i].grad->view);
    o->at.unscaled = true;
    o->at.measured = optimizer_measures(o);
    optimizer_drop_sums(o); /* sums are gradients now */
    optimizer_stage_set(o, STAGE_CHECKED, scaler);
    return SSQ_OK;
}

/* Enqueue the words of the step: skip or not, factors, learning rates. factor
 * and unscaled come from the stages on the host; in a capture they are the same
 * for all launches of the graph. */
static ssq_status run_tick(ssq_queue *queue, const ssq_optimizer *o,
                           const ssq_scaler *scaler)
{
    const struct state *s = o->state;
    struct tick_op op = {
        .op = OP_HEADER(tick, record),
        .kind = o->kind,
        .groups = o->n_groups,
        .factor = factor_of(o),
        .unscaled = o->at.unscaled,
        .record = tensor_view(s->record, ACCESS_READ),
        .block = tensor_view(optimizer_step_block_of(scaler), ACCESS_READ),
        .control = tensor_view(s->control, ACCESS_UPDATE)};
    op.op.list = s->schedules;
    return queue_enqueue(queue, &op.op);
}

static ssq_status run_lamb_of_ranks(ssq_queue *queue, ssq_optimizer *o)
{
    ssq_status st = SSQ_OK;
    if (!o->at.normed)
        st = shards_norm(queue, o, source(o)->step);
    o->at.normed = st == SSQ_OK;
    return st == SSQ_OK ? shards_lengths(queue, o) : st;
}

/* A launch before the step, because a parameter's step length depends on norms
 * over the whole parameter. */
static ssq_status run_lamb(ssq_queue *queue, ssq_optimizer *o)
{
    const struct state *s = o->state;
    if (o->comm != NULL)
        return run_lamb_of_ranks(queue, o);
    struct lamb_op op = {.op = OP_HEADER(lamb, control),
                         .n = (uint32_t)s->pieces,
                         .control = tensor_view(s->control, ACCESS_READ),
                         .table = tensor_view(s->table, ACCESS_READ),
                         .ratio = tensor_view(s->ratio, ACCESS_WRITE)};
    op.op.list = source(o)->step;
    return queue_enqueue(queue, &op.op);
}

/* ratio and stats are absent if they do not exist. */
static ssq_status run_pass(ssq_queue *queue, const ssq_optimizer *o)
{
    const struct state *s = o->state;
    struct optimizer_op op = {.op = OP_HEADER(optimizer, control),
                              .kind = o->kind,
                              .n = (uint32_t)s->pieces,
                              .control = tensor_view(s->control, ACCESS_UPDATE),
                              .table = tensor_view(s->table, ACCESS_READ),
                              .ratio = tensor_view(s->ratio, ACCESS_READ),
                              .stats = tensor_view(s->stats, ACCESS_UPDATE)};
    op.op.list = source(o)->step;
    return queue_enqueue(queue, &op.op);
}

/* After a check, the step must go on with the scaler that has its overflow
 * flag, and with the gradients that the check read. Gradients that were scaled
 * when checked and unscaled since would be divided twice. */
static ssq_status optimizer_step_check_step(const ssq_optimizer *o,
                                            const ssq_scaler *scaler)
{
    if (o->at.stage == STAGE_STEPPED)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_step: step() has already been called since "
                         "the last update");
    if (o->at.stage == STAGE_CHECKED && o->at.scaler != scaler)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_step: the gradients were checked with "
                         "%s scaler",
                         o->at.scaler == NULL ? "no"
                         : scaler == NULL     ? "a"
                                              : "another");
    if (o->at.stage == STAGE_CHECKED && !o->at.unscaled)
        return optimizer_gradients_scaled(o, scaler, "optimizer_step",
                                          "after they were checked");
    return SSQ_OK;
}

/* Only the last op changes the state: if something before it fails, nothing has
 * changed and the call may be repeated. */
static ssq_status run_update(ssq_queue *queue, ssq_optimizer *o,
                             const ssq_scaler *scaler)
{
    ssq_status st = run_tick(queue, o, scaler);
    if (st == SSQ_OK && optimizer_reads(o->kind, OPTION_LAMB))
        st = run_lamb(queue, o);
    return st == SSQ_OK ? run_pass(queue, o) : st;
}

/* The step after its check. If ranks cannot gather the parameters, they have
 * made the step, and a repeated call only gathers. A capture keeps all or none.
 */
static ssq_status run_step(ssq_queue *queue, ssq_optimizer *o,
                           const ssq_scaler *scaler)
{
    const struct optimizer_stages before = o->at;
    const size_t length = capture_length(queue);
    ssq_status st = SSQ_OK;
    if (!o->at.gathering)
        st = run_update(queue, o, scaler);
    if (st == SSQ_OK && o->comm != NULL) {
        o->at.gathering = true;
        st = shards_gather(queue, o);
    }
    if (st != SSQ_OK && capture_cut(queue, length)) {
        o->at.gathering = before.gathering;
        o->at.normed = before.normed;
    }
    return st;
}

/* If ranks cannot gather the parameters after the step, a repeated call does
 * only that. It needs no scaler, which may have been updated since. Without a
 * scaler there is no update, so the step itself sets the stage to READY. */
ssq_status ssq_optimizer_step(ssq_queue *queue, ssq_optimizer *optimizer,
                              ssq_scaler *scaler)
{
    ssq_optimizer *o = optimizer;
    const ssq_scaler *asked = o != NULL && o->at.gathering ? NULL : scaler;
    ssq_status st = optimizer_step_enter(queue, o, asked, "optimizer_step");
    if (st == SSQ_OK)
        st = optimizer_step_check_step(o, scaler);
    if (st == SSQ_OK)
        st = shards_ready(queue, o, "optimizer_step");
    if (st != SSQ_OK)
        return st;
    const bool updated = o->at.gathering && o->at.stage == STAGE_READY;
    if (!o->at.gathering && o->at.stage == STAGE_READY)
        st = optimizer_step_check(queue, o, scaler, "optimizer_step");
    if (st == SSQ_OK)
        st = run_step(queue, o, scaler);
    if (st != SSQ_OK)
        return st;
    o->at.gathering = false;
    optimizer_drop_sums(o);
    optimizer_drop_origins(o);
    optimizer_stage_set(
        o, scaler == NULL || updated ? STAGE_READY : STAGE_STEPPED, scaler);
    optimizer_tell(queue, o);
    return SSQ_OK;
}

/* Enqueue one op for a whole list of n gradients or pieces. */
static ssq_status run_accumulate(ssq_queue *queue, struct view_list *list,
                                 size_t n, enum accumulate_mode mode)
{
    struct accumulate_op op = {
        .op = OP_LIST_HEADER(accumulate, list), .n = (uint32_t)n, .mode = mode};
    return queue_enqueue(queue, &op.op);
}

/* No scaler is needed: sums are of scaled gradients, with any scale that stays
 * the same. */
ssq_status optimizer_accumulate_begin(ssq_queue *queue, ssq_optimizer *o,
                                      double factor)
{
    static const char what[] = "optimizer_accumulate";
    ssq_status st = optimizer_step_enter(queue, o, NULL, what);
    if (st == SSQ_OK && o->at.stage != STAGE_READY)
        st = stage_error(o, what);
    if (st == SSQ_OK)
        st = check_gathered(o, what);
    if (st == SSQ_OK && o->at.accumulating && o->at.reduced)
        st = error_set(SSQ_ERR_INVALID,
                       "%s: the sums of this step are summed over ranks "
                       "already: check or step",
                       what);
    if (st == SSQ_OK && !(fabs(factor) <= (double)FLT_MAX))
        st = error_set(SSQ_ERR_INVALID,
                       "%s: factor is %g, expected a finite float32", what,
                       factor);
    if (st == SSQ_OK)
        st = optimizer_seal(queue, o, what);
    return st == SSQ_OK ? optimizer_sums(o) : st;
}

ssq_status optimizer_accumulate_list(ssq_queue *queue, const ssq_optimizer *o,
                                     struct view_list *list)
{
    return run_accumulate(queue, list, list->n / 2,
                          o->at.accumulating ? ACCUMULATE_ADD
                                             : ACCUMULATE_FIRST);
}

void optimizer_accumulate_end(ssq_optimizer *o, double factor)
{
    if (!o->at.accumulating)
        o->at.summed = scaler_clock();
    o->at.accumulating = true;
    o->at.factor = factor;
}

void optimizer_set_factor(ssq_optimizer *o, double factor)
{
    o->at.factor = factor;
}

ssq_status optimizer_check_sums(ssq_queue *queue, ssq_optimizer *o,
                                const char *what)
{
    ssq_status st = optimizer_step_enter(queue, o, NULL, what);
    return st == SSQ_OK && o->at.stage != STAGE_READY ? stage_error(o, what)
                                                      : st;
}

/* The first call after a step or an update overwrites the old sums. */
ssq_status ssq_optimizer_accumulate(ssq_queue *queue, ssq_optimizer *optimizer,
                                    double factor)
{
    ssq_status st = optimizer_accumulate_begin(queue, optimizer, factor);
    if (st == SSQ_OK)
        st = optimizer_accumulate_list(queue, optimizer,
                                       optimizer->state->accumulate);
    if (st == SSQ_OK)
        optimizer_accumulate_end(optimizer, factor);
    return st;
}

/* The list is created for this call. The call must work before the first use,
 * so the list cannot be part of the state. The op holds it.
 *
 * A program whose backward adds to its gradients sets them to zero between
 * micro-batches. So sums stay, unless no step can use them. In a capture they
 * stay: a launch must find them as the capture did. */
ssq_status ssq_optimizer_zero_grad(ssq_queue *queue, ssq_optimizer *optimizer)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = optimizer_call(queue, o, "optimizer_zero_grad");
    if (st != SSQ_OK || o->n == 0)
        return st;
    size_t pieces = 0;
    for (size_t i = 0; i < o->n; i++)
        pieces += cut_of(o->device, &o->params[i].grad->view).pieces;
    struct view_list *list = list_create(pieces, "optimizer_zero_grad");
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    for (size_t i = 0, at = 0; i < o->n; i++) {
        const struct view *g = &o->params[i].grad->view;
        struct cut cut = cut_of(o->device, g);
        for (size_t k = 0; k < cut.pieces; k++) {
            struct view piece = cut_piece(&cut, g, k);
            list_set(list, at++, &piece, ACCESS_WRITE);
        }
    }
    st = run_accumulate(queue, list, pieces, ACCUMULATE_ZERO);
    object_put(&list->object);
    if (st == SSQ_OK && o->at.stale && !queue_capturing(queue))
        optimizer_drop_sums(o);
    return st;
}

/* If no parameter has a master, or none that is written back, nothing is
 * enqueued. */
static ssq_status run_master(ssq_queue *queue, struct view_list *list)
{
    struct master_op op = {.op = OP_LIST_HEADER(master, list),
                           .n = (uint32_t)(list->n / 2)};
    return op.n == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

ssq_status ssq_optimizer_model_to_master(ssq_queue *queue,
                                         ssq_optimizer *optimizer)
{
    ssq_status st =
        optimizer_call(queue, optimizer, "optimizer_model_to_master");
    if (st != SSQ_OK)
        return st;
    if (optimizer->state == NULL) /* creating it does the rest */
        return optimizer_seal(queue, optimizer, "optimizer_model_to_master");
    return run_master(queue, optimizer->state->to_master);
}

ssq_status ssq_optimizer_master_to_model(ssq_queue *queue,
                                         ssq_optimizer *optimizer)
{
    static const char what[] = "optimizer_master_to_model";
    ssq_status st = optimizer_call(queue, optimizer, what);
    if (st == SSQ_OK)
        st = optimizer_seal(queue, optimizer, what);
    if (st == SSQ_OK)
        st = shards_ready(queue, optimizer, what);
    if (st != SSQ_OK)
        return st;
    const size_t length = capture_length(queue);
    st = run_master(queue, optimizer->state->to_model);
    if (st == SSQ_OK && optimizer->comm != NULL)
        st = shards_gather(queue, optimizer);
    if (st != SSQ_OK)
        (void)capture_cut(queue, length);
    return st;
}
