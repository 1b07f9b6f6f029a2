/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_index.c - find parameters of an optimizer by name and by memory. */
#include "lib/amp/optimizer/optimizer.h"

/* The pointer is valid until the next parameter is added, which may move the
 * array. */
struct parameter *optimizer_find(const ssq_optimizer *o, const char *name)
{
    size_t i = names_find(&o->names, name);
    return i == NAME_NONE ? NULL : &o->params[i];
}

/* A search for a parameter or gradient that a view overlaps. The one with the
 * lowest number is returned. */
struct overlap {
    const ssq_optimizer *o;
    const struct view *v;
    const struct place_of *found; /* NULL: none so far */
};

static const struct view *place_view(const ssq_optimizer *o,
                                     const struct place_of *p)
{
    const struct parameter *of = &o->params[p->param];
    return p->grad ? &of->grad->view : &of->param->view;
}

/* Ranges overlap even if the elements of two strided views interleave. */
static bool overlap_look(void *user, struct interval *s)
{
    struct overlap *l = user;
    const struct place_of *p = (const struct place_of *)s;
    if (!view_overlap(l->v, place_view(l->o, p)))
        return true;
    if (l->found == NULL || p->param < l->found->param ||
        (p->param == l->found->param && !p->grad))
        l->found = p;
    return true;
}

/* A parameter or gradient must share no byte with another one: a step works on
 * all of them in any order. */
ssq_status optimizer_check_apart(const ssq_optimizer *o, const char *name,
                                 const ssq_tensor *t, const char *what)
{
    struct overlap l = {o, &t->view, NULL};
    if (view_span(&t->view) == 0)
        return SSQ_OK;
    const struct byte_range r = view_bytes(&t->view);
    (void)interval_overlapping(o->places, r.space, r.from, r.to, overlap_look,
                               &l);
    if (l.found == NULL)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "optimizer_add: %s of %.40s overlaps the %s of %.40s",
                     what, name, l.found->grad ? "gradient" : "parameter",
                     o->params[l.found->param].name);
}

void optimizer_index(ssq_optimizer *o)
{
    size_t i = o->n - 1;
    names_add(&o->names, o->params[i].name, i);
    for (int k = 0; k < 2; k++) {
        struct place_of *p = &o->params[i].place[k];
        *p = (struct place_of){.param = i, .grad = k == 1};
        const struct view *v = place_view(o, p);
        if (view_span(v) == 0)
            continue;
        const struct byte_range r = view_bytes(v);
        p->interval.space = r.space;
        p->interval.from = r.from;
        p->interval.to = r.to;
        interval_add(&o->places, &p->interval);
    }
}

void optimizer_unindex(ssq_optimizer *o, size_t n)
{
    names_clear(&o->names);
    for (size_t i = 0; i < n; i++)
        names_add(&o->names, o->params[i].name, i);
    for (size_t i = n; i < o->n; i++)
        for (int k = 0; k < 2; k++)
            if (o->params[i].place[k].interval.to >
                o->params[i].place[k].interval.from)
                interval_remove(&o->places, &o->params[i].place[k].interval);
}
