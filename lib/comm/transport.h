/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - what carries messages between the ranks of a group.
 *
 * Collectives are made of exchanges: a rank sends and receives some messages
 * and goes on when all of them have passed. What is sent, the order of sums and
 * what differs between calls is the business of lib/comm alone, so that
 * results have the same bits whatever carries them. A transport that is a
 * module imports no symbol of ours: it is lent struct services. */
#ifndef LIB_COMM_TRANSPORT_H
#define LIB_COMM_TRANSPORT_H

#include "lib/core/backend.h"

/** Raised when anything here changes: a module of another number is refused. */
#define SSQ_COMM_ABI 4

/** A transport's own: one rank's end of it. */
struct comm_link;

/** Bytes to or from another rank. Messages between two ranks arrive in the
 *  order in which they were sent; at most one each way in an exchange. */
struct comm_message {
    unsigned peer;
    bool send;
    bool done;   /* written by exchange */
    void *bytes; /* read where it is sent */
    size_t size; /* to receive: the most that may come */
    size_t got;  /* written by exchange: what has come */
};

/** What a library of the devices' makes of their memory by itself. */
enum comm_move_kind {
    MOVE_BROADCAST, /* the root's n elements to all */
    MOVE_SUM,       /* n elements of each, in the library's order */
    MOVE_MAX,
    MOVE_SUM_SCATTER, /* size * n elements of each; rank r gets part r */
    MOVE_GATHER,      /* n elements of each, size * n to all */
    MOVE_REDUCE,      /* the sum of n elements of each to the root alone */
    MOVE_SEND, /* n elements to the rank root, which has a MOVE_RECEIVE */
    MOVE_RECEIVE
};
enum comm_element { ELEMENT_BYTE, ELEMENT_F32, ELEMENT_I32 };

struct comm_move {
    enum comm_move_kind kind;
    enum comm_element element; /* sums of f32, a maximum of i32 */
    unsigned root;
    uint64_t from, to; /* addresses on the device; the same: in place, or there
                          is but one */
    uint64_t n;
};

/** Collectives of such a library, which needs no memory of the host's. */
struct comm_direct {
    /* Enqueue n moves as one, the same on all ranks, on what a queue is to its
     * driver, whose device is current. Answers when they are enqueued: they may
     * fail later. The others may have to come for it, within timeout seconds.
     * SSQ_ERR_COMM with a text: the link is of no use any more. From one thread
     * at a time */
    ssq_status (*enqueue)(struct comm_link *link, void *native,
                          const struct comm_move *moves, size_t n,
                          double timeout);
    /* an error that the library has come upon by itself, with its text. Never
     * waits; from any thread until the link is closed */
    ssq_status (*look)(struct comm_link *link);
    /* Before a link: an id for a group, COMM_ID_BYTES of it */
    ssq_status (*id)(const struct services *services, void *id);
};

#define COMM_ID_BYTES 128

/** What connect makes a link of. */
struct comm_place {
    const void *id; /* COMM_ID_BYTES; NULL: theirs */
    void *theirs;   /* the caller's own communicator, lent: the link does not
                       end it, and gives rank and size */
    const void *handle; /* of MPI: where the caller's own is, whose type only
                           the module knows */
    size_t bytes;       /* there */
    unsigned rank, size;
    double timeout; /* seconds, for the others to come */
};

struct comm_transport {
    uint32_t abi;
    const char *name;
    /* Pass n messages, and answer when all have passed. From one thread at a
     * time. SSQ_ERR_COMM, with a text that names the ranks that did not come
     * within timeout seconds, that are gone, or that have given up, with their
     * text; the link is of no use
     * but for abandon, leave and close. NULL: the transport is direct */
    ssq_status (*exchange)(struct comm_link *link,
                           struct comm_message *messages, size_t n,
                           double timeout);
    /* optional: true where messages of an exchange that has failed may still be
     * read or written, now and for ever: their memory stays */
    bool (*pending)(const struct comm_link *link);
    /* tell all other ranks that this one gives up, and why: their exchanges
     * fail. By whoever exchanges, once an exchange has failed or none is under
     * way */
    void (*abandon)(struct comm_link *link, const char *text);
    /* from another thread: this rank takes part no longer. Its own exchange
     * fails, and those of others that need it */
    void (*leave)(struct comm_link *link);
    void (*close)(struct comm_link *link); /* after leave */
    /* optional: instead of exchange. abandon ends what is under way on the
     * device, whatever it has written by then */
    const struct comm_direct *direct;
};

/** A transport that is a module of its own. */
struct comm_module {
    uint32_t abi;        /* SSQ_COMM_ABI that it was compiled with */
    uint32_t backend;    /* SSQ_BACKEND_ABI: that of struct services */
    const char *library; /* which one it was built for: "Open MPI" */
    struct comm_transport transport;
    /* This rank's end; all ranks call it, and it waits for them, at most
     * place->timeout. SSQ_ERR_UNSUPPORTED where the library cannot be used so,
     * SSQ_ERR_COMM where somebody does not come. Of a direct transport with the
     * device current */
    ssq_status (*connect)(const struct services *services,
                          const struct comm_place *place,
                          struct comm_link **link, unsigned *rank,
                          unsigned *size);
};

/** What a module exports, as `ssq_comm_module`. */
typedef const struct comm_module *(*comm_module_fn)(uint32_t abi);

#endif
