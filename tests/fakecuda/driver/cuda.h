/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the driver API that the stand-in has: types and numbers with the ABI
 * of NVIDIA's cuda.h, whose enums are ints. */
#ifndef TESTS_FAKECUDA_DRIVER_CUDA_H
#define TESTS_FAKECUDA_DRIVER_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef int CUresult;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef void (*CUhostFn)(void *data);

typedef struct {
    int type, id;
} CUmemLocation;

typedef struct {
    int allocType, handleTypes;
    CUmemLocation location;
    void *security;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;

typedef struct {
    char bytes[16];
} CUuuid;

typedef struct {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
    void *kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUextSemaphore_st *CUexternalSemaphore;

typedef struct {
    int type;
    union {
        int fd;
        void *win32[2];
    } handle;
    unsigned long long size;
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

typedef struct {
    unsigned long long offset, size;
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;

typedef struct {
    int type;
    union {
        int fd;
        void *win32[2];
    } handle;
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;

/* the fields that the structs of a signal and of a wait share */
typedef struct {
    unsigned long long value, others[8];
    unsigned flags, reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_PARAMS;

/* clang-format off */
/* X(name without CUDA_, number): all results that the stand-in gives. */
#define FAKE_RESULTS(X) \
    X(SUCCESS, 0) \
    X(ERROR_INVALID_VALUE, 1) \
    X(ERROR_OUT_OF_MEMORY, 2) \
    X(ERROR_NOT_INITIALIZED, 3) \
    X(ERROR_NO_DEVICE, 100) \
    X(ERROR_INVALID_DEVICE, 101) \
    X(ERROR_INVALID_IMAGE, 200) \
    X(ERROR_INVALID_CONTEXT, 201) \
    X(ERROR_NO_BINARY_FOR_GPU, 209) \
    X(ERROR_ECC_UNCORRECTABLE, 214) \
    X(ERROR_INVALID_PTX, 218) \
    X(ERROR_UNSUPPORTED_PTX_VERSION, 222) \
    X(ERROR_INVALID_HANDLE, 400) \
    X(ERROR_NOT_FOUND, 500) \
    X(ERROR_NOT_READY, 600) \
    X(ERROR_ILLEGAL_ADDRESS, 700) \
    X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701) \
    X(ERROR_CONTEXT_IS_DESTROYED, 709) \
    X(ERROR_MISALIGNED_ADDRESS, 716) \
    X(ERROR_LAUNCH_FAILED, 719) \
    X(ERROR_NOT_PERMITTED, 800) \
    X(ERROR_NOT_SUPPORTED, 801) \
    X(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900) \
    X(ERROR_STREAM_CAPTURE_INVALIDATED, 901) \
    X(ERROR_STREAM_CAPTURE_MERGE, 902) \
    X(ERROR_STREAM_CAPTURE_UNMATCHED, 903) \
    X(ERROR_STREAM_CAPTURE_UNJOINED, 904) \
    X(ERROR_STREAM_CAPTURE_ISOLATION, 905) \
    X(ERROR_STREAM_CAPTURE_IMPLICIT, 906) \
    X(ERROR_CAPTURED_EVENT, 907) \
    X(ERROR_STREAM_CAPTURE_WRONG_THREAD, 908) \
    X(ERROR_UNKNOWN, 999)
#define FAKE_NUMBERS(X) \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1) \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2) \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5) \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8) \
    X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10) \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
    X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20) \
    X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33) \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39) \
    X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115) \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1) \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3) \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4) \
    X(CU_JIT_ERROR_LOG_BUFFER, 5) \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6) \
    X(CU_STREAM_NON_BLOCKING, 1) \
    X(CU_EVENT_BLOCKING_SYNC, 1) \
    X(CU_EVENT_DISABLE_TIMING, 2) \
    X(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4) \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 5) \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1) \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9) \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11) \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12) \
    X(CU_MEMORYTYPE_HOST, 1) \
    X(CU_MEMORYTYPE_DEVICE, 2) \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0) \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2) \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0) \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1) \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

/* X(call, arguments): all answer CUresult. */
#define FAKE_CALLS(X) \
    X(cuInit, (unsigned flags)) \
    X(cuDriverGetVersion, (int *version)) \
    X(cuGetErrorName, (CUresult error, const char **text)) \
    X(cuGetErrorString, (CUresult error, const char **text)) \
    X(cuGetProcAddress_v2, (const char *symbol, void **fn, int version, \
        uint64_t flags, int *status)) \
    X(cuDeviceGetCount, (int *count)) \
    X(cuDeviceGet, (CUdevice *device, int ordinal)) \
    X(cuDeviceGetName, (char *name, int bytes, CUdevice device)) \
    X(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device)) \
    X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
    X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
    X(cuDevicePrimaryCtxRetain, (CUcontext *ctx, CUdevice device)) \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
    X(cuCtxCreate_v2, (CUcontext *ctx, unsigned flags, CUdevice device)) \
    X(cuCtxDestroy_v2, (CUcontext ctx)) \
    X(cuCtxPushCurrent_v2, (CUcontext ctx)) \
    X(cuCtxPopCurrent_v2, (CUcontext *ctx)) \
    X(cuCtxGetCurrent, (CUcontext *ctx)) \
    X(cuCtxGetDevice, (CUdevice *device)) \
    X(cuCtxSynchronize, (void)) \
    X(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned n, \
        int *options, void **values)) \
    X(cuModuleUnload, (CUmodule module)) \
    X(cuModuleGetFunction, (CUfunction *function, CUmodule module, \
        const char *name)) \
    X(cuFuncGetAttribute, (int *value, int attribute, CUfunction function)) \
    X(cuMemAlloc_v2, (CUdeviceptr *p, size_t bytes)) \
    X(cuMemFree_v2, (CUdeviceptr p)) \
    X(cuMemAllocAsync, (CUdeviceptr *p, size_t bytes, CUstream s)) \
    X(cuMemFreeAsync, (CUdeviceptr p, CUstream s)) \
    X(cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device)) \
    X(cuMemPoolCreate, (CUmemoryPool *pool, const CUmemPoolProps *props)) \
    X(cuMemPoolDestroy, (CUmemoryPool pool)) \
    X(cuMemPoolGetAttribute, (CUmemoryPool pool, int attribute, \
        void *value)) \
    X(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, \
        void *value)) \
    X(cuMemAllocFromPoolAsync, (CUdeviceptr *p, size_t bytes, \
        CUmemoryPool pool, CUstream s)) \
    X(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep)) \
    X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags)) \
    X(cuMemFreeHost, (void *p)) \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, \
        CUstream s)) \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, \
        CUstream s)) \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, \
        CUstream s)) \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, \
        CUstream s)) \
    X(cuStreamCreate, (CUstream *s, unsigned flags)) \
    X(cuStreamDestroy_v2, (CUstream s)) \
    X(cuStreamSynchronize, (CUstream s)) \
    X(cuStreamQuery, (CUstream s)) \
    X(cuStreamWaitEvent, (CUstream s, CUevent event, unsigned flags)) \
    X(cuStreamGetCtx, (CUstream s, CUcontext *ctx)) \
    X(cuStreamIsCapturing, (CUstream s, int *status)) \
    X(cuThreadExchangeStreamCaptureMode, (int *mode)) \
    X(cuStreamBeginCapture_v2, (CUstream s, int mode)) \
    X(cuStreamEndCapture, (CUstream s, CUgraph *graph)) \
    X(cuEventCreate, (CUevent *event, unsigned flags)) \
    X(cuEventDestroy_v2, (CUevent event)) \
    X(cuEventRecord, (CUevent event, CUstream s)) \
    X(cuEventQuery, (CUevent event)) \
    X(cuEventSynchronize, (CUevent event)) \
    X(cuEventElapsedTime, (float *ms, CUevent from, CUevent to)) \
    X(cuLaunchKernel, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, \
        unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, \
        void **params, void **extra)) \
    X(cuLaunchHostFunc, (CUstream s, CUhostFn fn, void *data)) \
    X(cuGraphCreate, (CUgraph *graph, unsigned flags)) \
    X(cuGraphAddKernelNode_v2, (CUgraphNode *node, CUgraph graph, \
        const CUgraphNode *after, size_t n, \
        const CUDA_KERNEL_NODE_PARAMS *params)) \
    X(cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, \
        unsigned long long flags)) \
    X(cuGraphLaunch, (CUgraphExec exec, CUstream s)) \
    X(cuGraphExecDestroy, (CUgraphExec exec)) \
    X(cuGraphDestroy, (CUgraph graph)) \
    X(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p)) \
    X(cuImportExternalMemory, (CUexternalMemory *memory, \
        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *from)) \
    X(cuExternalMemoryGetMappedBuffer, (CUdeviceptr *p, \
        CUexternalMemory memory, \
        const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *part)) \
    X(cuDestroyExternalMemory, (CUexternalMemory memory)) \
    X(cuImportExternalSemaphore, (CUexternalSemaphore *semaphore, \
        const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *from)) \
    X(cuSignalExternalSemaphoresAsync, \
        (const CUexternalSemaphore *semaphore, \
        const CUDA_EXTERNAL_SEMAPHORE_PARAMS *to, unsigned n, CUstream s)) \
    X(cuWaitExternalSemaphoresAsync, (const CUexternalSemaphore *semaphore, \
        const CUDA_EXTERNAL_SEMAPHORE_PARAMS *to, unsigned n, CUstream s)) \
    X(cuDestroyExternalSemaphore, (CUexternalSemaphore semaphore))
/* clang-format on */

#define X(NAME, VALUE) CUDA_##NAME = (VALUE),
enum { FAKE_RESULTS(X) };
#undef X
#define X(NAME, VALUE) NAME = (VALUE),
enum { FAKE_NUMBERS(X) };
#undef X

#define CU_STREAM_LEGACY               ((CUstream)0x1)
#define CU_STREAM_PER_THREAD           ((CUstream)0x2)
#define CU_LAUNCH_PARAM_END            ((void *)0x0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE    ((void *)0x2)

#if defined(__GNUC__)
#define FAKE_EXPORT __attribute__((visibility("default")))
#else
#define FAKE_EXPORT
#endif

#define X(NAME, ARGS) FAKE_EXPORT CUresult NAME ARGS;
FAKE_CALLS(X)
#undef X

#endif
