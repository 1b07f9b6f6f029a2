/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_state.c - a run can be stopped anywhere: saved and restored, and
 * captured once and replayed, bit for bit. */
#include "tests/amp/train.h"

#include "lib/core/core.h"

#define STEPS 8

/* ---- save and restore ---- */

/* Steps from .. to, the fourth of which overflows. */
static void steps(struct train *t, ssq_scaler *scaler, unsigned from,
                  unsigned to)
{
    for (unsigned step = from; step < to; step++) {
        double scale = rig_state(t->r, scaler).scale;

        train_step(t, scaler, step, scale, step == 3 ? FLAW_INF : FLAW_NONE);
    }
}

static ssq_scaler *moving(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("pytorch");

    o.init_scale = 256.0;
    o.growth_interval = 2;
    return rig_scaler(r, NULL, &o);
}

static void test_restore(const struct rig *r, const char *kind,
                         const struct train_storage *s)
{
    ssq_optimizer_options o = train_options(kind, s);
    ssq_scaler *scaler = moving(r);
    struct train t;
    struct train_image end;
    int equal = 0;

    train_open(&t, r, kind, s, &o);
    steps(&t, scaler, 0, STEPS);
    end = image_take(&t);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
    for (unsigned at = 0; at <= STEPS; at++) {
        ssq_scaler *again = moving(r);
        ssq_scaler_state state;
        struct train_image saved, last;
        struct train u;

        scaler = moving(r);
        train_open(&t, r, kind, s, &o);
        steps(&t, scaler, 0, at);
        saved = image_take(&t);
        state = rig_state(r, scaler);
        train_open(&u, r, kind, s, &o);
        image_put(&u, &saved);
        NEED(ssq_scaler_state_set(r->queue, again, &state));
        steps(&u, again, at, STEPS);
        last = image_take(&u);
        equal += image_equal(&last, &end);
        image_free(&saved);
        image_free(&last);
        train_close(&t);
        train_close(&u);
        ssq_scaler_destroy(&scaler);
        ssq_scaler_destroy(&again);
    }
    tap_ok(equal == STEPS + 1,
           "%s: %s, %s: saved at any of %d steps, a run goes on bit-equal",
           r->name, kind, s->name, STEPS);
    image_free(&end);
}

/* Names, order, dtypes. */
struct names {
    char text[1024];
};

static ssq_status note(void *user, const char *name, const ssq_tensor *x)
{
    struct names *n = user;
    size_t at = strlen(n->text);

    snprintf(n->text + at, sizeof(n->text) - at, "%s%s:%s:%lld",
             at == 0 ? "" : " ", name, ssq_dtype_name(ssq_tensor_dtype(x)),
             (long long)ssq_tensor_elements(x));
    return strncmp(name, "b.", 2) == 0 ? SSQ_ERR_NOT_READY : SSQ_OK;
}

static void test_visit(const struct rig *r)
{
    static const struct {
        const char *kind;
        int storage;
        const char *want;
    } list[] = {
        {"adamw", 1,
         "control:i32:2 a.master:f32:130 a.exp_avg:f32:130 "
         "a.exp_avg_sq:f32:130 a.max_exp_avg_sq:f32:130 empty.master:f32:0 "
         "empty.exp_avg:f32:0 empty.exp_avg_sq:f32:0 "
         "empty.max_exp_avg_sq:f32:0 b.master:f32:33"},
        {"sgd", 3,
         "control:i32:2 a.remainder:u8:260 a.momentum_buffer:f32:130 "
         "empty.remainder:u8:0 empty.momentum_buffer:f32:0 b.remainder:u8:66"},
        {"rmsprop", 4,
         "control:i32:2 a.square_avg:f32:130 a.momentum_buffer:f32:130 "
         "a.grad_avg:f32:130 empty.square_avg:f32:0 "
         "empty.momentum_buffer:f32:0 empty.grad_avg:f32:0 "
         "b.square_avg:f32:33"},
        {"adagrad", 0,
         "control:i32:2 a.sum:f32:130 empty.sum:f32:0 "
         "b.sum:f32:33"},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        const struct train_storage *s = &storages[list[i].storage];
        ssq_optimizer_options o = train_options(list[i].kind, s);
        struct names n = {""};
        struct train t;
        ssq_status st;

        train_open(&t, r, list[i].kind, s, &o);
        st = ssq_optimizer_visit(r->queue, t.o, note, &n);
        tap_ok(st == SSQ_ERR_NOT_READY && strcmp(n.text, list[i].want) == 0,
               "%s: %s, %s: visits %s, and stops when told", r->name,
               list[i].kind, s->name, n.text);
        train_close(&t);
    }
}

/* ---- graphs ---- */

/* A step as users write it: raw gradients times the scale, rounded to the
 * gradients' dtype, a step, an update. */
static void whole_step(const struct train *t, ssq_tensor *const *raw,
                       ssq_scaler *scaler)
{
    for (int k = 0; k < TRAIN_PARAMS; k++)
        NEED(ssq_scaler_scale_grad(t->r->queue, scaler, raw[k], t->grad[k]));
    NEED(ssq_optimizer_step(t->r->queue, t->o, scaler));
    NEED(update_used(t->r->queue, scaler));
}

static void make_raw(const struct train *t, ssq_tensor **raw)
{
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        const int64_t shape[2] = {ssq_tensor_size(t->param[k], 0),
                                  ssq_tensor_size(t->param[k], 1)};
        NEED(ssq_tensor_create(t->r->device, SSQ_F32, 2, shape, &raw[k]));
    }
}

/* Change each setting that a user may change between replays. */
static void change(const struct train *t, unsigned step)
{
    if (step == 5)
        NEED(ssq_optimizer_set(t->r->queue, t->o, NULL, SSQ_HYPER_WEIGHT_DECAY,
                               0.125));
    if (step == 9)
        NEED(ssq_optimizer_set(t->r->queue, t->o, NULL, SSQ_HYPER_CLIP_NORM,
                               0.5));
    if (step == 13)
        NEED(ssq_optimizer_set(t->r->queue, t->o, NULL, SSQ_HYPER_CLIP_NORM,
                               0.0));
}

static void schedule(const struct train *t)
{
    ssq_schedule s = SSQ_SCHEDULE_INIT;

    s.kind = SSQ_SCHEDULE_COSINE;
    s.base = 0.02;
    s.total_steps = 15;
    s.warmup_steps = 4;
    NEED(ssq_optimizer_schedule(t->r->queue, t->o, NULL, SSQ_HYPER_LR, &s));
}

static void test_graph(const struct rig *r, const char *kind,
                       const struct train_storage *s)
{
    ssq_optimizer_options o = train_options(kind, s);
    ssq_scaler *scaler = moving(r), *other = moving(r);
    struct train t, u;
    ssq_tensor *raw[TRAIN_PARAMS], *raw2[TRAIN_PARAMS];
    ssq_graph *graph = NULL;
    ssq_scaler_state a, b;
    struct train_image x, y;

    o.statistics = true;
    train_open(&t, r, kind, s, &o);
    train_open(&u, r, kind, s, &o);
    make_raw(&t, raw);
    make_raw(&u, raw2);
    schedule(&t);
    schedule(&u);
    NEED(ssq_optimizer_model_to_master(r->queue, t.o));
    NEED(ssq_graph_begin(r->queue));
    whole_step(&t, raw, scaler);
    NEED(ssq_graph_end(r->queue, &graph));
    for (unsigned step = 0; step < 20; step++) {
        enum flaw flaw = step % 7 == 2   ? FLAW_INF
                         : step % 7 == 5 ? FLAW_NAN
                                         : FLAW_NONE;

        change(&t, step);
        change(&u, step);
        train_send(&t, raw, step, 1.0, flaw);
        NEED(ssq_graph_launch(r->queue, graph));
        train_send(&u, raw2, step, 1.0, flaw);
        whole_step(&u, raw2, other);
    }
    x = image_take(&t);
    y = image_take(&u);
    a = rig_state(r, scaler);
    b = rig_state(r, other);
    tap_ok(image_equal(&x, &y) && same_state(&a, &b) && a.skipped >= 6 &&
               a.growths > 0 && train_t(&t) == 20 - a.skipped,
           "%s: %s, %s: a step captured once and replayed 20 times, %u skips, "
           "is 20 steps",
           r->name, kind, s->name, a.skipped);
    image_free(&x);
    image_free(&y);
    ssq_graph_destroy(&graph);
    train_close(&t);
    train_close(&u);
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        ssq_tensor_destroy(&raw[k]);
        ssq_tensor_destroy(&raw2[k]);
    }
    ssq_scaler_destroy(&scaler);
    ssq_scaler_destroy(&other);
}

/* A whole window of accumulation in a graph. */
static void test_graph_window(const struct rig *r,
                              const struct train_storage *s)
{
    ssq_optimizer_options o = train_options("adamw", s);
    ssq_scaler *scaler = train_fixed(r, 1.0);
    struct train t, u;
    ssq_graph *graph = NULL;
    struct train_image x, y;

    train_open(&t, r, "adamw", s, &o);
    train_open(&u, r, "adamw", s, &o);
    NEED(ssq_optimizer_model_to_master(r->queue, t.o));
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_optimizer_accumulate(r->queue, t.o, 0.5));
    NEED(ssq_optimizer_accumulate(r->queue, t.o, 0.5));
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_graph_end(r->queue, &graph));
    for (unsigned step = 0; step < 4; step++) {
        train_send(&t, t.grad, step, 1.0, step == 2 ? FLAW_NAN : FLAW_NONE);
        NEED(ssq_graph_launch(r->queue, graph));
        train_step(&u, scaler, step, 1.0, step == 2 ? FLAW_NAN : FLAW_NONE);
    }
    x = image_take(&t);
    y = image_take(&u);
    tap_ok(image_equal(&x, &y) && train_t(&t) == 3,
           "%s: %s: a captured window of 2 equal gradients is their step",
           r->name, s->name);
    image_free(&x);
    image_free(&y);
    NEED(ssq_optimizer_accumulate(r->queue, t.o, 0.5));
    core_status(ssq_graph_launch(r->queue, graph), SSQ_ERR_INVALID,
                "graph_launch: the optimizer has accumulated|expected none",
                "%s: %s: a launch would drop what calls have accumulated",
                r->name, s->name);
    ssq_graph_destroy(&graph);
    train_close(&t);
    train_close(&u);
    ssq_scaler_destroy(&scaler);
}

/* Captures that would not be whole steps. */
static void test_partial(const struct rig *r)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options o = train_options("adamw", s);
    ssq_scaler *scaler = train_fixed(r, 1.0);
    ssq_graph *graph = NULL;
    struct train t;

    train_open(&t, r, "adamw", s, &o);
    for (int k = 0; k < TRAIN_PARAMS; k++)
        NEED(ssq_optimizer_zero_grad(r->queue, t.o));
    NEED(ssq_graph_begin(r->queue));
    core_status(ssq_optimizer_step(r->queue, t.o, scaler), SSQ_ERR_INVALID,
                "optimizer_step: |captured|model_to_master",
                "%s: the first use is not in a capture", r->name);
    NEED(ssq_graph_end(r->queue, &graph));
    ssq_graph_destroy(&graph);
    NEED(ssq_optimizer_model_to_master(r->queue, t.o));
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    core_status(ssq_graph_end(r->queue, &graph), SSQ_ERR_INVALID, "stage",
                "%s: a captured step needs its update", r->name);
    core_status(ssq_scaler_update(r->queue, scaler), SSQ_ERR_INVALID,
                "nothing was checked", "%s: whose step was never taken",
                r->name);
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_optimizer_accumulate(r->queue, t.o, 1.0));
    core_status(ssq_graph_end(r->queue, &graph), SSQ_ERR_INVALID,
                "stage of the optimizer",
                "%s: a captured window needs its step", r->name);
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_optimizer_check(r->queue, t.o, NULL));
    core_status(ssq_graph_end(r->queue, &graph), SSQ_ERR_INVALID,
                "stage of the optimizer",
                "%s: a captured check without scaler needs its step", r->name);
    NEED(ssq_graph_begin(r->queue));
    core_status(ssq_optimizer_set(r->queue, t.o, NULL, SSQ_HYPER_LR, 1.0),
                SSQ_ERR_INVALID, "captured", "%s: nothing is set in a capture",
                r->name);
    core_status(ssq_optimizer_schedule(r->queue, t.o, NULL, SSQ_HYPER_LR, NULL),
                SSQ_ERR_INVALID, "captured",
                "%s: no schedule is set in a capture", r->name);
    core_status(ssq_optimizer_norm(r->queue, t.o, NULL, NULL), SSQ_ERR_INVALID,
                "captured", "%s: nothing is read in a capture", r->name);
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    NEED(ssq_graph_end(r->queue, &graph));
    tap_ok(ssq_graph_ops(graph) == 3,
           "%s: a captured step is %zu ops: check, tick, pass", r->name,
           ssq_graph_ops(graph));
    ssq_graph_destroy(&graph);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* Destroying everything with work in progress. */
static void test_destroy(const struct rig *r)
{
    ssq_optimizer_options o = train_options("lamb", &storages[1]);
    ssq_scaler *scaler = train_fixed(r, 1.0);
    struct train t;

    train_open(&t, r, "lamb", &storages[1], &o);
    train_step(&t, scaler, 0, 1.0, FLAW_NONE);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
    tap_ok(ssq_queue_sync(r->queue) == SSQ_OK,
           "%s: destroying an optimizer disturbs no enqueued step", r->name);
}

/* ---- small bindings ---- */

#define PIECES 6

/* Six parameters of 100 elements in one group: the masters after two steps,
 * and the bytes of the largest buffer that one of them is in. */
static uint64_t pieces(const char *device, bool flat, float *masters)
{
    struct rig r = rig_open(device);
    ssq_optimizer_options o = train_options("adam", &storages[1]);
    ssq_optimizer *opt = NULL;
    uint64_t largest = 0;

    o.flat_master = flat;
    NEED(ssq_optimizer_create(r.device, "adam", &o, &opt));
    for (int k = 0; k < PIECES; k++) {
        ssq_tensor *p = core_vector(r.device, SSQ_F16, 100);
        ssq_tensor *g = core_vector(r.device, SSQ_F16, 100);
        const char name[2] = {(char)('a' + k), '\0'};
        float x[100];

        for (int i = 0; i < 100; i++)
            x[i] = (float)train_gradient(1, k, i);
        NEED(ssq_tensor_write(r.queue, p, x, sizeof(x), SSQ_F32));
        NEED(ssq_tensor_write(r.queue, g, x, sizeof(x), SSQ_F32));
        NEED(ssq_queue_sync(r.queue));
        NEED(ssq_optimizer_add(opt, name, p, g, NULL));
        ssq_tensor_destroy(&p);
        ssq_tensor_destroy(&g);
    }
    NEED(ssq_optimizer_step(r.queue, opt, NULL));
    NEED(ssq_optimizer_step(r.queue, opt, NULL));
    for (int k = 0; k < PIECES; k++) {
        const char name[2] = {(char)('a' + k), '\0'};
        const ssq_tensor *m = NULL;

        NEED(ssq_optimizer_master(opt, NULL, name, &m));
        NEED(ssq_tensor_read(r.queue, m, masters + 100 * k,
                             100 * sizeof(*masters), SSQ_F32));
        if (m->view.buffer->bytes > largest)
            largest = m->view.buffer->bytes;
    }
    NEED(ssq_queue_sync(r.queue));
    ssq_optimizer_destroy(&opt);
    rig_close(&r);
    return largest;
}

/* A device that binds 1 KiB: masters and moments of 2.4 KB are in buffers that
 * a kernel can bind whole, except for a flat master. */
static void test_binding(const char *device)
{
    float whole[100 * PIECES], parts[100 * PIECES];

    tap_ok(pieces(device, false, whole) == 2400,
           "%s: the masters of a group are one buffer", device);
    setenv("SSQ_LIMIT_BINDING", "1024", 1);
    tap_ok(pieces(device, false, parts) == 800 &&
               memcmp(whole, parts, sizeof(whole)) == 0,
           "%s: where 1024 bytes are bound they are several", device);
    tap_ok(pieces(device, true, parts) == 2400 &&
               memcmp(whole, parts, sizeof(whole)) == 0,
           "%s: but a flat master is one", device);
    unsetenv("SSQ_LIMIT_BINDING");
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STORAGES; s++) {
                if (!train_tries(&r, k, s))
                    continue;
                test_restore(&r, kinds[k], &storages[s]);
                test_graph(&r, kinds[k], &storages[s]);
            }
        test_visit(&r);
        test_graph_window(&r, &storages[0]);
        test_graph_window(&r, &storages[1]);
        test_partial(&r);
        test_destroy(&r);
        test_binding(core_device(d));
        rig_close(&r);
    }
    return tap_done(2 * (KINDS * STORAGES * 2 + 4 + 2 + 9 + 1 + 3));
}
