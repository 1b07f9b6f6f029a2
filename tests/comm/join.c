/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - ranks that do not know how many batches each has: they announce
 * their passes, and end together. */

#include <limits.h>
#include <math.h>
#include <sesqui/checkpoint.h>

#include "tests/comm/comm.h"
#include "tests/comm/scale.h"

enum { ROWS = 8, WIDTH = 12, HIDDEN = 24, CLASSES = 5, VALUES = 437 };

/* ---- a rank, or one alone ---- */

struct join_how {
    const char *device, *policy;
    bool shard, replay;
    bool empty; /* instead of idling, a pass over no rows */
    int bad;    /* the batch of the last rank that has an infinity; -1: none */
};

struct join_rank {
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *x, *y;
};

/* passes: of which a step is made. */
static void rank_make(struct join_rank *r, ssq_queue *queue, ssq_comm *comm,
                      const struct join_how *how, uint32_t passes)
{
    const int64_t shape[] = {ROWS, WIDTH};

    r->queue = queue;
    NEED(ssq_trainer_create(
        queue,
        SSQ_TRAINER(.policy = how->policy, .options.weight_decay = 0.1,
                    .options.clip_norm = 0.5, .accumulate = passes,
                    .comm = comm, .shard = how->shard && comm != NULL,
                    .replay = how->replay, .bucket_bytes = 100),
        &r->trainer));
    scale_low(r->trainer);
    NEED(ssq_tensor_create(ssq_queue_device(queue), SSQ_F32, 2, shape, &r->x));
    r->y = core_vector(ssq_queue_device(queue), SSQ_I32, ROWS);
}

static void rank_free(struct join_rank *r)
{
    ssq_trainer_destroy(&r->trainer);
    ssq_tensor_destroy(&r->x);
    ssq_tensor_destroy(&r->y);
}

static ssq_var loss_of(struct join_rank *r, const ssq_tensor *x,
                       const ssq_tensor *y)
{
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    ssq_var h = ssq_nn_linear(t, "fc1", ssq_var_input(t, x), HIDDEN, NULL);

    h = ssq_nn_linear(t, "fc2", ssq_relu_var(h), CLASSES, NULL);
    return ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = y));
}

/* A batch of this many rows, which is `number`'s; alone, its loss counts
 * `weight`. */
static void learn(struct join_rank *r, uint32_t number, int64_t rows,
                  double weight, bool bad)
{
    ssq_tensor *x = NULL, *y = NULL;

    NEED(ssq_random_normal(r->queue,
                           SSQ_RANDOM_NORMAL(.x = r->x, .seed = number)));
    if (bad)
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = r->x, .value = INFINITY)));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = r->y, .value = number % CLASSES)));
    NEED(ssq_tensor_slice(r->x, 0, 0, rows, 1, &x));
    NEED(ssq_tensor_slice(r->y, 0, 0, rows, 1, &y));
    ssq_var loss = loss_of(r, x, y);
    if (weight != 1.0)
        loss = ssq_scale_var(loss, SSQ_SCALE(.alpha = weight));
    NEED(ssq_trainer_step(r->trainer, loss));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
}

static void values_of(const struct join_rank *r, float *x)
{
    const ssq_params *params = ssq_trainer_params(r->trainer);
    size_t at = 0;

    for (size_t i = 0; i < ssq_params_count(params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &info));
        size_t n = (size_t)ssq_tensor_elements(info.tensor);
        NEED(ssq_tensor_read(r->queue, info.tensor, x + at, n * sizeof(*x),
                             SSQ_F32));
        at += n;
    }
    NEED(ssq_queue_sync(r->queue));
    if (at != VALUES)
        tap_bail("%zu values", at);
}

/* ---- ranks with their own batches ---- */

struct join_plan {
    unsigned n;
    int batches[3];
    struct join_how how;
};

/* The last batch of a rank is smaller; after it there is none. */
static int64_t rows_of(const struct join_plan *p, unsigned rank, int batch)
{
    return batch >= p->batches[rank]       ? 0
           : batch == p->batches[rank] - 1 ? 3 + (int64_t)rank
                                           : ROWS;
}

static int64_t all_rows(const struct join_plan *p, int batch)
{
    int64_t all = 0;

    for (unsigned i = 0; i < p->n; i++)
        all += rows_of(p, i, batch);
    return all;
}

static bool bad(const struct join_plan *p, unsigned rank, int batch)
{
    return rank + 1 == p->n && batch == p->how.bad;
}

static void announce_all(struct join_rank *r, const struct join_plan *p,
                         int batch)
{
    for (unsigned i = 0; i < p->n; i++)
        NEED(ssq_trainer_announce(r[i].trainer, rows_of(p, i, batch)));
}

/* Ask all ranks for the rows of the next pass, which must be `want`. False: the
 * end. */
static bool next_all(struct join_rank *r, unsigned n, int64_t want)
{
    for (unsigned i = 0; i < n; i++) {
        int64_t all = -1;
        NEED(ssq_trainer_next(r[i].trainer, &all));
        if (all != want)
            tap_bail("rank %u: %lld rows, not %lld", i, (long long)all,
                     (long long)want);
    }
    return want > 0;
}

/* Batches from one on, which is announced, to the end of all or before `stop`,
 * where a pass is announced and not taken. */
static void go_on(struct join_rank *r, const struct join_plan *p, int from,
                  int stop)
{
    for (int b = from; b < stop && next_all(r, p->n, all_rows(p, b)); b++) {
        announce_all(r, p, b + 1);
        for (unsigned i = 0; i < p->n; i++) {
            int64_t rows = rows_of(p, i, b);
            if (rows > 0 || p->how.empty)
                learn(&r[i], (uint32_t)b * 100 + i, rows, 1.0, bad(p, i, b));
            else
                NEED(ssq_trainer_idle(r[i].trainer));
        }
    }
}

static void train(struct join_rank *r, const struct join_plan *p, int from,
                  int stop)
{
    announce_all(r, p, from);
    go_on(r, p, from, stop);
}

/* The same by one that takes all passes in turn, each for as much as its rows
 * are of the mean; an absent one counts nothing. */
static void train_alone(struct join_rank *r, const struct join_plan *p)
{
    for (int b = 0; all_rows(p, b) > 0; b++)
        for (unsigned i = 0; i < p->n; i++) {
            int64_t rows = rows_of(p, i, b);
            double weight = (double)rows * p->n / (double)all_rows(p, b);
            learn(r, (uint32_t)b * 100 + i, rows > 0 ? rows : 1, weight,
                  bad(p, i, b));
        }
}

static void plan_open(const struct join_plan *p, struct group *g,
                      struct join_rank *r)
{
    group_of(g, p->n, p->how.device, 60);
    for (unsigned i = 0; i < p->n; i++)
        rank_make(&r[i], g->queue[i], g->comm[i], &p->how, 1);
}

static void plan_close(const struct join_plan *p, struct group *g,
                       struct join_rank *r)
{
    for (unsigned i = 0; i < p->n; i++)
        rank_free(&r[i]);
    group_close(g);
}

static bool alike(const struct join_plan *p, struct join_rank *r,
                  const float *want)
{
    static float got[VALUES];
    bool same = true;

    for (unsigned i = 0; i < p->n; i++) {
        values_of(&r[i], got);
        same = same && memcmp(got, want, sizeof(got)) == 0;
    }
    return same;
}

static ssq_scaler_state scaler_of(const struct join_rank *r)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;

    if (ssq_trainer_scaler(r->trainer) != NULL)
        NEED(
            ssq_scaler_state_get(r->queue, ssq_trainer_scaler(r->trainer), &s));
    return s;
}

/* A group, and one alone, bit by bit. */
static void test_plan(const struct join_plan *p)
{
    static float want[VALUES];
    struct group g;
    struct join_rank r[3], one;
    ssq_device *dev = core_open(p->how.device);
    ssq_queue *queue = core_queue(dev);

    rank_make(&one, queue, NULL, &p->how, p->n);
    train_alone(&one, p);
    values_of(&one, want);
    plan_open(p, &g, r);
    train(r, p, 0, INT_MAX);
    ssq_scaler_state a = scaler_of(&one), b = scaler_of(&r[0]);
    tap_ok(
        alike(p, r, want) && a.scale == b.scale && a.skipped == b.skipped &&
            b.skipped == (p->how.bad >= 0),
        "%s, %s%s%s%s, %u ranks of %d, %d, %d batches: the bits of one alone, "
        "%u skipped",
        p->how.device, p->how.policy, p->how.shard ? ", shards" : "",
        p->how.replay ? ", replayed" : "", p->how.empty ? ", over no rows" : "",
        p->n, p->batches[0], p->batches[1], p->batches[2], b.skipped);
    plan_close(p, &g, r);
    rank_free(&one);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
}

/* Saved when one rank has come to its end, and a pass is announced. */
static void test_saved(bool shard)
{
    static const char path[] = "tests/comm/join.sesqui";
    static float want[VALUES];
    const struct join_plan p = {
        3, {3, 5, 1}, {"reference", "mixed_float16", shard, false, false, -1}};
    struct group g, h;
    struct join_rank r[3], s[3];

    plan_open(&p, &g, r);
    train(r, &p, 0, 2);
    for (unsigned i = 3; i > 0; i--)
        NEED(ssq_trainer_save(r[i - 1].trainer, path));
    plan_open(&p, &h, s);
    for (unsigned i = 0; i < 3; i++)
        core_status(ssq_trainer_load(s[i].trainer, i == 1 ? NULL : ""),
                    SSQ_ERR_INVALID, "trainer_load: path is",
                    "rank %u loads no path%s", i, shard ? ", of shards" : "");
    for (unsigned i = 0; i < 3; i++)
        NEED(ssq_trainer_load(s[i].trainer, path));
    train(s, &p, 2, INT_MAX);
    values_of(&s[0], want);
    bool same = alike(&p, s, want);
    for (unsigned i = 0; i < 3; i++)
        NEED(ssq_trainer_load(r[i].trainer, path));
    go_on(r, &p, 2, INT_MAX); /* its pass is announced yet */
    same = same && alike(&p, r, want);
    plan_close(&p, &h, s);
    plan_open(&p, &h, s);
    train(s, &p, 0, INT_MAX);
    tap_ok(same && alike(&p, s, want),
           "a checkpoint while a rank idles%s: the bits of no checkpoint",
           shard ? ", of shards" : "");
    (void)remove(path);
    plan_close(&p, &h, s);
    plan_close(&p, &g, r);
}

/* No one has a batch: no step is made, and another epoch continues. */
static void test_none(void)
{
    static float before[VALUES], after[VALUES];
    const struct join_plan some = {
        2, {2, 1}, {"reference", "float32", false, false, false, -1}};
    const struct join_plan none = {
        2, {0, 0}, {"reference", "float32", false, false, false, -1}};
    struct group g;
    struct join_rank r[3];

    plan_open(&some, &g, r);
    train(r, &none, 0, INT_MAX);
    tap_ok(ssq_params_count(ssq_trainer_params(r[0].trainer)) == 0,
           "no batch at all: the end, of both ranks");
    train(r, &some, 0, INT_MAX);
    values_of(&r[0], before);
    train(r, &none, 0, INT_MAX);
    tap_ok(alike(&some, r, before), "an epoch without batches changes nothing");
    train(r, &some, 0, INT_MAX);
    values_of(&r[1], after);
    tap_ok(alike(&some, r, after) && memcmp(after, before, sizeof(after)) != 0,
           "and one with them goes on");
    plan_close(&some, &g, r);
}

/* ---- weights, exactly ---- */

enum { RANKS = 4, PASSES = 6, MOST = 8, INPUTS = 2 };

/* Powers of two, of sums that are, so that float32 has all means: the loss is
 * the mean of x w, whose gradient is the mean of x. Rank 0 has none at first.
 */
static const int64_t exact_rows[PASSES][RANKS] = {{0, 1, 1, 2}, {1, 1, 2, 4},
                                                  {0, 0, 4, 4}, {8, 0, 0, 0},
                                                  {0, 2, 1, 1}, {2, 2, 2, 2}};
static float exact_x[PASSES][RANKS][MOST * INPUTS];

/* The values of all, and the parameters that steps of this many passes come to,
 * the last of which may have fewer. */
static void exact_want(unsigned passes, double *w)
{
    for (int k = 0; k < INPUTS; k++)
        w[k] = 0;
    for (int p = 0; p < PASSES; p++) {
        double sum[INPUTS] = {0}, all = 0;
        for (int r = 0; r < RANKS; r++) {
            all += (double)exact_rows[p][r];
            for (int i = 0; i < MOST * INPUTS; i++) {
                exact_x[p][r][i] =
                    (float)((p * 31 + r * 17 + i * 13 + i / 2) % 23 - 9);
                if (i / INPUTS < exact_rows[p][r])
                    sum[i % INPUTS] += (double)exact_x[p][r][i];
            }
        }
        for (int k = 0; k < INPUTS; k++)
            w[k] -= sum[k] / all / passes;
    }
}

static void exact_pass(ssq_trainer *trainer, const ssq_tensor *x, int64_t rows)
{
    ssq_tensor *some = NULL;

    NEED(ssq_tensor_slice(x, 0, 0, rows, 1, &some));
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var y = ssq_nn_linear(
        t, "fc", ssq_var_input(t, some), 1,
        SSQ_NN_LINEAR(.bias = false, .weight_init.kind = SSQ_INIT_ZEROS));
    NEED(ssq_trainer_step(trainer, ssq_mean_var(y, NULL)));
    ssq_tensor_destroy(&some);
}

/* A rank's pass p; a rank without rows for the first takes one of `instead`,
 * which count nothing. */
static void exact_rank(struct group *g, unsigned r, ssq_trainer *trainer,
                       const ssq_tensor *x, int p, int64_t instead)
{
    int64_t rows = p < PASSES ? exact_rows[p][r] : 0;

    if (rows == 0 && p > 0) {
        NEED(ssq_trainer_idle(trainer));
        return;
    }
    NEED(ssq_tensor_write(g->queue[r], x, exact_x[p][r], sizeof(exact_x[p][r]),
                          SSQ_F32));
    exact_pass(trainer, x, rows == 0 ? instead : rows);
}

/* After the first pass. */
static void exact_loss(ssq_trainer **trainer)
{
    double loss[2];

    for (int r = 0; r < 2; r++)
        NEED(ssq_trainer_loss(trainer[r], &loss[r]));
    tap_ok(isnan(loss[0]) && loss[1] == 0,
           "a pass that counts nothing is in no loss: %g, of rank 1 %g",
           loss[0], loss[1]);
}

static void exact_train(struct group *g, ssq_trainer **trainer, ssq_tensor **x,
                        unsigned passes)
{
    for (int p = 0; p < PASSES || p % (int)passes != 0; p++) {
        int64_t all, want = 0;
        for (unsigned r = 0; r < RANKS; r++) {
            int64_t rows = p < PASSES ? exact_rows[p][r] : 0;
            want += rows;
            NEED(ssq_trainer_announce(trainer[r], rows));
        }
        for (unsigned r = 0; r < RANKS; r++) {
            NEED(ssq_trainer_next(trainer[r], &all));
            if (all != want)
                tap_bail("%lld rows of %lld", (long long)all, (long long)want);
        }
        for (unsigned r = 0; r < RANKS; r++)
            exact_rank(g, r, trainer[r], x[r], p, passes == 2 ? 3 : 0);
        if (p == 0)
            exact_loss(trainer);
    }
}

/* Steps of this many passes: the last one waits for some that no one has. */
static void test_exact(unsigned passes)
{
    const int64_t shape[] = {MOST, INPUTS};
    struct group g;
    ssq_trainer *trainer[RANKS];
    ssq_tensor *x[RANKS];
    double want[INPUTS];
    bool exact = true;

    exact_want(passes, want);
    group_of(&g, RANKS, "reference", 60);
    for (unsigned r = 0; r < RANKS; r++) {
        NEED(ssq_trainer_create(g.queue[r],
                                SSQ_TRAINER(.optimizer = "sgd", .options.lr = 1,
                                            .accumulate = passes,
                                            .comm = g.comm[r]),
                                &trainer[r]));
        NEED(ssq_tensor_create(g.dev[r], SSQ_F32, 2, shape, &x[r]));
    }
    exact_train(&g, trainer, x, passes);
    for (unsigned r = 0; r < RANKS; r++) {
        float w[INPUTS];
        NEED(ssq_params_read(ssq_trainer_params(trainer[r]), g.queue[r], NULL,
                             "fc.weight", w, INPUTS));
        for (int k = 0; k < INPUTS; k++)
            exact = exact && (double)w[k] == want[k];
    }
    tap_ok(exact,
           "4 ranks, shares from none to all, %u passes to a step: "
           "exactly %g and %g",
           passes, want[0], want[1]);
    for (unsigned r = 0; r < RANKS; r++) {
        ssq_trainer_destroy(&trainer[r]);
        ssq_tensor_destroy(&x[r]);
    }
    group_close(&g);
}

int main(void)
{
    const struct join_plan plans[] = {
        {2, {3, 5}, {"reference", "float32", false, false, false, -1}},
        {3, {3, 5, 1}, {"reference", "float32", false, false, false, -1}},
        {3, {3, 5, 1}, {"guard", "mixed_float16", false, true, false, -1}},
        {3, {3, 5, 1}, {"reference", "mixed_bfloat16", true, false, false, -1}},
        {3, {1, 1, 4}, {"guard", "mixed_float16", true, true, false, 2}},
        {2, {3, 5}, {"reference", "mixed_float16", false, false, false, 3}},
        {3, {0, 5, 1}, {"guard", "mixed_float16", false, true, true, -1}},
        {3, {0, 0, 3}, {"reference", "mixed_bfloat16", true, false, true, -1}},
        {2, {5, 3}, {"reference", "mixed_float16", false, false, false, 1}},
    };

    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        test_plan(&plans[i]);
    test_saved(false);
    test_saved(true);
    test_none();
    test_exact(1);
    test_exact(2);
    test_exact(4);
    return tap_done(26);
}
