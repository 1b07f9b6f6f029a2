/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - the plans of the pointwise cells of LSTM and GRU. */
#include "lib/plan/floats.h"

#include "kernels/rnn/rnn_args.h"
#include "lib/op/rnn/rnn.h"
#include "lib/plan/windows.h"

/* Rows are independent. Columns are not cut, because those of a gate lie h
 * apart. */
static const struct window_cut by_rows = {.walked = 0xff, .dims = 1};

/* Return the layout of a matrix, with steps in elements. An absent matrix has
 * the dtype 0, which the kernel checks. */
static struct rnn_matrix plan_rnn_matrix(const struct view *v)
{
    struct rnn_matrix m = {.row = (uint32_t)v->stride[0],
                           .column = (uint32_t)v->stride[1]};
    m.dtype = v->buffer == NULL ? 0 : (uint32_t)v->dtype;
    return m;
}

/* Return the sizes of a cell. A task is a part of a row, of RNN_COLUMNS
 * columns, so a small batch has many tasks, too. */
static struct rnn_sizes sizes(const struct view *v)
{
    struct rnn_sizes s = {.rows = (uint32_t)v->shape[0],
                          .columns = (uint32_t)v->shape[1]};
    s.parts = (uint32_t)size_div_up(s.columns, RNN_COLUMNS);
    return s;
}

/* Return the number of tasks: one group for each part of each row. */
static uint64_t rnn_tasks_of(const struct rnn_sizes *s)
{
    return (uint64_t)s->rows * s->parts;
}

/* Return the loops of a task. The group shares its columns, and each column
 * counts eight quotients. */
static uint64_t cell_loops(const struct plan *p)
{
    return loops_shared(plan_limits(p), RNN_COLUMNS, 8 * LOOPS_DIVIDE);
}

/* Build an LSTM cell. The operands that may be f16, bf16 or f32 share the key
 * d. The cell states are always float32. Here and below, bindings have the
 * order of the kernel's source. */
static void lstm_window(struct plan *p, const struct op *some, void *user)
{
    const struct lstm_cell_op *op = (const struct lstm_cell_op *)some;
    (void)user;
    uint8_t d = FLOATS_KEY(&op->a, &op->y, &op->gates);
    struct lstm_args a = {0};
    a.size = sizes(&op->y);
    a.a = plan_rnn_matrix(&op->a);
    a.c = plan_rnn_matrix(&op->c);
    a.y = plan_rnn_matrix(&op->y);
    a.c_out = plan_rnn_matrix(&op->c_out);
    a.gates = plan_rnn_matrix(&op->gates);
    plan_kernel(p, KERNEL_lstm_cell_forward, KEYS(d));
    floats_bind(p, &op->a, d, ACCESS_READ);
    plan_bind(p, &op->c, ACCESS_READ);
    floats_bind(p, &op->y, d, ACCESS_WRITE);
    plan_bind(p, &op->c_out, ACCESS_WRITE);
    floats_bind(p, &op->gates, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), rnn_tasks_of(&a.size), cell_loops(p));
}

static void lstm(struct plan *p, const struct lstm_cell_op *op)
{
    struct lstm_cell_op part = *op;
    plan_windows(p, &part.op, &by_rows, lstm_window, NULL);
}

/* Build the gradient of an LSTM cell. dy and dh are two gradients of the same
 * state, from the layer above and from the next step; the kernel adds them.
 * Absent ones count as 0. dc_in is only written if it is present. */
static void lstm_backward_window(struct plan *p, const struct op *some,
                                 void *user)
{
    const struct lstm_cell_backward_op *op =
        (const struct lstm_cell_backward_op *)some;
    (void)user;
    uint8_t d = FLOATS_KEY(&op->gates, &op->dy, &op->dh, &op->da);
    struct lstm_backward_args a = {0};
    a.size = sizes(&op->c_out);
    a.gates = plan_rnn_matrix(&op->gates);
    a.c_out = plan_rnn_matrix(&op->c_out);
    a.c = plan_rnn_matrix(&op->c);
    a.dy = plan_rnn_matrix(&op->dy);
    a.dh = plan_rnn_matrix(&op->dh);
    a.dc = plan_rnn_matrix(&op->dc);
    a.da = plan_rnn_matrix(&op->da);
    a.dc_in = plan_rnn_matrix(&op->dc_in);
    plan_kernel(p, KERNEL_lstm_cell_gradient, KEYS(d));
    floats_bind(p, &op->gates, d, ACCESS_READ);
    plan_bind(p, &op->c_out, ACCESS_READ);
    plan_bind(p, &op->c, ACCESS_READ);
    floats_bind(p, &op->dy, d, ACCESS_READ);
    floats_bind(p, &op->dh, d, ACCESS_READ);
    plan_bind(p, &op->dc, ACCESS_READ);
    floats_bind(p, &op->da, d, ACCESS_WRITE);
    plan_bind(p, &op->dc_in, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), rnn_tasks_of(&a.size), cell_loops(p));
}

static void lstm_backward(struct plan *p,
                          const struct lstm_cell_backward_op *op)
{
    struct lstm_cell_backward_op part = *op;
    plan_windows(p, &part.op, &by_rows, lstm_backward_window, NULL);
}

/* Build a GRU cell. If its reset is applied before the matmul, it has two
 * stages with a matmul between them. The stage is a parameter. */
static void gru_window(struct plan *p, const struct op *some, void *user)
{
    const struct gru_cell_op *op = (const struct gru_cell_op *)some;
    (void)user;
    uint8_t d = FLOATS_KEY(&op->u, &op->v, &op->h, &op->y, &op->gates, &op->q);
    struct gru_args a = {.stage = op->stage};
    a.size = sizes(&op->y);
    a.u = plan_rnn_matrix(&op->u);
    a.v = plan_rnn_matrix(&op->v);
    a.h = plan_rnn_matrix(&op->h);
    a.y = plan_rnn_matrix(&op->y);
    a.gates = plan_rnn_matrix(&op->gates);
    a.q = plan_rnn_matrix(&op->q);
    plan_kernel(p, KERNEL_gru_cell_forward, KEYS(d));
    floats_bind(p, &op->u, d, ACCESS_READ);
    floats_bind(p, &op->v, d, ACCESS_READ);
    floats_bind(p, &op->h, d, ACCESS_READ);
    floats_bind(p, &op->y, d, ACCESS_WRITE);
    floats_bind(p, &op->gates, d, ACCESS_WRITE);
    floats_bind(p, &op->q, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), rnn_tasks_of(&a.size), cell_loops(p));
}

static void gru(struct plan *p, const struct gru_cell_op *op)
{
    struct gru_cell_op part = *op;
    plan_windows(p, &part.op, &by_rows, gru_window, NULL);
}

/* Build the gradient of a GRU cell. If its reset is applied before the matmul,
 * it has the same two stages in the opposite order. */
static void gru_backward_window(struct plan *p, const struct op *some,
                                void *user)
{
    const struct gru_cell_backward_op *op =
        (const struct gru_cell_backward_op *)some;
    (void)user;
    uint8_t d = FLOATS_KEY(&op->gates, &op->q, &op->h, &op->dy, &op->dh,
                           &op->du, &op->dv, &op->dh_in);
    struct gru_backward_args a = {.stage = op->stage};
    /* du is three matrices of the state's shape side by side. The other
     * operands may be absent or have other shapes. */
    const struct view state = view_columns(&op->du, 0, op->du.shape[1] / 3);
    a.size = sizes(&state);
    a.gates = plan_rnn_matrix(&op->gates);
    a.q = plan_rnn_matrix(&op->q);
    a.h = plan_rnn_matrix(&op->h);
    a.dy = plan_rnn_matrix(&op->dy);
    a.dh = plan_rnn_matrix(&op->dh);
    a.du = plan_rnn_matrix(&op->du);
    a.dv = plan_rnn_matrix(&op->dv);
    a.dh_in = plan_rnn_matrix(&op->dh_in);
    plan_kernel(p, KERNEL_gru_cell_gradient, KEYS(d));
    floats_bind(p, &op->gates, d, ACCESS_READ);
    floats_bind(p, &op->q, d, ACCESS_READ);
    floats_bind(p, &op->h, d, ACCESS_READ);
    floats_bind(p, &op->dy, d, ACCESS_READ);
    floats_bind(p, &op->dh, d, ACCESS_READ);
    floats_bind(p, &op->du, d, ACCESS_WRITE);
    floats_bind(p, &op->dv, d, ACCESS_WRITE);
    floats_bind(p, &op->dh_in, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), rnn_tasks_of(&a.size), cell_loops(p));
}

static void gru_backward(struct plan *p, const struct gru_cell_backward_op *op)
{
    struct gru_cell_backward_op part = *op;
    plan_windows(p, &part.op, &by_rows, gru_backward_window, NULL);
}

const struct lstm_cell_plan lstm_cell_plans[] = {{"portable", NULL, lstm},
                                                 {NULL}};
const struct lstm_cell_backward_plan lstm_cell_backward_plans[] = {
    {"portable", NULL, lstm_backward}, {NULL}};
const struct gru_cell_plan gru_cell_plans[] = {{"portable", NULL, gru}, {NULL}};
const struct gru_cell_backward_plan gru_cell_backward_plans[] = {
    {"portable", NULL, gru_backward}, {NULL}};
