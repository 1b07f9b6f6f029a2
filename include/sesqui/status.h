/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - status codes, error texts, and two hooks of the process: the log
 * and the host allocator.
 *
 *     ssq_device *device = NULL;
 *     if (ssq_device_open("auto", NULL, &device) != SSQ_OK)
 *         return fail(ssq_last_error());
 *     ..
 *     ssq_device_close(&device);
 *
 * ssq_allocator_set must come before the first object is made. ssq_log_set may
 * be called at any time.
 *
 * Every function that can fail returns ssq_status. The compiler warns if the
 * status is not used. Results are written through the last parameters, and only
 * if the call returns SSQ_OK. ssq_last_error returns the text of this thread's
 * last failure. It names the values that were refused.
 *
 * The library never aborts, exits or prints. Exception: if the environment has
 * SSQ_VERBOSE and no log callback is set, log lines go to standard error. A
 * driver can still end the process (device.h).
 *
 * A process with set-user-ID, set-group-ID or file capabilities ignores the
 * variables of the environment that these headers name.
 *
 * Rules of every call
 *
 * The other headers state only where a call differs.
 *
 *  (a) A call returns SSQ_ERR_INVALID if an argument that is not optional is
 *      NULL, if a struct_size is not the sizeof of its struct, or if objects
 *      belong to different devices.
 *  (b) It returns SSQ_ERR_NOMEM if host memory or device memory runs out.
 *  (c) It returns SSQ_ERR_DEVICE if the device or its driver fails. So does
 *      each call in a child of fork on a device that the child cannot use.
 *  (d) After work on a queue has failed, every later call on that queue returns
 *      the status and the text of this failure. The queue cannot be repaired:
 *      destroy it. The outputs of the failed work are undefined.
 *
 *  - Errors: a failed call has not changed its arguments, the device or the
 *    queue, unless its comment says what has changed.
 *  - Ownership: ssq_x_create(.., &x) makes an object that the caller owns. The
 *    caller must release it with ssq_x_destroy(&x), which sets x to NULL and
 *    cannot fail.
 *  - Lifetimes: structs, texts and lists are read during the call. The caller
 *    may then change or free them, unless the comment says otherwise.
 *  - struct_size: initialize every struct with its SSQ_..._INIT, which sets the
 *    field. For example, a struct of zeros is refused. The two structs of
 *    allocators have no such macro: set the field.
 *
 * These calls differ:
 *
 *  - from (a): destroy and close functions and ssq_device_trim accept NULL and
 *    do nothing. Functions that return a value and not a status accept NULL,
 *    too, and return 0, -1, NULL, "" or a default.
 *  - from (a): the calls that open a device over the caller's own handles
 *    return SSQ_ERR_NOT_FOUND if the backend does not list that device
 *    (cuda.h, opencl.h, vulkan.h).
 *  - from (b): ssq_device_open returns SSQ_ERR_NOT_FOUND if memory is too short
 *    to load the driver. ssq_graph_end returns SSQ_OK if memory is too short
 *    for the driver's form of the graph: launches are slower then.
 *  - from (c): calls that use only host memory also work in a child. Those in
 *    device.h and tensor.h are ssq_device_props_get, ssq_device_verdict_get,
 *    ssq_implementation_name, ssq_implementation_pin, ssq_tensor_from_buffer,
 *    ssq_tensor_desc_get and the views. In other headers such calls may work
 *    there, too. Rely on it only if the comment says so, for example of
 *    ssq_gemm_tuning_get. Destroying frees what it can and calls no driver.
 *  - from (b): on vulkan the queue has failed if the driver had no memory for a
 *    submission, or for a kernel that it compiled on another thread: later
 *    calls return SSQ_ERR_NOMEM, too.
 *  - from (d): ssq_queue_destroy and ssq_queue_device do not report the error.
 *    ssq_event_query, ssq_event_sync, ssq_event_elapsed and ssq_queue_wait also
 *    report the error of the queue on which the event was recorded.
 *  - ssq_queue_sync returns some errors only once: see there.
 *
 * Marks
 *
 * The head comment of a header ends with the marks of its functions. A mark in
 * the comment of a function replaces the header's mark for this function.
 *
 * The mark "sync" has one of these classes, and perhaps an explanation:
 *
 *  - host: the call does nothing on the device.
 *  - async: it enqueues work and returns; the work may run later. On devices
 *    that are not asynchronous (ssq_device_props) it has run on return, unless
 *    a collective is pending on the queue (comm.h). The call waits for earlier
 *    work if the driver accepts no more work, or if device memory is short
 *    (ssq_buffer_create).
 *  - waits: it waits for the device. The explanation says for which work, and
 *    when.
 *
 * The mark "threads" has one of these classes:
 *
 *  - any: threads may call it at the same time, also with the same objects.
 *  - object: threads may call it at the same time if they do not use the same
 *    object. Otherwise the caller must lock. For example, two threads may each
 *    enqueue on a queue of one device, but not on the same queue. Devices, and
 *    tensors that are operands, may be shared in any case.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_STATUS_H
#define SESQUI_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SSQ_API __attribute__((visibility("default")))
#define SSQ_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SSQ_API
#define SSQ_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call. The values never change. Since 0.1. */
typedef enum ssq_status {
    SSQ_OK = 0,              /**< done, or enqueued */
    SSQ_ERR_INVALID = 1,     /**< the arguments break the contract */
    SSQ_ERR_UNSUPPORTED = 2, /**< legal, but not on this device or build */
    SSQ_ERR_NOMEM = 3,       /**< host or device memory is exhausted */
    SSQ_ERR_DEVICE = 4,      /**< the device or its driver failed, or cannot be
                                  used in this child of fork (device.h) */
    SSQ_ERR_NOT_FOUND = 5,   /**< no such device, preset, name or index */
    SSQ_ERR_NOT_READY = 6,   /**< not finished yet: only from queries */
    SSQ_ERR_SCALE = 7,       /**< the loss scale reached its minimum, or too
                                  many steps in a row were skipped */
    SSQ_ERR_IO = 8,          /**< a file could not be read or written */
    SSQ_ERR_COMM = 9         /**< another rank has ended, timed out, or made a
                                  different call (comm.h) */
} ssq_status;

/** Return the name of a status, for example "SSQ_ERR_INVALID".
 *  @return "unknown status" for any other number; never NULL. Owned by the
 *          library, valid for good
 *  @note Since 0.1. */
SSQ_API const char *ssq_status_name(ssq_status status);

/** Return the text of this thread's last failed call, or "" if none has failed.
 *  Read it directly after the failure. A later call may change the text even if
 *  it succeeds, for example ssq_device_open("auto") if it passes over a device.
 *  @return never NULL; owned by the library, valid until the thread ends. Copy
 *          the text to keep it.
 *  @note Since 0.1. */
SSQ_API const char *ssq_last_error(void);

/** Set this thread's error text, in a callback that fails on purpose. For
 *  example, in a hook of a trainer:
 *
 *      return ssq_error_set(SSQ_ERR_INVALID, "my hook: the loss is NaN");
 *
 *  @param status  if it is SSQ_OK, the text does not change
 *  @param text    copied, and cut after 1023 bytes; NULL means ""
 *  @return status, unchanged
 *  @note Since 0.1. */
SSQ_API ssq_status ssq_error_set(ssq_status status, const char *text);

/** Return the version of the library that is loaded, for example "0.1.0". Owned
 *  by the library, valid for good. Since 0.1. */
SSQ_API const char *ssq_version(void);

/** Severity of a log line. */
typedef enum ssq_log_level {
    SSQ_LOG_ERROR = 0,
    SSQ_LOG_WARNING = 1,
    SSQ_LOG_INFO = 2,
    SSQ_LOG_DEBUG = 3
} ssq_log_level;

/** Receive one log line of at most 1023 bytes. The library adds no newline; a
 *  driver's message in the line may contain some. The text is valid until the
 *  callback returns.
 *
 *  The library calls the callback on the caller's threads or on internal ones,
 *  also on several at the same time, and may hold locks meanwhile. The callback
 *  must not call the library, except the functions of this header other than
 *  ssq_allocator_set. For example, ssq_device_count would wait for itself. */
typedef void (*ssq_log_fn)(void *user, ssq_log_level level, const char *text);

/** Set the log callback of the process. It receives the lines of all levels and
 *  topics. The call waits until the previous callback has returned on all
 *  threads: afterwards it and its user data may be freed. Inside a callback
 *  this function does not wait, and the previous callback may still run.
 *  @param fn    NULL restores the default: no output, or standard error for
 *               the topics that SSQ_VERBOSE lists. For example,
 *               SSQ_VERBOSE=device,dispatch. The topics are autocast, autograd,
 *               cache, checkpoint, cuda, device, dispatch, graph, opencl, tune
 *               and vulkan; "all" is every topic.
 *  @param user  passed to fn; owned by the caller, must live until another
 *               call has replaced fn
 *  @note Cannot fail. Since 0.1. */
SSQ_API void ssq_log_set(ssq_log_fn fn, void *user);

/** Callbacks for the host memory of the library. */
typedef struct ssq_allocator {
    size_t struct_size; /**< sizeof(ssq_allocator) */
    /** Return a block of at least `bytes` bytes, aligned for any type, or NULL.
     *  bytes is never 0. The block need not be zeroed. */
    void *(*alloc)(void *user, size_t bytes);
    /** Free a block that alloc returned. p is never NULL. */
    void (*free)(void *user, void *p);
    void *user; /**< passed to both */
} ssq_allocator;

/** Use the caller's allocator for the library's own objects in host memory. Not
 *  covered: drivers, the C library, buffers of cpu, reference and guard, the
 *  working memory of ops on cpu, and one block for each loaded driver, which
 *  lives as long as the process.
 *
 *  The library calls the callbacks on the caller's threads or on internal ones,
 *  but only one at a time. They must not call the library. They and their user
 *  data must live until another call has replaced them.
 *  @param allocator  copied; NULL restores malloc and free. With malloc, the
 *                    library keeps up to 8 MiB of freed blocks for later calls.
 *                    It frees them when its last object is destroyed.
 *  @return SSQ_ERR_INVALID  a callback is NULL; the library has host memory in
 *                           use. Objects exist, for example a device that is
 *                           open, or destroyed ones could not be freed: in a
 *                           child of fork, or after a collective over MPI or
 *                           NCCL has failed
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_allocator_set(const ssq_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif
