/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_step.c - check, unscale, accumulate, step: stages and ops.
 *
 * The host knows only at which stage a step is. Whether it will change
 * anything is decided on the device, so all of this may be captured. */
#include "lib/amp/optimizer.h"

#include <math.h>

/* What the calls of a step check first. */
static ssq_status enter(ssq_queue *queue, ssq_optimizer *o,
                        const ssq_scaler *scaler, const char *what)
{
    ssq_status st = optimizer_call(queue, o, what);
    if (st == SSQ_OK && o->n == 0)
        st = error_set(SSQ_ERR_INVALID, "%s: the optimizer has no parameters",
                       what);
    if (st == SSQ_OK && scaler != NULL)
        st = scaler_ready(queue, scaler, what);
    return st == SSQ_OK ? optimizer_watch(queue, o) : st;
}

static const ssq_tensor *block_of(const ssq_scaler *scaler)
{
    return scaler == NULL ? NULL : scaler_block(scaler);
}

static float factor_of(const ssq_optimizer *o)
{
    struct fpenv env = fpenv_enter();
    float factor = o->at.accumulating ? (float)o->at.factor : 1.0f;
    FPENV_KEEP(factor);
    fpenv_leave(env);
    return factor;
}

static const struct lists *source(const ssq_optimizer *o)
{
    return o->at.accumulating ? &o->state->sums : &o->state->grads;
}

/* Enqueue the check and let the scaler know its verdict. The norm of true
 * gradients is theirs. */
static ssq_status run_check(ssq_queue *queue, ssq_optimizer *o,
                            ssq_scaler *scaler, bool unscaled)
{
    const struct state *s = o->state;
    ssq_status st =
        enqueue_check(queue, source(o)->check, factor_of(o), s->record,
                      unscaled ? NULL : block_of(scaler), s->control, s->stats);
    return st == SSQ_OK && scaler != NULL
               ? scaler_checked(queue, scaler, s->record)
               : st;
}

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

/* From READY to CHECKED. */
static ssq_status check(ssq_queue *queue, ssq_optimizer *o, ssq_scaler *scaler,
                        const char *what)
{
    bool unscaled = false;
    ssq_status st = optimizer_gradients(o, scaler, what, &unscaled);
    if (st == SSQ_OK)
        st = optimizer_seal(queue, o, what);
    if (st == SSQ_OK)
        st = run_check(queue, o, scaler, unscaled);
    if (st != SSQ_OK)
        return st;
    o->at.unscaled = unscaled;
    optimizer_stage_set(o, STAGE_CHECKED, scaler);
    return SSQ_OK;
}

ssq_status ssq_optimizer_check(ssq_queue *queue, ssq_optimizer *optimizer,
                               ssq_scaler *scaler)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = enter(queue, o, scaler, "optimizer_check");
    if (st == SSQ_OK && o->at.stage != STAGE_READY)
        st = stage_error(o, "optimizer_check");
    return st == SSQ_OK ? check(queue, o, scaler, "optimizer_check") : st;
}

static ssq_status refuse_f16(const ssq_optimizer *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->params[i].grad->view.dtype == SSQ_F16)
            return error_set(SSQ_ERR_INVALID,
                             "optimizer_unscale: the gradient of %.40s is f16: "
                             "true gradients would flush to zero there",
                             o->params[i].name);
    return SSQ_OK;
}

ssq_status ssq_optimizer_unscale(ssq_queue *queue, ssq_optimizer *optimizer,
                                 ssq_scaler *scaler)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = enter(queue, o, scaler, "optimizer_unscale");
    if (st == SSQ_OK && o->at.stage != STAGE_READY)
        st = stage_error(o, "optimizer_unscale");
    if (st == SSQ_OK)
        st = refuse_f16(o);
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
                         block_of(scaler));
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < o->n && scaler != NULL; i++)
        scaler_unscale_note(scaler, &o->params[i].grad->view);
    o->at.unscaled = true;
    o->at.accumulating = false; /* the sums are in the gradients now */
    optimizer_stage_set(o, STAGE_CHECKED, scaler);
    return SSQ_OK;
}

static ssq_status run_tick(ssq_queue *queue, const ssq_optimizer *o,
                           const ssq_scaler *scaler)
{
    const struct state *s = o->state;
    struct tick_op op = {.op = OP_HEADER(tick, record),
                         .kind = o->kind,
                         .groups = o->n_groups,
                         .factor = factor_of(o),
                         .unscaled = o->at.unscaled,
                         .record = tensor_view(s->record, ACCESS_READ),
                         .block = tensor_view(block_of(scaler), ACCESS_READ),
                         .control = tensor_view(s->control, ACCESS_UPDATE)};
    op.op.list = s->schedules;
    return queue_enqueue(queue, &op.op);
}

static ssq_status run_lamb(ssq_queue *queue, const ssq_optimizer *o)
{
    const struct state *s = o->state;
    struct lamb_op op = {.op = OP_HEADER(lamb, control),
                         .n = (uint32_t)s->pieces,
                         .control = tensor_view(s->control, ACCESS_READ),
                         .table = tensor_view(s->table, ACCESS_READ),
                         .ratio = tensor_view(s->ratio, ACCESS_WRITE)};
    op.op.list = source(o)->step;
    return queue_enqueue(queue, &op.op);
}

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

static ssq_status check_step(const ssq_optimizer *o, const ssq_scaler *scaler)
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

ssq_status ssq_optimizer_step(ssq_queue *queue, ssq_optimizer *optimizer,
                              ssq_scaler *scaler)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = enter(queue, o, scaler, "optimizer_step");
    if (st == SSQ_OK)
        st = check_step(o, scaler);
    if (st == SSQ_OK && o->at.stage == STAGE_READY)
        st = check(queue, o, scaler, "optimizer_step");
    if (st == SSQ_OK)
        st = run_tick(queue, o, scaler);
    if (st == SSQ_OK && optimizer_reads(o->kind, OPTION_LAMB))
        st = run_lamb(queue, o);
    if (st == SSQ_OK)
        st = run_pass(queue, o);
    if (st != SSQ_OK)
        return st;
    o->at.accumulating = false;
    optimizer_stage_set(o, scaler == NULL ? STAGE_READY : STAGE_STEPPED,
                        scaler);
    optimizer_tell(queue, o);
    return SSQ_OK;
}

static ssq_status run_accumulate(ssq_queue *queue, struct view_list *list,
                                 size_t n, enum accumulate_mode mode)
{
    struct accumulate_op op = {
        .op = OP_LIST_HEADER(accumulate, list), .n = (uint32_t)n, .mode = mode};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_optimizer_accumulate(ssq_queue *queue, ssq_optimizer *optimizer,
                                    double factor)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = enter(queue, o, NULL, "optimizer_accumulate");
    if (st == SSQ_OK && o->at.stage != STAGE_READY)
        st = stage_error(o, "optimizer_accumulate");
    if (st == SSQ_OK && !isfinite(factor))
        st = error_set(SSQ_ERR_INVALID, "optimizer_accumulate: factor is %g",
                       factor);
    if (st == SSQ_OK)
        st = optimizer_seal(queue, o, "optimizer_accumulate");
    if (st == SSQ_OK)
        st = optimizer_sums(o);
    if (st == SSQ_OK)
        st = run_accumulate(queue, o->state->accumulate, o->state->pieces,
                            o->at.accumulating ? ACCUMULATE_ADD
                                               : ACCUMULATE_FIRST);
    if (st != SSQ_OK)
        return st;
    o->at.accumulating = true;
    o->at.factor = factor;
    return SSQ_OK;
}

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
    return st;
}

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
    if (optimizer->state == NULL) /* making it does the rest */
        return optimizer_seal(queue, optimizer, "optimizer_model_to_master");
    return run_master(queue, optimizer->state->to_master);
}

ssq_status ssq_optimizer_master_to_model(ssq_queue *queue,
                                         ssq_optimizer *optimizer)
{
    ssq_status st =
        optimizer_call(queue, optimizer, "optimizer_master_to_model");
    if (st == SSQ_OK)
        st = optimizer_seal(queue, optimizer, "optimizer_master_to_model");
    return st == SSQ_OK ? run_master(queue, optimizer->state->to_model) : st;
}
