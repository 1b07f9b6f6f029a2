/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_alloc.c - when the Nth allocation fails, once or from then on: an
 * optimizer's call answers NOMEM, has changed no state, and can be repeated. */
#include "tests/amp/train.h"

#define SCALE 64.0

static struct {
    long calls;    /* of alloc, since it was armed */
    long fail_at;  /* which of them fails; 0 none */
    bool for_ever; /* and all after it */
    long refused, live;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    long i = ++heap.calls;
    void *p;

    (void)user;
    if (heap.fail_at != 0 &&
        (i == heap.fail_at || (heap.for_ever && i > heap.fail_at))) {
        heap.refused++;
        return NULL;
    }
    p = malloc(bytes);
    heap.live += p != NULL;
    return p;
}

static void heap_free(void *user, void *p)
{
    (void)user;
    heap.live--;
    free(p);
}

static void arm(long fail_at, bool for_ever)
{
    heap.calls = heap.refused = 0;
    heap.fail_at = fail_at;
    heap.for_ever = for_ever;
}

struct optimizer_alloc_trial {
    struct train t;
    ssq_scaler *scaler;
};

/* ---- what is tried ---- */

static ssq_status step(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_step(x->t.r->queue, x->t.o, x->scaler);
}

static ssq_status check(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_check(x->t.r->queue, x->t.o, x->scaler);
}

static ssq_status unscale(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_unscale(x->t.r->queue, x->t.o, x->scaler);
}

static ssq_status accumulate(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_accumulate(x->t.r->queue, x->t.o, 0.5);
}

static ssq_status zero_grad(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_zero_grad(x->t.r->queue, x->t.o);
}

static ssq_status to_master(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_model_to_master(x->t.r->queue, x->t.o);
}

static ssq_status to_model(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_master_to_model(x->t.r->queue, x->t.o);
}

static ssq_status set(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_set(x->t.r->queue, x->t.o, NULL, SSQ_HYPER_LR, 0.5);
}

static ssq_status set_schedule(struct optimizer_alloc_trial *x)
{
    ssq_schedule s = SSQ_SCHEDULE_INIT;

    s.total_steps = 300; /* several uploads */
    return ssq_optimizer_schedule(x->t.r->queue, x->t.o, NULL, SSQ_HYPER_LR,
                                  &s);
}

static ssq_status set_table(struct optimizer_alloc_trial *x)
{
    static const double table[2] = {0.25, 0.5};
    ssq_schedule s = SSQ_SCHEDULE_INIT;

    s.kind = SSQ_SCHEDULE_TABLE;
    s.total_steps = 2;
    s.table = table;
    return ssq_optimizer_schedule(x->t.r->queue, x->t.o, NULL, SSQ_HYPER_LR,
                                  &s);
}

static ssq_status ignore(void *user, const char *name, const ssq_tensor *x)
{
    (void)user;
    (void)name;
    (void)x;
    return SSQ_OK;
}

static ssq_status visit(struct optimizer_alloc_trial *x)
{
    return ssq_optimizer_visit(x->t.r->queue, x->t.o, ignore, NULL);
}

static ssq_status statistics(struct optimizer_alloc_trial *x)
{
    ssq_statistics s = SSQ_STATISTICS_INIT;

    return ssq_optimizer_statistics(x->t.r->queue, x->t.o, NULL, &s);
}

static ssq_status overflow(struct optimizer_alloc_trial *x)
{
    ssq_overflow_report s = SSQ_OVERFLOW_REPORT_INIT;

    return ssq_optimizer_overflow(x->t.r->queue, x->t.o, &s);
}

static ssq_status group(struct optimizer_alloc_trial *x)
{
    ssq_group *g = NULL;

    return ssq_optimizer_group(x->t.o, NULL, &g);
}

static ssq_status add(struct optimizer_alloc_trial *x)
{
    const int64_t n = 4;
    ssq_tensor *p = NULL, *g = NULL;
    ssq_status st = ssq_tensor_create(x->t.r->device, SSQ_BF16, 1, &n, &p);

    if (st == SSQ_OK)
        st = ssq_tensor_create(x->t.r->device, SSQ_BF16, 1, &n, &g);
    for (int i = 0; i < 2 && st == SSQ_OK; i++) {
        ssq_fill_args f = SSQ_FILL_INIT;

        f.x = i == 0 ? p : g;
        st = ssq_fill(x->t.r->queue, &f);
    }
    if (st == SSQ_OK)
        st = ssq_optimizer_add(x->t.o, "more", p, g, NULL);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&g);
    return st;
}

static const struct {
    const char *name;
    ssq_status (*run)(struct optimizer_alloc_trial *x);
    bool used; /* after the first use; else it is the first use, or before */
} calls[] = {
    {"a first step", step, false},
    {"a step", step, true},
    {"a check", check, true},
    {"an unscale", unscale, true},
    {"a first accumulate", accumulate, false},
    {"an accumulate", accumulate, true},
    {"zero_grad", zero_grad, true},
    {"an early zero_grad", zero_grad, false},
    {"model_to_master", to_master, true},
    {"master_to_model", to_model, true},
    {"set", set, true},
    {"a schedule", set_schedule, true},
    {"an early schedule", set_schedule, false},
    {"a table", set_table, true},
    {"visit", visit, true},
    {"a first visit", visit, false},
    {"statistics", statistics, true},
    {"an overflow report", overflow, true},
    {"a group", group, false},
    {"a parameter", add, false},
};

/* ---- the trials ---- */

static void trial_open(struct optimizer_alloc_trial *x, const struct rig *r,
                       const char *kind, const struct train_storage *s,
                       bool used)
{
    ssq_optimizer_options o = train_options(kind, s);

    o.statistics = true;
    train_open(&x->t, r, kind, s, &o);
    x->scaler = train_fixed(r, SCALE);
    if (used)
        train_step(&x->t, x->scaler, 0, SCALE, FLAW_NONE);
    train_send(&x->t, x->t.grad, 1, SCALE, FLAW_NONE);
}

static void trial_close(struct optimizer_alloc_trial *x)
{
    train_close(&x->t);
    ssq_scaler_destroy(&x->scaler);
}

/* The rest of the step and another one; then the image of it all. */
static struct train_image finish(struct optimizer_alloc_trial *x, bool stepped)
{
    if (!stepped)
        NEED(step(x));
    NEED(update_used(x->t.r->queue, x->scaler));
    train_step(&x->t, x->scaler, 2, SCALE, FLAW_NONE);
    return image_take(&x->t);
}

/* Only parameters: to read them does not count as their first use. */
static bool same_parameters(const struct train *t,
                            const struct train_image *want)
{
    float a[130], b[130];
    bool same = true;
    const unsigned char *at = want->data;

    for (int k = 0; k < TRAIN_PARAMS; k++) {
        size_t bytes =
            (size_t)t->n[k] * (size_t)ssq_dtype_bits(t->s->param) / 8;

        NEED(ssq_tensor_read(t->r->queue, t->param[k], a, sizeof(a),
                             t->s->param));
        NEED(ssq_queue_sync(t->r->queue));
        memcpy(b, at, bytes);
        same = same && memcmp(a, b, bytes) == 0;
        at += bytes;
    }
    return same;
}

static void try_all(const struct rig *r, size_t c, const char *kind,
                    const struct train_storage *s, bool for_ever)
{
    bool is_step = calls[c].run == step;
    struct optimizer_alloc_trial x;
    struct train_image want, before;
    /* a driver takes its time: one allocation in 11 fails there, not the same
     * ones in each call, and all with SSQ_TEST_FULL=1 */
    bool all = strchr(r->name, ':') == NULL || tap_full();
    long step = all ? 1 : 11, n = all ? 0 : ((long)c + for_ever) % step;
    long wrong = 0, tried = 0;

    trial_open(&x, r, kind, s, calls[c].used);
    before = image_take(&x.t);
    trial_close(&x);
    trial_open(&x, r, kind, s, calls[c].used);
    NEED(calls[c].run(&x));
    want = finish(&x, is_step);
    trial_close(&x);
    for (bool failed = true; failed; n += step) {
        struct train_image now;
        ssq_status st;

        trial_open(&x, r, kind, s, calls[c].used);
        arm(n + 1, for_ever);
        st = calls[c].run(&x);
        failed = heap.refused > 0;
        tried += failed;
        arm(0, false);
        NEED(ssq_queue_sync(r->queue));
        if (failed && st != SSQ_OK) {
            wrong += st != SSQ_ERR_NOMEM || !same_parameters(&x.t, &before);
            if (calls[c].used) {
                now = image_take(&x.t);
                wrong += !image_equal(&now, &before);
                image_free(&now);
            }
            if (tried % 3 == 0) { /* a program that gives up */
                trial_close(&x);
                continue;
            }
            NEED(calls[c].run(&x));
        } else {
            core_need(st, calls[c].name);
        }
        now = finish(&x, is_step);
        wrong += !image_equal(&now, &want);
        image_free(&now);
        trial_close(&x);
    }
    tap_ok(wrong == 0, "%s: %s, %s: %s: %ld allocations, each %s, failed%s",
           r->name, kind, s->name, calls[c].name, tried,
           all ? "of them" : "11th", for_ever ? ", and all after it" : "");
    image_free(&want);
    image_free(&before);
}

/* Return the ops of a captured step. Allocation n of the call fails, 0: none,
 * and the call is repeated. */
static size_t captured(const struct rig *r,
                       ssq_status (*call)(struct optimizer_alloc_trial *x),
                       long n, bool *failed)
{
    ssq_graph *graph = NULL;
    struct optimizer_alloc_trial x;

    trial_open(&x, r, "lamb", &storages[2], true);
    NEED(ssq_graph_begin(r->queue));
    arm(n, false);
    ssq_status st = call(&x);
    *failed = heap.refused > 0;
    arm(0, false);
    if (st != SSQ_OK)
        NEED(call(&x));
    if (call != step)
        NEED(step(&x));
    NEED(ssq_scaler_update(r->queue, x.scaler));
    NEED(ssq_graph_end(r->queue, &graph));
    size_t ops = ssq_graph_ops(graph);
    ssq_graph_destroy(&graph);
    trial_close(&x);
    return ops;
}

/* A capture keeps nothing of a call that has failed; a check that counts is not
 * repeated. */
static void try_captured(const struct rig *r, const char *name,
                         ssq_status (*call)(struct optimizer_alloc_trial *x))
{
    bool failed = false;
    size_t want = captured(r, call, 0, &failed), wrong = 0;
    long n = 0;

    do
        wrong += captured(r, call, ++n, &failed) != want;
    while (failed);
    tap_ok(wrong == 0 && n > 1,
           "%s: %s in a capture, of which each of %ld allocations failed: %zu "
           "ops, others %zu times",
           r->name, name, n - 1, want, wrong);
}

/* Creation: nothing to compare, but no leak. */
static void try_create(const struct rig *r)
{
    long live = heap.live, n = 0;
    bool failed = true, right = true;

    for (; failed; n++) {
        ssq_optimizer *o = NULL;
        ssq_status st;

        arm(n + 1, false);
        st = ssq_optimizer_create(r->device, "adam", NULL, &o);
        failed = heap.refused > 0;
        arm(0, false);
        right =
            right && (failed ? st == SSQ_ERR_NOMEM && o == NULL : st == SSQ_OK);
        ssq_optimizer_destroy(&o);
        right = right && heap.live == live;
    }
    tap_ok(right && n > 1, "%s: creation: each of %ld allocations failed",
           r->name, n - 1);
}

int main(void)
{
    static const ssq_allocator allocator = {sizeof(allocator), heap_alloc,
                                            heap_free, NULL};
    size_t n = sizeof(calls) / sizeof(calls[0]);

    NEED(ssq_allocator_set(&allocator));
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        try_create(&r);
        for (size_t c = 0; c < n; c++)
            for (int for_ever = 0; for_ever < 2; for_ever++)
                try_all(&r, c, "adamw", &storages[3], for_ever != 0);
        try_all(&r, 0, "lamb", &storages[2], false);
        try_all(&r, 1, "lamb", &storages[2], false);
        try_all(&r, 1, "sgd", &storages[4], false);
        if (d < 2) { /* the same commands on all devices */
            try_captured(&r, "a check", check);
            try_captured(&r, "a step", step);
        }
        rig_close(&r);
    }
    tap_ok(heap.live == 0, "%ld blocks are left", heap.live);
    return tap_done(2 * (1 + 40 + 3 + 2) + 1);
}
