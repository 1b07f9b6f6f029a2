/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - y = f(a, b) with broadcasting, axpby and scale: check and
 * enqueue. */
#include <sesqui/ops/elementwise.h>

#include "kernels/elementwise/elementwise.h"
#include "lib/op/elementwise/elementwise.h"

/* Check presence, aliases and shapes of inputs a and b. Sets the views that in
 * points to, broadcast to y's shape. y may be a or b only if that input is not
 * broadcast: a repeated element would be overwritten before its last use.
 * check_alias() does not treat a broadcast input as the same place. */
static ssq_status binary_check_pair(ssq_queue *queue,
                                    const struct broadcast_input *in,
                                    const ssq_tensor *y, const char *name)
{
    ssq_status st = SSQ_OK;
    for (int k = 0; k < 2 && st == SSQ_OK; k++)
        st = check_operand(queue, in[k].tensor, name, in[k].what);
    if (st == SSQ_OK)
        st = check_output(queue, y, name, "y");
    for (int k = 0; k < 2 && st == SSQ_OK; k++)
        st = check_alias(y, "y", in[k].tensor, in[k].what, true, name);
    return st == SSQ_OK ? broadcast_inputs(in, 2, y, "y", name) : st;
}

/* Check and enqueue a binary op. All members of op except the views are set.
 * Quotients, powers and axpby are not defined for integers. */
static ssq_status op_binary(ssq_queue *queue, const ssq_tensor *a,
                            const ssq_tensor *b, const ssq_tensor *y,
                            struct binary_op *op, const char *name)
{
    const struct broadcast_input in[] = {{a, "a", &op->a}, {b, "b", &op->b}};
    ssq_status st = binary_check_pair(queue, in, y, name);
    bool integers = op->kind != BINARY_DIV && op->kind != BINARY_POW &&
                    op->kind != BINARY_AXPBY;
    if (st == SSQ_OK)
        st = check_mix(in, 2, y, integers, name);
    if (st != SSQ_OK || view_elements(&y->view) == 0)
        return st;
    op->y = tensor_view(y, ACCESS_WRITE);
    /* Collapse all views together: a dimension may be merged only if every
     * operand traverses it evenly. One that is repeated by a stride of 0 does
     * not. */
    struct view *v[] = {&op->a, &op->b, &op->y};
    views_collapse(v, 3);
    return queue_enqueue(queue, &op->op);
}

/* Check and enqueue a kind without parameters. */
static ssq_status binary_plain(ssq_queue *queue, const ssq_binary_args *args,
                               uint32_t kind, const char *name)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    struct binary_op op = {.op = OP_HEADER(binary, a), .kind = kind};
    return op_binary(queue, args->a, args->b, args->y, &op, name);
}

/* Define the public functions of the kinds without parameters. */
#define BINARY(NAME, KIND)                                                     \
    ssq_status ssq_##NAME(ssq_queue *queue, const ssq_binary_args *args)       \
    {                                                                          \
        return binary_plain(queue, args, KIND, #NAME);                         \
    }

BINARY(add, BINARY_ADD)
BINARY(sub, BINARY_SUB)
BINARY(mul, BINARY_MUL)
BINARY(div, BINARY_DIV)
BINARY(maximum, BINARY_MAXIMUM)
BINARY(minimum, BINARY_MINIMUM)
BINARY(pow, BINARY_POW)

ssq_status ssq_axpby(ssq_queue *queue, const ssq_axpby_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "axpby");
    if (st != SSQ_OK)
        return st;
    struct binary_op op = {.op = OP_HEADER(binary, a), .kind = BINARY_AXPBY};
    /* Round the parameters in the library's floating-point modes, not in the
     * caller's. */
    struct fpenv env = fpenv_enter();
    op.alpha = (float)args->alpha;
    op.beta = (float)args->beta;
    fpenv_leave(env);
    return op_binary(queue, args->a, args->b, args->y, &op, "axpby");
}

/* Check and enqueue y = compare(a, b). The inputs may have any dtypes that mix;
 * y is u8. */
static ssq_status op_binary_compare(ssq_queue *queue,
                                    const ssq_compare_args *args, uint32_t kind,
                                    const char *name)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    struct compare_op op = {.op = OP_HEADER(compare, a), .kind = kind};
    const struct broadcast_input in[] = {{args->a, "a", &op.a},
                                         {args->b, "b", &op.b}};
    st = binary_check_pair(queue, in, args->y, name);
    if (st == SSQ_OK)
        st = check_mix(in, 2, NULL, true, name);
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPE_BIT(SSQ_U8), name, "y");
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    op.y = tensor_view(args->y, ACCESS_WRITE);
    struct view *v[] = {&op.a, &op.b, &op.y};
    views_collapse(v, 3);
    return queue_enqueue(queue, &op.op);
}

/* Define the public comparisons. */
#define COMPARE(NAME, KIND)                                                    \
    ssq_status ssq_##NAME(ssq_queue *queue, const ssq_compare_args *args)      \
    {                                                                          \
        return op_binary_compare(queue, args, KIND, #NAME);                    \
    }

COMPARE(eq, COMPARE_EQ)
COMPARE(ne, COMPARE_NE)
COMPARE(lt, COMPARE_LT)
COMPARE(le, COMPARE_LE)
COMPARE(gt, COMPARE_GT)
COMPARE(ge, COMPARE_GE)

/* The operands are checked from the last of `in` to the first: if several are
 * missing, the error names cond. Only a and b must mix with y. */
ssq_status ssq_where(ssq_queue *queue, const ssq_where_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "where");
    if (st != SSQ_OK)
        return st;
    struct where_op op = {.op = OP_HEADER(where, cond)};
    const struct broadcast_input in[] = {{args->a, "a", &op.a},
                                         {args->b, "b", &op.b},
                                         {args->cond, "cond", &op.cond}};
    for (int k = 2; k >= 0 && st == SSQ_OK; k--)
        st = check_operand(queue, in[k].tensor, "where", in[k].what);
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "where", "y");
    if (st == SSQ_OK)
        st = check_dtype(args->cond, DTYPE_BIT(SSQ_U8), "where", "cond");
    if (st == SSQ_OK)
        st = check_mix(in, 2, args->y, true, "where");
    for (int k = 0; k < 3 && st == SSQ_OK; k++)
        st = check_alias(args->y, "y", in[k].tensor, in[k].what, true, "where");
    if (st == SSQ_OK)
        st = broadcast_inputs(in, 3, args->y, "y", "where");
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    op.y = tensor_view(args->y, ACCESS_WRITE);
    struct view *v[] = {&op.cond, &op.a, &op.b, &op.y};
    views_collapse(v, 4);
    return queue_enqueue(queue, &op.op);
}

/* Check the factor on the device: one float32. y must not overlap it, because
 * other elements must still be multiplied by it. */
static ssq_status binary_check_scale(const ssq_queue *queue,
                                     const ssq_scale_args *args)
{
    ssq_status st = check_optional(queue, args->scale, "scale", "scale");
    if (st == SSQ_OK)
        st = check_dtype(args->scale, DTYPE_BIT(SSQ_F32), "scale", "scale");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->scale, "scale", false, "scale");
    if (st == SSQ_OK && args->scale != NULL &&
        view_elements(&args->scale->view) != 1)
        return error_set(SSQ_ERR_INVALID,
                         "scale: scale has %lld elements, expected 1",
                         (long long)view_elements(&args->scale->view));
    return st;
}

/* scale is not collapsed with x and y, because it has one element for any shape
 * of theirs. */
ssq_status ssq_scale(ssq_queue *queue, const ssq_scale_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "scale");
    if (st == SSQ_OK)
        st = check_operand(queue, args->x, "scale", "x");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "scale", "y");
    if (st == SSQ_OK)
        st = check_dtype(args->x, DTYPES_FLOAT, "scale", "x");
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPES_FLOAT, "scale", "y");
    if (st == SSQ_OK)
        st = binary_check_scale(queue, args);
    if (st == SSQ_OK)
        st = check_same_shape(args->x, "x", args->y, "y", "scale");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->x, "x", true, "scale");
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    struct scale_op op = {.op = OP_HEADER(scale, x)};
    struct fpenv env = fpenv_enter();
    op.alpha = (float)args->alpha;
    fpenv_leave(env);
    op.x = tensor_view(args->x, ACCESS_READ);
    op.y = tensor_view(args->y, ACCESS_WRITE);
    op.scale = tensor_view(args->scale, ACCESS_READ);
    struct view *v[] = {&op.x, &op.y};
    views_collapse(v, 2);
    return queue_enqueue(queue, &op.op);
}
