/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the argument checks that ops share, with their texts. */
#include "lib/core/core.h"

#include <stdio.h>
#include <string.h>

/* struct_size is the first member of every args struct. It is copied, because
 * this function does not know the type of the struct. */
ssq_status check_call(const ssq_queue *queue, const void *args, size_t want,
                      const char *op)
{
    ssq_status st = queue_check(queue, op);
    if (st != SSQ_OK)
        return st;
    if (args == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: args is NULL", op);
    size_t have;
    memcpy(&have, args, sizeof(have));
    if (have != want)
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", op, have,
                         want);
    return SSQ_OK;
}

ssq_status check_optional(const ssq_queue *queue, const ssq_tensor *tensor,
                          const char *op, const char *what)
{
    const ssq_device *d = ssq_queue_device(queue);
    if (tensor == NULL || tensor->view.buffer->device == d)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is on another device, %s, than the "
                     "queue, on %s",
                     op, what, tensor->view.buffer->device->props.name,
                     d->props.name);
}

ssq_status check_operand(const ssq_queue *queue, const ssq_tensor *tensor,
                         const char *op, const char *what)
{
    if (tensor == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", op, what);
    return check_optional(queue, tensor, op, what);
}

/* Refuse an output whose elements share memory: its values would depend on the
 * order of writes, which no backend guarantees. */
ssq_status check_output(const ssq_queue *queue, const ssq_tensor *tensor,
                        const char *op, const char *what)
{
    ssq_status st = check_operand(queue, tensor, op, what);
    if (st == SSQ_OK && view_self_overlap(&tensor->view))
        return error_set(SSQ_ERR_INVALID,
                         "%s: elements of output %s share memory", op, what);
    return st;
}

/* NULL passes, so that callers need not test optional operands first. */
ssq_status check_dtype(const ssq_tensor *tensor, unsigned dtypes,
                       const char *op, const char *what)
{
    if (tensor == NULL || (dtypes & DTYPE_BIT(tensor->view.dtype)) != 0)
        return SSQ_OK;
    char list[64] = "";
    size_t at = 0;
    for (int d = SSQ_F32; d <= SSQ_U8 && at < sizeof(list); d++)
        if ((dtypes & DTYPE_BIT(d)) != 0)
            at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
                                   at == 0 ? "" : ", ",
                                   ssq_dtype_name((ssq_dtype)d));
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected %s", op, what,
                     ssq_dtype_name(tensor->view.dtype), list);
}

ssq_status check_same_shape(const ssq_tensor *a, const char *a_what,
                            const ssq_tensor *b, const char *b_what,
                            const char *op)
{
    if (view_same_shape(&a->view, &b->view))
        return SSQ_OK;
    char ta[128], tb[128];
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, %s is %s", op, a_what,
                     view_text(&a->view, ta, sizeof(ta)), b_what,
                     view_text(&b->view, tb, sizeof(tb)));
}

/* NULL passes on either side. With in_place, out may be exactly in: each work
 * item then reads only elements that no other item writes. */
ssq_status check_alias(const ssq_tensor *out, const char *out_what,
                       const ssq_tensor *in, const char *in_what, bool in_place,
                       const char *op)
{
    if (out == NULL || in == NULL || !view_overlap(&out->view, &in->view))
        return SSQ_OK;
    if (in_place && view_same_place(&out->view, &in->view))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %s overlaps %s%s", op, out_what,
                     in_what, in_place ? " and is not exactly the same" : "");
}
