/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the CUDA backend: NVIDIA's GPUs through the driver's API. It is a
 * module that needs no toolkit, neither to build nor to run.
 *
 * A device is the primary context of one GPU, or a context of the caller. Other
 * code in the process, for example PyTorch, may use the same context. A queue
 * is a stream. Calls that need a context are between cuda_enter() and
 * cuda_leave(), which restores the context that was current before. All ops
 * except transfers and matmuls are plans of kernels. The module contains their
 * PTX, one text for each variant. The driver compiles a variant when it is
 * first used, and keeps the result on disk.
 *
 * Locks: a thread that holds the lock of a queue or of the table of kernels
 * acquires no other lock of this backend. */
#ifndef BACKENDS_CUDA_CUDA_H
#define BACKENDS_CUDA_CUDA_H

#include <pthread.h>
#include <sesqui/cuda.h>

#include "backends/common/kernel_map.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/calls.h"
#include "lib/core/module/backend.h"

/** Alignment of each buffer within its slab, in bytes: equal to that of
 *  cuMemAlloc. */
#define CUDA_ALIGN 256u
/** Work-items in a group, and the best vector length of an item in float32: an
 *  item loads at most 16 bytes at a time. */
#define CUDA_GROUP 256u
#define CUDA_WIDTH 4u
/** Most bytes of a device's name, with its terminating 0. */
#define CUDA_WORDS        128
#define CUDA_MOST_DEVICES 64
/** The oldest driver and device that are supported: doc/guide/drivers.md. */
#define CUDA_DRIVER_LEAST     11080
#define CUDA_CAPABILITY_LEAST 70

/** One GPU of the driver's list. cuda:N is always the driver's device N,
 *  whether it is supported or not. */
struct cuda_found {
    CUdevice id;
    char name[CUDA_WORDS];
    int capability;  /* 86 is 8.6; 0: the driver does not report it */
    bool prohibited; /* by nvidia-smi's compute mode */
};

/** The state for one copy of the library: its services, the driver, and the
 *  GPUs. */
struct backend_instance {
    const struct services *core;
    struct cuda_calls calls;
    struct cuda_blas blas_room, *blas; /* a pointer, so that describe() can
                                          search, too */
    int driver;                        /* 12040 is CUDA 12.4 */
    unsigned n;
    struct cuda_found found[CUDA_MOST_DEVICES];
};

struct backend_device {
    const struct services *core; /* of the copy of the library that opened it */
    struct cuda_calls *calls;
    struct cuda_blas *blas;
    const struct cuda_found *found;
    int driver;
    CUcontext context;
    bool retained;              /* context is the primary one, and must be
                                   released */
    bool integrated;            /* it shares the host's memory */
    ssq_cuda_allocator callers; /* the caller's allocator; alloc NULL: use the
                                   pool */
    CUmemoryPool pool;          /* of device memory; NULL: use cuMemAlloc */
    /* orders the operations on the pool, and copies that must not wait for a
     * queue */
    CUstream memory_order;
    uint64_t memory_bytes;
    uint32_t units, local_bytes;
    ssq_subnormals subnormals; /* as measured by the self-test */
    struct kernel_map kernels;
    struct cuda_lt *lt; /* see lt.h; NULL: lt_why contains the reason */
    struct why lt_why;
    struct mma *mma; /* see backends/mma/mma.h */
    uint32_t processors;
};

enum cuda_origin {
    CUDA_POOLED,
    CUDA_PLAIN,
    CUDA_IMPORTED,
    CUDA_CALLERS,
    CUDA_SHARED /* of another API */
};

struct cuda_mem {
    struct backend_mem mem; /* must be first: the core's pointer is converted to
                               one to this struct */
    CUdeviceptr address;
    enum cuda_origin origin; /* how it is freed */
    ssq_cuda_allocator from; /* for CUDA_CALLERS */
    CUexternalMemory shared; /* for CUDA_SHARED */
};

/** Return the address of a view's first element. Scratch of a dry capture has
 *  no memory. Its address counts as 0, which has every alignment. */
static inline CUdeviceptr cuda_address(const struct view *v)
{
    const struct cuda_mem *m = (const struct cuda_mem *)v->buffer->mem;
    return (m == NULL ? 0 : m->address) + v->buffer->offset + v->offset;
}

/* error.c */
/** Set the error text for a lack of host memory, and return SSQ_ERR_NOMEM. */
ssq_status cuda_no_memory(const struct services *core, size_t bytes);
/** Return the name of an error, for example "CUDA_ERROR_ILLEGAL_ADDRESS". If
 *  the driver does not know it, "an error without a name". */
const char *cuda_error_name(const struct cuda_calls *calls, CUresult error);
/** Set the error text, for example "cuda: cuLaunchKernel:
 *  CUDA_ERROR_ILLEGAL_ADDRESS (700)". Returns SSQ_ERR_NOMEM for
 *  CUDA_ERROR_OUT_OF_MEMORY, otherwise SSQ_ERR_DEVICE. */
ssq_status cuda_error(const struct backend_device *device, const char *call,
                      CUresult error);

/* context.c */
/** Make the device's context current on the calling thread, until
 *  cuda_leave(). */
ssq_status cuda_enter(const struct backend_device *device);
void cuda_leave(const struct backend_device *device);
/** Begin, with the context, calls that would otherwise break a capture, of this
 *  thread or of one that forbids them to all threads. The calls must use only
 *  streams and memory that are not captured. Pass the result to cuda_relaxed()
 *  at the end. */
CUstreamCaptureMode cuda_relax(const struct backend_device *device);
void cuda_relaxed(const struct backend_device *device,
                  CUstreamCaptureMode before);

/* device.c */
unsigned cuda_count(struct backend_instance *instance, struct why *reason);
int cuda_preference_of(const struct backend_instance *instance, unsigned i);
void cuda_describe(const struct backend_instance *instance, unsigned i,
                   char *text, size_t bytes);
ssq_status cuda_open(struct backend_instance *instance, unsigned i,
                     struct backend_device **device);
/** Open device i over a context of the caller, or over the primary one if
 *  native is NULL. */
ssq_status cuda_open_over(struct backend_instance *instance, unsigned i,
                          CUcontext native, struct backend_device **device);
void cuda_close(struct backend_device *device);
void cuda_identify(const struct backend_device *device, char *text,
                   size_t bytes);
void cuda_certified(struct backend_device *device,
                    const struct findings *findings);
void cuda_props(const struct backend_device *device, ssq_device_props *props);
void cuda_limits(const struct backend_device *device,
                 struct backend_limits *limits);

/* memory.c */
ssq_status cuda_alloc(struct backend_device *device, uint64_t bytes,
                      struct backend_mem **mem);
void cuda_free(struct backend_device *device, struct backend_mem *mem);
void cuda_allocator_set(struct backend_device *device, const void *allocator);
/** Return to the driver the memory that the pool keeps for later
 *  allocations. */
void cuda_trim(struct backend_device *device);
/** Wrap memory of the caller, which is never freed here. */
ssq_status cuda_mem_over(struct backend_device *device, CUdeviceptr address,
                         uint64_t bytes, struct backend_mem **mem);
/** Wrap memory of another API, which is unmapped and released with it. */
ssq_status cuda_mem_external(struct backend_device *device, CUdeviceptr address,
                             uint64_t bytes, CUexternalMemory shared,
                             struct backend_mem **mem);

/* share.c */
ssq_status cuda_mem_import(struct backend_device *device, int fd,
                           uint64_t bytes, uint64_t size,
                           struct backend_mem **mem);
ssq_status cuda_shared_import(struct backend_device *device, int fd,
                              struct backend_semaphore **semaphore);
void cuda_shared_close(struct backend_device *device,
                       struct backend_semaphore *semaphore);
ssq_status cuda_shared_signal(struct backend_queue *queue,
                              struct backend_semaphore *semaphore,
                              uint64_t value);
ssq_status cuda_shared_await(struct backend_queue *queue,
                             struct backend_semaphore *semaphore,
                             uint64_t value);

/* ptx.c */
extern const char cuda_ptx_sum[]; /* a checksum of all PTX */
/** Unpack the PTX of a kernel's variant into *text. The caller must release it
 *  with core->mem_free(). name is used in error texts. */
ssq_status cuda_ptx(const struct services *core, const struct kernel *kernel,
                    const uint8_t key[LAUNCH_KEYS], const char *name,
                    char **text);
/** Unpack machine code that a GPU of this compute capability can run. The
 *  caller must release it as above. *code is NULL if the module does not
 *  contain any (configure --with-cuda-arch). */
ssq_status cuda_sass(const struct services *core, int capability,
                     const struct kernel *kernel,
                     const uint8_t key[LAUNCH_KEYS], const char *name,
                     void **code);
/** Return a checksum of the machine code, or "none" if a GPU of this compute
 *  capability cannot run any of it. */
const char *cuda_sass_sum(int capability);

/* kernel.c */
ssq_status cuda_kernel_get(struct backend_device *device,
                           const struct kernel *kernel,
                           const uint8_t key[LAUNCH_KEYS],
                           const struct backend_kernel **code);
void cuda_kernels_free(struct backend_device *device);
/** Enqueue a launch on a stream. The caller must have entered the device's
 *  context. */
CUresult cuda_launch_on(const struct backend_device *device, CUstream stream,
                        const struct launch *launch);

/* native.c */
ssq_status cuda_open_native(struct backend_instance *instance,
                            const void *const *handles, unsigned *i,
                            struct backend_device **device);
ssq_status cuda_queue_native(struct backend_device *device, const void *handle,
                             struct backend_queue **queue);
ssq_status cuda_import(struct backend_device *device, const void *handle,
                       struct backend_mem **mem);
void *cuda_mem_handle(const struct backend_mem *mem);
int32_t cuda_ordinal(const struct backend_device *device);

#endif
