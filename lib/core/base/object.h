/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - reference counts, and the host memory of the library. */
#ifndef LIB_CORE_BASE_OBJECT_H
#define LIB_CORE_BASE_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/** First member of every object that is shared. */
struct object {
    atomic_size_t refs;
    void (*free)(struct object *); /* called by the last put */
};

/** Start with one reference, owned by the caller. */
void object_init(struct object *o, void (*free)(struct object *));
/** Add a reference. The caller must have one, or a lock that keeps one alive.
 */
void object_get(struct object *o);
/** The same for a caller that has only a lock which prevents the memory from
 *  being freed. False: the last reference is already gone. */
bool object_get_live(struct object *o);
/** Drop a reference; NULL is allowed. */
void object_put(struct object *o);

/** Allocate zeroed memory, from malloc or the allocation callbacks. Returns
 *  NULL without memory; the caller reports that with error_nomem(). bytes must
 *  not be 0. */
void *mem_alloc(size_t bytes);
/** Allocate zeroed memory for n elements of size bytes. Returns NULL without
 *  memory, and if n * size overflows. If n * size is 0, allocates 1 byte. */
void *mem_alloc_array(size_t n, size_t size);
/** Free a block; p may be NULL. */
void mem_free(void *p);
/** Set *taken to the number of requests to malloc or to the callbacks so far,
 *  and *live to the number of blocks in use. Returns false under a sanitizer,
 *  which disables the reuse of freed blocks. */
bool mem_count(size_t *taken, size_t *live);
/** Allocate zeroed memory that stays until the process ends. It is never from
 *  the callbacks, which may be replaced when all objects are gone. */
void *mem_keep(size_t bytes);
/** Copy a string; free the copy with mem_free(). NULL without memory. */
char *mem_strdup(const char *s);

/** Lock and unlock host memory for a fork: see fork.c. */
void mem_hold(void);
void mem_let_go(void);

#endif
