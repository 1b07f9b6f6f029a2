/* SPDX-License-Identifier: Apache-2.0 */
/* captured.c - gradients and captures: a capture changes no gradient, a launch
 * does what its calls would have done, and a stale gradient is not added to. */
#include "tests/tape/tape.h"

#include <string.h>

static const float xs[6] = {1, 2, 3, 4, 5, 6};

/* The gradient of "w" is the sum of the rows of x, times `by`. */
static ssq_status pass(struct tape_rig *r, const ssq_tensor *x, double by)
{
    ssq_tape_begin(r->tape, true);
    ssq_var in = ssq_var_input(r->tape, x);
    ssq_var w = ssq_var_param(
        r->tape, "w",
        SSQ_PARAM(.rank = 1, .shape = {3}, .init = SSQ_INIT_CONSTANT));
    ssq_var y = ssq_scale_var(ssq_mul_var(in, w), SSQ_SCALE(.alpha = by));
    return ssq_tape_backward(r->tape, ssq_sum_var(y, NULL), NULL);
}

/* Is the gradient of "w" so often (5, 7, 9)? */
static bool is(struct tape_rig *r, float times)
{
    ssq_param_info i = SSQ_PARAM_INFO_INIT;
    float g[3] = {-1, -1, -1};
    NEED(ssq_params_find(r->params, "w", &i));
    if (i.grad == NULL)
        return times == 0.0f;
    NEED(ssq_tensor_read(r->queue, i.grad, g, sizeof(g), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return g[0] == 5.0f * times && g[1] == 7.0f * times && g[2] == 9.0f * times;
}

/* A graph of one backward. dry: none. */
static ssq_graph *capture(struct tape_rig *r, const ssq_tensor *x, bool dry)
{
    ssq_graph *g = NULL;
    NEED(dry ? ssq_graph_begin_dry(r->queue) : ssq_graph_begin(r->queue));
    NEED(pass(r, x, 1.0));
    NEED(ssq_graph_end(r->queue, &g));
    return g;
}

static void states(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, xs);
    ssq_tape_begin(r.tape, true); /* creates the parameter */
    (void)ssq_var_param(
        r.tape, "w",
        SSQ_PARAM(.rank = 1, .shape = {3}, .init = SSQ_INIT_CONSTANT));
    NEED(ssq_tape_status(r.tape));
    (void)capture(&r, x, true);
    ssq_graph *over = capture(&r, x, false);
    tap_ok(is(&r, 0.0f), "%s: after captures there is no gradient", name);
    NEED(pass(&r, x, 1.0));
    tap_ok(is(&r, 1.0f), "%s: the first backward adds to nothing", name);
    ssq_graph *add = capture(&r, x, false);
    (void)capture(&r, x, true);
    NEED(pass(&r, x, 1.0));
    tap_ok(is(&r, 2.0f), "%s: the second adds to the first", name);
    NEED(ssq_graph_launch(r.queue, add));
    NEED(ssq_graph_launch(r.queue, add));
    tap_ok(is(&r, 4.0f), "%s: each launch adds", name);
    ssq_params_clean(r.params);
    core_status(ssq_graph_launch(r.queue, add), SSQ_ERR_INVALID,
                "graph_launch: |gradient of \"w\"|cleaned",
                "%s: a launch does not add to a stale gradient", name);
    NEED(ssq_graph_launch(r.queue, over));
    tap_ok(is(&r, 1.0f), "%s: another graph overwrites it", name);
    NEED(pass(&r, x, 1.0));
    NEED(ssq_graph_launch(r.queue, add));
    tap_ok(is(&r, 3.0f), "%s: what follows a launch adds to it", name);
    ssq_graph_destroy(&over);
    ssq_graph_destroy(&add);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* One graph cleans, overwrites, and adds: it can be launched at any time. */
static void whole(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, xs);
    ssq_graph *g = NULL;
    NEED(pass(&r, x, 1.0));
    ssq_params_clean(r.params);
    NEED(ssq_graph_begin(r.queue));
    NEED(pass(&r, x, 1.0));
    NEED(pass(&r, x, 2.0));
    NEED(ssq_graph_end(r.queue, &g));
    NEED(ssq_graph_launch(r.queue, g));
    ssq_params_clean(r.params);
    NEED(ssq_graph_launch(r.queue, g));
    tap_ok(is(&r, 3.0f), "%s: two passes of one graph add up", name);
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* ssq_tape_check does not count as the first backward. */
static void checked(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, xs);
    ssq_optimizer *o = NULL;
    ssq_param_info i = SSQ_PARAM_INFO_INIT;
    ssq_tape_begin(r.tape, true);
    ssq_var in = ssq_var_input(r.tape, x);
    ssq_var l = ssq_mean_var(
        ssq_square_var(ssq_nn_linear(r.tape, "fc", in, 2, NULL)), NULL);
    NEED(ssq_tape_check(r.tape, l));
    NEED(ssq_optimizer_create(r.device, "sgd", NULL, &o));
    NEED(ssq_params_optimize(r.params, o, NULL, NULL));
    NEED(ssq_fill(r.queue, SSQ_FILL(.x = x, .value = 2.0)));
    core_status(ssq_tape_backward(r.tape, l, NULL), SSQ_ERR_INVALID,
                "was written", "%s: a backward fails", name);
    NEED(ssq_params_find(r.params, "fc.weight", &i));
    tap_ok(i.grad != NULL, "%s: the optimizer's gradient stays", name);
    ssq_optimizer_destroy(&o);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* A loss that is a view stays as well, with the memory that it looks at. */
static void views(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, xs);
    float value = 0.0f;
    ssq_tape_begin(r.tape, true);
    ssq_var w =
        ssq_var_param(r.tape, "w",
                      SSQ_PARAM(.rank = 1, .shape = {3},
                                .init = SSQ_INIT_CONSTANT, .value = 2.0));
    ssq_var sum = ssq_sum_var(ssq_mul_var(ssq_var_input(r.tape, x), w), NULL);
    ssq_var l = ssq_var_reshape(sum, 1, (int64_t[]){1});
    NEED(ssq_tape_backward(r.tape, l, NULL));
    const ssq_tensor *seen = ssq_var_tensor(l);
    if (seen != NULL)
        NEED(ssq_tensor_read(r.queue, seen, &value, sizeof(value), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    tap_ok(value == 42.0f, "%s: a loss that is a view is 42, not %g", name,
           (double)value);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* A region that is computed again, twice, draws the same mask and writes it
 * once. */
static void masks(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, xs);
    ssq_tensor *mask = NULL;
    NEED(ssq_tensor_create(r.device, SSQ_U8, 2, (int64_t[]){2, 3}, &mask));
    ssq_tape_begin(r.tape, true);
    ssq_var w =
        ssq_var_param(r.tape, "w",
                      SSQ_PARAM(.rank = 1, .shape = {3},
                                .init = SSQ_INIT_CONSTANT, .value = 2.0));
    ssq_tape_recompute_push(r.tape);
    ssq_var y = ssq_mul_var(ssq_var_input(r.tape, x), w);
    y = ssq_dropout_var(y, SSQ_DROPOUT(.p = 0.5, .seed = 3, .mask = mask));
    y = ssq_square_var(y);
    y = ssq_tape_recompute_pop(r.tape, y);
    ssq_var l = ssq_sum_var(y, NULL), g = SSQ_VAR_NONE;
    ssq_tape_grad(r.tape, l, &w, 1, NULL, &g);
    NEED(ssq_tape_status(r.tape));
    NEED(ssq_fill(r.queue, SSQ_FILL(.x = mask, .value = 7.0)));
    core_status(ssq_tape_backward(r.tape, l, NULL), SSQ_OK, NULL,
                "%s: a region with a mask is computed again twice", name);
    ssq_tensor_destroy(&mask);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

static void lines(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tensor *x = rig_floats(&r, 3, (int64_t[]){1, 2, 3}, xs);
    ssq_tape_begin(r.tape, true);
    (void)ssq_nn_attention(r.tape, "a b", ssq_var_input(r.tape, x), 1, NULL);
    core_status(ssq_tape_status(r.tape), SSQ_ERR_INVALID, "captured.c:|a b",
                "%s: a bad name of attention has its line", name);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        states(core_device(i));
        whole(core_device(i));
        checked(core_device(i));
        views(core_device(i));
        masks(core_device(i));
        lines(core_device(i));
    }
    return tap_done(2 * 13);
}
