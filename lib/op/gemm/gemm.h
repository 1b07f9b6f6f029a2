/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - the op of ssq_gemm and ssq_gemm_batched.
 *
 * A backend gets a canonical op. All present views except panels have the rank
 * of d, which is at least 3: the batch, collapsed, and then two dimensions. a
 * is [..., m, k] and b is [..., k, n]; a transpose is in the strides. One of
 * the last two strides of a, b and d is 1. c and bias are broadcast to d's
 * shape by strides of 0.
 *
 *     c absent     beta is 0, or c was NULL
 *     k == 0       nothing to multiply (alpha may have been 0): a, b absent */
#ifndef LIB_OP_GEMM_GEMM_H
#define LIB_OP_GEMM_GEMM_H

#include <sesqui/ops/gemm.h>

#include "lib/core/core.h"

/** Most algorithms that a vendor's library may offer for one op. The name of an
 *  algorithm is not 0, and is the same in every process. Name 0 leaves the
 *  choice to the implementation. So does a name that it no longer has. */
#define GEMM_ALGORITHMS 16

/** d = activation(alpha a b + beta c + bias), d is not empty. */
struct gemm_op {
    struct op op;
    int64_t m, n, k, batch; /* batch: the product of the leading sizes */
    float alpha, beta;
    ssq_activation activation;
    bool tf32;  /* a and b are f32, and may be cut to TF32 */
    bool three; /* a and b are f16: three of four products of halves suffice */
    uint8_t gap[2];
    uint64_t algorithm;  /* of the implementation that op.prefer names */
    struct view a, b;    /* absent when k == 0 */
    struct view c, bias; /* optional */
    struct view d;
    /* optional: a packed copy of b (lib/op/gemm/pack.h), for a backend that
     * asked for this form; its rank is 4 */
    struct view panels;
};

/** How one implementation would run an op. A backend's gemm_explain changes the
 *  initial value: no matrix units, float32 sums rounded to nearest. */
struct gemm_explanation {
    ssq_dtype accumulator; /* dtype in which products are summed */
    bool matrix_units;     /* they are used for this op */
    uint32_t block;        /* as in ssq_gemm_explanation */
    uint32_t products;     /* the same */
    bool tf32, copied;     /* the same */
    bool flushed;          /* the same */
    bool packed;           /* the same */
    bool tuned;            /* the same; initially: op.prefer was taken */
    char condition[256];   /* why matrix_units is false */
};

/** The implementation number that gemm_explain gets if a plan runs the op. The
 *  backend may then change only the condition, for a reason that the checks of
 *  its own implementations do not give. */
#define GEMM_BY_PLAN UINT32_MAX

/** Check everything and bring it into the canonical form. If d is empty, only
 *  m, n, k and d have a meaning. name begins error texts. */
ssq_status gemm_build(const ssq_queue *queue, const ssq_gemm_args *args,
                      bool batched, const char *name, struct gemm_op *op);

/** Return the leading dimension of the last two dimensions of a, b or d.
 *  *columns: they are stored column by column (the second last stride is 1). */
static inline int64_t gemm_leading(const struct view *v, bool *columns)
{
    int64_t row = v->stride[v->rank - 2], column = v->stride[v->rank - 1];
    *columns = column != 1;
    return *columns ? column : row;
}

#endif
