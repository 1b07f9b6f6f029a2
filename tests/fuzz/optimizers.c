/* SPDX-License-Identifier: Apache-2.0 */
/* optimizers.c - actions on optimizers and their state. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/amp/kinds.h"
#include "tests/fuzz/action.h"

static const double hypers[] = {0.1,  0.0,   0.9,      1.0, 1e-3, 0.5,
                                -1.0, 0.999, INFINITY, NAN, 2.0,  1e-8,
                                1e30, 1e-40, -0.5,     0.25};
enum { HYPERS = sizeof(hypers) / sizeof(hypers[0]) };

static ssq_optimizer *optimizer_of(struct objects *o, unsigned side,
                                   const struct fuzz_choice *k)
{
    return o->optimizer[k->slot][side];
}

/* With a scaler half of the time, and mostly the same one. */
static ssq_scaler *scaler_of(struct objects *o, unsigned side,
                             const struct fuzz_choice *k)
{
    if (k->word % 8 < 3)
        return NULL;
    return o->scaler[k->word % 8 == 7 ? !k->slot : k->slot][side];
}

static void choose_options(struct objects *o, struct fuzz_choice *k)
{
    k->kind = input_byte(o->in);
    k->count = input_byte(o->in);
    k->word = input_u64(o->in);
    k->value = choose_double(o, hypers, HYPERS);
}

static const char *const kinds[] = {KIND_NAMES "other"};
enum { KINDS = OPT_KINDS + 1 };

static ssq_optimizer_options options_of(const struct fuzz_choice *k)
{
    ssq_optimizer_options p = SSQ_OPTIMIZER_INIT;
    const char *kind = kinds[k->kind % KINDS];
    bool sgd = strcmp(kind, "sgd") == 0, adam = strstr(kind, "adam") != NULL;
    p.lr = 0.1;
    if ((k->word & 1) != 0)
        p.weight_decay = 0.01;
    if ((k->word & 2) != 0 && (sgd || strcmp(kind, "rmsprop") == 0))
        p.momentum = 0.9;
    if ((k->word & 4) != 0 && sgd && p.momentum > 0)
        p.nesterov = true;
    if ((k->word & 8) != 0 && sgd && !p.nesterov && p.momentum > 0)
        p.dampening = 0.5;
    p.amsgrad = adam && (k->word & 16) != 0;
    p.centered = strcmp(kind, "rmsprop") == 0 && (k->word & 32) != 0;
    p.maximize = (k->word & 64) != 0;
    if (strcmp(kind, "adamw") == 0 && !p.amsgrad && (k->word & 128) != 0)
        p.form = SSQ_ADAM_APEX;
    if ((k->word & 256) != 0)
        p.clip_norm = (k->word & 512) != 0 ? INFINITY : 1.0;
    p.master = (ssq_master_kind)(k->word >> 10 & 3);
    if (p.master > SSQ_MASTER_NONE)
        p.master = SSQ_MASTER_F32;
    p.flat_master = p.master == SSQ_MASTER_F32 && (k->word & 4096) != 0;
    p.seed = k->word >> 32;
    p.statistics = (k->word & 8192) != 0;
    double *const list[] = {&p.lr,
                            &p.momentum,
                            &p.dampening,
                            &p.beta1,
                            &p.beta2,
                            &p.alpha,
                            &p.eps,
                            &p.clip_norm,
                            &p.weight_decay,
                            &p.lr_decay,
                            &p.initial_accumulator,
                            &p.max_grad_norm};
    if (k->count >= 200)
        *list[k->count % 12] = k->value;
    return p;
}

static ssq_status create(struct objects *o, unsigned side,
                         const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_optimizer_options p = options_of(k);
    ssq_optimizer_destroy(&o->optimizer[k->slot][side]);
    memset(&o->group[k->slot], 0, sizeof(o->group[k->slot]));
    if (side == 1)
        o->params[k->slot] = 0;
    return ssq_optimizer_create(o->pair->device[side], kinds[k->kind % KINDS],
                                &p, &o->optimizer[k->slot][side]);
}

static ssq_status group(struct objects *o, unsigned side,
                        const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_optimizer_options p = options_of(k);
    return ssq_optimizer_group(optimizer_of(o, side, k), &p,
                               &o->group[k->slot][k->count % SLOTS][side]);
}

static void param_name(char *name, size_t bytes, unsigned i)
{
    snprintf(name, bytes, "p%u", i);
}

/* Parameters stand apart, as they must, nearly always. */
static void choose_param(struct objects *o, struct fuzz_choice *k)
{
    ssq_dtype dtype = choose_float(o);
    k->rank = 1;
    k->shape[0] = 1 + input_below(o->in, 40);
    k->group = input_below(o->in, 4);
    k->count = o->params[k->slot];
    for (unsigned i = 0; i < 2; i++) {
        ssq_status st[SIDES];
        ssq_dtype of = i == 0 || input_byte(o->in) < 192 ? dtype : SSQ_F32;
        uint64_t at = (k->count * 2 + i) * 176u + k->slot * 2048u;
        if (input_byte(o->in) >= 250)
            at = (uint64_t)input_byte(o->in) * 4;
        for (unsigned s = 0; s < SIDES; s++)
            st[s] =
                ssq_tensor_from_buffer(o->pair->buffer[0][s], of, 1, k->shape,
                                       NULL, at, &k->tensor[i][s]);
        (void)pair_same("tensor_from_buffer", st[0], st[1]);
    }
}

static ssq_status add(struct objects *o, unsigned side,
                      const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    char name[16];
    param_name(name, sizeof(name), k->count);
    ssq_status st = ssq_optimizer_add(
        optimizer_of(o, side, k), name, k->tensor[0][side], k->tensor[1][side],
        k->group >= 2 ? o->group[k->slot][k->group % 2][side] : NULL);
    if (side == 1 && st == SSQ_OK)
        o->params[k->slot] = (o->params[k->slot] + 1) % (PARAMS + 1);
    return st;
}

static void choose_use(struct objects *o, struct fuzz_choice *k)
{
    k->word = input_byte(o->in);
    k->kind = input_below(o->in, 8);
    k->group = input_below(o->in, 4);
    k->count = input_below(o->in, PARAMS);
    k->value = choose_double(o, hypers, HYPERS);
}

static ssq_group *group_of(struct objects *o, unsigned side,
                           const struct fuzz_choice *k)
{
    return k->group >= 2 ? o->group[k->slot][k->group % 2][side] : NULL;
}

static ssq_status shard(struct objects *o, unsigned side,
                        const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    char name[16];
    param_name(name, sizeof(name), k->count);
    return ssq_optimizer_shard(optimizer_of(o, side, k), name, k->word);
}

static ssq_status check(struct objects *o, unsigned side,
                        const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_optimizer_check(o->pair->queue[side], optimizer_of(o, side, k),
                               scaler_of(o, side, k));
}

static ssq_status unscale(struct objects *o, unsigned side,
                          const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_optimizer_unscale(o->pair->queue[side], optimizer_of(o, side, k),
                                 scaler_of(o, side, k));
}

static ssq_status step(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_optimizer_step(o->pair->queue[side], optimizer_of(o, side, k),
                              scaler_of(o, side, k));
}

static ssq_status accumulate(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_optimizer_accumulate(o->pair->queue[side],
                                    optimizer_of(o, side, k), k->value);
}

static ssq_status zero_grad(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_optimizer_zero_grad(o->pair->queue[side],
                                   optimizer_of(o, side, k));
}

static ssq_status set(struct objects *o, unsigned side,
                      const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_optimizer_set(o->pair->queue[side], optimizer_of(o, side, k),
                             group_of(o, side, k), (ssq_hyper)k->kind,
                             k->value);
}

/* A schedule's value is for the last t that the host knows, after a sync. */
static ssq_status get(struct objects *o, unsigned side,
                      const struct fuzz_choice *k, struct got *g)
{
    double value = 0.0;
    if (!o->pair->capturing) {
        ssq_status st = ssq_queue_sync(o->pair->queue[side]);
        if (st != SSQ_OK)
            return st;
    }
    ssq_status st =
        ssq_optimizer_get(optimizer_of(o, side, k), group_of(o, side, k),
                          (ssq_hyper)k->kind, &value);
    got_number(g, o->pair->capturing ? 0.0 : value);
    return st;
}

static ssq_status schedule(struct objects *o, unsigned side,
                           const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    static const double table[8] = {0.1, 0.2, 0.3, 0.1, 0.0, 0.5, 0.1, 1.0};
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    s.kind = (ssq_schedule_kind)(k->word % 6);
    s.base = 0.1;
    s.total_steps = 1 + (uint32_t)(k->word >> 3 & 7);
    s.step_size = 1 + (uint32_t)(k->word >> 6 & 1);
    s.table = table;
    return ssq_optimizer_schedule(
        o->pair->queue[side], optimizer_of(o, side, k), group_of(o, side, k),
        k->kind < 4 ? SSQ_HYPER_LR : (ssq_hyper)(k->kind - 4),
        k->word >= 240 ? NULL : &s);
}

static ssq_status to_master(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_queue *q = o->pair->queue[side];
    return k->kind % 2 == 0
               ? ssq_optimizer_model_to_master(q, optimizer_of(o, side, k))
               : ssq_optimizer_master_to_model(q, optimizer_of(o, side, k));
}

static ssq_status master(struct objects *o, unsigned side,
                         const struct fuzz_choice *k, struct got *g)
{
    char name[16];
    const ssq_tensor *tensor = NULL;
    param_name(name, sizeof(name), k->count);
    ssq_status st =
        ssq_optimizer_master(optimizer_of(o, side, k), group_of(o, side, k),
                             k->word >= 224 ? NULL : name, &tensor);
    got_number(g, (double)ssq_tensor_elements(tensor));
    return st;
}

/* The results do not depend on the device, except `other`. */
static ssq_status memory(struct objects *o, unsigned side,
                         const struct fuzz_choice *k, struct got *g)
{
    ssq_memory_report r = SSQ_MEMORY_REPORT_INIT;
    ssq_status st = ssq_optimizer_memory(optimizer_of(o, side, k),
                                         k->word >= 224 ? NULL : &r);
    got_number(g, (double)(r.own + r.params + r.grads + r.sums));
    got_number(g, (double)(r.masters + r.moments));
    return st;
}

struct optimizers_visit {
    ssq_queue *queue;
    struct got *g;
};

static ssq_status visit_one(void *user, const char *name,
                            const ssq_tensor *tensor)
{
    struct optimizers_visit *v = user;
    ssq_dtype dtype = ssq_tensor_dtype(tensor);
    size_t bytes =
        (size_t)ssq_tensor_elements(tensor) * (ssq_dtype_bits(dtype) / 8);
    if (v->g->bytes + bytes > LOOKED)
        return SSQ_ERR_NOT_FOUND;
    snprintf(v->g->text, sizeof(v->g->text), "%.60s", name);
    ssq_status st = ssq_tensor_read(v->queue, tensor,
                                    v->g->looked + v->g->bytes, bytes, dtype);
    v->g->bytes += (unsigned)bytes;
    return st;
}

static ssq_status visit(struct objects *o, unsigned side,
                        const struct fuzz_choice *k, struct got *g)
{
    struct optimizers_visit v = {o->pair->queue[side], g};
    ssq_status st =
        ssq_optimizer_visit(v.queue, optimizer_of(o, side, k), visit_one, &v);
    ssq_status sync = o->pair->capturing ? SSQ_OK : ssq_queue_sync(v.queue);
    if (st != SSQ_OK)
        g->bytes = 0;
    return st != SSQ_OK ? st : sync;
}

static ssq_status overflow(struct objects *o, unsigned side,
                           const struct fuzz_choice *k, struct got *g)
{
    ssq_overflow_report r = SSQ_OVERFLOW_REPORT_INIT;
    ssq_status st = ssq_optimizer_overflow(o->pair->queue[side],
                                           optimizer_of(o, side, k), &r);
    snprintf(g->text, sizeof(g->text), "%.60s", r.name);
    got_number(g, (double)r.index);
    got_number(g, r.nan);
    got_number(g, r.infs);
    got_number(g, r.nans);
    got_number(g, r.tensors);
    got_number(g, r.check);
    return st;
}

static ssq_status statistics(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    char name[16];
    ssq_statistics s = SSQ_STATISTICS_INIT;
    param_name(name, sizeof(name), k->count);
    ssq_status st =
        ssq_optimizer_statistics(o->pair->queue[side], optimizer_of(o, side, k),
                                 k->word % 2 == 0 ? NULL : name, &s);
    got_number(g, (double)s.elements);
    got_number(g, (double)s.zeros);
    got_number(g, (double)s.subnormals);
    got_number(g, s.max_exponent);
    got_number(g, (double)s.rounded_away);
    return st;
}

static ssq_status norm(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    float value = 0.0f;
    uint32_t t = 0;
    ssq_status st =
        ssq_optimizer_norm(o->pair->queue[side], optimizer_of(o, side, k),
                           k->word % 4 == 0 ? NULL : &value, &t);
    got_number(g, value);
    got_number(g, t);
    return st;
}

static ssq_status destroy(struct objects *o, unsigned side,
                          const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_optimizer_destroy(&o->optimizer[k->slot][side]);
    memset(&o->group[k->slot], 0, sizeof(o->group[k->slot]));
    return SSQ_OK;
}

const struct action optimizer_actions[] = {
    {"optimizer_create", choose_options, create, false},
    {"optimizer_add", choose_param, add, false},
    {"optimizer_add", choose_param, add, false},
    {"optimizer_group", choose_options, group, false},
    {"optimizer_shard", choose_use, shard, false},
    {"optimizer_check", choose_use, check, false},
    {"optimizer_unscale", choose_use, unscale, false},
    {"optimizer_step", choose_use, step, false},
    {"optimizer_step", choose_use, step, false},
    {"optimizer_accumulate", choose_use, accumulate, false},
    {"optimizer_zero_grad", choose_use, zero_grad, false},
    {"optimizer_set", choose_use, set, false},
    {"optimizer_get", choose_use, get, false},
    {"optimizer_schedule", choose_use, schedule, false},
    {"optimizer_masters", choose_use, to_master, false},
    {"optimizer_master", choose_use, master, false},
    {"optimizer_memory", choose_use, memory, false},
    {"optimizer_visit", choose_use, visit, false},
    {"optimizer_overflow", choose_use, overflow, false},
    {"optimizer_statistics", choose_use, statistics, false},
    {"optimizer_norm", choose_use, norm, false},
    {"optimizer_destroy", choose_use, destroy, false},
};
const size_t optimizer_actions_count =
    sizeof(optimizer_actions) / sizeof(optimizer_actions[0]);
