/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - a trainer that is one of several: what they compare, and their
 * gradients' sum.
 *
 * The check reads what the sum has made of the gradients, so that its verdict
 * and its norm are those of all ranks, and nothing more has to be agreed upon:
 * what is not finite on one rank is not finite in a sum. */
#include "lib/amp/optimizer.h"
#include "lib/amp/scaler_object.h"
#include "lib/core/crc64.h"
#include "lib/tape/params.h"
#include "lib/train/trainer.h"

#include <stdio.h>

/* Longest value of a fact. */
#define VALUE_BYTES 160

/* Facts in the making: a value for each, behind the array. */
struct facts {
    ssq_comm_fact *at;
    char (*values)[VALUE_BYTES];
    size_t n;
};

static char *fact(struct facts *f, const char *name)
{
    char *value = f->values[f->n];
    f->at[f->n++] = (ssq_comm_fact){name, value};
    return value;
}

static void param_facts(const ssq_trainer *t, struct facts *f)
{
    char shape[96];
    for (size_t i = 0; i < t->params->n; i++) {
        const struct param *p = param_of(t->params, (uint32_t)i);
        const struct view *v = &p->tensor->view;
        (void)snprintf(fact(f, p->name), VALUE_BYTES, "%s %s",
                       ssq_dtype_name(v->dtype),
                       view_text(v, shape, sizeof(shape)));
    }
}

/* A scaler that was written since it was made, by another trainer's updates or
 * by a load, is compared by its options alone: what the host knows of its state
 * depends on what has arrived. The checkpoint's digest is a fact of its own. */
static void scaler_fact(const ssq_trainer *t, struct facts *f)
{
    char *value = fact(f, "scaler");
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    int at = 0;
    if (t->scaler == NULL) {
        (void)snprintf(value, VALUE_BYTES, "none");
        return;
    }
    const ssq_scaler_options *o = &t->scaler->options;
    scaler_known(t->scaler, &s);
    if (mailbox_posted(t->scaler->mailbox) == 0)
        at = snprintf(value, VALUE_BYTES, "scale %.9g, %u good steps, ",
                      s.scale, s.good);
    (void)snprintf(value + at, VALUE_BYTES - (size_t)at,
                   "growth %.17g every %u, backoff %.17g", o->growth_factor,
                   o->growth_interval, o->backoff_factor);
}

/* As many as there is room for, and a digest of all. */
static void weights_fact(const ssq_trainer *t, struct facts *f)
{
    char *value = fact(f, "weights");
    size_t size = ssq_comm_size(t->comm), at = 0;
    struct crc64 crc;
    if (t->weights == NULL) {
        (void)snprintf(value, VALUE_BYTES, "equal");
        return;
    }
    crc64_begin(&crc);
    for (size_t r = 0; r < size && at + 48 < VALUE_BYTES; r++)
        at += (size_t)snprintf(value + at, VALUE_BYTES - at, "%.6g ",
                               t->weights[r]);
    (void)snprintf(value + at, VALUE_BYTES - at, "(%016llx)",
                   (unsigned long long)crc64_add(&crc, 0, t->weights,
                                                 size * sizeof(double)));
}

/* Hyper-parameters of the default group, as bits that they are printed with. */
static void trainer_facts(const ssq_trainer *t, struct facts *f)
{
    const ssq_optimizer_options *o = &t->optimizer->groups->options;
    (void)snprintf(fact(f, "policy"), VALUE_BYTES, "%.64s",
                   t->params->policy_name);
    (void)snprintf(fact(f, "optimizer"), VALUE_BYTES, "%.32s",
                   optimizer_kinds[t->optimizer->kind].name);
    (void)snprintf(fact(f, "lr"), VALUE_BYTES, "%.17g", o->lr);
    (void)snprintf(fact(f, "weight_decay"), VALUE_BYTES, "%.17g",
                   o->weight_decay);
    (void)snprintf(fact(f, "clip_norm"), VALUE_BYTES, "%.17g",
                   t->optimizer->options.clip_norm);
    (void)snprintf(fact(f, "clip_value"), VALUE_BYTES, "%.17g", t->clip_value);
    (void)snprintf(fact(f, "accumulate"), VALUE_BYTES, "%u", t->accumulate);
    scaler_fact(t, f);
    weights_fact(t, f);
    (void)snprintf(fact(f, "checkpoint"), VALUE_BYTES, "%s",
                   t->loaded[0] == '\0' ? "none" : t->loaded);
    (void)snprintf(fact(f, "shard"), VALUE_BYTES, "%s",
                   t->shard ? "true" : "false");
    (void)snprintf(fact(f, "bucket_bytes"), VALUE_BYTES, "%llu",
                   (unsigned long long)t->bucket_bytes);
    (void)snprintf(fact(f, "compare_every"), VALUE_BYTES, "%u",
                   t->compare_every);
    (void)snprintf(fact(f, "seed"), VALUE_BYTES, "%llu",
                   (unsigned long long)t->params->options.seed);
}

#define TRAINER_FACTS 14

ssq_status trainer_compare(ssq_trainer *t)
{
    size_t most = TRAINER_FACTS + t->params->n;
    struct facts f = {.n = 0};
    if (t->comm == NULL || t->compared)
        return SSQ_OK;
    f.at = mem_alloc_array(most, sizeof(*f.at));
    f.values = mem_alloc_array(most, sizeof(*f.values));
    ssq_status st = f.at == NULL || f.values == NULL
                        ? error_nomem("trainer_step", most * VALUE_BYTES)
                        : SSQ_OK;
    if (st == SSQ_OK) {
        trainer_facts(t, &f);
        param_facts(t, &f);
        st = ssq_comm_compare(t->queue, t->comm, f.at, f.n, "trainer");
    }
    t->compared = st == SSQ_OK;
    mem_free(f.at);
    mem_free(f.values);
    return st;
}

/* Behind a sum that a call has failed after, the step is due with it: it is not
 * summed again. */
ssq_status trainer_reduce(ssq_trainer *t)
{
    const ssq_optimizer *o = t->optimizer;
    ssq_status st;
    if (t->comm == NULL || t->reduced)
        return SSQ_OK;
    if (t->divided)
        st = trainer_reduce_divided(t);
    else if (t->shard)
        st = optimizer_reduce(t->queue, t->optimizer);
    else
        st = ssq_comm_all_reduce(
            t->queue, t->comm,
            SSQ_COMM_ALL_REDUCE(.tensors =
                                    (const ssq_tensor *const *)o->state->sum,
                                .n = o->n, .tag = "gradients"));
    t->reduced = st == SSQ_OK;
    return st;
}
