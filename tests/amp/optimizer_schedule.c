/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_schedule.c - schedules and setters, as the steps see them.
 *
 * With sgd the lr of each step can be read off exactly: the host repeats the
 * float32 arithmetic of one weight. */
#include "lib/amp/optimizer/optimizer.h"
#include "tests/amp/train.h"

#include "conformance/running.h"

/* One float32 weight and its gradient. */
struct weight {
    const struct rig *r;
    ssq_optimizer *o;
    ssq_scaler *scaler;
    ssq_tensor *p, *g;
    float host, buffer; /* the expected weight, and its momentum */
};

static void weight_open(struct weight *w, const struct rig *r, const char *kind,
                        const ssq_optimizer_options *options)
{
    const float zero = 0.0f;

    *w = (struct weight){.r = r};
    NEED(ssq_optimizer_create(r->device, kind, options, &w->o));
    w->p = core_vector(r->device, SSQ_F32, 1);
    w->g = core_vector(r->device, SSQ_F32, 1);
    NEED(ssq_tensor_write(r->queue, w->p, &zero, sizeof(zero), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    NEED(ssq_optimizer_add(w->o, "w", w->p, w->g, NULL));
    w->scaler = train_fixed(r, 1.0);
}

static void weight_close(struct weight *w)
{
    ssq_optimizer_destroy(&w->o);
    ssq_scaler_destroy(&w->scaler);
    ssq_tensor_destroy(&w->p);
    ssq_tensor_destroy(&w->g);
}

/* A step with a gradient; the weight after it. */
static float weight_step(struct weight *w, float g)
{
    float p = 0.0f;

    NEED(ssq_tensor_write(w->r->queue, w->g, &g, sizeof(g), SSQ_F32));
    NEED(ssq_optimizer_step(w->r->queue, w->o, w->scaler));
    NEED(update_used(w->r->queue, w->scaler));
    NEED(ssq_tensor_read(w->r->queue, w->p, &p, sizeof(p), SSQ_F32));
    NEED(ssq_queue_sync(w->r->queue));
    return p;
}

/* The same step on the host: true when the device agrees. */
static bool sgd_agrees(struct weight *w, float g, float lr, float momentum,
                       bool first)
{
    volatile float a = momentum * w->buffer;
    volatile float buffer = first ? g : a + g;
    volatile float delta = lr * buffer;

    w->buffer = momentum == 0.0f ? g : buffer;
    if (momentum == 0.0f)
        delta = lr * g;
    w->host = w->host - delta;
    return weight_step(w, g) == w->host;
}

static void set_lr(const struct weight *w, const ssq_schedule *s)
{
    NEED(ssq_optimizer_schedule(w->r->queue, w->o, NULL, SSQ_HYPER_LR, s));
}

/* Steps of this weight are synchronised. */
static double get(const struct weight *w, ssq_hyper hyper)
{
    double value = -1.0;

    NEED(ssq_optimizer_get(w->o, NULL, hyper, &value));
    return value;
}

static const struct {
    const char *name;
    ssq_schedule_kind kind;
} shapes[] = {
    {"constant", SSQ_SCHEDULE_CONSTANT},
    {"step", SSQ_SCHEDULE_STEP},
    {"cosine with warm-up", SSQ_SCHEDULE_COSINE},
    {"one-cycle", SSQ_SCHEDULE_ONE_CYCLE},
    {"fastai's one-cycle", SSQ_SCHEDULE_ONE_CYCLE_FASTAI},
    {"a table", SSQ_SCHEDULE_TABLE},
};

static ssq_schedule shape(size_t i)
{
    static const double table[10] = {0.5, 0.25, 0.1, 0.2,   0.3,
                                     0.4, 0.05, 0.6, 0.025, 0.7};
    ssq_schedule s = SSQ_SCHEDULE_INIT;

    s.kind = shapes[i].kind;
    s.base = 0.125;
    s.total_steps = 10;
    s.step_size = 3;
    s.gamma = 0.3;
    s.warmup_steps = 3;
    s.table = table;
    return s;
}

/* Skips do not advance it; after its end the last value stays. early: set
 * before the first use. */
static void test_lr(const struct rig *r, size_t i, bool early)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = shape(i);
    struct weight w;
    uint32_t t = 0;
    bool same = true;

    weight_open(&w, r, "sgd", &o);
    if (!early)
        NEED(ssq_optimizer_model_to_master(r->queue, w.o));
    set_lr(&w, &s);
    for (int call = 0; call < 16; call++) {
        double lr = 0.0;

        if (call % 5 == 3) {
            same = same && weight_step(&w, (float)INFINITY) == w.host;
            continue;
        }
        NEED(ssq_schedule_value(&s, t < 10 ? t : 9, &lr));
        same = same && fabs(get(&w, SSQ_HYPER_LR) - lr) <= 0.0;
        same = same && sgd_agrees(&w, -1.0f, (float)lr, 0.0f, t == 0);
        t++;
    }
    tap_ok(same && t == 13,
           "%s: %s%s: 13 steps of 10, with 3 skips, have its values", r->name,
           shapes[i].name, early ? ", set before the first use" : "");
    weight_close(&w);
}

static void test_momentum(const struct rig *r)
{
    static const double table[4] = {0.5, 0.75, 0.25, 0.125};
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    struct weight w;
    bool same = true;

    o.lr = 0.1;
    s.kind = SSQ_SCHEDULE_TABLE;
    s.total_steps = 4;
    s.table = table;
    weight_open(&w, r, "sgd", &o);
    NEED(ssq_optimizer_schedule(r->queue, w.o, NULL, SSQ_HYPER_MOMENTUM, &s));
    for (int t = 0; t < 6; t++) {
        double mu = table[t < 4 ? t : 3];

        same = same && fabs(get(&w, SSQ_HYPER_MOMENTUM) - mu) <= 0.0;
        same = same && sgd_agrees(&w, (float)(t + 1), 0.1f, (float)mu, t == 0);
    }
    tap_ok(same, "%s: sgd's momentum follows a table", r->name);
    weight_close(&w);
    weight_open(&w, r, "sgd", &o);
    NEED(ssq_optimizer_model_to_master(r->queue, w.o));
    core_status(
        ssq_optimizer_schedule(r->queue, w.o, NULL, SSQ_HYPER_MOMENTUM, &s),
        SSQ_ERR_INVALID, "optimizer_schedule: |without momentum",
        "%s: momentum cannot appear after the first use", r->name);
    core_status(ssq_optimizer_set(r->queue, w.o, NULL, SSQ_HYPER_MOMENTUM, 0.5),
                SSQ_ERR_INVALID, "optimizer_set: |0.5", "%s: nor be set then",
                r->name);
    weight_close(&w);
}

/* torch's OneCycleLR cycles beta1: the current one is in the moments and in
 * the bias correction. */
static void test_beta1(const struct rig *r)
{
    static const double table[4] = {0.5, 0.8, 0.9, 0.95};
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    struct num p = num_exact(0.0), m = p, v = p;
    struct weight w;
    bool inside = true;

    o.lr = 0.01;
    s.kind = SSQ_SCHEDULE_TABLE;
    s.total_steps = 4;
    s.table = table;
    weight_open(&w, r, "adam", &o);
    NEED(ssq_optimizer_schedule(r->queue, w.o, NULL, SSQ_HYPER_MOMENTUM, &s));
    for (int t = 1; t <= 6; t++) {
        double b1 = (double)(float)table[t <= 4 ? t - 1 : 3];
        struct num g = num_exact(t % 2 == 0 ? -0.75 : 1.5);
        struct num bc1 = num_round(1.0 - pow(b1, t), t * 0x1p-43);
        struct num bc2 = num_round(1.0 - pow(0.999, t), t * 0x1p-43);
        struct num denom;
        double got;

        /* lerp has a branch at 1/2: both forms are within this bound */
        m = num_add(num_mul(num_const(b1), m), num_mul(num_const(1.0 - b1), g));
        m.e += 4.0 * U_F32 * (fabs(g.v) + fabs(m.v));
        v = num_add(num_mul(num_const(0.999), v),
                    num_mul(num_const(1.0 - 0.999), num_mul(g, g)));
        denom = num_add(num_div(num_sqrt(v), num_sqrt(bc2)), num_const(1e-8));
        p = num_sub(p,
                    num_div(num_mul(num_div(num_const(0.01), bc1), m), denom));
        got = (double)weight_step(&w, (float)g.v);
        inside = inside && fabs(got - p.v) <= p.e && p.e < 1e-6;
    }
    tap_ok(inside, "%s: adam's beta1 and its bias correction follow a table",
           r->name);
    s.table = (const double[]){0.5, 1.0, 0.5, 0.5};
    core_status(
        ssq_optimizer_schedule(r->queue, w.o, NULL, SSQ_HYPER_MOMENTUM, &s),
        SSQ_ERR_INVALID, "optimizer_schedule: |1",
        "%s: a beta1 of 1 is refused", r->name);
    weight_close(&w);
}

/* Parameter "b" becomes 0, and so does its gradient. */
static void silence(const struct train *t)
{
    ssq_fill_args f = SSQ_FILL_INIT;

    f.x = t->grad[2];
    NEED(ssq_fill(t->r->queue, &f));
    f.x = t->param[2];
    NEED(ssq_fill(t->r->queue, &f));
    NEED(ssq_optimizer_model_to_master(t->r->queue, t->o));
}

/* A beta1 that a schedule gives equals one that was set. */
static void test_same_beta1(const struct rig *r, const char *kind)
{
    ssq_optimizer_options o = train_options(kind, &storages[0]), with = o;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    struct train t, u;
    struct train_image a, b;

    with.beta1 = 0.75;
    s.base = 0.75;
    train_open(&t, r, kind, &storages[0], &o);
    train_open(&u, r, kind, &storages[0], &with);
    NEED(ssq_optimizer_schedule(r->queue, t.o, NULL, SSQ_HYPER_MOMENTUM, &s));
    silence(&t);
    silence(&u);
    for (unsigned step = 0; step < 5; step++) {
        train_send(&t, t.grad, step, 1.0, FLAW_NONE);
        train_send(&u, u.grad, step, 1.0, FLAW_NONE);
        silence(&t);
        silence(&u);
        NEED(ssq_optimizer_step(r->queue, t.o, NULL));
        NEED(ssq_optimizer_step(r->queue, u.o, NULL));
    }
    a = image_take(&t);
    b = image_take(&u);
    tap_ok(image_equal(&a, &b), "%s: %s: a scheduled beta1 is a set one",
           r->name, kind);
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&u);
}

/* Replace, shorten, lengthen, remove; a setter removes. */
static void test_replace(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    struct weight w;
    bool same = true;

    o.lr = 0.5;
    weight_open(&w, r, "sgd", &o);
    for (uint32_t t = 0; t < 24; t++) {
        float lr = 0.5f;

        s.kind = SSQ_SCHEDULE_STEP;
        s.gamma = 0.5;
        s.base = t < 8 ? 0.25 : 0.125;
        s.total_steps = t < 4 ? 6 : t < 8 ? 30 : 12;
        if (t % 4 == 0 && t < 12)
            set_lr(&w, &s);
        if (t < 12)
            lr = (float)ldexp(s.base, -(int)t);
        if (t >= 4 && t < 8)
            lr = (float)ldexp(0.25, -(int)t);
        if (t == 12)
            set_lr(&w, NULL);
        if (t == 16)
            set_lr(&w, &s);
        if (t >= 16 && t < 20) /* past its end */
            lr = (float)ldexp(0.125, -11);
        if (t == 20)
            NEED(ssq_optimizer_set(r->queue, w.o, NULL, SSQ_HYPER_LR, 0.75));
        if (t >= 20)
            lr = 0.75f;
        same = same && sgd_agrees(&w, 1.0f, lr, 0.0f, t == 0);
        if (!same)
            tap_diag("t %u, lr %g", t, (double)lr);
    }
    tap_ok(same && fabs(get(&w, SSQ_HYPER_LR) - 0.75) <= 0.0,
           "%s: schedules replace one another, go, and give way to a setter",
           r->name);
    weight_close(&w);
}

#define KNOWN 40

/* A step that nothing waits for. */
static void enqueue_step(const struct weight *w, double g)
{
    ssq_fill_args f = SSQ_FILL_INIT;

    f.x = w->g;
    f.value = g;
    NEED(ssq_fill(w->r->queue, &f));
    NEED(ssq_optimizer_step(w->r->queue, w->o, w->scaler));
    NEED(update_used(w->r->queue, w->scaler));
}

/* A schedule that was taken away and returns. */
static void known_later(const struct weight *w, const ssq_schedule *s)
{
    set_lr(w, NULL);
    enqueue_step(w, 1.0);
    NEED(ssq_queue_sync(w->r->queue));
    set_lr(w, s);
    NEED(ssq_queue_sync(w->r->queue));
    tap_ok(get(w, SSQ_HYPER_LR) == 26.0,
           "%s: a schedule that comes later begins at the t of then",
           w->r->name);
}

/* The host knows t as the device tells it, and never waits: the schedule's
 * value is its number, so that it says what is known. */
static void test_known(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    static double table[KNOWN];
    struct weight w, v;
    ssq_graph *graph = NULL;
    size_t needed = 0;
    double last = 0.0;
    bool ok = true;

    for (int i = 0; i < KNOWN; i++)
        table[i] = i;
    s.kind = SSQ_SCHEDULE_TABLE;
    s.total_steps = KNOWN;
    s.table = table;
    weight_open(&w, r, "sgd", &o);
    weight_open(&v, r, "sgd", &o);
    set_lr(&w, &s);
    set_lr(&v, &s);
    ok = get(&w, SSQ_HYPER_LR) == 0.0;
    for (int t = 1; t <= 20; t++) {
        enqueue_step(&w, 1.0);
        double lr = get(&w, SSQ_HYPER_LR);
        ok = ok && lr >= last && lr <= t;
        if (strcmp(r->name, "reference") == 0)
            ok = ok && lr == t;
        if (strcmp(r->name, "guard") == 0)
            ok = ok && lr == 0.0;
        last = lr;
    }
    tap_ok(ok, "%s: the lr behind 20 steps is known as far as step %g", r->name,
           last);
    NEED(ssq_queue_sync(r->queue));
    tap_ok(get(&w, SSQ_HYPER_LR) == 20.0, "%s: and after a sync exactly",
           r->name);
    enqueue_step(&w, (double)INFINITY);
    NEED(ssq_queue_sync(r->queue));
    tap_ok(get(&w, SSQ_HYPER_LR) == 20.0, "%s: a skip does not advance it",
           r->name);
    NEED(ssq_graph_begin(r->queue));
    enqueue_step(&w, 1.0);
    NEED(ssq_graph_end(r->queue, &graph));
    tap_ok(get(&w, SSQ_HYPER_LR) == 20.0, "%s: nor a capture", r->name);
    for (int i = 0; i < 5; i++)
        NEED(ssq_graph_launch(r->queue, graph));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(get(&w, SSQ_HYPER_LR) == 25.0, "%s: each launch does", r->name);
    NEED(ssq_optimizer_save(r->queue, w.o, NULL, 0, &needed));
    void *blob = malloc(needed);
    NEED(ssq_optimizer_save(r->queue, w.o, blob, needed, NULL));
    NEED(ssq_optimizer_load(r->queue, v.o, blob, needed));
    free(blob);
    tap_ok(get(&v, SSQ_HYPER_LR) == 25.0, "%s: and a load of another's state",
           r->name);
    known_later(&w, &s);
    ssq_graph_destroy(&graph);
    weight_close(&w);
    weight_close(&v);
}

/* The effect of later changes on a captured step. */
static void test_captured(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    struct weight w;
    ssq_graph *graph = NULL;
    const float one = 1.0f;
    float p = 0.0f;
    bool same = true;

    s.base = 0.25;
    s.total_steps = 8;
    weight_open(&w, r, "sgd", &o);
    set_lr(&w, &s);
    NEED(ssq_optimizer_model_to_master(r->queue, w.o));
    NEED(ssq_tensor_write(r->queue, w.g, &one, sizeof(one), SSQ_F32));
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_optimizer_step(r->queue, w.o, NULL));
    NEED(ssq_graph_end(r->queue, &graph));
    for (int i = 0; i < 4; i++) {
        float lr = i == 0 ? 0.25f : i == 1 ? 0.5f : i == 2 ? 2.0f : 0.5f;

        s.base = 0.5;
        if (i == 1)
            set_lr(&w, &s);
        if (i == 2)
            NEED(ssq_optimizer_set(r->queue, w.o, NULL, SSQ_HYPER_LR, 2.0));
        if (i == 3)
            set_lr(&w, &s);
        NEED(ssq_graph_launch(r->queue, graph));
        NEED(ssq_tensor_read(r->queue, w.p, &p, sizeof(p), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        w.host -= lr;
        same = same && p == w.host;
    }
    tap_ok(same, "%s: a captured step reads later schedules and setters",
           r->name);
    s.base = 4.0;
    s.total_steps = 9;
    set_lr(&w, &s);
    NEED(ssq_graph_launch(r->queue, graph));
    NEED(ssq_tensor_read(r->queue, w.p, &p, sizeof(p), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(p == w.host - 0.5f,
           "%s: but keeps its own table when the new one is longer", r->name);
    ssq_graph_destroy(&graph);
    weight_close(&w);
}

/* Every setter acts from the next step on: two optimizers, one made with the
 * value, one set to it. */
static void test_setters(const struct rig *r, uint32_t number)
{
    static const struct {
        ssq_hyper hyper;
        double value;
        uint32_t option; /* 0: all kinds read it */
    } list[] = {
        {SSQ_HYPER_LR, 0.03, 0},
        {SSQ_HYPER_MOMENTUM, 0.5, OPTION_MOMENTUM},
        {SSQ_HYPER_BETA1, 0.8, OPTION_BETAS},
        {SSQ_HYPER_BETA2, 0.95, OPTION_BETAS},
        {SSQ_HYPER_EPS, 1e-3, OPTION_EPS},
        {SSQ_HYPER_WEIGHT_DECAY, 0.3, 0},
        {SSQ_HYPER_CLIP_NORM, 0.1, 0},
    };
    const char *kind = kinds[number];

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        double v = list[i].value, back = 0.0;
        ssq_optimizer_options o = train_options(kind, &storages[1]), with = o;
        struct train t, u;
        struct train_image a, b;

        if (list[i].option != 0 && !optimizer_reads(number, list[i].option))
            continue;
        with.lr = i == 0 ? v : o.lr;
        with.momentum = i == 1 ? v : o.momentum;
        with.beta1 = i == 2 ? v : o.beta1;
        with.beta2 = i == 3 ? v : o.beta2;
        with.eps = i == 4 ? v : o.eps;
        with.weight_decay = i == 5 ? v : o.weight_decay;
        with.clip_norm = i == 6 ? v : o.clip_norm;
        train_open(&t, r, kind, &storages[1], &o);
        train_open(&u, r, kind, &storages[1], &with);
        NEED(ssq_optimizer_model_to_master(r->queue, t.o));
        NEED(ssq_optimizer_set(r->queue, t.o, NULL, list[i].hyper, v));
        NEED(ssq_optimizer_get(t.o, NULL, list[i].hyper, &back));
        train_send(&t, t.grad, 1, 1.0, FLAW_NONE);
        train_send(&u, u.grad, 1, 1.0, FLAW_NONE);
        if (i != 6) { /* the second group is not set: leave it out */
            silence(&t);
            silence(&u);
        }
        for (int step = 0; step < 3; step++) {
            NEED(ssq_optimizer_step(r->queue, t.o, NULL));
            NEED(ssq_optimizer_step(r->queue, u.o, NULL));
        }
        a = image_take(&t);
        b = image_take(&u);
        tap_ok(image_equal(&a, &b) && fabs(back - v) <= 0.0,
               "%s: %s: setting hyper-parameter %d to %g is being made with it",
               r->name, kind, (int)list[i].hyper, v);
        image_free(&a);
        image_free(&b);
        train_close(&t);
        train_close(&u);
    }
}

/* Each group follows its own table, wherever that is in memory. */
static void test_groups(const struct rig *r)
{
    enum { GROUPS = 4, STEPS = 300 };
    ssq_optimizer *o = NULL;
    ssq_group *group[GROUPS];
    ssq_tensor *p[GROUPS], *g[GROUPS];
    ssq_scaler *scaler = train_fixed(r, 1.0);
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    double table[STEPS];
    bool right = true;

    options.lr = 0.5;
    NEED(ssq_optimizer_create(r->device, "sgd", &options, &o));
    for (int i = 0; i < GROUPS; i++) {
        char name[8];
        ssq_schedule s = SSQ_SCHEDULE_INIT;
        for (int t = 0; t < STEPS; t++)
            table[t] = (double)(i + 1) / (t + 1);
        s.kind = SSQ_SCHEDULE_TABLE;
        s.total_steps = STEPS;
        s.table = table;
        snprintf(name, sizeof(name), "w%d", i);
        p[i] = core_vector(r->device, SSQ_F32, 1);
        g[i] = core_vector(r->device, SSQ_F32, 1);
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = p[i])));
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = g[i], .value = 1)));
        NEED(ssq_optimizer_group(o, &options, &group[i]));
        NEED(ssq_optimizer_add(o, name, p[i], g[i], group[i]));
        NEED(ssq_optimizer_schedule(r->queue, o, group[i], SSQ_HYPER_LR, &s));
    }
    for (int t = 0; t < 2; t++) {
        NEED(ssq_optimizer_step(r->queue, o, scaler));
        NEED(update_used(r->queue, scaler));
    }
    for (int i = 0; i < GROUPS; i++) {
        float got = 0.0f;
        NEED(ssq_tensor_read(r->queue, p[i], &got, sizeof(got), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        /* -(i + 1) (1 + 1/2), exact */
        right = right && got == -1.5f * (float)(i + 1);
        ssq_tensor_destroy(&p[i]);
        ssq_tensor_destroy(&g[i]);
    }
    tap_ok(right, "%s: %d groups, each by its own table", r->name, GROUPS);
    ssq_optimizer_destroy(&o);
    ssq_scaler_destroy(&scaler);
}

/* Also on the drivers whose turn it is not: only some check where an op
 * reads. */
static void groups_everywhere(void)
{
    for (size_t i = 0; i < ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK || !e.available)
            continue;
        struct rig r = rig_open(e.name);
        test_groups(&r);
        rig_close(&r);
    }
}

int main(void)
{
    groups_everywhere();
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            test_lr(&r, i, false);
            test_lr(&r, i, true);
        }
        test_momentum(&r);
        test_beta1(&r);
        test_same_beta1(&r, "adam");
        test_same_beta1(&r, "lamb");
        test_replace(&r);
        test_known(&r);
        test_captured(&r);
        for (uint32_t k = 0; k < KINDS; k++)
            test_setters(&r, k);
        rig_close(&r);
    }
    return tap_done(2 * (12 + 3 + 2 + 2 + 1 + 2 + 31));
}
