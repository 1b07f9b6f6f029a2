/* SPDX-License-Identifier: Apache-2.0 */
/* again.c - training continues after ssq_trainer_end, with the bits of a
 * trainer that never ended. */
#include "tests/tape/harness.h"

#include <math.h>

#define IN   4
#define OUT  3
#define ROWS 5
/* Elements of fc.weight and fc.bias, norm.weight and norm.bias, out.weight. */
#define COUNT (IN * 4 + 4 + 4 + 4 + 4 * OUT)

static ssq_trainer *trainer_of(const struct tape_harness *b,
                               const ssq_trainer_args *args)
{
    ssq_trainer *t = NULL;
    NEED(ssq_trainer_create(b->queue, args, &t));
    return t;
}

static ssq_var forward(const struct tape_harness *b, ssq_tape *t)
{
    ssq_var h = ssq_nn_linear(t, "fc", ssq_var_input(t, b->x), 4, NULL);
    h = ssq_nn_layer_norm(t, "norm", h, NULL);
    h = ssq_nn_linear(t, "out", h, OUT, SSQ_NN_LINEAR(.bias = false));
    return ssq_mse_var(h, SSQ_MSE(.target = b->target));
}

static ssq_status step(const struct tape_harness *b, ssq_trainer *t)
{
    return ssq_trainer_step(t, forward(b, ssq_trainer_begin(t)));
}

static void read_all(const struct tape_harness *b, ssq_trainer *t, float *to)
{
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue,
                         ssq_trainer_optimizer(t), NULL, to, COUNT));
}

static ssq_dtype dtype_of(const ssq_trainer *t, const char *name)
{
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    NEED(ssq_params_find(ssq_trainer_params(t), name, &info));
    return ssq_tensor_dtype(info.tensor);
}

/* One trainer ends `ends` times after `first` steps; the other never. */
static void same(const struct tape_harness *b, const ssq_trainer_args *args,
                 int first, int ends, const char *what)
{
    float never[COUNT], again[COUNT], wide[COUNT];
    ssq_trainer *t = trainer_of(b, args), *u = trainer_of(b, args);
    ssq_dtype was = SSQ_F32;
    bool right = true;
    for (int i = 0; i < first + ends * 3; i++)
        NEED(step(b, t));
    for (int i = 0; i < first; i++)
        NEED(step(b, u));
    for (int i = 0; i < ends; i++) {
        if (ssq_params_count(ssq_trainer_params(u)) > 0) {
            was = dtype_of(u, "fc.weight");
            read_all(b, u, wide);
        }
        NEED(ssq_trainer_end(u));
        if (ssq_params_count(ssq_trainer_params(u)) > 0) {
            read_all(b, u, again);
            right = right && dtype_of(u, "fc.weight") == SSQ_F32 &&
                    memcmp(wide, again, sizeof(wide)) == 0;
            NEED(ssq_tape_status(forward(b, ssq_trainer_evaluate(u)).tape));
        }
        for (int k = 0; k < 3; k++)
            NEED(step(b, u));
        right = right && (was == SSQ_F32 || dtype_of(u, "fc.weight") == was) &&
                dtype_of(u, "norm.weight") == SSQ_F32;
    }
    read_all(b, t, never);
    read_all(b, u, again);
    tap_ok(right && memcmp(never, again, sizeof(never)) == 0 &&
               ssq_trainer_steps(t) == ssq_trainer_steps(u),
           "%s: %s: %d steps, then an end %d times", b->name, what, first,
           ends);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&u);
}

static void sameness(const struct tape_harness *b)
{
    static const char *const policies[] = {"float32", "mixed_float16",
                                           "mixed_bfloat16"};
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        const char *name = policies[i];
        same(b, SSQ_TRAINER(.policy = name), 0, 1, name);
        same(b, SSQ_TRAINER(.policy = name), 2, 2, name);
        same(b, SSQ_TRAINER(.policy = name, .replay = true), 3, 2, name);
        same(b, SSQ_TRAINER(.policy = name, .options.flat_master = true), 1, 2,
             name);
    }
    same(b,
         SSQ_TRAINER(.policy = "mixed_bfloat16",
                     .options.master = SSQ_MASTER_SPLIT),
         2, 2, "split masters");
    same(b,
         SSQ_TRAINER(.policy = "mixed_bfloat16",
                     .options.master = SSQ_MASTER_NONE),
         2, 2, "no masters");
    same(b,
         SSQ_TRAINER(.policy = "mixed_float16",
                     .params.float32_gradients = true, .clip_value = 0.5),
         2, 1, "float32 gradients");
}

/* Training continues with the values that a program writes after the end:
 * masters are exact, the model is rounded. */
static void written(const struct tape_harness *b)
{
    static const ssq_master_kind kinds[] = {SSQ_MASTER_F32, SSQ_MASTER_SPLIT};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        float values[IN * 4], got[IN * 4], rounded[IN * 4];
        ssq_trainer *t = trainer_of(b, SSQ_TRAINER(.policy = "mixed_bfloat16",
                                                   .options.lr = 0,
                                                   .options.weight_decay = 0,
                                                   .options.master = kinds[k]));
        ssq_params *p = ssq_trainer_params(t);
        ssq_optimizer *o = ssq_trainer_optimizer(t);
        NEED(step(b, t));
        NEED(ssq_trainer_end(t));
        for (int i = 0; i < IN * 4; i++)
            values[i] = 1.0f + (float)i / 4096;
        NEED(ssq_params_write(p, b->queue, o, "fc.weight", values, IN * 4));
        NEED(step(b, t));
        NEED(ssq_params_read(p, b->queue, o, "fc.weight", got, IN * 4));
        NEED(ssq_params_read(p, b->queue, NULL, "fc.weight", rounded, IN * 4));
        bool exact = memcmp(values, got, sizeof(values)) == 0, near = true;
        for (int i = 0; i < IN * 4; i++) /* 1/128: of bf16 from 1 to 2 */
            near = near && fabsf(rounded[i] - values[i]) <= 0.5f / 128 &&
                   rounded[i] * 128 == truncf(rounded[i] * 128);
        tap_ok(exact && near && dtype_of(t, "fc.weight") == SSQ_BF16,
               "%s: values written after the end, %s", b->name,
               k == 0 ? "float32 masters" : "split masters");
        ssq_trainer_destroy(&t);
    }
}

/* Refused in a capture, by the one call that may come in one. */
static void captured(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, SSQ_TRAINER(.policy = "mixed_float16"));
    ssq_graph *graph = NULL;
    NEED(step(b, t));
    NEED(ssq_trainer_end(t));
    NEED(ssq_graph_begin(b->queue));
    core_status(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN), SSQ_ERR_INVALID,
                "captur", "%s: no training begins in a capture", b->name);
    NEED(ssq_graph_end(b->queue, &graph));
    ssq_graph_destroy(&graph);
    NEED(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN));
    tap_ok(dtype_of(t, "fc.weight") == SSQ_F16,
           "%s: an epoch begins training again", b->name);
    ssq_trainer_destroy(&t);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        sameness(&b);
        written(&b);
        captured(&b);
        harness_close(&b);
    }
    return tap_done(19);
}
