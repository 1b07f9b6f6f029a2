/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - y = f(x) and dx = dy f'(x): check and enqueue. */
#include <sesqui/ops/elementwise.h>

#include "kernels/elementwise/unary_kinds.h"
#include "lib/op/elementwise/elementwise.h"

#include <float.h>

/** The parameters of a kind, as the caller gave them; 0 if it has none. */
struct params {
    double alpha, beta;
};

/* Check the dtypes of x and y. A test (for example isnan) writes u8. Only abs
 * and neg accept integers. */
static ssq_status check_unary_dtypes(const ssq_tensor *x, const ssq_tensor *y,
                                     uint32_t kind, const char *name)
{
    if (unary_is_test(kind)) {
        ssq_status st = check_dtype(x, DTYPES_FLOAT, name, "x");
        return st == SSQ_OK ? check_dtype(y, DTYPE_BIT(SSQ_U8), name, "y") : st;
    }
    const struct broadcast_input in = {x, "x", NULL};
    return check_mix(&in, 1, y, unary_is_signed(kind), name);
}

/* Check softplus's sharpness. It must be a positive, normal float32, because
 * the result is divided by it. */
static ssq_status unary_check_params(uint32_t kind, struct params params,
                                     const char *name)
{
    if (kind == UNARY_softplus &&
        !(params.beta >= (double)FLT_MIN && params.beta <= (double)FLT_MAX))
        return error_set(SSQ_ERR_INVALID,
                         "%s: beta is %g, expected > 0, a normal float32", name,
                         params.beta);
    return SSQ_OK;
}

/* Check and enqueue y = f(x). Without FPENV_KEEP the compiler could round
 * params before the modes are set. */
static ssq_status op_unary(ssq_queue *queue, const ssq_tensor *x,
                           const ssq_tensor *y, uint32_t kind,
                           struct params params, const char *name)
{
    ssq_status st = unary_check_params(kind, params, name);
    if (st == SSQ_OK)
        st = check_operand(queue, x, name, "x");
    if (st == SSQ_OK)
        st = check_output(queue, y, name, "y");
    if (st == SSQ_OK)
        st = check_unary_dtypes(x, y, kind, name);
    if (st == SSQ_OK)
        st = check_same_shape(x, "x", y, "y", name);
    if (st == SSQ_OK)
        st = check_alias(y, "y", x, "x", true, name);
    if (st != SSQ_OK || view_elements(&y->view) == 0)
        return st;
    struct unary_op op = {.op = OP_HEADER(unary, x), .kind = kind};
    struct fpenv env = fpenv_enter();
    FPENV_KEEP(params);
    op.alpha = (float)params.alpha;
    op.beta = (float)params.beta;
    fpenv_leave(env);
    op.x = tensor_view(x, ACCESS_READ);
    op.y = tensor_view(y, ACCESS_WRITE);
    struct view *v[] = {&op.x, &op.y};
    views_collapse(v, 2);
    return queue_enqueue(queue, &op.op);
}

/* Check and enqueue dx = dy f'(x). dx may be x or dy: an element of dx needs
 * only the elements at the same place. */
static ssq_status op_unary_backward(ssq_queue *queue, const ssq_tensor *x,
                                    const ssq_tensor *dy, const ssq_tensor *dx,
                                    uint32_t kind, struct params params,
                                    const char *name)
{
    ssq_status st = unary_check_params(kind, params, name);
    if (st == SSQ_OK)
        st = check_operand(queue, x, name, "x");
    if (st == SSQ_OK)
        st = check_operand(queue, dy, name, "dy");
    if (st == SSQ_OK)
        st = check_output(queue, dx, name, "dx");
    if (st == SSQ_OK)
        st = check_dtype(x, DTYPES_FLOAT, name, "x");
    if (st == SSQ_OK)
        st = check_dtype(dy, DTYPES_FLOAT, name, "dy");
    if (st == SSQ_OK)
        st = check_dtype(dx, DTYPES_FLOAT, name, "dx");
    if (st == SSQ_OK)
        st = check_same_shape(x, "x", dy, "dy", name);
    if (st == SSQ_OK)
        st = check_same_shape(x, "x", dx, "dx", name);
    if (st == SSQ_OK)
        st = check_alias(dx, "dx", x, "x", true, name);
    if (st == SSQ_OK)
        st = check_alias(dx, "dx", dy, "dy", true, name);
    if (st != SSQ_OK || view_elements(&dx->view) == 0)
        return st;
    struct unary_backward_op op = {.op = OP_HEADER(unary_backward, x),
                                   .kind = kind};
    struct fpenv env = fpenv_enter();
    FPENV_KEEP(params);
    op.alpha = (float)params.alpha;
    op.beta = (float)params.beta;
    fpenv_leave(env);
    op.x = tensor_view(x, ACCESS_READ);
    op.dy = tensor_view(dy, ACCESS_READ);
    op.dx = tensor_view(dx, ACCESS_WRITE);
    struct view *v[] = {&op.x, &op.dy, &op.dx};
    views_collapse(v, 3);
    return queue_enqueue(queue, &op.op);
}

/* For each word WITH of a kind: its args struct (OF is empty or _backward), and
 * its fields as parameters. Kinds without parameters share one struct. Bounds
 * become alpha and beta. */
#define STRUCT_none(NAME, OF)   ssq_unary##OF##_args
#define STRUCT_alpha(NAME, OF)  ssq_##NAME##OF##_args
#define STRUCT_beta(NAME, OF)   ssq_##NAME##OF##_args
#define STRUCT_bounds(NAME, OF) ssq_##NAME##OF##_args
#define PARAMS_none(A)          0.0, 0.0
#define PARAMS_alpha(A)         (A)->alpha, 0.0
#define PARAMS_beta(A)          0.0, (A)->beta
#define PARAMS_bounds(A)        (A)->min, (A)->max

/* Define the public functions of a line of UNARY_KINDS: y alone, or y and dx.
 * Kinds of signed integers differ only in check_unary_dtypes(). */
#define FORWARD(N, NAME, WITH, ...)                                            \
    ssq_status ssq_##NAME(ssq_queue *queue,                                    \
                          const STRUCT_##WITH(NAME, ) * args)                  \
    {                                                                          \
        ssq_status st = CHECK_CALL(queue, args, #NAME);                        \
        if (st != SSQ_OK)                                                      \
            return st;                                                         \
        struct params p = {PARAMS_##WITH(args)};                               \
        return op_unary(queue, args->x, args->y, N, p, #NAME);                 \
    }
#define BACKWARD(N, NAME, WITH)                                                \
    ssq_status ssq_##NAME##_backward(                                          \
        ssq_queue *queue, const STRUCT_##WITH(NAME, _backward) * args)         \
    {                                                                          \
        ssq_status st = CHECK_CALL(queue, args, #NAME "_backward");            \
        if (st != SSQ_OK)                                                      \
            return st;                                                         \
        struct params p = {PARAMS_##WITH(args)};                               \
        return op_unary_backward(queue, args->x, args->dy, args->dx, N, p,     \
                                 #NAME "_backward");                           \
    }
#define BOTH(N, NAME, WITH, CLASS, ...)                                        \
    FORWARD(N, NAME, WITH, CLASS)                                              \
    BACKWARD(N, NAME, WITH)

UNARY_KINDS(BOTH, BOTH, FORWARD, FORWARD)
