/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - all that the core sees of a backend and a backend of the core.
 *
 * A backend is one const struct backend. `reference` implements every op; other
 * backends omit the ops that they cannot do. Slots marked optional may be NULL.
 * A function that returns ssq_status must set the error text with
 * services->error_set before it fails. Calls may come from any thread. The core
 * serialises calls on one queue, and calls of alloc and free on one device. */
#ifndef LIB_CORE_MODULE_BACKEND_H
#define LIB_CORE_MODULE_BACKEND_H

#include "lib/core/base/size.h"
#include "lib/core/module/ops.h"
#include "lib/core/module/launch.h"

/** Increase this when anything in this file changes, or a struct of an op or a
 *  launch. A module reads these structs at fixed offsets, so a module with
 *  another number is refused. */
#define SSQ_BACKEND_ABI 22

/** Opaque to the core, which only passes pointers to them. Each backend defines
 *  them for itself; two backends need not agree. */
struct backend_instance;
struct backend_device;
struct backend_queue;
struct backend_semaphore;
struct backend_event;
struct backend_graph;

/** A caller's memory that is identified by its address, not by an object. */
struct native_span {
    uint64_t address, bytes;
};

/** Device memory from one call of alloc. A backend can append members by making
 *  this the first member of a larger struct. */
struct backend_mem {
    uint64_t bytes;
    void *host; /* its address for host code, or NULL */
};

/** Why an implementation refuses an op. Set by check, shown to users. */
struct why {
    char text[256];
};
/** Set why (may be NULL) and return false: `return refuse(why, ..)`. */
bool refuse(struct why *why, const char *format, ...)
#if defined(__GNUC__) || defined(__clang__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* One typed implementation list per op: a wrong signature does not compile. A
 * list ends with a NULL name.
 * - check is pure. NULL accepts every op.
 * - run returns SSQ_ERR_UNSUPPORTED if it finds out only then that it cannot do
 *   the op. It must not have enqueued anything, and check must refuse the op
 *   from then on.
 * - last is optional and pure. True means that the op's plan is better: the
 *   implementation is then tried only after all others, or if it is pinned. */
#define X(NAME, ...)                                                           \
    struct NAME##_impl {                                                       \
        const char *name;                                                      \
        bool (*check)(const struct backend_device *, const struct NAME##_op *, \
                      struct why *);                                           \
        ssq_status (*run)(struct backend_queue *, const struct NAME##_op *);   \
        bool (*last)(const struct backend_device *, const struct NAME##_op *); \
    };
SSQ_OPS(X)
#undef X

struct gemm_explanation;

/** The form of packed panels: columns of a panel, and elements along k that are
 *  adjacent in memory. */
struct gemm_panels_form {
    uint32_t columns, pair;
};

/** The lists of a backend, each best first. NULL: the backend has no
 *  implementation of the op; a plan may still do it. */
struct op_table {
#define X(NAME, ...) const struct NAME##_impl *NAME;
    SSQ_OPS(X)
#undef X
    /* optional: describe how implementation impl of gemm would do an op that it
     * accepts. If impl is GEMM_BY_PLAN, say why no plan on this device uses
     * matrix units. NULL: gemm uses float32 and no matrix units
     * (lib/op/gemm/gemm.h) */
    void (*gemm_explain)(const struct backend_device *, const struct gemm_op *,
                         unsigned impl, struct gemm_explanation *);
    /* optional: set names to the algorithms that implementation impl of gemm
     * has for an op that it accepts. Returns their number, at most
     * GEMM_ALGORITHMS, best first. Names are values for gemm_op.algorithm */
    unsigned (*gemm_algorithms)(const struct backend_device *,
                                const struct gemm_op *, unsigned impl,
                                uint64_t *names);
    /* optional: true if a matmul of two factors of this dtype reads b faster
     * from panels (gemm_op.panels). Sets *form to their form */
    bool (*gemm_panels)(const struct backend_device *, ssq_dtype dtype,
                        struct gemm_panels_form *form);
};

/** Limits that the core must respect. */
struct backend_limits {
    uint64_t slab_bytes;    /* of the pool; 0: one allocation per buffer */
    uint64_t binding_bytes; /* most bytes of a buffer that one launch binds */
    uint64_t memory_bytes;  /* of the device; 0: unknown */
    bool whole; /* the backend's own implementations are host code that counts
                   in 64 bits, so binding_bytes does not limit BY_PLAN ops */
    /* The rest describes launches, and is 0 in a backend without kernels. */
    uint32_t group;       /* work-items per group; 1: the device is a CPU, on
                             which an item should loop over adjacent elements */
    uint32_t units;       /* groups that run at the same time */
    uint32_t local_bytes; /* memory that the items of a group share */
    uint32_t width;       /* best vector length of an item, in float32: 1..16 */
    /* Iterations of all its loops together after which an item silently leaves
     * them; 0: no limit, for example on a CPU. Some drivers guard against
     * endless loops in this way. If a limit exists, plans use more groups and
     * divide work. The core refuses a plan that still exceeds it. */
    uint32_t iterations;
};

/** True if the device is a processor: see `group`. */
static inline bool limits_processor(const struct backend_limits *limits)
{
    return limits->group == 1;
}

/** Results of a device's self-test that decide how kernels are compiled: see
 *  lib/certify/certificate.h. */
struct findings {
    bool subnormals; /* float32 subnormals are preserved */
    bool half_load;  /* NATIVE_F16 returns the bits of f16_load */
    bool half_store; /* NATIVE_F16_BITS returns the bits of f16_store */
};

struct plan;
struct segment;

/** An accepted op, which a queue runs or a graph records. The core keeps it and
 *  its buffers alive until completed() has passed it. */
struct command {
    struct op *op;
    unsigned impl;     /* index in the backend's list for op->id */
    struct plan *plan; /* its launches do the op; NULL: run impl */
    /* A segment of a graph, which the backend has recorded in place of several
     * commands; op is then the op of the first. NULL: this is one command. */
    const struct segment *segment;
    bool reported; /* its writes were already reported to observers */
};

/** Functions that the core lends to a module, because a module imports no
 *  symbol of the library. A process may contain several copies of the library,
 *  for example in two plugins or two packages of an interpreter. Copies that
 *  load the same file share one module in memory. Services therefore belong to
 *  an instance, and through it to a device. A module must not have a variable
 *  that it writes. */
struct services {
    uint32_t abi; /* SSQ_BACKEND_ABI of the library */
    ssq_status (*error_set)(ssq_status status, const char *format, ...);
    const char *(*error_text)(void);
    void (*log_line)(ssq_log_level level, const char *topic, const char *format,
                     ...);
    void *(*mem_alloc)(size_t bytes);
    void (*mem_free)(void *p);
    /* the environment: see lib/core/base/env.h */
    const char *(*env_text)(const char *name);
    ssq_status (*env_number)(const char *name, uint64_t least, uint64_t most,
                             uint64_t *value);
    ssq_status (*env_flag)(const char *name, bool *value);
    /* true if code may be loaded from a file: see lib/core/module/module_file.h
     * */
    bool (*file_safe)(const char *path, struct why *why);
};

/** A backend. All of it is constant, because it may be in a module that several
 *  copies of the library share. */
struct backend {
    uint32_t abi;     /* SSQ_BACKEND_ABI that it was compiled with */
    const char *name; /* in device names, SSQ_IMPL and the module's file name */
    int preference;   /* "auto" chooses the highest; <= 0: never */
    /* optional: the preference of device i, if devices differ; at most
     * preference */
    int (*preference_of)(const struct backend_instance *instance, unsigned i);
    bool single; /* one device, opened as "name" and not "name:0" */

    /* size of a struct backend_instance; 0: the backend has none and gets NULL
     */
    size_t instance_bytes;

    /* device */
    /* optional: initialise an instance for a copy of the library. Its memory is
     * zeroed. The memory and the services stay until the process ends */
    ssq_status (*init)(struct backend_instance *instance,
                       const struct services *services);
    /* return the number of devices; if 0, set reason. Called once per instance,
     * before the functions below */
    unsigned (*count)(struct backend_instance *instance, struct why *reason);
    void (*describe)(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes);
    ssq_status (*open)(struct backend_instance *instance, unsigned i,
                       struct backend_device **device);
    void (*close)(struct backend_device *device);
    /* optional, both or none: the device stays usable in a child of fork.
     * fork_hold must keep other threads out of the device while the process is
     * copied. fork_let_go lets them in again, in the parent and in the child.
     * Without these functions a device is lost to the child, which calls no
     * function of it: a driver's threads do not exist there, and locks that
     * they held stay locked */
    void (*fork_hold)(struct backend_device *device);
    void (*fork_let_go)(struct backend_device *device);
    void (*props)(const struct backend_device *device, ssq_device_props *props);
    void (*limits)(const struct backend_device *device,
                   struct backend_limits *limits);

    /* memory; contents undefined, aligned to props.alignment */
    ssq_status (*alloc)(struct backend_device *device, uint64_t bytes,
                        struct backend_mem **mem);
    void (*free)(struct backend_device *device, struct backend_mem *mem);
    /* optional: free memory that the driver keeps for later allocations */
    void (*trim)(struct backend_device *device);

    /* queue */
    ssq_status (*queue_open)(struct backend_device *device,
                             struct backend_queue **queue);
    void (*queue_close)(struct backend_queue *queue); /* waits */
    ssq_status (*queue_sync)(struct backend_queue *queue);
    /* optional: queue a command to run later; NULL: impl->run is called now */
    ssq_status (*submit)(struct backend_queue *queue, const struct command *c);
    /* optional, with submit or asynchronous impls: return the number of
     * commands finished so far. NULL: a command is finished when run or submit
     * returns. Unlike the other functions, any thread may call this at any time
     */
    uint64_t (*completed)(struct backend_queue *queue);
    /* with completed: return the error of a command that has failed, with its
     * text, and SSQ_OK if none is known to have failed. Does not wait */
    ssq_status (*failure)(struct backend_queue *queue);
    /* optional: allocate the host memory that n commands need, mainly for
     * transfers, before the first is submitted. If this fails, all of them
     * are refused; a failure later would lose the queue */
    ssq_status (*reserve)(struct backend_queue *queue,
                          const struct command *commands, size_t n);
    /* optional, without submit: called after the launches and impls of a
     * command, so that completed counts commands. A failure shows at the next
     * sync */
    void (*command_end)(struct backend_queue *queue);
    /* optional: set *captured if the program is recording its stream, which
     * this queue uses. It may run the recording later, and repeatedly.
     * completed counts recorded commands as finished, and the core keeps them
     * as long as the queue. A call that cannot be recorded must return
     * SSQ_ERR_INVALID and leave the recording intact */
    ssq_status (*captured)(struct backend_queue *queue, bool *captured);
    /* optional: call fn on this thread with the queue's native handle, so that
     * another library can enqueue there. The driver's device is current during
     * the call. Returns the status of fn; after a failure of fn the queue is
     * still usable. Any thread may query the events of such a backend */
    ssq_status (*call)(struct backend_queue *queue,
                       ssq_status (*fn)(void *user, void *native), void *user);

    /* optional, but required with kernels: words that identify the arithmetic
     * of a driver: model, driver, driver version, and how kernels are compiled.
     * Findings about the arithmetic are stored under these words */
    void (*identify)(const struct backend_device *device, char *text,
                     size_t bytes);
    /* kernels; optional, all or none: plans need them */
    /* pass the findings. Called once, before props and before any kernel except
     * the self-test's */
    void (*certified)(struct backend_device *device,
                      const struct findings *findings);
    /* get a variant of a kernel, which the first call compiles. It lives as
     * long as the device. Any thread may call this. Returns SSQ_ERR_DEVICE with
     * the compiler's text, or SSQ_ERR_NOMEM. After certified() it may return
     * before the kernel is compiled; if that fails, the queues that launch it
     * have failed */
    ssq_status (*kernel_get)(struct backend_device *device,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code);
    /* enqueue; the launch may be freed after this returns */
    ssq_status (*launch)(struct backend_queue *queue,
                         const struct launch *launch);

    /* graphs; optional, all or none. NULL: each launch is submitted again */
    /* record launches, which outlive the graph, for queues of the device;
     * SSQ_ERR_UNSUPPORTED if the device has no graphs */
    ssq_status (*graph_create)(struct backend_queue *queue,
                               const struct launch *const *launches, size_t n,
                               struct backend_graph **graph);
    ssq_status (*graph_launch)(struct backend_queue *queue,
                               struct backend_graph *graph);
    void (*graph_free)(struct backend_graph *graph); /* not running */

    /* Completion events of a queue. query returns SSQ_ERR_NOT_READY without
     * waiting; sync waits. elapsed may return SSQ_ERR_UNSUPPORTED if a queue
     * records no times. record, wait, query and sync are calls on the queue:
     * the core holds its lock. */
    ssq_status (*event_open)(struct backend_device *device,
                             struct backend_event **event);
    void (*event_close)(struct backend_event *event);
    ssq_status (*event_record)(struct backend_event *event,
                               struct backend_queue *queue);
    ssq_status (*event_wait)(struct backend_queue *queue,
                             struct backend_event *event);
    ssq_status (*event_query)(struct backend_event *event);
    ssq_status (*event_sync)(struct backend_event *event);
    ssq_status (*event_elapsed)(struct backend_event *from,
                                struct backend_event *to, double *seconds);
    /* optional: the event, which was recorded on this queue, was reached.
     * completed must then count the commands before it. The core holds the
     * queue's lock */
    void (*event_reached)(struct backend_queue *queue,
                          struct backend_event *event);
    /* optional, both or none: timeline semaphores for other libraries. A
     * recorded event as one, which lives as long as the event; false: it has
     * none */
    bool (*event_semaphore)(struct backend_event *event, uint64_t *semaphore,
                            uint64_t *value);
    /* later work of the queue waits until the caller's semaphore reaches value,
     * and sees what was written before. Semaphore 0: nothing to wait for.
     * SSQ_ERR_UNSUPPORTED: the device has no timelines. The core holds the
     * queue's lock */
    ssq_status (*semaphore_wait)(struct backend_queue *queue,
                                 uint64_t semaphore, uint64_t value);

    /* memory and semaphores that devices share: include/sesqui/share.h.
     * mem_export is optional; a file is created. mem_import is optional; the
     * backend owns the file from the call on, also if it fails. The size is the
     * exported memory's */
    ssq_status (*mem_export)(struct backend_device *device, uint64_t bytes,
                             struct backend_mem **mem, int *fd, uint64_t *size);
    ssq_status (*mem_import)(struct backend_device *device, int fd,
                             uint64_t bytes, uint64_t size,
                             struct backend_mem **mem);
    /* optional: create one; fd NULL: it is not exported */
    ssq_status (*semaphore_open)(struct backend_device *device, int *fd,
                                 struct backend_semaphore **semaphore);
    /* optional, and then the next three also: as mem_import. signal and await
     * are calls on the queue: the core holds its lock */
    ssq_status (*semaphore_import)(struct backend_device *device, int fd,
                                   struct backend_semaphore **semaphore);
    void (*semaphore_close)(struct backend_device *device,
                            struct backend_semaphore *semaphore);
    ssq_status (*semaphore_signal)(struct backend_queue *queue,
                                   struct backend_semaphore *semaphore,
                                   uint64_t value);
    ssq_status (*semaphore_await)(struct backend_queue *queue,
                                  struct backend_semaphore *semaphore,
                                  uint64_t value);

    /* native objects of the caller; each is optional, but import needs
     * mem_handle. include/sesqui/<name>.h defines the handles. Each is retained
     * while it is in use */
    ssq_status (*open_native)(struct backend_instance *instance,
                              const void *const *handles, unsigned *i,
                              struct backend_device **device);
    ssq_status (*queue_native)(struct backend_device *device,
                               const void *handle,
                               struct backend_queue **queue);
    /* handle: an object, or a struct native_span for memory that is identified
     * by its address */
    ssq_status (*import)(struct backend_device *device, const void *handle,
                         struct backend_mem **mem);
    void *(*mem_handle)(const struct backend_mem *mem);
    /* optional: the same number for memories that are one native object, also
     * if it was imported twice; without it mem_handle is that number */
    uint64_t (*mem_identity)(const struct backend_mem *mem);
    /* optional: fill the struct about a device that include/sesqui/<name>.h
     * defines. The core has checked its size */
    void (*info)(const struct backend_device *device, void *info);
    /* optional: the number that the driver has for the device */
    int32_t (*ordinal)(const struct backend_device *device);
    bool mem_addressed; /* mem_handle returns an address, so that a caller can
                           add an offset to it */
    /* optional: from now on allocate memory from the caller's allocator, a
     * struct of the backend's public header; NULL: stop using one */
    void (*allocator_set)(struct backend_device *device, const void *allocator);

    const struct op_table *ops;
};

/** The type of `ssq_backend_module`, the function that a module exports. */
typedef const struct backend *(*backend_module_fn)(uint32_t abi);

/** A buffer: a range of device memory. */
struct ssq_buffer {
    struct object object;
    ssq_device *device;
    struct backend_mem *mem; /* NULL when bytes is 0 */
    uint64_t offset;         /* bytes, in mem */
    uint64_t bytes;          /* as requested */
    struct slab *slab;       /* NULL: mem belongs to this buffer alone */
    bool lent; /* mem belongs to the caller, which may import it repeatedly */
    void (*released)(void *user); /* called when a lent buffer is freed; NULL */
    void *user;                   /* passed to it */
    bool read_only;               /* the lender forbids writes */
    struct scale_use *use; /* of the scaler with its words here; or NULL */
    _Atomic(struct observer *) observers; /* of writes: queue/observer.h */
};

/** Return the address of an operand's first element, for host backends. NULL
 *  for an absent operand, and for a buffer of 0 bytes, which has no memory. */
static inline void *view_host(const struct view *v)
{
    if (v->buffer == NULL || v->buffer->mem == NULL)
        return NULL;
    return (char *)v->buffer->mem->host + v->buffer->offset + v->offset;
}

/** Run implementation c->impl of c->op->id. Host backends call this for a
 *  command. */
ssq_status command_run(const struct op_table *table,
                       struct backend_queue *queue, const struct command *c);

#endif
