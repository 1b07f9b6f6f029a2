/* SPDX-License-Identifier: Apache-2.0 */
/* scalers.c - actions on loss scalers. */

#include <math.h>
#include <string.h>

#include "tests/fuzz/action.h"

static const double scales[] = {
    1.0,  65536.0, 2.0,   0.5,      1024.0, 3.0,        1e-30, 0.0,
    -1.0, 1e39,    1e-46, INFINITY, NAN,    16777216.0, 1.5,   0x1p-126};
enum { SCALES = sizeof(scales) / sizeof(scales[0]) };

static ssq_scaler *scaler_of(struct objects *o, unsigned side,
                             const struct fuzz_choice *k)
{
    return o->scaler[k->slot][side];
}

static void choose_machine(struct objects *o, struct fuzz_choice *k)
{
    k->kind = input_byte(o->in) % 32;
    k->count = input_byte(o->in);
    k->value = choose_double(o, scales, SCALES);
    k->word = input_u64(o->in);
}

/* A preset, or one whose streaks are so short that programs see them end. */
static ssq_status create(struct objects *o, unsigned side,
                         const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_scaler_options options = SSQ_SCALER_OPTIONS_INIT;
    ssq_scaler_destroy(&o->scaler[k->slot][side]);
    const char *name = ssq_scaler_preset_name(k->kind);
    if (name == NULL)
        name = "sesqui";
    ssq_status st = ssq_scaler_options_preset(name, &options);
    if (st != SSQ_OK || k->count < 64)
        return st != SSQ_OK
                   ? st
                   : ssq_scaler_create(o->pair->device[side], name, NULL,
                                       &o->scaler[k->slot][side]);
    options.growth_interval = 1 + (uint32_t)(k->word & 3);
    options.first_lag = (uint32_t)(k->word >> 2 & 1);
    options.repeat_lag = (uint32_t)(k->word >> 3 & 1);
    options.hysteresis = 1 + (uint32_t)(k->word >> 4 & 3);
    options.max_consecutive_skips = (uint32_t)(k->word >> 6 & 3);
    if (k->count >= 128) {
        options.init_scale = k->value;
        options.floor = (ssq_scale_floor)(k->word >> 8 & 7);
        options.cap = (ssq_scale_cap)(k->word >> 12 & 3);
        options.refill = (uint32_t)(k->word >> 16 & 7);
        options.tolerance = (double)(k->word >> 20 & 7) / 4.0;
        options.max_scale = (k->word >> 23 & 1) != 0 ? 65536.0 : k->value;
        options.min_scale = (k->word >> 24 & 1) != 0 ? 1.0 : k->value;
        options.reset_on_inf = (k->word >> 25 & 1) != 0;
        options.match_equal = (k->word >> 26 & 1) != 0;
        options.binary64 = (k->word >> 27 & 1) != 0;
    }
    return ssq_scaler_create(o->pair->device[side], NULL, &options,
                             &o->scaler[k->slot][side]);
}

static ssq_status destroy(struct objects *o, unsigned side,
                          const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_scaler_destroy(&o->scaler[k->slot][side]);
    return SSQ_OK;
}

static void choose_pair(struct objects *o, struct fuzz_choice *k)
{
    choose_shape(o, k);
    choose_tensor(o, k, 0, choose_float(o), false);
    choose_tensor(o, k, 1, choose_float(o), false);
}

static ssq_status scale_grad(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_scaler_scale_grad(o->pair->queue[side], scaler_of(o, side, k),
                                 k->tensor[0][side], k->tensor[1][side]);
}

static ssq_status scale_value(struct objects *o, unsigned side,
                              const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_scaler_scale_value(o->pair->queue[side], scaler_of(o, side, k),
                                  k->tensor[0][side], k->tensor[1][side]);
}

/* As a loss's upstream gradient would be. */
static ssq_status bind_scale(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_mse_args args = SSQ_MSE_INIT;
    args.x = args.target = k->tensor[0][side];
    args.dx = k->tensor[1][side];
    args.dloss = ssq_scaler_scale_tensor(scaler_of(o, side, k));
    args.reduction = SSQ_REDUCTION_SUM;
    return ssq_mse(o->pair->queue[side], &args);
}

static void choose_list(struct objects *o, struct fuzz_choice *k)
{
    k->count = input_below(o->in, 3);
    choose_shape(o, k);
    for (unsigned i = 0; i < k->count; i++) {
        choose_tensor(o, k, 2 * i, choose_float(o), false);
        choose_tensor(o, k, 2 * i + 1, choose_float(o), false);
    }
}

static ssq_status check(struct objects *o, unsigned side,
                        const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    const ssq_tensor *grads[2] = {k->tensor[0][side], k->tensor[2][side]};
    return ssq_scaler_check(o->pair->queue[side], scaler_of(o, side, k),
                            k->count, grads);
}

static ssq_status unscale(struct objects *o, unsigned side,
                          const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    const ssq_tensor *grads[2] = {k->tensor[0][side], k->tensor[2][side]};
    const ssq_tensor *outs[2] = {k->tensor[1][side], k->tensor[3][side]};
    return ssq_scaler_unscale(o->pair->queue[side], scaler_of(o, side, k),
                              k->count, grads, outs);
}

/* All gradients of a list by one factor; its norm to the last tensor. */
static ssq_status clip(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    const ssq_tensor *grads[2] = {k->tensor[0][side], k->tensor[2][side]};
    return ssq_clip_grad_norm(o->pair->queue[side], k->count, grads, 1.0, NULL);
}

static ssq_status update(struct objects *o, unsigned side,
                         const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_scaler_update(o->pair->queue[side], scaler_of(o, side, k));
}

static void choose_scale(struct objects *o, struct fuzz_choice *k)
{
    k->value = choose_double(o, scales, SCALES);
    k->word = input_byte(o->in);
}

static ssq_status update_to(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_scaler_update_to(o->pair->queue[side], scaler_of(o, side, k),
                                k->value);
}

static ssq_status interval(struct objects *o, unsigned side,
                           const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_scaler_set_growth_interval(
        o->pair->queue[side], scaler_of(o, side, k), (uint32_t)k->word % 5);
}

static void got_state(struct got *g, const ssq_scaler_state *s)
{
    const double list[] = {
        s->scale,    s->good,      s->hyst,    s->grown,       s->since,
        s->ovf,      s->updates,   s->skipped, s->consecutive, s->growths,
        s->backoffs, s->last_skip, s->events,  s->action};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        got_number(g, list[i]);
}

static ssq_status state_get(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    ssq_status st = ssq_scaler_state_get(o->pair->queue[side],
                                         scaler_of(o, side, k), &state);
    got_state(g, &state);
    return st;
}

/* After a sync what the host knows is the last. */
static ssq_status poll(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    ssq_status st = ssq_queue_sync(o->pair->queue[side]);
    if (st == SSQ_OK)
        st = ssq_scaler_poll(scaler_of(o, side, k), &state);
    got_state(g, &state);
    return st;
}

static void choose_state(struct objects *o, struct fuzz_choice *k)
{
    k->kind = input_below(o->in, 13);
    k->word = input_u64(o->in) >> input_below(o->in, 64);
    k->value = choose_double(o, scales, SCALES);
}

/* The state as it is, except for one field. */
static ssq_status state_set(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    uint32_t w = (uint32_t)k->word;
    uint32_t *const fields[] = {&s.good,    &s.grown,    &s.since,
                                &s.ovf,     &s.updates,  &s.skipped,
                                &s.growths, &s.backoffs, &s.consecutive,
                                &s.events,  &s.last_skip};
    ssq_status st =
        ssq_scaler_state_get(o->pair->queue[side], scaler_of(o, side, k), &s);
    if (st != SSQ_OK && st != SSQ_ERR_SCALE)
        return st;
    if (k->kind == 11)
        s.scale = k->value;
    else if (k->kind == 12)
        s.hyst = (int32_t)w;
    else
        *fields[k->kind] = w;
    return ssq_scaler_state_set(o->pair->queue[side], scaler_of(o, side, k),
                                &s);
}

static ssq_status event_clear(struct objects *o, unsigned side,
                              const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_scaler_event_clear(o->pair->queue[side], scaler_of(o, side, k));
}

static ssq_status torch_load(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_torch_scaler_state s = SSQ_TORCH_SCALER_STATE_INIT;
    s.scale = k->kind == 0 ? k->value : 1024.0;
    s.growth_factor = k->kind == 1 ? k->value : 2.0;
    s.backoff_factor = k->kind == 2 ? k->value : 0.5;
    s.growth_interval = k->kind == 3 ? (int64_t)k->word : 2;
    s._growth_tracker = k->kind == 4 ? (int64_t)k->word : 1;
    return ssq_scaler_torch_load(o->pair->queue[side], scaler_of(o, side, k),
                                 &s);
}

static ssq_status torch_save(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    ssq_torch_scaler_state s = SSQ_TORCH_SCALER_STATE_INIT;
    ssq_status st =
        ssq_scaler_torch_save(o->pair->queue[side], scaler_of(o, side, k), &s);
    got_number(g, s.scale);
    got_number(g, s.growth_factor);
    got_number(g, s.backoff_factor);
    got_number(g, (double)s.growth_interval);
    got_number(g, (double)s._growth_tracker);
    return st;
}

const struct action scaler_actions[] = {
    {"scaler_create", choose_machine, create, false},
    {"scaler_scale_grad", choose_pair, scale_grad, false},
    {"scaler_scale_value", choose_pair, scale_value, false},
    {"scaler_scale_tensor", choose_pair, bind_scale, false},
    {"scaler_check", choose_list, check, false},
    {"clip_grad_norm", choose_list, clip, false},
    {"scaler_unscale", choose_list, unscale, false},
    {"scaler_update", NULL, update, true},
    {"scaler_update", NULL, update, true},
    {"scaler_update_to", choose_scale, update_to, true},
    {"scaler_set_growth_interval", choose_scale, interval, false},
    {"scaler_state_get", NULL, state_get, false},
    {"scaler_poll", NULL, poll, false},
    {"scaler_state_set", choose_state, state_set, false},
    {"scaler_event_clear", NULL, event_clear, false},
    {"scaler_torch_load", choose_state, torch_load, false},
    {"scaler_torch_save", NULL, torch_save, false},
    {"scaler_destroy", NULL, destroy, false},
};
const size_t scaler_actions_count =
    sizeof(scaler_actions) / sizeof(scaler_actions[0]);
