/* SPDX-License-Identifier: Apache-2.0 */
/* lent.c - a loop on threads of the program's.
 *
 * The program is handed as many parts as there are threads. A part takes
 * tasks until there are none left, so that no part needs another one, and none
 * is missed. A part's worker is the number of parts that began before it, and
 * not the number that the program calls it with: even if it makes a call twice,
 * no two tasks run with the same worker.
 *
 * The context of a part is a ticket, not a pointer: the number of a slot in a
 * static table, and how often the slot was used before. A part that is called
 * after its loop has ended finds another use, or none, and does nothing. */
#include "backends/cpu/threads/lent.h"

#include "lib/core/base/fpenv.h"

#include <sched.h>
#include <stdatomic.h>

struct lent_loop {
    _Atomic uint32_t begun; /* parts */
    _Atomic uint32_t next;  /* task; n and more: all are taken */
    uint32_t size, n;
    team_task task;
    void *context;
};

/* ---- slots ---- */

/** Loops that can run at a time. More loops run on their callers alone. */
#define SLOT_BITS 8
#define SLOTS     (1u << SLOT_BITS)

/* The word of a slot: which use of it this is, whether parts may still begin,
 * and how many are at work. */
#define OPEN    0x80000000u
#define AT_WORK 0x7fffffffu

static struct lent_slot {
    atomic_bool taken;
    _Atomic uint64_t word; /* use << 32 | OPEN | parts at work */
    struct lent_loop *loop;
} slots[SLOTS];
static _Atomic uint32_t next_slot;

/* A use in the bits that a ticket has for it beside the slot. */
static uintptr_t use_bits(uint64_t word)
{
    return (uintptr_t)(word >> 32) << SLOT_BITS;
}

/* NULL: all are taken. */
static struct lent_slot *slot_take(struct lent_loop *l)
{
    uint32_t from = atomic_fetch_add(&next_slot, 1);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct lent_slot *s = &slots[(from + i) % SLOTS];
        if (atomic_load(&s->taken) || atomic_exchange(&s->taken, true))
            continue;
        s->loop = l;
        atomic_fetch_or(&s->word, OPEN);
        return s;
    }
    return NULL;
}

/* No part begins from here on; those at work are waited for. */
static void slot_release(struct lent_slot *s)
{
    uint64_t word = atomic_fetch_and(&s->word, ~(uint64_t)OPEN);
    while ((atomic_load(&s->word) & AT_WORK) != 0)
        (void)sched_yield();
    atomic_store(&s->word, ((word >> 32) + 1) << 32);
    atomic_store(&s->taken, false);
}

static void *ticket_of(const struct lent_slot *s)
{
    return (void *)(use_bits(atomic_load(&s->word)) | (uintptr_t)(s - slots));
}

/* The slot, with one part more at work; NULL: the loop is over. */
static struct lent_slot *slot_enter(void *ticket)
{
    struct lent_slot *s = &slots[(uintptr_t)ticket % SLOTS];
    uint64_t word = atomic_load(&s->word);
    do {
        if ((word & OPEN) == 0 ||
            use_bits(word) != ((uintptr_t)ticket & ~(uintptr_t)(SLOTS - 1)))
            return NULL;
    } while (!atomic_compare_exchange_weak(&s->word, &word, word + 1));
    return s;
}

/* ---- loops ---- */

/* Tasks as long as there are some. */
static void lent_work(struct lent_loop *l)
{
    uint32_t worker = atomic_fetch_add(&l->begun, 1);
    uint32_t i = atomic_load(&l->next);
    if (worker >= l->size)
        return;
    struct fpenv env = fpenv_enter();
    while (i < l->n)
        if (atomic_compare_exchange_weak(&l->next, &i, i + 1)) {
            l->task(l->context, i, worker);
            i = atomic_load(&l->next);
        }
    fpenv_leave(env);
}

static void lent_part(void *ticket, uint32_t i)
{
    struct lent_slot *s = slot_enter(ticket);
    (void)i;
    if (s == NULL)
        return;
    lent_work(s->loop);
    atomic_fetch_sub(&s->word, 1);
}

void lent_for(const ssq_cpu_options *lent, uint32_t size, uint32_t n,
              team_task task, void *context)
{
    struct lent_loop l = {
        .size = size, .n = n, .task = task, .context = context};
    struct lent_slot *s = slot_take(&l);
    if (s != NULL)
        lent->parallel_for(lent->user, n < size ? n : size, lent_part,
                           ticket_of(s));
    if (atomic_load(&l.next) < n)
        lent_work(&l);
    if (s != NULL)
        slot_release(s);
}
