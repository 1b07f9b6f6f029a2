/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_options.c - hyper-parameters: defaults, ranges, device words. */
#include "lib/amp/optimizer.h"

#include <float.h>
#include <math.h>

const char *const optimizer_kinds[] = {[OPT_SGD] = "sgd",
                                       [OPT_ADAM] = "adam",
                                       [OPT_ADAMW] = "adamw",
                                       [OPT_RMSPROP] = "rmsprop",
                                       [OPT_ADAGRAD] = "adagrad",
                                       [OPT_LAMB] = "lamb",
                                       NULL};

#define BIT(KIND) (1u << (KIND))
#define ADAMS     (BIT(OPT_ADAM) | BIT(OPT_ADAMW))

/* torch's and, for lamb, apex's. */
static void fill_defaults(uint32_t kind, ssq_optimizer_options *o)
{
    if (o->lr == -1.0)
        o->lr = kind == OPT_RMSPROP || kind == OPT_ADAGRAD ? 1e-2 : 1e-3;
    if (o->eps == -1.0)
        o->eps = kind == OPT_ADAGRAD ? 1e-10 : kind == OPT_LAMB ? 1e-6 : 1e-8;
    if (o->weight_decay == -1.0)
        o->weight_decay = kind == OPT_ADAMW || kind == OPT_LAMB ? 1e-2 : 0.0;
}

static ssq_status check_ranges(const char *what, const ssq_optimizer_options *o)
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
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        double v = list[i].value;
        if (!(v >= 0.0) || v > FLT_MAX || (list[i].below_one && v >= 1.0))
            return error_set(SSQ_ERR_INVALID, "%s: %s is %g, expected %s", what,
                             list[i].name, v,
                             list[i].below_one ? "[0, 1)" : ">= 0, finite");
    }
    if (!(fabs(o->dampening) <= FLT_MAX))
        return error_set(SSQ_ERR_INVALID, "%s: dampening is %g", what,
                         o->dampening);
    return SSQ_OK;
}

/* An option that the kind does not read is refused where that can be seen. */
static ssq_status check_read(uint32_t kind, const char *what,
                             const ssq_optimizer_options *o)
{
    const struct {
        const char *name;
        bool set;
        unsigned kinds;
    } list[] = {
        {"momentum", o->momentum != 0.0, BIT(OPT_SGD) | BIT(OPT_RMSPROP)},
        {"dampening", o->dampening != 0.0, BIT(OPT_SGD)},
        {"nesterov", o->nesterov, BIT(OPT_SGD)},
        {"amsgrad", o->amsgrad, ADAMS},
        {"centered", o->centered, BIT(OPT_RMSPROP)},
        {"lr_decay", o->lr_decay != 0.0, BIT(OPT_ADAGRAD)},
        {"initial_accumulator", o->initial_accumulator != 0.0,
         BIT(OPT_ADAGRAD)},
        {"use_nvlamb", o->use_nvlamb, BIT(OPT_LAMB)},
        {"apex form", o->form == SSQ_ADAM_APEX, BIT(OPT_ADAMW)},
        {"choice of bias_correction", !o->bias_correction, BIT(OPT_LAMB)},
        {"choice of grad_averaging", !o->grad_averaging, BIT(OPT_LAMB)},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (list[i].set && (list[i].kinds & BIT(kind)) == 0)
            return error_set(SSQ_ERR_INVALID, "%s: %s has no %s", what,
                             optimizer_kinds[kind], list[i].name);
    return SSQ_OK;
}

ssq_status options_resolve(uint32_t kind, const char *what,
                           ssq_optimizer_options *o)
{
    fill_defaults(kind, o);
    ssq_status st = check_ranges(what, o);
    if (st == SSQ_OK)
        st = check_read(kind, what, o);
    if (st != SSQ_OK)
        return st;
    if (o->nesterov && (o->momentum <= 0.0 || o->dampening != 0.0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: nesterov with momentum %g and dampening %g, "
                         "expected > 0 and 0",
                         what, o->momentum, o->dampening);
    if ((unsigned)o->form > SSQ_ADAM_APEX)
        return error_set(SSQ_ERR_INVALID, "%s: form is %d, no form of adam",
                         what, (int)o->form);
    if (o->form == SSQ_ADAM_APEX && o->amsgrad)
        return error_set(SSQ_ERR_INVALID, "%s: amsgrad has no apex form", what);
    return SSQ_OK;
}

/* A double as the sum of two float32. */
static void put_pair(uint32_t *words, double value)
{
    float hi = (float)value;
    words[0] = AS_U32(hi);
    words[1] = AS_U32((float)(value - (double)hi));
}

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

void group_words(uint32_t kind, const ssq_optimizer_options *o, uint32_t *w)
{
    struct fpenv env = fpenv_enter();
    bool plain = kind == OPT_SGD || kind == OPT_RMSPROP;
    double square = kind == OPT_RMSPROP ? o->alpha : o->beta2;
    for (uint32_t i = 0; i < GROUP_WORDS; i++)
        w[i] = 0;
    w[GROUP_FLAGS] = flags_of(o);
    w[GROUP_LR] = AS_U32((float)o->lr);
    put_pair(&w[GROUP_MOMENTUM], plain ? o->momentum : o->beta1);
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

bool slot_used(const ssq_group *g, int slot)
{
    bool momentum =
        g->options.momentum != 0.0 || g->schedule[SCHEDULE_MOMENTUM].on;
    switch (g->optimizer->kind) {
    case OPT_SGD:
        return slot == SLOT_A && momentum;
    case OPT_RMSPROP:
        return slot == SLOT_A || (slot == SLOT_B && momentum) ||
               (slot == SLOT_C && g->options.centered);
    case OPT_ADAGRAD:
        return slot == SLOT_A;
    default:
        return slot == SLOT_A || slot == SLOT_B ||
               (slot == SLOT_C && g->options.amsgrad);
    }
}
