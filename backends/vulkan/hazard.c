/* SPDX-License-Identifier: Apache-2.0 */
/* hazard.c - which operands need a barrier before them.
 *
 * The record holds the parts that descriptors show to a kernel. A
 * descriptor's offset is rounded down, so that its first bytes may be some
 * before the operand's own: rounding to VULKAN_ALIGN is enough for every
 * device. A barrier is a global one: after it nothing needs to be
 * remembered. */
#include "backends/vulkan/vulkan.h"

#include <string.h>

/** Touches that are remembered one by one: looking through more of them takes
 *  longer than the barrier that they would save. */
#define MOST_TOUCHES 256u

/* Bytes from..to were read, or also written, since the last barrier. The buffer
 * is Vulkan's own: a caller may have imported one twice. */
struct vulkan_touch {
    VkBuffer buffer;
    uint64_t from, to; /* bytes */
    bool written;
};

static VkBuffer buffer_of(const struct binding *b)
{
    return ((const struct vulkan_mem *)b->mem)->buffer;
}

/* Do they overlap, and does one of them write? Tensors share slabs, so that the
 * buffer alone says little. */
static bool races(const struct vulkan_touch *t, const struct binding *b)
{
    uint64_t from = b->offset - b->offset % VULKAN_ALIGN;
    return b->access != ACCESS_NONE && t->buffer == buffer_of(b) &&
           from < t->to && t->from < b->offset + b->bytes &&
           (t->written || b->access != ACCESS_READ);
}

bool vulkan_hazard(const struct vulkan_hazards *h, const struct binding *b,
                   uint32_t n)
{
    if (h->all)
        return true;
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < h->count; k++)
            if (races(&h->touch[k], &b[i]))
                return true;
    return false;
}

/* True if n more touches can be remembered. All the memory is allocated
 * together, and kept: there is little of it. */
static bool hazard_grow(struct vulkan_hazards *h, uint32_t n)
{
    if (h->count + n <= h->room)
        return true;
    if (h->count + n > MOST_TOUCHES)
        return false;
    struct vulkan_touch *touch =
        h->core->mem_alloc(MOST_TOUCHES * sizeof(*touch));
    if (touch == NULL)
        return false;
    h->touch = touch;
    h->room = MOST_TOUCHES;
    return true;
}

void vulkan_hazard_add(struct vulkan_hazards *h, const struct binding *b,
                       uint32_t n)
{
    /* Taking everything for touched costs a barrier too many, never one too
     * few. */
    if (h->all || !hazard_grow(h, n)) {
        h->all = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (b[i].access != ACCESS_NONE)
            h->touch[h->count++] = (struct vulkan_touch){
                buffer_of(&b[i]), b[i].offset - b[i].offset % VULKAN_ALIGN,
                b[i].offset + b[i].bytes, b[i].access != ACCESS_READ};
}

void vulkan_hazard_clear(struct vulkan_hazards *h)
{
    h->count = 0;
    h->all = false;
}

void vulkan_hazard_free(struct vulkan_hazards *h)
{
    h->core->mem_free(h->touch);
    memset(h, 0, sizeof(*h));
}
