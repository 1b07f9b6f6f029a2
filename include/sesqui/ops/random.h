/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random numbers, dropout, and initial values of parameters.
 *
 * Element i in row-major order of a tensor gets the word offset + i of the
 * stream (seed, step, id), whatever its strides and however a device splits
 * the work: a tensor that is filled in pieces, each with the offset of its
 * first element, has the bits of one that is filled at once. id tells the
 * tensors of one seed and step apart. step is read when the op runs and may not
 * overlap an output. Words are counted modulo 2^64. All of class B. */
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
    uint32_t id;            /**< of the stream */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< words before the first element's */
    double low SSQ_DEFAULT(0.0), high
        SSQ_DEFAULT(
            1.0); /**< finite, low <= high, high - low finite in float32 */
} ssq_random_uniform_args;
#define SSQ_RANDOM_UNIFORM_DEFAULTS                                            \
    sizeof(ssq_random_uniform_args), NULL, 0, 0, NULL, 0, 0.0, 1.0
#define SSQ_RANDOM_UNIFORM_INIT                                                \
    {                                                                          \
        SSQ_RANDOM_UNIFORM_DEFAULTS                                            \
    }
#define SSQ_RANDOM_UNIFORM(...)                                                \
    SSQ_ARGS(ssq_random_uniform_args, SSQ_RANDOM_UNIFORM_DEFAULTS, __VA_ARGS__)

/** Uniform: x = low + (high - low) * u in float32, u one of the 2^24 multiples
 *  of 2^-24 in [0, 1). Rounding, above all to 16 bits, can give high itself.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_uniform(ssq_queue *queue, const ssq_random_uniform_args *args);

typedef struct ssq_random_normal_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_random_normal_args));
    const ssq_tensor *x; /**< out, float */
    uint64_t seed;
    uint32_t id;            /**< of the stream */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< words before the first element's */
    double mean SSQ_DEFAULT(0.0), std SSQ_DEFAULT(1.0); /**< finite, std >= 0 */
} ssq_random_normal_args;
#define SSQ_RANDOM_NORMAL_DEFAULTS                                             \
    sizeof(ssq_random_normal_args), NULL, 0, 0, NULL, 0, 0.0, 1.0
#define SSQ_RANDOM_NORMAL_INIT                                                 \
    {                                                                          \
        SSQ_RANDOM_NORMAL_DEFAULTS                                             \
    }
#define SSQ_RANDOM_NORMAL(...)                                                 \
    SSQ_ARGS(ssq_random_normal_args, SSQ_RANDOM_NORMAL_DEFAULTS, __VA_ARGS__)

/** Normal: x = mean + std * z in float32; z is the normal quantile of
 *  (r + 1/2) / 2^32, r a random word: |z| < 6.4. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_normal(ssq_queue *queue, const ssq_random_normal_args *args);

typedef ssq_random_normal_args ssq_random_truncated_normal_args;
#define SSQ_RANDOM_TRUNCATED_NORMAL_INIT SSQ_RANDOM_NORMAL_INIT
#define SSQ_RANDOM_TRUNCATED_NORMAL      SSQ_RANDOM_NORMAL

/** Truncated normal: as ssq_random_normal, z conditioned on |z| <= 2. std is
 *  that of the normal before the cut, as in PyTorch. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_random_truncated_normal(
    ssq_queue *queue, const ssq_random_truncated_normal_args *args);

typedef struct ssq_random_bernoulli_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_random_bernoulli_args));
    const ssq_tensor *x; /**< out, any dtype */
    uint64_t seed;
    uint32_t id;               /**< of the stream */
    const ssq_tensor *step;    /**< in, i32, one element; NULL: 0 */
    uint64_t offset;           /**< words before the first element's */
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

/** Bernoulli: x = 1 with probability p, else 0; exact for p = 0 and 1.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_bernoulli(ssq_queue *queue, const ssq_random_bernoulli_args *args);

typedef struct ssq_dropout_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_dropout_args));
    const ssq_tensor *x;    /**< in, float */
    const ssq_tensor *y;    /**< out, float, the shape of x; may be x */
    const ssq_tensor *mask; /**< out, u8, the shape of x: 1 kept, 0 dropped;
                                 optional; no overlap with the others */
    uint64_t seed;
    uint32_t id;            /**< of the stream */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< words before the first element's */
    double p SSQ_DEFAULT(
        0.5); /**< of dropping, in [0, 1]; rounded to a multiple of 2^-32 */
} ssq_dropout_args;
#define SSQ_DROPOUT_DEFAULTS                                                   \
    sizeof(ssq_dropout_args), NULL, NULL, NULL, 0, 0, NULL, 0, 0.5
#define SSQ_DROPOUT_INIT                                                       \
    {                                                                          \
        SSQ_DROPOUT_DEFAULTS                                                   \
    }
#define SSQ_DROPOUT(...)                                                       \
    SSQ_ARGS(ssq_dropout_args, SSQ_DROPOUT_DEFAULTS, __VA_ARGS__)

/** Dropout: y = x / (1 - p) with probability 1 - p, else +0, whatever x is.
 *  The factor is 1 / (1 - p) rounded to float32; p = 0 keeps and p = 1 drops
 *  everything. For evaluation do not call it. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_dropout(ssq_queue *queue,
                                              const ssq_dropout_args *args);

typedef struct ssq_dropout_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_dropout_backward_args));
    const ssq_tensor *dy; /**< in, float */
    const ssq_tensor *dx; /**< out, float, the shape of dy; may be dy */
    uint64_t seed;        /**< this and the rest: of the forward call */
    uint32_t id;
    const ssq_tensor *step; /**< the same word, unchanged since */
    uint64_t offset;
    double p SSQ_DEFAULT(0.5); /**< of the forward call */
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

/** Backward of dropout: the same function of dy, with the same stream, so no
 *  mask has to be kept. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_dropout_backward(ssq_queue *queue, const ssq_dropout_backward_args *args);

/** Initial values. In a weight of shape [out, in, kernel...], the layout of
 *  PyTorch's linear and convolution weights, fan_in = in * kernel elements and
 *  fan_out = out * kernel elements. Values are fixed for good. Since 0.1. */
typedef enum ssq_init_kind {
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
    SSQ_INIT_LECUN_NORMAL = 11     /**< a normal cut at 2 deviations whose own
                                        deviation after the cut is
                                        1 / sqrt(fan_in), as in Keras */
} ssq_init_kind;

/** Which fan the Kaiming kinds keep the variance of. */
typedef enum ssq_fan {
    SSQ_FAN_IN = 0, /**< forward */
    SSQ_FAN_OUT = 1 /**< backward */
} ssq_fan;

typedef struct ssq_init_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_init_args));
    const ssq_tensor *x; /**< out, float; the kinds with a fan: rank >= 2 */
    uint64_t seed;
    uint32_t id;            /**< of the stream */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< words before the first element's */
    ssq_init_kind kind;
    ssq_fan fan;  /**< Kaiming only */
    double value; /**< the kinds that name it only */
    double gain;  /**< Xavier and Kaiming; 0: that of the nonlinearity */
    const char *nonlinearity; /**< "linear", "sigmoid" (1), "tanh" (5/3),
                                   "relu" (sqrt 2), "leaky_relu" (sqrt(2 / (1 +
                                   slope^2))), "selu" (3/4). NULL is PyTorch's
                                   default: linear for Xavier, leaky_relu for
                                   Kaiming */
    double slope;             /**< of leaky_relu */
} ssq_init_args;
#define SSQ_INIT_DEFAULTS                                                      \
    sizeof(ssq_init_args), NULL, 0, 0, NULL, 0, SSQ_INIT_ZEROS, SSQ_FAN_IN,    \
        0.0, 0.0, NULL, 0.0
#define SSQ_INIT_INIT                                                          \
    {                                                                          \
        SSQ_INIT_DEFAULTS                                                      \
    }
#define SSQ_INIT(...) SSQ_ARGS(ssq_init_args, SSQ_INIT_DEFAULTS, __VA_ARGS__)

/** Initialise a parameter. The formulas are worked out in double and rounded
 *  once to the float32 arguments of the random ops above.
 *  @return SSQ_ERR_NOT_FOUND no such nonlinearity; SSQ_ERR_INVALID a value,
 *          gain or slope that is not finite, or negative where it is a
 *          deviation or bound. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_init(ssq_queue *queue,
                                           const ssq_init_args *args);

#ifdef __cplusplus
}
#endif

#endif
