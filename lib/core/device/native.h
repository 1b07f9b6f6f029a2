/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - native objects of the caller: the common implementation of the
 * headers include/sesqui/<backend>.h. Error texts begin with `what`, the name
 * of the public function. */
#ifndef LIB_CORE_DEVICE_NATIVE_H
#define LIB_CORE_DEVICE_NATIVE_H

#include "lib/core/core.h"

/** Open a device over native handles, which the backend interprets. */
ssq_status native_device_open(const char *backend, const void *const *handles,
                              const ssq_device_options *options,
                              const char *what, ssq_device **device);
/** Create a queue over a native queue that the caller owns. */
ssq_status native_queue_create(const char *backend, ssq_device *device,
                               const void *handle, const char *what,
                               ssq_queue **queue);
/** Create a buffer over memory that the caller owns. */
ssq_status native_buffer_import(const char *backend, ssq_device *device,
                                const void *handle, const char *what,
                                ssq_buffer **buffer);
/** Create a buffer of `bytes` bytes over memory of the backend. The buffer
 * frees the memory; if this call fails, it frees the memory itself. */
ssq_status native_buffer_over(ssq_device *device, struct backend_mem *mem,
                              uint64_t bytes, const char *what,
                              ssq_buffer **buffer);
/** Get the native handle of a buffer's memory, and the buffer's offset in it.
 */
ssq_status native_buffer_handle(const char *backend, const ssq_buffer *buffer,
                                const char *what, void **handle,
                                uint64_t *offset);
/** Get the native handle of a queue, of a backend with call. */
ssq_status native_queue_handle(const char *backend, ssq_queue *queue,
                               const char *what, void **handle);

/** Fill info, the struct that the backend's public header defines. */
ssq_status native_device_info(const char *backend, const ssq_device *device,
                              void *info, const char *what);

/** Allocate the device's memory from a caller's allocator from now on; NULL
 *  ends this. */
ssq_status native_allocator_set(const char *backend, ssq_device *device,
                                const void *allocator, const char *what);

struct registry_entry;

/* device.c */
/** Why a device is opened, and an output: refused. */
struct opening {
    const char *why; /* becomes props.choice */
    bool automatic;  /* chosen by the library: the device must have no fault */
    bool refused;    /* out: the certificate refuses it; "auto" tries another */
};
/** Create a device over an opened backend_device. Closes impl on failure. */
ssq_status device_create(const struct registry_entry *entry, unsigned index,
                         struct backend_device *impl,
                         const ssq_device_options *options,
                         struct opening *opening, ssq_device **device);

#endif
