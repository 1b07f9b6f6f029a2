/* SPDX-License-Identifier: Apache-2.0 */
/* module_find.h - search for modules: in SSQ_MODULE_PATH (a colon-separated
 * list; ignored in setuid processes), then beside the library, then in the
 * installation directory. */
#ifndef LIB_CORE_MODULE_MODULE_FIND_H
#define LIB_CORE_MODULE_MODULE_FIND_H

#include "lib/core/module/backend.h"

/** Called with the path of a file that is complete and safe to load. Returns
 *  false to reject the file; why then contains the reason. */
typedef bool module_try_fn(void *user, const char *path, struct why *why);

/** Look for NAME.so until try_file accepts a file. If false, reason contains
 *  the problems of all files found, or "" if none was found. */
bool module_find(const char *name, module_try_fn *try_file, void *user,
                 struct why *reason);
/** True if SSQ_MODULE_PATH is set but empty: no module is loaded. */
bool module_none(void);

#endif
