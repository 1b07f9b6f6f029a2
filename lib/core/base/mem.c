/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - host memory: from malloc, or from the caller's callbacks.
 *
 * Each training step requests the same small blocks as the step before: copies
 * of ops, plans and queue entries. Freed malloc blocks are therefore kept by
 * size, up to a limit, and reused. They go back to the system when the
 * library's last block is freed. A step that repeats an earlier one thus
 * requests no memory from the system.
 *
 * A caller's own allocator sees every request, and no block is kept. Under a
 * sanitizer no block is kept either: reuse would hide accesses to freed
 * memory. */
#include "lib/core/base/error.h"
#include "lib/core/base/object.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define MOST_KEPT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define MOST_KEPT 0
#endif
#endif
#ifndef MOST_KEPT
#define MOST_KEPT ((size_t)8 << 20) /* bytes, of all kept blocks together */
#endif

/* A block begins with a head, which says in which list the block belongs. Block
 * sizes are at least 64 bytes, with four steps per power of two. */
#define FIRST_BITS 6
#define STEP_BITS  2
#define LISTS      64

struct mem_block {
    union {
        struct mem_block *next; /* of a kept block: the next in its list */
        size_t list; /* of a block in use; LISTS: larger than any list */
    };
    max_align_t bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static ssq_allocator callbacks; /* the caller's, if custom */
static bool custom;             /* else malloc and free */
static size_t live;             /* blocks not yet freed */
static size_t taken;            /* requests to malloc or callbacks so far */
static struct mem_block *kept[LISTS];
static size_t kept_bytes;

/* Return the bytes of a block in this list, without its head. */
static size_t mem_bytes_of(size_t list)
{
    size_t power = (size_t)1 << (FIRST_BITS + (list >> STEP_BITS));
    return power + (power >> STEP_BITS) * (list & ((1u << STEP_BITS) - 1));
}

/* Return the first list whose blocks are large enough; LISTS if none is. */
static size_t list_of(size_t bytes)
{
    size_t list = 0;
    while (list < LISTS && mem_bytes_of(list) < bytes)
        list += bytes > 2 * mem_bytes_of(list) ? 1u << STEP_BITS : 1;
    return list;
}

/* Free all kept blocks. The caller must hold the lock. */
static void drop_kept(void)
{
    for (size_t i = 0; i < LISTS; i++)
        for (struct mem_block *b = kept[i], *next; b != NULL; b = next) {
            next = b->next;
            free(b);
        }
    memset(kept, 0, sizeof(kept));
    kept_bytes = 0;
}

/* Allocate a block, reusing a kept one if possible. If malloc fails, free all
 * kept blocks and try once more. The caller must hold the lock. */
static void *mem_take(size_t bytes)
{
    size_t list = list_of(bytes), room = bytes;
    struct mem_block *b = list < LISTS ? kept[list] : NULL;
    if (b != NULL) {
        kept[list] = b->next;
        kept_bytes -= mem_bytes_of(list);
        b->list = list;
        return b->bytes;
    }
    if (list < LISTS)
        room = mem_bytes_of(list);
    if (room > SIZE_MAX - sizeof(*b))
        return NULL;
    taken++;
    b = malloc(sizeof(*b) + room);
    if (b == NULL && kept_bytes > 0) {
        drop_kept();
        b = malloc(sizeof(*b) + room);
    }
    if (b == NULL)
        return NULL;
    b->list = list;
    return b->bytes;
}

/* Keep a block for reuse, or free it if too much is kept. If no block is in use
 * any more, free all kept blocks. The caller must hold the lock, and must have
 * decremented live already. */
static void mem_give(void *p)
{
    struct mem_block *b =
        (struct mem_block *)(void *)((char *)p -
                                     offsetof(struct mem_block, bytes));
    size_t list = b->list,
           bytes = list < LISTS ? mem_bytes_of(list) : MOST_KEPT;
    if (bytes >= MOST_KEPT - kept_bytes) {
        free(b);
    } else {
        b->next = kept[list];
        kept[list] = b;
        kept_bytes += bytes;
    }
    if (live == 0)
        drop_kept();
}

/* Callbacks run under the lock, so they need not be thread-safe. They must not
 * call the library, which would deadlock. */
void *mem_alloc(size_t bytes)
{
    pthread_mutex_lock(&lock);
    void *p = NULL;
    if (custom) {
        taken++;
        p = callbacks.alloc(callbacks.user, bytes);
    } else {
        p = mem_take(bytes);
    }
    if (p != NULL)
        live++;
    pthread_mutex_unlock(&lock);
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

void *mem_alloc_array(size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    return mem_alloc(n * size == 0 ? 1 : n * size);
}

void mem_free(void *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&lock);
    live--;
    if (custom)
        callbacks.free(callbacks.user, p);
    else
        mem_give(p);
    pthread_mutex_unlock(&lock);
}

bool mem_count(size_t *times, size_t *blocks)
{
    pthread_mutex_lock(&lock);
    *times = taken;
    *blocks = live;
    pthread_mutex_unlock(&lock);
    return MOST_KEPT > 0;
}

void mem_hold(void)
{
    pthread_mutex_lock(&lock);
}

void mem_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

void *mem_keep(size_t bytes)
{
    return calloc(1, bytes);
}

char *mem_strdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = mem_alloc(bytes);
    if (copy != NULL)
        memcpy(copy, s, bytes);
    return copy;
}

/* Change the allocator; refused while a block is in use, because mem_free()
 * uses the callbacks that are set when it is called. The caller must hold the
 * lock. */
static ssq_status allocator_store(const ssq_allocator *a)
{
    if (live != 0)
        return error_set(SSQ_ERR_INVALID,
                         "allocator_set: %zu blocks of the library are in use",
                         live);
    custom = a != NULL;
    if (custom)
        callbacks = *a;
    return SSQ_OK;
}

ssq_status ssq_allocator_set(const ssq_allocator *a)
{
    if (a != NULL && a->struct_size != sizeof(*a))
        return error_set(SSQ_ERR_INVALID,
                         "allocator_set: struct_size is %zu, expected %zu",
                         a->struct_size, sizeof(*a));
    if (a != NULL && (a->alloc == NULL || a->free == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "allocator_set: alloc or free is NULL");
    pthread_mutex_lock(&lock);
    ssq_status st = allocator_store(a);
    pthread_mutex_unlock(&lock);
    return st;
}
