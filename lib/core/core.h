/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the core's objects, and what op and amp code needs of them. */
#ifndef LIB_CORE_CORE_H
#define LIB_CORE_CORE_H

#include <pthread.h>

#include "lib/certify/certificate.h"
#include "lib/core/backend.h"
#include "lib/core/error.h"
#include "lib/core/fpenv.h"
#include "lib/core/object.h"
#include "lib/core/view.h"

struct pool;
struct progress;
struct fallback_seen;
struct tunings;

/* Order of locks: queues_lock, then a queue's lock or the pool's; never two
 * queues at once, and nothing is released under a queue's lock. */
struct ssq_device {
    struct object object; /* queues, buffers, events and graphs hold it */
    const struct backend *backend;
    struct backend_device *impl;    /* what the backend has of it; owned */
    ssq_device_props props;         /* constant once the device is open */
    ssq_device_options options;     /* the caller's, copied */
    struct certificate certificate; /* empty if the backend has no identify */
    struct tunings *tunings; /* lib/op/gemm/tuning.h; NULL: none can be kept */
    struct pool *pool;       /* owned; NULL until opening gets to it */
    pthread_mutex_t queues_lock; /* of queues, and of their capturers */
    ssq_queue *queues;           /* of this device, for the pool to retire */
    unsigned forks;              /* fork_count() when it was opened */
    ssq_device *next_watched;    /* lib/core/fork.c */
    atomic_uint captures;        /* under way on this device, by any thread */
    atomic_uint_fast64_t fallbacks;      /* ops that ran on the host instead */
    struct fallback_seen *fallback_seen; /* reasons logged; queues_lock */
    char pins[OP_COUNT][32]; /* the implementation that an op takes; "" any */
    unsigned pinned;         /* how often one of them was changed */
};

/** What somebody has made beside a tensor, and who lets go of it. */
struct beside {
    void (*drop)(struct beside *);
};

struct ssq_tensor {
    struct object object;
    struct view view;      /* holds the buffer */
    struct beside *packed; /* a struct packed; NULL: it is not packed */
};

/** The tensor's view with an access; an absent view for NULL. */
struct view tensor_view(const ssq_tensor *tensor, enum access access);

/** Forks between the process that first used the library and this one. */
unsigned fork_count(void);
/** True in a child of the process that opened the device, unless the backend is
 *  host code that goes on in children. Nothing of a lost device may be touched:
 *  its driver's threads are not there, and its locks may be held for ever. */
static inline bool device_lost(const ssq_device *device)
{
    return device->forks != fork_count() && device->backend->fork_hold == NULL;
}
/** SSQ_OK, or SSQ_ERR_DEVICE for a lost device. The error's text begins with
 *  what, the name of the public function that was called. */
ssq_status device_check(const ssq_device *device, const char *what);

/* ---- queue ---- */

/** Check, choose an implementation, run or record: what every op ends in.
 *  Work on zero elements must have been dropped by the caller. The op is
 *  copied. All views must be of the queue's device. */
ssq_status queue_enqueue(ssq_queue *queue, struct op *op);
/** A call of several ops is all or nothing: between begin and end ops are
 *  checked and kept, end hands all of them to the device. If st, what the
 *  caller found meanwhile, is an error, end drops them and answers st. In a
 *  capture they are recorded in the graph, or not. May be nested; no sync, no
 *  ssq_tensor_read inside. Scratch that is got inside may be put inside. */
ssq_status queue_bundle_begin(ssq_queue *queue);
ssq_status queue_bundle_end(ssq_queue *queue, ssq_status st);
/** SSQ_OK, or the sticky error. op names the caller for NULL's text. */
ssq_status queue_check(const ssq_queue *queue, const char *op);
/** ssq_queue_sync without the reports of lib/core/report.h: for waits within
 *  the library. */
ssq_status queue_wait(ssq_queue *queue);
/** True while a graph, dry or not, is being captured on the queue. */
bool queue_capturing(const ssq_queue *queue);
/** Is the caller recording the queue by means of its driver's, to run it later?
 *  Not to be asked with the queue's lock. */
ssq_status queue_recorded(ssq_queue *queue, bool *recorded);

/** What a queue has finished, for those who may outlive it: the queue is not
 *  held, only told of. One reference; progress_put(NULL) is allowed. */
struct progress *queue_progress(ssq_queue *queue);
void progress_put(struct progress *progress);
/** Commands enqueued so far, captures aside. */
uint64_t queue_position(ssq_queue *queue);
/** True if the first position commands are finished. Never waits. */
bool progress_reached(struct progress *progress, uint64_t position);

/** A contiguous temporary; release with scratch_put once the ops that use it
 *  are enqueued: they hold it. Allowed in a capture. */
ssq_status scratch_get(ssq_queue *queue, ssq_dtype dtype, int rank,
                       const int64_t *shape, struct view *view);
void scratch_put(struct view *view);

/** Copy contiguous bytes between host memory and a view, asynchronously: host
 *  must stay until the copy is done. queue_upload_now copies the bytes into the
 *  op at the call, so that they may be on the caller's stack, and therefore
 *  takes no more than UPLOAD_INLINE of them. */
#define UPLOAD_INLINE 512
ssq_status queue_upload(ssq_queue *queue, const struct view *dst,
                        const void *host, uint64_t bytes);
ssq_status queue_upload_now(ssq_queue *queue, const struct view *dst,
                            const void *bytes_at_call, uint64_t bytes);
/** The same, into scratch that was made for this and is written once, so that
 *  its bytes may be there before what was enqueued earlier has run. */
ssq_status queue_upload_scratch(ssq_queue *queue, const struct view *dst,
                                const void *bytes_at_call, uint64_t bytes);
ssq_status queue_download(ssq_queue *queue, const struct view *src, void *host,
                          uint64_t bytes);

/** Let go of what finished work on all queues of the device holds; wait for
 *  all of it first when asked. */
void device_retire(ssq_device *device, bool wait);

/** A buffer from the pool. */
ssq_status buffer_create(ssq_device *device, uint64_t bytes,
                         ssq_buffer **buffer);
/** The same in two halves: one without memory, and its memory. */
ssq_status buffer_note(ssq_device *device, uint64_t bytes, ssq_buffer **buffer);
ssq_status buffer_place(ssq_buffer *buffer);
/** A contiguous tensor for library-owned state: allowed in a capture. */
ssq_status tensor_create(ssq_device *device, ssq_dtype dtype, int rank,
                         const int64_t *shape, ssq_tensor **tensor);

/** The stages of a scaler or an optimizer, which calls move as they enqueue. A
 *  capture runs nothing, so in the end they are what they were at its begin. A
 *  snapshot owns references; one of zeros is empty. */
struct stages {
    const char *what; /* for texts: "scaler" */
    size_t bytes;     /* of a snapshot */
    void (*save)(struct object *owner, void *snapshot);
    void (*restore)(struct object *owner, const void *snapshot);
    void (*drop)(void *snapshot);
    /* the stage as a number: a capture whose end has another one than its begin
     * holds half a step, which must not be launched again and again */
    int (*number)(const void *snapshot);
    /* optional: enqueues what cannot be captured, behind each launch of a graph
     * whose capture went from begin to end */
    void (*launched)(ssq_queue *queue, struct object *owner, const void *begin,
                     const void *end);
};
/** To be called before a call moves the stages of owner. */
ssq_status capture_watch(ssq_queue *queue, struct object *owner,
                         const struct stages *stages);

/** SSQ_ERR_INVALID when this thread captures a graph on the device: memory that
 *  it makes now would not be the graph's. Other threads' captures do not
 *  matter. */
ssq_status capture_check(ssq_device *device, const char *what);

/* ---- argument checks shared by lib/op: text begins with the op's name ---- */

/** queue != NULL, args != NULL, struct_size plausible, not sticky. */
ssq_status check_call(const ssq_queue *queue, const void *args, size_t want,
                      const char *op);
#define CHECK_CALL(QUEUE, ARGS, OP) check_call(QUEUE, ARGS, sizeof(*(ARGS)), OP)
/** A required operand: not NULL, of the queue's device. what: "x". */
ssq_status check_operand(const ssq_queue *queue, const ssq_tensor *tensor,
                         const char *op, const char *what);
/** The same for an optional one: NULL is fine. */
ssq_status check_optional(const ssq_queue *queue, const ssq_tensor *tensor,
                          const char *op, const char *what);
/** An output: as check_operand, and no element twice. */
ssq_status check_output(const ssq_queue *queue, const ssq_tensor *tensor,
                        const char *op, const char *what);
/** dtype is one of the OR-ed bits DTYPE_BIT(SSQ_F32) | ...: */
#define DTYPE_BIT(D) (1u << (D))
#define DTYPES_FLOAT                                                           \
    (DTYPE_BIT(SSQ_F32) | DTYPE_BIT(SSQ_F16) | DTYPE_BIT(SSQ_BF16))
#define DTYPES_ALL (DTYPES_FLOAT | DTYPE_BIT(SSQ_I32) | DTYPE_BIT(SSQ_U8))
ssq_status check_dtype(const ssq_tensor *tensor, unsigned dtypes,
                       const char *op, const char *what);
/** Equal rank and sizes; strides, dtypes and places may differ. */
ssq_status check_same_shape(const ssq_tensor *a, const char *a_what,
                            const ssq_tensor *b, const char *b_what,
                            const char *op);
/** out may be exactly in (when in_place), else they may not overlap. */
ssq_status check_alias(const ssq_tensor *out, const char *out_what,
                       const ssq_tensor *in, const char *in_what, bool in_place,
                       const char *op);
/** *result is axis counted from the front; a negative one counts from the
 *  end. */
ssq_status check_axis(int axis, int rank, const char *op, int *result);

#endif
