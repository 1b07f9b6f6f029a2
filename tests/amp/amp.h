/* SPDX-License-Identifier: Apache-2.0 */
/* amp.h - what the tests of scalers share. */
#ifndef TESTS_AMP_AMP_H
#define TESTS_AMP_AMP_H

#include <sesqui.h>

#include "tests/core/core.h"

#include <math.h>

/** A device with a queue, and two gradients: one that is clean, one not. */
struct rig {
    const char *name;
    ssq_device *device;
    ssq_queue *queue;
    ssq_tensor *clean, *bad;
};

static inline struct rig rig_open(const char *name)
{
    static const float clean[] = {1.0f, -2.0f, 0.5f};
    static const float bad[] = {1.0f, -2.0f, (float)INFINITY};
    struct rig r = {.name = name};

    r.device = core_open(name);
    r.queue = core_queue(r.device);
    r.clean = core_vector(r.device, SSQ_F32, 3);
    r.bad = core_vector(r.device, SSQ_F32, 3);
    NEED(ssq_tensor_write(r.queue, r.clean, clean, sizeof(clean), SSQ_F32));
    NEED(ssq_tensor_write(r.queue, r.bad, bad, sizeof(bad), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    return r;
}

static inline void rig_close(struct rig *r)
{
    ssq_tensor_destroy(&r->clean);
    ssq_tensor_destroy(&r->bad);
    ssq_queue_destroy(&r->queue);
    ssq_device_close(&r->device);
}

/** Count the scale as used, until the next update: a gradient without elements
 *  is scaled. */
static inline ssq_status scale_used(ssq_queue *queue, ssq_scaler *scaler)
{
    const int64_t zero = 0;
    ssq_tensor *none = NULL;
    ssq_status st =
        ssq_tensor_broadcast(ssq_scaler_scale_tensor(scaler), 1, &zero, &none);

    if (st == SSQ_OK)
        st = ssq_scaler_scale_grad(queue, scaler, none, none);
    ssq_tensor_destroy(&none);
    return st;
}

/** Update, and count the scale as used for the next step. */
static inline ssq_status update_used(ssq_queue *queue, ssq_scaler *scaler)
{
    ssq_status st = ssq_scaler_update(queue, scaler);
    ssq_status used = scale_used(queue, scaler);

    return st == SSQ_OK ? used : st;
}

/** A scaler whose scale counts as used. */
static inline ssq_scaler *rig_scaler(const struct rig *r, const char *preset,
                                     const ssq_scaler_options *options)
{
    ssq_scaler *scaler = NULL;

    NEED(ssq_scaler_create(r->device, preset, options, &scaler));
    NEED(scale_used(r->queue, scaler));
    return scaler;
}

/** Check a gradient that is clean or not, and update. SSQ_ERR_SCALE is what
 *  events answer: not a failure here. */
static inline void rig_step(const struct rig *r, ssq_scaler *scaler, bool inf)
{
    const ssq_tensor *grad = inf ? r->bad : r->clean;
    ssq_status st;

    NEED(ssq_scaler_check(r->queue, scaler, 1, &grad));
    st = update_used(r->queue, scaler);
    if (st != SSQ_ERR_SCALE)
        core_need(st, "ssq_scaler_update");
}

static inline ssq_scaler_state rig_state(const struct rig *r,
                                         ssq_scaler *scaler)
{
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    ssq_status st = ssq_scaler_state_get(r->queue, scaler, &state);

    if (st != SSQ_ERR_SCALE)
        core_need(st, "ssq_scaler_state_get");
    return state;
}

static inline ssq_scaler_options rig_preset(const char *name)
{
    ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT;

    core_need(ssq_scaler_options_preset(name, &o), name);
    return o;
}

/** All fields; scales as bits. */
static inline bool same_state(const ssq_scaler_state *a,
                              const ssq_scaler_state *b)
{
    return memcmp(&a->scale, &b->scale, sizeof(a->scale)) == 0 &&
           a->good == b->good && a->hyst == b->hyst && a->grown == b->grown &&
           a->since == b->since && a->ovf == b->ovf &&
           a->updates == b->updates && a->skipped == b->skipped &&
           a->consecutive == b->consecutive && a->last_skip == b->last_skip &&
           a->growths == b->growths && a->backoffs == b->backoffs &&
           a->events == b->events && a->action == b->action;
}

static inline void say_state(const char *who, const ssq_scaler_state *s)
{
    tap_diag("%s: scale %a good %u hyst %d grown %u since %u ovf %u updates %u "
             "skipped %u consecutive %u last_skip %u growths %u backoffs %u "
             "events %u action %d",
             who, s->scale, s->good, s->hyst, s->grown, s->since, s->ovf,
             s->updates, s->skipped, s->consecutive, s->last_skip, s->growths,
             s->backoffs, s->events, (int)s->action);
}

/** xorshift64*: the same numbers everywhere. */
static inline uint64_t amp_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/** Uniform in [0, 1). */
static inline double amp_uniform(uint64_t *state)
{
    return (double)(amp_random(state) >> 11) * 0x1p-53;
}

#endif
