/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - plans of the pointwise cells of LSTM and GRU. */
#include "lib/plan/floats.h"

#include "kernels/rnn/rnn_args.h"
#include "lib/op/rnn/rnn.h"

struct lstm_args {
    LSTM_FIELDS
};
struct lstm_backward_args {
    LSTM_BACKWARD_FIELDS
};
struct gru_args {
    GRU_FIELDS
};
struct gru_backward_args {
    GRU_BACKWARD_FIELDS
};

/* RNN_MATRIX(N), RNN_SIZES of a. */
#define MATRIX(N)                                                              \
    do {                                                                       \
        a.N##_dtype = op->N.buffer == NULL ? 0 : (uint32_t)op->N.dtype;        \
        a.N##_row = (uint32_t)op->N.stride[0];                                 \
        a.N##_column = (uint32_t)op->N.stride[1];                              \
    } while (0)
#define SIZES(V)                                                               \
    do {                                                                       \
        a.rows = (uint32_t)(V).shape[0];                                       \
        a.columns = (uint32_t)(V).shape[1];                                    \
        a.parts = (a.columns + RNN_COLUMNS - 1) / RNN_COLUMNS;                 \
    } while (0)

/* Of a task: the quotients of its columns' gates. */
static uint64_t cell_loops(const struct plan *p)
{
    return loops_shared(plan_limits(p), RNN_COLUMNS, 8 * LOOPS_DIVIDE);
}

static void lstm(struct plan *p, const struct lstm_cell_op *op)
{
    uint8_t d = FLOATS_KEY(&op->a, &op->y, &op->gates);
    struct lstm_args a = {0};
    SIZES(op->y);
    MATRIX(a);
    MATRIX(c);
    MATRIX(y);
    MATRIX(c_out);
    MATRIX(gates);
    plan_kernel(p, KERNEL_lstm_cell_forward, KEYS(d));
    floats_bind(p, &op->a, d, ACCESS_READ);
    plan_bind(p, &op->c, ACCESS_READ);
    floats_bind(p, &op->y, d, ACCESS_WRITE);
    plan_bind(p, &op->c_out, ACCESS_WRITE);
    floats_bind(p, &op->gates, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), (uint64_t)a.rows * a.parts, cell_loops(p));
}

static void lstm_backward(struct plan *p,
                          const struct lstm_cell_backward_op *op)
{
    uint8_t d = FLOATS_KEY(&op->gates, &op->dy, &op->dh, &op->da);
    struct lstm_backward_args a = {0};
    SIZES(op->c_out);
    MATRIX(gates);
    MATRIX(c_out);
    MATRIX(c);
    MATRIX(dy);
    MATRIX(dh);
    MATRIX(dc);
    MATRIX(da);
    MATRIX(dc_in);
    plan_kernel(p, KERNEL_lstm_cell_gradient, KEYS(d));
    floats_bind(p, &op->gates, d, ACCESS_READ);
    plan_bind(p, &op->c_out, ACCESS_READ);
    plan_bind(p, &op->c, ACCESS_READ);
    floats_bind(p, &op->dy, d, ACCESS_READ);
    floats_bind(p, &op->dh, d, ACCESS_READ);
    plan_bind(p, &op->dc, ACCESS_READ);
    floats_bind(p, &op->da, d, ACCESS_WRITE);
    plan_bind(p, &op->dc_in, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), (uint64_t)a.rows * a.parts, cell_loops(p));
}

static void gru(struct plan *p, const struct gru_cell_op *op)
{
    uint8_t d = FLOATS_KEY(&op->u, &op->v, &op->h, &op->y, &op->gates, &op->q);
    struct gru_args a = {.stage = op->stage};
    SIZES(op->y);
    MATRIX(u);
    MATRIX(v);
    MATRIX(h);
    MATRIX(y);
    MATRIX(gates);
    MATRIX(q);
    plan_kernel(p, KERNEL_gru_cell_forward, KEYS(d));
    floats_bind(p, &op->u, d, ACCESS_READ);
    floats_bind(p, &op->v, d, ACCESS_READ);
    floats_bind(p, &op->h, d, ACCESS_READ);
    floats_bind(p, &op->y, d, ACCESS_WRITE);
    floats_bind(p, &op->gates, d, ACCESS_WRITE);
    floats_bind(p, &op->q, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), (uint64_t)a.rows * a.parts, cell_loops(p));
}

static void gru_backward(struct plan *p, const struct gru_cell_backward_op *op)
{
    uint8_t d = FLOATS_KEY(&op->gates, &op->q, &op->h, &op->dy, &op->dh,
                           &op->du, &op->dv, &op->dh_in);
    struct gru_backward_args a = {.stage = op->stage};
    const struct view state = view_columns(&op->du, 0, op->du.shape[1] / 3);
    SIZES(state);
    MATRIX(gates);
    MATRIX(q);
    MATRIX(h);
    MATRIX(dy);
    MATRIX(dh);
    MATRIX(du);
    MATRIX(dv);
    MATRIX(dh_in);
    plan_kernel(p, KERNEL_gru_cell_gradient, KEYS(d));
    floats_bind(p, &op->gates, d, ACCESS_READ);
    floats_bind(p, &op->q, d, ACCESS_READ);
    floats_bind(p, &op->h, d, ACCESS_READ);
    floats_bind(p, &op->dy, d, ACCESS_READ);
    floats_bind(p, &op->dh, d, ACCESS_READ);
    floats_bind(p, &op->du, d, ACCESS_WRITE);
    floats_bind(p, &op->dv, d, ACCESS_WRITE);
    floats_bind(p, &op->dh_in, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), (uint64_t)a.rows * a.parts, cell_loops(p));
}

const struct lstm_cell_plan lstm_cell_plans[] = {{"portable", NULL, lstm},
                                                 {NULL}};
const struct lstm_cell_backward_plan lstm_cell_backward_plans[] = {
    {"portable", NULL, lstm_backward}, {NULL}};
const struct gru_cell_plan gru_cell_plans[] = {{"portable", NULL, gru}, {NULL}};
const struct gru_cell_backward_plan gru_cell_backward_plans[] = {
    {"portable", NULL, gru_backward}, {NULL}};
