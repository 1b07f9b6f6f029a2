/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - what the tests of the core share. */
#ifndef TESTS_CORE_CORE_H
#define TESTS_CORE_CORE_H

#include <sesqui/graph.h>
#include <sesqui/ops.h>

#include "tests/tap.h"

#ifdef __BASE_FILE__
#define CORE_PROGRAM __BASE_FILE__
#else
#define CORE_PROGRAM ""
#endif

/* Whether this program tests tapes or ranks, which use only the public calls.
 * One such program on drivers is enough: by_hand. */
static inline bool core_above(void)
{
    return (strstr(CORE_PROGRAM, "tests/tape/") != NULL ||
            strstr(CORE_PROGRAM, "tests/comm/") != NULL) &&
           strstr(CORE_PROGRAM, "/by_hand.c") == NULL;
}

/* Whether this program leaves out a driver's devices. If both OpenCL and Vulkan
 * exist, make check runs half of the programs on OpenCL and half on Vulkan, and
 * programs of core_above() on neither. With SSQ_TEST_FULL=1 every program runs
 * on both. */
static inline bool core_others(const char *backend)
{
    const char *turn[] = {"opencl", "vulkan"};
    const char *slash = strrchr(CORE_PROGRAM, '/'); /* wherever it is built */
    unsigned sum = 0, drivers = 0;

    for (const char *c = slash == NULL ? CORE_PROGRAM : slash; *c != '\0'; c++)
        sum += (unsigned char)*c;
    for (size_t i = 0; i < ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

        if (ssq_device_list(i, &e) == SSQ_OK && e.available)
            drivers |= strcmp(e.backend, turn[0]) == 0   ? 1u
                       : strcmp(e.backend, turn[1]) == 0 ? 2u
                                                         : 0u;
    }
    if (tap_full() ||
        (strcmp(backend, turn[0]) != 0 && strcmp(backend, turn[1]) != 0))
        return false;
    return core_above() ||
           (drivers == 3 && strcmp(backend, turn[sum % 2]) == 0);
}

/* The devices that every build has: one computes immediately, one at sync. Then
 * the first of every other backend that exists; drivers take turns. */
#define CORE_MOST 8 /* devices */
static inline size_t core_devices(const char **names)
{
    static char found[CORE_MOST][32];
    size_t n = 2;

    names[0] = "reference";
    names[1] = "guard";
    for (size_t i = 0; i < ssq_device_count() && n < CORE_MOST; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

        if (ssq_device_list(i, &e) != SSQ_OK || !e.available ||
            strcmp(e.backend, "reference") == 0 ||
            strcmp(e.backend, "guard") == 0 || core_others(e.backend) ||
            (strchr(e.name, ':') != NULL &&
             strcmp(strchr(e.name, ':'), ":0") != 0))
            continue;
        snprintf(found[n], sizeof(found[n]), "%s", e.name);
        names[n] = found[n];
        n++;
    }
    return n;
}

/* The name of device i, NULL past the last; and how many there are. */
static inline const char *core_device(size_t i)
{
    const char *names[CORE_MOST];

    return i < core_devices(names) ? names[i] : NULL;
}

static inline size_t core_device_count(void)
{
    const char *names[CORE_MOST];

    return core_devices(names);
}

/* Does a text contain this one? */
static inline bool core_has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* One case: the call answered want and its text contains every |-separated
 * part. Says what came instead. */
TAP_PRINTF(4, 5)
static inline bool core_status(ssq_status st, ssq_status want,
                               const char *parts, const char *fmt, ...)
{
    char name[512], error[1100];
    va_list args;
    bool ok = st == want;

    snprintf(error, sizeof(error), "%s", ssq_last_error());
    while (ok && want != SSQ_OK && parts != NULL && *parts != '\0') {
        char part[256];
        size_t n = strcspn(parts, "|");

        snprintf(part, sizeof(part), "%.*s", (int)n, parts);
        ok = core_has(error, part);
        parts += n + (parts[n] == '|');
    }
    va_start(args, fmt);
    vsnprintf(name, sizeof(name), fmt, args);
    va_end(args);
    tap_ok(ok, "%s", name);
    if (!ok)
        tap_diag("%s, wanted %s: %s", ssq_status_name(st),
                 ssq_status_name(want), error);
    return ok;
}

/* Calls that must succeed for the test to continue. */
static inline void core_need(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s: %s", what, ssq_status_name(st), ssq_last_error());
}
#define NEED(CALL) core_need(CALL, #CALL)

static inline ssq_device *core_open(const char *name)
{
    ssq_device *device = NULL;

    core_need(ssq_device_open(name, NULL, &device), name);
    return device;
}

static inline ssq_queue *core_queue(ssq_device *device)
{
    ssq_queue *queue = NULL;

    NEED(ssq_queue_create(device, NULL, &queue));
    return queue;
}

/* A tensor of n elements. */
static inline ssq_tensor *core_vector(ssq_device *device, ssq_dtype dtype,
                                      int64_t n)
{
    ssq_tensor *tensor = NULL;

    NEED(ssq_tensor_create(device, dtype, 1, &n, &tensor));
    return tensor;
}

#endif
