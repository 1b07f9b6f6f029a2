/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_map.c - the kernels of a device, by source and variant. */
#include "backends/common/kernel_map.h"

#include <stdio.h>
#include <string.h>

#define CHAINS                                                                 \
    (sizeof(((struct kernel_map *)NULL)->chain) /                              \
     sizeof(((struct kernel_map *)NULL)->chain[0]))

ssq_status kernel_map_open(struct kernel_map *map, const struct services *core)
{
    memset(map, 0, sizeof(*map));
    map->core = core;
    if (pthread_mutex_init(&map->lock, NULL) != 0)
        return SSQ_ERR_NOMEM;
    if (pthread_cond_init(&map->built, NULL) != 0) {
        pthread_mutex_destroy(&map->lock);
        return SSQ_ERR_NOMEM;
    }
    return SSQ_OK;
}

void kernel_map_close(struct kernel_map *map)
{
    pthread_cond_destroy(&map->built);
    pthread_mutex_destroy(&map->lock);
}

static struct kernel_map_entry **chain_of(struct kernel_map *map,
                                          const struct kernel *kernel,
                                          const uint8_t key[LAUNCH_KEYS])
{
    uint32_t h = kernel->id;
    for (size_t i = 0; i < LAUNCH_KEYS; i++)
        h = h * 31u + key[i];
    return &map->chain[h % CHAINS];
}

/* With the lock. */
static struct kernel_map_entry *kernel_map_find(struct kernel_map *map,
                                                const struct kernel *kernel,
                                                const uint8_t key[LAUNCH_KEYS])
{
    struct kernel_map_entry *e = *chain_of(map, kernel, key);
    while (e != NULL && (e->kernel->id != kernel->id ||
                         memcmp(e->key, key, sizeof(e->key)) != 0))
        e = e->next;
    return e;
}

/* A new entry that others wait for. With the lock. */
static struct kernel_map_entry *claim(struct kernel_map *map,
                                      const struct kernel *kernel,
                                      const uint8_t key[LAUNCH_KEYS],
                                      size_t bytes)
{
    struct kernel_map_entry *e = map->core->mem_alloc(bytes);
    if (e == NULL)
        return NULL;
    struct kernel_map_entry **head = chain_of(map, kernel, key);
    memset(e, 0, bytes);
    e->kernel = kernel;
    memcpy(e->key, key, sizeof(e->key));
    e->building = true;
    e->next = *head;
    *head = e;
    return e;
}

static void unlink_entry(struct kernel_map *map, struct kernel_map_entry *e)
{
    struct kernel_map_entry **at = chain_of(map, e->kernel, e->key);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
}

struct kernel_map_entry *kernel_map_get(struct kernel_map *map,
                                        const struct kernel *kernel,
                                        const uint8_t key[LAUNCH_KEYS],
                                        size_t bytes, bool *mine)
{
    pthread_mutex_lock(&map->lock);
    struct kernel_map_entry *e;
    while ((e = kernel_map_find(map, kernel, key)) != NULL && e->building)
        pthread_cond_wait(&map->built, &map->lock);
    *mine = e == NULL;
    if (*mine)
        e = claim(map, kernel, key, bytes);
    pthread_mutex_unlock(&map->lock);
    return e;
}

void kernel_map_built(struct kernel_map *map, struct kernel_map_entry *e,
                      bool ok)
{
    pthread_mutex_lock(&map->lock);
    e->building = false;
    if (!ok)
        unlink_entry(map, e);
    pthread_cond_broadcast(&map->built);
    pthread_mutex_unlock(&map->lock);
}

struct kernel_map_entry *kernel_map_take(struct kernel_map *map)
{
    for (size_t i = 0; i < CHAINS; i++) {
        struct kernel_map_entry *e = map->chain[i];
        if (e != NULL) {
            map->chain[i] = e->next;
            return e;
        }
    }
    return NULL;
}

void kernel_map_name(const struct kernel *kernel,
                     const uint8_t key[LAUNCH_KEYS], char *text, size_t bytes)
{
    int n = snprintf(text, bytes, "%s", kernel->name);
    for (uint32_t i = 0; i < kernel->nkeys && n >= 0 && (size_t)n < bytes; i++)
        n += snprintf(text + n, bytes - (size_t)n, " %s=%u", kernel->keys[i],
                      key[i]);
}
