/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - an index that maps names to numbers. */
#ifndef LIB_CORE_BASE_NAMES_H
#define LIB_CORE_BASE_NAMES_H

#include <sesqui/status.h>

#include <stddef.h>
#include <stdint.h>

/** Returned for a name that is not in the index. */
#define NAME_NONE SIZE_MAX

/** A hash table with open addressing, at most half full. All zeros is an empty
 *  index. Names are borrowed: the caller must not move or free them. */
struct name_index {
    struct name_slot *slot; /* owned */
    size_t n, room;         /* names, slots: 0 or a power of two */
};

/** Return the 32-bit FNV-1a hash of a name:
 *  http://www.isthe.com/chongo/tech/comp/fnv/. */
uint32_t name_hash(const char *name);

/** Find the number of a name; NAME_NONE if it is missing. */
size_t names_find(const struct name_index *names, const char *name);
/** Make room for one more name. An error's text begins with `what`. */
ssq_status names_reserve(struct name_index *names, const char *what);
/** Add a name that is missing, after names_reserve(). */
void names_add(struct name_index *names, const char *name, size_t number);
/** Remove all names and keep the memory. */
void names_clear(struct name_index *names);
/** Release the memory; the index is empty. */
void names_free(struct name_index *names);

#endif
