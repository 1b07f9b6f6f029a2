/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_clblast.c - float32 products by CLBlast.
 *
 * It is given only what it does exactly as the op says: float32 operands, c in
 * the place of d or absent, nothing added or activated. Its GEMM of halves
 * accumulates in half and is never called. On processors the plan "tiled" is
 * faster, by 4 to 13 times on PoCL (doc/performance/opencl.md): there this is
 * the last one asked, so that it runs where it is pinned. */
#include "backends/opencl/opencl.h"

#include "lib/op/gemm/gemm.h"

#include <clblast_c.h>
#include <stdio.h>

static bool gemm_clblast_no(struct why *why, const char *text)
{
    if (why != NULL)
        snprintf(why->text, sizeof(why->text), "%s", text);
    return false;
}

/* Are x's elements also y's? Strides along dimensions of size 1 do not
 * count. */
static bool same_place(const struct view *x, const struct view *y)
{
    bool same = x->buffer == y->buffer && x->offset == y->offset;
    for (int i = 0; i < y->rank; i++)
        same = same && (y->shape[i] == 1 || x->stride[i] == y->stride[i]);
    return same;
}

/* CLBlast's refusals, in words that say what it would take. */
bool opencl_clblast_check(const struct backend_device *device,
                          const struct gemm_op *op, struct why *why)
{
    (void)device;
    if (op->k == 0)
        return gemm_clblast_no(why, "k or alpha is 0: nothing is multiplied");
    if (op->a.dtype != SSQ_F32 || op->b.dtype != SSQ_F32 ||
        op->d.dtype != SSQ_F32)
        return gemm_clblast_no(
            why, "a, b and d must be f32: its products of 16-bit floats "
                 "are summed in half");
    if (op->bias.buffer != NULL)
        return gemm_clblast_no(why, "it adds no bias");
    if (op->activation != SSQ_ACTIVATION_NONE)
        return gemm_clblast_no(why, "it has no activations");
    if (op->c.buffer != NULL &&
        (op->c.dtype != SSQ_F32 || !same_place(&op->c, &op->d)))
        return gemm_clblast_no(why,
                               "c must be f32 and d itself: it adds in place");
    if (op->d.rank != 3)
        return gemm_clblast_no(why, "it has one batch dimension");
    return true;
}

/* A matrix as BLAS sees it: where it begins, its leading dimension, and from
 * one matrix of the batch to the next, all in elements. columns: its columns
 * are what is together. */
struct gemm_clblast_matrix {
    cl_mem mem;
    size_t at, leading, batch;
    bool columns;
};

/* A factor or d of an op that check() has admitted: one of its strides is 1. */
static struct gemm_clblast_matrix gemm_clblast_matrix_of(const struct view *v)
{
    struct gemm_clblast_matrix x;
    x.mem = ((const struct opencl_mem *)v->buffer->mem)->cl;
    x.at = (size_t)((v->buffer->offset + v->offset) / sizeof(float));
    x.leading = (size_t)gemm_leading(v, &x.columns);
    x.batch = (size_t)v->stride[0];
    return x;
}

ssq_status opencl_clblast_run(struct backend_queue *queue,
                              const struct gemm_op *op)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    struct gemm_clblast_matrix a = gemm_clblast_matrix_of(&op->a),
                               b = gemm_clblast_matrix_of(&op->b);
    struct gemm_clblast_matrix d = gemm_clblast_matrix_of(&op->d);
    size_t m = (size_t)op->m, n = (size_t)op->n, k = (size_t)op->k;
    float beta = op->c.buffer == NULL ? 0.0f : op->beta;
    /* d decides the layout; a factor that is the other way is a transposed
     * one */
    CLBlastLayout layout =
        d.columns ? CLBlastLayoutColMajor : CLBlastLayoutRowMajor;
    CLBlastTranspose turn_a =
        a.columns == d.columns ? CLBlastTransposeNo : CLBlastTransposeYes;
    CLBlastTranspose turn_b =
        b.columns == d.columns ? CLBlastTransposeNo : CLBlastTransposeYes;
    cl_event done = NULL;
    CLBlastStatusCode e =
        op->batch == 1
            ? CLBlastSgemm(layout, turn_a, turn_b, m, n, k, op->alpha, a.mem,
                           a.at, a.leading, b.mem, b.at, b.leading, beta, d.mem,
                           d.at, d.leading, &queue->cl, &done)
            : CLBlastSgemmStridedBatched(
                  layout, turn_a, turn_b, m, n, k, op->alpha, a.mem, a.at,
                  a.leading, a.batch, b.mem, b.at, b.leading, b.batch, beta,
                  d.mem, d.at, d.leading, d.batch, (size_t)op->batch,
                  &queue->cl, &done);
    if (e != CLBlastSuccess)
        return opencl_queue_fail(queue, "CLBlastSgemm", (cl_int)e);
    opencl_queue_enqueued(queue, done);
    return SSQ_OK;
}

/* On processors this is asked only after the plan. */
bool opencl_clblast_last(const struct backend_device *device,
                         const struct gemm_op *op)
{
    (void)op;
    return device->cpu;
}
