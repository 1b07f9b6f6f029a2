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

/* [batch, parts h]. */
struct matrix {
    const ssq_tensor *t;
    const char *what;
    int parts;
};

/* All are matrices of the first one's batch, and of its h columns a part. The
 * first is present. */
static ssq_status check_shapes(const struct matrix *m, int n, const char *name)
{
    const struct view *y = &m[0].t->view;
    char tt[128], tw[128], ty[128], parts[16] = "";
    if (m[0].parts > 1)
        snprintf(parts, sizeof(parts), "%d ", m[0].parts);
    if (y->rank != 2 || y->shape[1] > INT64_MAX / 8 ||
        y->shape[1] % m[0].parts != 0)
        return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected [batch, %sh]",
                         name, m[0].what, view_text(y, ty, sizeof(ty)), parts);
    int64_t h = y->shape[1] / m[0].parts;
    for (int i = 1; i < n; i++) {
        const struct view want = {.rank = 2,
                                  .shape = {y->shape[0], m[i].parts * h}};
        if (m[i].t == NULL || view_same_shape(&m[i].t->view, &want))
            continue;
        return error_set(SSQ_ERR_INVALID,
                         "%s: %s is %s, expected %s for %s, %s", name,
                         m[i].what, view_text(&m[i].t->view, tt, sizeof(tt)),
                         view_text(&want, tw, sizeof(tw)), m[0].what,
                         view_text(y, ty, sizeof(ty)));
    }
    return SSQ_OK;
}

#define CHECK_SHAPES(M, NAME)                                                  \
    check_shapes(M, (int)(sizeof(M) / sizeof((M)[0])), NAME)

static ssq_status lstm_cell(ssq_queue *queue, const ssq_lstm_cell_args *a)
{
    const char *name = "lstm_cell";
    const struct operand_rule rules[] = {
        {a->a, "a", DTYPES_FLOAT, 0, 0},
        {a->c, "c", F32_BIT, OPTIONAL, 0},
        {a->y, "y", DTYPES_FLOAT, OUT, 0},
        {a->c_out, "c_out", F32_BIT, OUT, 1u << 1},
        {a->gates, "gates", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 0},
    };
    const struct matrix shapes[] = {{a->y, "y", 1},
                                    {a->a, "a", 4},
                                    {a->c, "c", 1},
                                    {a->c_out, "c_out", 1},
                                    {a->gates, "gates", 4}};
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = CHECK_SHAPES(shapes, name);
    if (st != SSQ_OK || view_elements(&a->y->view) == 0)
        return st;
    struct lstm_cell_op op = {.op = OP_HEADER(lstm_cell, a),
                              .a = tensor_view(a->a, ACCESS_READ),
                              .c = tensor_view(a->c, ACCESS_READ),
                              .y = tensor_view(a->y, ACCESS_WRITE),
                              .c_out = tensor_view(a->c_out, ACCESS_WRITE),
                              .gates = tensor_view(a->gates, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_lstm_cell(ssq_queue *queue, const ssq_lstm_cell_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "lstm_cell");
    return st == SSQ_OK ? lstm_cell(queue, args) : st;
}

static ssq_status lstm_cell_backward(ssq_queue *queue,
                                     const ssq_lstm_cell_backward_args *a)
{
    const char *name = "lstm_cell_backward";
    const struct operand_rule rules[] = {
        {a->gates, "gates", DTYPES_FLOAT, 0, 0},
        {a->c, "c", F32_BIT, OPTIONAL, 0},
        {a->c_out, "c_out", F32_BIT, 0, 0},
        {a->dy, "dy", DTYPES_FLOAT, OPTIONAL, 0},
        {a->dh, "dh", DTYPES_FLOAT, OPTIONAL, 0},
        {a->dc, "dc", F32_BIT, OPTIONAL, 0},
        {a->da, "da", DTYPES_FLOAT, OUT, 1u << 0},
        {a->dc_in, "dc_in", F32_BIT, OUT | OPTIONAL, 1u << 5},
    };
    const struct matrix shapes[] = {
        {a->c_out, "c_out", 1}, {a->gates, "gates", 4}, {a->c, "c", 1},
        {a->dy, "dy", 1},       {a->dh, "dh", 1},       {a->dc, "dc", 1},
        {a->da, "da", 4},       {a->dc_in, "dc_in", 1}};
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = CHECK_SHAPES(shapes, name);
    if (st != SSQ_OK || view_elements(&a->c_out->view) == 0)
        return st;
    struct lstm_cell_backward_op op = {
        .op = OP_HEADER(lstm_cell_backward, gates),
        .gates = tensor_view(a->gates, ACCESS_READ),
        .c_out = tensor_view(a->c_out, ACCESS_READ),
        .c = tensor_view(a->c, ACCESS_READ),
        .dy = tensor_view(a->dy, ACCESS_READ),
        .dh = tensor_view(a->dh, ACCESS_READ),
        .dc = tensor_view(a->dc, ACCESS_READ),
        .da = tensor_view(a->da, ACCESS_WRITE),
        .dc_in = tensor_view(a->dc_in, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_lstm_cell_backward(ssq_queue *queue,
                                  const ssq_lstm_cell_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "lstm_cell_backward");
    return st == SSQ_OK ? lstm_cell_backward(queue, args) : st;
}

static ssq_status gru_cell(ssq_queue *queue, const ssq_gru_cell_args *a)
{
    const char *name = "gru_cell";
    const struct operand_rule rules[] = {
        {a->u, "u", DTYPES_FLOAT, 0, 0},
        {a->v, "v", DTYPES_FLOAT, 0, 0},
        {a->h, "h", DTYPES_FLOAT, OPTIONAL, 0},
        {a->y, "y", DTYPES_FLOAT, OUT, 1u << 2},
        {a->gates, "gates", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 0},
        {a->q, "q", DTYPES_FLOAT, OUT | OPTIONAL, 0},
    };
    const struct matrix shapes[] = {{a->y, "y", 1}, {a->u, "u", 3},
                                    {a->v, "v", 3}, {a->h, "h", 1},
                                    {a->q, "q", 1}, {a->gates, "gates", 3}};
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = CHECK_SHAPES(shapes, name);
    if (st != SSQ_OK || view_elements(&a->y->view) == 0)
        return st;
    struct gru_cell_op op = {.op = OP_HEADER(gru_cell, u),
                             .stage = a->reset_first ? GRU_REST : GRU_WHOLE,
                             .u = tensor_view(a->u, ACCESS_READ),
                             .v = tensor_view(a->v, ACCESS_READ),
                             .h = tensor_view(a->h, ACCESS_READ),
                             .y = tensor_view(a->y, ACCESS_WRITE),
                             .gates = tensor_view(a->gates, ACCESS_WRITE),
                             .q = tensor_view(a->q, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_gru_cell(ssq_queue *queue, const ssq_gru_cell_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru_cell");
    return st == SSQ_OK ? gru_cell(queue, args) : st;
}

static ssq_status gru_cell_backward(ssq_queue *queue,
                                    const ssq_gru_cell_backward_args *a)
{
    const char *name = "gru_cell_backward";
    const struct operand_rule rules[] = {
        {a->gates, "gates", DTYPES_FLOAT, 0, 0},
        {a->q, "q", DTYPES_FLOAT, a->reset_first ? OPTIONAL : 0, 0},
        {a->h, "h", DTYPES_FLOAT, OPTIONAL, 0},
        {a->dy, "dy", DTYPES_FLOAT, OPTIONAL, 0},
        {a->dh, "dh", DTYPES_FLOAT, OPTIONAL, 0},
        {a->du, "du", DTYPES_FLOAT, OUT, 1u << 0},
        {a->dv, "dv", DTYPES_FLOAT, OUT, 0},
        {a->dh_in, "dh_in", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 4},
    };
    struct matrix shapes[] = {{a->q, "q", 1},   {a->gates, "gates", 3},
                              {a->h, "h", 1},   {a->dy, "dy", 1},
                              {a->dh, "dh", 1}, {a->du, "du", 3},
                              {a->dv, "dv", 3}, {a->dh_in, "dh_in", 1}};
    if (a->q == NULL) {
        shapes[0] = shapes[1];
        shapes[1] = (struct matrix){NULL, "q", 1};
    }
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = CHECK_SHAPES(shapes, name);
    if (st != SSQ_OK || view_elements(&a->gates->view) == 0)
        return st;
    struct gru_cell_backward_op op = {
        .op = OP_HEADER(gru_cell_backward, gates),
        .stage = a->reset_first ? GRU_REST : GRU_WHOLE,
        .gates = tensor_view(a->gates, ACCESS_READ),
        .q = tensor_view(a->q, ACCESS_READ),
        .h = tensor_view(a->h, ACCESS_READ),
        .dy = tensor_view(a->dy, ACCESS_READ),
        .dh = tensor_view(a->dh, ACCESS_READ),
        .du = tensor_view(a->du, ACCESS_WRITE),
        .dv = tensor_view(a->dv, ACCESS_WRITE),
        .dh_in = tensor_view(a->dh_in, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_gru_cell_backward(ssq_queue *queue,
                                 const ssq_gru_cell_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru_cell_backward");
    return st == SSQ_OK ? gru_cell_backward(queue, args) : st;
}

static ssq_status gru_reset(ssq_queue *queue, const ssq_gru_reset_args *a)
{
    const char *name = "gru_reset";
    const struct operand_rule rules[] = {
        {a->u, "u", DTYPES_FLOAT, 0, 0},
        {a->v, "v", DTYPES_FLOAT, 0, 0},
        {a->h, "h", DTYPES_FLOAT, 0, 0},
        {a->y, "y", DTYPES_FLOAT, OUT, 1u << 2},
    };
    const struct matrix shapes[] = {
        {a->y, "y", 1}, {a->u, "u", 3}, {a->v, "v", 3}, {a->h, "h", 1}};
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = CHECK_SHAPES(shapes, name);
    if (st != SSQ_OK || view_elements(&a->y->view) == 0)
        return st;
    struct gru_cell_op op = {.op = OP_HEADER(gru_cell, u),
                             .stage = GRU_RESET,
                             .u = tensor_view(a->u, ACCESS_READ),
                             .v = tensor_view(a->v, ACCESS_READ),
                             .h = tensor_view(a->h, ACCESS_READ),
                             .y = tensor_view(a->y, ACCESS_WRITE),
                             .gates = tensor_view(NULL, ACCESS_WRITE),
                             .q = tensor_view(NULL, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_gru_reset(ssq_queue *queue, const ssq_gru_reset_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru_reset");
    return st == SSQ_OK ? gru_reset(queue, args) : st;
}

static ssq_status gru_reset_backward(ssq_queue *queue,
                                     const ssq_gru_reset_backward_args *a)
{
    const char *name = "gru_reset_backward";
    const struct operand_rule rules[] = {
        {a->gates, "gates", DTYPES_FLOAT, 0, 0},
        {a->h, "h", DTYPES_FLOAT, OPTIONAL, 0},
        {a->dy, "dy", DTYPES_FLOAT, 0, 0},
        {a->dh, "dh", DTYPES_FLOAT, OPTIONAL, 0},
        {a->du, "du", DTYPES_FLOAT, OUT, 1u << 0},
        {a->dv, "dv", DTYPES_FLOAT, OUT, 0},
        {a->dh_in, "dh_in", DTYPES_FLOAT, OUT | OPTIONAL, 1u << 3},
    };
    const struct matrix shapes[] = {
        {a->dy, "dy", 1},      {a->gates, "gates", 3}, {a->h, "h", 1},
        {a->dh, "dh", 1},      {a->du, "du", 3},       {a->dv, "dv", 3},
        {a->dh_in, "dh_in", 1}};
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = CHECK_SHAPES(shapes, name);
    if (st != SSQ_OK || view_elements(&a->dy->view) == 0)
        return st;
    struct gru_cell_backward_op op = {
        .op = OP_HEADER(gru_cell_backward, gates),
        .stage = GRU_RESET,
        .gates = tensor_view(a->gates, ACCESS_READ),
        .q = tensor_view(a->dy, ACCESS_READ),
        .h = tensor_view(a->h, ACCESS_READ),
        .dy = tensor_view(NULL, ACCESS_READ),
        .dh = tensor_view(a->dh, ACCESS_READ),
        .du = tensor_view(a->du, ACCESS_WRITE),
        .dv = tensor_view(a->dv, ACCESS_WRITE),
        .dh_in = tensor_view(a->dh_in, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_gru_reset_backward(ssq_queue *queue,
                                  const ssq_gru_reset_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "gru_reset_backward");
    return st == SSQ_OK ? gru_reset_backward(queue, args) : st;
}
