/* SPDX-License-Identifier: Apache-2.0 */
/* binary_backward.c - gradients of y = f(a, b), summed over broadcast
 * dimensions: check, split dimensions into kept and summed, enqueue. */
#include <sesqui/ops/elementwise.h>

#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/norm.h"
#include "lib/core/core.h"
#include "lib/op/elementwise/elementwise.h"
#include "lib/op/reduce/pieces.h"

#include <stdio.h>

/* The operands that a gradient reads, as A | B. The others may be NULL: the
 * caller need not keep them. */
#define A 1u
#define B 2u
static const struct {
    const char *name;  /* of the public function */
    unsigned reads[2]; /* of da, db */
} kinds[] = {
    [BINARY_ADD] = {"add_backward", {0, 0}},
    [BINARY_SUB] = {"sub_backward", {0, 0}},
    [BINARY_MUL] = {"mul_backward", {B, A}},
    [BINARY_DIV] = {"div_backward", {B, A | B}},
    [BINARY_MAXIMUM] = {"maximum_backward", {A | B, A | B}},
    [BINARY_MINIMUM] = {"minimum_backward", {A | B, A | B}},
    [BINARY_POW] = {"pow_backward", {A | B, A | B}},
};

/* An operand and its gradient. */
struct side {
    const ssq_tensor *x, *dx; /* either may be NULL */
    const char *what, *dwhat; /* their names in error texts */
};

/* Check that t broadcasts to dy, which has the shape of the result. NULL
 * passes. */
static ssq_status check_broadcasts(const ssq_tensor *t, const char *what,
                                   const ssq_tensor *dy, const char *name)
{
    struct view v = tensor_view(t, ACCESS_READ);
    char tx[160], ty[160];
    if (t == NULL || view_broadcast(&v, dy->view.rank, dy->view.shape))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, which does not broadcast to dy, %s", name,
                     what, view_text(&t->view, tx, sizeof(tx)),
                     view_text(&dy->view, ty, sizeof(ty)));
}

/* Check an operand and its gradient, except for overlaps with the other side.
 * needed: a requested gradient reads the operand. */
static ssq_status check_side(const ssq_queue *queue, const struct side *s,
                             bool needed, const ssq_tensor *dy,
                             const char *name)
{
    ssq_status st = needed ? check_operand(queue, s->x, name, s->what)
                           : check_optional(queue, s->x, name, s->what);
    if (st == SSQ_OK && s->dx != NULL)
        st = check_output(queue, s->dx, name, s->dwhat);
    if (st == SSQ_OK)
        st = check_dtype(s->x, DTYPES_FLOAT, name, s->what);
    if (st == SSQ_OK)
        st = check_dtype(s->dx, DTYPES_FLOAT, name, s->dwhat);
    if (st == SSQ_OK && s->x != NULL && s->dx != NULL)
        st = check_same_shape(s->x, s->what, s->dx, s->dwhat, name);
    if (st == SSQ_OK)
        st = check_broadcasts(s->x, s->what, dy, name);
    if (st == SSQ_OK)
        st = check_broadcasts(s->dx, s->dwhat, dy, name);
    if (st == SSQ_OK)
        st = check_alias(s->dx, s->dwhat, dy, "dy", false, name);
    return st;
}

/* Refuse outputs that overlap anything: an element of dx is a sum over many
 * elements. */
static ssq_status binary_backward_check_aliases(const struct side s[2],
                                                const char *name)
{
    ssq_status st =
        check_alias(s[0].dx, s[0].dwhat, s[1].dx, s[1].dwhat, false, name);
    for (int i = 0; i < 4 && st == SSQ_OK; i++)
        st = check_alias(s[i / 2].dx, s[i / 2].dwhat, s[i % 2].x, s[i % 2].what,
                         false, name);
    return st;
}

/* Run all checks of a call. If both operands are given, they must broadcast to
 * exactly dy's shape, as in the forward call. One operand alone cannot show
 * this. */
static ssq_status check_all(const ssq_queue *queue,
                            const ssq_binary_backward_args *args,
                            const struct side s[2], uint32_t kind)
{
    const char *name = kinds[kind].name;
    unsigned reads = (s[0].dx != NULL ? kinds[kind].reads[0] : 0) |
                     (s[1].dx != NULL ? kinds[kind].reads[1] : 0);
    if (s[0].dx == NULL && s[1].dx == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: da and db are NULL", name);
    ssq_status st = check_operand(queue, args->dy, name, "dy");
    if (st == SSQ_OK)
        st = check_dtype(args->dy, DTYPES_FLOAT, name, "dy");
    for (unsigned i = 0; i < 2 && st == SSQ_OK; i++)
        st = check_side(queue, &s[i], (reads >> i & 1u) != 0, args->dy, name);
    if (st == SSQ_OK)
        st = binary_backward_check_aliases(s, name);
    if (st != SSQ_OK || args->a == NULL || args->b == NULL)
        return st;
    struct view v[2];
    const struct broadcast_input in[] = {{args->a, "a", &v[0]},
                                         {args->b, "b", &v[1]}};
    return broadcast_inputs(in, 2, args->dy, "dy", name);
}

/* Return v with n of its dimensions: those numbered in dims, in that order. */
static struct view binary_backward_part(const struct view *v, const int *dims,
                                        int n)
{
    struct view p = *v;
    p.rank = n;
    for (int i = 0; i < n; i++) {
        p.shape[i] = v->shape[dims[i]];
        p.stride[i] = v->stride[dims[i]];
    }
    return p;
}

/* Set v to kept, with summed's dimensions appended. */
static void binary_backward_join(struct view *v, const struct view *kept,
                                 const struct view *summed)
{
    *v = *kept;
    for (int i = 0; i < summed->rank; i++) {
        v->shape[v->rank] = summed->shape[i];
        v->stride[v->rank++] = summed->stride[i];
    }
}

/* Bring the views into the form of struct binary_backward_op. First come the
 * kept dimensions, then the summed ones, along which dx would be repeated to
 * have dy's shape. Either part is collapsed. dx has only the first part. With a
 * single term, nothing is summed and the second part is missing. */
static void arrange(struct binary_backward_op *op)
{
    struct view *all[4] = {&op->a, &op->b, &op->dy, &op->dx};
    int keep[SSQ_MAX_RANK], sum[SSQ_MAX_RANK], nkeep = 0, nsum = 0;
    int64_t terms = 1;
    for (int i = 0; i < op->dx.rank; i++) {
        bool repeated = op->dx.stride[i] == 0 && op->dy.shape[i] != 1;
        if (repeated)
            terms *= op->dy.shape[i];
        *(repeated ? &sum[nsum++] : &keep[nkeep++]) = i;
    }
    struct view kept[4], summed[4], *k[4], *s[4];
    for (int i = 0; i < 4; i++) {
        kept[i] = binary_backward_part(all[i], keep, nkeep);
        summed[i] = binary_backward_part(all[i], sum, nsum);
        k[i] = &kept[i];
        s[i] = &summed[i];
    }
    views_collapse(k, 4);
    if (terms > 1)
        views_collapse(s, 3);
    for (int i = 0; i < 4; i++) {
        /* A collapsed part has at least one dimension. If its size is 1 it is
         * dropped, because the summed dimensions may need the whole rank. */
        if (terms > 1 && view_elements(&kept[i]) == 1)
            kept[i].rank = 0;
    }
    for (int i = 0; i < 3; i++) {
        summed[i].rank = terms > 1 ? summed[i].rank : 0;
        binary_backward_join(all[i], &kept[i], &summed[i]);
    }
    op->dx = kept[3];
}

/* Sum every chunk into work, [chunks, kept dimensions]. One op with an
 * additional dimension sums the full chunks; another op sums the shorter
 * rest. */
static ssq_status enqueue_chunks(ssq_queue *queue,
                                 const struct binary_backward_op *op,
                                 const struct pieces *p,
                                 const struct view *work)
{
    struct binary_backward_op part = *op;
    part.a = pieces_full(&op->a, p);
    part.b = pieces_full(&op->b, p);
    part.dy = pieces_full(&op->dy, p);
    part.dx = *work;
    part.dx.shape[0] = p->full;
    ssq_status st = queue_enqueue(queue, &part.op);
    if (st != SSQ_OK || p->rest == 0)
        return st;
    part.a = pieces_rest(&op->a, p);
    part.b = pieces_rest(&op->b, p);
    part.dy = pieces_rest(&op->dy, p);
    part.dx = view_part(work, 1, work->rank);
    part.dx.offset +=
        (uint64_t)(p->full * work->stride[0]) * dtype_bytes(work->dtype);
    return queue_enqueue(queue, &part.op);
}

/* Return the op that sums the chunks' sums into dx, in the order of
 * kernels/reduce/norm.h. It is add_backward again: its term is dy itself. */
static struct binary_backward_op sum_chunks(const struct view *work,
                                            const struct view *dx)
{
    struct binary_backward_op op = {.op = OP_HEADER(binary_backward, a),
                                    .kind = BINARY_ADD};
    op.dy = *work;
    op.dy.access = ACCESS_READ;
    for (int i = 0; i < dx->rank; i++) {
        op.dy.shape[i] = work->shape[i + 1];
        op.dy.stride[i] = work->stride[i + 1];
    }
    op.dy.shape[dx->rank] = work->shape[0];
    op.dy.stride[dx->rank] = work->stride[0];
    op.a = op.b = op.dy;
    op.dx = *dx;
    return op;
}

/* Enqueue the sums. If they have too many terms for a launch, sum chunk by
 * chunk. That needs a single summed dimension which is longer than a chunk. */
static ssq_status enqueue_sums(ssq_queue *queue, struct binary_backward_op *op)
{
    int kept = op->dx.rank;
    struct view work;
    if (op->dy.rank != kept + 1 || op->dy.rank == SSQ_MAX_RANK ||
        op->dy.shape[kept] <= FOLD_CHUNK || op_splits(queue, &op->op))
        return queue_enqueue(queue, &op->op);
    struct pieces p = pieces_of(&op->dy, kept, FOLD_CHUNK);
    int64_t shape[SSQ_MAX_RANK] = {pieces_count(&p)};
    for (int i = 0; i < kept; i++)
        shape[i + 1] = op->dx.shape[i];
    ssq_status st = scratch_get(queue, SSQ_F32, kept + 1, shape, &work);
    if (st != SSQ_OK)
        return st;
    /* The chunks' sums may be too many for a launch as well. Then this function
     * calls itself, with fewer terms by a factor of FOLD_CHUNK. */
    st = queue_bundle_begin(queue);
    if (st == SSQ_OK) {
        struct binary_backward_op sum = sum_chunks(&work, &op->dx);
        st = enqueue_chunks(queue, op, &p, &work);
        if (st == SSQ_OK)
            st = enqueue_sums(queue, &sum);
        st = queue_bundle_end(queue, st);
    }
    scratch_put(&work);
    return st;
}

/* Enqueue the gradient of one operand: of a, or of b if second is 1. */
static ssq_status enqueue_side(ssq_queue *queue,
                               const ssq_binary_backward_args *args,
                               const struct side *s, uint32_t kind,
                               uint32_t second)
{
    const struct view *dy = &args->dy->view;
    if (view_elements(dy) == 0) /* if dx has elements, they have no terms */
        return enqueue_fill(queue, &s->dx->view, 0.0);
    /* An operand that is not read is replaced by dy. Backends then need no case
     * for it, and it never keeps two dimensions from being merged. */
    unsigned reads = kinds[kind].reads[second];
    struct binary_backward_op op = {
        .op = OP_HEADER(binary_backward, a), .kind = kind, .second = second};
    op.dy = tensor_view(args->dy, ACCESS_READ);
    op.a = (reads & A) != 0 ? tensor_view(args->a, ACCESS_READ) : op.dy;
    op.b = (reads & B) != 0 ? tensor_view(args->b, ACCESS_READ) : op.dy;
    op.dx = tensor_view(s->dx, ACCESS_WRITE);
    /* These cannot fail: check_side() has checked that all of them
     * broadcast. */
    (void)view_broadcast(&op.a, dy->rank, dy->shape);
    (void)view_broadcast(&op.b, dy->rank, dy->shape);
    (void)view_broadcast(&op.dx, dy->rank, dy->shape);
    arrange(&op);
    return enqueue_sums(queue, &op);
}

/* Enqueue both gradients in one bundle: a caller gets both or none. */
static ssq_status binary_backward_call(ssq_queue *queue,
                                       const ssq_binary_backward_args *args,
                                       uint32_t kind)
{
    ssq_status st = CHECK_CALL(queue, args, kinds[kind].name);
    if (st != SSQ_OK)
        return st;
    const struct side s[2] = {{args->a, args->da, "a", "da"},
                              {args->b, args->db, "b", "db"}};
    st = check_all(queue, args, s, kind);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    for (uint32_t i = 0; i < 2 && st == SSQ_OK; i++)
        if (s[i].dx != NULL)
            st = enqueue_side(queue, args, &s[i], kind, i);
    return queue_bundle_end(queue, st);
}

/* Define the public functions. */
#define BACKWARD(NAME, KIND)                                                   \
    ssq_status ssq_##NAME##_backward(ssq_queue *queue,                         \
                                     const ssq_binary_backward_args *args)     \
    {                                                                          \
        return binary_backward_call(queue, args, KIND);                        \
    }

BACKWARD(add, BINARY_ADD)
BACKWARD(sub, BINARY_SUB)
BACKWARD(mul, BINARY_MUL)
BACKWARD(div, BINARY_DIV)
BACKWARD(maximum, BINARY_MAXIMUM)
BACKWARD(minimum, BINARY_MINIMUM)
BACKWARD(pow, BINARY_POW)
