/* SPDX-License-Identifier: Apache-2.0 */
/* moves.c - lists of moves for a library, and its call at their place in the
 * queue's order. */
#include "lib/comm/direct.h"

#include "lib/core/queue/call.h"

#include <stdio.h>

/** A group of moves for the library. A graph may launch it several times. */
struct direct_call {
    struct object object;
    struct direct *direct;
    char words[DIRECT_WORDS];
    unsigned root;
    size_t n;
    struct comm_move move[];
};

struct moves {
    struct direct_call *call;
    struct view_list *list; /* from and to of each move */
};

static void call_free(struct object *o)
{
    struct direct_call *c = (struct direct_call *)o;
    object_put(&c->direct->object);
    mem_free(c);
}

static struct direct_call *call_create(ssq_comm *comm, const struct job *job,
                                       size_t most)
{
    size_t bytes = most * sizeof(struct comm_move);
    struct direct_call *c = mem_alloc(sizeof(*c) + bytes);
    if (c == NULL) {
        (void)error_nomem("comm", sizeof(*c) + bytes);
        return NULL;
    }
    object_init(&c->object, call_free);
    c->direct = comm->direct;
    object_get(&c->direct->object);
    c->root = job->root;
    (void)job_words(job, c->words, sizeof(c->words));
    return c;
}

static void moves_free(struct moves *m)
{
    if (m == NULL)
        return;
    if (m->call != NULL)
        object_put(&m->call->object);
    if (m->list != NULL)
        object_put(&m->list->object);
    mem_free(m);
}

struct moves *moves_create(ssq_comm *comm, const struct job *job, size_t most)
{
    struct moves *m = mem_alloc(sizeof(*m));
    if (m == NULL) {
        (void)error_nomem("comm", sizeof(*m));
        return NULL;
    }
    m->call = call_create(comm, job, most);
    m->list = m->call == NULL ? NULL : list_create(2 * most, "comm");
    if (m->list != NULL)
        return m;
    moves_free(m);
    return NULL;
}

static uint64_t address_of(const struct view *v)
{
    const struct backend *b = v->buffer->device->backend;
    return (uint64_t)(uintptr_t)b->mem_handle(v->buffer->mem) +
           v->buffer->offset + v->offset;
}

void moves_root(struct moves *m, unsigned root)
{
    m->call->root = root;
}

void moves_add(struct moves *m, enum comm_move_kind kind,
               enum comm_element element, const struct view *from,
               const struct view *to, uint64_t n)
{
    struct direct_call *c = m->call;
    c->move[c->n] = (struct comm_move){.kind = kind,
                                       .element = element,
                                       .root = c->root,
                                       .from = address_of(from),
                                       .to = address_of(to),
                                       .n = n};
    list_set(m->list, 2 * c->n, from, ACCESS_READ);
    list_set(m->list, 2 * c->n + 1, to, ACCESS_WRITE);
    c->n++;
}

/* ---- at the place in the queue's order ---- */

/* Call the library between two events. No events are used while a program
 * records the queue, because the time of the launch is unknown. */
static ssq_status run_on(ssq_comm *comm, const struct direct_call *c,
                         ssq_queue *queue, void *native)
{
    const struct backend *b = queue->device->backend;
    struct watched_call *call = NULL;
    bool recorded = false;
    ssq_status st = comm_check(comm, c->words);
    if (st == SSQ_OK && b->captured != NULL)
        st = b->captured(queue->impl, &recorded);
    if (st == SSQ_OK && !recorded)
        st = watch_begin(comm, queue, c->words, &call);
    if (st != SSQ_OK)
        return st;
    st = comm->transport->direct->enqueue(comm->link, native, c->move, c->n,
                                          comm->options.timeout);
    if (st == SSQ_OK && call != NULL)
        return watch_end(comm, queue, call);
    if (call != NULL)
        watch_drop(comm, call);
    if (st != SSQ_OK) {
        char text[ERROR_TEXT];
        (void)snprintf(text, sizeof(text), "%s, rank %u of %u: %.700s",
                       c->words, comm->rank, comm->size, ssq_last_error());
        comm_end(comm, SSQ_ERR_COMM, text);
        st = comm_check(comm, c->words);
    }
    return st;
}

/* Run a call at its place in the queue. If it fails the queue fails, too: later
 * work must not use missing results. */
static ssq_status moves_run(struct object *keep, ssq_queue *queue, void *native)
{
    const struct direct_call *c = (const struct direct_call *)keep;
    struct direct *d = c->direct;
    pthread_mutex_lock(&d->lock);
    ssq_status st =
        d->comm != NULL
            ? run_on(d->comm, c, queue, native)
            : error_set(SSQ_ERR_COMM, "%s: the communicator was destroyed",
                        c->words);
    pthread_mutex_unlock(&d->lock);
    return st == SSQ_OK ? SSQ_OK : queue_fail(queue, st);
}

ssq_status moves_enqueue(struct moves *m, ssq_queue *queue)
{
    if (m == NULL)
        return SSQ_ERR_NOMEM;
    ssq_status st = SSQ_OK;
    if (m->call->n > 0)
        st = queue_call(queue, m->list, &m->call->object, moves_run);
    moves_free(m);
    return st;
}
