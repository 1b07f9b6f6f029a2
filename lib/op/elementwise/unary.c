/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - y = f(x) and dx = dy f'(x): check and enqueue. */
#include <sesqui/ops/elementwise.h>

#include "kernels/elementwise/elementwise.h"
#include "lib/op/elementwise/elementwise.h"

struct params {
    double alpha, beta;
};

/* The dtypes that x and y of a kind may have. */
static ssq_status check_unary_dtypes(const ssq_tensor *x, const ssq_tensor *y,
                                     uint32_t kind, const char *name)
{
    if (kind >= UNARY_ISNAN) {
        ssq_status st = check_dtype(x, DTYPES_FLOAT, name, "x");
        return st == SSQ_OK ? check_dtype(y, DTYPE_BIT(SSQ_U8), name, "y") : st;
    }
    const struct broadcast_input in = {x, "x", NULL};
    bool integers = kind == UNARY_ABS || kind == UNARY_NEG;
    return check_mix(&in, 1, y, integers, name);
}

/* Softplus is a scaled softplus only for a sharpness above zero. */
static ssq_status check_params(uint32_t kind, struct params params,
                               const char *name)
{
    if (kind == UNARY_SOFTPLUS && !(params.beta > 0.0))
        return error_set(SSQ_ERR_INVALID, "%s: beta is %g, expected > 0", name,
                         params.beta);
    return SSQ_OK;
}

static ssq_status unary(ssq_queue *queue, const ssq_tensor *x,
                        const ssq_tensor *y, uint32_t kind,
                        struct params params, const char *name)
{
    ssq_status st = check_params(kind, params, name);
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

static ssq_status unary_backward(ssq_queue *queue, const ssq_tensor *x,
                                 const ssq_tensor *dy, const ssq_tensor *dx,
                                 uint32_t kind, struct params params,
                                 const char *name)
{
    ssq_status st = check_params(kind, params, name);
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

/* The last argument initialises the parameters. */
#define FORWARD_OF(NAME, ARGS, KIND, ...)                                      \
    ssq_status ssq_##NAME(ssq_queue *queue, const ARGS *args)                  \
    {                                                                          \
        ssq_status st = CHECK_CALL(queue, args, #NAME);                        \
        if (st != SSQ_OK)                                                      \
            return st;                                                         \
        struct params p = {__VA_ARGS__};                                       \
        return unary(queue, args->x, args->y, KIND, p, #NAME);                 \
    }
#define BACKWARD_OF(NAME, ARGS, KIND, ...)                                     \
    ssq_status ssq_##NAME##_backward(ssq_queue *queue, const ARGS *args)       \
    {                                                                          \
        ssq_status st = CHECK_CALL(queue, args, #NAME "_backward");            \
        if (st != SSQ_OK)                                                      \
            return st;                                                         \
        struct params p = {__VA_ARGS__};                                       \
        return unary_backward(queue, args->x, args->dy, args->dx, KIND, p,     \
                              #NAME "_backward");                              \
    }
#define FORWARD(NAME, KIND) FORWARD_OF(NAME, ssq_unary_args, KIND, 0.0, 0.0)
#define BOTH(NAME, KIND)                                                       \
    FORWARD(NAME, KIND)                                                        \
    BACKWARD_OF(NAME, ssq_unary_backward_args, KIND, 0.0, 0.0)
/* With structs of their own, that have the parameter FIELD. */
#define BOTH_WITH(NAME, KIND, FIELD)                                           \
    FORWARD_OF(NAME, ssq_##NAME##_args, KIND, .FIELD = args->FIELD)            \
    BACKWARD_OF(NAME, ssq_##NAME##_backward_args, KIND, .FIELD = args->FIELD)

BOTH(relu, UNARY_RELU)
BOTH_WITH(leaky_relu, UNARY_LEAKY_RELU, alpha)
BOTH_WITH(elu, UNARY_ELU, alpha)
BOTH(gelu, UNARY_GELU)
BOTH(gelu_tanh, UNARY_GELU_TANH)
BOTH(silu, UNARY_SILU)
BOTH(sigmoid, UNARY_SIGMOID)
BOTH(tanh, UNARY_TANH)
BOTH_WITH(softplus, UNARY_SOFTPLUS, beta)
BOTH(exp, UNARY_EXP)
BOTH(log, UNARY_LOG)
BOTH(sqrt, UNARY_SQRT)
BOTH(rsqrt, UNARY_RSQRT)
BOTH(reciprocal, UNARY_RECIPROCAL)
BOTH(abs, UNARY_ABS)
BOTH(neg, UNARY_NEG)
BOTH(erf, UNARY_ERF)
BOTH(sin, UNARY_SIN)
BOTH(cos, UNARY_COS)
BOTH(log1p, UNARY_LOG1P)
BOTH(expm1, UNARY_EXPM1)
BOTH(square, UNARY_SQUARE)
FORWARD(sign, UNARY_SIGN)
FORWARD(floor, UNARY_FLOOR)
FORWARD(ceil, UNARY_CEIL)
FORWARD(round, UNARY_ROUND)
FORWARD(isnan, UNARY_ISNAN)
FORWARD(isinf, UNARY_ISINF)
FORWARD(isfinite, UNARY_ISFINITE)

ssq_status ssq_clamp(ssq_queue *queue, const ssq_clamp_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "clamp");
    if (st != SSQ_OK)
        return st;
    struct params p = {args->min, args->max};
    return unary(queue, args->x, args->y, UNARY_CLAMP, p, "clamp");
}

ssq_status ssq_clamp_backward(ssq_queue *queue,
                              const ssq_clamp_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "clamp_backward");
    if (st != SSQ_OK)
        return st;
    struct params p = {args->min, args->max};
    return unary_backward(queue, args->x, args->dy, args->dx, UNARY_CLAMP, p,
                          "clamp_backward");
}
