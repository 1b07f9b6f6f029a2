/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - what a step of training costs with its ranks' sums behind the
 * backward, with buckets beneath it, and with neither.
 *
 * usage: mpirun -n N bench/ranks/overlap [OPTION...]
 *
 *   --device D   each rank's: cpu
 *   --policy P   mixed_bfloat16
 *   --layers N   linear ones, each of WIDTH x WIDTH: 8
 *   --width N    1024
 *   --batch N    rows of each rank: 256
 *   --bucket B   bytes: 26214400
 *   --link MB    megabytes that a message moves in a second: 0, as fast as they
 *                go. A slow link is made by sleeping before each is sent
 *   --rounds N   11
 *   --shard      optimizers are distributed
 *
 * A step of each of three trainers is timed until its queue is done, in turn:
 * alone has no communicator and takes its own batch, whole sums all behind the
 * backward, and buckets does not. A line of JSON has the medians of the rounds,
 * of the mean over ranks, and hidden: the part of what whole takes longer than
 * alone that buckets does not. */
#include <mpi.h>

#include <sesqui.h>
#include <sesqui/mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ALONE, WHOLE, BUCKETS, KINDS, MOST_ROUNDS = 99 };

static struct {
    const char *device, *policy;
    int layers, rounds;
    int64_t width, batch;
    uint64_t bucket;
    double link; /* megabytes in a second; 0: no sleep */
    bool shard;
} all = {.device = "cpu",
         .policy = "mixed_bfloat16",
         .layers = 8,
         .rounds = 11,
         .width = 1024,
         .batch = 256,
         .bucket = 26214400};

/* In the place of MPI's, which calls of its library find first. It is the
 * communicator's thread that sleeps. */
int MPI_Isend(const void *bytes, int n, MPI_Datatype type, int rank, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    int size = 1;
    MPI_Type_size(type, &size);
    if (all.link > 0.0) {
        double seconds = (double)n * size / (all.link * 1e6);
        struct timespec t = {.tv_sec = (time_t)seconds};
        t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
        nanosleep(&t, NULL);
    }
    return PMPI_Isend(bytes, n, type, rank, tag, comm, request);
}

static void need(ssq_status st, const char *what)
{
    if (st == SSQ_OK)
        return;
    (void)fprintf(stderr, "overlap: %s: %s: %s\n", what, ssq_status_name(st),
                  ssq_last_error());
    _exit(1); /* MPI_Finalize would wait for the others */
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a trainer ---- */

struct overlap_rank {
    ssq_device *dev;
    ssq_queue *queue;
    ssq_comm *comm;
    ssq_tensor *x;
    ssq_trainer *trainer[KINDS];
};

static void make(struct overlap_rank *r)
{
    const int64_t shape[] = {all.batch, all.width};
    need(ssq_device_open(all.device, NULL, &r->dev), all.device);
    need(ssq_queue_create(r->dev, NULL, &r->queue), "queue");
    need(ssq_comm_mpi_create(r->dev, MPI_COMM_WORLD, NULL, &r->comm), "group");
    need(ssq_tensor_create(r->dev, SSQ_F32, 2, shape, &r->x), "batch");
    need(ssq_random_normal(r->queue, SSQ_RANDOM_NORMAL(.x = r->x, .seed = 1)),
         "batch");
    for (int k = 0; k < KINDS; k++)
        need(ssq_trainer_create(
                 r->queue,
                 SSQ_TRAINER(.policy = all.policy, .options.lr = 1e-4,
                             .comm = k == ALONE ? NULL : r->comm,
                             .shard = k != ALONE && all.shard,
                             .bucket_bytes = k == BUCKETS ? all.bucket : 0),
                 &r->trainer[k]),
             "trainer");
}

static void drop(struct overlap_rank *r)
{
    for (int k = 0; k < KINDS; k++)
        ssq_trainer_destroy(&r->trainer[k]);
    ssq_tensor_destroy(&r->x);
    ssq_comm_destroy(&r->comm);
    ssq_queue_destroy(&r->queue);
    ssq_device_close(&r->dev);
}

/* Seconds of a step, the mean over ranks. */
static double step(const struct overlap_rank *r, int kind)
{
    char name[16];
    double mean, began;
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    began = now();
    ssq_tape *t = ssq_trainer_begin(r->trainer[kind]);
    ssq_var h = ssq_var_input(t, r->x);
    for (int i = 0; i < all.layers; i++) {
        (void)snprintf(name, sizeof(name), "fc%d", i);
        h = ssq_relu_var(ssq_nn_linear(t, name, h, all.width, NULL));
    }
    ssq_var loss = ssq_sum_var(ssq_mul_var(h, h), NULL);
    need(ssq_trainer_step(r->trainer[kind], loss), "step");
    need(ssq_queue_sync(r->queue), "step");
    double took = now() - began;
    MPI_Allreduce(&took, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return mean / ranks;
}

/* ---- the whole ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first steps make memory, and are not divided. */
static void run(const struct overlap_rank *r, double median[KINDS])
{
    static double took[KINDS][MOST_ROUNDS];
    for (int warm = 0; warm < 3; warm++)
        for (int k = 0; k < KINDS; k++)
            (void)step(r, k);
    for (int i = 0; i < all.rounds; i++)
        for (int k = 0; k < KINDS; k++)
            took[k][i] = step(r, k);
    for (int k = 0; k < KINDS; k++) {
        qsort(took[k], (size_t)all.rounds, sizeof(double), by_value);
        median[k] = took[k][all.rounds / 2];
    }
}

static int usage(const char *program)
{
    (void)fprintf(stderr,
                  "usage: mpirun -n N %s [--device D] [--policy P] "
                  "[--layers N] [--width N] [--batch N] [--bucket B] "
                  "[--link MB] [--rounds N, at most %d] [--shard]\n",
                  program, MOST_ROUNDS);
    return 2;
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--shard") == 0) {
            all.shard = true;
            continue;
        }
        if (strcmp(argv[i], "--device") == 0)
            all.device = value;
        else if (strcmp(argv[i], "--policy") == 0)
            all.policy = value;
        else if (strcmp(argv[i], "--layers") == 0)
            all.layers = atoi(value);
        else if (strcmp(argv[i], "--width") == 0)
            all.width = atoll(value);
        else if (strcmp(argv[i], "--batch") == 0)
            all.batch = atoll(value);
        else if (strcmp(argv[i], "--bucket") == 0)
            all.bucket = (uint64_t)atoll(value);
        else if (strcmp(argv[i], "--link") == 0)
            all.link = atof(value);
        else if (strcmp(argv[i], "--rounds") == 0)
            all.rounds = atoi(value);
        else
            return false;
        i++;
    }
    return all.layers > 0 && all.width > 0 && all.batch > 0 && all.rounds > 0 &&
           all.rounds <= MOST_ROUNDS;
}

int main(int argc, char **argv)
{
    struct overlap_rank r = {.dev = NULL};
    double t[KINDS];
    int level = 0, rank = 0, ranks = 0;
    if (!read_options(argc, argv))
        return usage(argv[0]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make(&r);
    run(&r, t);
    drop(&r);
    double more = t[WHOLE] - t[ALONE];
    if (rank == 0)
        (void)printf(
            "{\"device\": \"%s\", \"policy\": \"%s\", \"ranks\": %d, "
            "\"layers\": %d, \"width\": %lld, \"batch\": %lld, \"bucket\": "
            "%llu, \"link_mb_s\": %g, \"shard\": %s, \"alone_s\": %.6g, "
            "\"whole_s\": %.6g, \"buckets_s\": %.6g, \"hidden\": %.3f}\n",
            all.device, all.policy, ranks, all.layers, (long long)all.width,
            (long long)all.batch, (unsigned long long)all.bucket, all.link,
            all.shard ? "true" : "false", t[ALONE], t[WHOLE], t[BUCKETS],
            (t[WHOLE] - t[BUCKETS]) / more);
    MPI_Finalize();
    return 0;
}
