/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - reference: layer norm, RMS norm and their backward. */
#include "lib/op/norm/layer_norm.h"

#include "backends/reference/rows.h"
#include "kernels/scalar/scalar.h"

/* Load element i of a view, an offset in elements as in a walk. */
static float load_at(const struct view *v, int64_t i)
{
    return load_f32(view_host(v), v->dtype, i);
}

static void store_at(const struct view *v, int64_t i, float value)
{
    store_f32(view_host(v), v->dtype, i, value);
}

/* Return the elements of a row, which is the last `inner` dimensions. */
static int64_t row_elements(const struct view *v, int inner)
{
    int64_t n = 1;
    for (int i = v->rank - inner; i < v->rank; i++)
        n *= v->shape[i];
    return n;
}

/* The statistics of a row, as saved by the forward pass: rstd = 1 / sqrt(var +
 * eps). For RMS norm the mean is 0, and var is the mean of the squares. */
struct layer_norm_statistics {
    float mean, rstd;
};

/* Compute the statistics of the row of x that begins at `at`: the mean, then
 * the centred squares. Sums are float64 and rounded once. The mean is rounded,
 * because backward gets only the rounded one. The squares are about the mean
 * before rounding. */
static struct layer_norm_statistics
row_statistics(const struct layer_norm_op *op, int64_t at)
{
    const struct view *v[] = {&op->x};
    double n = (double)row_elements(&op->x, op->inner), sum = 0.0;
    struct layer_norm_statistics s = {0.0f, 0.0f};
    struct walk w;
    if (op->kind == NORM_LAYER) {
        walk_row(&w, v, 1, op->inner);
        do {
            sum += (double)load_at(&op->x, at + w.at[0]);
        } while (walk_next(&w));
        s.mean = (float)(sum / n);
    }
    double m = s.mean, apart = 0.0, squares = 0.0;
    walk_row(&w, v, 1, op->inner);
    do {
        double d = (double)load_at(&op->x, at + w.at[0]) - m;
        apart += d;
        squares += d * d;
    } while (walk_next(&w));
    if (op->kind == NORM_LAYER)
        squares = squares_about_mean(squares, apart, n);
    s.rstd = s_rsqrt((float)(squares / n) + op->eps);
    return s;
}

/* Normalise a row, which begins at x_at and y_at. gamma and beta begin at 0. */
static void normalise_row(const struct layer_norm_op *op,
                          struct layer_norm_statistics s, int64_t x_at,
                          int64_t y_at)
{
    const struct view *v[] = {&op->x, &op->gamma, &op->beta, &op->y};
    struct walk w;
    walk_row(&w, v, 4, op->inner);
    do {
        float y = (load_at(&op->x, x_at + w.at[0]) - s.mean) * s.rstd;
        if (op->gamma.buffer != NULL)
            y = y * load_at(&op->gamma, w.at[1]);
        if (op->beta.buffer != NULL)
            y = y + load_at(&op->beta, w.at[2]);
        store_at(&op->y, y_at + w.at[3], y);
    } while (walk_next(&w));
}

/* Run layer norm or RMS norm. Each of the three results is optional: a call may
 * need only the statistics. */
static ssq_status layer_norm(struct backend_queue *queue,
                             const struct layer_norm_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x, &op->y, &op->mean, &op->rstd};
    struct walk w;
    walk_rows(&w, v, 4, op->inner);
    do {
        struct layer_norm_statistics s = row_statistics(op, w.at[0]);
        if (op->mean.buffer != NULL)
            store_at(&op->mean, w.at[2], s.mean);
        if (op->rstd.buffer != NULL)
            store_at(&op->rstd, w.at[3], s.rstd);
        if (op->y.buffer != NULL)
            normalise_row(op, s, w.at[0], w.at[1]);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* The order of the operands in a walk. */
enum { X, GAMMA, MEAN, RSTD, DY, DX, DGAMMA, DBETA, WALKED };

/* Set v to the views, in that order, and return it. Absent views are part of
 * the walk, but their offsets are not used. */
static const struct view *const *walked(const struct layer_norm_backward_op *op,
                                        const struct view **v)
{
    v[X] = &op->x;
    v[GAMMA] = &op->gamma;
    v[MEAN] = &op->mean;
    v[RSTD] = &op->rstd;
    v[DY] = &op->dy;
    v[DX] = &op->dx;
    v[DGAMMA] = &op->dgamma;
    v[DBETA] = &op->dbeta;
    return v;
}

/* One element: its normalised x, and its dy. */
struct layer_norm_element {
    float z, dy, g; /* g = dy gamma */
    float rstd;
};

/* Compute an element from x and the saved statistics, so that y need not be
 * kept for backward. row and in are the offsets of the row and in the row. An
 * absent mean, as for RMS norm, is 0. */
static struct layer_norm_element
element_at(const struct layer_norm_backward_op *op, const int64_t *row,
           const int64_t *in)
{
    float mean = op->mean.buffer == NULL ? 0.0f : load_at(&op->mean, row[MEAN]);
    struct layer_norm_element e = {.rstd = load_at(&op->rstd, row[RSTD])};
    e.z = (load_at(&op->x, row[X] + in[X]) - mean) * e.rstd;
    e.dy = load_at(&op->dy, row[DY] + in[DY]);
    e.g =
        op->gamma.buffer == NULL ? e.dy : e.dy * load_at(&op->gamma, in[GAMMA]);
    return e;
}

/* Compute dgamma and dbeta: for each element of a row, sums over the rows. */
static void sum_rows(const struct layer_norm_backward_op *op)
{
    const struct view *v[WALKED];
    struct walk in, row;
    walk_row(&in, walked(op, v), WALKED, op->inner);
    do {
        double dgamma = 0.0, dbeta = 0.0;
        walk_rows(&row, v, WALKED, op->inner);
        do {
            struct layer_norm_element e = element_at(op, row.at, in.at);
            dgamma += (double)e.dy * (double)e.z;
            dbeta += (double)e.dy;
        } while (walk_next(&row));
        if (op->dgamma.buffer != NULL)
            store_at(&op->dgamma, in.at[DGAMMA], (float)dgamma);
        if (op->dbeta.buffer != NULL)
            store_at(&op->dbeta, in.at[DBETA], (float)dbeta);
    } while (walk_next(&in));
}

/* Compute dx = rstd (g - avg(g) - z avg(g z)) of a row, without avg(g) for RMS
 * norm. */
static void backward_row(const struct layer_norm_backward_op *op,
                         const int64_t *row)
{
    const struct view *v[WALKED];
    double n = (double)row_elements(&op->x, op->inner), sum = 0.0, dot = 0.0;
    struct walk in;
    walk_row(&in, walked(op, v), WALKED, op->inner);
    do {
        struct layer_norm_element e = element_at(op, row, in.at);
        sum += op->kind == NORM_LAYER ? (double)e.g : 0.0;
        dot += (double)e.g * (double)e.z;
    } while (walk_next(&in));
    float avg = (float)(sum / n), avg_z = (float)(dot / n);
    walk_row(&in, v, WALKED, op->inner);
    do {
        struct layer_norm_element e = element_at(op, row, in.at);
        store_at(&op->dx, row[DX] + in.at[DX],
                 e.rstd * ((e.g - avg) - e.z * avg_z));
    } while (walk_next(&in));
}

/* Compute dgamma and dbeta before dx, because dx may be x or dy. */
static ssq_status layer_norm_backward(struct backend_queue *queue,
                                      const struct layer_norm_backward_op *op)
{
    (void)queue;
    if (op->dgamma.buffer != NULL || op->dbeta.buffer != NULL)
        sum_rows(op);
    if (op->dx.buffer == NULL)
        return SSQ_OK;
    const struct view *v[WALKED];
    struct walk row;
    walk_rows(&row, walked(op, v), WALKED, op->inner);
    do {
        backward_row(op, row.at);
    } while (walk_next(&row));
    return SSQ_OK;
}

REFERENCE_IMPL(layer_norm, layer_norm);
REFERENCE_IMPL(layer_norm_backward, layer_norm_backward);
