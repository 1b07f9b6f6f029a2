/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - ops in the order in which they were enqueued, to be compared and
 * launched again. */
#include "lib/core/queue/trace.h"

#include <string.h>

/* ---- ops ---- */

static bool view_same(const struct view *a, const struct view *b)
{
    if (a->buffer != b->buffer || a->offset != b->offset ||
        a->dtype != b->dtype || a->rank != b->rank || a->access != b->access ||
        a->continues != b->continues)
        return false;
    const size_t bytes = (size_t)a->rank * sizeof(a->shape[0]);
    return memcmp(a->shape, b->shape, bytes) == 0 &&
           memcmp(a->stride, b->stride, bytes) == 0;
}

static bool list_same(const struct view_list *a, const struct view_list *b)
{
    if (a == b)
        return true;
    if (a == NULL || b == NULL || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!view_same(&a->v[i], &b->v[i]))
            return false;
    return true;
}

/* Parameters are compared as bytes. Padding between them can make equal ops
 * look different, which only costs time. */
bool op_same(const struct op *a, const struct op *b)
{
    if (a->id != b->id || a->bytes != b->bytes || a->first != b->first ||
        a->keep != b->keep || a->prefer != b->prefer ||
        memcmp(a + 1, b + 1, a->views_at - sizeof(*a)) != 0)
        return false;
    const struct view *v = op_views_const(a), *w = op_views_const(b);
    for (uint32_t i = 0; i < a->nviews; i++)
        if (!view_same(&v[i], &w[i]))
            return false;
    return list_same(a->list, b->list);
}

/* ---- arrays ---- */

/* Make room for one more element in an array of n; false without memory. */
static bool trace_grow(void **array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return true;
    size_t more = *room == 0 ? 16 : 2 * *room;
    void *p = mem_alloc_array(more, size);
    if (p == NULL)
        return false;
    if (n > 0)
        memcpy(p, *array, n * size);
    mem_free(*array);
    *array = p;
    *room = more;
    return true;
}

/* ---- parts ---- */

static void part_free(struct object *o)
{
    struct trace_part *p = (struct trace_part *)o;
    for (size_t i = 0; i < p->n; i++)
        op_release(p->entry[i].op);
    mem_free(p->entry);
    if (p->graph != NULL)
        object_put(&p->graph->object);
    mem_free(p);
}

static struct trace_part *part_create(ssq_device *device)
{
    struct trace_part *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return NULL;
    object_init(&p->object, part_free);
    if (graph_create(device, "repeat", &p->graph) == SSQ_OK)
        return p;
    object_put(&p->object);
    return NULL;
}

static bool part_add(struct trace_part *p, const struct op *op)
{
    void *entry = p->entry;
    bool ok = trace_grow(&entry, p->n, &p->room, sizeof(*p->entry));
    p->entry = entry;
    struct op *copy = ok ? op_hold(op) : NULL;
    if (copy == NULL)
        return false;
    p->entry[p->n++] = (struct trace_entry){copy, p->graph->n};
    return true;
}

/* Add a command. When it is submitted, replay_match() has reported its writes.
 */
static bool part_command(struct trace_part *p, const struct command *c)
{
    bool ok = graph_append_copy(p->graph, c) == SSQ_OK;
    if (ok)
        p->graph->commands[p->graph->n - 1].reported = true;
    p->entry[p->n - 1].end = p->graph->n;
    return ok;
}

/* Copy the first n entries, with their commands. */
static struct trace_part *part_copy(const struct trace_part *p, size_t n)
{
    struct trace_part *copy = part_create(p->graph->device);
    bool ok = copy != NULL;
    for (size_t i = 0, at = 0; i < n && ok; i++) {
        ok = part_add(copy, p->entry[i].op);
        for (; at < p->entry[i].end && ok; at++)
            ok = part_command(copy, &p->graph->commands[at]);
    }
    if (ok || copy == NULL)
        return copy;
    object_put(&copy->object);
    return NULL;
}

/* ---- traces ---- */

struct trace *trace_create(void)
{
    return mem_alloc(sizeof(struct trace));
}

void trace_free(struct trace *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n; i++)
        object_put(&t->part[i]->object);
    for (size_t i = 0; i < t->n_scratch; i++)
        object_put(&t->scratch[i]->object);
    mem_free(t->part);
    mem_free(t->scratch);
    mem_free(t);
}

/* Append a part. The trace takes over the reference, even on failure. */
static bool trace_add_part(struct trace *t, struct trace_part *p)
{
    void *part = t->part;
    bool ok = p != NULL &&
              trace_grow(&part, t->n, &t->room, sizeof(struct trace_part *));
    t->part = part;
    if (ok)
        t->part[t->n++] = p;
    else if (p != NULL)
        object_put(&p->object);
    return ok;
}

bool trace_add_scratch(struct trace *t, ssq_buffer *buffer)
{
    void *scratch = t->scratch;
    bool ok = trace_grow(&scratch, t->n_scratch, &t->scratch_room,
                         sizeof(ssq_buffer *));
    t->scratch = scratch;
    if (!ok)
        return false;
    object_get(&buffer->object);
    t->scratch[t->n_scratch++] = buffer;
    return true;
}

struct trace *trace_fork(const struct trace *t, const struct trace_position *to)
{
    struct trace *fork = trace_create();
    bool ok = fork != NULL;
    for (size_t i = 0; i < to->part && ok; i++) {
        object_get(&t->part[i]->object);
        ok = trace_add_part(fork, t->part[i]);
    }
    if (ok && to->entry > 0) {
        ok = trace_add_part(fork, part_copy(t->part[to->part], to->entry));
        fork->open = ok;
    }
    for (size_t i = 0; i < to->scratch && ok; i++)
        ok = trace_add_scratch(fork, t->scratch[i]);
    if (ok)
        return fork;
    trace_free(fork);
    return NULL;
}

const struct trace_entry *trace_entry_at(const struct trace *t,
                                         const struct trace_position *at)
{
    if (at->part >= t->n || at->entry >= t->part[at->part]->n)
        return NULL;
    return &t->part[at->part]->entry[at->entry];
}

static bool entries_equal(const struct trace_part *a,
                          const struct trace_part *b, size_t n)
{
    bool same = a == b || (a->n >= n && b->n >= n);
    for (size_t i = 0; i < n && same && a != b; i++)
        same = op_same(a->entry[i].op, b->entry[i].op);
    return same;
}

bool trace_equal(const struct trace *a, const struct trace *b,
                 const struct trace_position *to)
{
    bool same = a->n >= to->part && b->n >= to->part;
    for (size_t i = 0; i < to->part && same; i++)
        same = a->part[i]->n == b->part[i]->n &&
               entries_equal(a->part[i], b->part[i], a->part[i]->n);
    if (!same || to->entry == 0)
        return same;
    return a->n > to->part && b->n > to->part &&
           entries_equal(a->part[to->part], b->part[to->part], to->entry);
}

bool trace_add_op(struct trace *t, ssq_device *device, const struct op *op)
{
    if (!t->open && !trace_add_part(t, part_create(device)))
        return false;
    t->open = true;
    return part_add(t->part[t->n - 1], op);
}

bool trace_add_command(struct trace *t, const struct command *c)
{
    return part_command(t->part[t->n - 1], c);
}

bool trace_has_command(const struct trace *t)
{
    const struct trace_part *p = t->part[t->n - 1];
    return p->entry[p->n - 1].end > (p->n > 1 ? p->entry[p->n - 2].end : 0);
}

void trace_close_part(struct trace *t)
{
    t->open = false;
}
