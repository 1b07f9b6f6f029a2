/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_run.c - what ranks do with each other: through shared memory, a chunk of
 * each at a time, between meetings of all of them. */
#include "tests/fakecuda/nccl/nccl_state.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct nccl_shared *nccl_shared_open(const ncclUniqueId *id, bool create)
{
    char name[64];
    struct nccl_shared *s;

    memcpy(name, id->internal, sizeof(name));
    name[sizeof(name) - 1] = '\0';
    if (strncmp(name, "/fakenccl.", 10) != 0)
        return NULL;
    int fd = shm_open(name, O_RDWR | (create ? O_CREAT | O_EXCL : 0), 0600);
    if (fd < 0)
        return NULL;
    if (create && ftruncate(fd, sizeof(*s)) != 0) {
        close(fd);
        shm_unlink(name);
        return NULL;
    }
    s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return s == MAP_FAILED ? NULL : s;
}

size_t nccl_bytes(int type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

    return type < 0 || type > 9 ? 0 : bytes[type];
}

static bool spin(ncclComm_t c, unsigned *n)
{
    static const struct timespec pause = {0, 20000};

    if (++*n < 100)
        sched_yield();
    else
        nanosleep(&pause, NULL);
    return !atomic_load(&c->aborted);
}

/* All ranks come here; true: they have, with the same call. A rank that has
 * another one waits, as NCCL's kernels would. */
static bool meet(ncclComm_t c, const struct nccl_op *op)
{
    struct nccl_shared *s = c->shared;
    unsigned long n = ++c->meetings;
    unsigned spins = 0;

    s->page[c->rank].op[n % 2] = *op;
    atomic_store(&s->page[c->rank].arrived, n);
    for (int r = 0; r < c->size; r++)
        while (atomic_load(&s->page[r].arrived) < n)
            if (!spin(c, &spins))
                return false;
    for (int r = 0; r < c->size; r++)
        while (memcmp(&s->page[r].op[n % 2], op, sizeof(*op)) != 0)
            if (!spin(c, &spins))
                return false;
    return true;
}

/* The ring's order: it begins after the rank whose part it is. A maximum
 * with a NaN is fmaxf's, as NCCL's is. */
static void reduce(ncclComm_t c, const struct nccl_op *op, size_t n,
                   unsigned owner, unsigned char *to)
{
    const struct nccl_page *page = c->shared->page;

    for (size_t i = 0; i < n; i++)
        for (unsigned k = 1; k <= (unsigned)c->size; k++) {
            const unsigned char *x =
                page[(owner + k) % (unsigned)c->size].chunk + 4 * i;
            float f, sum;
            int32_t j, most;

            memcpy(&f, x, 4);
            memcpy(&sum, to + 4 * i, 4);
            memcpy(&j, x, 4);
            memcpy(&most, to + 4 * i, 4);
            f = k == 1 ? f : op->op == ncclSum ? sum + f : fmaxf(sum, f);
            j = k == 1 || j > most ? j : most;
            memcpy(to + 4 * i, op->type == ncclFloat32 ? (void *)&f : &j, 4);
        }
}

/* n bytes of a chunk, from place at on: every rank shows its own, and takes
 * its share. */
static bool exchange(const struct nccl_move *m, size_t at, size_t n,
                     unsigned part, size_t whole)
{
    ncclComm_t c = m->comm;
    struct nccl_page *page = c->shared->page;
    unsigned rank = (unsigned)c->rank;

    if (m->op.kind == SCATTER)
        memcpy(page[rank].chunk, m->from + part * whole + at, n);
    else if (m->op.kind != BROADCAST || m->op.root == c->rank)
        memcpy(page[rank].chunk, m->from + at, n);
    if (!meet(c, &m->op))
        return false;
    if (m->op.kind == BROADCAST)
        memmove(m->to + at, page[m->op.root].chunk, n);
    if (m->op.kind == GATHER)
        for (int r = 0; r < c->size; r++)
            memcpy(m->to + (size_t)r * whole + at, page[r].chunk, n);
    if (m->op.kind == ALL_REDUCE ||
        (m->op.kind == REDUCE && m->op.root == c->rank))
        reduce(c, &m->op, n / 4, (unsigned)(at / NCCL_CHUNK), m->to + at);
    if (m->op.kind == SCATTER && part == rank)
        reduce(c, &m->op, n / 4, part, m->to + at);
    return meet(c, &m->op);
}

static bool parcels(const struct nccl_move *m, size_t bytes)
{
    ncclComm_t c = m->comm;
    bool sends = m->op.kind == SEND;
    struct nccl_page *from = &c->shared->page[sends ? c->rank : m->op.root];
    unsigned spins = 0;

    for (size_t at = 0; at < bytes; at += NCCL_CHUNK) {
        size_t n = bytes - at < NCCL_CHUNK ? bytes - at : NCCL_CHUNK;

        if (sends) {
            memcpy(from->parcel, m->from + at, n);
            atomic_store(&from->to, m->op.root);
            unsigned long k = atomic_fetch_add(&from->sent, 1) + 1;
            while (atomic_load(&from->taken) < k)
                if (!spin(c, &spins))
                    return false;
            continue;
        }
        while (atomic_load(&from->sent) == atomic_load(&from->taken) ||
               atomic_load(&from->to) != c->rank)
            if (!spin(c, &spins))
                return false;
        memcpy(m->to + at, from->parcel, n);
        atomic_fetch_add(&from->taken, 1);
    }
    return true;
}

bool nccl_run(const struct nccl_move *m)
{
    size_t bytes = m->op.count * nccl_bytes(m->op.type);
    unsigned parts = m->op.kind == SCATTER ? (unsigned)m->comm->size : 1;

    if (m->op.kind == SEND || m->op.kind == RECEIVE)
        return parcels(m, bytes);
    for (unsigned part = 0; part < parts; part++)
        for (size_t at = 0; at < bytes; at += NCCL_CHUNK) {
            size_t n = bytes - at < NCCL_CHUNK ? bytes - at : NCCL_CHUNK;

            if (!exchange(m, at, n, part, bytes))
                return false;
        }
    return true;
}
