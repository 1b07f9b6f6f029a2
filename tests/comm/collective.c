/* SPDX-License-Identifier: Apache-2.0 */
/* collective.c - the collectives of local ranks: bits of every dtype, for any
 * devices, sizes, pieces and threads. */

#include <math.h>
#include <pthread.h>

#include "tests/comm/comm.h"

/* ---- what is promised ---- */

static float as_float(const void *x, ssq_dtype dtype, size_t i)
{
    float y = 0;
    const char *at = (const char *)x + i * ssq_dtype_bits(dtype) / 8;

    NEED(ssq_convert(&y, SSQ_F32, at, dtype, 1, SSQ_ROUND_NEAREST, 0));
    return y;
}

static float larger(float a, float b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == 0 && b == 0)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* Pairs, then pairs of pairs; a rank without a neighbour continues alone. */
static float tree(float *v, unsigned n, ssq_comm_reduction reduction)
{
    for (unsigned step = 1; step < n; step *= 2)
        for (unsigned r = 0; r + step < n; r += 2 * step) {
            volatile float sum = reduction == SSQ_COMM_MAX
                                     ? larger(v[r], v[r + step])
                                     : v[r] + v[r + step];
            v[r] = sum;
        }
    return reduction == SSQ_COMM_MEAN ? v[0] / (float)n : v[0];
}

/* The bits of element i, as 16 or 32 of them; NaNs are nevertheless one. */
static uint32_t expected(void *const *x, ssq_dtype dtype, unsigned n, size_t i,
                         ssq_comm_reduction reduction)
{
    static const uint32_t nan[] = {0, 0x7fc00000, 0x7e00, 0x7fc0};
    float v[MOST_RANKS] = {0};
    uint32_t bits = 0;

    for (unsigned r = 0; r < n; r++)
        v[r] = as_float(x[r], dtype, i);
    float y = tree(v, n, reduction);
    if (isnan(y))
        return nan[dtype];
    NEED(ssq_convert(&bits, dtype, &y, SSQ_F32, 1, SSQ_ROUND_NEAREST, 0));
    return bits;
}

static uint32_t bits_of(const void *x, ssq_dtype dtype, size_t i)
{
    uint32_t bits = 0;

    memcpy(&bits, (const char *)x + i * ssq_dtype_bits(dtype) / 8,
           ssq_dtype_bits(dtype) / 8);
    return bits;
}

/* ---- data ---- */

static uint32_t state = 1;

static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Numbers of all sizes that cancel, and now and then one that is special. */
static float value(void)
{
    static const float special[] = {0.0f, -0.0f,    INFINITY, -INFINITY,
                                    NAN,  65504.0f, 1e-40f,   5.9604645e-8f};
    if (draw() % 16 == 0)
        return special[draw() % 8];
    return ldexpf((float)(int)(draw() % 4001) - 2000.0f,
                  (int)(draw() % 12) - 6);
}

static void *make_data(ssq_dtype dtype, size_t n)
{
    size_t size = ssq_dtype_bits(dtype) / 8;
    char *x = calloc(n + 1, size);

    if (x == NULL)
        tap_bail("no memory");
    for (size_t i = 0; i < n; i++) {
        float y = value();
        NEED(ssq_convert(x + i * size, dtype, &y, SSQ_F32, 1, SSQ_ROUND_NEAREST,
                         0));
    }
    return x;
}

/* ---- lists ---- */

#define MOST_TENSORS 8

/* Of every rank: its tensors, their contents before, and after. */
struct collective_lists {
    size_t n;
    ssq_dtype dtype[MOST_TENSORS];
    int64_t size[MOST_TENSORS];
    const ssq_tensor *tensor[MOST_RANKS][MOST_TENSORS];
    void *in[MOST_TENSORS][MOST_RANKS];
    void *out[MOST_TENSORS][MOST_RANKS];
};

static size_t bytes_of(const struct collective_lists *l, size_t t)
{
    return (size_t)l->size[t] * ssq_dtype_bits(l->dtype[t]) / 8;
}

static void lists_make(struct collective_lists *l, struct group *g)
{
    for (unsigned r = 0; r < g->n; r++)
        for (size_t t = 0; t < l->n; t++) {
            ssq_tensor *x = core_vector(g->dev[r], l->dtype[t], l->size[t]);
            l->in[t][r] = make_data(l->dtype[t], (size_t)l->size[t]);
            l->out[t][r] = calloc(1, bytes_of(l, t) + 1);
            NEED(ssq_tensor_write(g->queue[r], x, l->in[t][r], bytes_of(l, t),
                                  l->dtype[t]));
            l->tensor[r][t] = x;
        }
}

static void lists_read(struct collective_lists *l, struct group *g, unsigned r)
{
    for (size_t t = 0; t < l->n; t++)
        NEED(ssq_tensor_read(g->queue[r], l->tensor[r][t], l->out[t][r],
                             bytes_of(l, t), l->dtype[t]));
}

static void lists_free(struct collective_lists *l, struct group *g)
{
    for (unsigned r = 0; r < g->n; r++)
        for (size_t t = 0; t < l->n; t++) {
            ssq_tensor *x = (ssq_tensor *)(uintptr_t)l->tensor[r][t];
            ssq_tensor_destroy(&x);
            free(l->in[t][r]);
            free(l->out[t][r]);
        }
}

/* How many elements of all ranks differ from what is promised. */
static size_t lists_wrong(const struct collective_lists *l, unsigned n,
                          ssq_comm_reduction reduction)
{
    size_t wrong = 0;

    for (size_t t = 0; t < l->n; t++)
        for (size_t i = 0; i < (size_t)l->size[t]; i++) {
            uint32_t want = expected(l->in[t], l->dtype[t], n, i, reduction);
            for (unsigned r = 0; r < n; r++)
                wrong += bits_of(l->out[t][r], l->dtype[t], i) != want;
        }
    return wrong;
}

/* Small and large, in no order, with a gap: the pieces and parts are cut
 * from. */
static const struct collective_lists mixed = {
    .n = 7,
    .dtype = {SSQ_F16, SSQ_F32, SSQ_BF16, SSQ_F32, SSQ_F16, SSQ_F32, SSQ_BF16},
    .size = {1, 257, 1000, 0, 3, 5001, 17},
};

static const char *const reductions[] = {"sum", "mean", "max"};

/* One thread calls for all ranks, one after the other. */
static void test_all_reduce(const char *const *names, unsigned n,
                            uint64_t piece,
                            const struct collective_lists *shape)
{
    struct group g;
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;

    options.piece_bytes = piece;
    options.timeout = 60;
    group_open(&g, n, names, &options);
    for (int op = SSQ_COMM_SUM; op <= SSQ_COMM_MAX; op++) {
        struct collective_lists l = *shape;
        lists_make(&l, &g);
        for (unsigned r = 0; r < n; r++)
            NEED(ssq_comm_all_reduce(
                g.queue[r], g.comm[r],
                SSQ_COMM_ALL_REDUCE(.tensors = l.tensor[r], .n = l.n,
                                    .reduction = (ssq_comm_reduction)op,
                                    .tag = "mixed")));
        for (unsigned r = 0; r < n; r++)
            lists_read(&l, &g, r);
        for (unsigned r = 0; r < n; r++)
            NEED(ssq_queue_sync(g.queue[r]));
        size_t wrong = lists_wrong(&l, n, (ssq_comm_reduction)op);
        tap_ok(wrong == 0,
               "all_reduce %s of %zu tensors, %u ranks from %s to %s, pieces "
               "of %llu: %zu wrong",
               reductions[op], l.n, n, names[0], names[n - 1],
               (unsigned long long)piece, wrong);
        lists_free(&l, &g);
    }
    group_close(&g);
}

/* ---- the others ---- */

static void test_broadcast(const char *const *names, unsigned n)
{
    struct group g;
    struct collective_lists l = mixed;
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    size_t wrong = 0;

    options.piece_bytes = 4096;
    group_open(&g, n, names, &options);
    lists_make(&l, &g);
    for (unsigned r = 0; r < n; r++)
        NEED(ssq_comm_broadcast(g.queue[r], g.comm[r],
                                SSQ_COMM_BROADCAST(.tensors = l.tensor[r],
                                                   .n = l.n, .root = n - 1)));
    for (unsigned r = 0; r < n; r++) {
        lists_read(&l, &g, r);
        NEED(ssq_queue_sync(g.queue[r]));
        for (size_t t = 0; t < l.n; t++)
            wrong += memcmp(l.out[t][r], l.in[t][n - 1], bytes_of(&l, t)) != 0;
    }
    tap_ok(wrong == 0, "broadcast from rank %u of %u, %s to %s: %zu wrong",
           n - 1, n, names[n - 1], names[0], wrong);
    lists_free(&l, &g);
    group_close(&g);
}

/* Scattered sums that are gathered again are an all_reduce's. */
static void test_scatter_gather(const char *const *names, unsigned n,
                                ssq_dtype dtype, int64_t part)
{
    struct group g;
    struct collective_lists l = {.n = 1, .dtype = {dtype}, .size = {part * n}};
    ssq_tensor *parts[MOST_RANKS], *all[MOST_RANKS];
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;

    options.piece_bytes = 1024;
    group_open(&g, n, names, &options);
    lists_make(&l, &g);
    for (unsigned r = 0; r < n; r++) {
        parts[r] = core_vector(g.dev[r], dtype, part);
        all[r] = core_vector(g.dev[r], dtype, part * n);
        NEED(ssq_comm_reduce_scatter(
            g.queue[r], g.comm[r],
            SSQ_COMM_REDUCE_SCATTER(.x = l.tensor[r][0], .y = parts[r],
                                    .reduction = SSQ_COMM_MEAN)));
        NEED(ssq_comm_all_gather(
            g.queue[r], g.comm[r],
            SSQ_COMM_ALL_GATHER(.x = parts[r], .y = all[r])));
        NEED(ssq_comm_barrier(g.queue[r], g.comm[r], "end"));
        NEED(ssq_tensor_read(g.queue[r], all[r], l.out[0][r], bytes_of(&l, 0),
                             dtype));
    }
    for (unsigned r = 0; r < n; r++)
        NEED(ssq_queue_sync(g.queue[r]));
    size_t wrong = lists_wrong(&l, n, SSQ_COMM_MEAN);
    tap_ok(wrong == 0,
           "reduce_scatter mean and all_gather of %s, %u parts of %lld, %s to "
           "%s: %zu wrong",
           ssq_dtype_name(dtype), n, (long long)part, names[0], names[n - 1],
           wrong);
    for (unsigned r = 0; r < n; r++) {
        ssq_tensor_destroy(&parts[r]);
        ssq_tensor_destroy(&all[r]);
    }
    lists_free(&l, &g);
    group_close(&g);
}

static void test_integers(void)
{
    struct group g;
    int32_t out[3][2];
    bool right = true;

    group_of(&g, 3, "reference", 60);
    for (unsigned r = 0; r < 3; r++) {
        const int32_t in[] = {r == 1, -5 - (int32_t)r};
        ssq_tensor *x = core_vector(g.dev[r], SSQ_I32, 2);
        NEED(ssq_tensor_write(g.queue[r], x, in, sizeof(in), SSQ_I32));
        NEED(ssq_queue_sync(g.queue[r]));
        NEED(reduce_one(&g, r, x, SSQ_COMM_MAX, NULL));
        NEED(ssq_tensor_read(g.queue[r], x, out[r], sizeof(out[r]), SSQ_I32));
        ssq_tensor_destroy(&x);
    }
    for (unsigned r = 0; r < 3; r++) {
        NEED(ssq_queue_sync(g.queue[r]));
        right = right && out[r][0] == 1 && out[r][1] == -5;
    }
    tap_ok(right, "all_reduce max of i32: 0 1 0 and -5 -6 -7");
    group_close(&g);
}

/* ---- order ---- */

/* x becomes its sum over ranks, twice that, the sum of that, and so on: what
 * comes after a collective sees its result, and what comes before is in it. */
static float rounds(struct group *g, unsigned r, int n)
{
    ssq_tensor *x = group_vector(g, r, 3000, r + 1);

    for (int i = 0; i < n; i++) {
        NEED(reduce_one(g, r, x, SSQ_COMM_MEAN, "rounds"));
        NEED(ssq_add(g->queue[r], SSQ_ADD(.a = x, .b = x, .y = x)));
        if (r == 0)
            NEED(ssq_add(g->queue[r], SSQ_ADD(.a = x, .b = x, .y = x)));
    }
    float y = first_of(g, r, x);
    ssq_tensor_destroy(&x);
    return y;
}

struct collective_worker {
    struct group *g;
    unsigned rank;
    float y;
    pthread_t thread;
};

static void *work(void *arg)
{
    struct collective_worker *w = arg;

    for (int i = 0; i < 10; i++)
        w->y = rounds(w->g, w->rank, 8);
    return NULL;
}

/* By one thread each, on two devices that behave differently. */
static void test_threads(const char *a, const char *b)
{
    struct group g;
    const char *const names[] = {a, b};
    struct collective_worker w[2];
    float x[2] = {1, 2};

    group_open(&g, 2, names, NULL);
    for (unsigned r = 0; r < 2; r++) {
        w[r] = (struct collective_worker){.g = &g, .rank = r};
        if (pthread_create(&w[r].thread, NULL, work, &w[r]) != 0)
            tap_bail("no thread");
    }
    for (unsigned r = 0; r < 2; r++)
        pthread_join(w[r].thread, NULL);
    for (int i = 0; i < 8; i++) {
        float mean = (x[0] + x[1]) / 2;
        x[0] = 4 * mean;
        x[1] = 2 * mean;
    }
    tap_ok(w[0].y == x[0] && w[1].y == x[1],
           "%s and %s, a thread each: 80 rounds come to %g and %g, expected %g "
           "and %g",
           a, b, (double)w[0].y, (double)w[1].y, (double)x[0], (double)x[1]);
    group_close(&g);
}

/* All calls of a rank come before the first of the next: no one waits. */
static void test_one_thread(const char *name)
{
    struct group g;
    ssq_tensor *x[3];
    float sum = 6;
    bool right = true;

    group_of(&g, 3, name, 60);
    for (unsigned r = 0; r < 3; r++) {
        x[r] = group_vector(&g, r, 2000, r + 1);
        for (int i = 0; i < 5; i++) {
            NEED(reduce_one(&g, r, x[r], SSQ_COMM_SUM, NULL));
            NEED(ssq_add(g.queue[r], SSQ_ADD(.a = x[r], .b = x[r], .y = x[r])));
        }
    }
    for (int i = 1; i < 5; i++)
        sum *= 6;
    for (unsigned r = 0; r < 3; r++) {
        float y = first_of(&g, r, x[r]);
        right = right && y == 2 * sum;
        ssq_tensor_destroy(&x[r]);
    }
    tap_ok(right, "%s: one thread, all calls of a rank before the next rank's",
           name);
    group_close(&g);
}

int main(void)
{
    const char *found[CORE_MOST];
    const char *const reference[] = {"reference", "reference", "reference",
                                     "reference", "reference"};
    const char *const cpu[] = {"cpu", "cpu", "cpu"};
    const char *const guard[] = {"guard", "reference"};
    const struct collective_lists few = {
        .n = 3, .dtype = {SSQ_BF16, SSQ_F32, SSQ_F16}, .size = {3, 5, 7}};
    unsigned n = (unsigned)core_devices(found);

    n = n < MOST_RANKS ? n : MOST_RANKS;
    test_all_reduce(reference, 1, 4 << 20, &mixed);
    test_all_reduce(reference, 2, 256, &mixed);
    test_all_reduce(reference, 3, 4 << 20, &mixed);
    test_all_reduce(reference, 5, 1000, &mixed);
    test_all_reduce(reference, 5, 4096, &few);
    test_all_reduce(cpu, 3, 4096, &mixed);
    test_all_reduce(guard, 2, 4096, &mixed);
    test_all_reduce(guard, 2, 4096, &few);
    test_all_reduce(found, n, 8192, &mixed);
    test_broadcast(reference, 3);
    test_broadcast(found, n);
    test_scatter_gather(reference, 3, SSQ_F32, 1001);
    test_scatter_gather(guard, 2, SSQ_F16, 777);
    test_scatter_gather(found, n, SSQ_BF16, 333);
    test_integers();
    for (size_t i = 0; core_device(i) != NULL; i++)
        test_one_thread(core_device(i));
    test_threads("reference", "guard");
    test_threads("cpu", "cpu");
    return tap_done(35);
}
