/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - ranks whose shares of a batch differ, down to none: the steps of
 * one trainer that takes the whole batches, on devices of any mix.
 *
 * usage: share [DEVICE...]   a rank on each; without: all devices */

#include <math.h>
#include <sesqui/checkpoint.h>
#include <sesqui/trainer.h>

#include "tests/comm/comm.h"
#include "tests/comm/scale.h"

enum { ROWS = 48, WIDTH = 12, CLASSES = 5, HIDDEN = 24, STEPS = 20 };

/* ---- batches ---- */

/* Rows of a step: few now and then, as at the end of an epoch. */
static int64_t rows_of(int step)
{
    return step % 7 == 3 ? 2 : step % 7 == 5 ? 29 : ROWS;
}

static void batch(int step, float *x, int32_t *y)
{
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)((i * 31 + i / WIDTH * 17 + step * 13) % 37 - 18) / 16;
    for (int i = 0; i < ROWS; i++) {
        const float *row = x + (size_t)i * WIDTH;
        y[i] = (row[0] > row[1]) + (row[2] > row[3]) * 2;
    }
}

/* ---- a rank, or one alone ---- */

struct share_rank {
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *x, *y;
    double rows;                 /* of the last step */
    float grad[WIDTH * CLASSES]; /* of one layer's weights, as they are used */
    bool deep;                   /* two layers */
};

/* True gradients, in time to be read: for a net of one layer. */
static ssq_status read_grad(void *user, ssq_trainer *trainer,
                            ssq_trainer_place place, ssq_var *var)
{
    struct share_rank *r = user;
    ssq_param_info info = SSQ_PARAM_INFO_INIT;

    (void)var;
    if (place != SSQ_PLACE_BACKWARD_END)
        return SSQ_OK;
    NEED(ssq_trainer_unscale(trainer));
    NEED(ssq_params_get(ssq_trainer_params(trainer), 0, &info));
    return ssq_tensor_read(r->queue, info.grad, r->grad, sizeof(r->grad),
                           SSQ_F32);
}

static void rank_make(struct share_rank *r, ssq_queue *queue, ssq_comm *comm,
                      const double *weights, const char *policy, bool deep)
{
    const int64_t shape[] = {ROWS, WIDTH};
    ssq_trainer_args args = SSQ_TRAINER_INIT;

    args.policy = policy;
    args.optimizer = "sgd";
    args.options.lr = 0.1;
    args.params.float32_gradients = !deep;
    args.comm = comm;
    args.weights = weights;
    args.bucket_bytes = deep ? 1 : 1000;
    *r = (struct share_rank){.queue = queue, .deep = deep};
    NEED(ssq_trainer_create(queue, &args, &r->trainer));
    scale_low(r->trainer);
    if (!deep)
        NEED(ssq_trainer_hook_add(r->trainer, read_grad, r));
    NEED(ssq_tensor_create(ssq_queue_device(queue), SSQ_F32, 2, shape, &r->x));
    r->y = core_vector(ssq_queue_device(queue), SSQ_I32, ROWS);
}

static void rank_free(struct share_rank *r)
{
    ssq_trainer_destroy(&r->trainer);
    ssq_tensor_destroy(&r->x);
    ssq_tensor_destroy(&r->y);
}

static ssq_var net(struct share_rank *r, ssq_tape *t, const ssq_tensor *x)
{
    ssq_var h = ssq_var_input(t, x);

    if (!r->deep)
        return ssq_nn_linear(t, "fc", h, CLASSES, NULL);
    h = ssq_relu_var(ssq_nn_linear(t, "fc1", h, HIDDEN, NULL));
    return ssq_nn_linear(t, "fc2", h, CLASSES, NULL);
}

/* Its rows of a step; the loss is read later. The step's status. */
static ssq_status rank_step(struct share_rank *r, int step, float *loss)
{
    static float x[MOST_RANKS + 1][ROWS * WIDTH];
    static int32_t y[MOST_RANKS + 1][ROWS];
    static unsigned turn;
    int64_t begin, end;
    ssq_tensor *px = NULL, *py = NULL;

    turn = (turn + 1) % (MOST_RANKS + 1);
    NEED(ssq_trainer_share(r->trainer, rows_of(step), &begin, &end));
    *loss = 0;
    r->rows = (double)(end - begin);
    if (begin == end) {
        return ssq_trainer_idle(r->trainer);
    }
    batch(step, x[turn], y[turn]);
    NEED(ssq_tensor_write(r->queue, r->x, x[turn], sizeof(x[turn]), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, r->y, y[turn], sizeof(y[turn]), SSQ_I32));
    NEED(ssq_tensor_slice(r->x, 0, begin, end, 1, &px));
    NEED(ssq_tensor_slice(r->y, 0, begin, end, 1, &py));
    ssq_var l = ssq_cross_entropy_var(net(r, ssq_trainer_begin(r->trainer), px),
                                      SSQ_CROSS_ENTROPY(.target = py));
    if (!r->deep)
        NEED(ssq_tensor_read(r->queue, ssq_var_tensor(l), loss, sizeof(*loss),
                             SSQ_F32));
    ssq_status st = ssq_trainer_step(r->trainer, l);
    ssq_tensor_destroy(&px);
    ssq_tensor_destroy(&py);
    return st;
}

/* The steps of n ranks, driven by this thread; the mean loss of each. */
static void steps(struct share_rank *r, unsigned n, int count, double *loss)
{
    for (int step = 0; step < count; step++) {
        float value[MOST_RANKS];
        double rows = 0;
        for (unsigned i = 0; i < n; i++)
            NEED(rank_step(&r[i], step, &value[i]));
        loss[step] = 0;
        for (unsigned i = 0; i < n; i++) {
            double mean = 0;
            NEED(ssq_queue_sync(r[i].queue));
            if (r[i].deep && r[i].rows > 0)
                NEED(ssq_trainer_loss(r[i].trainer, &mean));
            if (r[i].deep)
                value[i] = (float)mean;
            loss[step] += (double)value[i] * r[i].rows;
            rows += r[i].rows;
        }
        loss[step] /= rows;
    }
}

/* ---- shares ---- */

static void test_rows(unsigned n, const double *weights, int64_t rows,
                      const int64_t *want)
{
    struct group g;
    int64_t begin = -1, end = 0;
    bool good = true;

    group_of(&g, n, "reference", 60);
    for (unsigned i = 0; i < n; i++) {
        ssq_trainer *t = NULL;
        int64_t last = end;
        NEED(ssq_trainer_create(
            g.queue[i], SSQ_TRAINER(.comm = g.comm[i], .weights = weights),
            &t));
        NEED(ssq_trainer_share(t, rows, &begin, &end));
        good = good && begin == last && end == want[i];
        ssq_trainer_destroy(&t);
    }
    tap_ok(good && end == rows, "%lld rows over %u ranks, %s", (long long)rows,
           n, weights == NULL ? "all the same" : "by weights");
    group_close(&g);
}

/* ---- a mixture ---- */

/* A bound of the difference between two orders of the sums of a gradient, with
 * the weights of the first step: x^T (p - y) / rows of at most ROWS terms. An
 * element of p - y is within half of its logits' error, which is gamma of WIDTH
 * + 1 terms of magnitude at most `logits`, and some roundings of exp and the
 * division; then each term is added in at most ROWS + ranks steps. Twice, for
 * both. */
static double bound_of(double logits, double x)
{
    const double u = 0x1p-24;
    return 2 * u * x *
           ((WIDTH + 2) * logits + 16 + 2 * (ROWS + MOST_RANKS) + 8);
}

/* The first step's gradients, and the losses of all, in float32. */
static void test_mixture(const char *const *names, unsigned n,
                         const char *policy, bool deep)
{
    const double weights[MOST_RANKS] = {3, 1.5, 1, 2, 1, 1};
    ssq_device *dev = core_open("reference");
    ssq_queue *queue = core_queue(dev);
    struct group g;
    struct share_rank one, r[MOST_RANKS];
    double want[STEPS], got[STEPS], worst = 0;
    const bool full = strcmp(policy, "float32") == 0;
    bool same = true;

    rank_make(&one, queue, NULL, NULL, policy, deep);
    group_open(&g, n, names, NULL);
    for (unsigned i = 0; i < n; i++)
        rank_make(&r[i], g.queue[i], g.comm[i], weights, policy, deep);
    steps(&one, 1, 1, want);
    steps(r, n, 1, got);
    for (int i = 0; i < WIDTH * CLASSES; i++)
        worst = fmax(worst, fabs((double)r[0].grad[i] - (double)one.grad[i]));
    for (unsigned i = 1; i < n; i++)
        same = same && memcmp(r[i].grad, r[0].grad, sizeof(one.grad)) == 0;
    if (full && !deep) /* |weights| and the bias are below 1/sqrt(WIDTH) */
        tap_ok(worst <= bound_of((WIDTH * 1.125 + 1) / sqrt(WIDTH), 1.125) &&
                   same,
               "%u ranks from %s to %s: the first gradients, %.1e of %.1e off",
               n, names[0], names[n - 1], worst,
               bound_of((WIDTH * 1.125 + 1) / sqrt(WIDTH), 1.125));
    steps(&one, 1, STEPS, want);
    steps(r, n, STEPS, got);
    worst = fabs(got[STEPS - 1] / want[STEPS - 1] - 1);
    tap_ok(worst <= 0.01 && want[STEPS - 1] < want[0],
           "%u ranks from %s to %s, %s, %d layers: loss %.5f behind %d steps, "
           "%.2e off",
           n, names[0], names[n - 1], policy, deep ? 2 : 1, got[STEPS - 1],
           STEPS, worst);
    for (unsigned i = 0; i < n; i++)
        rank_free(&r[i]);
    rank_free(&one);
    group_close(&g);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
}

/* ---- files ---- */

/* A step of two ranks, saved. */
static void save(struct group *g, const double *weights, struct share_rank *r,
                 const char *path)
{
    double loss[1];

    for (unsigned i = 0; i < 2; i++)
        rank_make(&r[i], g->queue[i], g->comm[i], weights, "float32", true);
    steps(r, 2, 1, loss);
    NEED(ssq_trainer_save(r[0].trainer, path));
}

static int64_t begin_of(ssq_trainer *t, const char *path)
{
    int64_t begin, end;

    NEED(ssq_trainer_load(t, path));
    NEED(ssq_trainer_share(t, 8, &begin, &end));
    return begin;
}

/* A load restores the weights, unless others were set or there are fewer ranks.
 * The weights of one file are not used for the next. */
static void test_saved(void)
{
    static const char path[] = "tests/comm/share.sesqui",
                      plain[] = "tests/comm/share_plain.sesqui";
    const double weights[] = {3, 1}, other[] = {1, 3};
    struct group g;
    struct share_rank r[2], equal[2];
    double loss[1];
    int64_t begin[3], next[3];

    group_of(&g, 2, "reference", 60);
    save(&g, weights, r, path);
    save(&g, NULL, equal, plain);
    for (int given = 0; given < 3; given++) {
        ssq_trainer *t = NULL;
        NEED(ssq_trainer_create(
            g.queue[1],
            SSQ_TRAINER(.optimizer = "sgd",
                        .comm = given == 2 ? NULL : g.comm[1],
                        .weights = given == 1 ? other : NULL),
            &t));
        begin[given] = begin_of(t, path);
        next[given] = begin_of(t, plain);
        ssq_trainer_destroy(&t);
    }
    (void)remove(path);
    (void)remove(plain);
    tap_ok(begin[0] == 6 && begin[1] == 2 && begin[2] == 0,
           "weights in a checkpoint: rank 1 of 3:1 begins at row %lld of 8, of "
           "1:3 at %lld, one alone at %lld",
           (long long)begin[0], (long long)begin[1], (long long)begin[2]);
    tap_ok(next[0] == 4 && next[1] == 2 && next[2] == 0,
           "and of one without: at row %lld, %lld, %lld", (long long)next[0],
           (long long)next[1], (long long)next[2]);
    core_status(ssq_trainer_load(r[0].trainer, path), SSQ_ERR_NOT_FOUND, "",
                "a load that finds nothing, by one rank");
    steps(r, 2, 1, loss);
    for (unsigned i = 0; i < 2; i++) {
        core_status(ssq_queue_sync(g.queue[i]), SSQ_OK, NULL,
                    "and the group goes on: rank %u", i);
        rank_free(&r[i]);
        rank_free(&equal[i]);
    }
    group_close(&g);
}

/* ---- a pass that does not count ---- */

/* The second step of two ranks has 2 rows of 3, and 1. If it fails first, then
 * because it creates parameters. */
static void kept_step(struct share_rank *r, bool fails)
{
    ssq_params *params = ssq_trainer_params(r->trainer);
    int64_t begin, end;

    NEED(ssq_trainer_share(r->trainer, 3, &begin, &end));
    if (fails) {
        NEED(ssq_params_allow(params, "late*"));
        ssq_tape *t = ssq_trainer_begin(r->trainer);
        ssq_var x = ssq_var_input(t, r->x), h = net(r, t, r->x);
        h = ssq_add_var(h, ssq_nn_linear(t, "late", x, CLASSES, NULL));
        ssq_status st = ssq_trainer_step(
            r->trainer,
            ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = r->y)));
        core_status(st, SSQ_ERR_INVALID, "late.weight",
                    "a pass that does not count");
        NEED(ssq_params_remove(params, "late*", NULL));
    }
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    NEED(ssq_trainer_step(
        r->trainer, ssq_cross_entropy_var(net(r, t, r->x),
                                          SSQ_CROSS_ENTROPY(.target = r->y))));
}

/* The weight of a pass that does not count is the next one's. */
static void test_kept(void)
{
    float grad[2][WIDTH * CLASSES];
    struct group g;
    struct share_rank r[2];
    double loss[1];

    for (int fails = 0; fails < 2; fails++) {
        group_of(&g, 2, "reference", 60);
        for (unsigned i = 0; i < 2; i++)
            rank_make(&r[i], g.queue[i], g.comm[i], NULL, "float32", false);
        steps(r, 2, 1, loss);
        for (unsigned i = 0; i < 2; i++)
            kept_step(&r[i], fails == 1);
        for (unsigned i = 0; i < 2; i++)
            NEED(ssq_queue_sync(g.queue[i]));
        memcpy(grad[fails], r[0].grad, sizeof(grad[0]));
        for (unsigned i = 0; i < 2; i++)
            rank_free(&r[i]);
        group_close(&g);
    }
    tap_ok(memcmp(grad[0], grad[1], sizeof(grad[0])) == 0,
           "and the next one has its weight: a gradient of %g, want %g",
           (double)grad[1][0], (double)grad[0][0]);
}

/* ---- misuse ---- */

static void test_refused(void)
{
    const double bad[] = {1, NAN}, good[] = {1, 2}, swapped[] = {2, 1};
    struct group g;
    struct share_rank r[2];
    ssq_trainer *t = NULL;
    int64_t begin = 7, end = 7;
    float loss[2];

    group_of(&g, 2, "reference", 60);
    core_status(
        ssq_trainer_create(g.queue[0],
                           SSQ_TRAINER(.comm = g.comm[0], .weights = bad), &t),
        SSQ_ERR_INVALID, "rank 1|nan", "a weight that is none");
    core_status(
        ssq_trainer_create(g.queue[0], SSQ_TRAINER(.weights = good), &t),
        SSQ_ERR_INVALID, "without comm", "weights of one alone");
    NEED(ssq_trainer_create(g.queue[0], NULL, &t));
    core_status(ssq_trainer_idle(t), SSQ_ERR_INVALID, "no comm",
                "idle without comm");
    core_status(ssq_trainer_idle(NULL), SSQ_ERR_INVALID, "NULL",
                "idle of NULL");
    core_status(ssq_trainer_share(t, -1, &begin, &end), SSQ_ERR_INVALID, "-1",
                "-1 rows");
    core_status(ssq_trainer_share(t, 3, &begin, NULL), SSQ_ERR_INVALID,
                "end is NULL", "no end");
    core_status(ssq_trainer_share(NULL, 3, &begin, &end), SSQ_ERR_INVALID,
                "trainer is NULL", "the share of NULL");
    tap_ok(begin == 7 && end == 7, "what is refused writes nothing");
    ssq_trainer_destroy(&t);
    for (unsigned i = 0; i < 2; i++)
        rank_make(&r[i], g.queue[i], g.comm[i], i == 0 ? good : swapped,
                  "float32", true);
    core_status(ssq_trainer_idle(r[0].trainer), SSQ_ERR_INVALID,
                "no step was made yet", "idle before the first step");
    for (unsigned i = 0; i < 2; i++) { /* the second may hear of it already */
        ssq_status st = rank_step(&r[i], 0, &loss[i]);
        if (st != SSQ_ERR_COMM)
            NEED(st);
    }
    core_status(ssq_queue_sync(g.queue[0]), SSQ_ERR_COMM,
                "weights is \"1 2 (|\"2 1 (", "ranks with other weights");
    for (unsigned i = 0; i < 2; i++)
        rank_free(&r[i]);
    group_close(&g);
}

/* ---- which devices ---- */

static unsigned available(const char **names)
{
    static const char *const wanted[] = {"cpu", "guard", "opencl", "vulkan"};
    unsigned n = 1;

    names[0] = "reference";
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        ssq_device *d = NULL;
        if (ssq_device_open(wanted[i], NULL, &d) == SSQ_OK)
            names[n++] = wanted[i];
        else
            tap_skip("not available", "%s in the mixture", wanted[i]);
        ssq_device_close(&d);
    }
    return n;
}

int main(int argc, char **argv)
{
    const char *names[MOST_RANKS];
    const double weights[] = {3, 1, 0.5};
    unsigned n = (unsigned)argc - 1;

    if (argc > 1 + MOST_RANKS)
        return 2;
    for (unsigned i = 0; i < n; i++)
        names[i] = argv[1 + i];
    if (n == 0) {
        n = available(names);
        test_rows(4, NULL, 64, (int64_t[]){16, 32, 48, 64});
        test_rows(3, NULL, 2, (int64_t[]){1, 1, 2});
        test_rows(3, NULL, 0, (int64_t[]){0, 0, 0});
        test_rows(3, weights, 45, (int64_t[]){30, 40, 45});
        test_rows(3, weights, 1, (int64_t[]){1, 1, 1});
        test_saved();
        test_kept();
        test_refused();
    }
    test_mixture(names, n, "float32", false);
    test_mixture(names, n, "float32", true);
    test_mixture(names, n, "mixed_float16", true);
    test_mixture(names, n, "mixed_bfloat16", true);
    return tap_done(5);
}
