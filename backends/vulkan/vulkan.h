/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.h - the Vulkan backend: any Vulkan 1.1 device that computes, a module
 * of its own.
 *
 * A device has a VkDevice and one VkQueue of it, which all its queues share. A
 * queue records dispatches and copies into submissions, which are sent at a
 * sync, at an event, or when they are full.
 *
 * Every kernel has the same layout of descriptors, so that one pipeline layout
 * serves all: an operand at each binding, and the parameters as a uniform block
 * after the last.
 *
 * Order of locks: a queue's lock, then the device's. The device's guards its
 * VkQueue and all that threads other than a queue's own may look at: the
 * submissions in progress and the marks. The table of kernels and the threads
 * that compile have a lock each. No other lock is taken under these two. */
#ifndef BACKENDS_VULKAN_VULKAN_H
#define BACKENDS_VULKAN_VULKAN_H

#include <pthread.h>
#include <stdatomic.h>

#include "backends/common/kernel_map.h"
#include "backends/vulkan/calls.h"
#include "lib/core/module/backend.h"

/** Bytes of every buffer's alignment within its slab: the greatest that a
 *  device may want of a storage buffer's or a uniform buffer's offset. */
#define VULKAN_ALIGN 256u
/** Work-items in a group: the least maxComputeWorkGroupInvocations promised. */
#define VULKAN_GROUP 128u
/** float32s of the best vector of one item. */
#define VULKAN_WIDTH 4u
/** The binding of a launch's parameters, behind the operands'; and the
 * bytes of one block: LAUNCH_WORDS words. 256 is also the greatest alignment
 * that Vulkan lets a device ask of a uniform buffer's offset, so that blocks
 * may follow each other. */
#define VULKAN_PARAM_BINDING LAUNCH_BINDINGS
#define VULKAN_PARAM_BYTES   256u
/** Bytes that are kept of the name of a device or driver. */
#define VULKAN_WORDS 256

/** The properties of a physical device, less features that a caller's VkDevice
 * was made without (native.c) and what the environment switches off (device.c).
 */
struct vulkan_caps {
    char name[VULKAN_WORDS];
    char driver[VULKAN_WORDS]; /* "radv Mesa 22.3.6" */
    VkPhysicalDeviceType type;
    uint32_t api; /* of the device; VK_API_VERSION_1_1 or later */
    uint32_t vendor, id;
    /* another one where the driver cannot use pipelines that it compiled
     * before */
    uint8_t cache_uuid[VK_UUID_SIZE];
    uint32_t family;         /* of the queue that is used: an index */
    uint32_t timestamp_bits; /* of its clock; 0: it has none */
    float timestamp_period;  /* ns per tick */
    bool timeline;           /* timeline semaphores */
    /* arithmetic on integers of these sizes, and buffers of elements of them */
    bool int16, int8, storage16, storage8;
    /* controls of float32 that a module may ask for (spirv.c does); a feature
     * that a driver does unasked is unspecified */
    bool denorm_preserve, nan_preserve, round_even;
    uint64_t memory_bytes;  /* of the device's own heap, or the largest */
    uint64_t binding_bytes; /* maxStorageBufferRange */
    uint64_t most_bytes;    /* of one allocation */
    /* bytes that a group may share; groups that run at a time, or a guess */
    uint32_t local_bytes, units;
    uint32_t iterations;    /* after which an item leaves its loops; 0: never */
    uint32_t bindings;      /* storage buffers that one kernel may have */
    uint32_t storage_align; /* of a storage buffer's offset; <= 256 */
    uint32_t subgroup;      /* invocations, where a pipeline asks for no size */
    uint32_t subgroup_least, subgroup_most; /* that a pipeline may ask for */
    bool subgroup_control;                  /* it may, and for full ones too */
    /* the device's memory is the host's: kernels' buffers are mapped as well */
    bool unified;
    bool budget; /* VK_EXT_memory_budget */
    /* VK_KHR_external_memory_fd, VK_KHR_external_semaphore_fd */
    bool memory_fd, semaphore_fd;
    /* the extensions with their features; coopmat also with f16 arithmetic and
     * the memory model of Vulkan */
    bool coopmat, shader_bfloat16;
    /* VK_KHR_pipeline_executable_properties, for pipelines of matrices */
    bool statistics;
    VkPhysicalDeviceMemoryProperties memory;
};

/** Calls for timeline semaphores, which are Vulkan 1.2's or, with other names,
 * an extension's: NULL where the device has neither. */
struct vulkan_timeline_calls {
    PFN_vkWaitSemaphores wait;
    PFN_vkGetSemaphoreCounterValue value;
};

/** Calls for memory and semaphores as files; NULL: the device has none. */
struct vulkan_share_calls {
    PFN_vkGetMemoryFdKHR memory_fd;
    PFN_vkGetSemaphoreFdKHR semaphore_fd;
    PFN_vkImportSemaphoreFdKHR import_semaphore;
};

/** Vulkan wants each use of a VkQueue kept apart from every other. A caller
 * that lends its own may lend functions that lock it with it; NULL: we lock
 * nothing of the caller's. */
struct vulkan_queue_lock {
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user;
};

/** Threads that make pipelines, at most. */
#define VULKAN_THREADS 8u

/** The threads of a device that make pipelines (compile.c), which are started
 * when there is work for them. */
struct vulkan_compile {
    /* threads at most; 0: kernels are compiled where they are requested. Set
     * before the first kernel */
    unsigned most;
    pthread_mutex_t lock; /* guards all below, and the states of kernels */
    pthread_cond_t wanted, built; /* a kernel waits; one was built or failed */
    struct backend_kernel *first, *last; /* that wait for a thread */
    pthread_t thread[VULKAN_THREADS];
    unsigned nthreads, idle, waiting;
    bool over; /* the device is closed */
    /* kernels that were compiled; the time in which at least one thread
     * compiled, up to `since`; how much of it the log has reported; and how
     * many are compiled now */
    unsigned compiled;
    uint64_t ns, since, reported;
    unsigned active;
};

struct backend_device {
    const struct services *core; /* of the copy that opened it */
    struct vulkan_caps caps;
    VkInstance instance; /* ours, or the caller's */
    VkPhysicalDevice physical;
    VkDevice vk;
    bool adopted;  /* instance and vk are the caller's */
    VkQueue queue; /* under lock, and the caller's */
    struct vulkan_queue_lock queue_lock;
    VkDescriptorSetLayout set_layout; /* of every kernel's only set */
    VkPipelineLayout layout;          /* of every kernel */
    struct vulkan_timeline_calls timeline;
    struct vulkan_share_calls share;
    ssq_subnormals subnormals; /* as certified */
    uint64_t submission_ns;    /* that one submission should take at most */
    unsigned threads;          /* that compile: compile.most once certified */
    /* guards queue, status, text, and what other threads see of each queue */
    pthread_mutex_t lock;
    ssq_status status; /* SSQ_ERR_DEVICE when the device is lost; sticky */
    char text[512];    /* of the loss; never written again once status is set */
    VkPipelineCache cache; /* synchronised by the driver */
    size_t cache_bytes;    /* of its data as loaded; stored if it has grown */
    bool kernels_open;     /* cache and kernels want closing */
    struct kernel_map kernels;
    struct vulkan_compile compile;
    /* kinds of cooperative matrices, tried at opening (coopmat.c); its kinds
     * say why they are refused */
    struct vulkan_coopmat *coopmat;
};

/** 0 is READY: a kernel whose pipeline was made elsewhere needs no state. */
enum kernel_state {
    KERNEL_READY,    /* pipeline is set */
    KERNEL_WAITING,  /* for a thread */
    KERNEL_BUILDING, /* by a thread */
    KERNEL_FAILED    /* the next thread that needs it tries again */
};

/** A kernel of a device in one variant: a compute pipeline. */
struct backend_kernel {
    struct kernel_map_entry entry; /* first */
    VkPipeline pipeline;
    atomic_int state; /* an enum kernel_state; changed with compile.lock */
    uint32_t *words;  /* SPIR-V of that many bytes, until it is READY */
    size_t bytes;
    struct backend_kernel *next; /* WAITING */
};

/** A VkBuffer with its own memory, unless it is borrowed. */
struct vulkan_mem {
    struct backend_mem mem; /* first: the core's pointer is ours */
    VkBuffer buffer;
    VkDeviceMemory memory; /* VK_NULL_HANDLE: none of ours */
    bool borrowed;         /* buffer is the caller's, and so is its memory */
    uint64_t allocated;    /* bytes of memory */
    void *map;             /* of host-visible and coherent memory, else NULL */
    bool cached;           /* the host reads map fast */
};

/* error.c */
/** No host memory for the backend's own: sets the error text. */
ssq_status vulkan_no_memory(const struct services *core, size_t bytes);
/** "vulkan: vkQueueSubmit: VK_ERROR_DEVICE_LOST (-4)": NOMEM for the results
 *  that mean it, else SSQ_ERR_DEVICE. */
ssq_status vulkan_error(const struct services *core, const char *call,
                        VkResult result);
/** SSQ_OK, or the sticky error with its text. */
ssq_status vulkan_device_check(struct backend_device *device);
/** Remember a lost device; detail (may be "") names what it was doing. Without
 *  the lock held. Returns the error, set. */
ssq_status vulkan_device_lost(struct backend_device *device, const char *call,
                              VkResult result, const char *detail);

/* submit.c */
/** vkQueueWaitIdle on the device's queue. With the device's lock. */
void vulkan_wait_idle(struct backend_device *device);
/** vkQueueSubmit on the device's queue, whose lock the caller holds. */
VkResult vulkan_submit(struct backend_device *device, const VkSubmitInfo *info,
                       VkFence fence);

/* instance.c */
/** Devices that are listed; more are not seen. */
#define VULKAN_MOST_DEVICES 32u

/** A copy of the library: its services, and the devices it was shown, in their
 *  places of the list. */
struct backend_instance {
    const struct services *core;
    struct vulkan_caps found[VULKAN_MOST_DEVICES];
    unsigned found_count;
};
/** How many devices can be used, once they are in found; 0 with a reason. */
unsigned vulkan_count(struct backend_instance *instance, struct why *reason);
/** How much "auto" likes device i: a processor less than a GPU. */
int vulkan_preference_of(const struct backend_instance *instance, unsigned i);
void vulkan_describe(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes);
/** Which of the devices found is this one, by its names and ids? False:
 * none. */
bool vulkan_device_find(const struct backend_instance *instance,
                        const struct vulkan_caps *caps, unsigned *i);
/** Make a VkInstance, which the caller destroys, and look up device i in it; a
 * device that no longer exists is an error. */
ssq_status vulkan_instance_open(const struct backend_instance *instance,
                                unsigned i, VkInstance *vk,
                                VkPhysicalDevice *physical,
                                struct vulkan_caps *caps);

/* copy.c */
ssq_status vulkan_reserve(struct backend_queue *queue,
                          const struct command *commands, size_t n);
extern const struct upload_impl vulkan_uploads[];
extern const struct download_impl vulkan_downloads[];

/* device.c */
ssq_status vulkan_open(struct backend_instance *instance, unsigned i,
                       struct backend_device **device);
void vulkan_props(const struct backend_device *device, ssq_device_props *props);
void vulkan_certified(struct backend_device *device,
                      const struct findings *findings);
void vulkan_limits(const struct backend_device *device,
                   struct backend_limits *limits);
/** A device with nothing but its lock and its services; NULL with the error
 * set. */
struct backend_device *vulkan_device_new(const struct services *core);
/** Make what an own and a caller's device both have, once caps, vk and queue
 * are set. Where it fails, vulkan_device_close() takes back what was made. */
ssq_status vulkan_device_begin(struct backend_device *device);
/** Take the environment's choices: SSQ_VULKAN_TIMELINE, SSQ_VULKAN_SUBMIT_MS,
 * SSQ_VULKAN_THREADS. */
ssq_status vulkan_read_environment(struct backend_device *device);
/** Also closes a device that was not completed. It waits for nothing: the core
 * has closed the queues before. */
void vulkan_device_close(struct backend_device *device);

/* caps.c */
/** Ask a physical device, of an instance of Vulkan api; with a reason that
 *  begins with its name: SSQ_ERR_UNSUPPORTED where it cannot be used, another
 *  where asking failed. */
ssq_status vulkan_caps_get(const struct services *core,
                           VkPhysicalDevice physical, uint32_t api,
                           struct vulkan_caps *caps, struct why *why);
/** Log what was found, and how full the heaps are. */
void vulkan_caps_log(const struct backend_device *device);

/* native.c */
/** handles: a ssq_vulkan_native; *i: which of the devices listed it is. */
ssq_status vulkan_open_native(struct backend_instance *instance,
                              const void *const *handles, unsigned *i,
                              struct backend_device **device);
/** handle: a VkBuffer and its bytes, as two 64-bit words. */
ssq_status vulkan_import(struct backend_device *device, const void *handle,
                         struct backend_mem **mem);
/** Where the VkBuffer of mem is kept; to be read only. */
void *vulkan_mem_handle(const struct backend_mem *mem);
uint64_t vulkan_mem_identity(const struct backend_mem *mem);
void vulkan_info(const struct backend_device *device, void *info);

/* memory.c */
ssq_status vulkan_alloc(struct backend_device *device, uint64_t bytes,
                        struct backend_mem **mem);
void vulkan_free(struct backend_device *device, struct backend_mem *mem);
/** Memory for one purpose. HOST kinds are mapped and coherent. */
enum vulkan_memory_kind {
    VULKAN_DEVICE,  /* for kernels; mapped where memory is unified */
    VULKAN_TO_HOST, /* read by the host: cached where there is such */
    /* written by the host, read once by the device */
    VULKAN_FROM_HOST
};
ssq_status vulkan_mem_create(struct backend_device *device, uint64_t bytes,
                             enum vulkan_memory_kind kind,
                             struct vulkan_mem **mem);
/** Create memory that another device shares. If *fd is -1, the memory can be
 *  exported. Otherwise it is imported from the file *fd of `size` bytes, and
 *  *fd becomes -1 when the driver owns the file. */
ssq_status vulkan_mem_shared(struct backend_device *d, uint64_t bytes, int *fd,
                             uint64_t size, struct vulkan_mem **mem);
void vulkan_mem_destroy(struct backend_device *device, struct vulkan_mem *mem);

/* kernel.c */
void vulkan_identify(const struct backend_device *device, char *text,
                     size_t bytes);
ssq_status vulkan_kernel_get(struct backend_device *device,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code);
/** Load the device's pipeline cache from the disk, or make an empty one. */
ssq_status vulkan_kernels_open(struct backend_device *device);
/** Destroy all pipelines; the cache goes to the disk if it has grown. */
void vulkan_kernels_close(struct backend_device *device);

/* compile.c */
/** How many threads compile by default: as many as processors that this thread
 * may use, and at most VULKAN_THREADS; 0 for one processor. */
unsigned vulkan_compile_processors(void);
ssq_status vulkan_compile_open(struct backend_device *device);
/** Ends the threads. Kernels that wait for one are not compiled any more. */
void vulkan_compile_close(struct backend_device *device);
/** Compile a kernel in this thread; it has its words. */
ssq_status vulkan_compile_now(struct backend_device *device,
                              struct backend_kernel *kernel);
/** Let another thread compile a kernel, which has its words. False: there is no
 * such thread, and nothing has changed. */
bool vulkan_compile_later(struct backend_device *device,
                          struct backend_kernel *kernel);
/** Call fn(one) and fn(two), at the same time if the device has threads. fn
 * keeps status and error text in its argument: the text belongs to a thread. */
void vulkan_compile_both(const struct backend_device *device,
                         void (*fn)(void *), void *one, void *two);
bool vulkan_compile_ready(const struct backend_kernel *kernel);
/** True if it was compiled and failed: vulkan_compile_wait() tries again. */
bool vulkan_compile_failed(const struct backend_kernel *kernel);
/** Wait until a kernel is READY. Returns the error of its compilation, with the
 * text. Takes no lock but compile.lock. */
ssq_status vulkan_compile_wait(struct backend_device *device,
                               const struct backend_kernel *kernel);

/* modules.c */
/** The SPIR-V of a kernel in a variant, to be freed with mem_free. Errors call
 * the kernel name. */
ssq_status vulkan_module(const struct services *core,
                         const struct kernel *kernel,
                         const uint8_t key[LAUNCH_KEYS], const char *name,
                         uint32_t **words, size_t *n);
/** A checksum of all modules: kernels compiled from others are useless. */
extern const char vulkan_modules_sum[];

/* spirv.c */
/** A module's words as this device wants them: the float controls that it has
 * are asked for. To be freed with mem_free. UNSUPPORTED with the text where
 * the module needs a capability that the device lacks. */
ssq_status vulkan_spirv(const struct services *core,
                        const struct vulkan_caps *caps, const char *name,
                        const uint32_t *words, size_t n, uint32_t **module,
                        size_t *bytes);

/* coopmat.c */
/** Find the device's cooperative matrices, make their pipelines and test them.
 * A device without any, or with wrong ones, is not a failure. */
ssq_status vulkan_coopmat_open(struct backend_device *device);
void vulkan_coopmat_close(struct backend_device *device);
/** Bits 1 << ssq_dtype of the types of factors that the matrices take, and why
 * they do not take the others. */
uint32_t vulkan_coopmat_dtypes(const struct backend_device *device,
                               struct why *why);

/* hazard.c */
/** Parts of memory that kernels and copies have touched since the last barrier:
 * memory that the next one must not touch without a barrier. */
struct vulkan_hazards {
    const struct services *core;
    struct vulkan_touch *touch;
    size_t count, room; /* touches that are remembered, and that fit */
    /* something was touched that is not recorded in detail: any command that
     * comes next wants a barrier */
    bool all;
};
/** Would touching these operands race with a recorded access? A read races
 * with a write, a write with both. */
bool vulkan_hazard(const struct vulkan_hazards *h, const struct binding *b,
                   uint32_t n);
/** Record them; without memory, everything counts as touched. */
void vulkan_hazard_add(struct vulkan_hazards *h, const struct binding *b,
                       uint32_t n);
void vulkan_hazard_clear(struct vulkan_hazards *h); /* after a barrier */
void vulkan_hazard_free(struct vulkan_hazards *h);

/* record.c: launches into a command buffer, a queue's or a graph's */
/** Names of kernels that are remembered, for the error text of a lost
 * device. */
#define VULKAN_LAST 4u
/** A command of a command buffer, before which there may be a barrier. */
struct record_command {
    enum { RECORD_LAUNCH, RECORD_COPY, RECORD_PART, RECORD_TIME } kind;
    bool barrier;
    union {
        struct record_launch {
            const struct backend_kernel *code;
            uint32_t slot, groups;
        } launch;
        struct {
            VkBuffer from, to;
            VkBufferCopy part;
        } copy;
        VkCommandBuffer part; /* of a graph */
        struct {
            VkQueryPool pool;
            uint32_t i;
        } time;
    } of;
};

/** Launches in a command buffer, with the descriptor sets and the parameters
 * that they use while it runs: it may be recorded again only after that. */
struct vulkan_recording {
    struct backend_device *device;
    VkCommandBuffer commands; /* being recorded; not the recording's own */
    VkDescriptorPool pool;
    VkDescriptorSet *sets; /* one per launch, made once */
    /* the first slot of params, bound where the last launch of a set had an
     * operand and this one has none; absent operands are shown other bytes of
     * the same buffer */
    VkDescriptorBufferInfo nothing;
    /* of each set: how many operands its last launch had, which stay bound
     * until they are written over (unbind() in record.c) */
    uint8_t *bound;
    uint32_t room, used; /* launches */
    /* VULKAN_PARAM_BYTES for each launch, and behind all of them as many again,
     * which stand in for the launch's absent operands */
    struct vulkan_mem *params;
    /* commands from the first launch on whose pipeline was not ready; the
     * caller limits their number */
    struct record_command *list;
    uint32_t listed;
    uint32_t named; /* names so far */
    /* a ring: the newest is at (named - 1) % VULKAN_LAST */
    const char *last[VULKAN_LAST];
};
/** A recording with room for this many launches, and for `list` commands that
 * wait for a pipeline. When the launches have run, its used may be set to 0 and
 * the sets and slots are used again. */
ssq_status vulkan_recording_open(struct backend_device *device, uint32_t room,
                                 uint32_t list, struct vulkan_recording *r);
/** Also closes one that failed to open, or is all zeros. */
void vulkan_recording_close(struct vulkan_recording *r);
/** Record a command, or put it into the list if a pipeline is not ready. */
void vulkan_record(struct vulkan_recording *r, const struct record_command *c);
/** True if vulkan_record_finish() need not wait. */
bool vulkan_record_ready(const struct vulkan_recording *r);
/** Wait for the pipelines of the list, and record its commands. After an error,
 * which is a kernel's, the command buffer must not be sent. */
ssq_status vulkan_record_finish(struct vulkan_recording *r);
/** True if touching these operands needs a barrier first. Remembers them. */
bool vulkan_record_touch(struct vulkan_hazards *h, const struct binding *b,
                         uint32_t n);
/** Remember the name of a kernel that was recorded. */
void vulkan_record_name(struct vulkan_recording *r, const char *name);
/** Record a launch with the barrier that it needs. The caller has seen that
 * there is room: used < room. */
void vulkan_record_launch(struct vulkan_recording *r, struct vulkan_hazards *h,
                          const struct launch *l);

/* queue.c */
ssq_status vulkan_queue_open(struct backend_device *device,
                             struct backend_queue **queue);
void vulkan_queue_close(struct backend_queue *queue);
ssq_status vulkan_queue_sync(struct backend_queue *queue);
uint64_t vulkan_completed(struct backend_queue *queue);
ssq_status vulkan_queue_failure(struct backend_queue *queue);
void vulkan_command_end(struct backend_queue *queue);
ssq_status vulkan_launch(struct backend_queue *queue,
                         const struct launch *launch);

/* graph.c */
ssq_status vulkan_graph_create(struct backend_queue *queue,
                               const struct launch *const *launches, size_t n,
                               struct backend_graph **graph);
ssq_status vulkan_graph_launch(struct backend_queue *queue,
                               struct backend_graph *graph);
void vulkan_graph_free(struct backend_graph *graph);

/* event.c */
ssq_status vulkan_event_open(struct backend_device *device,
                             struct backend_event **event);
void vulkan_event_close(struct backend_event *event);
ssq_status vulkan_event_record(struct backend_event *event,
                               struct backend_queue *queue);
ssq_status vulkan_event_wait(struct backend_queue *queue,
                             struct backend_event *event);
ssq_status vulkan_event_query(struct backend_event *event);
ssq_status vulkan_event_sync(struct backend_event *event);
bool vulkan_event_semaphore(struct backend_event *event, uint64_t *semaphore,
                            uint64_t *value);
ssq_status vulkan_semaphore_wait(struct backend_queue *queue,
                                 uint64_t semaphore, uint64_t value);
ssq_status vulkan_event_elapsed(struct backend_event *from,
                                struct backend_event *to, double *seconds);

/* share.c */
/** Look up the calls. */
void vulkan_share_find(struct backend_device *d);
ssq_status vulkan_mem_export(struct backend_device *d, uint64_t bytes,
                             struct backend_mem **mem, int *fd, uint64_t *size);
ssq_status vulkan_mem_import(struct backend_device *d, int fd, uint64_t bytes,
                             uint64_t size, struct backend_mem **mem);
ssq_status vulkan_shared_open(struct backend_device *d, int *fd,
                              struct backend_semaphore **semaphore);
ssq_status vulkan_shared_import(struct backend_device *d, int fd,
                                struct backend_semaphore **semaphore);
void vulkan_shared_close(struct backend_device *d, struct backend_semaphore *s);
ssq_status vulkan_shared_signal(struct backend_queue *queue,
                                struct backend_semaphore *s, uint64_t value);
ssq_status vulkan_shared_await(struct backend_queue *queue,
                               struct backend_semaphore *s, uint64_t value);

#endif
