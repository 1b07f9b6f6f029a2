/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - enqueue checks and unscales of lists of gradients. tensor_view()
 * returns an absent view for NULL, so optional operands need no special case.
 */
#include "lib/amp/common/check.h"

#include "lib/core/core.h"

struct check_op check_op_of(struct view_list *list, float factor,
                            const ssq_tensor *record, const ssq_tensor *block,
                            const ssq_tensor *control, const ssq_tensor *stats)
{
    struct check_op op = {.op = OP_HEADER(check, record),
                          .factor = factor,
                          .record = tensor_view(record, ACCESS_UPDATE),
                          .block = tensor_view(block, ACCESS_READ),
                          .control = tensor_view(control, ACCESS_READ),
                          .stats = tensor_view(stats, ACCESS_UPDATE)};
    op.op.list = list;
    return op;
}

ssq_status enqueue_check(ssq_queue *queue, struct view_list *list, float factor,
                         const ssq_tensor *record, const ssq_tensor *block,
                         const ssq_tensor *control, const ssq_tensor *stats)
{
    struct check_op op =
        check_op_of(list, factor, record, block, control, stats);
    return queue_enqueue(queue, &op.op);
}

/* The list has all gradients, then all outs: n is half of its length. */
ssq_status enqueue_unscale(ssq_queue *queue, struct view_list *list,
                           float factor, const ssq_tensor *block)
{
    struct unscale_op op = {.op = OP_HEADER(unscale, block),
                            .n = (uint32_t)(list->n / 2),
                            .factor = factor,
                            .block = tensor_view(block, ACCESS_READ)};
    op.op.list = list;
    return queue_enqueue(queue, &op.op);
}

/* If this fails, nothing is kept. Work that was enqueued holds the memory that
 * it writes. */
ssq_status record_create(ssq_queue *queue, ssq_tensor **record)
{
    const int64_t words = RECORD_WORDS;
    ssq_tensor *t;
    ssq_status st =
        tensor_create(ssq_queue_device(queue), SSQ_I32, 1, &words, &t);
    if (st != SSQ_OK)
        return st;
    /* Checks add to the record's counts, so it begins as zeros. */
    struct fill_op op = {.op = OP_HEADER(fill, y),
                         .y = tensor_view(t, ACCESS_WRITE)};
    st = queue_enqueue(queue, &op.op);
    if (st == SSQ_OK)
        *record = t;
    else
        object_put(&t->object);
    return st;
}
