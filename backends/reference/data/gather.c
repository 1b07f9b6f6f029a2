/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - reference: gather rows, scatter-add rows, one-hot. */
#include "lib/core/module/data.h"

#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"

/* Return row `row` of a table as a view without the first dimension. Offsets
 * are in bytes, strides in elements. */
static struct view gather_row_of(const struct view *table, int64_t row)
{
    struct view v = view_part(table, 1, table->rank);
    v.offset += (uint64_t)(row * table->stride[0]) * dtype_bytes(v.dtype);
    return v;
}

/* Copy a row of x to a row of y, or set it to zeros. A conversion rounds to
 * nearest, as a cast does; between equal dtypes it changes no bit. Zero has the
 * same bits in all dtypes. */
static void gather_copy_row(const struct view *x, bool zeros,
                            const struct view *y)
{
    struct walk w;
    const struct view *v[] = {x, y};
    const void *from = zeros ? NULL : view_host(x);
    void *to = view_host(y);
    walk_begin(&w, v, 2);
    do {
        uint32_t bits = 0;
        if (!zeros)
            bits = convert_bits(load_bits(from, x->dtype, w.at[0]), x->dtype,
                                y->dtype, ROUND_NEAREST, 0);
        store_bits(to, y->dtype, w.at[1], bits);
    } while (walk_next(&w));
}

/* Gather: the row of y at each position is the row of x with the position's
 * index. For an index outside x the row is zeros, and nothing is read. Row 0
 * then replaces it in the computation of addresses. */
static ssq_status reference_gather_run(struct backend_queue *queue,
                                       const struct gather_op *op)
{
    (void)queue;
    struct walk w;
    int n = op->index_rank;
    struct view outer = view_part(&op->y, 0, n);
    const struct view *v[] = {&op->index, &outer};
    const void *index = view_host(&op->index);
    walk_begin(&w, v, 2);
    do {
        int64_t i = (int32_t)load_bits(index, SSQ_I32, w.at[0]);
        bool outside = i < 0 || i >= op->x.shape[0];
        struct view from = gather_row_of(&op->x, outside ? 0 : i);
        struct view to = view_part(&op->y, n, op->y.rank);
        to.offset += (uint64_t)w.at[1] * dtype_bytes(to.dtype);
        gather_copy_row(&from, outside, &to);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* List the positions with each row's index, in ascending order. first[row] and
 * next[position] are positions plus 1, and 0 ends a list. The positions are
 * processed backwards, so that each is inserted before the later ones. */
static void scatter_list(const struct scatter_add_op *op, int32_t *first,
                         int32_t *next)
{
    int64_t rows = op->dx.shape[0];
    for (int64_t r = 0; r < rows; r++)
        first[r] = 0;
    const void *index = view_host(&op->index);
    for (int64_t p = view_elements(&op->index) - 1; p >= 0; p--) {
        int64_t at = 0, rest = p;
        for (int d = op->index.rank - 1; d >= 0; d--) {
            at += rest % op->index.shape[d] * op->index.stride[d];
            rest /= op->index.shape[d];
        }
        int64_t row = (int32_t)load_bits(index, SSQ_I32, at);
        if (row < 0 || row >= rows)
            continue;
        next[p] = first[row];
        first[row] = (int32_t)(p + 1);
    }
}

/* Return the offset of position p in the first dimensions of dy, in elements.
 * Positions are numbered in row-major order. */
static int64_t scatter_at(const struct scatter_add_op *op, int64_t p)
{
    int64_t at = 0;
    for (int d = op->index_rank - 1; d >= 0; d--) {
        at += p % op->dy.shape[d] * op->dy.stride[d];
        p /= op->dy.shape[d];
    }
    return at;
}

/* Add the listed rows of dy to a row of dx, in ascending order of positions, in
 * float32. The sum is rounded to the dtype of dx once, at the end. */
static void scatter_add_row(const struct scatter_add_op *op, int64_t row,
                            int32_t first, const int32_t *next)
{
    struct walk w;
    struct view dx = gather_row_of(&op->dx, row);
    struct view dy = view_part(&op->dy, op->index_rank, op->dy.rank);
    const struct view *v[] = {&dy, &dx};
    const void *from = view_host(&dy);
    void *to = view_host(&dx);
    walk_begin(&w, v, 2);
    do {
        float sum = load_f32(to, dx.dtype, w.at[1]);
        for (int32_t p = first; p != 0; p = next[p - 1])
            sum += load_f32(from, dy.dtype, w.at[0] + scatter_at(op, p - 1));
        store_f32(to, dx.dtype, w.at[1], s_canonical(sum));
    } while (walk_next(&w));
}

/* Scatter-add. The lists are in op->work: one word for each row of dx, then one
 * for each position. The caller has allocated it. */
static ssq_status reference_scatter_add_run(struct backend_queue *queue,
                                            const struct scatter_add_op *op)
{
    (void)queue;
    int32_t *first = view_host(&op->work);
    int32_t *next = first + op->dx.shape[0];
    scatter_list(op, first, next);
    for (int64_t r = 0; r < op->dx.shape[0]; r++)
        if (first[r] != 0)
            scatter_add_row(op, r, first[r], next);
    return SSQ_OK;
}

/* One-hot: y = on if the coordinate along the axis equals the index, else off.
 * The view of index has the shape of y, with stride 0 along the axis. */
static ssq_status reference_one_hot_run(struct backend_queue *queue,
                                        const struct one_hot_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->index, &op->y};
    const void *index = view_host(&op->index);
    void *y = view_host(&op->y);
    walk_begin(&w, v, 2);
    do {
        int64_t i = (int32_t)load_bits(index, SSQ_I32, w.at[0]);
        bool on = i == w.index[op->axis];
        store_bits(y, op->y.dtype, w.at[1], on ? op->on : op->off);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(gather);
REFERENCE_IMPL(scatter_add);
REFERENCE_IMPL(one_hot);
