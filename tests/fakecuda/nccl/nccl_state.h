/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_state.h - the inside of the stand-in for NCCL. */
#ifndef TESTS_FAKECUDA_NCCL_NCCL_STATE_H
#define TESTS_FAKECUDA_NCCL_NCCL_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/fakecuda/nccl/fakenccl.h"

#define NCCL_RANKS 16
#define NCCL_CHUNK 65536 /* bytes that a rank shows the others at a time */

enum nccl_kind {
    BROADCAST,
    ALL_REDUCE,
    REDUCE,
    SCATTER,
    GATHER,
    SEND,
    RECEIVE
};

/* A call, which must be equal on all ranks. */
struct nccl_op {
    enum nccl_kind kind;
    int type, op, root;
    uint64_t count;
};

/* A rank's page in the group's shared memory. */
struct nccl_page {
    atomic_int joined;        /* 1 + its device */
    atomic_ulong connected;   /* calls that it has made */
    atomic_ulong arrived;     /* at this many meetings */
    struct nccl_op op[2];     /* the calls at even and odd meetings */
    atomic_ulong sent, taken; /* chunks to the rank `to` */
    atomic_int to;
    unsigned char chunk[NCCL_CHUNK], parcel[NCCL_CHUNK];
};

struct nccl_shared {
    atomic_int size; /* as the first rank has said */
    struct nccl_page page[NCCL_RANKS];
};

struct ncclComm {
    uint32_t magic;
    int size, rank, device;
    bool blocking, ready;
    atomic_bool aborted;
    bool ended, finalized;
    atomic_int error; /* asynchronous */
    struct nccl_shared *shared;
    unsigned long calls, meetings;
    atomic_ulong submitted, done; /* groups on streams */
    atomic_int running;
    struct ncclComm *next;
};

/* A move of a group, in a stream. */
struct nccl_move {
    ncclComm_t comm;
    struct nccl_op op;
    const unsigned char *from;
    unsigned char *to;
};

size_t nccl_bytes(int type);
/* With the streams' thread: false where it was aborted. */
bool nccl_run(const struct nccl_move *move);
/* The memory after an id: made, or looked for. NULL: none. */
struct nccl_shared *nccl_shared_open(const ncclUniqueId *id, bool create);
/* Says loudly what is wrong; returns result. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
ncclResult_t
nccl_refuse(ncclResult_t result, const char *format, ...);

#endif
