/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - reference counts, and host memory through the callbacks. */
#include "lib/core/object.h"

#include "lib/core/error.h"
#include "lib/core/fork.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static ssq_allocator callbacks; /* the caller's, if custom */
static bool custom;             /* else malloc and free */
static size_t live; /* blocks not yet freed */

void object_init(struct object *o, void (*free_fn)(struct object *))
{
    atomic_init(&o->refs, 1);
    o->free = free_fn;
}

/* Relaxed: whoever takes a reference has one already, which keeps it alive. */
void object_get(struct object *o)
{
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

/* Release and acquire: what other threads did with the object before their puts
 * has happened before it is freed. */
void object_put(struct object *o)
{
    if (o == NULL)
        return;
    if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->free(o);
}

/* The callbacks are called under the lock, so they need not be thread-safe; one
 * that called the library would wait for itself. */
void *mem_alloc(size_t bytes)
{
    pthread_mutex_lock(&lock);
    void *p = custom ? callbacks.alloc(callbacks.user, bytes) : malloc(bytes);
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
        free(p);
    pthread_mutex_unlock(&lock);
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

/* With the lock. Blocks of the old allocator must all be gone, since each one
 * is freed by whatever callbacks are set at that time. */
static ssq_status allocator_store(const ssq_allocator *a)
{
    if (live != 0)
        return error_set(SSQ_ERR_INVALID,
                         "allocator_set: %zu blocks of the library are alive",
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
