/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - layer norm and RMS norm of rows of neighbours, and their
 * gradients: a task has some rows, and brings the next one near while it works
 * on one.
 *
 * dgamma and dbeta are sums over rows. Each task of the gradient has a block of
 * them, and its own sums, which are added in the order of the blocks: sizes
 * alone say how many rows a block has, so that bits depend on nothing else. */
#include "backends/cpu/norm/layer_norm.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/rows.h"
#include "kernels/scalar/scalar.h"
#include "lib/core/base/size.h"
#include "lib/op/norm/layer_norm.h"

#include <string.h>

/* Longest rows where there are few. */
#define LONG 65536
/* Rows of a block, of few rows and of many; most blocks; and most words of the
 * sums of all. */
#define BLOCK_OF_FEW 16
#define FEW_ROWS     1024
#define BLOCK        64
#define MOST_BLOCKS  64
#define MOST_SUMS    (INT64_C(16) << 20)
/* Elements of dgamma that a task adds up. */
#define FOLD_ELEMENTS 1024

ISA_KERNELS(layer_norm_kernels)

/* ---- operands ---- */

/* Elements of a row as float32s: where they are, or in `room`. */
static const float *floats_of(const struct view *v, int inner, float *room)
{
    if (v->buffer == NULL)
        return NULL;
    if (v->dtype == SSQ_F32)
        return view_host(v);
    const uint16_t *from = view_host(v);
    int64_t n = rows_length(v, inner);
    for (int64_t i = 0; i < n; i++)
        room[i] = v->dtype == SSQ_F16 ? f16_load(from[i]) : bf16_load(from[i]);
    return room;
}

/* ---- forward ---- */

struct layer_norm_forward {
    struct layer_norm_rows l;
    const struct layer_norm_kernels *kernels;
    int64_t rows, of_task;
};

static void layer_norm_forward_task(void *context, uint32_t i, uint32_t worker)
{
    const struct layer_norm_forward *f = context;
    int64_t from = i * f->of_task;
    (void)worker;
    f->kernels->layer_norm(&f->l, from, size_least(f->rows, from + f->of_task));
}

static bool layer_norm_check_forward(const struct backend_device *d,
                                     const struct layer_norm_op *op,
                                     struct why *why)
{
    (void)d;
    return rows_check_length(&op->x, op->inner, 1, LONG, why) &&
           rows_check(&op->x, op->inner, "x", why) &&
           rows_check(&op->y, op->inner, "y", why) &&
           rows_check(&op->gamma, op->inner, "gamma", why) &&
           rows_check(&op->beta, op->inner, "beta", why) &&
           rows_check_ones(&op->mean, op->inner, "mean", why) &&
           rows_check_ones(&op->rstd, op->inner, "rstd", why);
}

static ssq_status layer_norm_run_forward(struct backend_queue *queue,
                                         const struct layer_norm_op *op)
{
    struct backend_device *d = queue->device;
    struct backend_mem *block;
    int64_t n = rows_length(&op->x, op->inner);
    ssq_status st =
        scratch_take(&d->scratch, 2 * (size_t)n * sizeof(float), &block);
    if (st != SSQ_OK)
        return st;
    float *room = block->host;
    struct layer_norm_forward f = {
        .l = {.x = rows_at(&op->x, op->inner),
              .y = rows_at(&op->y, op->inner),
              .mean = rows_at(&op->mean, op->inner),
              .rstd = rows_at(&op->rstd, op->inner),
              .gamma = floats_of(&op->gamma, op->inner, room),
              .beta = floats_of(&op->beta, op->inner, room + n),
              .n = (size_t)n,
              .eps = op->eps,
              .is_rms = op->kind == NORM_RMS,
              .past = rows_past(&op->y)},
        .kernels = kernels_of(d->isa),
        .rows = rows_count(&op->x, op->inner),
        .of_task = rows_of_task(n)};
    rows_loop(d->team, (uint64_t)(f.rows * n), size_div_up(f.rows, f.of_task),
              layer_norm_forward_task, &f);
    scratch_return(&d->scratch, block);
    return SSQ_OK;
}

const struct layer_norm_impl cpu_layer_norm[] = {
    {.name = "rows",
     .check = layer_norm_check_forward,
     .run = layer_norm_run_forward},
    {.name = NULL},
};

/* ---- backward ---- */

struct layer_norm_backward {
    struct layer_norm_slopes l;
    const struct layer_norm_backward_op *op;
    const struct layer_norm_kernels *kernels;
    int64_t rows, block, blocks, n;
    float *sums; /* 2 n of each block; NULL: none are wanted */
};

/* Rows of a block: chains in it and over blocks are as short as a row's, whose
 * sums have 64 lanes. */
static int64_t layer_norm_block_of(int64_t rows)
{
    if (rows <= FEW_ROWS)
        return BLOCK_OF_FEW;
    int64_t block = size_div_up(rows, MOST_BLOCKS);
    return block < BLOCK ? BLOCK : block;
}

static void layer_norm_backward_task(void *context, uint32_t i, uint32_t worker)
{
    const struct layer_norm_backward *b = context;
    int64_t from = i * b->block;
    float *sums = b->sums == NULL ? NULL : b->sums + 2 * b->n * i;
    (void)worker;
    if (sums != NULL)
        memset(sums, 0, 2 * (size_t)b->n * sizeof(*sums));
    b->kernels->backward(&b->l, from, size_least(b->rows, from + b->block),
                         sums);
}

static void layer_norm_store(const struct view *v, int64_t i, float x)
{
    if (v->dtype == SSQ_F32)
        ((float *)view_host(v))[i] = x;
    else
        ((uint16_t *)view_host(v))[i] =
            (uint16_t)(v->dtype == SSQ_F16 ? f16_store(x) : bf16_store(x));
}

/* Some elements of dgamma (which is 0) or of dbeta. */
static void layer_norm_fold(const struct layer_norm_backward *b, int which,
                            const struct view *to, int64_t from, int64_t end)
{
    float sum[FOLD_ELEMENTS] = {0};
    if (to->buffer == NULL)
        return;
    for (int64_t k = 0; k < b->blocks; k++) {
        const float *x = b->sums + (2 * k + which) * b->n + from;
        for (int64_t i = 0; i < end - from; i++)
            sum[i] += x[i];
    }
    for (int64_t i = from; i < end; i++)
        layer_norm_store(to, i, sum[i - from]);
}

static void fold_task(void *context, uint32_t i, uint32_t worker)
{
    const struct layer_norm_backward *b = context;
    int64_t from = (int64_t)i * FOLD_ELEMENTS;
    int64_t end = size_least(b->n, from + FOLD_ELEMENTS);
    (void)worker;
    layer_norm_fold(b, 0, &b->op->dgamma, from, end);
    layer_norm_fold(b, 1, &b->op->dbeta, from, end);
}

static bool sums_wanted(const struct layer_norm_backward_op *op)
{
    return op->dgamma.buffer != NULL || op->dbeta.buffer != NULL;
}

static bool layer_norm_check_backward(const struct backend_device *d,
                                      const struct layer_norm_backward_op *op,
                                      struct why *why)
{
    int64_t n = rows_length(&op->x, op->inner);
    (void)d;
    if (n > MOST_SUMS / 2 / MOST_BLOCKS)
        return refuse(why, "rows of %lld elements have too many sums",
                      (long long)n);
    return rows_check_length(&op->x, op->inner, 1, LONG, why) &&
           rows_check(&op->x, op->inner, "x", why) &&
           rows_check(&op->dy, op->inner, "dy", why) &&
           rows_check(&op->dx, op->inner, "dx", why) &&
           rows_check(&op->gamma, op->inner, "gamma", why) &&
           rows_check(&op->dgamma, op->inner, "dgamma", why) &&
           rows_check(&op->dbeta, op->inner, "dbeta", why) &&
           rows_check_ones(&op->mean, op->inner, "mean", why) &&
           rows_check_ones(&op->rstd, op->inner, "rstd", why);
}

static ssq_status
layer_norm_run_backward(struct backend_queue *queue,
                        const struct layer_norm_backward_op *op)
{
    struct backend_device *d = queue->device;
    struct backend_mem *memory;
    struct layer_norm_backward b = {.op = op,
                                    .kernels = kernels_of(d->isa),
                                    .rows = rows_count(&op->x, op->inner),
                                    .n = rows_length(&op->x, op->inner)};
    b.block = layer_norm_block_of(b.rows);
    b.blocks = size_div_up(b.rows, b.block);
    int64_t words = b.n + (sums_wanted(op) ? 2 * b.n * b.blocks : 0);
    ssq_status st =
        scratch_take(&d->scratch, (size_t)words * sizeof(float), &memory);
    if (st != SSQ_OK)
        return st;
    float *room = memory->host;
    b.sums = sums_wanted(op) ? room + b.n : NULL;
    b.l = (struct layer_norm_slopes){.x = rows_at(&op->x, op->inner),
                                     .dy = rows_at(&op->dy, op->inner),
                                     .dx = rows_at(&op->dx, op->inner),
                                     .mean = rows_at(&op->mean, op->inner),
                                     .rstd = rows_at(&op->rstd, op->inner),
                                     .gamma =
                                         floats_of(&op->gamma, op->inner, room),
                                     .n = (size_t)b.n,
                                     .past = rows_past(&op->dx)};
    rows_loop(d->team, (uint64_t)(b.rows * b.n), b.blocks,
              layer_norm_backward_task, &b);
    if (b.sums != NULL)
        rows_loop(d->team, (uint64_t)(2 * b.blocks * b.n),
                  size_div_up(b.n, FOLD_ELEMENTS), fold_task, &b);
    scratch_return(&d->scratch, memory);
    return SSQ_OK;
}

const struct layer_norm_backward_impl cpu_layer_norm_backward[] = {
    {.name = "rows",
     .check = layer_norm_check_backward,
     .run = layer_norm_run_backward},
    {.name = NULL},
};
