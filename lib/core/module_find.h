/* SPDX-License-Identifier: Apache-2.0 */
/* module_find.h - where modules are looked for: in SSQ_MODULE_PATH (a colon
 * list; ignored in setuid processes), then beside the library, then where they
 * were installed. */
#ifndef LIB_CORE_MODULE_FIND_H
#define LIB_CORE_MODULE_FIND_H

#include "lib/core/backend.h"

/** Called with the path of a file that is safe to load, and whole; false: it is
 *  not taken, and why has the reason. */
typedef bool module_try_fn(void *user, const char *path, struct why *why);

/** Look for NAME.so, until one is taken; false: reason has what was wrong with
 *  each that there is, "" where there is none. */
bool module_find(const char *name, module_try_fn *try_file, void *user,
                 struct why *reason);
/** True if SSQ_MODULE_PATH is empty: no modules at all. */
bool module_none(void);

#endif
