/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - a shared object that has a copy of the library in it, as a
 * program's plugins and an interpreter's packages have. */
#ifndef TESTS_API_PLUGIN_H
#define TESTS_API_PLUGIN_H

#include <stdatomic.h>

#include "tests/api/training.h"

/** The calls that reached this copy's allocator and log. */
struct plugin_seen {
    atomic_long live;   /* blocks that were not given back */
    atomic_long blocks; /* all that there were */
    atomic_long wrong;  /* given back here, though another copy's */
    atomic_long lines;  /* of a backend's module at the opening of a device */
};

struct plugin {
    struct plugin_seen *seen;
    bool (*has)(const char *device);
    /** The whole training program, with its result; else the text. */
    bool (*train)(const char *device, struct learnt *end, char *text,
                  size_t bytes);
    /** Ask the device for more than it can have; the text stays this copy's
     *  last error. */
    ssq_status (*ask_too_much)(const char *device);
    const char *(*last_error)(void);
};

/** Exported as plugin_get: its allocator and its log are set. */
typedef const struct plugin *(*plugin_get_fn)(void);

#endif
