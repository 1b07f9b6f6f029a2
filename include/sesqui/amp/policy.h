/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - which dtype each op computes in, and which dtype parameters have.
 *
 * A policy is a text, for example "mixed_float16,gelu=float32". Trainers,
 * parameter sets and autocast regions of a tape take it. ssq_policy_from_name
 * reads it for a program without them:
 *
 *     ssq_policy p = SSQ_POLICY_INIT;
 *     CHECK(ssq_policy_from_name("mixed_float16,loss_scale=512", &p));
 *     // p.compute is SSQ_F16, p.scaling is true, p.loss_scale is 512
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_AMP_POLICY_H
#define SESQUI_AMP_POLICY_H

#include <sesqui/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A dtype policy, with Keras's names. Parameters of norm layers are float32
 *  under every policy. */
typedef struct ssq_policy {
    size_t struct_size;
    ssq_dtype compute;  /**< dtype in which ops of class HALF compute */
    ssq_dtype variable; /**< dtype of the optimizer's truth of a parameter:
                             SSQ_F32, the master, under every policy */
    bool scaling;       /**< gradients need a loss scale: true for f16, unless
                             the text has loss_scale=none; true for other
                             policies if it has loss_scale with another value */
    double loss_scale;  /**< the static scale in the text, not rounded to
                             float32. 0: a dynamic one if scaling, else none.
                             To create the scaler yourself, use the preset
                             "fixed" with it as init_scale */
} ssq_policy;
#define SSQ_POLICY_INIT                                                        \
    {                                                                          \
        sizeof(ssq_policy), SSQ_F32, SSQ_F32, false, 0.0                       \
    }

/** Read a policy's text: "float32", "mixed_float16" or "mixed_bfloat16", then
 *  words after commas, in any order:
 *   - OP=CLASS: the op has another autocast class on a tape than in the table,
 *     for example "mixed_float16,gelu=float32,sum=any". If an op occurs twice,
 *     the last word counts. A backward op follows its forward, and cannot be
 *     named.
 *   - loss_scale=VALUE, at most once: dynamic, none, or a number.
 *
 *  The number is a static scale, for example "mixed_float16,loss_scale=512". It
 *  is 2^N, or a decimal of up to 15 digits. The exponent of a decimal, less its
 *  number of digits after the point, must be -22 to 22. For example, 15e-22 is
 *  read, and 1.5e-22 is refused. The number must be in the range of positive,
 *  normal float32. A scaler rounds it to float32.
 *
 *  A static scale, also 1, still skips steps whose gradients are not finite.
 *  With none nothing is scaled, and such steps are applied. A trainer creates
 *  the scaler; without a trainer the program must. The policies of a tape's
 *  regions must not have this word.
 *  @param policy  in: struct_size; out: the rest
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no such policy (the message lists them), op (it
 *                        suggests a similar name, if there is one) or class; a
 *                        backward op is named
 *   - SSQ_ERR_INVALID    a word without "="; loss_scale twice, or with another
 *                        value
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_from_name(const char *name,
                                                       ssq_policy *policy);

/** How autocast treats an op. The table is the same on every device; a policy's
 *  text can change it. ssq_policy_op_name lists all ops, and
 *  ssq_policy_op_class their classes. */
typedef enum ssq_op_class {
    SSQ_CLASS_HALF = 0,    /**< computes in the policy's compute dtype: gemm,
                                conv, attention, lstm, gru */
    SSQ_CLASS_FLOAT32 = 1, /**< computes in and returns float32: softmax,
                                losses, norms, sums, means, products of
                                elements, and functions whose range exceeds
                                that of float16, for example exp, log, pow */
    SSQ_CLASS_PROMOTE = 2, /**< in the dtype of the inputs. If their float
                                dtypes differ, also f16 and bf16, in float32:
                                most ops of several float operands, for example
                                add, maximum, comparisons, where, concat */
    SSQ_CLASS_ANY = 3      /**< in the dtype it is given: all other ops, for
                                example relu, sqrt, neg, sin, scale, max, min,
                                transpose, pooling, dropout, rotary,
                                gather_rows */
} ssq_op_class;

/** Report the class of a public op by its name without the prefix: "gemm",
 *  "log_softmax", "add", "conv2d". A backward op has the class of its forward,
 *  for example "gelu_backward" and "conv2d_backward_data".
 *  @param op_class  out
 *  @return SSQ_ERR_NOT_FOUND  no such op; the message suggests a similar name,
 *                             if there is one. Also a backward op that does
 *                             not exist, for example "gemm_backward"
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_op_class(const char *op,
                                                      ssq_op_class *op_class);

/** Report the class of an op under a policy: the class in the policy's text, or
 *  else ssq_policy_op_class.
 *  @param policy    a text, as in ssq_policy_from_name
 *  @param op        as in ssq_policy_op_class
 *  @param op_class  out
 *  @return as ssq_policy_op_class and ssq_policy_from_name */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_class(const char *policy,
                                                   const char *op,
                                                   ssq_op_class *op_class);

/** Return the name of op i in the table of classes, without backward ops; NULL
 *  past the end. Owned by the library, valid for good. */
SSQ_API const char *ssq_policy_op_name(size_t i);

/** Return the name of a class: "half", "float32", "promote" or "any"; "invalid"
 *  for another value. Owned by the library, valid for good. */
SSQ_API const char *ssq_op_class_name(ssq_op_class op_class);

#ifdef __cplusplus
}
#endif

#endif
