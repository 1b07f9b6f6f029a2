/* SPDX-License-Identifier: Apache-2.0 */
/* lt.h - a device's cuBLASLt: a handle, what its self-test found, and what its
 * heuristics said of the shapes that came.
 *
 * Products are told in cuBLASLt's order, column by column: d' = b' a', because
 * its row order knows no bias. So here `a` is the op's b, and m its n. */
#ifndef BACKENDS_CUDA_LT_H
#define BACKENDS_CUDA_LT_H

#include "backends/cuda/blas.h"
#include "backends/cuda/cuda.h"

/** Shapes that a device keeps plans of, and algorithms of each. */
#define LT_PLANS      128u
#define LT_ALGORITHMS 8
/** What the heuristics may use of memory beside the operands: what NVIDIA
 *  advises for Hopper and later, and for devices before. */
#define LT_WORKSPACE_LARGE (UINT64_C(32) << 20)
#define LT_WORKSPACE       (UINT64_C(4) << 20)
/** Alignment that is asked about at most, and the least that 16-bit operands
 *  are taken with. */
#define LT_ALIGN_MOST  256u
#define LT_ALIGN_LEAST 16u

/** Kinds of factors: f16, bf16, f32, and f32 that may be cut to TF32. */
#define LT_KINDS 4
struct lt_kind {
    ssq_dtype dtype;
    bool tf32;
    bool admitted;
    struct why why; /* why it is not */
};

/** A matrix: from column to column and from matrix to matrix, in elements. */
struct lt_matrix {
    int64_t leading, batch;
    uint32_t align;  /* bytes: a power of two that divides its address */
    uint32_t turned; /* its transpose is meant */
};

/** What plans are kept by: all bytes are compared, so it begins zeroed. */
struct lt_shape {
    int64_t m, n, k, batch;
    struct lt_matrix a, b, c, d;
    uint32_t factors, result;  /* cudaDataType; c is as d */
    uint32_t bias, bias_align; /* is there one, of d's type? */
    uint32_t tf32; /* float32 factors may be cut to TF32 */
};

/** d = alpha a b + beta c, then + bias along d's columns; beta 0: c is d. */
struct lt_product {
    struct lt_shape shape;
    CUdeviceptr a, b, c, d, bias;
    float alpha, beta;
    uint64_t algorithm; /* which is asked first; 0: the first of the list */
};

/** A shape's descriptors, and its algorithms, best first. */
struct lt_plan {
    struct lt_shape shape;
    uint64_t used; /* 0: there is no plan here */
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    int n, first; /* algorithms; those before the first have refused */
    cublasLtMatmulHeuristicResult_t found[LT_ALGORITHMS];
    uint64_t name[LT_ALGORITHMS]; /* of each; 0: asked by name, it refused */
};

struct cuda_lt {
    const struct cuda_blas *blas;
    cublasLtHandle_t handle;
    uint64_t workspace_bytes;
    struct lt_kind kind[LT_KINDS];
    pthread_mutex_t lock; /* of the plans: any queue asks */
    uint64_t clock;
    struct lt_plan plan[LT_PLANS];
};

/* lt.c */
/** With the context: make the device's cuBLASLt and try it. Without one the
 *  device goes on, and d->lt_why says why; fails without host memory. */
ssq_status cuda_lt_open(struct backend_device *device);
/** Where the context could not be entered, only what is the host's goes. */
void cuda_lt_close(struct backend_device *device, bool entered);
/** What was found of factors of a dtype, cut to TF32 or not; NULL: no such
 *  kind. */
const struct lt_kind *cuda_lt_kind(const struct cuda_lt *lt, ssq_dtype dtype,
                                   bool tf32);
cudaDataType cuda_lt_type(ssq_dtype dtype);
/** The greatest power of two that divides an address, up to LT_ALIGN_MOST. */
uint32_t cuda_lt_align(CUdeviceptr address);

/* lt_plan.c */
/** With the context: is there an algorithm for this? */
bool cuda_lt_can(struct cuda_lt *lt, const struct lt_product *p,
                 struct why *why);
/** With the context: the names of a product's algorithms, as gemm_op has them,
 *  and how many. */
unsigned cuda_lt_algorithms(struct cuda_lt *lt, const struct lt_product *p,
                            uint64_t *names);
/** With the context: enqueue it, without waiting for anything. The workspace
 *  has lt->workspace_bytes, which are the stream's alone. SSQ_ERR_UNSUPPORTED:
 *  nothing was enqueued, because no algorithm takes it; cuda_lt_can is false
 *  from then on. SSQ_ERR_DEVICE: anything may have happened. why says what. */
ssq_status cuda_lt_multiply(struct cuda_lt *lt, const struct lt_product *p,
                            CUdeviceptr workspace, CUstream stream,
                            struct why *why);
void cuda_lt_plans_free(struct cuda_lt *lt);

/* lt_test.c */
/** With the context: are the products of a kind right? False: kind->why. */
bool cuda_lt_test(struct backend_device *device, struct lt_kind *kind);

#endif
