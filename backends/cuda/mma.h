/* SPDX-License-Identifier: Apache-2.0 */
/* mma.h - products by a kernel of our own on tensor cores: kernels/gemm/
 * gemm_mma.nv, for devices whose machine has no cuBLASLt.
 *
 * A variant of the kernel is for one dtype, one order of each factor and one
 * size of tile. It is loaded and tested before its first use, and a small one
 * of each dtype when a device opens that would use it: whose cuBLASLt does not
 * have the dtype. A variant whose products are not right is never used. */
#ifndef BACKENDS_CUDA_MMA_H
#define BACKENDS_CUDA_MMA_H

#include "backends/cuda/cuda.h"
#include "kernel_table.h"
#include "kernels/gemm/gemm_args.h"
#include "lib/op/gemm/gemm.h"

/** Behind the kernels that plans have. */
#define KERNEL_gemm_mma KERNEL_COUNT
/** The kernel's PTX is of one of these levels: a compute capability. */
#define MMA_LEAST 75 /* f16 */
#define MMA_ASYNC 80 /* and bf16, cp.async */
/** Bytes that every line of a and b begins at a multiple of. */
#define MMA_ALIGN 16u

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

struct cuda_mma {
    uint8_t level;
    pthread_mutex_t lock;            /* of the variants, while one is tried */
    struct mma_kind kind[MMA_KINDS]; /* f16, bf16 */
};

/* mma.c */
/** With the context, behind cuda_lt_open: what this device can. Fails for what
 *  is wrong with the device, not with its products. */
ssq_status cuda_mma_open(struct backend_device *device);
void cuda_mma_close(struct backend_device *device);
/** f16 or bf16. */
const struct mma_kind *cuda_mma_kind(const struct cuda_mma *mma,
                                     ssq_dtype dtype);
/** Rows and columns of a variant's tiles. */
uint32_t cuda_mma_tile(unsigned variant);
/** A variant's code. */
ssq_status cuda_mma_code(struct backend_device *device, ssq_dtype dtype,
                         unsigned variant, const struct backend_kernel **code);
/** Without the context: has a variant shown that its products are right? It is
 *  asked for that the first time. False: why says what is wrong. */
bool cuda_mma_try(struct backend_device *device, ssq_dtype dtype,
                  unsigned variant, struct why *why);

/* mma_test.c */
/** With the context: *right, or why says which products are not. */
ssq_status cuda_mma_test(struct backend_device *device, ssq_dtype dtype,
                         unsigned variant, bool *right, struct why *why);

/* gemm_mma.c */
bool cuda_mma_check(const struct backend_device *device,
                    const struct gemm_op *op, struct why *why);
ssq_status cuda_mma_run(struct backend_queue *queue, const struct gemm_op *op);
bool cuda_mma_last(const struct backend_device *device,
                   const struct gemm_op *op);
/** Bind an operand's two forms, or one; mem NULL: it is absent, and the first
 *  operand stands for it. */
void cuda_mma_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
                   uint64_t bytes, unsigned forms, enum access access);

#endif
