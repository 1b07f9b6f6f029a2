/* SPDX-License-Identifier: Apache-2.0 */
/* tiled.c - a product by gemm_tiled.k: tiles in shared memory. */
#include "lib/plan/gemm/product.h"

/* Loops of gemm_tiled.k: for one DEPTH of TILED_DEPTH of k, and of a tile
 * outside of it, where its results are made. */
#define TILED_DEPTH 16
#define STEP_LOOPS  48
#define TILE_LOOPS  1200

/* Most words of a tile's side, by the key SIDE of gemm_tiled.k. */
#define TILED_SMALL 4
#define TILED_LARGE 8

/* Groups that work on a product in tiles of this size. */
static int64_t tiles(const struct backend_limits *l, const struct product *g,
                     int64_t side)
{
    int64_t down = GEMM_ITEMS_DOWN(l->group), across = l->group / down;
    return g->batch * size_div_up(g->m, side * down) *
           size_div_up(g->n, side / 4 * l->width * across);
}

/* The iterations that a device allows a group are divided among the tiles that
 * it may get, as a launch has LAUNCH_GROUPS at most; what a tile costs beside
 * its depth is taken off. */
int64_t product_depth(const struct plan *p, const struct product *g)
{
    const struct backend_limits *l = plan_limits(p);
    int64_t each = size_div_up(tiles(l, g, TILED_SMALL), LAUNCH_GROUPS);
    int64_t loops = (int64_t)l->iterations / each - TILE_LOOPS - 4;
    if (l->iterations == 0) /* of one tile */
        loops = LOOPS_WATCHED - TILE_LOOPS - 4;
    return size_most(loops / (STEP_LOOPS + 1), 1) * TILED_DEPTH;
}

/* Larger tiles read less memory for each result; on a GPU they are worth it
 * only if there are enough of them for all its units. */
void plan_tiled(struct plan *p, const struct product *g)
{
    const struct backend_limits *l = plan_limits(p);
    struct gemm_tiled_args x = {.g = product_shape(g),
                                .a_row = view_step(&g->a, 1),
                                .a_column = view_step(&g->a, 2),
                                .b_row = view_step(&g->b, 1),
                                .b_column = view_step(&g->b, 2)};
    bool large = l->group == 1 ? g->m > TILED_SMALL
                               : tiles(l, g, TILED_LARGE) >= l->units;
    uint8_t side = large ? TILED_LARGE : TILED_SMALL;
    plan_kernel(p, KERNEL_gemm_tiled, KEYS(side));
    product_bind_epilogue(p, g);
    product_bind(p, &g->a, ACCESS_READ);
    product_bind(p, &g->b, ACCESS_READ);
    plan_groups(p, &x, sizeof(x), (uint64_t)tiles(l, g, side),
                TILE_LOOPS +
                    loops_of(size_div_up(g->k, TILED_DEPTH), STEP_LOOPS));
}
