/* SPDX-License-Identifier: Apache-2.0 */
/* fakeblas.h - the calls of cuBLASLt that the stand-in has, with the ABI of
 * NVIDIA's cublasLt.h, and what it has beyond them.
 *
 * The environment, read by each cublasLtCreate for its handle:
 *   FAKEBLAS_WRONG=transposed    results that are not right: "transposed",
 *                  half          summed in float16, without the
 *                  bias, beta    bias, without what beta adds;
 *                  tf32          float16 sums of TF32 alone
 *   FAKEBLAS_FAIL=create         cublasLtCreate fails,
 *                 heuristic      no shape has an algorithm,
 *                 first, all     the first algorithm of a shape, or each, is
 *                                not supported after all
 *   FAKEBLAS_REFUSE=1            each is not, from now on
 *   FAKEBLAS_SLOW=2              this number of a shape's algorithms takes
 *                                20 ms more
 *   FAKEBLAS_LIST=1              its algorithms are others
 *   FAKEBLAS_PATCH=1             of the library's version, which is 13.0
 *   FAKECUDA_QUIET=1             refusals are not printed */
#ifndef TESTS_FAKECUDA_BLAS_FAKEBLAS_H
#define TESTS_FAKECUDA_BLAS_FAKEBLAS_H

#include "tests/fakecuda/driver/fakecuda.h"

typedef int cublasStatus_t;
typedef struct fake_handle *cublasLtHandle_t;
typedef struct fake_desc *cublasLtMatmulDesc_t;
typedef struct fake_layout *cublasLtMatrixLayout_t;
typedef struct fake_preference *cublasLtMatmulPreference_t;

typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

#define BLAS_SUCCESS         0
#define BLAS_NOT_INITIALIZED 1
#define BLAS_ALLOC_FAILED    3
#define BLAS_INVALID_VALUE   7
#define BLAS_EXECUTION       13
#define BLAS_NOT_SUPPORTED   15

/* clang-format off */
/* X(call, arguments): all answer cublasStatus_t. */
#define FAKEBLAS_CALLS(X) \
    X(cublasLtCreate, (cublasLtHandle_t *handle)) \
    X(cublasLtDestroy, (cublasLtHandle_t handle)) \
    X(cublasLtGetProperty, (int property, int *value)) \
    X(cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *desc, int compute, \
        int scale)) \
    X(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc)) \
    X(cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t desc, \
        int attribute, const void *value, size_t bytes)) \
    X(cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *layout, int type, \
        uint64_t rows, uint64_t columns, int64_t leading)) \
    X(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout)) \
    X(cublasLtMatrixLayoutSetAttribute, (cublasLtMatrixLayout_t layout, \
        int attribute, const void *value, size_t bytes)) \
    X(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *p)) \
    X(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t p)) \
    X(cublasLtMatmulPreferenceSetAttribute, (cublasLtMatmulPreference_t p, \
        int attribute, const void *value, size_t bytes)) \
    X(cublasLtMatmulAlgoGetHeuristic, (cublasLtHandle_t handle, \
        cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, \
        cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, \
        cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t p, int most, \
        cublasLtMatmulHeuristicResult_t *results, int *n)) \
    X(cublasLtMatmul, (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, \
        const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout, \
        const void *b, cublasLtMatrixLayout_t b_layout, const void *beta, \
        const void *c, cublasLtMatrixLayout_t c_layout, void *d, \
        cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, \
        void *workspace, size_t workspace_bytes, CUstream stream))
/* clang-format on */

#define X(NAME, ARGS) FAKE_EXPORT cublasStatus_t NAME ARGS;
FAKEBLAS_CALLS(X)
#undef X

/* Products that were enqueued so far, the ones that an algorithm refused on
 * demand, and calls of the heuristics. */
FAKE_EXPORT void fakeblas_counts(unsigned long *products,
                                 unsigned long *refused,
                                 unsigned long *heuristics);
/* Products of float32 that were allowed to be cut to TF32, and were; and the
 * last product's algorithm, by its place in the list of the heuristics. */
FAKE_EXPORT void fakeblas_last(unsigned long *tf32, unsigned *algorithm);
/* The calls refused as against the documentation; the last text is copied. */
FAKE_EXPORT unsigned long fakeblas_faults(char *text, size_t bytes);
/* Handles, descriptors, layouts and preferences that live. */
FAKE_EXPORT unsigned long fakeblas_live(void);

#endif
