/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - GEMM: panels that are packed, on all threads.
 *
 *     gemv    with a vector or a few: lines along k, read in place
 *     amx     bf16 times bf16, and f16 times f16, by the processor's tiles
 *     dot     bf16 times bf16 by vdpbf16ps, two products in the time of one
 *     packed  all other cases: factors become float32 when they are packed
 *
 * If d is stored by columns, its transpose is computed, with the factors
 * exchanged: packing accepts both orders. */
#include "backends/cpu/gemm/gemm.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm/gemm_run.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/gemm/gemv.h"
#include "lib/op/gemm/product.h"

#include <stdio.h>
#include <string.h>

/* ---- the job of an op ---- */

/* Return the last two dimensions as the matrices of a GEMM. */
static struct view gemm_matrix_of(const struct view *v)
{
    struct view x = *v;
    if (v->buffer == NULL)
        return x;
    x.rank = 3;
    x.shape[0] = 1;
    x.stride[0] = 0;
    for (int i = 1; i < 3; i++) {
        x.shape[i] = v->shape[v->rank - 3 + i];
        x.stride[i] = v->stride[v->rank - 3 + i];
    }
    return x;
}

static void copy_steps(int64_t *to, const struct view *v, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = v->buffer == NULL ? 0 : v->stride[i];
}

static void fill_batch(struct gemm_batch *to, const struct gemm_op *op,
                       bool turned)
{
    to->rank = op->d.rank - 2;
    for (int i = 0; i < to->rank; i++)
        to->shape[i] = op->d.shape[i];
    copy_steps(turned ? to->b : to->a, &op->a, to->rank);
    copy_steps(turned ? to->a : to->b, &op->b, to->rank);
    copy_steps(to->c, &op->c, to->rank);
    copy_steps(to->bias, &op->bias, to->rank);
    copy_steps(to->d, &op->d, to->rank);
}

/* Return lines along dimension i, with k along j. */
static struct gemm_source source_of(const struct view *v, int i, int j)
{
    if (v->buffer == NULL)
        return (struct gemm_source){.dtype = v->dtype};
    return (struct gemm_source){view_host(v), v->dtype, v->stride[i],
                                v->stride[j]};
}

static void fill_result(struct gemm_result *r, const struct product *g)
{
    *r = (struct gemm_result){.c = view_host(&g->c),
                              .bias = view_host(&g->bias),
                              .d = view_host(&g->d),
                              .d_row = g->d.stride[1]};
    if (r->c != NULL) {
        r->c_row = g->c.stride[1];
        r->c_column = g->c.stride[2];
    }
    if (r->bias != NULL) {
        r->bias_row = g->bias.stride[1];
        r->bias_column = g->bias.stride[2];
    }
    r->args.g = product_shape(g);
    r->plain = g->k > 0 && g->alpha == 1.0f && r->c == NULL &&
               r->bias == NULL && g->activation == SSQ_ACTIVATION_NONE;
}

/* Return packed panels of b for these loops; NULL if there are none. */
static const void *panels_of(const struct gemm_op *op,
                             const struct gemm_kernels *kernels)
{
    const struct view *v = &op->panels;
    if (v->buffer == NULL || op->d.stride[op->d.rank - 1] != 1 ||
        v->shape[2] != kernels->columns || v->shape[3] != kernels->pair)
        return NULL;
    return view_host(v);
}

static void fill_job(struct gemm_job *job, const struct gemm_op *op,
                     const struct gemm_kernels *kernels)
{
    struct product g = {1,
                        op->m,
                        op->n,
                        op->k,
                        op->alpha,
                        op->beta,
                        op->activation,
                        gemm_matrix_of(&op->a),
                        gemm_matrix_of(&op->b),
                        gemm_matrix_of(&op->c),
                        gemm_matrix_of(&op->bias),
                        gemm_matrix_of(&op->d)};
    bool turned = g.n != 1 && g.d.stride[2] != 1;
    if (turned)
        product_transpose(&g);
    *job = (struct gemm_job){.kernels = kernels,
                             .batch = op->batch,
                             .m = g.m,
                             .n = g.n,
                             .k = g.k,
                             .a = source_of(&g.a, 1, 2),
                             .b = source_of(&g.b, 2, 1),
                             .panels = panels_of(op, kernels)};
    fill_result(&job->result, &g);
    fill_batch(&job->to, op, turned);
}

/* ---- implementations ---- */

static ssq_status cpu_gemm_run(struct backend_queue *queue,
                               const struct gemm_op *op,
                               const struct gemm_kernels *kernels)
{
    struct backend_device *d = queue->device;
    struct gemm_job job;
    fill_job(&job, op, kernels);
    return gemm_run(&job, &d->features, d->team, &d->scratch);
}

/* Depends only on the processor and on dtypes. */
static bool gemm_check_dot(const struct backend_device *d,
                           const struct gemm_op *op, struct why *why)
{
    if (op->k == 0)
        return refuse(why, "nothing is multiplied");
    if (op->a.dtype != SSQ_BF16 || op->b.dtype != SSQ_BF16)
        return refuse(why, "a is %s, b is %s: vdpbf16ps multiplies bf16",
                      ssq_dtype_name(op->a.dtype), ssq_dtype_name(op->b.dtype));
    if (d->isa->dot == NULL)
        return refuse(why, "it is code for avx512, this is %s", d->isa->name);
    if (!d->features.avx512_bf16)
        return refuse(why, "the processor has no avx512_bf16");
    return true;
}

/* On Intel's cores a dot product takes twice as long as an FMA, so it computes
 * no more products, and rounds more. ssq_gemm_tune finds the cases where it is
 * faster. */
static bool is_dot_last(const struct backend_device *d,
                        const struct gemm_op *op)
{
    (void)op;
    return !d->features.amd;
}

/* Return the instructions that other GEMMs of these factors use. */
static const struct gemm_kernels *gemv_kernels(const struct backend_device *d,
                                               const struct gemm_op *op)
{
    bool dot = gemm_check_dot(d, op, NULL) && !is_dot_last(d, op);
    return dot ? d->isa->dot : d->isa->gemm;
}

static bool check_gemv(const struct backend_device *d, const struct gemm_op *op,
                       struct why *why)
{
    struct gemm_job job;
    bool down;
    if (op->k == 0)
        return refuse(why, "nothing is multiplied");
    fill_job(&job, op, gemv_kernels(d, op));
    if (gemv_takes(&job, &down))
        return true;
    return refuse(why,
                  "m %lld n %lld k %lld: not a vector, or a few, and lines "
                  "that are contiguous along k",
                  (long long)op->m, (long long)op->n, (long long)op->k);
}

static ssq_status run_gemv(struct backend_queue *queue,
                           const struct gemm_op *op)
{
    struct backend_device *d = queue->device;
    struct gemm_job job;
    fill_job(&job, op, gemv_kernels(d, op));
    return gemv_run(&job, d->team, &d->scratch);
}

static ssq_status gemm_run_dot(struct backend_queue *queue,
                               const struct gemm_op *op)
{
    return cpu_gemm_run(queue, op, queue->device->isa->dot);
}

/* An infinity or a NaN among the factors cannot be split into halves. The GEMM
 * is then started again by another implementation, and nothing of it is kept.
 * If c is d, the contents of d are still needed, so the factors are checked
 * first. */
static ssq_status run_amx(struct backend_queue *queue, const struct gemm_op *op)
{
    struct backend_device *d = queue->device;
    atomic_bool not_finite = false;
    struct gemm_job job;
    fill_job(&job, op, tiles_kernels(&d->tiles, op));
    job.not_finite = &not_finite;
    job.panels = NULL; /* they have another form: pack b itself */
    if (tiles_products(&d->tiles, op) != 0 && job.result.c == job.result.d)
        tiles_look_through(&job, d->team);
    ssq_status st = SSQ_OK;
    if (!atomic_load(&not_finite))
        st = gemm_run(&job, &d->features, d->team, &d->scratch);
    return st == SSQ_OK && atomic_load(&not_finite)
               ? cpu_gemm_run(queue, op, d->isa->gemm)
               : st;
}

static ssq_status run_packed(struct backend_queue *queue,
                             const struct gemm_op *op)
{
    return cpu_gemm_run(queue, op, queue->device->isa->gemm);
}

/* Best first. */
enum { GEMV, AMX, DOT, PACKED };

const struct gemm_impl cpu_gemm[] = {
    [GEMV] = {.name = "gemv", .check = check_gemv, .run = run_gemv},
    [AMX] = {.name = "amx", .check = tiles_check, .run = run_amx},
    [DOT] = {.name = "dot",
             .check = gemm_check_dot,
             .run = gemm_run_dot,
             .last = is_dot_last},
    [PACKED] = {.name = "packed", .run = run_packed},
    {.name = NULL},
};

/* The dtype of a also matters: it selects the kernels. */
bool cpu_gemm_panels(const struct backend_device *d, ssq_dtype dtype,
                     struct gemm_panels_form *form)
{
    struct gemm_op op = {.k = 1};
    op.a.dtype = op.b.dtype = dtype;
    const struct gemm_kernels *x = gemv_kernels(d, &op);
    *form = (struct gemm_panels_form){x->columns, x->pair};
    return true;
}

void cpu_gemm_explain(const struct backend_device *device,
                      const struct gemm_op *op, unsigned impl,
                      struct gemm_explanation *e)
{
    struct why why = {""};
    if (impl == AMX) {
        e->matrix_units = true;
        e->products = tiles_products(&device->tiles, op);
        e->flushed = op->a.dtype == SSQ_BF16;
        return;
    }
    if (impl == DOT || impl == PACKED)
        e->packed = panels_of(op, impl == DOT ? device->isa->dot
                                              : device->isa->gemm) != NULL;
    bool dot =
        impl == DOT || (impl == GEMV && gemv_kernels(device, op)->pair == 2);
    e->flushed = dot;
    (void)tiles_check(device, op, &why);
    if (impl > PACKED)
        snprintf(e->condition, sizeof(e->condition),
                 "processors have none but tiles, for bf16 and f16");
    else
        snprintf(e->condition, sizeof(e->condition),
                 "%s no matrix unit; amx: %.160s",
                 dot ? "vdpbf16ps is" : "vectors of float32 are", why.text);
}
