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
#define SSQ_COMM_ABI 2

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

struct comm_transport {
    uint32_t abi;
    const char *name;
    /* Pass n messages, and answer when all have passed. From one thread at a
     * time. SSQ_ERR_COMM, with a text that names the ranks that did not come
     * within timeout seconds, that are gone, or that have given up, with their
     * text; the link is of no use
     * but for abandon, leave and close */
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
};

/** A transport that is a module of its own. */
struct comm_module {
    uint32_t abi;        /* SSQ_COMM_ABI that it was compiled with */
    uint32_t backend;    /* SSQ_BACKEND_ABI: that of struct services */
    const char *library; /* which one it was built for: "Open MPI" */
    struct comm_transport transport;
    /* This rank's end of a caller's own communicator, of bytes bytes at handle;
     * all ranks call it, and it waits for them. SSQ_ERR_UNSUPPORTED where that
     * library cannot be used so */
    ssq_status (*connect)(const struct services *services, const void *handle,
                          size_t bytes, struct comm_link **link, unsigned *rank,
                          unsigned *size);
};

/** What a module exports, as `ssq_comm_module`. */
typedef const struct comm_module *(*comm_module_fn)(uint32_t abi);

#endif
