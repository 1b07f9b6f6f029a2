/* SPDX-License-Identifier: Apache-2.0 */
/* index_check.c - are indices in range? check and enqueue. */
#include <sesqui/ops/data.h>

#include "lib/core/core.h"
#include "lib/op/operands.h"

static const char name[] = "index_check";

static ssq_status check_record(const struct view *v)
{
    char text[128];
    if (v->rank == 1 && v->shape[0] == INDEX_WORDS && v->stride[0] == 1)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: record is %s, expected a contiguous [%d]", name,
                     view_text(v, text, sizeof(text)), INDEX_WORDS);
}

static ssq_status index_check_index(const ssq_queue *queue,
                                    const ssq_index_check_args *a)
{
    const unsigned i32 = DTYPE_BIT(SSQ_I32);
    const struct operand_rule rules[] = {
        {a->index, "index", i32, 0, 0},
        {a->record, "record", i32, OPERAND_OUT, 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = check_record(&a->record->view);
    if (st != SSQ_OK)
        return st;
    if (a->n < 0 || a->n > INT32_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: n is %lld, expected 0 to 2147483647", name,
                         (long long)a->n);
    int64_t elements = view_elements(&a->index->view);
    if (elements > INT32_MAX)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: index has %lld elements, at most 2147483647",
                         name, (long long)elements);
    return SSQ_OK;
}

ssq_status ssq_index_check(ssq_queue *queue, const ssq_index_check_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = index_check_index(queue, args);
    if (st != SSQ_OK || view_elements(&args->index->view) == 0)
        return st;
    struct index_check_op op = {.op = OP_HEADER(index_check, index),
                                .n = args->n,
                                .ignore_index = args->ignore_index,
                                .index = tensor_view(args->index, ACCESS_READ),
                                .record =
                                    tensor_view(args->record, ACCESS_UPDATE)};
    struct view *views[] = {&op.index};
    views_collapse(views, 1);
    return queue_enqueue(queue, &op.op);
}
