/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - declarations of the parts of NCCL and of the CUDA driver that the
 * module uses.
 *
 * Neither library is needed for the build. Types, numbers and calls are those
 * of nccl.h 2.14; later releases of 2.x keep them. The configuration has the
 * size and version of 2.14, so a later NCCL knows which fields it lacks. */
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

/** ncclConfig_t of 2.14. `later` is padding there, and a field in later
 *  versions. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
    int later;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct nccl_config) == 24,
               "as NCCL 2.14 has it");

/* A test includes the real nccl.h before this header. It then provides the
 * types and numbers of this block. */
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

/** X(name, return type, arguments). ncclGetVersion is not in the list: it is
 *  looked up first. */
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

/** X(name, symbol, arguments) of the driver. Each call returns 0 on success. */
#define NCCL_DRIVER_CALLS(X) \
    X(CtxGetCurrent, cuCtxGetCurrent, (CUcontext *)) \
    X(CtxGetDevice, cuCtxGetDevice, (int *)) \
    X(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, int)) \
    X(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int))
/* clang-format on */

#endif
