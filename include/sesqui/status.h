/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - how calls report failure, and the process-wide hooks: log and
 * memory.
 *
 * Error reporting in this API. Every function that can fail returns
 * ssq_status; the compiler warns when it is ignored. Results go through the
 * last parameter and are written only when SSQ_OK is returned. A failed call
 * leaves its arguments, the device and the queue as they were, unless its
 * comment says otherwise. ssq_last_error() is the text of this thread's last
 * failure; it names the values that were refused.
 *
 * x_create(.., &x) makes an object that the caller owns; x_destroy(&x) takes
 * NULL and a pointer to NULL, sets the pointer to NULL and cannot fail.
 *
 * The library never aborts, exits or prints, except that SSQ_VERBOSE in the
 * environment makes it write to standard error when no log callback is set. */
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

/** What a call answers. Values are fixed for good. Since 0.1. */
typedef enum ssq_status {
    SSQ_OK = 0,              /**< done, or enqueued */
    SSQ_ERR_INVALID = 1,     /**< the arguments break the contract */
    SSQ_ERR_UNSUPPORTED = 2, /**< legal, but not on this device or build */
    SSQ_ERR_NOMEM = 3,       /**< host or device memory is exhausted */
    SSQ_ERR_DEVICE = 4,      /**< the device or its driver failed, or is not
                                  in this child of fork (device.h) */
    SSQ_ERR_NOT_FOUND = 5,   /**< no such device, preset, name or index */
    SSQ_ERR_NOT_READY = 6,   /**< not finished yet: only from queries */
    SSQ_ERR_SCALE = 7,       /**< the loss scale hit its floor, or too many
                                  steps in a row were skipped */
    SSQ_ERR_IO = 8,          /**< a file could not be read or written */
    SSQ_ERR_COMM = 9         /**< another rank is gone, has not come in time,
                                  or has called something else (comm.h) */
} ssq_status;

/** The name of a status, "SSQ_ERR_INVALID"; never NULL. Since 0.1. */
SSQ_API const char *ssq_status_name(ssq_status status);

/** The text of this thread's last failed call; "" when none failed.
 *  @return never NULL; owned by the library, valid until this thread's next
 *          failing call. Since 0.1. */
SSQ_API const char *ssq_last_error(void);

/** Set this thread's last error text, for a callback that stops the call which
 *  runs it. For example, in a hook of a trainer:
 *
 *      return ssq_error_set(SSQ_ERR_INVALID, "my hook: the loss is NaN");
 *
 *  @param status  returned as it is; SSQ_OK leaves the text unchanged
 *  @param text    copied, at most 1023 bytes of it; NULL: ""
 *  @note any thread; needs no device. Since 0.1. */
SSQ_API ssq_status ssq_error_set(ssq_status status, const char *text);

/** The version of the library that is running, "0.1.0". Since 0.1. */
SSQ_API const char *ssq_version(void);

/** Severity of a log line. */
typedef enum ssq_log_level {
    SSQ_LOG_ERROR = 0,
    SSQ_LOG_WARNING = 1,
    SSQ_LOG_INFO = 2,
    SSQ_LOG_DEBUG = 3
} ssq_log_level;

/** Called with one line, without a newline. May be called from any thread
 *  that calls the library; must not call the library itself, but for
 *  ssq_log_set. */
typedef void (*ssq_log_fn)(void *user, ssq_log_level level, const char *text);

/** Set the process-wide log callback.
 *  @param fn    NULL restores the default: silence, or standard error for
 *               the topics in SSQ_VERBOSE (a comma list: dispatch, device,
 *               pool, autocast, autograd, all)
 *  @param user  handed to fn; must live until this call has replaced it
 *  @note Waits until the callback that it replaces has returned in all
 *        threads: then it and its user data are free to go. Called in a
 *        callback it does not wait, and the replaced one may still run.
 *        Thread-safe. Cannot fail. Since 0.1. */
SSQ_API void ssq_log_set(ssq_log_fn fn, void *user);

/** Host memory for the library's own objects. */
typedef struct ssq_allocator {
    size_t struct_size; /**< sizeof(ssq_allocator) */
    /** @return bytes bytes aligned for any type, or NULL. bytes > 0. */
    void *(*alloc)(void *user, size_t bytes);
    /** Free what alloc returned; p is never NULL. */
    void (*free)(void *user, void *p);
    void *user;
} ssq_allocator;

/** Use the caller's allocator for every host allocation of the library. Its
 *  callbacks are called from any thread that calls the library, one at a time,
 *  and must not call the library themselves. Drivers allocate by their own.
 *  @param allocator  copied; NULL restores malloc and free, of whose blocks
 *                    the library keeps up to 8 MiB for its next calls, until
 *                    its last object is gone
 *  @return SSQ_ERR_INVALID a callback is NULL, struct_size is wrong, or
 *          objects of the library are alive. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_allocator_set(const ssq_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif
