/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - a scaler when the Nth allocation fails, once or from then on: the
 * call answers NOMEM, has changed nothing, and can be repeated. */
#include "tests/amp/amp.h"

static struct {
    long calls;    /* of alloc, since it was armed */
    long fail_at;  /* which of them fails; 0 none */
    bool for_ever; /* and all after it */
    long refused, live;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    long i = ++heap.calls;
    (void)user;
    if (heap.fail_at != 0 &&
        (i == heap.fail_at || (heap.for_ever && i > heap.fail_at))) {
        heap.refused++;
        return NULL;
    }
    void *p = malloc(bytes);
    heap.live += p != NULL;
    return p;
}

static void heap_free(void *user, void *p)
{
    (void)user;
    heap.live--;
    free(p);
}

struct alloc_trial {
    const struct rig *r;
    ssq_scaler *scaler;
    ssq_tensor *out;
    ssq_graph *graph;
};

static ssq_status create(struct alloc_trial *t)
{
    return ssq_scaler_create(t->r->device, "sesqui", NULL, &t->scaler);
}

static ssq_status scale(struct alloc_trial *t)
{
    return ssq_scaler_scale_grad(t->r->queue, t->scaler, t->r->clean, t->out);
}

static ssq_status check_bad(struct alloc_trial *t)
{
    const ssq_tensor *grad = t->r->bad;
    return ssq_scaler_check(t->r->queue, t->scaler, 1, &grad);
}

static ssq_status unscale(struct alloc_trial *t)
{
    const ssq_tensor *grad = t->r->clean, *out = t->out;
    return ssq_scaler_unscale(t->r->queue, t->scaler, 1, &grad, &out);
}

static ssq_status update(struct alloc_trial *t)
{
    return ssq_scaler_update(t->r->queue, t->scaler);
}

static ssq_status update_to(struct alloc_trial *t)
{
    return ssq_scaler_update_to(t->r->queue, t->scaler, 4096.0);
}

static ssq_status clear(struct alloc_trial *t)
{
    return ssq_scaler_event_clear(t->r->queue, t->scaler);
}

static ssq_status interval(struct alloc_trial *t)
{
    return ssq_scaler_set_growth_interval(t->r->queue, t->scaler, 7);
}

static ssq_status get(struct alloc_trial *t)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    return ssq_scaler_state_get(t->r->queue, t->scaler, &s);
}

static ssq_status set(struct alloc_trial *t)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    s.scale = 512.0;
    s.hyst = 1;
    s.updates = s.skipped = s.last_skip = s.consecutive = 9;
    s.action = SSQ_SCALE_HOLD;
    return ssq_scaler_state_set(t->r->queue, t->scaler, &s);
}

/* Capture a step. If a call in it fails, the graph is dropped, and the caller
 * begins again. */
static ssq_status capture(struct alloc_trial *t)
{
    ssq_status st = ssq_graph_begin(t->r->queue);
    if (st != SSQ_OK)
        return st;
    st = scale(t);
    if (st == SSQ_OK)
        st = check_bad(t);
    if (st == SSQ_OK)
        st = update(t);
    ssq_status end = ssq_graph_end(t->r->queue, &t->graph);
    if (st == SSQ_OK)
        return end;
    if (end == SSQ_OK)
        ssq_graph_destroy(&t->graph);
    return st;
}

static ssq_status launch(struct alloc_trial *t)
{
    return ssq_graph_launch(t->r->queue, t->graph);
}

static ssq_status (*const calls[])(struct alloc_trial *) = {
    create,   scale, check_bad, update,  scale,     check_bad,
    update,   scale, unscale,   update,  update_to, clear,
    interval, get,   set,       capture, launch,    update_to,
    launch,   scale, check_bad, unscale, update,
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static bool broken; /* a call could not be repeated */

/* All calls, the heap armed before one of them, on a queue that has not yet
 * made anything. False: fail_at is more than that call allocates, or broken. */
static bool run(const struct rig *rig, size_t armed, long fail_at,
                bool for_ever, ssq_scaler_state *state)
{
    struct rig fresh = *rig, *r = &fresh;
    r->queue = core_queue(r->device);
    struct alloc_trial t = {r, NULL, core_vector(r->device, SSQ_F32, 3), NULL};
    bool ok = true, refused = false;
    for (size_t i = 0; i < CALLS && ok; i++) {
        heap.calls = heap.refused = 0;
        heap.fail_at = i == armed ? fail_at : 0;
        heap.for_ever = for_ever;
        ssq_status st = calls[i](&t);
        heap.fail_at = 0;
        refused = refused || heap.refused > 0;
        if (st == SSQ_ERR_NOMEM && heap.refused > 0)
            st = calls[i](&t);
        ok = st == SSQ_OK;
        if (!ok)
            tap_diag("call %zu, allocation %ld: %s: %s", i, fail_at,
                     ssq_status_name(st), ssq_last_error());
    }
    broken = broken || !ok;
    if (ok)
        *state = rig_state(r, t.scaler);
    ssq_graph_destroy(&t.graph);
    ssq_scaler_destroy(&t.scaler);
    ssq_tensor_destroy(&t.out);
    /* one that is lost cannot be synced */
    ssq_status st = ssq_queue_sync(r->queue);
    ssq_queue_destroy(&r->queue);
    return ok && st == SSQ_OK && (refused || fail_at == 0);
}

static void every(const char *name, bool for_ever)
{
    const ssq_allocator allocator = {sizeof(allocator), heap_alloc, heap_free,
                                     NULL};
    NEED(ssq_allocator_set(&allocator));
    struct rig r = rig_open(name);
    ssq_scaler_state want = SSQ_SCALER_STATE_INIT, got = want;
    bool ok = run(&r, CALLS, 0, false, &want);
    long failures = 0;
    broken = false;
    for (size_t i = 0; i < CALLS && ok; i++)
        for (long n = 1; run(&r, i, n, for_ever, &got); n++, failures++)
            if (!same_state(&got, &want)) {
                tap_diag("call %zu, allocation %ld", i, n);
                say_state("got", &got);
                say_state("wanted", &want);
                ok = false;
                break;
            }
    rig_close(&r);
    tap_ok(ok && !broken && failures > 20,
           "%s: %ld failed allocations%s: every call can "
           "be repeated, and the state is the same",
           name, failures, for_ever ? ", and all after them" : "");
    tap_ok(heap.live == 0, "%s: nothing is leaked: %ld blocks", name,
           heap.live);
    NEED(ssq_allocator_set(NULL));
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        every(core_device(d), false);
        every(core_device(d), true);
    }
    return tap_done(8);
}
