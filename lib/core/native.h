/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - a caller's own objects of one backend's kind: what stands behind
 * include/sesqui/<backend>.h. Error texts begin with what, the name of the
 * public function. */
#ifndef LIB_CORE_NATIVE_H
#define LIB_CORE_NATIVE_H

#include "lib/core/core.h"

/** Open a device over handles, which the backend knows how to read. */
ssq_status native_device_open(const char *backend, const void *const *handles,
                              const ssq_device_options *options,
                              const char *what, ssq_device **device);
/** A queue over the caller's own. */
ssq_status native_queue_create(const char *backend, ssq_device *device,
                               const void *handle, const char *what,
                               ssq_queue **queue);
/** A buffer over the caller's memory. */
ssq_status native_buffer_import(const char *backend, ssq_device *device,
                                const void *handle, const char *what,
                                ssq_buffer **buffer);
/** The memory behind a buffer, and where in it the buffer begins. */
ssq_status native_buffer_handle(const char *backend, const ssq_buffer *buffer,
                                const char *what, void **handle,
                                uint64_t *offset);

/** What the backend's public header tells of a device. */
ssq_status native_device_info(const char *backend, const ssq_device *device,
                              void *info, const char *what);

/** Have the device's memory come from a caller's allocator. */
ssq_status native_allocator_set(const char *backend, ssq_device *device,
                                const void *allocator, const char *what);

struct registry_entry;

/* device.c */
/** Why a device is opened, and in refused an answer. */
struct opening {
    const char *why; /* becomes props.choice */
    bool automatic;  /* nobody named it: it has to be without fault */
    bool refused;    /* the certificate refuses it: "auto" tries the next one */
};
/** Make a device of an opened backend_device. It closes impl if it fails. */
ssq_status device_create(const struct registry_entry *entry, unsigned index,
                         struct backend_device *impl,
                         const ssq_device_options *options,
                         struct opening *opening, ssq_device **device);
/* queue.c */
/** Make a queue of an opened backend_queue; closes impl if it fails. */
ssq_status queue_create(ssq_device *device, struct backend_queue *impl,
                        ssq_queue **queue);

#endif
