/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - moves tensors through host memory.
 *
 * The values of a job are cut into pieces of one dtype. Each piece is cut into
 * one part for each rank:
 *
 *     all_reduce      every rank sends part r of its values to rank r, which
 *                     reduces them and then sends the result to all ranks
 *     reduce_scatter  the first half of all_reduce
 *     all_gather      the second half of all_reduce
 *     broadcast       the root sends the whole piece to all ranks
 *
 * Two pieces are in flight: while the ranks exchange one, the device reads the
 * next. The communicator's queue is in order, so a download that was enqueued
 * before an upload does not wait for it. */
#include "lib/comm/comm.h"

#include "lib/core/core.h"

#include <string.h>

/* Elements of one dtype. In a list: from element `at` of view `view` on, over
 * one or more views. With x and y: from element `at` of each rank's part on. */
struct pieces_piece {
    ssq_dtype dtype;
    size_t view;
    int64_t at;
    int64_t elements; /* of all parts together */
    int64_t part;     /* of each rank's part of x and y; 0: a list */
};

static bool paired(const struct job *job)
{
    return job->call == CALL_REDUCE_SCATTER || job->call == CALL_ALL_GATHER;
}

/* ---- cutting ---- */

/* Return the first element of rank r's part. For r = size: the end. */
static int64_t pieces_part(const ssq_comm *comm, const struct pieces_piece *p,
                           unsigned r)
{
    if (p->part > 0)
        return p->part * r;
    int64_t whole = p->elements / comm->size, rest = p->elements % comm->size;
    return whole * r + size_least(r, rest);
}

/* Advance *p to the end of its piece in a list. */
static void pieces_behind(const struct job *job, struct pieces_piece *p)
{
    int64_t left = p->elements;
    while (left > 0) {
        int64_t here = view_elements(&job->views[p->view]) - p->at;
        int64_t some = size_least(left, here);
        left -= some;
        p->at += some;
        if (p->at == view_elements(&job->views[p->view])) {
            p->view++;
            p->at = 0;
        }
    }
}

/* Set dtype and elements: as many elements of one dtype from *p on as fit into
 * a slot. */
static void take_list(const ssq_comm *comm, const struct job *job,
                      struct pieces_piece *p)
{
    p->dtype = job->views[p->view].dtype;
    int64_t most = (int64_t)(comm->options.piece_bytes / dtype_bytes(p->dtype));
    p->elements = 0;
    int64_t at = p->at;
    for (size_t i = p->view; i < job->n && p->elements < most; i++) {
        if (job->views[i].dtype != p->dtype)
            break;
        p->elements +=
            size_least(view_elements(&job->views[i]) - at, most - p->elements);
        at = 0;
    }
}

/* Advance *p to the next piece. *p is all zeros before the first call. Returns
 * false if no piece is left. */
static bool pieces_next_piece(const ssq_comm *comm, const struct job *job,
                              struct pieces_piece *p)
{
    if (!paired(job)) {
        pieces_behind(job, p);
        if (p->view == job->n)
            return false;
        take_list(comm, job, p);
        return true;
    }
    const struct view *small =
        &job->views[job->call == CALL_REDUCE_SCATTER ? 1 : 0];
    int64_t all = view_elements(small);
    p->dtype = small->dtype;
    p->at += p->part;
    int64_t most = (int64_t)(comm->options.piece_bytes / comm->size /
                             dtype_bytes(p->dtype));
    p->part = size_least(size_most(most, 1), all - p->at);
    p->elements = p->part * comm->size;
    return p->part > 0;
}

/* ---- between device and host ---- */

ssq_status piece_transfer(ssq_comm *comm, const struct view *v, int64_t at,
                          int64_t n, char *host, bool to_device)
{
    struct view r = view_range(v, at, n);
    uint64_t bytes = (uint64_t)n * dtype_bytes(v->dtype);
    struct upload_op up = upload_of(&r, host, bytes);
    struct download_op down = download_of(&r, host, bytes);
    return queue_enqueue(comm->side, to_device ? &up.op : &down.op);
}

/* Transfer the parts of all views over which a piece of a list extends. */
static ssq_status transfer_list(ssq_comm *comm, const struct job *job,
                                const struct pieces_piece *p, char *host,
                                bool to_device)
{
    int64_t left = p->elements, at = p->at;
    ssq_status st = SSQ_OK;
    for (size_t i = p->view; left > 0 && st == SSQ_OK; i++, at = 0) {
        int64_t n = size_least(left, view_elements(&job->views[i]) - at);
        st = piece_transfer(comm, &job->views[i], at, n, host, to_device);
        host += (size_t)n * dtype_bytes(p->dtype);
        left -= n;
    }
    return st;
}

/* Transfer every rank's part of the larger of x and y, or this rank's part of
 * the smaller. */
static ssq_status transfer_pair(ssq_comm *comm, const struct job *job,
                                const struct pieces_piece *p, char *host,
                                bool to_device)
{
    const struct view *v = &job->views[to_device ? 1 : 0];
    bool large = (job->call == CALL_ALL_GATHER) == to_device;
    size_t bytes = (size_t)p->part * dtype_bytes(p->dtype);
    if (!large)
        return piece_transfer(comm, v, p->at, p->part,
                              host + comm->rank * bytes, to_device);
    int64_t all = view_elements(v) / comm->size;
    ssq_status st = SSQ_OK;
    for (unsigned r = 0; r < comm->size && st == SSQ_OK; r++)
        st = piece_transfer(comm, v, r * all + p->at, p->part, host + r * bytes,
                            to_device);
    return st;
}

static ssq_status transfer_piece(ssq_comm *comm, const struct job *job,
                                 const struct pieces_piece *p, char *host,
                                 bool to_device)
{
    return paired(job) ? transfer_pair(comm, job, p, host, to_device)
                       : transfer_list(comm, job, p, host, to_device);
}

/* ---- between ranks ---- */

/* Send part r of this rank's values to rank r, and reduce this rank's part of
 * all ranks' values. */
static ssq_status pieces_scatter(ssq_comm *comm, const struct job *job,
                                 const struct pieces_piece *p,
                                 const struct slot *s)
{
    size_t bytes = dtype_bytes(p->dtype), n = 0;
    int64_t from = pieces_part(comm, p, comm->rank);
    int64_t mine = pieces_part(comm, p, comm->rank + 1) - from;
    char *in = s->others;
    for (unsigned r = 0; r < comm->size; r++) {
        int64_t theirs = pieces_part(comm, p, r + 1) - pieces_part(comm, p, r);
        comm->terms[r] = s->at + (size_t)from * bytes;
        if (r == comm->rank)
            continue;
        if (theirs > 0)
            exchange_set(comm, n++, r, true,
                         s->at + (size_t)pieces_part(comm, p, r) * bytes,
                         (size_t)theirs * bytes);
        if (mine > 0)
            exchange_set(comm, n++, r, false, in, (size_t)mine * bytes);
        comm->terms[r] = in;
        in += (size_t)mine * bytes;
    }
    ssq_status st = exchange_run(comm, n);
    if (st == SSQ_OK && mine > 0)
        reduce_run(job->reduction, p->dtype, comm->size, comm->terms,
                   s->at + (size_t)from * bytes, (size_t)mine);
    return st;
}

/* Send this rank's part to all ranks, and receive theirs. */
static ssq_status pieces_gather(ssq_comm *comm, const struct pieces_piece *p,
                                const struct slot *s)
{
    size_t bytes = dtype_bytes(p->dtype), n = 0;
    int64_t from = pieces_part(comm, p, comm->rank);
    int64_t mine = pieces_part(comm, p, comm->rank + 1) - from;
    for (unsigned r = 0; r < comm->size; r++) {
        int64_t at = pieces_part(comm, p, r),
                theirs = pieces_part(comm, p, r + 1) - at;
        if (r == comm->rank)
            continue;
        if (mine > 0)
            exchange_set(comm, n++, r, true, s->at + (size_t)from * bytes,
                         (size_t)mine * bytes);
        if (theirs > 0)
            exchange_set(comm, n++, r, false, s->at + (size_t)at * bytes,
                         (size_t)theirs * bytes);
    }
    return exchange_run(comm, n);
}

static ssq_status pieces_spread(ssq_comm *comm, const struct job *job,
                                const struct pieces_piece *p,
                                const struct slot *s)
{
    size_t bytes = (size_t)p->elements * dtype_bytes(p->dtype), n = 0;
    if (comm->rank != job->root)
        exchange_set(comm, n++, job->root, false, s->at, bytes);
    for (unsigned r = 0; r < comm->size && comm->rank == job->root; r++)
        if (r != job->root)
            exchange_set(comm, n++, r, true, s->at, bytes);
    return exchange_run(comm, n);
}

static ssq_status exchange_piece(ssq_comm *comm, const struct job *job,
                                 const struct pieces_piece *p,
                                 const struct slot *s)
{
    if (job->call == CALL_BROADCAST)
        return pieces_spread(comm, job, p, s);
    ssq_status st = SSQ_OK;
    if (job->call != CALL_ALL_GATHER)
        st = pieces_scatter(comm, job, p, s);
    if (st == SSQ_OK && job->call != CALL_REDUCE_SCATTER)
        st = pieces_gather(comm, p, s);
    return st;
}

/* ---- piece by piece ---- */

/* A broadcast reads only on its root, and writes only on the other ranks. */
static bool reads(const ssq_comm *comm, const struct job *job)
{
    return job->call != CALL_BROADCAST || comm->rank == job->root;
}

static bool writes(const ssq_comm *comm, const struct job *job)
{
    return job->call != CALL_BROADCAST || comm->rank != job->root;
}

/* Return the address of a piece if the ranks can read and write it in the
 * tensor itself. NULL: it must be copied. This needs a piece of one tensor in
 * host memory, and a device that has finished all submitted commands. */
static char *pieces_in_place(const ssq_comm *comm, const struct job *job,
                             const struct pieces_piece *p)
{
    const struct view *v = &job->views[p->view];
    if (comm->device->backend->completed != NULL || paired(job) ||
        view_elements(v) - p->at < p->elements)
        return NULL;
    char *host = view_host(v);
    return host == NULL ? NULL : host + (size_t)p->at * dtype_bytes(p->dtype);
}

/* Fetch a piece into a slot. Waits first until the device has read the slot's
 * last upload. */
static ssq_status pieces_fetch(ssq_comm *comm, const struct job *job,
                               const struct pieces_piece *p, struct slot *s)
{
    ssq_status st = s->sending ? ssq_event_sync(s->sent) : SSQ_OK;
    s->sending = false;
    s->at = pieces_in_place(comm, job, p);
    bool copies = s->at == NULL;
    if (copies)
        s->at = s->own;
    if (st == SSQ_OK && copies && reads(comm, job))
        st = transfer_piece(comm, job, p, s->own, false);
    return st == SSQ_OK ? ssq_event_record(s->fetched, comm->side) : st;
}

static ssq_status pieces_send(ssq_comm *comm, const struct job *job,
                              const struct pieces_piece *p, struct slot *s)
{
    if (!writes(comm, job) || s->at != s->own)
        return SSQ_OK;
    ssq_status st = transfer_piece(comm, job, p, s->own, true);
    if (st == SSQ_OK)
        st = ssq_event_record(s->sent, comm->side);
    s->sending = st == SSQ_OK;
    return st;
}

/* ---- few values, which are sent with the header ---- */

/* Return where the next piece begins if one ends at `at`. It may have any
 * dtype, so it is aligned. */
static size_t aligned(size_t at)
{
    return (at + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

size_t inlined_bytes(const ssq_comm *comm, const struct job *job)
{
    struct pieces_piece p = {.view = 0};
    size_t at = 0;
    if (job->call != CALL_ALL_REDUCE)
        return 0;
    while (at <= INLINE_BYTES && pieces_next_piece(comm, job, &p))
        at = aligned(at + (size_t)p.elements * dtype_bytes(p.dtype));
    return at <= INLINE_BYTES ? at : 0;
}

ssq_status inlined_fetch(ssq_comm *comm, const struct job *job)
{
    struct pieces_piece p = {.view = 0};
    char *own = comm_inlined(comm, comm->rank);
    size_t at = 0;
    ssq_status st = SSQ_OK;
    while (st == SSQ_OK && pieces_next_piece(comm, job, &p)) {
        st = transfer_piece(comm, job, &p, own + at, false);
        at = aligned(at + (size_t)p.elements * dtype_bytes(p.dtype));
    }
    return st;
}

ssq_status inlined_run(ssq_comm *comm, const struct job *job)
{
    struct pieces_piece p = {.view = 0};
    struct slot *s = &comm->slots[0];
    size_t at = 0;
    ssq_status st = s->sending ? ssq_event_sync(s->sent) : SSQ_OK;
    s->sending = false;
    while (st == SSQ_OK && pieces_next_piece(comm, job, &p)) {
        char *out = s->own + at;
        for (unsigned r = 0; r < comm->size; r++)
            comm->terms[r] = comm_inlined(comm, r) + at;
        reduce_run(job->reduction, p.dtype, comm->size, comm->terms, out,
                   (size_t)p.elements);
        st = transfer_piece(comm, job, &p, out, true);
        at = aligned(at + (size_t)p.elements * dtype_bytes(p.dtype));
    }
    if (st == SSQ_OK)
        st = ssq_event_record(s->sent, comm->side);
    s->sending = st == SSQ_OK;
    return st;
}

/* ---- all pieces ---- */

ssq_status pieces_run(ssq_comm *comm, const struct job *job)
{
    struct pieces_piece now = {.view = 0};
    unsigned i = 0;
    ssq_status st = SSQ_OK;
    bool more = job->n > 0 && pieces_next_piece(comm, job, &now);
    if (more)
        st = pieces_fetch(comm, job, &now, &comm->slots[0]);
    for (; more && st == SSQ_OK; i ^= 1) {
        struct pieces_piece next = now;
        struct slot *s = &comm->slots[i];
        more = pieces_next_piece(comm, job, &next);
        if (more)
            st = pieces_fetch(comm, job, &next, &comm->slots[i ^ 1]);
        if (st == SSQ_OK)
            st = ssq_event_sync(s->fetched);
        if (st == SSQ_OK)
            st = exchange_piece(comm, job, &now, s);
        if (st == SSQ_OK)
            st = pieces_send(comm, job, &now, s);
        now = next;
    }
    return st;
}
