/* SPDX-License-Identifier: Apache-2.0 */
/* module_file.h - what must be true of a module's file before it is loaded,
 * and where the library itself is. */
#ifndef LIB_CORE_MODULE_FILE_H
#define LIB_CORE_MODULE_FILE_H

#include "lib/core/backend.h"

/** True if nobody but its owner, or a group, can put another file there:
 *  neither the file nor its directory may be writable by everybody, nor a
 *  directory above them unless it is sticky; links are followed. False: why has
 *  the reason. */
bool module_file_safe(const char *path, struct why *why);

/** True if it is an ELF file of this machine's kind that has all the bytes that
 *  its headers speak of. The loader maps what they say: to touch what is
 *  missing is a SIGBUS. False: why has the reason. */
bool module_file_whole(const char *path, struct why *why);

/** The directory of the shared object that this library is in, absolute; false:
 *  it is not known, as in a program that has it linked in. */
bool library_directory(char *path, size_t bytes);

#endif
