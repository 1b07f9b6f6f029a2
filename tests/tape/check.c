/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - ssq_tape_check says what a backward would stumble over, and leaves
 * the pass as it was. */
#include "tests/tape/tape.h"

#define P(NAME, ...)                                                           \
    ssq_var_param(t, NAME,                                                     \
                  SSQ_PARAM(.rank = 2, .shape = {__VA_ARGS__},                 \
                            .init = SSQ_INIT_NORMAL, .value = 0.5))

static ssq_var net(const struct tape_rig *r, const ssq_tensor *x)
{
    ssq_tape *t = r->tape;
    ssq_tape_push(t, "body");
    ssq_var y = ssq_nn_linear(t, "fc1", ssq_var_input(t, x), 6, NULL);
    y = ssq_nn_dropout(t, ssq_gelu_var(y), 0.25);
    y = ssq_nn_layer_norm(t, "norm", y, NULL);
    y = ssq_var_reshape(ssq_var_transpose(y, NULL), 2, (int64_t[]){4, 6});
    y = ssq_mul_var(ssq_var_slice(y, 1, 0, 3, 1), ssq_var_slice(y, 1, 3, 6, 1));
    ssq_tape_pop(t);
    return ssq_mean_var(ssq_square_var(y), NULL);
}

static size_t gradients(const struct tape_rig *r, float *to)
{
    size_t n = 0;
    for (size_t i = 0; i < ssq_params_count(r->params); i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r->params, i, &p));
        size_t k = (size_t)ssq_tensor_elements(p.grad);
        NEED(ssq_tensor_read(r->queue, p.grad, to + n, k * sizeof(*to),
                             SSQ_F32));
        n += k;
    }
    NEED(ssq_queue_sync(r->queue));
    return n;
}

static ssq_tape_stats stats_of(const struct tape_rig *r)
{
    ssq_tape_stats s = SSQ_TAPE_STATS_INIT;
    NEED(ssq_tape_stats_get(r->tape, &s));
    return s;
}

/* Two passes: the second adds to the gradients of the first. */
static void harmless(const char *name, const char *policy)
{
    float got[2][128];
    size_t n = 0;
    bool same = true;
    for (int k = 0; k < 2; k++) {
        static const int64_t shape[] = {4, 4};
        static const float xs[16] = {1, -2, 3, 0.5f, -1, 0.25f, 2, 1};
        struct tape_rig r = rig_open(name, policy);
        ssq_tensor *x = rig_floats(&r, 2, shape, xs);
        for (int i = 0; i < 2; i++) {
            ssq_tape_begin(r.tape, true);
            ssq_var loss = net(&r, x);
            ssq_tape_stats before = stats_of(&r);
            for (int again = 0; again < 2 && k == 1; again++)
                NEED(ssq_tape_check(r.tape, loss));
            ssq_tape_stats after = stats_of(&r);
            same = same && before.vars == after.vars &&
                   before.nodes == after.nodes && before.bytes == after.bytes;
            NEED(ssq_tape_backward(r.tape, loss, NULL));
        }
        n = gradients(&r, got[k]);
        ssq_tensor_destroy(&x);
        rig_close(&r);
    }
    tap_ok(same && n > 40 && memcmp(got[0], got[1], n * sizeof(float)) == 0,
           "%s: %s: a pass that was checked has the same %zu gradients", name,
           policy, n);
}

static void hear(void *user, ssq_log_level level, const char *text)
{
    *(unsigned *)user +=
        level == SSQ_LOG_WARNING && core_has(text, "was written");
}

static void found(const struct tape_rig *r)
{
    static const int64_t shape[] = {4, 4};
    static const float xs[16] = {1, 2, 3, 4};
    ssq_tape *t = r->tape;
    ssq_tensor *x = rig_floats(r, 2, shape, xs);
    unsigned warnings = 0;
    ssq_tape_begin(t, true);
    ssq_tape_push(t, "head");
    ssq_var y = ssq_mul_var(P("w", 4, 4), ssq_var_input(t, x));
    ssq_tape_push(t, "deep");
    ssq_var z = ssq_mul_var(ssq_gelu_var(P("v", 4, 1)), ssq_var_input(t, x));
    ssq_tape_pop(t);
    ssq_tape_pop(t);
    ssq_var loss = ssq_add_var(ssq_sum_var(y, NULL), ssq_sum_var(z, NULL));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = x)));
    ssq_log_set(hear, &warnings);
    ssq_status st = ssq_tape_check(t, loss);
    ssq_log_set(NULL, NULL);
    core_status(st, SSQ_ERR_INVALID,
                "tape_check: |check.c:|head.deep: mul of |4|1|was written "
                "|; and 1 more",
                "%s: two ops whose operand was written, the last with line, "
                "scope and shape",
                r->name);
    tap_ok(warnings == 2 && ssq_tape_status(t) == SSQ_OK,
           "%s: both are told, and the pass goes on: %u", r->name, warnings);
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID,
                "check.c:|head.deep: mul: |was written",
                "%s: a backward says the same, with the op's scope", r->name);

    ssq_tape_begin(t, true);
    loss = net(r, x);
    core_status(ssq_tape_check(t, SSQ_VAR_NONE), SSQ_ERR_INVALID,
                "loss is not a var", "%s: a check of nothing", r->name);
    core_status(ssq_tape_status(t), SSQ_OK, "", "%s: which ends no pass",
                r->name);
    NEED(ssq_tape_check(t, loss));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = x)));
    core_status(ssq_tape_check(t, loss), SSQ_ERR_INVALID,
                "body: gemm of |was written between",
                "%s: an input that was written", r->name);
    ssq_tape_begin(t, true);
    ssq_tensor_destroy(&x);
}

static void misuse(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_graph *g = NULL;
    core_status(ssq_tape_check(NULL, SSQ_VAR_NONE), SSQ_ERR_INVALID, "NULL",
                "%s: no tape", r->name);
    ssq_tape_begin(t, true);
    core_status(ssq_tape_check(t, P("m", 2, 2)), SSQ_ERR_INVALID, "one element",
                "%s: a loss of four elements", r->name);
    ssq_var loss = ssq_sum_var(P("m", 2, 2), NULL);
    NEED(ssq_graph_begin(r->queue));
    core_status(ssq_tape_check(t, loss), SSQ_ERR_INVALID, "captured already",
                "%s: in a capture", r->name);
    NEED(ssq_graph_end(r->queue, &g));
    ssq_graph_destroy(&g);
    NEED(ssq_tape_backward(t, loss, NULL));
    core_status(ssq_tape_check(t, loss), SSQ_ERR_INVALID, "second backward",
                "%s: behind the backward", r->name);
    ssq_tape_begin(t, false);
    core_status(ssq_tape_check(t, ssq_sum_var(P("m", 2, 2), NULL)),
                SSQ_ERR_INVALID, "for evaluation", "%s: of an evaluation",
                r->name);
    ssq_tape_begin(t, true);
    core_status(ssq_tape_check(t, SSQ_VAR_NONE), SSQ_ERR_INVALID, "not a var",
                "%s: no loss", r->name);
}

static void flat(const struct tape_rig *r)
{
    static const int64_t shape[] = {4, 4};
    static const float xs[16] = {1, 2, 3, 4};
    ssq_tensor *x = rig_floats(r, 2, shape, xs);
    uint64_t before = 0, after = 0;
    for (int i = 0; i < 200; i++) {
        ssq_tape_begin(r->tape, true);
        ssq_var loss = net(r, x);
        NEED(ssq_tape_check(r->tape, loss));
        NEED(ssq_tape_backward(r->tape, loss, NULL));
        ssq_tape_stats s = stats_of(r);
        after = s.host_allocations + s.device_allocations;
        if (i == 1)
            before = after;
    }
    tap_ok(before == after, "%s: 200 checks: %llu, then %llu allocations",
           r->name, (unsigned long long)before, (unsigned long long)after);
    ssq_tape_begin(r->tape, true);
    ssq_tensor_destroy(&x);
}

/* The check's scratch is the join's next. */
static void joined(const struct tape_rig *r)
{
    enum { PARTS = 40 };
    static const int64_t shape[] = {4, 4};
    static const float xs[16] = {1, 2, 3, 4};
    ssq_tensor *x = rig_floats(r, 2, shape, xs);
    ssq_var parts[PARTS];
    float dm[4] = {0};
    ssq_param_info p = SSQ_PARAM_INFO_INIT;
    ssq_params_clean(r->params);
    ssq_tape_begin(r->tape, true);
    NEED(ssq_tape_check(r->tape, net(r, x)));
    ssq_var m =
        ssq_var_param(r->tape, "join", SSQ_PARAM(.rank = 1, .shape = {4}));
    for (int i = 0; i < PARTS; i++)
        parts[i] = m;
    ssq_var loss = ssq_sum_var(ssq_var_concat(parts, PARTS, 0), NULL);
    NEED(ssq_tape_check(r->tape, loss));
    NEED(ssq_params_find(r->params, "join", &p));
    bool none = p.grad == NULL;
    NEED(ssq_tape_backward(r->tape, loss, NULL));
    NEED(ssq_params_find(r->params, "join", &p));
    NEED(ssq_tensor_read(r->queue, p.grad, dm, sizeof(dm), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(dm[0] == PARTS && dm[3] == PARTS, "%s: a join behind a check: %g",
           r->name, (double)dm[0]);
    tap_ok(none, "%s: a gradient that a check has made is none yet", r->name);
    ssq_tape_begin(r->tape, true);
    ssq_tensor_destroy(&x);
}

/* An optimizer's step before any backward is one with gradients of 0. */
static void untouched(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_optimizer *sgd = NULL;
    ssq_param_info p = SSQ_PARAM_INFO_INIT;
    float was[16], is[16], grad[16];
    o.lr = 1.0;
    NEED(ssq_optimizer_create(r.device, "sgd", &o, &sgd));
    ssq_tape *t = r.tape;
    ssq_tape_begin(t, true);
    (void)P("w", 4, 4);
    NEED(ssq_tape_status(t));
    NEED(ssq_params_optimize(r.params, sgd, NULL, NULL));
    NEED(ssq_params_find(r.params, "w", &p));
    NEED(ssq_tensor_read(r.queue, p.tensor, was, sizeof(was), SSQ_F32));
    NEED(ssq_optimizer_step(r.queue, sgd, NULL));
    NEED(ssq_tensor_read(r.queue, p.tensor, is, sizeof(is), SSQ_F32));
    NEED(ssq_tensor_read(r.queue, p.grad, grad, sizeof(grad), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    bool zero = memcmp(was, is, sizeof(is)) == 0;
    for (int i = 0; i < 16; i++)
        zero = zero && grad[i] == 0.0f;
    tap_ok(zero && was[0] != 0.0f,
           "%s: a step without a backward: gradients "
           "are zeros, and %g is still %g",
           name, (double)was[0], (double)is[0]);
    ssq_optimizer_destroy(&sgd);
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        harmless(core_device(i), "float32");
        harmless(core_device(i), "mixed_float16");
        struct tape_rig r = rig_open(core_device(i), "float32");
        found(&r);
        misuse(&r);
        flat(&r);
        joined(&r);
        rig_close(&r);
        untouched(core_device(i));
    }
    return tap_done(2 * 16);
}
