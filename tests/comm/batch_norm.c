/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - batch norm over ranks: the result of one process for the whole
 * batch, within the bounds, and the same bits on every rank. */

#include "tests/comm/batch_norm.h"

/* ---- a rank's part ---- */

/* The final results. */
struct values {
    float y[MOST], dx[MOST];
    float mean[CHANNELS], rstd[CHANNELS];
    float running_mean[CHANNELS], running_var[CHANNELS];
    float dgamma[CHANNELS], dbeta[CHANNELS];
};

/* Rows from..from + rows of a batch. */
struct batch_norm_part {
    ssq_queue *queue;
    int64_t from, rows;
    ssq_tensor *x, *dy, *y, *dx;
    ssq_tensor *gamma, *beta, *mean, *rstd, *running_mean, *running_var;
    ssq_tensor *dgamma, *dbeta;
};

static ssq_tensor *image(const struct batch_norm_part *p, const struct batch *b)
{
    int64_t shape[] = {p->rows, CHANNELS, PLACES};
    ssq_tensor *x = NULL;

    if (b->last) {
        shape[1] = PLACES;
        shape[2] = CHANNELS;
    }
    NEED(ssq_tensor_create(ssq_queue_device(p->queue), b->dtype, 3, shape, &x));
    return x;
}

static ssq_tensor *vector(const struct batch_norm_part *p, const float *values)
{
    ssq_tensor *x = core_vector(ssq_queue_device(p->queue), SSQ_F32, CHANNELS);

    if (values != NULL)
        NEED(ssq_tensor_write(p->queue, x, values, CHANNELS * sizeof(float),
                              SSQ_F32));
    else
        NEED(ssq_fill(p->queue, SSQ_FILL(.x = x, .value = 0.5)));
    return x;
}

static void part_make(struct batch_norm_part *p, ssq_queue *queue,
                      const struct batch *b, int64_t from, int64_t rows)
{
    const size_t at = (size_t)(from * batch_row());
    const size_t bytes = (size_t)(rows * batch_row()) * sizeof(float);

    *p = (struct batch_norm_part){.queue = queue, .from = from, .rows = rows};
    p->x = image(p, b);
    p->y = image(p, b);
    p->dy = image(p, b);
    p->dx = image(p, b);
    NEED(ssq_tensor_write(queue, p->x, b->x + at, bytes, SSQ_F32));
    NEED(ssq_tensor_write(queue, p->dy, b->dy + at, bytes, SSQ_F32));
    p->gamma = vector(p, b->gamma);
    p->beta = vector(p, b->beta);
    p->running_mean = vector(p, NULL);
    p->running_var = vector(p, NULL);
    p->mean = vector(p, NULL);
    p->rstd = vector(p, NULL);
    p->dgamma = vector(p, NULL);
    p->dbeta = vector(p, NULL);
}

static void part_free(struct batch_norm_part *p)
{
    ssq_tensor **all[] = {&p->x,     &p->dy,          &p->y,
                          &p->dx,    &p->gamma,       &p->beta,
                          &p->mean,  &p->rstd,        &p->running_mean,
                          &p->dbeta, &p->running_var, &p->dgamma};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
}

static ssq_batch_norm_args forward_args(const struct batch_norm_part *p,
                                        const struct batch *b, ssq_comm *comm)
{
    ssq_batch_norm_args a = SSQ_BATCH_NORM_INIT;

    a.x = p->x;
    a.y = p->y;
    a.gamma = p->gamma;
    a.beta = p->beta;
    a.running_mean = p->running_mean;
    a.running_var = p->running_var;
    a.mean = p->mean;
    a.rstd = p->rstd;
    a.axis = b->last ? -1 : 1;
    a.momentum = (double)MOMENTUM;
    a.eps = (double)EPS;
    a.comm = comm;
    return a;
}

static ssq_batch_norm_backward_args
backward_args(const struct batch_norm_part *p, const struct batch *b,
              ssq_comm *comm)
{
    ssq_batch_norm_backward_args a = SSQ_BATCH_NORM_BACKWARD_INIT;

    a.x = p->x;
    a.gamma = p->gamma;
    a.mean = p->mean;
    a.rstd = p->rstd;
    a.dy = p->dy;
    a.dx = p->dx;
    a.dgamma = p->dgamma;
    a.dbeta = p->dbeta;
    a.axis = b->last ? -1 : 1;
    a.eps = (double)EPS;
    a.comm = comm;
    return a;
}

static void part_run(const struct batch_norm_part *p, const struct batch *b,
                     ssq_comm *comm)
{
    const ssq_batch_norm_args f = forward_args(p, b, comm);
    const ssq_batch_norm_backward_args g = backward_args(p, b, comm);

    NEED(ssq_batch_norm(p->queue, &f));
    NEED(ssq_batch_norm_backward(p->queue, &g));
}

static void read_one(const struct batch_norm_part *p, const ssq_tensor *x,
                     float *values)
{
    NEED(ssq_tensor_read(p->queue, x, values,
                         (size_t)ssq_tensor_elements(x) * sizeof(float),
                         SSQ_F32));
}

/* Rows go where they are in the batch. */
static void part_read(const struct batch_norm_part *p, struct values *v)
{
    const int64_t at = p->from * batch_row();

    read_one(p, p->y, v->y + at);
    read_one(p, p->dx, v->dx + at);
    read_one(p, p->mean, v->mean);
    read_one(p, p->rstd, v->rstd);
    read_one(p, p->running_mean, v->running_mean);
    read_one(p, p->running_var, v->running_var);
    read_one(p, p->dgamma, v->dgamma);
    read_one(p, p->dbeta, v->dbeta);
    NEED(ssq_queue_sync(p->queue));
}

/* ---- all ranks, and one alone ---- */

static void batch_alone(const char *device, const struct batch *b,
                        struct values *v)
{
    ssq_device *dev = core_open(device);
    ssq_queue *queue = core_queue(dev);
    struct batch_norm_part p;

    part_make(&p, queue, b, 0, b->all);
    part_run(&p, b, NULL);
    part_read(&p, v);
    part_free(&p);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
}

/* y and dx of all in v[0], as the rows are; statistics and sums in each. */
static void batch_ranks(const char *const *names, const struct batch *b,
                        struct values *v)
{
    struct group g;
    struct batch_norm_part p[MOST_RANKS];
    int64_t from = 0;

    group_open(&g, b->n, names, NULL);
    for (unsigned r = 0; r < b->n; r++) {
        part_make(&p[r], g.queue[r], b, from, b->rows[r]);
        from += b->rows[r];
    }
    for (unsigned r = 0; r < b->n; r++)
        part_run(&p[r], b, g.comm[r]);
    for (unsigned r = 0; r < b->n; r++) {
        const size_t at = (size_t)(p[r].from * batch_row());
        const size_t bytes = (size_t)(p[r].rows * batch_row()) * sizeof(float);
        part_read(&p[r], &v[r]);
        memmove(v[0].y + at, v[r].y + at, bytes);
        memmove(v[0].dx + at, v[r].dx + at, bytes);
        part_free(&p[r]);
    }
    group_close(&g);
}

/* ---- how far off ---- */

/* The worst error as a part of the bound. */
struct batch_norm_worst {
    double y, dx, mean, rstd, running, sums;
};

static void more(double *worst, double got, double want, double error)
{
    double part = fabs(got - want) / error;

    if (!(part <= *worst)) /* a NaN is the worst */
        *worst = part;
}

static void compare_statistics(const struct batch *b, const struct truth *t,
                               const struct values *v,
                               struct batch_norm_worst *w)
{
    for (int k = 0; k < CHANNELS; k++) {
        const struct norm_facts *f = &t->c[k].f;
        double n = f->n / (f->n - 1.0), kept = 0.5 * (1.0 - (double)MOMENTUM);
        double m = (double)MOMENTUM;
        more(&w->mean, (double)v->mean[k], f->mean, f->mean_error);
        more(&w->rstd, (double)v->rstd[k], f->rstd, f->rstd * f->rstd_error);
        more(&w->running, (double)v->running_mean[k], kept + m * f->mean,
             bound_running(kept, m, f->mean, f->mean_error));
        more(&w->running, (double)v->running_var[k], kept + m * f->var * n,
             bound_running(kept, m, f->var * n, f->var_error * n));
    }
    (void)b;
}

/* dgamma and dbeta of the whole are the ranks' together. */
static void compare_sums(const struct batch *b, const struct truth *t,
                         const struct values *v, struct batch_norm_worst *w)
{
    for (int k = 0; k < CHANNELS; k++) {
        const struct channel *c = &t->c[k];
        double dgamma = 0, dbeta = 0;
        for (unsigned r = 0; r < b->n; r++) {
            dgamma += (double)v[r].dgamma[k];
            dbeta += (double)v[r].dbeta[k];
        }
        more(&w->sums, dgamma, c->dgamma,
             bound_normalised_sums(c->r.most, c->abs_dgamma, c->dgamma_error));
        more(&w->sums, dbeta, c->dbeta,
             bound_normalised_sums(c->r.most, c->abs_dbeta, 0));
    }
}

static void compare_elements(const struct batch *b, const struct truth *t,
                             const struct values *v, struct batch_norm_worst *w)
{
    for (size_t i = 0; i < (size_t)(b->all * batch_row()); i++) {
        double error, want = truth_y(b, t, i, &error);
        more(&w->y, (double)v->y[i], want, error);
        want = truth_dx(b, t, i, &error);
        more(&w->dx, (double)v->dx[i], want, error);
    }
}

/* One process is as near to the truth by its own bound, so that the two are
 * within the sum of both. */
static void compare_alone(const struct batch *b, const struct truth *t,
                          const struct values *v, const struct values *alone,
                          struct batch_norm_worst *w)
{
    static struct truth one;
    double e, f;

    truth_statistics(b, &one, false);
    truth_averages(b, &one);
    for (size_t i = 0; i < (size_t)(b->all * batch_row()); i++) {
        (void)truth_y(b, t, i, &e);
        (void)truth_y(b, &one, i, &f);
        more(&w->y, (double)v->y[i], (double)alone->y[i], e + f);
        (void)truth_dx(b, t, i, &e);
        (void)truth_dx(b, &one, i, &f);
        more(&w->dx, (double)v->dx[i], (double)alone->dx[i], e + f);
    }
    for (int k = 0; k < CHANNELS; k++)
        more(&w->mean, (double)v->mean[k], (double)alone->mean[k],
             t->c[k].f.mean_error + one.c[k].f.mean_error);
}

static bool same_bits(const struct values *a, const struct values *b)
{
    return memcmp(a->mean, b->mean, sizeof(a->mean)) == 0 &&
           memcmp(a->rstd, b->rstd, sizeof(a->rstd)) == 0 &&
           memcmp(a->running_mean, b->running_mean, sizeof(a->mean)) == 0 &&
           memcmp(a->running_var, b->running_var, sizeof(a->mean)) == 0;
}

static void test_whole(const char *const *names, struct batch *b)
{
    static struct values v[MOST_RANKS], again[MOST_RANKS], alone;
    static struct truth t;
    struct batch_norm_worst w = {0};
    bool same = true, twice = true;

    batch_make(b);
    batch_ranks(names, b, v);
    batch_ranks(names, b, again);
    batch_alone(names[0], b, &alone);
    truth_statistics(b, &t, true);
    truth_averages(b, &t);
    compare_statistics(b, &t, &v[0], &w);
    compare_sums(b, &t, v, &w);
    compare_elements(b, &t, &v[0], &w);
    compare_alone(b, &t, &v[0], &alone, &w);
    for (unsigned r = 0; r < b->n; r++) {
        const size_t n = (size_t)(b->all * batch_row()) * sizeof(float);
        same = same && same_bits(&v[0], &v[r]);
        twice = twice && same_bits(&v[r], &again[r]) &&
                memcmp(v[0].y, again[0].y, n) == 0 &&
                memcmp(v[0].dx, again[0].dx, n) == 0;
    }
    double all = fmax(fmax(fmax(w.y, w.dx), fmax(w.mean, w.rstd)),
                      fmax(w.running, w.sums));
    tap_ok(all <= 1 && same && twice,
           "%s to %s, rows %d %d %d, %s%s%s%s: the whole batch's, %.3f of the "
           "bound%s%s",
           names[0], names[b->n - 1], (int)b->rows[0], (int)b->rows[1],
           b->n > 2 ? (int)b->rows[2] : 0, ssq_dtype_name(b->dtype),
           b->last ? ", channels last" : "",
           b->far      ? ", far from 0"
           : b->nearly ? ", nearly one number"
                       : "",
           b->mixed ? ", means that differ" : "", all,
           same ? "" : ", NOT THE SAME BITS ON ALL RANKS",
           twice ? "" : ", OTHER BITS THE SECOND TIME");
    if (!(all <= 1))
        tap_diag("y %g, dx %g, mean %g, rstd %g, running %g, sums %g", w.y,
                 w.dx, w.mean, w.rstd, w.running, w.sums);
}

static void test_device(const char *name)
{
    static struct batch b;
    const char *const names[] = {name, name, name};
    static const int64_t rows[][3] = {{5, 3, 0}, {2, 7, 4}, {6, 0, 3}};

    for (unsigned i = 0; i < 12; i++) {
        b = (struct batch){.n = i % 3 == 0 ? 2 : 3,
                           .dtype = (ssq_dtype)(SSQ_F32 + i / 2 % 3),
                           .last = i / 6 == 1,
                           .far = i % 4 == 1,
                           .mixed = i % 2 == 0};
        memcpy(b.rows, rows[i % 3], sizeof(rows[0]));
        test_whole(names, &b);
    }
}

/* The ranks' means differ by less than a unit of their last place, which is as
 * much as the numbers' deviation. */
static void test_nearly(const char *name)
{
    static struct batch b;
    const char *const names[] = {name, name, name};

    b = (struct batch){
        .n = 3, .rows = {2, 7, 4}, .dtype = SSQ_F32, .nearly = true};
    test_whole(names, &b);
}

/* Every device finds its own statistics, and all join the same ones. */
static void test_mixture(const char *const *names, unsigned n)
{
    static struct batch b;

    b = (struct batch){.n = n, .dtype = SSQ_F32, .mixed = true};
    for (unsigned r = 0; r < n; r++)
        b.rows[r] = 3 + r % 2;
    test_whole(names, &b);
}

/* ---- what is special ---- */

/* One rank is not a group: the bits of no communicator, and of no other rank.
 */
static void test_single(const char *name)
{
    static struct values v, alone;
    static struct batch b;
    const char *const names[] = {name};

    b = (struct batch){.n = 1, .rows = {4}, .dtype = SSQ_F16};
    batch_make(&b);
    batch_ranks(names, &b, &v);
    batch_alone(name, &b, &alone);
    tap_ok(memcmp(&v, &alone, sizeof(v)) == 0,
           "%s: a group of one has the bits of no group", name);
}

/* On rank 1 alone, in channel 3. */
static void test_nan(const char *name)
{
    static struct values v[3];
    static struct batch b;
    const char *const names[] = {name, name, name};
    size_t wrong = 0;

    b = (struct batch){.n = 3, .rows = {2, 2, 2}, .dtype = SSQ_F32};
    batch_make(&b);
    b.x[2 * batch_row() + 3 * PLACES + 1] = NAN;
    batch_ranks(names, &b, v);
    for (size_t i = 0; i < (size_t)(b.all * batch_row()); i++) {
        bool of_it = batch_channel(&b, i) == 3;
        wrong += isnan(v[0].y[i]) != of_it || isnan(v[0].dx[i]) != of_it;
    }
    for (int k = 0; k < CHANNELS; k++)
        wrong += isnan(v[2].running_var[k]) != (k == 3);
    tap_ok(wrong == 0 && same_bits(&v[0], &v[1]) && same_bits(&v[0], &v[2]),
           "%s: a NaN on one rank is in its channel on all, and nowhere else, "
           "%zu wrong",
           name, wrong);
}

/* One number on all ranks: that is the mean, and y is beta. The error by which
 * the first mean is off is equal for all ranks, and has few bits: no sum of it
 * rounds. */
static void test_constant(const char *name)
{
    static struct values v[3];
    static struct batch b;
    const char *const names[] = {name, name, name};
    size_t wrong = 0;

    b = (struct batch){.n = 3, .rows = {2, 7, 4}, .dtype = SSQ_F32};
    batch_make(&b);
    for (size_t i = 0; i < (size_t)(b.all * batch_row()); i++)
        b.x[i] = 10000.1f + (float)batch_channel(&b, i);
    batch_ranks(names, &b, v);
    for (size_t i = 0; i < (size_t)(b.all * batch_row()); i++)
        wrong += v[0].y[i] != b.beta[batch_channel(&b, i)];
    for (int k = 0; k < CHANNELS; k++) {
        wrong += v[0].mean[k] != 10000.1f + (float)k;
        wrong += v[0].running_var[k] != 0.5f * (1 - MOMENTUM);
    }
    tap_ok(wrong == 0 && same_bits(&v[0], &v[1]) && same_bits(&v[0], &v[2]),
           "%s: one number on all ranks is the mean, its variance 0, %zu wrong",
           name, wrong);
}

/* Ranks with `first` and `second` rows of one value per channel: the running
 * variance, which was 0.5, becomes `want`. */
static void test_few(const char *name, int64_t first, int64_t second,
                     float want, const char *what)
{
    struct group g;
    ssq_tensor *x[2], *y[2], *m[2], *v[2];
    float got = -1;

    group_of(&g, 2, name, 60);
    for (unsigned r = 0; r < 2; r++) {
        const int64_t shape[] = {r == 0 ? first : second, 1};
        NEED(ssq_tensor_create(g.dev[r], SSQ_F32, 2, shape, &x[r]));
        NEED(ssq_tensor_create(g.dev[r], SSQ_F32, 2, shape, &y[r]));
        NEED(
            ssq_fill(g.queue[r], SSQ_FILL(.x = x[r], .value = r == 0 ? 1 : 3)));
        m[r] = group_vector(&g, r, 1, 0.5);
        v[r] = group_vector(&g, r, 1, 0.5);
        NEED(ssq_batch_norm(g.queue[r],
                            SSQ_BATCH_NORM(.x = x[r], .y = y[r],
                                           .running_mean = m[r],
                                           .running_var = v[r], .momentum = 0.5,
                                           .comm = g.comm[r])));
    }
    for (unsigned r = 0; r < 2; r++) {
        got = first_of(&g, r, v[r]);
        tap_ok(got == want, "%s: %s: running_var is %g on rank %u", name, what,
               (double)got, r);
        ssq_tensor_destroy(&x[r]);
        ssq_tensor_destroy(&y[r]);
        ssq_tensor_destroy(&m[r]);
        ssq_tensor_destroy(&v[r]);
    }
    group_close(&g);
}

int main(void)
{
    const char *names[CORE_MOST];
    const size_t n = core_devices(names);

    for (size_t i = 0; i < n; i++) {
        test_device(names[i]);
        test_single(names[i]);
        test_nan(names[i]);
        test_constant(names[i]);
        test_nearly(names[i]);
        test_few(names[i], 1, 1, 1.25f, "one value on each rank");
        test_few(names[i], 1, 0, 0.25f, "one value in all");
        test_few(names[i], 0, 0, 0.5f, "no value at all");
    }
    test_mixture(names, n < MOST_RANKS ? (unsigned)n : MOST_RANKS);
    return tap_done((long)n * 22 + 1);
}
