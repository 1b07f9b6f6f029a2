/* SPDX-License-Identifier: Apache-2.0 */
/* compare_facts.c - the properties of a trainer, as names and values that ranks
 * compare before a step.
 *
 * Numbers are printed with enough digits to distinguish any two doubles. A
 * value that is too long to print is represented by a digest. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/scaler/options.h"
#include "lib/amp/scaler/scaler_object.h"
#include "lib/core/base/crc64.h"
#include "lib/tape/params.h"
#include "lib/train/trainer.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Maximum length of a fact's value, and of a name that is created here. */
#define VALUE_BYTES 160
#define NAME_BYTES  48

/* A list of facts. Each has a value; `names` stores the names that are created
 * here. */
struct facts {
    ssq_comm_fact *at;
    char (*values)[VALUE_BYTES];
    char (*names)[NAME_BYTES];
    size_t n;
};

static char *facts_add(struct facts *f, const char *name)
{
    char *value = f->values[f->n];
    f->at[f->n++] = (ssq_comm_fact){name, value};
    return value;
}

static unsigned long long facts_digest_of(const void *bytes, size_t n)
{
    struct crc64 crc;
    crc64_begin(&crc);
    return crc64_add(&crc, 0, bytes, n);
}

/* ---- parameters ---- */

/* Add a fact for each parameter. Its group is included, because the group
 * decides the parameter's options and its place in the sums. */
static void facts_add_params(const ssq_trainer *t, struct facts *f)
{
    char shape[96], group[24];
    for (size_t i = 0; i < t->params->n; i++) {
        const struct param *p = param_of(t->params, (uint32_t)i);
        const struct view *v = &p->tensor->view;
        const struct parameter *of = optimizer_find(t->optimizer, p->name);
        group[0] = '\0';
        if (of != NULL && of->group->index > 0)
            (void)snprintf(group, sizeof(group), " of group %u",
                           of->group->index);
        (void)snprintf(facts_add(f, p->name), VALUE_BYTES, "%s %s%s",
                       ssq_dtype_name(v->dtype),
                       view_text(v, shape, sizeof(shape)), group);
    }
}

/* ---- groups ---- */

/* An option's name, and its offset in the options. */
struct facts_option {
    const char *name;
    size_t at;
};
#define OPTION(name) #name, offsetof(ssq_optimizer_options, name)

static const struct facts_option numbers[] = {
    {OPTION(lr)},           {OPTION(momentum)},
    {OPTION(dampening)},    {OPTION(beta1)},
    {OPTION(beta2)},        {OPTION(alpha)},
    {OPTION(eps)},          {OPTION(weight_decay)},
    {OPTION(lr_decay)},     {OPTION(initial_accumulator)},
    {OPTION(max_grad_norm)}};

static const struct facts_option flags[] = {
    {OPTION(nesterov)},      {OPTION(amsgrad)},    {OPTION(centered)},
    {OPTION(maximize)},      {OPTION(use_nvlamb)}, {OPTION(bias_correction)},
    {OPTION(grad_averaging)}};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))
#define FLAGS   (sizeof(flags) / sizeof(flags[0]))

/* Facts of one group: numbers, flags, the form of adam and two schedules. */
#define GROUP_FACTS (NUMBERS + FLAGS + 3)

/* Add a fact of a group. Its name begins with the group's number, except in the
 * default group. */
static char *facts_add_option(struct facts *f, const ssq_group *g,
                              const char *name)
{
    char *full = f->names[f->n];
    if (g->index == 0)
        return facts_add(f, name);
    (void)snprintf(full, NAME_BYTES, "group %u: %s", g->index, name);
    return facts_add(f, full);
}

/* Add a schedule as a fact: the values that steps will read. */
static ssq_status facts_add_schedule(const ssq_group *g, int which,
                                     const char *name, struct facts *f)
{
    const struct schedule *s = &g->schedule[which];
    char *value = facts_add_option(f, g, name);
    uint32_t *words = NULL;
    if (!s->on) {
        (void)snprintf(value, VALUE_BYTES, "none");
        return SSQ_OK;
    }
    ssq_status st = schedule_words(&s->what, &words);
    if (st == SSQ_OK)
        (void)snprintf(
            value, VALUE_BYTES, "%u steps from %.9g (%016llx)", words[0],
            (double)AS_F32(words[1]),
            facts_digest_of(words, ((size_t)words[0] + 1) * sizeof(*words)));
    mem_free(words);
    return st;
}

static ssq_status facts_add_group(const ssq_group *g, struct facts *f)
{
    const char *options = (const char *)&g->options;
    for (size_t i = 0; i < NUMBERS; i++)
        (void)snprintf(facts_add_option(f, g, numbers[i].name), VALUE_BYTES,
                       "%.17g", *(const double *)(options + numbers[i].at));
    for (size_t i = 0; i < FLAGS; i++)
        (void)snprintf(facts_add_option(f, g, flags[i].name), VALUE_BYTES, "%s",
                       *(const bool *)(options + flags[i].at) ? "true"
                                                              : "false");
    (void)snprintf(facts_add_option(f, g, "form"), VALUE_BYTES, "%d",
                   (int)g->options.form);
    ssq_status st = facts_add_schedule(g, SCHEDULE_LR, "lr's schedule", f);
    return st == SSQ_OK ? facts_add_schedule(g, SCHEDULE_MOMENTUM,
                                             "momentum's schedule", f)
                        : st;
}

/* ---- the rest ---- */

/* Add the scaler as a fact. If the scaler's state was written since its
 * creation, by updates of another trainer or by a load, only the options are
 * compared. The host's copy of the state then depends on which updates have
 * arrived. The checkpoint's digest is a separate fact. */
static void facts_add_scaler(const ssq_trainer *t, struct facts *f)
{
    char *value = facts_add(f, "scaler");
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    uint32_t words[SCALER_WORDS];
    int at = 0;
    if (t->scaler == NULL) {
        (void)snprintf(value, VALUE_BYTES, "none");
        return;
    }
    const ssq_scaler_options *o = &t->scaler->options;
    scaler_known(t->scaler, &s);
    options_words(o, words);
    if (readback_enqueued(t->scaler->readback) == 0)
        at = snprintf(value, VALUE_BYTES, "scale %.9g, %u good steps, ",
                      s.scale, s.good);
    (void)snprintf(value + at, VALUE_BYTES - (size_t)at,
                   "growth %.17g every %u, backoff %.17g (%016llx)",
                   o->growth_factor, o->growth_interval, o->backoff_factor,
                   facts_digest_of(words, sizeof(words)));
}

/* Add the ranks' weights as a fact: as many as fit, and a digest of all. */
static void facts_add_weights(const ssq_trainer *t, struct facts *f)
{
    char *value = facts_add(f, "weights");
    size_t size = ssq_comm_size(t->comm), at = 0;
    if (t->weights == NULL) {
        (void)snprintf(value, VALUE_BYTES, "equal");
        return;
    }
    for (size_t r = 0; r < size && at + 48 < VALUE_BYTES; r++)
        at += (size_t)snprintf(value + at, VALUE_BYTES - at, "%.6g ",
                               t->weights[r]);
    (void)snprintf(value + at, VALUE_BYTES - at, "(%016llx)",
                   facts_digest_of(t->weights, size * sizeof(double)));
}

/* Add the facts of the whole optimizer. */
static void facts_add_optimizer(const ssq_optimizer *o, struct facts *f)
{
    (void)snprintf(facts_add(f, "optimizer"), VALUE_BYTES, "%.32s",
                   optimizer_kinds[o->kind].name);
    (void)snprintf(facts_add(f, "groups"), VALUE_BYTES, "%u", o->n_groups);
    (void)snprintf(facts_add(f, "clip_norm"), VALUE_BYTES, "%.17g",
                   o->options.clip_norm);
    (void)snprintf(facts_add(f, "master"), VALUE_BYTES, "%d%s",
                   (int)o->options.master,
                   o->options.flat_master ? ", flat" : "");
    (void)snprintf(facts_add(f, "optimizer's seed"), VALUE_BYTES, "%llu",
                   (unsigned long long)o->options.seed);
}

/* Add the policy as a fact: its first characters, and a digest if it is
 * longer. */
static void facts_add_policy(const ssq_trainer *t, struct facts *f)
{
    char *value = facts_add(f, "policy");
    const char *policy = t->params->policy_name;
    const size_t n = strlen(policy);
    const int at = snprintf(value, VALUE_BYTES, "%.64s", policy);
    if ((size_t)at < n)
        (void)snprintf(value + at, VALUE_BYTES - (size_t)at, ".. (%016llx)",
                       facts_digest_of(policy, n));
}

static void facts_add_trainer(const ssq_trainer *t, struct facts *f)
{
    facts_add_policy(t, f);
    (void)snprintf(facts_add(f, "seed"), VALUE_BYTES, "%llu",
                   (unsigned long long)t->params->options.seed);
    (void)snprintf(facts_add(f, "float32_gradients"), VALUE_BYTES, "%s",
                   t->params->options.float32_gradients ? "true" : "false");
    (void)snprintf(facts_add(f, "clip_value"), VALUE_BYTES, "%.17g",
                   t->clip_value);
    (void)snprintf(facts_add(f, "accumulate"), VALUE_BYTES, "%u",
                   t->accumulate);
    (void)snprintf(facts_add(f, "checkpoint"), VALUE_BYTES, "%s",
                   t->loaded[0] == '\0' ? "none" : t->loaded);
    (void)snprintf(facts_add(f, "shard"), VALUE_BYTES, "%s",
                   t->shard ? "true" : "false");
    (void)snprintf(facts_add(f, "bucket_bytes"), VALUE_BYTES, "%llu",
                   (unsigned long long)t->bucket_bytes);
    (void)snprintf(facts_add(f, "compare_every"), VALUE_BYTES, "%u",
                   t->compare_every);
    facts_add_scaler(t, f);
    facts_add_weights(t, f);
}

/* Maximum number of facts that facts_add_trainer() and facts_add_optimizer()
 * add. */
#define WHOLE_FACTS 16

static ssq_status facts_compare(ssq_trainer *t, struct facts *f)
{
    ssq_status st = SSQ_OK;
    facts_add_trainer(t, f);
    facts_add_optimizer(t->optimizer, f);
    for (const ssq_group *g = t->optimizer->groups; g != NULL && st == SSQ_OK;
         g = g->next)
        st = facts_add_group(g, f);
    facts_add_params(t, f);
    return st == SSQ_OK
               ? ssq_comm_compare(t->queue, t->comm, f->at, f->n, "trainer")
               : st;
}

ssq_status trainer_compare_facts(ssq_trainer *t)
{
    size_t most =
        WHOLE_FACTS + t->optimizer->n_groups * GROUP_FACTS + t->params->n;
    struct facts f = {.n = 0};
    if (t->comm == NULL || t->facts_compared)
        return SSQ_OK;
    f.at = mem_alloc_array(most, sizeof(*f.at));
    f.values = mem_alloc_array(most, sizeof(*f.values));
    f.names = mem_alloc_array(most, sizeof(*f.names));
    ssq_status st = f.at == NULL || f.values == NULL || f.names == NULL
                        ? error_nomem("trainer_step", most * VALUE_BYTES)
                        : facts_compare(t, &f);
    t->facts_compared = st == SSQ_OK;
    mem_free(f.at);
    mem_free(f.values);
    mem_free(f.names);
    return st;
}
