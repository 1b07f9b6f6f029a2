/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - the quality of a model, computed on the device: class B.
 *
 *     ssq_top_k_accuracy(queue, SSQ_TOP_K_ACCURACY(.logits = y,
 *                            .target = labels, .accuracy = acc, .k = 5));
 *     ssq_perplexity(queue, SSQ_PERPLEXITY(.loss = loss, .y = p));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Read the results later, for example with ssq_tensor_read. The calls do not
 * wait for the device.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_METRICS_H
#define SESQUI_OPS_METRICS_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_top_k_accuracy_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_top_k_accuracy_args));
    const ssq_tensor *logits;   /**< in, float [n, c], [n, c, d1, ...] or [c] */
    const ssq_tensor *target;   /**< in, i32 [n], [n, d1, ...] or []: classes */
    const ssq_tensor *accuracy; /**< out, optional, f32, one element: hits
                                     divided by rows that count; NaN if no row
                                     counts */
    const ssq_tensor *hits;     /**< out, optional, i32, one element: number of
                                     rows that are hits */
    int64_t k SSQ_DEFAULT(1);   /**< at least 1; may be greater than c */
    int64_t ignore_index
        SSQ_DEFAULT(-100); /**< rows with this target do not count */
} ssq_top_k_accuracy_args;
#define SSQ_TOP_K_ACCURACY_DEFAULTS                                            \
    sizeof(ssq_top_k_accuracy_args), NULL, NULL, NULL, NULL, 1, -100
#define SSQ_TOP_K_ACCURACY_INIT                                                \
    {                                                                          \
        SSQ_TOP_K_ACCURACY_DEFAULTS                                            \
    }
#define SSQ_TOP_K_ACCURACY(...)                                                \
    SSQ_ARGS(ssq_top_k_accuracy_args, SSQ_TOP_K_ACCURACY_DEFAULTS, __VA_ARGS__)

/** Compute the top-k accuracy. A row is a hit if fewer than k classes come
 *  before its target. A class comes before it if it has a greater logit, or an
 *  equal one and a lower index. With k = 1 this is a test if ssq_argmax is the
 *  target. torch.topk leaves the order of ties open. NaN is greater than all
 *  numbers, as in torch.topk, and -0 equals +0.
 *
 *  A target outside 0..c-1 that is not ignored counts as a row and is not a
 *  hit: calls cannot check device data. ssq_index_check (data.h) finds such
 *  targets. If c is 0, all targets are outside. Each of the two counts is
 *  rounded to float32, and accuracy is their correctly rounded quotient.
 *  @return
 *   - SSQ_ERR_INVALID      k < 1; accuracy and hits are both NULL; a shape is
 *                          not as above; an output overlaps another operand
 *   - SSQ_ERR_UNSUPPORTED  there are more than 2^31 - 1 rows
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_top_k_accuracy(ssq_queue *queue, const ssq_top_k_accuracy_args *args);

typedef struct ssq_perplexity_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_perplexity_args));
    const ssq_tensor *loss; /**< in, f32: mean losses in nats per token, for
                                 example of ssq_cross_entropy */
    const ssq_tensor *y;    /**< out, f32, loss's shape; may be loss */
} ssq_perplexity_args;
#define SSQ_PERPLEXITY_DEFAULTS sizeof(ssq_perplexity_args), NULL, NULL
#define SSQ_PERPLEXITY_INIT                                                    \
    {                                                                          \
        SSQ_PERPLEXITY_DEFAULTS                                                \
    }
#define SSQ_PERPLEXITY(...)                                                    \
    SSQ_ARGS(ssq_perplexity_args, SSQ_PERPLEXITY_DEFAULTS, __VA_ARGS__)

/** Compute the perplexity: y = exp(loss), with the bits of ssq_exp. Above a
 *  loss of about 88.72 it is Inf.
 *  @return SSQ_ERR_INVALID  the shapes differ; y overlaps loss without being
 *                           exactly loss
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_perplexity(ssq_queue *queue, const ssq_perplexity_args *args);

#ifdef __cplusplus
}
#endif

#endif
