/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.c - create and destroy scalers, and the calls of a training step.
 * Stages are in scaler_stages.c.
 *
 * A call changes the stages after it has enqueued its work, when nothing can
 * fail any more. Only the creation of a scaler waits for the device. */
#include "lib/amp/scaler/scaler_object.h"

#include <math.h>

/* If creation has failed, fields may be NULL. */
static void scaler_free(struct object *o)
{
    ssq_scaler *s = (ssq_scaler *)o;
    if (s->block != NULL)
        /* queues and graphs may hold the buffer for longer */
        s->block->view.buffer->use = NULL;
    unscaled_put(s->at.unscaled);
    ssq_tensor_destroy(&s->record);
    ssq_tensor_destroy(&s->scale);
    ssq_tensor_destroy(&s->block);
    readback_put(s->readback);
    object_put(&s->device->object);
    mem_free(s);
}

void scaler_get(ssq_scaler *scaler)
{
    object_get(&scaler->object);
}

void scaler_put(ssq_scaler *scaler)
{
    if (scaler != NULL)
        object_put(&scaler->object);
}

/* Write the words through an internal queue and wait. Any queue may use them
 * next, without an event. */
static ssq_status scaler_write_words(ssq_scaler *s, const uint32_t *words)
{
    static const uint32_t no_record[RECORD_WORDS];
    ssq_queue *queue;
    ssq_status st = ssq_queue_create(s->device, NULL, &queue);
    if (st != SSQ_OK)
        return st;
    st = queue_upload_now(queue, &s->block->view, words,
                          SCALER_WORDS * sizeof(words[0]));
    if (st == SSQ_OK)
        st = queue_upload_now(queue, &s->record->view, no_record,
                              sizeof(no_record));
    if (st == SSQ_OK)
        st = queue_wait(queue);
    ssq_queue_destroy(&queue);
    return st;
}

/* Create the objects of a scaler. If this fails, scaler_free() releases those
 * that exist. The tensor that callers pass to a loss is a view of one word of
 * the block. The loss finds the scaler through their common buffer
 * (scale_bind()). The buffer does not hold the scaler: scaler_free() clears its
 * pointer. */
static ssq_status fill_scaler(ssq_scaler *s)
{
    const int64_t n = SCALER_WORDS, record = RECORD_WORDS;
    uint32_t words[SCALER_WORDS];
    ssq_scaler_state state;
    state_begin(&s->options, &state);
    options_words(&s->options, words);
    state_words(&s->options, &state, words);
    s->readback = readback_create(words, SCALER_WORDS, SCALER_MAGIC);
    if (s->readback == NULL)
        return SSQ_ERR_NOMEM;
    ssq_status st = ssq_tensor_create(s->device, SSQ_I32, 1, &n, &s->block);
    if (st == SSQ_OK)
        st = ssq_tensor_create(s->device, SSQ_I32, 1, &record, &s->record);
    if (st == SSQ_OK)
        st = ssq_tensor_from_buffer(
            s->block->view.buffer, SSQ_F32, 0, NULL, NULL,
            s->block->view.offset + SCALER_SCALE * sizeof(words[0]), &s->scale);
    if (st != SSQ_OK)
        return st;
    s->use = scaler_use();
    s->block->view.buffer->use = &s->use;
    return scaler_write_words(s, words);
}

/* Check the caller's options, or else the preset's, and copy them. */
static ssq_status choose_options(const char *preset,
                                 const ssq_scaler_options *options,
                                 ssq_scaler_options *result)
{
    *result = (ssq_scaler_options)SSQ_SCALER_OPTIONS_INIT;
    if (options != NULL)
        *result = *options;
    ssq_status st = options == NULL
                        ? ssq_scaler_options_preset(
                              preset == NULL ? "sesqui" : preset, result)
                        : SSQ_OK;
    return st == SSQ_OK ? options_check(result, true, "scaler_create") : st;
}

/* The caller's options override a preset's name. They are copied. */
ssq_status ssq_scaler_create(ssq_device *device, const char *preset,
                             const ssq_scaler_options *options,
                             ssq_scaler **scaler)
{
    if (device == NULL || scaler == NULL)
        return error_set(SSQ_ERR_INVALID, "scaler_create: %s is NULL",
                         device == NULL ? "device" : "scaler");
    ssq_scaler_options chosen;
    ssq_status st = choose_options(preset, options, &chosen);
    if (st != SSQ_OK)
        return st;
    ssq_scaler *s = mem_alloc(sizeof(*s));
    if (s == NULL)
        return error_nomem("scaler_create", sizeof(*s));
    object_init(&s->object, scaler_free);
    s->device = device;
    object_get(&device->object);
    s->options = chosen;
    st = fill_scaler(s);
    if (st == SSQ_OK)
        *scaler = s;
    else
        scaler_put(s);
    return st;
}

/* Optimizers and graphs may hold the scaler for longer. It is freed with the
 * last of them. */
void ssq_scaler_destroy(ssq_scaler **scaler)
{
    if (scaler == NULL)
        return;
    scaler_put(*scaler);
    *scaler = NULL;
}

/* The result is borrowed: ops get their own references to its buffer. */
const ssq_tensor *scaler_block(const ssq_scaler *scaler)
{
    return scaler->block;
}

/* The hook borrows only the overflow flag, not the record: a MAX over ranks of
 * the other words would mean nothing. */
static ssq_status call_hook(ssq_queue *queue, ssq_scaler *scaler,
                            const ssq_tensor *record)
{
    if (scaler->hook == NULL)
        return SSQ_OK;
    ssq_tensor *overflow_flag;
    ssq_status st = ssq_tensor_slice(record, 0, RECORD_VERDICT,
                                     RECORD_VERDICT + 1, 1, &overflow_flag);
    if (st != SSQ_OK)
        return st;
    char before[ERROR_TEXT]; /* an older text is not the hook's */
    error_take(before);
    st = scaler->hook(queue, overflow_flag, scaler->hook_user);
    ssq_tensor_destroy(&overflow_flag);
    if (error_restore(before) && st != SSQ_OK)
        return error_set(st, "scaler: the rank hook returned %s without a text",
                         ssq_status_name(st));
    return st;
}

/* The hook comes first: the work that it enqueues for the overflow flag, a
 * maximum over ranks, must run before the join reads the flag. */
ssq_status scaler_checked(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_tensor *record)
{
    ssq_status st = call_hook(queue, scaler, record);
    if (st == SSQ_OK)
        st = scaler_watch(queue, scaler);
    if (st != SSQ_OK)
        return st;
    struct scaler_join_op op = {.op = OP_HEADER(scaler_join, record),
                                .record = tensor_view(record, ACCESS_READ),
                                .block =
                                    tensor_view(scaler->block, ACCESS_UPDATE)};
    st = queue_enqueue(queue, &op.op);
    if (st == SSQ_OK)
        scaler->at.stage = 1;
    return st;
}

ssq_status scaler_publish(ssq_queue *queue, ssq_scaler *scaler, struct op *op)
{
    if (!queue_capturing(queue))
        return readback_enqueue(scaler->readback, queue, op, scaler->block);
    /* a graph has only the op: scaler_stages.c copies after its launches */
    ssq_status st = scaler_watch(queue, scaler);
    return st == SSQ_OK ? queue_enqueue(queue, op) : st;
}

void scaler_known(ssq_scaler *scaler, ssq_scaler_state *state)
{
    uint32_t words[SCALER_WORDS];
    uint64_t number = readback_read(scaler->readback, words);
    words_state(words, state);
    /* this copy was sent before the events were cleared */
    if (number <= scaler->cleared)
        state->events = 0;
}

/* Enqueue an update, then return the events known before it. An event does not
 * stop the update: a caller that ignores it trains on, and gets it from every
 * update until it is cleared. */
static ssq_status scaler_update_by(ssq_queue *queue, ssq_scaler *scaler,
                                   bool set, float value, const char *what)
{
    ssq_scaler_state known = SSQ_SCALER_STATE_INIT;
    scaler_known(scaler, &known);
    struct scaler_update_op op = {
        .op = OP_HEADER(scaler_update, block),
        .set = set,
        .value = AS_U32(value),
        .block = tensor_view(scaler->block, ACCESS_UPDATE)};
    ssq_status st = scaler_publish(queue, scaler, &op.op);
    if (st != SSQ_OK)
        return st;
    struct scaler_stages *at = &scaler->at;
    at->used = false;
    at->stage = 0;
    at->epoch++;
    scaler_changed(scaler, set);
    unscaled_put(at->unscaled);
    at->unscaled = NULL;
    return state_events(&known, what);
}

/* Without a check, the machine would count a clean step. */
ssq_status ssq_scaler_update(ssq_queue *queue, ssq_scaler *scaler)
{
    ssq_status st = scaler_call(queue, scaler, "scaler_update");
    if (st != SSQ_OK)
        return st;
    if (scaler->at.stage == 0)
        return error_set(SSQ_ERR_INVALID,
                         "scaler_update: nothing was checked since the last "
                         "update, number %llu",
                         (unsigned long long)scaler->at.epoch);
    return scaler_update_by(queue, scaler, false, 0.0f, "scaler_update");
}

/* Allowed at any stage, as in torch: sets the scale to the caller's value, and
 * ends the step like an update. */
ssq_status ssq_scaler_update_to(ssq_queue *queue, ssq_scaler *scaler,
                                double scale)
{
    ssq_status st = scaler_call(queue, scaler, "scaler_update_to");
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter(); /* a scale may be subnormal */
    FPENV_KEEP(scale);
    float value = (float)scale;
    bool ok = value > 0.0f && isfinite(value);
    FPENV_KEEP(value);
    FPENV_KEEP(ok);
    fpenv_leave(env);
    if (!ok)
        return error_set(SSQ_ERR_INVALID,
                         "scaler_update_to: scale is %.17g, expected a "
                         "positive finite float32",
                         scale);
    return scaler_update_by(queue, scaler, true, value, "scaler_update_to");
}

/* The caller owns the hook and the object of `user`, which must exist as long
 * as checks are made. */
ssq_status ssq_scaler_rank_hook_set(ssq_scaler *scaler,
                                    ssq_scaler_rank_hook hook, void *user)
{
    if (scaler == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "scaler_rank_hook_set: scaler is NULL");
    scaler->hook = hook;
    scaler->hook_user = user;
    return SSQ_OK;
}
