/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - which implementation of a product is fastest, and how fast a device
 * trains: timed once, kept.
 *
 * A device orders the implementations of a product by rules, which are
 * estimates. ssq_gemm_tune times them for one shape, and keeps the fastest in a
 * file of the cache (SSQ_CACHE, XDG_CACHE_HOME), beside the certificates. A
 * device reads that file when it opens, and never times by itself:
 *
 *     ssq_gemm_tune(queue, SSQ_GEMM(.a = a, .b = b, .d = d), &found);
 *     -- and in this process or the next, a device that is opened then --
 *     ssq_gemm(queue, SSQ_GEMM(.a = a, .b = b, .d = d));
 *
 * What a device has read holds until it is closed, so that the same file gives
 * the same choices, in every call and on every run. Without a file, or without
 * the shape in it, the rules choose, as they do for what is kept of another
 * driver, GPU, vendor's library or version of this one. The cache drops its
 * oldest files when it is full (SSQ_CACHE_MB), this one among them. Every
 * choice is one of those that ssq_gemm has anyway, within the same bounds;
 * which of them, and so the last bits of a result, may be another than by the
 * rules. To forget: ssq_gemm_tuning_clear, or `sesqui tune --clear`.
 *
 * What forces an implementation is asked first: SSQ_IMPL,
 * ssq_implementation_pin and SSQ_GEMM_REQUIRE_MATRIX_UNITS are obeyed as if
 * nothing were kept.
 *
 * How fast devices train decides how ranks share a batch where the devices are
 * not alike (ssq_comm_weights). `sesqui tune --train` times a step and keeps
 * the rate in files of the same cache. */
#ifndef SESQUI_TUNE_H
#define SESQUI_TUNE_H

#include <sesqui/device.h>
#include <sesqui/ops/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A product's shape, and what was found of it. Alignment, strides beyond the
 *  order of lines, alpha, c, bias and activation are no part of a shape: a
 *  choice holds whatever they are, where its implementation admits the call. */
typedef struct ssq_gemm_tuning {
    size_t struct_size;
    int64_t batch, m, n, k;         /**< as ssq_gemm_explain has them */
    ssq_dtype a, b, d;              /**< dtypes */
    bool trans_a, trans_b, trans_d; /**< lies column by column */
    bool tf32;               /**< SSQ_GEMM_ALLOW_TF32, or the device's option */
    char implementation[32]; /**< the fastest */
    uint64_t algorithm;  /**< of those that a vendor's library has for it, by a
                              name of ours; 0: it has not several */
    double seconds;      /**< of a product by it, the least that was measured */
    double rule_seconds; /**< of one as the rules choose */
    uint32_t tried;      /**< implementations and algorithms that were timed */
    bool kept;           /**< a file has it */
    bool f16_three; /**< SSQ_GEMM_ALLOW_F16_THREE, or the device's option */
} ssq_gemm_tuning;
#define SSQ_GEMM_TUNING_INIT                                                   \
    {                                                                          \
        sizeof(ssq_gemm_tuning), 0, 0, 0, 0, SSQ_F32, SSQ_F32, SSQ_F32, false, \
            false, false, false, "", 0, 0, 0, 0, false, false                  \
    }

/** Tune: time each implementation that admits these arguments, and each
 *  algorithm that it offers, and keep the fastest, in place of what was kept of
 *  the shape. What the rules choose stays where nothing else is at least 2 %
 *  faster. Takes about a tenth of a second for each, and at least three
 *  products. This device goes on as it was opened: those that are opened from
 *  now on use the choice.
 *  @param args  as of ssq_gemm (rank 2) or ssq_gemm_batched (rank 3 to 6). d is
 *         written by every product; where c is d, what it holds afterwards is
 *         of no use
 *  @param out   written only on success. out->kept is false where there is no
 *         cache to keep it in, where the cache could not be written, where 4096
 *         shapes are kept already, or on a device without a driver (reference,
 *         guard), which has one implementation
 *  @return as those two; SSQ_ERR_INVALID also for out NULL or its struct_size,
 *          for a d without elements, k or alpha of 0, in a capture, and where
 *          gemm is pinned: there is no choice then
 *  @note Synchronous. SSQ_GEMM_REQUIRE_MATRIX_UNITS is ignored. Two processes
 *        that tune at once keep both what they found. Not to be asked from a
 *        thread while another enqueues on the same queue: its work would be
 *        timed, too. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_tune(ssq_queue *queue,
                                                const ssq_gemm_args *args,
                                                ssq_gemm_tuning *out);

/** What the device has read when it was opened, one shape after the other.
 *  tried is 0.
 *  @param out  written only on success
 *  @return SSQ_ERR_NOT_FOUND i is past the last; SSQ_ERR_INVALID a NULL, or
 *          struct_size. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_tuning_get(const ssq_device *device,
                                                      size_t i,
                                                      ssq_gemm_tuning *out);

/** The file that ssq_gemm_tune writes for this device, whether it is there or
 *  not; it stays as long as the device. "" for NULL, and where nothing can be
 *  kept. Since 0.1. */
SSQ_API const char *ssq_gemm_tuning_path(const ssq_device *device);

/** Forget: remove that file. This device goes on as it was opened.
 *  @return SSQ_ERR_INVALID device NULL; SSQ_ERR_IO the file is there and
 *          cannot be removed; SSQ_OK also where there is none. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_tuning_clear(ssq_device *device);

/** Keep how fast this device trains, in place of what was kept: for this kind
 *  of device with its driver, this version of the library and, of cpu, as many
 *  threads as the device has. `sesqui tune --train` does it.
 *  @param dtype  SSQ_F32, SSQ_F16 or SSQ_BF16: in which a policy computes
 *  @param rate   steps a second, of one step that is the same on all devices
 *                whose rates are compared: only their ratios are used. Finite,
 *                above 0; or 0, to forget what is kept
 *  @return SSQ_ERR_INVALID device is NULL, dtype, rate; SSQ_ERR_DEVICE a
 *          device of a parent of fork; SSQ_ERR_IO there is no cache, or it
 *          cannot be written
 *  @note Synchronous; thread-safe, and safe against other processes. The
 *        cache's oldest files go first when it is full (SSQ_CACHE_MB). Since
 *        0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_training_rate_keep(ssq_device *device,
                                                         ssq_dtype dtype,
                                                         double rate);

/** What is kept, as the file has it now: one that cannot be read counts as
 *  none.
 *  @param rate  written only on success
 *  @return SSQ_ERR_INVALID a NULL, dtype; SSQ_ERR_DEVICE a device of a parent
 *          of fork; SSQ_ERR_NOT_FOUND nothing is, of this device, driver,
 *          version and number of threads: the text has the command that
 *          measures it. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_training_rate_get(const ssq_device *device, ssq_dtype dtype, double *rate);

#ifdef __cplusplus
}
#endif

#endif
