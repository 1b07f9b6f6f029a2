/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_route.h - how cuBLASLt computes a matmul: which factors are copied
 * first, in which pieces, and what the library gets. */
#ifndef BACKENDS_CUDA_GEMM_ROUTE_H
#define BACKENDS_CUDA_GEMM_ROUTE_H

#include "backends/cuda/lt.h"
#include "lib/op/gemm/product.h"

/** Float32 sums that fit into a queue's memory. */
#define ROUTE_SUMS (INT64_C(16) << 20)
/** Elements of a copy of each factor that fit into a queue's memory. */
#define ROUTE_COPY (INT64_C(16) << 20)

/** How a product is computed: which factors are copied first, and whether the
 *  library writes d. */
struct route {
    bool copy_a, copy_b;
    bool whole;             /* the library writes d itself */
    bool tf32;              /* it may cut float32 factors to TF32 */
    int64_t m, n, k;        /* sizes for the library, with padding */
    CUdeviceptr a, b, sums; /* addresses in the queue's memory */
};

static inline bool route_copies(const struct route *r)
{
    return r->copy_a || r->copy_b;
}

static inline uint32_t factor_bytes(ssq_dtype dtype)
{
    return dtype == SSQ_F32 ? 4 : 2;
}

/** Return the product with adjacent columns in d. If d is one column with
 *  adjacent elements, it is transposed to a row. */
struct product cuda_gemm_product(const struct gemm_op *op);

/** Choose the route of an op, from addresses and strides only. The addresses in
 *  the queue's memory, which are aligned, are set later. */
struct route cuda_route_of(const struct backend_device *d,
                           const struct gemm_op *op, const struct product *g);
/** Return the sizes of a piece, as large as the queue's memory allows. All
 *  pieces except the last ones have these sizes. */
struct product cuda_route_sizes(const struct product *g, const struct route *r);
/** Return the route of a piece of the product. */
struct route cuda_route_piece(const struct route *r, const struct product *all,
                              const struct product *piece);
/** Return what the library computes of a piece: all of it, or only its float32
 *  sums. */
struct lt_product cuda_route_product(const struct gemm_op *op,
                                     const struct product *g,
                                     const struct route *r);

/** Describe a view whose rows or columns have adjacent elements. cuBLASLt gets
 *  the transpose, whose columns are these rows. */
struct lt_matrix cuda_lt_matrix(const struct view *v);
/** Return whether lines follow each other without overlapping, and matrices
 * have no negative stride. */
bool cuda_lt_plain(const struct view *v, const struct lt_matrix *x);
/** Return whether all lines begin at multiples of 16 bytes. */
bool cuda_lt_aligned(ssq_dtype dtype, const struct lt_matrix *x);

#endif
