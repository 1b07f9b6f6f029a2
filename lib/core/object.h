/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - reference counts, and the host memory of the library. */
#ifndef LIB_CORE_OBJECT_H
#define LIB_CORE_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/** First member of everything that is shared. */
struct object {
    atomic_size_t refs;
    void (*free)(struct object *); /* called at the last put */
};

/** One reference, owned by the caller. */
void object_init(struct object *o, void (*free)(struct object *));
/** Take one more; the caller must have one, or a lock that keeps one alive. */
void object_get(struct object *o);
/** The same for a caller who has but a lock, without which its memory would not
 *  be freed; false: the last reference is gone. */
bool object_get_live(struct object *o);
/** Drop a reference; NULL is allowed. */
void object_put(struct object *o);

/** Zeroed memory from the allocation callbacks; NULL when there is none. The
 *  caller says so with error_nomem(). Never called with 0 bytes. */
void *mem_alloc(size_t bytes);
/** Zeroed memory for n elements of size bytes; NULL as above, and where the
 *  product overflows. A product of 0 gets a block of 1 byte. */
void *mem_alloc_array(size_t n, size_t size);
/** p may be NULL. */
void mem_free(void *p);
/** How often the library has asked malloc, or the callbacks, for memory, and
 *  how many blocks it has not freed. False where no block is kept for the next
 *  who asks: under a sanitizer. */
bool mem_count(size_t *taken, size_t *live);
/** Zeroed memory that stays as long as the process: not from the callbacks,
 *  which may be replaced when all objects are gone. */
void *mem_keep(size_t bytes);
/** A copy of a string, to be freed with mem_free; NULL without memory. */
char *mem_strdup(const char *s);

#endif
