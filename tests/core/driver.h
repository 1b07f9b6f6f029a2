/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - what the tests of backends with a driver share. */
#ifndef TESTS_CORE_DRIVER_H
#define TESTS_CORE_DRIVER_H

#include <dlfcn.h>

#include "tests/core/core.h"

/* In a child: does the device open? Its exit status, as tap_fork wants it. */
static int driver_open(void *name)
{
    ssq_device *dev = NULL;

    return ssq_device_open(name, NULL, &dev) == SSQ_OK ? 0 : 1;
}

/* The name of a backend's device in SSQ_TEST_REQUIRE: CUDA's is the stand-in
 * here, in tests of its driver; "cuda" itself would want a GPU of all tables.
 */
static inline bool driver_required(const char *backend)
{
    return tap_required(strcmp(backend, "cuda") == 0 ? "fakecuda" : backend);
}

/* Whether the backend has no device; if so, that is a failure where one is
 * required. Asked in a child: a driver's threads would not survive a fork. */
static inline bool driver_missing(const char *backend)
{
    char name[32];

    snprintf(name, sizeof(name), "%s:0", backend);
    int st = tap_fork(driver_open, name, 60);
    if (tap_exited(st, 0))
        return false;
    if (driver_required(backend))
        tap_ok(false, "%s is required, and not there: %s", name,
               tap_status(st));
    else
        tap_skip("no device", "the %s backend", backend);
    return true;
}

/* The exports of the backend's module, once it is loaded. */
static inline void *driver_symbol(const char *backend, const char *symbol)
{
    char path[600];
    const char *dir = getenv("SSQ_MODULE_PATH");

    NEED(ssq_device_count() > 0 ? SSQ_OK : SSQ_ERR_DEVICE);
    snprintf(path, sizeof(path), "%s/%s.so", dir == NULL ? "." : dir, backend);
    void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    void *found = module == NULL ? NULL : dlsym(module, symbol);
    if (found == NULL)
        tap_bail("no %s in %s", symbol, path);
    return found;
}

static inline void driver_copy(ssq_queue *q, const ssq_tensor *x,
                               const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    NEED(ssq_copy(q, &args));
}

static inline void driver_fill(ssq_queue *q, const ssq_tensor *x, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = x;
    args.value = value;
    NEED(ssq_fill(q, &args));
}

/* In a child: the number after a word of a device's description. */
static int driver_tell(void *device_and_word)
{
    const char *const *names = device_and_word;

    for (size_t i = 0; i < ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK || strcmp(e.name, names[0]) != 0)
            continue;
        const char *at = strstr(e.description, names[1]);
        return at == NULL ? 0 : (int)strtol(at + strlen(names[1]), NULL, 10);
    }
    return 0;
}

/* Is the number after a word of the description at least so large, for example
 * 25 in "Mesa 25.0.7"? Numbers up to 255. Runs in a child, as driver_missing
 * does. */
static inline bool driver_from(const char *device, const char *word, int least)
{
    const char *names[] = {device, word};
    int st = tap_fork(driver_tell, names, 60);

    return WIFEXITED(st) && WEXITSTATUS(st) >= least;
}

#endif
