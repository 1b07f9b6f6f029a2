/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_case.h - one multiplication as a test case: operands, oracle, bound.
 * Shared by the tables of the gemm family. */
#ifndef CONFORMANCE_GEMM_GEMM_CASE_H
#define CONFORMANCE_GEMM_GEMM_CASE_H

#include "conformance/suite.h"

/** Where c comes from. */
enum gemm_c {
    C_NONE,
    C_FULL,
    C_PLACE,  /* c is d */
    C_ROW,    /* [n] */
    C_ROW2,   /* [1,n] */
    C_COLUMN, /* [m,1] */
    C_SCALAR, /* [] */
    C_BATCH   /* [batch..,1,1] */
};

/** Leading dimensions; {0} is ssq_gemm, else ssq_gemm_batched. */
struct gemm_batch_case {
    int rank, a_rank, b_rank;
    int64_t d[SSQ_MAX_RANK - 2], a[SSQ_MAX_RANK - 2], b[SSQ_MAX_RANK - 2];
};

/** Fields that are 0 are plain: no bias, dense, normal data, .. but alpha. */
struct gemm_case {
    const char *name; /* NULL: only the numbers */
    int64_t m, n, k;
    ssq_dtype a, b, c, bias, d; /* bias 0: none */
    enum gemm_c from;
    bool trans_a, trans_b;
    enum layout layout_a, layout_b, layout_c, layout_d, layout_bias;
    double alpha, beta;
    ssq_activation activation;
    enum fill fill_a, fill_b, fill_c; /* fill_c: bias too */
    struct gemm_batch_case batch;
    bool twice; /* run it again: the same bits */
};

/** A case in flight. Operands may also be made by the caller. */
struct gemm_work {
    const struct gemm_case *g;
    struct operand a, b, c, bias, d;
    double *c0; /* c's values before the op */
};

/** The products that are for timing alone: what `sesqui bench` times of gemm,
 *  and `sesqui tune` tunes. NULL past the last. */
const struct gemm_case *gemm_timed(size_t i);

/** "f16 x f16 -> f32 33x17x65 ..." */
void gemm_describe(const struct gemm_case *g, char *text, size_t bytes);

/** Shape of an operand of the case: 'a', 'b', 'c', 'd'. @return its rank */
int gemm_shape(const struct gemm_case *g, char which, int64_t *shape);

/** A call that must succeed, outside of HARNESS_OP. */
void gemm_must(struct harness *b, ssq_status status);

/** Make what the fills say. */
void gemm_operands(struct harness *b, const struct gemm_case *g,
                   struct gemm_work *w);
/** Arguments for the operands. */
ssq_gemm_args gemm_args(const struct gemm_work *w);
/** Run the op on the operands and compare with the oracle. */
bool gemm_finish(struct harness *b, struct gemm_work *w);
/** Both. */
bool gemm_run(struct harness *b, const struct gemm_case *g);

/** Sums are exact in float32: the bits of d when alpha and beta
 *  are 1, -1 or 0. For integers the checker does that by itself. */
bool gemm_exactly(struct harness *b, const struct operand *d,
                  const double *want);

#endif
