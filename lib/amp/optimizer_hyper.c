/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_hyper.c - hyper-parameters that are changed and asked for.
 *
 * The host's copy, in double, is what is asked for and checked; the control
 * block has its float32 words, which a captured step reads as well. */
#include "lib/amp/optimizer.h"

/* The field that a hyper names; NULL: the kind does not read it. What torch's
 * schedulers call momentum is beta1 where there are betas. */
static double *field(uint32_t kind, ssq_optimizer_options *o, ssq_hyper hyper)
{
    bool plain = optimizer_reads(kind, OPTION_MOMENTUM);
    bool betas = optimizer_reads(kind, OPTION_BETAS);
    switch (hyper) {
    case SSQ_HYPER_LR:
        return &o->lr;
    case SSQ_HYPER_MOMENTUM:
        return plain ? &o->momentum : betas ? &o->beta1 : NULL;
    case SSQ_HYPER_BETA1:
        return betas ? &o->beta1 : NULL;
    case SSQ_HYPER_BETA2:
        return betas ? &o->beta2 : NULL;
    case SSQ_HYPER_EPS:
        return optimizer_reads(kind, OPTION_EPS) ? &o->eps : NULL;
    case SSQ_HYPER_WEIGHT_DECAY:
        return &o->weight_decay;
    case SSQ_HYPER_CLIP_NORM:
        return &o->clip_norm;
    default:
        return NULL;
    }
}

/* In the order of ssq_hyper. */
static const char *const hyper_names[] = {
    "lr", "momentum", "beta1", "beta2", "eps", "weight_decay", "clip_norm"};

/* The group is this optimizer's, and the optimizer has this hyper-parameter.
 * field only points into the options that it is given, which may therefore be
 * anything. */
static ssq_status check_hyper(const ssq_optimizer *o, const ssq_group *group,
                              ssq_hyper hyper, const char *what)
{
    if ((unsigned)hyper > SSQ_HYPER_CLIP_NORM)
        return error_set(SSQ_ERR_INVALID, "%s: %d is no hyper-parameter", what,
                         (int)hyper);
    if (group != NULL && group->optimizer != o)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the group is another optimizer's", what);
    if (group != NULL && hyper == SSQ_HYPER_CLIP_NORM)
        return error_set(SSQ_ERR_INVALID,
                         "%s: clip_norm is the whole optimizer's: group must "
                         "be NULL",
                         what);
    ssq_optimizer_options options;
    if (field(o->kind, &options, hyper) == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s has no %s", what,
                         optimizer_kinds[o->kind].name, hyper_names[hyper]);
    return SSQ_OK;
}

/* Whether a norm is measured is the word behind the limit: one upload has both,
 * so that no step sees a new one beside an old one. LAMB measures its norm in
 * any case. Without a state there is nothing to write yet: make_control reads
 * the options. */
static ssq_status set_clip(ssq_queue *queue, ssq_optimizer *o, double value)
{
    if (!(value >= 0.0))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_set: clip_norm is %g, expected >= 0",
                         value);
    struct fpenv env = fpenv_enter();
    FPENV_KEEP(value);
    const uint32_t words[2] = {AS_U32((float)value),
                               value > 0.0 ||
                                   optimizer_reads(o->kind, OPTION_LAMB)};
    fpenv_leave(env);
    ssq_status st = SSQ_OK;
    if (o->state != NULL)
        st = upload_words(queue, o->state->control, CONTROL_CLIP, words, 2);
    if (st == SSQ_OK)
        o->options.clip_norm = value;
    return st;
}

/* A buffer for momentum cannot appear after the state was made: lists, and
 * graphs that hold them, name the slots that there were. */
static ssq_status check_momentum(const ssq_group *g,
                                 const ssq_optimizer_options *new_options)
{
    if (new_options->momentum == 0.0 || !momentum_missing(g))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "optimizer_set: momentum %g, but the group began without "
                     "momentum and has no buffer for it",
                     new_options->momentum);
}

/* In a capture the upload would be a command of the graph, and every launch
 * would set the value again.
 *
 * One hyper-parameter has several words (beta1 has two, and 1 - beta1), so all
 * of the group's are written, up to those that tick writes. An lr that is set
 * by hand ends its schedule, which would be followed instead. The host's copy
 * changes last: a call that failed may be repeated. */
ssq_status ssq_optimizer_set(ssq_queue *queue, ssq_optimizer *optimizer,
                             ssq_group *group, ssq_hyper hyper, double value)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = optimizer_call(queue, o, "optimizer_set");
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_set: a graph is being captured");
    if (st == SSQ_OK)
        st = check_hyper(o, group, hyper, "optimizer_set");
    if (st != SSQ_OK)
        return st;
    if (hyper == SSQ_HYPER_CLIP_NORM)
        return set_clip(queue, o, value);
    ssq_group *g = group == NULL ? o->groups : group;
    ssq_optimizer_options changed = g->options;
    *field(o->kind, &changed, hyper) = value;
    if (value < 0.0) /* -1 is no default here */
        return error_set(SSQ_ERR_INVALID, "optimizer_set: %s is %g",
                         hyper_names[hyper], value);
    st = options_resolve(o->kind, "optimizer_set", &changed);
    if (st == SSQ_OK)
        st = check_momentum(g, &changed);
    uint32_t words[GROUP_WORDS];
    if (st == SSQ_OK)
        group_words(o->kind, &changed, words);
    if (st == SSQ_OK && o->state != NULL)
        st = upload_words(queue, o->state->control,
                          CONTROL_WORDS + (uint64_t)g->index * GROUP_WORDS,
                          words, GROUP_STEP_LR);
    if (st == SSQ_OK && hyper == SSQ_HYPER_LR && g->schedule[SCHEDULE_LR].on)
        st = ssq_optimizer_schedule(queue, o, g, SSQ_HYPER_LR, NULL);
    if (st == SSQ_OK)
        g->options = changed;
    return st;
}

/* Under a schedule the value is worked out again from the t that the host knows
 * of: to read the device's word would be to wait. t steps are done, and a
 * schedule counts from 0, so t names the next one. */
ssq_status ssq_optimizer_get(const ssq_optimizer *optimizer,
                             const ssq_group *group, ssq_hyper hyper,
                             double *value)
{
    const ssq_optimizer *o = optimizer;
    if (o == NULL || value == NULL)
        return error_set(SSQ_ERR_INVALID, "optimizer_get: %s is NULL",
                         o == NULL ? "optimizer" : "value");
    ssq_status st = check_hyper(o, group, hyper, "optimizer_get");
    if (st != SSQ_OK)
        return st;
    if (hyper == SSQ_HYPER_CLIP_NORM) {
        *value = o->options.clip_norm;
        return SSQ_OK;
    }
    const ssq_group *g = group == NULL ? o->groups : group;
    ssq_optimizer_options options = g->options;
    double *from = field(o->kind, &options, hyper);
    /* The second schedule drives momentum, or beta1 in a kind with betas; other
     * fields are not under it, whatever the group has. */
    int which = hyper == SSQ_HYPER_LR ? SCHEDULE_LR : SCHEDULE_MOMENTUM;
    const struct schedule *s = &g->schedule[which];
    bool scheduled =
        s->on && (hyper == SSQ_HYPER_LR || from == &options.momentum ||
                  from == &options.beta1);
    if (!scheduled) {
        *value = *from;
        return SSQ_OK;
    }
    return ssq_schedule_value(&s->what, optimizer_known_t(o), value);
}
