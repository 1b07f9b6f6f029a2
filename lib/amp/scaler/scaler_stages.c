/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_stages.c - the host's record of the present step: was the scale used,
 * was something checked, what was unscaled.
 *
 * A capture keeps it from its begin and from its end. A launch of the graph
 * changes it from the one to the other. */
#include "lib/amp/scaler/scaler_object.h"

#include <stdatomic.h>

#include <sesqui/ops/elementwise.h>

static ssq_status scaler_stages_save(struct object *owner, void *snapshot)
{
    struct scaler_stages *to = snapshot;
    *to = ((ssq_scaler *)owner)->at;
    unscaled_get(to->unscaled);
    return SSQ_OK;
}

static void scaler_stages_drop(void *snapshot)
{
    struct scaler_stages *s = snapshot;
    unscaled_put(s->unscaled);
    s->unscaled = NULL;
}

static void scaler_stages_restore(struct object *owner, const void *snapshot)
{
    struct scaler_stages *at = &((ssq_scaler *)owner)->at, old = *at;
    *at = *(const struct scaler_stages *)snapshot;
    unscaled_get(at->unscaled);
    scaler_stages_drop(&old);
}

/* A capture must end with the number with which it began: gradients that are
 * checked or unscaled in it must be followed by their update, which sets both
 * to 0. Otherwise a launch could not record which memory has unscaled
 * gradients. */
static int scaler_stages_number(const void *snapshot)
{
    const struct scaler_stages *s = snapshot;
    return s->stage + 2 * (int)unscaled_count(s->unscaled);
}

/* A graph with an update replaces what calls have checked and unscaled. If the
 * present step is not where the capture began, that would be lost in silence.
 * A graph without an update can only use the scale. */
static ssq_status scaler_stages_ready(struct object *owner, const void *begin,
                                      const void *end)
{
    const struct scaler_stages *from = begin, *to = end;
    const struct scaler_stages *at = &((ssq_scaler *)owner)->at;
    if (to->epoch == from->epoch ||
        scaler_stages_number(at) == scaler_stages_number(from))
        return SSQ_OK;
    return error_set(
        SSQ_ERR_INVALID,
        "graph_launch: the graph updates the scaler, whose step is at another "
        "stage (%s, %zu gradients unscaled) than when the capture began (%s, "
        "%zu): call ssq_scaler_update first",
        at->stage == 0 ? "not checked" : "checked",
        unscaled_count(at->unscaled),
        from->stage == 0 ? "not checked" : "checked",
        unscaled_count(from->unscaled));
}

/* Updates of all scalers so far, and one: a 0 means that no time is known. */
static _Atomic uint64_t changes = 1;

uint64_t scaler_clock(void)
{
    return atomic_load(&changes);
}

void scaler_changed(ssq_scaler *scaler, bool set)
{
    const ssq_scaler_options *o = &scaler->options;
    const bool grows =
        o->growth_factor != 1.0 && o->growth_interval != UINT32_MAX;
    const bool falls = o->backoff_factor != 1.0 && o->hysteresis != INT32_MAX;
    if (set || grows || falls)
        scaler->at.updated = atomic_fetch_add(&changes, 1) + 1;
}

/* Change the stages as the graph's calls changed them between begin and end. A
 * graph without an update can only have used the scale. A graph with an update
 * leaves the stages after its last one. The number of updates is added to the
 * present number, which has grown since the capture.
 * The launch has happened. Without memory for a copy of the words, a poll
 * returns older ones until the next launch. */
static void scaler_stages_launched(ssq_queue *queue, struct object *owner,
                                   const void *begin, const void *end)
{
    ssq_scaler *scaler = (ssq_scaler *)owner;
    const struct scaler_stages *from = begin, *to = end;
    uint64_t updates = to->epoch - from->epoch, epoch = scaler->at.epoch;
    if (updates == 0) {
        scaler->at.used = scaler->at.used || to->uses > from->uses;
        return;
    }
    scaler_stages_restore(owner, to);
    scaler->at.epoch = epoch + updates;
    scaler_changed(scaler, true); /* an update may be one to a value */
    (void)readback_enqueue(scaler->readback, queue, NULL, scaler->block);
}

static const struct stages stages = {
    .what = "scaler",
    .bytes = sizeof(struct scaler_stages),
    .save = scaler_stages_save,
    .restore = scaler_stages_restore,
    .drop = scaler_stages_drop,
    .number = scaler_stages_number,
    .ready = scaler_stages_ready,
    .launched = scaler_stages_launched,
};

ssq_status scaler_watch(ssq_queue *queue, ssq_scaler *scaler)
{
    return capture_watch(queue, &scaler->object, &stages);
}

uint64_t scaler_epoch(const ssq_scaler *scaler)
{
    return scaler->at.epoch;
}

uint64_t scaler_updated(const ssq_scaler *scaler)
{
    return scaler->at.updated;
}

/* ---- use ---- */

ssq_status scaler_ready(const ssq_queue *queue, const ssq_scaler *scaler,
                        const char *what)
{
    ssq_status st = scaler_call(queue, scaler, what);
    if (st == SSQ_OK && !scaler->at.used)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the loss scale was never used since update %llu: "
                         "give ssq_scaler_scale_tensor to a loss as dloss, or "
                         "scale a gradient with ssq_scaler_scale_grad",
                         what, (unsigned long long)scaler->at.epoch);
    return st;
}

static void use(ssq_scaler *scaler)
{
    scaler->at.used = true;
    scaler->at.uses++;
}

static ssq_scaler *scaler_of(struct scale_use *use)
{
    return (ssq_scaler *)(void *)((char *)use - offsetof(ssq_scaler, use));
}

/* Only the capture's snapshot can fail, so it is made before the op is
 * enqueued. */
static ssq_status scaler_stages_bind(ssq_queue *queue, struct scale_use *of)
{
    return scaler_watch(queue, scaler_of(of));
}

static void bound(struct scale_use *of)
{
    use(scaler_of(of));
}

struct scale_use scaler_use(void)
{
    return (struct scale_use){scaler_stages_bind, bound};
}

const ssq_tensor *ssq_scaler_scale_tensor(const ssq_scaler *scaler)
{
    return scaler == NULL ? NULL : scaler->scale;
}

/* y = x * scale by the public op, which checks x and y as the contract of
 * ssq_scaler_scale_grad says. */
static ssq_status scaler_stages_scale(ssq_queue *queue,
                                      const ssq_scaler *scaler,
                                      const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_scale_args args = SSQ_SCALE_INIT;
    args.x = x;
    args.y = y;
    args.scale = scaler->scale;
    return ssq_scale(queue, &args);
}

ssq_status ssq_scaler_scale_value(ssq_queue *queue, const ssq_scaler *scaler,
                                  const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_status st = scaler_call(queue, scaler, "scaler_scale_value");
    return st == SSQ_OK ? scaler_stages_scale(queue, scaler, x, y) : st;
}

ssq_status ssq_scaler_scale_grad(ssq_queue *queue, ssq_scaler *scaler,
                                 const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_status st = scaler_call(queue, scaler, "scaler_scale_grad");
    if (st == SSQ_OK && y != NULL &&
        scaler_unscaled(scaler, &y->view) != COVER_NONE)
        st = error_set(SSQ_ERR_INVALID,
                       "scaler_scale_grad: y was unscaled since the last "
                       "update: a step takes it as unscaled");
    if (st == SSQ_OK)
        st = scaler_watch(queue, scaler);
    if (st == SSQ_OK)
        st = scaler_stages_scale(queue, scaler, x, y);
    if (st == SSQ_OK)
        use(scaler);
    return st;
}

/* ---- unscaled gradients ---- */

enum coverage scaler_unscaled(const ssq_scaler *scaler, const struct view *v)
{
    return scaler == NULL ? COVER_NONE
                          : unscaled_covers(scaler->at.unscaled, v);
}

ssq_status scaler_unscale_begin(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                                const char *what)
{
    ssq_status st = scaler_watch(queue, scaler);
    return st == SSQ_OK ? unscaled_reserve(&scaler->at.unscaled, n, what) : st;
}

void scaler_unscale_note(ssq_scaler *scaler, const struct view *v)
{
    unscaled_add(scaler->at.unscaled, v);
}
