/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - devices, queues and events.
 *
 *     ssq_device_open("auto", NULL, &device);
 *     ssq_queue_create(device, NULL, &queue);
 *     ..                               enqueue ops on the queue
 *     ssq_queue_sync(queue);           their results may be read now
 *     ssq_queue_destroy(&queue);
 *     ssq_device_close(&device);
 *
 * A device is a processor that one backend has opened. A queue runs work on a
 * device in order. A call that takes a queue may return before its work has
 * run: read results on the host only after ssq_queue_sync or ssq_event_sync.
 * Work on two queues is unordered. Order it with an event:
 *
 *     ssq_event_record(event, one);    after the work that must come first
 *     ssq_queue_wait(two, event);      later work on `two` waits for it
 *
 * Threads. Threads may share a device. A queue must be used by one thread at a
 * time. For example, give each thread a queue, or lock around its calls.
 *
 * fork
 *
 * A driver does not survive in a child of fork.
 *
 *  - Calls on a device of cuda, opencl or vulkan that the parent opened return
 *    SSQ_ERR_DEVICE in the child; so do calls on its queues and other objects.
 *    The exceptions are in status.h. The child may destroy inherited objects:
 *    no driver is called.
 *  - The child cannot open a device of a driver that the parent had loaded: the
 *    call returns SSQ_ERR_DEVICE. "auto" does so, too, if such a driver is of
 *    cuda, vulkan or opencl and no better backend is left. It fails even if it
 *    would have chosen cpu, for example if the only OpenCL device is PoCL's
 *    processor. Open "cpu" by its name then, or set SSQ_DEVICE=cpu.
 *  - Devices of cpu, reference and guard keep working in the child. fork waits
 *    for other threads that are in the library, also until an op, a launch of a
 *    graph or a wait for a queue on such a device has ended.
 *  - The first call that lists or opens devices loads drivers. If several
 *    processes must use a driver, fork before that call.
 *  - Do not fork in a callback of the library.
 *  - vfork, posix_spawn and exec need no care.
 *
 * Broken drivers
 *
 * A broken driver can end the process that loads it or opens its device. For
 * example, PoCL calls abort() if it finds no linker. The library cannot prevent
 * that.
 *
 * If your program must not be ended, run `sesqui devices` once after an
 * installation or a new driver. That tool opens every device in a child process
 * first, and names a driver that ends the child. `sesqui certify --once` also
 * runs all tables of ops, on devices that have a driver and no verdict.
 *
 * SSQ_SKIP_BACKENDS in the environment keeps drivers from being loaded, for
 * example SSQ_SKIP_BACKENDS=opencl,vulkan. cpu, reference and guard have no
 * driver. If a device is opened by name, no driver of another backend is
 * loaded, also if no such device exists. For example, "cuda:9" loads the driver
 * of CUDA alone.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_DEVICE_H
#define SESQUI_DEVICE_H

#include <sesqui/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_device ssq_device;
typedef struct ssq_queue ssq_queue;
typedef struct ssq_event ssq_event;

/** Capabilities of a device for a 16-bit dtype; f16 and bf16 have separate
 *  bits. */
typedef enum ssq_capability {
    SSQ_CAP_STORAGE = 1,       /**< kernels load and store it */
    SSQ_CAP_ARITHMETIC = 2,    /**< native scalar or vector arithmetic; today
                                    no device has this bit */
    SSQ_CAP_MATRIX = 4,        /**< matrix units multiply it with float32
                                    accumulation (tensor cores, coopmat, AMX) */
    SSQ_CAP_STORAGE_EMULATED = 8,     /**< kernels may load and store it as
                                           16-bit integers; today every device
                                           has this bit */
    SSQ_CAP_ARITHMETIC_EMULATED = 16, /**< arithmetic is float32; today every
                                           device has this bit */
    SSQ_CAP_MATRIX_EMULATED = 32      /**< the driver reports matrix units, but
                                           other code is as fast; today no
                                           device has this bit */
} ssq_capability;

/** Whether float32 subnormals are preserved, as the device's self-test measured
 *  it. Some bf16 matmuls flush them anyway (sesqui/ops/gemm.h). */
typedef enum ssq_subnormals {
    SSQ_SUBNORMALS_PRESERVED = 0,
    SSQ_SUBNORMALS_FLUSHED = 1
} ssq_subnormals;

/** Properties of a device; written by ssq_device_props_get. */
typedef struct ssq_device_props {
    size_t struct_size;
    char name[32];          /**< as ssq_device_open takes it: "cuda:0" */
    char backend[16];       /**< for example "cuda" */
    char description[128];  /**< model and driver, in the vendor's words */
    char choice[512];       /**< why this device was opened, and for "auto" why
                                 devices that it tried, and other backends,
                                 were not; cut if it is too long */
    uint64_t memory_bytes;  /**< memory of the device in bytes; 0: unknown */
    uint64_t binding_bytes; /**< most bytes that one kernel argument can have.
                                 An op with a larger operand, or with one of
                                 2^31 or more elements, is split into windows.
                                 The results have the same bits, except
                                 batch norm statistics: these are merged from
                                 windows, within the same error bound. An op
                                 that cannot be split returns
                                 SSQ_ERR_UNSUPPORTED; the message has the
                                 operand, its bytes and this limit. */
    uint32_t alignment;     /**< bytes, of the start of every buffer that the
                                 library allocates; imported ones may have less
                                 (cuda.h) */
    uint32_t f16;           /**< SSQ_CAP_* bits */
    uint32_t bf16;          /**< SSQ_CAP_* bits */
    ssq_subnormals f32_subnormals;
    bool host_memory;       /**< the host's processor does the work; never on
                                 cuda */
    bool asynchronous;      /**< work may run after the call has returned */
    char refused[256];      /**< implementations of cpu and vulkan that were
                                 refused at the opening, and why; "" if none.
                                 The other backends only log them */
    char failed[256];       /**< primitives that failed the self-test, if the
                                 device was opened with `uncertified`; "" if
                                 none */
} ssq_device_props;
#define SSQ_DEVICE_PROPS_INIT                                                  \
    {                                                                          \
        sizeof(ssq_device_props), "", "", "", "", 0, 0, 0, 0, 0,               \
            SSQ_SUBNORMALS_PRESERVED, false, false, "", ""                     \
    }

/** Options of ssq_device_open. */
typedef struct ssq_device_options {
    size_t struct_size;
    /** Most bytes of device memory that the library may allocate for buffers,
     *  with unused parts of its slabs; 0: no limit. */
    uint64_t memory_limit;
    /** Run ops on the host if the device cannot run them. Each such op waits
     *  for the queue, and is counted (ssq_device_memory); each reason is logged
     *  once. Until it has ended, no other queue may write between the elements
     *  of a strided result. In a graph capture these ops return
     *  SSQ_ERR_UNSUPPORTED. An op with a pinned implementation is not run on
     *  the host. If false (the default), ops that the device cannot run return
     *  SSQ_ERR_UNSUPPORTED. */
    bool host_fallback;
    /** Open the device even if it fails its self-test; results may be wrong.
     *  SSQ_UNCERTIFIED=1 in the environment sets this for all devices. */
    bool uncertified;
    /** Allow TF32 for all f32 matmuls on this device, as if each call had
     *  SSQ_GEMM_ALLOW_TF32, also for the matmuls inside LSTM and GRU. */
    bool allow_tf32;
    /** The same for f16 matmuls and SSQ_GEMM_ALLOW_F16_THREE. */
    bool allow_f16_three;
} ssq_device_options;
#define SSQ_DEVICE_OPTIONS_INIT                                                \
    {                                                                          \
        sizeof(ssq_device_options), 0, false, false, false, false              \
    }

/** One entry of the list of devices. A backend without a device has an entry,
 *  too. */
typedef struct ssq_device_entry {
    size_t struct_size;
    char name[32];         /**< for example "reference" or "cuda:0" */
    char backend[16];
    char description[128];
    char reason[256];      /**< why it is not available. In the entry of a
                                backend's first device: which devices the
                                backend passed over, or "" */
    bool available;        /**< the backend lists the device. Opening it may
                                still fail, for example a GPU that is too old */
} ssq_device_entry;
#define SSQ_DEVICE_ENTRY_INIT                                                  \
    {                                                                          \
        sizeof(ssq_device_entry), "", "", "", "", false                        \
    }

/** Return the number of entries in the list of devices. The first call loads
 *  all drivers, which may take seconds. After that the list does not change,
 *  except in a child of fork: a driver that failed to load is not tried again.
 *  @note Since 0.1. */
SSQ_API size_t ssq_device_count(void);

/** Return entry i of the list of devices, best backend first. "auto" may open
 *  another one than entry 0, which can be a processor (choice in
 *  ssq_device_props). The first call loads all drivers.
 *  @param entry  in: struct_size; out: the rest
 *  @return SSQ_ERR_NOT_FOUND  i is not less than ssq_device_count()
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_device_list(size_t i,
                                                  ssq_device_entry *entry);

/** Open a device. The call may run the self-test, which compares the device's
 *  arithmetic bit by bit with the library's. That takes up to some seconds if a
 *  driver, its version or the library is new. The result is kept for this
 *  process, and on disk in the cache (tune.h).
 *
 *  "auto" opens the best device, in this order: a GPU by CUDA, Vulkan or
 *  OpenCL, other accelerators, cpu, the processor by OpenCL or Vulkan,
 *  reference. It passes over up to 16 devices that fail the self-test or that
 *  `sesqui certify` has found at fault, and says so in ssq_device_props.choice.
 *  It never chooses guard, or a GPU that is too old or in compute mode
 *  "prohibited".
 *
 *  Any other failure to open a device ends the search. For example, if a driver
 *  lists a GPU but cannot open it, the call fails, and does not open cpu. A
 *  driver that cannot be loaded, or that fails before it lists a device, does
 *  not end the search: "auto" opens another device, and
 *  ssq_device_props.choice has the reason.
 *  @param name     "auto", a backend (for example "opencl": its first device)
 *                  or a device ("opencl:1"). SSQ_DEVICE in the environment
 *                  replaces "auto".
 *  @param options  NULL: the defaults; copied
 *  @param device   out; owned by the caller; release it with
 *                  ssq_device_close()
 *  @return
 *   - SSQ_ERR_NOT_FOUND    no such device (the message lists the devices of the
 *                          backend, or why it has none, or all backends);
 *                          memory is too short to load the driver; SSQ_IMPL in
 *                          the environment is malformed, or names an op or
 *                          implementation that does not exist
 *   - SSQ_ERR_INVALID      a variable of the environment has a value that is
 *                          not allowed, for example SSQ_UNCERTIFIED=yes
 *   - SSQ_ERR_UNSUPPORTED  the device failed its self-test (the message names
 *                          the primitives) or cannot run it, is too old, or is
 *                          in compute mode "prohibited"; on cpu, SSQ_CPU_ISA
 *                          allows no instructions of this build (cpu.h)
 *   - SSQ_ERR_NOMEM        also: the process may not map as much as the driver
 *                          needs (RLIMIT_AS), or the disk of the driver's cache
 *                          is full. The driver might end the process there.
 *  @sync waits for the self-test, if it runs
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_open(const char *name, const ssq_device_options *options,
                ssq_device **device);

/** Release the caller's reference to a device, and set *device to NULL. Objects
 *  that were made on it, for example queues, tensors and graphs, hold it and
 *  stay usable. The device is closed when the last of them is destroyed. Never
 *  waits for queues.
 *  @param device  NULL, or a pointer to NULL: does nothing
 *  @threads object */
SSQ_API void ssq_device_close(ssq_device **device);

/** Return the properties of a device. They do not change while it is open.
 *  @param props  in: struct_size; out: the rest
 *  @return as every call; also usable in a child of fork
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_props_get(const ssq_device *device, ssq_device_props *props);

/** The result of running all tables of ops on a device. `sesqui certify` runs
 *  them in a separate process, and keeps the verdict. */
typedef struct ssq_verdict {
    size_t struct_size;
    bool passed;     /**< every case of every table passed */
    char text[4096]; /**< one line for each table; "": never run */
} ssq_verdict;
#define SSQ_VERDICT_INIT {sizeof(ssq_verdict), false, ""}

/** Return the verdict on the device, its driver and the library's version, as
 *  it was kept when the device was opened or by ssq_device_verdict_keep on this
 *  handle. All devices of the same model and driver have one verdict.
 *  @param verdict  in: struct_size; out: the rest
 *  @return as every call; also usable in a child of fork
 *  @threads any but not during ssq_device_verdict_keep on the same device
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_verdict_get(const ssq_device *device, ssq_verdict *verdict);

/** Keep a verdict on disk, with the result of the self-test. It is for every
 *  device of the same model and driver, for example also for a second GPU. From
 *  then on "auto" passes over them if `passed` is false, unless it opens with
 *  options.uncertified. Devices that are already open do not see the new
 *  verdict, except this handle.
 *  @param verdict  its text must be printable ASCII and newlines, and not empty
 *  @return
 *   - SSQ_ERR_INVALID      the text is empty, has other characters, or has no
 *                          NUL
 *   - SSQ_ERR_UNSUPPORTED  nothing is kept of this device (reference, guard);
 *                          or the cache is off or cannot be written: then this
 *                          process still uses the verdict
 *  @threads object No other thread may call this function or
 *           ssq_device_verdict_get on the device at the same time.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_verdict_keep(ssq_device *device, const ssq_verdict *verdict);

/** Device memory in use by the library, in bytes. */
typedef struct ssq_memory_info {
    size_t struct_size;
    uint64_t in_use;     /**< bytes of live buffers, padded to 256 */
    uint64_t reserved;   /**< bytes of all slabs, used or not */
    uint64_t peak;       /**< largest in_use since the opening */
    uint64_t buffers;    /**< number of live buffers that are not empty */
    uint64_t fallbacks;  /**< ops that ran on the host (host_fallback) */
} ssq_memory_info;
#define SSQ_MEMORY_INFO_INIT {sizeof(ssq_memory_info), 0, 0, 0, 0, 0}

/** Return how much device memory the library's buffers hold now, including
 *  scratch of work that has not been retired. Not counted, nor limited by
 *  options.memory_limit: imported and exported buffers, a queue's own memory
 *  (workspaces of matmuls on cuda, staging memory on vulkan), the working
 *  memory of ops on cpu, reference and guard, and kernels.
 *  @param info  in: struct_size; out: the rest
 *  @return as every call
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_memory(const ssq_device *device, ssq_memory_info *info);

/** Return slabs without a live buffer to the driver. Without this call they
 *  are kept for later buffers; a slab of a large buffer is kept only while all
 *  slabs together have about `peak` bytes or less. The library trims by itself
 *  before a call fails with SSQ_ERR_NOMEM.
 *
 *  First releases what finished work held. Blocks while another thread waits
 *  for a queue of the device, for example in ssq_queue_sync, and, if the device
 *  is not asynchronous, while another thread runs an op or launches a graph on
 *  one. A CUDA driver without memory pools may also wait for the device.
 *  @param device  NULL: does nothing */
SSQ_API void ssq_device_trim(ssq_device *device);

/** Options of a queue; there are none yet. */
typedef struct ssq_queue_options {
    size_t struct_size;
} ssq_queue_options;
#define SSQ_QUEUE_OPTIONS_INIT {sizeof(ssq_queue_options)}

/** Create a queue. It holds the device.
 *  @param options  NULL: the defaults
 *  @param queue    out; owned by the caller; release it with
 *                  ssq_queue_destroy()
 *  @return as every call
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_queue_create(ssq_device *device, const ssq_queue_options *options,
                 ssq_queue **queue);

/** Wait for the work of a queue, then release it. A capture on the queue is
 *  dropped. Errors of the work are not reported: call ssq_queue_sync first.
 *
 *  Tapes, trainers, batches and works of collectives hold their queue. They can
 *  still use it, and it is freed with the last of them. Graphs that were
 *  captured on it can be launched on other queues.
 *
 *  An event whose last record was on the queue can still be used. The memory of
 *  the queue is freed when all such events are destroyed, or recorded on other
 *  queues.
 *  @param queue  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync waits for all work of the queue, except in a child of fork, if it
 *        cannot use the device or a collective was pending at the fork, and
 *        while the caller captures the stream (cuda.h)
 *  @threads object */
SSQ_API void ssq_queue_destroy(ssq_queue **queue);

/** Wait until all work on the queue has run. Results of reads are in host
 *  memory then.
 *  @return
 *   - SSQ_ERR_INVALID  a graph is being captured on the queue: the call has not
 *                      waited
 *   - SSQ_ERR_INVALID  class labels of a trainer on this queue were out of
 *                      range (trainer.h): the work has run, and the queue can
 *                      still be used. Each such error is returned once, by this
 *                      call or by the trainer; one call returns one of them
 *   - SSQ_ERR_NOMEM    label errors could not be fetched: the work has run. Or
 *                      ops that a trainer's .replay holds back could not be
 *                      enqueued: the call has not waited; repeat it before you
 *                      free memory. Or the driver had no memory for the work:
 *                      every later call on the queue returns this error
 *   - SSQ_ERR_DEVICE   work failed, and every later call on the queue returns
 *                      this error; or a collective was pending when this
 *                      process was forked: the call has not waited
 *   - SSQ_ERR_COMM     a collective failed (comm.h); every later call on the
 *                      queue returns this error
 *  @sync waits for all work of the queue
 *  @threads object */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_sync(ssq_queue *queue);

/** Report whether the queue is idle. If all work has run, results of reads are
 *  in host memory. Work that a trainer's replay holds back is handed to the
 *  device. The call does not wait for the device. It blocks while another
 *  thread waits for a queue of the same device, for example in ssq_queue_sync,
 *  and, if the device is not asynchronous, while another thread runs an op or
 *  launches a graph on one. On guard, work runs only while a thread waits for
 *  it: a loop that only calls this function does not end.
 *  @return
 *   - SSQ_OK             all work has run
 *   - SSQ_ERR_NOT_READY  work is left, or a collective is pending
 *   - SSQ_ERR_DEVICE     a collective was pending when this process was forked
 *   - the queue's error
 *  @sync async
 *  @threads object */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_status(const ssq_queue *queue);

/** Return the device of a queue; NULL for NULL. The caller does not own the
 *  result: do not close it. */
SSQ_API ssq_device *ssq_queue_device(const ssq_queue *queue);

/** Statistics of a queue; written by ssq_queue_stats_get. */
typedef struct ssq_queue_stats {
    size_t struct_size;
    uint64_t submissions; /**< commands handed to the device since the queue
                               was created. An op with several kernels is one
                               command; so is a transfer, and a run of ops that
                               the driver recorded as a graph. A transfer that
                               goes through device memory (ssq_tensor_write) is
                               two. An op that is split (binding_bytes) can be
                               one command for each window. To count a part of
                               a program, subtract two values. */
} ssq_queue_stats;
#define SSQ_QUEUE_STATS_INIT                                                   \
    {                                                                          \
        sizeof(ssq_queue_stats), 0                                             \
    }

/** Return the statistics of a queue. Work that a trainer's replay or a
 *  collective holds back is counted when it is handed to the device.
 *  @param stats  in: struct_size; out: the rest
 *  @return as every call
 *  @threads object
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_stats_get(ssq_queue *queue,
                                                      ssq_queue_stats *stats);

/** Create an event. It holds the device. Record it before any other call on it.
 *  @param event  out; owned by the caller; release it with ssq_event_destroy()
 *  @return as every call
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_create(ssq_device *device,
                                                   ssq_event **event);

/** Release an event. Queues that wait for it still wait.
 *  @param event  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @threads object */
SSQ_API void ssq_event_destroy(ssq_event **event);

/** Record an event on a queue. It is reached when all work enqueued so far has
 *  run. A second record replaces the first; queues that wait for the first are
 *  not affected. The queue may be destroyed before the event.
 *  @return SSQ_ERR_INVALID  a graph is being captured on the queue; the last
 *                           record was on another queue, and a collective is
 *                           pending before it or before a queue's wait for it
 *  @sync async
 *  @threads object */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_record(ssq_event *event,
                                                   ssq_queue *queue);

/** Make later work on the queue wait for the event's last record. The event may
 *  have been recorded on another queue of the same device.
 *  @return
 *   - SSQ_ERR_INVALID  the event was never recorded; a graph is being captured
 *                      on the queue
 *   - SSQ_ERR_DEVICE   a collective before the event was pending when this
 *                      process was forked
 *   - the error of the queue that the event was recorded on, if that has
 *     already failed. `queue` can still be used. If that queue fails later,
 *     before the event is reached, `queue` can fail with the same error.
 *  @sync waits on a Vulkan device without timeline semaphores: for the event.
 *        On other devices the host does not wait.
 *  @threads object Another thread may use the event's queue. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_wait(ssq_queue *queue,
                                                 ssq_event *event);

/** Report whether an event has been reached. Results of earlier reads are in
 *  host memory then. The call does not wait for the device. It blocks while
 *  another thread waits for the event's queue, for example in ssq_queue_sync,
 *  and, on a device that is not asynchronous, while another thread runs an op
 *  or launches a graph on that queue. On guard, a loop that only calls this
 *  function does not end, as with ssq_queue_status.
 *  @return
 *   - SSQ_OK             the event has been reached
 *   - SSQ_ERR_NOT_READY  not yet, or a collective is pending before it
 *   - SSQ_ERR_INVALID    never recorded; a graph is being captured on the
 *                        event's queue
 *   - SSQ_ERR_DEVICE     a collective before it was pending when this process
 *                        was forked
 *   - the error of the event's queue
 *  @threads object Another thread may use the event's queue. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_query(ssq_event *event);

/** Wait until an event has been reached. Results of earlier reads are in host
 *  memory then.
 *  @return
 *   - SSQ_ERR_INVALID  never recorded; a graph is being captured on the event's
 *                      queue
 *   - SSQ_ERR_DEVICE   a collective before it was pending when this process was
 *                      forked: the call has not waited
 *   - the error of the event's queue
 *  @sync waits for the work before the event's last record
 *  @threads object Another thread may use the event's queue, but its calls may
 *           block until the event has been reached. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_sync(ssq_event *event);

/** Return the seconds between two events of one device that have been reached.
 *  They may be on different queues. The device's clock is used. The result is
 *  negative if `to` was reached first. On cuda it has the precision of float32.
 *  On vulkan the clock of some devices wraps, and the events must be less than
 *  half its range apart: for 36 bits of 52 ns that is 30 minutes.
 *  @param seconds  out
 *  @return
 *   - SSQ_ERR_NOT_READY    one of them has not been reached, or a collective
 *                          is pending before it
 *   - SSQ_ERR_DEVICE       a collective before one of them was pending when
 *                          this process was forked
 *   - SSQ_ERR_INVALID      one of them was never recorded; they are of two
 *                          devices; a graph is being captured on one's queue
 *   - SSQ_ERR_UNSUPPORTED  the device's queue has no clock
 *   - the error of one event's queue
 *  @threads object Other threads may use the queues of the events. The call
 *           blocks while such a thread waits for the queue, for example in
 *           ssq_queue_sync. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_elapsed(ssq_event *from,
                                                    ssq_event *to,
                                                    double *seconds);

/** Return the name of op i of the library, for example "gemm"; NULL if i is too
 *  large. These are the names for ssq_implementation_name,
 *  ssq_implementation_pin and SSQ_IMPL. An op can serve several functions: for
 *  example, ssq_relu uses "unary" and ssq_add "binary". ssq_policy_op_name has
 *  the names of functions.
 *  @return owned by the library, valid as long as it is loaded
 *  @note Since 0.1. */
SSQ_API const char *ssq_op_name(size_t i);

/** Return the name of implementation i of an op on a device. The best one for
 *  most operands comes first; for others the library may choose a later one.
 *  For example, loop over i until the result is NULL.
 *  @return owned by the library; NULL if i is too large, if no such op exists,
 *          or for a NULL argument
 *  @note Since 0.1. */
SSQ_API const char *ssq_implementation_name(const ssq_device *device,
                                            const char *op, size_t i);

/** Pin an op to one implementation on this device. Calls that it does not
 *  support return SSQ_ERR_UNSUPPORTED. SSQ_IMPL in the environment does the
 *  same when a device is opened: SSQ_IMPL=op:impl,... for all devices, or
 *  backend/op:impl for the devices of one backend. For example,
 *  SSQ_IMPL=opencl/gemm:tiled. The pin is for later calls. Work that is
 *  enqueued, and graphs that exist, do not change.
 *  @param op, impl  names as of ssq_op_name and ssq_implementation_name, read
 *                   during the call. An impl of NULL removes the pin
 *  @return SSQ_ERR_NOT_FOUND  no such op or implementation
 *  @threads object No other thread may use the device, or its queues, at the
 *           same time.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_implementation_pin(ssq_device *device,
                                                         const char *op,
                                                         const char *impl);

#ifdef __cplusplus
}
#endif

#endif
