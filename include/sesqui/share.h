/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - memory and semaphores that two devices of one GPU share, without a
 * copy: vulkan and cuda, or two programs.
 *
 *     ssq_shared_memory memory = SSQ_SHARED_MEMORY_INIT;
 *     int fd;
 *     CHECK(ssq_buffer_export(vulkan, 4096, &memory, &on_vulkan));
 *     CHECK(ssq_buffer_import(cuda, &memory, &on_cuda));
 *     CHECK(ssq_semaphore_create(vulkan, &fd, &ready));
 *     CHECK(ssq_semaphore_import(cuda, fd, &ready_on_cuda));
 *     ..                                  work of vulkan_queue on on_vulkan
 *     CHECK(ssq_semaphore_signal(vulkan_queue, ready, 1));
 *     CHECK(ssq_semaphore_wait(cuda_queue, ready_on_cuda, 1));
 *     ..                                  work of cuda_queue on on_cuda
 *     close(memory.fd);                   any time after the imports
 *     close(fd);
 *
 * sesqui.h does not include this header.
 *
 * vulkan exports and imports, with the extensions VK_KHR_external_memory_fd and
 * VK_KHR_external_semaphore_fd. cuda imports. Other backends do neither. Files
 * are POSIX file descriptors, which also reach another process over a Unix
 * socket. They work between devices of one GPU and one driver only; another
 * driver refuses them, but not every driver notices.
 *
 * The library sees no order between the queues of two devices: use a semaphore,
 * or ssq_queue_sync before the other device's work is enqueued.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_SHARE_H
#define SESQUI_SHARE_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Memory that another device can import. */
typedef struct ssq_shared_memory {
    size_t struct_size;
    int fd;         /**< the caller must close it. The memory is freed
                         when fd is closed and all buffers over it, of
                         both devices, are destroyed, in any order */
    uint64_t bytes; /**< of the buffer */
    uint64_t size;  /**< of the memory, at least bytes: importers need it */
} ssq_shared_memory;
#define SSQ_SHARED_MEMORY_INIT                                                 \
    {                                                                          \
        sizeof(ssq_shared_memory), -1, 0, 0                                    \
    }

/** Create a buffer in new memory, and export the memory. It is not initialized.
 *  options.memory_limit does not limit it, ssq_device_memory does not count it,
 *  and the call does not wait for memory that is in use.
 *  @param bytes   size, at least 1
 *  @param memory  in: struct_size; out: the rest
 *  @param buffer  out; owned by the caller; release it with
 *                 ssq_buffer_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      bytes is 0
 *   - SSQ_ERR_UNSUPPORTED  the device cannot export memory
 *   - SSQ_ERR_NOMEM        also: bytes is more than a buffer of the device may
 *                          have; the process has too many open files
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_buffer_export(ssq_device *device,
                                                    uint64_t bytes,
                                                    ssq_shared_memory *memory,
                                                    ssq_buffer **buffer);

/** Create a buffer over memory that another device has exported.
 *  @param memory  fd is not closed, and not used after the call
 *  @param buffer  out; owned by the caller; release it with
 *                 ssq_buffer_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      fd is not a file; bytes is 0 or more than size; the
 *                          driver refuses the file; the process has too many
 *                          open files
 *   - SSQ_ERR_UNSUPPORTED  the device cannot import memory
 *   - SSQ_ERR_NOMEM        also: bytes is more than a buffer of the device may
 *                          have
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_buffer_import(ssq_device *device, const ssq_shared_memory *memory,
                  ssq_buffer **buffer);

/** A timeline semaphore: a number that only grows. */
typedef struct ssq_semaphore ssq_semaphore;

/** Create a semaphore with the value 0.
 *  @param device     of the vulkan backend
 *  @param fd         out, optional: a file that another device can import. The
 *                    caller owns it and must close it. NULL: the semaphore is
 *                    for queues of this device
 *  @param semaphore  out; owned by the caller; release it with
 *                    ssq_semaphore_destroy()
 *  @return
 *   - SSQ_ERR_UNSUPPORTED  a device of another backend; the device has no
 *                          timeline semaphores; fd is not NULL, and it cannot
 *                          export them
 *   - SSQ_ERR_NOMEM        also: the process has too many open files
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_semaphore_create(
    ssq_device *device, int *fd, ssq_semaphore **semaphore);

/** Import a semaphore that another device has exported.
 *  @param fd         it is not closed, and not used after the call
 *  @param semaphore  out; owned by the caller; release it with
 *                    ssq_semaphore_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      fd is not a file, or the driver refuses it; the
 *                          process has too many open files
 *   - SSQ_ERR_UNSUPPORTED  the device cannot import semaphores
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_semaphore_import(
    ssq_device *device, int fd, ssq_semaphore **semaphore);

/** Release a semaphore. All work that signals it or waits for it must have run:
 *  call ssq_queue_sync first. In a child of fork that cannot use the device,
 *  the driver's semaphore is left alone.
 *  @sync waits on vulkan, for the semaphore's last signal; if the device cannot
 *        export semaphores, for all work that was given to the device
 *  @threads object */
SSQ_API void ssq_semaphore_destroy(ssq_semaphore **semaphore);

/** Set a semaphore to a value when the earlier work of a queue has run. Work of
 *  another device that waits for the value then sees what this work wrote.
 *  @param value  greater than any that was set or is pending (not checked)
 *  @return
 *   - SSQ_ERR_INVALID  value is 0; the semaphore is of another device; a graph
 *                      is being captured on the queue, or the caller captures
 *                      its stream (cuda.h)
 *   - SSQ_ERR_DEVICE   also: the driver refuses; the queue has failed then
 *  @sync async, except that a collective that was enqueued before is waited for
 *  @threads object
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_semaphore_signal(ssq_queue *queue,
                                                       ssq_semaphore *semaphore,
                                                       uint64_t value);

/** Let later work of a queue wait until a semaphore has at least this value.
 *  The signal may be enqueued later, but it must come: otherwise ssq_queue_sync
 *  and ssq_queue_destroy do not end. On vulkan the queues of a device share one
 *  VkQueue: other queues can wait, too, and a signal of the same device must be
 *  enqueued before the wait.
 *  @return as ssq_semaphore_signal
 *  @sync async, except that a collective that was enqueued before is waited for
 *  @threads object
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_semaphore_wait(ssq_queue *queue,
                                                     ssq_semaphore *semaphore,
                                                     uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
