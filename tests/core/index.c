/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - names by hash and byte ranges in a tree, compared with a search
 * through all of them. */
#include "lib/core/base/interval.h"
#include "lib/core/base/names.h"
#include "tests/core/core.h"

#define RANGES 600
#define ROUNDS 6000
#define SPACES 3
#define BYTES  4096
#define NAMES  50000

static unsigned draw(unsigned n)
{
    static uint32_t state = 4321;

    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static struct interval range[RANGES];
static bool in[RANGES]; /* is it in the tree? */

struct index_query {
    uintptr_t space;
    uint64_t from, to;
    size_t found, most; /* most: the search ends after this many */
    const struct interval *last;
    bool right;
};

/* In order, and each of them overlaps. */
static bool look(void *user, struct interval *i)
{
    struct index_query *q = user;

    q->right = q->right && in[i - range] && i->space == q->space &&
               i->from < q->to && i->to > q->from &&
               (q->last == NULL || q->last->from <= i->from);
    q->last = i;
    return ++q->found < q->most;
}

static bool overlapping_right(struct interval *tree)
{
    struct index_query q = {.space = draw(SPACES), .from = draw(BYTES)};
    size_t want = 0;

    q.to = q.from + 1 + draw(200);
    for (size_t i = 0; i < RANGES; i++)
        want += in[i] && range[i].space == q.space && range[i].from < q.to &&
                range[i].to > q.from;
    q.most = SIZE_MAX;
    q.right = true;
    bool whole = interval_overlapping(tree, q.space, q.from, q.to, look, &q);
    if (!q.right || !whole || q.found != want)
        return false;
    q.found = 0;
    q.last = NULL;
    q.most = 1;
    whole = interval_overlapping(tree, q.space, q.from, q.to, look, &q);
    return q.right && whole == (want == 0) && q.found == (want > 0);
}

static bool neighbours_right(struct interval *tree)
{
    const struct interval *before = NULL, *after = NULL, *first = NULL;
    uintptr_t space = draw(SPACES);
    uint64_t at = draw(BYTES), bytes = 1 + draw(64);

    for (size_t i = 0; i < RANGES; i++) {
        const struct interval *r = &range[i];
        if (!in[i])
            continue;
        if (r->to - r->from >= bytes &&
            (first == NULL || r->space < first->space ||
             (r->space == first->space && r->from < first->from)))
            first = r;
        if (r->space != space)
            continue;
        if (r->from < at && (before == NULL || r->from > before->from))
            before = r;
        if (r->from >= at && (after == NULL || r->from < after->from))
            after = r;
    }
    const struct interval *got[] = {interval_before(tree, space, at),
                                    interval_after(tree, space, at),
                                    interval_first(tree, bytes)};
    const struct interval *want[] = {before, after, first};
    for (int k = 0; k < 3; k++) /* several may begin at one byte */
        if ((got[k] == NULL) != (want[k] == NULL) ||
            (got[k] != NULL && (got[k]->space != want[k]->space ||
                                got[k]->from != want[k]->from)))
            return false;
    return true;
}

static void intervals(void)
{
    struct interval *tree = NULL;
    size_t overlaps = 0, neighbours = 0;

    for (int round = 0; round < ROUNDS; round++) {
        size_t i = draw(RANGES);
        if (in[i]) {
            interval_remove(&tree, &range[i]);
        } else {
            uint64_t from = draw(BYTES);
            range[i] = (struct interval){
                .space = draw(SPACES), .from = from, .to = from + 1 + draw(99)};
            interval_add(&tree, &range[i]);
        }
        in[i] = !in[i];
        overlaps += overlapping_right(tree);
        neighbours += neighbours_right(tree);
    }
    tap_ok(overlaps == ROUNDS, "%zu of %d sets of overlapping ranges", overlaps,
           ROUNDS);
    tap_ok(neighbours == ROUNDS,
           "%zu of %d: the ranges before and after a byte, and the first that "
           "is long enough",
           neighbours, ROUNDS);
    for (size_t i = 0; i < RANGES; i++)
        if (in[i])
            interval_remove(&tree, &range[i]);
    tap_ok(tree == NULL, "a tree is empty when all ranges were removed");
}

static void names(void)
{
    static char name[NAMES][16];
    struct name_index index = {0};
    size_t found = 0, missing = 0, cleared = 0;

    for (size_t i = 0; i < NAMES; i++) {
        snprintf(name[i], sizeof(name[i]), "layer%zu.w", i);
        missing += names_find(&index, name[i]) == NAME_NONE;
        NEED(names_reserve(&index, "index"));
        names_add(&index, name[i], i);
    }
    for (size_t i = 0; i < NAMES; i++)
        found += names_find(&index, name[i]) == i;
    names_clear(&index);
    for (size_t i = 0; i < NAMES; i++)
        cleared += names_find(&index, name[i]) == NAME_NONE;
    tap_ok(found == NAMES && missing == NAMES && cleared == NAMES,
           "%zu of %d names are found, and missing before and after", found,
           NAMES);
    names_free(&index);
}

int main(void)
{
    intervals();
    names();
    return tap_done(1);
}
