/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - communicators over NCCL, by a stand-in for it and for the driver:
 * values against local ranks' values, graphs, programs' own streams and
 * communicators, comparisons, weights, trainings. The calls that the stand-in
 * does not prove are in tests/fakecuda/nccl/fakenccl.h. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <sesqui/cuda.h>
#include <sesqui/trainer.h>
#include <sesqui/tune.h>

#include "tests/comm/nccl.h"

/* ---- values ---- */

enum { TENSORS = 6 };

static const ssq_dtype dtypes[TENSORS] = {SSQ_F16, SSQ_F32, SSQ_BF16,
                                          SSQ_F32, SSQ_F16, SSQ_F32};
static const int64_t sizes[TENSORS] = {1, 257, 1000, 0, 3, 17001};

#define MOST_ELEMENTS (3 * 17001)

/* Rank r's element i of tensor t, which the dtype has exactly. */
static float value_of(unsigned r, int t, size_t i, bool special)
{
    static const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
    uint32_t h =
        (uint32_t)(i * 2654435761u) ^ (r * 40503u + (uint32_t)t * 977u);

    h ^= h >> 15;
    if (special && h % 11 == 0)
        return specials[(h / 11) % 5];
    return ldexpf((float)(int)(h % 255) - 127.0f, (int)(h / 255 % 7) - 3);
}

struct nccl_lists {
    ssq_comm_reduction reduction;
    ssq_tensor *x[NCCL_TEST_RANKS][TENSORS];
    float *out[NCCL_TEST_RANKS][TENSORS];
};

static void write_list(ssq_device *dev, ssq_queue *queue, unsigned r,
                       struct nccl_lists *l)
{
    bool special = l->reduction == SSQ_COMM_MAX;

    for (int t = 0; t < TENSORS; t++) {
        size_t n = (size_t)sizes[t];
        float *v = calloc(n + 1, sizeof(*v));
        l->x[r][t] = core_vector(dev, dtypes[t], sizes[t]);
        l->out[r][t] = v;
        for (size_t i = 0; i < n; i++)
            v[i] = value_of(r, t, i, special);
        NEED(ssq_tensor_write(queue, l->x[r][t], v, n * 4, SSQ_F32));
    }
    NEED(ssq_queue_sync(queue));
}

static void read_list(ssq_queue *queue, unsigned r, struct nccl_lists *l)
{
    for (int t = 0; t < TENSORS; t++)
        NEED(ssq_tensor_read(queue, l->x[r][t], l->out[r][t],
                             (size_t)sizes[t] * 4, SSQ_F32));
    NEED(ssq_queue_sync(queue));
}

static void free_list(unsigned n, struct nccl_lists *l)
{
    for (unsigned r = 0; r < n; r++)
        for (int t = 0; t < TENSORS; t++) {
            ssq_tensor_destroy(&l->x[r][t]);
            free(l->out[r][t]);
        }
}

static void reduce_list(struct rank *r, void *arg)
{
    struct nccl_lists *l = arg;

    NEED(ssq_comm_all_reduce(
        r->queue, r->comm,
        SSQ_COMM_ALL_REDUCE(.tensors = (const ssq_tensor *const *)l->x[r->rank],
                            .n = TENSORS, .reduction = l->reduction,
                            .tag = "list")));
    read_list(r->queue, r->rank, l);
}

/* The same of local ranks. */
static void reduce_local(unsigned n, struct nccl_lists *l)
{
    struct group g;

    group_of(&g, n, "reference", 60);
    for (unsigned r = 0; r < n; r++)
        write_list(g.dev[r], g.queue[r], r, l);
    for (unsigned r = 0; r < n; r++)
        NEED(ssq_comm_all_reduce(
            g.queue[r], g.comm[r],
            SSQ_COMM_ALL_REDUCE(.tensors = (const ssq_tensor *const *)l->x[r],
                                .n = TENSORS, .reduction = l->reduction,
                                .tag = "list")));
    for (unsigned r = 0; r < n; r++)
        read_list(g.queue[r], r, l);
    group_close(&g);
}

/* The most that two orders of a sum of n values differ by, each within (n - 1)
 * 2^-24 of the sum of magnitudes, a mean's factor by two roundings more, and
 * two roundings of the result to its dtype. */
static double bound(unsigned n, int t, size_t i, float got, bool mean)
{
    double sum = 0.0, u = ldexp(1.0, -24);
    double half = dtypes[t] == SSQ_F16    ? ldexp(1.0, -11)
                  : dtypes[t] == SSQ_BF16 ? ldexp(1.0, -8)
                                          : 0.0;

    for (unsigned r = 0; r < n; r++)
        sum += fabs((double)value_of(r, t, i, false));
    double each = (n - 1) * u * sum + (mean ? 2 * u * sum : 0.0);
    return 2 * each / (mean ? n : 1) + 2 * half * fabs((double)got) +
           ldexp(1.0, -24);
}

static bool alike(const struct nccl_lists *a, const struct nccl_lists *b,
                  unsigned n, unsigned r, int t, size_t i)
{
    float x = a->out[r][t][i], y = b->out[r][t][i];

    if (a->reduction == SSQ_COMM_MAX)
        return memcmp(&x, &y, sizeof(x)) == 0;
    return fabs((double)x - (double)y) <=
           bound(n, t, i, y, a->reduction == SSQ_COMM_MEAN);
}

static void test_all_reduce(struct rank *r, unsigned n, ssq_comm_reduction how)
{
    static const char *const names[] = {"sum", "mean", "max"};
    struct nccl_lists l = {.reduction = how}, local = {.reduction = how};
    size_t wrong = 0, unequal = 0;

    for (unsigned i = 0; i < n; i++)
        write_list(r[i].dev, r[i].queue, i, &l);
    ranks_do(r, n, reduce_list, &l);
    reduce_local(n, &local);
    for (unsigned k = 0; k < n; k++)
        for (int t = 0; t < TENSORS; t++) {
            size_t bytes = (size_t)sizes[t] * 4;
            unequal += memcmp(l.out[k][t], l.out[0][t], bytes) != 0;
            for (size_t i = 0; i < (size_t)sizes[t]; i++)
                wrong += !alike(&l, &local, n, k, t, i);
        }
    tap_ok(wrong == 0 && unequal == 0,
           "all_reduce %s of %d tensors, %u ranks: %zu beyond the bound of "
           "local's, %zu unequal between ranks",
           names[how], TENSORS, n, wrong, unequal);
    free_list(n, &l);
    free_list(n, &local);
}

/* ---- the others ---- */

struct nccl_pairs {
    ssq_dtype dtype;
    ssq_comm_reduction reduction;
    int64_t part;
    size_t wrong[NCCL_TEST_RANKS];
};

static float part_value(unsigned r, size_t i)
{
    return (float)((i * 7 + r * 5) % 23) - 11.0f;
}

/* Whole numbers: every order has the same sum. */
static float part_result(const struct nccl_pairs *p, unsigned n, size_t i)
{
    float sum = 0.0f, most = -INFINITY;

    for (unsigned r = 0; r < n; r++) {
        sum += part_value(r, i);
        most = fmaxf(most, part_value(r, i));
    }
    return p->reduction == SSQ_COMM_MAX ? most : sum;
}

static void scatter_and_gather(struct rank *r, void *arg)
{
    struct nccl_pairs *p = arg;
    int64_t all = p->part * r->size;
    float *v = calloc((size_t)all + 1, sizeof(*v));
    ssq_tensor *x = core_vector(r->dev, p->dtype, all);
    ssq_tensor *y = core_vector(r->dev, p->dtype, p->part);
    ssq_tensor *z = core_vector(r->dev, p->dtype, all);

    for (size_t i = 0; i < (size_t)all; i++)
        v[i] = part_value(r->rank, i);
    NEED(ssq_tensor_write(r->queue, x, v, (size_t)all * 4, SSQ_F32));
    NEED(ssq_comm_reduce_scatter(
        r->queue, r->comm,
        SSQ_COMM_REDUCE_SCATTER(.x = x, .y = y, .reduction = p->reduction)));
    NEED(ssq_comm_all_gather(r->queue, r->comm,
                             SSQ_COMM_ALL_GATHER(.x = y, .y = z)));
    NEED(ssq_comm_barrier(r->queue, r->comm, "end"));
    NEED(ssq_tensor_read(r->queue, z, v, (size_t)all * 4, SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (size_t i = 0; i < (size_t)all; i++)
        p->wrong[r->rank] += v[i] != part_result(p, r->size, i);
    free(v);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&z);
}

static void test_pairs(struct rank *r, unsigned n, ssq_dtype dtype,
                       ssq_comm_reduction reduction, int64_t part)
{
    struct nccl_pairs p = {dtype, reduction, part, {0}};
    size_t wrong = 0;

    ranks_do(r, n, scatter_and_gather, &p);
    for (unsigned i = 0; i < n; i++)
        wrong += p.wrong[i];
    tap_ok(wrong == 0,
           "reduce_scatter %s and all_gather of %s, %u parts of %lld: %zu "
           "wrong",
           reduction == SSQ_COMM_MAX ? "max" : "sum", ssq_dtype_name(dtype), n,
           (long long)part, wrong);
}

static void broadcast_one(struct rank *r, void *arg)
{
    size_t *wrong = arg;
    int32_t in[5], out[5] = {0};
    ssq_tensor *x = core_vector(r->dev, SSQ_I32, 5);
    const ssq_tensor *list[] = {x};

    for (int i = 0; i < 5; i++)
        in[i] = 100 * (int)r->rank + i;
    NEED(ssq_tensor_write(r->queue, x, in, sizeof(in), SSQ_I32));
    NEED(ssq_comm_broadcast(
        r->queue, r->comm,
        SSQ_COMM_BROADCAST(.tensors = list, .n = 1, .root = r->size - 1)));
    NEED(ssq_tensor_read(r->queue, x, out, sizeof(out), SSQ_I32));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 5; i++)
        wrong[r->rank] += out[i] != 100 * ((int)r->size - 1) + i;
    NEED(ssq_tensor_write(r->queue, x, in, sizeof(in), SSQ_I32));
    NEED(rank_reduce(r, x, SSQ_COMM_MAX, "i32"));
    NEED(ssq_tensor_read(r->queue, x, out, sizeof(out), SSQ_I32));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 5; i++)
        wrong[r->rank] += out[i] != 100 * ((int)r->size - 1) + i;
    ssq_tensor_destroy(&x);
}

static void test_broadcast(struct rank *r, unsigned n)
{
    size_t wrong[NCCL_TEST_RANKS] = {0};

    ranks_do(r, n, broadcast_one, wrong);
    tap_ok(wrong[0] + wrong[1] + wrong[n - 1] == 0,
           "broadcast from rank %u, and the maximum of i32, %u ranks", n - 1,
           n);
}

/* ---- queues and graphs ---- */

/* Earlier work is summed, later work sees the sum: on one queue,
 * on another, and after a comparison, which waits at a gate. */
static void in_order(struct rank *r, void *arg)
{
    float *got = arg;
    ssq_tensor *x = rank_vector(r, SSQ_F32, 100, 1.0);
    ssq_queue *first = r->queue, *second = core_queue(r->dev);
    const ssq_comm_fact fact = {"seed", "7"};

    NEED(ssq_comm_compare(r->queue, r->comm, &fact, 1, "facts"));
    NEED(rank_reduce(r, x, SSQ_COMM_SUM, "a"));
    NEED(ssq_scale(r->queue, SSQ_SCALE(.x = x, .y = x, .alpha = 2.0)));
    ssq_event *e = NULL;
    NEED(ssq_event_create(r->dev, &e));
    NEED(ssq_event_record(e, first));
    NEED(ssq_queue_wait(second, e));
    r->queue = second;
    NEED(rank_reduce(r, x, SSQ_COMM_SUM, "b"));
    got[r->rank] = rank_first(r, x);
    r->queue = first;
    NEED(ssq_queue_sync(first));
    ssq_event_destroy(&e);
    ssq_queue_destroy(&second);
    ssq_tensor_destroy(&x);
}

static void test_order(struct rank *r, unsigned n)
{
    float got[NCCL_TEST_RANKS] = {0}, want = (float)(2 * n * n);

    ranks_do(r, n, in_order, got);
    tap_ok(got[0] == want && got[n - 1] == want,
           "two queues, behind a comparison: %g, expected %g", (double)got[0],
           (double)want);
}

static void in_graph(struct rank *r, void *arg)
{
    float *got = arg;
    ssq_graph *graph = NULL;
    ssq_tensor *x = rank_vector(r, SSQ_F32, 10, 1.0);
    ssq_tensor *h = rank_vector(r, SSQ_F16, 10, 1.0);
    const ssq_tensor *list[] = {x, h};
    const ssq_comm_fact fact = {"seed", "7"};

    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_comm_all_reduce(r->queue, r->comm,
                             SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 2)));
    if (r->rank == 0)
        core_status(ssq_comm_compare(r->queue, r->comm, &fact, 1, NULL),
                    SSQ_ERR_INVALID, "captured", "a graph has no comparison");
    NEED(ssq_scale(r->queue, SSQ_SCALE(.x = x, .y = x, .alpha = 0.5)));
    NEED(ssq_graph_end(r->queue, &graph));
    for (int i = 0; i < 3; i++)
        NEED(ssq_graph_launch(r->queue, graph));
    got[r->rank] = rank_first(r, x) + rank_first(r, h);
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&h);
}

static void test_graph(struct rank *r, unsigned n)
{
    float got[NCCL_TEST_RANKS] = {0}, m = (float)n / 2;
    float want = m * m * m + (float)(n * n * n);

    ranks_do(r, n, in_graph, got);
    tap_ok(got[0] == want && got[n - 1] == want,
           "a graph with collectives, launched three times: %g, expected %g",
           (double)got[0], (double)want);
}

static void own_need(CUresult e, const char *what)
{
    if (e != CUDA_SUCCESS)
        tap_bail("%s: %d", what, (int)e);
}

/* A program records its stream, in which a queue of ours has a collective. */
static void in_recording(struct rank *r, void *arg)
{
    float *got = arg;
    CUcontext ctx;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    ssq_queue *own = r->queue;
    ssq_tensor *x = rank_vector(r, SSQ_F32, 10, 1.0);

    NEED(ssq_queue_sync(r->queue));
    own_need(cuDevicePrimaryCtxRetain(&ctx, (int)r->rank), "retain");
    own_need(cuCtxPushCurrent_v2(ctx), "push");
    own_need(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    NEED(ssq_cuda_queue_create(r->dev, stream, &r->queue));
    own_need(
        cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "begin");
    NEED(rank_reduce(r, x, SSQ_COMM_SUM, NULL));
    own_need(cuStreamEndCapture(stream, &graph), "end");
    own_need(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    for (int i = 0; i < 2; i++)
        own_need(cuGraphLaunch(exec, stream), "launch");
    own_need(cuStreamSynchronize(stream), "sync");
    got[r->rank] = rank_first(r, x);
    own_need(cuGraphExecDestroy(exec), "exec");
    own_need(cuGraphDestroy(graph), "graph");
    ssq_queue_destroy(&r->queue);
    own_need(cuStreamDestroy_v2(stream), "destroy");
    own_need(cuCtxPopCurrent_v2(NULL), "pop");
    own_need(cuDevicePrimaryCtxRelease_v2((int)r->rank), "release");
    r->queue = own;
    ssq_tensor_destroy(&x);
}

static void test_recording(struct rank *r, unsigned n)
{
    float got[NCCL_TEST_RANKS] = {0};

    ranks_do(r, n, in_recording, got);
    tap_ok(got[0] == (float)(n * n) && got[n - 1] == (float)(n * n),
           "a program's recording of its stream, launched twice: %g",
           (double)got[0]);
}

/* ---- comparisons ---- */

static void compare_facts(struct rank *r, void *arg)
{
    const char *other = arg;
    const ssq_comm_fact facts[] = {{"layers", "12"},
                                   {"width", r->rank == 1 ? other : "768"}};
    ssq_tensor *x = rank_vector(r, SSQ_F32, 4, 1.0);

    NEED(ssq_comm_compare(r->queue, r->comm, facts, 2, "model"));
    /* it is later, and must not be reached if they differ */
    (void)!rank_reduce(r, x, SSQ_COMM_SUM, NULL);
    rank_note(r, ssq_queue_sync(r->queue));
    ssq_tensor_destroy(&x);
}

static void test_compare(unsigned n)
{
    struct rank r[NCCL_TEST_RANKS];
    char other[] = "1024", same[] = "768";

    ranks_open(r, n, 20);
    ranks_do(r, n, compare_facts, same);
    tap_ok(r[0].status == SSQ_OK && r[1].status == SSQ_OK, "equal facts: %s%s",
           r[0].text, r[1].text);
    ranks_do(r, n, compare_facts, other);
    for (unsigned i = 0; i < n; i++)
        tap_ok(r[i].status == SSQ_ERR_COMM &&
                   core_has(r[i].text, "width is \"768\" on rank 0, \"1024\" "
                                       "on rank 1"),
               "rank %u of %u hears what differs: %s", i, n, r[i].text);
    ranks_close(r, n);
}

/* A comparison on one queue between calls on another: the library's calls are
 * in one order on all ranks, even if one rank makes the next call early. */
static void compare_between(struct rank *r, void *arg)
{
    const ssq_comm_fact fact = {"layers", "12"};
    ssq_queue *other = core_queue(r->dev), *own = r->queue;
    ssq_tensor *x = rank_vector(r, SSQ_F32, 4, 1.0);
    float *got = arg;

    NEED(ssq_queue_sync(own));
    for (int i = 0; i < 5; i++) {
        r->queue = other;
        NEED(rank_reduce(r, x, SSQ_COMM_MAX, NULL));
        r->queue = own;
        NEED(ssq_comm_compare(own, r->comm, &fact, 1, "model"));
        if (r->rank == 1)
            usleep(50000);
        r->queue = other;
        NEED(rank_reduce(r, x, SSQ_COMM_SUM, NULL));
    }
    rank_note(r, ssq_queue_sync(other));
    if (r->status == SSQ_OK)
        got[r->rank] = rank_first(r, x);
    r->queue = own;
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&other);
}

static void test_between(unsigned n)
{
    struct rank r[NCCL_TEST_RANKS];
    float got[NCCL_TEST_RANKS] = {0};

    ranks_open(r, n, 5);
    ranks_do(r, n, compare_between, got);
    tap_ok(r[0].status == SSQ_OK && got[0] == powf((float)n, 5) &&
               got[n - 1] == got[0],
           "comparisons between calls on another queue, %u ranks: %g%s", n,
           (double)got[0], r[0].text);
    ranks_close(r, n);
}

/* ---- beside a program's communicator ---- */

struct nccl_lent {
    ncclUniqueId id;
    float got[NCCL_TEST_RANKS];
};

static void beside(struct rank *r, void *arg)
{
    struct nccl_lent *l = arg;
    CUcontext ctx;
    ncclComm_t theirs = NULL;

    own_need(cuDevicePrimaryCtxRetain(&ctx, (int)r->rank), "retain");
    own_need(cuCtxPushCurrent_v2(ctx), "push");
    if (ncclCommInitRank(&theirs, (int)r->size, l->id, (int)r->rank) != 0)
        tap_bail("ncclCommInitRank");
    NEED(ssq_comm_nccl_create(r->dev, theirs, NULL, &r->comm));
    ssq_tensor *x = rank_vector(r, SSQ_F32, 10, r->rank + 1.0);
    NEED(rank_reduce(r, x, SSQ_COMM_MEAN, NULL));
    l->got[r->rank] = rank_first(r, x);
    ssq_tensor_destroy(&x);
    ssq_comm_destroy(&r->comm);
    if (ncclCommDestroy(theirs) != 0)
        tap_bail("ncclCommDestroy: %s", ncclGetLastError(NULL));
    own_need(cuCtxPopCurrent_v2(NULL), "pop");
    own_need(cuDevicePrimaryCtxRelease_v2((int)r->rank), "release");
}

static void test_lent(unsigned n)
{
    struct rank r[NCCL_TEST_RANKS];
    struct nccl_lent l = {.got = {0}};

    for (unsigned i = 0; i < n; i++)
        rank_open(&r[i], i, n, i);
    if (ncclGetUniqueId(&l.id) != 0)
        tap_bail("ncclGetUniqueId");
    ranks_do(r, n, beside, &l);
    tap_ok(l.got[0] == 2.0f && l.got[n - 1] == 2.0f,
           "beside a program's communicator: a mean of %g", (double)l.got[0]);
    ranks_close(r, n);
}

/* ---- trainings ---- */

enum { STEPS = 3, BATCH = 4, WIDTH = 6, CLASSES = 3 };

/* All have as many rows for a step, and none after the last: the next step is
 * announced before this one. */
static bool more(ssq_trainer *t, int step)
{
    int64_t all = -1;

    NEED(ssq_trainer_next(t, &all));
    if (all % BATCH != 0 || (step < STEPS) != (all >= 2 * BATCH))
        tap_bail("%lld rows for step %d", (long long)all, step);
    if (all > 0)
        NEED(ssq_trainer_announce(t, step + 1 < STEPS ? BATCH : 0));
    return all > 0;
}

static float loss_of(ssq_queue *queue, ssq_comm *comm, unsigned rank,
                     const char *policy, bool shard)
{
    static float xs[4][BATCH * WIDTH];
    static int32_t ys[BATCH];
    const int64_t shape[] = {BATCH, WIDTH};
    ssq_device *dev = ssq_queue_device(queue);
    ssq_trainer *t = NULL;
    ssq_tensor *x = NULL, *y = core_vector(dev, SSQ_I32, BATCH);
    float loss = -1.0f;

    for (int i = 0; i < BATCH * WIDTH; i++)
        xs[rank][i] = (float)((i * 7 + (int)rank * 13) % 19 - 9) / 8;
    for (int i = 0; i < BATCH; i++)
        ys[i] = i % CLASSES;
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, shape, &x));
    NEED(ssq_trainer_create(queue,
                            SSQ_TRAINER(.comm = comm, .policy = policy,
                                        .shard = shard, .bucket_bytes = 1,
                                        .compare_every = 2),
                            &t));
    NEED(ssq_tensor_write(queue, x, xs[rank], sizeof(xs[rank]), SSQ_F32));
    NEED(ssq_tensor_write(queue, y, ys, sizeof(ys), SSQ_I32));
    NEED(ssq_trainer_announce(t, BATCH));
    for (int step = 0; more(t, step); step++) {
        ssq_tape *tape = ssq_trainer_begin(t);
        ssq_var h = ssq_nn_linear(tape, "fc1", ssq_var_input(tape, x), 8, NULL);
        h = ssq_nn_linear(tape, "fc2", ssq_relu_var(h), CLASSES, NULL);
        NEED(ssq_trainer_step(
            t, ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = y))));
    }
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    float w[8 * WIDTH] = {0};
    NEED(ssq_params_get(ssq_trainer_params(t), 0, &info));
    NEED(ssq_tensor_read(queue, info.tensor, w, sizeof(w), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    loss = 0.0f;
    for (int i = 0; i < 8 * WIDTH; i++)
        loss += fabsf(w[i]) * (float)(i + 1);
    ssq_trainer_destroy(&t);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    return loss;
}

struct trained {
    const char *policy;
    bool shard;
    float sum[NCCL_TEST_RANKS];
};

static void train(struct rank *r, void *arg)
{
    struct trained *t = arg;

    t->sum[r->rank] = loss_of(r->queue, r->comm, r->rank, t->policy, t->shard);
}

/* The parameters of all ranks are equal, and the ones that local ranks have. */
static void test_training(struct rank *r, unsigned n, const char *policy,
                          bool shard)
{
    struct trained t = {.policy = policy, .shard = shard};
    struct trained local = t;
    struct group g;
    struct rank l[NCCL_TEST_RANKS];

    ranks_do(r, n, train, &t);
    group_of(&g, n, "reference", 60);
    for (unsigned i = 0; i < n; i++)
        l[i] = (struct rank){.rank = i,
                             .size = n,
                             .dev = g.dev[i],
                             .queue = g.queue[i],
                             .comm = g.comm[i]};
    ranks_do(l, n, train, &local);
    group_close(&g);
    double off = fabs((double)t.sum[0] / (double)local.sum[0] - 1.0);
    tap_ok(t.sum[0] == t.sum[n - 1] && off < 1e-2 && t.sum[0] > 0.0f,
           "%u ranks train in %s%s: parameters as local ranks', off by %g", n,
           policy, shard ? ", sharded" : "", off);
}

/* ---- weights ---- */

static void weigh(struct rank *r, void *arg)
{
    double(*weight)[NCCL_TEST_RANKS] = arg;
    rank_note(r, ssq_comm_weights(r->queue, r->comm, SSQ_F32, weight[r->rank]));
}

/* The stand-in's devices are of one kind, and have one rate, in a cache of this
 * test's own. */
static void test_weights(unsigned n)
{
    struct rank r[NCCL_TEST_RANKS];
    double weight[NCCL_TEST_RANKS][NCCL_TEST_RANKS] = {{0.0}};
    char folder[] = "/tmp/ssq-nccl-XXXXXX", command[64];
    unsigned told = 0, alike = 0;

    if (mkdtemp(folder) == NULL)
        tap_bail("no folder for a cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("SSQ_CACHE");
    ranks_open(r, n, 20);
    ranks_do(r, n, weigh, weight);
    for (unsigned i = 0; i < n; i++)
        told += r[i].status == SSQ_ERR_NOT_FOUND &&
                core_has(r[i].text, "--device cuda:0 --types f32` measures");
    tap_ok(told == n && weight[0][0] == 0.0, "%u ranks: %s", told, r[0].text);
    NEED(ssq_training_rate_keep(r[0].dev, SSQ_F32, 12.5));
    ranks_do(r, n, weigh, weight);
    for (unsigned i = 0; i < n * n; i++)
        alike += weight[i / n][i % n] == 1.0;
    tap_ok(r[0].status == SSQ_OK && alike == n * n,
           "%u ranks on GPUs of one kind weigh the same: %s", n, r[0].text);
    ranks_close(r, n);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    tap_ok(system(command) == 0, "the folder is gone");
}

static void test_group(unsigned n)
{
    struct rank r[NCCL_TEST_RANKS];

    ranks_open(r, n, 60);
    tap_ok(ssq_comm_rank(r[n - 1].comm) == n - 1 &&
               ssq_comm_size(r[0].comm) == n &&
               ssq_comm_device(r[0].comm) == r[0].dev &&
               strcmp(ssq_comm_transport(r[0].comm), "nccl") == 0 &&
               ssq_comm_status(r[0].comm) == SSQ_OK,
           "%u ranks over nccl", n);
    for (int how = SSQ_COMM_SUM; how <= SSQ_COMM_MAX; how++)
        test_all_reduce(r, n, (ssq_comm_reduction)how);
    test_broadcast(r, n);
    test_pairs(r, n, SSQ_F32, SSQ_COMM_SUM, 1001);
    test_pairs(r, n, SSQ_BF16, SSQ_COMM_SUM, 33);
    test_pairs(r, n, SSQ_F16, SSQ_COMM_MAX, 5);
    test_pairs(r, n, SSQ_F32, SSQ_COMM_SUM, 0);
    test_order(r, n);
    test_graph(r, n);
    test_recording(r, n);
    test_training(r, n, "mixed_float16", false);
    test_training(r, n, "mixed_bfloat16", true);
    ranks_close(r, n);
}

int main(void)
{
    setenv("FAKECUDA_DEVICES", "3", 1);
    if (driver_missing("cuda"))
        return tap_done(0);
    test_group(2);
    test_group(3);
    test_compare(2);
    test_compare(3);
    test_between(2);
    test_between(3);
    test_lent(3);
    test_weights(3);
    nccl_clean();
    return tap_done(46);
}
