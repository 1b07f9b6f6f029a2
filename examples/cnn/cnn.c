/* SPDX-License-Identifier: Apache-2.0 */
/* cnn.c - fastai's simple_cnn and one cycle: sneakers and ankle boots, classes
 * 7 and 9 of Fashion-MNIST, in one epoch.
 *
 *     learn = Learner(data, simple_cnn((3,16,16,2), bn=True),
 *                     metrics=[accuracy]).to_fp16()
 *     learn.fit_one_cycle(1, 3e-3)
 *
 * Three convolutions of 3x3 with a stride of 2, each with relu, the first two
 * with batch norm behind it, and the average of what is left of the image. The
 * options are to_fp16's: flat_master, max_noskip, max_scale, clip; loss_fp32 is
 * what it does anyway. */
#include "examples/common/fit.h"

#include <math.h>
#include <string.h>

#define CLASSES 10 /* of Fashion-MNIST */
#define SNEAKER 7
#define BOOT    9

static bool flat_master, loss_fp16;
static unsigned max_noskip = 1000;
static double max_scale = 0x1p24, clip;

/* ---- the model ---- */

/* fastai's conv_layer: a convolution, relu, and batch norm behind it. Without a
 * bias where there is a norm. */
static ssq_var conv_layer(ssq_tape *t, const char *name, ssq_var x, int64_t out,
                          bool norm)
{
    ssq_tape_push(t, name);
    x = ssq_nn_conv2d(t, "conv", x, out, 3, 3,
                      SSQ_NN_CONV2D(.stride = {2, 2}, .padding = {1, 1, 1, 1},
                                    .bias = !norm,
                                    .weight_init.kind = SSQ_INIT_KAIMING_NORMAL,
                                    .bias_init.kind = SSQ_INIT_ZEROS));
    x = ssq_relu_var(x);
    if (norm)
        x = ssq_nn_batch_norm(t, "bn", x, NULL);
    ssq_tape_pop(t);
    return x;
}

/* Grey images are repeated to 3 channels. */
static ssq_var net(ssq_tape *t, ssq_var x)
{
    const int64_t n = ssq_var_size(x, 0);
    const int64_t side = (int64_t)lround(sqrt((double)ssq_var_size(x, 1)));
    x = ssq_var_reshape(x, 4, (int64_t[]){n, 1, side, side});
    x = ssq_var_broadcast(x, 4, (int64_t[]){n, 3, side, side});
    x = conv_layer(t, "0", x, 16, true);
    x = conv_layer(t, "1", x, 16, true);
    x = conv_layer(t, "2", x, 2, false);
    x = ssq_var_reshape(ssq_global_avg_pool2d_var(x, NULL), 2,
                        (int64_t[]){n, 2});
    return loss_fp16 ? x : ssq_var_cast(x, SSQ_F32);
}

/* ---- training ---- */

/* fit_one_cycle: the rate rises for a quarter of the run and falls for the
 * rest, the momentum does the opposite. */
static bool one_cycle(struct fit *f)
{
    ssq_schedule rate = SSQ_SCHEDULE_INIT;
    rate.kind = SSQ_SCHEDULE_ONE_CYCLE_FASTAI;
    rate.base = f->o->lr;
    rate.total_steps = (uint32_t)f->steps;
    rate.pct_start = 0.25;
    rate.final_div_factor = 1e5;
    ssq_schedule momentum = rate;
    momentum.base = 0.85;
    momentum.div_factor = 0.85 / 0.95;
    momentum.final_div_factor = 0.85 / 0.95;
    return run_ok(ssq_trainer_schedule(f->trainer, SSQ_HYPER_LR, &rate),
                  "rate") &&
           run_ok(
               ssq_trainer_schedule(f->trainer, SSQ_HYPER_MOMENTUM, &momentum),
               "momentum");
}

/* The scaler of to_fp16(dynamic=True), with the program's options applied. */
static const char *scaler_text(const struct fit *f, char text[RUN_SCALER])
{
    const char *scaler = run_trainer_scaler(f->o, f->policy, text);
    if (scaler == NULL || strcmp(scaler, "fastai") != 0)
        return scaler;
    snprintf(text, RUN_SCALER,
             "fastai,init_scale=%.15g,growth_interval=%u,max_scale=%.15g",
             max_scale < 65536.0 ? max_scale : 65536.0, max_noskip, max_scale);
    return text;
}

/* fastai's Adam: decoupled decay of 0.01, betas (0.9, 0.99). */
static bool make_trainer(struct fit *f)
{
    char text[RUN_SCALER];
    return run_ok(
               ssq_trainer_create(
                   f->queue,
                   SSQ_TRAINER(.policy = f->policy, .params.seed = f->o->seed,
                               .optimizer = "adamw", .options.lr = f->o->lr,
                               .options.beta2 = 0.99, .options.eps = 1e-5,
                               .options.weight_decay = 0.01,
                               .options.clip_norm = clip,
                               .options.flat_master = flat_master,
                               .scaler = scaler_text(f, text),
                               .comm = f->member->comm,
                               .weights = f->member->weights,
                               .shard = f->o->shard),
                   &f->trainer),
               "trainer") &&
           one_cycle(f);
}

/* ---- data ---- */

/* The images of two classes alone, which become 0 and 1. */
static bool two_classes(struct images *images)
{
    int64_t n = 0;
    for (int64_t i = 0; i < images->n; i++) {
        const uint8_t label = images->label[i];
        if (label != SNEAKER && label != BOOT)
            continue;
        memmove(images->pixel + n * images->size,
                images->pixel + i * images->size, (size_t)images->size);
        images->label[n++] = label == BOOT;
    }
    images->n = n;
    if (n == 0)
        fprintf(stderr, "cnn: no image of class %d or %d\n", SNEAKER, BOOT);
    return n > 0;
}

int main(int argc, char **argv)
{
    const struct run_option more[] = {
        {"--flat-master", RUN_FLAG, &flat_master, "one master for all weights"},
        {"--max-noskip", RUN_SIZE, &max_noskip,
         "clean steps before the scale grows"},
        {"--max-scale", RUN_NUMBER, &max_scale, "where the scale stops"},
        {"--loss-fp16", RUN_FLAG, &loss_fp16,
         "the loss from float16 logits: loss_fp32=False"},
        {"--clip", RUN_NUMBER, &clip, "norm of all gradients; 0 none"},
        {NULL, RUN_FLAG, NULL, NULL}};
    const struct run_options o = {.program = "cnn",
                                  .policy = "mixed_float16",
                                  .scaler = "fastai",
                                  .device = "auto",
                                  .seed = 1,
                                  .epochs = 1,
                                  .batch = 64,
                                  .lr = 3e-3,
                                  .more = more,
                                  .data = "/usr/share/datasets/fashion-mnist"};
    const struct fit_kind kind = {.classes = CLASSES, /* before two_classes */
                                  .net = net,
                                  .trainer = make_trainer,
                                  .prepare = two_classes};
    return fit_main(argc, argv, o, &kind);
}
