/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - the module's table of Vulkan calls, for tests that put themselves
 * between. */
#ifndef TESTS_VULKAN_TABLE_H
#define TESTS_VULKAN_TABLE_H

#include <dlfcn.h>

#include "backends/vulkan/calls.h"
#include "tests/vulkan/vulkan.h"

/* Loads the module. */
static inline struct vulkan_calls *vulkan_table(void)
{
    char path[600];
    const char *dir = getenv("SSQ_MODULE_PATH");

    NEED(ssq_device_count() > 0 ? SSQ_OK : SSQ_ERR_DEVICE);
    snprintf(path, sizeof(path), "%s/vulkan.so", dir == NULL ? "." : dir);
    void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    struct vulkan_calls *table =
        module == NULL ? NULL : dlsym(module, "ssq_vulkan_calls");
    if (table == NULL)
        tap_bail("no table of calls in %s", path);
    return table;
}

#endif
