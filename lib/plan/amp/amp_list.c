/* SPDX-License-Identifier: Apache-2.0 */
/* amp_list.c - divide lists of tensors into launches, and write their tables.
 *
 * The list is processed twice. The first pass chooses the launch of each entry
 * and computes the sizes of the tables. The second pass writes them. Parts are
 * tasks counted over all launches. They are numbered in list order, so a fold
 * over parts does not depend on how the list was divided. */
#include "lib/plan/amp/amp_list.h"

#include <string.h>

/* All devices can bind at multiples of this. */
#define ALIGNMENT 256u
/* The launch of an entry without elements. */
#define NOWHERE UINT32_MAX

static bool nowhere(const struct view *v)
{
    return v == NULL || v->buffer == NULL || v->buffer->mem == NULL;
}

/* Return the offset of a view in its memory, in bytes. */
static uint64_t amp_list_begin_of(const struct view *v)
{
    return v->buffer->offset + v->offset;
}

/* Get entry i, with absent views as NULL and all units set. The first view
 * stays: it may be empty and without memory, but its shape is needed. */
static void amp_list_row_of(const struct entries *r, size_t i,
                            struct amp_entry *row)
{
    *row = (struct amp_entry){.key = 0};
    r->entry(r->op, i, row);
    for (uint32_t k = 0; k < r->views; k++)
        if (k > 0 && nowhere(row->view[k]))
            row->view[k] = NULL;
        else if (row->unit[k] == 0)
            row->unit[k] = (uint32_t)dtype_bytes(row->view[k]->dtype);
}

/* Return true if the entry needs no strides in the table. */
static bool is_dense(const struct entries *r, const struct amp_entry *row)
{
    for (uint32_t k = 0; k < r->views; k++)
        if (row->view[k] != NULL && !view_contiguous(row->view[k]))
            return false;
    return true;
}

static uint32_t amp_list_words_of(const struct entries *r,
                                  const struct amp_entry *row)
{
    return ROW_WORDS + (is_dense(r, row) ? 0 : ROW_WALKED(r->views));
}

/* Return the number of chunks of an entry. The last one may be short. */
static uint32_t amp_list_tasks_of(const struct entries *r,
                                  const struct amp_entry *row)
{
    return (uint32_t)size_div_up(view_elements(row->view[0]), r->chunk);
}

/* ---- assign entries to launches ---- */

static uint32_t present(const struct entries *r, const struct amp_entry *row)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < r->views; k++)
        bits |= row->view[k] != NULL ? 1u << k : 0;
    return bits;
}

/* Extend an operand's range to include a view. False: the range is too large
 * for a binding, or for a kernel, which counts elements in 31 bits. The
 * beginning is rounded down to a multiple of ALIGNMENT, because a sub-buffer
 * must begin there. */
static bool amp_list_widen(const struct entries *r, struct range *range,
                           const struct view *v)
{
    uint64_t from = amp_list_begin_of(v), to = from + view_span(v);
    from -= from % ALIGNMENT;
    range->from = from < range->from ? from : range->from;
    range->to = to > range->to ? to : range->to;
    uint64_t bytes = range->to - range->from;
    return bytes <= plan_limits(r->plan)->binding_bytes &&
           bytes / range->unit <= INT32_MAX;
}

/* Return a launch without entries, in the form that this entry needs. */
static struct entry_launch launch_for(const struct entries *r,
                                      const struct amp_entry *row)
{
    struct entry_launch b = {.key = row->key, .present = present(r, row)};
    for (uint32_t k = 0; k < r->views; k++)
        if (row->view[k] != NULL)
            b.at[k] = (struct range){row->view[k]->buffer->mem, UINT64_MAX, 0,
                                     row->unit[k]};
    return b;
}

/* Return true if the entry may share this launch, if it has room. All entries
 * of a launch have the same key and the same set of operands. Each operand has
 * the same memory and unit in all entries. */
static bool same_form(const struct entries *r, const struct entry_launch *b,
                      const struct amp_entry *row)
{
    if (b->key != row->key || b->present != present(r, row))
        return false;
    for (uint32_t k = 0; k < r->views; k++)
        if (row->view[k] != NULL &&
            (b->at[k].mem != row->view[k]->buffer->mem ||
             b->at[k].unit != row->unit[k]))
            return false;
    return true;
}

/* Add an entry to a launch. False: no room; the launch is unchanged. The first
 * entry always fits, because the core cuts longer ones. */
static bool amp_list_join(const struct entries *r, struct entry_launch *launch,
                          const struct amp_entry *row)
{
    struct entry_launch b = *launch;
    bool fits = true;
    b.rows++;
    b.words += amp_list_words_of(r, row);
    b.tasks += amp_list_tasks_of(r, row);
    for (uint32_t k = 0; k < r->views; k++)
        if (row->view[k] != NULL)
            fits = amp_list_widen(r, &b.at[k], row->view[k]) && fits;
    uint64_t bytes = b.words * (uint64_t)sizeof(uint32_t);
    fits = fits && b.tasks <= INT32_MAX &&
           bytes <= plan_limits(r->plan)->binding_bytes;
    if (fits || b.rows == 1)
        *launch = b;
    return fits || b.rows == 1;
}

/* Make room for one more launch. The capacity is 1, 2, 4, ..., so the array is
 * full if the number of launches is 0 or a power of two. */
static bool amp_list_grow(struct entries *r)
{
    if ((r->n & (r->n - 1)) != 0)
        return true;
    struct entry_launch *b =
        mem_alloc_array(r->n == 0 ? 1 : 2 * r->n, sizeof(*b));
    if (b == NULL)
        return false;
    if (r->n > 0)
        memcpy(b, r->launch, r->n * sizeof(*b));
    mem_free(r->launch);
    r->launch = b;
    return true;
}

/* Choose the launch of an entry. The newest launches are tried first:
 * neighbours in a list are often allocated one after the other. False: no
 * memory. */
static bool amp_list_settle(struct entries *r, size_t i,
                            const struct amp_entry *row)
{
    r->home[i] = NOWHERE;
    r->tensors += i == 0 || !row->view[0]->continues;
    if (view_elements(row->view[0]) == 0)
        return true;
    r->parts += amp_list_tasks_of(r, row);
    size_t k = r->n;
    while (k > 0 && !(same_form(r, &r->launch[k - 1], row) &&
                      amp_list_join(r, &r->launch[k - 1], row)))
        k--;
    if (k == 0) {
        if (!amp_list_grow(r))
            return false;
        r->launch[r->n] = launch_for(r, row);
        (void)amp_list_join(r, &r->launch[r->n], row);
        k = ++r->n;
    }
    r->home[i] = (uint32_t)(k - 1);
    return true;
}

/* ---- tables ---- */

/* The write position in a launch's table. */
struct pen {
    uint32_t *table;
    uint32_t row, task, walk; /* the next ones */
};

/* The current position in the list. */
struct amp_list_place {
    uint32_t part, tensor; /* next part; tensors begun */
    uint64_t first, next;  /* elements before this entry, after it */
};

/* Write the strides of an entry: rank, sizes, then the steps of each operand.
 * All views are first collapsed to as few common dimensions as possible. The
 * steps of an absent operand are not set; kernels do not read them. */
static void put_walk(const struct entries *r, const struct amp_entry *row,
                     uint32_t *w)
{
    struct view copy[ROW_VIEWS], *v[ROW_VIEWS];
    uint32_t at[ROW_VIEWS];
    int n = 0;
    for (uint32_t k = 0; k < r->views; k++)
        if (row->view[k] != NULL) {
            at[n] = k;
            copy[n] = *row->view[k];
            v[n] = &copy[n];
            n++;
        }
    views_collapse(v, n);
    w[0] = (uint32_t)v[0]->rank;
    for (int d = 0; d < v[0]->rank; d++)
        w[1 + d] = (uint32_t)v[0]->shape[d];
    for (int k = 0; k < n; k++)
        for (int d = 0; d < v[0]->rank; d++)
            w[ROW_STEPS(at[k]) + (uint32_t)d] = (uint32_t)v[k]->stride[d];
}

/* Write the entry's row. Its strides follow all rows of the table. */
static void amp_list_put_row(const struct entries *r,
                             const struct entry_launch *b,
                             const struct amp_entry *row, struct pen *pen,
                             const struct amp_list_place *place)
{
    uint32_t *w = pen->table + ROW_WORDS * pen->row++;
    w[ROW_TASK] = pen->task;
    w[ROW_PART] = place->part;
    w[ROW_N] = (uint32_t)view_elements(row->view[0]);
    w[ROW_TENSOR] = place->tensor - 1;
    w[ROW_FIRST_LO] = (uint32_t)place->first;
    w[ROW_FIRST_HI] = (uint32_t)(place->first >> 32);
    for (uint32_t k = 0; k < r->views; k++)
        if (row->view[k] != NULL)
            w[ROW_AT + k] =
                (uint32_t)((amp_list_begin_of(row->view[k]) - b->at[k].from) /
                           row->unit[k]);
    pen->task += amp_list_tasks_of(r, row);
    if (is_dense(r, row))
        return;
    w[ROW_WALK] = pen->walk;
    put_walk(r, row, pen->table + pen->walk);
    pen->walk += ROW_WALKED(r->views);
}

/* Move to entry i: update its tensor and its offset in that tensor. */
static void amp_list_step(struct amp_list_place *place, size_t i,
                          const struct amp_entry *row)
{
    bool more = i > 0 && row->view[0]->continues;
    place->tensor += !more;
    place->first = more ? place->next : 0;
    place->next = place->first + (uint64_t)view_elements(row->view[0]);
}

/* Process the list again and write each entry to the table of its launch. */
static void put_tables(const struct entries *r, struct pen *pens)
{
    struct amp_list_place place = {.part = r->first};
    for (size_t i = 0; i < r->entries; i++) {
        struct amp_entry row;
        amp_list_row_of(r, i, &row);
        amp_list_step(&place, i, &row);
        if (r->home[i] == NOWHERE)
            continue;
        amp_list_put_row(r, &r->launch[r->home[i]], &row, &pens[r->home[i]],
                         &place);
        place.part += amp_list_tasks_of(r, &row);
    }
}

/* Allocate the tables and fill them. False: no memory for the pens. Other
 * failures are in the plan's status. */
static bool make_tables(struct entries *r)
{
    struct pen *pens = mem_alloc_array(r->n, sizeof(*pens));
    if (pens == NULL)
        return false;
    for (size_t k = 0; k < r->n; k++) {
        struct entry_launch *b = &r->launch[k];
        pens[k].walk = ROW_WORDS * b->rows;
        pens[k].table = plan_words(r->plan, b->words, &b->table);
    }
    if (!plan_failed(r->plan))
        put_tables(r, pens);
    mem_free(pens);
    return true;
}

/* ---- for plans ---- */

/* Run both passes. False: no memory. If all entries are empty, neither launches
 * nor tables are needed. */
static bool amp_list_divide(struct entries *r)
{
    r->home = mem_alloc_array(r->entries, sizeof(*r->home));
    if (r->home == NULL)
        return false;
    for (size_t i = 0; i < r->entries; i++) {
        struct amp_entry row;
        amp_list_row_of(r, i, &row);
        if (!amp_list_settle(r, i, &row))
            return false;
    }
    return r->n == 0 || make_tables(r);
}

bool entries_divide_from(struct entries *r, struct plan *p, const void *op,
                         size_t entries, uint32_t views, uint32_t chunk,
                         entry_fn entry, uint32_t first)
{
    *r = (struct entries){.plan = p,
                          .op = op,
                          .entry = entry,
                          .entries = entries,
                          .views = views,
                          .chunk = chunk,
                          .first = first};
    if (entries > 0 && !amp_list_divide(r))
        plan_fail(p, error_nomem("a list", entries * sizeof(uint32_t)));
    if (plan_failed(p))
        entries_free(r);
    return !plan_failed(p);
}

bool entries_divide(struct entries *r, struct plan *p, const void *op,
                    size_t entries, uint32_t views, uint32_t chunk,
                    entry_fn entry)
{
    return entries_divide_from(r, p, op, entries, views, chunk, entry, 0);
}

void entries_bind(const struct entries *r, const struct entry_launch *b,
                  uint32_t k, enum access access)
{
    const struct range *at = &b->at[k];
    plan_bind_range(r->plan, at->mem, at->from, at->to - at->from, at->unit,
                    access);
}

void entries_tensors(const struct entries *r, struct view *table)
{
    size_t n = r->tensors == 0 ? 1 : r->tensors; /* a view must not be empty */
    uint32_t *w = plan_words(r->plan, 2 * n, table);
    struct amp_list_place place = {.part = 0};
    for (size_t i = 0; i < r->entries && w != NULL; i++) {
        struct amp_entry row;
        amp_list_row_of(r, i, &row);
        amp_list_step(&place, i, &row);
        uint32_t *t = w + 2 * (place.tensor - 1);
        if (place.first == 0)
            t[0] = place.part;
        if (r->home[i] == NOWHERE)
            continue;
        t[1] += amp_list_tasks_of(r, &row);
        place.part += amp_list_tasks_of(r, &row);
    }
}

void entries_free(struct entries *r)
{
    mem_free(r->launch);
    mem_free(r->home);
    r->launch = NULL;
    r->home = NULL;
}
