/* SPDX-License-Identifier: Apache-2.0 */
/* binary_backward.c - the plan of dx of f(a, b), summed over the broadcast
 * dimensions: sums of chunks in the order of kernels/reduce/norm.h, then sums
 * of those. */
#include "kernels/elementwise/binary_args.h"
#include "kernels/reduce/norm.h"
#include "lib/core/core.h"
#include "lib/op/elementwise/elementwise.h"
#include "lib/plan/runs.h"

/* Most sums of a row in one task of binary_sum.k, and the run length of
 * binary_columns.k on a CPU. */
#define COLS_OF_GPU       16u
#define COLS_OF_PROCESSOR 32u
/* Items that a unit of a GPU needs to hide the latency of memory. */
#define ITEMS_OF_UNIT 1024u
/* Shorter rows are not worth it. */
#define LEAST_ROW 4

/* One gradient. The first `kept` dimensions are the dimensions of the sums; the
 * others are summed. second: true for the gradient of b. dx may have one more
 * dimension, for the sums of chunks. */
struct gradient {
    uint8_t kind, second;
    int kept;
    struct view a, b, dy, dx;
};

/* Return a gradient in a normal form, so that fewer kernel variants are needed.
 * For products and extrema, the gradient of b is the gradient of a with a and b
 * exchanged. The gradient of a sum does not use a and b. */
static struct gradient gradient_of(const struct binary_backward_op *op)
{
    struct gradient g = {.kind = (uint8_t)op->kind,
                         .second = (uint8_t)op->second,
                         .kept = op->dx.rank,
                         .a = op->a,
                         .b = op->b,
                         .dy = op->dy,
                         .dx = op->dx};
    bool same = op->kind == BINARY_MUL || op->kind == BINARY_MAXIMUM ||
                op->kind == BINARY_MINIMUM;
    if (same && op->second != 0) {
        g.second = 0;
        g.a = op->b;
        g.b = op->a;
    }
    if (op->kind == BINARY_ADD || (op->kind == BINARY_SUB && op->second == 0)) {
        g.kind = BINARY_ADD;
        g.second = 0;
    }
    return g;
}

/* Bind the inputs, then dx: the order that all three kernels use. */
static void bind_all(struct plan *p, const struct gradient *g)
{
    runs_bind(p, &g->a, ACCESS_READ, 2, 4);
    runs_bind(p, &g->b, ACCESS_READ, 2, 4);
    runs_bind(p, &g->dy, ACCESS_READ, 2, 4);
    runs_bind(p, &g->dx, ACCESS_WRITE, 2, 4);
}

/* Build without broadcasting: one term for each element of dx. */
static void build_plain(struct plan *p, const struct gradient *g)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&g->a, &g->b, &g->dy, &g->dx}, 4);
    struct binary_backward_args a = {.run = runs_shape(&r, g->kind)};
    runs_steps(&r, 0, a.a_steps);
    runs_steps(&r, 1, a.b_steps);
    runs_steps(&r, 2, a.dy_steps);
    runs_steps(&r, 3, a.dx_steps);
    plan_kernel(p, KERNEL_binary_backward, KEYS(g->kind, g->second));
    bind_all(p, g);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Get the step of the last kept dimension, and the steps of the walk: the other
 * kept dimensions, then the summed ones. */
static void sum_steps(const struct view *v, int kept, uint32_t *col,
                      uint32_t *steps)
{
    int outer = kept > 0 ? kept - 1 : 0;
    *col = kept > 0 ? (uint32_t)v->stride[kept - 1] : 0;
    walk_steps(v, 0, outer, steps);
    walk_steps(v, kept, v->rank, steps + outer);
}

/* Return true if a row of sums is along a row of memory, and is long enough.
 * Items with adjacent sums then read adjacent terms. */
static bool sums_lie_along(const struct gradient *g)
{
    int kept = g->kept;
    return kept > 0 && g->dx.shape[kept - 1] >= LEAST_ROW &&
           g->dy.stride[kept - 1] <= g->dy.stride[g->dy.rank - 1];
}

/* Return the number of terms that an item adds for one sum. */
static uint32_t chunk_of(const struct binary_sum_args *a)
{
    return a->terms < FOLD_CHUNK ? a->terms : FOLD_CHUNK;
}

/* Return the loops of an item that adds a chunk: a walk for each term, and the
 * tree over its lanes. */
static uint64_t column_loops(const struct binary_sum_args *a)
{
    return LOOPS_FEW + loops_of(chunk_of(a), a->rank - a->outer + 1) +
           loops_of(FOLD_LANES, 4);
}

/* Return the loops of a group whose items share the terms of each column. The
 * tree has eight levels because FOLD_LANES is 2^8. */
static uint64_t group_loops(const struct backend_limits *l,
                            const struct binary_sum_args *a)
{
    uint32_t items = l->group < FOLD_LANES ? l->group : FOLD_LANES;
    return LOOPS_FEW +
           loops_of(size_div_up(chunk_of(a), items / a->cols),
                    a->rank - a->outer + 1) +
           8 * loops_shared(l, FOLD_LANES / 2 * (uint64_t)a->cols, 0);
}

/* End the launch with the better kernel. Both add in the same order.
 * - binary_columns.k, one item per sum: if there are enough sums, and an item
 *   may loop over a whole chunk.
 * - binary_sum.k, in which items share a sum: otherwise. */
static void launch_sums(struct plan *p, const struct gradient *g,
                        uint32_t chunks, struct binary_sum_args *a)
{
    const struct backend_limits *l = plan_limits(p);
    bool processor = limits_processor(l);
    bool along = sums_lie_along(g);
    bool ends = l->iterations == 0 || column_loops(a) < l->iterations;
    struct view dx = view_part(&g->dx, 0, g->kept);
    uint32_t sums = (uint32_t)view_elements(&dx);
    a->width = g->kept > 0 ? (uint32_t)g->dx.shape[g->kept - 1] : 1;
    a->rows = sums / a->width;
    a->tasks = chunks * sums;
    if (along && ends && (processor || a->tasks / l->units >= ITEMS_OF_UNIT)) {
        plan_kernel(p, KERNEL_binary_columns, KEYS(g->kind, g->second));
        bind_all(p, g);
        plan_groups(
            p, a, sizeof(*a),
            size_div_up(a->tasks, processor ? COLS_OF_PROCESSOR : l->group),
            column_loops(a));
        return;
    }
    a->cols = along ? COLS_OF_GPU : 1;
    a->tiles = size_div_up(a->width, a->cols);
    a->tasks = chunks * a->rows * a->tiles;
    plan_kernel(p, KERNEL_binary_sum, KEYS(g->kind, g->second));
    bind_all(p, g);
    plan_groups(p, a, sizeof(*a), a->tasks, group_loops(l, a));
}

/* Record one level: the sums of all chunks, dx_chunk apart, or the result if
 * there is one chunk. run.form packs the dtypes of the operands, 3 bits
 * each. */
static void build_level(struct plan *p, const struct gradient *g,
                        uint32_t terms, uint32_t dx_chunk)
{
    int kept = g->kept, outer = kept > 0 ? kept - 1 : 0;
    uint32_t chunks = size_div_up(terms, FOLD_CHUNK);
    struct binary_sum_args a = {.terms = terms,
                                .dx_chunk = dx_chunk,
                                .whole = chunks == 1,
                                .outer = (uint32_t)outer,
                                .rank = (uint32_t)(g->dy.rank - kept + outer)};
    const struct view *v[] = {&g->a, &g->b, &g->dy, &g->dx};
    for (int k = 0; k < 4; k++)
        a.run.form |= (uint32_t)v[k]->dtype << (4 + 3 * k);
    for (int i = 0; i < outer; i++)
        a.size[i] = (uint32_t)g->dy.shape[i];
    for (int i = kept; i < g->dy.rank; i++)
        a.size[outer + i - kept] = (uint32_t)g->dy.shape[i];
    sum_steps(&g->a, kept, &a.a_col, a.a_steps);
    sum_steps(&g->b, kept, &a.b_col, a.b_steps);
    sum_steps(&g->dy, kept, &a.dy_col, a.dy_steps);
    struct view dx = view_part(&g->dx, 0, kept);
    sum_steps(&dx, kept, &a.dx_col, a.dx_steps);
    launch_sums(p, g, chunks, &a);
}

/* Return contiguous float32 scratch in dx's shape, once per chunk. */
static struct view chunk_sums(struct plan *p, const struct view *dx,
                              uint32_t chunks)
{
    struct view v;
    int64_t sums = view_elements(dx), step = sums;
    plan_scratch(p, SSQ_F32, (uint64_t)(sums * chunks), &v);
    v.rank = dx->rank + 1;
    for (int i = 0; i < dx->rank; i++) {
        step /= dx->shape[i];
        v.shape[i] = dx->shape[i];
        v.stride[i] = step;
    }
    v.shape[dx->rank] = chunks;
    v.stride[dx->rank] = sums;
    return v;
}

/* Record levels until a sum has one chunk. From the second level on, terms are
 * the sums of chunks. They are added as the gradient of an addition, whose a
 * and b are not read. */
static void build_sums(struct plan *p, struct gradient g)
{
    struct view dx = g.dx, summed = view_part(&g.dy, dx.rank, g.dy.rank);
    uint32_t terms = (uint32_t)view_elements(&summed);
    uint32_t sums = (uint32_t)view_elements(&dx);
    while (terms > FOLD_CHUNK) {
        uint32_t chunks = size_div_up(terms, FOLD_CHUNK);
        struct view part = chunk_sums(p, &dx, chunks);
        g.dx = part;
        build_level(p, &g, terms, sums);
        g = (struct gradient){BINARY_ADD, 0, dx.rank, part, part, part, dx};
        terms = chunks;
    }
    build_level(p, &g, terms, 0);
}

/* Build a gradient. If dx has the rank of dy, nothing was broadcast. */
static void binary_backward_build(struct plan *p,
                                  const struct binary_backward_op *op)
{
    struct gradient g = gradient_of(op);
    if (op->dy.rank == g.kept)
        build_plain(p, &g);
    else
        build_sums(p, g);
}

const struct binary_backward_plan binary_backward_plans[] = {
    {"portable", NULL, binary_backward_build}, {NULL}};
