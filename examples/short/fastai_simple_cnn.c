/* SPDX-License-Identifier: Apache-2.0 */
/* fastai_simple_cnn.c - fastai's example of mixed precision:
 *
 *     data = ImageDataBunch.from_folder(path)
 *     learn = Learner(data, simple_cnn((3,16,16,2), bn=True),
 *                     metrics=[accuracy]).to_fp16()
 *     learn.fit_one_cycle(1)
 *
 * usage: fastai_simple_cnn FOLDER [DEVICE]; FOLDER/train and FOLDER/valid have
 * a folder of PNG or JPEG files for each of two classes, as fastai's
 * MNIST_SAMPLE */
#include <sesqui.h>
#include <sesqui/data.h>

#include <stdio.h>
#include <stdlib.h>

static void check(ssq_status status)
{
    if (status == SSQ_OK)
        return;
    fprintf(stderr, "fastai_simple_cnn: %s\n", ssq_last_error());
    exit(1);
}

/* simple_cnn((3, 16, 16, 2), bn=True): a norm follows each layer but the last
 */
static ssq_var simple_cnn(ssq_tape *t, const ssq_tensor *images)
{
    static const char *const conv[] = {"0.conv", "1.conv", "2.conv"};
    static const char *const bn[] = {"0.bn", "1.bn"};
    const int64_t rows = ssq_tensor_size(images, 0);
    ssq_var x = ssq_var_input(t, images);
    for (int i = 0; i < 3; i++) {
        x = ssq_relu_var(ssq_nn_conv2d(
            t, conv[i], x, i < 2 ? 16 : 2, 3, 3,
            SSQ_NN_CONV2D(.stride = {2, 2}, .padding = {1, 1, 1, 1},
                          .bias = i == 2,
                          .weight_init.kind = SSQ_INIT_KAIMING_NORMAL,
                          .bias_init.kind = SSQ_INIT_ZEROS)));
        x = i < 2 ? ssq_nn_batch_norm(t, bn[i], x, NULL) : x;
    }
    return ssq_var_reshape(ssq_global_avg_pool2d_var(x, NULL), 2,
                           (int64_t[]){rows, 2});
}

/* ImageDataBunch.from_folder of one part */
static ssq_batches *from_folder(ssq_queue *q, const char *folder,
                                const char *part)
{
    char path[512];
    ssq_array *x = NULL, *y = NULL;
    ssq_batches *batches = NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, part);
    check(ssq_images_read(path, NULL, &x, &y));
    check(ssq_batches_create(
        q,
        SSQ_BATCHES(.arrays = {x, y}, .n = 2, .dtypes = {SSQ_F32},
                    .scale = {1.0 / 255.0}, .batch = 64, .shuffle = true),
        &batches));
    ssq_array_destroy(&x);
    ssq_array_destroy(&y);
    return batches;
}

/* One epoch; the accuracy of its batches. */
static double run(ssq_trainer *learn, ssq_batches *batches, ssq_metric *metric,
                  bool training)
{
    ssq_queue *q = ssq_trainer_queue(learn);
    const ssq_tensor *b[2];
    double accuracy;
    check(ssq_metric_reset(q, metric));
    while (ssq_batches_next(batches, b) == SSQ_OK) {
        ssq_tape *t =
            training ? ssq_trainer_begin(learn) : ssq_trainer_evaluate(learn);
        ssq_var y = simple_cnn(t, b[0]);
        check(ssq_tape_status(t));
        check(ssq_metric_add_accuracy(q, metric, ssq_var_tensor(y), b[1], 1));
        if (training)
            check(ssq_trainer_step(
                learn,
                ssq_cross_entropy_var(y, SSQ_CROSS_ENTROPY(.target = b[1]))));
    }
    check(ssq_metric_read(q, metric, &accuracy, NULL));
    return accuracy;
}

int main(int argc, char **argv)
{
    ssq_device *device = NULL;
    ssq_queue *q = NULL;
    ssq_metric *accuracy = NULL;
    ssq_trainer *learn = NULL;
    double loss;
    if (argc < 2)
        return fprintf(stderr, "usage: fastai_simple_cnn FOLDER [DEVICE]\n"), 2;
    check(ssq_device_open(argc > 2 ? argv[2] : "auto", NULL, &device));
    check(ssq_queue_create(device, NULL, &q));
    check(ssq_metric_create(device, &accuracy));
    ssq_batches *train = from_folder(q, argv[1], "train");
    ssq_batches *valid = from_folder(q, argv[1], "valid");
    check(ssq_trainer_create(
        q,
        SSQ_TRAINER(.policy = "mixed_float16", .scaler = "fastai",
                    .options.lr = 3e-3, .options.beta2 = 0.99,
                    .options.eps = 1e-5, .options.weight_decay = 0.01),
        &learn));
    ssq_schedule cycle = SSQ_SCHEDULE_INIT;
    cycle.kind = SSQ_SCHEDULE_ONE_CYCLE_FASTAI;
    cycle.base = 3e-3;
    cycle.total_steps = (uint32_t)ssq_batches_count(train);
    check(ssq_trainer_schedule(learn, SSQ_HYPER_LR, &cycle));
    run(learn, train, accuracy, true);
    check(ssq_trainer_loss(learn, &loss));
    printf("train loss %.4f, accuracy %.4f\n", loss,
           run(learn, valid, accuracy, false));
    ssq_trainer_destroy(&learn);
    ssq_batches_destroy(&train);
    ssq_batches_destroy(&valid);
    ssq_metric_destroy(&accuracy);
    ssq_queue_destroy(&q);
    ssq_device_close(&device);
    return 0;
}
