/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - ops on one element of each operand: class B.
 *
 *     ssq_gelu(queue, SSQ_GELU(.x = x, .y = y));
 *     ...                                       // loss, gradient dy of y
 *     ssq_gelu_backward(queue, SSQ_GELU_BACKWARD(.x = x, .dy = dy, .dx = dx));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Rules for all ops of this header and of binary.h:
 *
 *  - Operands may have different float dtypes. Each element is computed in
 *    float32 and rounded once, to the result's dtype.
 *  - If a call names integers, its operands may instead be i32 and u8, also
 *    mixed. Their arithmetic is modulo 2^32. A u8 result requires u8 inputs,
 *    and is modulo 2^8.
 *  - Functions are at most 1 ulp off in float32. softsign is 1.5 ulp off, and
 *    elu is 2.3 ulp off if |alpha| is below 2^-20, or 2^20 or more. softplus
 *    rounds beta x and log(1 + exp(beta x)) before it divides: with a beta
 *    other than 1 it can be 3 + |beta x| ulp off, and more for beta x below
 *    -87. Gated units (binary.h) and ssq_axpby also round intermediate values.
 *  - The gradient of a function is dy times the slope, which is rounded to
 *    float32 first, so it can be several ulp off, and more if the slope is
 *    subnormal or 0 and dy is large (doc/design/numbers.md, section 7).
 *    Exceptions: log, log1p, sqrt, rsqrt, reciprocal and softsign divide dy,
 *    and round no slope.
 *  - Definitions, derivatives and special values are as in PyTorch; the
 *    exceptions are stated.
 *  - NaN gives NaN, always the quiet NaN with sign 0. Exceptions: abs and neg,
 *    but not their gradients, pass the bits of the argument (a signalling NaN
 *    of 16 bits becomes quiet); where copies or casts (binary.h); pow follows
 *    C99; tests and comparisons give 0 or 1. At a NaN operand the slope is 0
 *    for abs and clamp, 1 for relu, maximum and minimum, -1 for neg, and alpha
 *    for leaky_relu.
 *  - Some gradients are 0 for any dy, also for NaN and Inf: of relu and clamp
 *    where the slope is 0, of the lesser operand of maximum and the greater
 *    one of minimum, and of pow for a at b = 0.
 *  - alpha, beta, min and max are rounded to float32 first.
 *  - An output may be exactly one of the inputs if their elements have the same
 *    size. For example, an f16 y may not be an f32 x. The gradients of ops that
 *    broadcast (binary.h) may not be an input, because they can be sums; those
 *    of gated units may.
 *
 * A call returns SSQ_ERR_INVALID if shapes or dtypes are not as below, or if an
 * output overlaps an input without being exactly it.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_ELEMENTWISE_H
#define SESQUI_OPS_ELEMENTWISE_H

#include <sesqui/args.h>
#include <sesqui/ops/binary.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Arguments of the ops of one operand without parameters. */
typedef struct ssq_unary_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_unary_args));
    const ssq_tensor *x; /**< in */
    const ssq_tensor *y; /**< out, the shape of x; may be x if the elements have
                              the same size */
} ssq_unary_args;
#define SSQ_UNARY_DEFAULTS sizeof(ssq_unary_args), NULL, NULL
#define SSQ_UNARY_INIT                                                         \
    {                                                                          \
        SSQ_UNARY_DEFAULTS                                                     \
    }
#define SSQ_UNARY(...) SSQ_ARGS(ssq_unary_args, SSQ_UNARY_DEFAULTS, __VA_ARGS__)

typedef struct ssq_unary_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_unary_backward_args));
    const ssq_tensor *x;  /**< in: the forward op's x; its result only if the op
                               says so. Must be set, also if the gradient does
                               not depend on it */
    const ssq_tensor *dy; /**< in, the shape of x: gradient of the result */
    const ssq_tensor *dx; /**< out, the shape of x; may be x or dy if the
                               elements have the same size */
} ssq_unary_backward_args;
#define SSQ_UNARY_BACKWARD_DEFAULTS                                            \
    sizeof(ssq_unary_backward_args), NULL, NULL, NULL
#define SSQ_UNARY_BACKWARD_INIT                                                \
    {                                                                          \
        SSQ_UNARY_BACKWARD_DEFAULTS                                            \
    }
#define SSQ_UNARY_BACKWARD(...)                                                \
    SSQ_ARGS(ssq_unary_backward_args, SSQ_UNARY_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Rectify: y = x for x > 0, NaN for NaN, otherwise +0. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_relu(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Compute the gradient of relu: dx = dy for x > 0 and NaN, otherwise 0 for any
 *  dy. x may be the result of relu, which is above 0 or NaN for the same
 *  elements. If ssq_gemm has a fused relu, pass that result. Exception: if a
 *  small positive value was rounded to 0 in a 16-bit result, dx is 0 there.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_relu_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

typedef struct ssq_leaky_relu_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_leaky_relu_args));
    const ssq_tensor *x;            /**< in */
    const ssq_tensor *y;            /**< out, as in ssq_unary_args */
    double alpha SSQ_DEFAULT(0.01); /**< the slope below 0 */
} ssq_leaky_relu_args;
#define SSQ_LEAKY_RELU_DEFAULTS sizeof(ssq_leaky_relu_args), NULL, NULL, 0.01
#define SSQ_LEAKY_RELU_INIT                                                    \
    {                                                                          \
        SSQ_LEAKY_RELU_DEFAULTS                                                \
    }
#define SSQ_LEAKY_RELU(...)                                                    \
    SSQ_ARGS(ssq_leaky_relu_args, SSQ_LEAKY_RELU_DEFAULTS, __VA_ARGS__)

/** Rectify with a slope: y = x for x > 0, otherwise alpha x. Floats. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_leaky_relu(ssq_queue *queue, const ssq_leaky_relu_args *args);

typedef struct ssq_leaky_relu_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_leaky_relu_backward_args));
    const ssq_tensor *x;            /**< in */
    const ssq_tensor *dy;           /**< in */
    const ssq_tensor *dx;           /**< out, as in ssq_unary_backward_args */
    double alpha SSQ_DEFAULT(0.01); /**< as in the forward op */
} ssq_leaky_relu_backward_args;
#define SSQ_LEAKY_RELU_BACKWARD_DEFAULTS                                       \
    sizeof(ssq_leaky_relu_backward_args), NULL, NULL, NULL, 0.01
#define SSQ_LEAKY_RELU_BACKWARD_INIT                                           \
    {                                                                          \
        SSQ_LEAKY_RELU_BACKWARD_DEFAULTS                                       \
    }
#define SSQ_LEAKY_RELU_BACKWARD(...)                                           \
    SSQ_ARGS(ssq_leaky_relu_backward_args, SSQ_LEAKY_RELU_BACKWARD_DEFAULTS,   \
             __VA_ARGS__)

/** Compute the gradient of leaky_relu: dx = dy for x > 0, otherwise alpha dy.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_leaky_relu_backward(
    ssq_queue *queue, const ssq_leaky_relu_backward_args *args);

typedef struct ssq_elu_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_elu_args));
    const ssq_tensor *x;           /**< in */
    const ssq_tensor *y;           /**< out, as in ssq_unary_args */
    double alpha SSQ_DEFAULT(1.0); /**< minus the limit at -Inf */
} ssq_elu_args;
#define SSQ_ELU_DEFAULTS sizeof(ssq_elu_args), NULL, NULL, 1.0
#define SSQ_ELU_INIT                                                           \
    {                                                                          \
        SSQ_ELU_DEFAULTS                                                       \
    }
#define SSQ_ELU(...) SSQ_ARGS(ssq_elu_args, SSQ_ELU_DEFAULTS, __VA_ARGS__)

/** Apply the exponential linear unit: y = x for x >= 0, also for -0, otherwise
 *  alpha (exp(x) - 1) (Clevert, Unterthiner, Hochreiter, 2016). Floats. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_elu(ssq_queue *queue,
                                          const ssq_elu_args *args);

typedef struct ssq_elu_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_elu_backward_args));
    const ssq_tensor *x;           /**< in */
    const ssq_tensor *dy;          /**< in */
    const ssq_tensor *dx;          /**< out, as in ssq_unary_backward_args */
    double alpha SSQ_DEFAULT(1.0); /**< as in the forward op */
} ssq_elu_backward_args;
#define SSQ_ELU_BACKWARD_DEFAULTS                                              \
    sizeof(ssq_elu_backward_args), NULL, NULL, NULL, 1.0
#define SSQ_ELU_BACKWARD_INIT                                                  \
    {                                                                          \
        SSQ_ELU_BACKWARD_DEFAULTS                                              \
    }
#define SSQ_ELU_BACKWARD(...)                                                  \
    SSQ_ARGS(ssq_elu_backward_args, SSQ_ELU_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Compute the gradient of elu: dx = dy for x > 0, otherwise dy alpha e^x.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_elu_backward(ssq_queue *queue, const ssq_elu_backward_args *args);

/** Apply the Gaussian error linear unit: y = x (1 + erf(x / sqrt(2))) / 2
 *  (Hendrycks, Gimpel, 2016). It is accurate in its negative tail, and -0 at
 *  -Inf. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gelu(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Compute the gradient of gelu: dx = dy times the derivative, which is +0 if
 *  it underflows. At -Inf and +Inf the derivative is its limit, +0 and 1.
 *  (PyTorch multiplies Inf by 0 and returns NaN.) Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gelu_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Apply GELU in its tanh form: y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715
 *  x^3))) / 2. It is -0 at -Inf. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gelu_tanh(ssq_queue *queue,
                                                const ssq_unary_args *args);

/** Compute the gradient of gelu_tanh: dx = dy times the derivative, at
 *  infinities as in ssq_gelu_backward. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gelu_tanh_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Apply the sigmoid linear unit, also known as swish: y = x / (1 + exp(-x)).
 *  It is -0 at -Inf. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_silu(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Compute the gradient of silu: dx = dy times the derivative, which is -0 if
 *  it underflows. At -Inf and +Inf the derivative is its limit, -0 and 1.
 *  (PyTorch multiplies Inf by 0 and returns NaN.) Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_silu_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the sigmoid: y = 1 / (1 + exp(-x)). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sigmoid(ssq_queue *queue,
                                              const ssq_unary_args *args);

/** Compute the gradient of sigmoid: dx = dy (s(x) s(-x)), with s = sigmoid.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sigmoid_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the hyperbolic tangent: y = tanh(x). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tanh(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Compute the gradient of tanh: dx = dy / cosh(x)^2. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_tanh_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute softsign: y = x / (1 + |x|). At -Inf and +Inf it is its limit, -1
 *  and 1. (PyTorch divides Inf by Inf and returns NaN.) Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_softsign(ssq_queue *queue,
                                               const ssq_unary_args *args);

/** Compute the gradient of softsign: dx = dy / (1 + |x|)^2. At -Inf and +Inf it
 *  is 0 for a finite dy (PyTorch: NaN). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softsign_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

typedef struct ssq_softplus_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_softplus_args));
    const ssq_tensor *x;          /**< in */
    const ssq_tensor *y;          /**< out, as in ssq_unary_args */
    double beta SSQ_DEFAULT(1.0); /**< the sharpness: > 0, a normal
                                       float32 */
} ssq_softplus_args;
#define SSQ_SOFTPLUS_DEFAULTS sizeof(ssq_softplus_args), NULL, NULL, 1.0
#define SSQ_SOFTPLUS_INIT                                                      \
    {                                                                          \
        SSQ_SOFTPLUS_DEFAULTS                                                  \
    }
#define SSQ_SOFTPLUS(...)                                                      \
    SSQ_ARGS(ssq_softplus_args, SSQ_SOFTPLUS_DEFAULTS, __VA_ARGS__)

/** Compute softplus: y = log(1 + exp(beta x)) / beta. If beta x > 20, y is x.
 *  Floats.
 *  @return SSQ_ERR_INVALID  also if beta is NaN, below 2^-126 or above the
 *                           largest float32
 *  @note beta is used as float32. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_softplus(ssq_queue *queue,
                                               const ssq_softplus_args *args);

typedef struct ssq_softplus_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_softplus_backward_args));
    const ssq_tensor *x;          /**< in */
    const ssq_tensor *dy;         /**< in */
    const ssq_tensor *dx;         /**< out, as in ssq_unary_backward_args */
    double beta SSQ_DEFAULT(1.0); /**< as in the forward op */
} ssq_softplus_backward_args;
#define SSQ_SOFTPLUS_BACKWARD_DEFAULTS                                         \
    sizeof(ssq_softplus_backward_args), NULL, NULL, NULL, 1.0
#define SSQ_SOFTPLUS_BACKWARD_INIT                                             \
    {                                                                          \
        SSQ_SOFTPLUS_BACKWARD_DEFAULTS                                         \
    }
#define SSQ_SOFTPLUS_BACKWARD(...)                                             \
    SSQ_ARGS(ssq_softplus_backward_args, SSQ_SOFTPLUS_BACKWARD_DEFAULTS,       \
             __VA_ARGS__)

/** Compute the gradient of softplus: dx = dy sigmoid(beta x). Floats.
 *  @return SSQ_ERR_INVALID  also if beta is NaN, below 2^-126 or above the
 *                           largest float32
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softplus_backward(ssq_queue *queue, const ssq_softplus_backward_args *args);

/** Compute the exponential: y = e^x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_exp(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of exp: dx = dy e^x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_exp_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the natural logarithm: y = log(x). It is -Inf at both zeros and NaN
 *  below. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_log(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of log: dx = dy / x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_log_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the square root, correctly rounded. It is -0 at -0 and NaN below.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sqrt(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Compute the gradient of sqrt: dx = dy / (2 sqrt(x)). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sqrt_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the reciprocal square root: y = 1 / sqrt(x). It is +Inf for +0, -Inf
 *  for -0, and NaN for x < 0. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_rsqrt(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Compute the gradient of rsqrt: dx = -dy y^3 / 2. At -0, where y is -Inf, it
 *  is therefore +Inf for dy > 0. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rsqrt_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the reciprocal: y = 1 / x, correctly rounded. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_reciprocal(ssq_queue *queue,
                                                 const ssq_unary_args *args);

/** Compute the gradient of reciprocal: dx = -dy / x^2. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_reciprocal_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the absolute value: y = |x|. It clears the sign, also of NaN. Floats
 *  or integers. For i32, |-2^31| is -2^31. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_abs(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of abs: dx = dy for x > 0, -dy for x < 0, and dy times
 *  +0 at both zeros and if x is NaN. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_abs_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Negate: y = -x. It flips the sign, also of NaN. Floats or integers, modulo
 *  2^32 or 2^8. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_neg(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of neg: dx = -dy. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_neg_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the error function: y = 2 / sqrt(pi) times the integral of exp(-t^2)
 *  from 0 to x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_erf(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of erf: dx = dy 2 / sqrt(pi) exp(-x^2). Floats. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_erf_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the sine of x in radians. x is reduced exactly for any size. It is
 *  NaN at +-Inf. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sin(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of sin: dx = dy cos(x). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sin_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the cosine, as ssq_sin. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cos(ssq_queue *queue,
                                          const ssq_unary_args *args);

/** Compute the gradient of cos: dx = -dy sin(x). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cos_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute y = log(1 + x), accurate near 0. It is -Inf at -1 and NaN below.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_log1p(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Compute the gradient of log1p: dx = dy / (1 + x). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_log1p_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute y = e^x - 1, accurate near 0. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_expm1(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Compute the gradient of expm1: dx = dy e^x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_expm1_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Square: y = x x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_square(ssq_queue *queue,
                                             const ssq_unary_args *args);

/** Compute the gradient of square: dx = dy (2 x). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_square_backward(ssq_queue *queue, const ssq_unary_backward_args *args);

/** Compute the sign: y = -1 or 1. Zeros keep their sign, and NaN stays NaN
 *  (torch: 0). Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sign(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Round down: y = the largest integer <= x. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_floor(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Round up: y = the least integer >= x. It is -0 between -1 and 0. Floats.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_ceil(ssq_queue *queue,
                                           const ssq_unary_args *args);

/** Round to the nearest integer, ties to even. The sign of zero is kept.
 *  Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_round(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Test for NaN: y, u8, is 1 or 0. x is float. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_isnan(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Test for infinity: y, u8, is 1 or 0. x is float. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_isinf(ssq_queue *queue,
                                            const ssq_unary_args *args);

/** Test for finite numbers: y, u8, is 0 for NaN and infinities, otherwise 1. x
 *  is float. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_isfinite(ssq_queue *queue,
                                               const ssq_unary_args *args);

typedef struct ssq_clamp_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_clamp_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, float, the shape of x; may be x if the
                              elements have the same size */
    double min SSQ_DEFAULT(-1e300), max
        SSQ_DEFAULT(1e300); /**< a min below float32's range, or a max above
                                 it, bounds nothing. If min is above the range,
                                 y is max. If max is below it, y is -Inf. NaN
                                 stays NaN */
} ssq_clamp_args;
#define SSQ_CLAMP_DEFAULTS sizeof(ssq_clamp_args), NULL, NULL, -1e300, 1e300
#define SSQ_CLAMP_INIT                                                         \
    {                                                                          \
        SSQ_CLAMP_DEFAULTS                                                     \
    }
#define SSQ_CLAMP(...) SSQ_ARGS(ssq_clamp_args, SSQ_CLAMP_DEFAULTS, __VA_ARGS__)

/** Clamp: y = minimum(maximum(x, min), max), as ssq_maximum. A NaN bound gives
 *  NaN. If min > max, every x but NaN gives max. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_clamp(ssq_queue *queue,
                                            const ssq_clamp_args *args);

typedef struct ssq_clamp_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_clamp_backward_args));
    const ssq_tensor *x;  /**< in, float: the forward op's x, not its result */
    const ssq_tensor *dy; /**< in, float, the shape of x */
    const ssq_tensor *dx; /**< out, float, the shape of x; may be x or dy if the
                               elements have the same size */
    double min SSQ_DEFAULT(-1e300), max
        SSQ_DEFAULT(1e300); /**< as in the forward op */
} ssq_clamp_backward_args;
#define SSQ_CLAMP_BACKWARD_DEFAULTS                                            \
    sizeof(ssq_clamp_backward_args), NULL, NULL, NULL, -1e300, 1e300
#define SSQ_CLAMP_BACKWARD_INIT                                                \
    {                                                                          \
        SSQ_CLAMP_BACKWARD_DEFAULTS                                            \
    }
#define SSQ_CLAMP_BACKWARD(...)                                                \
    SSQ_ARGS(ssq_clamp_backward_args, SSQ_CLAMP_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Compute the gradient of clamp: dx = dy if min <= x <= max, otherwise 0, also
 *  for a NaN x.
 *
 *  At x = min and x = max dx is dy, as in TensorFlow and in PyTorch up to 2.14:
 *  a value that starts at its bound can leave it. PyTorch from 2.15 on, its
 *  relu6 and its hardtanh return 0 there, as ssq_relu does. For that slope in
 *  relu6 use ssq_where: with cond = (x >= 6), a = 6 and b = relu(x). Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_clamp_backward(ssq_queue *queue, const ssq_clamp_backward_args *args);

typedef struct ssq_scale_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_scale_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, float, the shape of x; may be x if the
                              elements have the same size */
    double alpha SSQ_DEFAULT(1.0);
    const ssq_tensor *scale; /**< in, optional: one f32 on the device; NULL: 1;
                                  must not overlap y */
} ssq_scale_args;
#define SSQ_SCALE_DEFAULTS sizeof(ssq_scale_args), NULL, NULL, 1.0, NULL
#define SSQ_SCALE_INIT                                                         \
    {                                                                          \
        SSQ_SCALE_DEFAULTS                                                     \
    }
#define SSQ_SCALE(...) SSQ_ARGS(ssq_scale_args, SSQ_SCALE_DEFAULTS, __VA_ARGS__)

/** Scale: y = x (alpha scale). The factor is the float32 product of alpha and
 *  scale. The op reads scale when it runs, so a graph that is launched again
 *  uses its new value. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scale(ssq_queue *queue,
                                            const ssq_scale_args *args);

/* Ops that share a struct have macros with their names, too. */
#define SSQ_RELU                     SSQ_UNARY
#define SSQ_RELU_INIT                SSQ_UNARY_INIT
#define SSQ_RELU_BACKWARD            SSQ_UNARY_BACKWARD
#define SSQ_RELU_BACKWARD_INIT       SSQ_UNARY_BACKWARD_INIT
#define SSQ_GELU                     SSQ_UNARY
#define SSQ_GELU_INIT                SSQ_UNARY_INIT
#define SSQ_GELU_BACKWARD            SSQ_UNARY_BACKWARD
#define SSQ_GELU_BACKWARD_INIT       SSQ_UNARY_BACKWARD_INIT
#define SSQ_GELU_TANH                SSQ_UNARY
#define SSQ_GELU_TANH_INIT           SSQ_UNARY_INIT
#define SSQ_GELU_TANH_BACKWARD       SSQ_UNARY_BACKWARD
#define SSQ_GELU_TANH_BACKWARD_INIT  SSQ_UNARY_BACKWARD_INIT
#define SSQ_SILU                     SSQ_UNARY
#define SSQ_SILU_INIT                SSQ_UNARY_INIT
#define SSQ_SILU_BACKWARD            SSQ_UNARY_BACKWARD
#define SSQ_SILU_BACKWARD_INIT       SSQ_UNARY_BACKWARD_INIT
#define SSQ_SIGMOID                  SSQ_UNARY
#define SSQ_SIGMOID_INIT             SSQ_UNARY_INIT
#define SSQ_SIGMOID_BACKWARD         SSQ_UNARY_BACKWARD
#define SSQ_SIGMOID_BACKWARD_INIT    SSQ_UNARY_BACKWARD_INIT
#define SSQ_TANH                     SSQ_UNARY
#define SSQ_TANH_INIT                SSQ_UNARY_INIT
#define SSQ_TANH_BACKWARD            SSQ_UNARY_BACKWARD
#define SSQ_TANH_BACKWARD_INIT       SSQ_UNARY_BACKWARD_INIT
#define SSQ_SOFTSIGN                 SSQ_UNARY
#define SSQ_SOFTSIGN_INIT            SSQ_UNARY_INIT
#define SSQ_SOFTSIGN_BACKWARD        SSQ_UNARY_BACKWARD
#define SSQ_SOFTSIGN_BACKWARD_INIT   SSQ_UNARY_BACKWARD_INIT
#define SSQ_EXP                      SSQ_UNARY
#define SSQ_EXP_INIT                 SSQ_UNARY_INIT
#define SSQ_EXP_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_EXP_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_LOG                      SSQ_UNARY
#define SSQ_LOG_INIT                 SSQ_UNARY_INIT
#define SSQ_LOG_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_LOG_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_SQRT                     SSQ_UNARY
#define SSQ_SQRT_INIT                SSQ_UNARY_INIT
#define SSQ_SQRT_BACKWARD            SSQ_UNARY_BACKWARD
#define SSQ_SQRT_BACKWARD_INIT       SSQ_UNARY_BACKWARD_INIT
#define SSQ_RSQRT                    SSQ_UNARY
#define SSQ_RSQRT_INIT               SSQ_UNARY_INIT
#define SSQ_RSQRT_BACKWARD           SSQ_UNARY_BACKWARD
#define SSQ_RSQRT_BACKWARD_INIT      SSQ_UNARY_BACKWARD_INIT
#define SSQ_RECIPROCAL               SSQ_UNARY
#define SSQ_RECIPROCAL_INIT          SSQ_UNARY_INIT
#define SSQ_RECIPROCAL_BACKWARD      SSQ_UNARY_BACKWARD
#define SSQ_RECIPROCAL_BACKWARD_INIT SSQ_UNARY_BACKWARD_INIT
#define SSQ_ABS                      SSQ_UNARY
#define SSQ_ABS_INIT                 SSQ_UNARY_INIT
#define SSQ_ABS_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_ABS_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_NEG                      SSQ_UNARY
#define SSQ_NEG_INIT                 SSQ_UNARY_INIT
#define SSQ_NEG_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_NEG_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_ERF                      SSQ_UNARY
#define SSQ_ERF_INIT                 SSQ_UNARY_INIT
#define SSQ_ERF_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_ERF_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_SIN                      SSQ_UNARY
#define SSQ_SIN_INIT                 SSQ_UNARY_INIT
#define SSQ_SIN_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_SIN_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_COS                      SSQ_UNARY
#define SSQ_COS_INIT                 SSQ_UNARY_INIT
#define SSQ_COS_BACKWARD             SSQ_UNARY_BACKWARD
#define SSQ_COS_BACKWARD_INIT        SSQ_UNARY_BACKWARD_INIT
#define SSQ_LOG1P                    SSQ_UNARY
#define SSQ_LOG1P_INIT               SSQ_UNARY_INIT
#define SSQ_LOG1P_BACKWARD           SSQ_UNARY_BACKWARD
#define SSQ_LOG1P_BACKWARD_INIT      SSQ_UNARY_BACKWARD_INIT
#define SSQ_EXPM1                    SSQ_UNARY
#define SSQ_EXPM1_INIT               SSQ_UNARY_INIT
#define SSQ_EXPM1_BACKWARD           SSQ_UNARY_BACKWARD
#define SSQ_EXPM1_BACKWARD_INIT      SSQ_UNARY_BACKWARD_INIT
#define SSQ_SQUARE                   SSQ_UNARY
#define SSQ_SQUARE_INIT              SSQ_UNARY_INIT
#define SSQ_SQUARE_BACKWARD          SSQ_UNARY_BACKWARD
#define SSQ_SQUARE_BACKWARD_INIT     SSQ_UNARY_BACKWARD_INIT
#define SSQ_SIGN                     SSQ_UNARY
#define SSQ_SIGN_INIT                SSQ_UNARY_INIT
#define SSQ_FLOOR                    SSQ_UNARY
#define SSQ_FLOOR_INIT               SSQ_UNARY_INIT
#define SSQ_CEIL                     SSQ_UNARY
#define SSQ_CEIL_INIT                SSQ_UNARY_INIT
#define SSQ_ROUND                    SSQ_UNARY
#define SSQ_ROUND_INIT               SSQ_UNARY_INIT
#define SSQ_ISNAN                    SSQ_UNARY
#define SSQ_ISNAN_INIT               SSQ_UNARY_INIT
#define SSQ_ISINF                    SSQ_UNARY
#define SSQ_ISINF_INIT               SSQ_UNARY_INIT
#define SSQ_ISFINITE                 SSQ_UNARY
#define SSQ_ISFINITE_INIT            SSQ_UNARY_INIT

#ifdef __cplusplus
}
#endif

#endif
