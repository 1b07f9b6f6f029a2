/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - a copy of the library with a training program. */
#include "tests/api/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plugin_seen seen;

/* Before each block: whose it is. */
union header {
    struct plugin_seen *owner;
    max_align_t align;
};

static void *lend(void *user, size_t bytes)
{
    union header *h = malloc(sizeof(*h) + bytes);

    if (h == NULL)
        return NULL;
    h->owner = user;
    atomic_fetch_add(&seen.live, 1);
    atomic_fetch_add(&seen.blocks, 1);
    return h + 1;
}

static void take_back(void *user, void *p)
{
    union header *h = (union header *)p - 1;

    atomic_fetch_add(h->owner == user ? &seen.live : &seen.wrong,
                     h->owner == user ? -1 : 1);
    free(h);
}

static void hear(void *user, ssq_log_level level, const char *text)
{
    struct plugin_seen *s = user;

    (void)level;
    if (strstr(text, "f16 loads") != NULL ||
        strstr(text, "subgroups of") != NULL)
        atomic_fetch_add(&s->lines, 1);
}

static bool has(const char *device)
{
    for (size_t i = 0; i < ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

        if (ssq_device_list(i, &e) == SSQ_OK && e.available &&
            strcmp(e.name, device) == 0)
            return true;
    }
    return false;
}

static bool train(const char *device, struct learnt *end, char *text,
                  size_t bytes)
{
    struct training p = {.name = device};
    size_t i = 0;

    while (i < TRAINING_STAGES && training_stages[i].run(&p) == SSQ_OK)
        i++;
    bool done = i == TRAINING_STAGES && learnt_take(&p, end) == SSQ_OK;
    if (!done)
        snprintf(text, bytes, "stage %zu: %s", i, ssq_last_error());
    training_close(&p);
    return done;
}

static ssq_status ask_too_much(const char *device)
{
    ssq_device *dev = NULL;
    ssq_buffer *buffer = NULL;
    ssq_status st = ssq_device_open(device, NULL, &dev);

    if (st == SSQ_OK)
        st = ssq_buffer_create(dev, UINT64_C(1) << 50, &buffer);
    ssq_buffer_destroy(&buffer);
    ssq_device_close(&dev);
    return st;
}

static const struct plugin *get(void)
{
    static const ssq_allocator allocator = {sizeof(allocator), lend, take_back,
                                            &seen};
    static const struct plugin plugin = {&seen, has, train, ask_too_much,
                                         ssq_last_error};

    ssq_log_set(hear, &seen);
    return ssq_allocator_set(&allocator) == SSQ_OK ? &plugin : NULL;
}

/* ISO C has no conversion from an object pointer to a function's. */
extern SSQ_API const plugin_get_fn plugin_get;
const plugin_get_fn plugin_get = get;
