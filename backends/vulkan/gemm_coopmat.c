/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_coopmat.c - products of 16-bit floats on cooperative matrices.
 *
 * It does all that the op says, epilogue included, for ops of one batch
 * dimension. On a processor, whose matrices are loops, and for a single row or
 * column, where a matrix would be mostly padding, the plan "tiled" is faster:
 * then this implementation is the last one asked, so that it runs where it is
 * pinned. */
#include "backends/vulkan/coopmat.h"
#include "backends/vulkan/queue.h"

#include <stdio.h>
#include <string.h>

#include "lib/op/gemm/product.h"

/** Fewer rows or columns fill less than half of the smallest matrices. */
#define LEAST_SIDE 5
/** Elements of an operand that the shader can count, in 32 bits and with room
 * to round up. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

static bool gemm_coopmat_no(struct why *why, const char *text)
{
    if (why != NULL)
        snprintf(why->text, sizeof(why->text), "%s", text);
    return false;
}

/* The kind for a dtype of factors; gemm_coopmat_check() asks for f16 and bf16
 * only, so that there is one. */
static const struct coopmat_kind *
gemm_coopmat_kind_of(const struct backend_device *d, ssq_dtype dtype)
{
    for (int i = 0; i < 2; i++)
        if (d->coopmat->kind[i].dtype == dtype)
            return &d->coopmat->kind[i];
    return NULL;
}

/* True if the shader can count to the operand's last element, or it is
 * absent. */
static bool reachable(const struct view *v)
{
    return v->buffer == NULL || product_span(v) <= MOST_ELEMENTS;
}

static bool gemm_coopmat_check(const struct backend_device *d,
                               const struct gemm_op *op, struct why *why)
{
    if (op->k == 0)
        return gemm_coopmat_no(why, "k or alpha is 0: nothing is multiplied");
    if (op->a.dtype != op->b.dtype ||
        (op->a.dtype != SSQ_F16 && op->a.dtype != SSQ_BF16))
        return gemm_coopmat_no(why, "a and b must both be f16 or both bf16");
    const struct coopmat_kind *kind = gemm_coopmat_kind_of(d, op->a.dtype);
    if (!kind->admitted)
        return gemm_coopmat_no(why, kind->why.text);
    if (op->d.rank != 3)
        return gemm_coopmat_no(why, "it has one batch dimension");
    if (!reachable(&op->a) || !reachable(&op->b) || !reachable(&op->c) ||
        !reachable(&op->bias) || !reachable(&op->d))
        return gemm_coopmat_no(why, "an operand reaches over 2^31 elements");
    return true;
}

/* ---- a launch ---- */

/* Do all lines of a factor begin at multiples of 16 bytes, which are 8
 * elements? Then the shader loads 16 bytes at a time. */
static bool gemm_coopmat_whole(const struct view *v, uint32_t row,
                               uint32_t column)
{
    return (v->buffer->offset + v->offset) % 16 == 0 &&
           (column == 1 ? row : column) % 8 == 0 && product_step(v, 0) % 8 == 0;
}

/* Set the shader's parameters. gemm_coopmat_run() has set the parameters of the
 * epilogue. */
static void gemm_coopmat_fill(struct gemm_coopmat_args *x,
                              const struct product *g)
{
    x->g = product_shape(g);
    product_steps(&g->a, &x->a_row, &x->a_column);
    product_steps(&g->b, &x->b_row, &x->b_column);
    if (gemm_coopmat_whole(&g->a, x->a_row, x->a_column))
        x->g.types |= GEMM_WHOLE_A;
    if (gemm_coopmat_whole(&g->b, x->b_row, x->b_column))
        x->g.types |= GEMM_WHOLE_B;
}

/* Bind a view, or an absent operand, with the bytes that it spans. */
static void gemm_coopmat_bind(struct launch *l, const struct view *v,
                              uint32_t unit, enum access access)
{
    if (v->buffer == NULL)
        coopmat_bind(l, NULL, 0, 0, unit, access);
    else
        coopmat_bind(l, v->buffer->mem, v->buffer->offset + v->offset,
                     (uint64_t)product_span(v) *
                         (v->dtype == SSQ_F32 ? 4u : 2u),
                     unit, access);
}

/* Tiles of d, over all matrices of the batch: the work of the groups. */
static uint64_t gemm_coopmat_tiles(const struct product *g,
                                   const struct coopmat_tile *t)
{
    return (uint64_t)g->batch * (((uint64_t)g->m + t->m - 1) / t->m) *
           (((uint64_t)g->n + t->n - 1) / t->n);
}

static ssq_status gemm_coopmat_run(struct backend_queue *queue,
                                   const struct gemm_op *op)
{
    const struct backend_device *d = queue->device;
    const struct coopmat_kind *kind = gemm_coopmat_kind_of(d, op->a.dtype);
    const struct product g = product_rows(op);
    struct gemm_coopmat_args x = {0};
    /* large tiles where there are enough for all of the device */
    const struct coopmat_tile *tile = &kind->tile[1];
    if (tile->code.pipeline == VK_NULL_HANDLE ||
        gemm_coopmat_tiles(&g, tile) < d->caps.units)
        tile = &kind->tile[0];
    /* where a launch cannot have as many groups, each does several tiles */
    uint64_t groups = gemm_coopmat_tiles(&g, tile);
    struct launch l = {.code = &tile->code,
                       .groups = groups > LAUNCH_GROUPS ? LAUNCH_GROUPS
                                                        : (uint32_t)groups,
                       .nwords = sizeof(x) / sizeof(uint32_t)};
    gemm_coopmat_fill(&x, &g);
    memcpy(l.param, &x, sizeof(x));
    gemm_coopmat_bind(&l, &g.d, 4, ACCESS_WRITE);
    gemm_coopmat_bind(&l, &g.c, 4, ACCESS_READ);
    gemm_coopmat_bind(&l, &g.bias, 4, ACCESS_READ);
    gemm_coopmat_bind(&l, &g.a, 16, ACCESS_READ);
    gemm_coopmat_bind(&l, &g.b, 16, ACCESS_READ);
    return vulkan_launch(queue, &l);
}

/* Is the plan better, so that this is asked only after it? */
static bool gemm_coopmat_last(const struct backend_device *d,
                              const struct gemm_op *op)
{
    return d->caps.type == VK_PHYSICAL_DEVICE_TYPE_CPU || op->m < LEAST_SIDE ||
           op->n < LEAST_SIDE;
}

const struct gemm_impl vulkan_gemms[] = {{.name = "coopmat",
                                          .check = gemm_coopmat_check,
                                          .run = gemm_coopmat_run,
                                          .last = gemm_coopmat_last},
                                         {.name = NULL}};

void vulkan_gemm_explain(const struct backend_device *d,
                         const struct gemm_op *op, unsigned impl,
                         struct gemm_explanation *e)
{
    if (impl == GEMM_BY_PLAN)
        return; /* gemm_coopmat_check() tells why it was not this one */
    e->matrix_units = true;
    e->block = gemm_coopmat_kind_of(d, op->a.dtype)->truncates_after;
}
