/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - the plans of layer norm and RMS norm, and of their gradients.
 *
 * dgamma and dbeta are sums over blocks of rows, then over the blocks. A block
 * has 64 rows, or 1/64 of the rows if that is more. */
#include "lib/core/queue/plan.h"

#include "kernels/norm/layer_norm_args.h"
#include "lib/op/norm/layer_norm.h"
#include "lib/plan/reduce/reduce.h"
#include "lib/plan/walk.h"
#include "lib/plan/windows.h"

/* Rows that are added in one chain, before the sums of blocks are added. Short
 * chains have smaller errors. See plan_layer_norm_block_of(). */
#define BLOCK 64u
/* TILE of layer_norm_sums.k on a CPU. Both must agree, because the kernel
 * computes the same number of tasks. */
#define TILE 256u

/* Return only the dimensions of a row. */
static struct view layer_norm_row_of(const struct view *v, int inner)
{
    struct view row = *v;
    int lead = v->rank - inner;
    for (int i = 0; i < inner; i++) {
        row.shape[i] = v->shape[lead + i];
        row.stride[i] = v->stride[lead + i];
    }
    row.rank = inner;
    return row;
}

/* Return the number of elements of a row, the last `inner` dimensions. */
static uint32_t plan_layer_norm_row_elements(const struct view *x, int inner)
{
    struct view row = layer_norm_row_of(x, inner);
    return (uint32_t)view_elements(&row);
}

/* Return the step along the last dimension. A lined row has only that one. */
static uint32_t last_step(const struct view *v)
{
    return view_step(v, v->rank - 1);
}

/* Return gamma or beta as a contiguous row of float32. If it is not one
 * already, this needs a launch. Absent stays absent. */
static struct view row_of_floats(struct plan *p, const struct view *v,
                                 int inner)
{
    struct view wide = {.buffer = NULL};
    if (v->buffer == NULL)
        return wide;
    struct view row = layer_norm_row_of(v, inner);
    plan_reduce_widen(p, &row, &wide);
    return wide;
}

/* Return the loops of a group over a row, forward or backward: ten over each
 * block with their ends. If the row has strides, four of them contain a
 * walk. */
static uint64_t row_loops(const struct plan *p, uint32_t n, bool lined)
{
    return 3 * LOOPS_FEW +
           loops_shared(plan_limits(p), n, lined ? 16 : 16 + 4 * LOOPS_WALK);
}

/* Loops for a row in the sums over rows: two walks, to its beginning and to its
 * element. */
#define SUMS_LOOPS (2 * LOOPS_WALK)

/* Return the flag `has` if the operand is present, otherwise 0. */
static uint32_t bit(const struct view *v, uint32_t has)
{
    return v->buffer != NULL ? has : 0;
}

/* Get the steps of all dimensions of a view. The steps of an absent view stay
 * 0. */
static void layer_norm_steps(const struct view *v, uint32_t *to)
{
    if (v->buffer != NULL)
        walk_steps(v, 0, v->rank, to);
}

/* Context of forward_window(): gamma and beta, the same for all windows. */
struct floats {
    struct view gamma, beta;
};

/* Record one window, with one group per row. y is optional; without it the size
 * 4 selects an existing variant. */
static void forward_window(struct plan *p, const struct op *some, void *user)
{
    const struct layer_norm_op *op = (const struct layer_norm_op *)some;
    const struct view *x = &op->x, *y = &op->y;
    const struct floats *f = user;
    struct layer_norm_args a = {
        .n = plan_layer_norm_row_elements(x, op->inner),
        .lined = op->inner == 1,
        .x_step = last_step(x),
        .y_step = last_step(y),
        .has = bit(&f->gamma, HAS_GAMMA) | bit(&f->beta, HAS_BETA) |
               bit(y, HAS_Y) | bit(&op->mean, HAS_MEAN) |
               bit(&op->rstd, HAS_RSTD),
        .is_rms = op->kind == NORM_RMS,
        .eps = op->eps,
        .x_dtype = x->dtype,
        .y_dtype = y->dtype,
    };
    uint8_t yb = (uint8_t)(y->buffer == NULL ? 4 : dtype_bytes(y->dtype));
    a.rows = (uint32_t)(view_elements(x) / a.n);
    walk_shape(x, 0, x->rank, &a.rank, a.size);
    layer_norm_steps(x, a.x_steps);
    layer_norm_steps(y, a.y_steps);
    layer_norm_steps(&op->mean, a.mean_steps);
    layer_norm_steps(&op->rstd, a.rstd_steps);
    plan_kernel(p, KERNEL_layer_norm, KEYS((uint8_t)dtype_bytes(x->dtype), yb));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, &f->gamma, ACCESS_READ);
    plan_bind(p, &f->beta, ACCESS_READ);
    plan_bind(p, y, ACCESS_WRITE);
    plan_bind(p, &op->mean, ACCESS_WRITE);
    plan_bind(p, &op->rstd, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.rows, row_loops(p, a.n, a.lined));
}

/* Build the forward pass. gamma and beta are first converted to contiguous
 * float32, if necessary, because they are read for every row. */
static void plan_layer_norm_forward(struct plan *p,
                                    const struct layer_norm_op *op)
{
    struct layer_norm_op part = *op;
    struct floats f = {row_of_floats(p, &op->gamma, op->inner),
                       row_of_floats(p, &op->beta, op->inner)};
    const struct window_cut cut = {.walked = 63,
                                   .dims = plan_dims(op->x.rank - op->inner)};
    plan_windows(p, &part.op, &cut, forward_window, &f);
}

/* Return the rows of a block: 64, or 1/64 of the rows if that is more. So
 * neither the chain in a block nor the chain over blocks gets long. If the
 * driver limits loops, a block may have fewer rows. */
static uint32_t plan_layer_norm_block_of(const struct plan *p, uint32_t rows)
{
    uint32_t most = plan_limits(p)->iterations / (2 * (SUMS_LOOPS + 1));
    uint32_t block =
        rows / BLOCK > BLOCK ? (uint32_t)size_div_up(rows, BLOCK) : BLOCK;
    return most == 0 || block < most ? block : most;
}

/* Return the fields that both kernels of the gradients have in common: of the
 * sums and of dx. */
static struct layer_norm_backward_args
layer_norm_args_of(const struct layer_norm_backward_op *op, uint32_t block)
{
    const struct view *x = &op->x;
    struct layer_norm_backward_args a = {
        .n = plan_layer_norm_row_elements(x, op->inner),
        .lined = op->inner == 1,
        .x_step = last_step(x),
        .dy_step = last_step(&op->dy),
        .dx_step = last_step(&op->dx),
        .has = bit(&op->gamma, HAS_GAMMA) | bit(&op->mean, HAS_MEAN),
        .x_dtype = x->dtype,
        .dy_dtype = op->dy.dtype,
        .dx_dtype = op->dx.dtype,
    };
    a.rows = (uint32_t)(view_elements(x) / a.n);
    a.block = block;
    walk_shape(x, 0, x->rank, &a.rank, a.size);
    layer_norm_steps(x, a.x_steps);
    layer_norm_steps(&op->dy, a.dy_steps);
    layer_norm_steps(&op->dx, a.dx_steps);
    layer_norm_steps(&op->mean, a.mean_steps);
    layer_norm_steps(&op->rstd, a.rstd_steps);
    return a;
}

/* Bind the first four operands of both kernels. */
static void bind_inputs(struct plan *p, const struct layer_norm_backward_op *op)
{
    plan_bind(p, &op->x, ACCESS_READ);
    plan_bind(p, &op->mean, ACCESS_READ);
    plan_bind(p, &op->rstd, ACCESS_READ);
    plan_bind(p, &op->dy, ACCESS_READ);
}

/* Compute out, the sum over blocks of dgamma (which = 0) or dbeta (1) in
 * sums[blocks][2][n]. The reduction keeps the dimensions of a row, so out may
 * have any strides. It sums over the blocks, which are 2 n apart. */
static void plan_layer_norm_fold(struct plan *p, const struct view *sums,
                                 uint32_t blocks, uint32_t n, uint32_t which,
                                 const struct view *out, int inner)
{
    if (out->buffer == NULL)
        return;
    struct reduce_op op = {.kind = REDUCE_SUM,
                           .kept = inner,
                           .x = *sums,
                           .y = layer_norm_row_of(out, inner)};
    int64_t pitch = 1;
    for (int i = inner; i-- > 0; pitch *= op.y.shape[i]) {
        op.x.shape[i] = op.y.shape[i];
        op.x.stride[i] = pitch;
    }
    op.x.shape[inner] = blocks;
    op.x.stride[inner] = 2 * (int64_t)n;
    op.x.rank = inner + 1;
    op.x.offset += (uint64_t)which * n * sizeof(float);
    plan_reduce(p, &op);
}

/* Context of sums_window() and dx_window(), the same for all windows. */
struct slopes {
    uint32_t rows, block, blocks, n;
    struct view part;  /* sums over blocks of rows: [blocks][2][n] */
    struct view gamma; /* as contiguous float32 */
};

static struct slopes
layer_norm_slopes_of(const struct plan *p,
                     const struct layer_norm_backward_op *op)
{
    struct slopes s = {.n = plan_layer_norm_row_elements(&op->x, op->inner)};
    s.rows = (uint32_t)size_least(view_elements(&op->x) / s.n, UINT32_MAX);
    s.block = plan_layer_norm_block_of(p, s.rows);
    s.blocks = (uint32_t)size_div_up(s.rows, s.block);
    return s;
}

/* Record the sums of a window for dgamma and dbeta, without atomics. Each task
 * has a block of rows and a tile of their elements. On a CPU vectors process a
 * tile. On a GPU an item has one element, and adjacent items read adjacent
 * elements. */
static void sums_window(struct plan *p, const struct op *some, void *user)
{
    const struct layer_norm_backward_op *op =
        (const struct layer_norm_backward_op *)some;
    const struct slopes *s = user;
    struct layer_norm_backward_args a = layer_norm_args_of(op, s->block);
    uint32_t blocks = (uint32_t)size_div_up(a.rows, a.block);
    bool processor = limits_processor(plan_limits(p));
    uint32_t tiles = processor ? (uint32_t)size_div_up(a.n, TILE) : a.n;
    struct view part = s->part;
    part.offset += op->op.first / a.block * 2 * a.n * sizeof(float);
    plan_kernel(p, KERNEL_layer_norm_sums,
                KEYS((uint8_t)dtype_bytes(op->x.dtype),
                     (uint8_t)dtype_bytes(op->dy.dtype)));
    bind_inputs(p, op);
    plan_bind(p, &part, ACCESS_WRITE);
    if (processor)
        plan_groups(p, &a, sizeof(a), (uint64_t)tiles * blocks, LOOPS_FEW);
    else
        plan_items(p, &a, sizeof(a), (uint64_t)tiles * blocks,
                   loops_of(a.block, SUMS_LOOPS));
}

/* Build dgamma and dbeta. Windows come in order and have whole blocks. */
static void plan_layer_norm_sums(struct plan *p,
                                 const struct layer_norm_backward_op *op,
                                 struct slopes *s)
{
    struct layer_norm_backward_op part = *op;
    const struct window_cut cut = {.walked = 127,
                                   .dims = plan_dims(op->x.rank - op->inner),
                                   .in_order = true,
                                   .chunk = s->block};
    part.dx.buffer = part.dgamma.buffer = part.dbeta.buffer = NULL;
    plan_scratch(p, SSQ_F32, 2 * (uint64_t)s->blocks * s->n, &s->part);
    plan_windows(p, &part.op, &cut, sums_window, s);
    plan_layer_norm_fold(p, &s->part, s->blocks, s->n, 0, &op->dgamma,
                         op->inner);
    plan_layer_norm_fold(p, &s->part, s->blocks, s->n, 1, &op->dbeta,
                         op->inner);
}

static void dx_window(struct plan *p, const struct op *some, void *user)
{
    const struct layer_norm_backward_op *op =
        (const struct layer_norm_backward_op *)some;
    const struct slopes *s = user;
    struct layer_norm_backward_args a = layer_norm_args_of(op, s->block);
    plan_kernel(p, KERNEL_layer_norm_backward,
                KEYS((uint8_t)dtype_bytes(op->x.dtype),
                     (uint8_t)dtype_bytes(op->dy.dtype),
                     (uint8_t)dtype_bytes(op->dx.dtype)));
    bind_inputs(p, op);
    plan_bind(p, &op->dx, ACCESS_WRITE);
    plan_bind(p, &s->gamma, ACCESS_READ);
    plan_groups(p, &a, sizeof(a), a.rows, row_loops(p, a.n, a.lined));
}

/* Build the gradients. dgamma and dbeta are first because dx may alias x or dy,
 * which their sums read. */
static void plan_layer_norm_backward(struct plan *p,
                                     const struct layer_norm_backward_op *op)
{
    struct layer_norm_backward_op part = *op;
    struct slopes s = layer_norm_slopes_of(p, op);
    const struct window_cut cut = {.walked = 127,
                                   .dims = plan_dims(op->x.rank - op->inner)};
    if (op->dgamma.buffer != NULL || op->dbeta.buffer != NULL)
        plan_layer_norm_sums(p, op, &s);
    if (op->dx.buffer == NULL)
        return;
    s.gamma = row_of_floats(p, &op->gamma, op->inner);
    part.dgamma.buffer = part.dbeta.buffer = NULL;
    plan_windows(p, &part.op, &cut, dx_window, &s);
}

const struct layer_norm_plan layer_norm_plans[] = {
    {"portable", NULL, plan_layer_norm_forward}, {NULL}};
const struct layer_norm_backward_plan layer_norm_backward_plans[] = {
    {"portable", NULL, plan_layer_norm_backward}, {NULL}};
