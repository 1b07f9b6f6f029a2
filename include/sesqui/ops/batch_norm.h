/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.h - batch norm, group norm, instance norm, and their backward.
 *
 * x is [n, c, spatial...], any number of spatial dimensions; axis says where
 * the channels are (1 as in torch, -1 for channels last), dimension 0 is the
 * batch unless it is the axis. A set of elements shares one mean and variance:
 *
 *     batch norm      all elements of a channel, of the whole batch
 *     group norm      all elements of c / groups channels, of one example
 *     instance norm   is group norm with groups = c
 *
 * Statistics and parameters are float32 whatever the dtype of x: the mean
 * first, then the sum of the centred squares (two passes, no cancellation).
 * The second pass corrects the mean: if all numbers of a set are equal, the
 * mean is that number, and the variance is 0. Sums of m terms take at most
 * min(m, 64 + ceil(m / 64)) dependent float32 additions. A NaN or an Inf in a
 * set makes the whole set NaN. Squares are formed in float32: deviations above
 * 1.8e19 overflow, and the set is then 0 or NaN. A fused activation is not
 * undone by the backward ops: their dy is the gradient of the input of the
 * activation (ssq_relu_backward, ..). */
#ifndef SESQUI_OPS_BATCH_NORM_H
#define SESQUI_OPS_BATCH_NORM_H

#include <sesqui/args.h>
#include <sesqui/comm.h>
#include <sesqui/ops/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_batch_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_batch_norm_args));
    const ssq_tensor *x;            /**< in, float, rank >= 2 */
    const ssq_tensor *gamma;        /**< in, optional, f32: [c] */
    const ssq_tensor *beta;         /**< in, optional, f32: [c] */
    const ssq_tensor *running_mean; /**< f32: [c]. training: optional, updated;
                                         else in */
    const ssq_tensor *running_var;  /**< f32: [c], updated likewise; both or
                                         none */
    const ssq_tensor *y;            /**< out, float, x's shape; may be x */
    const ssq_tensor *mean;         /**< out, optional, f32: [c] */
    const ssq_tensor *rstd;         /**< out, optional, f32: [c] */
    int axis SSQ_DEFAULT(1);        /**< the channels; negative: from the end */
    bool training SSQ_DEFAULT(true); /**< normalise with the batch's statistics,
                        not with the running ones */
    double momentum SSQ_DEFAULT(0.1); /**< 0..1, used as float32 */
    double eps SSQ_DEFAULT(1e-5);     /**< >= 0, finite; used as float32 */
    ssq_activation activation;
    bool population_variance; /**< running_var moves to the batch's var as it
                                   is, not to var m / (m - 1); used in training
                                   alone */
    ssq_comm *comm; /**< statistics are those of all ranks' x; NULL: of this
                       one. Used in training alone. See below */
} ssq_batch_norm_args;
#define SSQ_BATCH_NORM_DEFAULTS                                                \
    sizeof(ssq_batch_norm_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL, 1, true, 0.1, 1e-5, SSQ_ACTIVATION_NONE, false, NULL
#define SSQ_BATCH_NORM_INIT                                                    \
    {                                                                          \
        SSQ_BATCH_NORM_DEFAULTS                                                \
    }
#define SSQ_BATCH_NORM(...)                                                    \
    SSQ_ARGS(ssq_batch_norm_args, SSQ_BATCH_NORM_DEFAULTS, __VA_ARGS__)

/** Batch norm (Ioffe and Szegedy, 2015; torch.nn.functional.batch_norm, ONNX
 *  BatchNormalization with momentum = 1 - ONNX's):
 *      y = activation((x - mean) rstd gamma + beta), rstd = 1 / sqrt(var + eps)
 *  training: mean and the biased var are the batch's, and the running ones
 *  become
 *      running_mean = (1 - momentum) running_mean + momentum mean
 *      running_var = (1 - momentum) running_var + momentum var m / (m - 1)
 *  for m elements per channel, an estimate without bias, as in torch; with
 *  population_variance the factor m / (m - 1) is left out, as ONNX defines it.
 *  Otherwise mean and var are the running ones.
 *  Tensors mean and rstd receive what was used, for the backward op. Without
 *  elements they are NaN in training, and running statistics keep their bits.
 *
 *  Over ranks (torch.nn.SyncBatchNorm): with comm, in training, mean, var and m
 *  are those of a channel's elements on all ranks together, however many each
 *  has; x may be empty on some. Each rank finds the statistics of its own x,
 *  one all_gather of 2 c + 1 float32 values (tag "batch_norm") gives all of
 *  them to all, and each joins them in one order: var is the ranks' own and
 *  that between them, and nothing cancels. So mean, rstd and running statistics
 *  have the same bits on every rank, whatever the devices, in every run and
 *  with every transport. All ranks call it in the same place of their
 *  collectives, with as many channels (and the same eps and momentum, which
 *  nobody compares); who calls something else ends the group with an error that
 *  names both calls (comm.h). One value on a rank is legal then; where all
 *  ranks together have one, running_var moves to 0. A NaN on one rank is a NaN
 *  in its channel on all. A group of one rank has the very bits of no comm, and
 *  calls nothing. The communicator is the program's, of the queue's device, and
 *  on a tape has to live until the backward. Nothing waits.
 *  @return SSQ_ERR_INVALID axis, eps, momentum, a shape or the activation is
 *          wrong; one value per channel in training, as in torch: it has no
 *          variance; no running statistics where training is false; comm is on
 *          another device, or a graph is being captured, which cannot have its
 *          collective; SSQ_ERR_COMM its group has ended; SSQ_ERR_NOMEM no
 *          scratch for what ranks exchange
 *  @note Running statistics move with every training call, also in a step that
 *        a scaler then skips: the verdict comes after the backward pass. It is
 *        so in torch, TensorFlow and JAX. An Inf or a NaN in x therefore makes
 *        a channel's running statistics NaN for good, as in torch.
 *        Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_batch_norm(ssq_queue *queue, const ssq_batch_norm_args *args);

typedef struct ssq_batch_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_batch_norm_backward_args));
    const ssq_tensor *x;            /**< in, float: the forward op's */
    const ssq_tensor *gamma;        /**< in, optional, as forward */
    const ssq_tensor *running_mean; /**< in, f32: [c]; read only where training
                                         is false and mean is NULL */
    const ssq_tensor *running_var;  /**< in, f32: [c], likewise */
    const ssq_tensor *mean;         /**< in, optional, f32: saved by the forward
                                         op; NULL with rstd: computed again */
    const ssq_tensor *rstd;         /**< in, optional, f32, likewise */
    const ssq_tensor *dy;           /**< in, float, x's shape */
    const ssq_tensor
        *dx; /**< out, optional, float, x's shape; may be dy or x */
    const ssq_tensor *dgamma;        /**< out, optional, f32: [c] */
    const ssq_tensor *dbeta;         /**< out, optional, f32: [c] */
    int axis SSQ_DEFAULT(1);         /**< the forward op's */
    bool training SSQ_DEFAULT(true); /**< the forward op's */
    double
        eps SSQ_DEFAULT(1e-5); /**< the forward op's; unused with mean, rstd */
    ssq_comm *comm;            /**< the forward op's; used in training alone */
} ssq_batch_norm_backward_args;
#define SSQ_BATCH_NORM_BACKWARD_DEFAULTS                                       \
    sizeof(ssq_batch_norm_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, NULL, NULL, 1, true, 1e-5, NULL
#define SSQ_BATCH_NORM_BACKWARD_INIT                                           \
    {                                                                          \
        SSQ_BATCH_NORM_BACKWARD_DEFAULTS                                       \
    }
#define SSQ_BATCH_NORM_BACKWARD(...)                                           \
    SSQ_ARGS(ssq_batch_norm_backward_args, SSQ_BATCH_NORM_BACKWARD_DEFAULTS,   \
             __VA_ARGS__)

/** Gradient of batch norm. With z = (x - mean) rstd:
 *      training   dx = rstd gamma (dy - avg(dy) - z avg(dy z)), averages over
 *                 the channel
 *      else       dx = rstd gamma dy
 *      dgamma = sum of dy z, dbeta = sum of dy, over the channel
 *  written, not accumulated; without elements dgamma and dbeta are 0.
 *  Statistics computed again are the bits that the forward op would have saved.
 *  With comm, in training, the averages of dx are over the channel's elements
 *  on all ranks, so that dx is the gradient of the sum of all ranks' losses,
 *  whose gradients dy are; dgamma and dbeta are of this rank's x, and their sum
 *  over ranks is the whole. One all_reduce of 2 c + 1 float32 values (tag
 *  "batch_norm_backward") where dx is wanted, on all ranks alike; else none.
 *  mean and rstd are those that the forward op told, and not computed again. A
 *  call that fails with comm may have written dgamma and dbeta.
 *  @return SSQ_ERR_INVALID only one of mean and rstd, comm without them,
 *          nothing to write, and as ssq_batch_norm; SSQ_ERR_COMM as there;
 *          SSQ_ERR_NOMEM no scratch
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_batch_norm_backward(
    ssq_queue *queue, const ssq_batch_norm_backward_args *args);

typedef struct ssq_group_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_group_norm_args));
    const ssq_tensor *x;     /**< in, float, rank >= 2 */
    const ssq_tensor *gamma; /**< in, optional, f32: [c] */
    const ssq_tensor *beta;  /**< in, optional, f32: [c] */
    const ssq_tensor *y;     /**< out, float, x's shape; may be x */
    const ssq_tensor *mean;  /**< out, optional, f32: [n, groups] */
    const ssq_tensor *rstd;  /**< out, optional, f32: [n, groups] */
    int axis SSQ_DEFAULT(1); /**< the channels, not 0; negative: from the end */
    int64_t groups SSQ_DEFAULT(1); /**< >= 1, divides c */
    double eps SSQ_DEFAULT(1e-5);  /**< >= 0, finite; used as float32 */
    ssq_activation activation;
} ssq_group_norm_args;
#define SSQ_GROUP_NORM_DEFAULTS                                                \
    sizeof(ssq_group_norm_args), NULL, NULL, NULL, NULL, NULL, NULL, 1, 1,     \
        1e-5, SSQ_ACTIVATION_NONE
#define SSQ_GROUP_NORM_INIT                                                    \
    {                                                                          \
        SSQ_GROUP_NORM_DEFAULTS                                                \
    }
#define SSQ_GROUP_NORM(...)                                                    \
    SSQ_ARGS(ssq_group_norm_args, SSQ_GROUP_NORM_DEFAULTS, __VA_ARGS__)

/** Group norm (Wu and He, 2018; torch.nn.functional.group_norm, ONNX
 *  GroupNormalization): y as ssq_batch_norm in training, with a mean and a
 *  biased variance for each example and group, and no running ones. groups = c
 *  is instance norm, groups = 1 a layer norm over all but the batch with one
 *  gamma per channel. A group of one element is legal: y is activation(beta).
 *  Groups without elements have NaN statistics.
 *  @return SSQ_ERR_INVALID axis, eps, groups, a shape or the activation is
 *          wrong. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_group_norm(ssq_queue *queue, const ssq_group_norm_args *args);

typedef struct ssq_group_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_group_norm_backward_args));
    const ssq_tensor *x;      /**< in, float: the forward op's */
    const ssq_tensor *gamma;  /**< in, optional, as forward */
    const ssq_tensor *mean;   /**< in, optional, f32: saved by the forward op;
                                   NULL with rstd: computed again */
    const ssq_tensor *rstd;   /**< in, optional, f32, likewise */
    const ssq_tensor *dy;     /**< in, float, x's shape */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be dy
                                   or x */
    const ssq_tensor *dgamma; /**< out, optional, f32: [c] */
    const ssq_tensor *dbeta;  /**< out, optional, f32: [c] */
    int axis SSQ_DEFAULT(1);  /**< the forward op's */
    int64_t groups SSQ_DEFAULT(1); /**< the forward op's */
    double
        eps SSQ_DEFAULT(1e-5); /**< the forward op's; unused with mean, rstd */
} ssq_group_norm_backward_args;
#define SSQ_GROUP_NORM_BACKWARD_DEFAULTS                                       \
    sizeof(ssq_group_norm_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, 1, 1, 1e-5
#define SSQ_GROUP_NORM_BACKWARD_INIT                                           \
    {                                                                          \
        SSQ_GROUP_NORM_BACKWARD_DEFAULTS                                       \
    }
#define SSQ_GROUP_NORM_BACKWARD(...)                                           \
    SSQ_ARGS(ssq_group_norm_backward_args, SSQ_GROUP_NORM_BACKWARD_DEFAULTS,   \
             __VA_ARGS__)

/** Gradient of group norm: with g = dy gamma, averages over a group and sums
 *  over a channel,
 *      dx = rstd (g - avg(g) - z avg(g z)), dgamma = sum of dy z,
 *      dbeta = sum of dy
 *  The rest as ssq_batch_norm_backward. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_group_norm_backward(
    ssq_queue *queue, const ssq_group_norm_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
