/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - LSTM and GRU: the pointwise cells, whole sequences, and backward.
 *
 * The formulas, the order of the gates and the two biases are those of
 * torch.nn.LSTM and torch.nn.GRU (ONNX orders the gates i, o, f, g and z, r,
 * n). s is the sigmoid, h and c the state, h' and c' that of the step before:
 *
 *     LSTM   a = x w_ih^T + b_ih + h' w_hh^T + b_hh       in 4 parts, i f g o
 *            i, f, o = s(a_i), s(a_f), s(a_o)    g = tanh(a_g)
 *            c = f c' + i g                      h = o tanh(c)
 *     GRU    u = x w_ih^T + b_ih, v = h' w_hh^T + b_hh    in 3 parts, r z n
 *            r, z = s(u_r + v_r), s(u_z + v_z)   n = tanh(u_n + r v_n)
 *            h = (1 - z) n + z h'
 *            reset_first: p = r h', v_n = p w_hn^T + b_hn, n = tanh(u_n + v_n)
 *
 * reset_first is ONNX's linear_before_reset = 0 and Keras' reset_after=False
 * (Cho et al., 2014); w_hn and b_hn are the last h rows of w_hh and b_hh.
 *
 * A cell does what follows the products, one element of the state at a time:
 * class B. A sequence is made of ssq_gemm, cells and ssq_sum, and has their
 * bits: the products of all steps with w_ih are one gemm.
 *
 * Mixed precision: gates, the state c and what is saved for backward are
 * float32. h is what y holds, so that the next step multiplies h as rounded to
 * y's dtype, and so do the gradients of the gates: both can run on matrix
 * units. No more than one 16-bit format may occur among x, w_ih, w_hh and y.
 *
 * NaN and infinities propagate as IEEE 754 says; a NaN result is the quiet NaN
 * without sign. Saturated gates are no special case: s(-inf) is 0, s(inf) and
 * tanh(inf) are 1. */
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

/** LSTM cell: the formulas above, from a on. c = f c' + i g is two rounded
 *  products and their rounded sum.
 *  @return SSQ_ERR_INVALID shapes disagree
 *  @note class B: each gate is within 1 ulp. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lstm_cell(ssq_queue *queue,
                                                const ssq_lstm_cell_args *args);

typedef struct ssq_lstm_cell_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_lstm_cell_backward_args));
    const ssq_tensor *gates; /**< in, float: [batch, 4h], saved by the cell */
    const ssq_tensor *c;     /**< in, optional, f32: the cell's c; NULL: 0 */
    const ssq_tensor *c_out; /**< in, f32: the cell's c_out */
    const ssq_tensor *dy;    /**< in, optional, float: [batch, h], gradient of
                                  the new h; NULL: 0 */
    const ssq_tensor *dh;    /**< in, optional, float: likewise, added to dy:
                                  what the next step has for it */
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

/** Gradient of the LSTM cell: with e = dy + dh and t = tanh(c_out),
 *      d = dc + e o (1 - t^2)
 *      da = d g i (1 - i), d c f (1 - f), d i (1 - g^2), e t o (1 - o)
 *      dc_in = d f
 *  Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lstm_cell_backward(
    ssq_queue *queue, const ssq_lstm_cell_backward_args *args);

typedef struct ssq_gru_cell_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_cell_args));
    const ssq_tensor *u;     /**< in, float: [batch, 3h], of x */
    const ssq_tensor *v;     /**< in, float: [batch, 3h], of the state before */
    const ssq_tensor *h;     /**< in, optional, float: [batch, h], the state
                                  before; NULL: 0 */
    const ssq_tensor *y;     /**< out, float: [batch, h], the new h; may be h */
    const ssq_tensor *gates; /**< out, optional, float: [batch, 3h], r z n for
                                  the backward op; may be u */
    const ssq_tensor *q;     /**< out, optional, float: [batch, h], v_n for the
                                  backward op */
    bool reset_first;        /**< v_n is made of ssq_gru_reset's y, not of h */
} ssq_gru_cell_args;
#define SSQ_GRU_CELL_DEFAULTS                                                  \
    sizeof(ssq_gru_cell_args), NULL, NULL, NULL, NULL, NULL, NULL, false
#define SSQ_GRU_CELL_INIT                                                      \
    {                                                                          \
        SSQ_GRU_CELL_DEFAULTS                                                  \
    }
#define SSQ_GRU_CELL(...)                                                      \
    SSQ_ARGS(ssq_gru_cell_args, SSQ_GRU_CELL_DEFAULTS, __VA_ARGS__)

/** GRU cell: the formulas above, from u and v on. With reset_first a step is
 *  the first 2h columns of v = h w_hh^T + b_hh, ssq_gru_reset, the last h
 *  columns of v = p w_hn^T + b_hn, and this.
 *  @return SSQ_ERR_INVALID shapes disagree
 *  @note class B. Since 0.1. */
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
    const ssq_tensor *dh;    /**< in, optional, float: likewise, added to dy */
    const ssq_tensor *du;    /**< out, float: [batch, 3h]; may be gates */
    const ssq_tensor *dv;    /**< out, float: [batch, 3h] */
    const ssq_tensor *dh_in; /**< out, optional, float: [batch, h], gradient of
                                  h but for what goes through v; may be dh */
    bool reset_first;        /**< as in the forward op; q may be NULL then */
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

/** Gradient of the GRU cell: with e = dy + dh and k = e (1 - z) (1 - n^2),
 *      du = k q r (1 - r), e (h - n) z (1 - z), k
 *      dv = du_r, du_z, k r
 *      dh_in = e z
 *  With reset_first dv_n is k, and the first h columns of du and dv are left as
 *  they are: dp = dv_n w_hn and ssq_gru_reset_backward follow.
 *  Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_cell_backward(ssq_queue *queue, const ssq_gru_cell_backward_args *args);

typedef struct ssq_gru_reset_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_reset_args));
    const ssq_tensor *u; /**< in, float: [batch, 3h], of x; the first h columns
                              are read */
    const ssq_tensor *v; /**< in, float: [batch, 3h], of the state before,
                              likewise */
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

/** What reset_first multiplies: y = p = r h, r = s(u_r + v_r). Without a state
 *  before there is nothing to call: v_n is b_hn.
 *  @return SSQ_ERR_INVALID shapes disagree
 *  @note class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gru_reset(ssq_queue *queue,
                                                const ssq_gru_reset_args *args);

typedef struct ssq_gru_reset_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_reset_backward_args));
    const ssq_tensor *gates; /**< in, float: [batch, 3h], saved by the cell */
    const ssq_tensor *h;     /**< in, optional, float: the cell's h; NULL: 0 */
    const ssq_tensor *dy;    /**< in, float: [batch, h], gradient of p */
    const ssq_tensor *dh;    /**< in, optional, float: [batch, h], dh_in of
                                  ssq_gru_cell_backward; NULL: 0 */
    const ssq_tensor *du;    /**< out, float: [batch, 3h], of which the first h
                                  columns are written; may be gates */
    const ssq_tensor *dv;    /**< out, float: [batch, 3h], likewise */
    const ssq_tensor *dh_in; /**< out, optional, float: [batch, h], gradient of
                                  h but for what goes through v; may be dh */
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

/** Gradient of ssq_gru_reset: du_r = dv_r = dy h r (1 - r), dh_in = dh + dy r.
 *  Class B. Since 0.1. */
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
    const ssq_tensor *y;    /**< out, float: [t, batch, h], all h */
    const ssq_tensor *hn; /**< out, optional, float: [batch, h], the last h; may
                               be h0, unless a backward call wants that */
    const ssq_tensor *cn; /**< out, optional, f32: [batch, h], the last c; may
                               be c0, likewise */
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

/** LSTM over a sequence: one layer, one direction; more are more calls. y, hn
 *  and cn are torch.nn.LSTM's. Without h0 no state is multiplied in the first
 *  step: an infinite w_hh makes no NaN there.
 *  @param args  the last dimension of all but the biases is contiguous; steps
 *         and batch of x, y and reserve are evenly spaced rows (stride of t =
 *         batch times stride of batch): else SSQ_ERR_INVALID, never a silent
 *         copy
 *  @return SSQ_ERR_INVALID shapes disagree, two 16-bit formats; SSQ_ERR_NOMEM
 *          no scratch: 20 t batch h bytes without reserve
 *  @note t = 0: hn and cn are h0 and c0. Class R, the class of its gemms.
 *        Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_lstm(ssq_queue *queue,
                                           const ssq_lstm_args *args);

typedef struct ssq_lstm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_lstm_backward_args));
    const ssq_tensor *x;    /**< in: here to reserve as in the forward call */
    const ssq_tensor *w_ih; /**< in */
    const ssq_tensor *w_hh; /**< in */
    const ssq_tensor *h0;   /**< in, optional */
    const ssq_tensor *c0;   /**< in, optional */
    const ssq_tensor *y;    /**< in: written by it */
    const ssq_tensor *reserve; /**< in, f32: [t, batch, 5h], written by it */
    const ssq_tensor *dy;      /**< in, optional, float: [t, batch, h]; NULL: 0,
                                    as the next two */
    const ssq_tensor *dhn;     /**< in, optional, float: [batch, h] */
    const ssq_tensor *dcn;     /**< in, optional, f32: [batch, h] */
    const ssq_tensor *dx;      /**< out, optional, float: [t, batch, in] */
    const ssq_tensor *dw_ih;   /**< out, optional, float: [4h, in] */
    const ssq_tensor *dw_hh;   /**< out, optional, float: [4h, h] */
    const ssq_tensor *db_ih;   /**< out, optional, float: [4h] */
    const ssq_tensor *db_hh;   /**< out, optional, float: [4h]; what db_ih is */
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

/** Gradient of ssq_lstm, through all steps. Gradients are written, not
 *  accumulated. The gradient of a is kept in y's dtype: with f16 use a loss
 *  scale; beyond 65520 it is infinite and a scaler sees it.
 *  @param args  as ssq_lstm; dx likewise has evenly spaced rows. Outputs
 *         overlap nothing
 *  @return SSQ_ERR_INVALID as ssq_lstm, nothing to write; SSQ_ERR_NOMEM no
 *          scratch: 4 t batch h elements of y's dtype, 8 batch h bytes, 16 h h
 *          bytes with h0 and dw_hh
 *  @note class R. Since 0.1. */
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
    const ssq_tensor *y;    /**< out, float: [t, batch, h], all h */
    const ssq_tensor *hn; /**< out, optional, float: [batch, h], the last h; may
                               be h0, unless a backward call wants that */
    const ssq_tensor *reserve; /**< out, optional, f32: [t, batch, 4h], for the
                                    backward call: r z n, v_n */
    bool reverse;              /**< from the last step of x to the first */
    bool reset_first;          /**< the state is reset before its product with
                                    w_hn, not after: see above */
} ssq_gru_args;
#define SSQ_GRU_DEFAULTS                                                       \
    sizeof(ssq_gru_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,      \
        NULL, false, false
#define SSQ_GRU_INIT                                                           \
    {                                                                          \
        SSQ_GRU_DEFAULTS                                                       \
    }
#define SSQ_GRU(...) SSQ_ARGS(ssq_gru_args, SSQ_GRU_DEFAULTS, __VA_ARGS__)

/** GRU over a sequence: y and hn are torch.nn.GRU's, or with reset_first those
 *  of ONNX and Keras (their gates are ordered z, r, n). The rest as ssq_lstm;
 *  scratch: 12 batch h bytes, 16 t batch h more without reserve, batch h
 *  elements of y's dtype more with reset_first, where p is rounded to that.
 *  h' is used as y holds it, in the last formula too. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gru(ssq_queue *queue,
                                          const ssq_gru_args *args);

typedef struct ssq_gru_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gru_backward_args));
    const ssq_tensor *x;    /**< in: here to reserve as in the forward call */
    const ssq_tensor *w_ih; /**< in */
    const ssq_tensor *w_hh; /**< in */
    const ssq_tensor *h0;   /**< in, optional */
    const ssq_tensor *y;    /**< in: written by it */
    const ssq_tensor *reserve; /**< in, f32: [t, batch, 4h], written by it */
    const ssq_tensor *dy;      /**< in, optional, float: [t, batch, h]; NULL: 0,
                                    as the next */
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

/** Gradient of ssq_gru, as ssq_lstm_backward; scratch: 6 t batch h elements of
 *  y's dtype, 4 batch h bytes, 12 h h bytes with h0 and dw_hh; with reset_first
 *  4 batch h bytes more, and t batch h elements with dw_hh. Class R.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_backward(ssq_queue *queue, const ssq_gru_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
