/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - devices, queues and events.
 *
 * A device is an opened processor of one backend. A queue is an in-order,
 * asynchronous stream of work on a device: everything that takes a queue may
 * return before the work is done, and its results may be read by the host
 * only after ssq_queue_sync or ssq_event_sync. Work on two queues is ordered
 * by events alone.
 *
 * Threads: distinct devices may be used from any threads at once. Creating
 * and destroying objects of one device is locked. One queue is used by one
 * thread at a time.
 *
 * fork: drivers do not live on in a child. There every call with a device that
 * the parent opened on one (opencl, vulkan), with its queues, tensors or
 * scalers, answers SSQ_ERR_DEVICE at once, and so does opening a device of a
 * driver that the parent had loaded, also "auto" where it would have chosen
 * that; destroying what was inherited frees what it can and touches no driver.
 * cpu, reference and guard go on in a child as they were at the fork, which
 * waits for what other threads have under way on them; do not fork in a
 * callback of the library. Drivers are loaded by the first call that lists or
 * opens devices: processes that shall each use them fork before that. Noticed
 * are fork() and what calls it; vfork, posix_spawn and exec need no care.
 *
 * A broken driver can end the process that loads it or opens its device: PoCL
 * calls abort() if it finds no linker. The library cannot prevent that, and
 * never starts a process to try a driver. A program that must not be
 * ended runs `sesqui devices` once after an installation or a new driver: the
 * tool opens every device in a child process first, and names a driver that
 * ends it. `sesqui certify --once` runs all tables as well, on devices that
 * have a driver and no verdict. A driver that was named is kept away by
 * SSQ_SKIP_BACKENDS in the environment, for example
 * SSQ_SKIP_BACKENDS=opencl,vulkan; reference, guard and cpu have no driver. A
 * device that is opened by name ("cpu") loads the drivers of no other. */
#ifndef SESQUI_DEVICE_H
#define SESQUI_DEVICE_H

#include <sesqui/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_device ssq_device;
typedef struct ssq_queue ssq_queue;
typedef struct ssq_event ssq_event;

/** What a device can do with a 16-bit type; f16 and bf16 separately. */
typedef enum ssq_capability {
    SSQ_CAP_STORAGE = 1,       /**< kernels load and store it */
    SSQ_CAP_ARITHMETIC = 2,    /**< native scalar or vector arithmetic */
    SSQ_CAP_MATRIX = 4,        /**< matrix units multiply it with float32
                                    accumulation (tensor cores, coopmat) */
    SSQ_CAP_STORAGE_EMULATED = 8,     /**< storage works by integer code */
    SSQ_CAP_ARITHMETIC_EMULATED = 16, /**< arithmetic goes through float32 */
    SSQ_CAP_MATRIX_EMULATED = 32      /**< matrix units are advertised, but
                                           run no faster than the rest */
} ssq_capability;

/** Whether float32 subnormals are preserved; measured by the device's
 *  self-test. Some products of bf16 flush them anyway: see
 *  sesqui/ops/gemm.h. */
typedef enum ssq_subnormals {
    SSQ_SUBNORMALS_PRESERVED = 0,
    SSQ_SUBNORMALS_FLUSHED = 1
} ssq_subnormals;

/** A device's properties: filled by ssq_device_props_get. */
typedef struct ssq_device_props {
    size_t struct_size;
    char name[32];          /**< what ssq_device_open takes: "cuda:0" */
    char backend[16];       /**< "cuda" */
    char description[128];  /**< the vendor's words: model and driver */
    char choice[512];       /**< why this one was chosen: for "auto" */
    uint64_t memory_bytes;  /**< of the device; 0 unknown */
    uint64_t binding_bytes; /**< most bytes that one kernel argument sees:
                                 larger operands are worked on in windows of
                                 it, with the same results; statistics of a
                                 batch norm are those of its windows, merged:
                                 other bits, within the same bound. An op that
                                 cannot be cut so is SSQ_ERR_UNSUPPORTED, with
                                 the operand, its bytes and this number */
    uint32_t alignment;     /**< bytes; of every buffer's start */
    uint32_t f16;           /**< SSQ_CAP_* bits */
    uint32_t bf16;          /**< SSQ_CAP_* bits */
    ssq_subnormals f32_subnormals;
    bool host_memory;       /**< the host's processor does the work */
    bool asynchronous;      /**< work may run after the call returns */
    char refused[256];      /**< implementations that were refused when the
                                 device was opened, and why; "" for none */
    char failed[256];       /**< primitives that the self-test found wrong, of
                                 a device opened `uncertified`; "" for none */
} ssq_device_props;
#define SSQ_DEVICE_PROPS_INIT                                                  \
    {                                                                          \
        sizeof(ssq_device_props), "", "", "", "", 0, 0, 0, 0, 0,               \
            SSQ_SUBNORMALS_PRESERVED, false, false, "", ""                     \
    }

/** How to open a device. */
typedef struct ssq_device_options {
    size_t struct_size;
    /** Most bytes of device memory that the pool may hold; 0 no limit. */
    uint64_t memory_limit;
    /** Let ops that the device cannot do run on the host, counted and logged
     *  once per op and reason. Off by default: they are refused instead. */
    bool host_fallback;
    /** Open the device even if its self-test fails: results may be wrong.
     *  SSQ_UNCERTIFIED=1 in the environment says so for all. */
    bool uncertified;
    /** All products of f32 on this device may be cut to TF32, as if each call
     *  said SSQ_GEMM_ALLOW_TF32; those that ops make for themselves (LSTM,
     *  GRU), too. Off by default. */
    bool allow_tf32;
    /** The same for products of f16 and SSQ_GEMM_ALLOW_F16_THREE. */
    bool allow_f16_three;
} ssq_device_options;
#define SSQ_DEVICE_OPTIONS_INIT                                                \
    {                                                                          \
        sizeof(ssq_device_options), 0, false, false, false, false              \
    }

/** One line of the list of devices: also of those that cannot be opened. */
typedef struct ssq_device_entry {
    size_t struct_size;
    char name[32];         /**< "reference", "cuda:0" */
    char backend[16];
    char description[128];
    char reason[256];      /**< why it is not available; of a backend's first
                                device, which others it passed over, or "" */
    bool available;
} ssq_device_entry;
#define SSQ_DEVICE_ENTRY_INIT                                                  \
    {                                                                          \
        sizeof(ssq_device_entry), "", "", "", "", false                        \
    }

/** How many entries the list of devices has, available or not. Loads the
 *  backends on first use. Thread-safe. Since 0.1. */
SSQ_API size_t ssq_device_count(void);

/** Entry i of the list of devices, best first.
 *  @return SSQ_ERR_NOT_FOUND i >= ssq_device_count(); SSQ_ERR_INVALID entry
 *          is NULL or its struct_size is wrong. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_device_list(size_t i,
                                                  ssq_device_entry *entry);

/** Open a device.
 *  @param name     "auto" (the best device that trains; the environment's
 *                  SSQ_DEVICE overrides it), a backend ("opencl": its first
 *                  device) or one device ("opencl:1")
 *  @param options  NULL for the defaults
 *  @param device   the caller's; close it with ssq_device_close
 *  @return SSQ_ERR_NOT_FOUND no such device: the text lists those that exist
 *          and why the others did not load; SSQ_ERR_INVALID a NULL or bad
 *          struct_size; SSQ_ERR_UNSUPPORTED the device fails its self-test: the
 *          text names what is wrong; SSQ_ERR_DEVICE the driver failed;
 *          SSQ_ERR_NOMEM, also where the process may not map what a driver is
 *          about to (RLIMIT_AS), or the disk of the driver's cache is full: a
 *          driver might end the process. Where there is too little even to
 *          load the driver the device is not there: SSQ_ERR_NOT_FOUND.
 *  @note The self-test compares the device's arithmetic, bit for bit, with
 *        the library's own. It takes up to some seconds where a driver, its
 *        version or the library is new; what it found is kept for the process
 *        and in the cache (SSQ_CACHE). "auto" passes over devices that fail
 *        it, or that `sesqui certify` has found at fault, and says so in
 *        choice. "auto" asks GPUs before processors, and of GPUs those of
 *        cuda first, then vulkan's, then opencl's; never guard. Synchronous.
 *        Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_open(const char *name, const ssq_device_options *options,
                ssq_device **device);

/** Close a device. Objects made from it stay usable until they are destroyed
 *  themselves. Waits for its queues when it drops the last reference. */
SSQ_API void ssq_device_close(ssq_device **device);

/** The device's properties.
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_props_get(const ssq_device *device, ssq_device_props *props);

/** What running all tables of ops on a device has shown: `sesqui certify` does
 *  it, in a process of its own, and has it kept. */
typedef struct ssq_verdict {
    size_t struct_size;
    bool passed;     /**< every case of every table was right */
    char text[4096]; /**< a line for each table; "": never run */
} ssq_verdict;
#define SSQ_VERDICT_INIT {sizeof(ssq_verdict), false, ""}

/** The verdict that is kept of a device's driver, its version and the
 *  library's. @return SSQ_ERR_INVALID a NULL or wrong struct_size.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_verdict_get(const ssq_device *device, ssq_verdict *verdict);

/** Keep a verdict, beside the self-test's answers: "auto" passes over devices
 *  whose verdict is not passed.
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size, or a text that is empty
 *          or has other than printable ASCII and ends of lines;
 *          SSQ_ERR_UNSUPPORTED nothing is kept of this device (reference,
 *          guard), or there is no cache to keep it in: this process knows it,
 *          no other. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_verdict_keep(ssq_device *device, const ssq_verdict *verdict);

/** Memory of a device now, in bytes. */
typedef struct ssq_memory_info {
    size_t struct_size;
    uint64_t in_use;     /**< by live buffers, with their padding */
    uint64_t reserved;   /**< held in slabs */
    uint64_t peak;       /**< most in_use ever */
    uint64_t buffers;    /**< live buffers */
    uint64_t fallbacks;  /**< ops that ran on the host instead */
} ssq_memory_info;
#define SSQ_MEMORY_INFO_INIT {sizeof(ssq_memory_info), 0, 0, 0, 0, 0}

/** How much of a device's memory the library holds now.
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_memory(const ssq_device *device, ssq_memory_info *info);

/** Give slabs without a live buffer back to the device's driver, and have it
 *  keep nothing of them for later. NULL is allowed. */
SSQ_API void ssq_device_trim(ssq_device *device);

/** Options of a queue; none yet. */
typedef struct ssq_queue_options {
    size_t struct_size;
} ssq_queue_options;
#define SSQ_QUEUE_OPTIONS_INIT {sizeof(ssq_queue_options)}

/** Make a queue on a device, which it holds.
 *  @param options  NULL for the defaults
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size; SSQ_ERR_NOMEM;
 *          SSQ_ERR_DEVICE the driver failed. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_queue_create(ssq_device *device, const ssq_queue_options *options,
                 ssq_queue **queue);

/** Wait for the queue's work, then free it. Errors of that work are lost:
 *  sync first to see them. A graph capture under way is dropped. */
SSQ_API void ssq_queue_destroy(ssq_queue **queue);

/** Wait until everything on the queue is done.
 *  @return SSQ_ERR_INVALID class labels of a trainer on this queue were out of
 *          range (trainer.h): the queue is done and stays as it is, and each
 *          such error is returned once; SSQ_ERR_DEVICE something on it failed:
 *          from then on the queue is sticky, every later call on it answers the
 *          same and with the same text; SSQ_ERR_COMM the same of a collective
 *          (comm.h); SSQ_ERR_INVALID NULL, or a graph is being captured. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_sync(ssq_queue *queue);

/** The queue's state without waiting: SSQ_OK idle, SSQ_ERR_NOT_READY working,
 *  or its sticky error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_status(const ssq_queue *queue);

/** The device a queue belongs to; NULL for NULL. Not a new reference. */
SSQ_API ssq_device *ssq_queue_device(const ssq_queue *queue);

/** What a queue has done; filled by ssq_queue_stats_get. */
typedef struct ssq_queue_stats {
    size_t struct_size;
    uint64_t submissions; /**< commands that its device has been given since
                               the queue was made: ops, each of which may be
                               several kernels, transfers, and recorded graphs,
                               each as one. The difference of two calls is what
                               came between them */
} ssq_queue_stats;
#define SSQ_QUEUE_STATS_INIT                                                   \
    {                                                                          \
        sizeof(ssq_queue_stats), 0                                             \
    }

/** Count. Never waits; what a trainer's replay or a collective holds back is
 *  counted when it is handed over.
 *  @param stats  struct_size is the caller's, the rest is written
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size; the queue's error.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_stats_get(ssq_queue *queue,
                                                      ssq_queue_stats *stats);

/** Make an event on a device, which it holds. It marks nothing before
 *  ssq_event_record.
 *  @return SSQ_ERR_INVALID a NULL; SSQ_ERR_NOMEM; SSQ_ERR_DEVICE the driver
 *          failed. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_create(ssq_device *device,
                                                   ssq_event **event);

/** Free an event; work that waits for it is not disturbed. */
SSQ_API void ssq_event_destroy(ssq_event **event);

/** Mark this point of the queue: what was enqueued on it so far. A second
 *  record moves the mark. Asynchronous.
 *  @return SSQ_ERR_INVALID another device's event, or in a capture. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_record(ssq_event *event,
                                                   ssq_queue *queue);

/** Later work on the queue waits for the event's last record; the host does
 *  not. @return SSQ_ERR_INVALID never recorded, another device's event, or in
 *  a capture. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_queue_wait(ssq_queue *queue,
                                                 ssq_event *event);

/** SSQ_OK when what was before the mark is done, SSQ_ERR_NOT_READY, the
 *  queue's error, or SSQ_ERR_INVALID when never recorded. Never waits. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_query(ssq_event *event);

/** Wait until what was before the mark is done.
 *  @return SSQ_ERR_INVALID never recorded; the queue's error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_sync(ssq_event *event);

/** Seconds between two finished marks of one device, as its clock has them;
 *  negative if `to` was reached first. Never waits.
 *  @return SSQ_ERR_INVALID a NULL, never recorded, or different devices;
 *          SSQ_ERR_NOT_READY one of them is not done; SSQ_ERR_UNSUPPORTED the
 *          device's queue has no clock. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_event_elapsed(ssq_event *from,
                                                    ssq_event *to,
                                                    double *seconds);

/** Name of op i of the library ("gemm"); NULL past the last. Since 0.1. */
SSQ_API const char *ssq_op_name(size_t i);

/** Name of implementation i of an op on a device, best first; NULL past the
 *  last, or when there is no such op. Since 0.1. */
SSQ_API const char *ssq_implementation_name(const ssq_device *device,
                                            const char *op, size_t i);

/** Let only one implementation of an op run on this device, as the
 *  environment's SSQ_IMPL=op:impl,... does at open, or, on devices of one
 *  backend only, SSQ_IMPL=backend/op:impl,...
 *  @param impl  NULL lets all run again
 *  @return SSQ_ERR_NOT_FOUND no such op or implementation; SSQ_ERR_INVALID.
 *  @note Not while another thread uses the device. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_implementation_pin(ssq_device *device,
                                                         const char *op,
                                                         const char *impl);

#ifdef __cplusplus
}
#endif

#endif
