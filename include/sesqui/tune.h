/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - time the implementations of a matmul, and keep the fastest; keep how
 * fast a device trains.
 *
 *     ssq_gemm_tuning found = SSQ_GEMM_TUNING_INIT;
 *     ssq_gemm_tune(queue, SSQ_GEMM(.a = a, .b = b, .d = d), &found);
 *     ..                   later, on a device that is opened after that call
 *     ssq_gemm(queue, SSQ_GEMM(.a = a, .b = b, .d = d));    uses the fastest
 *
 * Tunings
 *
 * By default a device chooses the implementation of a matmul by rules, which
 * are estimates. ssq_gemm_tune times all implementations for one shape, and
 * keeps the fastest in a file of the cache. The cache is $XDG_CACHE_HOME/sesqui
 * or ~/.cache/sesqui. It is off with SSQ_CACHE=0 in the environment, and if
 * neither XDG_CACHE_HOME nor HOME is an absolute path.
 *
 *  - A device reads the file when it is opened, and never times by itself. Its
 *    choices do not change until it is closed.
 *  - The rules choose if the file is missing or damaged, or does not contain
 *    the shape. They also choose if the file was written for another driver,
 *    GPU or processor, or another version of cuBLASLt or of this library.
 *  - The error bounds of ssq_gemm hold for every choice. The last bits of a
 *    result may differ between choices.
 *  - The cache removes its oldest files when it is larger than SSQ_CACHE_MB
 *    (in MiB; 256 by default), also this file.
 *  - SSQ_IMPL and ssq_implementation_pin override a tuning. A call with
 *    SSQ_GEMM_REQUIRE_MATRIX_UNITS ignores a tuning without matrix units.
 *
 * Training rates
 *
 * If the devices of a group are not equally fast, ranks can share a batch by
 * their training rates (ssq_comm_weights). `sesqui tune --train` measures a
 * rate, and keeps it with ssq_training_rate_keep. Rates are in the same cache.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_TUNE_H
#define SESQUI_TUNE_H

#include <sesqui/device.h>
#include <sesqui/ops/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The shape of a matmul, and the result of tuning it. Alignment, leading
 *  dimensions, alpha, beta, c, bias, activation and packing of b (pack.h) are
 *  not part of the shape. A tuning is used for all of them, if its
 *  implementation supports the call. */
typedef struct ssq_gemm_tuning {
    size_t struct_size;
    int64_t batch, m, n, k;         /**< as in ssq_gemm_explanation */
    ssq_dtype a, b, d;              /**< dtypes */
    bool trans_a, trans_b, trans_d; /**< op(a), op(b) or d is column-major */
    bool tf32;               /**< the flag SSQ_GEMM_ALLOW_TF32 or the device's
                                  option is set; only if a and b are f32 */
    char implementation[32]; /**< the fastest, as in ssq_gemm_explanation */
    uint64_t algorithm;  /**< the library's number for one of several algorithms
                              of a vendor library; 0: there is only one */
    double seconds;      /**< of one matmul: the least time that was measured */
    double rule_seconds; /**< the same for the rules' choice; equal to seconds
                              if that could not run */
    uint32_t tried;      /**< implementations and algorithms that were timed */
    bool kept;           /**< the file contains this result */
    bool f16_three; /**< the flag SSQ_GEMM_ALLOW_F16_THREE or the device's
                         option is set; only if a and b are f16 */
} ssq_gemm_tuning;
#define SSQ_GEMM_TUNING_INIT                                                   \
    {                                                                          \
        sizeof(ssq_gemm_tuning), 0, 0, 0, 0, SSQ_F32, SSQ_F32, SSQ_F32, false, \
            false, false, false, "", 0, 0, 0, 0, false, false                  \
    }

/** Time each implementation that supports these arguments, with each of its
 *  algorithms, and keep the fastest. It replaces the tuning of the same shape.
 *  The rules' choice is kept unless another one is at least 2 % faster.
 *
 *  Each candidate takes about 0.06 seconds, or the time of five matmuls if that
 *  is longer. Its first run may also compile kernels. One that is more than
 *  four times as slow as the best runs twice. Devices that are open, this one
 *  included, do not use the result.
 *  @param args  as of ssq_gemm (rank 2) or ssq_gemm_batched (rank 3 to 6). Each
 *               matmul writes d. If c is d, its values are lost. The flag
 *               SSQ_GEMM_REQUIRE_MATRIX_UNITS is ignored.
 *  @param out   in: struct_size; out: the rest, written only on success.
 *               out->kept is false, and the call succeeds, if
 *                - the cache is off, was off when the device was opened, or
 *                  cannot be written
 *                - another process locks the cache for five seconds
 *                - memory is too short to read or write the file
 *                - 4096 other shapes are kept
 *                - the device is reference or guard, which keep nothing
 *  @return
 *   - SSQ_ERR_INVALID      as ssq_gemm and ssq_gemm_batched; d has no elements;
 *                          k or alpha is 0; gemm is pinned, for example by
 *                          SSQ_IMPL=gemm:tiled; a graph is being captured on
 *                          the queue, or the caller captures its stream
 *                          (cuda.h)
 *   - SSQ_ERR_UNSUPPORTED  no implementation can run it: the host is not tried
 *                          (host_fallback). An operand is larger than
 *                          ssq_device_props.binding_bytes, or has 2^31 or more
 *                          elements: ssq_gemm would split it.
 *   - the queue's error
 *   After an error no tuning has changed, but d may have been written.
 *  @sync waits for all work of the queue, and for each round of matmuls
 *  @threads object Other threads should not use the device or the processor
 *           meanwhile: their work makes the times longer. Several processes may
 *           tune at the same time: all results are kept.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_tune(ssq_queue *queue,
                                                const ssq_gemm_args *args,
                                                ssq_gemm_tuning *out);

/** Return tuning i that the device read when it was opened. For example, loop
 *  over i until the result is SSQ_ERR_NOT_FOUND. Also usable in a child of
 *  fork.
 *  @param out  in: struct_size; out: the rest, written only on success. tried
 *              is 0, and kept is true.
 *  @return SSQ_ERR_NOT_FOUND  i is not less than the number of tunings
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_tuning_get(const ssq_device *device,
                                                      size_t i,
                                                      ssq_gemm_tuning *out);

/** Return the path of the file that ssq_gemm_tune writes for this device. All
 *  devices of the same model and driver have one file. It need not exist.
 *  @return owned by the device, valid until it is closed; "" if the cache
 *          was off when it was opened, if it is reference or guard, or for NULL
 *  @note Since 0.1. */
SSQ_API const char *ssq_gemm_tuning_path(const ssq_device *device);

/** Remove the file of ssq_gemm_tuning_path, as `sesqui tune --clear` does.
 *  It is searched in the cache's folder that the environment names now. Devices
 *  that are open keep the tunings that they have read. If the file does not
 *  exist, ssq_gemm_tuning_path is "" or the cache is off now, the call succeeds
 *  and removes nothing. Also usable in a child of fork.
 *  @return SSQ_ERR_IO  the file exists and cannot be removed, or was not
 *                      written by the library; the cache's folder is not safe
 *                      to use (a warning has been logged); another process
 *                      locks the cache for five seconds
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_tuning_clear(ssq_device *device);

/** Keep the training rate of this device, as `sesqui tune --train` does. It
 *  replaces the rate of the same dtype, kind of device, driver and version of
 *  the library; of cpu also of the same number of threads. For example, a rate
 *  of 4 threads is not used with 8.
 *  @param dtype  SSQ_F32, SSQ_F16 or SSQ_BF16: the dtype in which a policy
 *                computes
 *  @param rate   training steps a second, above 0 and finite. Only ratios of
 *                rates are used: measure the same step on all devices that are
 *                compared. 0 removes the rate.
 *  @return
 *   - SSQ_ERR_INVALID  dtype is not one of the three; rate is negative,
 *                      infinite or NaN
 *   - SSQ_ERR_IO       the cache is off or cannot be written; another process
 *                      locks it for five seconds
 *  @threads any Several processes may also call it at the same time.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_training_rate_keep(ssq_device *device,
                                                         ssq_dtype dtype,
                                                         double rate);

/** Return the training rate that is kept for this device. The file is read by
 *  each call; a damaged one counts as missing, and is logged.
 *  @param dtype  as ssq_training_rate_keep
 *  @param rate   out, written only on success
 *  @return
 *   - SSQ_ERR_INVALID    dtype is not one of the three
 *   - SSQ_ERR_NOT_FOUND  no rate is kept, or the cache is off. The message has
 *                        the command that measures it.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_training_rate_get(const ssq_device *device, ssq_dtype dtype, double *rate);

#ifdef __cplusplus
}
#endif

#endif
