/* SPDX-License-Identifier: Apache-2.0 */
/* tiled.c - a product by gemm_tiled.k, with tiles in shared memory. */
#include "lib/plan/gemm/product.h"

/* Loops of gemm_tiled.k: STEP_LOOPS for TILED_DEPTH of k (its DEPTH), and
 * TILE_LOOPS for the rest of a tile, which computes its results. */
#define TILED_DEPTH 16
#define STEP_LOOPS  48
#define TILE_LOOPS  1200

/* Sizes of a tile's side: the values of key SIDE of gemm_tiled.k. */
#define TILED_SMALL 4
#define TILED_LARGE 8

/* Return the number of groups for a product in tiles of this size. */
static int64_t tiled_tiles(const struct backend_limits *l,
                           const struct product *g, int64_t side)
{
    int64_t down = GEMM_ITEMS_DOWN(l->group), across = l->group / down;
    return g->batch * size_div_up(g->m, side * down) *
           size_div_up(g->n, side / 4 * l->width * across);
}

/* Return the largest k of a launch. A launch has at most LAUNCH_GROUPS groups,
 * so a group may have several tiles. They share its iterations. The iterations
 * of a tile besides its depth are subtracted. */
int64_t product_depth(const struct plan *p, const struct product *g)
{
    const struct backend_limits *l = plan_limits(p);
    int64_t each = size_div_up(tiled_tiles(l, g, TILED_SMALL), LAUNCH_GROUPS);
    int64_t loops = (int64_t)l->iterations / each - TILE_LOOPS - 4;
    if (l->iterations == 0) /* for one tile */
        loops = LOOPS_WATCHED - TILE_LOOPS - 4;
    return size_most(loops / (STEP_LOOPS + 1), 1) * TILED_DEPTH;
}

/* The place of a launch's part of k. begins: the sums begin at 0. ends: they
 * are the results. Otherwise they are read from, or written to, partial. */
struct tiled_slice {
    bool begins, ends;
    struct view partial;
};

/* Record one launch. Larger tiles read less memory per result. A GPU uses them
 * only if there are enough of them for all units. */
static void tiled_launch(struct plan *p, const struct product *g,
                         const struct tiled_slice *k)
{
    const struct backend_limits *l = plan_limits(p);
    struct gemm_tiled_args x = {.g = product_shape(g),
                                .a_row = view_step(&g->a, 1),
                                .a_column = view_step(&g->a, 2),
                                .b_row = view_step(&g->b, 1),
                                .b_column = view_step(&g->b, 2),
                                .begins = k->begins,
                                .ends = k->ends};
    bool large = limits_processor(l)
                     ? g->m > TILED_SMALL
                     : tiled_tiles(l, g, TILED_LARGE) >= l->units;
    uint8_t side = large ? TILED_LARGE : TILED_SMALL;
    uint64_t loops = k->begins && k->ends ? TILE_LOOPS : 2 * TILE_LOOPS;
    plan_kernel(p, KERNEL_gemm_tiled, KEYS(side));
    product_bind_epilogue(p, g);
    product_bind(p, &g->a, ACCESS_READ);
    product_bind(p, &g->b, ACCESS_READ);
    plan_bind(p, &k->partial, ACCESS_UPDATE);
    plan_groups(p, &x, sizeof(x), (uint64_t)tiled_tiles(l, g, side),
                loops + loops_of(size_div_up(g->k, TILED_DEPTH), STEP_LOOPS));
}

/* Record all of k for a part of the batch, m and n. */
static void depths(struct plan *p, const struct product *g, int64_t most,
                   struct tiled_slice *slice)
{
    if (g->k <= most) {
        tiled_launch(p, g, &(struct tiled_slice){.begins = true, .ends = true});
        return;
    }
    for (int64_t k = 0; k < g->k && !plan_failed(p); k += most) {
        struct product part = product_depths(g, k, most);
        slice->begins = k == 0;
        slice->ends = k + most >= g->k;
        tiled_launch(p, &part, slice);
    }
}

/* Record a product. plan_bind() refuses operands that are still too large. */
void plan_tiled(struct plan *p, const struct product *g)
{
    struct product size = *g;
    struct tiled_slice slice = {.begins = false};
    if (product_fits(p, g) || !product_shrink(p, g, &size)) {
        depths(p, g, g->k, &slice);
        return;
    }
    if (size.k < g->k)
        plan_scratch(p, SSQ_F32, (uint64_t)(size.batch * size.m * size.n),
                     &slice.partial);
    for (int64_t z = 0; z < g->batch; z += size.batch)
        for (int64_t i = 0; i < g->m; i += size.m)
            for (int64_t j = 0; j < g->n && !plan_failed(p); j += size.n) {
                struct product part = product_part(g, &size, z, i, j);
                depths(p, &part, size.k, &slice);
            }
}
