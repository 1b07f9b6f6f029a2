/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - trainers that are ranks: the bits of one alone that accumulates
 * their passes, whatever the devices. */

#include <math.h>
#include <sesqui/checkpoint.h>
#include <sesqui/trainer.h>

#include "tests/comm/comm.h"

enum {
    STEPS = 4,
    BATCH = 6,
    WIDTH = 10,
    CLASSES = 3,
    HIDDEN = 16,
    VALUES = 227
};

/* ---- a model, and its batches ---- */

struct model {
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *x, *y;
    double deviation; /* of fc1's initial weights; 0: 0.3 */
};

static void model_make(struct model *m, ssq_queue *queue,
                       const ssq_trainer_args *args)
{
    const int64_t shape[] = {BATCH, WIDTH};

    *m = (struct model){.queue = queue};
    NEED(ssq_trainer_create(queue, args, &m->trainer));
    NEED(ssq_tensor_create(ssq_queue_device(queue), SSQ_F32, 2, shape, &m->x));
    m->y = core_vector(ssq_queue_device(queue), SSQ_I32, BATCH);
}

static void model_free(struct model *m)
{
    ssq_trainer_destroy(&m->trainer);
    ssq_tensor_destroy(&m->x);
    ssq_tensor_destroy(&m->y);
}

/* Batch b of a step, in the queue's order; bad: something of it is not
 * finite. */
static void feed(struct model *m, int step, unsigned b, bool bad)
{
    static float x[MOST_RANKS * STEPS][BATCH * WIDTH];
    static int32_t y[MOST_RANKS * STEPS][BATCH];
    int place = step * MOST_RANKS + (int)b;

    for (int i = 0; i < BATCH * WIDTH; i++)
        x[place][i] = (float)((i * 7 + place * 13) % 19 - 9) / 8;
    for (int i = 0; i < BATCH; i++)
        y[place][i] = (i + place) % CLASSES;
    if (bad)
        x[place][3] = NAN;
    NEED(ssq_tensor_write(m->queue, m->x, x[place], sizeof(x[place]), SSQ_F32));
    NEED(ssq_tensor_write(m->queue, m->y, y[place], sizeof(y[place]), SSQ_I32));
}

/* Dropout draws another mask in each pass. */
static ssq_var net(struct model *m, ssq_tape *t, int64_t hidden)
{
    ssq_var h = ssq_nn_linear(
        t, "fc1", ssq_var_input(t, m->x), hidden,
        SSQ_NN_LINEAR(.weight_init.kind = SSQ_INIT_NORMAL,
                      .weight_init.value =
                          m->deviation > 0.0 ? m->deviation : 0.3));

    h = ssq_nn_dropout(t, ssq_relu_var(h), 0.25);
    h = ssq_nn_linear(t, "fc2", h, CLASSES, NULL);
    return ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = m->y));
}

static ssq_status pass(struct model *m, int64_t hidden)
{
    ssq_var loss = net(m, ssq_trainer_begin(m->trainer), hidden);

    return ssq_trainer_step(m->trainer, loss);
}

/* All parameters, as float32. */
static void values_of(struct model *m, float *values)
{
    size_t at = 0;

    for (size_t i = 0; i < 4; i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(ssq_trainer_params(m->trainer), i, &info));
        size_t n = (size_t)ssq_tensor_elements(info.tensor);
        NEED(ssq_tensor_read(m->queue, info.tensor, values + at,
                             n * sizeof(float), SSQ_F32));
        at += n;
    }
    NEED(ssq_queue_sync(m->queue));
}

/* One alone, that accumulates n passes; bad: of step 1, the last. */
static float alone(const char *device, unsigned n, ssq_trainer_args args,
                   bool bad, float *values)
{
    ssq_device *dev = core_open(device);
    ssq_queue *queue = core_queue(dev);
    struct model m;
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;

    args.accumulate = n;
    model_make(&m, queue, &args);
    for (int step = 0; step < STEPS; step++)
        for (unsigned b = 0; b < n; b++) {
            feed(&m, step, b, bad && step == 1 && b == n - 1);
            NEED(pass(&m, HIDDEN));
        }
    values_of(&m, values);
    if (ssq_trainer_scaler(m.trainer) != NULL)
        NEED(
            ssq_scaler_state_get(queue, ssq_trainer_scaler(m.trainer), &state));
    model_free(&m);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
    return (float)state.scale;
}

/* ---- ranks ---- */

/* The same by ranks, which one thread drives without a wait. */
static void test_ranks(const char *const *names, unsigned n, const char *policy,
                       bool replay, bool bad)
{
    struct group g;
    struct model m[MOST_RANKS];
    float want[VALUES] = {0}, got[VALUES] = {0};
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    size_t wrong = 0;
    bool scales = true;

    args.policy = policy;
    args.options.clip_norm = 0.5;
    float scale = alone(names[0], n, args, bad, want);
    group_open(&g, n, names, NULL);
    args.replay = replay;
    for (unsigned r = 0; r < n; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
    }
    for (int step = 0; step < STEPS; step++)
        for (unsigned r = 0; r < n; r++) {
            feed(&m[r], step, r, bad && step == 1 && r == n - 1);
            NEED(pass(&m[r], HIDDEN));
        }
    for (unsigned r = 0; r < n; r++) {
        ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
        ssq_scaler *scaler = ssq_trainer_scaler(m[r].trainer);
        values_of(&m[r], got);
        wrong += memcmp(want, got, sizeof(want)) != 0;
        if (scaler != NULL)
            NEED(ssq_scaler_state_get(g.queue[r], scaler, &state));
        scales = scales && (float)state.scale == scale;
    }
    tap_ok(wrong == 0 && scales,
           "%s, %u ranks from %s to %s%s%s: the bits of one alone, %zu wrong, "
           "scale %g",
           policy, n, names[0], names[n - 1], replay ? ", replayed" : "",
           bad ? ", NaN on one" : "", wrong, (double)scale);
    for (unsigned r = 0; r < n; r++)
        model_free(&m[r]);
    group_close(&g);
}

/* ---- values to begin with ---- */

/* Other initial values on rank 1: of what the first pass makes, or of what was
 * made and written before. */
static void test_alike(const char *name, const char *policy, bool written)
{
    struct group g;
    struct model m[2];
    float want[VALUES] = {0}, got[VALUES] = {0};
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    size_t wrong = 0;

    args.policy = policy;
    alone(name, 2, args, false, want);
    group_of(&g, 2, name, 60);
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
        m[r].deviation = r == 1 ? 2.0 : 0.0;
        if (!written)
            continue;
        feed(&m[r], 0, r, false);
        ssq_tape *t = ssq_trainer_evaluate(m[r].trainer);
        (void)net(&m[r], t, HIDDEN);
        NEED(ssq_tape_status(t));
        NEED(ssq_params_get(ssq_trainer_params(m[r].trainer), 2, &info));
        if (r == 1)
            NEED(ssq_fill(g.queue[r], SSQ_FILL(.x = info.tensor, .value = 9)));
    }
    for (int step = 0; step < STEPS; step++)
        for (unsigned r = 0; r < 2; r++) {
            feed(&m[r], step, r, false);
            NEED(pass(&m[r], HIDDEN));
        }
    for (unsigned r = 0; r < 2; r++) {
        values_of(&m[r], got);
        wrong += memcmp(want, got, sizeof(want)) != 0;
        model_free(&m[r]);
    }
    tap_ok(wrong == 0, "%s, %s: rank 1 begins with rank 0's values, %s", name,
           policy, written ? "not with what was written" : "as they are made");
    group_close(&g);
}

/* ---- what differs ---- */

/* Ranks that go on from files of one and of two steps. */
static void test_loaded(void)
{
    static const char *const path[] = {"tests/comm/train.one",
                                       "tests/comm/train.two"};
    struct group g;
    struct model m;
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    group_of(&g, 2, "reference", 60);
    model_make(&m, g.queue[0], &args);
    for (int i = 0; i < 2; i++) {
        feed(&m, i, 0, false);
        NEED(pass(&m, HIDDEN));
        NEED(ssq_trainer_save(m.trainer, path[i]));
    }
    model_free(&m);
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m, g.queue[r], &args);
        NEED(ssq_trainer_load(m.trainer, path[r]));
        feed(&m, 0, r, false);
        ssq_status st = pass(&m, HIDDEN);
        NEED(st == SSQ_ERR_COMM ? SSQ_OK : st);
        model_free(&m);
    }
    for (unsigned r = 0; r < 2; r++) {
        core_status(ssq_queue_sync(g.queue[r]), SSQ_ERR_COMM, "checkpoint is",
                    "ranks that go on from other files: rank %u", r);
        (void)remove(path[r]);
    }
    group_close(&g);
}

static void test_difference(const char *parts, int64_t hidden, double lr,
                            uint64_t seed)
{
    struct group g;
    struct model m[2];

    group_of(&g, 2, "reference", 60);
    for (unsigned r = 0; r < 2; r++) {
        ssq_trainer_args args = SSQ_TRAINER_INIT;
        args.comm = g.comm[r];
        if (r == 1) {
            args.options.lr = lr;
            args.params.seed = seed;
        }
        model_make(&m[r], g.queue[r], &args);
        feed(&m[r], 0, r, false);
        /* it may know already */
        ssq_status st = pass(&m[r], r == 1 ? hidden : HIDDEN);
        NEED(st == SSQ_ERR_COMM ? SSQ_OK : st);
    }
    for (unsigned r = 0; r < 2; r++) {
        core_status(ssq_queue_sync(g.queue[r]), SSQ_ERR_COMM, parts,
                    "ranks that differ: rank %u", r);
        model_free(&m[r]);
    }
    group_close(&g);
}

/* A scaler that another trainer of the rank has used: what is known of it on
 * the host differs, since only rank 0's copies have arrived. */
static void test_scaler(void)
{
    struct group g;
    struct model m[2], other[2];
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    args.policy = "mixed_float16";
    group_of(&g, 2, "guard", 60);
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
        model_make(&other[r], g.queue[r], &args);
        NEED(ssq_trainer_set_scaler(other[r].trainer,
                                    ssq_trainer_scaler(m[r].trainer)));
    }
    for (int step = 0; step < 3; step++)
        for (unsigned r = 0; r < 2; r++) {
            feed(&m[r], step, r, false);
            NEED(pass(&m[r], HIDDEN));
        }
    NEED(ssq_queue_sync(g.queue[0]));
    for (unsigned r = 0; r < 2; r++) {
        feed(&other[r], 0, r, false);
        ssq_status st = pass(&other[r], HIDDEN);
        NEED(st == SSQ_ERR_COMM ? SSQ_OK : st);
    }
    for (unsigned r = 0; r < 2; r++)
        core_status(ssq_queue_sync(g.queue[r]), SSQ_OK, NULL,
                    "a scaler that two trainers share: rank %u", r);
    for (unsigned r = 0; r < 2; r++) {
        model_free(&m[r]);
        model_free(&other[r]);
    }
    group_close(&g);
}

int main(void)
{
    const char *const reference[] = {"reference", "reference", "reference"};
    const char *const cpu[] = {"cpu", "cpu", "cpu"};
    const char *const guard[] = {"reference", "guard"};
    const ssq_trainer_args args = SSQ_TRAINER_INIT;

    for (unsigned n = 2; n <= 3; n++) {
        test_ranks(reference, n, "float32", false, false);
        test_ranks(reference, n, "mixed_float16", false, true);
        test_ranks(cpu, n, "mixed_bfloat16", false, false);
        test_ranks(cpu, n, "mixed_float16", true, true);
    }
    test_ranks(guard, 2, "mixed_float16", true, true);
    for (int written = 0; written < 2; written++) {
        test_alike("reference", "mixed_float16", written);
        test_alike("guard", "mixed_bfloat16", written);
        test_alike("cpu", "float32", written);
    }
    test_loaded();
    test_difference("\"fc1.weight\"|160 elements|rank 1|170", HIDDEN + 1,
                    args.options.lr, args.params.seed);
    test_difference("lr is", HIDDEN, 0.5, args.params.seed);
    test_difference("seed is", HIDDEN, args.options.lr, 77);
    test_scaler();
    return tap_done(25);
}
