/* SPDX-License-Identifier: Apache-2.0 */
/* room.c - tests that a driver is not called without memory for the work
 * that it does: it would end the process.
 *
 * Each case is a child, which loads the driver itself. The amounts are such
 * that the drivers of Debian 12 die at them, or fail with other words. */
#include <sys/statvfs.h>

#include "tests/core/driver.h"
#include "tests/core/space.h"

/** Seconds after which a child hangs. */
#define HANGS 120

static bool full; /* all disks are */

/* The modules call this one, which is exported for them. */
SSQ_API int statvfs(const char *path, struct statvfs *s)
{
    (void)path;
    memset(s, 0, sizeof(*s));
    s->f_frsize = 4096;
    s->f_blocks = 1u << 30;
    s->f_bavail = full ? 1023 : 1u << 29;
    return 0;
}

struct room_trial {
    char backend[16];
    unsigned mib; /* more than the process has */
    bool loaded;  /* limited when the driver is loaded */
    ssq_status wanted, or_else;
    const char *text;
};

static int open_limited(void *arg)
{
    const struct room_trial *t = arg;
    ssq_device *dev = NULL;

    if (t->loaded && ssq_device_count() == 0)
        return 2;
    if (t->mib != 0 && !space_limit((rlim_t)t->mib << 20, NULL))
        return 3;
    ssq_status st = ssq_device_open(t->backend, NULL, &dev);
    if ((st == t->wanted || st == t->or_else) &&
        (st == SSQ_OK || core_has(ssq_last_error(), t->text))) {
        ssq_device_close(&dev);
        return 0;
    }
    fprintf(stderr, "# %s: %s\n", ssq_status_name(st), ssq_last_error());
    return 1;
}

static void try(struct room_trial t, const char *what)
{
    int st = tap_fork(open_limited, &t, HANGS);

    tap_ok(tap_exited(st, 0), "%s: %s: %s", t.backend, what, tap_status(st));
}

#ifndef SANITIZED
static void test_space(const char *backend)
{
    static const unsigned before[] = {60, 120, 240, 300, 400};
    static const unsigned behind[] = {40, 80, 120, 220};
    struct room_trial t = {.text = "no address space for"};
    char what[96];

    snprintf(t.backend, sizeof(t.backend), "%s", backend);
    t.wanted = SSQ_ERR_NOT_FOUND; /* the driver is not loaded */
    t.or_else = SSQ_ERR_NOMEM;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        t.mib = before[i];
        snprintf(what, sizeof(what), "%u MiB to load and open", t.mib);
        try(t, what);
    }
    t.loaded = true;
    t.wanted = SSQ_ERR_NOMEM;
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        t.mib = behind[i];
        snprintf(what, sizeof(what), "%u MiB to open", t.mib);
        try(t, what);
    }
    t.loaded = false;
    t.wanted = t.or_else = SSQ_OK;
    t.mib = sizeof(void *) == 8 ? 1u << 18 : 0;
    try(t, "a limit of 256 GiB is none");
}
#endif

static void test_disk(const char *backend)
{
    struct room_trial t = {.text = "room for 4190208 bytes"};

    snprintf(t.backend, sizeof(t.backend), "%s", backend);
    full = true;
    t.wanted = t.or_else = SSQ_ERR_NOMEM;
    try(t, "the disk of the driver's cache is full");
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
    if (strcmp(backend, "vulkan") == 0) {
        t.wanted = t.or_else = SSQ_OK;
        try(t, "a full disk is no matter where the cache is off");
    }
    unsetenv("MESA_SHADER_CACHE_DISABLE");
    full = false;
    t.wanted = t.or_else = SSQ_OK;
    try(t, "a disk with room");
}

/* The driver whose cache is known; others keep what they like. */
static int is_known(void *backend)
{
    ssq_device *dev = core_open(backend);
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;

    NEED(ssq_device_props_get(dev, &p));
    bool known = core_has(p.description, "Portable Computing") ||
                 core_has(p.description, "Mesa");
    ssq_device_close(&dev);
    return known ? 0 : 1;
}

static void test(const char *backend)
{
    char name[16];

    if (driver_missing(backend))
        return;
#ifdef SANITIZED
    tap_skip("a sanitizer reserves address space", "%s: limits of it", backend);
#else
    test_space(backend);
#endif
    snprintf(name, sizeof(name), "%s", backend);
    if (tap_exited(tap_fork(is_known, name, HANGS), 0))
        test_disk(backend);
    else
        tap_skip("neither PoCL nor Mesa", "%s: a full disk", backend);
}

int main(void)
{
    test("opencl");
    test("vulkan");
    return tap_done(0); /* without drivers */
}
