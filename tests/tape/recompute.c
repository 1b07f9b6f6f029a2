/* SPDX-License-Identifier: Apache-2.0 */
/* recompute.c - a region that is made twice leaves the same bits as one that is
 * not, and less memory. */
#include "tests/tape/tape.h"

enum { BLOCKS = 6, ROWS = 8, WIDTH = 24, FLOATS = 65536 };

enum how { PLAIN, MARKED, NESTED };

/* All that a region may have in it: layers, views, copies, joins, casts, draws,
 * statistics, and values that are used twice or by no one. */
static ssq_var body(ssq_tape *t, ssq_var x, enum how how)
{
    static const int64_t split[] = {ROWS, 4, WIDTH / 4}, flat[] = {ROWS, WIDTH};
    static const int64_t steps[] = {2, ROWS / 2, WIDTH};
    if (how == NESTED)
        ssq_tape_recompute_push(t);
    ssq_var h = ssq_gelu_var(ssq_nn_linear(t, "fc1", x, 2 * WIDTH, NULL));
    h = ssq_nn_linear(t, "fc2", ssq_nn_dropout(t, h, 0.25), WIDTH, NULL);
    if (how == NESTED)
        h = ssq_tape_recompute_pop(t, h);
    h = ssq_nn_batch_norm(t, "norm", h, NULL);
    ssq_var v =
        ssq_var_transpose(ssq_var_reshape(h, 3, split), (int[]){0, 2, 1});
    v = ssq_silu_var(ssq_var_reshape(v, 2, flat)); /* a copy without gaps */
    const ssq_var halves[] = {ssq_var_slice(v, 1, WIDTH / 2, WIDTH, 1),
                              ssq_var_slice(v, 1, 0, WIDTH / 2, 1)};
    v = ssq_var_concat(halves, 2, 1);
    ssq_var a = ssq_var_reshape(v, 3, steps);
    a = ssq_nn_attention(t, "mix", a, 2, SSQ_NN_ATTENTION(.causal = true));
    (void)ssq_square_var(a); /* of no use */
    ssq_tape_pause(t);
    ssq_var quiet = ssq_sigmoid_var(ssq_var_detach(h));
    ssq_tape_resume(t);
    v = ssq_mul_var(ssq_var_cast(v, SSQ_F16), quiet);
    v = ssq_add_var(v, ssq_var_reshape(a, 2, flat));
    return ssq_add_var(x, ssq_nn_rms_norm(t, "last", v, NULL));
}

static ssq_var net(ssq_tape *t, const ssq_tensor *data, enum how how)
{
    static const char *const names[BLOCKS] = {"b0", "b1", "b2",
                                              "b3", "b4", "b5"};
    ssq_var x = ssq_var_input(t, data);
    x = ssq_nn_linear(t, "in", x, WIDTH, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        ssq_tape_push(t, names[i]);
        x = how == PLAIN ? body(t, x, how)
                         : ssq_var_recompute(t, body(t, x, how));
        ssq_tape_pop(t);
    }
    return ssq_mean_var(ssq_square_var(x), NULL);
}

/* Every parameter, state and gradient, as float32. */
static size_t everything(const struct tape_rig *r, float *to)
{
    size_t n = 0;
    for (size_t i = 0; i < ssq_params_count(r->params); i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r->params, i, &p));
        const ssq_tensor *both[] = {p.tensor, p.grad};
        for (int k = 0; k < 2; k++) {
            if (both[k] == NULL)
                continue;
            size_t m = (size_t)ssq_tensor_elements(both[k]);
            if (n + m > FLOATS)
                exit(1);
            NEED(ssq_tensor_read(r->queue, both[k], to + n, m * sizeof(*to),
                                 SSQ_F32));
            n += m;
        }
    }
    NEED(ssq_queue_sync(r->queue));
    return n;
}

struct recompute_run {
    size_t n;
    uint64_t peak, after; /* bytes; of memory that is still held */
    uint64_t taken[3];    /* allocations after each pass */
};

static void run(const char *name, const char *policy, enum how how, float *to,
                struct recompute_run *out)
{
    static const int64_t shape[] = {ROWS, 5};
    float xs[ROWS * 5];
    struct tape_rig r = rig_open(name, policy);
    for (int i = 0; i < ROWS * 5; i++)
        xs[i] = (float)((i * 37) % 19 - 9) / 8.0f;
    ssq_tensor *x = rig_floats(&r, 2, shape, xs);
    for (int i = 0; i < 3; i++) {
        ssq_tape_stats s = SSQ_TAPE_STATS_INIT;
        ssq_tape_begin(r.tape, true);
        ssq_var loss = net(r.tape, x, how);
        if (i == 1)
            NEED(ssq_tape_check(r.tape, loss));
        NEED(ssq_tape_backward(r.tape, loss, NULL));
        NEED(ssq_tape_stats_get(r.tape, &s));
        out->peak = s.peak_bytes;
        out->after = s.bytes;
        out->taken[i] = s.host_allocations + s.device_allocations;
    }
    out->n = everything(&r, to);
    ssq_tape_begin(r.tape, false); /* nothing is noted: nothing is made twice */
    NEED(ssq_tape_status(r.tape));
    (void)net(r.tape, x, how);
    NEED(ssq_tape_status(r.tape));
    ssq_tape_begin(r.tape, true);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

static void same(const char *name, const char *policy)
{
    static float got[3][FLOATS];
    static const char *const hows[] = {"plain", "marked", "nested"};
    struct recompute_run one[3];
    for (int how = PLAIN; how <= NESTED; how++)
        run(name, policy, (enum how)how, got[how], &one[how]);
    for (int how = MARKED; how <= NESTED; how++) {
        tap_ok(one[0].n > 10000 && one[how].n == one[0].n &&
                   memcmp(got[how], got[0], one[0].n * sizeof(float)) == 0,
               "%s: %s: %s: the same %zu values, gradients and statistics",
               name, policy, hows[how], one[0].n);
        tap_ok(2 * one[how].peak < one[0].peak &&
                   one[how].after <= one[0].after,
               "%s: %s: %s: a peak of %llu bytes, without %llu", name, policy,
               hows[how], (unsigned long long)one[how].peak,
               (unsigned long long)one[0].peak);
        tap_ok(one[how].taken[1] == one[how].taken[2],
               "%s: %s: %s: a pass like the one before takes nothing new", name,
               policy, hows[how]);
    }
}

/* ssq_tape_grad holds the values of one region at a time. */
static void one_at_a_time(const char *name)
{
    static const int64_t shape[] = {ROWS, 5};
    static float xs[ROWS * 5];
    uint64_t peak[2];
    for (int k = 0; k < 2; k++) {
        ssq_tape_stats s = SSQ_TAPE_STATS_INIT;
        struct tape_rig r = rig_open(name, "float32");
        ssq_tensor *x = rig_floats(&r, 2, shape, xs);
        ssq_tape_begin(r.tape, true);
        ssq_var loss = net(r.tape, x, k == 0 ? PLAIN : MARKED), g;
        ssq_var w = ssq_var_named(r.tape, "in.weight");
        ssq_tape_grad(r.tape, loss, &w, 1, NULL, &g);
        NEED(ssq_tape_status(r.tape));
        NEED(ssq_tape_stats_get(r.tape, &s));
        peak[k] = s.peak_bytes;
        ssq_tensor_destroy(&x);
        rig_close(&r);
    }
    tap_ok(2 * peak[1] < peak[0],
           "%s: ssq_tape_grad: a peak of %llu bytes, without %llu", name,
           (unsigned long long)peak[1], (unsigned long long)peak[0]);
}

/* Regions with several results, one that the loss does not need, one whose cast
 * is wanted after it, and one around all. */
static void results(const char *name)
{
    static const int64_t shape[] = {4, 4};
    static const float xs[16] = {1, -2, 3, 0.5f, -1, 0.25f, 2, 1};
    float got[2][64];
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        struct tape_rig r = rig_open(name, "mixed_float16");
        ssq_tape *t = r.tape;
        ssq_tensor *data = rig_floats(&r, 2, shape, xs);
        ssq_tape_begin(t, true);
        ssq_var x = ssq_var_input(t, data);
        ssq_var w = ssq_var_param(t, "w",
                                  SSQ_PARAM(.rank = 2, .shape = {4, 4},
                                            .init = SSQ_INIT_NORMAL,
                                            .value = 0.5, .full = true));
        ssq_var e = ssq_exp_var(w); /* float32, cast for each product */
        if (k == 1)
            ssq_tape_recompute_push(t);
        ssq_var a = ssq_gemm_var(x, e, SSQ_VAR_NONE, NULL);
        ssq_var b = ssq_gelu_var(a), c = ssq_sin_var(a);
        ssq_var shown = ssq_var_transpose(c, NULL);
        (void)ssq_var_tensor(shown); /* stays, and c with it */
        if (k == 1)
            b = ssq_tape_recompute_pop(t, b);
        if (k == 1)
            ssq_tape_recompute_push(t);
        (void)ssq_gelu_var(ssq_exp_var(b)); /* leads nowhere */
        if (k == 1)
            (void)ssq_tape_recompute_pop(t, SSQ_VAR_NONE);
        ssq_var d = ssq_gemm_var(b, e, SSQ_VAR_NONE, NULL);
        d = ssq_add_var(d, shown);
        if (k == 1)
            ssq_tape_recompute_push(t);
        ssq_var loss = ssq_mean_var(ssq_square_var(d), NULL);
        if (k == 1)
            loss = ssq_tape_recompute_pop(t, loss);
        NEED(ssq_tape_backward(t, loss, NULL));
        n = everything(&r, got[k]);
        ssq_tape_begin(t, true);
        ssq_tensor_destroy(&data);
        rig_close(&r);
    }
    tap_ok(n == 32 && memcmp(got[0], got[1], n * sizeof(float)) == 0,
           "%s: several results, a cast behind, a dead end, the loss itself",
           name);
}

static void unpaired(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_tape *t = r.tape;
    ssq_tape_recompute_push(NULL);
    tap_ok(ssq_tape_recompute_pop(NULL, SSQ_VAR_NONE).tape == NULL,
           "%s: no tape, no var", name);
    ssq_tape_begin(t, true);
    (void)ssq_tape_recompute_pop(t, SSQ_VAR_NONE);
    core_status(ssq_tape_status(t), SSQ_ERR_INVALID,
                "recompute.c:|tape_recompute_pop: nothing was pushed",
                "%s: a pop without a push", name);
    ssq_tape_begin(t, true);
    ssq_tape_recompute_push(t);
    ssq_tape_begin(t, true);
    (void)ssq_tape_recompute_pop(t, SSQ_VAR_NONE);
    core_status(ssq_tape_status(t), SSQ_ERR_INVALID, "nothing was pushed",
                "%s: a region ends with its pass", name);
    rig_close(&r);
}

static void misuse(const char *name)
{
    static const int64_t shape[] = {4, 4};
    static const float xs[16] = {1, 2, 3, 4};
    struct tape_rig r = rig_open(name, "float32");
    ssq_tape *t = r.tape;
    ssq_tensor *data = rig_floats(&r, 2, shape, xs);
    ssq_tape_begin(t, true);
    ssq_tape_recompute_push(t);
    ssq_var x = ssq_var_input(t, data);
    ssq_var h = ssq_nn_linear(t, "fc", x, 4, NULL), y = ssq_relu_var(h);
    core_status(ssq_tape_check(t, ssq_sum_var(y, NULL)), SSQ_ERR_INVALID,
                "has no pop", "%s: a check before the pop", name);
    core_status(ssq_tape_backward(t, ssq_sum_var(y, NULL), NULL),
                SSQ_ERR_INVALID, "has no pop", "%s: a backward before the pop",
                name);

    ssq_tape_begin(t, true);
    ssq_var old = h;
    ssq_tape_recompute_push(t);
    x = ssq_var_input(t, data);
    h = ssq_nn_linear(t, "fc", x, 4, NULL);
    y = ssq_tape_recompute_pop(t, ssq_relu_var(h));
    tap_ok(ssq_var_tensor(h) == NULL && ssq_var_rank(h) == 2 &&
               ssq_var_tensor(y) != NULL,
           "%s: the result has a tensor, others have a shape", name);
    (void)ssq_relu_var(h);
    core_status(ssq_tape_status(t), SSQ_ERR_INVALID,
                "relu: x is of a region to be recomputed",
                "%s: a var of a region behind it", name);
    ssq_tape_begin(t, true);
    ssq_tape_recompute_push(t);
    (void)ssq_tape_recompute_pop(t, old);
    core_status(ssq_tape_status(t), SSQ_ERR_INVALID, "result is a var of pass",
                "%s: a result of an earlier pass", name);

    ssq_tape_begin(t, true);
    ssq_tape_recompute_push(t);
    x = ssq_var_input(t, data);
    y = ssq_nn_linear(t, "fc", x, 4, NULL);
    y = ssq_add_var(y, ssq_mul_var(x, x));
    y = ssq_tape_recompute_pop(t, y);
    NEED(ssq_fill(r.queue, SSQ_FILL(.x = data)));
    core_status(ssq_tape_backward(t, ssq_sum_var(y, NULL), NULL),
                SSQ_ERR_INVALID, "gemm: |was written between",
                "%s: what a region reads is written under way", name);
    /* only the region itself reads x again: no backward needs it here */
    ssq_tape_begin(t, true);
    x = ssq_var_input(t, data);
    h = ssq_var_param(t, "p", SSQ_PARAM(.rank = 2, .shape = {4, 4}));
    ssq_tape_recompute_push(t);
    y = ssq_tape_recompute_pop(t, ssq_relu_var(ssq_add_var(h, x)));
    NEED(ssq_fill(r.queue, SSQ_FILL(.x = data)));
    core_status(ssq_tape_backward(t, ssq_sum_var(y, NULL), NULL),
                SSQ_ERR_INVALID, "add: |was written between",
                "%s: also what no backward reads", name);
    ssq_tape_begin(t, true);
    ssq_tensor_destroy(&data);
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        same(core_device(i), "float32");
        same(core_device(i), "mixed_float16");
        one_at_a_time(core_device(i));
        results(core_device(i));
        unpaired(core_device(i));
        misuse(core_device(i));
    }
    return tap_done(2 * 24);
}
