/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c - ops in the order in which they came, to be compared and launched
 * again. */
#include "lib/core/queue/sequence.h"

#include "lib/core/queue/plan.h"

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

ssq_status command_copy(ssq_graph *graph, const struct command *c)
{
    struct command copy = *c;
    copy.op = op_hold(c->op);
    if (copy.op == NULL)
        return SSQ_ERR_NOMEM;
    if (c->plan != NULL)
        object_get(plan_object(c->plan));
    return capture_record(graph, &copy);
}

/* ---- arrays ---- */

/* Make room for one more element in an array of n; false without memory. */
static bool sequence_grow(void **array, size_t n, size_t *room, size_t size)
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
    struct part *p = (struct part *)o;
    for (size_t i = 0; i < p->n; i++)
        op_release(p->entry[i].op);
    mem_free(p->entry);
    if (p->graph != NULL)
        object_put(&p->graph->object);
    mem_free(p);
}

static struct part *part_create(ssq_device *device)
{
    struct part *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return NULL;
    object_init(&p->object, part_free);
    if (graph_create(device, "repeat", &p->graph) == SSQ_OK)
        return p;
    object_put(&p->object);
    return NULL;
}

static bool part_add(struct part *p, const struct op *op)
{
    void *entry = p->entry;
    bool ok = sequence_grow(&entry, p->n, &p->room, sizeof(*p->entry));
    p->entry = entry;
    struct op *copy = ok ? op_hold(op) : NULL;
    if (copy == NULL)
        return false;
    p->entry[p->n++] = (struct sequence_entry){copy, p->graph->n};
    return true;
}

static bool part_command(struct part *p, const struct command *c)
{
    bool ok = command_copy(p->graph, c) == SSQ_OK;
    p->entry[p->n - 1].end = p->graph->n;
    return ok;
}

/* Copy the first n entries, with their commands. */
static struct part *part_copy(const struct part *p, size_t n)
{
    struct part *copy = part_create(p->graph->device);
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

/* ---- sequences ---- */

struct sequence *sequence_create(void)
{
    return mem_alloc(sizeof(struct sequence));
}

void sequence_free(struct sequence *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n; i++)
        object_put(&s->part[i]->object);
    for (size_t i = 0; i < s->n_scratch; i++)
        object_put(&s->scratch[i]->object);
    mem_free(s->part);
    mem_free(s->scratch);
    mem_free(s);
}

/* Append a part. The sequence takes over the reference, even on failure. */
static bool sequence_add_part(struct sequence *s, struct part *p)
{
    void *part = s->part;
    bool ok = p != NULL &&
              sequence_grow(&part, s->n, &s->room, sizeof(struct part *));
    s->part = part;
    if (ok)
        s->part[s->n++] = p;
    else if (p != NULL)
        object_put(&p->object);
    return ok;
}

bool sequence_scratch(struct sequence *s, ssq_buffer *buffer)
{
    void *scratch = s->scratch;
    bool ok = sequence_grow(&scratch, s->n_scratch, &s->scratch_room,
                            sizeof(ssq_buffer *));
    s->scratch = scratch;
    if (!ok)
        return false;
    object_get(&buffer->object);
    s->scratch[s->n_scratch++] = buffer;
    return true;
}

struct sequence *sequence_fork(const struct sequence *s, const struct place *to)
{
    struct sequence *fork = sequence_create();
    bool ok = fork != NULL;
    for (size_t i = 0; i < to->part && ok; i++) {
        object_get(&s->part[i]->object);
        ok = sequence_add_part(fork, s->part[i]);
    }
    if (ok && to->entry > 0) {
        ok = sequence_add_part(fork, part_copy(s->part[to->part], to->entry));
        fork->open = ok;
    }
    for (size_t i = 0; i < to->scratch && ok; i++)
        ok = sequence_scratch(fork, s->scratch[i]);
    if (ok)
        return fork;
    sequence_free(fork);
    return NULL;
}

const struct sequence_entry *sequence_at(const struct sequence *s,
                                         const struct place *at)
{
    if (at->part >= s->n || at->entry >= s->part[at->part]->n)
        return NULL;
    return &s->part[at->part]->entry[at->entry];
}

static bool entries_alike(const struct part *a, const struct part *b, size_t n)
{
    bool same = a == b || (a->n >= n && b->n >= n);
    for (size_t i = 0; i < n && same && a != b; i++)
        same = op_same(a->entry[i].op, b->entry[i].op);
    return same;
}

bool sequence_alike(const struct sequence *a, const struct sequence *b,
                    const struct place *to)
{
    bool same = a->n >= to->part && b->n >= to->part;
    for (size_t i = 0; i < to->part && same; i++)
        same = a->part[i]->n == b->part[i]->n &&
               entries_alike(a->part[i], b->part[i], a->part[i]->n);
    if (!same || to->entry == 0)
        return same;
    return a->n > to->part && b->n > to->part &&
           entries_alike(a->part[to->part], b->part[to->part], to->entry);
}

bool sequence_add(struct sequence *s, ssq_device *device, const struct op *op)
{
    if (!s->open && !sequence_add_part(s, part_create(device)))
        return false;
    s->open = true;
    return part_add(s->part[s->n - 1], op);
}

bool sequence_command(struct sequence *s, const struct command *c)
{
    return part_command(s->part[s->n - 1], c);
}

bool sequence_has_command(const struct sequence *s)
{
    const struct part *p = s->part[s->n - 1];
    return p->entry[p->n - 1].end > (p->n > 1 ? p->entry[p->n - 2].end : 0);
}

void sequence_close(struct sequence *s)
{
    s->open = false;
}
