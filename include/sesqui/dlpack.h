/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.h - exchange tensors with other libraries through DLPack 1.x.
 *
 *     ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = queue), &dl);
 *     other_library_import(dl);            // it calls dl->deleter at its end
 *
 *     struct DLManagedTensorVersioned *dl = other_library_export();
 *     ssq_tensor_from_dlpack(queue, dl, NULL, &x);    // no copy
 *
 * sesqui.h does not include this header. It declares the structs of DLPack
 * (github.com/dmlc/dlpack, dlpack/dlpack.h) itself, so that a program needs no
 * other header. Both headers may be included, in any order. If dlpack/dlpack.h
 * is older than 1.0 and comes first, only the unversioned calls can be used.
 *
 * Ownership: the receiver of a struct calls its deleter once, when it no longer
 * uses the memory. A deleter of this library may be called from any thread, and
 * after the tensor, the queue and the device were destroyed.
 *
 * After an import the library calls the deleter once, on any thread, when it no
 * longer holds the memory: the last tensor on it is destroyed, the work on it
 * has run, and no graph, tape or trainer holds it. For example, a trainer with
 * .replay holds the inputs of passes that it remembers.
 *
 * The deleter must not call this library, nor wait for a thread that does. In a
 * child of fork that cannot use the device it is not called. The struct must
 * exist until then. If its deleter is NULL, it is not used after the call that
 * imports it. Its shape and its strides never are.
 *
 * This library does not see the writes that another library makes. Nor does it
 * connect a write through an imported tensor with other tensors that it has of
 * the same memory. Packed copies (pack.h), casts of parameters that a tape
 * keeps, and the check of writes between forward and backward miss both.
 *
 * Devices:
 *
 *  - kDLCPU for "cpu" and "reference". data is an address. An import also
 *    accepts kDLCUDAHost.
 *  - kDLCUDA for "cuda". data is a CUdeviceptr. An import also accepts
 *    kDLCUDAManaged.
 *  - kDLOpenCL for "opencl". data is a cl_mem, and byte_offset counts from its
 *    start. An import needs a device over the context of the cl_mem
 *    (ssq_opencl_device_open).
 *  - kDLVulkan for "vulkan". data is an ssq_dlpack_vulkan, which DLPack does
 *    not define: doc/design/dlpack.md is a proposal. An import needs a device
 *    over its VkDevice (ssq_vulkan_device_open).
 *
 * device_id is the number of the device. An import compares it for kDLCUDA and
 * kDLCUDAManaged only.
 *
 * "guard" has no memory that another library can use: SSQ_ERR_UNSUPPORTED.
 *
 * Dtypes: float 32 and 16, bfloat 16, int 32 and uint 8, with one lane. An
 * import reads bool as SSQ_U8. Others are refused, and the message names them.
 *
 * @sync host
 * @threads object */
#ifndef SESQUI_DLPACK_H
#define SESQUI_DLPACK_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the structs of DLPack 1.3 ---- */

struct DLManagedTensor;
struct DLManagedTensorVersioned;

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_ /* the guard of dlpack/dlpack.h */

#define DLPACK_MAJOR_VERSION                     1
#define DLPACK_MINOR_VERSION                     3
#define DLPACK_FLAG_BITMASK_READ_ONLY            (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED            (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

typedef struct DLPackVersion {
    uint32_t major, minor;
} DLPackVersion;

/** Kinds of devices. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
    kDLCPU = 1,
    kDLCUDA = 2,
    kDLCUDAHost = 3,
    kDLOpenCL = 4,
    kDLVulkan = 7,
    kDLMetal = 8,
    kDLVPI = 9,
    kDLROCM = 10,
    kDLROCMHost = 11,
    kDLExtDev = 12,
    kDLCUDAManaged = 13,
    kDLOneAPI = 14,
    kDLWebGPU = 15,
    kDLHexagon = 16,
    kDLMAIA = 17,
    kDLTrn = 18
} DLDeviceType;

typedef struct DLDevice {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;

/** Kinds of elements: DLDataType.code. */
typedef enum {
    kDLInt = 0U,
    kDLUInt = 1U,
    kDLFloat = 2U,
    kDLOpaqueHandle = 3U,
    kDLBfloat = 4U,
    kDLComplex = 5U,
    kDLBool = 6U,
    kDLFloat8_e3m4 = 7U,
    kDLFloat8_e4m3 = 8U,
    kDLFloat8_e4m3b11fnuz = 9U,
    kDLFloat8_e4m3fn = 10U,
    kDLFloat8_e4m3fnuz = 11U,
    kDLFloat8_e5m2 = 12U,
    kDLFloat8_e5m2fnuz = 13U,
    kDLFloat8_e8m0fnu = 14U,
    kDLFloat6_e2m3fn = 15U,
    kDLFloat6_e3m2fn = 16U,
    kDLFloat4_e2m1fn = 17U
} DLDataTypeCode;

typedef struct DLDataType {
    uint8_t code;   /**< DLDataTypeCode */
    uint8_t bits;   /**< of one lane */
    uint16_t lanes; /**< 1 for scalars */
} DLDataType;

typedef struct DLTensor {
    void *data;       /**< NULL if a size is 0 */
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;   /**< ndim sizes */
    int64_t *strides; /**< in elements; NULL before DLPack 1.2: contiguous */
    uint64_t byte_offset; /**< from data to the first element */
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self); /**< NULL: nothing to do */
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self); /**< or NULL */
    uint64_t flags; /**< DLPACK_FLAG_BITMASK_* */
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

/** The exchange between Python libraries in C. This library does not use it:
 *  it is declared as in dlpack/dlpack.h. */
typedef int (*DLPackManagedTensorAllocator)(
    DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
    void (*SetError)(void *error_ctx, const char *kind, const char *message));
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(
    void *py_object, DLManagedTensorVersioned **out);
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type,
                                       int32_t device_id,
                                       void **out_current_stream);
typedef int (*DLPackManagedTensorToPyObjectNoSync)(
    DLManagedTensorVersioned *tensor, void **out_py_object);

typedef struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

typedef struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    DLPackManagedTensorAllocator managed_tensor_allocator;
    DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
    DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
    DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
    DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif
#define DLPACK_DLL

#endif /* DLPACK_DLPACK_H_ */

/* ---- Vulkan ---- */

/** "DLVULKAN", as the first eight bytes of memory on a little-endian host. */
#define SSQ_DLPACK_VULKAN_MAGIC   UINT64_C(0x4e414b4c55564c44)
#define SSQ_DLPACK_VULKAN_VERSION 1u

/** DLTensor.data points to this struct if the device is kDLVulkan. The producer
 *  owns the struct and all handles. They are valid until the deleter is called.
 */
typedef struct ssq_dlpack_vulkan {
    uint64_t magic;   /**< SSQ_DLPACK_VULKAN_MAGIC */
    uint32_t version; /**< SSQ_DLPACK_VULKAN_VERSION. Later versions only append
                           members */
    uint32_t family;  /**< queue family that owns the buffer, or
                           VK_QUEUE_FAMILY_IGNORED: any, as with
                           VK_SHARING_MODE_CONCURRENT */
    struct VkInstance_T *instance;
    struct VkPhysicalDevice_T *physical;
    struct VkDevice_T *device;
    uint64_t buffer;    /**< VkBuffer with the usages STORAGE_BUFFER,
                             TRANSFER_SRC and TRANSFER_DST */
    uint64_t bytes;     /**< size with which buffer was made */
    uint64_t offset;    /**< of the memory in buffer, in bytes; byte_offset
                             counts from there */
    uint64_t memory;    /**< VkDeviceMemory, or 0: not told */
    uint64_t semaphore; /**< VkSemaphore, a timeline; 0: the memory is ready */
    uint64_t value;     /**< the memory is ready when the timeline reaches it */
} ssq_dlpack_vulkan;

/* ---- export ---- */

/** How a tensor is exported. */
typedef struct ssq_to_dlpack_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_to_dlpack_args));
    ssq_queue *producer; /**< the queue whose work on the tensor must be seen by
                              the consumer. NULL: no synchronisation, as stream
                              -1 of Python's __dlpack__ */
    ssq_queue *consumer; /**< a queue of the same device over the consumer's
                              stream, for example of ssq_cuda_queue_create: its
                              later work waits for the producer's
                              (ssq_queue_wait). NULL: the call waits for the
                              producer; for Vulkan the struct has a semaphore
                              instead, if the device has timelines */
    bool copy;           /**< export a contiguous copy, made on the producer */
} ssq_to_dlpack_args;
#define SSQ_TO_DLPACK_DEFAULTS sizeof(ssq_to_dlpack_args), NULL, NULL, false
#define SSQ_TO_DLPACK_INIT                                                     \
    {                                                                          \
        SSQ_TO_DLPACK_DEFAULTS                                                 \
    }
#define SSQ_TO_DLPACK(...)                                                     \
    SSQ_ARGS(ssq_to_dlpack_args, SSQ_TO_DLPACK_DEFAULTS, __VA_ARGS__)

/** Export a tensor, without a copy unless args says so. The struct holds the
 *  memory until its deleter is called. A tape uses the memory of its tensors
 *  (ssq_var_tensor) again in the next pass: set .copy to keep such values. Its
 *  strides are never NULL, its data is NULL if a size is 0, and its version is
 *  1.3.
 *
 *  A copy has the flag IS_COPIED. Otherwise the flag READ_ONLY is set if the
 *  tensor was imported with it, or can only be an input of ops. For example,
 *  ssq_tensor_broadcast makes such tensors (see ssq_tensor_from_buffer).
 *  @param args  NULL: all defaults
 *  @param dl    out; owned by the caller: it must call dl->deleter(dl) or give
 *               the struct to a consumer
 *  @return
 *   - SSQ_ERR_INVALID      consumer or copy without producer; a queue of
 *                          another device; a graph is being captured on a
 *                          queue; copy is set, and this thread captures a graph
 *                          on the device
 *   - SSQ_ERR_UNSUPPORTED  the device is "guard"
 *   - SSQ_ERR_NOMEM        also for the copy
 *   - the error of a queue
 *  @sync waits for the producer if consumer is NULL and the device is not
 *        Vulkan with timeline semaphores; there, if a collective is pending.
 *        With a consumer: as ssq_queue_wait.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_tensor_to_dlpack(const ssq_tensor *tensor, const ssq_to_dlpack_args *args,
                     struct DLManagedTensorVersioned **dl);

/** The same with the struct of DLPack before 1.0, which has no flags.
 *  @return SSQ_ERR_INVALID  also if the tensor is read-only, as above, because
 *                           the struct cannot say so: use .copy
 *          Otherwise as ssq_tensor_to_dlpack.
 *  @sync waits for the producer, as ssq_tensor_to_dlpack
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_to_dlpack_unversioned(
    const ssq_tensor *tensor, const ssq_to_dlpack_args *args,
    struct DLManagedTensor **dl);

/** Release the struct in a capsule of Python. This is a destructor for
 *  PyCapsule_New, for bindings that have no code in C. It calls the deleter of
 *  the struct, unless a consumer has renamed the capsule. It runs no Python
 *  code. So it works while an exception is set and while the interpreter ends.
 *
 *  It finds Python's functions in the program, by dlopen(NULL). If the program
 *  has none, the struct is leaked.
 *  @param capsule  a PyObject *. Its name is "dltensor_versioned" for a
 *                  DLManagedTensorVersioned, "dltensor" for a DLManagedTensor.
 *                  With another name nothing is released
 *  @threads object The caller must hold the GIL, as PyCapsule's destructors do
 *  @note Since 0.1. */
SSQ_API void ssq_dlpack_capsule_release(void *capsule);

/* ---- import ---- */

/** When an import copies. */
typedef enum ssq_dlpack_copy {
    SSQ_DLPACK_COPY_NEVER = 0,     /**< an error where a copy is necessary */
    SSQ_DLPACK_COPY_IF_NEEDED = 1, /**< for memory that is not aligned to the
                                        element size, or is read-only. Unaligned
                                        memory is first copied from the first to
                                        the last byte, also between strides */
    SSQ_DLPACK_COPY_ALWAYS = 2
} ssq_dlpack_copy;

/** How a tensor is imported. */
typedef struct ssq_from_dlpack_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_from_dlpack_args));
    ssq_dlpack_copy copy;
    bool read_only; /**< accept read-only memory without a copy: the caller
                         promises not to write the tensor, which is not
                         checked */
    bool *copied;   /**< out, optional, written only on success: whether the
                         tensor is a copy; false if it has no elements */
} ssq_from_dlpack_args;
#define SSQ_FROM_DLPACK_DEFAULTS                                               \
    sizeof(ssq_from_dlpack_args), SSQ_DLPACK_COPY_NEVER, false, NULL
#define SSQ_FROM_DLPACK_INIT                                                   \
    {                                                                          \
        SSQ_FROM_DLPACK_DEFAULTS                                               \
    }
#define SSQ_FROM_DLPACK(...)                                                   \
    SSQ_ARGS(ssq_from_dlpack_args, SSQ_FROM_DLPACK_DEFAULTS, __VA_ARGS__)

/** Import a tensor. By default it aliases the producer's memory. The memory
 *  must be ready for the queue: by DLPack's rules the producer sees to that.
 *  For Vulkan, later work of the queue waits for the semaphore of the struct.
 *
 *  A tensor without elements has no memory of the producer: the deleter is
 *  called before this function returns.
 *  @param queue   of the device that receives the tensor; runs the copy
 *  @param dl      on success owned by the library, which calls its deleter. On
 *                 an error the caller still owns it, and nothing has changed
 *  @param args    NULL: all defaults
 *  @param tensor  out; owned by the caller; release it with
 *                 ssq_tensor_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      the struct is not valid: ndim is not in 0..6, shape
 *                          is NULL, a size is negative, data is NULL, or the
 *                          tensor ends after its cl_mem or VkBuffer
 *   - SSQ_ERR_INVALID      the sizes are too large (ssq_tensor_create), or the
 *                          last element is 2^59 or more elements after the
 *                          first
 *   - SSQ_ERR_INVALID      an ssq_dlpack_vulkan is not valid: magic, version,
 *                          buffer or bytes is wrong, or the queue has another
 *                          VkDevice or family
 *   - SSQ_ERR_INVALID      the tensor is on another device than the queue; a
 *                          copy is necessary and not allowed; the device cannot
 *                          use the memory (ssq_cuda_buffer_import,
 *                          ssq_opencl_buffer_import); args.copy is not valid
 *   - SSQ_ERR_INVALID      a graph is being captured on the queue, or the
 *                          caller captures its stream (cuda.h), and the tensor
 *                          is copied or is on Vulkan; this thread captures a
 *                          graph on the device, and the tensor is copied, has
 *                          no elements or is on Vulkan
 *   - SSQ_ERR_UNSUPPORTED  another major version than 1: call only the deleter;
 *                          a dtype; a negative stride; the device is "guard";
 *                          the cl_mem or VkBuffer is larger than the device can
 *                          use; a semaphore and the device has no timelines
 *   - SSQ_ERR_NOMEM        also for the copy
 *   - the error of the queue
 *  @sync waits for the queue if a command fails after another one was enqueued;
 *        otherwise async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_from_dlpack(
    ssq_queue *queue, struct DLManagedTensorVersioned *dl,
    const ssq_from_dlpack_args *args, ssq_tensor **tensor);

/** The same with the struct of DLPack before 1.0. It has no flags: its memory
 *  counts as writable, and args.read_only has no effect.
 *  @return as ssq_tensor_from_dlpack
 *  @sync waits for the queue as ssq_tensor_from_dlpack
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_from_dlpack_unversioned(
    ssq_queue *queue, struct DLManagedTensor *dl,
    const ssq_from_dlpack_args *args, ssq_tensor **tensor);

#ifdef __cplusplus
}
#endif

#endif
