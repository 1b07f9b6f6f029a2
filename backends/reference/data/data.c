/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - reference: upload, download, fill, copy, cast. Only a cast
 * interprets elements; the other ops move or repeat their bits. */
#include "lib/core/module/data.h"

#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"

#include <string.h>

/* Copy bytes from host memory, or from the op itself if host is NULL. */
static ssq_status reference_upload_run(struct backend_queue *queue,
                                       const struct upload_op *op)
{
    (void)queue;
    memcpy(view_host(&op->dst), op->host == NULL ? op->inlined : op->host,
           op->bytes);
    return SSQ_OK;
}

/* Copy the bytes of src, which is contiguous, to host memory. */
static ssq_status reference_download_run(struct backend_queue *queue,
                                         const struct download_op *op)
{
    (void)queue;
    memcpy(op->host, view_host(&op->src), op->bytes);
    return SSQ_OK;
}

/* Store the same bits in every element. The call has already converted the
 * value to the dtype. */
static ssq_status reference_fill_run(struct backend_queue *queue,
                                     const struct fill_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->y};
    void *y = view_host(&op->y);
    walk_begin(&w, v, 1);
    do {
        store_bits(y, op->y.dtype, w.at[0], op->bits);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Copy x to y, which have the same dtype. Bits are moved, so NaNs do not
 * change. If both are contiguous, one memcpy is enough. */
static ssq_status reference_copy_run(struct backend_queue *queue,
                                     const struct copy_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->x, &op->y};
    const void *x = view_host(&op->x);
    void *y = view_host(&op->y);
    if (view_contiguous(&op->x) && view_contiguous(&op->y)) {
        memcpy(y, x, view_span(&op->y));
        return SSQ_OK;
    }
    walk_begin(&w, v, 2);
    do {
        uint32_t bits = load_bits(x, op->x.dtype, w.at[0]);
        store_bits(y, op->y.dtype, w.at[1], bits);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Convert x to the dtype of y. Stochastic rounding of an element draws the
 * random word with the element's number in the whole call; op.first elements
 * came before this op. The step is in device memory, so each launch of a graph
 * may draw other words. If it is absent it is 0. */
static ssq_status reference_cast_run(struct backend_queue *queue,
                                     const struct cast_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->x, &op->y};
    const void *x = view_host(&op->x), *step = view_host(&op->step);
    void *y = view_host(&op->y);
    uint32_t t = step == NULL ? 0 : load_bits(step, SSQ_I32, 0);
    uint64_t i = op->op.first;
    walk_begin(&w, v, 2);
    do {
        uint32_t random = 0;
        if (op->rounding == SSQ_ROUND_STOCHASTIC)
            random = random_u32(op->seed[0], op->seed[1], t, op->id,
                                (uint32_t)i, (uint32_t)(i >> 32));
        uint32_t bits = load_bits(x, op->x.dtype, w.at[0]);
        bits =
            convert_bits(bits, op->x.dtype, op->y.dtype, op->rounding, random);
        store_bits(y, op->y.dtype, w.at[1], bits);
        i++;
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(upload);
REFERENCE_IMPL(download);
REFERENCE_IMPL(fill);
REFERENCE_IMPL(copy);
REFERENCE_IMPL(cast);
