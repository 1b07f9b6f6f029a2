/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - all that the core sees of a backend and a backend of the core.
 *
 * A backend is one const struct backend. `reference` fills every op; others
 * leave out what they cannot do. Slots marked optional may be NULL. Functions
 * that return ssq_status set the error text with services->error_set before
 * they fail. The core serialises calls on one queue (whatever thread they come
 * from), and alloc and free on one device. */
#ifndef LIB_CORE_BACKEND_H
#define LIB_CORE_BACKEND_H

#include "lib/core/size.h"
#include "lib/op/ops.h"
#include "lib/plan/launch.h"

/** Raised when anything here changes, the structs of ops and launches included:
 *  a module reads them at fixed offsets, so one of another number is
 *  refused. */
#define SSQ_BACKEND_ABI 16

/** Opaque to the core, which only hands pointers around: each backend defines
 *  them for itself, and no two backends have to agree. */
struct backend_instance;
struct backend_device;
struct backend_queue;
struct backend_event;
struct backend_graph;

/** Memory of a caller's that is named by its address. */
struct native_span {
    uint64_t address, bytes;
};

/** Device memory as alloc gave it, at once. A backend appends members of its
 *  own by making this the first member of a larger struct. */
struct backend_mem {
    uint64_t bytes;
    void *host; /* where the host's processor works on it, or NULL */
};

/** Why an implementation refuses: filled by check, printed to users. */
struct why {
    char text[256];
};
/** Fill why (may be NULL) and return false: `return refuse(why, ..)`. */
bool refuse(struct why *why, const char *format, ...)
#if defined(__GNUC__) || defined(__clang__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* One typed implementation list per op: a wrong signature does not compile.
 * check is pure; NULL admits everything. run answers SSQ_ERR_UNSUPPORTED where
 * it finds out only then that it cannot: nothing is enqueued, and check refuses
 * the op from then on. last is pure and optional: true where the op's plan is
 * better, so that this one is only asked for after it, or by a pin. A list ends
 * with a NULL name. */
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

/** Columns of a panel, and elements along k that lie side by side. */
struct gemm_panels_form {
    uint32_t columns, pair;
};

/** The best-first lists of a backend. A list that is NULL means that the
 *  backend has no implementation of its own; a plan may still do the op. */
struct op_table {
#define X(NAME, ...) const struct NAME##_impl *NAME;
    SSQ_OPS(X)
#undef X
    /* optional: how implementation impl of gemm would do an op that it admits,
     * or with GEMM_BY_PLAN why no plan on this device uses matrix units; NULL:
     * without them, in float32 (lib/op/gemm/gemm.h) */
    void (*gemm_explain)(const struct backend_device *, const struct gemm_op *,
                         unsigned impl, struct gemm_explanation *);
    /* optional: the algorithms that implementation impl of gemm has for an op
     * that it admits, best first, at most GEMM_ALGORITHMS, and how many: as
     * gemm_op.algorithm names them */
    unsigned (*gemm_algorithms)(const struct backend_device *,
                                const struct gemm_op *, unsigned impl,
                                uint64_t *names);
    /* optional: products of two factors of this dtype read b faster from panels
     * of this form (gemm_op.panels); false: they do not */
    bool (*gemm_panels)(const struct backend_device *, ssq_dtype dtype,
                        struct gemm_panels_form *form);
};

/** Limits the core must respect. */
struct backend_limits {
    uint64_t slab_bytes;    /* of the pool; 0: one allocation per buffer */
    uint64_t binding_bytes; /* most bytes that one launch sees of a buffer */
    uint64_t memory_bytes;  /* of the device; 0 unknown */
    bool whole; /* the backend's own implementations are host code that counts
                   in 64 bits, so that binding_bytes does not limit the ops that
                   are BY_PLAN */
    /* The rest describes launches, and is 0 in a backend without kernels. */
    uint32_t group;       /* work-items in each; 1: the device is a processor,
                             where an item is best a loop over neighbours */
    uint32_t units;       /* groups that run at a time */
    uint32_t local_bytes; /* of memory that a group shares */
    uint32_t width;       /* float32s of the best vector of one item: 1..16 */
    /* Rounds of all its loops together after which an item silently leaves
     * them, as some drivers guard against endless loops; 0: there is no such
     * limit, as on processors. Plans use more groups then and divide what they
     * can, and the core refuses a plan that is still too long. */
    uint32_t iterations;
};

/** What a device's self-test found that kernels are compiled for: see
 *  lib/certify/certificate.h. */
struct findings {
    bool subnormals; /* of float32 are preserved */
    bool half_load;  /* NATIVE_F16 gives f16_load's bits */
    bool half_store; /* NATIVE_F16_BITS, f16_store's */
};

struct plan;
struct segment;

/** An op that was admitted: what a queue runs, or a graph records. The core
 *  keeps it and its buffers alive until completed() has passed it. */
struct command {
    struct op *op;
    unsigned impl;     /* index in the backend's list for op->id */
    struct plan *plan; /* the launches to do instead; NULL: run impl */
    /* A segment of a graph that the backend has recorded, which stands for
     * several commands: op is then the op of the first. NULL: this is one
     * command. */
    const struct segment *segment;
};

/** What the core lends to a module: a module imports no symbol of ours. A
 *  process may hold several copies of the library (two plugins, two packages
 *  of an interpreter), and those that name the same file share one module in
 *  memory. So services belong to an instance, and through it to a device: a
 *  module has no variable that it writes. */
struct services {
    uint32_t abi; /* SSQ_BACKEND_ABI of the library */
    ssq_status (*error_set)(ssq_status status, const char *format, ...);
    const char *(*error_text)(void);
    void (*log_line)(ssq_log_level level, const char *topic, const char *format,
                     ...);
    void *(*mem_alloc)(size_t bytes);
    void (*mem_free)(void *p);
    /* the environment: see lib/core/env.h */
    const char *(*env_text)(const char *name);
    ssq_status (*env_number)(const char *name, uint64_t least, uint64_t most,
                             uint64_t *value);
    ssq_status (*env_flag)(const char *name, bool *value);
    /* may code be loaded from this file? see lib/core/module_file.h */
    bool (*file_safe)(const char *path, struct why *why);
};

/** A backend. All of it is constant, so that it may lie in a module that
 *  several copies of the library share. */
struct backend {
    uint32_t abi;     /* SSQ_BACKEND_ABI that it was compiled with */
    const char *name; /* in device names, SSQ_IMPL, and of the module's file */
    int preference;   /* "auto" takes the highest; <= 0 never */
    /* optional: of device i, where they differ; no more than preference */
    int (*preference_of)(const struct backend_instance *instance, unsigned i);
    bool single; /* one device, opened as "name" and not "name:0" */

    /* bytes of a struct backend_instance; 0: there is none, and NULL is handed
     * over instead */
    size_t instance_bytes;

    /* device */
    /* optional: an instance for a copy of the library, in memory that is zeroed
     * and stays; services stay, too */
    ssq_status (*init)(struct backend_instance *instance,
                       const struct services *services);
    /* how many devices; 0 with a reason. Once per instance, before the rest */
    unsigned (*count)(struct backend_instance *instance, struct why *reason);
    void (*describe)(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes);
    ssq_status (*open)(struct backend_instance *instance, unsigned i,
                       struct backend_device **device);
    void (*close)(struct backend_device *device);
    /* optional, both or none: what a child of fork may go on with. Keep other
     * threads out of the device while the process is copied, and let them in,
     * in the parent and in the child. Without them a device is lost to a
     * child, where nothing of it is called any more: a driver's threads are
     * not there, and what they held is held for ever */
    void (*fork_hold)(struct backend_device *device);
    void (*fork_let_go)(struct backend_device *device);
    void (*props)(const struct backend_device *device, ssq_device_props *props);
    void (*limits)(const struct backend_device *device,
                   struct backend_limits *limits);

    /* memory; contents undefined, aligned to props.alignment */
    ssq_status (*alloc)(struct backend_device *device, uint64_t bytes,
                        struct backend_mem **mem);
    void (*free)(struct backend_device *device, struct backend_mem *mem);
    /* optional: give back what the driver keeps for later allocations */
    void (*trim)(struct backend_device *device);

    /* queue */
    ssq_status (*queue_open)(struct backend_device *device,
                             struct backend_queue **queue);
    void (*queue_close)(struct backend_queue *queue); /* waits */
    ssq_status (*queue_sync)(struct backend_queue *queue);
    /* optional: take a command for later; NULL: impl->run is called at once */
    ssq_status (*submit)(struct backend_queue *queue, const struct command *c);
    /* optional, with submit or asynchronous impls: commands finished so far;
     * NULL: a command is finished when run or submit returned. Unlike the
     * rest, it may be asked from any thread at any time */
    uint64_t (*completed)(struct backend_queue *queue);
    /* optional: make what n commands take of the host's memory, transfers above
     * all, before the first is handed over: a failure here refuses them all,
     * a later one loses the queue */
    ssq_status (*reserve)(struct backend_queue *queue,
                          const struct command *commands, size_t n);
    /* optional, without submit: behind the launches and impls of a command,
     * so that completed counts commands. Failures show at the next sync */
    void (*command_end)(struct backend_queue *queue);
    /* optional: is a program recording what this queue over a stream of its own
     * is given, to run it later and perhaps again? completed passes commands
     * that are recorded; the core keeps them as long as the queue. Calls that a
     * recording cannot have answer SSQ_ERR_INVALID, and leave it whole */
    ssq_status (*captured)(struct backend_queue *queue, bool *captured);
    /* optional: call fn, on this thread, with what the queue is to its driver,
     * whose device is current meanwhile: a library enqueues there by itself.
     * Answers what fn does, which loses nothing but fn's own work. The events
     * of such a backend may be queried from any thread */
    ssq_status (*call)(struct backend_queue *queue,
                       ssq_status (*fn)(void *user, void *native), void *user);

    /* optional; there if kernels are: the words that tell one driver's
     * arithmetic from another's: model, driver, its version, and what kernels
     * are compiled with. What is found out about it is kept under them */
    void (*identify)(const struct backend_device *device, char *text,
                     size_t bytes);
    /* kernels; optional, all or none: plans run where they are there */
    /* once, before props and before any kernel but the self-test's */
    void (*certified)(struct backend_device *device,
                      const struct findings *findings);
    /* a kernel in a variant, made ready (compiled) at the first call; it stays
     * as long as the device. From any thread. SSQ_ERR_DEVICE with the
     * compiler's text, SSQ_ERR_NOMEM */
    ssq_status (*kernel_get)(struct backend_device *device,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code);
    /* enqueue; the launch may be gone when this returns */
    ssq_status (*launch)(struct backend_queue *queue,
                         const struct launch *launch);

    /* graphs; optional, all or none: else each launch is handed over again */
    /* record launches, which outlive the graph, for queues of the device;
     * SSQ_ERR_UNSUPPORTED where the device has no such thing */
    ssq_status (*graph_create)(struct backend_queue *queue,
                               const struct launch *const *launches, size_t n,
                               struct backend_graph **graph);
    ssq_status (*graph_launch)(struct backend_queue *queue,
                               struct backend_graph *graph);
    void (*graph_free)(struct backend_graph *graph); /* not under way */

    /* Events: marks in a queue. query answers SSQ_ERR_NOT_READY without
     * waiting, sync waits, and elapsed may answer SSQ_ERR_UNSUPPORTED where a
     * queue takes no times. record, wait, query and sync are calls on the
     * queue: the core holds its lock. */
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

    /* a caller's own objects; optional: all, none, or open_native alone.
     * handles are what include/sesqui/<name>.h says; each is retained while it
     * is in use */
    ssq_status (*open_native)(struct backend_instance *instance,
                              const void *const *handles, unsigned *i,
                              struct backend_device **device);
    ssq_status (*queue_native)(struct backend_device *device,
                               const void *handle,
                               struct backend_queue **queue);
    /* handle of a caller's memory that is no object but an address: a struct
     * native_span */
    ssq_status (*import)(struct backend_device *device, const void *handle,
                         struct backend_mem **mem);
    void *(*mem_handle)(const struct backend_mem *mem);
    /* optional: fill what include/sesqui/<name>.h tells of a device, whose size
     * has been checked */
    void (*info)(const struct backend_device *device, void *info);
    bool mem_addressed; /* that is an address, which can be added to */
    /* optional: take memory from a caller's allocator, as the backend's public
     * header has it, from now on; NULL: no more */
    void (*allocator_set)(struct backend_device *device, const void *allocator);

    const struct op_table *ops;
};

/** What a module exports, as `ssq_backend_module`. */
typedef const struct backend *(*backend_module_fn)(uint32_t abi);

/** A buffer: a range of device memory. */
struct ssq_buffer {
    struct object object;
    ssq_device *device;
    struct backend_mem *mem; /* NULL when bytes is 0 */
    uint64_t offset;         /* bytes, in mem */
    uint64_t bytes;          /* as asked for */
    struct slab *slab;       /* NULL: mem is the buffer's own */
    bool lent; /* mem is a caller's, who may have lent it more than once */
    struct ssq_scaler *scaler; /* whose words these are; NULL: nobody's */
    _Atomic(struct witness *) witnesses; /* of writes: lib/core/witness.h */
};

/** Where a host backend finds an operand's first element; NULL for an absent
 *  operand, and in a buffer of 0 bytes, which has no memory. */
static inline void *view_host(const struct view *v)
{
    if (v->buffer == NULL || v->buffer->mem == NULL)
        return NULL;
    return (char *)v->buffer->mem->host + v->buffer->offset + v->offset;
}

/** Run one implementation of op->id: host backends call it for a command. */
ssq_status command_run(const struct op_table *table,
                       struct backend_queue *queue, const struct command *c);

#endif
