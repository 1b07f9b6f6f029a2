/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_memory.c - checks of accesses, and the shadows of memory.
 *
 * A shadow has two stamps for each piece of memory: of its last writer, and of
 * its last reader. The stamp of shared memory is the epoch (barriers count
 * them) and the item. A stamp of global memory is, from the top, the launch (20
 * bits), the group (20), the epoch in the group (13) and the item (11); 0 says
 * that no one wrote. Numbers that wrap around can hide a race, never invent one
 * that repeats. */
#include "tests/fakecuda/ptx/ptx_warp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EPOCH_BITS   13
#define GROUP_BITS   20
#define GROUP_SHIFT  (PTX_ITEM_BITS + EPOCH_BITS)
#define GROUPS       ((UINT64_C(1) << GROUP_BITS) - 1) /* as a group: several */
#define LAUNCH_SHIFT (GROUP_SHIFT + GROUP_BITS)
#define HOST         (UINT64_C(0xfffff) << LAUNCH_SHIFT)

struct ptx_shadow {
    uint64_t base, bytes;
    uint64_t stamp[]; /* two for each byte: written, read */
};

struct ptx_shadow *ptx_shadow_create(uint64_t base, uint64_t bytes)
{
    struct ptx_shadow *s;

    if (bytes > SIZE_MAX / 32)
        return NULL;
    s = calloc(1, sizeof(*s) + (size_t)bytes * 2 * sizeof(*s->stamp));
    if (s != NULL) {
        s->base = base;
        s->bytes = bytes;
    }
    return s;
}

void ptx_shadow_destroy(struct ptx_shadow *s)
{
    free(s);
}

void ptx_shadow_wrote(struct ptx_shadow *s, uint64_t at, uint64_t bytes)
{
    if (s == NULL)
        return;
    for (uint64_t i = 0; i < bytes; i++)
        s->stamp[2 * (at - s->base + i)] = HOST;
}

void ptx_shadow_moved(struct ptx_shadow *s, uint64_t at,
                      const struct ptx_shadow *source, uint64_t from,
                      uint64_t bytes)
{
    if (s == NULL)
        return;
    for (uint64_t i = 0; i < bytes; i++) {
        bool known =
            source == NULL || source->stamp[2 * (from - source->base + i)] != 0;

        s->stamp[2 * (at - s->base + i)] = known ? HOST : 0;
    }
}

void ptx_fault(struct ptx_run *r, const struct insn *i, const char *format, ...)
{
    char line[128] = "";
    va_list args;
    int n;

    ptx_line(r->entry->module, i->line, line, sizeof(line));
    n = snprintf(r->why, r->why_bytes,
                 "ptx: %s, line %u \"%s\", group %u, item %u: ", r->entry->name,
                 i->line, line, r->group, r->item);
    va_start(args, format);
    if (n >= 0 && (size_t)n < r->why_bytes)
        vsnprintf(r->why + n, r->why_bytes - (size_t)n, format, args);
    va_end(args);
    longjmp(r->out, 1);
}

/* The item's share of the way of an access that is not where the last one of
 * its instruction was. */
void *ptx_global(struct ptx_run *r, struct insn *i, uint64_t a, unsigned n,
                 int how)
{
    bool write = how == PTX_WRITE, known = false;
    uint32_t k = 0;

    for (; k < r->nrange; k++) {
        const struct ptx_range *g = &r->range[k];

        if (!within(a - g->base, g->bytes, n))
            continue;
        known = true;
        if (!write || g->write)
            break;
    }
    if (k == r->nrange)
        ptx_fault(r, i, "global address %#llx, %u bytes: %s",
                  (unsigned long long)a, n,
                  known ? "written, and bound to be read"
                        : "in no range of this launch");
    if (unaligned(a, n))
        ptx_fault(r, i, "global address %#llx, %u bytes: not aligned",
                  (unsigned long long)a, n);
    i->hint = k;
    if (r->range[k].shadow != NULL)
        ptx_note_global(r, i, &r->range[k], a, n, how);
    return (void *)(uintptr_t)a;
}

void ptx_note_shared(struct ptx_run *r, const struct insn *i, uint64_t a,
                     unsigned n, bool write)
{
    uint64_t me = r->epoch << PTX_ITEM_BITS | r->item;
    uint32_t grain = r->entry->grain;

    for (uint64_t k = a >> grain; k <= (a + n - 1) >> grain; k++) {
        uint64_t *s = r->stamps + 2 * k;

        if (s[0] == PTX_IN_FLIGHT)
            ptx_fault(r, i,
                      "race: shared byte %llu is %s while a copy to it is in "
                      "flight",
                      (unsigned long long)(k << grain),
                      write ? "written" : "read");
        if (s[0] >> PTX_ITEM_BITS == r->epoch && s[0] != me)
            ptx_fault(r, i,
                      "race: shared byte %llu was written by item %u and is "
                      "%s without a barrier between",
                      (unsigned long long)(k << grain),
                      (uint32_t)s[0] & PTX_MANY, write ? "written" : "read");
        if (!write) {
            if (s[0] >> PTX_ITEM_BITS < r->first)
                ptx_fault(r, i, "shared byte %llu is read and nobody wrote it",
                          (unsigned long long)(k << grain));
            s[1] = s[1] >> PTX_ITEM_BITS == r->epoch && s[1] != me
                       ? me | PTX_MANY
                       : me;
            continue;
        }
        if (s[1] >> PTX_ITEM_BITS == r->epoch && s[1] != me)
            ptx_fault(r, i,
                      "race: shared byte %llu was read by item %u and is "
                      "written without a barrier between",
                      (unsigned long long)(k << grain),
                      (uint32_t)s[1] & PTX_MANY);
        s[0] = me;
    }
}

/* Of one launch: another group, or another item between the same barriers. */
static bool collides(uint64_t then, uint64_t me)
{
    if (then == 0 || (then ^ me) >> LAUNCH_SHIFT != 0)
        return false;
    if ((then ^ me) >> GROUP_SHIFT != 0)
        return true;
    return (then ^ me) >> PTX_ITEM_BITS == 0 && then != me;
}

static void race(struct ptx_run *r, const struct insn *i, uint64_t byte,
                 uint64_t then, const char *before, const char *now)
{
    ptx_fault(r, i,
              "race: byte %llu of its allocation was %s by item %u of group "
              "%u and is %s without a barrier between",
              (unsigned long long)byte, before, (uint32_t)then & PTX_MANY,
              (uint32_t)(then >> GROUP_SHIFT) & (uint32_t)GROUPS, now);
}

static void note_byte(struct ptx_run *r, const struct insn *i, uint64_t *s,
                      uint64_t byte, uint64_t me, int how)
{
    bool mine = s[0] != 0 && (s[0] ^ me) >> LAUNCH_SHIFT == 0;

    if (collides(s[0], me))
        race(r, i, byte, s[0], "written",
             how == PTX_WRITE ? "written" : "read");
    if (how == PTX_READ_ONLY && mine)
        ptx_fault(r, i, "ld.global.nc of what this launch has written");
    if (how == PTX_WRITE) {
        if (collides(s[1], me))
            race(r, i, byte, s[1], "read", "written");
        s[0] = me;
        return;
    }
    if (s[0] == 0)
        ptx_fault(r, i,
                  "byte %llu of its allocation is read and nobody "
                  "wrote it",
                  (unsigned long long)byte);
    if (!collides(s[1], me))
        s[1] = me;
    else if ((s[1] ^ me) >> GROUP_SHIFT == 0)
        s[1] = me | PTX_MANY;
    else
        s[1] = me | GROUPS << GROUP_SHIFT | PTX_MANY;
}

void ptx_note_global(struct ptx_run *r, const struct insn *i,
                     const struct ptx_range *g, uint64_t a, unsigned n, int how)
{
    const uint64_t epochs = (UINT64_C(1) << EPOCH_BITS) - 1;
    uint64_t me = r->launch << LAUNCH_SHIFT |
                  (r->group % GROUPS) << GROUP_SHIFT |
                  ((r->epoch - r->first) & epochs) << PTX_ITEM_BITS | r->item;

    for (unsigned k = 0; k < n; k++) {
        uint64_t byte = a + k - g->shadow->base;

        note_byte(r, i, g->shadow->stamp + 2 * byte, byte, me, how);
    }
}
