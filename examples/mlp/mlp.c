/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.c - Keras's guide to mixed precision: a perceptron on Fashion-MNIST, in
 * mixed_float16 and in float32, by the trainer or by a loop of one's own.
 *
 * https://keras.io/api/mixed_precision/: two hidden layers with relu, softmax
 * and loss in float32, RMSprop, images as 784 numbers of 0..1. The guide's
 * batch of 8192 is for a GPU: --batch 8192. */
#include "examples/common/fit.h"

#define CLASSES 10

static unsigned units = 128; /* of each hidden layer */
static bool custom;          /* a loop of one's own */

/* The whole model. */
static ssq_var net(ssq_tape *t, ssq_var x)
{
    const ssq_nn_linear_args *keras =
        SSQ_NN_LINEAR(.weight_init.kind = SSQ_INIT_XAVIER_UNIFORM,
                      .bias_init.kind = SSQ_INIT_ZEROS);
    x = ssq_relu_var(ssq_nn_linear(t, "dense_1", x, units, keras));
    x = ssq_relu_var(ssq_nn_linear(t, "dense_2", x, units, keras));
    return ssq_nn_linear(t, "predictions", x, CLASSES, keras);
}

/* Keras's fit is one call, ssq_trainer_step; this is the same as its custom
 * loop (get_scaled_loss, get_unscaled_gradients, apply_gradients): backward
 * begins with the scale, and the step divides by it where it uses the
 * gradients. */
static ssq_status step(struct fit *f, ssq_tape *t, ssq_var loss)
{
    ssq_params *params = ssq_trainer_params(f->trainer);
    ssq_optimizer *rmsprop = ssq_trainer_optimizer(f->trainer);
    ssq_scaler *scaler = ssq_trainer_scaler(f->trainer);
    if (!custom)
        return ssq_trainer_step(f->trainer, loss);
    const ssq_tensor *shown = ssq_var_tensor(loss);
    ssq_status st = ssq_tape_backward(t, loss, scaler);
    if (st == SSQ_OK)
        st = fit_add_loss(f, shown);
    if (st == SSQ_OK)
        st = ssq_params_optimize(params, rmsprop, NULL, NULL);
    if (st == SSQ_OK)
        st = ssq_optimizer_step(f->queue, rmsprop, scaler);
    if (st == SSQ_OK && scaler != NULL)
        st = ssq_scaler_update(f->queue, scaler);
    ssq_params_clean(params);
    return st;
}

/* What is saved is the trainer, which also knows of other ranks, and a loop of
 * one's own steps without it. */
static bool customary(const struct fit *f)
{
    bool saves = f->o->save != NULL || f->o->resume != NULL;
    bool good = !custom || (!saves && f->member->comm == NULL);
    if (!good)
        fprintf(stderr,
                "mlp: --custom steps without the trainer, which is "
                "what %s\n",
                saves ? "is saved" : "sums over ranks");
    return good;
}

/* RMSprop as Keras has it, its rate falling to 0 along half a cosine. */
static bool make_trainer(struct fit *f)
{
    char scaler[RUN_SCALER];
    ssq_schedule fall = SSQ_SCHEDULE_INIT;
    fall.kind = SSQ_SCHEDULE_COSINE;
    fall.base = f->o->lr;
    fall.total_steps = (uint32_t)f->steps;
    return customary(f) &&
           run_ok(
               ssq_trainer_create(
                   f->queue,
                   SSQ_TRAINER(.policy = f->policy, .params.seed = f->o->seed,
                               .optimizer = "rmsprop", .options.alpha = 0.9,
                               .options.eps = 1e-7, .options.lr = f->o->lr,
                               .scaler =
                                   run_trainer_scaler(f->o, f->policy, scaler),
                               .comm = f->member->comm,
                               .weights = f->member->weights,
                               .shard = f->o->shard),
                   &f->trainer),
               "trainer") &&
           run_ok(ssq_trainer_schedule(f->trainer, SSQ_HYPER_LR, &fall),
                  "schedule");
}

int main(int argc, char **argv)
{
    const struct run_option more[] = {
        {"--units", RUN_SIZE, &units, "of each hidden layer"},
        {"--custom", RUN_FLAG, &custom, "a loop of one's own"},
        {NULL, RUN_FLAG, NULL, NULL}};
    const struct run_options o = {.program = "mlp",
                                  .policy = "mixed_float16",
                                  .scaler = "keras3",
                                  .device = "auto",
                                  .seed = 1,
                                  .epochs = 5,
                                  .batch = 512,
                                  .lr = 1e-3,
                                  .more = more,
                                  .data = "/usr/share/datasets/fashion-mnist"};
    const struct fit_kind kind = {
        .classes = CLASSES, .net = net, .trainer = make_trainer, .step = step};
    return fit_main(argc, argv, o, &kind);
}
