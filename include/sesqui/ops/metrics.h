/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - how good a model is, worked out on the device: class B. */
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
    const ssq_tensor *accuracy; /**< out, optional, f32, one element: hits over
                                     the rows that count; NaN without any */
    const ssq_tensor *hits;     /**< out, optional, i32, one element */
    int64_t k SSQ_DEFAULT(1);   /**< at least 1; may be above c */
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

/** Top-k accuracy: a row is a hit when fewer than k classes come before its
 *  target: those with a greater logit, or an equal one and a lower index. So
 *  k = 1 asks whether ssq_argmax is the target (torch.topk leaves the order of
 *  ties open). As there NaN counts as greater than all numbers, and -0 equals
 *  +0. A target outside 0..c-1 that is not ignored counts and is no hit:
 *  targets are device data, which a call cannot check (ssq_index_check does, in
 *  data.h); without classes all of them are. accuracy is the quotient of the
 *  two counts, each rounded to float32, correctly rounded.
 *  @return SSQ_ERR_INVALID k < 1, accuracy and hits are both NULL, a wrong
 *          shape; SSQ_ERR_UNSUPPORTED more than 2^31 - 1 rows
 *  @note class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_top_k_accuracy(ssq_queue *queue, const ssq_top_k_accuracy_args *args);

typedef struct ssq_perplexity_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_perplexity_args));
    const ssq_tensor *loss; /**< in, f32: mean losses in nats per token, such as
                                 ssq_cross_entropy's */
    const ssq_tensor *y;    /**< out, f32, loss's shape; may be loss */
} ssq_perplexity_args;
#define SSQ_PERPLEXITY_DEFAULTS sizeof(ssq_perplexity_args), NULL, NULL
#define SSQ_PERPLEXITY_INIT                                                    \
    {                                                                          \
        SSQ_PERPLEXITY_DEFAULTS                                                \
    }
#define SSQ_PERPLEXITY(...)                                                    \
    SSQ_ARGS(ssq_perplexity_args, SSQ_PERPLEXITY_DEFAULTS, __VA_ARGS__)

/** Perplexity: y = exp(loss), the bits of ssq_exp. Above a loss of 88.7 it is
 *  Inf. Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_perplexity(ssq_queue *queue, const ssq_perplexity_args *args);

#ifdef __cplusplus
}
#endif

#endif
