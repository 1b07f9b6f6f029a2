/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random numbers, dropout, and initial values of parameters.
 *
 *     ssq_init(queue, SSQ_INIT(.x = w, .seed = 42, .id = 1,
 *                              .kind = SSQ_INIT_KAIMING_NORMAL));
 *     ssq_dropout(queue, SSQ_DROPOUT(.x = x, .y = y, .seed = 42, .id = 2,
 *                                    .step = step, .p = 0.1));
 *     ...
 *     ssq_dropout_backward(queue, SSQ_DROPOUT_BACKWARD(.dy = dy, .dx = dx,
 *                              .seed = 42, .id = 2, .step = step, .p = 0.1));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Element i of a tensor, in row-major order, uses word offset + i (modulo 2^64)
 * of the stream (seed, step, id). Strides, and how a device splits the work,
 * make no difference. A tensor that is filled in pieces, each with the offset
 * of its first element, has the same bits as one that is filled in one call.
 *
 * id distinguishes the tensors of one seed and step. For example, two layers
 * with the same id drop the same elements. step is read when the op runs, so a
 * graph that is launched again can draw other numbers. step must not overlap an
 * output.
 *
 * Every call here checks step: SSQ_ERR_INVALID if it is not an i32 tensor of
 * one element. An argument out of its range, for example p = 1.5, is also
 * SSQ_ERR_INVALID. All ops are of class B (ops.h).
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_RANDOM_H
#define SESQUI_OPS_RANDOM_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_random_uniform_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_random_uniform_args));
    const ssq_tensor *x; /**< out, float */
    uint64_t seed;
    uint32_t id;            /**< which stream of this seed and step */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< of the first element, in words */
    double low SSQ_DEFAULT(0.0), high
        SSQ_DEFAULT(
            1.0); /**< low <= high; low, high and high - low are finite in
                       float32 */
} ssq_random_uniform_args;
#define SSQ_RANDOM_UNIFORM_DEFAULTS                                            \
    sizeof(ssq_random_uniform_args), NULL, 0, 0, NULL, 0, 0.0, 1.0
#define SSQ_RANDOM_UNIFORM_INIT                                                \
    {                                                                          \
        SSQ_RANDOM_UNIFORM_DEFAULTS                                            \
    }
#define SSQ_RANDOM_UNIFORM(...)                                                \
    SSQ_ARGS(ssq_random_uniform_args, SSQ_RANDOM_UNIFORM_DEFAULTS, __VA_ARGS__)

/** Fill x with uniform random numbers: x = low + (high - low) * u in float32. u
 *  is one of the 2^24 multiples of 2^-24 in [0, 1). Rounding can give high
 *  itself, above all rounding to 16 bits. If low or high is not a number of x's
 *  dtype, a result can be the nearest number outside of [low, high]. For
 *  example, with high = 1.005 a bf16 x can be 1.0078125.
 *  @return SSQ_ERR_INVALID  low or high is not valid
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_uniform(ssq_queue *queue, const ssq_random_uniform_args *args);

typedef struct ssq_random_normal_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_random_normal_args));
    const ssq_tensor *x; /**< out, float */
    uint64_t seed;
    uint32_t id;            /**< which stream of this seed and step */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< of the first element, in words */
    double mean SSQ_DEFAULT(0.0), std SSQ_DEFAULT(1.0); /**< finite in float32,
                                                             std >= 0 */
} ssq_random_normal_args;
#define SSQ_RANDOM_NORMAL_DEFAULTS                                             \
    sizeof(ssq_random_normal_args), NULL, 0, 0, NULL, 0, 0.0, 1.0
#define SSQ_RANDOM_NORMAL_INIT                                                 \
    {                                                                          \
        SSQ_RANDOM_NORMAL_DEFAULTS                                             \
    }
#define SSQ_RANDOM_NORMAL(...)                                                 \
    SSQ_ARGS(ssq_random_normal_args, SSQ_RANDOM_NORMAL_DEFAULTS, __VA_ARGS__)

/** Fill x with normal random numbers: x = mean + std * z in float32. z is the
 *  normal quantile of (r + 1/2) / 2^32, and r is a random word: |z| < 6.4.
 *  @return SSQ_ERR_INVALID  mean or std is not valid
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_normal(ssq_queue *queue, const ssq_random_normal_args *args);

typedef ssq_random_normal_args ssq_random_truncated_normal_args;
#define SSQ_RANDOM_TRUNCATED_NORMAL_INIT SSQ_RANDOM_NORMAL_INIT
#define SSQ_RANDOM_TRUNCATED_NORMAL      SSQ_RANDOM_NORMAL

/** Fill x as ssq_random_normal does, with z conditioned on |z| <= 2. std is the
 *  deviation of the normal before the cut, as in PyTorch.
 *  @return SSQ_ERR_INVALID  mean or std is not valid
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_random_truncated_normal(
    ssq_queue *queue, const ssq_random_truncated_normal_args *args);

typedef struct ssq_random_bernoulli_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_random_bernoulli_args));
    const ssq_tensor *x; /**< out, any dtype */
    uint64_t seed;
    uint32_t id;               /**< which stream of this seed and step */
    const ssq_tensor *step;    /**< in, i32, one element; NULL: 0 */
    uint64_t offset;           /**< of the first element, in words */
    double p SSQ_DEFAULT(0.5); /**< in [0, 1]; rounded to a multiple of 2^-32 */
} ssq_random_bernoulli_args;
#define SSQ_RANDOM_BERNOULLI_DEFAULTS                                          \
    sizeof(ssq_random_bernoulli_args), NULL, 0, 0, NULL, 0, 0.5
#define SSQ_RANDOM_BERNOULLI_INIT                                              \
    {                                                                          \
        SSQ_RANDOM_BERNOULLI_DEFAULTS                                          \
    }
#define SSQ_RANDOM_BERNOULLI(...)                                              \
    SSQ_ARGS(ssq_random_bernoulli_args, SSQ_RANDOM_BERNOULLI_DEFAULTS,         \
             __VA_ARGS__)

/** Fill x with 1 with probability p, otherwise with 0. p = 0 and p = 1 are
 *  exact. Element i is 1 if its word is below p 2^32: where ssq_dropout with
 *  the same arguments drops.
 *  @return SSQ_ERR_INVALID  p is not in [0, 1]
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_bernoulli(ssq_queue *queue, const ssq_random_bernoulli_args *args);

typedef struct ssq_dropout_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_dropout_args));
    const ssq_tensor *x;    /**< in, float */
    const ssq_tensor *y;    /**< out, float, the shape of x; may be x */
    const ssq_tensor *mask; /**< out, optional, u8, the shape of x: 1 kept, 0
                                 dropped; must not overlap the others */
    uint64_t seed;
    uint32_t id;            /**< which stream of this seed and step */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< of the first element, in words */
    double p SSQ_DEFAULT(
        0.5); /**< probability of dropping, in [0, 1]; rounded to a multiple of
                   2^-32 */
} ssq_dropout_args;
#define SSQ_DROPOUT_DEFAULTS                                                   \
    sizeof(ssq_dropout_args), NULL, NULL, NULL, 0, 0, NULL, 0, 0.5
#define SSQ_DROPOUT_INIT                                                       \
    {                                                                          \
        SSQ_DROPOUT_DEFAULTS                                                   \
    }
#define SSQ_DROPOUT(...)                                                       \
    SSQ_ARGS(ssq_dropout_args, SSQ_DROPOUT_DEFAULTS, __VA_ARGS__)

/** Drop elements: y = x / (1 - p) with probability 1 - p, otherwise +0, also if
 *  x is NaN or Inf. The factor is 1 / (1 - p), rounded to float32. p = 0 keeps
 *  everything, and p = 1 drops everything. Do not call it for evaluation.
 *  @return SSQ_ERR_INVALID  p is not in [0, 1]; the shapes differ; y overlaps x
 *                           without being exactly x
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_dropout(ssq_queue *queue,
                                              const ssq_dropout_args *args);

typedef struct ssq_dropout_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_dropout_backward_args));
    const ssq_tensor *dy; /**< in, float */
    const ssq_tensor *dx; /**< out, float, the shape of dy; may be dy */
    uint64_t seed;        /**< as in the forward call, like the fields below */
    uint32_t id;
    const ssq_tensor *step; /**< the same step as in the forward call, with the
                                 same value */
    uint64_t offset;
    double p SSQ_DEFAULT(0.5); /**< as in the forward call */
} ssq_dropout_backward_args;
#define SSQ_DROPOUT_BACKWARD_DEFAULTS                                          \
    sizeof(ssq_dropout_backward_args), NULL, NULL, 0, 0, NULL, 0, 0.5
#define SSQ_DROPOUT_BACKWARD_INIT                                              \
    {                                                                          \
        SSQ_DROPOUT_BACKWARD_DEFAULTS                                          \
    }
#define SSQ_DROPOUT_BACKWARD(...)                                              \
    SSQ_ARGS(ssq_dropout_backward_args, SSQ_DROPOUT_BACKWARD_DEFAULTS,         \
             __VA_ARGS__)

/** Compute the gradient of dropout: dy / (1 - p) for the elements that the
 *  forward call kept, otherwise +0. It draws the same words again, so no mask
 *  is needed. If seed, id, step, offset or p differ, it drops other elements.
 *  @return SSQ_ERR_INVALID  as ssq_dropout
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_dropout_backward(ssq_queue *queue, const ssq_dropout_backward_args *args);

/** Kinds of initial values. In a weight of shape [out, in, kernel...], the
 *  layout of PyTorch's linear and convolution weights, fan_in = in * kernel
 *  elements and fan_out = out * kernel elements. The values never change. Since
 *  0.1. */
typedef enum ssq_init_kind {
    SSQ_INIT_LAYER = -1, /**< only in ssq_begin (nn.h): the layer chooses */
    SSQ_INIT_ZEROS = 0,
    SSQ_INIT_ONES = 1,
    SSQ_INIT_CONSTANT = 2,         /**< value */
    SSQ_INIT_UNIFORM = 3,          /**< in [-value, value] */
    SSQ_INIT_NORMAL = 4,           /**< deviation value */
    SSQ_INIT_TRUNCATED_NORMAL = 5, /**< deviation value, cut at 2 deviations */
    SSQ_INIT_XAVIER_UNIFORM = 6,   /**< +-gain sqrt(6 / (fan_in + fan_out));
                                        Glorot, Bengio, AISTATS 2010 */
    SSQ_INIT_XAVIER_NORMAL = 7,    /**< gain sqrt(2 / (fan_in + fan_out)) */
    SSQ_INIT_KAIMING_UNIFORM = 8,  /**< +-gain sqrt(3 / fan); He, Zhang, Ren,
                                        Sun, ICCV 2015 */
    SSQ_INIT_KAIMING_NORMAL = 9,   /**< gain / sqrt(fan) */
    SSQ_INIT_LECUN_UNIFORM = 10,   /**< +-sqrt(3 / fan_in) */
    SSQ_INIT_LECUN_NORMAL = 11     /**< a normal cut at 2 deviations, with the
                                        deviation 1 / sqrt(fan_in) after the
                                        cut, as in Keras */
} ssq_init_kind;

/** The fan that the Kaiming kinds use: the one whose variance they keep. */
typedef enum ssq_fan {
    SSQ_FAN_IN = 0, /**< forward */
    SSQ_FAN_OUT = 1 /**< backward */
} ssq_fan;

typedef struct ssq_init_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_init_args));
    const ssq_tensor *x; /**< out, float; the kinds with a fan: rank >= 2 */
    uint64_t seed;
    uint32_t id;            /**< which stream of this seed and step */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< of the first element, in words */
    ssq_init_kind kind;
    ssq_fan fan;  /**< Kaiming only */
    double value; /**< only the kinds that name it use it; finite, and >= 0
                       unless CONSTANT */
    double gain;  /**< Xavier and Kaiming; finite, >= 0; 0: the gain of the
                       nonlinearity */
    const char *nonlinearity; /**< "linear", "sigmoid" (1), "tanh" (5/3),
                                   "relu" (sqrt 2), "leaky_relu" (sqrt(2 / (1 +
                                   slope^2))), "selu" (3/4). NULL is PyTorch's
                                   default: linear for Xavier, leaky_relu for
                                   Kaiming */
    double slope;             /**< of leaky_relu; finite */
} ssq_init_args;
#define SSQ_INIT_DEFAULTS                                                      \
    sizeof(ssq_init_args), NULL, 0, 0, NULL, 0, SSQ_INIT_ZEROS, SSQ_FAN_IN,    \
        0.0, 0.0, NULL, 0.0
#define SSQ_INIT_INIT                                                          \
    {                                                                          \
        SSQ_INIT_DEFAULTS                                                      \
    }
#define SSQ_INIT(...) SSQ_ARGS(ssq_init_args, SSQ_INIT_DEFAULTS, __VA_ARGS__)

/** Write initial values to a parameter. The formulas are computed in double and
 *  rounded once, to the float32 arguments of the random ops above. value, gain
 *  and slope are checked for all kinds, and nonlinearity for those with a fan,
 *  also if the kind does not use them.
 *  @return
 *   - SSQ_ERR_NOT_FOUND  nonlinearity is not in the list, for example "gelu"
 *   - SSQ_ERR_INVALID    kind or fan is not valid; value, gain or slope is not
 *                        valid or its result does not fit in float32; the bound
 *                        of a uniform kind is above half of the largest
 *                        float32; the kind has a fan and x has rank < 2
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_init(ssq_queue *queue,
                                           const ssq_init_args *args);

#ifdef __cplusplus
}
#endif

#endif
