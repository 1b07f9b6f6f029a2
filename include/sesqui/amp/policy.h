/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - which dtype each op computes in and parameters are kept in. */
#ifndef SESQUI_AMP_POLICY_H
#define SESQUI_AMP_POLICY_H

#include <sesqui/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A dtype policy, as Keras names them. Model outputs are float32 under every
 *  policy; norm layers keep float32 parameters. */
typedef struct ssq_policy {
    size_t struct_size;
    ssq_dtype compute;  /**< what ops of the class HALF compute in */
    ssq_dtype variable; /**< what parameters are kept in by the optimizer:
                             float32 (the master) under every policy */
    bool scaling;       /**< gradients need a loss scale: true for f16, unless
                             the text says otherwise */
    double loss_scale;  /**< the static one that the text names; 0: dynamic if
                             scaling, else none. For a scaler of your own: the
                             preset "fixed" with it as init_scale */
} ssq_policy;
#define SSQ_POLICY_INIT                                                        \
    {                                                                          \
        sizeof(ssq_policy), SSQ_F32, SSQ_F32, false, 0.0                       \
    }

/** Read a policy's text: "float32", "mixed_float16" or "mixed_bfloat16", then
 *  words after commas, in any order:
 *  - OP=CLASS: an op has another class than the table's, for autocast on a
 *    tape: "mixed_float16,gelu=float32,sum=any". Of two for one op the last
 *    counts. A backward op follows its forward.
 *  - loss_scale=VALUE, at most once: dynamic; none; or a number, which is a
 *    static scale: "mixed_float16,loss_scale=512". It is a decimal of up to 15
 *    digits or 2^N, and a positive, normal float32. A static scale still skips
 *    steps whose gradients are not finite, also with 1. With none nothing is
 *    scaled or skipped. A trainer makes the scaler; elsewhere the program
 *    does. The policies of a tape's regions must not have the word.
 *  @return SSQ_ERR_NOT_FOUND another policy, with the three, or no such op or
 *          class, with the nearest name; SSQ_ERR_INVALID a NULL or wrong
 *          struct_size, a word without "=", loss_scale twice or with another
 *          value. *policy is unchanged then. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_from_name(const char *name,
                                                       ssq_policy *policy);

/** How autocast treats an op; one table on every device, which a policy's text
 *  may change. */
typedef enum ssq_op_class {
    SSQ_CLASS_HALF = 0,    /**< computes in the policy's compute dtype: gemm,
                                conv, attention's products */
    SSQ_CLASS_FLOAT32 = 1, /**< computes in and returns float32: softmax,
                                losses, exp, log, pow, norms, sums, means */
    SSQ_CLASS_PROMOTE = 2, /**< in float32 if any float input is float32, else
                                in the compute dtype: add, mul, concat,
                                comparisons */
    SSQ_CLASS_ANY = 3      /**< in the dtype it is given: relu, reshape, max,
                                pooling, dropout */
} ssq_op_class;

/** The class of a public op by its name without the prefix ("gemm",
 *  "log_softmax", "add", "conv2d"); a backward op
 *  ("gelu_backward", "conv2d_backward_data") has the
 *  class of its forward.
 *  @return SSQ_ERR_NOT_FOUND no such op, with the nearest name: also a backward
 *          that does not exist, such as "gemm_backward"; SSQ_ERR_INVALID NULL.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_op_class(const char *op,
                                                      ssq_op_class *op_class);

/** The class of an op under a policy: as ssq_policy_op_class, but for what the
 *  policy's text says of the op itself.
 *  @param policy  as ssq_policy_from_name
 *  @return as both of them. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_class(const char *policy,
                                                   const char *op,
                                                   ssq_op_class *op_class);

/** The name in line i of the table, for printing it; NULL past the end. */
SSQ_API const char *ssq_policy_op_name(size_t i);

/** "half", "float32", "promote", "any"; "invalid" for no class. */
SSQ_API const char *ssq_op_class_name(ssq_op_class op_class);

#ifdef __cplusplus
}
#endif

#endif
