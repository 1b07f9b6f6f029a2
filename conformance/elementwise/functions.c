/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - the unary functions in exact arithmetic (long double libm),
 * written independently of kernels/. */
#include "conformance/elementwise/functions.h"

#include <math.h>

#define UNUSED (void)x, (void)alpha, (void)beta
#define VALUE(NAME, EXPRESSION)                                                \
    static long double v_##NAME(long double x, long double alpha,              \
                                long double beta)                              \
    {                                                                          \
        UNUSED;                                                                \
        return EXPRESSION;                                                     \
    }
/* dy times a derivative that float32 holds: beyond its range the derivative is
 * infinite, or 0, before dy comes. */
#define SLOPE(NAME, EXPRESSION)                                                \
    static long double g_##NAME(long double x, long double dy,                 \
                                long double alpha, long double beta)           \
    {                                                                          \
        UNUSED;                                                                \
        return dy * float32(EXPRESSION);                                       \
    }
#define GRADIENT(NAME, EXPRESSION)                                             \
    static long double g_##NAME(long double x, long double dy,                 \
                                long double alpha, long double beta)           \
    {                                                                          \
        UNUSED;                                                                \
        return EXPRESSION;                                                     \
    }

static long double float32(long double slope)
{
    if (fabsl(slope) >= 0x1.FFFFFFp127L)
        return copysignl((long double)INFINITY, slope);
    return fabsl(slope) <= 0x1p-150L ? copysignl(0, slope) : slope;
}

static long double sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double density(long double x)
{
    return expl(-x * x / 2) * 0.398942280401432677939946059934L;
}

/* sqrt(8 / pi) (x + 0.044715 x^3), and its derivative */
static long double cubic(long double x)
{
    return 1.59576912160573071175978423973L * (x + 0.044715L * x * x * x);
}

static long double cubic_slope(long double x)
{
    return 1.59576912160573071175978423973L * (1 + 0.134145L * x * x);
}

static long double gelu(long double x)
{
    if (isinf(x))
        return x > 0 ? x : -0.0L;
    return x * erfcl(-x * 0.707106781186547524400844362105L) / 2;
}

static long double gelu_slope(long double x)
{
    if (fabsl(x) > 1000)
        return x > 0 ? 1.0L : 0.0L;
    return erfcl(-x * 0.707106781186547524400844362105L) / 2 + x * density(x);
}

static long double gelu_tanh(long double x)
{
    if (fabsl(x) > 1000)
        return x > 0 ? x : -0.0L;
    return x * sigmoid(cubic(x));
}

static long double gelu_tanh_slope(long double x)
{
    if (fabsl(x) > 1000)
        return x > 0 ? 1.0L : 0.0L;
    long double v = cubic(x);
    return sigmoid(v) * (1 + x * sigmoid(-v) * cubic_slope(x));
}

static long double silu(long double x)
{
    return isinf(x) && x < 0 ? -0.0L : x * sigmoid(x);
}

static long double silu_slope(long double x)
{
    if (fabsl(x) > 10000)
        return x > 0 ? 1.0L : -0.0L;
    return sigmoid(x) * (1 + x * sigmoid(-x));
}

static long double softplus(long double x)
{
    return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}

static long double sign(long double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static long double clamp(long double x, long double low, long double high)
{
    return x < low ? low : x > high ? high : x;
}

VALUE(relu, x > 0 || isnan(x) ? x : 0)
VALUE(leaky_relu, x > 0 ? x : alpha * x)
VALUE(elu, x >= 0 ? x : alpha * expm1l(x))
VALUE(gelu, gelu(x))
VALUE(gelu_tanh, gelu_tanh(x))
VALUE(silu, silu(x))
VALUE(sigmoid, sigmoid(x))
VALUE(tanh, tanhl(x))
VALUE(softplus, isnan(x) ? x : softplus(beta *x) / beta)
VALUE(softsign, isinf(x) ? copysignl(1, x) : x / (1 + fabsl(x)))
VALUE(clamp, clamp(x, alpha, beta))
VALUE(exp, expl(x))
VALUE(log, logl(x))
VALUE(sqrt, sqrtl(x))
VALUE(rsqrt, 1 / sqrtl(x))
VALUE(reciprocal, 1 / x)
VALUE(abs, fabsl(x))
VALUE(neg, -x)
VALUE(erf, erfl(x))
VALUE(sin, sinl(x))
VALUE(cos, cosl(x))
VALUE(log1p, log1pl(x))
VALUE(expm1, expm1l(x))
VALUE(square, x *x)
VALUE(sign, sign(x))
VALUE(floor, floorl(x))
VALUE(ceil, ceill(x))
VALUE(round, nearbyintl(x))
VALUE(isnan, isnan(x) ? 1 : 0)
VALUE(isinf, isinf(x) ? 1 : 0)
VALUE(isfinite, isfinite(x) ? 1 : 0)

GRADIENT(relu, x > 0 || isnan(x) ? dy : 0)
GRADIENT(leaky_relu, x > 0 ? dy : dy * alpha)
SLOPE(elu, x > 0 ? 1 : alpha * expl(x))
SLOPE(gelu, gelu_slope(x))
SLOPE(gelu_tanh, gelu_tanh_slope(x))
SLOPE(silu, silu_slope(x))
SLOPE(sigmoid, sigmoid(x) * sigmoid(-x))
SLOPE(tanh, 4 * sigmoid(2 * x) * sigmoid(-2 * x))
SLOPE(softplus, sigmoid(beta *x))
GRADIENT(softsign, dy / (1 + fabsl(x)) / (1 + fabsl(x)))
GRADIENT(clamp, x >= alpha && x <= beta ? dy : 0)
SLOPE(exp, expl(x))
GRADIENT(log, dy / x)
GRADIENT(sqrt, dy / (2 * sqrtl(x)))
GRADIENT(rsqrt, -dy / sqrtl(x) / fabsl(2 * x))
GRADIENT(reciprocal, -dy / x / x)
SLOPE(abs, x > 0 ? 1 : x < 0 ? -1 : 0)
GRADIENT(neg, -dy)
SLOPE(erf, 1.12837916709551257389615890312L * expl(-x * x))
SLOPE(sin, cosl(x))
SLOPE(cos, -sinl(x))
GRADIENT(log1p, dy / (1 + x))
SLOPE(expm1, expl(x))
SLOPE(square, 2 * x)

#define CALL(NAME, ARGS, ...)                                                  \
    static ssq_status c_##NAME(ssq_queue *queue, const struct unary_call *u)   \
    {                                                                          \
        return ssq_##NAME(queue, ARGS(.x = u->x, .y = u->y, __VA_ARGS__));     \
    }
#define BACK(NAME, ARGS, ...)                                                  \
    static ssq_status b_##NAME(ssq_queue *queue,                               \
                               const struct unary_backward_call *u)            \
    {                                                                          \
        return ssq_##NAME##_backward(                                          \
            queue, ARGS(.x = u->x, .dy = u->dy, .dx = u->dx, __VA_ARGS__));    \
    }

CALL(relu, SSQ_RELU, )
CALL(gelu, SSQ_GELU, )
CALL(gelu_tanh, SSQ_GELU_TANH, )
CALL(silu, SSQ_SILU, )
CALL(sigmoid, SSQ_SIGMOID, )
CALL(tanh, SSQ_TANH, )
CALL(softsign, SSQ_SOFTSIGN, )
CALL(exp, SSQ_EXP, )
CALL(log, SSQ_LOG, )
CALL(sqrt, SSQ_SQRT, )
CALL(rsqrt, SSQ_RSQRT, )
CALL(reciprocal, SSQ_RECIPROCAL, )
CALL(abs, SSQ_ABS, )
CALL(neg, SSQ_NEG, )
CALL(erf, SSQ_ERF, )
CALL(sin, SSQ_SIN, )
CALL(cos, SSQ_COS, )
CALL(log1p, SSQ_LOG1P, )
CALL(expm1, SSQ_EXPM1, )
CALL(square, SSQ_SQUARE, )
CALL(sign, SSQ_SIGN, )
CALL(floor, SSQ_FLOOR, )
CALL(ceil, SSQ_CEIL, )
CALL(round, SSQ_ROUND, )
CALL(isnan, SSQ_ISNAN, )
CALL(isinf, SSQ_ISINF, )
CALL(isfinite, SSQ_ISFINITE, )
CALL(leaky_relu, SSQ_LEAKY_RELU, .alpha = u->alpha)
CALL(elu, SSQ_ELU, .alpha = u->alpha)
CALL(softplus, SSQ_SOFTPLUS, .beta = u->beta)
CALL(clamp, SSQ_CLAMP, .min = u->alpha, .max = u->beta)

BACK(relu, SSQ_RELU_BACKWARD, )
BACK(gelu, SSQ_GELU_BACKWARD, )
BACK(gelu_tanh, SSQ_GELU_TANH_BACKWARD, )
BACK(silu, SSQ_SILU_BACKWARD, )
BACK(sigmoid, SSQ_SIGMOID_BACKWARD, )
BACK(tanh, SSQ_TANH_BACKWARD, )
BACK(softsign, SSQ_SOFTSIGN_BACKWARD, )
BACK(exp, SSQ_EXP_BACKWARD, )
BACK(log, SSQ_LOG_BACKWARD, )
BACK(sqrt, SSQ_SQRT_BACKWARD, )
BACK(rsqrt, SSQ_RSQRT_BACKWARD, )
BACK(reciprocal, SSQ_RECIPROCAL_BACKWARD, )
BACK(abs, SSQ_ABS_BACKWARD, )
BACK(neg, SSQ_NEG_BACKWARD, )
BACK(erf, SSQ_ERF_BACKWARD, )
BACK(sin, SSQ_SIN_BACKWARD, )
BACK(cos, SSQ_COS_BACKWARD, )
BACK(log1p, SSQ_LOG1P_BACKWARD, )
BACK(expm1, SSQ_EXPM1_BACKWARD, )
BACK(square, SSQ_SQUARE_BACKWARD, )
BACK(leaky_relu, SSQ_LEAKY_RELU_BACKWARD, .alpha = u->alpha)
BACK(elu, SSQ_ELU_BACKWARD, .alpha = u->alpha)
BACK(softplus, SSQ_SOFTPLUS_BACKWARD, .beta = u->beta)
BACK(clamp, SSQ_CLAMP_BACKWARD, .min = u->alpha, .max = u->beta)

#define FORWARD(NAME) #NAME, c_##NAME, NULL, v_##NAME, NULL
#define BOTH(NAME)    #NAME, c_##NAME, b_##NAME, v_##NAME, g_##NAME

/* Roundings before the last one, from the accuracy that kernels/scalar/scalar.h
 * states (a function: 1 ulp <= 2 u; + - * / sqrt: u) and the formulas of the
 * contract. Subnormals: a function's result may be 2^-149 off there. tanh: 4
 * times that and a product; elu's and sigmoid's product adds 2^-150. */
const struct function functions[] = {
    {BOTH(relu), 0, 0, 0, 0, 1, 1, 0, BUT_AT_ZERO},
    {BOTH(leaky_relu), 0.5, 0, 0, 0, 0.0099945068359375, 1, 0, BUT_AT_ZERO},
    {BOTH(elu), 1.5, 3, 2, 0, 0.75, 1, 0, BUT_AT_ZERO},
    {BOTH(gelu), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(gelu_tanh), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(silu), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(sigmoid), 1, 5, 2, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(tanh), 1, 5, 5, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(softplus), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(softplus), 1, 2, 1, 0, 1, 4, 0, EVERYWHERE},
    {BOTH(softsign), 1.5, 3, 0, 1, 1, 1, 0, BUT_AT_ZERO},
    {BOTH(clamp), 0, 0, 0, 0, -0.75, 1.5, 0, BUT_AT_BOUNDS},
    {BOTH(exp), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(log), 1, 0, 0, 0, 1, 1, 0, ABOVE_ZERO},
    {BOTH(sqrt), 0.5, 1, 0, 0, 1, 1, 0, ABOVE_ZERO},
    {BOTH(rsqrt), 1, 3, 0, 1, 1, 1, 0, ABOVE_ZERO},
    {BOTH(reciprocal), 0.5, 1, 0, 1, 1, 1, 0, ABOVE_ZERO},
    {BOTH(abs), 0, 0, 0, 0, 1, 1, 0, BUT_AT_ZERO},
    {BOTH(neg), 0, 0, 0, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(erf), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(sin), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(cos), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(log1p), 1, 1, 0, 0, 1, 1, 0, ABOVE_ZERO},
    {BOTH(expm1), 1, 2, 1, 0, 1, 1, 0, EVERYWHERE},
    {BOTH(square), 0.5, 0, 0, 0, 1, 1, 0, EVERYWHERE},
    {FORWARD(sign), 0, 0, 0, 0, 1, 1, 0, EVERYWHERE},
    {FORWARD(floor), 0, 0, 0, 0, 1, 1, 0, EVERYWHERE},
    {FORWARD(ceil), 0, 0, 0, 0, 1, 1, 0, EVERYWHERE},
    {FORWARD(round), 0, 0, 0, 0, 1, 1, 0, EVERYWHERE},
    {FORWARD(isnan), 0, 0, 0, 0, 1, 1, 1, EVERYWHERE},
    {FORWARD(isinf), 0, 0, 0, 0, 1, 1, 1, EVERYWHERE},
    {FORWARD(isfinite), 0, 0, 0, 0, 1, 1, 1, EVERYWHERE},
};
_Static_assert(sizeof(functions) / sizeof(functions[0]) == FUNCTIONS,
               "a kind of UNARY_KINDS has no line here");

const struct function_exact functions_exact[] = {
    {"relu", 0x80000000, 0x00000000, 0},
    {"relu", 0xff800000, 0, 0},
    {"relu", 0x7f800000, 0x7f800000, 0},
    {"relu", 0xffc12345, 0x7fc00000, 0},
    {"relu", 0x7f812345, 0x7fc00000, 0},
    {"relu", 0x00000001, 0x00000001, 0},
    {"leaky_relu", 0xffc00001, 0x7fc00000, 0},
    {"elu", 0xff800000, 0xbf400000, 0},
    {"elu", 0x80000000, 0x80000000, 0},
    {"elu", 0x80000000, 0x80000000, -2.0},
    {"elu", 0x00000000, 0x00000000, -2.0},
    {"elu", 0x80000000, 0x80000000, (double)INFINITY},
    {"elu", 0x00000000, 0x00000000, (double)INFINITY},
    {"gelu", 0xff800000, 0x80000000, 0},
    {"gelu", 0x7f800000, 0x7f800000, 0},
    {"gelu_tanh", 0xff800000, 0x80000000, 0},
    {"silu", 0xff800000, 0x80000000, 0},
    {"sigmoid", 0xff800000, 0, 0},
    {"sigmoid", 0x7f800000, 0x3f800000, 0},
    {"tanh", 0x80000000, 0x80000000, 0},
    {"tanh", 0xff800000, 0xbf800000, 0},
    {"softplus", 0xff800000, 0, 0},
    {"softplus", 0x7f800000, 0x7f800000, 0},
    {"softsign", 0xff800000, 0xbf800000, 0},
    {"softsign", 0x80000000, 0x80000000, 0},
    {"softsign", 0xffc12345, 0x7fc00000, 0},
    {"clamp", 0xff800000, 0xbf400000, 0},
    {"clamp", 0x7f800000, 0x3fc00000, 0},
    {"clamp", 0xffc00000, 0x7fc00000, 0},
    {"clamp", 0x80000000, 0x80000000, 0},
    {"exp", 0xff800000, 0, 0},
    {"exp", 0x80000000, 0x3f800000, 0},
    {"log", 0x80000000, 0xff800000, 0},
    {"log", 0x00000000, 0xff800000, 0},
    {"log", 0xbf800000, 0x7fc00000, 0},
    {"log", 0x3f800000, 0x00000000, 0},
    {"sqrt", 0x80000000, 0x80000000, 0},
    {"sqrt", 0x80000001, 0x7fc00000, 0},
    {"sqrt", 0x40800000, 0x40000000, 0},
    {"rsqrt", 0x00000000, 0x7f800000, 0},
    {"rsqrt", 0x80000000, 0xff800000, 0},
    {"rsqrt", 0x7f800000, 0x00000000, 0},
    {"rsqrt", 0xbf800000, 0x7fc00000, 0},
    {"reciprocal", 0x80000000, 0xff800000, 0},
    {"reciprocal", 0xff800000, 0x80000000, 0},
    {"abs", 0x80000000, 0x00000000, 0},
    {"abs", 0xffc12345, 0x7fc12345, 0},
    {"neg", 0x7fc12345, 0xffc12345, 0},
    {"neg", 0x00000000, 0x80000000, 0},
    {"erf", 0x80000000, 0x80000000, 0},
    {"erf", 0x7f800000, 0x3f800000, 0},
    {"sin", 0x80000000, 0x80000000, 0},
    {"sin", 0x7f800000, 0x7fc00000, 0},
    {"cos", 0xff800000, 0x7fc00000, 0},
    {"log1p", 0x80000000, 0x80000000, 0},
    {"log1p", 0xbf800000, 0xff800000, 0},
    {"expm1", 0x80000000, 0x80000000, 0},
    {"expm1", 0xff800000, 0xbf800000, 0},
    {"square", 0x80000000, 0x00000000, 0},
    {"square", 0x7f000000, 0x7f800000, 0},
    {"sign", 0x80000000, 0x80000000, 0},
    {"sign", 0xffc00000, 0x7fc00000, 0},
    {"sign", 0x80000001, 0xbf800000, 0},
    {"floor", 0x80000001, 0xbf800000, 0},
    {"floor", 0x3f7fffff, 0x00000000, 0},
    {"floor", 0x80000000, 0x80000000, 0},
    {"ceil", 0xbf7fffff, 0x80000000, 0},
    {"ceil", 0x00000001, 0x3f800000, 0},
    {"round", 0x3f000000, 0x00000000, 0},
    {"round", 0xbf000000, 0x80000000, 0},
    {"round", 0x3fc00000, 0x40000000, 0},
    {"round", 0x40200000, 0x40000000, 0},
    {"round", 0x4affffff, 0x4b000000, 0},
    {"isnan", 0x7f800001, 1, 0},
    {"isnan", 0x7f800000, 0, 0},
    {"isinf", 0xff800000, 1, 0},
    {"isfinite", 0x7f7fffff, 1, 0},
    {NULL, 0, 0, 0},
};

int function_is_smooth(const struct function *f, double x, double distance)
{
    switch (f->smooth) {
    case ABOVE_ZERO:
        return x > distance;
    case BUT_AT_ZERO:
        return fabs(x) > distance;
    case BUT_AT_BOUNDS:
        return fabs(x - f->alpha) > distance && fabs(x - f->beta) > distance;
    default:
        return 1;
    }
}
