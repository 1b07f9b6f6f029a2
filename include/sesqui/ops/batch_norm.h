/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.h - batch norm, group norm, instance norm, and their backward.
 *
 *     ssq_batch_norm(queue, SSQ_BATCH_NORM(.x = x, .gamma = g, .beta = b,
 *                        .y = y, .mean = mean, .rstd = rstd));
 *     ...                                       // loss, gradient dy of y
 *     ssq_batch_norm_backward(queue, SSQ_BATCH_NORM_BACKWARD(.x = x,
 *                        .gamma = g, .mean = mean, .rstd = rstd, .dy = dy,
 *                        .dx = dx, .dgamma = dg, .dbeta = db));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * x is [n, c, spatial...], with any number of spatial dimensions. axis is the
 * dimension of the channels: 1 as in torch, -1 for channels last. Dimension 0
 * is the batch. If batch norm has axis 0, dimension 1 is the batch. A set of
 * elements shares one mean and one variance:
 *
 *     batch norm      all elements of a channel, of the whole batch
 *     group norm      all elements of c / groups channels, of one example
 *     instance norm   is group norm with groups = c
 *
 * Statistics and parameters are float32 for any dtype of x. The mean is
 * computed first, then the sum of the centred squares, so nothing cancels. The
 * second pass corrects the mean: if all numbers of a set are equal, the mean is
 * that number, and the variance is 0. Sums of m terms use at most
 * min(m, 64 + ceil(m / 64)) dependent float32 additions.
 *
 * A NaN or an Inf in a set makes the whole set NaN. Sums are float32 or better.
 * If a float32 sum of the squares of a set of m overflows (deviations above
 * 1.8e19 / sqrt(m)), rstd can be 0: y is then activation(beta). If the sum of
 * |x| or a deviation overflows, elements of the set can be NaN. In these cases
 * running statistics can become Inf or NaN for good. If var + eps is 0, rstd is
 * infinite: equal numbers give NaN.
 *
 * The backward ops do not undo a fused activation. Their dy is the gradient of
 * the input of the activation: call for example ssq_relu_backward first.
 *
 * @sync async
 * @threads object */
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
    const ssq_tensor *running_mean; /**< f32: [c]; if training, optional and
                                         updated, and must not overlap another
                                         operand; otherwise in */
    const ssq_tensor *running_var;  /**< f32: [c], updated as running_mean;
                                         both must be set, or neither */
    const ssq_tensor *y;            /**< out, float, x's shape; may be x */
    const ssq_tensor *mean;         /**< out, optional, f32: [c] */
    const ssq_tensor *rstd;         /**< out, optional, f32: [c] */
    int axis SSQ_DEFAULT(1);        /**< the channels; negative: from the end */
    bool training SSQ_DEFAULT(true); /**< normalize with the statistics of the
                                          batch, not with the running ones */
    double momentum SSQ_DEFAULT(0.1); /**< 0..1, used as float32 */
    double eps SSQ_DEFAULT(1e-5);     /**< 0 to the largest float32; used as
                                           float32 */
    ssq_activation activation;
    bool population_variance; /**< running_var moves to the biased var of the
                                   batch, not to var m / (m - 1); used only if
                                   training */
    ssq_comm *comm; /**< use the statistics of x on all ranks; NULL: on this
                         rank only; used only if training. See below */
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

/** Compute batch norm (Ioffe and Szegedy, 2015; torch.nn.functional.batch_norm;
 *  ONNX BatchNormalization, whose momentum is 1 - momentum):
 *
 *      y = activation((x - mean) rstd gamma + beta), rstd = 1 / sqrt(var + eps)
 *
 *  If training, mean and the biased var are computed from the batch. For m
 *  elements per channel the running statistics become
 *
 *      running_mean = (1 - momentum) running_mean + momentum mean
 *      running_var = (1 - momentum) running_var + momentum var m / (m - 1)
 *
 *  as in torch. population_variance leaves out the factor m / (m - 1), as in
 *  ONNX. If training is false, mean and var are the running ones. The tensors
 *  mean and rstd receive the values that were used, for the backward op. If x
 *  is empty in training, they are NaN, and running statistics do not change.
 *
 *  Over ranks (torch.nn.SyncBatchNorm): with comm, in training, mean, var and m
 *  are computed over a channel's elements on all ranks. Ranks may have
 *  different numbers of elements, and x may be empty on some.
 *
 *   - Each rank computes the statistics of its x. One all_gather of
 *     3 c + 1 float32 values sends them to all ranks, and each rank joins them
 *     in one order. Nothing cancels. Its tag is "batch_norm" with eps and
 *     momentum.
 *   - mean, rstd and running statistics therefore have the same bits on every
 *     rank, in every run and with every transport.
 *   - All ranks must call it in the same place among their collectives, with
 *     the same c, eps, momentum and population_variance. A different c, eps or
 *     momentum (in 6 digits) or another collective ends the group, with
 *     an error that names both calls (comm.h). population_variance is not
 *     compared. With NCCL nothing is compared (nccl.h).
 *   - One value per channel on a rank is legal, if there are two ranks or more.
 *     If all ranks together have one, var is 0, and running_var moves towards
 *     0.
 *   - A NaN on one rank makes its channel NaN on all ranks.
 *   - A group of one rank calls no collective and has the bits of comm = NULL.
 *   - comm must be on the queue's device. The caller owns it; on a tape it must
 *     live until the backward pass.
 *   - The rules of comm.h hold, for this call and its backward. Results can be
 *     read only after ssq_queue_sync, also on cpu. With NCCL a call may wait
 *     for the other ranks: ranks of one process then need a thread each.
 *
 *  @return
 *   - SSQ_ERR_INVALID  axis, eps, momentum, a shape or the activation is not
 *                      valid; x has one value per channel in training, for
 *                      example [1, c] (without comm, or with one rank); only
 *                      one of the running statistics is set; training is false
 *                      and there are none; comm is on another device; comm has
 *                      two ranks or more, its transport is not nccl, and a
 *                      graph is being captured or the caller captures its
 *                      stream (cuda.h)
 *   - SSQ_ERR_COMM     the group of ranks has ended; or as ssq_comm_status
 *   After SSQ_ERR_NOMEM or SSQ_ERR_UNSUPPORTED with comm the collective may
 *   have been counted. Do not repeat the call: destroy comm and create a new
 *   group.
 *  @note Running statistics move in every training call, also in a step that a
 *        scaler then skips, because the scaler decides after the backward pass.
 *        An Inf or a NaN in x makes the running statistics of its channel NaN
 *        (running_mean perhaps Inf) for good. Both are as in torch. Class R.
 *        Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_batch_norm(ssq_queue *queue, const ssq_batch_norm_args *args);

typedef struct ssq_batch_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_batch_norm_backward_args));
    const ssq_tensor *x;            /**< in, float: the forward op's */
    const ssq_tensor *gamma;        /**< in, optional, as forward */
    const ssq_tensor *running_mean; /**< in, f32: [c]; read only if training is
                                         false and mean is NULL */
    const ssq_tensor *running_var;  /**< in, f32: [c], as running_mean */
    const ssq_tensor *mean;         /**< in, optional, f32: saved by the forward
                                         op; if NULL, rstd must be NULL too, and
                                         both are computed again */
    const ssq_tensor *rstd;         /**< in, optional, f32, as mean */
    const ssq_tensor *dy;           /**< in, float, x's shape */
    const ssq_tensor
        *dx; /**< out, optional, float, x's shape; may be dy or x */
    const ssq_tensor *dgamma;        /**< out, optional, f32: [c] */
    const ssq_tensor *dbeta;         /**< out, optional, f32: [c] */
    int axis SSQ_DEFAULT(1);         /**< the forward op's */
    bool training SSQ_DEFAULT(true); /**< the forward op's */
    double eps SSQ_DEFAULT(1e-5); /**< the forward op's; must be valid, but is
                                       not used if mean is set */
    ssq_comm *comm; /**< the forward op's; used only if training */
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

/** Compute the gradient of batch norm. With z = (x - mean) rstd:
 *
 *       training   dx = rstd gamma (dy - avg(dy) - z avg(dy z)), averages over
 *                  the channel
 *       otherwise  dx = rstd gamma dy
 *       dgamma = sum of dy z, dbeta = sum of dy, over the channel
 *
 *  Outputs are written, not accumulated. If x is empty, dgamma and dbeta are 0.
 *  Statistics that are computed again have the bits that the forward op would
 *  have saved. They need 8 bytes of scratch for each channel.
 *
 *  With comm, in training, the averages of dx are over the channel's elements
 *  on all ranks. dx is then the gradient of the sum of all ranks' losses, if
 *  each rank's dy is the gradient of its loss. dgamma and dbeta belong to this
 *  rank's x: their sum over the ranks is the whole gradient. mean and rstd must
 *  be the ones that the forward op has written.
 *
 *  If dx is set, one all_reduce of 2 c + 1 float32 values runs (tag
 *  "batch_norm_backward"), otherwise none. dx must therefore be set on all
 *  ranks or on none, and all ranks must call it in the same place among their
 *  collectives.
 *  @return
 *   - SSQ_ERR_INVALID  only one of mean and rstd is set; comm is set without
 *                      them, in training; dx, dgamma and dbeta are all NULL;
 *                      and the causes of ssq_batch_norm, but with mean no
 *                      running statistics are needed
 *   - SSQ_ERR_COMM     the group of ranks has ended; or as ssq_comm_status
 *  After an error with comm, dgamma and dbeta may have been written. After
 *  SSQ_ERR_NOMEM or SSQ_ERR_UNSUPPORTED do not repeat the call, as in
 *  ssq_batch_norm.
 *  @note Class R. Since 0.1. */
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
    double eps SSQ_DEFAULT(1e-5);  /**< 0 to the largest float32; used as
                                        float32 */
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

/** Compute group norm (Wu and He, 2018; torch.nn.functional.group_norm; ONNX
 *  GroupNormalization): y = activation((x - mean) rstd gamma + beta), with a
 *  mean and a biased variance for each example and group, and without running
 *  statistics.
 *
 *  groups = c is instance norm. groups = 1 is a layer norm over all dimensions
 *  but the batch, with one gamma per channel. A group of one element is legal:
 *  y is activation(beta). Groups without elements have NaN statistics. If eps
 *  is 0 and all elements of a group are equal, its y and dx are NaN, and so is
 *  dgamma of its channels.
 *  @return SSQ_ERR_INVALID  axis, eps, a shape or the activation is not valid;
 *                           groups does not divide c, for example 3 groups of
 *                           8 channels
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_group_norm(ssq_queue *queue, const ssq_group_norm_args *args);

typedef struct ssq_group_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_group_norm_backward_args));
    const ssq_tensor *x;      /**< in, float: the forward op's */
    const ssq_tensor *gamma;  /**< in, optional, as forward */
    const ssq_tensor *mean;   /**< in, optional, f32: saved by the forward op;
                                   if NULL, rstd must be NULL too, and both are
                                   computed again */
    const ssq_tensor *rstd;   /**< in, optional, f32, as mean */
    const ssq_tensor *dy;     /**< in, float, x's shape */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be dy
                                   or x */
    const ssq_tensor *dgamma; /**< out, optional, f32: [c] */
    const ssq_tensor *dbeta;  /**< out, optional, f32: [c] */
    int axis SSQ_DEFAULT(1);  /**< the forward op's */
    int64_t groups SSQ_DEFAULT(1); /**< the forward op's */
    double eps SSQ_DEFAULT(1e-5); /**< the forward op's; must be valid, but is
                                       not used if mean is set */
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

/** Compute the gradient of group norm. With z = (x - mean) rstd and g = dy
 *  gamma, averages over a group, and sums over a channel of all examples:
 *
 *       dx = rstd (g - avg(g) - z avg(g z)), dgamma = sum of dy z,
 *       dbeta = sum of dy
 *
 *  Outputs are written, not accumulated. If x is empty, dgamma and dbeta are 0.
 *  Statistics that are computed again have the bits that the forward op would
 *  have saved. They need 8 bytes of scratch for each example and group.
 *  @return SSQ_ERR_INVALID  only one of mean and rstd is set; dx, dgamma and
 *                           dbeta are all NULL; axis, eps or a shape is not
 *                           valid; groups does not divide c
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_group_norm_backward(
    ssq_queue *queue, const ssq_group_norm_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
