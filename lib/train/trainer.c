/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - create and destroy a trainer, and access its parts. */
#include "lib/train/trainer.h"

#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/policy/policy.h"
#include "lib/amp/scaler/scaler.h"
#include "lib/comm/parts.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"
#include "lib/tape/tape.h"
#include "lib/core/queue/replay.h"

#include <string.h>

void ssq_trainer_destroy(ssq_trainer **trainer)
{
    if (trainer == NULL || *trainer == NULL)
        return;
    ssq_trainer *t = *trainer;
    for (struct group_pattern *p = t->patterns, *next; p != NULL; p = next) {
        next = p->next;
        mem_free(p->pattern);
        mem_free(p);
    }
    trainer_free_hooks(t);
    trainer_free_announced(t);
    if (t->replay && !device_lost(t->queue->device))
        replay_drop_traces(t->queue);
    labels_destroy(t->labels, t->queue);
    mem_free(t->weights);
    trainer_free_losses(t);
    ssq_tape_destroy(&t->tape);
    ssq_optimizer_destroy(&t->optimizer);
    ssq_scaler_destroy(&t->scaler);
    ssq_params_destroy(&t->params);
    comm_put(t->comm);
    object_put(&t->queue->object);
    mem_free(t);
    *trainer = NULL;
}

/* Refuse two descriptions of the scaler. */
static ssq_status check_scaler(const ssq_trainer_args *args, const char *policy,
                               enum policy_scale says)
{
    static const char what[] = "trainer_create";
    const char *given =
        args->scaler_options != NULL ? "scaler_options" : args->scaler;
    bool none = args->scaler != NULL && strcmp(args->scaler, "none") == 0;
    if (args->scaler_options != NULL && args->scaler != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: scaler is \"%.100s\", and there are "
                         "scaler_options: one of them is expected",
                         what, args->scaler);
    if (given == NULL || says == POLICY_SCALE_DEFAULT ||
        (says == POLICY_SCALE_DYNAMIC && !none))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the policy \"%.200s\" has loss_scale, and the scaler "
                     "is %s%.100s%s: one of them is expected",
                     what, policy, args->scaler != NULL ? "\"" : "", given,
                     args->scaler != NULL ? "\"" : "");
}

/* Create the scaler. If the arguments do not describe one, the policy decides
 * whether gradients need a scale. */
static ssq_status create_scaler(ssq_device *device,
                                const ssq_trainer_args *args,
                                const char *policy, ssq_scaler **scaler)
{
    ssq_policy p = SSQ_POLICY_INIT;
    enum policy_scale says = POLICY_SCALE_DEFAULT;
    ssq_scaler_options fixed = SSQ_SCALER_OPTIONS_INIT;
    const ssq_scaler_options *options = args->scaler_options;
    ssq_status st = policy_read("trainer_create", policy, &p, &says);
    if (st == SSQ_OK)
        st = check_scaler(args, policy, says);
    if (st == SSQ_OK && says == POLICY_SCALE_STATIC) {
        st = ssq_scaler_options_preset("fixed", &fixed);
        fixed.init_scale = p.loss_scale;
        options = &fixed;
    }
    if (st != SSQ_OK)
        return st;
    if (options == NULL &&
        (args->scaler == NULL ? !p.scaling : strcmp(args->scaler, "none") == 0))
        return SSQ_OK;
    return ssq_scaler_create(device, args->scaler, options, scaler);
}

static ssq_status broadcast_new_params(void *user)
{
    return trainer_broadcast_params(user);
}

/* Check the labels of a loss. The classes are dimension 1 of x, or dimension 0
 * if x is a single row. */
static ssq_status check_loss_labels(void *user, const ssq_tensor *x,
                                    const ssq_tensor *target,
                                    int64_t ignore_index)
{
    ssq_trainer *t = user;
    ssq_status st =
        labels_check(t->labels, t->queue, t->tape->training, target,
                     x->view.shape[x->view.rank == 1 ? 0 : 1], ignore_index);
    return st == SSQ_OK && t->tape->training
               ? trainer_compute_accuracy(t, x, target, ignore_index)
               : st;
}

static ssq_status create_labels(ssq_trainer *t)
{
    ssq_status st = labels_create(t->queue, t->comm != NULL, &t->labels);
    if (st != SSQ_OK)
        return st;
    t->optimizer->labels = labels_words(t->labels);
    t->tape->labels = check_loss_labels;
    t->tape->labels_user = t;
    return SSQ_OK;
}

static ssq_status create_parts(const ssq_trainer_args *args, ssq_trainer *t)
{
    ssq_device *device = t->queue->device;
    const char *policy = args->policy == NULL ? "float32" : args->policy;
    ssq_params_options options = args->params;
    if (args->clip_value > 0.0) /* unscaled gradients may not fit in f16 */
        options.float32_gradients = true;
    ssq_status st = ssq_params_create(device, policy, &options, &t->params);
    if (st == SSQ_OK)
        st = ssq_optimizer_create(
            device, args->optimizer == NULL ? "adamw" : args->optimizer,
            &args->options, &t->optimizer);
    if (st == SSQ_OK && args->shard)
        st = ssq_optimizer_distribute(t->optimizer, args->comm);
    if (st == SSQ_OK)
        st = create_scaler(device, args, policy, &t->scaler);
    if (st == SSQ_OK && args->from != NULL)
        st = params_take(t->params, t->queue, args->from);
    if (st == SSQ_OK && args->replay)
        st = replay_create(t->queue);
    if (st == SSQ_OK)
        st = ssq_tape_create(t->queue, t->params, &t->tape);
    if (st == SSQ_OK && args->comm != NULL) {
        tape_rank(t->tape, ssq_comm_rank(args->comm),
                  ssq_comm_size(args->comm));
        t->tape->made = broadcast_new_params;
        t->tape->made_user = t;
    }
    if (st == SSQ_OK)
        st = create_labels(t);
    return st == SSQ_OK ? trainer_create_sums(t) : st;
}

static ssq_status check_from(const char *what, ssq_queue *queue,
                             const ssq_params *from)
{
    ssq_status st = params_call(what, from, queue, NULL);
    return st == SSQ_OK && from->n == 0
               ? error_set(SSQ_ERR_INVALID, "%s: from has no parameters", what)
               : st;
}

static ssq_status trainer_check_args(const char *what, ssq_queue *queue,
                                     const ssq_trainer_args *args)
{
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         args->struct_size, sizeof(*args));
    if (args->accumulate < 1)
        return error_set(SSQ_ERR_INVALID, "%s: accumulate is 0", what);
    if (!(args->clip_value >= 0.0))
        return error_set(SSQ_ERR_INVALID, "%s: clip_value is %g, expected >= 0",
                         what, args->clip_value);
    if (args->shard && args->comm == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: shard without comm", what);
    const ssq_device *on = ssq_comm_device(args->comm);
    if (args->comm != NULL && on != queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: comm is of another device, %s, than the queue, "
                         "of %s",
                         what, on->props.name, queue->device->props.name);
    return args->from != NULL ? check_from(what, queue, args->from) : SSQ_OK;
}

ssq_status ssq_trainer_create(ssq_queue *queue, const ssq_trainer_args *args,
                              ssq_trainer **trainer)
{
    static const char what[] = "trainer_create";
    const ssq_trainer_args defaults = SSQ_TRAINER_INIT;
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    if (args == NULL)
        args = &defaults;
    st = trainer_check_args(what, queue, args);
    if (st == SSQ_OK)
        st = capture_check(queue->device, what);
    if (st == SSQ_OK) /* another thread may capture this queue */
        st = queue_check_runs(queue, what);
    if (st != SSQ_OK)
        return st;
    ssq_trainer *t = mem_alloc(sizeof(*t));
    if (t == NULL)
        return error_nomem(what, sizeof(*t));
    t->accumulate = args->accumulate;
    t->clip_value = args->clip_value;
    t->replay = args->replay;
    t->accuracy = args->accuracy;
    comm_hold(args->comm);
    t->comm = args->comm;
    t->weight = 1.0;
    t->shard = args->shard;
    t->bucket_bytes = args->bucket_bytes;
    t->compare_every = args->compare_every;
    t->patterns_end = &t->patterns;
    t->hooks_end = &t->hooks;
    object_get(&queue->object);
    t->queue = queue;
    t->weighted = args->weights != NULL;
    st = trainer_set_weights(t, what, args->weights);
    if (st == SSQ_OK)
        st = create_parts(args, t);
    if (st == SSQ_OK)
        *trainer = t;
    else
        ssq_trainer_destroy(&t);
    return st;
}

ssq_queue *ssq_trainer_queue(const ssq_trainer *trainer)
{
    return trainer == NULL ? NULL : trainer->queue;
}

ssq_params *ssq_trainer_params(const ssq_trainer *trainer)
{
    return trainer == NULL ? NULL : trainer->params;
}

ssq_optimizer *ssq_trainer_optimizer(const ssq_trainer *trainer)
{
    return trainer == NULL ? NULL : trainer->optimizer;
}

ssq_scaler *ssq_trainer_scaler(const ssq_trainer *trainer)
{
    return trainer == NULL ? NULL : trainer->scaler;
}

ssq_status ssq_trainer_set_scaler(ssq_trainer *trainer, ssq_scaler *scaler)
{
    static const char what[] = "trainer_set_scaler";
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    if (trainer->passes > 0 || trainer->due != DUE_NOTHING)
        return trainer_refuse_accumulating(trainer, what);
    if (scaler != NULL &&
        scaler_block(scaler)->view.buffer->device != trainer->queue->device)
        return error_set(SSQ_ERR_INVALID, "%s: the scaler is of another device",
                         what);
    if (scaler != NULL)
        scaler_get(scaler);
    scaler_put(trainer->scaler);
    trainer->scaler = scaler;
    trainer->facts_compared = false;
    return SSQ_OK;
}

ssq_status ssq_trainer_group(ssq_trainer *trainer, const char *pattern,
                             const ssq_optimizer_options *options,
                             ssq_group **group)
{
    static const char what[] = "trainer_group";
    if (trainer == NULL || pattern == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         trainer == NULL ? "trainer" : "pattern");
    if (trainer->params_added > 0)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: the first step was made: groups can no longer change", what);
    struct group_pattern *p = mem_alloc(sizeof(*p));
    if (p == NULL || (p->pattern = mem_strdup(pattern)) == NULL) {
        mem_free(p);
        return error_nomem(what, sizeof(*p));
    }
    ssq_status st = ssq_optimizer_group(trainer->optimizer, options, &p->group);
    if (st != SSQ_OK) {
        mem_free(p->pattern);
        mem_free(p);
        return st;
    }
    *trainer->patterns_end = p;
    trainer->patterns_end = &p->next;
    if (group != NULL)
        *group = p->group;
    return SSQ_OK;
}

/* Check the schedule for all groups before any group changes. */
static ssq_status trainer_check_schedule(ssq_trainer *t, ssq_hyper hyper,
                                         const ssq_schedule *schedule)
{
    ssq_group *g = NULL;
    int which;
    ssq_status st = optimizer_schedule_check(t->queue, t->optimizer, &g, hyper,
                                             schedule, &which);
    for (struct group_pattern *p = t->patterns; p != NULL && st == SSQ_OK;
         p = p->next) {
        g = p->group;
        st = optimizer_schedule_check(t->queue, t->optimizer, &g, hyper,
                                      schedule, &which);
    }
    return st;
}

ssq_status ssq_trainer_schedule(ssq_trainer *trainer, ssq_hyper hyper,
                                const ssq_schedule *schedule)
{
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "trainer_schedule: trainer is NULL");
    ssq_status st = trainer_check_schedule(trainer, hyper, schedule);
    if (st == SSQ_OK)
        st = ssq_optimizer_schedule(trainer->queue, trainer->optimizer, NULL,
                                    hyper, schedule);
    for (struct group_pattern *p = trainer->patterns; p != NULL && st == SSQ_OK;
         p = p->next)
        st = ssq_optimizer_schedule(trainer->queue, trainer->optimizer,
                                    p->group, hyper, schedule);
    if (st == SSQ_OK)
        trainer->facts_compared = false;
    return st;
}
