/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the part of CUDA's driver API that the backend uses.
 *
 * No toolkit is needed to build. Types, numbers and calls are equal to NVIDIA's
 * cuda.h. If a toolkit is found, a test compiles this header after cuda.h, so a
 * difference is an error. After cuda.h, which defines CUDA_VERSION, only the
 * lists are defined.
 *
 * Each call is named with the version of its ABI. A suffix does not say which
 * version is right. The bare name is always the oldest form (cuMemAlloc takes
 * 32-bit sizes), and a _v2 may be another function. */
#ifndef BACKENDS_CUDA_API_H
#define BACKENDS_CUDA_API_H

#include <stddef.h>

#ifndef CUDA_VERSION
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef int CUresult;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUextSemaphore_st *CUexternalSemaphore;
typedef void (*CUhostFn)(void *data);
/* enums of cuda.h: their ABI is that of an int */
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef int CUjit_option;
typedef int CUmemAllocationHandleType;
typedef int CUmemAllocationType;
typedef int CUmemLocationType;
typedef int CUmemPool_attribute;
typedef int CUpointer_attribute;
typedef int CUstreamCaptureMode;
typedef int CUstreamCaptureStatus;

typedef struct {
    CUmemLocationType type;
    int id;
} CUmemLocation;

/** The size is the same in all CUDA versions. Members that a version does not
 *  have are in `reserved`, and 0. */
typedef struct {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;

/** A handle of another API; the other members of the union are of Windows. */
union cuda_foreign_handle {
    int fd;
    struct {
        void *handle;
        const void *name;
    } win32;
};

typedef struct {
    int type;
    union cuda_foreign_handle handle;
    unsigned long long size;
    unsigned flags;
    unsigned reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

typedef struct {
    unsigned long long offset, size;
    unsigned flags;
    unsigned reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;

typedef struct {
    int type;
    union cuda_foreign_handle handle;
    unsigned flags;
    unsigned reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;

typedef struct {
    struct {
        struct {
            unsigned long long value;
        } fence;
        unsigned long long nvSciSync;
        unsigned long long keyedMutex;
        unsigned reserved[12];
    } params;
    unsigned flags;
    unsigned reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;

typedef struct {
    struct {
        struct {
            unsigned long long value;
        } fence;
        unsigned long long nvSciSync;
        struct {
            unsigned long long key;
            unsigned timeoutMs;
        } keyedMutex;
        unsigned reserved[10];
    } params;
    unsigned flags;
    unsigned reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
#endif

/** Numbers, under their names in cuda.h. */
/* clang-format off */
#define CUDA_NUMBERS(X) \
    X(CUDA_SUCCESS, 0) \
    X(CUDA_ERROR_INVALID_VALUE, 1) \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2) \
    X(CUDA_ERROR_NO_DEVICE, 100) \
    X(CUDA_ERROR_INVALID_HANDLE, 400) \
    X(CUDA_ERROR_NOT_READY, 600) \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906) \
    X(CUDA_ERROR_CAPTURED_EVENT, 907) \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8) \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
    X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20) \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115) \
    X(CU_COMPUTEMODE_PROHIBITED, 2) \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) \
    X(CU_JIT_ERROR_LOG_BUFFER, 5) \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6) \
    X(CU_STREAM_NON_BLOCKING, 1) \
    X(CU_EVENT_DEFAULT, 0) \
    X(CU_EVENT_DISABLE_TIMING, 2) \
    X(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4) \
    X(CU_MEM_ALLOCATION_TYPE_PINNED, 1) \
    X(CU_MEM_HANDLE_TYPE_NONE, 0) \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1) \
    X(CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 1) \
    X(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, 9) \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1) \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9) \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11) \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12) \
    X(CU_MEMORYTYPE_DEVICE, 2) \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2) \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)

/** Calls that every device needs: X(name, symbol, arguments). `name` is used in
 *  the backend; `symbol` is exported by the driver. All return CUresult. */
#define CUDA_BASE_CALLS(X) \
    X(Init, cuInit, (unsigned)) \
    X(DriverGetVersion, cuDriverGetVersion, (int *)) \
    X(GetErrorName, cuGetErrorName, (CUresult, const char **)) \
    X(DeviceGetCount, cuDeviceGetCount, (int *)) \
    X(DeviceGet, cuDeviceGet, (CUdevice *, int)) \
    X(DeviceGetName, cuDeviceGetName, (char *, int, CUdevice)) \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *, CUdevice_attribute, \
        CUdevice)) \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice)) \
    X(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
    X(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice)) \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext)) \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *)) \
    X(CtxGetDevice, cuCtxGetDevice, (CUdevice *)) \
    X(ModuleLoadDataEx, cuModuleLoadDataEx, (CUmodule *, const void *, \
        unsigned, CUjit_option *, void **)) \
    X(ModuleUnload, cuModuleUnload, (CUmodule)) \
    X(ModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, \
        const char *)) \
    X(FuncGetAttribute, cuFuncGetAttribute, (int *, CUfunction_attribute, \
        CUfunction)) \
    X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
    X(MemFree, cuMemFree_v2, (CUdeviceptr)) \
    X(MemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned)) \
    X(MemFreeHost, cuMemFreeHost, (void *)) \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, \
        size_t, CUstream)) \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, \
        CUstream)) \
    X(StreamCreate, cuStreamCreate, (CUstream *, unsigned)) \
    X(StreamDestroy, cuStreamDestroy_v2, (CUstream)) \
    X(StreamSynchronize, cuStreamSynchronize, (CUstream)) \
    X(StreamQuery, cuStreamQuery, (CUstream)) \
    X(StreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned)) \
    X(LaunchHostFunc, cuLaunchHostFunc, (CUstream, CUhostFn, void *)) \
    X(ThreadExchangeCaptureMode, cuThreadExchangeStreamCaptureMode, \
        (CUstreamCaptureMode *)) \
    X(EventCreate, cuEventCreate, (CUevent *, unsigned)) \
    X(EventDestroy, cuEventDestroy_v2, (CUevent)) \
    X(EventRecord, cuEventRecord, (CUevent, CUstream)) \
    X(EventQuery, cuEventQuery, (CUevent)) \
    X(EventSynchronize, cuEventSynchronize, (CUevent)) \
    X(EventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent)) \
    X(LaunchKernel, cuLaunchKernel, (CUfunction, unsigned, unsigned, \
        unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, \
        void **))

/** Stream-ordered memory (CUDA 11.2). Without these calls, or on a device
 *  without pools, an allocation waits for the device. */
#define CUDA_POOL_CALLS(X) \
    X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, (CUdeviceptr *, \
        size_t, CUmemoryPool, CUstream)) \
    X(MemFreeAsync, cuMemFreeAsync, (CUdeviceptr, CUstream)) \
    X(MemPoolCreate, cuMemPoolCreate, (CUmemoryPool *, \
        const CUmemPoolProps *)) \
    X(MemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool)) \
    X(MemPoolSetAttribute, cuMemPoolSetAttribute, (CUmemoryPool, \
        CUmemPool_attribute, void *)) \
    X(MemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool, size_t))

/** Graphs (CUDA 11.4). Without these calls, launches are enqueued one by
 *  one. */
#define CUDA_GRAPH_CALLS(X) \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, \
        CUstreamCaptureMode)) \
    X(StreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *)) \
    X(GraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, \
        unsigned long long)) \
    X(GraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream)) \
    X(GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec)) \
    X(GraphDestroy, cuGraphDestroy, (CUgraph))

/** Calls about objects that the caller created. */
#define CUDA_NATIVE_CALLS(X) \
    X(StreamGetCtx, cuStreamGetCtx, (CUstream, CUcontext *)) \
    X(StreamIsCapturing, cuStreamIsCapturing, (CUstream, \
        CUstreamCaptureStatus *)) \
    X(PointerGetAttribute, cuPointerGetAttribute, (void *, \
        CUpointer_attribute, CUdeviceptr))

/** Memory and timeline semaphores of another API (CUDA 11.2). */
#define CUDA_EXTERNAL_CALLS(X) \
    X(ImportExternalMemory, cuImportExternalMemory, (CUexternalMemory *, \
        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *)) \
    X(ExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, \
        (CUdeviceptr *, CUexternalMemory, \
        const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *)) \
    X(DestroyExternalMemory, cuDestroyExternalMemory, (CUexternalMemory)) \
    X(ImportExternalSemaphore, cuImportExternalSemaphore, \
        (CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *)) \
    X(SignalExternalSemaphores, cuSignalExternalSemaphoresAsync, \
        (const CUexternalSemaphore *, \
        const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *, unsigned, CUstream)) \
    X(WaitExternalSemaphores, cuWaitExternalSemaphoresAsync, \
        (const CUexternalSemaphore *, \
        const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *, unsigned, CUstream)) \
    X(DestroyExternalSemaphore, cuDestroyExternalSemaphore, \
        (CUexternalSemaphore))
/* clang-format on */

#define CUDA_CALLS(X)                                                          \
    CUDA_BASE_CALLS(X)                                                         \
    CUDA_POOL_CALLS(X) CUDA_GRAPH_CALLS(X) CUDA_NATIVE_CALLS(X)                \
        CUDA_EXTERNAL_CALLS(X)

#ifndef CUDA_VERSION
#define X(NAME, VALUE) NAME = (VALUE),
enum { CUDA_NUMBERS(X) };
#undef X

/** The default stream of a context, as a handle that is not NULL. */
#define CU_STREAM_LEGACY ((CUstream)0x1)
/** The default stream of the calling thread. Each thread has one. */
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
/** A flag of CUDA_EXTERNAL_MEMORY_HANDLE_DESC. */
#define CUDA_EXTERNAL_MEMORY_DEDICATED 0x1
#endif

#endif
