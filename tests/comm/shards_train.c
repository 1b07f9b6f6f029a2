/* SPDX-License-Identifier: Apache-2.0 */
/* shards_train.c - trainers whose optimizers are distributed: the bits and the
 * files of whole ones, and exact values of tensors that ranks have in parts. */

#include <math.h>
#include <pthread.h>
#include <sesqui/checkpoint.h>
#include <unistd.h>

#include "tests/comm/comm.h"
#include "tests/comm/files.h"

enum { MOST = 80000 }; /* parameters' elements */

static const char ours[] = "tests/comm/shards_train.ranks";
static const char whole[] = "tests/comm/shards_train.whole";

struct learner {
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *x, *y;
};

static void learner_make(struct learner *l, ssq_queue *queue, ssq_comm *comm,
                         bool shard, double clip_value)
{
    const int64_t shape[] = {4, 300};

    l->queue = queue;
    NEED(ssq_trainer_create(
        queue,
        SSQ_TRAINER(.policy = "mixed_float16", .options.clip_norm = 0.5,
                    .accumulate = 2, .replay = true, .comm = comm,
                    .clip_value = clip_value, .shard = shard,
                    .bucket_bytes = shard ? 1000 : 0),
        &l->trainer));
    NEED(ssq_tensor_create(ssq_queue_device(queue), SSQ_F32, 2, shape, &l->x));
    l->y = core_vector(ssq_queue_device(queue), SSQ_I32, 4);
    NEED(ssq_fill(queue, SSQ_FILL(.x = l->y, .value = 1)));
}

static void learner_free(struct learner *l)
{
    ssq_trainer_destroy(&l->trainer);
    ssq_tensor_destroy(&l->x);
    ssq_tensor_destroy(&l->y);
}

/* A pass, of a batch that is `batch`'s; bad: something is not finite. */
static void learn(struct learner *l, uint32_t batch, bool bad)
{
    NEED(ssq_random_normal(l->queue,
                           SSQ_RANDOM_NORMAL(.x = l->x, .seed = batch)));
    if (bad)
        NEED(ssq_fill(l->queue, SSQ_FILL(.x = l->x, .value = INFINITY)));
    ssq_tape *t = ssq_trainer_begin(l->trainer);
    ssq_var h = ssq_nn_linear(t, "fc1", ssq_var_input(t, l->x), 150, NULL);
    h = ssq_nn_linear(t, "fc2", ssq_relu_var(h), 3, NULL);
    NEED(ssq_trainer_step(
        l->trainer,
        ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = l->y))));
}

static size_t trained(const struct learner *l, float *x)
{
    const ssq_params *params = ssq_trainer_params(l->trainer);
    size_t at = 0;

    for (size_t i = 0; i < ssq_params_count(params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &info));
        size_t n = (size_t)ssq_tensor_elements(info.tensor);
        NEED(ssq_tensor_read(l->queue, info.tensor, x + at, n * sizeof(*x),
                             SSQ_F32));
        NEED(ssq_queue_sync(l->queue));
        at += n;
    }
    return at;
}

/* Steps from .. end of n ranks, of which the last has a bad batch in step 1. */
static void learn_all(struct learner *l, unsigned n, uint32_t from,
                      uint32_t end)
{
    for (uint32_t step = from; step < end; step++)
        for (uint32_t pass = 0; pass < 2; pass++)
            for (unsigned r = 0; r < n; r++)
                learn(&l[r], step * 100 + pass * 10 + r,
                      step == 1 && r == n - 1);
}

/* Calls of all ranks that wait, each by its own thread. */
struct shards_train_reader {
    struct learner *l;
    float *values;
    const char *path;
    pthread_t thread;
};

static void *read_exact(void *reader)
{
    struct shards_train_reader *r = reader;
    ssq_params *params = ssq_trainer_params(r->l->trainer);
    ssq_optimizer *o = ssq_trainer_optimizer(r->l->trainer);
    size_t n = trained(r->l, r->values); /* how many */

    NEED(ssq_params_read(params, r->l->queue, o, NULL, r->values, n));
    NEED(ssq_params_save(params, r->l->queue, r->path,
                         SSQ_PARAMS_FILE(.optimizer = o)));
    /* written data goes to the parameter, and to the part of its master */
    NEED(ssq_params_write(params, r->l->queue, o, "fc1.weight", r->values,
                          300 * 150));
    return NULL;
}

static void test_exact(struct learner *shards, struct learner *alone)
{
    static float values[3][MOST];
    struct shards_train_reader r[3] = {
        {shards, values[0], ours, 0},
        {shards + 1, values[1], "tests/comm/shards_train.1", 0},
        {alone, values[2], whole, 0}};
    size_t bytes = sizeof(values[0]);

    for (int i = 0; i < 3; i++)
        if (pthread_create(&r[i].thread, NULL, read_exact, &r[i]) != 0)
            tap_bail("no thread");
    for (int i = 0; i < 3; i++)
        pthread_join(r[i].thread, NULL);
    tap_ok(memcmp(values[0], values[2], bytes) == 0 &&
               memcmp(values[1], values[2], bytes) == 0 &&
               same_files(ours, whole) && same_files(r[1].path, whole),
           "exact values of parts, read and saved");
    unlink(r[1].path);
}

/* With shards and without, rank by rank; files of either; and the end. */
static void test_trainers(unsigned n, double clip_value)
{
    static float want[MOST], got[MOST];
    struct group g[3];
    struct learner l[3][MOST_RANKS];
    size_t count = 0, wrong = 0;

    for (int k = 0; k < 3; k++) { /* whole, shards, shards from whole's file */
        group_of(&g[k], n, "cpu", 60);
        for (unsigned r = 0; r < n; r++)
            learner_make(&l[k][r], g[k].queue[r], g[k].comm[r], k > 0,
                         clip_value);
    }
    learn_all(l[0], n, 0, 3);
    learn_all(l[1], n, 0, 3);
    for (unsigned r = n - 1; r > 0; r--)
        NEED(ssq_trainer_save(l[1][r].trainer, NULL));
    NEED(ssq_trainer_save(l[1][0].trainer, ours));
    NEED(ssq_trainer_save(l[0][0].trainer, whole));
    tap_ok(same_files(ours, whole), "trainers, %u ranks, clip %g: one file", n,
           clip_value);
    for (unsigned r = 0; r < n; r++)
        NEED(ssq_trainer_load(l[2][r].trainer, whole));
    for (int k = 0; k < 3; k++)
        learn_all(l[k], n, 3, 5);
    if (n == 2) { /* and all whole ones write the same */
        test_exact(l[1], l[0]);
        test_exact(l[2], &l[0][1]);
    }
    for (int k = 0; k < 3; k++)
        for (unsigned r = 0; r < n; r++)
            NEED(ssq_trainer_end(l[k][r].trainer));
    count = trained(&l[0][0], want);
    for (int k = 1; k < 3; k++)
        for (unsigned r = 0; r < n; r++)
            wrong += trained(&l[k][r], got) != count ||
                     memcmp(want, got, count * sizeof(*got)) != 0;
    tap_ok(wrong == 0 && count > 40000,
           "trainers, %u ranks: float32 values of %zu parameters are those of "
           "whole optimizers, from a file, too",
           n, count);
    for (int k = 0; k < 3; k++) {
        for (unsigned r = 0; r < n; r++)
            learner_free(&l[k][r]);
        group_close(&g[k]);
    }
    unlink(ours);
    unlink(whole);
}

int main(void)
{
    test_trainers(2, 0);
    test_trainers(3, 0.01);
    return tap_done(6);
}
