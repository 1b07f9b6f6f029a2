/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - functions of the system's libraries, opened when a file needs
 * them: so the library depends on none of them. */
#ifndef LIB_DATA_FOREIGN_H
#define LIB_DATA_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/** A function to find, and the pointer to write it to. */
struct foreign {
    const char *name;
    void *function; /* address of a pointer to a function */
};

/** Open a library and find n functions. It stays open.
 *  @return false if the library or one of them is missing */
bool foreign_open(const char *library, const struct foreign *f, size_t n);

#endif
