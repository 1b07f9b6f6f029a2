/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_options.c - hyper-parameters: defaults, ranges, device words. */
#include "lib/amp/optimizer/optimizer.h"

#include <float.h>
#include <math.h>

/* -1 means the kind's default; no option may be -1 otherwise. The betas have
 * the same default in all kinds, which is in SSQ_OPTIMIZER_INIT. */
static void fill_defaults(uint32_t kind, ssq_optimizer_options *o)
{
    const struct optimizer_kind *k = &optimizer_kinds[kind];
    if (o->lr == -1.0)
        o->lr = k->lr;
    if (o->alpha == -1.0)
        o->alpha = k->alpha;
    if (o->eps == -1.0)
        o->eps = k->eps;
    if (o->weight_decay == -1.0)
        o->weight_decay = k->weight_decay;
}

/* There is one list for all kinds, whether they read an option or not: a value
 * out of range is always a mistake. The comparisons refuse NaN. All values
 * become float32, which ends at FLT_MAX. A mean with a decay of 1 would never
 * change, and the step divides by 1 - beta^t. Dampening has no range in torch,
 * so it has none here. */
static ssq_status optimizer_options_check_ranges(const char *what,
                                                 const ssq_optimizer_options *o)
{
    const struct {
        const char *name;
        double value;
        bool below_one;
    } list[] = {
        {"lr", o->lr, false},
        {"momentum", o->momentum, false},
        {"beta1", o->beta1, true},
        {"beta2", o->beta2, true},
        {"alpha", o->alpha, true},
        {"eps", o->eps, false},
        {"weight_decay", o->weight_decay, false},
        {"lr_decay", o->lr_decay, false},
        {"initial_accumulator", o->initial_accumulator, false},
        {"max_grad_norm", o->max_grad_norm, false},
    };
    static const char finite[] = ">= 0, finite in float32";
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        double v = list[i].value;
        if (!(v >= 0.0) || v > FLT_MAX || (list[i].below_one && v >= 1.0))
            return error_set(SSQ_ERR_INVALID, "%s: %s is %g, expected %s", what,
                             list[i].name, v,
                             list[i].below_one ? "[0, 1)" : finite);
    }
    if (!(fabs(o->dampening) <= FLT_MAX))
        return error_set(SSQ_ERR_INVALID, "%s: dampening is %g", what,
                         o->dampening);
    return SSQ_OK;
}

/* Refuse an option that the kind does not read, if that can be detected. An
 * option whose default is not 0 (betas, alpha, eps, max_grad_norm) is also set
 * if the caller has not changed it. Two options are on by default, and detected
 * if they are off. */
static ssq_status optimizer_options_check_read(uint32_t kind, const char *what,
                                               const ssq_optimizer_options *o)
{
    const struct {
        const char *name;
        bool set;
        uint32_t option;
    } list[] = {
        {"momentum", o->momentum != 0.0, OPTION_MOMENTUM},
        {"dampening", o->dampening != 0.0, OPTION_DAMPENING},
        {"nesterov", o->nesterov, OPTION_NESTEROV},
        {"amsgrad", o->amsgrad, OPTION_AMSGRAD},
        {"centered", o->centered, OPTION_CENTERED},
        {"lr_decay", o->lr_decay != 0.0, OPTION_LR_DECAY},
        {"initial_accumulator", o->initial_accumulator != 0.0, OPTION_INITIAL},
        {"use_nvlamb", o->use_nvlamb, OPTION_LAMB},
        {"apex form", o->form == SSQ_ADAM_APEX, OPTION_FORM},
        {"choice of bias_correction", !o->bias_correction, OPTION_LAMB},
        {"choice of grad_averaging", !o->grad_averaging, OPTION_LAMB},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (list[i].set && !optimizer_reads(kind, list[i].option))
            return error_set(SSQ_ERR_INVALID, "%s: %s has no %s", what,
                             optimizer_kinds[kind].name, list[i].name);
    return SSQ_OK;
}

/* Defaults come first, so that they are checked for their ranges as well.
 * Checks of two options come last, when each is valid by itself. The conditions
 * on nesterov are torch's. */
ssq_status options_resolve(uint32_t kind, const char *what,
                           ssq_optimizer_options *o)
{
    fill_defaults(kind, o);
    ssq_status st = optimizer_options_check_ranges(what, o);
    if (st == SSQ_OK)
        st = optimizer_options_check_read(kind, what, o);
    if (st != SSQ_OK)
        return st;
    if (o->nesterov && (o->momentum <= 0.0 || o->dampening != 0.0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: nesterov with momentum %g and dampening %g, "
                         "expected > 0 and 0",
                         what, o->momentum, o->dampening);
    if ((unsigned)o->form > SSQ_ADAM_APEX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: form is %d, not a valid form of adam", what,
                         (int)o->form);
    if (o->form == SSQ_ADAM_APEX && o->amsgrad)
        return error_set(SSQ_ERR_INVALID, "%s: amsgrad has no apex form", what);
    return SSQ_OK;
}

/* Store a double as the sum of two float32, with a relative error of about
 * 2^-49. A relative error of b becomes t times as large in b^t. With one
 * float32 and 2^-25, that would be 3 % after a million steps. */
static void put_pair(uint32_t *words, double value)
{
    float hi = (float)value;
    words[0] = AS_U32(hi);
    words[1] = AS_U32((float)(value - (double)hi));
}

/* The usual options set no flag. Two flags therefore mean that something is not
 * done. */
static uint32_t flags_of(const ssq_optimizer_options *o)
{
    uint32_t flags = 0;
    flags |= o->nesterov ? FLAG_NESTEROV : 0;
    flags |= o->amsgrad ? FLAG_AMSGRAD : 0;
    flags |= o->centered ? FLAG_CENTERED : 0;
    flags |= o->maximize ? FLAG_MAXIMIZE : 0;
    flags |= o->use_nvlamb ? FLAG_NVLAMB : 0;
    flags |= o->form == SSQ_ADAM_APEX ? FLAG_APEX : 0;
    flags |= o->bias_correction ? 0 : FLAG_NO_BIAS;
    flags |= o->grad_averaging ? 0 : FLAG_SUM;
    return flags;
}

/* Each number is rounded to float32 once, in default modes, independent of the
 * caller's modes. 1 - b is computed in double before. From a float32 0.999 it
 * would be wrong by a part in 10^5.
 *
 * Kinds with one decay rate of squares (alpha) store it in the words of beta2.
 * tick writes the words of the step, from GROUP_STEP_LR on, before anything
 * reads them. */
void group_words(uint32_t kind, const ssq_optimizer_options *o, uint32_t *w)
{
    struct fpenv env = fpenv_enter();
    bool betas = optimizer_reads(kind, OPTION_BETAS);
    double square = optimizer_reads(kind, OPTION_ALPHA) ? o->alpha : o->beta2;
    for (uint32_t i = 0; i < GROUP_WORDS; i++)
        w[i] = 0;
    w[GROUP_FLAGS] = flags_of(o);
    w[GROUP_LR] = AS_U32((float)o->lr);
    put_pair(&w[GROUP_MOMENTUM], betas ? o->beta1 : o->momentum);
    w[GROUP_MOMENTUM_C] =
        AS_U32(o->grad_averaging ? (float)(1.0 - o->beta1) : 1.0f);
    w[GROUP_DAMPING] = AS_U32((float)(1.0 - o->dampening));
    put_pair(&w[GROUP_BETA2], square);
    w[GROUP_BETA2_C] = AS_U32((float)(1.0 - square));
    w[GROUP_EPS] = AS_U32((float)o->eps);
    w[GROUP_DECAY] = AS_U32((float)o->weight_decay);
    w[GROUP_LR_DECAY] = AS_U32((float)o->lr_decay);
    w[GROUP_MAX_NORM] = AS_U32((float)o->max_grad_norm);
    fpenv_leave(env);
}

/* Depends on the options at the time when the state is created. From then on
 * the state has the list of slots. A schedule of momentum counts as momentum
 * even if it begins with 0. SLOT_MASTER depends on the parameter, not on its
 * group. */
bool slot_used(const ssq_group *g, int slot)
{
    const ssq_optimizer_options *o = &g->options;
    if (slot == SLOT_MASTER)
        return false;
    switch (optimizer_kinds[g->optimizer->kind].slot[slot - SLOT_A].when) {
    case ALWAYS:
        return true;
    case WITH_MOMENTUM:
        return o->momentum != 0.0 || g->schedule[SCHEDULE_MOMENTUM].on;
    case WITH_AMSGRAD:
        return o->amsgrad;
    case WITH_CENTERED:
        return o->centered;
    default:
        return false;
    }
}

/* A kind has at most one slot that depends on momentum. Before the state exists
 * no slot is missing: it will be created if the options need it by then. */
bool momentum_missing(const ssq_group *g)
{
    const struct optimizer_kind *k = &optimizer_kinds[g->optimizer->kind];
    for (int slot = SLOT_A; slot < SLOTS; slot++)
        if (k->slot[slot - SLOT_A].when == WITH_MOMENTUM)
            return g->optimizer->state != NULL && !g->slot[slot];
    return false;
}
