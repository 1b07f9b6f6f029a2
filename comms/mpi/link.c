/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - messages between processes, by MPI.
 *
 * The link has two duplicates of the program's communicator. One carries the
 * messages of exchanges. They all have one tag, because they arrive in the
 * order of their sends. The other carries words: short messages of ranks that
 * give up or leave.
 *
 * An exchange starts all its sends and receives and then polls them, because
 * MPI makes no progress by itself. It sleeps between polls if no message passes
 * for some time. */
#include <mpi.h>

#include "lib/comm/transport.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TEXT_BYTES 1024

/* The kinds of words. A word is one byte with its kind, then a text. */
enum word { WORD_ABANDON = 1, WORD_LEAVE };

struct comm_link {
    const struct services *services;
    MPI_Comm values, words;
    int rank, size;
    MPI_Request *requests; /* 2 * size, for an exchange */
    double *gone; /* [size]: when the word that the rank has left arrived; 0: it
                     has not */
    atomic_bool left; /* this rank has left */
    bool broken;      /* an exchange has failed, or this rank gave up */
    bool pending;     /* MPI may still use memory of the link or of messages */
    char said[2][TEXT_BYTES]; /* the word last sent, for each kind */
    MPI_Request *telling;     /* [2 * size]: the sends of said, by kind */
};

/* Set the error of a failed MPI call. The communicators return errors
 * (MPI_ERRORS_RETURN). */
static ssq_status mpi_error(const struct services *s, int error,
                            const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    (void)MPI_Error_string(error, text, &n);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return s->error_set(SSQ_ERR_COMM, "mpi: %s: %.400s", call, text);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* MPI aborts a process that calls it after MPI_Finalize. */
static bool finalized(void)
{
    int over = 0;
    (void)MPI_Finalized(&over);
    return over != 0;
}

static ssq_status check_living(const struct services *s)
{
    return finalized()
               ? s->error_set(SSQ_ERR_COMM, "mpi: MPI_Finalize came before the "
                                            "communicator was destroyed")
               : SSQ_OK;
}

/* Yield to other threads. After about a millisecond without progress, sleep:
 * first 20 and later 200 microseconds. */
static void rest(unsigned idle)
{
    struct timespec t = {0, idle < 4096 ? 20000 : 200000};
    if (idle < 1024)
        (void)sched_yield();
    else
        (void)nanosleep(&t, NULL);
}

/* ---- ranks that give up or leave ---- */

/* Send a word to all ranks that have not left. Does not wait: a rank may no
 * longer receive it. */
static void tell(struct comm_link *l, enum word word, const char *text)
{
    char *said = l->said[word - 1];
    MPI_Request *requests = l->telling + ((int)word - 1) * l->size;
    said[0] = (char)word;
    (void)snprintf(said + 1, TEXT_BYTES - 1, "%s", text);
    for (int r = 0; r < l->size && !finalized(); r++)
        if (r != l->rank && l->gone[r] == 0.0)
            (void)MPI_Isend(said, (int)strlen(said) + 1, MPI_BYTE, r, 0,
                            l->words, &requests[r]);
}

/* Wait until MPI no longer reads `said`, at most one second. This is short if
 * the other ranks still run. Returns false if MPI may still read it. */
static bool told(struct comm_link *l)
{
    double until = now() + 1.0;
    for (int i = 0; i < 2 * l->size;) {
        MPI_Status status;
        int done = 0;
        if (MPI_Test(&l->telling[i], &done, &status) != MPI_SUCCESS)
            return false;
        if (!done && now() > until)
            return false;
        if (done)
            i++;
        else
            (void)nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return true;
}

/* Receive all words that have arrived. Returns SSQ_ERR_COMM if a rank has given
 * up. */
static ssq_status hear(struct comm_link *l)
{
    for (;;) {
        char text[TEXT_BYTES] = "";
        MPI_Status status;
        int there = 0;
        int error = MPI_Iprobe(MPI_ANY_SOURCE, 0, l->words, &there, &status);
        if (error != MPI_SUCCESS)
            return mpi_error(l->services, error, "MPI_Iprobe");
        if (!there)
            return SSQ_OK;
        int from = status.MPI_SOURCE;
        error = MPI_Recv(text, (int)sizeof(text), MPI_BYTE, from, 0, l->words,
                         &status);
        if (error != MPI_SUCCESS)
            return mpi_error(l->services, error, "MPI_Recv");
        if (text[0] == WORD_ABANDON)
            return l->services->error_set(
                SSQ_ERR_COMM, "rank %d gave up: %.900s", from, text + 1);
        l->gone[from] = now();
    }
}

/* ---- an exchange ---- */

/* Seconds to wait for a rank's messages after its word that it has left: the
 * word may overtake them. */
#define GRACE 1.0

static ssq_status start(struct comm_link *l, struct comm_message *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        l->requests[i] = MPI_REQUEST_NULL;
    ssq_status st = check_living(l->services);
    for (size_t i = 0; i < n && st == SSQ_OK; i++) {
        int error =
            m[i].send
                ? MPI_Isend(m[i].bytes, (int)m[i].size, MPI_BYTE,
                            (int)m[i].peer, 0, l->values, &l->requests[i])
                : MPI_Irecv(m[i].bytes, (int)m[i].size, MPI_BYTE,
                            (int)m[i].peer, 0, l->values, &l->requests[i]);
        if (error != MPI_SUCCESS)
            st = mpi_error(l->services, error,
                           m[i].send ? "MPI_Isend" : "MPI_Irecv");
    }
    return st;
}

/* Test each message that has not passed. Sets *all if all have passed now, and
 * *moved if one of them passed in this call. */
static ssq_status ask(struct comm_link *l, struct comm_message *m, size_t n,
                      bool *all, bool *moved)
{
    *all = true;
    ssq_status st = check_living(l->services);
    for (size_t i = 0; i < n && st == SSQ_OK; i++) {
        MPI_Status status;
        int done = 0, got = 0;
        if (m[i].done)
            continue;
        int error = MPI_Test(&l->requests[i], &done, &status);
        if (error != MPI_SUCCESS) {
            st = mpi_error(l->services, error, "MPI_Test");
            return l->services->error_set(st, "rank %u: %s", m[i].peer,
                                          l->services->error_text());
        }
        if (done && !m[i].send &&
            MPI_Get_count(&status, MPI_BYTE, &got) == MPI_SUCCESS)
            m[i].got = (size_t)got;
        m[i].done = done != 0;
        *moved = *moved || done != 0;
        *all = *all && done != 0;
    }
    return st;
}

/* Write the numbers of the peers whose messages have not passed. Messages must
 * be ordered by peer.
 * @return the number of these peers */
static unsigned peers_text(const struct comm_message *m, size_t n, char *text,
                           size_t bytes)
{
    size_t at = 0;
    unsigned last = UINT32_MAX, ranks = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (m[i].done || m[i].peer == last)
            continue;
        last = m[i].peer;
        ranks++;
        if (at < bytes)
            at += (size_t)snprintf(text + at, bytes - at, "%s%u",
                                   at == 0 ? "" : ", ", last);
    }
    return ranks;
}

/* Return the reason why the remaining messages will not pass; SSQ_OK if they
 * still may. */
static ssq_status hopeless(struct comm_link *l, const struct comm_message *m,
                           size_t n, double began, double timeout)
{
    char peers[128];
    double t = now();
    if (atomic_load(&l->left))
        return l->services->error_set(SSQ_ERR_COMM, "rank %d was destroyed",
                                      l->rank);
    ssq_status st = hear(l);
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        if (!m[i].done && l->gone[m[i].peer] != 0.0 &&
            t - l->gone[m[i].peer] > GRACE)
            return l->services->error_set(SSQ_ERR_COMM, "rank %u was destroyed",
                                          m[i].peer);
    if (t - began < timeout)
        return SSQ_OK;
    /* One of several missing ranks may itself wait for another. It should time
     * out first and name that one. */
    if (peers_text(m, n, peers, sizeof(peers)) > 1 &&
        t - began < timeout + GRACE)
        return SSQ_OK;
    return l->services->error_set(
        SSQ_ERR_COMM,
        "rank %d has waited %g seconds for rank %s, which made no call",
        l->rank, timeout, peers);
}

/* Cancel the messages that have not passed. MPI may still use their memory: it
 * need not cancel a send. */
static void take_back(struct comm_link *l, const struct comm_message *m,
                      size_t n)
{
    l->broken = true;
    for (size_t i = 0; i < n; i++) {
        if (m[i].done || l->requests[i] == MPI_REQUEST_NULL)
            continue;
        l->pending = true;
        if (finalized())
            return;
        (void)MPI_Cancel(&l->requests[i]);
        (void)MPI_Request_free(&l->requests[i]);
    }
}

static ssq_status pass(struct comm_link *l, struct comm_message *m, size_t n,
                       double timeout)
{
    double began = now();
    ssq_status st = start(l, m, n);
    for (unsigned idle = 0; st == SSQ_OK; idle++) {
        bool all = false, moved = false;
        st = ask(l, m, n, &all, &moved);
        if (st != SSQ_OK || all)
            return st;
        if (moved)
            idle = 0;
        if (idle % 16 == 15)
            st = hopeless(l, m, n, began, timeout);
        rest(idle);
    }
    return st;
}

static ssq_status exchange(struct comm_link *l, struct comm_message *messages,
                           size_t n, double timeout)
{
    ssq_status st = pass(l, messages, n, timeout);
    if (st != SSQ_OK)
        take_back(l, messages, n);
    return st;
}

static bool pending(const struct comm_link *l)
{
    return l->pending;
}

static void abandon(struct comm_link *l, const char *text)
{
    l->broken = true;
    tell(l, WORD_ABANDON, text);
}

static void leave(struct comm_link *l)
{
    atomic_store(&l->left, true);
}

/* After a failure the communicators are not freed: MPI_Comm_free is
 * collective. */
static void close_link(struct comm_link *l)
{
    const struct services *s = l->services;
    bool heard = true, over = finalized();
    if (!over && !l->broken)
        tell(l, WORD_LEAVE, "");
    if (!over)
        heard = told(l);
    if (!over && !l->broken && heard) {
        (void)MPI_Comm_free(&l->values);
        (void)MPI_Comm_free(&l->words);
    }
    if (!heard)
        return; /* MPI may still read said */
    s->mem_free(l->requests);
    s->mem_free(l->telling);
    s->mem_free(l->gone);
    s->mem_free(l);
}

/* ---- creation ---- */

/* Check the MPI library of this process. It must be the one that the module was
 * built for, it must be running, and threads must be allowed to call it. */
static ssq_status check(const struct services *s, size_t bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0, ready = 0, level = 0;
    if (bytes != sizeof(MPI_Comm))
        return s->error_set(SSQ_ERR_INVALID,
                            "mpi: an MPI_Comm of %zu bytes, expected %zu",
                            bytes, sizeof(MPI_Comm));
    (void)MPI_Get_library_version(version, &n);
    if (strstr(version, SSQ_MPI_BUILT_FOR) == NULL)
        return s->error_set(SSQ_ERR_UNSUPPORTED,
                            "mpi: the module was built for %s, the process "
                            "has %.60s",
                            SSQ_MPI_BUILT_FOR, version);
    if (MPI_Initialized(&ready) != MPI_SUCCESS || !ready)
        return s->error_set(SSQ_ERR_UNSUPPORTED, "mpi: not initialised");
    if (finalized())
        return s->error_set(SSQ_ERR_UNSUPPORTED,
                            "mpi: MPI_Finalize has been called");
    (void)MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE)
        return s->error_set(SSQ_ERR_UNSUPPORTED,
                            "mpi: initialised with thread level %d, expected "
                            "MPI_THREAD_MULTIPLE, %d",
                            level, MPI_THREAD_MULTIPLE);
    return SSQ_OK;
}

/* Refuse communicators for which MPI would abort the process. */
static ssq_status check_comm(const struct services *s, MPI_Comm comm)
{
    int inter = 0;
    if (comm == MPI_COMM_NULL)
        return s->error_set(SSQ_ERR_INVALID, "mpi: mpi_comm is MPI_COMM_NULL");
    int error = MPI_Comm_test_inter(comm, &inter);
    if (error != MPI_SUCCESS)
        return mpi_error(s, error, "MPI_Comm_test_inter");
    return inter ? s->error_set(SSQ_ERR_INVALID,
                                "mpi: mpi_comm is between two groups")
                 : SSQ_OK;
}

/* Duplicate comm, at most until the time `until`. After a timeout MPI may still
 * write to *made, so *l is never freed. The other ranks time out, too. */
static ssq_status duplicate(struct comm_link *l, MPI_Comm comm, MPI_Comm *made,
                            double until, double timeout)
{
    MPI_Request request;
    int done = 0;
    int error = MPI_Comm_idup(comm, made, &request);
    for (unsigned idle = 0; error == MPI_SUCCESS && !done; idle++) {
        error = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS && !done && now() > until) {
            l->pending = true;
            return l->services->error_set(
                SSQ_ERR_COMM,
                "mpi: rank %d of %d has waited %g seconds for all ranks to "
                "make their communicators",
                l->rank, l->size, timeout);
        }
        rest(idle);
    }
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
    return error == MPI_SUCCESS
               ? SSQ_OK
               : mpi_error(l->services, error, "MPI_Comm_idup");
}

static ssq_status duplicate_both(struct comm_link *l, MPI_Comm comm,
                                 double timeout)
{
    double until = now() + timeout;
    int error = MPI_Comm_rank(comm, &l->rank);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(comm, &l->size);
    if (error != MPI_SUCCESS)
        return mpi_error(l->services, error, "MPI_Comm_rank");
    ssq_status st = duplicate(l, comm, &l->values, until, timeout);
    return st == SSQ_OK ? duplicate(l, comm, &l->words, until, timeout) : st;
}

static ssq_status make_room(struct comm_link *l)
{
    size_t n = (size_t)l->size;
    l->requests = l->services->mem_alloc(2 * n * sizeof(*l->requests));
    l->gone = l->services->mem_alloc(n * sizeof(*l->gone));
    l->telling = l->services->mem_alloc(2 * n * sizeof(*l->telling));
    for (size_t i = 0; i < 2 * n && l->telling != NULL; i++)
        l->telling[i] = MPI_REQUEST_NULL;
    if (l->requests != NULL && l->gone != NULL && l->telling != NULL)
        return SSQ_OK;
    return l->services->error_set(SSQ_ERR_NOMEM,
                                  "mpi: no host memory for %d ranks", l->size);
}

static ssq_status connect(const struct services *services,
                          const struct comm_place *place,
                          struct comm_link **link, unsigned *rank,
                          unsigned *size)
{
    MPI_Comm comm = MPI_COMM_NULL;
    ssq_status st = check(services, place->bytes);
    if (st != SSQ_OK)
        return st;
    memcpy(&comm, place->handle, sizeof(comm));
    st = check_comm(services, comm);
    if (st != SSQ_OK)
        return st;
    struct comm_link *l = services->mem_alloc(sizeof(*l));
    if (l == NULL)
        return services->error_set(
            SSQ_ERR_NOMEM, "mpi: no host memory for %zu bytes", sizeof(*l));
    l->services = services;
    st = duplicate_both(l, comm, place->timeout);
    if (st == SSQ_OK)
        st = make_room(l);
    if (st != SSQ_OK) {
        services->mem_free(l->requests);
        services->mem_free(l->telling);
        services->mem_free(l->gone);
        if (!l->pending)
            services->mem_free(l);
        return st;
    }
    *rank = (unsigned)l->rank;
    *size = (unsigned)l->size;
    *link = l;
    return SSQ_OK;
}

static const struct comm_module module = {
    .abi = SSQ_COMM_ABI,
    .backend = SSQ_BACKEND_ABI,
    .library = SSQ_MPI_BUILT_FOR,
    .transport = {.abi = SSQ_COMM_ABI,
                  .name = "mpi",
                  .exchange = exchange,
                  .pending = pending,
                  .abandon = abandon,
                  .leave = leave,
                  .close = close_link},
    .connect = connect,
};

static const struct comm_module *enter(uint32_t abi)
{
    (void)abi;
    return &module;
}

extern SSQ_API const comm_module_fn ssq_comm_module;
SSQ_API const comm_module_fn ssq_comm_module = enter;
