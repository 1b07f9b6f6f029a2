/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the core's objects and functions, for op and amp code. */
#ifndef LIB_CORE_CORE_H
#define LIB_CORE_CORE_H

#include <pthread.h>

#include "lib/certify/certificate.h"
#include "lib/core/module/backend.h"
#include "lib/core/module/data.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fork.h"
#include "lib/core/base/fpenv.h"
#include "lib/core/base/object.h"
#include "lib/core/base/view.h"

struct pool;
struct progress;
struct fallback_reason;
struct tunings;

/* Order of locks: queues_lock, then a queue's lock or the pool's. Except for a
 * fork, a thread holds the lock of at most one queue. It must not release an
 * object under a queue's lock. */
struct ssq_device {
    struct object object; /* queues, buffers, events and graphs hold it */
    const struct backend *backend;
    struct backend_device *impl;    /* the backend's part; owned */
    ssq_device_props props;         /* constant once the device is open */
    ssq_device_options options;     /* copied from the caller */
    struct certificate certificate; /* empty if the backend has no identify */
    struct tunings *tunings;        /* device/tuning.h; NULL: host code */
    struct pool *pool;              /* owned; NULL until it is created */
    pthread_mutex_t queues_lock;    /* guards queues and their capturers */
    ssq_queue *queues;              /* of this device, for the pool to retire */
    unsigned forks;                 /* fork_count() when it was opened */
    ssq_device *next_watched;       /* lib/core/device/fork_hold.c */
    atomic_uint captures;           /* in progress, of all threads */
    atomic_bool awaits; /* since ssq_semaphore_wait: work may wait for one */
    atomic_uint_fast64_t fallbacks; /* ops that ran on the host instead */
    struct fallback_reason *fallback_reason; /* reasons logged; queues_lock */
    char pins[OP_COUNT][32]; /* the implementation pinned for an op; "": none */
    unsigned pinned;         /* number of changes to pins */
};

/** Data attached to a tensor; drop() releases it. */
struct beside {
    void (*drop)(struct beside *);
};

struct ssq_tensor {
    struct object object;
    struct view view;      /* with a reference to the buffer */
    struct beside *packed; /* a struct packed; NULL: it is not packed */
};

/** Return the tensor's view with an access; an absent view if tensor is NULL.
 */
struct view tensor_view(const ssq_tensor *tensor, enum access access);

/** True in a child of the process that opened the device, unless the backend is
 *  host code that stays usable in a child. Do not use any part of a lost
 *  device: its driver's threads do not exist, and its locks may be held
 *  forever. */
static inline bool device_lost(const ssq_device *device)
{
    return device->forks != fork_count() && device->backend->fork_hold == NULL;
}
/** Return SSQ_OK, or SSQ_ERR_DEVICE for a lost device. The error's text begins
 *  with `what`, the name of the public function that was called. */
ssq_status device_check(const ssq_device *device, const char *what);
/** Write the name of number n, modulo their number, of the devices of the same
 *  backend that "auto" prefers as much as this one. */
void device_peer(const ssq_device *device, unsigned n, char *name,
                 size_t bytes);

/* ---- views and the buffers below them ---- */

/** True for the same memory, shape, strides and element size, so that an op may
 *  work in place. */
bool view_same_place(const struct view *a, const struct view *b);
/** True if the two views may share a byte. Compares ranges of bytes, and can
 *  separate column slices of one matrix. For other strided views that
 *  interleave, true may be wrong; false is always right. */
bool view_overlap(const struct view *a, const struct view *b);

/** The bytes of a view, from..to - 1 of a space. They also compare views of
 *  different buffers: a program may lend the same memory twice. */
struct byte_range {
    uintptr_t space;
    uint64_t from, to;
};
/** Return the range of a view. Ranges of views that overlap have the same space
 *  and overlap. The buffer must have memory. */
struct byte_range view_bytes(const struct view *v);

/** Create a list of n absent views, with one reference. Release it with
 *  object_put(&l->object). NULL without memory; the error's text is set and
 *  begins with `what`. */
struct view_list *list_create(size_t n, const char *what);
/** Set view i to v with an access; adds a reference to its buffer. */
void list_set(struct view_list *list, size_t i, const struct view *v,
              enum access access);

/* ---- queue ---- */

/** Enqueue an op: choose an implementation, and submit or record the op. Every
 *  op comes here. The caller must drop work on zero elements. The op is copied.
 *  All views must be of the queue's device. */
ssq_status queue_enqueue(ssq_queue *queue, struct op *op);
/** Begin and end a call of several ops, which run all or none. Between begin
 *  and end, ops are checked and kept; end hands all of them to the device. st
 *  is the status of the caller so far. If it is an error, end drops the ops and
 *  returns st. In a capture, end keeps the ops in the graph or removes them.
 *  Calls may be nested. Do not call a sync or ssq_tensor_read() inside. Scratch
 *  that was created inside may be released inside. An op that falls back to the
 *  host runs at its call. */
ssq_status queue_bundle_begin(ssq_queue *queue);
ssq_status queue_bundle_end(ssq_queue *queue, ssq_status st);
/** Return the number of commands in the capture, or 0 without a capture. A call
 *  of several ops asks first, and calls capture_cut() with this number if it
 *  fails: the later commands are removed. Use this where a bundle cannot be
 *  used, because the call runs a hook or needs other ranks. capture_cut()
 *  returns false, and does nothing, without a capture. */
size_t capture_length(const ssq_queue *queue);
bool capture_cut(ssq_queue *queue, size_t length);
/** Return SSQ_OK, or the sticky error. If queue is NULL, the error's text
 *  begins with op. */
ssq_status queue_check(const ssq_queue *queue, const char *op);
/** As ssq_queue_sync(), but without the reports of lib/core/queue/report.h. For
 *  waits inside the library. */
ssq_status queue_wait(ssq_queue *queue);
/** True while a graph, dry or not, is being captured on the queue. */
bool queue_capturing(const ssq_queue *queue);
/** Set *recorded if the program is recording the queue with its driver's
 *  functions, to run the work later. The caller must not hold the queue's lock.
 */
ssq_status queue_recorded(ssq_queue *queue, bool *recorded);
/** SSQ_ERR_INVALID if work of the queue is recorded in either way. The queue's
 *  lock as in queue_recorded(). */
ssq_status queue_check_runs(ssq_queue *queue, const char *what);

/** Get the progress of a queue, for an object that may outlive the queue: the
 *  progress does not hold it. Returns one reference; release it with
 *  progress_put(), which allows NULL. */
struct progress *queue_progress(ssq_queue *queue);
void progress_put(struct progress *progress);
/** Return the number of commands enqueued so far, without captured ones. */
uint64_t queue_position(ssq_queue *queue);
/** True if the first `position` commands are finished. Never waits. */
bool progress_reached(struct progress *progress, uint64_t position);

/** Create a contiguous temporary. Call scratch_put() after the ops that use it
 *  are enqueued, because they hold it. Allowed in a capture. */
ssq_status scratch_get(ssq_queue *queue, ssq_dtype dtype, int rank,
                       const int64_t *shape, struct view *view);
void scratch_put(struct view *view);

/** Copy contiguous bytes between host memory and a view, asynchronously. host
 *  must stay valid until the copy is done. queue_upload_now() copies the bytes
 *  into the op during the call, so they may be on the caller's stack. It
 *  therefore accepts at most UPLOAD_INLINE bytes. */
ssq_status queue_upload(ssq_queue *queue, const struct view *dst,
                        const void *host, uint64_t bytes);
ssq_status queue_upload_now(ssq_queue *queue, const struct view *dst,
                            const void *bytes_at_call, uint64_t bytes);
/** As queue_upload_now(), into scratch that was created for this call and is
 *  written once. The bytes may arrive before work enqueued earlier has run. */
ssq_status queue_upload_scratch(ssq_queue *queue, const struct view *dst,
                                const void *bytes_at_call, uint64_t bytes);
ssq_status queue_download(ssq_queue *queue, const struct view *src, void *host,
                          uint64_t bytes);

/** Return the raw element for value in a dtype, converted as by ssq_fill().
 *  Call it between fpenv_enter() and fpenv_leave(). */
uint32_t value_bits(double value, ssq_dtype dtype);

/** Enqueue y = value, as ssq_fill(). y may have no elements. */
ssq_status enqueue_fill(ssq_queue *queue, const struct view *y, double value);

/** Enqueue y = x, a copy or a cast. The views must have the same shape, and may
 *  have no elements. */
ssq_status enqueue_copy(ssq_queue *queue, const struct view *x,
                        const struct view *y);

/** Release the objects that finished work holds, on all queues of the device.
 *  If wait is set, wait for all work first. */
void device_retire(ssq_device *device, bool wait);

/** Create a buffer from the pool. */
ssq_status buffer_create(ssq_device *device, uint64_t bytes,
                         ssq_buffer **buffer);
/** The same in two steps: create a buffer without memory, then allocate it. */
ssq_status buffer_declare(ssq_device *device, uint64_t bytes,
                          ssq_buffer **buffer);
ssq_status buffer_place(ssq_buffer *buffer);
/** Set dtype, shape and contiguous strides of a view, and *bytes to its size.
 *  SSQ_ERR_INVALID: sizes that 64 bits cannot count. The bound leaves room for
 *  an element of 8 bytes, so that no later product of a size and a stride
 *  overflows.
 *  @param what  the call that error texts name */
ssq_status tensor_layout(const char *what, ssq_dtype dtype, int rank,
                         const int64_t *shape, struct view *view,
                         uint64_t *bytes);
/** ssq_tensor_from_buffer() with another name of the call in error texts.
 *  buffer and tensor are not NULL. */
ssq_status tensor_over(const char *what, ssq_buffer *buffer, ssq_dtype dtype,
                       int rank, const int64_t *shape, const int64_t *strides,
                       uint64_t offset, ssq_tensor **tensor);
/** Create a tensor from a view; adds a reference to the view's buffer. */
ssq_status tensor_wrap(const struct view *view, ssq_tensor **tensor);
/** Create a contiguous tensor for state of the library. Allowed in a capture.
 */
ssq_status tensor_create(ssq_device *device, ssq_dtype dtype, int rank,
                         const int64_t *shape, ssq_tensor **tensor);

/** Called when an op uses the tensor of a loss scale, for the scale's owner. */
struct scale_use {
    /* before the op is enqueued; may fail */
    ssq_status (*bind)(ssq_queue *queue, struct scale_use *use);
    /* after the op is enqueued */
    void (*bound)(struct scale_use *use);
};
/** Called by ops with the scale of a loss's gradient, which may be NULL, before
 *  and after they enqueue. The owner is found through the buffer, so that a
 *  loss needs no argument for it. */
ssq_status scale_bind(ssq_queue *queue, const ssq_tensor *dloss);
void scale_bound(const ssq_tensor *dloss);

/** The stages of a scaler or an optimizer. A call changes them when it
 *  enqueues. A capture runs nothing, so its end restores the stages from its
 *  start. A snapshot owns references; a snapshot of zeros is empty. */
struct stages {
    const char *what; /* for error texts: "scaler" */
    size_t bytes;     /* of a snapshot */
    ssq_status (*save)(struct object *owner, void *snapshot);
    void (*restore)(struct object *owner, const void *snapshot);
    void (*drop)(void *snapshot);
    /* return the stage as a number. If it differs between the start and the end
     * of a capture, the graph contains half a step and must not be launched
     * repeatedly */
    int (*number)(const void *snapshot);
    /* optional: called before a launch. Return SSQ_ERR_INVALID if a graph whose
     * capture went from begin to end must not run at the present stage */
    ssq_status (*ready)(struct object *owner, const void *begin,
                        const void *end);
    /* optional: called after each launch of a graph whose capture went from
     * begin to end. Enqueues work that cannot be captured */
    void (*launched)(ssq_queue *queue, struct object *owner, const void *begin,
                     const void *end);
};
/** Save the stages of owner for a capture. Must be called before a call changes
 *  them. Does nothing outside a capture. */
ssq_status capture_watch(ssq_queue *queue, struct object *owner,
                         const struct stages *stages);

/** Return SSQ_ERR_INVALID if this thread captures a graph on the device: memory
 *  created now would not belong to the graph. Captures of other threads do not
 *  matter. */
ssq_status capture_check(ssq_device *device, const char *what);

/* ---- argument checks shared by lib/op: text begins with the op's name ---- */

/** Check that queue and args are not NULL, that the struct_size of args is
 *  `want`, and that the queue has no sticky error. */
ssq_status check_call(const ssq_queue *queue, const void *args, size_t want,
                      const char *op);
#define CHECK_CALL(QUEUE, ARGS, OP) check_call(QUEUE, ARGS, sizeof(*(ARGS)), OP)
/** Check a required operand: not NULL, of the queue's device. what: "x". */
ssq_status check_operand(const ssq_queue *queue, const ssq_tensor *tensor,
                         const char *op, const char *what);
/** Check an optional operand in the same way; NULL is allowed. */
ssq_status check_optional(const ssq_queue *queue, const ssq_tensor *tensor,
                          const char *op, const char *what);
/** Check an output: as check_operand(), and no element appears twice. */
ssq_status check_output(const ssq_queue *queue, const ssq_tensor *tensor,
                        const char *op, const char *what);
/** Check that the dtype is in a set of bits DTYPE_BIT(SSQ_F32) | ...: */
#define DTYPE_BIT(D) (1u << (D))
#define DTYPES_FLOAT                                                           \
    (DTYPE_BIT(SSQ_F32) | DTYPE_BIT(SSQ_F16) | DTYPE_BIT(SSQ_BF16))
#define DTYPES_ALL (DTYPES_FLOAT | DTYPE_BIT(SSQ_I32) | DTYPE_BIT(SSQ_U8))
ssq_status check_dtype(const ssq_tensor *tensor, unsigned dtypes,
                       const char *op, const char *what);
/** Check for equal rank and sizes; strides, dtypes and memory may differ. */
ssq_status check_same_shape(const ssq_tensor *a, const char *a_what,
                            const ssq_tensor *b, const char *b_what,
                            const char *op);
/** Check that out and in do not overlap. If in_place is set, they may also be
 *  exactly the same elements. */
ssq_status check_alias(const ssq_tensor *out, const char *out_what,
                       const ssq_tensor *in, const char *in_what, bool in_place,
                       const char *op);
/** Set *result to the axis counted from the front. A negative axis counts from
 *  the end. */
ssq_status check_axis(int axis, int rank, const char *op, int *result);

#endif
