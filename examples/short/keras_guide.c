/* SPDX-License-Identifier: Apache-2.0 */
/* keras_guide.c - Keras's guide to mixed precision: a model of three dense
 * layers, by fit and by a custom training loop.
 * https://www.tensorflow.org/guide/mixed_precision
 *
 * usage: keras_guide [FOLDER [DEVICE]]; the files of MNIST, or of Fashion-MNIST
 * (Debian: dataset-fashion-mnist). The guide has 4096 units and batches of
 * 8192, for a GPU. */
#include <sesqui.h>
#include <sesqui/data.h>

#include <stdio.h>
#include <stdlib.h>

enum { UNITS = 64, BATCH = 128, EPOCHS = 8 };

static void check(ssq_status status)
{
    if (status == SSQ_OK)
        return;
    fprintf(stderr, "keras_guide: %s\n", ssq_last_error());
    exit(1);
}

/* The model ends in logits, which the loss takes in float32. */
static ssq_var model(ssq_tape *t, const ssq_tensor *images)
{
    const ssq_nn_linear_args *dense =
        SSQ_NN_LINEAR(.weight_init.kind = SSQ_INIT_XAVIER_UNIFORM,
                      .bias_init.kind = SSQ_INIT_ZEROS);
    const int64_t rows = ssq_tensor_size(images, 0);
    const int64_t pixels =
        ssq_tensor_size(images, 1) * ssq_tensor_size(images, 2);
    ssq_var x =
        ssq_var_reshape(ssq_var_input(t, images), 2, (int64_t[]){rows, pixels});
    x = ssq_relu_var(ssq_nn_linear(t, "dense_1", x, UNITS, dense));
    x = ssq_relu_var(ssq_nn_linear(t, "dense_2", x, UNITS, dense));
    return ssq_nn_linear(t, "dense_logits", x, 10, dense);
}

/* load_data, and its division by 255 */
static ssq_batches *load(ssq_queue *q, const char *folder, const char *part)
{
    char path[512];
    ssq_array *x = NULL, *y = NULL;
    ssq_batches *batches = NULL;
    snprintf(path, sizeof(path), "%s/%s-images-idx3-ubyte", folder, part);
    check(ssq_array_read(path, NULL, &x));
    snprintf(path, sizeof(path), "%s/%s-labels-idx1-ubyte", folder, part);
    check(ssq_array_read(path, NULL, &y));
    check(ssq_batches_create(
        q,
        SSQ_BATCHES(.arrays = {x, y}, .n = 2, .dtypes = {SSQ_F32, SSQ_I32},
                    .scale = {1.0 / 255.0}, .batch = BATCH, .shuffle = true),
        &batches));
    ssq_array_destroy(&x);
    ssq_array_destroy(&y);
    return batches;
}

/* The same as Keras's get_scaled_loss, get_unscaled_gradients and
 * apply_gradients. */
static ssq_status custom_step(ssq_trainer *trainer, ssq_tape *t, ssq_var loss)
{
    ssq_queue *q = ssq_trainer_queue(trainer);
    ssq_scaler *scaler = ssq_trainer_scaler(trainer);
    ssq_optimizer *optimizer = ssq_trainer_optimizer(trainer);
    ssq_params *params = ssq_trainer_params(trainer);
    check(ssq_tape_backward(t, loss, scaler));
    check(ssq_params_optimize(params, optimizer, NULL, NULL));
    check(ssq_optimizer_step(q, optimizer, scaler));
    ssq_params_clean(params);
    return ssq_scaler_update(q, scaler);
}

/* One epoch of training, or an evaluation; the accuracy of its batches. */
static double run(ssq_trainer *trainer, ssq_batches *batches,
                  ssq_metric *metric, bool training, bool custom)
{
    ssq_queue *q = ssq_trainer_queue(trainer);
    const ssq_tensor *b[2];
    double accuracy;
    check(ssq_metric_reset(q, metric));
    while (ssq_batches_next(batches, b) == SSQ_OK) {
        ssq_tape *t = training ? ssq_trainer_begin(trainer)
                               : ssq_trainer_evaluate(trainer);
        ssq_var logits = model(t, b[0]);
        check(ssq_tape_status(t));
        check(ssq_metric_add_accuracy(q, metric, ssq_var_tensor(logits), b[1],
                                      1));
        if (!training)
            continue;
        ssq_var loss =
            ssq_cross_entropy_var(logits, SSQ_CROSS_ENTROPY(.target = b[1]));
        check(custom ? custom_step(trainer, t, loss)
                     : ssq_trainer_step(trainer, loss));
    }
    check(ssq_metric_read(q, metric, &accuracy, NULL));
    return accuracy;
}

int main(int argc, char **argv)
{
    const char *folder =
        argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
    ssq_device *device = NULL;
    ssq_queue *q = NULL;
    ssq_metric *metric = NULL;
    check(ssq_device_open(argc > 2 ? argv[2] : "auto", NULL, &device));
    check(ssq_queue_create(device, NULL, &q));
    check(ssq_metric_create(device, &metric));
    ssq_batches *train = load(q, folder, "train"),
                *test = load(q, folder, "t10k");
    for (int custom = 0; custom < 2; custom++) {
        ssq_trainer *trainer = NULL;
        check(ssq_trainer_create(
            q,
            SSQ_TRAINER(.policy = "mixed_float16", .scaler = "keras3",
                        .optimizer = "rmsprop", .options.alpha = 0.9,
                        .options.eps = 1e-7, .options.lr = 0.001),
            &trainer));
        for (int epoch = 1; epoch <= EPOCHS; epoch++)
            printf("epoch %d: accuracy %.4f\n", epoch,
                   run(trainer, train, metric, true, custom != 0));
        printf("%s: test accuracy %.4f\n", custom != 0 ? "custom" : "fit",
               run(trainer, test, metric, false, false));
        ssq_trainer_destroy(&trainer);
    }
    ssq_batches_destroy(&train);
    ssq_batches_destroy(&test);
    ssq_metric_destroy(&metric);
    ssq_queue_destroy(&q);
    ssq_device_close(&device);
    return 0;
}
