/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - what the backend uses of CUDA's driver API, in our own words.
 *
 * No toolkit is needed to build: types, numbers and calls are those of
 * NVIDIA's cuda.h, and a test compiles this header behind the real one, where
 * there is one, so that nothing here can differ from it. Behind the real one
 * (CUDA_VERSION is defined) only the lists stand.
 *
 * A call is named with the version of its ABI, and nothing is guessed from a
 * suffix: the bare name is the oldest form for ever (cuMemAlloc takes 32-bit
 * sizes), and a _v2 may be another function altogether. */
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
typedef void (*CUhostFn)(void *data);
/* enums of the real header: their ABI is that of an int */
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

/** Of the same size in every CUDA that has it; what a release does not know
 *  yet is reserved in it, and 0. */
typedef struct {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;
#endif

/** Numbers, by their names in cuda.h. */
/* clang-format off */
#define CUDA_NUMBERS(X) \
    X(CUDA_SUCCESS, 0) \
    X(CUDA_ERROR_INVALID_VALUE, 1) \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2) \
    X(CUDA_ERROR_NO_DEVICE, 100) \
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
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1) \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9) \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11) \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12) \
    X(CU_MEMORYTYPE_DEVICE, 2) \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2) \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)

/** What every device needs: X(name, symbol, arguments). `name` is how the
 *  backend says it, `symbol` what the driver exports. All answer CUresult. */
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

/** Memory in the order of a stream: without them, or on a device that has no
 *  pools, allocations wait for the device (CUDA 11.2). */
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

/** Graphs: without them launches are handed over one by one (CUDA 11.4). */
#define CUDA_GRAPH_CALLS(X) \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, \
        CUstreamCaptureMode)) \
    X(StreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *)) \
    X(GraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, \
        unsigned long long)) \
    X(GraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream)) \
    X(GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec)) \
    X(GraphDestroy, cuGraphDestroy, (CUgraph))

/** A caller's own objects. */
#define CUDA_NATIVE_CALLS(X) \
    X(StreamGetCtx, cuStreamGetCtx, (CUstream, CUcontext *)) \
    X(StreamIsCapturing, cuStreamIsCapturing, (CUstream, \
        CUstreamCaptureStatus *)) \
    X(PointerGetAttribute, cuPointerGetAttribute, (void *, \
        CUpointer_attribute, CUdeviceptr))
/* clang-format on */

#define CUDA_CALLS(X)                                                          \
    CUDA_BASE_CALLS(X)                                                         \
    CUDA_POOL_CALLS(X) CUDA_GRAPH_CALLS(X) CUDA_NATIVE_CALLS(X)

#ifndef CUDA_VERSION
#define X(NAME, VALUE) NAME = (VALUE),
enum { CUDA_NUMBERS(X) };
#undef X

/** The default stream of a context, as a handle that is not NULL. */
#define CU_STREAM_LEGACY ((CUstream)0x1)
/** The default stream that each thread has of its own. */
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#endif

#endif
