/* SPDX-License-Identifier: Apache-2.0 */
/* together.c - a scaler with optimizers: two on one scaler, accumulation, and
 * overflows that are applied. */
#include "tests/amp/amp.h"

struct trainee {
    ssq_optimizer *optimizer;
    ssq_tensor *param, *grad;
};

static struct trainee trainee(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    struct trainee t = {NULL, NULL, NULL};
    static const float zeros[3];
    o.lr = 1.0;
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &t.optimizer));
    t.param = core_vector(r->device, SSQ_F32, 3);
    t.grad = core_vector(r->device, SSQ_F32, 3);
    NEED(ssq_tensor_write(r->queue, t.param, zeros, sizeof(zeros), SSQ_F32));
    NEED(ssq_optimizer_add(t.optimizer, "p", t.param, t.grad, NULL));
    NEED(ssq_queue_sync(r->queue));
    return t;
}

static void trainee_end(struct trainee *t)
{
    ssq_optimizer_destroy(&t->optimizer);
    ssq_tensor_destroy(&t->param);
    ssq_tensor_destroy(&t->grad);
}

/* The gradient of a backward pass: scale, or Inf, everywhere. */
static void backward(const struct rig *r, const struct trainee *t, float value)
{
    ssq_fill_args args = SSQ_FILL_INIT;
    args.x = t->grad;
    args.value = (double)value;
    NEED(ssq_fill(r->queue, &args));
}

static float param(const struct rig *r, const struct trainee *t)
{
    float p[3];
    NEED(ssq_tensor_read(r->queue, t->param, p, sizeof(p), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return p[0] == p[1] && p[1] == p[2] ? p[0] : (float)NAN;
}

/* Two optimizers, each with its own verdict; the update sees both. */
static void two_optimizers(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "pytorch", NULL);
    struct trainee a = trainee(r), b = trainee(r);
    backward(r, &a, 65536.0f);
    backward(r, &b, (float)INFINITY);
    NEED(ssq_optimizer_step(r->queue, a.optimizer, scaler));
    NEED(ssq_optimizer_step(r->queue, b.optimizer, scaler));
    NEED(update_used(r->queue, scaler));
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(param(r, &a) == -1.0f && param(r, &b) == 0.0f,
           "%s: of two optimizers the clean one steps", r->name);
    tap_ok(s.scale == 32768.0 && s.updates == 1 && s.skipped == 1,
           "%s: and the update has seen the other's overflow", r->name);
    backward(r, &a, 32768.0f);
    backward(r, &b, 32768.0f);
    NEED(ssq_optimizer_step(r->queue, a.optimizer, scaler));
    NEED(ssq_optimizer_step(r->queue, b.optimizer, scaler));
    NEED(update_used(r->queue, scaler));
    tap_ok(param(r, &a) == -2.0f && param(r, &b) == -1.0f,
           "%s: the next step is both of theirs", r->name);
    trainee_end(&a);
    trainee_end(&b);
    ssq_scaler_destroy(&scaler);
}

/* Four micro-batches, an overflow in one of them: one verdict. */
static void accumulation(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "pytorch", NULL);
    struct trainee t = trainee(r);
    float scale = 65536.0f;
    bool ok = true;
    for (int bad = -1; bad < 4; bad++) {
        float before = param(r, &t);
        for (int k = 0; k < 4; k++) {
            float g = (float)(k + 1) * scale;
            backward(r, &t, k == bad ? (float)INFINITY : g);
            NEED(ssq_optimizer_accumulate(r->queue, t.optimizer, 0.25));
        }
        NEED(ssq_optimizer_step(r->queue, t.optimizer, scaler));
        NEED(update_used(r->queue, scaler));
        ssq_scaler_state s = rig_state(r, scaler);
        float want = bad < 0 ? before - 2.5f : before;
        ok = param(r, &t) == want && s.skipped == (uint32_t)(bad + 1) && ok;
        scale = (float)s.scale;
    }
    tap_ok(ok,
           "%s: accumulation over 4 micro-batches steps once, and skips "
           "when any one overflowed",
           r->name);
    tap_ok(scale == 4096.0f, "%s: one update for four micro-batches", r->name);
    trainee_end(&t);
    ssq_scaler_destroy(&scaler);
}

/* fastai: overflow at scale 1 is applied; above, and for others, it is not. */
static void applied(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("fastai");
    o.init_scale = 2.0;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    struct trainee t = trainee(r);
    backward(r, &t, (float)INFINITY);
    NEED(ssq_optimizer_step(r->queue, t.optimizer, scaler));
    NEED(update_used(r->queue, scaler));
    bool ok = param(r, &t) == 0.0f;
    backward(r, &t, (float)INFINITY);
    NEED(ssq_optimizer_step(r->queue, t.optimizer, scaler));
    NEED(update_used(r->queue, scaler));
    float p = param(r, &t);
    tap_ok(ok && isinf(p) && p < 0,
           "%s: fastai applies an overflow at scale 1, not at 2", r->name);
    trainee_end(&t);
    ssq_scaler_destroy(&scaler);
}

/* A whole step captured and replayed: scale, step and update move alone. */
static void replayed(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("sesqui");
    o.growth_interval = 3;
    o.init_scale = 4.0;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    struct trainee t = trainee(r);
    ssq_tensor *loss = core_vector(r->device, SSQ_F32, 3);
    const float one[3] = {1, 1, 1}, inf[3] = {1, (float)INFINITY, 1};
    ssq_graph *graph = NULL;
    backward(r, &t, 4.0f);
    NEED(ssq_optimizer_step(r->queue, t.optimizer, scaler));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_scaler_scale_grad(r->queue, scaler, loss, t.grad));
    NEED(ssq_optimizer_step(r->queue, t.optimizer, scaler));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_graph_end(r->queue, &graph));
    uint8_t overflow[21] = {0};
    float want = -1.0f;
    bool ok = true;
    for (int i = 0; i < 20; i++) {
        bool bad = i % 7 >= 5;
        overflow[i + 1] = bad;
        NEED(ssq_tensor_write(r->queue, loss, bad ? inf : one, sizeof(one),
                              SSQ_F32));
        NEED(ssq_graph_launch(r->queue, graph));
        want -= bad ? 0.0f : 1.0f;
        ok = param(r, &t) == want && ok;
    }
    ssq_scaler_state s = rig_state(r, scaler), sim = SSQ_SCALER_STATE_INIT;
    NEED(ssq_scaler_simulate(&o, &sim, 21, overflow, NULL, NULL));
    tap_ok(ok && same_state(&s, &sim) && s.skipped == 5 && s.growths > 2 &&
               s.backoffs == 2,
           "%s: 20 replays of a captured step: %u skipped, %u growths, scale "
           "%g",
           r->name, s.skipped, s.growths, s.scale);
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&loss);
    trainee_end(&t);
    ssq_scaler_destroy(&scaler);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        two_optimizers(&r);
        accumulation(&r);
        applied(&r);
        replayed(&r);
        rig_close(&r);
    }
    return tap_done(14);
}
