/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma.c - products of 16-bit floats by gemm_mma.nv: all that the op says,
 * epilogue included, for ops of one batch dimension.
 *
 * Sizes may be any; lines of a and b have to begin at multiples of 16 bytes.
 * For a single row or column, where a matrix would be mostly padding, the plan
 * is asked first. */
#include "backends/mma/mma.h"

#include <string.h>

#include "lib/op/gemm/product.h"

/** Fewer rows or columns fill less than half of the smallest matrices. */
#define LEAST_SIDE 5
/** Elements of an operand that the kernel can count, in 32 bits and with room
 *  to round up. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

static uint32_t gemm_mma_size_of(ssq_dtype dtype)
{
    return dtype == SSQ_F32 ? 4 : 2;
}

/* ---- admission ---- */

static bool are_types(const struct mma *mma, const struct gemm_op *op,
                      struct why *why)
{
    if (op->a.dtype != op->b.dtype ||
        (op->a.dtype != SSQ_F16 && op->a.dtype != SSQ_BF16))
        return mma_refuse(why, "a and b must both be f16 or both bf16");
    const struct mma_kind *kind = mma_kind(mma, op->a.dtype);
    return kind->admitted ? true : mma_refuse(why, "%s", kind->why.text);
}

static bool gemm_mma_is_counted(const struct view *v, const char *name,
                                struct why *why)
{
    if (v->buffer == NULL || product_span(v) <= MOST_ELEMENTS)
        return true;
    return mma_refuse(why, "%s reaches over 2^31 elements: %lld", name,
                      (long long)product_span(v));
}

/* Do all lines of a factor begin at multiples of 16 bytes? */
static bool gemm_mma_is_aligned(const struct mma *mma, const struct view *v,
                                const char *name, struct why *why)
{
    uint32_t row, column, each = MMA_ALIGN / gemm_mma_size_of(v->dtype);
    product_steps(v, &row, &column);
    uint32_t leading = column == 1 ? row : column, batch = product_step(v, 0);
    uint32_t off = mma->calls->off(v);
    if (off == 0 && leading % each == 0 && batch % each == 0)
        return true;
    return mma_refuse(why,
                      "%s's lines must begin at multiples of 16 bytes: its "
                      "address is %u over one, leading dimension %u, batch %u",
                      name, off, leading, batch);
}

/* ---- the variant ---- */

static bool is_turned(const struct view *v, bool along_rows)
{
    uint32_t row, column;
    product_steps(v, &row, &column);
    return along_rows ? column != 1 : row != 1;
}

/* Tiles of d, over all matrices of the batch: the work of the groups. */
static uint64_t gemm_mma_tiles(const struct product *g, unsigned variant)
{
    uint64_t side = mma_tile(variant);
    return (uint64_t)g->batch * (((uint64_t)g->m + side - 1) / side) *
           (((uint64_t)g->n + side - 1) / side);
}

/* A line of either factor goes along k, or it is turned. Tiles are large where
 * there are enough of them for every multiprocessor, and memory. */
static unsigned gemm_mma_variant_of(const struct mma *mma,
                                    const struct product *g)
{
    unsigned v = (is_turned(&g->a, true) ? MMA_A_TURNED : 0) |
                 (is_turned(&g->b, false) ? MMA_B_TURNED : 0);
    bool large = gemm_mma_tiles(g, v | MMA_LARGE) >= mma->processors &&
                 mma->local_bytes >= mma_local_bytes(mma, v | MMA_LARGE);
    return v | (large ? MMA_LARGE : 0);
}

bool mma_check(struct mma *mma, struct backend_device *d,
               const struct gemm_op *op, struct why *why)
{
    if (op->k == 0)
        return mma_refuse(why, "k or alpha is 0: nothing is multiplied");
    if (op->d.rank != 3)
        return mma_refuse(why, "it has one batch dimension");
    if (!are_types(mma, op, why) || !gemm_mma_is_counted(&op->a, "a", why) ||
        !gemm_mma_is_counted(&op->b, "b", why) ||
        !gemm_mma_is_counted(&op->c, "c", why) ||
        !gemm_mma_is_counted(&op->bias, "bias", why) ||
        !gemm_mma_is_counted(&op->d, "d", why) ||
        !gemm_mma_is_aligned(mma, &op->a, "a", why) ||
        !gemm_mma_is_aligned(mma, &op->b, "b", why))
        return false;
    const struct product g = product_rows(op);
    return mma_try(mma, d, op->a.dtype, gemm_mma_variant_of(mma, &g), why);
}

bool mma_last(const struct gemm_op *op)
{
    return op->m < LEAST_SIDE || op->n < LEAST_SIDE;
}

/* ---- a launch ---- */

static void gemm_mma_bind(struct launch *l, const struct view *v,
                          unsigned forms, enum access access)
{
    if (v->buffer == NULL)
        mma_bind(l, NULL, 0, 0, forms, access);
    else
        mma_bind(l, v->buffer->mem, v->buffer->offset + v->offset,
                 (uint64_t)product_span(v) * gemm_mma_size_of(v->dtype), forms,
                 access);
}

ssq_status mma_run(const struct mma *mma, struct backend_device *d,
                   struct backend_queue *q, const struct gemm_op *op)
{
    const struct product g = product_rows(op);
    unsigned variant = gemm_mma_variant_of(mma, &g);
    struct gemm_mma_args x;
    struct launch l = {.nwords = sizeof(x) / sizeof(uint32_t)};
    ssq_status st = mma_code(mma, d, op->a.dtype, variant, &l.code);
    if (st != SSQ_OK)
        return st;
    memset(&x, 0, sizeof(x));
    x.g = product_shape(&g);
    product_steps(&g.a, &x.a_row, &x.a_column);
    product_steps(&g.b, &x.b_row, &x.b_column);
    memcpy(l.param, &x, sizeof(x));
    /* where a launch cannot have as many groups, each does several tiles */
    uint64_t groups = gemm_mma_tiles(&g, variant);
    l.groups = groups > LAUNCH_GROUPS ? LAUNCH_GROUPS : (uint32_t)groups;
    gemm_mma_bind(&l, &g.d, 2, ACCESS_WRITE);
    gemm_mma_bind(&l, &g.c, 2, ACCESS_READ);
    gemm_mma_bind(&l, &g.bias, 2, ACCESS_READ);
    gemm_mma_bind(&l, &g.a, 1, ACCESS_READ);
    gemm_mma_bind(&l, &g.b, 1, ACCESS_READ);
    return mma->calls->launch(q, &l);
}
