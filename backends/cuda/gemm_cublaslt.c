/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cublaslt.c - which matmuls cuBLASLt computes, and by which algorithm;
 * the list of implementations of gemm.
 *
 * gemm_route.c says how a matmul is computed, and gemm_run.c computes it.
 * Factors that must be copied first are worth the time only from a certain
 * size: see gemm_cublaslt_last(). */
#include "backends/cuda/gemm_route.h"
#include "backends/cuda/mma.h"
#include "backends/cuda/queue.h"

#include <limits.h>
#include <stdio.h>

/** If a factor has more lines than a piece, the piece must have at least
 *  COPY_LINES: with fewer, the other factor is read too often. */
#define COPY_LINES 256
/** Elements that the finishing kernel can count in 32 bits. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

/* ---- admission ---- */

static bool is_kind(const struct cuda_lt *lt, const struct gemm_op *op,
                    struct why *why)
{
    if (op->a.dtype != op->b.dtype)
        return cuda_refuse(why, "a and b must have the same dtype");
    const struct lt_kind *kind = cuda_lt_kind(lt, op->a.dtype, false);
    if (kind == NULL)
        return cuda_refuse(why, "a and b must be f16, bf16 or f32");
    return kind->admitted ? true : cuda_refuse(why, "%s", kind->why.text);
}

static bool is_factor(const struct view *v, const char *name, struct why *why)
{
    struct lt_matrix x = cuda_lt_matrix(v);
    return cuda_lt_plain(v, &x)
               ? true
               : cuda_refuse(why, "%s's lines overlap or run backwards", name);
}

static bool are_sizes(const struct gemm_op *op, struct why *why)
{
    const int64_t most = INT_MAX - 7;
    return op->m <= most && op->n <= most && op->k <= most && op->batch <= most
               ? true
               : cuda_refuse(why, "a size is over 2^31");
}

/* Return whether a kernel can count to the last element in 32 bits. */
static bool is_counted(const struct view *v)
{
    return v->buffer == NULL || product_span(v) <= MOST_ELEMENTS;
}

/* Return whether the product can be divided into pieces of these sizes, and d
 * computed from them. */
static bool are_pieces(const struct product *g, const struct route *r,
                       const struct product *size, struct why *why)
{
    if (!r->whole &&
        (!is_counted(&g->c) || !is_counted(&g->bias) || !is_counted(&g->d)))
        return cuda_refuse(why, "an operand reaches over 2^31 elements");
    if ((r->copy_a && !is_counted(&g->a)) || (r->copy_b && !is_counted(&g->b)))
        return cuda_refuse(why, "a factor to be copied reaches over 2^31 "
                                "elements");
    if ((size->m < g->m && size->m < COPY_LINES && r->copy_a) ||
        (size->n < g->n && size->n < COPY_LINES))
        return cuda_refuse(why, "k is %lld: a copy of %d lines has no room",
                           (long long)g->k, COPY_LINES);
    return size->m > 0 ? true
                       : cuda_refuse(why, "a row of d has over 2^21 elements");
}

/* Return whether the library has an algorithm for each piece. To know this, ask
 * for the first and the last along each dimension. */
static bool can_pieces(struct cuda_lt *lt, const struct gemm_op *op,
                       const struct product *g, const struct route *r,
                       struct why *why)
{
    const struct product size = cuda_route_sizes(g, r);
    if (!are_pieces(g, r, &size, why))
        return false;
    const int64_t last[] = {(g->batch - 1) / size.batch * size.batch,
                            (g->m - 1) / size.m * size.m,
                            (g->n - 1) / size.n * size.n};
    for (unsigned q = 0; q < 8; q++) {
        int64_t at[3] = {0, 0, 0};
        bool again = false; /* the last piece is also the first */
        for (unsigned i = 0; i < 3; i++)
            if ((q >> i & 1u) != 0) {
                at[i] = last[i];
                again = again || last[i] == 0;
            }
        if (again)
            continue;
        struct product piece = product_part(g, &size, at[0], at[1], at[2]);
        struct route here = cuda_route_piece(r, g, &piece);
        struct lt_product p = cuda_route_product(op, &piece, &here);
        if (!cuda_lt_can(lt, &p, why))
            return false;
    }
    return true;
}

static bool gemm_cublaslt_check(const struct backend_device *d,
                                const struct gemm_op *op, struct why *why)
{
    struct why unused;
    struct why *say = why != NULL ? why : &unused;
    if (d->lt == NULL)
        return cuda_refuse(why, "%s", d->lt_why.text);
    if (op->k == 0)
        return cuda_refuse(why, "k or alpha is 0: nothing is multiplied");
    if (op->d.rank != 3)
        return cuda_refuse(why, "it has one batch dimension");
    if (!is_kind(d->lt, op, why) || !are_sizes(op, why) ||
        !is_factor(&op->a, "a", why) || !is_factor(&op->b, "b", why))
        return false;
    if (cuda_enter(d) != SSQ_OK)
        return cuda_refuse(why, "%s", d->core->error_text());
    struct product g = cuda_gemm_product(op);
    struct route r = cuda_route_of(d, op, &g);
    bool can = can_pieces(d->lt, op, &g, &r, say);
    cuda_leave(d);
    return can;
}

/** Sizes from which copies of the factors, and sums, are worth their time. They
 *  cost two or three launches, 4 bytes for each element of a and b, and 8 for
 *  each of d. The alternative is the plan without tensor cores, at a tenth of
 *  their throughput or less. If all sides are at least 64, these bytes are less
 *  than a tenth of the bytes that the plan reads. With 2^26 products the matmul
 *  takes longer than the launches. Both numbers are estimates: `sesqui tune`
 *  measures. */
#define COPY_SIDE     64
#define COPY_PRODUCTS 0x1p26

static double products_of(const struct gemm_op *op)
{
    return (double)op->batch * (double)op->m * (double)op->n * (double)op->k;
}

/* Return whether a copy is needed that costs more than the plan. Pure: depends
 * only on sizes, strides and addresses. */
static bool gemm_cublaslt_last(const struct backend_device *d,
                               const struct gemm_op *op)
{
    if (d->lt == NULL || op->k == 0 || op->d.rank != 3 ||
        op->a.dtype != op->b.dtype)
        return false;
    struct product g = cuda_gemm_product(op);
    struct route r = cuda_route_of(d, op, &g);
    int64_t side = size_least(op->m, size_least(op->n, op->k));
    return route_copies(&r) &&
           (side < COPY_SIDE || products_of(op) < COPY_PRODUCTS);
}

/* ---- implementations ---- */

const struct gemm_impl cuda_gemms[] = {{.name = "cublaslt",
                                        .check = gemm_cublaslt_check,
                                        .run = cuda_lt_gemm_run,
                                        .last = gemm_cublaslt_last},
                                       {.name = "mma",
                                        .check = cuda_mma_check,
                                        .run = cuda_mma_run,
                                        .last = cuda_mma_last},
                                       {.name = NULL}};

/* ---- explanations ---- */

/* Return the algorithms of the first piece, which is the whole product if it
 * fits into the queue's memory. */
unsigned cuda_gemm_algorithms(const struct backend_device *d,
                              const struct gemm_op *op, unsigned impl,
                              uint64_t *names)
{
    if (cuda_gemms[impl].run != cuda_lt_gemm_run || cuda_enter(d) != SSQ_OK)
        return 0;
    const struct product g = cuda_gemm_product(op);
    const struct route r = cuda_route_of(d, op, &g);
    const struct product size = cuda_route_sizes(&g, &r);
    const struct product piece = product_part(&g, &size, 0, 0, 0);
    const struct route here = cuda_route_piece(&r, &g, &piece);
    const struct lt_product p = cuda_route_product(op, &piece, &here);
    unsigned n = cuda_lt_algorithms(d->lt, &p, names);
    cuda_leave(d);
    return n;
}

/* Return whether the library still has the algorithm that was tuned. */
static bool has_algorithm(const struct backend_device *d,
                          const struct gemm_op *op, unsigned impl)
{
    uint64_t names[GEMM_ALGORITHMS];
    unsigned n = cuda_gemm_algorithms(d, op, impl, names);
    for (unsigned i = 0; i < n; i++)
        if (names[i] == op->algorithm)
            return true;
    return op->algorithm == 0;
}

/* Return how many products tensor cores add before they cut the sum, as far as
 * known for the generation; half as many for TF32. */
static uint32_t mma_block_of(const struct backend_device *d, bool tf32)
{
    uint32_t block = mma_block(d->found->capability);
    return tf32 ? block / 2 : block;
}

/* Explain, with the numbers of gemm_cublaslt_last(), why the library is not
 * tried first although it could do the op. */
static void explain_last(const struct backend_device *d,
                         const struct gemm_op *op, struct gemm_explanation *e)
{
    if (gemm_cublaslt_last(d, op) && gemm_cublaslt_check(d, op, NULL))
        (void)snprintf(e->condition, sizeof(e->condition),
                       "factors off 16 bytes are copied from sides of %d and "
                       "2^26 products on, here are %.0f",
                       COPY_SIDE, products_of(op));
}

/* Explain an op with float32 factors. Like 16-bit ones, TF32 matrix units need
 * lines that begin at multiples of 16 bytes. */
static void explain_f32(const struct backend_device *d,
                        const struct gemm_op *op, const struct route *r,
                        struct gemm_explanation *e)
{
    const struct lt_kind *kind = cuda_lt_kind(d->lt, SSQ_F32, true);
    struct lt_matrix a = cuda_lt_matrix(&op->a), b = cuda_lt_matrix(&op->b);
    e->tf32 = r->tf32;
    e->matrix_units =
        r->tf32 && cuda_lt_aligned(SSQ_F32, &a) && cuda_lt_aligned(SSQ_F32, &b);
    if (!e->matrix_units)
        (void)snprintf(
            e->condition, sizeof(e->condition),
            "cublaslt multiplies f32 %s%.160s",
            !op->tf32  ? "without them, but where TF32 is allowed"
            : !r->tf32 ? "without them: "
                       : "as TF32 on them where lines begin at multiples of 16 "
                         "bytes",
            op->tf32 && !r->tf32 ? kind->why.text : "");
}

void cuda_gemm_explain(const struct backend_device *d, const struct gemm_op *op,
                       unsigned impl, struct gemm_explanation *e)
{
    if (impl == GEMM_BY_PLAN) {
        explain_last(d, op, e);
        return; /* for other reasons see gemm_cublaslt_check() */
    }
    if (cuda_gemms[impl].run !=
        cuda_lt_gemm_run) { /* mma does not support f32 */
        e->matrix_units = true;
        e->block = mma_block_of(d, false);
        return;
    }
    struct product g = cuda_gemm_product(op);
    struct route r = cuda_route_of(d, op, &g);
    e->matrix_units = op->a.dtype != SSQ_F32;
    e->copied = route_copies(&r);
    e->tuned = e->tuned && has_algorithm(d, op, impl);
    if (!e->matrix_units)
        explain_f32(d, op, &r, e);
    if (e->matrix_units)
        e->block = mma_block_of(d, op->a.dtype == SSQ_F32);
}
