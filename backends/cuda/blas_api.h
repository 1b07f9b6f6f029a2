/* SPDX-License-Identifier: Apache-2.0 */
/* blas_api.h - the part of cuBLASLt that the backend uses.
 *
 * As for api.h, no toolkit is needed to build, and a test compiles this header
 * after NVIDIA's cublasLt.h if a toolkit is found. After cublasLt.h, which
 * defines CUBLAS_VERSION, only the lists are defined.
 *
 * All calls and numbers exist in CUDA 11.0 and later. Descriptors are created
 * only by the library's create calls, because their size differs from release
 * to release. */
#ifndef BACKENDS_CUDA_BLAS_API_H
#define BACKENDS_CUDA_BLAS_API_H

#include <stdint.h>

#include "backends/cuda/api.h"

#ifndef CUBLAS_VERSION
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque *cublasLtMatmulPreference_t;
typedef CUstream cudaStream_t;
/* enums of NVIDIA's headers: their ABI is that of an int */
typedef int cublasStatus_t;
typedef int cublasComputeType_t;
typedef int cudaDataType;
typedef int libraryPropertyType;
typedef int cublasLtMatmulDescAttributes_t;
typedef int cublasLtMatrixLayoutAttribute_t;
typedef int cublasLtMatmulPreferenceAttributes_t;
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
#endif

/** Numbers, under their names in NVIDIA's headers. */
/* clang-format off */
#define BLAS_NUMBERS(X) \
    X(CUBLAS_STATUS_SUCCESS, 0) \
    X(CUBLAS_STATUS_NOT_INITIALIZED, 1) \
    X(CUBLAS_STATUS_ALLOC_FAILED, 3) \
    X(CUBLAS_STATUS_INVALID_VALUE, 7) \
    X(CUBLAS_STATUS_ARCH_MISMATCH, 8) \
    X(CUBLAS_STATUS_EXECUTION_FAILED, 13) \
    X(CUBLAS_STATUS_INTERNAL_ERROR, 14) \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15) \
    X(CUBLAS_OP_N, 0) \
    X(CUBLAS_OP_T, 1) \
    X(CUBLAS_COMPUTE_32F, 68) \
    X(CUBLAS_COMPUTE_32F_FAST_TF32, 77) \
    X(MAJOR_VERSION, 0) \
    X(MINOR_VERSION, 1) \
    X(PATCH_LEVEL, 2) \
    X(CUDA_R_32F, 0) \
    X(CUDA_R_16F, 2) \
    X(CUDA_R_16BF, 14) \
    X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5) \
    X(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6) \
    X(CUBLASLT_MATMUL_DESC_TRANSA, 3) \
    X(CUBLASLT_MATMUL_DESC_TRANSB, 4) \
    X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7) \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8) \
    X(CUBLASLT_EPILOGUE_BIAS, 4) \
    X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2) \
    X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1) \
    X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)

/** X(name, symbol, arguments). All return cublasStatus_t. */
#define BLAS_CALLS(X) \
    X(Create, cublasLtCreate, (cublasLtHandle_t *)) \
    X(Destroy, cublasLtDestroy, (cublasLtHandle_t)) \
    X(GetProperty, cublasLtGetProperty, (libraryPropertyType, int *)) \
    X(DescCreate, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *, \
        cublasComputeType_t, cudaDataType)) \
    X(DescDestroy, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t)) \
    X(DescSet, cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t, \
        cublasLtMatmulDescAttributes_t, const void *, size_t)) \
    X(LayoutCreate, cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *, \
        cudaDataType, uint64_t, uint64_t, int64_t)) \
    X(LayoutDestroy, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t)) \
    X(LayoutSet, cublasLtMatrixLayoutSetAttribute, (cublasLtMatrixLayout_t, \
        cublasLtMatrixLayoutAttribute_t, const void *, size_t)) \
    X(PreferenceCreate, cublasLtMatmulPreferenceCreate, \
        (cublasLtMatmulPreference_t *)) \
    X(PreferenceDestroy, cublasLtMatmulPreferenceDestroy, \
        (cublasLtMatmulPreference_t)) \
    X(PreferenceSet, cublasLtMatmulPreferenceSetAttribute, \
        (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, \
        const void *, size_t)) \
    X(Heuristic, cublasLtMatmulAlgoGetHeuristic, (cublasLtHandle_t, \
        cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, \
        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, \
        cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, \
        int *)) \
    X(Matmul, cublasLtMatmul, (cublasLtHandle_t, cublasLtMatmulDesc_t, \
        const void *, const void *, cublasLtMatrixLayout_t, const void *, \
        cublasLtMatrixLayout_t, const void *, const void *, \
        cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t, \
        const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t))
/* clang-format on */

#ifndef CUBLAS_VERSION
#define X(NAME, VALUE) NAME = (VALUE),
enum { BLAS_NUMBERS(X) };
#undef X
#endif

#endif
