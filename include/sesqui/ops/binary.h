/* SPDX-License-Identifier: Apache-2.0 */
/* binary.h - elementwise ops on two operands and more: class B. The rules at
 * the top of elementwise.h, which includes this, hold for them too. */
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
    const ssq_tensor *y; /**< out, exactly the shape that a and b broadcast
                              to; may be a or b, not broadcast and with
                              elements of the same size */
} ssq_binary_args;
#define SSQ_BINARY_DEFAULTS sizeof(ssq_binary_args), NULL, NULL, NULL
#define SSQ_BINARY_INIT                                                        \
    {                                                                          \
        SSQ_BINARY_DEFAULTS                                                    \
    }
#define SSQ_BINARY(...)                                                        \
    SSQ_ARGS(ssq_binary_args, SSQ_BINARY_DEFAULTS, __VA_ARGS__)

/** Addition: y = a + b. Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_add(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Subtraction: y = a - b. Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sub(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Multiplication: y = a b. Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_mul(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Division: y = a / b, correctly rounded in float32. Floats. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_div(ssq_queue *queue,
                                          const ssq_binary_args *args);

/** Maximum: y = the greater one; NaN if either is, and -0 < +0 (IEEE 754-2019
 *  maximum). Floats or integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_maximum(ssq_queue *queue,
                                              const ssq_binary_args *args);

/** Minimum: y = the lesser one; NaN if either is, and -0 < +0. Floats or
 *  integers. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_minimum(ssq_queue *queue,
                                              const ssq_binary_args *args);

/** Power: y = a^b, as C99 annex F: 1 for b = 0 and for a = 1 even with NaN,
 *  NaN for a < 0 unless b is an integer. Floats. Since 0.1. */
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

/** Weighted sum: y = alpha a + beta b; both products and the sum are rounded
 *  to float32. Zero times Inf or NaN is NaN: a factor of 0 hides nothing.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_axpby(ssq_queue *queue,
                                            const ssq_axpby_args *args);

/** Gradients of a binary op. Operands that the wanted gradients do not need
 *  may be NULL; those that are there are checked all the same. */
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

/* da and db overlap no operand and not each other, and one of them at least is
 * wanted. An element that was broadcast gets the sum of its terms, in float32
 * and in one order on every device: chunks of 16384 terms in row-major order,
 * 256 lanes ascending in each, a halving tree; sums of chunks likewise. That is
 * at most 71 additions behind one another per factor of 16384 in the number of
 * terms; the sum is rounded to the output's dtype once. No terms add up to 0.
 */

/** Gradient of ssq_add: da = dy, db = dy. Needs dy alone. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_add_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Gradient of ssq_sub: da = dy, db = -dy. Needs dy alone. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sub_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Gradient of ssq_mul: da = dy b, db = dy a. da needs b, db needs a. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mul_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Gradient of ssq_div: da = dy / b, db = -dy ((a / b) / b). da needs b, db
 *  needs both. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_div_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Gradient of ssq_maximum: dy to the greater one, dy / 2 to each of a tie, dy
 *  to both where one is NaN. Needs both. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_maximum_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Gradient of ssq_minimum: dy to the lesser one, dy / 2 to each of a tie, dy
 *  to both where one is NaN. Needs both. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_minimum_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

/** Gradient of ssq_pow: da = dy (b a^(b - 1)), which is 0 for b = 0; db = dy
 *  (a^b log(a)), which is dy times 0 for a = 0 and b >= 0. Needs both. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_pow_backward(ssq_queue *queue, const ssq_binary_backward_args *args);

typedef struct ssq_compare_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_compare_args));
    const ssq_tensor *a; /**< in: float, or integers */
    const ssq_tensor *b; /**< in: float when a is, else integers */
    const ssq_tensor *y; /**< out, u8: 1 or 0; as in ssq_binary_args */
} ssq_compare_args;
#define SSQ_COMPARE_DEFAULTS sizeof(ssq_compare_args), NULL, NULL, NULL
#define SSQ_COMPARE_INIT                                                       \
    {                                                                          \
        SSQ_COMPARE_DEFAULTS                                                   \
    }
#define SSQ_COMPARE(...)                                                       \
    SSQ_ARGS(ssq_compare_args, SSQ_COMPARE_DEFAULTS, __VA_ARGS__)

/* As IEEE 754: NaN equals nothing and is ordered with nothing, -0 equals +0.
 * Exact: mixed dtypes are compared as numbers. */

/** Equal: y is 1 where a equals b, else 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_eq(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Not equal: y is 0 where a equals b, else 1, so also where one is NaN. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_ne(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Less: y is 1 where a < b, else 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lt(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Less or equal: y is 1 where a <= b, else 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_le(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Greater: y is 1 where a > b, else 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gt(ssq_queue *queue,
                                         const ssq_compare_args *args);

/** Greater or equal: y is 1 where a >= b, else 0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_ge(ssq_queue *queue,
                                         const ssq_compare_args *args);

typedef struct ssq_where_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_where_args));
    const ssq_tensor *cond; /**< in, u8 */
    const ssq_tensor *a;    /**< in: float, or integers */
    const ssq_tensor *b;    /**< in: float when a is, else integers */
    const ssq_tensor *y;    /**< out: float when a is, else integers, u8 only
                                 when a and b are; exactly the shape that cond,
                                 a and b broadcast to; may be one of them */
} ssq_where_args;
#define SSQ_WHERE_DEFAULTS sizeof(ssq_where_args), NULL, NULL, NULL, NULL
#define SSQ_WHERE_INIT                                                         \
    {                                                                          \
        SSQ_WHERE_DEFAULTS                                                     \
    }
#define SSQ_WHERE(...) SSQ_ARGS(ssq_where_args, SSQ_WHERE_DEFAULTS, __VA_ARGS__)

/** Choose: y = a where cond is not 0, else b; bit for bit when the dtypes are
 *  equal, else rounded as ssq_convert does. Its gradients are ssq_where with a
 *  zero tensor for the other operand. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_where(ssq_queue *queue,
                                            const ssq_where_args *args);
typedef struct ssq_glu_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_glu_args));
    const ssq_tensor *a; /**< in, float: the values */
    const ssq_tensor *b; /**< in, float, the shape of a: the gates */
    const ssq_tensor *y; /**< out, float, the shape of a; may be a or b when
                              the elements have the same size */
    ssq_activation activation SSQ_DEFAULT(SSQ_ACTIVATION_SIGMOID); /**< f */
} ssq_glu_args;
#define SSQ_GLU_DEFAULTS                                                       \
    sizeof(ssq_glu_args), NULL, NULL, NULL, SSQ_ACTIVATION_SIGMOID
#define SSQ_GLU_INIT                                                           \
    {                                                                          \
        SSQ_GLU_DEFAULTS                                                       \
    }
#define SSQ_GLU(...) SSQ_ARGS(ssq_glu_args, SSQ_GLU_DEFAULTS, __VA_ARGS__)

/** Gated linear unit: y = a f(b) (Dauphin, Fan, Auli, Grangier, 2017), f the
 *  function of the unary op of that name: GLU by sigmoid, SwiGLU by silu, GEGLU
 *  by gelu or gelu_tanh, ReGLU by relu (Shazeer, 2020), or tanh. y is what
 *  ssq_mul gives of a and a float32 f(b), bit for bit, NaN and 0 times Inf too.
 *  torch.nn.functional.glu halves one tensor: a is the first half and b the
 *  second, two slices (ssq_tensor_slice) of it. Floats.
 *  @return SSQ_ERR_INVALID for another activation. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_glu(ssq_queue *queue,
                                          const ssq_glu_args *args);

typedef struct ssq_glu_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_glu_backward_args));
    const ssq_tensor *a;  /**< in, float, the shape of b: the forward op's a;
                               NULL will do where db is */
    const ssq_tensor *b;  /**< in, float: the forward op's b */
    const ssq_tensor *dy; /**< in, float, the shape of b: gradient of y */
    const ssq_tensor *da; /**< out, float, the shape of b; NULL: not wanted; may
                               be a, b or dy when the elements have the same
                               size */
    const ssq_tensor *db; /**< out, float, the shape of b; NULL: not wanted; may
                               be a likewise, and b or dy where da is NULL */
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

/** Its gradients: da = dy f(b), db = (dy a) f'(b): what the backward of f's
 *  unary op gives of b and a float32 dy a, bit for bit. da and db overlap
 *  nothing else and not each other, and one of them at least is wanted. Floats.
 *  @return SSQ_ERR_INVALID for another activation. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_glu_backward(ssq_queue *queue, const ssq_glu_backward_args *args);

/* Ops that share a struct have macros of their own names all the same. */
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
