/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - LSTM and GRU: the pointwise cells, whole sequences, and backward.
 *
 *     ssq_lstm(queue, SSQ_LSTM(.x = x, .w_ih = w_ih, .w_hh = w_hh, .y = y,
 *                              .reserve = reserve));
 *     ...                                       // loss, gradient dy of y
 *     ssq_lstm_backward(queue, SSQ_LSTM_BACKWARD(.x = x, .w_ih = w_ih,
 *                           .w_hh = w_hh, .y = y, .reserve = reserve,
 *                           .dy = dy, .dx = dx, .dw_ih = dw_ih));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * The formulas, the order of the gates and the two biases are as in
 * torch.nn.LSTM and torch.nn.GRU. (ONNX has the order i, o, f, g and z, r, n.)
 * s is the sigmoid, h and c the state, h' and c' the state of the step before:
 *
 *     LSTM   a = x w_ih^T + b_ih + h' w_hh^T + b_hh       in 4 parts, i f g o
 *            i, f, o = s(a_i), s(a_f), s(a_o)    g = tanh(a_g)
 *            c = f c' + i g                      h = o tanh(c)
 *     GRU    u = x w_ih^T + b_ih, v = h' w_hh^T + b_hh    in 3 parts, r z n
 *            r, z = s(u_r + v_r), s(u_z + v_z)   n = tanh(u_n + r v_n)
 *            h = (1 - z) n + z h'
 *            reset_first: p = r h', v_n = p w_hn^T + b_hn, n = tanh(u_n + v_n)
 *
 * reset_first is linear_before_reset = 0 in ONNX and reset_after=False in Keras
 * (Cho et al., 2014). w_hn and b_hn are the last h rows of w_hh and b_hh.
 *
 * A cell computes the formulas after the matmuls, for each element of the
 * state: class B. A sequence consists of ssq_gemm, cells and ssq_sum, and has
 * their bits: class R. The matmuls of all steps with w_ih are one GEMM.
 *
 * Mixed precision: gates, the state c and reserve are float32. h is rounded to
 * y's dtype before the next step uses it. In a backward call of a sequence the
 * gradients of the gates are rounded to y's dtype, too. All matmuls can
 * therefore run on matrix units. At most one 16-bit format may occur among x,
 * w_ih, w_hh and y. For example, f16 weights with a bf16 y are refused.
 *
 * NaN and infinities propagate as in IEEE 754. A NaN result of a cell is the
 * quiet NaN without sign. Saturated gates are exact: s(-inf) is 0, s(inf) and
 * tanh(inf) are 1.
 *
 * A call returns SSQ_ERR_INVALID if shapes differ from the ones below, or if an
 * output overlaps another operand and "may be" does not allow it. Cells accept
 * any strides.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_RNN_H
#define SESQUI_OPS_RNN_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_lstm_cell_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_lstm_cell_args));
    const ssq_tensor *a;     /**< in, float: [batch, 4h], before the gates */
    const ssq_tensor *c;     /**< in, optional, f32: [batch, h], the state
                                  before; NULL: 0 */
    const ssq_tensor *y;     /**< out, float: [batch, h], the new h */
    const ssq_tensor *c_out; /**< out, f32: [batch, h]; may be c */
    const ssq_tensor *gates; /**< out, optional, float: [batch, 4h], i f g o for
                                  the backward op; may be a */
} ssq_lstm_cell_args;
#define SSQ_LSTM_CELL_DEFAULTS                                                 \
    sizeof(ssq_lstm_cell_args), NULL, NULL, NULL, NULL, NULL
#define SSQ_LSTM_CELL_INIT                                                     \
    {                                                                          \
        SSQ_LSTM_CELL_DEFAULTS                                                 \
    }
#define SSQ_LSTM_CELL(...)                                                     \
    SSQ_ARGS(ssq_lstm_cell_args, SSQ_LSTM_CELL_DEFAULTS, __VA_ARGS__)

/** Compute an LSTM cell: the formulas above, starting from a. c = f c' + i g is
 *  two rounded products and their rounded sum. Class B: each gate is within 1
 *  ulp.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lstm_cell(ssq_queue *queue,
                                                const ssq_lstm_cell_args *args);

typedef struct ssq_lstm_cell_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_lstm_cell_backward_args));
    const ssq_tensor *gates; /**< in, float: [batch, 4h], saved by the cell */
    const ssq_tensor *c;     /**< in, optional, f32: the cell's c; NULL: 0 */
    const ssq_tensor *c_out; /**< in, f32: the cell's c_out */
    const ssq_tensor *dy;    /**< in, optional, float: [batch, h], gradient of
                                  the new h; NULL: 0 */
    const ssq_tensor *dh;    /**< in, optional, float: [batch, h], added to dy:
                                  the gradient from the next step; NULL: 0 */
    const ssq_tensor *dc;    /**< in, optional, f32: [batch, h], gradient of
                                  c_out; NULL: 0 */
    const ssq_tensor *da;    /**< out, float: [batch, 4h]; may be gates */
    const ssq_tensor *dc_in; /**< out, optional, f32: [batch, h], gradient of
                                  c; may be dc */
} ssq_lstm_cell_backward_args;
#define SSQ_LSTM_CELL_BACKWARD_DEFAULTS                                        \
    sizeof(ssq_lstm_cell_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL, NULL
#define SSQ_LSTM_CELL_BACKWARD_INIT                                            \
    {                                                                          \
        SSQ_LSTM_CELL_BACKWARD_DEFAULTS                                        \
    }
#define SSQ_LSTM_CELL_BACKWARD(...)                                            \
    SSQ_ARGS(ssq_lstm_cell_backward_args, SSQ_LSTM_CELL_BACKWARD_DEFAULTS,     \
             __VA_ARGS__)

/** Compute the gradient of the LSTM cell. c is the operand, the state before.
 *  With e = dy + dh and t = tanh(c_out):
 *
 *       d = dc + e o (1 - t^2)
 *       da = d g i (1 - i), d c f (1 - f), d i (1 - g^2), e t o (1 - o)
 *       dc_in = d f
 *
 *  Class B.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lstm_cell_backward(
    ssq_queue *queue, const ssq_lstm_cell_backward_args *args);

typedef struct ssq_gru_cell_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_cell_args));
    const ssq_tensor *u;     /**< in, float: [batch, 3h], u of the formulas */
    const ssq_tensor *v;     /**< in, float: [batch, 3h], v of the formulas */
    const ssq_tensor *h;     /**< in, optional, float: [batch, h], the state
                                  before; NULL: 0 */
    const ssq_tensor *y;     /**< out, float: [batch, h], the new h; may be h */
    const ssq_tensor *gates; /**< out, optional, float: [batch, 3h], r z n for
                                  the backward op; may be u */
    const ssq_tensor *q;     /**< out, optional, float: [batch, h], v_n for the
                                  backward op */
    bool reset_first;        /**< v_n was computed from the y of ssq_gru_reset,
                                  not from h */
} ssq_gru_cell_args;
#define SSQ_GRU_CELL_DEFAULTS                                                  \
    sizeof(ssq_gru_cell_args), NULL, NULL, NULL, NULL, NULL, NULL, false
#define SSQ_GRU_CELL_INIT                                                      \
    {                                                                          \
        SSQ_GRU_CELL_DEFAULTS                                                  \
    }
#define SSQ_GRU_CELL(...)                                                      \
    SSQ_ARGS(ssq_gru_cell_args, SSQ_GRU_CELL_DEFAULTS, __VA_ARGS__)

/** Compute a GRU cell: the formulas above, starting from u and v. With
 *  reset_first a step has four parts, in this order: the first 2h columns of
 *  v = h w_hh^T + b_hh; ssq_gru_reset; the last h columns of
 *  v = p w_hn^T + b_hn; and this call. Class B.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gru_cell(ssq_queue *queue,
                                               const ssq_gru_cell_args *args);

typedef struct ssq_gru_cell_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_cell_backward_args));
    const ssq_tensor *gates; /**< in, float: [batch, 3h], saved by the cell */
    const ssq_tensor *q;     /**< in, float: [batch, h], saved by the cell, or
                                  the last h columns of v */
    const ssq_tensor *h;     /**< in, optional, float: the cell's h; NULL: 0 */
    const ssq_tensor *dy;    /**< in, optional, float: [batch, h], gradient of
                                  the new h; NULL: 0 */
    const ssq_tensor *dh;    /**< in, optional, float: [batch, h], added to dy;
                                  NULL: 0 */
    const ssq_tensor *du;    /**< out, float: [batch, 3h]; may be gates */
    const ssq_tensor *dv;    /**< out, float: [batch, 3h] */
    const ssq_tensor *dh_in; /**< out, optional, float: [batch, h], gradient of
                                  h without the part through v; may be dh */
    bool reset_first;        /**< as in the forward op; if true, q may be NULL
                                  */
} ssq_gru_cell_backward_args;
#define SSQ_GRU_CELL_BACKWARD_DEFAULTS                                         \
    sizeof(ssq_gru_cell_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,    \
        NULL, NULL, false
#define SSQ_GRU_CELL_BACKWARD_INIT                                             \
    {                                                                          \
        SSQ_GRU_CELL_BACKWARD_DEFAULTS                                         \
    }
#define SSQ_GRU_CELL_BACKWARD(...)                                             \
    SSQ_ARGS(ssq_gru_cell_backward_args, SSQ_GRU_CELL_BACKWARD_DEFAULTS,       \
             __VA_ARGS__)

/** Compute the gradient of the GRU cell. h is the operand, the state before.
 *  With e = dy + dh and k = e (1 - z) (1 - n^2):
 *
 *       du = k q r (1 - r), e (h - n) z (1 - z), k
 *       dv = du_r, du_z, k r
 *       dh_in = e z
 *
 *  With reset_first dv_n is k, and the first h columns of du and dv are not
 *  written. Then compute dp = dv_n w_hn and call ssq_gru_reset_backward. Class
 *  B.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_cell_backward(ssq_queue *queue, const ssq_gru_cell_backward_args *args);

typedef struct ssq_gru_reset_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_reset_args));
    const ssq_tensor *u; /**< in, float: [batch, 3h], u of the formulas; only
                              the first h columns are read */
    const ssq_tensor *v; /**< in, float: [batch, 3h], v of the formulas; only
                              the first h columns are read */
    const ssq_tensor *h; /**< in, float: [batch, h], the state before */
    const ssq_tensor *y; /**< out, float: [batch, h]; may be h */
} ssq_gru_reset_args;
#define SSQ_GRU_RESET_DEFAULTS                                                 \
    sizeof(ssq_gru_reset_args), NULL, NULL, NULL, NULL
#define SSQ_GRU_RESET_INIT                                                     \
    {                                                                          \
        SSQ_GRU_RESET_DEFAULTS                                                 \
    }
#define SSQ_GRU_RESET(...)                                                     \
    SSQ_ARGS(ssq_gru_reset_args, SSQ_GRU_RESET_DEFAULTS, __VA_ARGS__)

/** Compute the operand of w_hn for reset_first: y = p = r h, with
 *  r = s(u_r + v_r). Do not call it without a previous state: v_n is then
 *  b_hn. Class B.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gru_reset(ssq_queue *queue,
                                                const ssq_gru_reset_args *args);

typedef struct ssq_gru_reset_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_reset_backward_args));
    const ssq_tensor *gates; /**< in, float: [batch, 3h], saved by the cell */
    const ssq_tensor *h;     /**< in, optional, float: the cell's h; NULL: no
                                  state before, and du_r and dv_r are 0 for any
                                  dy */
    const ssq_tensor *dy;    /**< in, float: [batch, h], gradient of p */
    const ssq_tensor *dh;    /**< in, optional, float: [batch, h], dh_in of
                                  ssq_gru_cell_backward; NULL: 0 */
    const ssq_tensor *du;    /**< out, float: [batch, 3h]; only the first h
                                  columns are written; may be gates */
    const ssq_tensor *dv;    /**< out, float: [batch, 3h]; only the first h
                                  columns are written */
    const ssq_tensor *dh_in; /**< out, optional, float: [batch, h], gradient of
                                  h without the part through v; may be dh */
} ssq_gru_reset_backward_args;
#define SSQ_GRU_RESET_BACKWARD_DEFAULTS                                        \
    sizeof(ssq_gru_reset_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL
#define SSQ_GRU_RESET_BACKWARD_INIT                                            \
    {                                                                          \
        SSQ_GRU_RESET_BACKWARD_DEFAULTS                                        \
    }
#define SSQ_GRU_RESET_BACKWARD(...)                                            \
    SSQ_ARGS(ssq_gru_reset_backward_args, SSQ_GRU_RESET_BACKWARD_DEFAULTS,     \
             __VA_ARGS__)

/** Compute the gradient of ssq_gru_reset: du_r = dv_r = dy h r (1 - r),
 *  dh_in = dh + dy r. Class B.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gru_reset_backward(
    ssq_queue *queue, const ssq_gru_reset_backward_args *args);

typedef struct ssq_lstm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_lstm_args));
    const ssq_tensor *x;    /**< in, float: [t, batch, in] */
    const ssq_tensor *w_ih; /**< in, float: [4h, in] */
    const ssq_tensor *w_hh; /**< in, float: [4h, h] */
    const ssq_tensor *b_ih; /**< in, optional, float: [4h] */
    const ssq_tensor *b_hh; /**< in, optional, float: [4h] */
    const ssq_tensor *h0;   /**< in, optional, y's dtype: [batch, h]; NULL: 0 */
    const ssq_tensor *c0;   /**< in, optional, f32: [batch, h]; NULL: 0 */
    const ssq_tensor *y;    /**< out, float: [t, batch, h], h of all steps */
    const ssq_tensor *hn; /**< out, optional, float: [batch, h], the last h; may
                               be h0, but then ssq_lstm_backward must not be
                               given this h0 */
    const ssq_tensor *cn; /**< out, optional, f32: [batch, h], the last c; may
                               be c0, with the same rule */
    const ssq_tensor *reserve; /**< out, optional, f32: [t, batch, 5h], for the
                                    backward call: i f g o, c */
    bool reverse;              /**< from the last step of x to the first */
} ssq_lstm_args;
#define SSQ_LSTM_DEFAULTS                                                      \
    sizeof(ssq_lstm_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL, NULL, NULL, false
#define SSQ_LSTM_INIT                                                          \
    {                                                                          \
        SSQ_LSTM_DEFAULTS                                                      \
    }
#define SSQ_LSTM(...) SSQ_ARGS(ssq_lstm_args, SSQ_LSTM_DEFAULTS, __VA_ARGS__)

/** Compute an LSTM over a sequence: one layer in one direction. Call it once
 *  for each layer and direction. y, hn and cn are as in torch.nn.LSTM. Without
 *  h0 no state is multiplied in the first step: an infinite w_hh makes no NaN
 *  there. If t is 0, hn and cn are copies of h0 and c0, or 0.
 *
 *  The last dimension of every operand but the biases must have stride 1,
 *  unless its size is 0 or 1. If t and batch are above 1, rows of x, y and
 *  reserve must be evenly spaced: the stride of t is batch times the stride of
 *  batch. Nothing is copied silently. For example, a batch-first x that is only
 *  transposed is refused.
 *  @return
 *   - SSQ_ERR_INVALID  a stride is not as above; two 16-bit formats occur; h0
 *                      has another dtype than y
 *   - SSQ_ERR_NOMEM    also for scratch: 20 t batch h bytes if
 *                      reserve is NULL
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lstm(ssq_queue *queue,
                                           const ssq_lstm_args *args);

typedef struct ssq_lstm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_lstm_backward_args));
    const ssq_tensor *x;    /**< in: x to reserve as in the forward call */
    const ssq_tensor *w_ih; /**< in */
    const ssq_tensor *w_hh; /**< in */
    const ssq_tensor *h0;   /**< in, optional */
    const ssq_tensor *c0;   /**< in, optional */
    const ssq_tensor *y;    /**< in: as written by the forward call */
    const ssq_tensor *reserve; /**< in, f32: [t, batch, 5h], as written by the
                                    forward call */
    const ssq_tensor *dy;      /**< in, optional, float: [t, batch, h]; dy, dhn
                                    and dcn: NULL is 0 */
    const ssq_tensor *dhn;     /**< in, optional, float: [batch, h] */
    const ssq_tensor *dcn;     /**< in, optional, f32: [batch, h] */
    const ssq_tensor *dx;      /**< out, optional, float: [t, batch, in] */
    const ssq_tensor *dw_ih;   /**< out, optional, float: [4h, in] */
    const ssq_tensor *dw_hh;   /**< out, optional, float: [4h, h] */
    const ssq_tensor *db_ih;   /**< out, optional, float: [4h] */
    const ssq_tensor *db_hh;   /**< out, optional, float: [4h]; the same values
                                    as db_ih */
    const ssq_tensor *dh0;     /**< out, optional, float: [batch, h] */
    const ssq_tensor *dc0;     /**< out, optional, f32: [batch, h] */
    bool reverse;              /**< as in the forward call */
} ssq_lstm_backward_args;
#define SSQ_LSTM_BACKWARD_DEFAULTS                                             \
    sizeof(ssq_lstm_backward_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false
#define SSQ_LSTM_BACKWARD_INIT                                                 \
    {                                                                          \
        SSQ_LSTM_BACKWARD_DEFAULTS                                             \
    }
#define SSQ_LSTM_BACKWARD(...)                                                 \
    SSQ_ARGS(ssq_lstm_backward_args, SSQ_LSTM_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Compute the gradient of ssq_lstm, through all steps. Gradients are written,
 *  not accumulated, and may have the other 16-bit format. The gradient of a is
 *  kept in y's dtype. With f16 use a loss scale: from 65520 on the gradient is
 *  infinite, and a scaler detects it.
 *
 *  Strides must be as in ssq_lstm, for dx as for x. Outputs must not overlap
 *  any other operand. If t, batch or h is 0, dh0 and dc0 are copies of dhn and
 *  dcn, or 0, and the other outputs are 0.
 *  @return
 *   - SSQ_ERR_INVALID  as ssq_lstm; all outputs are NULL
 *   - SSQ_ERR_NOMEM    also for scratch: 4 t batch h elements of y's
 *                      dtype and 8 batch h bytes; 16 h h bytes more with h0 and
 *                      dw_hh, if t > 1
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_lstm_backward(ssq_queue *queue, const ssq_lstm_backward_args *args);

typedef struct ssq_gru_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_args));
    const ssq_tensor *x;    /**< in, float: [t, batch, in] */
    const ssq_tensor *w_ih; /**< in, float: [3h, in] */
    const ssq_tensor *w_hh; /**< in, float: [3h, h] */
    const ssq_tensor *b_ih; /**< in, optional, float: [3h] */
    const ssq_tensor *b_hh; /**< in, optional, float: [3h] */
    const ssq_tensor *h0;   /**< in, optional, y's dtype: [batch, h]; NULL: 0 */
    const ssq_tensor *y;    /**< out, float: [t, batch, h], h of all steps */
    const ssq_tensor *hn; /**< out, optional, float: [batch, h], the last h; may
                               be h0, but then ssq_gru_backward must not be
                               given this h0 */
    const ssq_tensor *reserve; /**< out, optional, f32: [t, batch, 4h], for the
                                    backward call: r z n, v_n */
    bool reverse;              /**< from the last step of x to the first */
    bool reset_first;          /**< reset the state before it is multiplied by
                                    w_hn, not after: see the top */
} ssq_gru_args;
#define SSQ_GRU_DEFAULTS                                                       \
    sizeof(ssq_gru_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,      \
        NULL, false, false
#define SSQ_GRU_INIT                                                           \
    {                                                                          \
        SSQ_GRU_DEFAULTS                                                       \
    }
#define SSQ_GRU(...) SSQ_ARGS(ssq_gru_args, SSQ_GRU_DEFAULTS, __VA_ARGS__)

/** Compute a GRU over a sequence. y and hn are as in torch.nn.GRU, or with
 *  reset_first as in ONNX and Keras, which order the gates z, r, n. Layers,
 *  strides and h0 are as in ssq_lstm. If t is 0, hn is a copy of h0, or 0.
 *
 *  The last formula also uses h' as rounded to y's dtype. With reset_first p is
 *  rounded to y's dtype.
 *  @return
 *   - SSQ_ERR_INVALID  as ssq_lstm
 *   - SSQ_ERR_NOMEM    also for scratch: 12 batch h bytes; 16 t
 *                      batch h bytes more if reserve is NULL; batch h elements
 *                      of y's dtype more with reset_first
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gru(ssq_queue *queue,
                                          const ssq_gru_args *args);

typedef struct ssq_gru_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_backward_args));
    const ssq_tensor *x;    /**< in: x to reserve as in the forward call */
    const ssq_tensor *w_ih; /**< in */
    const ssq_tensor *w_hh; /**< in */
    const ssq_tensor *h0;   /**< in, optional */
    const ssq_tensor *y;    /**< in: as written by the forward call */
    const ssq_tensor *reserve; /**< in, f32: [t, batch, 4h], as written by the
                                    forward call */
    const ssq_tensor *dy;      /**< in, optional, float: [t, batch, h]; dy and
                                    dhn: NULL is 0 */
    const ssq_tensor *dhn;     /**< in, optional, float: [batch, h] */
    const ssq_tensor *dx;      /**< out, optional, float: [t, batch, in] */
    const ssq_tensor *dw_ih;   /**< out, optional, float: [3h, in] */
    const ssq_tensor *dw_hh;   /**< out, optional, float: [3h, h] */
    const ssq_tensor *db_ih;   /**< out, optional, float: [3h] */
    const ssq_tensor *db_hh;   /**< out, optional, float: [3h] */
    const ssq_tensor *dh0;     /**< out, optional, float: [batch, h] */
    bool reverse;              /**< as in the forward call */
    bool reset_first;          /**< as in the forward call */
} ssq_gru_backward_args;
#define SSQ_GRU_BACKWARD_DEFAULTS                                              \
    sizeof(ssq_gru_backward_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false
#define SSQ_GRU_BACKWARD_INIT                                                  \
    {                                                                          \
        SSQ_GRU_BACKWARD_DEFAULTS                                              \
    }
#define SSQ_GRU_BACKWARD(...)                                                  \
    SSQ_ARGS(ssq_gru_backward_args, SSQ_GRU_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Compute the gradient of ssq_gru, through all steps. Rounding, strides and
 *  overlaps are as in ssq_lstm_backward. If t, batch or h is 0, dh0 is a copy
 *  of dhn, or 0, and the other outputs are 0.
 *  @return
 *   - SSQ_ERR_INVALID  as ssq_lstm; all outputs are NULL
 *   - SSQ_ERR_NOMEM    also for scratch: 6 t batch h elements of y's
 *                      dtype and 4 batch h bytes; 12 h h bytes more with h0 and
 *                      dw_hh, if t > 1; with reset_first 4 batch h bytes more,
 *                      and t batch h elements of y's dtype more with dw_hh
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_backward(ssq_queue *queue, const ssq_gru_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
