/* SPDX-License-Identifier: Apache-2.0 */
/* lent.c - a loop on threads of the program's.
 *
 * The program is handed as many shares as there are threads. A share takes
 * tasks until there are none left, so that no share needs another one, and none
 * is missed. A share's worker is the number of shares that began before it, and
 * not the number that the program calls it with: even if it makes a call twice,
 * no two tasks run with the same worker. */
#include "backends/cpu/lent.h"

#include "lib/core/fpenv.h"

#include <sched.h>
#include <stdatomic.h>

struct loop {
    _Atomic uint32_t begun, ended; /* shares */
    _Atomic uint32_t next;         /* task; n and more: all are taken */
    uint32_t size, n;
    team_task task;
    void *context;
};

/* Tasks as long as there are some. */
static void work(struct loop *l, uint32_t worker)
{
    uint32_t i = atomic_load(&l->next);
    while (i < l->n)
        if (atomic_compare_exchange_weak(&l->next, &i, i + 1)) {
            l->task(l->context, i, worker);
            i = atomic_load(&l->next);
        }
}

/* `ended` is the last that a share touches: the loop may be gone then. */
static void share(void *of, uint32_t i)
{
    struct loop *l = of;
    uint32_t worker = atomic_fetch_add(&l->begun, 1);
    (void)i;
    if (worker < l->size) {
        struct fpenv env = fpenv_enter();
        work(l, worker);
        fpenv_leave(env);
    }
    atomic_fetch_add(&l->ended, 1);
}

void lent_for(const ssq_cpu_options *lent, uint32_t size, uint32_t n,
              team_task task, void *context)
{
    struct loop l = {.size = size, .n = n, .task = task, .context = context};
    lent->parallel_for(lent->user, n < size ? n : size, share, &l);
    if (atomic_load(&l.next) < n)
        share(&l, 0);
    while (atomic_load(&l.ended) != atomic_load(&l.begun))
        (void)sched_yield();
}
