/* SPDX-License-Identifier: Apache-2.0 */
/* comm_create.c - creates and destroys communicators. */
#include "lib/comm/direct.h"
#include "lib/comm/parts.h"
#include "lib/core/queue/queue.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

ssq_status comm_options(const ssq_comm_options *given, const char *what,
                        ssq_comm_options *options)
{
    *options = (ssq_comm_options)SSQ_COMM_OPTIONS_INIT;
    if (given == NULL)
        return SSQ_OK;
    if (given->struct_size != sizeof(*given))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         given->struct_size, sizeof(*given));
    if (!(given->timeout > 0.0) || given->timeout > 1e9)
        return error_set(SSQ_ERR_INVALID,
                         "%s: timeout is %g seconds, expected more than 0 and "
                         "at most 1e9",
                         what, given->timeout);
    if (given->piece_bytes < 256 || given->piece_bytes > (uint64_t)1 << 30)
        return error_set(SSQ_ERR_INVALID,
                         "%s: piece_bytes is %llu, expected 256 to 2^30", what,
                         (unsigned long long)given->piece_bytes);
    *options = *given;
    return SSQ_OK;
}

/* ---- creation and destruction ---- */

/* Free the members that holders of a reference may still use. */
static void comm_free(struct object *object)
{
    ssq_comm *comm = (ssq_comm *)object;
    pthread_cond_destroy(&comm->changed);
    pthread_mutex_destroy(&comm->lock);
    object_put(&comm->device->object);
    mem_free(comm);
}

/* Close and free the other members. Also for a communicator that was created
 * only in part. Its threads have ended. Memory that the transport may still use
 * is not freed. */
static void comm_close(ssq_comm *comm)
{
    for (int i = 0; i < 2; i++) {
        ssq_event_destroy(&comm->slots[i].fetched);
        ssq_event_destroy(&comm->slots[i].sent);
    }
    ssq_queue_destroy(&comm->side); /* waits: transfers use the slots */
    bool unused = !comm_pending(comm);
    comm->transport->close(comm->link);
    for (int i = 0; i < 2 && unused; i++) {
        mem_free(comm->slots[i].own);
        mem_free(comm->slots[i].others);
    }
    if (unused)
        mem_free(comm->headers);
    mem_free(comm->messages);
    mem_free(comm->terms);
    object_put(&comm->object);
}

void comm_hold(ssq_comm *comm)
{
    if (comm != NULL)
        object_get(&comm->object);
}

void comm_put(ssq_comm *comm)
{
    if (comm != NULL)
        object_put(&comm->object);
}

/* `others` has one float more per rank, because each part is rounded up to
 * whole elements. */
static ssq_status comm_make_slot(ssq_comm *comm, struct slot *s)
{
    ssq_status st = ssq_event_create(comm->device, &s->fetched);
    if (st == SSQ_OK)
        st = ssq_event_create(comm->device, &s->sent);
    if (st != SSQ_OK || comm->transport->direct != NULL)
        return st;
    size_t bytes = (size_t)comm->options.piece_bytes;
    size_t least = INLINE_BYTES + comm->size * sizeof(float);
    bytes = bytes < least ? least : bytes;
    s->own = mem_alloc(bytes);
    s->others = mem_alloc(bytes + comm->size * sizeof(float));
    if (s->own == NULL || s->others == NULL)
        return error_nomem("comm", bytes);
    return SSQ_OK;
}

static ssq_status comm_make_room(ssq_comm *comm)
{
    size_t n = comm->size;
    comm->messages = mem_alloc_array(2 * n, sizeof(*comm->messages));
    comm->headers = mem_alloc_array(n, HEADER_BYTES);
    comm->terms = mem_alloc_array(n, sizeof(*comm->terms));
    if (comm->messages == NULL || comm->headers == NULL || comm->terms == NULL)
        return error_nomem("comm", n * HEADER_BYTES);
    ssq_status st = ssq_queue_create(comm->device, NULL, &comm->side);
    if (st == SSQ_OK)
        comm->side->reported = true; /* by job_enqueue() */
    for (int i = 0; i < 2 && st == SSQ_OK; i++)
        st = comm_make_slot(comm, &comm->slots[i]);
    return st;
}

/* End the thread. Jobs that are left fail, because the link was left before. */
static void stop(ssq_comm *comm)
{
    pthread_mutex_lock(&comm->lock);
    comm->closing = true;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    pthread_join(comm->thread, NULL);
}

static ssq_status start_both(ssq_comm *comm)
{
    ssq_status st = comm_thread_start(&comm->thread, comm_thread, comm);
    if (st != SSQ_OK)
        return st;
    st = comm_thread_start(&comm->runner, comm_runner, comm);
    if (st != SSQ_OK)
        stop(comm);
    return st;
}

ssq_status comm_create(ssq_device *device, unsigned rank, unsigned size,
                       const struct comm_transport *transport,
                       struct comm_link *link, const ssq_comm_options *options,
                       ssq_comm **out)
{
    ssq_comm *comm = mem_alloc(sizeof(*comm));
    if (comm == NULL) {
        transport->leave(link);
        transport->close(link);
        return error_nomem("comm", sizeof(*comm));
    }
    object_init(&comm->object, comm_free);
    comm->device = device;
    object_get(&device->object);
    comm->rank = rank;
    comm->size = size;
    comm->transport = transport;
    comm->link = link;
    comm->options = *options;
    comm->forks = fork_count();
    comm->jobs_end = &comm->jobs;
    comm->drains_end = &comm->drains;
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->changed, NULL);
    ssq_status st = comm_make_room(comm);
    if (st == SSQ_OK && transport->direct != NULL)
        st = direct_create(comm);
    if (st == SSQ_OK)
        st = start_both(comm);
    if (st == SSQ_OK) {
        *out = comm;
        return SSQ_OK;
    }
    transport->leave(link);
    direct_destroy(comm);
    comm_close(comm);
    return st;
}

void ssq_comm_destroy(ssq_comm **comm)
{
    if (comm == NULL || *comm == NULL)
        return;
    ssq_comm *c = *comm;
    *comm = NULL;
    if (c->forks != fork_count())
        return; /* its threads and their memory are in the parent */
    char text[64];
    (void)snprintf(text, sizeof(text), "rank %u was destroyed", c->rank);
    (void)comm_end_here(c, SSQ_ERR_COMM, text);
    if (c->fail != NULL && c->fail(c, comm_check(c, "")))
        c->transport->abandon(c->link, text);
    c->transport->leave(c->link);
    stop(c);
    pthread_join(c->runner, NULL);
    direct_destroy(c);
    comm_close(c);
}

/* ---- properties ---- */

unsigned ssq_comm_rank(const ssq_comm *comm)
{
    return comm == NULL ? 0 : comm->rank;
}

unsigned ssq_comm_size(const ssq_comm *comm)
{
    return comm == NULL ? 0 : comm->size;
}

ssq_device *ssq_comm_device(const ssq_comm *comm)
{
    return comm == NULL ? NULL : comm->device;
}

const char *ssq_comm_transport(const ssq_comm *comm)
{
    return comm == NULL ? "" : comm->transport->name;
}
