/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - the backends of this process: linked in, or modules. */
#ifndef LIB_CORE_MODULE_REGISTRY_H
#define LIB_CORE_MODULE_REGISTRY_H

#include "lib/core/module/backend.h"

/** A backend that is available, or the reason why it is not. */
struct registry_entry {
    const char *name;                  /* as in device names */
    const char *why_not;               /* set for a module that was not built */
    const struct backend *backend;     /* NULL: see reason */
    struct backend_instance *instance; /* of this copy of the library */
    unsigned devices;                  /* 0: see reason */
    struct why reason;
    unsigned lost; /* devices lost to a fork; 0: none */
};

/** Return all known backends, best first, and load those not loaded yet.
 *  Thread-safe. @return their number. */
size_t registry_entries(const struct registry_entry *const **entries);

/** Find a backend by a name of `bytes` bytes, and load it. Loads no other.
 *  Thread-safe. @return NULL if no backend has this name */
const struct registry_entry *registry_find(const char *name, size_t bytes);

/** Return the name of a known backend, without loading it; NULL: there are no
 *  more. */
const char *registry_name(size_t i);

/** Load one module; sets e->backend or e->reason. Tests call it, too. */
void registry_load(const char *path, struct registry_entry *e);

#endif
