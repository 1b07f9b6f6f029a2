/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_fail.c - what goes wrong over NCCL, by the stand-ins: ranks that do not
 * come, die, leave or call something else, errors of the library at every
 * stage, and misuse. A surviving rank has a text with the known facts, in
 * time. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sesqui/cuda.h>

#include "tests/comm/nccl.h"

/* Seconds. SHORT is a timeout that must pass; PATIENT is one that first has to
 * let ranks connect on a busy machine. No test takes LIMIT: only upper ends are
 * asserted. */
#define SHORT   0.3
#define PATIENT 2.0
#define LIMIT   20.0

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- processes: before this one has a driver ---- */

struct alive {
    unsigned char id[SSQ_NCCL_ID_BYTES];
    volatile int ready;
    char text[1024];
};

/* Rank 1 dies between two sums, and rank 0 hears of it. */
static int process(struct alive *a, unsigned rank)
{
    struct rank r;
    struct nccl_joining j = {.timeout = 2.0};

    rank_open(&r, rank, 2, rank);
    if (rank == 0) {
        NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
        memcpy(a->id, j.id, sizeof(a->id));
        __sync_synchronize();
        a->ready = 1;
    }
    while (!a->ready)
        usleep(1000);
    memcpy(j.id, a->id, sizeof(j.id));
    rank_join(&r, &j);
    NEED(r.status);
    ssq_tensor *x = rank_vector(&r, SSQ_F32, 40000, rank + 1.0);
    NEED(rank_reduce(&r, x, SSQ_COMM_SUM, "both"));
    if (rank_first(&r, x) != 3.0f)
        return 2;
    if (rank == 1)
        raise(SIGKILL);
    (void)!rank_reduce(&r, x, SSQ_COMM_SUM, "alone");
    rank_note(&r, ssq_queue_sync(r.queue));
    snprintf(a->text, sizeof(a->text), "%s", r.text);
    ssq_tensor_destroy(&x);
    ranks_close(&r, 1);
    return r.status == SSQ_ERR_COMM ? 0 : 3;
}

static void test_killed(void)
{
    struct alive *a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[2];
    int status[2] = {-1, -1};
    double begin = now();

    fflush(NULL);
    for (unsigned rank = 0; rank < 2; rank++) {
        pid[rank] = fork();
        if (pid[rank] == 0) {
            alarm(60);
            _exit(process(a, rank));
        }
    }
    for (unsigned rank = 0; rank < 2; rank++)
        waitpid(pid[rank], &status[rank], 0);
    tap_ok(tap_exited(status[0], 0) && tap_killed(status[1], SIGKILL) &&
               core_has(a->text, "all_reduce sum number 2 \"alone\"") &&
               core_has(a->text, "rank 0 of 2") && now() - begin < LIMIT,
           "a process is killed, the other hears in %.1f s: %s (%s, %s)",
           now() - begin, a->text, tap_status(status[0]),
           tap_status(status[1]));
    munmap(a, sizeof(*a));
}

/* ---- joining ---- */

static void test_joining(void)
{
    struct rank r[2];
    struct nccl_joining j = {.timeout = SHORT};
    double begin = now();

    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    rank_open(&r[0], 0, 2, 0);
    rank_join(&r[0], &j);
    tap_ok(r[0].status == SSQ_ERR_COMM && core_has(r[0].text, "rank 0 of 2") &&
               core_has(r[0].text, "0.3 seconds") && now() - begin < LIMIT,
           "a rank that never comes: %s", r[0].text);
    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    rank_open(&r[1], 1, 2, 0);
    j.timeout = 10;
    ranks_do(r, 2, rank_join, &j);
    for (int i = 0; i < 2; i++)
        tap_ok(r[i].status == SSQ_ERR_COMM &&
                   core_has(r[i].text, "invalid usage (5)") &&
                   core_has(r[i].text, "Duplicate GPU"),
               "two ranks on one GPU, rank %d: %s", i, r[i].text);
    ranks_close(r, 2);
}

static void test_library(void)
{
    struct rank r;
    struct nccl_joining j = {.timeout = 10};

    setenv("FAKENCCL_VERSION", "21207", 1);
    core_status(ssq_comm_nccl_id(j.id, sizeof(j.id)), SSQ_ERR_UNSUPPORTED,
                "libnccl.so.2 is NCCL 2.12.7|2.14 or later of 2.x is needed",
                "a library too old: %s", ssq_last_error());
    setenv("FAKENCCL_VERSION", "2804", 1);
    core_status(ssq_comm_nccl_id(j.id, sizeof(j.id)), SSQ_ERR_UNSUPPORTED,
                "is NCCL 2.8.4", "and one with a version of the old form");
    setenv("FAKENCCL_VERSION", "30100", 1);
    core_status(ssq_comm_nccl_id(j.id, sizeof(j.id)), SSQ_ERR_UNSUPPORTED,
                "is NCCL 3.1.0|2.x is known", "one that nobody knows");
    unsetenv("FAKENCCL_VERSION");
    setenv("FAKENCCL_FAIL", "id", 1);
    core_status(ssq_comm_nccl_id(j.id, sizeof(j.id)), SSQ_ERR_COMM,
                "ncclGetUniqueId|unhandled system error (2)|socket",
                "no id: %s", ssq_last_error());
    setenv("FAKENCCL_FAIL", "init", 1);
    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    rank_open(&r, 0, 1, 0);
    rank_join(&r, &j);
    tap_ok(r.status == SSQ_ERR_COMM &&
               core_has(r.text, "rank 0 of 1: ncclCommInitRankConfig") &&
               core_has(r.text, "Call to connect failed"),
           "no communicator: %s", r.text);
    unsetenv("FAKENCCL_FAIL");
    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    rank_join(&r, &j);
    NEED(r.status);
    ssq_tensor *x = rank_vector(&r, SSQ_F32, 10, 1.0);
    setenv("FAKENCCL_FAIL", "group", 1);
    core_status(rank_reduce(&r, x, SSQ_COMM_SUM, "g"), SSQ_ERR_COMM,
                "all_reduce sum number 1 \"g\", rank 0 of 1|ncclGroupEnd|"
                "internal error (3)",
                "a call that NCCL refuses: %s", ssq_last_error());
    unsetenv("FAKENCCL_FAIL");
    core_status(rank_reduce(&r, x, SSQ_COMM_SUM, "h"), SSQ_ERR_COMM,
                "ncclGroupEnd", "the group has ended: later calls say so");
    core_status(ssq_comm_status(r.comm), SSQ_ERR_COMM, "ncclGroupEnd",
                "and its status does");
    struct CUstream_st *stream = NULL;
    core_status(ssq_cuda_queue_stream(r.queue, &stream), SSQ_ERR_COMM,
                "ncclGroupEnd", "asking for its stream says so");
    core_status(ssq_queue_sync(r.queue), SSQ_ERR_COMM, "ncclGroupEnd",
                "and the queue's");
    ssq_tensor_destroy(&x);
    ranks_close(&r, 1);
}

/* ---- collectives that do not end ---- */

enum trouble { ABSENT, ANOTHER, LEFT, BROKEN, LEAVES, SLEEPS };

/* The library has failed on rank 1, which was the first to sum. */
static atomic_bool broken;

/* Rank 1 makes the trouble, the others sum. */
static void troubled(struct rank *r, void *arg)
{
    enum trouble trouble = *(const enum trouble *)arg;
    bool makes = r->rank == 1;
    /* no one has the sum before it comes: work in progress stays so */
    bool stays_away = makes && (trouble == ABSENT || trouble == LEAVES);
    ssq_tensor *x = rank_vector(r, SSQ_F32, 20000, 1.0);

    /* the first calls connect the ranks, and wait for them */
    for (int i = 0; i < 3; i++)
        NEED(rank_reduce(r, x, SSQ_COMM_SUM, "good"));
    NEED(ssq_queue_sync(r->queue));
    rank_note(r, SSQ_OK);
    if (trouble == LEFT && makes)
        ssq_comm_destroy(&r->comm);
    else if (trouble == SLEEPS && makes)
        usleep(300000);
    while (trouble == BROKEN && !makes && !atomic_load(&broken))
        sched_yield();
    if (trouble == ANOTHER && makes)
        (void)!ssq_comm_barrier(r->queue, r->comm, "other");
    else if (!stays_away && r->comm != NULL)
        (void)!rank_reduce(r, x, SSQ_COMM_SUM, "bad");
    if (trouble == BROKEN && makes)
        fakenccl_break((int)r->rank, ncclRemoteError);
    if (trouble == LEAVES && !makes)
        ssq_comm_destroy(&r->comm); /* with its sum in progress */
    rank_note(r, ssq_queue_sync(r->queue));
    if (makes)
        atomic_store(&broken, true);
    ssq_tensor_destroy(&x);
}

static void test_trouble(enum trouble trouble, const char *name,
                         const char *part)
{
    struct rank r[3];
    double begin;

    ranks_open(r, 3, trouble == SLEEPS || trouble == LEAVES ? 30 : PATIENT);
    begin = now();
    atomic_store(&broken, false);
    ranks_do(r, 3, troubled, &trouble);
    for (unsigned i = 0; i < 3; i += 2)
        tap_ok((trouble == SLEEPS ? r[i].status == SSQ_OK
                                  : r[i].status == SSQ_ERR_COMM) &&
                   core_has(r[i].text, part) && now() - begin < LIMIT,
               "%s: rank %u after %.1f s: %s", name, i, now() - begin,
               r[i].text);
    if (trouble == BROKEN)
        tap_ok(r[1].status == SSQ_ERR_COMM && core_has(r[1].text, "\"bad\"") &&
                   core_has(r[1].text, "network error (6)"),
               "and on that one: %s", r[1].text);
    ranks_close(r, 3);
}

/* A device's own failure is the queue's, too. */
static void test_device(void)
{
    struct rank r;
    struct nccl_joining j = {.timeout = 10};

    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    rank_open(&r, 0, 1, 2);
    rank_join(&r, &j);
    NEED(r.status);
    ssq_tensor *x = rank_vector(&r, SSQ_F32, 10, 1.0);
    fakecuda_break(2, CUDA_ERROR_ECC_UNCORRECTABLE);
    (void)!rank_reduce(&r, x, SSQ_COMM_SUM, "g");
    core_status(ssq_queue_sync(r.queue), SSQ_ERR_DEVICE, "",
                "a device that fails: %s", ssq_last_error());
    ssq_tensor_destroy(&x);
    ranks_close(&r, 1);
}

/* ---- misuse ---- */

static void test_misuse(void)
{
    unsigned char id[SSQ_NCCL_ID_BYTES];
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    ssq_device *dev = core_open("cuda:0"), *host = core_open("reference");
    ssq_comm *comm = NULL;

#define REFUSED(CALL, PARTS) core_status(CALL, SSQ_ERR_INVALID, PARTS, #CALL)
    NEED(ssq_comm_nccl_id(id, sizeof(id)));
    REFUSED(ssq_comm_nccl_id(NULL, 128), "comm_nccl_id|id is NULL");
    REFUSED(ssq_comm_nccl_id(id, 64), "the id has 64 bytes, expected 128");
    REFUSED(ssq_comm_nccl_join(NULL, id, 128, 0, 1, NULL, &comm),
            "comm_nccl_join|device is NULL");
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 0, 1, NULL, NULL), "comm is NULL");
    REFUSED(ssq_comm_nccl_join(dev, NULL, 128, 0, 1, NULL, &comm),
            "id is NULL");
    REFUSED(ssq_comm_nccl_join(dev, id, 127, 0, 1, NULL, &comm),
            "127 bytes, expected 128");
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 2, 2, NULL, &comm),
            "rank is 2 of 2");
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 0, 0, NULL, &comm), "size is 0");
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 0, 1025, NULL, &comm),
            "size is 1025, expected 1 to 1024");
    REFUSED(ssq_comm_nccl_join(host, id, 128, 0, 1, NULL, &comm),
            "reference is not a device of cuda");
    options.timeout = 0;
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 0, 1, &options, &comm),
            "timeout is 0");
    options.struct_size = 1;
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 0, 1, &options, &comm),
            "struct_size is 1");
    REFUSED(ssq_comm_nccl_create(dev, NULL, NULL, &comm),
            "comm_nccl_create|nccl_comm is NULL");
    ssq_queue *q = core_queue(dev);
    ssq_graph *graph = NULL;
    NEED(ssq_graph_begin(q));
    REFUSED(ssq_comm_nccl_join(dev, id, 128, 0, 1, NULL, &comm),
            "comm_nccl_join|captured");
    NEED(ssq_graph_end(q, &graph));
    ssq_graph_destroy(&graph);
    ssq_queue_destroy(&q);
    tap_ok(comm == NULL, "nothing was written");
    ssq_device_close(&dev);
    ssq_device_close(&host);
}

/* A context of the program's own, and a communicator on another device. */
static void test_contexts(void)
{
    unsigned char id[SSQ_NCCL_ID_BYTES];
    ncclUniqueId theirs;
    ncclComm_t lent = NULL;
    CUcontext own;
    ssq_device *dev = NULL, *other = core_open("cuda:1");
    ssq_comm *comm = NULL;

    NEED(ssq_comm_nccl_id(id, sizeof(id)));
    if (cuCtxCreate_v2(&own, 0, 0) != 0)
        tap_bail("cuCtxCreate");
    NEED(ssq_cuda_device_open(own, NULL, &dev));
    core_status(ssq_comm_nccl_join(dev, id, sizeof(id), 0, 1, NULL, &comm),
                SSQ_ERR_INVALID, "CUDA device 0's primary context",
                "a context of the program's own: %s", ssq_last_error());
    if (ncclGetUniqueId(&theirs) != 0 ||
        ncclCommInitRank(&lent, 1, theirs, 0) != 0)
        tap_bail("ncclCommInitRank");
    core_status(ssq_comm_nccl_create(other, lent, NULL, &comm), SSQ_ERR_INVALID,
                "nccl_comm is on CUDA device 0, the device is 1",
                "a communicator of another device: %s", ssq_last_error());
    if (ncclCommDestroy(lent) != 0)
        tap_bail("ncclCommDestroy");
    ssq_device_close(&dev);
    ssq_device_close(&other);
    if (cuCtxDestroy_v2(own) != 0)
        tap_bail("cuCtxDestroy");
}

/* A graph that outlives its communicator, and a child of fork. */
static int child(void *comm)
{
    ssq_status st = ssq_comm_status(comm);
    ssq_comm *c = comm;

    ssq_comm_destroy(&c);
    return st == SSQ_ERR_DEVICE ? 0 : 1;
}

static void test_ends(void)
{
    struct rank r;
    struct nccl_joining j = {.timeout = 10};
    ssq_graph *graph = NULL;

    NEED(ssq_comm_nccl_id(j.id, sizeof(j.id)));
    rank_open(&r, 0, 1, 0);
    rank_join(&r, &j);
    NEED(r.status);
    ssq_tensor *x = rank_vector(&r, SSQ_F32, 10, 1.0);
    NEED(ssq_graph_begin(r.queue));
    NEED(rank_reduce(&r, x, SSQ_COMM_SUM, "g"));
    NEED(ssq_graph_end(r.queue, &graph));
    NEED(ssq_graph_launch(r.queue, graph));
    NEED(ssq_queue_sync(r.queue));
    int st = tap_fork(child, r.comm, 20);
    tap_ok(tap_exited(st, 0), "a child of fork has none: %s", tap_status(st));
    ssq_comm_destroy(&r.comm);
    core_status(ssq_graph_launch(r.queue, graph), SSQ_ERR_COMM,
                "all_reduce sum number 1 \"g\"|destroyed",
                "a graph whose communicator is gone: %s", ssq_last_error());
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&x);
    ranks_close(&r, 1);
}

int main(void)
{
    setenv("FAKECUDA_DEVICES", "3", 1);
    if (driver_missing("cuda"))
        return tap_done(0);
    test_killed();
    test_joining();
    test_library();
    test_trouble(ABSENT, "a rank does not come",
                 "all_reduce sum number 4 \"bad\": not done 2 seconds");
    test_trouble(ANOTHER, "a rank calls a barrier", "not done 2 seconds");
    test_trouble(LEFT, "a rank was destroyed", "not done 2 seconds");
    test_trouble(BROKEN, "the library errs on one rank", "not done 2 seconds");
    test_trouble(LEAVES, "two ranks leave while they sum", "was destroyed");
    test_trouble(SLEEPS, "a rank is late, in time", "");
    test_misuse();
    test_contexts();
    test_ends();
    test_device();
    nccl_clean();
    return tap_done(48);
}
