/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - ssq_gemm_tune: time every implementation that can run a gemm.
 *
 * A candidate is an implementation, or one algorithm of it. It runs like any
 * op, except that the op names it. The result is the least time of several
 * rounds, because other work of the machine only makes a round longer. */
#include "lib/op/gemm/tuned.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/core/memory/pool.h"
#include "lib/core/queue/dispatch.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/window.h"

/** Number of rounds, and the duration of each: long compared with a launch. */
#define ROUNDS        3
#define ROUND_SECONDS 0.02
#define MOST_RUNS     1000.0
/** Candidates slower than HOPELESS times the best so far are not timed
 *  again. */
#define HOPELESS 4.0
/** A choice other than the rules' must be faster by this factor. */
#define WORTH 0.98

/** The state of a search. */
struct tune_search {
    ssq_queue *queue;
    struct gemm_op *op;
    struct choice rule; /* the choice of the rules */
    bool ruled;         /* by_rule is set, from the first algorithm of rule */
    uint32_t tried;
    struct tuning best, by_rule;
};

static double tune_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Run n gemms in sequence. Sets *seconds to the time of each. */
static ssq_status tune_run(const struct tune_search *s, int n, double *seconds)
{
    double began = tune_now();
    ssq_status st = SSQ_OK;
    for (int i = 0; st == SSQ_OK && i < n; i++)
        st = queue_enqueue(s->queue, &s->op->op);
    if (st == SSQ_OK)
        st = queue_wait(s->queue);
    *seconds = (tune_now() - began) / n;
    return st;
}

static bool is_same(const struct choice *a, const struct choice *b)
{
    return a->plan == b->plan && a->index == b->index;
}

/* Set names to the algorithms that an implementation offers, or to a single 0
 * if it offers none. Returns their number. */
static unsigned algorithms(const struct tune_search *s, const struct choice *c,
                           uint64_t *names)
{
    const ssq_device *d = s->queue->device;
    unsigned n = 0;
    if (!c->plan && d->backend->ops->gemm_algorithms != NULL)
        n = d->backend->ops->gemm_algorithms(d->impl, s->op, c->index, names);
    if (n == 0)
        names[n++] = 0;
    return n;
}

/* Return true if the op would still choose this candidate. Some implementations
 * find out only as they run that they cannot; another one has run then. */
static bool tune_is_there(const struct tune_search *s, const struct choice *c)
{
    uint64_t names[GEMM_ALGORITHMS];
    struct choice found;
    if (dispatch(s->queue->device, &s->op->op, &found) != SSQ_OK ||
        !is_same(&found, c))
        return false;
    unsigned n = algorithms(s, c, names);
    for (unsigned i = 0; i < n; i++)
        if (names[i] == s->op->algorithm)
            return true;
    return false;
}

/* Time the op with the candidate that it names. *least is 0 if the candidate
 * has not run. */
static ssq_status tune_measure(const struct tune_search *s,
                               const struct choice *c, double *least)
{
    double one = 0.0, round;
    *least = 0.0;
    ssq_status st = tune_run(s, 1, &one); /* loads kernels, allocates memory */
    if (st == SSQ_OK && tune_is_there(s, c))
        st = tune_run(s, 1, &one);
    else
        return st == SSQ_ERR_UNSUPPORTED ? SSQ_OK : st;
    if (st != SSQ_OK)
        return st;
    *least = one;
    if (s->tried > 0 && one > HOPELESS * s->best.seconds)
        return SSQ_OK;
    double runs = one > 0.0 ? ROUND_SECONDS / one : MOST_RUNS;
    int n = runs < 1.0 ? 1 : runs > MOST_RUNS ? (int)MOST_RUNS : (int)runs;
    for (int i = 0; st == SSQ_OK && i < ROUNDS; i++) {
        st = tune_run(s, n, &round);
        if (st == SSQ_OK && round < *least)
            *least = round;
    }
    return st;
}

static ssq_status tune_try_one(struct tune_search *s, const struct choice *c)
{
    struct tuning t;
    memset(&t, 0, sizeof(t)); /* all bytes are written to the file */
    t.key = tuning_key_of(s->op);
    snprintf(t.implementation, sizeof(t.implementation), "%s", c->name);
    t.algorithm = s->op->algorithm;
    ssq_status st = tune_measure(s, c, &t.seconds);
    if (st != SSQ_OK || t.seconds <= 0.0)
        return st;
    if (log_enabled("tune"))
        log_line(SSQ_LOG_DEBUG, "tune", "%s %016llx: %.3g s", c->name,
                 (unsigned long long)t.algorithm, t.seconds);
    if (s->tried++ == 0 || t.seconds < s->best.seconds)
        s->best = t;
    if (!s->ruled && is_same(c, &s->rule)) {
        s->by_rule = t;
        s->ruled = true;
    }
    return SSQ_OK;
}

static ssq_status try_implementation(struct tune_search *s, unsigned number,
                                     const struct choice *c)
{
    uint64_t names[GEMM_ALGORITHMS];
    unsigned n = algorithms(s, c, names);
    ssq_status st = SSQ_OK;
    for (unsigned i = 0; st == SSQ_OK && i < n; i++) {
        s->op->op.prefer = (uint16_t)(number + 1);
        s->op->algorithm = names[i];
        st = tune_try_one(s, c);
    }
    tuning_forget(s->op);
    return st;
}

static ssq_status tune_try_all(struct tune_search *s)
{
    ssq_device *d = s->queue->device;
    struct choice c;
    ssq_status st = dispatch(d, &s->op->op, &s->rule);
    for (unsigned i = 0; st == SSQ_OK && choice_nth(d, OP_gemm, i, &c); i++) {
        struct why why;
        st = choice_admits(d, &s->op->op, &c, &why);
        if (st == SSQ_OK)
            st = try_implementation(s, i, &c);
        else if (st == SSQ_ERR_UNSUPPORTED)
            st = SSQ_OK;
    }
    if (st != SSQ_OK || s->tried > 0)
        return st;
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "gemm_tune: no implementation that %s allows has run",
                     d->props.name);
}

/* Refuse a queue on which nothing can be chosen or waited for. */
static ssq_status tune_check_queue(ssq_queue *q, const char *name)
{
    const ssq_device *d = q->device;
    bool recorded = false;
    ssq_status st = queue_recorded(q, &recorded);
    if (st != SSQ_OK)
        return st;
    if (recorded || queue_capturing(q))
        return error_set(SSQ_ERR_INVALID, "%s: the queue is being captured",
                         name);
    return d->pins[OP_gemm][0] == '\0'
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "%s: gemm is pinned to %s: there is no choice", name,
                           d->pins[OP_gemm]);
}

static ssq_status check_op(const ssq_queue *q, const struct gemm_op *op,
                           const char *name)
{
    if (view_elements(&op->d) == 0 || op->k == 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: nothing is multiplied: d has %lld elements, k or "
                         "alpha may be 0",
                         name, (long long)view_elements(&op->d));
    uint64_t bytes = pool_binding_bytes(q->device->pool);
    return window_fits(&op->op, bytes)
               ? SSQ_OK
               : error_set(SSQ_ERR_UNSUPPORTED,
                           "%s: an operand is larger than a launch may bind, "
                           "%llu bytes",
                           name, (unsigned long long)bytes);
}

/* Return the result: the choice of the rules, unless another one is worth
 * it. */
static struct tuning tune_decide(const struct tune_search *s)
{
    struct tuning t = s->best;
    if (s->ruled && s->best.seconds > WORTH * s->by_rule.seconds)
        t = s->by_rule;
    t.rule_seconds = s->ruled ? s->by_rule.seconds : t.seconds;
    return t;
}

ssq_status ssq_gemm_tune(ssq_queue *queue, const ssq_gemm_args *args,
                         ssq_gemm_tuning *out)
{
    const char *name = "gemm_tune";
    struct gemm_op op;
    if (out == NULL || out->struct_size != sizeof(*out))
        return error_set(SSQ_ERR_INVALID,
                         "%s: out is NULL or has another struct_size than %zu",
                         name, sizeof(*out));
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = tune_check_queue(queue, name);
    if (st != SSQ_OK)
        return st;
    bool batched = args->d != NULL && args->d->view.rank > 2;
    st = gemm_build(queue, args, batched, name, &op);
    if (st == SSQ_OK)
        st = check_op(queue, &op, name);
    if (st != SSQ_OK)
        return st;
    tuning_forget(&op);
    struct tune_search s = {.queue = queue, .op = &op};
    st = queue_wait(queue); /* do not time earlier work */
    if (st == SSQ_OK)
        st = tune_try_all(&s);
    if (st != SSQ_OK)
        return st;
    struct tuning t = tune_decide(&s);
    *out = tuning_export(&t);
    out->tried = s.tried;
    out->kept = tuning_keep(queue->device, &t);
    return SSQ_OK;
}
