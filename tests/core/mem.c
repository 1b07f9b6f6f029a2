/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - blocks of host memory are zeroed, aligned and apart, for any
 * size; the ones that were freed are used again, and go with the last one; the
 * caller's allocator is asked for each. */
#include "tests/core/core.h"

#include "lib/core/base/object.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* About every size once, around the lists', and one beyond them. */
#define SIZES 400

static size_t size_of(size_t i)
{
    return i < 300 ? i + 1 : (size_t)1 << (i % 24);
}

static bool is_filled(const unsigned char *p, size_t bytes, int with)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != with)
            return false;
    return true;
}

static size_t taken(void)
{
    size_t times, blocks;
    (void)mem_count(&times, &blocks);
    return times;
}

/* Allocate all sizes and fill each with its own byte. Return how many were not
 * zero, not aligned, or overwritten by another. */
static size_t fill(unsigned char **p)
{
    size_t wrong = 0;
    for (size_t i = 0; i < SIZES; i++) {
        p[i] = mem_alloc(size_of(i));
        if (p[i] == NULL) {
            wrong++;
            continue;
        }
        wrong += (uintptr_t)p[i] % _Alignof(max_align_t) != 0 ||
                 !is_filled(p[i], size_of(i), 0);
        memset(p[i], (int)(i % 255) + 1, size_of(i));
    }
    for (size_t i = 0; i < SIZES; i++)
        wrong +=
            p[i] != NULL && !is_filled(p[i], size_of(i), (int)(i % 255) + 1);
    return wrong;
}

static void drop(unsigned char **p)
{
    for (size_t i = 0; i < SIZES; i++)
        mem_free(p[i]);
}

static void blocks(void)
{
    static unsigned char *p[SIZES];
    size_t times, live;
    bool keeps = mem_count(&times, &live);
    void *last = mem_alloc(1); /* kept data stays as long as this */
    size_t wrong = fill(p);
    drop(p);
    wrong += fill(p);
    drop(p);
    tap_ok(wrong == 0, "%d sizes, twice: %zu blocks wrong", SIZES, wrong);
    void *small[16];
    for (int round = 0; round < 3; round++) {
        times = taken();
        for (size_t i = 0; i < 16; i++)
            small[i] = mem_alloc(700 + i);
        if (round == 0 && keeps) /* of the sizes before, some are left */
            times = taken();
        for (size_t i = 0; i < 16; i++)
            mem_free(small[i]);
        if (keeps && taken() != times)
            wrong++;
    }
    tap_ok(wrong == 0, "blocks that were freed are used again");
    mem_free(last);
    times = taken();
    last = mem_alloc(700);
    tap_ok(taken() == times + 1, "none are kept when all are freed");
    mem_free(last);
    tap_ok(mem_alloc_array(SIZE_MAX / 2, 3) == NULL &&
               mem_alloc(SIZE_MAX - 8) == NULL,
           "what no memory has is refused");
}

/* ---- the caller's ---- */

static size_t asked, freed;

static void *his_alloc(void *user, size_t bytes)
{
    (void)user;
    asked++;
    return malloc(bytes);
}

static void his_free(void *user, void *p)
{
    (void)user;
    freed++;
    free(p);
}

static void callbacks(void)
{
    const ssq_allocator a = {sizeof(a), his_alloc, his_free, NULL};
    NEED(ssq_allocator_set(&a));
    for (int i = 0; i < 100; i++)
        mem_free(mem_alloc(64));
    tap_ok(asked == 100 && freed == 100,
           "a caller's allocator: 100 blocks, %zu asked for, %zu freed", asked,
           freed);
    NEED(ssq_allocator_set(NULL));
}

int main(void)
{
    blocks();
    callbacks();
    return tap_done(5);
}
