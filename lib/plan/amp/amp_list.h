/* SPDX-License-Identifier: Apache-2.0 */
/* amp_list.h - plans of ops on lists: many tensors in few launches.
 *
 *     struct entries r;
 *     if (!entries_divide(&r, p, op, op->n, views, chunk, entry))
 *         return;
 *     for (size_t k = 0; k < r.n; k++) {
 *         const struct entry_launch *b = &r.launch[k];
 *         struct x_args a = {.list = entries_table(&r, b), ..};
 *         plan_kernel(p, KERNEL_x, KEYS(b->key));
 *         plan_bind(p, &b->table, ACCESS_READ);
 *         entries_bind(&r, b, 0, ACCESS_READ);
 *         plan_groups(p, &a, sizeof(a), b->tasks, entries_loops(p, chunk, 0));
 *     }
 *     entries_free(&r);
 *
 * Entries whose operands are in the same memory objects share a launch. Such a
 * launch has one binding for each operand of all its entries. The host creates
 * a table when the plan is built (kernels/amp/amp_list.h). It contains the
 * offset of each entry in each binding. The tensors of a model are mostly in a
 * few slabs of the pool, so a hundred of them need one or two launches. */
#ifndef LIB_PLAN_AMP_AMP_LIST_H
#define LIB_PLAN_AMP_AMP_LIST_H

#include "kernels/amp/amp_list.h"
#include "kernels/reduce/norm.h"
#include "lib/core/queue/plan.h"

/** One entry of a list. The first view must be set. Its shape is the shape of
 *  all operands, and its `continues` says if the entry continues a tensor. */
struct amp_entry {
    const struct view *view[ROW_VIEWS]; /* absent: NULL or no memory */
    uint32_t unit[ROW_VIEWS]; /* bytes of an element; 0: the dtype's */
    uint32_t key;             /* the same for all entries of a launch */
};

/** The memory that one operand of all entries of a launch is in. */
struct range {
    struct backend_mem *mem;
    uint64_t from, to; /* bytes */
    uint32_t unit;
};

/** One launch. */
struct entry_launch {
    /* the key of its entries, their number, and the number of their tasks */
    uint32_t key, rows, tasks;
    uint32_t words;    /* of the table */
    uint32_t present;  /* bit k: the entries have operand k */
    struct view table; /* i32 [words], scratch */
    struct range at[ROW_VIEWS];
};

/* ---- loops, as lib/core/queue/loops.h counts them ---- */

/** Return the loops of a task. They find its row by bisection, and then process
 *  its elements. Twice LOOPS_FEW covers the bisection and all short loops. */
static inline uint64_t entries_loops(const struct plan *p, uint32_t chunk,
                                     uint64_t body)
{
    return 2 * LOOPS_FEW + loops_shared(plan_limits(p), chunk, body);
}

/** The same if a task is a chunk of kernels/amp/amp_norm.h. */
static inline uint64_t entries_norm_loops(const struct plan *p, uint64_t body)
{
    uint64_t lanes = loops_shared(plan_limits(p), FOLD_LANES, body);
    return entries_loops(p, FOLD_CHUNK, 0) + entries_loops(p, FOLD_CHUNK, 0) +
           loops_of(FOLD_CHUNK / FOLD_LANES, lanes);
}

/** Return the loops of NORM_PARTIALS over this number of partials. */
static inline uint64_t rows_fold_loops(const struct plan *p, uint64_t parts)
{
    const struct backend_limits *l = plan_limits(p);
    uint64_t chunk = loops_shared(l, FOLD_LANES, FOLD_CHUNK / FOLD_LANES + 1);
    uint64_t lanes = loops_shared(l, 3 * FOLD_LANES, 0) + 2 * LOOPS_TREE;
    uint64_t chunks = (uint64_t)size_div_up((int64_t)parts, FOLD_CHUNK);
    return lanes + loops_of(chunks, chunk + 2 * lanes);
}

/** Describe entry i of an op's list in *row, which begins as zeros. It is
 *  called several times per entry and must give the same result each time. */
typedef void (*entry_fn)(const void *op, size_t i, struct amp_entry *row);

/** A list that is divided into launches. It is used while the plan is built, on
 *  the builder's stack. */
struct entries {
    struct plan *plan;
    const void *op; /* passed to entry */
    entry_fn entry;
    size_t entries;
    /* operands of an entry; elements of a task (an entry's last has fewer) */
    uint32_t views, chunk;
    uint32_t first; /* the number of the first part */
    size_t n;       /* launches */
    struct entry_launch *launch;
    uint32_t *home;   /* the launch of each entry; empty: NOWHERE */
    uint32_t parts;   /* tasks of all launches, in list order */
    uint32_t tensors; /* pieces of one count once; includes empty ones */
};

/** Return the parameters that describe a launch's table. */
static inline struct row_table entries_table(const struct entries *r,
                                             const struct entry_launch *b)
{
    return (struct row_table){
        .rows = b->rows, .tasks = b->tasks, .chunk = r->chunk};
}

/** Divide a list into launches and write their tables. False: the plan has
 *  failed, and *r owns no memory. Empty entries get no task and no row. */
bool entries_divide(struct entries *r, struct plan *plan, const void *op,
                    size_t entries, uint32_t views, uint32_t chunk,
                    entry_fn entry);
/** The same for one of several lists that form a whole. The parts of this list
 *  are numbered from `first`. */
bool entries_divide_from(struct entries *r, struct plan *plan, const void *op,
                         size_t entries, uint32_t views, uint32_t chunk,
                         entry_fn entry, uint32_t first);
/** Bind view k of the launch's entries as the next operand. */
void entries_bind(const struct entries *r, const struct entry_launch *launch,
                  uint32_t k, enum access access);
/** Set *table to a table for folds per tensor: i32 [tensors, 2], the first
 *  partial of each tensor and their number. Without tensors it has one row of
 *  zeros. */
void entries_tensors(const struct entries *r, struct view *table);
void entries_free(struct entries *r);

#endif
