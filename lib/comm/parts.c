/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - collectives over lists of tensors of which each rank has a part.
 *
 * A piece has at most the same number of elements of each rank's part, in rank
 * order in the slot. So all ranks send and receive at the same time. A piece
 * may extend over several tensors of one dtype. */
#include "lib/comm/parts.h"

#include "lib/comm/comm.h"
#include "lib/core/base/crc64.h"
#include "lib/core/core.h"

#include <string.h>

/* The position in a rank's part. */
struct parts_cursor {
    size_t view;
    int64_t at;
};

/* State of a job with parts, allocated by the call as one block and used by the
 * thread.
 * - next: the start of each rank's next piece
 * - begin, count: the start and the number of elements of the pieces in
 *   both slots */
struct parts {
    int64_t *bounds;
    struct parts_cursor *next, *begin[2];
    int64_t *count[2];
};

static struct parts *parts_create(unsigned size, size_t n)
{
    size_t cursors = 3 * (size_t)size, counts = 2 * (size_t)size;
    size_t words = counts + n * (size + (size_t)1);
    struct parts *p = mem_alloc(sizeof(*p) + cursors * sizeof(*p->next) +
                                words * sizeof(*p->bounds));
    if (p == NULL)
        return NULL;
    p->next = (struct parts_cursor *)(p + 1);
    p->begin[0] = p->next + size;
    p->begin[1] = p->begin[0] + size;
    p->count[0] = (int64_t *)(p->next + cursors);
    p->count[1] = p->count[0] + size;
    p->bounds = p->count[0] + counts;
    return p;
}

/* ---- pieces ---- */

/* Views of one dtype. most: maximum number of elements of each rank's part in
 * a piece. */
struct parts_group {
    size_t first, end;
    size_t bytes; /* of an element */
    int64_t most;
};

enum way { COUNT, TO_HOST, TO_DEVICE };

/* Transfer, or only count, at most g->most elements of rank r's part, starting
 * at cursor *c. Advances *c and sets *n to their number. */
static ssq_status pass_part(ssq_comm *comm, const struct job *job,
                            const struct parts_group *g, unsigned r,
                            enum way way, char *host, struct parts_cursor *c,
                            int64_t *n)
{
    ssq_status st = SSQ_OK;
    *n = 0;
    while (c->view < g->end && *n < g->most && st == SSQ_OK) {
        int64_t left = parts_bound(comm, job, c->view, r + 1) - c->at;
        int64_t some = size_least(left, g->most - *n);
        if (way != COUNT && some > 0)
            st = piece_transfer(comm, &job->views[c->view], c->at, some,
                                host + (size_t)*n * g->bytes, way == TO_DEVICE);
        *n += some;
        c->at += some;
        if (some == left && ++c->view < g->end)
            c->at = parts_bound(comm, job, c->view, r);
    }
    return st;
}

static char *parts_place(const struct parts_group *g, char *host, unsigned r)
{
    return host + (size_t)r * (size_t)g->most * g->bytes;
}

static bool reduces(const struct job *job)
{
    return job->call == CALL_REDUCE_SCATTER;
}

/* Fetch the next piece into slot i. Sets *more to false if no piece is left. */
static ssq_status parts_fetch(ssq_comm *comm, const struct job *job,
                              const struct parts_group *g, unsigned i,
                              bool *more)
{
    struct parts *p = job->parts;
    struct slot *s = &comm->slots[i];
    ssq_status st = s->sending ? ssq_event_sync(s->sent) : SSQ_OK;
    s->sending = false;
    *more = false;
    for (unsigned r = 0; r < comm->size && st == SSQ_OK; r++) {
        bool reads = reduces(job) || r == comm->rank;
        p->begin[i][r] = p->next[r];
        st = pass_part(comm, job, g, r, reads ? TO_HOST : COUNT,
                       parts_place(g, s->own, r), &p->next[r], &p->count[i][r]);
        *more = *more || p->count[i][r] > 0;
    }
    return st == SSQ_OK ? ssq_event_record(s->fetched, comm->side) : st;
}

static ssq_status parts_scatter(ssq_comm *comm, const struct job *job,
                                const struct parts_group *g, unsigned i)
{
    const int64_t *count = job->parts->count[i];
    const struct slot *s = &comm->slots[i];
    size_t mine = (size_t)count[comm->rank], n = 0;
    char *in = s->others, *out = parts_place(g, s->own, comm->rank);
    for (unsigned r = 0; r < comm->size; r++) {
        comm->terms[r] = r == comm->rank ? out : in;
        if (r == comm->rank)
            continue;
        if (count[r] > 0)
            exchange_set(comm, n++, r, true, parts_place(g, s->own, r),
                         (size_t)count[r] * g->bytes);
        if (mine > 0)
            exchange_set(comm, n++, r, false, in, mine * g->bytes);
        in += mine * g->bytes;
    }
    ssq_status st = exchange_run(comm, n);
    if (st == SSQ_OK && mine > 0)
        reduce_run(job->reduction, job->views[g->first].dtype, comm->size,
                   comm->terms, out, mine);
    return st;
}

/* Return true if rank r receives the parts of the other ranks. */
static bool receives(const struct job *job, unsigned r)
{
    return job->root == COMM_ALL || job->root == r;
}

static ssq_status parts_gather(ssq_comm *comm, const struct job *job,
                               const struct parts_group *g, unsigned i)
{
    const int64_t *count = job->parts->count[i];
    char *own = comm->slots[i].own;
    size_t mine = (size_t)count[comm->rank], n = 0;
    for (unsigned r = 0; r < comm->size; r++) {
        if (r == comm->rank)
            continue;
        if (mine > 0 && receives(job, r))
            exchange_set(comm, n++, r, true, parts_place(g, own, comm->rank),
                         mine * g->bytes);
        if (count[r] > 0 && receives(job, comm->rank))
            exchange_set(comm, n++, r, false, parts_place(g, own, r),
                         (size_t)count[r] * g->bytes);
    }
    return exchange_run(comm, n);
}

/* Upload the result of the piece in slot i: the sum of this rank's part, or the
 * parts of the other ranks. */
static ssq_status parts_send(ssq_comm *comm, const struct job *job,
                             const struct parts_group *g, unsigned i)
{
    struct slot *s = &comm->slots[i];
    ssq_status st = SSQ_OK;
    int64_t n;
    if (!reduces(job) && !receives(job, comm->rank))
        return SSQ_OK;
    for (unsigned r = 0; r < comm->size && st == SSQ_OK; r++)
        if (reduces(job) == (r == comm->rank))
            st =
                pass_part(comm, job, g, r, TO_DEVICE, parts_place(g, s->own, r),
                          &job->parts->begin[i][r], &n);
    if (st == SSQ_OK)
        st = ssq_event_record(s->sent, comm->side);
    s->sending = st == SSQ_OK;
    return st;
}

/* Move the views of a group. Two pieces are in flight, as in pieces.c. */
static ssq_status parts_run_group(ssq_comm *comm, const struct job *job,
                                  const struct parts_group *g)
{
    bool more = false;
    unsigned i = 0;
    for (unsigned r = 0; r < comm->size; r++)
        job->parts->next[r] = (struct parts_cursor){
            g->first, parts_bound(comm, job, g->first, r)};
    ssq_status st = parts_fetch(comm, job, g, 0, &more);
    for (; more && st == SSQ_OK; i ^= 1) {
        st = parts_fetch(comm, job, g, i ^ 1, &more);
        if (st == SSQ_OK)
            st = ssq_event_sync(comm->slots[i].fetched);
        if (st == SSQ_OK)
            st = reduces(job) ? parts_scatter(comm, job, g, i)
                              : parts_gather(comm, job, g, i);
        if (st == SSQ_OK)
            st = parts_send(comm, job, g, i);
    }
    return st;
}

ssq_status parts_run(ssq_comm *comm, const struct job *job)
{
    ssq_status st = SSQ_OK;
    struct parts_group g = {.end = 0};
    while (g.end < job->n && st == SSQ_OK) {
        ssq_dtype dtype = job->views[g.end].dtype;
        g.first = g.end;
        while (g.end < job->n && job->views[g.end].dtype == dtype)
            g.end++;
        g.bytes = dtype_bytes(dtype);
        g.most = (int64_t)(comm->options.piece_bytes / comm->size / g.bytes);
        g.most = size_most(g.most, 1);
        st = parts_run_group(comm, job, &g);
    }
    return st;
}

/* ---- calls ---- */

/* Hold the tensors sorted by dtype, because a piece has one dtype. Empty
 * tensors are left out. */
static void hold_all(const ssq_comm *comm, struct job *job,
                     const ssq_tensor *const *tensors, size_t n,
                     const int64_t *bounds)
{
    size_t row = comm->size + (size_t)1;
    for (int dtype = SSQ_F32; dtype <= SSQ_U8; dtype++)
        for (size_t i = 0; i < n; i++) {
            const struct view *v = &tensors[i]->view;
            if (v->dtype != (ssq_dtype)dtype || view_elements(v) == 0)
                continue;
            memcpy(job->parts->bounds + job->n * row, bounds + i * row,
                   row * sizeof(*bounds));
            job_hold(job, tensors[i]);
        }
    struct crc64 crc;
    crc64_begin(&crc);
    job->bounds = job->parts->bounds;
    job->parts_hash =
        crc64_add(&crc, 0, job->parts->bounds, job->n * row * sizeof(*bounds));
}

/* Enqueue a job; takes ownership of it. Bounds are not checked, because only
 * the library passes them. */
static ssq_status comm_parts_run(ssq_queue *queue, ssq_comm *comm,
                                 struct job *job,
                                 const ssq_tensor *const *tensors, size_t n,
                                 const int64_t *bounds, const char *what)
{
    ssq_status st =
        job == NULL ? SSQ_ERR_NOMEM : call_check(queue, comm, job->tag, what);
    if (st == SSQ_OK) {
        job->parts = parts_create(comm->size, n);
        job->views = mem_alloc_array(n + 1, sizeof(*job->views));
        if (job->parts == NULL || job->views == NULL)
            st = error_nomem(what, n * sizeof(*job->views));
    }
    if (st == SSQ_OK)
        hold_all(comm, job, tensors, n, bounds);
    if (st == SSQ_OK)
        return job_enqueue(comm, queue, job);
    job_free(job);
    return st;
}

ssq_status comm_reduce_parts(ssq_queue *queue, ssq_comm *comm,
                             const ssq_tensor *const *tensors, size_t n,
                             const int64_t *bounds, const char *tag)
{
    return comm_parts_run(queue, comm, job_create(CALL_REDUCE_SCATTER, tag),
                          tensors, n, bounds, "comm_reduce_parts");
}

ssq_status comm_gather_parts(ssq_queue *queue, ssq_comm *comm,
                             const ssq_tensor *const *tensors, size_t n,
                             const int64_t *bounds, uint32_t root,
                             const char *tag)
{
    struct job *job = job_create(CALL_ALL_GATHER, tag);
    if (job != NULL)
        job->root = root;
    return comm_parts_run(queue, comm, job, tensors, n, bounds,
                          "comm_gather_parts");
}

ssq_status comm_ready(ssq_queue *queue, ssq_comm *comm, const char *what)
{
    return call_check(queue, comm, NULL, what);
}
