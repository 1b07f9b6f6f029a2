/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_memory.h - checks of every access of an item: the address is valid, the
 * bytes that it reads were written, and no other item accessed them without a
 * barrier. */
#ifndef TESTS_FAKECUDA_PTX_PTX_MEMORY_H
#define TESTS_FAKECUDA_PTX_PTX_MEMORY_H

#include <setjmp.h>

#include "tests/fakecuda/ptx/ptx_code.h"

/* The launch as its items see it. */
struct ptx_run {
    const struct ptx_entry *entry;
    struct insn *code; /* the launch's own copy */
    const struct ptx_range *range;
    const uint8_t *param;
    uint8_t *shared, *local; /* local: of the item that runs */
    uint64_t *stamps;        /* of shared memory: its writers and readers */
    uint32_t nrange, param_bytes;
    uint32_t item, group, items, groups;
    uint64_t epoch, first; /* barriers so far, and at the group's begin */
    uint64_t launch;       /* its number, for the shadows */
    uint64_t retired;
    struct ptx_flights *flights; /* of ptx_warp.h; NULL: there are none */
    struct ptx_banks *banks;     /* NULL: conflicts are not counted */
    struct ptx_counts *counts;
    char *why;
    size_t why_bytes;
    /* Accesses are deep in the items' loop and each can be the end of it. */
    jmp_buf out;
};

/* A stamp of shared memory: the epoch, and an item or several. */
#define PTX_ITEM_BITS 11
#define PTX_MANY      2047u

/* How global memory is touched. */
enum { PTX_READ, PTX_READ_ONLY, PTX_WRITE };

/* Ends the launch: writes the text and jumps to out. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), noreturn))
#endif
void ptx_fault(struct ptx_run *r, const struct insn *i, const char *format,
               ...);

void *ptx_global(struct ptx_run *r, struct insn *i, uint64_t a, unsigned n,
                 int how);
void *ptx_shared(struct ptx_run *r, struct insn *i, uint64_t a, unsigned n,
                 bool write);
void ptx_note_global(struct ptx_run *r, const struct insn *i,
                     const struct ptx_range *g, uint64_t a, unsigned n,
                     int how);
void ptx_bank_note(struct ptx_run *r, const struct insn *i, uint64_t a,
                   unsigned n);
void ptx_note_shared(struct ptx_run *r, const struct insn *i, uint64_t a,
                     unsigned n, bool write);

/* n bytes at a are within the size bytes that begin at 0. */
static inline bool within(uint64_t a, uint64_t size, unsigned n)
{
    return size >= n && a <= size - n;
}

static inline bool unaligned(uint64_t a, unsigned n)
{
    return (a & (n - 1)) != 0;
}

static inline void *at_global(struct ptx_run *r, struct insn *i, uint64_t a,
                              unsigned n, int how)
{
    const struct ptx_range *g = &r->range[i->hint];

    if (r->counts != NULL && how != PTX_WRITE && i->op < OP_ALIGN)
        r->counts->global_bytes += n;
    if (!within(a - g->base, g->bytes, n) || unaligned(a, n) ||
        g->shadow != NULL || (how == PTX_WRITE && !g->write))
        return ptx_global(r, i, a, n, how);
    return (void *)(uintptr_t)a;
}

/* The common case here, the loop and the faults elsewhere: one word, touched
 * by this item alone since the last barrier, or read and by no one written. */
static inline void note_shared(struct ptx_run *r, const struct insn *i,
                               uint64_t a, unsigned n, bool write)
{
    uint64_t me = r->epoch << PTX_ITEM_BITS | r->item;
    uint64_t *s = r->stamps + 2 * (a >> 2);

    if (n != 4 || r->entry->grain != 2 || r->entry->copies)
        ptx_note_shared(r, i, a, n, write);
    else if (write && (s[0] == me || s[0] >> PTX_ITEM_BITS != r->epoch) &&
             (s[1] == me || s[1] >> PTX_ITEM_BITS != r->epoch))
        s[0] = me;
    else if (!write && s[0] >> PTX_ITEM_BITS >= r->first &&
             (s[0] == me || s[0] >> PTX_ITEM_BITS != r->epoch))
        s[1] = s[1] >> PTX_ITEM_BITS != r->epoch || s[1] == me ? me
                                                               : me | PTX_MANY;
    else
        ptx_note_shared(r, i, a, n, write);
}

static inline void *at_shared(struct ptx_run *r, struct insn *i, uint64_t a,
                              unsigned n, bool write)
{
    if (!within(a, r->entry->shape.shared_bytes, n) || unaligned(a, n))
        ptx_fault(r, i, "shared address %#llx, %u bytes: %s",
                  (unsigned long long)a, n,
                  unaligned(a, n) ? "not aligned" : "out of range");
    note_shared(r, i, a, n, write);
    if (r->banks != NULL && i->op < OP_ALIGN)
        ptx_bank_note(r, i, a, n);
    return r->shared + a;
}

static inline void *at_local(struct ptx_run *r, struct insn *i, uint64_t a,
                             unsigned n)
{
    if (!within(a, r->entry->shape.local_bytes, n) || unaligned(a, n))
        ptx_fault(r, i, "local address %#llx, %u bytes: %s",
                  (unsigned long long)a, n,
                  unaligned(a, n) ? "not aligned" : "out of range");
    return r->local + a;
}

static inline const void *at_param(struct ptx_run *r, struct insn *i,
                                   uint64_t a, unsigned n)
{
    if (!within(a, r->param_bytes, n) || unaligned(a, n))
        ptx_fault(r, i, "parameter address %#llx, %u bytes: %s",
                  (unsigned long long)a, n,
                  unaligned(a, n) ? "not aligned" : "out of range");
    return r->param + a;
}

static inline void *at_generic(struct ptx_run *r, struct insn *i, uint64_t a,
                               unsigned n, int how)
{
    if (a >> 56 == PTX_IN_SHARED >> 56)
        return at_shared(r, i, a & ~PTX_IN_SHARED, n, how == PTX_WRITE);
    if (a >> 56 == PTX_IN_LOCAL >> 56)
        return at_local(r, i, a & ~PTX_IN_LOCAL, n);
    return at_global(r, i, a, n, how);
}

#endif
