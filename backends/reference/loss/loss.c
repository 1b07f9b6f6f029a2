/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - reference: elementwise losses, value and gradient. */
#include "lib/op/loss/loss.h"

#include "backends/reference/reference.h"
#include "kernels/loss/loss.h"

/* Return element i of an optional operand; 1 if the operand is absent. */
static float loss_load(const struct view *v, int64_t i)
{
    return v->buffer == NULL ? 1.0f : load_f32(view_host(v), v->dtype, i);
}

/* Compute the loss of each element and, if dx is present, its gradient. The sum
 * for a mean or a total is float64, and rounded once. Without a reduction each
 * element has a loss, which is part of the walk. A reduced loss is a single
 * element, which is not. */
static ssq_status reference_loss_run(struct backend_queue *queue,
                                     const struct loss_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x,          &op->target, &op->weight,
                              &op->pos_weight, &op->dloss,  &op->dx,
                              &op->loss};
    bool each = op->reduction == SSQ_REDUCTION_NONE;
    int64_t n = view_elements(&op->x);
    float count = op->reduction == SSQ_REDUCTION_MEAN ? (float)n : 1.0f;
    double total = 0.0;
    struct walk w;
    walk_begin(&w, v, each ? 7 : 6);
    do {
        float x = load_f32(view_host(&op->x), op->x.dtype, w.at[0]);
        float t = load_f32(view_host(&op->target), op->target.dtype, w.at[1]);
        float weight = loss_load(&op->weight, w.at[2]);
        float p = loss_load(&op->pos_weight, w.at[3]);
        float seed = s_div(loss_load(&op->dloss, w.at[4]), count);
        float value = loss_value(op->kind, x, t, op->parameter, p) * weight;
        total += (double)value;
        if (op->dx.buffer != NULL)
            store_f32(view_host(&op->dx), op->dx.dtype, w.at[5],
                      loss_slope(op->kind, x, t, op->parameter, p) * weight *
                          seed);
        if (each && op->loss.buffer != NULL)
            store_f32(view_host(&op->loss), SSQ_F32, w.at[6], value);
    } while (walk_next(&w));
    if (!each && op->loss.buffer != NULL)
        store_f32(view_host(&op->loss), SSQ_F32, 0,
                  (float)(op->reduction == SSQ_REDUCTION_MEAN
                              ? total / (double)n
                              : total));
    return SSQ_OK;
}

REFERENCE_IMPL(loss);
