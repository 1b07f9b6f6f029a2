/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_cell.c - the pointwise LSTM and GRU cells: check and enqueue. */
#include <sesqui/ops/rnn.h>

#include "kernels/rnn/rnn.h"
#include "lib/op/operands.h"
#include "lib/op/rnn/rnn.h"

#include <stdio.h>

#define F32_BIT  DTYPE_BIT(SSQ_F32)
#define OPTIONAL OPERAND_OPTIONAL
#define OUT      OPERAND_OUT

/* An operand [batch, parts h]; operands are in the order of the op's views. */
struct cell_operand {
    struct operand_rule rule;
    int parts; /* its columns as a multiple of h: 1 for a state */
};
/** Most operands of a cell: GRU backward and LSTM backward have 8. */
#define MOST_OPERANDS 8

/* Report an operand whose shape does not match another one's. */
static ssq_status shape_error(const struct cell_operand *o,
                              const struct view *want,
                              const struct cell_operand *of, const char *name)
{
    char tt[128], tw[128], ty[128];
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected %s for %s, %s",
                     name, o->rule.name,
                     view_text(&o->rule.tensor->view, tt, sizeof(tt)),
                     view_text(want, tw, sizeof(tw)), of->rule.name,
                     view_text(&of->rule.tensor->view, ty, sizeof(ty)));
}

/* Refuse operands that are not matrices with the batch of operand `of`, which
 * is present, and its h columns per part. Absent ones pass. */
static ssq_status rnn_cell_check_shapes(const struct cell_operand *o, int n,
                                        const struct cell_operand *of,
                                        const char *name)
{
    const struct view *y = &of->rule.tensor->view;
    char ty[128], parts[16] = "";
    if (of->parts > 1)
        snprintf(parts, sizeof(parts), "%d ", of->parts);
    if (y->rank != 2 || y->shape[1] > INT64_MAX / 8 ||
        y->shape[1] % of->parts != 0)
        return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected [batch, %sh]",
                         name, of->rule.name, view_text(y, ty, sizeof(ty)),
                         parts);
    int64_t h = y->shape[1] / of->parts;
    for (int i = 0; i < n; i++) {
        const ssq_tensor *t = o[i].rule.tensor;
        const struct view want = {.rank = 2,
                                  .shape = {y->shape[0], o[i].parts * h}};
        if (t != NULL && !view_same_shape(&t->view, &want))
            return shape_error(&o[i], &want, of, name);
    }
    return SSQ_OK;
}

/* Check the n operands; operand number `of` determines batch and h. *empty: no
 * element is written. */
static ssq_status check_cell(const ssq_queue *queue, const char *name,
                             const struct cell_operand *o, int n, int of,
                             bool *empty)
{
    struct operand_rule rules[MOST_OPERANDS];
    for (int i = 0; i < n; i++)
        rules[i] = o[i].rule;
    ssq_status st = operands_check(queue, name, rules, n);
    if (st == SSQ_OK)
        st = rnn_cell_check_shapes(o, n, &o[of], name);
    if (st == SSQ_OK)
        *empty = view_elements(&o[of].rule.tensor->view) == 0;
    return st;
}

/* Check, then enqueue the op with the operands as its first views. The operands
 * are listed in the order of the op's struct. */
static ssq_status run_cell(ssq_queue *queue, const char *name,
                           const struct cell_operand *o, int n, int of,
                           struct op *op)
{
    bool empty = false;
    ssq_status st = check_cell(queue, name, o, n, of, &empty);
    if (st != SSQ_OK || empty)
        return st;
    for (int i = 0; i < n; i++)
        op_views(op)[i] = tensor_view(
            o[i].rule.tensor,
            (o[i].rule.flags & OUT) != 0 ? ACCESS_WRITE : ACCESS_READ);
    return queue_enqueue(queue, op);
}

#define COUNT(O) ((int)(sizeof(O) / sizeof((O)[0])))

ssq_status ssq_lstm_cell(ssq_queue *queue, const ssq_lstm_cell_args *a)
{
    ssq_status st = CHECK_CALL(queue, a, "lstm_cell");
    if (st != SSQ_OK)
        return st;
    const struct cell_operand o[] = {
        {{a->a, "a", DTYPES_FLOAT, 0, 0}, 4},
        {{a->c, "c", F32_BIT, OPTIONAL, 0}, 1},
        {{a->y, "y", DTYPES_FLOAT, OUT, 0}, 1},
        {{a->c_out, "c_out", F32_BIT, OUT, 1u << 1}, 1},
        {{a->gates, "gates", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 0}, 4},
    };
    struct lstm_cell_op op = {.op = OP_HEADER(lstm_cell, a)};
    return run_cell(queue, "lstm_cell", o, COUNT(o), 2, &op.op);
}

ssq_status ssq_lstm_cell_backward(ssq_queue *queue,
                                  const ssq_lstm_cell_backward_args *a)
{
    ssq_status st = CHECK_CALL(queue, a, "lstm_cell_backward");
    if (st != SSQ_OK)
        return st;
    const struct cell_operand o[] = {
        {{a->gates, "gates", DTYPES_FLOAT, 0, 0}, 4},
        {{a->c, "c", F32_BIT, OPTIONAL, 0}, 1},
        {{a->c_out, "c_out", F32_BIT, 0, 0}, 1},
        {{a->dy, "dy", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->dh, "dh", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->dc, "dc", F32_BIT, OPTIONAL, 0}, 1},
        {{a->da, "da", DTYPES_FLOAT, OUT, 1u << 0}, 4},
        {{a->dc_in, "dc_in", F32_BIT, OUT | OPTIONAL, 1u << 5}, 1},
    };
    struct lstm_cell_backward_op op = {
        .op = OP_HEADER(lstm_cell_backward, gates)};
    return run_cell(queue, "lstm_cell_backward", o, COUNT(o), 2, &op.op);
}

ssq_status ssq_gru_cell(ssq_queue *queue, const ssq_gru_cell_args *a)
{
    ssq_status st = CHECK_CALL(queue, a, "gru_cell");
    if (st != SSQ_OK)
        return st;
    const struct cell_operand o[] = {
        {{a->u, "u", DTYPES_FLOAT, 0, 0}, 3},
        {{a->v, "v", DTYPES_FLOAT, 0, 0}, 3},
        {{a->h, "h", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->y, "y", DTYPES_FLOAT, OUT, 1u << 2}, 1},
        {{a->gates, "gates", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 0}, 3},
        {{a->q, "q", DTYPES_FLOAT, OUT | OPTIONAL, 0}, 1},
    };
    struct gru_cell_op op = {.op = OP_HEADER(gru_cell, u),
                             .stage = a->reset_first ? GRU_REST : GRU_WHOLE};
    return run_cell(queue, "gru_cell", o, COUNT(o), 3, &op.op);
}

/* With reset_first q is not needed. If it is NULL, gates determines the
 * sizes. */
ssq_status ssq_gru_cell_backward(ssq_queue *queue,
                                 const ssq_gru_cell_backward_args *a)
{
    ssq_status st = CHECK_CALL(queue, a, "gru_cell_backward");
    if (st != SSQ_OK)
        return st;
    const struct cell_operand o[] = {
        {{a->gates, "gates", DTYPES_FLOAT, 0, 0}, 3},
        {{a->q, "q", DTYPES_FLOAT, a->reset_first ? OPTIONAL : 0, 0}, 1},
        {{a->h, "h", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->dy, "dy", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->dh, "dh", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->du, "du", DTYPES_FLOAT, OUT, 1u << 0}, 3},
        {{a->dv, "dv", DTYPES_FLOAT, OUT, 0}, 3},
        {{a->dh_in, "dh_in", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 4}, 1},
    };
    struct gru_cell_backward_op op = {.op = OP_HEADER(gru_cell_backward, gates),
                                      .stage = a->reset_first ? GRU_REST
                                                              : GRU_WHOLE};
    return run_cell(queue, "gru_cell_backward", o, COUNT(o),
                    a->q == NULL ? 0 : 1, &op.op);
}

ssq_status ssq_gru_reset(ssq_queue *queue, const ssq_gru_reset_args *a)
{
    ssq_status st = CHECK_CALL(queue, a, "gru_reset");
    if (st != SSQ_OK)
        return st;
    const struct cell_operand o[] = {
        {{a->u, "u", DTYPES_FLOAT, 0, 0}, 3},
        {{a->v, "v", DTYPES_FLOAT, 0, 0}, 3},
        {{a->h, "h", DTYPES_FLOAT, 0, 0}, 1},
        {{a->y, "y", DTYPES_FLOAT, OUT, 1u << 2}, 1},
    };
    struct gru_cell_op op = {.op = OP_HEADER(gru_cell, u),
                             .stage = GRU_RESET,
                             .gates = tensor_view(NULL, ACCESS_WRITE),
                             .q = tensor_view(NULL, ACCESS_WRITE)};
    return run_cell(queue, "gru_reset", o, COUNT(o), 3, &op.op);
}

/* The operands are not in the order of the op's views, so the views are set
 * here. */
ssq_status ssq_gru_reset_backward(ssq_queue *queue,
                                  const ssq_gru_reset_backward_args *a)
{
    ssq_status st = CHECK_CALL(queue, a, "gru_reset_backward");
    if (st != SSQ_OK)
        return st;
    const struct cell_operand o[] = {
        {{a->gates, "gates", DTYPES_FLOAT, 0, 0}, 3},
        {{a->h, "h", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->dy, "dy", DTYPES_FLOAT, 0, 0}, 1},
        {{a->dh, "dh", DTYPES_FLOAT, OPTIONAL, 0}, 1},
        {{a->du, "du", DTYPES_FLOAT, OUT, 1u << 0}, 3},
        {{a->dv, "dv", DTYPES_FLOAT, OUT, 0}, 3},
        {{a->dh_in, "dh_in", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 3}, 1},
    };
    bool empty = false;
    st = check_cell(queue, "gru_reset_backward", o, COUNT(o), 2, &empty);
    if (st != SSQ_OK || empty)
        return st;
    struct gru_cell_backward_op op = {
        .op = OP_HEADER(gru_cell_backward, gates),
        .stage = GRU_RESET,
        .gates = tensor_view(a->gates, ACCESS_READ),
        .q = tensor_view(a->dy, ACCESS_READ), /* the gradient of r h */
        .h = tensor_view(a->h, ACCESS_READ),
        .dy = tensor_view(NULL, ACCESS_READ),
        .dh = tensor_view(a->dh, ACCESS_READ),
        .du = tensor_view(a->du, ACCESS_WRITE),
        .dv = tensor_view(a->dv, ACCESS_WRITE),
        .dh_in = tensor_view(a->dh_in, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}
