/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm_train.c - nets with batch norm over ranks: the training of one
 * process that takes whole batches; and what ranks may not do. */

#include <math.h>
#include <sesqui/trainer.h>

#include "tests/comm/comm.h"
#include "tests/comm/scale.h"

enum { ROWS = 16, CHANNELS = 2, SIDE = 6, CLASSES = 3, STEPS = 10 };
#define PIXELS (CHANNELS * SIDE * SIDE)

/* ---- a net ---- */

struct batch_norm_train_rank {
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *x, *y;
    ssq_comm *norm; /* of the batch norms */
    ssq_tape *tape;
    bool recompute; /* the first block is made twice */
    double rows;    /* of the last step */
};

static void rank_make(struct batch_norm_train_rank *r, ssq_queue *queue,
                      const ssq_trainer_args *args, ssq_comm *norm)
{
    const int64_t shape[] = {ROWS, CHANNELS, SIDE, SIDE};

    *r = (struct batch_norm_train_rank){.queue = queue, .norm = norm};
    NEED(ssq_trainer_create(queue, args, &r->trainer));
    scale_low(r->trainer);
    NEED(ssq_tensor_create(ssq_queue_device(queue), SSQ_F32, 4, shape, &r->x));
    r->y = core_vector(ssq_queue_device(queue), SSQ_I32, ROWS);
}

static void rank_free(struct batch_norm_train_rank *r)
{
    ssq_trainer_destroy(&r->trainer);
    ssq_tensor_destroy(&r->x);
    ssq_tensor_destroy(&r->y);
}

static ssq_var block(struct batch_norm_train_rank *r, ssq_tape *t,
                     const char *conv, const char *norm, ssq_var h)
{
    h = ssq_nn_conv2d(t, conv, h, 9, 3, 3,
                      SSQ_NN_CONV2D(.padding = {1, 1, 1, 1}));
    h = ssq_nn_batch_norm(t, norm, h, SSQ_BATCH_NORM(.comm = r->norm));
    return ssq_relu_var(h);
}

static ssq_var net(struct batch_norm_train_rank *r, ssq_tape *t,
                   const ssq_tensor *x)
{
    const int64_t flat[] = {ssq_tensor_size(x, 0), 9};
    ssq_var h = ssq_var_input(t, x);

    if (r->recompute)
        ssq_tape_recompute_push(t);
    h = block(r, t, "conv1", "norm1", h);
    if (r->recompute)
        h = ssq_tape_recompute_pop(t, h);
    h = ssq_global_avg_pool2d_var(block(r, t, "conv2", "norm2", h), NULL);
    return ssq_nn_linear(t, "fc", ssq_var_reshape(h, 2, flat), CLASSES, NULL);
}

/* Rows that are brighter one after the other, so that parts of a batch have
 * other statistics than the whole. */
static void feed(struct batch_norm_train_rank *r, int step)
{
    static float x[STEPS][ROWS * PIXELS];
    static int32_t y[STEPS][ROWS];
    static bool made[STEPS]; /* once: other ranks' queues may still read them */

    for (int i = 0; i < ROWS * PIXELS && !made[step]; i++) {
        int row = i / PIXELS;
        x[step][i] = (float)((i * 29 + row * 17 + step * 13) % 41 - 20) / 16 +
                     (float)row / 4;
        y[step][row] = (row + step) % CLASSES;
    }
    made[step] = true;
    NEED(ssq_tensor_write(r->queue, r->x, x[step], sizeof(x[step]), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, r->y, y[step], sizeof(y[step]), SSQ_I32));
}

/* The loss of its rows of a step, of which it takes `from` to `to`. */
static ssq_var loss_of(struct batch_norm_train_rank *r, ssq_tape *t,
                       int64_t from, int64_t to)
{
    ssq_tensor *x = NULL, *y = NULL;

    NEED(ssq_tensor_slice(r->x, 0, from, to, 1, &x));
    NEED(ssq_tensor_slice(r->y, 0, from, to, 1, &y));
    ssq_var l =
        ssq_cross_entropy_var(net(r, t, x), SSQ_CROSS_ENTROPY(.target = y));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    return l;
}

/* Rows of a step: now and then fewer than ranks. */
static int64_t rows_of(int step)
{
    return step % 4 == 2 ? 1 : ROWS;
}

/* A rank without rows takes a pass over none of them where the batch norms are
 * of all ranks, and else idles. */
static void rank_step(struct batch_norm_train_rank *r, int step)
{
    int64_t begin, end;

    NEED(ssq_trainer_share(r->trainer, rows_of(step), &begin, &end));
    r->rows = (double)(end - begin);
    if (begin == end && r->norm == NULL) {
        NEED(ssq_trainer_idle(r->trainer));
        return;
    }
    feed(r, step);
    r->tape = ssq_trainer_begin(r->trainer);
    NEED(ssq_trainer_step(r->trainer, loss_of(r, r->tape, begin, end)));
}

/* ---- what came of it ---- */

enum { VALUES = 2048 };

struct batch_norm_train_outcome {
    double loss[STEPS];
    size_t n;
    float values[VALUES]; /* parameters and running statistics */
    float statistic;      /* one of them, which is a running mean */
    uint64_t replayed;    /* passes of the first rank */
};

static void read_values(struct batch_norm_train_rank *r,
                        struct batch_norm_train_outcome *o)
{
    ssq_tape_stats stats = SSQ_TAPE_STATS_INIT;

    NEED(ssq_tape_stats_get(r->tape, &stats));
    o->replayed = stats.replayed;
    o->n = 0;
    for (size_t i = 0; i < ssq_params_count(ssq_trainer_params(r->trainer));
         i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(ssq_trainer_params(r->trainer), i, &info));
        size_t n = (size_t)ssq_tensor_elements(info.tensor);
        if (o->n + n > VALUES)
            tap_bail("%zu values", o->n + n);
        NEED(ssq_tensor_read(r->queue, info.tensor, o->values + o->n,
                             n * sizeof(float), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        if (strcmp(info.name, "norm1.running_mean") == 0)
            o->statistic = o->values[o->n];
        o->n += n;
    }
}

/* The steps of n ranks, driven by this thread; losses weighed by their rows. */
static void steps(struct batch_norm_train_rank *r, unsigned n,
                  struct batch_norm_train_outcome *o)
{
    unsigned empty = 0, want = 0;

    for (int step = 0; step < STEPS; step++) {
        double loss = 0;
        for (unsigned i = 0; i < n; i++)
            rank_step(&r[i], step);
        o->loss[step] = 0;
        for (unsigned i = 0; i < n; i++) {
            NEED(ssq_trainer_loss(r[i].trainer, &loss));
            if (r[i].rows > 0)
                o->loss[step] += loss * r[i].rows / (double)rows_of(step);
            empty += r[i].rows == 0 && isnan(loss);
        }
        want += rows_of(step) == 1 ? n - 1 : 0;
    }
    if (empty != want)
        tap_bail("%u passes of no rows are in no loss, of %u", empty, want);
}

static void alone(const char *device, const char *policy,
                  struct batch_norm_train_outcome *o)
{
    ssq_device *dev = core_open(device);
    ssq_queue *queue = core_queue(dev);
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    struct batch_norm_train_rank r;

    args.policy = policy;
    args.optimizer = "sgd";
    args.options.lr = 0.05;
    rank_make(&r, queue, &args, NULL);
    steps(&r, 1, o);
    read_values(&r, o);
    rank_free(&r);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
}

/* How a group goes about it. */
struct batch_norm_train_how {
    const char *policy;
    bool sync, replay, recompute, shard;
};

/* @return whether all ranks came to the same values */
static bool together(const char *const *names, unsigned n,
                     const struct batch_norm_train_how *how,
                     struct batch_norm_train_outcome *o)
{
    static const double weights[] = {5, 3, 4, 2, 1, 1};
    static struct batch_norm_train_outcome other;
    struct group g;
    struct batch_norm_train_rank r[MOST_RANKS];
    bool same = true;

    group_open(&g, n, names, NULL);
    for (unsigned i = 0; i < n; i++) {
        ssq_trainer_args args = SSQ_TRAINER_INIT;
        args.policy = how->policy;
        args.optimizer = "sgd";
        args.options.lr = 0.05;
        args.comm = g.comm[i];
        args.weights = weights;
        args.replay = how->replay;
        args.shard = how->shard;
        rank_make(&r[i], g.queue[i], &args, how->sync ? g.comm[i] : NULL);
        r[i].recompute = how->recompute;
    }
    steps(r, n, o);
    for (unsigned i = 0; i < n; i++) {
        read_values(&r[i], i == 0 ? o : &other);
        same = same && (i == 0 || memcmp(o->values, other.values,
                                         o->n * sizeof(float)) == 0);
        rank_free(&r[i]);
    }
    group_close(&g);
    return same;
}

static double loss_apart(const struct batch_norm_train_outcome *a,
                         const struct batch_norm_train_outcome *b)
{
    double worst = 0;

    for (int i = 0; i < STEPS; i++)
        worst = fmax(worst, fabs(a->loss[i] / b->loss[i] - 1));
    return isnan(b->loss[STEPS - 1]) ? (double)INFINITY : worst;
}

static double values_apart(const struct batch_norm_train_outcome *a,
                           const struct batch_norm_train_outcome *b)
{
    double worst = 0;

    for (size_t i = 0; i < a->n; i++)
        worst = fmax(worst, fabs((double)a->values[i] - (double)b->values[i]));
    return worst;
}

/* Losses and values follow those of one; without the communicator they do
 * not, as running statistics show. */
static void test_follows(const char *const *names, unsigned n,
                         const char *policy, double most)
{
    static struct batch_norm_train_outcome one, all, apart;
    const struct batch_norm_train_how how = {.policy = policy, .sync = true};
    const struct batch_norm_train_how without = {.policy = policy};

    alone(names[0], policy, &one);
    bool same = together(names, n, &how, &all);
    (void)together(names, n, &without, &apart);
    double statistic = fabs((double)all.statistic - (double)one.statistic);
    double otherwise = fabs((double)apart.statistic - (double)one.statistic);
    tap_ok(same && loss_apart(&all, &one) < most &&
               values_apart(&all, &one) < 4 * most && statistic < most &&
               otherwise > 4 * most,
           "%s, %u ranks from %s to %s: losses within %.2g of one's, values "
           "%.2g, statistics %.2g, alone %.2g%s",
           policy, n, names[0], names[n - 1], loss_apart(&all, &one),
           values_apart(&all, &one), statistic, otherwise,
           same ? "" : ", NOT THE SAME BITS ON ALL RANKS");
}

/* Graphs, regions that are made twice, and shards change no bit. */
static void test_ways(const char *name)
{
    static struct batch_norm_train_outcome plain, other;
    const char *const names[] = {name, name};
    struct batch_norm_train_how how = {.policy = "mixed_bfloat16",
                                       .sync = true};
    static const char *const what[] = {"replayed", "recomputed",
                                       "in shards, replayed"};

    (void)together(names, 2, &how, &plain);
    for (int i = 0; i < 3; i++) {
        how.replay = i != 1;
        how.recompute = i == 1;
        how.shard = i == 2;
        bool same = together(names, 2, &how, &other);
        tap_ok(same && plain.n == other.n &&
                   memcmp(plain.values, other.values,
                          plain.n * sizeof(float)) == 0 &&
                   (other.replayed >= STEPS / 2) == how.replay,
               "%s, 2 ranks, %s: the same bits, %d passes as graphs", name,
               what[i], (int)other.replayed);
    }
}

/* ---- what ranks may not do ---- */

/* A rank without rows, where others have batch norms over ranks. */
static void test_idle(void)
{
    struct group g;
    struct batch_norm_train_rank r[2];

    group_of(&g, 2, "reference", 60);
    for (unsigned i = 0; i < 2; i++) {
        ssq_trainer_args args = SSQ_TRAINER_INIT;
        args.comm = g.comm[i];
        rank_make(&r[i], g.queue[i], &args, g.comm[i]);
        rank_step(&r[i], 0);
    }
    rank_step(&r[0], 1);
    /* the other rank's thread may find the difference before this returns */
    ssq_status st = ssq_trainer_idle(r[1].trainer);
    tap_ok(st == SSQ_OK || st == SSQ_ERR_COMM, "the call that differs: %s",
           ssq_status_name(st));
    for (unsigned i = 0; i < 2; i++)
        core_status(
            ssq_queue_sync(g.queue[i]), SSQ_ERR_COMM,
            "rank 0 calls all_gather|\"batch_norm eps|rank 1 all_reduce|"
            "\"gradients\"",
            "a rank that idles: rank %u", i);
    for (unsigned i = 0; i < 2; i++)
        rank_free(&r[i]);
    group_close(&g);
}

/* No one else is called by an evaluation, nor by the question whether a
 * backward would run. */
static void test_tape(void)
{
    struct group g;
    struct batch_norm_train_rank r;
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    group_of(&g, 2, "reference", 60);
    rank_make(&r, g.queue[0], &args, g.comm[0]);
    feed(&r, 0);
    NEED(ssq_params_allow(ssq_trainer_params(r.trainer), "*"));
    ssq_tape *t = ssq_trainer_evaluate(r.trainer);
    (void)loss_of(&r, t, 0, 3);
    NEED(ssq_tape_status(t));
    core_status(ssq_queue_sync(g.queue[0]), SSQ_OK, NULL,
                "an evaluation calls no other rank");
    t = ssq_trainer_begin(r.trainer);
    core_status(ssq_tape_check(t, loss_of(&r, t, 0, 3)), SSQ_OK, NULL,
                "nor does a check");
    ssq_var h = block(&r, t, "conv1", "norm1", ssq_var_input(t, r.x)), grad;
    ssq_var w = ssq_var_named(t, "conv1.weight");
    ssq_var l = ssq_mean_var(ssq_square_var(h), NULL);
    ssq_tape_grad(t, l, &w, 1, SSQ_TAPE_GRAD(.create_graph = true), &grad);
    core_status(ssq_tape_status(t), SSQ_ERR_UNSUPPORTED,
                "batch_norm|over ranks have no second derivative",
                "a gradient that has one itself");
    rank_free(&r);
    group_close(&g);
}

/* ---- single calls ---- */

struct batch_norm_train_call {
    struct group g;
    ssq_tensor *x, *y, *mean, *rstd;
    ssq_batch_norm_args f;
    ssq_batch_norm_backward_args k;
};

static void call_make(struct batch_norm_train_call *c)
{
    const int64_t shape[] = {4, 3};

    group_of(&c->g, 2, "reference", 60);
    NEED(ssq_tensor_create(c->g.dev[0], SSQ_F32, 2, shape, &c->x));
    NEED(ssq_tensor_create(c->g.dev[0], SSQ_F32, 2, shape, &c->y));
    NEED(ssq_fill(c->g.queue[0], SSQ_FILL(.x = c->x, .value = 1)));
    c->mean = group_vector(&c->g, 0, 3, 0);
    c->rstd = group_vector(&c->g, 0, 3, 1);
    c->f = *SSQ_BATCH_NORM(.x = c->x, .y = c->y, .mean = c->mean,
                           .rstd = c->rstd, .comm = c->g.comm[0]);
    c->k = *SSQ_BATCH_NORM_BACKWARD(.x = c->x, .dy = c->x, .dx = c->y,
                                    .mean = c->mean, .rstd = c->rstd,
                                    .comm = c->g.comm[0]);
}

static void call_free(struct batch_norm_train_call *c)
{
    ssq_tensor_destroy(&c->x);
    ssq_tensor_destroy(&c->y);
    ssq_tensor_destroy(&c->mean);
    ssq_tensor_destroy(&c->rstd);
    group_close(&c->g);
}

/* None of it is a call of the group. */
static void test_refused(void)
{
    struct batch_norm_train_call c;
    ssq_graph *graph = NULL;

    call_make(&c);
    ssq_queue *queue = c.g.queue[0];
    ssq_tensor *dbeta = group_vector(&c.g, 0, 3, 0);
    NEED(ssq_batch_norm_backward(
        queue, SSQ_BATCH_NORM_BACKWARD(.x = c.x, .dy = c.x, .dbeta = dbeta,
                                       .mean = c.mean, .rstd = c.rstd,
                                       .comm = c.g.comm[0])));
    tap_ok(first_of(&c.g, 0, dbeta) == 4, "dbeta alone calls nobody");
    ssq_tensor_destroy(&dbeta);
    NEED(ssq_graph_begin(queue));
    core_status(ssq_batch_norm(queue, &c.f), SSQ_ERR_INVALID,
                "batch_norm|captured|collective", "forward in a capture");
    core_status(ssq_batch_norm_backward(queue, &c.k), SSQ_ERR_INVALID,
                "batch_norm_backward|captured", "backward in a capture");
    NEED(ssq_graph_end(queue, &graph));
    tap_ok(ssq_graph_ops(graph) == 0, "nothing of them is in the graph");
    ssq_graph_destroy(&graph);
    c.k.mean = c.k.rstd = NULL;
    core_status(ssq_batch_norm_backward(queue, &c.k), SSQ_ERR_INVALID,
                "mean and rstd are NULL|comm", "backward without statistics");
    c.f.comm = c.g.comm[1];
    core_status(ssq_batch_norm(queue, &c.f), SSQ_ERR_INVALID,
                "batch_norm: rank 1 of comm is on another device|the queue, on",
                "the communicator of another device");
    NEED(ssq_comm_barrier(queue, c.g.comm[0], NULL));
    NEED(ssq_comm_barrier(c.g.queue[1], c.g.comm[1], NULL));
    core_status(ssq_queue_sync(queue), SSQ_OK, NULL,
                "what was refused has called nobody");
    call_free(&c);
}

/* left: the other rank is gone; else it calls something else. */
static void test_other(bool left)
{
    const char *parts = left
                            ? "rank 1 was destroyed"
                            : "rank 0 calls all_gather|\"batch_norm eps|rank 1 "
                              "barrier|\"epoch\"";
    struct batch_norm_train_call c;

    call_make(&c);
    if (left)
        ssq_comm_destroy(&c.g.comm[1]);
    else
        NEED(ssq_comm_barrier(c.g.queue[1], c.g.comm[1], "epoch"));
    ssq_status st = ssq_batch_norm(c.g.queue[0], &c.f);
    if (st == SSQ_OK)
        st = ssq_queue_sync(c.g.queue[0]);
    core_status(st, SSQ_ERR_COMM, parts, "another rank %s",
                left ? "has left" : "calls something else");
    core_status(ssq_batch_norm_backward(c.g.queue[0], &c.k), SSQ_ERR_COMM,
                parts, "a call behind that");
    call_free(&c);
}

/* With another eps or momentum the ranks' results would differ. */
static void test_options(double eps, double other_eps, double momentum,
                         double other_momentum, const char *parts)
{
    const int64_t shape[] = {4, 3};
    ssq_tensor *x = NULL, *y = NULL;
    struct batch_norm_train_call c;

    call_make(&c);
    NEED(ssq_tensor_create(c.g.dev[1], SSQ_F32, 2, shape, &x));
    NEED(ssq_tensor_create(c.g.dev[1], SSQ_F32, 2, shape, &y));
    c.f.eps = eps;
    c.f.momentum = momentum;
    NEED(ssq_batch_norm(c.g.queue[1],
                        SSQ_BATCH_NORM(.x = x, .y = y, .eps = other_eps,
                                       .momentum = other_momentum,
                                       .comm = c.g.comm[1])));
    ssq_status st = ssq_batch_norm(c.g.queue[0], &c.f);
    if (st == SSQ_OK)
        st = ssq_queue_sync(c.g.queue[0]);
    core_status(st, SSQ_ERR_COMM, parts,
                "eps %g and %g, momentum %g and %g are told apart", eps,
                other_eps, momentum, other_momentum);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    call_free(&c);
}

/* One value per channel of all that there are. */
static void test_one_value(void)
{
    struct group g;
    const int64_t shape[] = {1, 4};
    ssq_tensor *x = NULL;

    group_of(&g, 1, "reference", 60);
    NEED(ssq_tensor_create(g.dev[0], SSQ_F32, 2, shape, &x));
    core_status(ssq_batch_norm(g.queue[0], SSQ_BATCH_NORM(.x = x, .y = x,
                                                          .comm = g.comm[0])),
                SSQ_ERR_INVALID, "1 value per channel",
                "one value in a group of one");
    ssq_tensor_destroy(&x);
    group_close(&g);
}

int main(void)
{
    static const char *const twice[] = {"reference", "reference", "reference"};
    const char *names[CORE_MOST];
    const size_t n = core_devices(names);
    const unsigned all = n < 3 ? (unsigned)n : 3;

    test_follows(twice, 2, "float32", 1e-4);
    test_follows(twice, 3, "mixed_bfloat16", 0.02);
    test_follows(names + n - all, all, "mixed_float16", 0.02);
    for (size_t i = 0; i < n; i++)
        test_ways(names[i]);
    test_idle();
    test_tape();
    test_refused();
    test_other(false);
    test_other(true);
    test_options(1e-5, 1e-3, 0.1, 0.1,
                 "batch_norm eps 1e-05 mom 0.1|batch_norm eps 0.001 mom 0.1");
    test_options(1.234e-5, 1.234e-5, 0.001234, 0.001235,
                 "norm 1.234e-05 0.001234|norm 1.234e-05 0.001235");
    test_one_value();
    return tap_done((long)n * 3 + 20);
}
