/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - what the module uses of NCCL and of CUDA's driver, in our own words.
 *
 * Neither is needed to build. Types, numbers and calls are those of nccl.h of
 * 2.14, which later releases of 2.x keep; the configuration has the size and
 * the version of 2.14, by which later ones know what it has not. */
#ifndef COMMS_NCCL_API_H
#define COMMS_NCCL_API_H

#include <stddef.h>
#include <stdint.h>

/** Numbers, by their names in nccl.h. */
/* clang-format off */
#define NCCL_NUMBERS(X) \
    X(ncclSuccess, 0) \
    X(ncclUnhandledCudaError, 1) \
    X(ncclSystemError, 2) \
    X(ncclInternalError, 3) \
    X(ncclInvalidArgument, 4) \
    X(ncclInvalidUsage, 5) \
    X(ncclRemoteError, 6) \
    X(ncclInProgress, 7) \
    X(ncclUint8, 1) \
    X(ncclInt32, 2) \
    X(ncclFloat32, 7) \
    X(ncclSum, 0) \
    X(ncclMax, 2)
/* clang-format on */

#define NCCL_CONFIG_MAGIC   0xcafebeefu
#define NCCL_CONFIG_VERSION 21400u

/** ncclConfig_t of 2.14. What is padding there is a field later. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
    int later;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct nccl_config) == 24,
               "as NCCL 2.14 has it");

/* Behind the real nccl.h, where a test compiles this, only the lists stand. */
#ifndef NCCL_MAJOR
typedef struct ncclComm *ncclComm_t;
typedef struct nccl_config ncclConfig_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
/* enums of the real header: their ABI is that of an int */
typedef int ncclResult_t;
typedef int ncclDataType_t;
typedef int ncclRedOp_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUctx_st *CUcontext;

#define X(NAME, VALUE) NAME = (VALUE),
enum { NCCL_NUMBERS(X) };
#undef X
#endif

/** X(name, answer, arguments), but for ncclGetVersion. */
/* clang-format off */
#define NCCL_CALLS(X) \
    X(ncclGetUniqueId, ncclResult_t, (ncclUniqueId *)) \
    X(ncclCommInitRankConfig, ncclResult_t, (ncclComm_t *, int, ncclUniqueId, \
        int, ncclConfig_t *)) \
    X(ncclCommFinalize, ncclResult_t, (ncclComm_t)) \
    X(ncclCommDestroy, ncclResult_t, (ncclComm_t)) \
    X(ncclCommAbort, ncclResult_t, (ncclComm_t)) \
    X(ncclCommGetAsyncError, ncclResult_t, (ncclComm_t, ncclResult_t *)) \
    X(ncclCommCount, ncclResult_t, (const ncclComm_t, int *)) \
    X(ncclCommCuDevice, ncclResult_t, (const ncclComm_t, int *)) \
    X(ncclCommUserRank, ncclResult_t, (const ncclComm_t, int *)) \
    X(ncclGetErrorString, const char *, (ncclResult_t)) \
    X(ncclGetLastError, const char *, (ncclComm_t)) \
    X(ncclGroupStart, ncclResult_t, (void)) \
    X(ncclGroupEnd, ncclResult_t, (void)) \
    X(ncclBroadcast, ncclResult_t, (const void *, void *, size_t, \
        ncclDataType_t, int, ncclComm_t, cudaStream_t)) \
    X(ncclAllReduce, ncclResult_t, (const void *, void *, size_t, \
        ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)) \
    X(ncclReduce, ncclResult_t, (const void *, void *, size_t, \
        ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t)) \
    X(ncclSend, ncclResult_t, (const void *, size_t, ncclDataType_t, int, \
        ncclComm_t, cudaStream_t)) \
    X(ncclRecv, ncclResult_t, (void *, size_t, ncclDataType_t, int, \
        ncclComm_t, cudaStream_t)) \
    X(ncclReduceScatter, ncclResult_t, (const void *, void *, size_t, \
        ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)) \
    X(ncclAllGather, ncclResult_t, (const void *, void *, size_t, \
        ncclDataType_t, ncclComm_t, cudaStream_t))

/** X(name, symbol, arguments) of the driver, which answers 0. */
#define NCCL_DRIVER_CALLS(X) \
    X(CtxGetCurrent, cuCtxGetCurrent, (CUcontext *)) \
    X(CtxGetDevice, cuCtxGetDevice, (int *)) \
    X(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, int)) \
    X(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int))
/* clang-format on */

#endif
