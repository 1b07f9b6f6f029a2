/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - ssq_gemm_pack and ssq_gemm_repack: a copy of b, in the order in
 * which the device's loops read it. */
#include "lib/op/gemm/pack.h"

#include <sesqui/pack.h>

#include "lib/core/queue/queue.h"
#include "lib/core/core.h"

/* Free the packed copy. The tensor still holds the buffer of b. */
static void pack_drop(struct beside *b)
{
    struct packed *p = (struct packed *)b;
    observer_stop(&p->writes);
    if (p->panels.buffer != NULL)
        object_put(&p->panels.buffer->object);
    mem_free(p);
}

/* ---- the copy ---- */

/* Return b as [k,n]. */
static struct view pack_matrix_of(const ssq_tensor *b, bool trans)
{
    struct view v = tensor_view(b, ACCESS_READ);
    if (trans) {
        v.shape[0] = b->view.shape[1];
        v.shape[1] = b->view.shape[0];
        v.stride[0] = b->view.stride[1];
        v.stride[1] = b->view.stride[0];
    }
    return v;
}

/* Return the same elements in the order of the panels. */
static struct view pack_order_of(const struct view *b,
                                 const struct view *panels)
{
    const int64_t columns = panels->shape[2], pair = panels->shape[3];
    struct view v = *b;
    v.rank = 4;
    for (int i = 0; i < 4; i++)
        v.shape[i] = panels->shape[i];
    v.stride[0] = columns * b->stride[1];
    v.stride[1] = pair * b->stride[0];
    v.stride[2] = b->stride[1];
    v.stride[3] = b->stride[0];
    return v;
}

static ssq_status make_panels(ssq_device *d, const struct view *b,
                              struct packed *p)
{
    struct gemm_panels_form form = {0, 0};
    ssq_tensor *t = NULL;
    if (d->backend->ops->gemm_panels == NULL ||
        !d->backend->ops->gemm_panels(d->impl, b->dtype, &form))
        return SSQ_OK;
    const int64_t shape[] = {b->shape[1] / form.columns,
                             b->shape[0] / form.pair, form.columns, form.pair};
    if (shape[0] == 0 || shape[1] == 0 || b->shape[0] % form.pair != 0)
        return SSQ_OK;
    ssq_status st = tensor_create(d, b->dtype, 4, shape, &t);
    if (st != SSQ_OK)
        return st;
    p->panels = tensor_view(t, ACCESS_READ);
    object_get(&p->panels.buffer->object);
    ssq_tensor_destroy(&t);
    return SSQ_OK;
}

/* Enqueue the copy of b to the panels. Until this succeeds the copy is torn,
 * and products refuse it. */
static ssq_status pack_fill(ssq_queue *queue, const ssq_tensor *b,
                            struct packed *p)
{
    const struct view from = pack_matrix_of(b, p->trans);
    ssq_status st = SSQ_OK;
    atomic_store(&p->torn, true);
    if (p->panels.buffer != NULL) {
        const struct view order = pack_order_of(&from, &p->panels);
        st = enqueue_copy(queue, &order, &p->panels);
    }
    if (st == SSQ_OK) {
        atomic_store(&p->writes.writes, 0);
        atomic_store(&p->torn, false);
    }
    return st;
}

/* ---- products ---- */

ssq_status packed_use(const ssq_queue *queue, const ssq_gemm_args *args,
                      const char *name, struct gemm_op *op)
{
    const struct packed *p = (const struct packed *)args->b->packed;
    struct observer o;
    if (p == NULL)
        return SSQ_OK;
    if (p->trans != args->trans_b)
        return error_set(SSQ_ERR_INVALID,
                         "%s: b was packed with trans_b %s, and is multiplied "
                         "with %s",
                         name, p->trans ? "true" : "false",
                         p->trans ? "false" : "true");
    if (atomic_load(&p->torn))
        return error_set(SSQ_ERR_INVALID,
                         "%s: b could not be packed again: ssq_gemm_repack has "
                         "to succeed first",
                         name);
    observer_read(&p->writes, &o);
    if (atomic_load(&o.writes) != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: b was written after it was packed, by %s: "
                         "ssq_gemm_repack packs it again",
                         name, op_name(o.by));
    if (op->k > 0 && p->panels.buffer != NULL && !queue_capturing(queue))
        op->panels = p->panels;
    return SSQ_OK;
}

/* ---- the public calls ---- */

static ssq_status pack_check_queue(const ssq_queue *queue, const char *name)
{
    ssq_status st = queue_check(queue, name);
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID, "%s: a graph is being captured", name);
    return st == SSQ_OK ? capture_check(queue->device, name) : st;
}

static ssq_status check_b(const ssq_queue *queue, const ssq_tensor *b,
                          const char *name)
{
    ssq_status st = check_operand(queue, b, name, "b");
    if (st == SSQ_OK)
        st = check_dtype(b, DTYPES_FLOAT, name, "b");
    if (st != SSQ_OK)
        return st;
    const struct view *v = &b->view;
    if (v->rank != 2)
        return error_set(SSQ_ERR_INVALID, "%s: b has rank %d, expected 2", name,
                         v->rank);
    if (v->shape[0] > 1 && v->shape[1] > 1 && v->stride[0] != 1 &&
        v->stride[1] != 1)
        return error_set(SSQ_ERR_INVALID,
                         "%s: b has strides %lld and %lld, one must be 1", name,
                         (long long)v->stride[0], (long long)v->stride[1]);
    return SSQ_OK;
}

/* Pack t. The observer starts before the copy is enqueued, so that it misses no
 * write. */
static ssq_status op_pack(ssq_queue *queue, bool trans, ssq_tensor *t)
{
    struct packed *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return error_nomem("gemm_pack", sizeof(*p));
    t->packed = &p->beside;
    p->beside.drop = pack_drop;
    p->trans = trans;
    if (view_elements(&t->view) == 0)
        return SSQ_OK;
    observer_start(&p->writes, &t->view);
    const struct view b = pack_matrix_of(t, trans);
    ssq_status st = make_panels(queue->device, &b, p);
    return st == SSQ_OK ? pack_fill(queue, t, p) : st;
}

ssq_status ssq_gemm_pack(ssq_queue *queue, const ssq_tensor *b, bool trans_b,
                         ssq_tensor **packed)
{
    static const char name[] = "gemm_pack";
    ssq_tensor *t = NULL;
    ssq_status st = pack_check_queue(queue, name);
    if (st == SSQ_OK && packed == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: packed is NULL", name);
    if (st == SSQ_OK)
        st = check_b(queue, b, name);
    if (st == SSQ_OK)
        st = ssq_tensor_broadcast(b, b->view.rank, b->view.shape, &t);
    if (st == SSQ_OK)
        st = op_pack(queue, trans_b, t);
    if (st == SSQ_OK)
        *packed = t;
    else
        ssq_tensor_destroy(&t);
    return st;
}

ssq_status ssq_gemm_repack(ssq_queue *queue, ssq_tensor *packed)
{
    static const char name[] = "gemm_repack";
    struct packed *p = packed == NULL ? NULL : (struct packed *)packed->packed;
    ssq_status st = pack_check_queue(queue, name);
    /* A queue that has failed may be about to lose writes of b. The copy may
     * then have other values than b. */
    if (st != SSQ_OK && st != SSQ_ERR_INVALID && p != NULL)
        atomic_store(&p->torn, true);
    if (st == SSQ_OK)
        st = check_operand(queue, packed, name, "packed");
    if (st == SSQ_OK && p == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: the tensor is not packed", name);
    return st == SSQ_OK ? pack_fill(queue, packed, p) : st;
}
