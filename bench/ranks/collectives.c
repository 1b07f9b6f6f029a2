/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c - collectives beside an MPI's, in turn.
 *
 * usage: mpirun -n N bench/ranks/collectives [OPTION...] [CASE...]
 *        bench/ranks/collectives --local N [OPTION...] [CASE...]
 *
 *   --device D    each rank's: cpu
 *   --seconds S   of a case, about: 1
 *   --depth N     calls between two syncs of the queue: 1
 *   --local N     ranks that are threads of this process; no MPI is asked
 *
 * A case is "OP DTYPE BYTES": all_reduce f32 1048576. Bytes count the
 * larger side. Without any: all_reduce of f32 and f16 from 1 KB to 256 MB.
 *
 * The loop is the OSU micro-benchmarks': a call is timed until its
 * result is available, then comes a barrier that is not timed; a round's result
 * is the mean over its calls and the ranks. Rounds of the library and of MPI
 * take turns, and the medians of both are in a line of JSON: median_s, mpi_s,
 * and of_mpi, how many times as long MPI takes. MPI has no type of 16 bits:
 * beside f16 it sums MPI_FLOAT of as many bytes. */
#include <mpi.h>

#include <sesqui.h>
#include <sesqui/mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 64, MOST_ROUNDS = 15 };

enum op { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER };

static const char *const op_names[] = {"all_reduce", "reduce_scatter",
                                       "all_gather"};

/* Data that the ranks of a run share. */
static struct {
    const char *device;
    double seconds;
    int depth, ranks;
    bool local;
    pthread_barrier_t barrier;  /* of local ranks */
    double told[MOST_RANKS];    /* a number of each local rank */
    ssq_comm *comm[MOST_RANKS]; /* theirs, once they are made */
    ssq_device *dev[MOST_RANKS];
} all = {.device = "cpu", .seconds = 1.0, .depth = 1};

/* ---- a rank ---- */

struct collectives_place {
    int rank;
    ssq_queue *queue;
    ssq_comm *comm;
    pthread_t thread;
    int n; /* cases */
    char **cases;
};

/** A case: x and y are the same where it is in place. */
struct collectives_work {
    enum op op;
    ssq_dtype dtype;
    int64_t bytes;
    ssq_tensor *x, *y;
    float *from, *to; /* MPI's */
};

static void need(ssq_status st, const char *what)
{
    if (st == SSQ_OK)
        return;
    (void)fprintf(stderr, "collectives: %s: %s: %s\n", what,
                  ssq_status_name(st), ssq_last_error());
    _exit(1); /* MPI_Finalize would wait for the others */
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for_all(void)
{
    if (all.local)
        pthread_barrier_wait(&all.barrier);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

/* The mean over ranks of each rank's value. */
static double mean_of(const struct collectives_place *p, double x)
{
    double sum = 0.0;
    if (!all.local) {
        MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return sum / all.ranks;
    }
    all.told[p->rank] = x;
    wait_for_all();
    for (int r = 0; r < all.ranks; r++)
        sum += all.told[r];
    wait_for_all();
    return sum / all.ranks;
}

/* ---- calls ---- */

static void call(const struct collectives_place *p,
                 const struct collectives_work *w)
{
    const ssq_tensor *const list[] = {w->x};
    ssq_status st = SSQ_OK;
    switch (w->op) {
    case ALL_REDUCE:
        st = ssq_comm_all_reduce(p->queue, p->comm,
                                 SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1));
        break;
    case REDUCE_SCATTER:
        st = ssq_comm_reduce_scatter(
            p->queue, p->comm, SSQ_COMM_REDUCE_SCATTER(.x = w->x, .y = w->y));
        break;
    case ALL_GATHER:
        st = ssq_comm_all_gather(p->queue, p->comm,
                                 SSQ_COMM_ALL_GATHER(.x = w->x, .y = w->y));
        break;
    }
    need(st, op_names[w->op]);
}

/* Seconds of a call, the mean of several. */
static double ours(const struct collectives_place *p,
                   const struct collectives_work *w, int calls)
{
    double spent = 0.0;
    for (int i = 0; i < calls; i += all.depth) {
        double began = now();
        for (int d = 0; d < all.depth; d++)
            call(p, w);
        need(ssq_queue_sync(p->queue), op_names[w->op]);
        spent += now() - began;
        wait_for_all();
    }
    return mean_of(p, spent / calls);
}

static double theirs(const struct collectives_place *p,
                     const struct collectives_work *w, int calls)
{
    int n = (int)(w->bytes / (int64_t)sizeof(float)), part = n / all.ranks;
    double spent = 0.0;
    for (int i = 0; i < calls; i++) {
        double began = now();
        if (w->op == ALL_REDUCE)
            MPI_Allreduce(w->from, w->to, n, MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
        else if (w->op == REDUCE_SCATTER)
            MPI_Reduce_scatter_block(w->from, w->to, part, MPI_FLOAT, MPI_SUM,
                                     MPI_COMM_WORLD);
        else
            MPI_Allgather(w->from, part, MPI_FLOAT, w->to, part, MPI_FLOAT,
                          MPI_COMM_WORLD);
        spent += now() - began;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return mean_of(p, spent / calls);
}

/* ---- a case ---- */

static bool read_case(const char *text, struct collectives_work *w)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    char op[24], dtype[8];
    long long bytes = 0;
    int known = 0;
    if (sscanf(text, "%23s %7s %lld", op, dtype, &bytes) != 3 || bytes < 1)
        return false;
    for (int i = 0; i < 3; i++) {
        if (strcmp(op, op_names[i]) == 0) {
            w->op = (enum op)i;
            known |= 1;
        }
        if (strcmp(dtype, dtypes[i]) == 0) {
            w->dtype = (ssq_dtype)(SSQ_F32 + i);
            known |= 2;
        }
    }
    w->bytes = bytes / (4 * all.ranks) * (4 * all.ranks); /* whole parts */
    return known == 3 && w->bytes > 0 && w->bytes <= (int64_t)1 << 32;
}

static ssq_tensor *tensor(const struct collectives_place *p,
                          const struct collectives_work *w, int64_t bytes)
{
    int64_t n = bytes * 8 / ssq_dtype_bits(w->dtype);
    ssq_tensor *t = NULL;
    need(ssq_tensor_create(all.dev[p->rank], w->dtype, 1, &n, &t), "tensor");
    need(ssq_fill(p->queue, SSQ_FILL(.x = t, .value = 0.0)), "fill");
    return t;
}

static void make(const struct collectives_place *p, struct collectives_work *w)
{
    int64_t part = w->bytes / all.ranks;
    w->x = tensor(p, w, w->op == ALL_GATHER ? part : w->bytes);
    w->y = w->op == ALL_REDUCE
               ? NULL
               : tensor(p, w, w->op == ALL_GATHER ? w->bytes : part);
    need(ssq_queue_sync(p->queue), "fill");
    w->from = malloc((size_t)w->bytes);
    w->to = malloc((size_t)w->bytes);
    if (w->from == NULL || w->to == NULL)
        need(SSQ_ERR_NOMEM, "MPI's operands");
    memset(w->from, 0, (size_t)w->bytes); /* its own pages */
    memset(w->to, 0, (size_t)w->bytes);
}

static void drop(struct collectives_work *w)
{
    ssq_tensor_destroy(&w->x);
    ssq_tensor_destroy(&w->y);
    free(w->from);
    free(w->to);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof(*seconds), by_value);
    return seconds[n / 2];
}

/* The first calls are not counted; the next say how many are. */
static int calls_of(const struct collectives_place *p,
                    const struct collectives_work *w)
{
    (void)ours(p, w, 2 * all.depth);
    if (!all.local)
        (void)theirs(p, w, 2);
    double one = ours(p, w, 4 * all.depth) + (all.local ? 0 : theirs(p, w, 4));
    double most = all.seconds / (MOST_ROUNDS * one + 1e-9);
    int n = most > 1000.0 ? 1000 : (int)most;
    return (n < 2 ? 2 : n) * all.depth;
}

static void run_case(const struct collectives_place *p, const char *text)
{
    struct collectives_work w = {.op = ALL_REDUCE};
    double we[MOST_ROUNDS], they[MOST_ROUNDS];
    if (!read_case(text, &w)) {
        if (p->rank == 0)
            (void)printf("{\"case\": \"%s\", \"skipped\": \"no case\"}\n",
                         text);
        return;
    }
    make(p, &w);
    int calls = calls_of(p, &w);
    for (int i = 0; i < MOST_ROUNDS; i++) {
        we[i] = ours(p, &w, calls);
        they[i] = all.local ? 0.0 : theirs(p, &w, calls / all.depth);
    }
    double a = median(we, MOST_ROUNDS), b = median(they, MOST_ROUNDS);
    drop(&w);
    if (p->rank != 0)
        return;
    (void)printf("{\"device\": \"%s\", \"transport\": \"%s\", \"ranks\": %d, "
                 "\"depth\": %d, \"case\": \"%s\", \"median_s\": %.9g",
                 all.device, ssq_comm_transport(p->comm), all.ranks, all.depth,
                 text, a);
    if (!all.local)
        (void)printf(", \"mpi_s\": %.9g, \"of_mpi\": %.3f", b, b / a);
    (void)printf("}\n");
    (void)fflush(stdout);
}

static void *run_cases(void *place)
{
    struct collectives_place *p = place;
    char text[64];
    need(ssq_queue_create(all.dev[p->rank], NULL, &p->queue), "queue");
    for (int i = 0; i < p->n; i++)
        run_case(p, p->cases[i]);
    for (int d = 0; d < 2 && p->n == 0; d++)
        for (int64_t bytes = 1024; bytes <= (int64_t)256 << 20; bytes *= 4) {
            (void)snprintf(text, sizeof(text), "all_reduce %s %lld",
                           d == 0 ? "f32" : "f16", (long long)bytes);
            run_case(p, text);
        }
    ssq_comm_destroy(&p->comm);
    ssq_queue_destroy(&p->queue);
    ssq_device_close(&all.dev[p->rank]);
    return NULL;
}

/* ---- ranks ---- */

static void run_local(int n, char **cases)
{
    static struct collectives_place p[MOST_RANKS];
    pthread_barrier_init(&all.barrier, NULL, (unsigned)all.ranks);
    for (int r = 0; r < all.ranks; r++)
        need(ssq_device_open(all.device, NULL, &all.dev[r]), all.device);
    need(ssq_comm_local_create(all.dev, (unsigned)all.ranks, NULL, all.comm),
         "group");
    for (int r = 0; r < all.ranks; r++) {
        p[r] = (struct collectives_place){
            .rank = r, .comm = all.comm[r], .n = n, .cases = cases};
        if (pthread_create(&p[r].thread, NULL, run_cases, &p[r]) != 0)
            need(SSQ_ERR_NOMEM, "thread");
    }
    for (int r = 0; r < all.ranks; r++)
        pthread_join(p[r].thread, NULL);
}

static void run_mpi(int n, char **cases)
{
    struct collectives_place p = {.n = n, .cases = cases};
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all.ranks);
    if (all.ranks > MOST_RANKS)
        need(SSQ_ERR_INVALID, "more than 64 ranks");
    need(ssq_device_open(all.device, NULL, &all.dev[p.rank]), all.device);
    need(ssq_comm_mpi_create(all.dev[p.rank], MPI_COMM_WORLD, NULL, &p.comm),
         "group");
    run_cases(&p);
}

static int usage(const char *program, const char *option)
{
    (void)fprintf(stderr,
                  "%s: %s: expected --device D, --seconds S, --depth N or "
                  "--local N of at most %d\n",
                  program, option, MOST_RANKS);
    return 2;
}

int main(int argc, char **argv)
{
    int level = 0, at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const char *value = argv[at + 1];
        if (strcmp(argv[at], "--device") == 0)
            all.device = value;
        else if (strcmp(argv[at], "--seconds") == 0)
            all.seconds = atof(value);
        else if (strcmp(argv[at], "--depth") == 0)
            all.depth = atoi(value) > 1 ? atoi(value) : 1;
        else if (strcmp(argv[at], "--local") == 0)
            all.ranks = atoi(value);
        else
            return usage(argv[0], argv[at]);
    }
    all.local = all.ranks > 0;
    if (all.ranks < 0 || all.ranks > MOST_RANKS)
        return usage(argv[0], "--local");
    if (all.local) {
        run_local(argc - at, argv + at);
        return 0;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    run_mpi(argc - at, argv + at);
    MPI_Finalize();
    return 0;
}
