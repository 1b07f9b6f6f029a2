/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.c - Keras's guide to mixed precision: a perceptron on Fashion-MNIST, in
 * mixed_float16 and in float32, by the trainer or by a loop of one's own.
 *
 * https://keras.io/api/mixed_precision/: two hidden layers with relu, softmax
 * and loss in float32, RMSprop, images as 784 numbers of 0..1. The guide's
 * batch of 8192 is for a GPU: --batch 8192. */
#include "examples/common/idx.h"
#include "examples/common/run.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES 10

/** A run: data on the device, and what learns. */
struct run {
    const struct run_options *o;
    ssq_device *device;
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *pixels, *labels;    /* compute dtype, i32 */
    ssq_tensor *test, *test_labels; /* likewise */
    ssq_tensor *order;              /* of the rows in this epoch */
    ssq_tensor *target, *hits;      /* labels of a batch; how many are right */
    int64_t n, tests;
};

/* The whole model. */
static ssq_var net(ssq_tape *t, ssq_var x, int64_t units)
{
    const ssq_nn_linear_args *keras =
        SSQ_NN_LINEAR(.weight_init.kind = SSQ_INIT_XAVIER_UNIFORM,
                      .bias_init.kind = SSQ_INIT_ZEROS);
    x = ssq_relu_var(ssq_nn_linear(t, "dense_1", x, units, keras));
    x = ssq_relu_var(ssq_nn_linear(t, "dense_2", x, units, keras));
    return ssq_nn_linear(t, "predictions", x, CLASSES, keras);
}

/* ---- training ---- */

/* Keras's fit: one call. */
static ssq_status fit_step(struct run *r, ssq_var loss)
{
    return ssq_trainer_step(r->trainer, loss);
}

/* The same as its custom loop (get_scaled_loss, get_unscaled_gradients,
 * apply_gradients): backward begins with the scale, and the step divides by it
 * where it uses the gradients. */
static ssq_status custom_step(struct run *r, ssq_tape *t, ssq_var loss)
{
    ssq_params *params = ssq_trainer_params(r->trainer);
    ssq_optimizer *rmsprop = ssq_trainer_optimizer(r->trainer);
    ssq_scaler *scaler = ssq_trainer_scaler(r->trainer);
    ssq_status st = ssq_tape_backward(t, loss, scaler);
    if (st == SSQ_OK)
        st = ssq_params_optimize(params, rmsprop, NULL, NULL);
    if (st == SSQ_OK)
        st = ssq_optimizer_step(r->queue, rmsprop, scaler);
    if (st == SSQ_OK && scaler != NULL)
        st = ssq_scaler_update(r->queue, scaler);
    ssq_params_clean(params);
    return st;
}

/* Rows at, .., at + n of the order: the last batch of an epoch may be small. */
static ssq_status train_batch(struct run *r, int64_t at, int64_t n)
{
    ssq_tensor *rows = NULL, *labels = NULL;
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    ssq_status st = ssq_tensor_slice(r->order, 0, at, at + n, 1, &rows);
    if (st == SSQ_OK)
        st = ssq_tensor_slice(r->target, 0, 0, n, 1, &labels);
    if (st == SSQ_OK)
        st = ssq_gather_rows(
            r->queue,
            SSQ_GATHER_ROWS(.x = r->labels, .index = rows, .y = labels));
    if (st == SSQ_OK) {
        ssq_var x = ssq_gather_rows_var(ssq_var_input(t, r->pixels),
                                        SSQ_GATHER_ROWS(.index = rows));
        ssq_var loss = ssq_cross_entropy_var(
            net(t, x, r->o->units), SSQ_CROSS_ENTROPY(.target = labels));
        st = r->o->custom ? custom_step(r, t, loss) : fit_step(r, loss);
    }
    ssq_tensor_destroy(&rows);
    ssq_tensor_destroy(&labels);
    return st;
}

/* splitmix64, and a permutation by Fisher and Yates. */
static void shuffle(int32_t *order, int64_t n, uint64_t *state)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t z = *state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        int64_t j = (int64_t)((z ^ (z >> 31)) % (uint64_t)(i + 1));
        int32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

static bool train_epoch(struct run *r, int32_t *order, uint64_t *random)
{
    shuffle(order, r->n, random);
    if (!run_ok(ssq_tensor_write(r->queue, r->order, order,
                                 (size_t)r->n * sizeof(*order), SSQ_I32),
                "order"))
        return false;
    for (int64_t at = 0; at < r->n; at += r->o->batch) {
        int64_t n = r->n - at < r->o->batch ? r->n - at : r->o->batch;
        if (!run_ok(train_batch(r, at, n), "step"))
            return false;
    }
    return run_ok(ssq_queue_sync(r->queue), "sync");
}

/* ---- evaluation ---- */

/* The test set's part at, .., at + n: *right more are right, *loss is more. */
static ssq_status test_batch(struct run *r, int64_t at, int64_t n,
                             double *right, double *loss)
{
    ssq_tensor *x = NULL, *labels = NULL;
    int32_t hits = 0;
    float mean = 0.0f;
    ssq_tape *t = ssq_trainer_evaluate(r->trainer);
    ssq_status st = ssq_tensor_slice(r->test, 0, at, at + n, 1, &x);
    if (st == SSQ_OK)
        st = ssq_tensor_slice(r->test_labels, 0, at, at + n, 1, &labels);
    if (st == SSQ_OK) {
        ssq_var y = net(t, ssq_var_input(t, x), r->o->units);
        ssq_var l =
            ssq_cross_entropy_var(y, SSQ_CROSS_ENTROPY(.target = labels));
        st = ssq_tape_status(t);
        if (st == SSQ_OK)
            st = ssq_top_k_accuracy(
                r->queue,
                SSQ_TOP_K_ACCURACY(.logits = ssq_var_tensor(y),
                                   .target = labels, .hits = r->hits));
        if (st == SSQ_OK)
            st = ssq_tensor_read(r->queue, ssq_var_tensor(l), &mean,
                                 sizeof(mean), SSQ_F32);
    }
    if (st == SSQ_OK)
        st = ssq_tensor_read(r->queue, r->hits, &hits, sizeof(hits), SSQ_I32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(r->queue);
    *right += hits;
    *loss += (double)mean * (double)n;
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&labels);
    return st;
}

static bool evaluate(struct run *r, double *accuracy, double *loss)
{
    *accuracy = *loss = 0.0;
    for (int64_t at = 0; at < r->tests; at += 2000) {
        int64_t n = r->tests - at < 2000 ? r->tests - at : 2000;
        if (!run_ok(test_batch(r, at, n, accuracy, loss), "evaluation"))
            return false;
    }
    *accuracy /= (double)r->tests;
    *loss /= (double)r->tests;
    return true;
}

/* ---- data ---- */

/* Pixels of 0..1 in the compute dtype, and labels as int32. */
static bool upload(struct run *r, const struct images *images,
                   ssq_dtype compute, ssq_tensor **pixels, ssq_tensor **labels)
{
    const int64_t shape[] = {images->n, images->pixels};
    ssq_tensor *bytes = NULL;
    bool good = run_ok(ssq_tensor_create(r->device, SSQ_U8, 2, shape, &bytes),
                       "pixels") &&
                run_ok(ssq_tensor_create(r->device, compute, 2, shape, pixels),
                       "pixels") &&
                run_ok(ssq_tensor_create(r->device, SSQ_I32, 1, shape, labels),
                       "labels") &&
                run_ok(ssq_tensor_write(r->queue, bytes, images->pixel,
                                        (size_t)(shape[0] * shape[1]), SSQ_U8),
                       "pixels") &&
                run_ok(ssq_tensor_write(r->queue, *labels, images->label,
                                        (size_t)images->n, SSQ_U8),
                       "labels") &&
                run_ok(ssq_cast(r->queue, SSQ_CAST(.x = bytes, .y = *pixels)),
                       "cast") &&
                run_ok(ssq_scale(r->queue, SSQ_SCALE(.x = *pixels, .y = *pixels,
                                                     .alpha = 1.0 / 255.0)),
                       "scale") &&
                run_ok(ssq_queue_sync(r->queue), "sync");
    ssq_tensor_destroy(&bytes);
    return good;
}

static bool load(struct run *r, ssq_dtype compute)
{
    struct images train, test = {0};
    bool good = images_read(r->o->data, "train", &train) &&
                images_read(r->o->data, "t10k", &test) &&
                upload(r, &train, compute, &r->pixels, &r->labels) &&
                upload(r, &test, compute, &r->test, &r->test_labels);
    r->n = train.n;
    r->tests = test.n;
    images_free(&train);
    images_free(&test);
    const int64_t batch = r->o->batch;
    return good &&
           run_ok(ssq_tensor_create(r->device, SSQ_I32, 1, &r->n, &r->order),
                  "order") &&
           run_ok(ssq_tensor_create(r->device, SSQ_I32, 1, &batch, &r->target),
                  "target") &&
           run_ok(ssq_tensor_create(r->device, SSQ_I32, 0, NULL, &r->hits),
                  "hits");
}

/* ---- runs ---- */

/* RMSprop as Keras has it, its rate falling to 0 along half a cosine. */
static bool make_trainer(struct run *r, const char *policy)
{
    const int64_t steps = (r->n + r->o->batch - 1) / r->o->batch;
    ssq_schedule fall = SSQ_SCHEDULE_INIT;
    fall.kind = SSQ_SCHEDULE_COSINE;
    fall.base = r->o->lr;
    fall.total_steps = (uint32_t)(steps * r->o->epochs);
    return run_ok(ssq_trainer_create(
                      r->queue,
                      SSQ_TRAINER(.policy = policy, .params.seed = r->o->seed,
                                  .optimizer = "rmsprop", .options.alpha = 0.9,
                                  .options.eps = 1e-7, .options.lr = r->o->lr,
                                  .scaler = strcmp(policy, "mixed_float16") == 0
                                                ? r->o->scaler
                                                : NULL),
                      &r->trainer),
                  "trainer") &&
           run_ok(ssq_optimizer_schedule(r->queue,
                                         ssq_trainer_optimizer(r->trainer),
                                         NULL, SSQ_HYPER_LR, &fall),
                  "schedule");
}

static bool show(struct run *r, unsigned epoch, FILE *log, struct run_epoch *e)
{
    ssq_scaler *scaler = ssq_trainer_scaler(r->trainer);
    e->epoch = epoch + 1;
    e->epochs = r->o->epochs;
    e->steps += (unsigned long)((r->n + r->o->batch - 1) / r->o->batch);
    if (!evaluate(r, &e->accuracy, &e->loss))
        return false;
    e->scale.scale = 1.0;
    if (scaler != NULL) {
        ssq_status st = ssq_scaler_state_get(r->queue, scaler, &e->scale);
        if (st != SSQ_ERR_SCALE && !run_ok(st, "scaler"))
            return false;
    }
    run_progress(r->o, e, log);
    return true;
}

static void close_run(struct run *r)
{
    ssq_tensor **all[] = {&r->pixels, &r->labels, &r->test, &r->test_labels,
                          &r->order,  &r->target, &r->hits};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    ssq_trainer_destroy(&r->trainer);
    ssq_queue_destroy(&r->queue);
    ssq_device_close(&r->device);
}

static bool train(const struct run_options *o, const char *policy, char *device,
                  size_t bytes, struct run_epoch *e)
{
    struct run r = {.o = o};
    ssq_policy p = SSQ_POLICY_INIT;
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    FILE *log = NULL;
    uint64_t random = o->seed;
    *e = (struct run_epoch){.scale = SSQ_SCALER_STATE_INIT};
    bool good = run_ok(ssq_policy_from_name(policy, &p), "policy") &&
                run_ok(ssq_device_open(o->device, NULL, &r.device), "device") &&
                run_ok(ssq_device_props_get(r.device, &props), "device") &&
                run_ok(ssq_queue_create(r.device, NULL, &r.queue), "queue") &&
                load(&r, p.compute) && make_trainer(&r, policy) &&
                run_log_open(o, &log);
    if (good && !o->quiet)
        printf("%s on %s (%s)\n", policy, props.name, props.choice);
    int32_t *order = malloc((size_t)(r.n > 0 ? r.n : 1) * sizeof(*order));
    good = good && order != NULL;
    for (unsigned i = 0; i < o->epochs && good; i++)
        good = train_epoch(&r, order, &random) && show(&r, i, log, e);
    snprintf(device, bytes, "%s", props.name);
    free(order);
    if (log != NULL && fclose(log) != 0) {
        perror(o->log);
        good = false;
    }
    close_run(&r);
    return good;
}

int main(int argc, char **argv)
{
    struct run_options o = {.program = "mlp",
                            .policy = "mixed_float16",
                            .scaler = "keras3",
                            .device = "auto",
                            .seed = 1,
                            .epochs = 5,
                            .batch = 512,
                            .units = 128,
                            .lr = 1e-3,
                            .data = "/usr/share/datasets/fashion-mnist"};
    struct run_epoch e, full;
    char device[64];
    int stop = run_options_parse(argc, argv, &o);
    if (stop != 0)
        return stop == 1 ? 0 : stop;
    if (o.batch == 0 || o.units == 0 || o.epochs == 0) {
        fprintf(stderr, "mlp: %u rows a batch, %u units, %u epochs\n", o.batch,
                o.units, o.epochs);
        return 2;
    }
    if (!train(&o, o.policy, device, sizeof(device), &e) ||
        (o.compare && !train(&o, "float32", device, sizeof(device), &full)))
        return 1;
    printf("mlp %s on %s: test accuracy %.2f%%", o.policy, device,
           100.0 * e.accuracy);
    if (o.compare)
        printf(" (float32 %.2f%%)", 100.0 * full.accuracy);
    printf(", %lu steps, %u skipped, loss scale %g\n", e.steps, e.scale.skipped,
           e.scale.scale);
    return 0;
}
