/* SPDX-License-Identifier: Apache-2.0 */
/* lt.h - a device's cuBLASLt: a handle, the results of its self-test, and the
 * results of its heuristics for the shapes used so far.
 *
 * Products are described in cuBLASLt's order, column by column: d' = b' a'. Its
 * row order does not support a bias. In this header `a` is therefore the op's
 * b, and m its n. */
#ifndef BACKENDS_CUDA_LT_H
#define BACKENDS_CUDA_LT_H

#include "backends/cuda/blas.h"
#include "backends/cuda/cuda.h"

/** Shapes for which a device keeps plans, and algorithms of each plan. */
#define LT_PLANS      128u
#define LT_ALGORITHMS 8
/** Most workspace that the heuristics may use: NVIDIA's recommendation for
 *  Hopper and later, and for earlier devices. */
#define LT_WORKSPACE_LARGE (UINT64_C(32) << 20)
#define LT_WORKSPACE       (UINT64_C(4) << 20)
/** Largest alignment that is reported to the heuristics, and the least that
 *  16-bit operands must have. In bytes. */
#define LT_ALIGN_MOST  256u
#define LT_ALIGN_LEAST 16u

/** Kinds of factors: f16, bf16, f32, and f32 that may be cut to TF32. */
#define LT_KINDS 4
struct lt_kind {
    ssq_dtype dtype;
    bool tf32;
    bool admitted;
    struct why why; /* why it is not admitted */
};

/** A matrix, with its leading dimension and the step to the next matrix, in
 *  elements. */
struct lt_matrix {
    int64_t leading, batch;
    uint32_t align;  /* bytes: a power of two that divides the address */
    uint32_t turned; /* the product uses its transpose */
};

/** The key of a plan. All bytes are compared, so it must be zeroed first. */
struct lt_shape {
    int64_t m, n, k, batch;
    struct lt_matrix a, b, c, d;
    uint32_t factors, result;  /* cudaDataType; result is the type of c and d */
    uint32_t bias, bias_align; /* bias: 1 if there is one, of d's type */
    uint32_t tf32;             /* float32 factors may be cut to TF32 */
};

/** d = alpha a b + beta c + bias, with the bias along d's columns. If beta is
 *  0, c is d. */
struct lt_product {
    struct lt_shape shape;
    CUdeviceptr a, b, c, d, bias;
    float alpha, beta;
    uint64_t algorithm; /* the name of the algorithm to try first; 0: the first
                           of the list */
};

/** The descriptors of a shape, and its algorithms, best first. */
struct lt_plan {
    struct lt_shape shape;
    uint64_t used; /* time of the last use; 0: this place is empty */
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    int n, first; /* number of algorithms, and index of the first that has not
                     refused */
    cublasLtMatmulHeuristicResult_t found[LT_ALGORITHMS];
    uint64_t name[LT_ALGORITHMS]; /* of each algorithm; 0: it was asked by name
                                     and refused */
};

struct cuda_lt {
    const struct cuda_blas *blas;
    cublasLtHandle_t handle;
    uint64_t workspace_bytes;
    struct lt_kind kind[LT_KINDS];
    pthread_mutex_t lock; /* held while a plan is used: any queue may use it */
    uint64_t clock;
    struct lt_plan plan[LT_PLANS];
};

/* lt.c */
/** Create the device's cuBLASLt and test it, with the context. Fails only for a
 *  lack of host memory. If cuBLASLt is missing or faulty, the device works
 *  without it, and d->lt_why or a kind's why contains the reason. */
ssq_status cuda_lt_open(struct backend_device *device);
/** Free a device's cuBLASLt. If the context could not be entered, only host
 *  memory is freed. */
void cuda_lt_close(struct backend_device *device, bool entered);
/** Return the result of the self-test for factors of a dtype, cut to TF32 or
 *  not. NULL: not a kind. */
const struct lt_kind *cuda_lt_kind(const struct cuda_lt *lt, ssq_dtype dtype,
                                   bool tf32);
cudaDataType cuda_lt_type(ssq_dtype dtype);
/** Return the greatest power of two that divides an address, up to
 *  LT_ALIGN_MOST. */
uint32_t cuda_lt_align(CUdeviceptr address);

/* lt_plan.c */
/** Return whether there is an algorithm for a product. If not, why is set. With
 *  the context. */
bool cuda_lt_can(struct cuda_lt *lt, const struct lt_product *p,
                 struct why *why);
/** Set names to the algorithms of a product, best first, as for
 *  gemm_op.algorithm. Returns their number, at most LT_ALGORITHMS. With the
 *  context. */
unsigned cuda_lt_algorithms(struct cuda_lt *lt, const struct lt_product *p,
                            uint64_t *names);
/** Enqueue a product, with the context. Never waits. The workspace has
 *  lt->workspace_bytes bytes, and is used by no other stream.
 *  @return
 *   - SSQ_ERR_UNSUPPORTED  nothing was enqueued: no algorithm accepts the
 *     product, or the heuristics failed. In the first case cuda_lt_can() is
 *     false as long as the plan is kept.
 *   - SSQ_ERR_DEVICE       the product may be enqueued in part
 *   After an error why contains the reason. */
ssq_status cuda_lt_multiply(struct cuda_lt *lt, const struct lt_product *p,
                            CUdeviceptr workspace, CUstream stream,
                            struct why *why);
void cuda_lt_plans_free(struct cuda_lt *lt);

/* lt_test.c */
/** Return whether the products of a kind are correct. If not, kind->why is set.
 *  With the context. */
bool cuda_lt_test(struct backend_device *device, struct lt_kind *kind);

#endif
