/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_run.c - runs an entry: groups one after the other, and in a group each
 * item to its next stop.
 *
 * An item stops at a barrier of its group, at its end, or at an instruction of
 * its warp (mma.sync, ldmatrix, cp.async): where all 32 items of a warp have
 * come to that one, it is run for them together, and they continue before any
 * other warp does. */
#include "tests/fakecuda/ptx/ptx_warp.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum stop { AT_BARRIER, AT_END, AT_WARP };

#define MOST_ITEMS 1024
#define ENDED      UINT32_MAX /* as an item's place */

/* The number of a launch, for the shadows. 0: none; the largest: the host. */
static atomic_uint_fast64_t launches;

/* Loads extend to the 32 bits of a register, or move 64. */
#define X(T, C, N)                                                             \
    static inline uint64_t get_##T(const void *p)                              \
    {                                                                          \
        C v;                                                                   \
                                                                               \
        memcpy(&v, p, N);                                                      \
        return N == 8 ? (uint64_t)v : (uint32_t)v;                             \
    }                                                                          \
    static inline void put_##T(void *p, uint64_t x)                            \
    {                                                                          \
        C v = (C)x;                                                            \
                                                                               \
        memcpy(p, &v, N);                                                      \
    }
PTX_TYPES(X)
#undef X

/* The operations as functions: each has one line in the list. */
#define X(NAME, VALUE)                                                         \
    static inline uint64_t op_##NAME(uint64_t a, uint64_t b, uint64_t c)       \
    {                                                                          \
        (void)a, (void)b, (void)c;                                             \
        return (uint64_t)(VALUE);                                              \
    }
PTX_OPS(X)
#undef X

/* Where a load and a store of each space go. */
#define LD_AT_global(A, N)  at_global(r, i, A, N, PTX_READ)
#define ST_AT_global(A, N)  at_global(r, i, A, N, PTX_WRITE)
#define LD_AT_nc(A, N)      at_global(r, i, A, N, PTX_READ_ONLY)
#define LD_AT_shared(A, N)  at_shared(r, i, A, N, false)
#define ST_AT_shared(A, N)  at_shared(r, i, A, N, true)
#define LD_AT_local(A, N)   at_local(r, i, A, N)
#define ST_AT_local(A, N)   at_local(r, i, A, N)
#define LD_AT_param(A, N)   at_param(r, i, A, N)
#define LD_AT_generic(A, N) at_generic(r, i, A, N, PTX_READ)
#define ST_AT_generic(A, N) at_generic(r, i, A, N, PTX_WRITE)

#define CASE_OP(NAME, VALUE)                                                   \
    case OP_##NAME:                                                            \
        slot[i->d] = op_##NAME(slot[i->a], slot[i->b], slot[i->c]);            \
        i++;                                                                   \
        continue;
#define CASE_LD(S, T, N)                                                       \
    case LD_##S##_##T:                                                         \
        slot[i->d] =                                                           \
            get_##T(LD_AT_##S(slot[i->a] + (uint64_t)(int64_t)i->imm, N));     \
        i++;                                                                   \
        continue;
#define CASE_ST(S, T, N)                                                       \
    case ST_##S##_##T:                                                         \
        put_##T(ST_AT_##S(slot[i->a] + (uint64_t)(int64_t)i->imm, N),          \
                slot[i->b]);                                                   \
        i++;                                                                   \
        continue;
#define CASES(CASE, S)                                                         \
    CASE(S, u8, 1)                                                             \
    CASE(S, s8, 1)                                                             \
    CASE(S, u16, 2)                                                            \
    CASE(S, s16, 2)                                                            \
    CASE(S, u32, 4)                                                            \
    CASE(S, u64, 8)
#define CASE_LDS(S) CASES(CASE_LD, S)

static void check_vector(struct ptx_run *r, const struct insn *i, uint64_t a)
{
    if (unaligned(a + (uint64_t)(int64_t)i->imm, i->b))
        ptx_fault(r, i, "address %#llx, vector of %u bytes: not aligned",
                  (unsigned long long)(a + (uint64_t)(int64_t)i->imm), i->b);
}

/* One item from *pc to its next stop. */
static enum stop interpret(struct ptx_run *r, uint64_t *slot, uint32_t *pc)
{
    struct insn *i = r->code + *pc;

    i->seen = 1;
    for (uint64_t n = 1;; n++) {
        switch ((enum ptx_op)i->op) {
            PTX_OPS(CASE_OP)
            PTX_SPACES(CASE_LDS)
            CASES(CASE_ST, global)
            CASES(CASE_ST, shared)
            CASES(CASE_ST, local)
            CASES(CASE_ST, generic)
        case OP_ALIGN:
            check_vector(r, i, slot[i->a]);
            i++;
            continue;
        case OP_MMA:
        case OP_LDMATRIX:
        case OP_CP_ASYNC:
            *pc = (uint32_t)(i - r->code);
            r->retired += n - 1;
            return AT_WARP;
        case OP_CP_COMMIT:
            ptx_cp_commit(r);
            i++;
            continue;
        case OP_CP_WAIT:
            ptx_cp_wait(r, i->imm);
            i++;
            continue;
        case OP_BRT:
        case OP_BRF:
            if ((slot[i->a] & 1) != (i->op == OP_BRT)) {
                (++i)->seen = 1;
                continue;
            }
            i = r->code + i->imm;
            i->seen = 1;
            continue;
        case OP_BRA:
            i = r->code + i->imm;
            i->seen = 1;
            continue;
        case OP_BAR:
            *pc = (uint32_t)(i - r->code) + 1;
            r->retired += n;
            return AT_BARRIER;
        case OP_EXIT:
        default: /* nothing else is decoded */
            ptx_cp_end(r, i);
            *pc = ENDED;
            r->retired += n;
            return AT_END;
        }
    }
}

/* The state of a group's items; without barriers all take turns in one item's.
 */
struct ptx_run_group {
    uint64_t *slots;
    uint8_t *local;
    uint32_t *pc;
    uint8_t *stop; /* enum stop */
    bool together;
};

/* An item begins: registers as decoded, local memory as no one wrote it. */
static void begin(const struct ptx_run *r, const struct ptx_run_group *g,
                  uint64_t *slot, uint32_t t)
{
    const struct ptx_entry *e = r->entry;

    if (g->together || t == 0)
        memcpy(slot, e->slot, e->nslots * sizeof(*slot));
    slot[TID] = t;
    slot[CTAID] = r->group;
    slot[NTID] = r->items;
    slot[NCTAID] = r->groups;
    memset(r->local, 0xff, e->shape.local_bytes);
}

/* All items of a warp have come to one of its instructions, or it diverges. */
static void run_together(struct ptx_run *r, const struct ptx_run_group *g,
                         uint32_t from)
{
    size_t nslots = r->entry->nslots;
    const struct warp w = {g->slots + from * nslots, (uint32_t)nslots, from};
    uint32_t at = ENDED;
    struct insn *i;

    for (uint32_t t = from; t < from + PTX_WARP && at == ENDED; t++)
        if (t < r->items && g->stop[t] == AT_WARP)
            at = g->pc[t];
    i = &r->code[at];
    for (uint32_t t = from; t < from + PTX_WARP; t++) {
        r->item = t;
        if (t >= r->items || g->stop[t] != AT_WARP || g->pc[t] != at)
            ptx_fault(r, i, "not all items of the warp have come here");
    }
    r->retired++;
    if (i->op == OP_MMA)
        ptx_mma(r, i, &w);
    else if (i->op == OP_LDMATRIX)
        ptx_ldmatrix(r, i, &w);
    else
        ptx_cp_async(r, i, &w);
    for (uint32_t t = from; t < from + PTX_WARP; t++)
        g->pc[t] = at + 1;
}

/* The items of a warp that have not ended go to their next stop; is one of
 * their own instructions among these? */
static bool advance_warp(struct ptx_run *r, const struct ptx_run_group *g,
                         bool first, uint32_t from)
{
    const struct ptx_entry *e = r->entry;
    bool together = false;

    for (uint32_t t = from; t < from + PTX_WARP && t < r->items; t++) {
        size_t copy = g->together ? t : 0;
        uint64_t *slot = g->slots + copy * e->nslots;

        if (g->pc[t] == ENDED)
            continue;
        r->item = t;
        r->local = g->local + copy * e->shape.local_bytes;
        if (first)
            begin(r, g, slot, t);
        g->stop[t] = (uint8_t)interpret(r, slot, &g->pc[t]);
        together = together || g->stop[t] == AT_WARP;
    }
    if (r->banks != NULL)
        r->counts->conflicts += ptx_bank_conflicts(r->banks);
    return together;
}

/* All that have not ended go to the next barrier; how many wait there. */
static uint32_t advance(struct ptx_run *r, const struct ptx_run_group *g,
                        bool first, uint32_t *left)
{
    uint32_t waiting = 0, where = 0;

    for (uint32_t from = 0; from < r->items; from += PTX_WARP)
        for (bool fresh = first; advance_warp(r, g, fresh, from); fresh = false)
            run_together(r, g, from);
    *left = 0;
    for (uint32_t t = 0; t < r->items; t++) {
        if (g->pc[t] == ENDED)
            continue;
        ++*left;
        if (waiting++ == 0)
            where = g->pc[t];
        r->item = t;
        if (where != g->pc[t])
            ptx_fault(r, &r->code[g->pc[t] - 1],
                      "divergent barriers: another item waits at line %u",
                      r->code[where - 1].line);
    }
    return waiting;
}

static void run_group(struct ptx_run *r, const struct ptx_run_group *g)
{
    const struct ptx_entry *e = r->entry;
    uint32_t left = r->items;

    r->first = ++r->epoch;
    memset(g->pc, 0, r->items * sizeof(*g->pc));
    memset(r->shared, 0xff, e->shape.shared_bytes);
    ptx_flights_begin(r->flights);
    for (bool first = true; left > 0; first = false, r->epoch++) {
        uint32_t waiting = advance(r, g, first, &left);

        if (waiting != 0 && waiting != r->items) {
            uint32_t t = 0;

            while (g->pc[t] == ENDED)
                t++;
            r->item = t;
            ptx_fault(r, &r->code[g->pc[t] - 1],
                      "divergent barrier: %u of %u items wait, the others "
                      "have ended",
                      waiting, r->items);
        }
    }
}

/* The target of a branch was marked; the instructions after it were run as
 * well. */
static void cover(struct ptx_entry *e, const struct insn *code)
{
    bool on = false;

    pthread_mutex_lock(&e->lock);
    for (uint32_t k = 0; k < e->n; k++) {
        on = on || code[k].seen != 0;
        e->seen[k] |= on;
        if (code[k].op >= OP_BRA)
            on = false;
    }
    pthread_mutex_unlock(&e->lock);
}

static bool refused(const struct ptx_entry *e, const struct ptx_launch *l,
                    char *why, size_t bytes)
{
    const struct ptx_shape *s = &e->shape;

    if (l->param_bytes != s->param_bytes)
        snprintf(why, bytes, "ptx: %s: %zu bytes of parameters, %u expected",
                 e->name, l->param_bytes, s->param_bytes);
    else if (l->items == 0 || l->items > MOST_ITEMS ||
             (s->items != 0 && l->items > s->items))
        snprintf(why, bytes, "ptx: %s: groups of %u items, .maxntid %u",
                 e->name, l->items, s->items);
    else
        return false;
    return true;
}

static bool run_groups(struct ptx_run *r, const struct ptx_run_group *g)
{
    if (setjmp(r->out) != 0)
        return false;
    for (r->group = 0; r->group < r->groups; r->group++)
        run_group(r, g);
    return true;
}

/* The state of a launch besides its groups' items. */
static struct ptx_run *run_create(struct ptx_entry *e,
                                  const struct ptx_launch *l, char *why,
                                  size_t bytes)
{
    static const struct ptx_range nothing;
    const struct ptx_shape *s = &e->shape;
    struct ptx_run *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->entry = e;
    r->code = malloc(e->n * sizeof(*r->code));
    r->shared = malloc(s->shared_bytes + 1);
    r->stamps = calloc(((size_t)s->shared_bytes >> e->grain) + 1,
                       2 * sizeof(*r->stamps));
    r->flights = e->copies ? ptx_flights_create(l->items) : NULL;
    r->banks = l->counts != NULL ? ptx_banks_create() : NULL;
    r->counts = l->counts;
    r->range = l->nrange > 0 ? l->range : &nothing;
    r->nrange = (uint32_t)l->nrange;
    r->param = l->param;
    r->param_bytes = s->param_bytes;
    r->items = l->items;
    r->groups = l->groups;
    r->launch = atomic_fetch_add(&launches, 1) % 0xffffe + 1;
    r->why = why;
    r->why_bytes = bytes;
    return r;
}

static bool is_whole(const struct ptx_run *r, const struct ptx_run_group *g)
{
    return r != NULL && r->code != NULL && r->shared != NULL &&
           r->stamps != NULL && (r->flights != NULL || !r->entry->copies) &&
           (r->banks != NULL || r->counts == NULL) && g->slots != NULL &&
           g->local != NULL && g->pc != NULL && g->stop != NULL;
}

static void run_destroy(struct ptx_run *r)
{
    if (r == NULL)
        return;
    free(r->code);
    free(r->shared);
    free(r->stamps);
    ptx_flights_destroy(r->flights);
    ptx_banks_destroy(r->banks);
    free(r);
}

bool ptx_run(struct ptx_entry *e, struct ptx_launch *l, char *why, size_t bytes)
{
    const struct ptx_shape *s = &e->shape;
    struct ptx_run_group g = {.together = s->barriers > 0 || e->warps};
    size_t copies = g.together ? l->items : 1;
    struct ptx_run *r;
    bool ok = false;

    l->retired = 0;
    if (l->counts != NULL)
        *l->counts = (struct ptx_counts){0};
    if (refused(e, l, why, bytes))
        return false;
    g.slots = malloc(copies * e->nslots * sizeof(*g.slots));
    g.local = malloc(copies * s->local_bytes + 1);
    g.pc = malloc(l->items * sizeof(*g.pc));
    g.stop = malloc(l->items);
    r = run_create(e, l, why, bytes);
    snprintf(why, bytes, "ptx: no memory");
    if (is_whole(r, &g)) {
        memcpy(r->code, e->code, e->n * sizeof(*r->code));
        ok = run_groups(r, &g);
        cover(e, r->code);
        l->retired = r->retired;
    }
    run_destroy(r);
    free(g.slots);
    free(g.local);
    free(g.pc);
    free(g.stop);
    return ok;
}

void ptx_coverage(struct ptx_entry *e, uint32_t *seen, uint32_t *all)
{
    pthread_mutex_lock(&e->lock);
    *all = e->n - 1; /* the exit after the last instruction is ours */
    *seen = 0;
    for (uint32_t k = 0; k + 1 < e->n; k++)
        *seen += e->seen[k];
    pthread_mutex_unlock(&e->lock);
}
