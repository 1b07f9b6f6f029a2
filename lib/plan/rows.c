/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - distribute rows over groups and items. */
#include "lib/plan/rows.h"

/* Rows up to this length are too short for a group. */
#define SHORT           64u
#define PROCESSOR_SHORT 8u
/* Longest row of an item if there are too few tasks to occupy all items. */
#define ITEM_ROW 4096u
/* Least elements of a part. */
#define PART 16384u
/* Loops of a row of any length: a walk, passes and their trees. */
#define ROW_LOOPS (4 * LOOPS_TREE)
/* Adjacent rows that one item of a CPU processes together: TILE in the
 * kernels. */
#define TILE 64u

/* Return the dimension with the smallest stride. The last dimension and
 * dimensions of one element are excluded. -1: there is none. */
static int rows_nearest(const struct view *v)
{
    int best = -1;
    for (int i = 0; i < v->rank - 1; i++)
        if (v->shape[i] > 1 && (best < 0 || v->stride[i] < v->stride[best]))
            best = i;
    return best;
}

/* Return the number of tasks along c for one place of the walk. An item of a
 * GPU processes one row. A thread of a CPU processes a tile of adjacent rows,
 * with vector instructions. */
static uint32_t rows_tiles(const struct rows *r, const struct backend_limits *l)
{
    return l->group > 1 ? r->cols : (uint32_t)size_div_up(r->cols, TILE);
}

/* Choose columns and return true if they are better than rows. */
static bool choose_columns(struct rows *r, const struct view *x,
                           const struct backend_limits *l)
{
    r->c = rows_nearest(x);
    if (r->c < 0)
        return false;
    bool shorts = r->n <= (limits_processor(l) ? PROCESSOR_SHORT : SHORT);
    if (!shorts && x->stride[r->c] >= x->stride[x->rank - 1])
        return false;
    r->cols = (uint32_t)x->shape[r->c];
    uint64_t tasks = (uint64_t)r->walked / r->cols * rows_tiles(r, l);
    return r->n <= ITEM_ROW || tasks >= (uint64_t)l->units * l->group;
}

/* Return the number of rows. An op that is larger than a launch may have more
 * rows than 32 bits can count; then return UINT32_MAX. */
static uint32_t rows_places(const struct view *x, uint32_t n)
{
    return (uint32_t)size_least(view_elements(x) / n, UINT32_MAX);
}

struct rows rows_of(const struct plan *p, const struct view *x,
                    enum rows_kernels have)
{
    const struct backend_limits *l = plan_limits(p);
    struct rows r = {
        .n = (uint32_t)x->shape[x->rank - 1], .splits = 1, .rank = x->rank};
    r.walked = rows_places(x, r.n);
    r.part = r.n;
    r.columns = have == ROWS_COLUMNS_TOO && choose_columns(&r, x, l);
    if (r.columns) {
        r.walked /= r.cols;
        return r;
    }
    r.c = -1;
    r.cols = 1;
    uint32_t want = l->units * (limits_processor(l) ? 4 : 16) / r.walked;
    uint32_t most = r.n / PART;
    r.splits = want < most ? want : most;
    r.splits = r.splits < 1 ? 1 : r.splits;
    r.part = (uint32_t)size_div_up(r.n, r.splits);
    r.splits = (uint32_t)size_div_up(r.n, r.part);
    return r;
}

struct rows rows_window(const struct rows *r, const struct view *x)
{
    struct rows w = *r;
    w.walked = rows_places(x, r->n);
    if (!r->columns)
        return w;
    w.cols = (uint32_t)x->shape[r->c];
    w.walked /= w.cols;
    return w;
}

void rows_shape(const struct rows *r, const struct view *v, uint32_t *rank,
                uint32_t *size)
{
    *rank = 0;
    for (int i = 0; i < r->rank - 1; i++)
        if (i != r->c)
            size[(*rank)++] = (uint32_t)v->shape[i];
}

void rows_steps(const struct rows *r, const struct view *v, uint32_t *steps,
                uint32_t *col)
{
    if (v->buffer == NULL)
        return;
    for (int i = 0, k = 0; i < r->rank - 1; i++)
        if (i != r->c)
            steps[k++] = (uint32_t)v->stride[i];
    if (r->c >= 0)
        *col = (uint32_t)v->stride[r->c];
}

void rows_launch(struct plan *p, const struct rows *r, const void *args,
                 size_t bytes, uint64_t loops)
{
    if (plan_failed(p))
        return;
    const struct backend_limits *l = plan_limits(p);
    uint64_t row = ROW_LOOPS + (r->columns ? loops_of(r->n, loops)
                                           : loops_shared(l, r->part, loops));
    if (!r->columns)
        plan_groups(p, args, bytes, (uint64_t)r->walked * r->splits, row);
    else if (limits_processor(l))
        plan_groups(p, args, bytes, (uint64_t)r->walked * rows_tiles(r, l),
                    row);
    else
        plan_items(p, args, bytes, (uint64_t)r->walked * r->cols, row);
}
