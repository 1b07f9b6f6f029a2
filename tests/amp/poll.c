/* SPDX-License-Identifier: Apache-2.0 */
/* poll.c - what the host knows of a scaler without waiting: copies, events,
 * captured updates. */
#include "tests/amp/amp.h"

static ssq_scaler_state polled(ssq_scaler *scaler)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    ssq_status st = ssq_scaler_poll(scaler, &s);
    if (st != SSQ_ERR_SCALE)
        core_need(st, "ssq_scaler_poll");
    return s;
}

/* guard does nothing before a sync: poll's result must be old until then, and
 * on the reference it is new immediately. Other devices do it when they like.
 */
static bool is_of(const struct rig *r, unsigned updates, unsigned synced,
                  unsigned enqueued)
{
    if (strcmp(r->name, "guard") == 0)
        return updates == synced;
    if (strcmp(r->name, "reference") == 0)
        return updates == enqueued;
    return updates >= synced && updates <= enqueued;
}

static void stale(const struct rig *r, unsigned steps)
{
    bool late = strcmp(r->name, "guard") == 0;
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    bool ok = polled(scaler).updates == 0 && polled(scaler).scale == 65536;
    for (unsigned i = 1; i <= steps; i++) {
        rig_step(r, scaler, i % 3 != 0);
        ok = is_of(r, polled(scaler).updates, 0, i) && ok;
    }
    tap_ok(ok, "%s: poll after each of %u updates is %s", r->name, steps,
           late ? "as old as the last sync" : "not ahead of them");
    ok = !late || ssq_queue_status(r->queue) == SSQ_ERR_NOT_READY;
    tap_ok(ok, "%s: polling has made nothing run", r->name);
    NEED(ssq_queue_sync(r->queue));
    ssq_scaler_state s = polled(scaler), all = rig_state(r, scaler);
    tap_ok(s.updates == steps && same_state(&s, &all),
           "%s: after a sync poll knows all %u updates", r->name, steps);
    ssq_scaler_destroy(&scaler);
}

/* An event in the middle of the queue lets a part of it run. */
static void partial(const struct rig *r)
{
    ssq_event *event = NULL;
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    NEED(ssq_event_create(r->device, &event));
    rig_step(r, scaler, true);
    NEED(ssq_event_record(event, r->queue));
    for (int i = 0; i < 5; i++)
        rig_step(r, scaler, true);
    NEED(ssq_event_sync(event));
    ssq_scaler_state s = polled(scaler);
    tap_ok(is_of(r, s.updates, 1, 6),
           "%s: poll after a part of the queue has run: %u updates", r->name,
           s.updates);
    NEED(ssq_queue_sync(r->queue));
    tap_ok(polled(scaler).updates == 6, "%s: and after all of it", r->name);
    ssq_event_destroy(&event);
    ssq_scaler_destroy(&scaler);
}

/* Two queues use one scaler, in an order that events make. */
static void two_queues(const struct rig *r)
{
    ssq_queue *other = core_queue(r->device);
    ssq_event *event = NULL;
    struct rig second = *r;
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    second.queue = other;
    NEED(ssq_event_create(r->device, &event));
    for (int i = 0; i < 4; i++) {
        const struct rig *from = i % 2 == 0 ? r : &second;
        const struct rig *to = i % 2 == 0 ? &second : r;
        rig_step(from, scaler, false);
        rig_step(from, scaler, true);
        rig_step(from, scaler, true);
        NEED(ssq_event_record(event, from->queue));
        NEED(ssq_queue_wait(to->queue, event));
    }
    NEED(ssq_queue_sync(r->queue));
    NEED(ssq_queue_sync(other));
    ssq_scaler_state s = polled(scaler), all = rig_state(r, scaler);
    tap_ok(s.updates == 12 && same_state(&s, &all),
           "%s: two queues: poll knows all %u updates", r->name, s.updates);
    rig_step(&second, scaler, true);
    ssq_queue_destroy(&other);
    tap_ok(polled(scaler).updates == 13,
           "%s: destroying a queue finishes its copies", r->name);
    ssq_event_destroy(&event);
    ssq_scaler_destroy(&scaler);
}

/* The copy's target must outlive the scaler: valgrind and ASan look here. */
static void destroyed(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    for (int i = 0; i < 4; i++)
        rig_step(r, scaler, false);
    ssq_scaler_destroy(&scaler);
    tap_ok(scaler == NULL && ssq_queue_sync(r->queue) == SSQ_OK,
           "%s: a scaler destroyed with updates under way", r->name);
    ssq_scaler_destroy(&scaler);
    ssq_scaler_destroy(NULL);
}

static void skip_events(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("pytorch");
    o.max_consecutive_skips = 3;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    for (int i = 0; i < 2; i++)
        rig_step(r, scaler, true);
    NEED(ssq_queue_sync(r->queue));
    core_status(ssq_scaler_poll(scaler, &s), SSQ_OK, "",
                "%s: two skips of three are no event", r->name);
    rig_step(r, scaler, true);
    NEED(ssq_queue_sync(r->queue));
    core_status(ssq_scaler_poll(scaler, &s), SSQ_ERR_SCALE,
                "in a row|3 now|update 3", "%s: three are: poll", r->name);
    tap_ok(s.events == SSQ_SCALE_EVENT_SKIPS && s.consecutive == 3,
           "%s: and the state is written all the same", r->name);
    core_status(ssq_scaler_state_get(r->queue, scaler, &s), SSQ_ERR_SCALE,
                "scaler_state_get", "%s: state_get says so too", r->name);
    const ssq_tensor *clean = r->clean;
    NEED(ssq_scaler_check(r->queue, scaler, 1, &clean));
    core_status(ssq_scaler_update(r->queue, scaler), SSQ_ERR_SCALE,
                "scaler_update|in a row", "%s: the next update says so",
                r->name);
    NEED(scale_used(r->queue, scaler));
    NEED(ssq_queue_sync(r->queue));
    (void)!ssq_scaler_poll(scaler, &s);
    tap_ok(s.updates == 4 && s.consecutive == 0 &&
               s.events == SSQ_SCALE_EVENT_SKIPS,
           "%s: it was enqueued all the same, and the event stays", r->name);
    NEED(ssq_scaler_event_clear(r->queue, scaler));
    core_status(ssq_scaler_poll(scaler, &s), SSQ_OK, "",
                "%s: cleared, poll is well at once", r->name);
    for (int i = 0; i < 5; i++)
        rig_step(r, scaler, true);
    NEED(ssq_scaler_event_clear(r->queue, scaler));
    NEED(ssq_queue_sync(r->queue));
    core_status(ssq_scaler_poll(scaler, &s), SSQ_OK, "",
                "%s: cleared behind five skips", r->name);
    rig_step(r, scaler, true);
    NEED(ssq_queue_sync(r->queue));
    core_status(ssq_scaler_poll(scaler, &s), SSQ_ERR_SCALE, "6 now",
                "%s: six in a row are an event again", r->name);
    ssq_scaler_destroy(&scaler);
}

/* At the floor: the event comes, the queue works on, steps keep skipping. */
static void floor_events(const struct rig *r, const char *preset, double scale)
{
    ssq_scaler_options o = rig_preset(preset);
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    o.init_scale = scale;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    for (int i = 0; i < 4; i++)
        rig_step(r, scaler, true);
    NEED(ssq_queue_sync(r->queue));
    core_status(ssq_scaler_poll(scaler, &s), SSQ_ERR_SCALE, "floor",
                "%s: %s at its floor is an event", r->name, preset);
    tap_ok(s.action == SSQ_SCALE_FLOOR && s.skipped == 4 && s.scale == scale,
           "%s: %s skips on at scale %g", r->name, preset, s.scale);
    core_status(ssq_queue_status(r->queue), SSQ_OK, "",
                "%s: the queue is not sticky", r->name);
    rig_step(r, scaler, false);
    NEED(ssq_scaler_event_clear(r->queue, scaler));
    s = rig_state(r, scaler);
    tap_ok(s.action == SSQ_SCALE_CLEAN && s.events == 0 && s.updates == 5,
           "%s: %s goes on with a clean step", r->name, preset);
    ssq_scaler_destroy(&scaler);
}

/* fastai at 1: the overflow is applied, and said to be. */
static void poison(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("fastai");
    o.init_scale = 2.0;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    rig_step(r, scaler, true);
    ssq_scaler_state s = rig_state(r, scaler);
    bool ok = s.action == SSQ_SCALE_BACKOFF && s.scale == 1.0;
    rig_step(r, scaler, true);
    s = rig_state(r, scaler);
    tap_ok(ok && s.action == SSQ_SCALE_POISON && s.skipped == 1 &&
               s.good == 1 && s.scale == 1.0 && s.events == 0,
           "%s: fastai at scale 1 applies an overflow and counts it clean",
           r->name);
    ssq_scaler_destroy(&scaler);
}

static ssq_graph *capture(const struct rig *r, ssq_scaler *scaler,
                          const ssq_tensor *grad, int updates)
{
    ssq_graph *graph = NULL;
    NEED(ssq_graph_begin(r->queue));
    for (int i = 0; i < updates; i++) {
        NEED(ssq_scaler_check(r->queue, scaler, 1, &grad));
        NEED(update_used(r->queue, scaler));
    }
    NEED(ssq_graph_end(r->queue, &graph));
    return graph;
}

/* A captured update moves nothing; each launch does, and poll hears of it. */
static void replay(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    ssq_graph *clean = capture(r, scaler, r->clean, 1);
    ssq_graph *bad = capture(r, scaler, r->bad, 2);
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(s.updates == 0 && ssq_graph_ops(bad) == 2 * ssq_graph_ops(clean),
           "%s: capturing updates moves nothing", r->name);
    NEED(ssq_graph_launch(r->queue, clean));
    NEED(ssq_graph_launch(r->queue, bad));
    NEED(ssq_graph_launch(r->queue, clean));
    s = polled(scaler);
    tap_ok(is_of(r, s.updates, 0, 4), "%s: poll behind launches: %u updates",
           r->name, s.updates);
    NEED(ssq_queue_sync(r->queue));
    s = polled(scaler);
    ssq_scaler_state all = rig_state(r, scaler);
    tap_ok(s.updates == 4 && s.skipped == 2 && s.scale == 32768.0 &&
               s.hyst == 2 && s.last_skip == 3 && same_state(&s, &all),
           "%s: after a sync poll knows the replayed updates", r->name);
    bool ok = true;
    for (unsigned i = 5; i < 400; i++) {
        NEED(ssq_graph_launch(r->queue, clean));
        s = polled(scaler);
        ok = s.updates <= i && ok &&
             (s.updates == i || strcmp(r->name, "reference") != 0);
    }
    NEED(ssq_queue_sync(r->queue));
    tap_ok(ok && polled(scaler).updates == 399,
           "%s: 395 launches in a row, then one sync", r->name);
    ssq_scaler_destroy(&scaler);
    NEED(ssq_graph_launch(r->queue, bad));
    tap_ok(ssq_queue_sync(r->queue) == SSQ_OK,
           "%s: a graph keeps a scaler that is destroyed", r->name);
    ssq_graph_destroy(&clean);
    NEED(ssq_graph_launch(r->queue, bad));
    ssq_graph_destroy(&bad);
    tap_ok(ssq_queue_sync(r->queue) == SSQ_OK,
           "%s: and a launch keeps the graph", r->name);
}

/* A launch would replace what calls have checked. */
static void half_a_step(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    ssq_graph *graph = capture(r, scaler, r->bad, 1);
    const ssq_tensor *grad = r->clean;
    NEED(ssq_scaler_check(r->queue, scaler, 1, &grad));
    core_status(ssq_graph_launch(r->queue, graph), SSQ_ERR_INVALID,
                "graph_launch|updates the scaler|ssq_scaler_update first",
                "%s: a launch between a check and its update", r->name);
    NEED(ssq_scaler_update(r->queue, scaler));
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(s.updates == 1 && s.skipped == 0,
           "%s: the step that was begun is not lost", r->name);
    NEED(ssq_graph_launch(r->queue, graph));
    s = rig_state(r, scaler);
    tap_ok(s.updates == 2 && s.skipped == 1, "%s: then the graph runs",
           r->name);
    ssq_graph_destroy(&graph);
    ssq_scaler_destroy(&scaler);
}

static void capture_misuse(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL), *other = NULL;
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT, good = s;
    ssq_torch_scaler_state t = SSQ_TORCH_SCALER_STATE_INIT;
    ssq_graph *graph = NULL;
    const ssq_tensor *grad = r->clean;
    good.scale = 4.0;
    NEED(ssq_graph_begin(r->queue));
#define NOT_NOW(CALL)                                                          \
    core_status(CALL, SSQ_ERR_INVALID, "captured", "%s: in a capture: %s",     \
                r->name, #CALL)
    NOT_NOW(ssq_scaler_state_get(r->queue, scaler, &s));
    NOT_NOW(ssq_scaler_state_set(r->queue, scaler, &good));
    NOT_NOW(ssq_scaler_event_clear(r->queue, scaler));
    NOT_NOW(ssq_scaler_set_growth_interval(r->queue, scaler, 3));
    NOT_NOW(ssq_scaler_torch_load(r->queue, scaler, &t));
    NOT_NOW(ssq_scaler_torch_save(r->queue, scaler, &t));
    NOT_NOW(ssq_scaler_create(r->device, NULL, NULL, &other));
#undef NOT_NOW
    NEED(ssq_scaler_poll(scaler, &s));
    NEED(ssq_scaler_check(r->queue, scaler, 1, &grad));
    core_status(ssq_graph_end(r->queue, &graph), SSQ_ERR_INVALID,
                "scaler|whole", "%s: a capture with a check but no update",
                r->name);
    tap_ok(graph == NULL, "%s: gives no graph", r->name);
    ssq_scaler_destroy(&scaler);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        stale(&r, 1);
        stale(&r, 40);
        partial(&r);
        two_queues(&r);
        destroyed(&r);
        skip_events(&r);
        floor_events(&r, "deepspeed", 1.0);
        floor_events(&r, "nntrainer", 1.0);
        floor_events(&r, "fairseq", 0x1p-13);
        poison(&r);
        replay(&r);
        half_a_step(&r);
        capture_misuse(&r);
        rig_close(&r);
    }
    return tap_done(84);
}
