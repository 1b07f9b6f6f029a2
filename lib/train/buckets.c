/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c - sum gradients over ranks while the backward computes further
 * gradients.
 *
 * Buckets follow the parameters from the last created to the first. This is
 * roughly the order in which a backward reaches them, and it is the same on all
 * ranks. The sum of a bucket begins when all its gradients are complete and all
 * buckets before it have begun, or else after the backward.
 *
 * The first step does not use buckets: it creates the sums, and ranks have not
 * compared their parameters before it. */
#include "lib/amp/optimizer/buckets.h"
#include "lib/amp/optimizer/optimizer.h"
#include "lib/comm/parts.h"
#include "lib/tape/params.h"
#include "lib/tape/tape.h"
#include "lib/train/trainer.h"

#include <stdio.h>

static struct buckets *buckets_of(const ssq_trainer *t)
{
    const struct state *s = t->optimizer->state;
    return s == NULL ? NULL : s->buckets;
}

/* Set which[i] to the optimizer's number of parameter i. */
static void buckets_number_params(const ssq_trainer *t, size_t *which)
{
    const ssq_optimizer *o = t->optimizer;
    for (size_t i = 0; i < t->params->n; i++) {
        const struct param *p = param_of(t->params, (uint32_t)i);
        const struct parameter *of = optimizer_find(o, p->name);
        which[i] = of == NULL ? SIZE_MAX : (size_t)(of - o->params);
    }
}

static ssq_status buckets_create_all(ssq_trainer *t)
{
    size_t n = t->params->n;
    size_t *which = mem_alloc_array(n, sizeof(*which));
    if (which == NULL)
        return error_nomem("trainer_step", n * sizeof(*which));
    buckets_number_params(t, which);
    ssq_status st = buckets_create(t->optimizer, which, n, t->bucket_bytes,
                                   labels_flag(t->labels));
    mem_free(which);
    return st;
}

/* Add a bucket's gradients to their sums, unless they were added before. */
static ssq_status bucket_add_gradients(const ssq_trainer *t, struct bucket *b)
{
    ssq_status st = SSQ_OK;
    if (!b->added)
        st = optimizer_accumulate_list(t->queue, t->optimizer, b->pairs);
    b->added = st == SSQ_OK;
    return st;
}

/* Begin the sums of the next buckets, as long as they are complete. If this
 * fails, it is repeated after the backward, which can return the error. */
static void buckets_begin_complete(ssq_trainer *t, struct buckets *b)
{
    while (b->next < b->n && b->at[b->next].left == 0) {
        struct bucket *k = &b->at[b->next];
        if (bucket_add_gradients(t, k) != SSQ_OK ||
            bucket_begin(t->queue, t->comm, k) != SSQ_OK)
            return;
        b->next++;
    }
}

static void buckets_gradient_ready(void *user, uint32_t param)
{
    ssq_trainer *t = user;
    struct buckets *b = buckets_of(t);
    if (param >= b->of_n || b->of[param] == BUCKET_NONE)
        return; /* a state, or a parameter that is newer than the buckets */
    b->at[b->of[param]].left--;
    buckets_begin_complete(t, b);
}

/* Return whether this pass may use buckets. The result is the same on all
 * ranks: it follows from arguments that they have compared, and from a step
 * that all have made.
 *
 * A distributed optimizer does not use buckets. Its shards are runs of
 * parameters, so a bucket would belong to one rank, and all others would send
 * to it at the same time. Instead, all shards are summed together, and each
 * rank receives a part. */
static bool buckets_allowed(const ssq_trainer *t)
{
    return t->comm != NULL && !t->shard && t->bucket_bytes > 0 && t->stepped &&
           t->passes + 1 == t->accumulate && t->params_added == t->params->n &&
           t->tape->status == SSQ_OK;
}

/* Return whether buckets help. A single bucket has nothing to overlap with.
 * Parameters that the program itself added to the optimizer are not in any
 * bucket. */
static bool buckets_useful(const ssq_trainer *t)
{
    const struct buckets *b = buckets_of(t);
    return b->n > 1 && b->params == t->optimizer->n;
}

ssq_status trainer_choose_buckets(ssq_trainer *t)
{
    if (t->due != DUE_NOTHING) /* a failed step must be finished first */
        return SSQ_OK;
    t->bucketed = false;
    if (!buckets_allowed(t))
        return SSQ_OK;
    ssq_status st = optimizer_accumulate_begin(
        t->queue, t->optimizer, trainer_mean_factor(t, t->accumulate));
    if (st == SSQ_OK && buckets_of(t) == NULL)
        st = buckets_create_all(t);
    if (st != SSQ_OK || !buckets_useful(t))
        return st;
    st = labels_set_flag(t->labels, t->queue);
    if (st != SSQ_OK)
        return st;
    buckets_reset(buckets_of(t));
    t->bucketed = true;
    return SSQ_OK;
}

ssq_status trainer_backward(ssq_trainer *t, ssq_var loss)
{
    if (t->bucketed) {
        t->tape->ready = buckets_gradient_ready;
        t->tape->ready_user = t;
    }
    ssq_status st = ssq_tape_backward(t->tape, loss, t->scaler);
    t->tape->ready = NULL;
    return st;
}

/* `added` does not change: the caller's bundle may still drop the ops. */
ssq_status trainer_add_buckets(ssq_trainer *t)
{
    const struct buckets *b = buckets_of(t);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < b->n && st == SSQ_OK; i++)
        if (!b->at[i].added)
            st = optimizer_accumulate_list(t->queue, t->optimizer,
                                           b->at[i].pairs);
    return st;
}

ssq_status trainer_reduce_buckets(ssq_trainer *t)
{
    struct buckets *b = buckets_of(t);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < b->n && st == SSQ_OK; i++)
        st = bucket_begin(t->queue, t->comm, &b->at[i]);
    for (size_t i = 0; i < b->n && st == SSQ_OK; i++)
        st = bucket_wait(t->queue, &b->at[i]);
    t->bucketed = st != SSQ_OK;
    return st;
}

/* Handle a pass that failed with st. If other ranks may have received a part of
 * its gradients, end the group, because that part cannot be taken back. The
 * same applies if a part was added to the sums of earlier passes, because the
 * failed pass does not count. */
ssq_status trainer_abandon_buckets(ssq_trainer *t, ssq_status st)
{
    const struct buckets *b = buckets_of(t);
    bool sums = t->optimizer->at.accumulating, partial = false;
    for (size_t i = 0; i < b->n; i++)
        partial = partial || b->at[i].begun || (b->at[i].added && sums);
    t->bucketed = false;
    if (!partial)
        return st;
    char why[ERROR_TEXT], text[ERROR_TEXT];
    (void)snprintf(why, sizeof(why), "%s", ssq_last_error());
    (void)snprintf(text, sizeof(text),
                   "trainer_step: a pass of rank %u has failed when a part of "
                   "its gradients was summed: %.700s",
                   ssq_comm_rank(t->comm), why);
    comm_give_up(t->comm, text);
    return error_set(st, "%s", why);
}
