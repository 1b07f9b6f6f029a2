/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the CUDA backend: NVIDIA's GPUs through their driver's API, a module
 * of its own that needs no toolkit, neither to build nor to run.
 *
 * A device is the primary context of one GPU, which it shares with whoever else
 * computes there in this process (PyTorch, say); a queue is a stream. Every
 * call of the driver stands between cuda_enter() and cuda_leave(): the context
 * is the thread's for just so long, and what the caller had current comes back.
 * All ops but copies are plans of kernels: PTX that is part of the module, of
 * which the driver compiles (and keeps on disk) one variant at its first use.
 *
 * Order of locks: a queue's and the table of kernels' stand alone. */
#ifndef BACKENDS_CUDA_CUDA_H
#define BACKENDS_CUDA_CUDA_H

#include <pthread.h>
#include <sesqui/cuda.h>

#include "backends/common/kernel_map.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/calls.h"
#include "lib/core/backend.h"

/** Bytes of every buffer's alignment within its slab: cuMemAlloc's own. */
#define CUDA_ALIGN 256u
/** Work-items in a group, and float32s of the best vector of one: 16 bytes are
 *  the widest load of an item. */
#define CUDA_GROUP 256u
#define CUDA_WIDTH 4u
/** Longest words of a device that are kept. */
#define CUDA_WORDS        128
#define CUDA_MOST_DEVICES 64
/** The oldest driver and device that are taken: doc/guide/drivers.md. */
#define CUDA_DRIVER_LEAST     11080
#define CUDA_CAPABILITY_LEAST 70

/** One GPU of the driver's list; cuda:N is the driver's N, fit or not. */
struct cuda_found {
    CUdevice id;
    char name[CUDA_WORDS];
    int capability;  /* 86 is 8.6; 0: the driver did not say */
    bool prohibited; /* by nvidia-smi's compute mode */
};

/** A copy of the library: what it lends, the driver, and its GPUs. */
struct backend_instance {
    const struct services *core;
    struct cuda_calls calls;
    struct cuda_blas blas_room, *blas; /* what describe() may look for, too */
    int driver;                        /* 12040 is CUDA 12.4 */
    unsigned n;
    struct cuda_found found[CUDA_MOST_DEVICES];
};

struct backend_device {
    const struct services *core; /* of the copy that opened it */
    struct cuda_calls *calls;
    struct cuda_blas *blas;
    const struct cuda_found *found;
    int driver;
    CUcontext context;
    bool retained;              /* the primary context: to be released */
    bool integrated;            /* its memory is the host's */
    ssq_cuda_allocator callers; /* where memory comes from; alloc NULL: below */
    CUmemoryPool pool;          /* of memory; NULL: it comes from cuMemAlloc */
    /* what pools do comes in this order, and what has to be done at once */
    CUstream memory_order;
    uint64_t memory_bytes;
    uint32_t units, local_bytes;
    ssq_subnormals subnormals; /* as certified */
    struct kernel_map kernels;
    struct cuda_lt *lt; /* of lt.h; NULL: lt_why says why not */
    struct why lt_why;
    struct mma *mma; /* of backends/mma/mma.h */
    uint32_t processors;
};

enum cuda_origin { CUDA_POOLED, CUDA_PLAIN, CUDA_IMPORTED, CUDA_CALLERS };

struct cuda_mem {
    struct backend_mem mem; /* first: the core's pointer is ours */
    CUdeviceptr address;
    enum cuda_origin origin; /* how it is freed */
    ssq_cuda_allocator from; /* of CUDA_CALLERS */
};

/** Where a view begins. Scratch of a dry capture has no memory: it is taken to
 *  begin at 0, which is as aligned as memory is. */
static inline CUdeviceptr cuda_address(const struct view *v)
{
    const struct cuda_mem *m = (const struct cuda_mem *)v->buffer->mem;
    return (m == NULL ? 0 : m->address) + v->buffer->offset + v->offset;
}

/* error.c */
/** Fill why (may be NULL) and answer false. */
bool cuda_refuse(struct why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** No host memory for the backend's own: sets the error text. */
ssq_status cuda_no_memory(const struct services *core, size_t bytes);
/** "CUDA_ERROR_ILLEGAL_ADDRESS", or "an error without a name". */
const char *cuda_error_name(const struct cuda_calls *calls, CUresult error);
/** "cuda: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)" as SSQ_ERR_DEVICE;
 *  SSQ_ERR_NOMEM where the driver had no memory. */
ssq_status cuda_error(const struct backend_device *device, const char *call,
                      CUresult error);

/* context.c */
/** Make the device's context the calling thread's, until cuda_leave(). */
ssq_status cuda_enter(const struct backend_device *device);
void cuda_leave(const struct backend_device *device);
/** Between these two, with the context, the thread may make calls that would
 *  spoil a capture, be it its own or one that forbids them to all threads: they
 *  are for streams and memory that no capture sees. */
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
/** Open device i over a context of the caller's; NULL: over the primary one. */
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
/** Give back to the driver what is kept for later allocations. */
void cuda_trim(struct backend_device *device);
/** The caller's memory from address on; it stays his. */
ssq_status cuda_mem_over(struct backend_device *device, CUdeviceptr address,
                         uint64_t bytes, struct backend_mem **mem);

/* ptx.c */
extern const char cuda_ptx_sum[]; /* of all PTX */
/** A kernel's PTX in a variant, which the caller frees; name: for texts. */
ssq_status cuda_ptx(const struct services *core, const struct kernel *kernel,
                    const uint8_t key[LAUNCH_KEYS], const char *name,
                    char **text);
/** Machine code for a GPU of this compute capability, likewise; NULL: the
 *  module has none (configure --with-cuda-arch). */
ssq_status cuda_sass(const struct services *core, int capability,
                     const struct kernel *kernel,
                     const uint8_t key[LAUNCH_KEYS], const char *name,
                     void **code);
/** The sum of all that a GPU is offered; "none". */
const char *cuda_sass_sum(int capability);

/* kernel.c */
ssq_status cuda_kernel_get(struct backend_device *device,
                           const struct kernel *kernel,
                           const uint8_t key[LAUNCH_KEYS],
                           const struct backend_kernel **code);
void cuda_kernels_free(struct backend_device *device);
/** Enqueue on a stream; the device's context is entered. */
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

#endif
