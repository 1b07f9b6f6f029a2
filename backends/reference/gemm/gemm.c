/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - reference: matrix products, summed in float64.
 *
 *     d = activation(alpha sum(a b) + beta c + bias)
 *
 * Each sum is over k, in ascending order. It is computed in float64, in which
 * products of float32 are exact. The sum is rounded to float32, the rest is
 * float32, and storing rounds once more. Tiles do not change the order of the
 * sum. They keep data that is read repeatedly in the caches.
 *
 *                 COLS
 *               +------+
 *         DEPTH |  b   |     a, b: unpacked into float64
 *        +------+------+
 *  ROWS |  a   | sum  |
 *        +------+------+ */
#include "lib/op/gemm/gemm.h"

#include "backends/reference/reference.h"
#include "kernels/gemm/epilogue.h"

#include <stdio.h>
#include <string.h>

/* The three matrices have 64 KiB of float64 with these sizes, so they fit into
 * a core's caches. */
#define TILE_ROWS  32
#define TILE_COLS  64
#define TILE_DEPTH 64

struct gemm_tile_sums {
    double a[TILE_ROWS][TILE_DEPTH];
    double b[TILE_DEPTH][TILE_COLS];
    double sum[TILE_ROWS][TILE_COLS];
};

/* One matrix of an operand. */
struct gemm_matrix {
    void *base;
    ssq_dtype dtype;
    int64_t at, row, column; /* first element and strides, in elements */
};

static struct gemm_matrix gemm_matrix_at(const struct view *v, int64_t at)
{
    struct gemm_matrix x = {view_host(v), v->dtype, at, 0, 0};
    if (v->buffer != NULL) {
        x.row = v->stride[v->rank - 2];
        x.column = v->stride[v->rank - 1];
    }
    return x;
}

static float gemm_element(const struct gemm_matrix *x, int64_t i, int64_t j)
{
    int64_t at = x->at + i * x->row + j * x->column;
    return bits_to_f32(load_bits(x->base, x->dtype, at), x->dtype);
}

/* Load n elements of x that are `step` apart, beginning at `at`. */
static void gemm_unpack_row(double *t, const struct gemm_matrix *x, int64_t at,
                            int64_t step, int64_t n)
{
    const uint16_t *half = x->base;
    const float *full = x->base;
    if (x->dtype == SSQ_F16)
        for (int64_t i = 0; i < n; i++)
            t[i] = (double)f16_load(half[at + i * step]);
    else if (x->dtype == SSQ_BF16)
        for (int64_t i = 0; i < n; i++)
            t[i] = (double)bf16_load(half[at + i * step]);
    else
        for (int64_t i = 0; i < n; i++)
            t[i] = (double)full[at + i * step];
}

/* Load rows from i and columns from j of x into t, whose rows are `pitch`
 * apart. */
static void gemm_unpack(double *t, int64_t pitch, const struct gemm_matrix *x,
                        int64_t i, int64_t rows, int64_t j, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++)
        gemm_unpack_row(t + r * pitch, x,
                        x->at + (i + r) * x->row + j * x->column, x->column,
                        cols);
}

/* Add a b to sum. All columns of b are used, so that the inner loop has a
 * constant length and can be vectorised. Columns past the edge contain earlier
 * values; their sums are not used. */
static void gemm_tile_multiply(struct gemm_tile_sums *t, int64_t rows,
                               int64_t depth)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < depth; k++) {
            double x = t->a[i][k];
            for (int j = 0; j < TILE_COLS; j++)
                t->sum[i][j] += x * t->b[k][j];
        }
}

/* Compute the sums of the tile of d at (i, j). */
static void gemm_sum_tile(struct gemm_tile_sums *t, const struct gemm_op *op,
                          const struct gemm_matrix *a,
                          const struct gemm_matrix *b, int64_t i, int64_t j)
{
    int64_t rows = size_least(TILE_ROWS, op->m - i),
            cols = size_least(TILE_COLS, op->n - j);
    memset(t->sum, 0, sizeof(t->sum));
    for (int64_t k = 0; k < op->k; k += TILE_DEPTH) {
        int64_t depth = size_least(TILE_DEPTH, op->k - k);
        gemm_unpack(t->a[0], TILE_DEPTH, a, i, rows, k, depth);
        gemm_unpack(t->b[0], TILE_COLS, b, k, depth, j, cols);
        gemm_tile_multiply(t, rows, depth);
    }
}

static void gemm_store_tile(const struct gemm_tile_sums *t,
                            const struct gemm_op *op,
                            const struct gemm_matrix *c,
                            const struct gemm_matrix *bias,
                            const struct gemm_matrix *d, int64_t i0, int64_t j0)
{
    int64_t rows = size_least(op->m, i0 + TILE_ROWS),
            cols = size_least(op->n, j0 + TILE_COLS);
    for (int64_t i = i0; i < rows; i++)
        for (int64_t j = j0; j < cols; j++) {
            float x = 0.0f;
            if (op->k > 0)
                x = op->alpha * (float)t->sum[i - i0][j - j0];
            if (c->base != NULL)
                x = x + op->beta * gemm_element(c, i, j);
            if (bias->base != NULL)
                x = x + gemm_element(bias, i, j);
            store_f32(d->base, d->dtype, d->at + i * d->row + j * d->column,
                      activate(x, op->activation));
        }
}

/* Return the batch dimensions of a view, for walking. The offset of an absent
 * view does not change. */
static struct view gemm_batch_of(const struct view *v, const struct view *d)
{
    struct view batch = *d;
    batch.rank = d->rank - 2;
    for (int i = 0; i < batch.rank; i++)
        batch.stride[i] = v->buffer == NULL ? 0 : v->stride[i];
    return batch;
}

static ssq_status reference_gemm_run(struct backend_queue *queue,
                                     const struct gemm_op *op)
{
    (void)queue;
    const struct view *full[] = {&op->a, &op->b, &op->c, &op->bias, &op->d};
    struct view batch[5];
    const struct view *v[5];
    struct gemm_tile_sums t = {0};
    struct walk w;
    for (int i = 0; i < 5; i++) {
        batch[i] = gemm_batch_of(full[i], &op->d);
        v[i] = &batch[i];
    }
    walk_begin(&w, v, 5);
    do {
        struct gemm_matrix x[5];
        for (int i = 0; i < 5; i++)
            x[i] = gemm_matrix_at(full[i], w.at[i]);
        for (int64_t i = 0; i < op->m; i += TILE_ROWS)
            for (int64_t j = 0; j < op->n; j += TILE_COLS) {
                gemm_sum_tile(&t, op, &x[0], &x[1], i, j);
                gemm_store_tile(&t, op, &x[2], &x[3], &x[4], i, j);
            }
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(gemm);

void reference_gemm_explain(const struct backend_device *device,
                            const struct gemm_op *op, unsigned impl,
                            struct gemm_explanation *e)
{
    (void)device;
    (void)op;
    (void)impl;
    e->accumulator = SSQ_F64;
    snprintf(e->condition, sizeof(e->condition), "plain C has no matrix units");
}
