/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - class labels out of range on one rank: all ranks skip the step,
 * all report it, and continue with the same bits. */
#include "tests/comm/model.h"

enum { STEPS = 5, HIDDEN = 8, VALUES = 115 };

static void feed(struct comm_model *m, int step, unsigned b, bool bad)
{
    model_feed(m, step, b, bad ? WRONG_LABEL : NO_FLAW);
}

/* A report is not a failure: the pass counts. */
static void count(struct comm_model *m, ssq_status st)
{
    if (st == SSQ_ERR_INVALID) {
        m->reports++;
        snprintf(m->text, sizeof(m->text), "%s", ssq_last_error());
        return;
    }
    NEED(st);
}

static void pass(struct comm_model *m)
{
    ssq_tape *t = ssq_trainer_begin(m->trainer);
    ssq_var h = ssq_nn_linear(t, "fc1", ssq_var_input(t, m->x), HIDDEN, NULL);

    h = ssq_nn_linear(t, "fc2", ssq_tanh_var(h), CLASSES, NULL);
    count(m, ssq_trainer_step(
                 m->trainer,
                 ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = m->y))));
}

/* All parameters; returns the loss scale, 0 without one. */
static double values_of(struct comm_model *m, float *values)
{
    ssq_params *params = ssq_trainer_params(m->trainer);
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    size_t at = 0;

    for (size_t i = 0; i < ssq_params_count(params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &info));
        size_t n = (size_t)ssq_tensor_elements(info.tensor);
        NEED(ssq_tensor_read(m->queue, info.tensor, values + at,
                             n * sizeof(float), SSQ_F32));
        at += n;
    }
    NEED(ssq_queue_sync(m->queue));
    if (ssq_trainer_scaler(m->trainer) == NULL)
        return 0.0;
    NEED(
        ssq_scaler_state_get(m->queue, ssq_trainer_scaler(m->trainer), &state));
    return state.scale;
}

/* Two batches to a step, and never the wrong ones. */
static double alone(const char *device, ssq_trainer_args args, float *values)
{
    ssq_device *dev = core_open(device);
    ssq_queue *queue = core_queue(dev);
    struct comm_model m;

    args.accumulate = 2;
    args.shard = false;
    model_make(&m, queue, &args);
    for (int step = 0; step < STEPS; step++)
        for (unsigned b = 0; b < 2 && step != 2; b++) {
            feed(&m, step, b, false);
            pass(&m);
        }
    double scale = values_of(&m, values);
    model_free(&m);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
    return scale;
}

/* In step 2 rank 1 has a label too many. */
static void test_labels(const char *device, const char *policy, bool shard,
                        uint64_t bucket)
{
    struct group g;
    struct comm_model m[2];
    float want[VALUES] = {0}, got[VALUES] = {0};
    bool same = true;
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    args.policy = policy;
    args.bucket_bytes = bucket;
    double scale = alone(device, args, want);
    group_of(&g, 2, device, 60);
    args.shard = shard;
    args.compare_every = 1;
    for (unsigned r = 0; r < 2; r++) {
        args.comm = g.comm[r];
        model_make(&m[r], g.queue[r], &args);
    }
    for (int step = 0; step < STEPS; step++)
        for (unsigned r = 0; r < 2; r++) {
            feed(&m[r], step, r, step == 2 && r == 1);
            pass(&m[r]);
        }
    for (unsigned r = 0; r < 2; r++) {
        count(&m[r], ssq_queue_sync(m[r].queue));
        same = same && values_of(&m[r], got) == scale &&
               memcmp(want, got, sizeof(want)) == 0 && isfinite(got[0]);
    }
    tap_ok(same,
           "%s, %s%s, buckets of %llu: all ranks skip the step of a label out "
           "of range, scale %g",
           device, policy, shard ? ", shards" : "", (unsigned long long)bucket,
           scale);
    tap_ok(m[0].reports == 1 && m[1].reports == 1 &&
               strstr(m[0].text, "of another rank") != NULL &&
               strstr(m[1].text, "row 4 of a loss has the label 3, expected 0 "
                                 "to 2, of 3 classes") != NULL,
           "%s, %s: each reports once: %d \"%s\", %d \"%s\"", device, policy,
           m[0].reports, m[0].text, m[1].reports, m[1].text);
    for (unsigned r = 0; r < 2; r++)
        model_free(&m[r]);
    group_close(&g);
}

int main(void)
{
    test_labels("reference", "float32", false, 25 << 20);
    test_labels("guard", "mixed_float16", false, 1);
    test_labels("cpu", "float32", true, 0);
    test_labels("cpu", "mixed_float16", false, 100);
    test_labels("cpu", "mixed_bfloat16", false, 0);
    return tap_done(10);
}
