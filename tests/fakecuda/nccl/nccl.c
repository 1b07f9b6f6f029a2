/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - the calls of the stand-in for NCCL: communicators and groups, which
 * become work of the stand-in driver's streams. */
#include "tests/fakecuda/nccl/nccl_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAGIC   0x6e63636cu
#define MOST    64 /* ids of a process, and moves of a group at a time */
#define RELEASE 22703

static struct {
    pthread_mutex_t lock;
    struct ncclComm *all;
    char names[MOST][64]; /* of the shared memory that this process made */
    unsigned n;
    unsigned long faults;
    atomic_ulong moves, groups;
    bool told;
    char text[512];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    unsigned depth;
    struct nccl_move move[MOST * NCCL_RANKS];
    cudaStream_t stream;
    size_t n;
} group;

static bool quiet(void)
{
    const char *q = getenv("FAKECUDA_QUIET");

    return q != NULL && *q != '\0';
}

static bool fails(const char *what)
{
    const char *f = getenv("FAKENCCL_FAIL");

    return f != NULL && strcmp(f, what) == 0;
}

static void tell(void)
{
    pthread_mutex_lock(&state.lock);
    if (!state.told && !quiet())
        fprintf(stderr, "fakenccl: NOT NCCL: ranks meet in the host's memory; "
                        "proves neither NVIDIA's order of sums nor its "
                        "networks, kernels and speed\n");
    state.told = true;
    pthread_mutex_unlock(&state.lock);
}

ncclResult_t nccl_refuse(ncclResult_t result, const char *format, ...)
{
    va_list args;

    pthread_mutex_lock(&state.lock);
    va_start(args, format);
    vsnprintf(state.text, sizeof(state.text), format, args);
    va_end(args);
    state.faults++;
    if (!quiet())
        fprintf(stderr, "fakenccl: %s\n", state.text);
    pthread_mutex_unlock(&state.lock);
    return result;
}

/* Not against the documentation, but NCCL's last words of it. */
static ncclResult_t say(ncclResult_t result, const char *text)
{
    pthread_mutex_lock(&state.lock);
    snprintf(state.text, sizeof(state.text), "%s", text);
    pthread_mutex_unlock(&state.lock);
    return result;
}

static ncclResult_t check(ncclComm_t c, const char *call)
{
    if (c == NULL || c->magic != MAGIC)
        return nccl_refuse(ncclInvalidArgument, "%s: no communicator", call);
    if (c->ended)
        return nccl_refuse(ncclInvalidArgument,
                           "%s: the communicator was destroyed", call);
    return ncclSuccess;
}

/* ---- ids and versions ---- */

ncclResult_t ncclGetVersion(int *version)
{
    const char *v = getenv("FAKENCCL_VERSION");

    *version = v == NULL ? RELEASE : atoi(v);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t r)
{
    static const char *const names[] = {
        "no error",
        "unhandled cuda error",
        "unhandled system error",
        "internal error",
        "invalid argument",
        "invalid usage",
        "remote process exited or there was a network error",
        "NCCL operation in progress"};

    return r < 0 || r > 7 ? "unknown result code" : names[r];
}

const char *ncclGetLastError(ncclComm_t c)
{
    static _Thread_local char text[sizeof(state.text)];

    (void)c;
    pthread_mutex_lock(&state.lock);
    memcpy(text, state.text, sizeof(text));
    pthread_mutex_unlock(&state.lock);
    return text;
}

static void __attribute__((destructor)) forget(void)
{
    for (unsigned i = 0; i < state.n; i++)
        shm_unlink(state.names[i]);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    struct timespec t;

    tell();
    if (fails("id"))
        return say(ncclSystemError, "no socket interface found");
    clock_gettime(CLOCK_REALTIME, &t);
    memset(id, 0, sizeof(*id));
    pthread_mutex_lock(&state.lock);
    unsigned n = state.n < MOST ? state.n++ : MOST;
    if (n < MOST) {
        snprintf(state.names[n], sizeof(state.names[n]), "/fakenccl.%d.%u.%lx",
                 (int)getpid(), n, (unsigned long)t.tv_nsec);
        memcpy(id->internal, state.names[n], sizeof(state.names[n]));
    }
    pthread_mutex_unlock(&state.lock);
    if (n == MOST)
        return say(ncclSystemError, "too many ids");
    struct nccl_shared *s = nccl_shared_open(id, true);
    if (s == NULL)
        return say(ncclSystemError, "no shared memory");
    munmap(s, sizeof(*s));
    return ncclSuccess;
}

/* ---- beginning ---- */

static bool all_joined(const struct ncclComm *c)
{
    for (int r = 0; r < c->size; r++)
        if (atomic_load(&c->shared->page[r].joined) == 0)
            return false;
    return true;
}

static ncclResult_t admit(struct ncclComm *c)
{
    for (int r = 0; r < c->size; r++)
        if (r != c->rank &&
            atomic_load(&c->shared->page[r].joined) == c->device + 1) {
            char text[128];
            snprintf(text, sizeof(text),
                     "Duplicate GPU detected : rank %d and rank %d both on "
                     "CUDA device %d",
                     c->rank, r, c->device);
            return say(ncclInvalidUsage, text);
        }
    if (fails("init"))
        return say(ncclSystemError, "Call to connect failed");
    c->ready = true;
    return ncclSuccess;
}

static ncclResult_t begun(struct ncclComm *c)
{
    if (c->ready)
        return ncclSuccess;
    return all_joined(c) ? admit(c) : ncclInProgress;
}

static ncclResult_t join(struct ncclComm *c, const ncclUniqueId *id)
{
    int none = 0;

    if (cuCtxGetDevice(&c->device) != CUDA_SUCCESS)
        return nccl_refuse(ncclUnhandledCudaError,
                           "ncclCommInitRank: no device is current");
    c->shared = nccl_shared_open(id, false);
    if (c->shared == NULL)
        return say(ncclSystemError, "nobody listens where the id says");
    if (!atomic_compare_exchange_strong(&c->shared->size, &none, c->size) &&
        none != c->size)
        return say(ncclInvalidArgument, "ranks disagree on their number");
    none = 0;
    return atomic_compare_exchange_strong(&c->shared->page[c->rank].joined,
                                          &none, c->device + 1)
               ? ncclSuccess
               : say(ncclInvalidUsage, "a rank has come twice");
}

static ncclResult_t init(ncclComm_t *out, int n, const ncclUniqueId *id,
                         int rank, bool blocking)
{
    static const struct timespec pause = {0, 200000};
    struct ncclComm *c;

    tell();
    if (n < 1 || n > NCCL_RANKS || rank < 0 || rank >= n)
        return nccl_refuse(ncclInvalidArgument, "rank %d of %d", rank, n);
    c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ncclSystemError;
    c->magic = MAGIC;
    c->size = n;
    c->rank = rank;
    c->blocking = blocking;
    ncclResult_t r = join(c, id);
    if (r != ncclSuccess) {
        free(c);
        return r;
    }
    pthread_mutex_lock(&state.lock);
    c->next = state.all;
    state.all = c;
    pthread_mutex_unlock(&state.lock);
    *out = c;
    while ((r = begun(c)) == ncclInProgress && blocking)
        nanosleep(&pause, NULL);
    return r;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int n, ncclUniqueId id, int rank)
{
    return init(out, n, &id, rank, true);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int n, ncclUniqueId id,
                                    int rank, ncclConfig_t *config)
{
    if (config == NULL || config->magic != NCCL_CONFIG_MAGIC ||
        config->size < offsetof(ncclConfig_t, later) ||
        config->version < NCCL_CONFIG_VERSION)
        return nccl_refuse(ncclInvalidArgument,
                           "ncclCommInitRankConfig: no configuration");
    return init(out, n, &id, rank, config->blocking != 0);
}

/* ---- what a communicator is, and its end ---- */

ncclResult_t ncclCommCount(const ncclComm_t c, int *n)
{
    ncclResult_t r = check(c, "ncclCommCount");

    if (r == ncclSuccess)
        *n = c->size;
    return r;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t c, int *device)
{
    ncclResult_t r = check(c, "ncclCommCuDevice");

    if (r == ncclSuccess)
        *device = c->device;
    return r;
}

ncclResult_t ncclCommUserRank(const ncclComm_t c, int *rank)
{
    ncclResult_t r = check(c, "ncclCommUserRank");

    if (r == ncclSuccess)
        *rank = c->rank;
    return r;
}

/* The first calls connect the ranks: they are in progress until all have made
 * as many. */
static bool connected(const struct ncclComm *c)
{
    for (int r = 0; r < c->size; r++)
        if (c->calls <= 2 &&
            atomic_load(&c->shared->page[r].connected) < c->calls)
            return false;
    return true;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *result)
{
    ncclResult_t r = check(c, "ncclCommGetAsyncError");

    if (r != ncclSuccess)
        return r;
    *result = atomic_load(&c->error);
    if (*result == ncclSuccess)
        *result = begun(c);
    if (*result == ncclSuccess && !connected(c))
        *result = ncclInProgress;
    if (*result == ncclSuccess && c->finalized &&
        atomic_load(&c->done) < atomic_load(&c->submitted))
        *result = ncclInProgress;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    ncclResult_t state_now = ncclSuccess, r = check(c, "ncclCommFinalize");

    if (r != ncclSuccess)
        return r;
    if (c->finalized)
        return nccl_refuse(ncclInvalidArgument, "ncclCommFinalize: twice");
    c->finalized = true;
    (void)ncclCommGetAsyncError(c, &state_now);
    return state_now;
}

static ncclResult_t end(ncclComm_t c, const char *call, bool abort)
{
    ncclResult_t r = check(c, call);

    if (r != ncclSuccess)
        return r;
    if (!abort && atomic_load(&c->done) < atomic_load(&c->submitted))
        return nccl_refuse(ncclInvalidUsage, "%s: a collective is under way",
                           call);
    atomic_store(&c->aborted, true);
    c->ended = true; /* it stays where it is: a stream may come to it yet */
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    return end(c, "ncclCommDestroy", false);
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    return end(c, "ncclCommAbort", true);
}

/* ---- groups ---- */

struct nccl_batch {
    size_t n;
    struct nccl_move move[];
};

/* On the stream's thread. */
static void run_batch(void *data)
{
    const struct nccl_batch *b = data;
    ncclComm_t c = b->move[0].comm;

    if (atomic_fetch_add(&c->running, 1) > 0)
        (void)nccl_refuse(ncclInvalidUsage,
                          "two streams run one communicator's calls at once");
    for (size_t i = 0; i < b->n && !atomic_load(&c->aborted); i++) {
        atomic_fetch_add(&state.moves, 1);
        if (!nccl_run(&b->move[i]))
            break;
    }
    atomic_fetch_sub(&c->running, 1);
    atomic_fetch_add(&c->done, 1);
}

static size_t bytes_of(const struct nccl_move *m, bool to)
{
    size_t bytes = m->op.count * nccl_bytes(m->op.type);
    bool whole = to ? m->op.kind == GATHER : m->op.kind == SCATTER;

    return whole ? bytes * (size_t)m->comm->size : bytes;
}

static size_t bind(struct ssq_standin_range *r)
{
    size_t n = 0;

    for (size_t i = 0; i < group.n; i++) {
        const struct nccl_move *m = &group.move[i];
        if (m->from != NULL)
            r[n++] = (struct ssq_standin_range){(uintptr_t)m->from,
                                                bytes_of(m, false), 0};
        if (m->to != NULL)
            r[n++] = (struct ssq_standin_range){(uintptr_t)m->to,
                                                bytes_of(m, true), 1};
    }
    return n;
}

static ncclResult_t submit(void)
{
    size_t bytes =
        sizeof(struct nccl_batch) + group.n * sizeof(struct nccl_move);
    struct nccl_batch *b = calloc(1, bytes);
    struct ssq_standin_range *r = calloc(2 * group.n, sizeof(*r));
    ncclComm_t c = group.move[0].comm;
    ncclResult_t result = atomic_load(&c->error);

    if (result != ncclSuccess) { /* whose kernels would not run either */
        free(b);
        free(r);
        return result;
    }
    result = ncclSystemError;
    if (b != NULL && r != NULL) {
        b->n = group.n;
        memcpy(b->move, group.move, group.n * sizeof(*group.move));
        c->calls += group.move[0].op.kind < SEND; /* those all ranks make */
        atomic_fetch_add(&c->submitted, 1);
        atomic_fetch_add(&state.groups, 1);
        result = fakecuda_compute((CUstream)group.stream, r, bind(r), run_batch,
                                  b, bytes) == CUDA_SUCCESS
                     ? ncclSuccess
                     : ncclUnhandledCudaError;
        atomic_store(&c->shared->page[c->rank].connected, c->calls);
    }
    free(b);
    free(r);
    return result;
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (group.depth == 0)
        return nccl_refuse(ncclInvalidUsage, "ncclGroupEnd without a start");
    if (--group.depth > 0 || group.n == 0)
        return ncclSuccess;
    ncclResult_t r =
        fails("group") ? say(ncclInternalError, "told to fail") : submit();
    bool blocking = group.move[0].comm->blocking;
    group.n = 0;
    return r == ncclSuccess && !blocking ? ncclInProgress : r;
}

static ncclResult_t add(ncclComm_t c, struct nccl_op op, const void *from,
                        void *to, cudaStream_t stream, const char *call)
{
    CUcontext ctx = NULL, current = NULL;
    ncclResult_t r = check(c, call);

    if (r != ncclSuccess)
        return r;
    if (!c->ready || c->finalized)
        return nccl_refuse(ncclInvalidUsage, "%s: the communicator is %s", call,
                           c->ready ? "finalized" : "not ready");
    if (op.root < 0 || op.root >= c->size || nccl_bytes(op.type) == 0)
        return nccl_refuse(ncclInvalidArgument, "%s: root %d, type %d", call,
                           op.root, op.type);
    if (cuStreamGetCtx((CUstream)stream, &ctx) != CUDA_SUCCESS ||
        cuCtxGetCurrent(&current) != CUDA_SUCCESS || ctx != current)
        return nccl_refuse(ncclInvalidUsage,
                           "%s: the stream's device is not "
                           "current",
                           call);
    if (group.n > 0 && (group.move[0].comm != c || group.stream != stream))
        return nccl_refuse(ncclInvalidUsage,
                           "%s: the stand-in's groups have "
                           "one communicator and one stream",
                           call);
    if (group.n == sizeof(group.move) / sizeof(group.move[0]))
        return nccl_refuse(ncclInternalError, "%s: too long a group", call);
    (void)ncclGroupStart();
    group.stream = stream;
    group.move[group.n++] = (struct nccl_move){c, op, from, to};
    return ncclGroupEnd();
}

static struct nccl_op op_of(enum nccl_kind kind, size_t n, int type, int op,
                            int root)
{
    struct nccl_op o;

    memset(&o, 0, sizeof(o)); /* padding, too, is compared */
    o.kind = kind;
    o.type = type;
    o.op = op;
    o.root = root;
    o.count = n;
    return o;
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t n,
                           ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t s)
{
    return add(c, op_of(BROADCAST, n, type, 0, root), from, to, s,
               "ncclBroadcast");
}

static bool adds(int type, int op)
{
    return (type == ncclFloat32 && (op == ncclSum || op == ncclMax)) ||
           (type == ncclInt32 && op == ncclMax);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t n,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                           cudaStream_t s)
{
    if (!adds(type, op))
        return nccl_refuse(ncclInvalidArgument,
                           "ncclAllReduce: type %d, op %d "
                           "are not the stand-in's",
                           type, op);
    return add(c, op_of(ALL_REDUCE, n, type, op, 0), from, to, s,
               "ncclAllReduce");
}

ncclResult_t ncclReduce(const void *from, void *to, size_t n,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t s)
{
    if (!adds(type, op))
        return nccl_refuse(ncclInvalidArgument, "ncclReduce: type %d, op %d",
                           type, op);
    return add(c, op_of(REDUCE, n, type, op, root), from, to, s, "ncclReduce");
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t n,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t c, cudaStream_t s)
{
    if (!adds(type, op))
        return nccl_refuse(ncclInvalidArgument,
                           "ncclReduceScatter: type %d, op %d", type, op);
    return add(c, op_of(SCATTER, n, type, op, 0), from, to, s,
               "ncclReduceScatter");
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t n,
                           ncclDataType_t type, ncclComm_t c, cudaStream_t s)
{
    return add(c, op_of(GATHER, n, type, 0, 0), from, to, s, "ncclAllGather");
}

ncclResult_t ncclSend(const void *from, size_t n, ncclDataType_t type, int peer,
                      ncclComm_t c, cudaStream_t s)
{
    return add(c, op_of(SEND, n, type, 0, peer), from, NULL, s, "ncclSend");
}

ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t type, int peer,
                      ncclComm_t c, cudaStream_t s)
{
    return add(c, op_of(RECEIVE, n, type, 0, peer), NULL, to, s, "ncclRecv");
}

/* ---- for tests ---- */

void fakenccl_break(int device, ncclResult_t result)
{
    pthread_mutex_lock(&state.lock);
    for (struct ncclComm *c = state.all; c != NULL; c = c->next)
        if (c->device == device && !c->ended)
            atomic_store(&c->error, result);
    pthread_mutex_unlock(&state.lock);
}

unsigned long fakenccl_faults(char *text, size_t bytes)
{
    pthread_mutex_lock(&state.lock);
    unsigned long n = state.faults;
    snprintf(text, bytes, "%s", state.text);
    pthread_mutex_unlock(&state.lock);
    return n;
}

unsigned long fakenccl_live(void)
{
    unsigned long n = 0;

    pthread_mutex_lock(&state.lock);
    for (const struct ncclComm *c = state.all; c != NULL; c = c->next)
        n += !c->ended;
    pthread_mutex_unlock(&state.lock);
    return n;
}

void fakenccl_counts(unsigned long *moves, unsigned long *groups)
{
    *moves = atomic_load(&state.moves);
    *groups = atomic_load(&state.groups);
}
