/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - the public collectives, and the checks of their arguments. */
#include "lib/comm/comm.h"
#include "lib/comm/parts.h"
#include "lib/core/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

ssq_status call_check(ssq_queue *queue, ssq_comm *comm, const char *tag,
                      const char *what)
{
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (comm == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: comm is NULL", what);
    if (comm->device != queue->device)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: rank %u is on another device, %s, than the queue, on %s", what,
            comm->rank, comm->device->props.name, queue->device->props.name);
    if (tag != NULL && strlen(tag) >= COMM_TAG)
        return error_set(SSQ_ERR_INVALID,
                         "%s: tag \"%.40s\" has %zu characters, expected at "
                         "most %d",
                         what, tag, strlen(tag), COMM_TAG - 1);
    if (comm->direct == NULL) {
        st = queue_uncaptured(queue, what);
        if (st != SSQ_OK)
            return st;
    }
    return comm_usable(comm, what);
}

static ssq_status call_check_args(const void *args, size_t size, size_t want,
                                  const char *what)
{
    if (args == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: args is NULL", what);
    if (size != want)
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what, size,
                         want);
    return SSQ_OK;
}

static ssq_status call_check_tensor(const ssq_queue *queue, const ssq_tensor *t,
                                    unsigned dtypes, const char *what,
                                    const char *name)
{
    ssq_status st = check_output(queue, t, what, name);
    if (st == SSQ_OK)
        st = check_dtype(t, dtypes, what, name);
    if (st == SSQ_OK && !view_contiguous(&t->view))
        st = error_set(SSQ_ERR_INVALID, "%s: %s is not contiguous", what, name);
    return st;
}

/* Set *dtypes to the valid dtypes of a reduction. */
static ssq_status check_reduction(ssq_comm_reduction reduction,
                                  const char *what, unsigned *dtypes)
{
    if ((unsigned)reduction > SSQ_COMM_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: reduction is %d, expected 0 to %d", what,
                         (int)reduction, SSQ_COMM_MAX);
    *dtypes = DTYPES_FLOAT;
    if (reduction == SSQ_COMM_MAX)
        *dtypes |= DTYPE_BIT(SSQ_I32);
    return SSQ_OK;
}

/* ---- lists ---- */

/* Hold the tensors sorted by dtype, because a piece has one dtype. Within a
 * dtype they keep their order. Tensors without elements are left out. */
static ssq_status hold_list(struct job *job, const ssq_tensor *const *tensors,
                            size_t n, const char *what)
{
    job->views = mem_alloc_array(n + 1, sizeof(*job->views));
    if (job->views == NULL)
        return error_nomem(what, n * sizeof(*job->views));
    for (int dtype = SSQ_F32; dtype <= SSQ_U8; dtype++)
        for (size_t i = 0; i < n; i++)
            if (tensors[i]->view.dtype == (ssq_dtype)dtype &&
                view_elements(&tensors[i]->view) > 0)
                job_hold(job, tensors[i]);
    return SSQ_OK;
}

static int call_by_place(const void *a, const void *b)
{
    const struct byte_range *x = a, *y = b;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Refuse tensors that overlap, also if they are of two buffers over the same
 * lent memory. The job has no empty tensors. After sorting, overlapping tensors
 * are neighbours. */
static ssq_status check_apart(const struct job *job, const char *what)
{
    struct byte_range *r = mem_alloc_array(job->n + 1, sizeof(*r));
    ssq_status st = SSQ_OK;
    if (r == NULL)
        return error_nomem(what, job->n * sizeof(*r));
    for (size_t i = 0; i < job->n; i++)
        r[i] = view_bytes(&job->views[i]);
    qsort(r, job->n, sizeof(*r), call_by_place);
    for (size_t i = 1; i < job->n && st == SSQ_OK; i++)
        if (r[i].space == r[i - 1].space && r[i].from < r[i - 1].to)
            st = error_set(SSQ_ERR_INVALID, "%s: two of the tensors overlap",
                           what);
    mem_free(r);
    return st;
}

/* Check the tensors of a list, and let the job hold them. */
static ssq_status list_job(ssq_queue *queue, struct job *job,
                           const ssq_tensor *const *tensors, size_t n,
                           unsigned dtypes, const char *what)
{
    char name[32];
    if (tensors == NULL && n > 0)
        return error_set(SSQ_ERR_INVALID, "%s: tensors is NULL", what);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "tensor %zu", i);
        ssq_status st =
            call_check_tensor(queue, tensors[i], dtypes, what, name);
        if (st != SSQ_OK)
            return st;
    }
    ssq_status st = hold_list(job, tensors, n, what);
    return st == SSQ_OK ? check_apart(job, what) : st;
}

/* ---- calls over lists ---- */

ssq_status ssq_comm_broadcast(ssq_queue *queue, ssq_comm *comm,
                              const ssq_comm_broadcast_args *args)
{
    static const char what[] = "comm_broadcast";
    ssq_status st = call_check_args(args, args == NULL ? 0 : args->struct_size,
                                    sizeof(*args), what);
    if (st == SSQ_OK)
        st = call_check(queue, comm, args->tag, what);
    if (st == SSQ_OK && args->root >= comm->size)
        st = error_set(SSQ_ERR_INVALID, "%s: root is %u of %u ranks", what,
                       args->root, comm->size);
    if (st != SSQ_OK)
        return st;
    struct job *job = job_create(CALL_BROADCAST, args->tag);
    if (job == NULL)
        return SSQ_ERR_NOMEM;
    job->root = args->root;
    job->work = args->work;
    st = list_job(queue, job, args->tensors, args->n, DTYPES_ALL, what);
    if (st == SSQ_OK)
        return job_enqueue(comm, queue, job);
    job_free(job);
    return st;
}

ssq_status ssq_comm_all_reduce(ssq_queue *queue, ssq_comm *comm,
                               const ssq_comm_all_reduce_args *args)
{
    static const char what[] = "comm_all_reduce";
    unsigned dtypes = 0;
    ssq_status st = call_check_args(args, args == NULL ? 0 : args->struct_size,
                                    sizeof(*args), what);
    if (st == SSQ_OK)
        st = call_check(queue, comm, args->tag, what);
    if (st == SSQ_OK)
        st = check_reduction(args->reduction, what, &dtypes);
    if (st != SSQ_OK)
        return st;
    struct job *job = job_create(CALL_ALL_REDUCE, args->tag);
    if (job == NULL)
        return SSQ_ERR_NOMEM;
    job->reduction = args->reduction;
    job->work = args->work;
    st = list_job(queue, job, args->tensors, args->n, dtypes, what);
    if (st == SSQ_OK)
        return job_enqueue(comm, queue, job);
    job_free(job);
    return st;
}

/* ---- calls over x and y ---- */

/* Check x and y: one must have size times as many elements as the other. */
static ssq_status call_check_pair(ssq_queue *queue, const ssq_comm *comm,
                                  const ssq_tensor *x, const ssq_tensor *y,
                                  bool gathers, unsigned dtypes,
                                  const char *what)
{
    ssq_status st = call_check_tensor(queue, x, dtypes, what, "x");
    if (st == SSQ_OK)
        st = call_check_tensor(queue, y, dtypes, what, "y");
    if (st != SSQ_OK)
        return st;
    if (x->view.dtype != y->view.dtype)
        return error_set(SSQ_ERR_INVALID, "%s: x is %s, y is %s", what,
                         ssq_dtype_name(x->view.dtype),
                         ssq_dtype_name(y->view.dtype));
    int64_t nx = view_elements(&x->view), ny = view_elements(&y->view);
    int64_t small = gathers ? nx : ny, large = gathers ? ny : nx;
    if (large / comm->size != small || large % comm->size != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: x has %lld elements and y %lld, of %u ranks",
                         what, (long long)nx, (long long)ny, comm->size);
    return check_alias(y, "y", x, "x", false, what);
}

static ssq_status enqueue_pair(ssq_queue *queue, ssq_comm *comm,
                               struct job *job, const ssq_tensor *x,
                               const ssq_tensor *y, const char *what)
{
    job->views = mem_alloc_array(2, sizeof(*job->views));
    if (job->views == NULL) {
        job_free(job);
        return error_nomem(what, 2 * sizeof(*job->views));
    }
    job_hold(job, x);
    job_hold(job, y);
    return job_enqueue(comm, queue, job);
}

ssq_status ssq_comm_reduce_scatter(ssq_queue *queue, ssq_comm *comm,
                                   const ssq_comm_reduce_scatter_args *args)
{
    static const char what[] = "comm_reduce_scatter";
    unsigned dtypes = 0;
    ssq_status st = call_check_args(args, args == NULL ? 0 : args->struct_size,
                                    sizeof(*args), what);
    if (st == SSQ_OK)
        st = call_check(queue, comm, args->tag, what);
    if (st == SSQ_OK)
        st = check_reduction(args->reduction, what, &dtypes);
    if (st == SSQ_OK)
        st =
            call_check_pair(queue, comm, args->x, args->y, false, dtypes, what);
    if (st != SSQ_OK)
        return st;
    struct job *job = job_create(CALL_REDUCE_SCATTER, args->tag);
    if (job == NULL)
        return SSQ_ERR_NOMEM;
    job->reduction = args->reduction;
    job->work = args->work;
    return enqueue_pair(queue, comm, job, args->x, args->y, what);
}

ssq_status ssq_comm_all_gather(ssq_queue *queue, ssq_comm *comm,
                               const ssq_comm_all_gather_args *args)
{
    static const char what[] = "comm_all_gather";
    ssq_status st = call_check_args(args, args == NULL ? 0 : args->struct_size,
                                    sizeof(*args), what);
    if (st == SSQ_OK)
        st = call_check(queue, comm, args->tag, what);
    if (st == SSQ_OK)
        st = call_check_pair(queue, comm, args->x, args->y, true, DTYPES_ALL,
                             what);
    if (st != SSQ_OK)
        return st;
    struct job *job = job_create(CALL_ALL_GATHER, args->tag);
    if (job == NULL)
        return SSQ_ERR_NOMEM;
    job->work = args->work;
    return enqueue_pair(queue, comm, job, args->x, args->y, what);
}

/* ---- calls without tensors ---- */

ssq_status ssq_comm_barrier(ssq_queue *queue, ssq_comm *comm, const char *tag)
{
    ssq_status st = call_check(queue, comm, tag, "comm_barrier");
    if (st != SSQ_OK)
        return st;
    struct job *job = job_create(CALL_BARRIER, tag);
    return job == NULL ? SSQ_ERR_NOMEM : job_enqueue(comm, queue, job);
}

void comm_give_up(ssq_comm *comm, const char *text)
{
    if (comm->direct != NULL) {
        comm_end(comm, SSQ_ERR_COMM, text);
        return;
    }
    pthread_mutex_lock(&comm->lock);
    struct job *job = &comm->end;
    if (job->facts == NULL) {
        (void)snprintf(comm->end_text, sizeof(comm->end_text), "%s", text);
        job->call = CALL_GIVE_UP;
        job->facts = comm->end_text;
        *comm->jobs_end = job;
        comm->jobs_end = &job->next;
        pthread_cond_broadcast(&comm->changed);
    }
    pthread_mutex_unlock(&comm->lock);
}

/* Copy the library's version, then each name and value, each with its
 * terminating NUL. */
static ssq_status copy_facts(struct job *job, const ssq_comm_fact *facts,
                             size_t n, const char *what)
{
    const ssq_comm_fact version = {"the library's version", ssq_version()};
    for (size_t i = 0; i <= n; i++) {
        const ssq_comm_fact *f = i == 0 ? &version : &facts[i - 1];
        if (f->name == NULL || f->value == NULL)
            return error_set(SSQ_ERR_INVALID, "%s: fact %zu: a NULL", what,
                             i - 1);
        job->facts_bytes += strlen(f->name) + strlen(f->value) + 2;
    }
    job->facts = mem_alloc(job->facts_bytes);
    if (job->facts == NULL)
        return error_nomem(what, job->facts_bytes);
    char *to = job->facts;
    for (size_t i = 0; i <= n; i++) {
        const ssq_comm_fact *f = i == 0 ? &version : &facts[i - 1];
        to = stpcpy(to, f->name) + 1;
        to = stpcpy(to, f->value) + 1;
    }
    return SSQ_OK;
}

ssq_status ssq_comm_compare(ssq_queue *queue, ssq_comm *comm,
                            const ssq_comm_fact *facts, size_t n,
                            const char *tag)
{
    static const char what[] = "comm_compare";
    ssq_status st = call_check(queue, comm, tag, what);
    if (st == SSQ_OK)
        st = queue_uncaptured(queue, what);
    if (st == SSQ_OK && facts == NULL && n > 0)
        st = error_set(SSQ_ERR_INVALID, "%s: facts is NULL", what);
    if (st != SSQ_OK)
        return st;
    struct job *job = job_create(CALL_COMPARE, tag);
    if (job == NULL)
        return SSQ_ERR_NOMEM;
    st = copy_facts(job, facts, n, what);
    if (st == SSQ_OK)
        return job_enqueue(comm, queue, job);
    job_free(job);
    return st;
}
