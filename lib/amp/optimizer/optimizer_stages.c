/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_stages.c - the stage of an optimizer's step, and which gradients it
 * will read: scaled ones, unscaled ones, or sums of scaled ones.
 *
 * The stages are torch's. Calls change them when they are made, independent of
 * what the device finds later. They serve to refuse an order of calls that
 * would silently train on wrong numbers. */
#include "lib/amp/optimizer/optimizer.h"

void optimizer_drop_sums(ssq_optimizer *o)
{
    struct optimizer_stages *at = &o->at;
    at->accumulating = at->reduced = at->stale = false;
    at->checked = at->normed = false;
}

/* A scaler's update makes the optimizer READY again. A scaler does not know its
 * optimizers, so each optimizer compares the number of updates at its next
 * call. Sums that were checked before the update have the old scale, and are
 * dropped with it. */
static void refresh(ssq_optimizer *o)
{
    struct optimizer_stages *at = &o->at;
    if (at->stage == STAGE_READY || at->scaler == NULL ||
        scaler_epoch(at->scaler) == at->epoch)
        return;
    at->stage = STAGE_READY;
    optimizer_drop_sums(o);
}

bool optimizer_is_checked(ssq_optimizer *o)
{
    refresh(o);
    return o->at.stage == STAGE_CHECKED;
}

/* Get the new scaler before the old one is dropped, because they may be the
 * same.
 */
void optimizer_stage_set(ssq_optimizer *o, enum stage stage, ssq_scaler *scaler)
{
    if (scaler != NULL)
        scaler_get(scaler);
    scaler_put(o->at.scaler);
    o->at.scaler = scaler;
    o->at.epoch = scaler == NULL ? 0 : scaler_epoch(scaler);
    o->at.stage = stage;
}

/* An update before the snapshot belongs to it, so refresh() is called. A
 * snapshot holds its scaler, because a graph may exist longer than all other
 * owners. */
static ssq_status optimizer_stages_save(struct object *owner, void *snapshot)
{
    ssq_optimizer *o = (ssq_optimizer *)owner;
    struct optimizer_stages *to = snapshot;
    refresh(o);
    *to = o->at;
    if (to->scaler != NULL)
        scaler_get(to->scaler);
    return SSQ_OK;
}

static void optimizer_stages_drop(void *snapshot)
{
    struct optimizer_stages *s = snapshot;
    scaler_put(s->scaler);
    s->scaler = NULL;
}

static void optimizer_stages_restore(struct object *owner, const void *snapshot)
{
    struct optimizer_stages *at = &((ssq_optimizer *)owner)->at, old = *at;
    *at = *(const struct optimizer_stages *)snapshot;
    if (at->scaler != NULL)
        scaler_get(at->scaler);
    optimizer_stages_drop(&old);
}

/* Half a step is a check without its step, or sums that no step has used. With
 * a scaler, the scaler's own number shows a check without an update. */
static int optimizer_stages_number(const void *snapshot)
{
    const struct optimizer_stages *s = snapshot;
    return (s->accumulating ? 1 : 0) +
           (s->scaler == NULL && s->stage == STAGE_CHECKED ? 2 : 0);
}

/* The captured step reads the gradients that the capture began with: sums, if
 * it began after ssq_optimizer_accumulate. */
static ssq_status optimizer_stages_ready(struct object *owner,
                                         const void *begin, const void *end)
{
    ssq_optimizer *o = (ssq_optimizer *)owner;
    (void)end;
    refresh(o);
    if (optimizer_stages_number(&o->at) == optimizer_stages_number(begin))
        return SSQ_OK;
    const bool sums = ((const struct optimizer_stages *)begin)->accumulating;
    if (sums != o->at.accumulating)
        return error_set(
            SSQ_ERR_INVALID,
            "graph_launch: the optimizer %s accumulated gradients, expected "
            "%s as when the capture began",
            o->at.accumulating ? "has" : "has no", sums ? "some" : "none");
    return error_set(SSQ_ERR_INVALID,
                     "graph_launch: the optimizer's gradients were %schecked "
                     "since its last step, expected the opposite as when the "
                     "capture began",
                     o->at.stage == STAGE_CHECKED ? "" : "not ");
}

/* A launch has made steps without calls, so t may have changed. */
static void optimizer_stages_launched(ssq_queue *queue, struct object *owner,
                                      const void *begin, const void *end)
{
    ssq_optimizer *o = (ssq_optimizer *)owner;
    (void)begin;
    (void)end;
    o->at.summed = 0; /* the graph may have added up gradients */
    optimizer_tell(queue, o);
}

static const struct stages stages = {
    .what = "optimizer",
    .bytes = sizeof(struct optimizer_stages),
    .save = optimizer_stages_save,
    .restore = optimizer_stages_restore,
    .drop = optimizer_stages_drop,
    .number = optimizer_stages_number,
    .ready = optimizer_stages_ready,
    .launched = optimizer_stages_launched,
};

ssq_status optimizer_watch(ssq_queue *queue, ssq_optimizer *o)
{
    refresh(o);
    return capture_watch(queue, &o->object, &stages);
}

/* ---- gradients ---- */

/* The first parameters whose gradients are unscaled, and are not; or NULL. */
struct found {
    const char *is, *not, *part;
};

/* A gradient without elements counts as neither. */
static struct found optimizer_stages_look(const ssq_optimizer *o,
                                          const ssq_scaler *scaler)
{
    struct found f = {NULL, NULL, NULL};
    for (size_t i = 0; i < o->n; i++) {
        const struct parameter *p = &o->params[i];
        if (view_elements(&p->grad->view) == 0)
            continue;
        enum coverage c = scaler_unscaled(scaler, &p->grad->view);
        const char **name = c == COVER_ALL    ? &f.is
                            : c == COVER_PART ? &f.part
                                              : &f.not ;
        if (*name == NULL)
            *name = p->name;
    }
    return f;
}

/* `when` is the end of the text, and says what is wrong. */
ssq_status optimizer_gradients_scaled(const ssq_optimizer *o,
                                      const ssq_scaler *scaler,
                                      const char *what, const char *when)
{
    struct found f = optimizer_stages_look(o, scaler);
    if (f.is == NULL && f.part == NULL)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %sthe gradient of %.40s was "
                     "unscaled %s",
                     what, f.is == NULL ? "a part of " : "",
                     f.is == NULL ? f.part : f.is, when);
}

/* Sums that were refused once stay refused: another scaler, or none, would
 * divide them by a scale that they do not have. */
ssq_status optimizer_sums_current(ssq_optimizer *o, const ssq_scaler *scaler,
                                  const char *what)
{
    struct optimizer_stages *at = &o->at;
    if (!at->accumulating)
        return SSQ_OK;
    if (scaler != NULL && at->summed > 0 && scaler_updated(scaler) > at->summed)
        at->stale = true;
    return at->stale
               ? error_set(SSQ_ERR_INVALID,
                           "%s: the scaler was updated after "
                           "ssq_optimizer_accumulate, so the sums have an old "
                           "scale: drop them with ssq_optimizer_zero_grad, or "
                           "ssq_trainer_zero_grad",
                           what)
               : SSQ_OK;
}

/* A step has one factor for all gradients (CONTROL_FACTOR), so all of them must
 * be scaled, or all unscaled. Without a scaler they are used as they are. Sums
 * contain scaled gradients. If these were unscaled since, the caller has looked
 * at other values than the step would use. */
ssq_status optimizer_gradients(const ssq_optimizer *o, const ssq_scaler *scaler,
                               const char *what, bool *unscaled)
{
    *unscaled = false;
    if (scaler == NULL)
        return SSQ_OK;
    if (o->at.accumulating)
        return optimizer_gradients_scaled(
            o, scaler, what,
            "since the last update, but the step reads the scaled ones that "
            "ssq_optimizer_accumulate has added up");
    struct found f = optimizer_stages_look(o, scaler);
    if (f.part != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a part of the gradient of %.40s was unscaled "
                         "since the last update, the rest was not",
                         what, f.part);
    if (f.is != NULL && f.not != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the gradient of %.40s was unscaled since the "
                         "last update, that of %.40s was not",
                         what, f.is, f.not );
    *unscaled = f.is != NULL;
    return SSQ_OK;
}
