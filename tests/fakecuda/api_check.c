/* SPDX-License-Identifier: Apache-2.0 */
/* api_check.c - backends/cuda's own words for NVIDIA's headers, held against
 * these: it only has to compile. With REAL it comes after the real headers,
 * whose every number and prototype must be ours; without, it is our types
 * that have to have the same sizes. */
#include <stddef.h>

#ifdef REAL
/* the old forms of calls, under their own names */
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#include <cublasLt.h>
#endif

#include "backends/cuda/blas_api.h"

/* clang-format off */
#define TYPES(X) \
    X(CUdevice, 4) X(CUdeviceptr, 8) X(CUresult, 4) X(CUcontext, 8) \
    X(CUmodule, 8) X(CUfunction, 8) X(CUstream, 8) X(CUevent, 8) \
    X(CUgraph, 8) X(CUgraphExec, 8) X(CUmemoryPool, 8) \
    X(CUdevice_attribute, 4) X(CUfunction_attribute, 4) X(CUjit_option, 4) \
    X(CUmemAllocationHandleType, 4) X(CUmemAllocationType, 4) \
    X(CUmemLocation, 8) X(CUmemLocationType, 4) X(CUmemPoolProps, 88) \
    X(CUmemPool_attribute, 4) X(CUpointer_attribute, 4) \
    X(CUstreamCaptureMode, 4) X(CUstreamCaptureStatus, 4) \
    X(CUexternalMemory, 8) X(CUexternalSemaphore, 8) \
    X(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, 104) \
    X(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, 88) \
    X(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, 96) \
    X(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 144) \
    X(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, 144) \
    X(cublasLtHandle_t, 8) X(cublasLtMatmulDesc_t, 8) \
    X(cublasLtMatrixLayout_t, 8) X(cublasLtMatmulPreference_t, 8) \
    X(cudaStream_t, 8) X(cublasStatus_t, 4) X(cublasComputeType_t, 4) \
    X(cudaDataType, 4) X(libraryPropertyType, 4) \
    X(cublasLtMatmulDescAttributes_t, 4) \
    X(cublasLtMatrixLayoutAttribute_t, 4) \
    X(cublasLtMatmulPreferenceAttributes_t, 4) X(cublasLtMatmulAlgo_t, 64) \
    X(cublasLtMatmulHeuristicResult_t, 96)
/* clang-format on */

#define X(T, BYTES) _Static_assert(sizeof(T) == (BYTES), #T);
TYPES(X)
#undef X

#define AT(MEMBER, BYTES)                                                      \
    _Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, MEMBER) ==        \
                       (BYTES),                                                \
                   #MEMBER);
AT(algo, 0)
AT(workspaceSize, 64)
AT(state, 72)
AT(wavesCount, 76)

_Static_assert(offsetof(CUmemPoolProps, location) == 8, "location");
_Static_assert(offsetof(CUmemPoolProps, maxSize) == 24, "maxSize");

#ifdef REAL
#define X(NAME, VALUE) _Static_assert((long long)(NAME) == (VALUE), #NAME);
CUDA_NUMBERS(X)
BLAS_NUMBERS(X)
#undef X

/* Another prototype is a constraint that is violated. */
#define X(NAME, SYMBOL, ARGS)                                                  \
    extern CUresult(*const cuda_##NAME) ARGS;                                  \
    CUresult(*const cuda_##NAME) ARGS = SYMBOL;
CUDA_CALLS(X)
#undef X
#define X(NAME, SYMBOL, ARGS)                                                  \
    extern cublasStatus_t(*const blas_##NAME) ARGS;                            \
    cublasStatus_t(*const blas_##NAME) ARGS = SYMBOL;
BLAS_CALLS(X)
#undef X
#endif
