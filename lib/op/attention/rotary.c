/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c - rotary positions and their backward: check and enqueue. */
#include "lib/op/attention/rotary.h"

#include <sesqui/ops/attention.h>

#include "lib/op/operands.h"

#include <float.h>
#include <math.h>

/* Names for error texts. In a backward call x and y are dy and dx. */
struct rotary_names {
    const char *op, *x, *y;
};

/** Frequencies that fit into one inline upload. */
#define TABLE_WORDS (UPLOAD_INLINE / sizeof(float))

/* Check presence, dtypes, overlaps and x's shape. y may be x, because each pair
 * is read before it is written. */
static ssq_status rotary_check_operands(const ssq_queue *queue,
                                        const ssq_rotary_args *a,
                                        const struct rotary_names *n)
{
    const struct operand_rule rules[] = {
        {a->x, n->x, DTYPES_FLOAT, 0, 0},
        {a->position, "position", DTYPE_BIT(SSQ_I32), OPERAND_OPTIONAL, 0},
        {a->freq, "freq", DTYPE_BIT(SSQ_F32), OPERAND_OPTIONAL, 0},
        {a->cos, "cos", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->sin, "sin", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->y, n->y, DTYPES_FLOAT, OPERAND_OUT, 1u << 0},
    };
    char tx[128];
    ssq_status st = OPERANDS_CHECK(queue, n->op, rules);
    if (st == SSQ_OK)
        st = check_same_shape(a->x, n->x, a->y, n->y, n->op);
    if (st == SSQ_OK && a->x->view.rank < 2)
        return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected [.., t, d]",
                         n->op, n->x, view_text(&a->x->view, tx, sizeof(tx)));
    return st;
}

/* Check the parameters, and which optional operands are given. Angles come from
 * cos and sin, or from positions times frequencies. All positions, including
 * the last one, offset + t - 1, must fit into int32. */
static ssq_status rotary_check_numbers(const ssq_rotary_args *a, int64_t d,
                                       int64_t t, const char *name)
{
    if (a->dims < 0 || a->dims > d || a->dims % 2 != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: dims is %lld, expected an even number up to %lld",
                         name, (long long)a->dims, (long long)d);
    if (a->dims == 0 && d % 2 != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: all %lld elements of a row are rotated, expected "
                         "an even number",
                         name, (long long)d);
    if (a->freq == NULL && a->cos == NULL &&
        !(a->base > 0.0 && a->base <= DBL_MAX))
        return error_set(SSQ_ERR_INVALID,
                         "%s: base is %g, expected finite and > 0", name,
                         a->base);
    if ((a->cos == NULL) != (a->sin == NULL))
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL and %s is not", name,
                         a->cos == NULL ? "cos" : "sin",
                         a->cos == NULL ? "sin" : "cos");
    if (a->cos != NULL &&
        (a->position != NULL || a->freq != NULL || a->offset != 0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: cos and sin with position %s, freq %s, offset "
                         "%lld, expected none of the three",
                         name, a->position != NULL ? "given" : "NULL",
                         a->freq != NULL ? "given" : "NULL",
                         (long long)a->offset);
    if (a->position != NULL && a->offset != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: offset is %lld, expected 0 with position", name,
                         (long long)a->offset);
    if (a->offset < INT32_MIN || a->offset > INT32_MAX ||
        t > INT32_MAX - a->offset + 1)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: positions from %lld on, %lld of them, exceed int32", name,
            (long long)a->offset, (long long)t);
    return SSQ_OK;
}

/* Set *v to position, broadcast to x's shape, or absent if it is NULL. The
 * stride along a row is 0, because a row has a single position. */
static ssq_status position_view(const ssq_rotary_args *a, const char *name,
                                struct view *v)
{
    const struct view *x = &a->x->view;
    char tp[128], tx[128];
    *v = tensor_view(a->position, ACCESS_READ);
    if (a->position == NULL)
        return SSQ_OK;
    if (!view_broadcast(v, x->rank - 1, x->shape))
        return error_set(SSQ_ERR_INVALID,
                         "%s: position is %s, which does not broadcast to %s "
                         "without its last dimension",
                         name, view_text(&a->position->view, tp, sizeof(tp)),
                         view_text(x, tx, sizeof(tx)));
    v->shape[v->rank] = x->shape[x->rank - 1];
    v->stride[v->rank] = 0;
    v->rank++;
    return SSQ_OK;
}

/* Check that freq has one frequency for each rotated pair. NULL passes. */
static ssq_status check_freq(const ssq_tensor *freq, int64_t pairs,
                             const char *name)
{
    char tf[128];
    if (freq == NULL || (freq->view.rank == 1 && freq->view.shape[0] == pairs))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: freq is %s, expected [%lld]", name,
                     view_text(&freq->view, tf, sizeof(tf)), (long long)pairs);
}

/* Set *v to cos or sin, broadcast to x's shape but with rows of `pairs`,
 * because one value rotates two elements. Absent if t is NULL. */
static ssq_status cache_view(const ssq_tensor *t, const char *what,
                             const ssq_rotary_args *a, int64_t pairs,
                             const char *name, struct view *v)
{
    struct view want = a->x->view;
    want.shape[want.rank - 1] = pairs;
    char tt[128], tw[128];
    *v = tensor_view(t, ACCESS_READ);
    if (t == NULL || view_broadcast(v, want.rank, want.shape))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, which does not broadcast to %s", name, what,
                     view_text(&t->view, tt, sizeof(tt)),
                     view_text(&want, tw, sizeof(tw)));
}

/* Upload words of base^(-2 i / dims) into the table: from number i, as many as
 * one upload holds. They are computed in double on the host, so that every
 * device uses the same frequencies. The op contains the words, so no host
 * memory must stay valid. */
static ssq_status upload_freq(ssq_queue *queue, const struct view *table,
                              double base, int64_t dims, int64_t i)
{
    float word[TABLE_WORDS];
    int64_t n = dims / 2 - i;
    if (n > (int64_t)TABLE_WORDS)
        n = (int64_t)TABLE_WORDS;
    for (int64_t j = 0; j < n; j++)
        word[j] = (float)pow(base, -2.0 * (double)(i + j) / (double)dims);
    struct view part = *table;
    part.offset += (uint64_t)i * sizeof(float);
    part.shape[0] = n;
    return queue_upload_scratch(queue, &part, word,
                                (uint64_t)n * sizeof(float));
}

/* Get scratch for the table of frequencies, upload it and enqueue the op.
 * Uploads and op are one bundle: all are enqueued or none. */
static ssq_status enqueue_with_table(ssq_queue *queue, struct rotary_op *op,
                                     double base)
{
    const int64_t pairs = op->dims / 2;
    struct view table = {.buffer = NULL};
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &pairs, &table);
    if (st != SSQ_OK)
        return st;
    st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        goto out_table;
    for (int64_t i = 0; i < pairs && st == SSQ_OK; i += (int64_t)TABLE_WORDS)
        st = upload_freq(queue, &table, base, op->dims, i);
    op->freq = table;
    op->freq.access = ACCESS_READ;
    if (st == SSQ_OK)
        st = queue_enqueue(queue, &op->op);
    st = queue_bundle_end(queue, st);
out_table:
    scratch_put(&table);
    return st;
}

/* Check and enqueue either direction. The gradient is rotated by the negative
 * angle. */
static ssq_status op_rotary(ssq_queue *queue, const ssq_rotary_args *a,
                            const struct rotary_names *n, bool inverse)
{
    ssq_status st = rotary_check_operands(queue, a, n);
    if (st != SSQ_OK)
        return st;
    const struct view *x = &a->x->view;
    int64_t d = x->shape[x->rank - 1], t = x->shape[x->rank - 2];
    struct rotary_op op = {.op = OP_HEADER(rotary, x),
                           .dims = a->dims == 0 ? d : a->dims,
                           .offset = a->offset,
                           .interleaved = a->interleaved,
                           .inverse = inverse};
    st = rotary_check_numbers(a, d, t, n->op);
    if (st == SSQ_OK)
        st = position_view(a, n->op, &op.position);
    if (st == SSQ_OK)
        st = check_freq(a->freq, op.dims / 2, n->op);
    if (st == SSQ_OK)
        st = cache_view(a->cos, "cos", a, op.dims / 2, n->op, &op.cosine);
    if (st == SSQ_OK)
        st = cache_view(a->sin, "sin", a, op.dims / 2, n->op, &op.sine);
    if (st != SSQ_OK || view_elements(x) == 0)
        return st;
    op.x = tensor_view(a->x, ACCESS_READ);
    op.y = tensor_view(a->y, ACCESS_WRITE);
    if (a->freq == NULL && a->cos == NULL)
        return enqueue_with_table(queue, &op, a->base);
    op.freq = tensor_view(a->freq, ACCESS_READ);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_rotary(ssq_queue *queue, const ssq_rotary_args *args)
{
    const struct rotary_names names = {"rotary", "x", "y"};
    ssq_status st = CHECK_CALL(queue, args, names.op);
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    st = op_rotary(queue, args, &names, false);
    fpenv_leave(env);
    return st;
}

ssq_status ssq_rotary_backward(ssq_queue *queue,
                               const ssq_rotary_backward_args *args)
{
    const struct rotary_names names = {"rotary_backward", "dy", "dx"};
    ssq_status st = CHECK_CALL(queue, args, names.op);
    if (st != SSQ_OK)
        return st;
    ssq_rotary_args a = SSQ_ROTARY_INIT;
    a.x = args->dy;
    a.position = args->position;
    a.freq = args->freq;
    a.y = args->dx;
    a.offset = args->offset;
    a.dims = args->dims;
    a.base = args->base;
    a.interleaved = args->interleaved;
    a.cos = args->cos;
    a.sin = args->sin;
    struct fpenv env = fpenv_enter();
    st = op_rotary(queue, &a, &names, true);
    fpenv_leave(env);
    return st;
}
