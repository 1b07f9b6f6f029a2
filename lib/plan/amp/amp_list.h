/* SPDX-License-Identifier: Apache-2.0 */
/* amp_list.h - plans of ops over lists: many tensors in few launches.
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
 * Entries whose operands lie in the same memories share a launch: a launch has
 * one binding for each operand of all its entries, and a table, made by the
 * host when the plan is built, of where in it each entry's begins
 * (kernels/amp/amp_list.h). A model's tensors mostly come from a few slabs of
 * the pool, so that a hundred of them are a launch or two. */
#ifndef LIB_PLAN_AMP_AMP_LIST_H
#define LIB_PLAN_AMP_AMP_LIST_H

#include "kernels/amp/amp_list.h"
#include "kernels/reduce/norm.h"
#include "lib/plan/plan.h"

/** One entry of a list. The first view is there, and its shape is that of all
 *  that the kernel walks by strides; continues is asked of it. */
struct entry {
    const struct view *view[ROW_VIEWS]; /* without memory: absent */
    uint32_t unit[ROW_VIEWS]; /* bytes of an element; 0: the dtype's */
    uint32_t key;             /* one for all entries of a launch */
};

/** Where all of a launch's entries have an operand. */
struct range {
    struct backend_mem *mem;
    uint64_t from, to; /* bytes */
    uint32_t unit;
};

/** A launch. */
struct entry_launch {
    /* its entries' key; entries; tasks of all of them */
    uint32_t key, rows, tasks;
    uint32_t words;    /* of the table */
    uint32_t present;  /* bit k: its entries have operand k */
    struct view table; /* i32 [words], of the plan's own scratch */
    struct range at[ROW_VIEWS];
};

/* Loops, as lib/plan/loops.h counts them. */

/** Loops of a task: to find its row by halving (twice LOOPS_FEW covers that and
 *  whatever is short), and over its elements. */
static inline uint64_t entries_loops(const struct plan *p, uint32_t chunk,
                                     uint64_t body)
{
    return 2 * LOOPS_FEW + loops_shared(plan_limits(p), chunk, body);
}

/** The same where a task is a chunk of kernels/amp/amp_norm.h. */
static inline uint64_t entries_norm_loops(const struct plan *p, uint64_t body)
{
    uint64_t lanes = loops_shared(plan_limits(p), FOLD_LANES, body);
    return entries_loops(p, FOLD_CHUNK, 0) + entries_loops(p, FOLD_CHUNK, 0) +
           loops_of(FOLD_CHUNK / FOLD_LANES, lanes);
}

/** Loops of NORM_PARTIALS over so many partials. */
static inline uint64_t rows_fold_loops(const struct plan *p, uint64_t parts)
{
    const struct backend_limits *l = plan_limits(p);
    uint64_t chunk = loops_shared(l, FOLD_LANES, FOLD_CHUNK / FOLD_LANES + 1);
    uint64_t lanes = loops_shared(l, 3 * FOLD_LANES, 0) + 2 * LOOPS_TREE;
    uint64_t chunks = (uint64_t)size_div_up((int64_t)parts, FOLD_CHUNK);
    return lanes + loops_of(chunks, chunk + 2 * lanes);
}

/** Says what entry i of an op's list is; *row begins as zeros. Called several
 *  times for an entry, and answers the same each time. */
typedef void (*entry_fn)(const void *op, size_t i, struct entry *row);

/** A list that is divided. Lives while the plan is built, on the builder's
 *  stack. */
struct entries {
    struct plan *plan;
    const void *op; /* handed to entry */
    entry_fn entry;
    size_t entries;
    /* operands of an entry; elements of a task, but for an entry's last */
    uint32_t views, chunk;
    uint32_t first; /* the number of the first part */
    size_t n;       /* launches */
    struct entry_launch *launch;
    uint32_t *home;   /* the launch of each entry; NOWHERE of an empty one */
    uint32_t parts;   /* tasks of all launches, in the order of the list */
    uint32_t tensors; /* pieces of one counted once, empty ones too */
};

/** What a launch's kernel is told of it. */
static inline struct row_table entries_table(const struct entries *r,
                                             const struct entry_launch *b)
{
    return (struct row_table){
        .rows = b->rows, .tasks = b->tasks, .chunk = r->chunk};
}

/** Divide a list and write the tables. false: the plan has failed, and there is
 *  nothing to free. Empty entries have no task, and no row. */
bool entries_divide(struct entries *r, struct plan *plan, const void *op,
                    size_t entries, uint32_t views, uint32_t chunk,
                    entry_fn entry);
/** The same, of a list whose parts are numbered from first on, among those that
 *  others have of the same whole. */
bool entries_divide_from(struct entries *r, struct plan *plan, const void *op,
                         size_t entries, uint32_t views, uint32_t chunk,
                         entry_fn entry, uint32_t first);
/** The next operand of a launch: view k of its entries. */
void entries_bind(const struct entries *r, const struct entry_launch *launch,
                  uint32_t k, enum access access);
/** A table for what is folded by tensors: i32 [tensors, 2], the first partial
 *  of each and how many it has. With no tensors an empty row. */
void entries_tensors(const struct entries *r, struct view *table);
void entries_free(struct entries *r);

#endif
