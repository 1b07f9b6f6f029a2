/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_build.c - from the arguments of a gemm to its canonical op: check,
 * broadcast, fold and collapse the batch. */
#include "lib/op/gemm/pack.h"
#include "lib/op/gemm/tuned.h"

#include "lib/core/queue/queue.h"

#include <string.h>

static const char *const activations[] = {
    [SSQ_ACTIVATION_NONE] = "none", [SSQ_ACTIVATION_RELU] = "relu",
    [SSQ_ACTIVATION_GELU] = "gelu", [SSQ_ACTIVATION_GELU_TANH] = "gelu_tanh",
    [SSQ_ACTIVATION_SILU] = "silu", [SSQ_ACTIVATION_SIGMOID] = "sigmoid",
    [SSQ_ACTIVATION_TANH] = "tanh",
};
#define ACTIVATIONS (sizeof(activations) / sizeof(activations[0]))

const char *ssq_activation_name(ssq_activation activation)
{
    return (size_t)activation < ACTIVATIONS ? activations[activation]
                                            : "invalid";
}

/* The sizes of the matmul, after transposition. */
struct gemm_build_sizes {
    int64_t m, n, k;
};

/* Check presence, devices and dtypes. f16 and bf16 must not be multiplied with
 * each other, because neither holds the other's values; f32 goes with both. */
static ssq_status gemm_build_check_tensors(const ssq_queue *queue,
                                           const ssq_gemm_args *g,
                                           const char *name)
{
    const ssq_tensor *in[] = {g->a, g->b, g->c, g->bias};
    static const char *const what[] = {"a", "b", "c", "bias"};
    ssq_status st = SSQ_OK;
    for (int i = 0; i < 4 && st == SSQ_OK; i++) {
        st = i < 2 ? check_operand(queue, in[i], name, what[i])
                   : check_optional(queue, in[i], name, what[i]);
        if (st == SSQ_OK)
            st = check_dtype(in[i], DTYPES_FLOAT, name, what[i]);
    }
    if (st == SSQ_OK)
        st = check_output(queue, g->d, name, "d");
    if (st == SSQ_OK)
        st = check_dtype(g->d, DTYPES_FLOAT, name, "d");
    if (st != SSQ_OK)
        return st;
    ssq_dtype a = g->a->view.dtype, b = g->b->view.dtype;
    if (a != b && a != SSQ_F32 && b != SSQ_F32)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a is %s, b is %s: they have no common 16-bit "
                         "format, cast one",
                         name, ssq_dtype_name(a), ssq_dtype_name(b));
    return SSQ_OK;
}

/* Check the arguments that are not tensors. beta counts as it is rounded: if it
 * is 0 in float32, c is not needed. */
static ssq_status gemm_build_check_values(const ssq_gemm_args *g,
                                          const char *name)
{
    if ((size_t)g->activation >= ACTIVATIONS)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not an activation", name,
                         (int)g->activation);
    const uint32_t known = SSQ_GEMM_REQUIRE_MATRIX_UNITS | SSQ_GEMM_ALLOW_TF32 |
                           SSQ_GEMM_ALLOW_F16_THREE;
    if ((g->flags & ~known) != 0)
        return error_set(SSQ_ERR_INVALID, "%s: 0x%x has unknown flags", name,
                         (unsigned)g->flags);
    if ((float)g->beta != 0.0f && g->c == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: beta is %g, but c is NULL", name,
                         g->beta);
    return SSQ_OK;
}

/* Refuse a rank that is not from least to most. */
static ssq_status check_rank(const struct view *v, int least, int most,
                             const char *name, const char *what)
{
    if (v->rank >= least && v->rank <= most)
        return SSQ_OK;
    if (least == most)
        return error_set(SSQ_ERR_INVALID, "%s: %s has rank %d, expected %d",
                         name, what, v->rank, least);
    return error_set(SSQ_ERR_INVALID, "%s: %s has rank %d, expected %d to %d",
                     name, what, v->rank, least, most);
}

/* Swap the last two dimensions. */
static void gemm_build_transpose(struct view *v)
{
    int64_t *shape = v->shape + v->rank - 2, *stride = v->stride + v->rank - 2;
    int64_t size = shape[0], step = stride[0];
    shape[0] = shape[1];
    shape[1] = size;
    stride[0] = stride[1];
    stride[1] = step;
}

/* Report inner dimensions that differ. The text has the shapes as they were
 * given, and whether they are transposed. */
static ssq_status wrong_inner(const ssq_gemm_args *g, int64_t ka, int64_t kb,
                              const char *name)
{
    char ta[128], tb[128];
    return error_set(
        SSQ_ERR_INVALID,
        "%s: a is %s%s, b is %s%s: inner dimensions %lld and %lld "
        "differ",
        name, view_text(&g->a->view, ta, sizeof(ta)),
        g->trans_a ? " transposed" : "", view_text(&g->b->view, tb, sizeof(tb)),
        g->trans_b ? " transposed" : "", (long long)ka, (long long)kb);
}

/* Read m, n and k from a, b and d, which are already transposed, and refuse
 * sizes that do not agree. */
static ssq_status gemm_build_check_sizes(const ssq_gemm_args *g,
                                         const struct gemm_op *op,
                                         const char *name,
                                         struct gemm_build_sizes *s)
{
    const int64_t *a = op->a.shape + op->a.rank - 2;
    const int64_t *b = op->b.shape + op->b.rank - 2;
    const int64_t *d = op->d.shape + op->d.rank - 2;
    *s = (struct gemm_build_sizes){a[0], b[1], a[1]};
    if (a[1] != b[0])
        return wrong_inner(g, a[1], b[0], name);
    if (d[0] == s->m && d[1] == s->n)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the product is [%lld,%lld], d is [%lld,%lld]", name,
                     (long long)s->m, (long long)s->n, (long long)d[0],
                     (long long)d[1]);
}

/* Return the size of d's batch dimension i in v; missing dimensions are 1. */
static int64_t batch_size(const struct view *v, int rank, int i)
{
    int j = i - (rank - v->rank);
    return j < 0 ? 1 : v->shape[j];
}

/* Broadcast a's and b's batches to d's, which must be exactly their common
 * shape: d alone must not make a batch larger. The last two dimensions do not
 * change. */
static ssq_status broadcast_batch(const ssq_gemm_args *g, struct gemm_op *op,
                                  const char *name)
{
    int rank = op->d.rank;
    bool fits = true;
    for (int i = 0; i < rank - 2; i++) {
        int64_t a = batch_size(&op->a, rank, i);
        int64_t b = batch_size(&op->b, rank, i);
        fits = fits && (a == b || a == 1 || b == 1) &&
               op->d.shape[i] == (a == 1 ? b : a);
    }
    if (!fits) {
        char ta[128], tb[128], td[128];
        return error_set(SSQ_ERR_INVALID,
                         "%s: the batches of a, %s, and b, %s, do not "
                         "broadcast to that of d, %s",
                         name, view_text(&g->a->view, ta, sizeof(ta)),
                         view_text(&g->b->view, tb, sizeof(tb)),
                         view_text(&g->d->view, td, sizeof(td)));
    }
    struct view *v[] = {&op->a, &op->b};
    for (int i = 0; i < 2; i++) {
        int64_t shape[SSQ_MAX_RANK];
        memcpy(shape, op->d.shape, sizeof(shape));
        shape[rank - 2] = v[i]->shape[v[i]->rank - 2];
        shape[rank - 1] = v[i]->shape[v[i]->rank - 1];
        (void)view_broadcast(v[i], rank, shape); /* fits: cannot fail */
    }
    return SSQ_OK;
}

/* Broadcast c and bias to d's shape, by strides of 0. bias is added to each row
 * of d, and must be [n]. c may have any shape that broadcasts. */
static ssq_status broadcast_added(const ssq_gemm_args *g, struct gemm_op *op,
                                  const char *name)
{
    char tc[128], td[128];
    if (g->c != NULL && !view_broadcast(&op->c, op->d.rank, op->d.shape))
        return error_set(SSQ_ERR_INVALID,
                         "%s: c is %s, which does not broadcast to d, %s", name,
                         view_text(&g->c->view, tc, sizeof(tc)),
                         view_text(&g->d->view, td, sizeof(td)));
    if (g->bias == NULL)
        return SSQ_OK;
    int64_t n = op->d.shape[op->d.rank - 1];
    if (op->bias.rank != 1 || op->bias.shape[0] != n)
        return error_set(SSQ_ERR_INVALID, "%s: bias is %s, expected [%lld]",
                         name, view_text(&g->bias->view, tc, sizeof(tc)),
                         (long long)n);
    (void)view_broadcast(&op->bias, op->d.rank, op->d.shape);
    return SSQ_OK;
}

/* Return true if v's last two dimensions would keep a unit stride with `rows`
 * rows of stride `row`. A size below 2 may have any stride. */
static bool unit_stride(const struct view *v, int64_t rows, int64_t row)
{
    int64_t columns = v->shape[v->rank - 1], column = v->stride[v->rank - 1];
    return rows <= 1 || columns <= 1 || row == 1 || column == 1;
}

/* Refuse a matrix without a unit stride, which BLAS cannot describe. */
static ssq_status check_unit_stride(const struct view *v, const char *name,
                                    const char *what)
{
    int64_t row = v->stride[v->rank - 2], column = v->stride[v->rank - 1];
    if (unit_stride(v, v->shape[v->rank - 2], row))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s has strides %lld and %lld, one must be 1", name,
                     what, (long long)row, (long long)column);
}

/* Check ranks, transposition, sizes, batches and strides, in that order: each
 * check relies on the one before. Changes the op's views. */
static ssq_status gemm_build_check_shapes(const ssq_gemm_args *g,
                                          struct gemm_op *op, bool batched,
                                          const char *name,
                                          struct gemm_build_sizes *s)
{
    int most = batched ? SSQ_MAX_RANK : 2;
    ssq_status st = check_rank(&op->d, batched ? 3 : 2, most, name, "d");
    if (st == SSQ_OK)
        st = check_rank(&op->a, 2, op->d.rank, name, "a");
    if (st == SSQ_OK)
        st = check_rank(&op->b, 2, op->d.rank, name, "b");
    if (st != SSQ_OK)
        return st;
    if (g->trans_a)
        gemm_build_transpose(&op->a);
    if (g->trans_b)
        gemm_build_transpose(&op->b);
    st = gemm_build_check_sizes(g, op, name, s);
    if (st == SSQ_OK)
        st = broadcast_batch(g, op, name);
    if (st == SSQ_OK)
        st = broadcast_added(g, op, name);
    if (st == SSQ_OK)
        st = check_unit_stride(&op->a, name, "a");
    if (st == SSQ_OK)
        st = check_unit_stride(&op->b, name, "b");
    return st == SSQ_OK ? check_unit_stride(&op->d, name, "d") : st;
}

/* d may be exactly c: an element of c is read only to write the one of d in the
 * same place. */
static ssq_status gemm_build_check_aliases(const ssq_gemm_args *g,
                                           const char *name)
{
    ssq_status st = check_alias(g->d, "d", g->a, "a", false, name);
    if (st == SSQ_OK)
        st = check_alias(g->d, "d", g->b, "b", false, name);
    if (st == SSQ_OK)
        st = check_alias(g->d, "d", g->bias, "bias", false, name);
    return st == SSQ_OK ? check_alias(g->d, "d", g->c, "c", true, name) : st;
}

/* Return true if batch dimension i of v can become additional rows. Its stride
 * must equal m rows. Sets *row to the stride of all rows. If m is 1 the stride
 * of rows has no meaning, and the batch's stride is used. An absent view always
 * folds. */
static bool folds(const struct view *v, int i, int64_t m, int64_t *row)
{
    *row = 0;
    if (v->buffer == NULL)
        return true;
    *row = m == 1 ? v->stride[i] : v->stride[v->rank - 2];
    return v->stride[i] == m * *row;
}

/* Turn a batch that shares b into one matmul with more rows, which uses a
 * device better. For example, [8,128,k] times [k,n] becomes [1024,k] times
 * [k,n]. The innermost batch dimensions are folded first. The first one that
 * cannot be folded ends the loop, because dimensions further out are not
 * adjacent to the rows. */
static void fold_batch(struct gemm_op *op)
{
    struct view *v[] = {&op->a, &op->c, &op->bias, &op->d};
    int rank = op->d.rank;
    for (int i = rank - 3; i >= 0; i--) {
        int64_t size = op->d.shape[i], row[4];
        if (size == 1)
            continue;
        bool can = op->b.stride[i] == 0;
        for (int k = 0; k < 4; k++)
            can = folds(v[k], i, op->m, &row[k]) && can;
        if (!can || !unit_stride(&op->a, op->m * size, row[0]) ||
            !unit_stride(&op->d, op->m * size, row[3]))
            return;
        op->m *= size;
        op->b.shape[i] = 1;
        for (int k = 0; k < 4; k++) {
            v[k]->shape[i] = 1;
            v[k]->shape[rank - 2] = op->m;
            v[k]->stride[rank - 2] = row[k];
        }
    }
}

/* Merge the batch dimensions as far as possible, but leave at least one. Absent
 * views take part with strides of 0, which prevent no merge. */
static void collapse_batch(struct gemm_op *op)
{
    struct view *full[] = {&op->a, &op->b, &op->c, &op->bias, &op->d};
    struct view batch[5], *v[5];
    for (int k = 0; k < 5; k++) {
        v[k] = &batch[k];
        batch[k] = *full[k];
        batch[k].rank = op->d.rank - 2;
        if (full[k]->buffer == NULL) {
            memcpy(batch[k].shape, op->d.shape, sizeof(batch[k].shape));
            memset(batch[k].stride, 0, sizeof(batch[k].stride));
        }
    }
    views_collapse(v, 5);
    for (int k = 0; k < 5; k++) {
        int from = full[k]->rank - 2, to = batch[k].rank;
        for (int i = 0; i < 2 && full[k]->buffer != NULL; i++) {
            batch[k].shape[to + i] = full[k]->shape[from + i];
            batch[k].stride[to + i] = full[k]->stride[from + i];
        }
        batch[k].rank = to + 2;
    }
    for (int k = 0; k < 5; k++)
        *full[k] = batch[k];
    op->batch = 1;
    for (int i = 0; i < op->d.rank - 2; i++)
        op->batch *= op->d.shape[i];
}

/* Choose the strides of sizes below 2, which have no meaning, so that BLAS
 * finds a unit stride and a leading dimension. */
static void settle_strides(struct view *v)
{
    int64_t rows = v->shape[v->rank - 2], columns = v->shape[v->rank - 1];
    int64_t *row = &v->stride[v->rank - 2], *column = row + 1;
    if (columns <= 1)
        *column = 1;
    if (rows <= 1)
        *row = *column == 1 ? (columns > 1 ? columns : 1) : 1;
}

/* Make an operand absent, but keep its dtype. */
static void gemm_build_forget(struct view *v)
{
    *v = (struct view){.dtype = v->dtype, .rank = 0};
}

/* Check everything and fill the op; d may be empty. */
static ssq_status gemm_build_prepare(const ssq_queue *queue,
                                     const ssq_gemm_args *g, bool batched,
                                     const char *name, struct gemm_op *op)
{
    struct gemm_build_sizes s;
    *op = (struct gemm_op){.op = OP_HEADER(gemm, a)};
    ssq_status st = gemm_build_check_tensors(queue, g, name);
    if (st != SSQ_OK)
        return st;
    op->a = tensor_view(g->a, ACCESS_READ);
    op->b = tensor_view(g->b, ACCESS_READ);
    op->c = tensor_view(g->c, ACCESS_READ);
    op->bias = tensor_view(g->bias, ACCESS_READ);
    op->d = tensor_view(g->d, ACCESS_WRITE);
    st = gemm_build_check_shapes(g, op, batched, name, &s);
    if (st == SSQ_OK)
        st = gemm_build_check_values(g, name);
    if (st == SSQ_OK)
        st = gemm_build_check_aliases(g, name);
    if (st != SSQ_OK)
        return st;
    op->m = s.m;
    op->n = s.n;
    op->k = s.k;
    op->alpha = (float)g->alpha;
    op->beta = (float)g->beta;
    op->activation = g->activation;
    op->tf32 = ((g->flags & SSQ_GEMM_ALLOW_TF32) != 0 ||
                queue->device->options.allow_tf32) &&
               op->a.dtype == SSQ_F32 && op->b.dtype == SSQ_F32;
    op->three = ((g->flags & SSQ_GEMM_ALLOW_F16_THREE) != 0 ||
                 queue->device->options.allow_f16_three) &&
                op->a.dtype == SSQ_F16 && op->b.dtype == SSQ_F16;
    return SSQ_OK;
}

/* Bring a checked op with elements into the form of gemm.h. An operand that is
 * multiplied by 0 becomes absent, so that NaN and infinity in it have no
 * effect, as in BLAS. c is removed before the batch is folded, a and b after it
 * is collapsed. */
static void make_canonical(struct gemm_op *op)
{
    if (op->beta == 0.0f)
        gemm_build_forget(&op->c);
    fold_batch(op);
    collapse_batch(op);
    if (op->alpha == 0.0f)
        op->k = 0;
    settle_strides(&op->d);
    settle_strides(&op->a);
    settle_strides(&op->b);
    if (op->k == 0) {
        gemm_build_forget(&op->a);
        gemm_build_forget(&op->b);
    }
}

/* Use the default floating-point modes: alpha and beta are rounded to
 * float32. */
ssq_status gemm_build(const ssq_queue *queue, const ssq_gemm_args *args,
                      bool batched, const char *name, struct gemm_op *op)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    st = gemm_build_prepare(queue, args, batched, name, op);
    if (st == SSQ_OK && view_elements(&op->d) > 0)
        make_canonical(op);
    if (st == SSQ_OK && view_elements(&op->d) > 0)
        tuning_prefer(queue->device, op);
    if (st == SSQ_OK)
        st = packed_use(queue, args, name, op);
    fpenv_leave(env);
    return st;
}
