/* SPDX-License-Identifier: Apache-2.0 */
/* interval.c - a treap of byte ranges (Seidel and Aragon, 1996).
 *
 * Ranges are ordered by space, then by first byte. They form a heap by
 * priority. A priority is a hash of the space and the first byte, so a tree of
 * the same addresses has the same shape in each run. Its depth is about twice
 * the logarithm of the number of ranges. */
#include "lib/core/base/interval.h"

#include <stddef.h>

/* The finalizer of splitmix64 (Steele et al., 2014). */
static uint64_t interval_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static bool interval_is_before(const struct interval *s, uintptr_t space,
                               uint64_t at)
{
    return s->space != space ? s->space < space : s->from < at;
}

/* Update the members of a node that describe its subtree. */
static void interval_sum(struct interval *s)
{
    const struct interval *below[2] = {s->left, s->right};
    s->last = s->to;
    s->longest = s->to - s->from;
    for (int i = 0; i < 2; i++) {
        if (below[i] == NULL)
            continue;
        if (below[i]->last > s->last)
            s->last = below[i]->last;
        if (below[i]->longest > s->longest)
            s->longest = below[i]->longest;
    }
}

/* Split a tree into ranges that begin before a byte, and the rest. */
static void interval_split(struct interval *t, uintptr_t space, uint64_t at,
                           struct interval **left, struct interval **right)
{
    if (t == NULL) {
        *left = *right = NULL;
    } else if (interval_is_before(t, space, at)) {
        interval_split(t->right, space, at, &t->right, right);
        *left = t;
        interval_sum(t);
    } else {
        interval_split(t->left, space, at, left, &t->left);
        *right = t;
        interval_sum(t);
    }
}

/* Join two trees. All ranges of the first must be before the second. */
static struct interval *interval_join(struct interval *a, struct interval *b)
{
    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    struct interval *top = a->priority >= b->priority ? a : b;
    if (top == a)
        a->right = interval_join(a->right, b);
    else
        b->left = interval_join(a, b->left);
    interval_sum(top);
    return top;
}

static struct interval *interval_put(struct interval *t, struct interval *s)
{
    if (t == NULL || s->priority > t->priority) {
        interval_split(t, s->space, s->from, &s->left, &s->right);
        interval_sum(s);
        return s;
    }
    if (interval_is_before(t, s->space, s->from))
        t->right = interval_put(t->right, s);
    else
        t->left = interval_put(t->left, s);
    interval_sum(t);
    return t;
}

void interval_add(struct interval **tree, struct interval *s)
{
    s->priority = interval_mix(s->from + interval_mix((uint64_t)s->space));
    *tree = interval_put(*tree, s);
}

/* Ranges that begin at the same byte may be in either subtree. */
static bool interval_take(struct interval **at, const struct interval *s)
{
    struct interval *t = *at;
    if (t == NULL)
        return false;
    if (t == s) {
        *at = interval_join(t->left, t->right);
        return true;
    }
    bool before = interval_is_before(t, s->space, s->from);
    bool after = interval_is_before(s, t->space, t->from);
    bool taken = (!before && interval_take(&t->left, s)) ||
                 (!after && interval_take(&t->right, s));
    if (taken)
        interval_sum(t);
    return taken;
}

void interval_remove(struct interval **tree, const struct interval *s)
{
    (void)interval_take(tree, s);
}

/* Skip a subtree if all of it ends too early or begins too late. In a subtree
 * of several spaces, `last` may belong to another space. Such subtrees are few:
 * they are along the two edges of the space. */
bool interval_overlapping(struct interval *t, uintptr_t space, uint64_t from,
                          uint64_t to, interval_fn *fn, void *user)
{
    if (t == NULL || t->last <= from)
        return true;
    if (t->space < space)
        return interval_overlapping(t->right, space, from, to, fn, user);
    if (t->space > space)
        return interval_overlapping(t->left, space, from, to, fn, user);
    if (!interval_overlapping(t->left, space, from, to, fn, user))
        return false;
    if (t->from >= to)
        return true;
    if (t->to > from && !fn(user, t))
        return false;
    return interval_overlapping(t->right, space, from, to, fn, user);
}

struct interval *interval_first(struct interval *t, uint64_t bytes)
{
    if (t == NULL || t->longest < bytes)
        return NULL;
    for (;;) {
        if (t->left != NULL && t->left->longest >= bytes)
            t = t->left;
        else if (t->to - t->from >= bytes)
            return t;
        else
            t = t->right;
    }
}

struct interval *interval_before(struct interval *t, uintptr_t space,
                                 uint64_t at)
{
    struct interval *found = NULL;
    while (t != NULL) {
        bool before = interval_is_before(t, space, at);
        if (before)
            found = t;
        t = before ? t->right : t->left;
    }
    return found != NULL && found->space == space ? found : NULL;
}

struct interval *interval_after(struct interval *t, uintptr_t space,
                                uint64_t at)
{
    struct interval *found = NULL;
    while (t != NULL) {
        bool before = interval_is_before(t, space, at);
        if (!before)
            found = t;
        t = before ? t->right : t->left;
    }
    return found != NULL && found->space == space ? found : NULL;
}
