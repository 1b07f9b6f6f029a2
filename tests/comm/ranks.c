/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - a program for tests/comm/mpi.sh: ranks that are processes, or the
 * same ones as threads of one, so that their bits can be compared.
 *
 * usage: ranks HOW DEVICE...   under mpirun; rank r is on DEVICE r
 *        ranks local DEVICE... a rank for each, in this process
 *
 * HOW is one of these; a surviving rank prints "rank R: ", and the text,
 * and ends:
 *
 * - whole: all collectives, and trainings; rank 0 prints the digest of all;
 * - late: the last rank comes after the others' time;
 * - shapes: it has another tensor;
 * - killed: it dies between two collectives;
 * - killed-within: in one;
 * - left: it destroys its communicator;
 * - absent: it makes none;
 * - alone: an MPI without threads;
 * - null, between, over: nothing that a communicator could be made of;
 * - finalized: MPI ends before the communicator.
 */

#include <mpi.h>

#include <sesqui/mpi.h>
#include <sesqui/trainer.h>

#include <pthread.h>

#include "tests/comm/comm.h"

enum { TENSORS = 4 };

static const ssq_dtype dtypes[TENSORS] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_F32};
static const int64_t sizes[TENSORS] = {70001, 5, 3001, 129};

/* ---- all of it ---- */

struct ranks_place {
    ssq_device *dev;
    ssq_queue *queue;
    ssq_comm *comm;
    pthread_t thread;
    uint64_t digest;
};

/* FNV-1a of a tensor's contents. */
static void digest(struct ranks_place *p, const ssq_tensor *x)
{
    size_t bytes = (size_t)ssq_tensor_elements(x) *
                   ssq_dtype_bits(ssq_tensor_dtype(x)) / 8;
    unsigned char *b = malloc(bytes);

    if (b == NULL)
        tap_bail("no memory");
    NEED(ssq_tensor_read(p->queue, x, b, bytes, ssq_tensor_dtype(x)));
    NEED(ssq_queue_sync(p->queue));
    for (size_t i = 0; i < bytes; i++)
        p->digest = (p->digest ^ b[i]) * UINT64_C(0x100000001b3);
    free(b);
}

static void digest_all(struct ranks_place *p, const ssq_trainer *trainer)
{
    for (size_t i = 0; i < ssq_params_count(ssq_trainer_params(trainer)); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(ssq_trainer_params(trainer), i, &info));
        digest(p, info.tensor);
    }
}

static ssq_tensor *filled(struct ranks_place *p, int t, unsigned rank)
{
    ssq_tensor *x = core_vector(p->dev, dtypes[t], sizes[t]);

    NEED(ssq_random_normal(
        p->queue, SSQ_RANDOM_NORMAL(.x = x, .seed = rank, .id = (uint32_t)t)));
    return x;
}

static void all_lists(struct ranks_place *p, ssq_tensor **x)
{
    for (int op = SSQ_COMM_SUM; op <= SSQ_COMM_MAX; op++) {
        NEED(ssq_comm_all_reduce(
            p->queue, p->comm,
            SSQ_COMM_ALL_REDUCE(.tensors = (const ssq_tensor *const *)x,
                                .n = TENSORS,
                                .reduction = (ssq_comm_reduction)op,
                                .tag = "list")));
        for (int t = 0; t < TENSORS; t++)
            digest(p, x[t]);
        NEED(ssq_random_normal(
            p->queue, SSQ_RANDOM_NORMAL(.x = x[0], .seed = 7,
                                        .id = ssq_comm_rank(p->comm))));
    }
    NEED(ssq_comm_broadcast(
        p->queue, p->comm,
        SSQ_COMM_BROADCAST(.tensors = (const ssq_tensor *const *)x,
                           .n = TENSORS, .root = 1)));
    digest(p, x[0]);
}

static void all_parts(struct ranks_place *p, const ssq_tensor *x)
{
    unsigned size = ssq_comm_size(p->comm);
    ssq_tensor *whole = NULL;
    ssq_tensor *part = core_vector(p->dev, SSQ_BF16, 3000 / size);

    NEED(ssq_tensor_slice(x, 0, 0, 3000 / size * size, 1, &whole));
    NEED(ssq_comm_reduce_scatter(
        p->queue, p->comm, SSQ_COMM_REDUCE_SCATTER(.x = whole, .y = part)));
    NEED(ssq_comm_all_gather(p->queue, p->comm,
                             SSQ_COMM_ALL_GATHER(.x = part, .y = whole)));
    digest(p, whole);
    ssq_tensor_destroy(&part);
    ssq_tensor_destroy(&whole);
}

/* Three steps of a small net, with batches of the rank's own, and statistics of
 * all; with shards or without, which is the same. */
static void all_training(struct ranks_place *p, bool shard)
{
    const int64_t shape[] = {8, 12};
    ssq_trainer *trainer = NULL;
    ssq_tensor *x = NULL, *y = core_vector(p->dev, SSQ_I32, 8);

    NEED(ssq_tensor_create(p->dev, SSQ_F32, 2, shape, &x));
    NEED(ssq_fill(p->queue, SSQ_FILL(.x = y, .value = 1)));
    NEED(ssq_trainer_create(
        p->queue,
        SSQ_TRAINER(.policy = "mixed_float16", .options.clip_norm = 0.1,
                    .comm = p->comm, .shard = shard, .bucket_bytes = 300,
                    .compare_every = 3),
        &trainer));
    for (uint32_t step = 0; step < 3; step++) {
        NEED(ssq_random_normal(
            p->queue, SSQ_RANDOM_NORMAL(.x = x, .seed = step,
                                        .id = ssq_comm_rank(p->comm))));
        ssq_tape *t = ssq_trainer_begin(trainer);
        ssq_var h = ssq_nn_linear(t, "fc1", ssq_var_input(t, x), 32, NULL);
        h = ssq_nn_batch_norm(t, "norm", h, SSQ_BATCH_NORM(.comm = p->comm));
        h = ssq_nn_dropout(t, ssq_relu_var(h), 0.25);
        h = ssq_nn_linear(t, "fc2", h, 4, NULL);
        NEED(ssq_trainer_step(
            trainer, ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = y))));
    }
    digest_all(p, trainer);
    ssq_trainer_destroy(&trainer);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
}

/* Of a rank's batch: ranks have 3, 5, 1, 3, .. each, of which the last
 * is small. */
static int64_t joined_rows(unsigned rank, uint32_t batch)
{
    static const uint32_t batches[] = {3, 5, 1};
    uint32_t n = batches[rank % 3];

    return batch + 1 < n ? 8 : batch + 1 == n ? 2 + (int64_t)rank : 0;
}

static void joined_pass(struct ranks_place *p, ssq_trainer *trainer,
                        const ssq_tensor *x, uint32_t batch, int64_t rows)
{
    ssq_tensor *some = NULL;

    NEED(ssq_random_normal(p->queue,
                           SSQ_RANDOM_NORMAL(.x = x, .seed = batch,
                                             .id = ssq_comm_rank(p->comm))));
    NEED(ssq_tensor_slice(x, 0, 0, rows, 1, &some));
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var h = ssq_nn_linear(t, "fc", ssq_var_input(t, some), 3, NULL);
    NEED(ssq_trainer_step(trainer, ssq_mean_var(ssq_square_var(h), NULL)));
    ssq_tensor_destroy(&some);
}

/* They end together. */
static void all_joined(struct ranks_place *p, bool shard)
{
    const int64_t shape[] = {8, 12};
    const unsigned rank = ssq_comm_rank(p->comm);
    ssq_trainer *trainer = NULL;
    ssq_tensor *x = NULL;
    int64_t all = 0;

    NEED(ssq_tensor_create(p->dev, SSQ_F32, 2, shape, &x));
    NEED(ssq_trainer_create(
        p->queue, SSQ_TRAINER(.comm = p->comm, .shard = shard), &trainer));
    NEED(ssq_trainer_announce(trainer, joined_rows(rank, 0)));
    for (uint32_t b = 0;; b++) {
        int64_t rows = joined_rows(rank, b);
        NEED(ssq_trainer_next(trainer, &all));
        if (all == 0)
            break;
        NEED(ssq_trainer_announce(trainer, joined_rows(rank, b + 1)));
        if (rows > 0)
            joined_pass(p, trainer, x, b, rows);
        else
            NEED(ssq_trainer_idle(trainer));
    }
    digest_all(p, trainer);
    ssq_trainer_destroy(&trainer);
    ssq_tensor_destroy(&x);
}

/* Ranks end with the same digest, and have it compared. */
static void *whole(void *place)
{
    struct ranks_place *p = place;
    ssq_tensor *x[TENSORS];
    char text[32];

    p->digest = UINT64_C(0xcbf29ce484222325);
    for (int t = 0; t < TENSORS; t++)
        x[t] = filled(p, t, ssq_comm_rank(p->comm));
    all_lists(p, x);
    all_parts(p, x[2]);
    uint64_t before = p->digest, after[2];
    for (int shard = 0; shard < 2; shard++) {
        p->digest = before;
        all_training(p, shard == 1);
        all_joined(p, shard == 1);
        after[shard] = p->digest;
    }
    if (after[0] != after[1])
        tap_bail("rank %u: shards have other bits", ssq_comm_rank(p->comm));
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)p->digest);
    const ssq_comm_fact fact = {"digest", text};
    NEED(ssq_comm_compare(p->queue, p->comm, &fact, 1, "digest"));
    NEED(ssq_comm_barrier(p->queue, p->comm, "end"));
    NEED(ssq_queue_sync(p->queue));
    for (int t = 0; t < TENSORS; t++)
        ssq_tensor_destroy(&x[t]);
    return NULL;
}

/* ---- failures ---- */

static _Noreturn void survive(unsigned rank, ssq_status st)
{
    char line[1200]; /* in one piece: others write, too */

    snprintf(line, sizeof(line), "rank %u: %s: %s\n", rank, ssq_status_name(st),
             st == SSQ_OK ? "" : ssq_last_error());
    fputs(line, stdout);
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for the missing rank */
}

static void fail(struct ranks_place *p, const char *how)
{
    unsigned rank = ssq_comm_rank(p->comm);
    bool last = rank == ssq_comm_size(p->comm) - 1;
    bool other = last && strcmp(how, "shapes") == 0;
    ssq_tensor *x = core_vector(p->dev, SSQ_F32, other ? 500001 : 500000);
    const ssq_tensor *const list[] = {x};
    const ssq_comm_all_reduce_args *args =
        SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1, .tag = "grads");

    NEED(ssq_fill(p->queue, SSQ_FILL(.x = x, .value = 1)));
    NEED(ssq_comm_barrier(p->queue, p->comm, "begin"));
    NEED(ssq_queue_sync(p->queue));
    if (last && strcmp(how, "late") == 0)
        sleep(3);
    if (last && strcmp(how, "left") == 0) {
        ssq_comm_destroy(&p->comm);
        sleep(2);
        _exit(0);
    }
    if (last && strcmp(how, "killed") == 0)
        raise(SIGKILL);
    for (int i = 0; i < (last && strcmp(how, "killed-within") == 0 ? 40 : 400);
         i++)
        if (ssq_comm_all_reduce(p->queue, p->comm, args) != SSQ_OK)
            break;
    if (last && strcmp(how, "killed-within") == 0)
        raise(SIGKILL);
    survive(rank, ssq_queue_sync(p->queue));
}

/* ---- communicators that are not made ---- */

/* MPI itself answers to all of these by the end of the process. */
static ssq_status no_comm(struct ranks_place *p, const char *how,
                          const ssq_comm_options *options)
{
    MPI_Comm one, two, mpi_comm = MPI_COMM_NULL;
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "between") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &one);
        MPI_Comm_dup(MPI_COMM_WORLD, &two);
        MPI_Intercomm_create(one, 0, two, 1 - rank % 2, 1, &mpi_comm);
    }
    if (strcmp(how, "over") == 0)
        MPI_Finalize();
    return ssq_comm_mpi_create(p->dev, mpi_comm, options, &p->comm);
}

/* The last rank does not come, and lives on for longer than it is waited
 * for. */
static ssq_status absent(struct ranks_place *p, const ssq_comm_options *options)
{
    int rank = 0, size = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        sleep(2);
        _exit(0);
    }
    return ssq_comm_mpi_create(p->dev, MPI_COMM_WORLD, options, &p->comm);
}

static ssq_status finalized(struct ranks_place *p)
{
    ssq_tensor *x = core_vector(p->dev, SSQ_F32, 500000);
    const ssq_tensor *const list[] = {x};
    const ssq_comm_all_reduce_args *args =
        SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1, .tag = "late");

    NEED(ssq_comm_barrier(p->queue, p->comm, "begin"));
    NEED(ssq_queue_sync(p->queue));
    MPI_Finalize();
    NEED(ssq_comm_all_reduce(p->queue, p->comm, args));
    ssq_status st = ssq_queue_sync(p->queue);
    ssq_comm_destroy(&p->comm);
    return st;
}

/* ---- ranks ---- */

static void run_local(int n, char **names)
{
    static struct ranks_place p[MOST_RANKS];
    ssq_device *dev[MOST_RANKS];
    ssq_comm *comm[MOST_RANKS];

    for (int r = 0; r < n; r++)
        dev[r] = core_open(names[r]);
    NEED(ssq_comm_local_create(dev, (unsigned)n, NULL, comm));
    for (int r = 0; r < n; r++) {
        p[r] = (struct ranks_place){.dev = dev[r], .comm = comm[r]};
        p[r].queue = core_queue(dev[r]);
        if (pthread_create(&p[r].thread, NULL, whole, &p[r]) != 0)
            tap_bail("no thread");
    }
    for (int r = 0; r < n; r++)
        pthread_join(p[r].thread, NULL);
    printf("digest %016llx\n", (unsigned long long)p[0].digest);
    for (int r = 0; r < n; r++) {
        ssq_comm_destroy(&comm[r]);
        ssq_queue_destroy(&p[r].queue);
        ssq_device_close(&dev[r]);
    }
}

static void run_rank(const char *how, int n, char **names)
{
    int rank = 0;
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    struct ranks_place p = {.digest = 0};

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    options.timeout = strcmp(how, "whole") == 0    ? 60
                      : strcmp(how, "late") == 0   ? 1
                      : strcmp(how, "absent") == 0 ? 1
                      : strcmp(how, "left") == 0   ? 20
                      : strcmp(how, "shapes") == 0 ? 20
                                                   : 3;
    p.dev = core_open(names[rank % n]);
    p.queue = core_queue(p.dev);
    if (strcmp(how, "alone") == 0)
        survive((unsigned)rank,
                ssq_comm_mpi_create(p.dev, MPI_COMM_WORLD, NULL, &p.comm));
    if (strcmp(how, "null") == 0 || strcmp(how, "between") == 0 ||
        strcmp(how, "over") == 0)
        survive((unsigned)rank, no_comm(&p, how, &options));
    MPI_Barrier(MPI_COMM_WORLD); /* their time begins together */
    if (strcmp(how, "absent") == 0)
        survive((unsigned)rank, absent(&p, &options));
    NEED(ssq_comm_mpi_create(p.dev, MPI_COMM_WORLD, &options, &p.comm));
    if (strcmp(how, "finalized") == 0)
        survive((unsigned)rank, finalized(&p));
    if (strcmp(how, "whole") != 0)
        fail(&p, how);
    whole(&p);
    if (rank == 0)
        printf("digest %016llx\n", (unsigned long long)p.digest);
    ssq_comm_destroy(&p.comm);
    ssq_queue_destroy(&p.queue);
    ssq_device_close(&p.dev);
}

int main(int argc, char **argv)
{
    int level = 0;

    if (argc < 3 || argc > 2 + MOST_RANKS)
        return 2;
    if (strcmp(argv[1], "local") == 0) {
        run_local(argc - 2, argv + 2);
        return 0;
    }
    signal(SIGUSR1, SIG_IGN); /* MPICH's launcher sends it when one has died */
    MPI_Init_thread(&argc, &argv,
                    strcmp(argv[1], "alone") == 0 ? MPI_THREAD_SINGLE
                                                  : MPI_THREAD_MULTIPLE,
                    &level);
    run_rank(argv[1], argc - 2, argv + 2);
    MPI_Finalize();
    return 0;
}
