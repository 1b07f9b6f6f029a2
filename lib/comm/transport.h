/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - the interface of transports, which carry messages between the
 * ranks of a group.
 *
 * A collective consists of exchanges. In an exchange a rank sends and receives
 * some messages, and continues when all of them have passed. Only lib/comm
 * decides which bytes are sent, the order of sums, and how calls differ. So
 * results have the same bits with every transport, except a direct one (struct
 * comm_direct). A transport in a module imports no symbol of the library: it
 * receives struct services. */
#ifndef LIB_COMM_TRANSPORT_H
#define LIB_COMM_TRANSPORT_H

#include "lib/core/module/backend.h"

/** Increased with every change of this header. A module with another number
 *  is refused. */
#define SSQ_COMM_ABI 4

/** One rank's end of a transport, which defines it. */
struct comm_link;

/** A message to or from another rank. Messages between two ranks arrive in
 *  the order of their sends. An exchange has at most one message per peer
 *  and direction. */
struct comm_message {
    unsigned peer;
    bool send;
    bool done;   /* written by exchange */
    void *bytes; /* only read if send is set */
    size_t size; /* when receiving: the maximum */
    size_t got;  /* written by exchange: the size received */
};

/** Operations that a library for the devices runs by itself on their memory. */
enum comm_move_kind {
    MOVE_BROADCAST, /* the root's n elements to all ranks */
    MOVE_SUM,       /* the sum of n elements of each; the library's order */
    MOVE_MAX,
    MOVE_SUM_SCATTER, /* size * n elements of each rank; rank r gets part r */
    MOVE_GATHER,      /* n elements of each rank; all ranks get size * n */
    MOVE_REDUCE,      /* n elements of each rank; only the root gets the sum */
    MOVE_SEND, /* n elements to the rank root, which has a MOVE_RECEIVE */
    MOVE_RECEIVE
};
enum comm_element { ELEMENT_BYTE, ELEMENT_F32, ELEMENT_I32 };

struct comm_move {
    enum comm_move_kind kind;
    enum comm_element element; /* f32 for sums, i32 for a maximum */
    unsigned root;
    uint64_t from, to; /* device addresses; equal: in place, or the move has
                          only one */
    uint64_t n;
};

/** Operations of such a library. They need no host memory. */
struct comm_direct {
    /* Enqueue n moves as one group, the same on all ranks. native is the
     * driver's queue; its device is current. Returns when the moves are
     * enqueued: they may fail later. May wait for the other ranks, at most
     * timeout seconds. SSQ_ERR_COMM with a text: the link must not be used any
     * more. One thread at a time */
    ssq_status (*enqueue)(struct comm_link *link, void *native,
                          const struct comm_move *moves, size_t n,
                          double timeout);
    /* Return an error that the library has found by itself, with its text.
     * Never waits. Any thread, until the link is closed */
    ssq_status (*look)(struct comm_link *link);
    /* Create an id of COMM_ID_BYTES for a group. Needs no link */
    ssq_status (*id)(const struct services *services, void *id);
};

#define COMM_ID_BYTES 128

/** The arguments for a link. */
struct comm_place {
    const void *id; /* COMM_ID_BYTES; NULL: use theirs */
    void *theirs;   /* a communicator owned by the caller: the link takes rank
                       and size from it, and does not end it */
    const void *handle; /* MPI: address of the caller's communicator, whose type
                           only the module knows */
    size_t bytes;       /* of that communicator */
    unsigned rank, size;
    double timeout; /* seconds to wait for the other ranks */
};

struct comm_transport {
    uint32_t abi;
    const char *name;
    /* Pass n messages; return when all have passed. One thread at a time.
     * SSQ_ERR_COMM: the text names the ranks that did not come within timeout
     * seconds, that were destroyed, or that gave up, with their text. After
     * that only pending, abandon, leave and close may be called. NULL: the
     * transport is direct */
    ssq_status (*exchange)(struct comm_link *link,
                           struct comm_message *messages, size_t n,
                           double timeout);
    /* optional: return true if messages of a failed exchange may still be read
     * or written, now or at any later time. Their memory must not be freed */
    bool (*pending)(const struct comm_link *link);
    /* tell all other ranks that this rank gives up, and why: their exchanges
     * fail. Called by the thread that exchanges, after a failed exchange or
     * between two exchanges */
    void (*abandon)(struct comm_link *link, const char *text);
    /* called by another thread: this rank no longer takes part. Its own
     * exchange fails, and so do exchanges of ranks that need it */
    void (*leave)(struct comm_link *link);
    void (*close)(struct comm_link *link); /* after leave */
    /* optional: instead of exchange. abandon then ends the work in flight on
     * the device; its partial results are undefined */
    const struct comm_direct *direct;
};

/** A transport in a module. */
struct comm_module {
    uint32_t abi;        /* SSQ_COMM_ABI that it was compiled with */
    uint32_t backend;    /* SSQ_BACKEND_ABI, for struct services */
    const char *library; /* that it was built for, for example "Open MPI" */
    struct comm_transport transport;
    /* Create this rank's link. All ranks must call it. It waits for them, at
     * most place->timeout. SSQ_ERR_UNSUPPORTED: the library cannot be used in
     * this way. SSQ_ERR_COMM: a rank did not come. With a direct transport the
     * device must be current */
    ssq_status (*connect)(const struct services *services,
                          const struct comm_place *place,
                          struct comm_link **link, unsigned *rank,
                          unsigned *size);
};

/** A module exports a variable of this type, `ssq_comm_module`. */
typedef const struct comm_module *(*comm_module_fn)(uint32_t abi);

#endif
