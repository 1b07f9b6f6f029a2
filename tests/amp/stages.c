/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - what counts as a use of the loss scale, and what a capture that
 * gives no graph leaves behind: nothing. */
#include "tests/amp/amp.h"

#include "lib/core/queue/queue.h"

/* Would a check be taken? */
static bool used(const struct rig *r, ssq_scaler *scaler)
{
    const ssq_tensor *clean = r->clean;
    ssq_status st = ssq_scaler_check(r->queue, scaler, 1, &clean);
    if (st == SSQ_OK) {
        NEED(ssq_scaler_update(r->queue, scaler));
        return true;
    }
    if (strstr(ssq_last_error(), "never used") == NULL)
        tap_bail("%s", ssq_last_error());
    return false;
}

/* Squared error of three numbers; dx and dloss as given. */
static ssq_status mse(const struct rig *r, const ssq_tensor *dx,
                      const ssq_tensor *dloss)
{
    ssq_tensor *loss = NULL;
    ssq_mse_args m = SSQ_MSE_INIT;
    /* in a capture nothing is created: any other tensor of one element does */
    NEED(ssq_tensor_slice(r->bad, 0, 0, 1, 1, &loss));
    m.x = r->clean;
    m.target = r->clean;
    m.loss = loss;
    m.dx = dx;
    m.dloss = dloss;
    ssq_status st = ssq_mse(r->queue, &m);
    ssq_tensor_destroy(&loss);
    return st;
}

static ssq_status cross_entropy(const struct rig *r, const ssq_tensor *dx,
                                const ssq_tensor *dloss)
{
    ssq_cross_entropy_args c = SSQ_CROSS_ENTROPY_INIT;
    c.logits = r->clean;
    c.target_prob = r->clean;
    c.dlogits = dx;
    c.dloss = dloss;
    return ssq_cross_entropy(r->queue, &c);
}

static void uses(const struct rig *r)
{
    ssq_scaler *scaler = NULL;
    ssq_tensor *dx = core_vector(r->device, SSQ_F32, 3), *view = NULL;
    ssq_tensor *far = core_vector(r->device, SSQ_F32, 4);
    const int64_t one = 1;
    NEED(ssq_scaler_create(r->device, "check", NULL, &scaler));
    const ssq_tensor *scale = ssq_scaler_scale_tensor(scaler);
    tap_ok(!used(r, scaler), "%s: asking for the scale is no use", r->name);
    NEED(ssq_scaler_scale_value(r->queue, scaler, r->clean, dx));
    tap_ok(!used(r, scaler), "%s: nor a value scaled for show", r->name);
    ssq_scale_args s = SSQ_SCALE_INIT;
    s.x = s.y = dx;
    s.scale = scale;
    NEED(ssq_scale(r->queue, &s));
    tap_ok(!used(r, scaler), "%s: nor an op that reads it", r->name);
    NEED(mse(r, NULL, scale));
    tap_ok(!used(r, scaler), "%s: nor a loss without a gradient", r->name);
    NEED(mse(r, dx, NULL));
    tap_ok(!used(r, scaler), "%s: nor a gradient without it", r->name);
    tap_ok(mse(r, far, scale) == SSQ_ERR_INVALID && !used(r, scaler),
           "%s: nor a loss that was refused", r->name);
    NEED(mse(r, dx, scale));
    tap_ok(used(r, scaler), "%s: a gradient with it as dloss is", r->name);
    tap_ok(!used(r, scaler), "%s: until the update", r->name);
    NEED(cross_entropy(r, dx, scale));
    tap_ok(used(r, scaler), "%s: that of cross-entropy too", r->name);
    NEED(ssq_tensor_reshape(scale, 1, &one, &view));
    NEED(mse(r, dx, view));
    tap_ok(used(r, scaler), "%s: through another tensor too", r->name);
    NEED(ssq_scaler_scale_grad(r->queue, scaler, r->clean, dx));
    tap_ok(used(r, scaler), "%s: and a gradient scaled by the call", r->name);
    NEED(mse(r, dx, scale));
    NEED(ssq_scaler_update_to(r->queue, scaler, 2.0));
    tap_ok(!used(r, scaler), "%s: update_to ends it as well", r->name);
    ssq_scaler_destroy(&scaler);
    NEED(mse(r, dx, view));
    tap_ok(ssq_queue_sync(r->queue) == SSQ_OK,
           "%s: a view of the scale outlives its scaler", r->name);
    ssq_tensor_destroy(&view);
    ssq_tensor_destroy(&far);
    ssq_tensor_destroy(&dx);
}

/* A backward pass in a graph, the rest of the step outside. */
static void half_captured(const struct rig *r)
{
    ssq_scaler *scaler = NULL;
    ssq_graph *graph = NULL;
    ssq_tensor *dx = core_vector(r->device, SSQ_F32, 3);
    NEED(ssq_scaler_create(r->device, "check", NULL, &scaler));
    for (int before = 0; before < 2; before++) {
        if (before != 0)
            NEED(mse(r, dx, ssq_scaler_scale_tensor(scaler)));
        NEED(ssq_graph_begin(r->queue));
        NEED(mse(r, dx, ssq_scaler_scale_tensor(scaler)));
        NEED(ssq_graph_end(r->queue, &graph));
        tap_ok(used(r, scaler) == before,
               "%s: a captured backward pass has not run%s", r->name,
               before != 0 ? ", but one before it has" : "");
        for (int i = 0; i < 2; i++) {
            NEED(ssq_graph_launch(r->queue, graph));
            tap_ok(used(r, scaler), "%s: its launch %d has", r->name, i + 1);
        }
        tap_ok(!used(r, scaler), "%s: until the update", r->name);
        ssq_graph_destroy(&graph);
    }
    ssq_tensor_destroy(&dx);
    ssq_scaler_destroy(&scaler);
}

struct stages_subject {
    const struct rig *r;
    ssq_queue *queue;
    ssq_scaler *scaler;
    ssq_optimizer *o;
    ssq_tensor *param, *grad;
};

/* Leave the capture without a graph, in each way that there is. */
enum ending { REFUSED, QUEUE_FAILED, QUEUE_DESTROYED, ENDINGS };
static const char *const endings[ENDINGS] = {
    "the end is refused", "the queue has failed", "the queue is destroyed"};

static bool leave(struct stages_subject *s, enum ending how)
{
    ssq_graph *graph = NULL;
    ssq_status st = SSQ_ERR_INVALID, want = st;
    if (how == QUEUE_FAILED) {
        (void)error_set(SSQ_ERR_DEVICE, "as if the device were lost");
        want = queue_fail(s->queue, SSQ_ERR_DEVICE);
    }
    if (how != QUEUE_DESTROYED)
        st = ssq_graph_end(s->queue, &graph);
    if (how != REFUSED) {
        ssq_queue_destroy(&s->queue);
        s->queue = core_queue(s->r->device);
    }
    return st == want && graph == NULL;
}

/* Parts of a step, of which no capture may be made. */
static ssq_status begin_step(struct stages_subject *s, int what)
{
    ssq_status st =
        ssq_scaler_scale_grad(s->queue, s->scaler, s->r->clean, s->grad);
    const ssq_tensor *grad = s->grad;
    if (what == 0)
        return st == SSQ_OK ? ssq_optimizer_step(s->queue, s->o, s->scaler)
                            : st;
    if (what == 1)
        return ssq_scaler_unscale(s->queue, s->scaler, 1, &grad, &grad);
    if (what == 2)
        return ssq_optimizer_unscale(s->queue, s->o, s->scaler);
    return ssq_optimizer_accumulate(s->queue, s->o, 0.125);
}

static bool run(struct stages_subject *s, int what, enum ending how)
{
    static const float zeros[3];
    float x[3], want[3];
    NEED(ssq_tensor_write(s->queue, s->param, zeros, sizeof(zeros), SSQ_F32));
    NEED(ssq_queue_sync(s->queue));
    NEED(ssq_graph_begin(s->queue));
    NEED(begin_step(s, what));
    bool ok = leave(s, how);
    if (used(s->r, s->scaler)) {
        tap_diag("the scale is used, by a capture");
        ok = false;
    }
    NEED(ssq_scaler_scale_grad(s->queue, s->scaler, s->r->clean, s->grad));
    ssq_status st = ssq_optimizer_step(s->queue, s->o, s->scaler);
    if (st == SSQ_OK)
        st = ssq_scaler_update(s->queue, s->scaler);
    NEED(ssq_tensor_read(s->queue, s->param, x, sizeof(x), SSQ_F32));
    NEED(
        ssq_tensor_read(s->r->queue, s->r->clean, want, sizeof(want), SSQ_F32));
    NEED(ssq_queue_sync(s->queue));
    NEED(ssq_queue_sync(s->r->queue));
    for (int i = 0; i < 3; i++)
        ok = ok && x[i] == -want[i];
    if (st != SSQ_OK)
        tap_diag("%s", ssq_last_error());
    return ok && st == SSQ_OK;
}

static void rolled_back(const struct rig *r)
{
    static const char *const names[] = {
        "a step", "an unscale", "an optimizer's unscale", "an accumulation"};
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_scaler_options fixed = rig_preset("fixed");
    struct stages_subject s = {.r = r, .queue = core_queue(r->device)};
    fixed.init_scale = 8.0;
    o.lr = 1.0;
    NEED(ssq_scaler_create(r->device, NULL, &fixed, &s.scaler));
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &s.o));
    s.param = core_vector(r->device, SSQ_F32, 3);
    s.grad = core_vector(r->device, SSQ_F32, 3);
    NEED(ssq_optimizer_add(s.o, "p", s.param, s.grad, NULL));
    NEED(ssq_optimizer_accumulate(s.queue, s.o, 1.0)); /* makes the sums */
    NEED(ssq_optimizer_step(s.queue, s.o, NULL));
    for (int what = 0; what < 4; what++)
        for (enum ending how = REFUSED; how < ENDINGS; how++)
            tap_ok(run(&s, what, how),
                   "%s: %s in a capture where %s leaves nothing behind",
                   r->name, names[what], endings[how]);
    ssq_optimizer_destroy(&s.o);
    ssq_scaler_destroy(&s.scaler);
    ssq_tensor_destroy(&s.param);
    ssq_tensor_destroy(&s.grad);
    ssq_queue_destroy(&s.queue);
}

/* ---- a rank hook that fails in a capture ---- */

/* It enqueues something first, as a hook would. */
static ssq_status no_hook(ssq_queue *queue, const ssq_tensor *verdict,
                          void *user)
{
    (void)verdict;
    NEED(ssq_fill(queue, SSQ_FILL(.x = user, .value = 1)));
    return error_set(SSQ_ERR_IO, "no_hook");
}

static ssq_status check_as(const struct stages_subject *s, int what)
{
    const ssq_tensor *grad = s->grad;
    if (what == 0)
        return ssq_scaler_check(s->queue, s->scaler, 1, &grad);
    if (what == 1)
        return ssq_scaler_unscale(s->queue, s->scaler, 1, &grad, &grad);
    if (what == 2)
        return ssq_optimizer_check(s->queue, s->o, s->scaler);
    if (what == 3)
        return ssq_optimizer_unscale(s->queue, s->o, s->scaler);
    return ssq_optimizer_step(s->queue, s->o, s->scaler);
}

static void hook_fails(const struct rig *r)
{
    static const char *const names[] = {"a check", "an unscale",
                                        "an optimizer's check",
                                        "an optimizer's unscale", "a step"};
    struct stages_subject s = {.r = r, .queue = r->queue, .grad = r->clean};
    ssq_graph *graph = NULL;
    NEED(ssq_scaler_create(r->device, "check", NULL, &s.scaler));
    NEED(ssq_optimizer_create(r->device, "sgd", NULL, &s.o));
    s.param = core_vector(r->device, SSQ_F32, 3);
    NEED(ssq_optimizer_add(s.o, "p", s.param, s.grad, NULL));
    NEED(ssq_optimizer_model_to_master(s.queue, s.o));
    NEED(ssq_scaler_rank_hook_set(s.scaler, no_hook, r->bad));
    for (int what = 0; what < 5; what++) {
        NEED(ssq_graph_begin(s.queue));
        NEED(ssq_scaler_scale_grad(s.queue, s.scaler, r->bad, r->bad));
        core_status(check_as(&s, what), SSQ_ERR_IO, "no_hook",
                    "%s: %s whose hook fails in a capture", r->name,
                    names[what]);
        NEED(ssq_graph_end(s.queue, &graph));
        tap_ok(ssq_graph_ops(graph) == 1,
               "%s: of which nothing is recorded, but the scaled gradient: %zu",
               r->name, ssq_graph_ops(graph));
        ssq_graph_destroy(&graph);
    }
    ssq_optimizer_destroy(&s.o);
    ssq_scaler_destroy(&s.scaler);
    ssq_tensor_destroy(&s.param);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        uses(&r);
        half_captured(&r);
        rolled_back(&r);
        hook_fails(&r);
        rig_close(&r);
    }
    return tap_done(66 + 20);
}
