/* SPDX-License-Identifier: Apache-2.0 */
/* deferred.h - the work of a queue after a closed gate (gate.h), in order. */
#ifndef LIB_CORE_QUEUE_DEFERRED_H
#define LIB_CORE_QUEUE_DEFERRED_H

#include "lib/core/core.h"

struct gate;
struct pending;
struct waiter;

/** The deferred work of a queue, under the queue's lock. Event records that are
 *  deferred have numbers, from 1. */
struct deferred_list {
    struct deferred *first, **end; /* NULL: nothing is deferred */
    uint64_t commands;             /* in the list */
    uint64_t records;              /* event records that were deferred so far */
    atomic_uint_fast64_t records_submitted; /* how many of these were since
                                               submitted; read without lock */
    struct waiter *waiters;  /* queues that wait for such a record: gate.c */
    pthread_cond_t changed;  /* signalled when the list becomes shorter */
    bool draining;           /* a thread is submitting deferred work */
    unsigned draining_forks; /* fork_count() when it began */
};

enum deferred_kind {
    DEFERRED_COMMANDS, /* chain, with n commands */
    DEFERRED_GATE,     /* gate */
    DEFERRED_RECORD,   /* event */
    DEFERRED_WAIT      /* event, and its record on queue `other` */
};

/** One deferred item. All pointers are references. */
struct deferred {
    struct deferred *next;
    enum deferred_kind kind;
    struct pending *chain;
    size_t n; /* commands of chain */
    struct gate *gate;
    unsigned forks; /* fork_count() when the item, or its gate, was created */
    ssq_event *event;
    ssq_queue *other; /* NULL: the record was submitted */
    uint64_t record;  /* its number on `other` */
};

/** Create an empty item. NULL without memory; the error text is set. */
struct deferred *deferred_create(enum deferred_kind kind);

/** True if the queue has deferred work. */
bool deferred_any(const ssq_queue *queue);
/** Return SSQ_ERR_DEVICE in a child of fork if work of the parent's queue would
 *  be deferred forever, because no thread opens the gate; else SSQ_OK. The
 *  error text begins with `what`. */
ssq_status deferred_check_fork(const ssq_queue *queue, const char *what);
/** Wait until nothing is deferred (DEFERRED_ALL), or until deferred record
 *  number `record` was submitted.
 *  @return the queue's sticky error; the error of deferred_check_fork() */
#define DEFERRED_ALL UINT64_MAX
ssq_status deferred_wait(ssq_queue *queue, uint64_t record, const char *what);

/* ---- with the queue's lock ---- */

/** Append an item to the list. */
void deferred_append(ssq_queue *queue, struct deferred *item);
/** Defer n commands of a chain. Takes over the chain, unless it fails. */
ssq_status deferred_add_commands(ssq_queue *queue, struct pending *chain,
                                 size_t n);
/** Defer a record of an event. Sets *record to its number. */
ssq_status deferred_add_record(ssq_queue *queue, ssq_event *event,
                               uint64_t *record);

#endif
