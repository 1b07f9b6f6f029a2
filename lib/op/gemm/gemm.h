/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - the one op behind ssq_gemm and ssq_gemm_batched.
 *
 * What a backend gets is canonical. All present views but panels have the rank
 * of d, which is at least 3: the batch, collapsed, and then two dimensions. a
 * is
 * [..., m, k] and b is [..., k, n] whatever was transposed: a transpose is in
 * the strides. In a, b and d one of the last two strides is 1. c and bias are
 * broadcast to d's shape by strides of 0.
 *
 *     c absent     beta is 0, or there was none
 *     k == 0       nothing to multiply (alpha may have been 0): a, b absent */
#ifndef LIB_OP_GEMM_GEMM_H
#define LIB_OP_GEMM_GEMM_H

#include <sesqui/ops/gemm.h>

#include "lib/core/core.h"

/** Algorithms of a vendor's library for one product. Each has a name that is
 *  not 0, and the same in every process; 0 leaves the choice to the
 *  implementation, and so does a name that it does not have any more. */
#define GEMM_ALGORITHMS 16

/** d = activation(alpha a b + beta c + bias), d is not empty. */
struct gemm_op {
    struct op op;
    int64_t m, n, k, batch; /* batch: the product of the leading sizes */
    float alpha, beta;
    ssq_activation activation;
    bool tf32;  /* a and b are f32, and may be cut to TF32 */
    bool three; /* a and b are f16: three of four products of halves do */
    uint8_t gap[2];
    uint64_t algorithm;  /* of the implementation that op.prefer names */
    struct view a, b;    /* absent when k == 0 */
    struct view c, bias; /* optional */
    struct view d;
    /* optional: b once more (lib/op/gemm/pack.h), for whoever asked for that
     * form; it has a rank of its own */
    struct view panels;
};

/** How one implementation would do an op: what a backend's gemm_explain
 *  changes. It begins as: no matrix units, float32 sums to nearest. */
struct gemm_explanation {
    ssq_dtype accumulator; /* in which products are summed */
    bool matrix_units;     /* they are used for this op */
    uint32_t block;        /* as in ssq_gemm_explanation */
    uint32_t products;     /* the same */
    bool tf32, copied;     /* the same */
    bool flushed;          /* the same */
    bool packed;           /* the same */
    bool tuned;            /* the same; begins true where op.prefer was taken */
    char condition[256];   /* why matrix_units is false */
};

/** What gemm_explain is asked with where a plan does the op. The backend may
 *  then change the condition alone, for one that its own implementations do not
 *  tell. */
#define GEMM_BY_PLAN UINT32_MAX

/** Check everything and bring it into that form. Where d is empty, only m, n
 *  and k are meant. name begins error texts. */
ssq_status gemm_build(const ssq_queue *queue, const ssq_gemm_args *args,
                      bool batched, const char *name, struct gemm_op *op);

/** The leading dimension of a's, b's or d's last two dimensions, and whether
 *  they lie column by column (the second last is the fast one). */
static inline int64_t gemm_leading(const struct view *v, bool *columns)
{
    int64_t row = v->stride[v->rank - 2], column = v->stride[v->rank - 1];
    *columns = column != 1;
    return *columns ? column : row;
}

#endif
