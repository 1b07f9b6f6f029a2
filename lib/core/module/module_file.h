/* SPDX-License-Identifier: Apache-2.0 */
/* module_file.h - checks on a module's file before it is loaded, and the
 * library's own directory. */
#ifndef LIB_CORE_MODULE_MODULE_FILE_H
#define LIB_CORE_MODULE_MODULE_FILE_H

#include "lib/core/module/backend.h"

/** True if only the owner and the group can put another file in its place.
 *  Neither the file nor its directory may be writable by every user. The same
 *  applies to each directory above, unless it is sticky. Links are followed. If
 *  false, why contains the reason. */
bool module_file_safe(const char *path, struct why *why);

/** True if the file is an ELF file of this process's word size and contains all
 *  bytes that its headers describe. The loader maps what is described: an
 *  access to missing bytes would raise SIGBUS. If false, why contains the
 *  reason. */
bool module_file_whole(const char *path, struct why *why);

/** Set path to the absolute directory of the shared object that contains this
 *  library. False if it is not known, for example because the library is linked
 *  into a program that was started by a relative path. */
bool library_directory(char *path, size_t bytes);

#endif
