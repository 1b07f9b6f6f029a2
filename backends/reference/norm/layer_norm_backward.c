/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_backward.c - reference: gradients of layer norm and RMS norm.
 *
 * With z = (x - mean) rstd, g = dy gamma, and averages over a row:
 *
 *     dgamma = sum of dy z, dbeta = sum of dy      over all rows
 *     dx = rstd (g - avg(g) - z avg(g z))
 *
 * For RMS norm mean and avg(g) are 0. Sums are float64 and rounded once.
 * Everything else is float32, and storing rounds once more. */
#include "lib/op/norm/layer_norm.h"

#include "backends/reference/rows.h"

/* The order of the operands in a walk. */
enum { X, GAMMA, MEAN, RSTD, DY, DX, DGAMMA, DBETA, OPERANDS };

/* Set v to the operands, in that order, and return it. Absent ones are part of
 * the walk, but their offsets are not used. */
static const struct view *const *
layer_norm_operands(const struct layer_norm_backward_op *op,
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

/* One element of x and dy. */
struct layer_norm_element {
    float rstd, z, dy, g;
};

/* Return an element. `row` and `in` have the offsets of the row, and of the
 * element in the row. */
static struct layer_norm_element
layer_norm_load(const struct layer_norm_backward_op *op, const int64_t *row,
                const int64_t *in)
{
    const float x = view_load(&op->x, row[X] + in[X]);
    const float mean =
        op->mean.buffer == NULL ? 0.0f : view_load(&op->mean, row[MEAN]);
    struct layer_norm_element e = {.rstd = view_load(&op->rstd, row[RSTD])};
    e.z = (x - mean) * e.rstd;
    e.dy = view_load(&op->dy, row[DY] + in[DY]);
    e.g = e.dy;
    if (op->gamma.buffer != NULL)
        e.g = e.dy * view_load(&op->gamma, in[GAMMA]);
    return e;
}

/* Compute dgamma and dbeta: for each element of a row, sums over the rows. */
static void layer_norm_parameters(const struct layer_norm_backward_op *op)
{
    const struct view *v[OPERANDS];
    struct walk in, row;
    walk_row(&in, layer_norm_operands(op, v), OPERANDS, op->inner);
    do {
        double dgamma = 0.0, dbeta = 0.0;
        walk_rows(&row, v, OPERANDS, op->inner);
        do {
            const struct layer_norm_element e =
                layer_norm_load(op, row.at, in.at);
            dgamma += (double)e.dy * (double)e.z;
            dbeta += (double)e.dy;
        } while (walk_next(&row));
        if (op->dgamma.buffer != NULL)
            view_store(&op->dgamma, in.at[DGAMMA], (float)dgamma);
        if (op->dbeta.buffer != NULL)
            view_store(&op->dbeta, in.at[DBETA], (float)dbeta);
    } while (walk_next(&in));
}

/* Compute dx of a row. */
static void layer_norm_dx(const struct layer_norm_backward_op *op,
                          const int64_t *row)
{
    const struct view *v[OPERANDS];
    double n = (double)row_elements(&op->x, op->inner);
    double sum_g = 0.0, sum_g_z = 0.0;
    struct walk in;
    walk_row(&in, layer_norm_operands(op, v), OPERANDS, op->inner);
    do {
        const struct layer_norm_element e = layer_norm_load(op, row, in.at);
        sum_g += op->kind == NORM_LAYER ? (double)e.g : 0.0;
        sum_g_z += (double)e.g * (double)e.z;
    } while (walk_next(&in));
    const float avg_g = (float)(sum_g / n), avg_g_z = (float)(sum_g_z / n);
    do {
        const struct layer_norm_element e = layer_norm_load(op, row, in.at);
        view_store(&op->dx, row[DX] + in.at[DX],
                   e.rstd * ((e.g - avg_g) - e.z * avg_g_z));
    } while (walk_next(&in));
}

/* Compute dgamma and dbeta before dx, because dx may be x or dy. */
static ssq_status
reference_layer_norm_backward_run(struct backend_queue *queue,
                                  const struct layer_norm_backward_op *op)
{
    (void)queue;
    if (op->dgamma.buffer != NULL || op->dbeta.buffer != NULL)
        layer_norm_parameters(op);
    if (op->dx.buffer == NULL)
        return SSQ_OK;
    const struct view *v[OPERANDS];
    struct walk row;
    walk_rows(&row, layer_norm_operands(op, v), OPERANDS, op->inner);
    do {
        layer_norm_dx(op, row.at);
    } while (walk_next(&row));
    return SSQ_OK;
}

REFERENCE_IMPL(layer_norm_backward);
