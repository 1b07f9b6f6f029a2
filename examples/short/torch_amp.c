/* SPDX-License-Identifier: Apache-2.0 */
/* torch_amp.c - PyTorch's recipe for automatic mixed precision: a simple
 * network in default precision and in mixed precision, timed; then clipped
 * gradients, and a checkpoint.
 * https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html
 *
 * usage: torch_amp [DEVICE [SIZE]]; the recipe's size is 4096 */
#include <sesqui.h>
#include <sesqui/checkpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 10, BATCH = 512, LAYERS = 3, EPOCHS = 3 };

static void check(ssq_status status)
{
    if (status == SSQ_OK)
        return;
    fprintf(stderr, "torch_amp: %s\n", ssq_last_error());
    exit(1);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* make_model(in_size, out_size, num_layers) and its forward */
static ssq_var net(ssq_tape *t, const ssq_tensor *input, int64_t size)
{
    ssq_var x = ssq_var_input(t, input);
    for (int i = 0; i < LAYERS; i++) {
        char name[8];
        snprintf(name, sizeof(name), "%d", i);
        x = ssq_nn_linear(t, name, x, size, NULL);
        x = i < LAYERS - 1 ? ssq_relu_var(x) : x;
    }
    return x;
}

/* Data in default precision, the same for both runs. */
static void make_data(ssq_queue *q, int64_t size, uint64_t seed,
                      ssq_tensor **data)
{
    const int64_t shape[] = {BATCH, size};
    for (int i = 0; i < BATCHES; i++) {
        ssq_device *device = ssq_queue_device(q);
        check(ssq_tensor_create(device, SSQ_F32, 2, shape, &data[i]));
        check(ssq_random_normal(
            q, SSQ_RANDOM_NORMAL(.x = data[i], .seed = seed + i)));
    }
}

static void train(ssq_trainer *trainer, const char *what, int64_t size,
                  ssq_tensor **data, ssq_tensor **targets)
{
    double loss, start = seconds();
    for (int i = 0; i < EPOCHS * BATCHES; i++) {
        ssq_tape *t = ssq_trainer_begin(trainer);
        ssq_var output = net(t, data[i % BATCHES], size);
        ssq_var mse =
            ssq_mse_var(output, SSQ_MSE(.target = targets[i % BATCHES]));
        check(
            ssq_trainer_step(trainer, mse)); /* scale, backward, step, update */
    }
    check(ssq_trainer_loss(trainer, &loss)); /* waits for the device */
    printf("%s: %.3f s, loss %.4f\n", what, seconds() - start, loss);
}

int main(int argc, char **argv)
{
    const int64_t size = argc > 2 ? atoi(argv[2]) : 256;
    ssq_device *device = NULL;
    ssq_queue *q = NULL;
    ssq_tensor *data[BATCHES] = {NULL}, *targets[BATCHES] = {NULL};
    ssq_trainer *full = NULL, *amp = NULL, *clipped = NULL;
    check(ssq_device_open(argc > 1 ? argv[1] : "auto", NULL, &device));
    check(ssq_queue_create(device, NULL, &q));
    make_data(q, size, 1, data);
    make_data(q, size, 100, targets);

    check(ssq_trainer_create(
        q, SSQ_TRAINER(.optimizer = "sgd", .options.lr = 0.001), &full));
    train(full, "Default precision", size, data, targets);
    check(ssq_trainer_create(
        q,
        SSQ_TRAINER(.policy = "mixed_float16", .scaler = "pytorch",
                    .optimizer = "sgd", .options.lr = 0.001),
        &amp));
    train(amp, "Mixed precision", size, data, targets);
    check(ssq_trainer_create(
        q,
        SSQ_TRAINER(.policy = "mixed_float16", .scaler = "pytorch",
                    .optimizer = "sgd", .options.lr = 0.001,
                    .options.clip_norm = 0.1),
        &clipped));
    train(clipped, "Clipped", size, data, targets);
    check(ssq_trainer_save(amp, "torch_amp.safetensors"));
    check(ssq_trainer_load(amp, "torch_amp.safetensors"));
    train(amp, "Resumed", size, data, targets);

    for (int i = 0; i < BATCHES; i++) {
        ssq_tensor_destroy(&data[i]);
        ssq_tensor_destroy(&targets[i]);
    }
    ssq_trainer_destroy(&full);
    ssq_trainer_destroy(&amp);
    ssq_trainer_destroy(&clipped);
    ssq_queue_destroy(&q);
    ssq_device_close(&device);
    return 0;
}
