/* SPDX-License-Identifier: Apache-2.0 */
/* many.c - a model of a thousand tensors: a handful of launches, and the bits
 * of the reference. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/core/queue/plan.h"
#include "tests/amp/amp.h"

#define TENSORS 1000
#define MOST    1500
#define STEPS   3
/* One for each of two dtypes, and the fold or the end. */
#define LAUNCHES 3

struct many_model {
    const struct rig *r;
    ssq_optimizer *o;
    ssq_scaler *scaler;
    ssq_tensor *param[TENSORS], *grad[TENSORS];
};

static float values[MOST];

/* 1, 2, .. and now and then a longer one. */
static int64_t length(int k)
{
    return k % 50 == 49 ? MOST : 1 + k % 97;
}

/* Every tenth is a float32 one. */
static ssq_dtype dtype_of(int k)
{
    return k % 10 == 9 ? SSQ_F32 : SSQ_F16;
}

static void draw(uint64_t seed, int64_t n, double scale)
{
    uint64_t state = seed * 977 + 1;

    for (int64_t i = 0; i < n; i++)
        values[i] = (float)((amp_uniform(&state) - 0.5) * scale);
}

static void send(const struct many_model *m, const ssq_tensor *t, uint64_t seed,
                 double scale)
{
    draw(seed, ssq_tensor_elements(t), scale);
    NEED(ssq_tensor_write(m->r->queue, t, values, sizeof(values), SSQ_F32));
    NEED(ssq_queue_sync(m->r->queue));
}

static void build(struct many_model *m, const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    char name[16];

    m->r = r;
    o.lr = 0.01;
    o.clip_norm = 1.0;
    o.statistics = true;
    NEED(ssq_optimizer_create(r->device, "adamw", &o, &m->o));
    m->scaler = rig_scaler(r, "sesqui", NULL);
    for (int k = 0; k < TENSORS; k++) {
        snprintf(name, sizeof(name), "w%d", k);
        m->param[k] = core_vector(r->device, dtype_of(k), length(k));
        m->grad[k] = core_vector(r->device, dtype_of(k), length(k));
        send(m, m->param[k], (uint64_t)k, 2.0);
        NEED(ssq_optimizer_add(m->o, name, m->param[k], m->grad[k], NULL));
    }
}

static void train(struct many_model *m)
{
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < TENSORS; k++)
            send(m, m->grad[k], (uint64_t)(TENSORS * (step + 1) + k), 64.0);
        NEED(ssq_optimizer_step(m->r->queue, m->o, m->scaler));
        NEED(update_used(m->r->queue, m->scaler));
    }
}

/* Parameters whose bits equal another model's. */
static int same_parameters(const struct many_model *a,
                           const struct many_model *b)
{
    static float x[MOST], y[MOST];
    int same = 0;

    for (int k = 0; k < TENSORS; k++) {
        NEED(ssq_tensor_read(a->r->queue, a->param[k], x, sizeof(x), SSQ_F32));
        NEED(ssq_tensor_read(b->r->queue, b->param[k], y, sizeof(y), SSQ_F32));
        NEED(ssq_queue_sync(a->r->queue));
        NEED(ssq_queue_sync(b->r->queue));
        same += memcmp(x, y, (size_t)length(k) * sizeof(float)) == 0;
    }
    return same;
}

static size_t launches(ssq_device *device, const struct op *op)
{
    struct plan *plan = NULL;

    NEED(plan_create(device, op, 0, &plan));
    size_t n = plan_launches(plan, NULL);
    object_put(plan_object(plan));
    return n;
}

static void count(const struct many_model *m)
{
    const struct state *s = m->o->state;
    struct check_op check = {.op = OP_HEADER(check, record),
                             .factor = 1.0f,
                             .record = tensor_view(s->record, ACCESS_UPDATE),
                             .control = tensor_view(s->control, ACCESS_READ),
                             .stats = tensor_view(s->stats, ACCESS_UPDATE)};
    struct optimizer_op step = {.op = OP_HEADER(optimizer, control),
                                .kind = m->o->kind,
                                .n = (uint32_t)s->pieces,
                                .control =
                                    tensor_view(s->control, ACCESS_UPDATE),
                                .table = tensor_view(s->table, ACCESS_READ),
                                .stats = tensor_view(s->stats, ACCESS_UPDATE)};

    check.op.list = s->grads.check;
    step.op.list = s->grads.step;
    size_t a = launches(m->r->device, &check.op);
    size_t b = launches(m->r->device, &step.op);
    tap_ok(a > 0 && a <= LAUNCHES, "%s: a check of %d tensors is %zu launches",
           m->r->name, TENSORS, a);
    tap_ok(b > 0 && b <= LAUNCHES, "%s: their pass is %zu launches", m->r->name,
           b);
}

static void drop(struct many_model *m)
{
    for (int k = 0; k < TENSORS; k++) {
        ssq_tensor_destroy(&m->param[k]);
        ssq_tensor_destroy(&m->grad[k]);
    }
    ssq_optimizer_destroy(&m->o);
    ssq_scaler_destroy(&m->scaler);
}

int main(void)
{
    static struct many_model want, got;
    struct rig first = rig_open(core_device(0));

    build(&want, &first);
    train(&want);
    for (size_t d = 1; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        build(&got, &r);
        train(&got);
        int same = same_parameters(&got, &want);
        tap_ok(same == TENSORS, "%s: %d of %d tensors are the reference's",
               r.name, same, TENSORS);
        if (plan_name(r.device->backend, OP_optimizer, 0) != NULL)
            count(&got);
        drop(&got);
        rig_close(&r);
    }
    drop(&want);
    rig_close(&first);
    return tap_done(1);
}
