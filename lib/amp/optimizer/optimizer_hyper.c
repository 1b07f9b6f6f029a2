/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_hyper.c - set and get hyper-parameters.
 *
 * The host's copies are doubles, which are checked and returned. The control
 * block has their float32 words, which captured steps also read. */
#include "lib/amp/optimizer/optimizer.h"

#include <float.h>
#include <math.h>

/* Return the field of a hyper-parameter; NULL if the kind does not read it.
 * What torch's schedulers call momentum is beta1 in kinds with betas. */
static double *optimizer_hyper_field(uint32_t kind, ssq_optimizer_options *o,
                                     ssq_hyper hyper)
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

/* Check that the group belongs to this optimizer, and that the optimizer has
 * this hyper-parameter. optimizer_hyper_field() only returns a pointer into the
 * options, so their values do not matter. */
static ssq_status check_hyper(const ssq_optimizer *o, const ssq_group *group,
                              ssq_hyper hyper, const char *what)
{
    if ((unsigned)hyper > SSQ_HYPER_CLIP_NORM)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not a hyper-parameter",
                         what, (int)hyper);
    if (group != NULL && group->optimizer != o)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the group belongs to another optimizer", what);
    if (group != NULL && hyper == SSQ_HYPER_CLIP_NORM)
        return error_set(SSQ_ERR_INVALID,
                         "%s: clip_norm is the whole optimizer's: group must "
                         "be NULL",
                         what);
    ssq_optimizer_options options;
    if (optimizer_hyper_field(o->kind, &options, hyper) == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s has no %s", what,
                         optimizer_kinds[o->kind].name, hyper_names[hyper]);
    return SSQ_OK;
}

bool optimizer_clip_norm_valid(double value)
{
    return value >= 0.0 && (value <= (double)FLT_MAX || isinf(value));
}

uint32_t optimizer_clip_word(double value)
{
    struct fpenv env = fpenv_enter();
    FPENV_KEEP(value);
    uint32_t word = AS_U32((float)value);
    fpenv_leave(env);
    /* below float32's range, use its smallest number: 0 means no clipping */
    return word == 0 && value > 0.0 ? 1 : word;
}

bool optimizer_measures(const ssq_optimizer *o)
{
    return o->options.clip_norm > 0.0 || optimizer_reads(o->kind, OPTION_LAMB);
}

/* The word after the limit says if a norm is measured. One upload writes both,
 * so that no step sees a new one with an old one. LAMB always measures its
 * norm. Without a state nothing is written: make_control() reads the options.
 */
static ssq_status set_clip(ssq_queue *queue, ssq_optimizer *o, double value)
{
    if (!optimizer_clip_norm_valid(value))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_set: clip_norm is %g, expected 0 or more, "
                         "and a float32 or INFINITY",
                         value);
    if (value > 0.0 && optimizer_is_checked(o) && !o->at.measured)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_set: clip_norm is %g, but the check of "
                         "this step measured no norm: set it before the check",
                         value);
    const uint32_t words[2] = {optimizer_clip_word(value),
                               value > 0.0 ||
                                   optimizer_reads(o->kind, OPTION_LAMB)};
    ssq_status st = SSQ_OK;
    if (o->state != NULL)
        st = upload_words(queue, o->state->control, CONTROL_CLIP, words, 2);
    if (st == SSQ_OK)
        o->options.clip_norm = value;
    return st;
}

/* The buffer of momentum cannot be created after the state: lists, and graphs
 * that hold them, contain the slots of that time. */
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

/* Refused in a capture: the upload would be a command of the graph, and each
 * launch would set the value again.
 *
 * A hyper-parameter may have several words (beta1 has two, and 1 - beta1), so
 * all words of the group are written, up to the ones that tick writes. Setting
 * lr ends its schedule, which would otherwise override it. The host's copy
 * changes last, so a failed call may be repeated. */
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
    *optimizer_hyper_field(o->kind, &changed, hyper) = value;
    if (value < 0.0) /* -1 does not mean the default here */
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

/* With a schedule, compute the value from the t that the host knows: reading
 * the device's word would wait. t steps are done and a schedule counts from 0,
 * so t is the number of the next step. */
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
    double *from = optimizer_hyper_field(o->kind, &options, hyper);
    /* The second schedule controls momentum, or beta1 in a kind with betas.
     * Other fields have no schedule. */
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
