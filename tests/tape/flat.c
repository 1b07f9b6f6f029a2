/* SPDX-License-Identifier: Apache-2.0 */
/* flat.c - what a tape counts; and it takes nothing new, on the device or on
 * the host, for shapes that it has seen: thousands of passes, for training and
 * for evaluation, of three shapes in turns. */
#include "tests/tape/tape.h"

#define SHAPES 3
#define ROUNDS 700

static ssq_var net(ssq_tape *t, ssq_var x)
{
    x = ssq_relu_var(ssq_nn_linear(t, "fc1", x, 24, NULL));
    x = ssq_nn_layer_norm(t, "norm", ssq_nn_dropout(t, x, 0.1), NULL);
    ssq_tape_push(t, "head");
    x = ssq_nn_linear(t, "fc2", x, 5, NULL);
    ssq_tape_pop(t);
    return x;
}

struct flat_use {
    uint64_t device, host, bytes;
};

static struct flat_use use_of(const ssq_tape *t)
{
    ssq_tape_stats s = SSQ_TAPE_STATS_INIT;
    NEED(ssq_tape_stats_get(t, &s));
    return (struct flat_use){s.device_allocations, s.host_allocations,
                             s.device_bytes};
}

static void train(ssq_trainer *trainer, const ssq_tensor *x,
                  const ssq_tensor *y, bool training)
{
    ssq_tape *t =
        training ? ssq_trainer_begin(trainer) : ssq_trainer_evaluate(trainer);
    ssq_var loss = ssq_cross_entropy_var(net(t, ssq_var_input(t, x)),
                                         SSQ_CROSS_ENTROPY(.target = y));
    NEED(training ? ssq_trainer_step(trainer, loss) : ssq_tape_status(t));
}

static void flat(const char *device, const char *policy, uint32_t accumulate)
{
    static const int64_t rows[SHAPES] = {16, 7, 64};
    ssq_device *d = core_open(device);
    ssq_queue *q = core_queue(d);
    ssq_trainer *trainer = NULL;
    ssq_tensor *x[SHAPES], *y[SHAPES];
    NEED(ssq_trainer_create(
        q, SSQ_TRAINER(.policy = policy, .accumulate = accumulate), &trainer));
    for (int i = 0; i < SHAPES; i++) {
        const int64_t shape[] = {rows[i], 9};
        NEED(ssq_tensor_create(d, SSQ_F32, 2, shape, &x[i]));
        NEED(ssq_tensor_create(d, SSQ_I32, 1, rows + i, &y[i]));
        NEED(ssq_fill(q, SSQ_FILL(.x = x[i], .value = 0.5)));
        NEED(ssq_fill(q, SSQ_FILL(.x = y[i], .value = i)));
    }
    for (int i = 0; i < SHAPES; i++)
        for (int k = 0; k < 2; k++)
            train(trainer, x[i], y[i], k == 0);
    ssq_tape *t = ssq_trainer_begin(trainer);
    const struct flat_use before = use_of(t);
    for (int i = 0; i < ROUNDS; i++) {
        train(trainer, x[i % SHAPES], y[i % SHAPES], true);
        if (i % 5 == 0)
            train(trainer, x[i % SHAPES], y[i % SHAPES], false);
    }
    NEED(ssq_queue_sync(q));
    const struct flat_use after = use_of(t);
    tap_ok(before.device == after.device && before.host == after.host &&
               before.bytes == after.bytes && after.bytes > 0,
           "%s: %s, %u passes to a step: %d passes of %d shapes: %llu, then "
           "%llu allocations of the device, %llu and %llu of the host",
           device, policy, accumulate, ROUNDS, SHAPES,
           (unsigned long long)before.device, (unsigned long long)after.device,
           (unsigned long long)before.host, (unsigned long long)after.host);
    for (int i = 0; i < SHAPES; i++) {
        ssq_tensor_destroy(&x[i]);
        ssq_tensor_destroy(&y[i]);
    }
    ssq_trainer_destroy(&trainer);
    ssq_queue_destroy(&q);
    ssq_device_close(&d);
}

/* Of an input, a parameter, their product, its relu and the input's: five vars,
 * and two ops that lead to a parameter. */
static void counts(const char *device)
{
    struct tape_rig r = rig_open(device, NULL);
    const int64_t shape[] = {3};
    ssq_tensor *x = rig_floats(&r, 1, shape, (const float[]){1, 2, 3});
    ssq_tape_stats s = SSQ_TAPE_STATS_INIT, none = SSQ_TAPE_STATS_INIT;
    for (int i = 0; i < 2; i++) {
        ssq_tape_begin(r.tape, true);
        NEED(ssq_tape_stats_get(r.tape, &none));
        ssq_var v = ssq_var_input(r.tape, x);
        ssq_var p = ssq_var_param(
            r.tape, "p",
            SSQ_PARAM(.rank = 1, .shape = {3}, .init = SSQ_INIT_ONES));
        (void)ssq_relu_var(ssq_mul_var(v, p));
        (void)ssq_relu_var(v);
        NEED(ssq_tape_status(r.tape));
        NEED(ssq_tape_stats_get(r.tape, &s));
    }
    tap_ok(none.vars == 0 && none.nodes == 0 && none.bytes == 0 &&
               s.vars == 5 && s.nodes == 2 && s.passes == 2 &&
               s.bytes >= 3 * 3 * sizeof(float) && s.peak_bytes >= s.bytes,
           "%s: %u vars, %u nodes, %llu bytes of pass %llu", device, s.vars,
           s.nodes, (unsigned long long)s.bytes, (unsigned long long)s.passes);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; i < 2; i++) {
        counts(core_device(i));
        flat(core_device(i), "mixed_float16", 1);
        flat(core_device(i), "mixed_bfloat16", 3);
    }
    return tap_done(6);
}
