/* SPDX-License-Identifier: Apache-2.0 */
/* written.c - what is written between forward and backward is found, with both
 * places; writes that are allowed are not; casts of parameters are made again
 * if the parameter changed, and only there. */
#include "tests/tape/tape.h"

#define P(NAME, ...)                                                           \
    ssq_var_param(t, NAME,                                                     \
                  SSQ_PARAM(.rank = 2, .shape = {__VA_ARGS__},                 \
                            .init = SSQ_INIT_NORMAL, .value = 0.5))

struct written_harness {
    struct tape_rig r;
    ssq_tensor *x, *target, *classes;
};

static struct written_harness harness_open(const char *name, const char *policy)
{
    static const int64_t shape[] = {4, 4}, row[] = {4};
    static const float ones[16] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int classes[4] = {0, 3, 1, 2};
    struct written_harness b = {.r = rig_open(name, policy)};
    b.x = rig_floats(&b.r, 2, shape, ones);
    b.target = rig_floats(&b.r, 2, shape, ones);
    b.classes = rig_words(&b.r, 1, row, classes);
    return b;
}

static void harness_close(struct written_harness *b)
{
    ssq_tensor_destroy(&b->x);
    ssq_tensor_destroy(&b->target);
    ssq_tensor_destroy(&b->classes);
    rig_close(&b->r);
}

/* A net whose backward reads x, the first layer's result, the second layer's
 * weight, and the target; not the first layer's weight. */
static ssq_var net(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    ssq_tape_push(t, "net");
    ssq_var y =
        ssq_gemm_var(ssq_var_input(t, b->x), P("w1", 4, 4), SSQ_VAR_NONE, NULL);
    y = ssq_gemm_var(ssq_tanh_var(y), P("w2", 4, 4), SSQ_VAR_NONE, NULL);
    ssq_tape_pop(t);
    return ssq_mse_var(y, SSQ_MSE(.target = b->target));
}

static const ssq_tensor *param(const struct written_harness *b,
                               const char *name)
{
    ssq_param_info p = SSQ_PARAM_INFO_INIT;
    NEED(ssq_params_find(b->r.params, name, &p));
    return p.tensor;
}

static void fill(const struct written_harness *b, ssq_queue *q,
                 const ssq_tensor *x)
{
    (void)b;
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 0.25)));
}

static void found(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    ssq_queue *other = core_queue(b->r.device);
    static const float zeros[16];
    ssq_tape_begin(t, true);
    ssq_var loss = net(b);
    NEED(ssq_tape_backward(t, loss, NULL));

    ssq_tape_begin(t, true);
    loss = net(b);
    fill(b, b->r.queue, b->x);
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID,
                "written.c:|gemm: a, of |written.c:|was written between "
                "forward and backward: by the op \"fill\"",
                "%s: an input that an op has written", b->r.name);

    ssq_tape_begin(t, true);
    loss = net(b);
    NEED(
        ssq_tensor_write(b->r.queue, b->target, zeros, sizeof(zeros), SSQ_F32));
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID,
                "mse: target, of |by the op \"upload\"",
                "%s: a target that the host has written", b->r.name);

    ssq_tape_begin(t, true);
    loss = net(b);
    fill(b, other, param(b, "net.w2"));
    NEED(ssq_queue_sync(other));
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID,
                "gemm: b, the parameter \"net.w2\"|\"fill\" on another queue",
                "%s: a parameter that another queue has written", b->r.name);
    ssq_param_info p = SSQ_PARAM_INFO_INIT;
    NEED(ssq_params_find(b->r.params, "net.w2", &p));

    ssq_tape_begin(t, true);
    loss = net(b);
    fill(b, b->r.queue, param(b, "net.w1"));
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_OK, "",
                "%s: a weight that no gradient needs may be written",
                b->r.name);
    ssq_queue_destroy(&other);
}

/* A pass forward and backward, and then the gradient of the second layer. */
static void pass(const struct written_harness *b, float grad[16])
{
    ssq_param_info p = SSQ_PARAM_INFO_INIT;
    ssq_tape_begin(b->r.tape, true);
    NEED(ssq_tape_backward(b->r.tape, net(b), NULL));
    NEED(ssq_params_find(b->r.params, "net.w2", &p));
    NEED(
        ssq_tensor_read(b->r.queue, p.grad, grad, 16 * sizeof(*grad), SSQ_F32));
    NEED(ssq_queue_sync(b->r.queue));
}

/* A backward that ends behind the second layer leaves nothing of it in the
 * gradients, to which the next one would add. */
static void left_clean(const struct written_harness *b)
{
    float got[16], want[16];
    ssq_params_clean(b->r.params);
    ssq_tape_begin(b->r.tape, true);
    ssq_var loss = net(b);
    fill(b, b->r.queue, b->x);
    core_status(ssq_tape_backward(b->r.tape, loss, NULL), SSQ_ERR_INVALID,
                "gemm: a, of ", "%s: a backward that fails at the first layer",
                b->r.name);
    pass(b, got);
    ssq_params_clean(b->r.params);
    pass(b, want);
    tap_ok(memcmp(got, want, sizeof(got)) == 0,
           "%s: leaves no gradient of the second one", b->r.name);
}

/* A backward that fails at the loss has written no gradient: the sums of the
 * pass before remain. */
static void left_alone(const struct written_harness *b)
{
    static const float zeros[16];
    float got[16], want[16];
    NEED(
        ssq_tensor_write(b->r.queue, b->target, zeros, sizeof(zeros), SSQ_F32));
    ssq_params_clean(b->r.params);
    pass(b, want);
    pass(b, want);
    ssq_params_clean(b->r.params);
    pass(b, got);
    ssq_tape_begin(b->r.tape, true);
    ssq_var loss = net(b);
    NEED(
        ssq_tensor_write(b->r.queue, b->target, zeros, sizeof(zeros), SSQ_F32));
    core_status(ssq_tape_backward(b->r.tape, loss, NULL), SSQ_ERR_INVALID,
                "mse: target, of ", "%s: a backward that fails at the loss",
                b->r.name);
    pass(b, got);
    tap_ok(memcmp(got, want, sizeof(got)) == 0,
           "%s: leaves the sums of the pass before", b->r.name);
}

/* Two losses, and an optimizer's step between forward and backward of one. */
static void optimizer(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    ssq_tape *second = NULL;
    ssq_optimizer *o = NULL;
    NEED(ssq_tape_create(b->r.queue, b->r.params, &second));
    NEED(ssq_optimizer_create(b->r.device, "sgd", NULL, &o));
    NEED(ssq_params_optimize(b->r.params, o, NULL, NULL));
    ssq_tape_begin(t, true);
    ssq_tape_begin(second, true);
    ssq_var loss = net(b);
    const struct written_harness other = {
        {b->r.name, b->r.device, b->r.queue, b->r.params, second},
        b->x,
        b->target,
        b->classes};
    ssq_var late = net(&other);
    ssq_params_clean(b->r.params);
    NEED(ssq_tape_backward(t, loss, NULL));
    NEED(ssq_optimizer_step(b->r.queue, o, NULL));
    core_status(ssq_tape_backward(second, late, NULL), SSQ_ERR_INVALID,
                "written.c:|the parameter \"net.w2\"|by the op \"optimizer\"",
                "%s: a step between forward and backward", b->r.name);
    ssq_params_clean(b->r.params);
    ssq_tape_begin(second, true);
    core_status(ssq_tape_backward(second, net(&other), NULL), SSQ_OK, "",
                "%s: and the next pass is well", b->r.name);
    ssq_optimizer_destroy(&o);
    ssq_tape_destroy(&second);
}

/* Another part of the same buffer, as in a ring of batches. */
static void parts(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    static const int64_t shape[] = {8, 4};
    static const float zeros[32];
    ssq_tensor *ring = rig_floats(&b->r, 2, shape, zeros);
    ssq_tensor *half[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        NEED(ssq_tensor_slice(ring, 0, 4 * i, 4 * i + 4, 1, &half[i]));
    struct written_harness first = *b;
    first.x = half[0];
    ssq_tape_begin(t, true);
    ssq_var loss = net(&first);
    fill(b, b->r.queue, half[1]);
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_OK, "",
                "%s: the next batch's part of the buffer may be written",
                b->r.name);
    ssq_tape_begin(t, true);
    loss = net(&first);
    fill(b, b->r.queue, ring);
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID, "gemm: a",
                "%s: the whole buffer may not", b->r.name);
    ssq_tape_begin(t, true);
    ssq_tensor_destroy(&ring);
    ssq_tensor_destroy(&half[0]);
    ssq_tensor_destroy(&half[1]);
}

/* A batch norm that is called twice updates its statistics in between. */
static void shared_norm(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    for (int evaluate = 0; evaluate < 2; evaluate++) {
        ssq_tape_begin(t, true);
        ssq_var x = P("bn.x", 4, 4);
        const ssq_batch_norm_args *o =
            SSQ_BATCH_NORM(.training = evaluate == 0);
        ssq_var y = ssq_nn_batch_norm(t, "bn", x, o);
        y = ssq_nn_batch_norm(t, "bn", y, o);
        ssq_var loss = ssq_mean_var(ssq_square_var(y), NULL);
        if (evaluate == 1)
            fill(b, b->r.queue, param(b, "bn.running_var"));
        core_status(ssq_tape_backward(t, loss, NULL),
                    evaluate == 0 ? SSQ_OK : SSQ_ERR_INVALID,
                    "batch_norm: running_var",
                    evaluate == 0 ? "%s: a norm that is called twice"
                                  : "%s: statistics that are written",
                    b->r.name);
    }
}

/* A graph that is launched writes, too. */
static void launched(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    ssq_graph *g = NULL;
    NEED(ssq_graph_begin(b->r.queue));
    fill(b, b->r.queue, b->x);
    fill(b, b->r.queue, b->target);
    NEED(ssq_graph_end(b->r.queue, &g));
    ssq_tape_begin(t, true);
    ssq_var loss = net(b);
    NEED(ssq_graph_launch(b->r.queue, g));
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID, "\"fill\"",
                "%s: a graph that writes an input", b->r.name);
    ssq_graph_destroy(&g);
}

/* ---- casts that last ---- */

static void hear(void *user, ssq_log_level level, const char *text)
{
    (void)level;
    *(unsigned *)user += strncmp(text, "cast on ", 8) == 0;
}

/* Casts of a pass with float32 parameters in a region of f16: the cast of the
 * input, and the casts of two weights if they are due. */
static unsigned casts(const struct written_harness *b, bool training)
{
    ssq_tape *t = b->r.tape;
    unsigned n = 0;
    ssq_tape_begin(t, training);
    ssq_tape_autocast_push(t, "mixed_float16");
    ssq_log_set(hear, &n);
    ssq_var loss = net(b);
    ssq_log_set(NULL, NULL);
    NEED(training ? ssq_tape_backward(t, loss, NULL) : ssq_tape_status(t));
    return n;
}

static void cached(const struct written_harness *b)
{
    ssq_optimizer *o = NULL;
    unsigned first = casts(b, true);
    NEED(ssq_optimizer_create(b->r.device, "sgd", NULL, &o));
    NEED(ssq_params_optimize(b->r.params, o, "net.w*", NULL));
    unsigned again = casts(b, true), looked = casts(b, false);
    NEED(ssq_optimizer_step(b->r.queue, o, NULL));
    unsigned stepped = casts(b, true);
    fill(b, b->r.queue, param(b, "net.w1"));
    unsigned one = casts(b, true), none = casts(b, true);
    tap_ok(first == 3 && again == 1 && looked == 1 && stepped == 3 &&
               one == 2 && none == 1,
           "%s: casts of passes: %u, then %u, evaluated %u, after a step %u, a "
           "weight written %u, then %u",
           b->r.name, first, again, looked, stepped, one, none);
    ssq_optimizer_destroy(&o);
}

/* Weights are cast in a graph whenever it is launched. */
static void captured(const struct written_harness *b)
{
    ssq_tape *t = b->r.tape;
    ssq_graph *g = NULL;
    unsigned n = 0;
    float before = 0, after = 0;
    (void)casts(b, false);
    ssq_tape_begin(t, false);
    NEED(ssq_graph_begin(b->r.queue));
    ssq_tape_autocast_push(t, "mixed_float16");
    ssq_log_set(hear, &n);
    const ssq_tensor *loss = ssq_var_tensor(net(b));
    ssq_log_set(NULL, NULL);
    NEED(ssq_tape_status(t));
    NEED(ssq_graph_end(b->r.queue, &g));
    NEED(ssq_graph_launch(b->r.queue, g));
    NEED(ssq_tensor_read(b->r.queue, loss, &before, sizeof(before), SSQ_F32));
    NEED(ssq_fill(b->r.queue, SSQ_FILL(.x = param(b, "net.w2"), .value = 3.0)));
    NEED(ssq_graph_launch(b->r.queue, g));
    NEED(ssq_tensor_read(b->r.queue, loss, &after, sizeof(after), SSQ_F32));
    NEED(ssq_queue_sync(b->r.queue));
    tap_ok(n == 3 && before != after,
           "%s: a graph casts for itself: %u casts, loss %g, then %g",
           b->r.name, n, (double)before, (double)after);
    ssq_graph_destroy(&g);
}

/* A pass whose parameters lose their casts: it held them. */
static void widened(const char *name)
{
    struct tape_rig r = rig_open(name, "mixed_float16");
    for (int pass = 0; pass < 2; pass++) {
        ssq_tape_begin(r.tape, true);
        ssq_var p = ssq_var_param(
            r.tape, "p", SSQ_PARAM(.rank = 1, .shape = {4}, .value = 0.5));
        ssq_var y = ssq_sum_var(ssq_expm1_var(p), NULL), g = SSQ_VAR_NONE;
        for (int k = 0; k < 2 && pass == 0; k++)
            ssq_tape_grad(r.tape, y, &p, 1, SSQ_TAPE_GRAD(.create_graph = true),
                          &g);
        NEED(ssq_tape_status(r.tape));
        if (pass == 0)
            NEED(ssq_params_to_float32(r.params, r.queue, NULL));
        else
            tap_ok(ssq_tape_backward(r.tape, y, NULL) == SSQ_OK,
                   "%s: a pass whose casts were dropped, and one behind it",
                   name);
    }
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct written_harness b = harness_open(core_device(i), "float32");
        found(&b);
        left_clean(&b);
        left_alone(&b);
        parts(&b);
        shared_norm(&b);
        launched(&b);
        cached(&b);
        captured(&b);
        harness_close(&b);
        widened(core_device(i));
        for (int k = 0; k < 2; k++) {
            b = harness_open(core_device(i),
                             k == 0 ? "float32" : "mixed_float16");
            ssq_tape_begin(b.r.tape, true);
            NEED(ssq_tape_backward(b.r.tape, net(&b), NULL));
            optimizer(&b);
            harness_close(&b);
        }
    }
    return tap_done(2 * 20);
}
