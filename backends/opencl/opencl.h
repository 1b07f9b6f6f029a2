/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - the OpenCL backend: any OpenCL 1.2 device, its own module.
 *
 * A device has a context, a queue an in-order command queue. All ops but the
 * copies from and to the host are plans of kernels, compiled here at their
 * first use.
 *
 * The locks of a queue and of the table of kernels are never held with another
 * lock. The lock of the table of parameters is taken after a kernel's. */
#ifndef BACKENDS_OPENCL_OPENCL_H
#define BACKENDS_OPENCL_OPENCL_H

#include <pthread.h>

#include "backends/common/kernel_map.h"
#include "backends/mma/mma.h"
#include "backends/opencl/calls.h"
#include "lib/core/module/backend.h"

/** Bytes of every buffer's alignment within its slab. */
#define OPENCL_ALIGN 256u

/** Bytes that are kept of the name of a platform, device or driver. */
#define OPENCL_WORDS 256

/** Devices that are listed; more are not seen. */
#define OPENCL_MOST_DEVICES 64

/** A copy of the library: the services it lends, and the devices it was shown,
 * in their places of the list; unused places are NULL. */
struct backend_instance {
    const struct services *core;
    struct {
        cl_platform_id platform;
        cl_device_id id;
    } found[OPENCL_MOST_DEVICES];
};

/** Calls of cl_khr_command_buffer; create is NULL where it cannot be used. */
struct opencl_recorder {
    clCreateCommandBufferKHR_fn create;
    clFinalizeCommandBufferKHR_fn finalize;
    clReleaseCommandBufferKHR_fn release;
    clEnqueueCommandBufferKHR_fn enqueue;
    clCommandNDRangeKernelKHR_fn kernel;
};

struct backend_device {
    const struct services *core; /* of the copy that opened it */
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    char platform_name[OPENCL_WORDS];
    char name[OPENCL_WORDS];
    char driver[OPENCL_WORDS];
    bool pocl;
    bool binaries; /* programs may be asked for theirs, to be kept on disk */
    /* a processor: groups of one item, and memory that the host maps as well */
    bool cpu;
    /* the compiler can be asked for division and square root that are rounded
     * correctly; else kernels correct them */
    bool exact_div;
    /* certified: kernels are worth keeping on disk. The kernels of the
     * self-test, compiled before, are not: its result changes their options */
    bool settled;
    /* result of the self-test: vload_half gives the bits of f16_load,
     * vstore_half_rte f16_store's, so that kernels may use them */
    bool half_load;
    bool half_store;
    bool unfused; /* fma() is not an instruction: kernels do without */
    /* NULL: kernels get their parameters by value; else in constant memory */
    struct opencl_params *params;
    uint64_t memory_bytes;
    uint64_t most_bytes; /* of one buffer */
    /* the first place of an element that a launch's word cannot name: what
     * begins there or later is bound as a sub-buffer (kernel.c) */
    uint64_t reach;
    uint32_t sub_align; /* bytes; of a sub-buffer's start */
    /* as in struct backend_limits */
    uint32_t group, units, local_bytes, width;
    struct opencl_recorder record; /* command buffers, if there are */
    struct mma *mma;               /* NULL: mma_why says why not */
    struct why mma_why;
    bool registers; /* the compiler can be told how many a kernel may have */
    ssq_subnormals subnormals; /* as certified */
    struct kernel_map kernels;
};

/** A buffer of the device's context, with a reference, ours or the caller's. */
struct opencl_mem {
    struct backend_mem mem; /* first: the core's pointer is ours */
    cl_mem cl;
};

/** A command queue, and the marks by which the core learns how far it is. */
struct backend_queue {
    struct backend_device *device;
    cl_command_queue cl;
    /* of the last thing enqueued for the command in progress, or NULL: by
     * command_end a mark takes its reference over */
    cl_event last;
    /* guards the rest: completed() comes from any thread, everything else from
     * one at a time */
    pthread_mutex_t lock;
    struct opencl_mark *ring; /* of commands not seen complete, in order */
    size_t room, head, count; /* room: a power of two, or 0 */
    /* commands that the core has ended, and the number of them that are done */
    uint64_t submitted, finished;
    /* value of submitted at the last call of completed(): the same again, and
     * no one has enqueued anything since */
    uint64_t asked;
    uint64_t unflushed; /* commands that the driver may still hold back */
    ssq_status status;  /* of the first failure; sticky */
    char text[512];     /* of that failure; written once, with status */
};

/* error.c */
/** No host memory for the backend's own: sets the error text. */
ssq_status opencl_no_memory(const struct services *core, size_t bytes);
/** "opencl: clFinish: CL_OUT_OF_RESOURCES (-5)" as SSQ_ERR_DEVICE. */
ssq_status opencl_error(const struct services *core, const char *call,
                        cl_int error);
/** The same of a call that makes something: NOMEM where there was no memory. */
ssq_status opencl_create_error(const struct services *core, const char *call,
                               cl_int error);

/* device.c */
/** How many devices are available and compile; 0 with a reason. */
unsigned opencl_count(struct backend_instance *instance, struct why *reason);
/** How much "auto" likes device i: a processor less than a GPU. */
int opencl_preference_of(const struct backend_instance *instance, unsigned i);
void opencl_describe(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes);
ssq_status opencl_open(struct backend_instance *instance, unsigned i,
                       struct backend_device **device);
void opencl_close(struct backend_device *device);
void opencl_identify(const struct backend_device *device, char *text,
                     size_t bytes);
void opencl_certified(struct backend_device *device,
                      const struct findings *findings);
void opencl_props(const struct backend_device *device, ssq_device_props *props);
void opencl_limits(const struct backend_device *device,
                   struct backend_limits *limits);
/** Open device i over a context of the caller's; NULL: over its own. */
ssq_status opencl_open_over(const struct backend_instance *instance, unsigned i,
                            cl_context native, struct backend_device **device);
/** Find the caller's device in the list. False: it is not in the list. */
bool opencl_device_find(const struct backend_instance *instance,
                        cl_device_id id, unsigned *i);

/* native.c */
ssq_status opencl_open_native(struct backend_instance *instance,
                              const void *const *handles, unsigned *i,
                              struct backend_device **device);
ssq_status opencl_queue_native(struct backend_device *device,
                               const void *handle,
                               struct backend_queue **queue);
ssq_status opencl_import(struct backend_device *device, const void *handle,
                         struct backend_mem **mem);
void *opencl_mem_handle(const struct backend_mem *mem);

/* memory.c */
/** A memory over the caller's buffer of this many bytes, which is retained. */
ssq_status opencl_mem_over(struct backend_device *device, cl_mem cl,
                           uint64_t bytes, struct backend_mem **mem);
ssq_status opencl_alloc(struct backend_device *device, uint64_t bytes,
                        struct backend_mem **mem);
void opencl_free(struct backend_device *device, struct backend_mem *mem);
extern const struct upload_impl opencl_uploads[];
extern const struct download_impl opencl_downloads[];

/* gemm_clblast.c, where configure found CLBlast */
bool opencl_clblast_check(const struct backend_device *device,
                          const struct gemm_op *op, struct why *why);
ssq_status opencl_clblast_run(struct backend_queue *queue,
                              const struct gemm_op *op);
bool opencl_clblast_last(const struct backend_device *device,
                         const struct gemm_op *op);

/* mma.c */
/** The capabilities that NVIDIA's driver reports; no kernel is tried yet. */
void opencl_mma_find(struct backend_device *device);
/** Try it, once kernels may be compiled. */
void opencl_mma_open(struct backend_device *device);
void opencl_mma_close(struct backend_device *device);
bool opencl_mma_check(const struct backend_device *device,
                      const struct gemm_op *op, struct why *why);
ssq_status opencl_mma_run(struct backend_queue *queue,
                          const struct gemm_op *op);
bool opencl_mma_last(const struct backend_device *device,
                     const struct gemm_op *op);

/* gemm.c */
extern const struct gemm_impl opencl_gemms[];
/** True if implementation impl of gemm is mma. */
bool opencl_is_mma(unsigned impl);

/* matrix_units.c */
void opencl_gemm_explain(const struct backend_device *device,
                         const struct gemm_op *op, unsigned impl,
                         struct gemm_explanation *e);

/* queue.c */
ssq_status opencl_queue_open(struct backend_device *device,
                             struct backend_queue **queue);
/** A queue over the caller's in-order one, retained. */
ssq_status opencl_queue_over(struct backend_device *device, cl_command_queue cl,
                             struct backend_queue **queue);
void opencl_queue_close(struct backend_queue *queue);
ssq_status opencl_queue_sync(struct backend_queue *queue);
uint64_t opencl_completed(struct backend_queue *queue);
void opencl_command_end(struct backend_queue *queue);
/** SSQ_OK, or the sticky error with its text. */
ssq_status opencl_queue_check(struct backend_queue *queue);
/** Make the failure sticky, unless there was one before, and wait until the
 * device has released the operands. Returns the sticky error. */
ssq_status opencl_queue_fail(struct backend_queue *queue, const char *call,
                             cl_int error);
/** Note the event of the newest command, whose reference is taken
 * over. */
void opencl_queue_enqueued(struct backend_queue *queue, cl_event event);

/* event.c */
ssq_status opencl_event_open(struct backend_device *device,
                             struct backend_event **event);
void opencl_event_close(struct backend_event *event);
ssq_status opencl_event_record(struct backend_event *event,
                               struct backend_queue *queue);
ssq_status opencl_event_wait(struct backend_queue *queue,
                             struct backend_event *event);
ssq_status opencl_event_query(struct backend_event *event);
ssq_status opencl_event_sync(struct backend_event *event);
ssq_status opencl_event_elapsed(struct backend_event *from,
                                struct backend_event *to, double *seconds);

/* program.c */
/** A kernel's program in a variant: from the disk, or compiled (*fresh). The
 *  caller releases it. */
ssq_status opencl_program_create(struct backend_device *device,
                                 const struct kernel *kernel,
                                 const uint8_t key[LAUNCH_KEYS],
                                 cl_program *program, bool *fresh);
/** Put a fresh program on the disk, if that can be done. */
void opencl_program_store(const struct backend_device *device,
                          const struct kernel *kernel,
                          const uint8_t key[LAUNCH_KEYS], cl_program program);

/* kernel.c */
ssq_status opencl_kernel_get(struct backend_device *device,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code);
void opencl_kernels_free(struct backend_device *device);
ssq_status opencl_launch(struct backend_queue *queue,
                         const struct launch *launch);

/** Append a launch to a command buffer that is being recorded. It gets a kernel
 * object of its own for its arguments, because PoCL 3.1 reads them at each
 * run. The caller releases *own and *params after the buffer, also if this
 * fails. Each may be NULL. */
cl_int opencl_record(const struct backend_device *device,
                     cl_command_buffer_khr buffer, const struct launch *launch,
                     cl_kernel *own, cl_mem *params, const char **call);

/* params.c */
/** Create the table of parameters: kernels then get them in constant memory. */
ssq_status opencl_params_open(struct backend_device *device);
/** Free the table, if the device has one. */
void opencl_params_close(struct backend_device *device);
/** A buffer with these words, retained: the caller releases it once the launch
 *  is enqueued. *call is set if this fails. */
cl_int opencl_params_get(const struct backend_device *device, uint32_t *word,
                         uint32_t nwords, cl_mem *params, const char **call);

/* graph.c */
/** Find the calls of command buffers, if the device has all that is needed. */
void opencl_recorder_find(struct backend_device *device);
ssq_status opencl_graph_create(struct backend_queue *queue,
                               const struct launch *const *launches, size_t n,
                               struct backend_graph **graph);
ssq_status opencl_graph_launch(struct backend_queue *queue,
                               struct backend_graph *graph);
void opencl_graph_free(struct backend_graph *graph);

#endif
