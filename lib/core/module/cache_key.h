/* SPDX-License-Identifier: Apache-2.0 */
/* cache_key.h - which file of the disk cache belongs to a device. */
#ifndef LIB_CORE_MODULE_CACHE_KEY_H
#define LIB_CORE_MODULE_CACHE_KEY_H

#include "lib/core/module/backend.h"

/** Everything that a file about a device depends on, for example its
 *  certificate. The name depends on the device and its driver, the text also on
 * the version and the kernels of this library. A file of another version has
 * the same name but another text: it is refused and replaced. */
struct cache_key {
    char name[64]; /* of the file */
    char text[1536];
};
/** Fill *key for another kind of file about a device. kind is a short word,
 *  version the version of the file's layout. If b->identify is NULL, as for
 *  host code, the key contains no description of the device. */
void cache_key_for(const char *kind, unsigned version, const struct backend *b,
                   const struct backend_device *d, struct cache_key *key);

/** Return true if a file may contain this text. It must end with a NUL within
 *  `bytes` bytes and consist of printable ASCII and newlines. The text is shown
 *  on terminals, so a damaged file must not add other characters. */
bool cache_text(const char *text, size_t bytes);

#endif
