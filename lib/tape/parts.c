/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - vars that are slices of other vars, broadcast them, or join
 * them. */
#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>
#include <sesqui/ops/reduce.h>

#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <string.h>

/* Return the var of a value. If st is an error, latch it and return an inert
 * var. */
static ssq_var parts_answer(ssq_tape *t, ssq_status st, const char *where,
                            const char *op, uint32_t id)
{
    if (st == SSQ_OK)
        return var_of(t, id);
    latch(t, st, where, op);
    return var_inert(t);
}

/* Return the view that ssq_tensor_slice() would return, without checks. */
static struct view part_of(const struct view *v, int axis, int64_t start,
                           int64_t stop, int64_t step)
{
    struct view part = *v;
    int64_t n = stop - start;
    n = n / step + (n % step != 0); /* n + step could overflow */
    part.shape[axis] = n;
    if (n > 1)
        part.stride[axis] *= step;
    if (view_elements(&part) > 0)
        part.offset +=
            (uint64_t)(start * v->stride[axis]) * dtype_bytes(v->dtype);
    return part;
}

/* ---- slices ---- */

/* Get the whole gradient of a value, so that the caller can add to a part of
 * it.
 * @param sum    out: the gradient; NULL if none is wanted
 * @param fresh  out: it contains only zeros */
static ssq_status parts_whole(ssq_tape *t, uint32_t id, const ssq_tensor **sum,
                              bool *fresh)
{
    struct value *v = value_of(t, id);
    ssq_status st = SSQ_OK;
    *sum = NULL;
    if (!v->sought)
        return SSQ_OK;
    if (grad_lasts(t, v)) {
        struct param *p = param_of(t->params, v->param);
        st = param_grad(t->params, p);
        *fresh = p->grad_state != GRAD_FULL;
        if (*fresh)
            param_grad_begin(p);
        else
            param_grad_add(p);
        p->touched = true;
        *sum = p->grad;
    } else {
        const struct view like = v->is.tensor.view;
        *fresh = !is_there(&v->grad);
        if (*fresh)
            st =
                held_make(t, grad_dtype(t, v), like.rank, like.shape, &v->grad);
        *sum = &v->grad.tensor;
    }
    if (st == SSQ_OK && *fresh)
        st = ssq_fill(t->queue, SSQ_FILL(.x = *sum));
    return st;
}

static ssq_status own_slice(ssq_tape *t, const struct node *n)
{
    const struct slice s = *(const struct slice *)node_args(t, n);
    const ssq_tensor *dy = &value_of(t, n->out[0])->grad.tensor, *sum;
    bool fresh = false;
    ssq_status st = parts_whole(t, n->var[0], &sum, &fresh);
    if (st != SSQ_OK || sum == NULL)
        return st;
    ssq_tensor part = *sum;
    part.view = part_of(&sum->view, s.axis, s.start, s.stop, s.step);
    return fresh ? ssq_cast(t->queue, SSQ_CAST(.x = dy, .y = &part))
                 : ssq_add(t->queue, SSQ_ADD(.a = &part, .b = dy, .y = &part));
}

static const struct tape_op slice = {
    .name = "slice", .nvars = 1, .nouts = 1, .own = own_slice};

ssq_var ssq_var_slice_at(const char *where, ssq_var x, int axis, int64_t start,
                         int64_t stop, int64_t step)
{
    static const char op[] = "var_slice";
    ssq_tape *t = x.tape;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, where, op, "x") == NULL)
        return var_inert(t);
    const ssq_tensor *from = &value_of(t, x.id)->is.tensor;
    const struct node n = {.op = &slice, .where = where, .var = {x.id}};
    ssq_tensor *view = NULL;
    uint32_t made = NONE;
    ssq_status st = ssq_tensor_slice(from, axis, start, stop, step, &view);
    if (st == SSQ_OK) {
        const struct slice s = {axis < 0 ? axis + from->view.rank : axis, start,
                                stop, step};
        st = value_see(t, &n, view, &s, sizeof(s), &made);
    }
    ssq_tensor_destroy(&view);
    return parts_answer(t, st, where, op, made);
}

/* ---- the reverse: a slice in zeros ---- */

static struct view hole_of(const ssq_tape *t, const struct node *n,
                           const struct view *whole)
{
    const struct slice *s = node_args(t, n);
    return part_of(whole, s->axis, s->start, s->stop, s->step);
}

static ssq_status own_embed(ssq_tape *t, const struct node *n)
{
    ssq_tensor part = value_of(t, n->out[0])->grad.tensor;
    struct into to;
    ssq_status st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    part.view = hole_of(t, n, &part.view);
    st = ssq_cast(t->queue, SSQ_CAST(.x = &part, .y = to.tensor));
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static const struct tape_op embed = {
    .name = "embed", .nvars = 1, .nouts = 1, .own = own_embed};

ssq_var var_embed(const char *where, ssq_var x, const struct slice *s, int rank,
                  const int64_t *shape)
{
    ssq_tape *t = x.tape;
    if (t == NULL || t->status != SSQ_OK)
        return var_inert(t);
    struct node n = {.op = &embed, .where = where, .var = {x.id}};
    const ssq_tensor *from = &value_of(t, x.id)->is.tensor;
    ssq_status st = value_make(t, from->view.dtype, rank, shape, &n.out[0]);
    if (st == SSQ_OK) {
        const ssq_tensor *whole = &value_of(t, n.out[0])->is.tensor;
        ssq_tensor part = *whole;
        part.view = part_of(&whole->view, s->axis, s->start, s->stop, s->step);
        st = ssq_fill(t->queue, SSQ_FILL(.x = whole));
        if (st == SSQ_OK)
            st = ssq_cast(t->queue, SSQ_CAST(.x = from, .y = &part));
    }
    if (st == SSQ_OK)
        st = tape_record_wanted(t, &n, s, sizeof(*s));
    return parts_answer(t, st, where, "embed", n.out[0]);
}

/* ---- repeats ---- */

static ssq_status own_broadcast(ssq_tape *t, const struct node *n)
{
    struct into to;
    ssq_status st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    st = ssq_sum_to(
        t->queue,
        SSQ_SUM_TO(.x = &value_of(t, n->out[0])->grad.tensor, .y = to.tensor));
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static const struct tape_op broadcast = {
    .name = "broadcast", .nvars = 1, .nouts = 1, .own = own_broadcast};

ssq_var ssq_var_broadcast_at(const char *where, ssq_var x, int rank,
                             const int64_t *shape)
{
    static const char op[] = "var_broadcast";
    ssq_tape *t = x.tape;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, where, op, "x") == NULL)
        return var_inert(t);
    const struct node n = {.op = &broadcast, .where = where, .var = {x.id}};
    ssq_tensor *view = NULL;
    uint32_t made = NONE;
    ssq_status st =
        ssq_tensor_broadcast(&value_of(t, x.id)->is.tensor, rank, shape, &view);
    if (st == SSQ_OK)
        st = value_see(t, &n, view, NULL, 0, &made);
    ssq_tensor_destroy(&view);
    return parts_answer(t, st, where, op, made);
}

/* ---- joins ---- */

static ssq_status own_concat(ssq_tape *t, const struct node *n)
{
    const size_t count = ((const struct join *)node_args(t, n))->n;
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct join *j = node_args(t, n);
        const uint32_t id = j->id[i];
        const int axis = j->axis;
        const struct value *y = value_of(t, n->out[0]);
        int64_t end = at + value_of(t, id)->is.tensor.view.shape[axis];
        struct into to;
        ssq_status st = into_begin(t, id, &to);
        if (st == SSQ_OK && to.tensor != NULL) {
            ssq_tensor part = y->grad.tensor;
            part.view = part_of(&y->grad.tensor.view, axis, at, end, 1);
            st = ssq_cast(t->queue, SSQ_CAST(.x = &part, .y = to.tensor));
            if (st == SSQ_OK)
                st = into_end(t, &to);
        }
        if (st != SSQ_OK)
            return st;
        at = end;
    }
    return SSQ_OK;
}

/* Concatenate the values. `tensors` is in the tape's scratch memory. */
static ssq_status parts_join(ssq_tape *t, const struct join *j,
                             const ssq_tensor **tensors, uint32_t id)
{
    for (size_t i = 0; i < j->n; i++)
        tensors[i] = &value_of(t, j->id[i])->is.tensor;
    return ssq_concat(t->queue, SSQ_CONCAT(.x = tensors, .n = j->n,
                                           .y = &value_of(t, id)->is.tensor,
                                           .axis = j->axis));
}

static ssq_status join_again(ssq_tape *t, const struct node *n)
{
    const struct join *j = node_args(t, n);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < j->n && st == SSQ_OK; i++)
        st = written_check_value(t, j->id[i], j->id[j->n + i], "x");
    if (st != SSQ_OK)
        return st;
    const ssq_tensor **tensors = scratch(t, j->n * sizeof(ssq_tensor *));
    return tensors == NULL ? SSQ_ERR_NOMEM
                           : parts_join(t, j, tensors, n->out[0]);
}

/* nvars is 0: the ids of the operands are in its arguments. */
static const struct tape_op concat = {.name = "concat",
                                      .nvars = 0,
                                      .nouts = 1,
                                      .own = own_concat,
                                      .again = join_again};

/* Compute the view of the result: the shape of the first operand, with the sum
 * of all sizes of the axis. The op itself checks the other sizes. The dtype is
 * f32 if the operands' dtypes differ. */
static ssq_status parts_joined(ssq_tape *t, const struct join *j,
                               struct view *out)
{
    const struct view *first = &value_of(t, j->id[0])->is.tensor.view;
    out->dtype = first->dtype;
    out->rank = first->rank;
    memcpy(out->shape, first->shape, sizeof(out->shape));
    out->shape[j->axis] = 0;
    for (size_t i = 0; i < j->n; i++) {
        const struct view *v = &value_of(t, j->id[i])->is.tensor.view;
        if (!dtype_is_float(v->dtype))
            return error_set(SSQ_ERR_INVALID, "x[%zu] is %s, expected a float",
                             i, ssq_dtype_name(v->dtype));
        if (v->rank != out->rank)
            return error_set(SSQ_ERR_INVALID, "x[%zu] has rank %d, x[0] %d", i,
                             v->rank, out->rank);
        if (v->shape[j->axis] > INT64_MAX - out->shape[j->axis])
            return error_set(SSQ_ERR_INVALID, "axis %d is too long", j->axis);
        out->shape[j->axis] += v->shape[j->axis];
        if (v->dtype != out->dtype)
            out->dtype = SSQ_F32;
    }
    out->dtype = autocast_joined(t, out->dtype);
    return SSQ_OK;
}

/* Create the result and its node. Ids and tensors are in the tape's scratch
 * memory. */
static ssq_status join_all(ssq_tape *t, const char *where, struct join *j,
                           const ssq_tensor **tensors, size_t bytes,
                           uint32_t *id)
{
    struct view out = {.rank = 0};
    bool wanted = false;
    ssq_status st = parts_joined(t, j, &out);
    if (st == SSQ_OK)
        st = value_make(t, out.dtype, out.rank, out.shape, id);
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < j->n; i++)
        wanted = wanted || value_of(t, j->id[i])->wanted;
    st = parts_join(t, j, tensors, *id);
    if (st != SSQ_OK || !wanted || !t->training || t->quiet > 0)
        return st;
    struct node n = {.op = &concat, .where = where, .out = {*id}};
    for (unsigned i = 0; i < TAPE_VARS; i++)
        n.var[i] = NONE;
    return tape_record(t, &n, j, bytes);
}

ssq_var ssq_var_concat_at(const char *where, const ssq_var *x, size_t n,
                          int axis)
{
    static const char op[] = "var_concat";
    ssq_tape *t = NULL;
    for (size_t i = 0; x != NULL && i < n && t == NULL; i++)
        t = x[i].tape;
    if (t == NULL || t->status != SSQ_OK)
        return var_inert(t);
    for (size_t i = 0; i < n; i++)
        if (var_value(t, x[i], where, op, "x") == NULL)
            return var_inert(t);
    const int rank = value_of(t, x[0].id)->is.tensor.view.rank;
    uint32_t made = NONE;
    ssq_status st = SSQ_OK;
    if (axis < -rank || axis >= rank)
        st = error_set(SSQ_ERR_INVALID, "%s: axis %d of rank %d", op, axis,
                       rank);
    size_t ids = sizeof(struct join) + 2 * n * sizeof(uint32_t);
    size_t units = (ids + sizeof(max_align_t) - 1) / sizeof(max_align_t);
    struct join *j = NULL;
    if (st == SSQ_OK) {
        j = scratch(t, units * sizeof(max_align_t) + n * sizeof(ssq_tensor *));
        st = j == NULL ? SSQ_ERR_NOMEM : SSQ_OK;
    }
    if (st == SSQ_OK) {
        j->n = n;
        j->axis = axis < 0 ? axis + rank : axis;
        for (size_t i = 0; i < n; i++) {
            j->id[i] = x[i].id;
            j->id[n + i] = value_writes(t, x[i].id);
        }
        void *tensors = (max_align_t *)(void *)j + units;
        st = join_all(t, where, j, tensors, ids, &made);
    }
    return parts_answer(t, st, where, op, made);
}
