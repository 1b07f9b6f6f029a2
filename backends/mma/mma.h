/* SPDX-License-Identifier: Apache-2.0 */
/* mma.h - products by a kernel of our own on NVIDIA's tensor cores: kernels/
 * gemm/gemm_mma.nv, which the cuda module has as PTX and the opencl module as
 * OpenCL C.
 *
 * A variant of the kernel is for one dtype, one order of each factor and one
 * size of tile. It is loaded and tested before its first use, and a small one
 * of each dtype when a device opens that would use it. A variant whose products
 * are not right is never used. */
#ifndef BACKENDS_MMA_MMA_H
#define BACKENDS_MMA_MMA_H

#include <pthread.h>

#include "kernel_table.h"
#include "kernels/gemm/gemm_args.h"
#include "lib/core/module/backend.h"
#include "lib/op/gemm/gemm.h"

/** Behind the kernels that plans have. */
#define KERNEL_gemm_mma KERNEL_COUNT
/** The kernel is of one of these levels: a compute capability. */
#define MMA_LEAST 75 /* f16 */
#define MMA_ASYNC 80 /* and bf16, cp.async */
/** Bytes that every line of a and b begins at a multiple of. */
#define MMA_ALIGN 16u
/** Work-items of its groups. */
#define MMA_GROUP 256u

#define MMA_KINDS    2
#define MMA_VARIANTS 8

enum mma_state { MMA_UNTRIED, MMA_RIGHT, MMA_WRONG };

/** One variant: bit 0 of its number: a is turned, bit 1: b, bit 2: large. */
struct mma_variant {
    enum mma_state state;
    struct why why; /* of MMA_WRONG */
};
#define MMA_A_TURNED 1u
#define MMA_B_TURNED 2u
#define MMA_LARGE    4u

/** Factors of one dtype. */
struct mma_kind {
    ssq_dtype dtype;
    bool admitted;
    struct why why; /* why it is not */
    struct mma_variant variant[MMA_VARIANTS];
};

/** Where a test works: its own memory, and an order of work that no queue
 *  of the device has. */
struct mma_bench {
    struct backend_mem *mem;
    void *order; /* the backend's */
};

/** The functions that a backend provides. Each sets the error text if it fails.
 */
struct mma_calls {
    /** The kernel in a variant. SSQ_ERR_UNSUPPORTED: the driver does not take
     *  it, and will not the next time. */
    ssq_status (*kernel_get)(struct backend_device *device,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code);
    /** Bytes from the last multiple of MMA_ALIGN to a view's first element. */
    uint32_t (*off)(const struct view *v);
    ssq_status (*launch)(struct backend_queue *queue, const struct launch *l);
    /* A test's: from any thread, even if that thread is recording. A failure in
     * between is ended too. */
    ssq_status (*bench_open)(struct backend_device *device, uint64_t bytes,
                             struct mma_bench *bench);
    void (*bench_close)(struct backend_device *device, struct mma_bench *bench);
    /** Copy, and wait. */
    ssq_status (*bench_write)(struct backend_device *device,
                              const struct mma_bench *bench, uint64_t at,
                              const void *host, size_t bytes);
    ssq_status (*bench_read)(struct backend_device *device,
                             const struct mma_bench *bench, uint64_t at,
                             void *host, size_t bytes);
    ssq_status (*bench_launch)(struct backend_device *device,
                               const struct mma_bench *bench,
                               const struct launch *l);
};

struct mma {
    const struct mma_calls *calls;
    const struct services *core;
    const char *backend, *name; /* for texts: whose, and the device's */
    int capability;             /* 80 is 8.0 */
    uint32_t processors;        /* that tiles are divided among */
    uint32_t local_bytes;       /* of memory that a group shares */
    uint8_t level;
    pthread_mutex_t lock;            /* of the variants, while one is tried */
    struct mma_kind kind[MMA_KINDS]; /* f16, bf16 */
};

/* variant.c */
/** Fill why (may be NULL) and answer false. */
bool mma_refuse(struct why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Rows and columns of a variant's tiles. */
uint32_t mma_tile(unsigned variant);
/** Bytes of memory that a group shares. */
uint32_t mma_local_bytes(const struct mma *mma, unsigned variant);
/** Products that tensor cores add before they truncate, as far as known,
 *  by the compute capability. */
uint32_t mma_block(int capability);
/** A variant's code. */
ssq_status mma_code(const struct mma *mma, struct backend_device *device,
                    ssq_dtype dtype, unsigned variant,
                    const struct backend_kernel **code);

/* mma.c */
/** Begin with the device's properties: calls to local_bytes are filled. False:
 * the system has no lock left. */
bool mma_open(struct mma *mma);
void mma_close(struct mma *mma);
/** Support for a dtype, f16 or bf16; tried: a small variant is
 *  tested immediately, so that the device's properties contain the result.
 * Fails for errors of the device, not for wrong products. */
ssq_status mma_kind_open(struct mma *mma, struct backend_device *device,
                         ssq_dtype dtype, bool tried);
const struct mma_kind *mma_kind(const struct mma *mma, ssq_dtype dtype);
/** Has a variant shown that its products are right? It is asked for that the
 *  first time. False: why says what is wrong. */
bool mma_try(struct mma *mma, struct backend_device *device, ssq_dtype dtype,
             unsigned variant, struct why *why);

/* mma_test.c */
/** *right, or why says which products are not. */
ssq_status mma_test(const struct mma *mma, struct backend_device *device,
                    ssq_dtype dtype, unsigned variant, bool *right,
                    struct why *why);

/* gemm_mma.c: the fields of an entry of a list of implementations */
bool mma_check(struct mma *mma, struct backend_device *device,
               const struct gemm_op *op, struct why *why);
ssq_status mma_run(const struct mma *mma, struct backend_device *device,
                   struct backend_queue *queue, const struct gemm_op *op);
bool mma_last(const struct gemm_op *op);

/* bind.c */
/** Bind an operand's two forms, or one; mem NULL: it is absent, and the first
 *  operand represents it. */
void mma_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
              uint64_t bytes, unsigned forms, enum access access);

#endif
