/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - reference: the pointwise cells of LSTM and GRU. */
#include "lib/op/rnn/rnn.h"

#include "backends/reference/reference.h"
#include "kernels/rnn/rnn.h"

/* Load element (b, column) of a matrix. An absent matrix is 0 everywhere, for
 * example a first state or a gradient that was not given. */
static float cell_load(const struct view *v, int64_t b, int64_t column)
{
    if (v->buffer == NULL)
        return 0.0f;
    return load_f32(view_host(v), v->dtype,
                    b * v->stride[0] + column * v->stride[1]);
}

/* Store element (b, column) of a matrix. Does nothing if it is absent. */
static void cell_store(const struct view *v, int64_t b, int64_t column,
                       float value)
{
    if (v->buffer != NULL)
        store_f32(view_host(v), v->dtype,
                  b * v->stride[0] + column * v->stride[1], value);
}

/* Compute column j of the state of row b, from column j of the gates i, f, g,
 * o. The gates are next to each other, h columns each. All inputs are read
 * before an output is written, because gates may be a and c_out may be c. */
static void lstm_element(const struct lstm_cell_op *op, int64_t b, int64_t j)
{
    int64_t h = op->y.shape[1];
    float i = rnn_sigmoid(cell_load(&op->a, b, j));
    float f = rnn_sigmoid(cell_load(&op->a, b, h + j));
    float g = rnn_tanh(cell_load(&op->a, b, 2 * h + j));
    float o = rnn_sigmoid(cell_load(&op->a, b, 3 * h + j));
    float c = lstm_state(i, f, g, cell_load(&op->c, b, j));
    cell_store(&op->gates, b, j, i);
    cell_store(&op->gates, b, h + j, f);
    cell_store(&op->gates, b, 2 * h + j, g);
    cell_store(&op->gates, b, 3 * h + j, o);
    cell_store(&op->c_out, b, j, c);
    cell_store(&op->y, b, j, lstm_value(o, c));
}

/* Run the cell. Elements of the state do not depend on each other. */
static ssq_status reference_lstm_cell_run(struct backend_queue *queue,
                                          const struct lstm_cell_op *op)
{
    (void)queue;
    for (int64_t b = 0; b < op->y.shape[0]; b++)
        for (int64_t j = 0; j < op->y.shape[1]; j++)
            lstm_element(op, b, j);
    return SSQ_OK;
}

/* Compute the gradients of column j of row b. e is the gradient of y, and d the
 * gradient of the new cell state. All inputs are read before an output is
 * written, because da may be gates and dc_in may be dc. */
static void lstm_backward_element(const struct lstm_cell_backward_op *op,
                                  int64_t b, int64_t j)
{
    int64_t h = op->c_out.shape[1];
    float i = cell_load(&op->gates, b, j), f = cell_load(&op->gates, b, h + j);
    float g = cell_load(&op->gates, b, 2 * h + j),
          o = cell_load(&op->gates, b, 3 * h + j);
    float c = cell_load(&op->c, b, j), c_out = cell_load(&op->c_out, b, j);
    float e = rnn_add(cell_load(&op->dy, b, j), cell_load(&op->dh, b, j));
    float d = lstm_state_grad(o, c_out, e, cell_load(&op->dc, b, j));
    cell_store(&op->da, b, j, lstm_i_grad(d, i, g));
    cell_store(&op->da, b, h + j, lstm_f_grad(d, f, c));
    cell_store(&op->da, b, 2 * h + j, lstm_g_grad(d, i, g));
    cell_store(&op->da, b, 3 * h + j, lstm_o_grad(e, o, c_out));
    cell_store(&op->dc_in, b, j, rnn_mul(d, f));
}

static ssq_status
reference_lstm_cell_backward_run(struct backend_queue *queue,
                                 const struct lstm_cell_backward_op *op)
{
    (void)queue;
    for (int64_t b = 0; b < op->c_out.shape[0]; b++)
        for (int64_t j = 0; j < op->c_out.shape[1]; j++)
            lstm_backward_element(op, b, j);
    return SSQ_OK;
}

/* Compute column j of the state of row b, from the gates r, z, n. Stage
 * GRU_RESET computes only y = r h. In stage GRU_REST r was already applied
 * before the matmul of q, and gru_factor() is 1. */
static void gru_element(const struct gru_cell_op *op, int64_t b, int64_t j)
{
    int64_t h = op->y.shape[1];
    float r =
        rnn_sigmoid(rnn_add(cell_load(&op->u, b, j), cell_load(&op->v, b, j)));
    if (op->stage == GRU_RESET) {
        cell_store(&op->y, b, j, rnn_mul(r, cell_load(&op->h, b, j)));
        return;
    }
    float z = rnn_sigmoid(
        rnn_add(cell_load(&op->u, b, h + j), cell_load(&op->v, b, h + j)));
    float q = cell_load(&op->v, b, 2 * h + j);
    float n = gru_candidate(cell_load(&op->u, b, 2 * h + j),
                            gru_factor(op->stage, r), q);
    float y = gru_value(z, n, cell_load(&op->h, b, j));
    cell_store(&op->gates, b, j, r);
    cell_store(&op->gates, b, h + j, z);
    cell_store(&op->gates, b, 2 * h + j, n);
    cell_store(&op->q, b, j, s_canonical(q));
    cell_store(&op->y, b, j, y);
}

static ssq_status reference_gru_cell_run(struct backend_queue *queue,
                                         const struct gru_cell_op *op)
{
    (void)queue;
    for (int64_t b = 0; b < op->y.shape[0]; b++)
        for (int64_t j = 0; j < op->y.shape[1]; j++)
            gru_element(op, b, j);
    return SSQ_OK;
}

/* Compute the gradients of r's argument and of h from d, the gradient of r h,
 * which is in q. dy and dh are added to the gradient of h. */
static void gru_reset_backward_element(const struct gru_cell_backward_op *op,
                                       int64_t b, int64_t j)
{
    float r = cell_load(&op->gates, b, j), d = cell_load(&op->q, b, j),
          d_r = 0.0f;
    float e = rnn_add(cell_load(&op->dy, b, j), cell_load(&op->dh, b, j));
    if (op->h.buffer != NULL)
        d_r = gru_r_grad(d, r, cell_load(&op->h, b, j));
    cell_store(&op->du, b, j, d_r);
    cell_store(&op->dv, b, j, d_r);
    cell_store(&op->dh_in, b, j, rnn_add(e, rnn_mul(d, r)));
}

/* Compute the gradients of all gates, and the cell's part of the gradient of h.
 * k is the gradient of the argument of the candidate's tanh. Stage GRU_REST
 * does not write the gradients of r: stage GRU_RESET, which runs later,
 * does. */
static void gru_backward_element(const struct gru_cell_backward_op *op,
                                 int64_t b, int64_t j)
{
    int64_t h = op->du.shape[1] / 3;
    float r = cell_load(&op->gates, b, j), z = cell_load(&op->gates, b, h + j);
    float n = cell_load(&op->gates, b, 2 * h + j), q = cell_load(&op->q, b, j);
    float e = rnn_add(cell_load(&op->dy, b, j), cell_load(&op->dh, b, j));
    float k = gru_candidate_grad(e, z, n), d_r = gru_r_grad(k, r, q);
    float d_z = gru_z_grad(e, z, n, cell_load(&op->h, b, j));
    if (op->stage != GRU_REST) {
        cell_store(&op->du, b, j, d_r);
        cell_store(&op->dv, b, j, d_r);
    }
    cell_store(&op->du, b, h + j, d_z);
    cell_store(&op->du, b, 2 * h + j, k);
    cell_store(&op->dv, b, h + j, d_z);
    cell_store(&op->dv, b, 2 * h + j, rnn_mul(k, gru_factor(op->stage, r)));
    cell_store(&op->dh_in, b, j, rnn_mul(e, z));
}

/* Run the backward of the cell. du has three gates, each as wide as the state.
 * Stage GRU_RESET has a separate function. */
static ssq_status
reference_gru_cell_backward_run(struct backend_queue *queue,
                                const struct gru_cell_backward_op *op)
{
    (void)queue;
    bool reset = op->stage == GRU_RESET;
    for (int64_t b = 0; b < op->du.shape[0]; b++)
        for (int64_t j = 0; j < op->du.shape[1] / 3; j++)
            (reset ? gru_reset_backward_element : gru_backward_element)(op, b,
                                                                        j);
    return SSQ_OK;
}

REFERENCE_IMPL(lstm_cell);
REFERENCE_IMPL(lstm_cell_backward);
REFERENCE_IMPL(gru_cell);
REFERENCE_IMPL(gru_cell_backward);
