/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - the backends of this process: linked in, or modules. */
#ifndef LIB_CORE_REGISTRY_H
#define LIB_CORE_REGISTRY_H

#include "lib/core/backend.h"

/** A backend that is here, or why it is not. */
struct registry_entry {
    const char *name;                  /* as in device names */
    const char *why_not;               /* of a module that was not built */
    const struct backend *backend;     /* NULL: reason says why */
    struct backend_instance *instance; /* of this copy of the library */
    unsigned devices;                  /* 0: reason says why */
    struct why reason;
    unsigned lost; /* devices that a fork has taken away; 0: none was */
};

/** All known backends, best first. Loads those that are not loaded yet.
 *  Thread-safe. @return their number. */
size_t registry_entries(const struct registry_entry *const **entries);

/** Find a backend by its name, of so many bytes, and load it. Loads no other.
 *  Thread-safe. @return NULL if no backend has this name */
const struct registry_entry *registry_find(const char *name, size_t bytes);

/** Load one module; fills e->backend or e->reason. For tests, too. */
void registry_load(const char *path, struct registry_entry *e);

#endif
