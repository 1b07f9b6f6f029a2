/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - the plan of matrix products.
 *
 * The kernels support one batch dimension, and d must have adjacent columns. A
 * GEMM is divided into such products. If d's columns are not adjacent, it is
 * transposed: d' = b' a'.
 *
 * On a GPU a product is a launch of gemm_tiled.k, or several if k is very
 * large. On a CPU, gemm_pack.k first packs the operands into panels, and
 * gemm_panel.k multiplies these. b is not packed ("plain") if a has few rows.
 * Products that are too small for this use gemm_tiled.k.
 *
 * Panels need scratch. A product that needs too much, or whose operands do not
 * fit into a launch, is cut into pieces of the batch, m, n and k. Sums stay in
 * float32 between pieces of k. The kernel is chosen for the whole product. */
#include "lib/plan/gemm/product.h"

/* Most float32s in the panels of a or b of one piece, and in its partial
 * sums. */
#define MOST_PACKED (INT64_C(4) << 20)
/* Most rows or columns of a piece: MOST_PACKED is its square. */
#define MOST_SIDE 2048
/* Depth of k per pass. A tile of 14 x 32 then reads 92 KiB of panels. */
#define PANEL_DEPTH 512
/* Depth of k that one task packs. */
#define PACK_CHUNK 512
/* Most rows and columns of a task: 0.5 MiB of panels of PANEL_DEPTH each. */
#define TASK_SIDE 256
/* Packing is faster if the larger of m and n, and k, are at least this. */
#define LEAST_SIDE  9
#define LEAST_DEPTH 8

/* How a product is cut for panels. */
struct gemm_pieces {
    int64_t rows, columns;     /* of a tile */
    bool plain;                /* b is not packed */
    int64_t depth;             /* of k; a tile's sums stay in registers */
    int64_t batch, m, n, k;    /* of a piece */
    struct view a, b, partial; /* scratch, shared by all pieces */
};

static int64_t gemm_round_up(int64_t a, int64_t b)
{
    return size_div_up(a, b) * b;
}

/* Return the matrices along batch dimension i of v. In the other batch
 * dimensions use index. */
static struct view gemm_matrices(const struct view *v, int i,
                                 const int64_t *index)
{
    struct view r = *v;
    if (v->buffer == NULL)
        return r;
    int rank = v->rank;
    for (int j = 0; j < rank - 2; j++)
        product_cut(&r, j, j == i ? 0 : index[j], v->shape[j]);
    for (int j = 0; j < 3; j++) {
        int from = j == 0 ? i : rank - 3 + j;
        r.shape[j] = v->shape[from];
        r.stride[j] = v->stride[from];
    }
    r.rank = 3;
    return r;
}

/* ---- panels ---- */

/* Return true if the sums of a piece fit into this number of float32s, and if
 * it is deep enough. Sums only need memory if k is cut. c->k is already chosen
 * such that the panels fit. */
static bool gemm_fits(const struct gemm_pieces *c, const struct product *g,
                      int64_t floats)
{
    bool keeps = c->k < g->k || c->k > c->depth;
    return c->k >= size_least(g->k, c->depth) &&
           (!keeps || c->m * c->n <= floats);
}

static void choose_pieces(struct gemm_pieces *c, const struct product *g,
                          int64_t floats)
{
    c->m = size_least(gemm_round_up(g->m, c->rows),
                      gemm_round_up(MOST_SIDE, c->rows));
    c->n = gemm_round_up(g->n, c->columns);
    if (!c->plain)
        c->n = size_least(c->n, MOST_SIDE);
    for (;;) {
        int64_t side = c->plain ? c->m : size_most(c->m, c->n);
        c->k = size_least(g->k, size_most(1, floats / side));
        if (c->k < g->k && c->k > c->depth)
            c->k -= c->k % c->depth;
        if (gemm_fits(c, g, floats) || (c->m == c->rows && c->n == c->columns))
            break;
        if (c->m > c->n || c->n == c->columns)
            c->m = gemm_round_up(c->m / 2, c->rows);
        else
            c->n = gemm_round_up(c->n / 2, c->columns);
    }
    c->depth = size_least(c->k, c->depth);
    int64_t packed = c->plain ? c->m : size_most(c->m, c->n);
    int64_t each = size_most(packed * c->k, c->m * c->n);
    c->batch = size_most(1, size_least(g->batch, floats / each));
}

/* Make pieces smaller if their unpacked operands do not fit into a launch:
 * lines may be far apart in memory. Keep whole tiles if possible; otherwise the
 * sums may not fit any more. */
static void shrink_pieces(const struct plan *p, struct gemm_pieces *c,
                          const struct product *g)
{
    struct product size = {.batch = c->batch, .m = c->m, .n = c->n, .k = c->k};
    if (product_fits(p, g) || !product_shrink(p, g, &size))
        return;
    c->batch = size.batch;
    c->m = size.m > c->rows ? size.m - size.m % c->rows : size.m;
    c->n = size.n > c->columns ? size.n - size.n % c->columns : size.n;
    c->k = size.k;
    c->depth = size_least(c->k, c->depth);
}

/* Describe the lines of v for gemm_pack.k: dimension 1 counts them, and each is
 * along dimension 2. */
static struct gemm_lines gemm_lines_of(const struct view *v, int64_t lines)
{
    return (struct gemm_lines){
        .n = (uint32_t)v->shape[1],
        .batch = v->stride[0] == 0 ? 1 : (uint32_t)v->shape[0],
        .dtype = (uint32_t)v->dtype,
        .lines = (uint32_t)lines,
        .line = (uint32_t)v->stride[1],
        .step = (uint32_t)v->stride[2],
        .matrix = (uint32_t)v->stride[0]};
}

/* Return the number of tasks that pack v. Sets *stride to the distance between
 * the panels of its matrices. */
static int64_t packing(const struct view *v, int64_t lines, uint32_t *stride)
{
    int64_t batch = v->stride[0] == 0 ? 1 : v->shape[0];
    int64_t panels = size_div_up(v->shape[1], lines);
    *stride = batch == 1 ? 0 : (uint32_t)(panels * lines * v->shape[2]);
    return batch * panels * size_div_up(v->shape[2], PACK_CHUNK);
}

/* Pack a, and b unless it is plain, into panels. */
static void plan_gemm_pack(struct plan *p, const struct product *g,
                           const struct gemm_pieces *c,
                           struct gemm_panel_args *to)
{
    struct gemm_pack_args x = {
        .k = (uint32_t)g->k, .chunk = PACK_CHUNK, .b.lines = 1};
    struct view b = {0};
    int64_t tasks = packing(&g->a, c->rows, &to->g.a_batch);
    x.a = gemm_lines_of(&g->a, c->rows);
    if (!c->plain) {
        b = g->b;
        product_turn(&b);
        x.b = gemm_lines_of(&b, c->columns);
        tasks += packing(&b, c->columns, &to->g.b_batch);
    }
    plan_kernel(p, KERNEL_gemm_pack, KEYS(0));
    product_bind(p, &g->a, ACCESS_READ);
    plan_bind(p, &c->a, ACCESS_WRITE);
    product_bind(p, &b, ACCESS_READ);
    plan_bind(p, &c->b, ACCESS_WRITE);
    plan_groups(p, &x, sizeof(x), (uint64_t)tasks, LOOPS_FEW);
}

/* Choose the tiles of a task: many, but with enough tasks for all units. */
static int64_t choose_task(const struct backend_limits *l,
                           const struct product *g, const struct gemm_pieces *c,
                           struct gemm_panel_args *x)
{
    int64_t high = size_div_up(g->m, c->rows);
    int64_t wide = size_div_up(g->n, c->columns);
    int64_t down = size_least(high, size_most(1, TASK_SIDE / c->rows));
    int64_t across = size_least(wide, size_most(1, TASK_SIDE / c->columns)),
            tasks;
    for (;;) {
        tasks = g->batch * size_div_up(high, down) * size_div_up(wide, across);
        if (tasks >= (int64_t)l->units * 8 || down * across == 1)
            break;
        if (across == 1 || (down > 1 && down * c->rows >= across * c->columns))
            down = size_div_up(down, 2);
        else
            across = size_div_up(across, 2);
    }
    /* the same number of tasks, but of equal sizes */
    x->down = (uint32_t)size_div_up(high, size_div_up(high, down));
    x->across = (uint32_t)size_div_up(wide, size_div_up(wide, across));
    return tasks;
}

/* Record one piece. g describes only the piece; x says if it begins and ends
 * k. */
static void plan_piece(struct plan *p, const struct product *g,
                       const struct gemm_pieces *c, struct gemm_panel_args *x)
{
    uint8_t plain = c->plain ? (uint8_t)g->b.dtype : 0;
    x->g = product_shape(g);
    plan_gemm_pack(p, g, c, x);
    x->depth = (uint32_t)c->depth;
    x->b_row = view_step(&g->b, 1);
    int64_t tasks = choose_task(plan_limits(p), g, c, x);
    plan_kernel(p, KERNEL_gemm_panel, KEYS((uint8_t)c->rows, plain));
    product_bind_epilogue(p, g);
    plan_bind(p, &c->a, ACCESS_READ);
    plan_bind(p, c->plain ? &g->b : &c->b, ACCESS_READ);
    plan_bind(p, &c->partial, ACCESS_UPDATE);
    plan_groups(p, x, sizeof(*x), (uint64_t)tasks, LOOPS_FEW);
}

/* Record all of k for one piece of the batch, m and n. */
static void plan_depths(struct plan *p, const struct product *g,
                        const struct gemm_pieces *c)
{
    for (int64_t k = 0; k < g->k; k += c->k) {
        struct product part = product_depths(g, k, c->k);
        struct gemm_panel_args x = {.begins = k == 0, .ends = k + c->k >= g->k};
        plan_piece(p, &part, c, &x);
    }
}

static void plan_panels(struct plan *p, const struct product *g, bool plain)
{
    const struct backend_limits *l = plan_limits(p);
    struct gemm_pieces c = {.rows = GEMM_ROWS(l->width),
                            .columns = 2 * (int64_t)l->width,
                            .plain = plain,
                            .depth = plain ? GEMM_PLAIN_DEPTH : PANEL_DEPTH};
    int64_t floats = (int64_t)(l->binding_bytes / sizeof(float));
    if (plain)
        c.rows = g->m <= GEMM_ROWS_FEW ? GEMM_ROWS_FEW : GEMM_ROWS_SOME;
    choose_pieces(&c, g, size_least(floats, MOST_PACKED));
    shrink_pieces(p, &c, g);
    int64_t m = gemm_round_up(c.m, c.rows), n = gemm_round_up(c.n, c.columns);
    plan_scratch(p, SSQ_F32, (uint64_t)(c.batch * m * c.k), &c.a);
    if (!plain)
        plan_scratch(p, SSQ_F32, (uint64_t)(c.batch * n * c.k), &c.b);
    if (g->k > c.depth)
        plan_scratch(p, SSQ_F32, (uint64_t)(c.batch * m * n), &c.partial);
    const struct product size = {.batch = c.batch, .m = c.m, .n = c.n};
    for (int64_t z = 0; z < g->batch; z += c.batch)
        for (int64_t i = 0; i < g->m; i += c.m)
            for (int64_t j = 0; j < g->n; j += c.n) {
                struct product part = product_part(g, &size, z, i, j);
                plan_depths(p, &part, &c);
            }
}

/* ---- the op ---- */

static void plan_product(struct plan *p, struct product *g)
{
    bool processor = limits_processor(plan_limits(p));
    if (g->n > 1 && g->d.stride[2] != 1)
        product_transpose(g);
    if (processor && g->n == 1 && g->d.stride[1] == 1)
        product_transpose(g);
    bool some =
        processor && g->k >= LEAST_DEPTH && size_most(g->m, g->n) >= LEAST_SIDE;
    if (some && g->m <= GEMM_ROWS_SOME && g->b.stride[2] == 1)
        plan_panels(p, g, true);
    else if (some)
        plan_panels(p, g, false);
    else if (g->k > product_depth(p, g))
        plan_split_k(p, g);
    else
        plan_tiled(p, g);
}

/* Record a GEMM. The kernels process the longest batch dimension. The others
 * are loops here. */
void plan_gemm(struct plan *p, const struct gemm_op *op)
{
    int64_t index[SSQ_MAX_RANK] = {0};
    const int64_t *shape = op->d.shape;
    int dims = op->d.rank - 2, own = 0;
    for (int i = 1; i < dims; i++)
        if (shape[i] > shape[own])
            own = i;
    for (int64_t left = op->batch / shape[own]; left > 0; left--) {
        struct product g = {.batch = shape[own],
                            .m = op->m,
                            .n = op->n,
                            .k = op->k,
                            .alpha = op->alpha,
                            .beta = op->beta,
                            .activation = op->activation,
                            .a = gemm_matrices(&op->a, own, index),
                            .b = gemm_matrices(&op->b, own, index),
                            .c = gemm_matrices(&op->c, own, index),
                            .bias = gemm_matrices(&op->bias, own, index),
                            .d = gemm_matrices(&op->d, own, index)};
        plan_product(p, &g);
        for (int i = dims - 1; i >= 0; i--) {
            if (i == own)
                continue;
            if (++index[i] < shape[i])
                break;
            index[i] = 0;
        }
    }
}

const struct gemm_plan gemm_plans[] = {{"tiled", NULL, plan_gemm}, {NULL}};
