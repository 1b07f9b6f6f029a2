/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - trainers that are ranks: the bits of one alone that accumulates
 * their passes, on any devices. */

#include <sesqui/checkpoint.h>

#include "tests/comm/model.h"

enum { STEPS = 4, HIDDEN = 16, VALUES = 227 };

/* ---- a model, and its batches ---- */

static void feed(struct comm_model *m, int step, unsigned b, bool bad)
{
    model_feed(m, step, b, bad ? NOT_FINITE : NO_FLAW);
}

/* Dropout draws another mask in each pass. */
static ssq_var net(struct comm_model *m, ssq_tape *t, int64_t hidden)
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

static ssq_status pass(struct comm_model *m, int64_t hidden)
{
    ssq_var loss = net(m, ssq_trainer_begin(m->trainer), hidden);

    return ssq_trainer_step(m->trainer, loss);
}

/* All parameters, as float32. */
static void values_of(struct comm_model *m, float *values)
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
    struct comm_model m;
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
                       bool replay, bool bad, uint64_t bucket)
{
    struct group g;
    struct comm_model m[MOST_RANKS];
    float want[VALUES] = {0}, got[VALUES] = {0};
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    size_t wrong = 0;
    bool scales = true;

    args.policy = policy;
    args.options.clip_norm = 0.5;
    float scale = alone(names[0], n, args, bad, want);
    group_open(&g, n, names, NULL);
    args.replay = replay;
    args.bucket_bytes = bucket;
    args.compare_every = n;
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
           "%s, %u ranks from %s to %s%s%s, buckets of %llu: the bits of one "
           "alone, %zu wrong, scale %g",
           policy, n, names[0], names[n - 1], replay ? ", replayed" : "",
           bad ? ", NaN on one" : "", (unsigned long long)bucket, wrong,
           (double)scale);
    for (unsigned r = 0; r < n; r++)
        model_free(&m[r]);
    group_close(&g);
}

/* Rank 0 writes what its backward reads at last, when the bucket of fc2 is on
 * its way: the group ends, and both know why. */
static void test_half(uint64_t bucket)
{
    struct group g;
    struct comm_model m[2];
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    group_of(&g, 2, "reference", 60);
    args.bucket_bytes = bucket;
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
        feed(&m[r], 0, r, false);
        NEED(pass(&m[r], HIDDEN));
    }
    for (unsigned r = 0; r < 2; r++)
        feed(&m[r], 1, r, false);
    ssq_var loss = net(&m[0], ssq_trainer_begin(m[0].trainer), HIDDEN);
    NEED(ssq_fill(m[0].queue, SSQ_FILL(.x = m[0].x)));
    core_status(ssq_trainer_step(m[0].trainer, loss), SSQ_ERR_INVALID,
                "was written between|fill",
                "half of a backward, buckets of %llu",
                (unsigned long long)bucket);
    ssq_status st = pass(&m[1], HIDDEN); /* it may know already */
    if (bucket == 0) { /* an object that is not freed may be made again */
        feed(&m[0], 1, 0, false);
        NEED(pass(&m[0], HIDDEN));
    }
    for (unsigned r = 0; r < 2; r++) {
        if (r == 0 && bucket > 0) /* its next pass is told */
            st = pass(&m[0], HIDDEN);
        ssq_status sync = ssq_queue_sync(g.queue[r]);
        core_status(st != SSQ_OK ? st : sync,
                    bucket > 0 ? SSQ_ERR_COMM : SSQ_OK,
                    bucket > 0 ? "pass of rank 0 has failed|by the op" : NULL,
                    "half of a backward: rank %u", r);
        model_free(&m[r]);
    }
    group_close(&g);
}

/* Objects outside of the tape: a parameter that the program gives the
 * optimizer, and states that come when there are buckets. */
static void test_others(uint64_t bucket, bool shard)
{
    struct group g;
    struct comm_model m[2];
    ssq_tensor *own[2], *grad[2];
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    double sum = 0.0;

    args.optimizer = "sgd";
    args.options.lr = 1.0;
    args.bucket_bytes = bucket;
    args.shard = shard;
    group_of(&g, 2, "reference", 60);
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
        own[r] = group_vector(&g, r, 4, 0.0);
        grad[r] = group_vector(&g, r, 4, 0.0);
        NEED(ssq_optimizer_add(ssq_trainer_optimizer(m[r].trainer), "own",
                               own[r], grad[r], NULL));
        NEED(ssq_params_allow(ssq_trainer_params(m[r].trainer), "late*"));
    }
    for (int step = 0; step < STEPS; step++)
        for (unsigned r = 0; r < 2; r++) {
            feed(&m[r], step, r, false);
            NEED(ssq_fill(g.queue[r], SSQ_FILL(.x = grad[r],
                                               .value = (step + 1) * (r + 1))));
            ssq_tape *t = ssq_trainer_begin(m[r].trainer);
            for (int i = 0; i < 9 * step; i++) {
                char name[16];
                (void)snprintf(name, sizeof(name), "late%d", i);
                (void)ssq_var_param(
                    t, name, SSQ_PARAM(.rank = 1, .shape = {4}, .state = true));
            }
            NEED(ssq_trainer_step(m[r].trainer, net(&m[r], t, HIDDEN)));
        }
    for (unsigned r = 0; r < 2; r++)
        sum += (double)first_of(&g, r, own[r]);
    tap_ok(sum == -2 * 15.0,
           "%s, buckets of %llu: a parameter of the program's "
           "own is stepped, with late states beside: %g, expected -30",
           shard ? "shards" : "whole", (unsigned long long)bucket, sum);
    for (unsigned r = 0; r < 2; r++) {
        ssq_tensor_destroy(&own[r]);
        ssq_tensor_destroy(&grad[r]);
        model_free(&m[r]);
    }
    group_close(&g);
}

/* ---- values to begin with ---- */

/* Other initial values on rank 1: of vars that the first pass makes, or that
 * were made and written before. */
static void test_alike(const char *name, const char *policy, bool written)
{
    struct group g;
    struct comm_model m[2];
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
        NEED(ssq_params_allow(ssq_trainer_params(m[r].trainer), "*"));
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

/* Ranks that continue from files of one and of two steps. */
static void test_loaded(void)
{
    static const char *const path[] = {"tests/comm/train.one",
                                       "tests/comm/train.two"};
    struct group g;
    struct comm_model m;
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

static void test_difference(const char *parts, int64_t hidden,
                            ssq_trainer_args args)
{
    struct group g;
    struct comm_model m[2];

    group_of(&g, 2, "reference", 60);
    for (unsigned r = 0; r < 2; r++) {
        ssq_trainer_args own = SSQ_TRAINER_INIT;
        if (r == 1)
            own = args;
        own.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &own);
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
    struct comm_model m[2], other[2];
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

/* Someone writes into rank n - 1's second parameter before step 2, of which
 * it is known behind step 4. */
static void test_drift(const char *name, unsigned n, bool replay)
{
    struct group g;
    struct comm_model m[MOST_RANKS];
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    ssq_status last[MOST_RANKS] = {SSQ_OK};
    char parts[64];

    args.policy = "mixed_float16";
    args.compare_every = 2;
    args.replay = replay;
    group_of(&g, n, name, 60);
    for (unsigned r = 0; r < n; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
    }
    (void)snprintf(parts, sizeof(parts), "\"step 4\"|fc1.bias is|rank %u",
                   n - 1);
    for (int step = 0; step < STEPS; step++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        ssq_status st = ssq_queue_sync(g.queue[0]);
        core_status(st, SSQ_OK, NULL, "%s: ranks alike before step %d", name,
                    step);
        for (unsigned r = 0; r < n; r++) {
            if (step == 2 && r == n - 1) {
                NEED(
                    ssq_params_get(ssq_trainer_params(m[r].trainer), 1, &info));
                NEED(ssq_params_write(ssq_trainer_params(m[r].trainer),
                                      g.queue[r],
                                      ssq_trainer_optimizer(m[r].trainer),
                                      info.name, (float[HIDDEN]){3}, HIDDEN));
            }
            feed(&m[r], step % 3, r, false);
            last[r] = pass(&m[r], HIDDEN); /* it may know already */
            NEED(last[r] == SSQ_ERR_COMM ? SSQ_OK : last[r]);
        }
    }
    for (unsigned r = 0; r < n; r++) {
        ssq_status st = ssq_queue_sync(g.queue[r]);
        core_status(last[r] == SSQ_OK ? st : last[r], SSQ_ERR_COMM, parts,
                    "%s: a parameter that drifts: rank %u", name, r);
        model_free(&m[r]);
    }
    group_close(&g);
}

/* Steps of two passes on each rank: the second ends them, or a flush does, of
 * an accumulation that is longer. */
static void two_passes(const char *device, ssq_trainer_args args, bool flush,
                       float values[2][VALUES])
{
    struct group g;
    struct comm_model m[2];

    args.accumulate = flush ? 5 : 2;
    group_of(&g, 2, device, 60);
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
    }
    for (int step = 0; step < STEPS; step++) {
        for (unsigned i = 0; i < 4; i++) {
            feed(&m[i % 2], step, i, false);
            NEED(pass(&m[i % 2], HIDDEN));
        }
        for (unsigned r = 0; r < 2 && flush; r++)
            NEED(ssq_trainer_flush(m[r].trainer));
    }
    for (unsigned r = 0; r < 2; r++) {
        values_of(&m[r], values[r]);
        model_free(&m[r]);
    }
    group_close(&g);
}

static void test_flush(const char *device, const char *policy, bool shard,
                       uint64_t bucket)
{
    static float want[2][VALUES], got[2][VALUES];
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    args.policy = policy;
    args.shard = shard;
    args.bucket_bytes = bucket;
    two_passes(device, args, false, want);
    two_passes(device, args, true, got);
    tap_ok(memcmp(want, got, sizeof(want)) == 0 &&
               memcmp(want[0], want[1], sizeof(want[0])) == 0,
           "%s, %s%s, buckets of %llu: flushed passes have the bits of a whole "
           "accumulation",
           device, policy, shard ? ", shards" : "", (unsigned long long)bucket);
}

int main(void)
{
    const char *const reference[] = {"reference", "reference", "reference"};
    const char *const cpu[] = {"cpu", "cpu", "cpu"};
    const char *const guard[] = {"reference", "guard"};
    const ssq_trainer_args args = SSQ_TRAINER_INIT;

    for (unsigned n = 2; n <= 3; n++) {
        test_ranks(reference, n, "float32", false, false, 1);
        test_ranks(reference, n, "mixed_float16", false, true, 0);
        test_ranks(cpu, n, "mixed_bfloat16", false, false, 100);
        test_ranks(cpu, n, "mixed_float16", true, true, 1);
    }
    test_ranks(cpu, 2, "mixed_float16", true, true, 25 << 20);
    test_ranks(guard, 2, "mixed_float16", true, true, 1);
    test_half(1);
    test_half(0);
    test_others(0, false);
    test_others(1, false);
    test_others(1, true);
    for (int written = 0; written < 2; written++) {
        test_alike("reference", "mixed_float16", written);
        test_alike("guard", "mixed_bfloat16", written);
        test_alike("cpu", "float32", written);
    }
    test_loaded();
    test_difference("\"fc1.weight\"|160 elements|rank 1|170", HIDDEN + 1, args);
    test_difference("lr is", HIDDEN, *SSQ_TRAINER(.options.lr = 0.5));
    test_difference("seed is", HIDDEN, *SSQ_TRAINER(.params.seed = 77));
    test_difference("bucket_bytes is", HIDDEN, *SSQ_TRAINER(.bucket_bytes = 1));
    test_drift("guard", 2, true);
    test_drift("cpu", 3, false);
    test_scaler();
    test_flush("reference", "mixed_float16", false, 1);
    test_flush("cpu", "mixed_bfloat16", true, 0);
    test_flush("guard", "float32", false, 25 << 20);
    return tap_done(53);
}
