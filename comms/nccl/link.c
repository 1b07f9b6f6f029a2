/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - collectives by NCCL, as a module that opens the library at run time.
 *
 * Communicators are non-blocking. If NCCL cannot complete a call immediately,
 * its own threads complete it, and a call here waits for them with a timeout. A
 * call that blocks inside NCCL could not be timed out. */
#include "comms/nccl/link.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Number of polls with a yield between them. Later polls sleep in between. */
#define SPINS 200

/* Seconds that a rank which gives up waits for NCCL to abort. */
#define PATIENCE 5.0

double nccl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ssq_status nccl_error(const struct comm_link *l, const char *call,
                      ncclResult_t result)
{
    const char *last = l->calls.ncclGetLastError(l->comm);
    bool more = last != NULL && last[0] != '\0';
    return l->services->error_set(SSQ_ERR_COMM, "%s: %s (%d)%s%.400s", call,
                                  l->calls.ncclGetErrorString(result), result,
                                  more ? ": " : "", more ? last : "");
}

ssq_status nccl_settle(struct comm_link *l, const char *call,
                       ncclResult_t result, double timeout)
{
    static const struct timespec pause = {0, 50000};
    double end = nccl_now() + timeout;
    for (unsigned n = 0; result == ncclInProgress; n++) {
        if (atomic_load(&l->leaving))
            return l->services->error_set(SSQ_ERR_COMM,
                                          "%s: this rank gives up", call);
        if (nccl_now() > end)
            return l->services->error_set(
                SSQ_ERR_COMM,
                "%s: not done in %g seconds: another rank is late, is gone or "
                "calls something else",
                call, timeout);
        if (n < SPINS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
        ncclResult_t asked = l->calls.ncclCommGetAsyncError(l->comm, &result);
        if (asked != ncclSuccess)
            result = asked;
    }
    return result == ncclSuccess ? SSQ_OK : nccl_error(l, call, result);
}

/* ---- collectives ---- */

static ncclDataType_t type_of(enum comm_element element)
{
    return element == ELEMENT_F32   ? ncclFloat32
           : element == ELEMENT_I32 ? ncclInt32
                                    : ncclUint8;
}

/* Hand NCCL a move that has a root or a peer (m->root). */
static ncclResult_t move_rooted(const struct comm_link *l, cudaStream_t stream,
                                const struct comm_move *m, const char **call)
{
    const struct nccl_calls *c = &l->calls;
    const void *from = (const void *)(uintptr_t)m->from;
    void *to = (void *)(uintptr_t)m->to;
    ncclDataType_t type = type_of(m->element);
    size_t n = (size_t)m->n;
    int root = (int)m->root;
    switch (m->kind) {
    case MOVE_BROADCAST:
        *call = "ncclBroadcast";
        return c->ncclBroadcast(from, to, n, type, root, l->comm, stream);
    case MOVE_REDUCE:
        *call = "ncclReduce";
        return c->ncclReduce(from, to, n, type, ncclSum, root, l->comm, stream);
    case MOVE_SEND:
        *call = "ncclSend";
        return c->ncclSend(from, n, type, root, l->comm, stream);
    default:
        *call = "ncclRecv";
        return c->ncclRecv(to, n, type, root, l->comm, stream);
    }
}

static ncclResult_t link_move(const struct comm_link *l, cudaStream_t stream,
                              const struct comm_move *m, const char **call)
{
    const struct nccl_calls *c = &l->calls;
    const void *from = (const void *)(uintptr_t)m->from;
    void *to = (void *)(uintptr_t)m->to;
    ncclDataType_t type = type_of(m->element);
    size_t n = (size_t)m->n;
    switch (m->kind) {
    case MOVE_SUM:
    case MOVE_MAX:
        *call = "ncclAllReduce";
        return c->ncclAllReduce(from, to, n, type,
                                m->kind == MOVE_SUM ? ncclSum : ncclMax,
                                l->comm, stream);
    case MOVE_SUM_SCATTER:
        *call = "ncclReduceScatter";
        return c->ncclReduceScatter(from, to, n, type, ncclSum, l->comm,
                                    stream);
    case MOVE_GATHER:
        *call = "ncclAllGather";
        return c->ncclAllGather(from, to, n, type, l->comm, stream);
    default:
        return move_rooted(l, stream, m, call);
    }
}

/* Hand NCCL all moves as one group. Returns the first failure, and ends the
 * group in any case. */
static ncclResult_t group(const struct comm_link *l, cudaStream_t stream,
                          const struct comm_move *moves, size_t n,
                          const char **call)
{
    *call = "ncclGroupStart";
    ncclResult_t r = l->calls.ncclGroupStart();
    if (r != ncclSuccess)
        return r;
    for (size_t i = 0; i < n && (r == ncclSuccess || r == ncclInProgress); i++)
        r = link_move(l, stream, &moves[i], call);
    ncclResult_t end = l->calls.ncclGroupEnd();
    if (r == ncclSuccess || r == ncclInProgress) {
        *call = "ncclGroupEnd";
        r = end;
    }
    return r;
}

static ssq_status link_enqueue(struct comm_link *l, void *native,
                               const struct comm_move *moves, size_t n,
                               double timeout)
{
    const char *call = "";
    ssq_status st;
    pthread_mutex_lock(&l->lock);
    if (l->comm == NULL) {
        st = l->services->error_set(SSQ_ERR_COMM,
                                    "NCCL's communicator has been aborted");
    } else {
        ncclResult_t r = group(l, native, moves, n, &call);
        st = nccl_settle(l, call, r, timeout);
    }
    pthread_mutex_unlock(&l->lock);
    return st;
}

/* Ask NCCL for an asynchronous error. If another call holds the lock, that call
 * reports the error. */
static ssq_status link_look(struct comm_link *l)
{
    ncclResult_t r = ncclSuccess;
    ssq_status st = SSQ_OK;
    if (pthread_mutex_trylock(&l->lock) != 0)
        return SSQ_OK;
    if (l->comm != NULL) {
        ncclResult_t asked = l->calls.ncclCommGetAsyncError(l->comm, &r);
        if (asked != ncclSuccess)
            r = asked;
        if (r != ncclSuccess && r != ncclInProgress)
            st = nccl_error(l, "ncclCommGetAsyncError", r);
    }
    pthread_mutex_unlock(&l->lock);
    return st;
}

/* ---- ending ---- */

static void nccl_link_leave(struct comm_link *l)
{
    atomic_store(&l->leaving, true);
}

/* NCCL cannot send the text. The other ranks notice by NCCL's errors or by
 * their timeout. */
static void nccl_link_abandon(struct comm_link *l, const char *text)
{
    (void)text;
    nccl_link_leave(l);
    pthread_mutex_lock(&l->lock);
    ncclComm_t comm = l->comm;
    if (!l->lent)
        l->comm = NULL;
    pthread_mutex_unlock(&l->lock);
    if (comm != NULL && !l->lent)
        nccl_end(l->services, &l->calls, comm, false, PATIENCE);
}

/* A gentle end needs the other ranks. The wait is short, because a program may
 * close the links of several ranks one after the other. */
static void nccl_link_close_link(struct comm_link *l)
{
    if (l->comm != NULL && !l->lent)
        nccl_end(l->services, &l->calls, l->comm, true, PATIENCE / 10);
    pthread_mutex_destroy(&l->lock);
    l->services->mem_free(l);
}

/* ---- creation ---- */

/* Check that the current context is the primary one: NCCL's CUDA runtime uses
 * no other. */
static ssq_status check_context(const struct comm_link *l, int *device)
{
    CUcontext current = NULL, primary = NULL;
    const struct nccl_calls *c = &l->calls;
    if (c->CtxGetCurrent(&current) != 0 || c->CtxGetDevice(device) != 0 ||
        c->PrimaryCtxRetain(&primary, *device) != 0)
        return l->services->error_set(
            SSQ_ERR_DEVICE,
            "nccl: the driver does not report which device is current");
    (void)c->PrimaryCtxRelease(*device);
    return current == primary
               ? SSQ_OK
               : l->services->error_set(
                     SSQ_ERR_INVALID,
                     "nccl: the device is over another context than its "
                     "primary one: NCCL needs CUDA device %d's primary context",
                     *device);
}

static ssq_status link_make(struct comm_link *l, const struct comm_place *p)
{
    ncclUniqueId id;
    ncclConfig_t config = {.size = sizeof(config),
                           .magic = NCCL_CONFIG_MAGIC,
                           .version = NCCL_CONFIG_VERSION,
                           .blocking = 0};
    char words[80];
    memcpy(&id, p->id, sizeof(id));
    l->rank = p->rank;
    l->size = p->size;
    (void)snprintf(words, sizeof(words),
                   "rank %u of %u: ncclCommInitRankConfig", p->rank, p->size);
    ncclResult_t r = l->calls.ncclCommInitRankConfig(&l->comm, (int)p->size, id,
                                                     (int)p->rank, &config);
    ssq_status st = nccl_settle(l, words, r, p->timeout);
    if (st != SSQ_OK && l->comm != NULL) {
        nccl_end(l->services, &l->calls, l->comm, false, PATIENCE);
        l->comm = NULL;
    }
    return st;
}

static ssq_status borrow(struct comm_link *l, const struct comm_place *p,
                         int device)
{
    const struct nccl_calls *c = &l->calls;
    int theirs = -1, rank = -1, size = 0;
    l->lent = true;
    l->comm = p->theirs;
    const char *call = "nccl_comm: ncclCommCuDevice";
    ncclResult_t r = c->ncclCommCuDevice(l->comm, &theirs);
    if (r == ncclSuccess) {
        call = "nccl_comm: ncclCommUserRank";
        r = c->ncclCommUserRank(l->comm, &rank);
    }
    if (r == ncclSuccess) {
        call = "nccl_comm: ncclCommCount";
        r = c->ncclCommCount(l->comm, &size);
    }
    if (r != ncclSuccess)
        return nccl_error(l, call, r);
    l->rank = (unsigned)rank;
    l->size = (unsigned)size;
    return theirs == device
               ? SSQ_OK
               : l->services->error_set(SSQ_ERR_INVALID,
                                        "nccl: nccl_comm is on CUDA device %d, "
                                        "the device is %d",
                                        theirs, device);
}

static ssq_status open_link(struct comm_link *l, const struct comm_place *p)
{
    int device = -1;
    ssq_status st = nccl_calls_open(l->services, &l->calls);
    if (st == SSQ_OK)
        st = check_context(l, &device);
    if (st != SSQ_OK)
        return st;
    return p->theirs != NULL ? borrow(l, p, device) : link_make(l, p);
}

static ssq_status nccl_link_connect(const struct services *services,
                                    const struct comm_place *place,
                                    struct comm_link **link, unsigned *rank,
                                    unsigned *size)
{
    struct comm_link *l = services->mem_alloc(sizeof(*l));
    if (l == NULL)
        return services->error_set(
            SSQ_ERR_NOMEM, "nccl: no host memory for %zu bytes", sizeof(*l));
    l->services = services;
    atomic_init(&l->leaving, false);
    pthread_mutex_init(&l->lock, NULL);
    ssq_status st = open_link(l, place);
    if (st != SSQ_OK) {
        pthread_mutex_destroy(&l->lock);
        services->mem_free(l);
        return st;
    }
    *rank = l->rank;
    *size = l->size;
    *link = l;
    return SSQ_OK;
}

static ssq_status make_id(const struct services *services, void *id)
{
    struct comm_link l = {.services = services};
    ncclUniqueId made;
    ssq_status st = nccl_calls_open(services, &l.calls);
    if (st != SSQ_OK)
        return st;
    ncclResult_t r = l.calls.ncclGetUniqueId(&made);
    if (r != ncclSuccess)
        return nccl_error(&l, "ncclGetUniqueId", r);
    memcpy(id, &made, sizeof(made));
    return SSQ_OK;
}

/* ---- the module ---- */

static const struct comm_direct direct = {
    .enqueue = link_enqueue, .look = link_look, .id = make_id};

static const struct comm_module module = {
    .abi = SSQ_COMM_ABI,
    .backend = SSQ_BACKEND_ABI,
    .library = "NCCL",
    .transport = {.abi = SSQ_COMM_ABI,
                  .name = "nccl",
                  .abandon = nccl_link_abandon,
                  .leave = nccl_link_leave,
                  .close = nccl_link_close_link,
                  .direct = &direct},
    .connect = nccl_link_connect,
};

static const struct comm_module *nccl_link_enter(uint32_t abi)
{
    (void)abi;
    return &module;
}

extern SSQ_API const comm_module_fn ssq_comm_module;
SSQ_API const comm_module_fn ssq_comm_module = nccl_link_enter;
