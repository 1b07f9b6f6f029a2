/* SPDX-License-Identifier: Apache-2.0 */
/* binary.h - elementwise ops on two and more operands: class B.
 *
 *     ssq_add(queue, SSQ_ADD(.a = x, .b = bias, .y = y));     // broadcasts
 *     ...                                       // loss, gradient dy of y
 *     ssq_add_backward(queue, SSQ_ADD_BACKWARD(.dy = dy, .da = dx, .db = db));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * The rules at the top of elementwise.h hold for these ops, too. elementwise.h
 * includes this header.
 *
 * A call returns SSQ_ERR_INVALID if the shapes do not broadcast, if an output
 * has not exactly the shape below, if dtypes do not mix, or if an output
 * overlaps another operand and "may be" does not allow it. For example, y may
 * not be a bias [n] that is broadcast to [m,n].
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_BINARY_H
#define SESQUI_OPS_BINARY_H

#include <sesqui/args.h>
#include <sesqui/ops/gemm.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_binary_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_binary_args));
    const ssq_tensor *a; /**< in */
    const ssq_tensor *b; /**< in */
    const ssq_tensor *y; /**< out, exactly the shape that a and b broadcast to;
                              may be a or b if that one is not broadcast and its
                              elements have the same size */
} ssq_binary_args;
#define SSQ_BINARY_DEFAULTS sizeof(ssq_binary_args), NULL, NULL, NULL
#define SSQ_BINARY_INIT                                                        \
    {                                                                          \
        SSQ_BINARY_DEFAULTS                                                    \
    }
#define SSQ_BINARY(...)                                                        \
    SSQ_ARGS(ssq_binary_args, SSQ_BINARY_DEFAULTS, __VA_ARGS__)

/** Add: y = a + b. Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_add(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Subtract: y = a - b. Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sub(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Multiply: y = a b. Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_mul(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Divide: y = a / b, correctly rounded in float32. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_div(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Compute the maximum: y is the greater one. It is NaN if one is NaN, and
 *  -0 < +0 (IEEE 754-2019 maximum). Floats or integers. i32 are compared with
 *  their signs. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_maximum(ssq_queue *queue,
                                              const ssq_binary_args *args);

/** Compute the minimum: y is the lesser one. It is NaN if one is NaN, and
 *  -0 < +0. Floats or integers, as in ssq_maximum. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_minimum(ssq_queue *queue,
                                              const ssq_binary_args *args);

/** Compute a power: y = a^b, as C99 annex F. It is 1 for b = 0 and for a = 1,
 *  even with NaN. It is NaN for a finite a < 0 if b is finite and not an
 *  integer. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_pow(ssq_queue *queue,
                                          const ssq_binary_args *args);

typedef struct ssq_axpby_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_axpby_args));
    const ssq_tensor *a; /**< in, float */
    const ssq_tensor *b; /**< in, float */
    const ssq_tensor *y; /**< out, float; as in ssq_binary_args */
    double alpha SSQ_DEFAULT(1.0), beta SSQ_DEFAULT(1.0); /**< as float32 */
} ssq_axpby_args;
#define SSQ_AXPBY_DEFAULTS sizeof(ssq_axpby_args), NULL, NULL, NULL, 1.0, 1.0
#define SSQ_AXPBY_INIT                                                         \
    {                                                                          \
        SSQ_AXPBY_DEFAULTS                                                     \
    }
#define SSQ_AXPBY(...) SSQ_ARGS(ssq_axpby_args, SSQ_AXPBY_DEFAULTS, __VA_ARGS__)

/** Compute a weighted sum: y = alpha a + beta b. Both terms and the sum are
 *  rounded to float32. Zero times Inf or NaN is NaN, so a factor of 0 hides
 *  nothing. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_axpby(ssq_queue *queue,
                                            const ssq_axpby_args *args);

/** Gradients of a binary op. An operand that no wanted gradient needs may be
 *  NULL. If it is set, it is checked. If a or b is NULL, the call checks only
 *  that da, db and the other operand broadcast to dy. */
typedef struct ssq_binary_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_binary_backward_args));
    const ssq_tensor *a;  /**< in, float: the forward op's a */
    const ssq_tensor *b;  /**< in, float: the forward op's b */
    const ssq_tensor *dy; /**< in, float: gradient of the result, of the shape
                               that a and b broadcast to */
    const ssq_tensor *da; /**< out, float, the shape of a; NULL: not wanted */
    const ssq_tensor *db; /**< out, float, the shape of b; NULL: not wanted */
} ssq_binary_backward_args;
#define SSQ_BINARY_BACKWARD_DEFAULTS                                           \
    sizeof(ssq_binary_backward_args), NULL, NULL, NULL, NULL, NULL
#define SSQ_BINARY_BACKWARD_INIT                                               \
    {                                                                          \
        SSQ_BINARY_BACKWARD_DEFAULTS                                           \
    }
#define SSQ_BINARY_BACKWARD(...)                                               \
    SSQ_ARGS(ssq_binary_backward_args, SSQ_BINARY_BACKWARD_DEFAULTS,           \
             __VA_ARGS__)

/* At least one of da and db must be set. They must not overlap any operand or
 * each other. If an operand was broadcast, its gradient is the sum of all
 * terms, rounded to the output's dtype once. Without terms it is 0. Large sums
 * need scratch.
 *
 * Sums are float32, in one order on every device: chunks of 16384 terms in
 * row-major order; in each chunk 256 lanes, ascending; then a halving tree;
 * then the sums of chunks in the same way. That is at most 71 dependent
 * additions for each factor of 16384 in the number of terms. */

/** Compute the gradient of ssq_add: da = dy, db = dy. Needs only dy. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_add_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Compute the gradient of ssq_sub: da = dy, db = -dy. Needs only dy. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sub_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Compute the gradient of ssq_mul: da = dy b, db = dy a. da needs b, db needs
 *  a. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mul_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Compute the gradient of ssq_div: da = dy / b, db = -dy ((a / b) / b). da
 *  needs b, db needs both. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_div_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Compute the gradient of ssq_maximum: dy goes to the greater one. Equal
 *  operands, also -0 and +0, get dy / 2 each. If one is NaN, both get dy. Each
 *  gradient needs a and b. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_maximum_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Compute the gradient of ssq_minimum: dy goes to the lesser one. Equal
 *  operands, also -0 and +0, get dy / 2 each. If one is NaN, both get dy. Each
 *  gradient needs a and b. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_minimum_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Compute the gradient of ssq_pow: da = dy (b a^(b - 1)), which is 0 for b =
 *  0; db = dy (a^b log(a)), which is dy times 0 for a = 0 and b >= 0. Needs
 *  both. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_pow_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

typedef struct ssq_compare_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_compare_args));
    const ssq_tensor *a; /**< in: float, or integers */
    const ssq_tensor *b; /**< in: float if a is, otherwise integers */
    const ssq_tensor *y; /**< out, u8: 1 or 0; as in ssq_binary_args */
} ssq_compare_args;
#define SSQ_COMPARE_DEFAULTS sizeof(ssq_compare_args), NULL, NULL, NULL
#define SSQ_COMPARE_INIT                                                       \
    {                                                                          \
        SSQ_COMPARE_DEFAULTS                                                   \
    }
#define SSQ_COMPARE(...)                                                       \
    SSQ_ARGS(ssq_compare_args, SSQ_COMPARE_DEFAULTS, __VA_ARGS__)

/* Comparisons are as in IEEE 754: NaN equals nothing and is ordered with
 * nothing, and -0 equals +0. They are exact: mixed dtypes are compared as
 * numbers. */

/** Test for equal: y is 1 if a equals b, otherwise 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_eq(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Test for not equal: y is 0 if a equals b, otherwise 1, also if one is NaN.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_ne(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Test for less: y is 1 if a < b, otherwise 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lt(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Test for less or equal: y is 1 if a <= b, otherwise 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_le(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Test for greater: y is 1 if a > b, otherwise 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gt(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Test for greater or equal: y is 1 if a >= b, otherwise 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_ge(ssq_queue *queue,
                                         const ssq_compare_args *args);

typedef struct ssq_where_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_where_args));
    const ssq_tensor *cond; /**< in, u8 */
    const ssq_tensor *a;    /**< in: float, or integers */
    const ssq_tensor *b;    /**< in: float if a is, otherwise integers */
    const ssq_tensor *y;    /**< out: float if a is, otherwise integers; u8 only
                                 if a and b are u8; exactly the shape that cond,
                                 a and b broadcast to; may be one of them, as in
                                 ssq_binary_args */
} ssq_where_args;
#define SSQ_WHERE_DEFAULTS sizeof(ssq_where_args), NULL, NULL, NULL, NULL
#define SSQ_WHERE_INIT                                                         \
    {                                                                          \
        SSQ_WHERE_DEFAULTS                                                     \
    }
#define SSQ_WHERE(...) SSQ_ARGS(ssq_where_args, SSQ_WHERE_DEFAULTS, __VA_ARGS__)

/** Choose: y = a if cond is not 0, otherwise b. If the dtypes are equal, the
 *  bits are copied. Otherwise the value is rounded as in ssq_cast. Its
 *  gradients are ssq_where with a tensor of zeros for the other operand, and
 *  then, if the operand was broadcast, ssq_sum_to. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_where(ssq_queue *queue,
                                            const ssq_where_args *args);
typedef struct ssq_glu_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_glu_args));
    const ssq_tensor *a; /**< in, float: the values */
    const ssq_tensor *b; /**< in, float, the shape of a: the gates */
    const ssq_tensor *y; /**< out, float, the shape of a; may be a or b if the
                              elements have the same size */
    ssq_activation activation SSQ_DEFAULT(SSQ_ACTIVATION_SIGMOID); /**< f */
} ssq_glu_args;
#define SSQ_GLU_DEFAULTS                                                       \
    sizeof(ssq_glu_args), NULL, NULL, NULL, SSQ_ACTIVATION_SIGMOID
#define SSQ_GLU_INIT                                                           \
    {                                                                          \
        SSQ_GLU_DEFAULTS                                                       \
    }
#define SSQ_GLU(...) SSQ_ARGS(ssq_glu_args, SSQ_GLU_DEFAULTS, __VA_ARGS__)

/** Compute a gated linear unit: y = a f(b) (Dauphin, Fan, Auli, Grangier,
 *  2017). f is the unary op with the name of the activation: sigmoid for GLU,
 *  silu for SwiGLU, gelu or gelu_tanh for GEGLU, relu for ReGLU (Shazeer,
 *  2020), or tanh. y has the bits of ssq_mul of a and a float32 f(b), also for
 *  NaN and 0 times Inf. Nothing broadcasts.
 *
 *  torch.nn.functional.glu splits one tensor: a is then its first half and b
 *  its second half, two slices (ssq_tensor_slice).
 *  @return SSQ_ERR_INVALID  the activation is another one, for example
 *                           SSQ_ACTIVATION_NONE
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_glu(ssq_queue *queue,
                                          const ssq_glu_args *args);

typedef struct ssq_glu_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_glu_backward_args));
    const ssq_tensor *a;  /**< in, float, the shape of b: the forward op's a;
                               may be NULL if db is NULL */
    const ssq_tensor *b;  /**< in, float: the forward op's b */
    const ssq_tensor *dy; /**< in, float, the shape of b: gradient of y */
    const ssq_tensor *da; /**< out, float, the shape of b; NULL: not wanted; may
                               be a, b or dy if the elements have the same size
                               */
    const ssq_tensor *db; /**< out, float, the shape of b; NULL: not wanted; may
                               be a if the elements have the same size, and also
                               b or dy if da is NULL */
    ssq_activation activation
        SSQ_DEFAULT(SSQ_ACTIVATION_SIGMOID); /**< as in the forward op */
} ssq_glu_backward_args;
#define SSQ_GLU_BACKWARD_DEFAULTS                                              \
    sizeof(ssq_glu_backward_args), NULL, NULL, NULL, NULL, NULL,               \
        SSQ_ACTIVATION_SIGMOID
#define SSQ_GLU_BACKWARD_INIT                                                  \
    {                                                                          \
        SSQ_GLU_BACKWARD_DEFAULTS                                              \
    }
#define SSQ_GLU_BACKWARD(...)                                                  \
    SSQ_ARGS(ssq_glu_backward_args, SSQ_GLU_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Compute the gradients of ssq_glu: da = dy f(b), db = (dy a) f'(b). db has
 *  the bits of the backward op of f, of b and a float32 dy a. At least one of
 *  da and db must be set. They must not overlap each other.
 *  @return SSQ_ERR_INVALID  as ssq_glu; da and db are NULL
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_glu_backward(ssq_queue *queue, const ssq_glu_backward_args *args);

/* Ops that share a struct have macros with their names, too. */
#define SSQ_ADD                   SSQ_BINARY
#define SSQ_ADD_INIT              SSQ_BINARY_INIT
#define SSQ_SUB                   SSQ_BINARY
#define SSQ_SUB_INIT              SSQ_BINARY_INIT
#define SSQ_MUL                   SSQ_BINARY
#define SSQ_MUL_INIT              SSQ_BINARY_INIT
#define SSQ_DIV                   SSQ_BINARY
#define SSQ_DIV_INIT              SSQ_BINARY_INIT
#define SSQ_MAXIMUM               SSQ_BINARY
#define SSQ_MAXIMUM_INIT          SSQ_BINARY_INIT
#define SSQ_MINIMUM               SSQ_BINARY
#define SSQ_MINIMUM_INIT          SSQ_BINARY_INIT
#define SSQ_POW                   SSQ_BINARY
#define SSQ_POW_INIT              SSQ_BINARY_INIT
#define SSQ_ADD_BACKWARD          SSQ_BINARY_BACKWARD
#define SSQ_ADD_BACKWARD_INIT     SSQ_BINARY_BACKWARD_INIT
#define SSQ_SUB_BACKWARD          SSQ_BINARY_BACKWARD
#define SSQ_SUB_BACKWARD_INIT     SSQ_BINARY_BACKWARD_INIT
#define SSQ_MUL_BACKWARD          SSQ_BINARY_BACKWARD
#define SSQ_MUL_BACKWARD_INIT     SSQ_BINARY_BACKWARD_INIT
#define SSQ_DIV_BACKWARD          SSQ_BINARY_BACKWARD
#define SSQ_DIV_BACKWARD_INIT     SSQ_BINARY_BACKWARD_INIT
#define SSQ_MAXIMUM_BACKWARD      SSQ_BINARY_BACKWARD
#define SSQ_MAXIMUM_BACKWARD_INIT SSQ_BINARY_BACKWARD_INIT
#define SSQ_MINIMUM_BACKWARD      SSQ_BINARY_BACKWARD
#define SSQ_MINIMUM_BACKWARD_INIT SSQ_BINARY_BACKWARD_INIT
#define SSQ_POW_BACKWARD          SSQ_BINARY_BACKWARD
#define SSQ_POW_BACKWARD_INIT     SSQ_BINARY_BACKWARD_INIT
#define SSQ_EQ                    SSQ_COMPARE
#define SSQ_EQ_INIT               SSQ_COMPARE_INIT
#define SSQ_NE                    SSQ_COMPARE
#define SSQ_NE_INIT               SSQ_COMPARE_INIT
#define SSQ_LT                    SSQ_COMPARE
#define SSQ_LT_INIT               SSQ_COMPARE_INIT
#define SSQ_LE                    SSQ_COMPARE
#define SSQ_LE_INIT               SSQ_COMPARE_INIT
#define SSQ_GT                    SSQ_COMPARE
#define SSQ_GT_INIT               SSQ_COMPARE_INIT
#define SSQ_GE                    SSQ_COMPARE
#define SSQ_GE_INIT               SSQ_COMPARE_INIT

#ifdef __cplusplus
}
#endif

#endif
