/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_state.c - a scaler's state: get, save, restore, change.
 *
 * The state is on the device. A poll returns what has arrived of it. Other
 * calls wait for the queue, or write words in order with its work. Options and
 * state are checked on the host before any word is written. */
#include "lib/amp/scaler/scaler_object.h"
#include "lib/core/core.h"

#include <string.h>

_Static_assert(SCALER_WORDS * sizeof(uint32_t) <= UPLOAD_INLINE,
               "a block is uploaded at the call");

/* Write words from word i on, in order with the queue's work. The words are
 * copied at the call. Then copy the block to the readback. */
static ssq_status scaler_state_write_words(ssq_queue *queue, ssq_scaler *scaler,
                                           uint32_t i, const uint32_t *words,
                                           uint32_t n)
{
    struct upload_op op = {.op = OP_HEADER(upload, dst),
                           .bytes = n * sizeof(words[0]),
                           .dst = tensor_view(scaler->block, ACCESS_WRITE)};
    op.dst.offset += i * sizeof(words[0]);
    op.dst.shape[0] = n;
    memcpy(op.inlined, words, op.bytes);
    return scaler_publish(queue, scaler, &op.op);
}

/* Check the state and the scaler, as every call with a state does. */
static ssq_status check_state_arg(const ssq_scaler *scaler,
                                  const ssq_scaler_state *state,
                                  const char *what)
{
    if (scaler == NULL || state == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         scaler == NULL ? "scaler" : "state");
    if (state->struct_size != sizeof(*state))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         state->struct_size, sizeof(*state));
    return SSQ_OK;
}

/* Nothing is enqueued, so there is no queue, and the device is asked if it is
 * lost. If there is an event, its status is returned, and the state is set all
 * the same.
 */
ssq_status ssq_scaler_poll(ssq_scaler *scaler, ssq_scaler_state *state)
{
    ssq_status st = check_state_arg(scaler, state, "scaler_poll");
    if (st == SSQ_OK)
        st = device_check(scaler->device, "scaler_poll");
    if (st != SSQ_OK)
        return st;
    scaler_known(scaler, state);
    return state_events(state, "scaler_poll");
}

/* Copy after all other work on the queue. After a sync, the newest copy that
 * has arrived is this one. */
ssq_status scaler_fetch(ssq_queue *queue, ssq_scaler *scaler,
                        ssq_scaler_state *state)
{
    ssq_status st =
        readback_enqueue(scaler->readback, queue, NULL, scaler->block);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    if (st == SSQ_OK)
        scaler_known(scaler, state);
    return st;
}

/* Refused in a capture, because it waits. */
ssq_status ssq_scaler_state_get(ssq_queue *queue, ssq_scaler *scaler,
                                ssq_scaler_state *state)
{
    ssq_status st = scaler_call_now(queue, scaler, "scaler_state_get");
    if (st == SSQ_OK)
        st = check_state_arg(scaler, state, "scaler_state_get");
    if (st == SSQ_OK)
        st = scaler_fetch(queue, scaler, state);
    return st == SSQ_OK ? state_events(state, "scaler_state_get") : st;
}

/* The pending overflow flag would be joined to a state to which it does not
 * belong. */
ssq_status scaler_check_stage(const ssq_scaler *scaler, const char *what,
                              const char *verb)
{
    if (scaler->at.stage == 0)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: gradients were checked since the last update: %s at "
                     "the start of a step",
                     what, verb);
}

/* Options and state are one upload, so that no step sees one without the other.
 * The struct's options change only after the upload was enqueued. */
ssq_status scaler_replace(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_scaler_options *options,
                          const ssq_scaler_state *state)
{
    uint32_t words[SCALER_WORDS];
    options_words(options, words);
    state_words(options, state, words);
    /* events of earlier copies do not belong to this state */
    uint64_t before = readback_enqueued(scaler->readback);
    ssq_status st =
        scaler_state_write_words(queue, scaler, 0, words, SCALER_WORDS);
    if (st != SSQ_OK)
        return st;
    scaler->options = *options;
    scaler->cleared = before;
    scaler_changed(scaler, true); /* sums of gradients have the old scale */
    return SSQ_OK;
}

ssq_status ssq_scaler_state_set(ssq_queue *queue, ssq_scaler *scaler,
                                const ssq_scaler_state *state)
{
    ssq_status st = scaler_call_now(queue, scaler, "scaler_state_set");
    if (st == SSQ_OK)
        st = check_state_arg(scaler, state, "scaler_state_set");
    if (st == SSQ_OK)
        st = scaler_check_stage(scaler, "scaler_state_set", "set it");
    if (st == SSQ_OK)
        st = state_check(&scaler->options, true, state, "scaler_state_set");
    return st == SSQ_OK ? scaler_replace(queue, scaler, &scaler->options, state)
                        : st;
}

/* The word on the device becomes 0. Copies that were sent before still have the
 * event: it is ignored in those up to this one. */
ssq_status ssq_scaler_event_clear(ssq_queue *queue, ssq_scaler *scaler)
{
    const uint32_t none = 0;
    ssq_status st = scaler_call_now(queue, scaler, "scaler_event_clear");
    if (st != SSQ_OK)
        return st;
    uint64_t before = readback_enqueued(scaler->readback);
    st = scaler_state_write_words(queue, scaler, SCALER_EVENTS, &none, 1);
    if (st == SSQ_OK)
        scaler->cleared = before;
    return st;
}

ssq_status ssq_scaler_set_growth_interval(ssq_queue *queue, ssq_scaler *scaler,
                                          uint32_t interval)
{
    ssq_status st =
        scaler_call_now(queue, scaler, "scaler_set_growth_interval");
    if (st != SSQ_OK)
        return st;
    /* the interval together with the lags must fit: check all */
    ssq_scaler_options options = scaler->options;
    options.growth_interval = interval;
    st = options_check(&options, true, "scaler_set_growth_interval");
    if (st == SSQ_OK)
        st = scaler_state_write_words(queue, scaler, SCALER_INTERVAL, &interval,
                                      1);
    if (st == SSQ_OK)
        scaler->options = options;
    return st;
}

/* As check_state_arg(), for torch's struct. */
static ssq_status check_torch_arg(const ssq_torch_scaler_state *state,
                                  const char *what)
{
    if (state == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: state is NULL", what);
    if (state->struct_size != sizeof(*state))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         state->struct_size, sizeof(*state));
    return SSQ_OK;
}

/* Combine torch's fields with the scaler's options, and set the initial state
 * of these. Torch has no other counters, so the rest of the state equals that
 * of a new machine. Torch's integers have 64 bits, ours 32. */
static ssq_status from_torch(const ssq_scaler *scaler,
                             const ssq_torch_scaler_state *torch,
                             ssq_scaler_options *options,
                             ssq_scaler_state *state)
{
    const char *what = "scaler_torch_load";
    if (torch->growth_interval < 1 || torch->growth_interval > UINT32_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: growth_interval is %lld, expected 1 to %u", what,
                         (long long)torch->growth_interval, UINT32_MAX);
    if (torch->_growth_tracker < 0 || torch->_growth_tracker > UINT32_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: _growth_tracker is %lld, expected 0 to %u", what,
                         (long long)torch->_growth_tracker, UINT32_MAX);
    *options = scaler->options;
    options->growth_factor = torch->growth_factor;
    options->backoff_factor = torch->backoff_factor;
    options->growth_interval = (uint32_t)torch->growth_interval;
    ssq_status st = options_check(options, true, what);
    if (st != SSQ_OK)
        return st;
    state_begin(options, state);
    state->scale = torch->scale;
    state->good = (uint32_t)torch->_growth_tracker;
    return state_check(options, true, state, what);
}

/* Replaces the whole state, as ssq_scaler_state_set does, and also torch's
 * factors and interval in the options. */
ssq_status ssq_scaler_torch_load(ssq_queue *queue, ssq_scaler *scaler,
                                 const ssq_torch_scaler_state *state)
{
    ssq_scaler_options options;
    ssq_scaler_state begun;
    ssq_status st = scaler_call_now(queue, scaler, "scaler_torch_load");
    if (st == SSQ_OK)
        st = check_torch_arg(state, "scaler_torch_load");
    if (st == SSQ_OK)
        st = scaler_check_stage(scaler, "scaler_torch_load", "load");
    if (st == SSQ_OK)
        st = from_torch(scaler, state, &options, &begun);
    return st == SSQ_OK ? scaler_replace(queue, scaler, &options, &begun) : st;
}

/* Fields that torch does not have (lags, floors, statistics) are not saved. */
ssq_status ssq_scaler_torch_save(ssq_queue *queue, ssq_scaler *scaler,
                                 ssq_torch_scaler_state *state)
{
    ssq_scaler_state now = SSQ_SCALER_STATE_INIT;
    ssq_status st = scaler_call_now(queue, scaler, "scaler_torch_save");
    if (st == SSQ_OK)
        st = check_torch_arg(state, "scaler_torch_save");
    if (st == SSQ_OK)
        st = scaler_fetch(queue, scaler, &now);
    if (st != SSQ_OK)
        return st;
    state->scale = now.scale;
    state->growth_factor = scaler->options.growth_factor;
    state->backoff_factor = scaler->options.backoff_factor;
    state->growth_interval = scaler->options.growth_interval;
    state->_growth_tracker = now.good;
    return SSQ_OK;
}
