/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the plans of y = f(x) on lists: unscale, accumulate, master. */
#include "lib/plan/amp/amp_list.h"

#include "kernels/amp/list_args.h"
#include "lib/amp/optimizer/optimizer.h"

/* An entry's key consists of its dtypes: the kernel of a launch has one for x
 * and one for y. The variant depends only on their sizes. */
#define KEY(X, Y)  ((uint32_t)(X) << 8 | (uint32_t)(Y))
#define KEY_X(KEY) ((KEY) >> 8)
#define KEY_Y(KEY) ((KEY)&0xffu)

static void plan_list_set(struct amp_entry *row, const struct view *x,
                          const struct view *y)
{
    row->view[0] = x;
    row->view[1] = y;
    row->key = KEY(x->dtype, y->dtype);
}

static void unscale_entry(const void *op, size_t i, struct amp_entry *row)
{
    const struct unscale_op *u = op;
    plan_list_set(row, &u->op.list->v[i], &u->op.list->v[u->n + i]);
}

/* The list of ACCUMULATE_ZERO contains no sums: y is the gradient. x is the
 * gradient too, but the kernel does not read it. */
static void accumulate_entry(const void *op, size_t i, struct amp_entry *row)
{
    const struct accumulate_op *a = op;
    const struct view *g = &a->op.list->v[i];
    plan_list_set(row, g,
                  a->mode == ACCUMULATE_ZERO ? g : &a->op.list->v[a->n + i]);
}

/* A remainder (u8) is bound as 16-bit words. */
static void master_entry(const void *op, size_t i, struct amp_entry *row)
{
    const struct view *v = ((const struct master_op *)op)->op.list->v;
    plan_list_set(row, &v[2 * i], &v[2 * i + 1]);
    row->unit[1] = v[2 * i + 1].dtype == SSQ_U8 ? 2 : 0;
}

/* Return the mode of a launch with this key. Remainders begin as 0 in every
 * mode. */
static uint32_t mode_of(uint32_t mode, uint32_t key)
{
    return KEY_Y(key) == SSQ_U8 ? LIST_ZERO : mode;
}

/* Record the launches of y = f(x) over n entries. a specifies f; the other
 * fields are set for each launch. block is optional, as in unscale_op. y is
 * bound with ACCESS_UPDATE because LIST_ADD reads it. */
static void plan_list_map(struct plan *p, const void *op, size_t n,
                          entry_fn entry, struct list_args a,
                          const struct view *block)
{
    struct entries r;
    uint32_t mode = a.mode;
    if (!entries_divide(&r, p, op, n, 2, LIST_CHUNK, entry))
        return;
    for (size_t k = 0; k < r.n; k++) {
        const struct entry_launch *b = &r.launch[k];
        a.list = entries_table(&r, b);
        a.mode = mode_of(mode, b->key);
        a.x_dtype = KEY_X(b->key);
        a.y_dtype = KEY_Y(b->key);
        plan_kernel(p, KERNEL_list_map,
                    KEYS((uint8_t)b->at[0].unit, (uint8_t)b->at[1].unit));
        plan_bind(p, &b->table, ACCESS_READ);
        plan_bind(p, block, ACCESS_READ);
        entries_bind(&r, b, 0, ACCESS_READ);
        entries_bind(&r, b, 1, ACCESS_UPDATE);
        plan_groups(p, &a, sizeof(a), b->tasks,
                    entries_loops(p, LIST_CHUNK, 2 * LOOPS_WALK));
    }
    entries_free(&r);
}

static void build_unscale(struct plan *p, const struct unscale_op *op)
{
    struct list_args a = {.mode = LIST_UNSCALE,
                          .factor = op->factor,
                          .scaled = op->block.buffer != NULL};
    plan_list_map(p, op, op->n, unscale_entry, a, &op->block);
}

static void build_accumulate(struct plan *p, const struct accumulate_op *op)
{
    static const uint32_t modes[] = {[ACCUMULATE_FIRST] = LIST_CONVERT,
                                     [ACCUMULATE_ADD] = LIST_ADD,
                                     [ACCUMULATE_ZERO] = LIST_ZERO};
    struct list_args a = {.mode = modes[op->mode]};
    plan_list_map(p, op, op->n, accumulate_entry, a,
                  &(struct view){.buffer = NULL});
}

static void build_master(struct plan *p, const struct master_op *op)
{
    struct list_args a = {.mode = LIST_CONVERT};
    plan_list_map(p, op, op->n, master_entry, a,
                  &(struct view){.buffer = NULL});
}

const struct unscale_plan unscale_plans[] = {{"portable", NULL, build_unscale},
                                             {NULL}};
const struct accumulate_plan accumulate_plans[] = {
    {"portable", NULL, build_accumulate}, {NULL}};
const struct master_plan master_plans[] = {{"portable", NULL, build_master},
                                           {NULL}};
