/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_flight.c - cp.async: copies from global to shared memory on their way.
 *
 * The data of a copy is visible when its item has waited for its group, and for
 * other items behind the next barrier. Until then its place in shared memory is
 * no one's. */
#include "tests/fakecuda/ptx/ptx_warp.h"

#include <stdlib.h>

#define BYTES 16u

struct flight {
    uint64_t at;
    uint32_t group;
    uint8_t data[BYTES];
};

struct item_flights {
    struct flight *flight;
    uint32_t n, room;
    uint32_t groups; /* this many are complete */
};

struct ptx_flights {
    uint32_t items;
    struct item_flights item[];
};

struct ptx_flights *ptx_flights_create(uint32_t items)
{
    struct ptx_flights *f =
        calloc(1, sizeof(*f) + (size_t)items * sizeof(f->item[0]));

    if (f != NULL)
        f->items = items;
    return f;
}

void ptx_flights_destroy(struct ptx_flights *f)
{
    for (uint32_t i = 0; f != NULL && i < f->items; i++)
        free(f->item[i].flight);
    free(f);
}

void ptx_flights_begin(struct ptx_flights *f)
{
    for (uint32_t i = 0; f != NULL && i < f->items; i++)
        f->item[i].n = f->item[i].groups = 0;
}

static void stamp(struct ptx_run *r, uint64_t at, uint64_t who)
{
    uint32_t grain = r->entry->grain;

    for (uint64_t k = at >> grain; k <= (at + BYTES - 1) >> grain; k++)
        r->stamps[2 * k] = who;
}

/* The first n bytes of the source, and zeros; bytes that are not read need not
 * be anywhere. */
static void fetch(struct ptx_run *r, struct insn *i, uint64_t from, uint32_t n,
                  uint8_t data[BYTES])
{
    memset(data, 0, BYTES);
    if (n > BYTES)
        ptx_fault(r, i, "%u bytes of a copy of %u", n, BYTES);
    if (n > 0 && unaligned(from, BYTES))
        ptx_fault(r, i, "global address %#llx, a copy of %u bytes: not aligned",
                  (unsigned long long)from, BYTES);
    if (n == BYTES)
        memcpy(data, at_global(r, i, from, BYTES, PTX_READ), BYTES);
    else
        for (uint32_t k = 0; k < n; k++)
            memcpy(data + k, at_global(r, i, from + k, 1, PTX_READ), 1);
}

/* Of the item that runs. */
static void begin(struct ptx_run *r, struct insn *i, uint64_t to, uint64_t from,
                  uint32_t bytes)
{
    struct item_flights *f = &r->flights->item[r->item];
    struct flight *x;

    if (f->n == f->room) {
        uint32_t room = f->room == 0 ? 16 : 2 * f->room;

        x = realloc(f->flight, room * sizeof(*x));
        if (x == NULL)
            ptx_fault(r, i, "no memory");
        f->flight = x;
        f->room = room;
    }
    memset(at_shared(r, i, to, BYTES, true), 0xff, BYTES);
    x = &f->flight[f->n];
    x->at = to;
    x->group = f->groups;
    fetch(r, i, from, bytes, x->data);
    f->n++;
    stamp(r, to, PTX_IN_FLIGHT);
}

void ptx_cp_async(struct ptx_run *r, struct insn *i, const struct warp *w)
{
    uint64_t at[PTX_WARP];

    for (uint32_t lane = 0; lane < PTX_WARP; lane++) {
        uint32_t n = (uint32_t)*warp_slot(w, lane, i->b);

        at[lane] = *warp_slot(w, lane, i->d);
        r->item = w->first + lane;
        begin(r, i, at[lane], *warp_slot(w, lane, i->a), n);
        if (r->counts != NULL)
            r->counts->global_bytes += n;
    }
    if (r->counts == NULL)
        return;
    r->counts->copies++;
    for (uint32_t lane = 0; lane < PTX_WARP; lane += 8)
        r->counts->conflicts += ptx_row_conflicts(at + lane);
}

void ptx_cp_commit(struct ptx_run *r)
{
    if (r->flights != NULL)
        r->flights->item[r->item].groups++;
}

void ptx_cp_wait(struct ptx_run *r, int32_t left)
{
    struct item_flights *f;
    uint32_t kept = 0;

    if (r->flights == NULL)
        return;
    f = &r->flights->item[r->item];
    for (uint32_t k = 0; k < f->n; k++) {
        struct flight *x = &f->flight[k];

        if (left >= 0 && x->group + (uint32_t)left >= f->groups) {
            f->flight[kept++] = *x;
            continue;
        }
        memcpy(r->shared + x->at, x->data, BYTES);
        stamp(r, x->at, r->epoch << PTX_ITEM_BITS | r->item);
    }
    f->n = kept;
}

void ptx_cp_end(struct ptx_run *r, const struct insn *i)
{
    if (r->flights != NULL && r->flights->item[r->item].n > 0)
        ptx_fault(r, i, "ends with %u copies in flight",
                  r->flights->item[r->item].n);
}
