/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_save.c - a scaler as a blob: its options and its state. */
#include "lib/amp/common/blob.h"
#include "lib/amp/scaler/scaler_object.h"

/* Copy all fields into a blob, or out of it. These lists are the format: a
 * change needs another BLOB_VERSION. Enums are copied as u32, because their
 * size depends on the compiler. */
static void scaler_save_transfer(struct blob *b, ssq_scaler_options *o,
                                 ssq_scaler_state *s, bool *wrong)
{
    uint32_t floor = (uint32_t)o->floor, cap = (uint32_t)o->cap;
    uint32_t action = (uint32_t)s->action;
    double *const numbers[] = {
        &o->init_scale, &o->growth_factor, &o->backoff_factor, &o->min_scale,
        &o->max_scale,  &o->tolerance,     &s->scale};
    uint32_t *const words[] = {&o->growth_interval,
                               &o->first_lag,
                               &o->repeat_lag,
                               &floor,
                               &cap,
                               &o->hysteresis,
                               &o->refill,
                               &o->max_consecutive_skips,
                               &s->good,
                               &s->grown,
                               &s->since,
                               &s->ovf,
                               &s->updates,
                               &s->skipped,
                               &s->consecutive,
                               &s->last_skip,
                               &s->growths,
                               &s->backoffs,
                               &s->events,
                               &action};
    bool *const flags[] = {&o->reset_on_inf, &o->match_equal, &o->binary64};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        blob_f64(b, numbers[i]);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        blob_u32(b, words[i]);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        blob_bool(b, flags[i], wrong);
    blob_i32(b, &s->hyst);
    o->floor = (ssq_scale_floor)floor;
    o->cap = (ssq_scale_cap)cap;
    s->action = (ssq_scale_action)action;
}

/* Return the bytes that scaler_save_transfer() writes. No member has a variable
 * length, so any state serves to count them. The options are a copy, because
 * scaler_save_transfer() takes pointers through which it may write. */
static size_t scaler_save_size_of(ssq_scaler_options o)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    struct blob b;
    bool wrong = false;
    blob_write(&b, NULL, 0, BLOB_SCALER);
    scaler_save_transfer(&b, &o, &s, &wrong);
    return blob_size(&b);
}

/* Check what save and load check first. Refused in the middle of a step: the
 * pending overflow flag is not part of a state. */
static ssq_status scaler_save_enter(const ssq_queue *queue,
                                    const ssq_scaler *scaler, const char *what,
                                    const char *verb)
{
    ssq_status st = scaler_call_now(queue, scaler, what);
    return st == SSQ_OK ? scaler_check_stage(scaler, what, verb) : st;
}

/* The size does not depend on the state, so a caller that only asks for it does
 * not wait. Events are part of the state and not an error here: a restored
 * scaler returns them. */
ssq_status ssq_scaler_save(ssq_queue *queue, ssq_scaler *scaler, void *blob,
                           size_t bytes, size_t *needed)
{
    const char *what = "scaler_save";
    ssq_status st = scaler_save_enter(queue, scaler, what, "save");
    if (st != SSQ_OK)
        return st;
    ssq_scaler_options options = scaler->options;
    size_t size = scaler_save_size_of(options);
    st = blob_room(blob, bytes, size, needed, what);
    if (st != SSQ_OK || blob == NULL)
        return st;
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    st = scaler_fetch(queue, scaler, &state);
    if (st != SSQ_OK)
        return st;
    struct blob b;
    bool wrong = false;
    blob_write(&b, blob, size, BLOB_SCALER);
    scaler_save_transfer(&b, &options, &state, &wrong);
    blob_seal(&b, BLOB_SCALER);
    return SSQ_OK;
}

/* The blob is read and checked as a whole before anything changes: if it is
 * refused, the scaler is unchanged. The numbers are checked like a caller's,
 * because a checksum shows only that a blob is whole. */
ssq_status ssq_scaler_load(ssq_queue *queue, ssq_scaler *scaler,
                           const void *blob, size_t bytes)
{
    const char *what = "scaler_load";
    ssq_scaler_options options = SSQ_SCALER_OPTIONS_INIT;
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    struct blob b;
    bool wrong = false;
    ssq_status st = scaler_save_enter(queue, scaler, what, "load");
    if (st == SSQ_OK)
        st = blob_read(&b, blob, bytes, BLOB_SCALER, what);
    if (st != SSQ_OK)
        return st;
    scaler_save_transfer(&b, &options, &state, &wrong);
    st = blob_done(&b, what);
    if (st == SSQ_OK && wrong)
        st = error_set(SSQ_ERR_INVALID, "%s: a flag is neither 0 nor 1", what);
    if (st == SSQ_OK)
        st = options_check(&options, true, what);
    if (st == SSQ_OK)
        st = state_check(&options, true, &state, what);
    return st == SSQ_OK ? scaler_replace(queue, scaler, &options, &state) : st;
}
