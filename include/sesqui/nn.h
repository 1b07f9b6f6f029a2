/* SPDX-License-Identifier: Apache-2.0 */
/* nn.h - layers: ops over vars together with their parameters.
 *
 *     x = ssq_relu_var(ssq_nn_linear(tape, "fc1", x, 64, NULL));
 *     y = ssq_nn_linear(tape, "fc2", x, 8, SSQ_NN_LINEAR(.bias = false));
 *
 * A layer is a function call. The first call in a pass for training creates,
 * names and initialises its parameters; later calls find them by their names.
 * For example, "fc1" has "fc1.weight", or "block3.fc1.weight" in the scope
 * "block3". Two layers with the same name share the parameters. If the shapes
 * differ, the second one is an error.
 *
 * In a pass for evaluation, and after a load or a trainer's first step, a layer
 * whose parameters do not exist latches SSQ_ERR_NOT_FOUND (ssq_params_allow).
 *
 * Unless the options say otherwise, weights have torch's shapes, and their
 * initial values have torch's distributions. Their dtype is the compute dtype
 * of the policy. Parameters of norms are float32. So are all parameters that a
 * layer creates in a region of "float32" or NULL (ssq_tape_autocast_push).
 *
 * Layers latch errors in the tape (tape.h) and return an inert var: for
 * example, SSQ_ERR_INVALID for a wrong struct_size, rank or size. A layer
 * creates its parameters before its op checks the operands. If the op, or the
 * initial value of a later parameter, then fails, the parameters stay in the
 * set; ssq_params_remove removes them.
 *
 * name must be valid for ssq_tape_push, and is copied. The whole names of
 * parameters, for example "block3.fc1.weight", have at most SSQ_PARAM_NAME - 1
 * bytes.
 * options may be NULL: all defaults. The call reads it and keeps no pointer to
 * it. Functions that end in _at take the caller's place in the program, for
 * messages; the macros pass it.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_NN_H
#define SESQUI_NN_H

#include <sesqui/vars.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Initial value of a layer's parameter: the fields of ssq_init_args with the
 *  same names. If kind is SSQ_INIT_LAYER, the default, the layer's comment
 *  describes the value.
 *
 *  The fans are computed from the weight's shape, read as [out, in, kernel...].
 *  In SSQ_LAYOUT_NHWC, filters are [out, kernel.., in]: fan_in is right, but
 *  fan_out is not. There the Xavier kinds, and SSQ_FAN_OUT, have other results
 *  than in SSQ_LAYOUT_NCHW.
 *
 *  A bias has rank 1: a kind that needs a fan latches SSQ_ERR_INVALID. */
typedef struct ssq_begin {
    ssq_init_kind kind;
    ssq_fan fan;
    double value, gain;
    const char *nonlinearity;
    double slope;
} ssq_begin;
#define SSQ_BEGIN_LAYER                                                        \
    {                                                                          \
        SSQ_INIT_LAYER, SSQ_FAN_IN, 0.0, 0.0, NULL, 0.0                        \
    }

/* ---- linear ---- */

typedef struct ssq_nn_linear_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_linear_args));
    bool bias SSQ_DEFAULT(true);
    ssq_begin weight_init
        SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< default: torch's, uniform in
                                      +-1 / sqrt(in) */
    ssq_begin bias_init SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< the same */
} ssq_nn_linear_args;
#define SSQ_NN_LINEAR_DEFAULTS                                                 \
    sizeof(ssq_nn_linear_args), true, SSQ_BEGIN_LAYER, SSQ_BEGIN_LAYER
#define SSQ_NN_LINEAR_INIT                                                     \
    {                                                                          \
        SSQ_NN_LINEAR_DEFAULTS                                                 \
    }
#define SSQ_NN_LINEAR(...)                                                     \
    SSQ_ARGS(ssq_nn_linear_args, SSQ_NN_LINEAR_DEFAULTS, __VA_ARGS__)

/** Compute y = x w^T + bias over the last dimension of x. Parameters:
 *  name.weight [out, in], name.bias [out].
 *  @param x    [.., in], of rank 1 or more, with any strides
 *  @param out  features of the result; at least 0. in may also be 0
 *  @return [.., out] */
SSQ_API ssq_var ssq_nn_linear_at(const char *where, ssq_tape *tape,
                                 const char *name, ssq_var x, int64_t out,
                                 const ssq_nn_linear_args *options);
#define ssq_nn_linear(...) ssq_nn_linear_at(SSQ_AT, __VA_ARGS__)

/* ---- embedding ---- */

typedef struct ssq_nn_embedding_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_embedding_args));
    ssq_begin weight_init
        SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< default: torch's, normal with
                                        deviation 1 */
} ssq_nn_embedding_args;
#define SSQ_NN_EMBEDDING_DEFAULTS sizeof(ssq_nn_embedding_args), SSQ_BEGIN_LAYER
#define SSQ_NN_EMBEDDING_INIT                                                  \
    {                                                                          \
        SSQ_NN_EMBEDDING_DEFAULTS                                              \
    }
#define SSQ_NN_EMBEDDING(...)                                                  \
    SSQ_ARGS(ssq_nn_embedding_args, SSQ_NN_EMBEDDING_DEFAULTS, __VA_ARGS__)

/** Look up rows of a table, as ssq_gather_rows. Parameter: name.weight [rows,
 *  width]. A linear layer of the same name without bias shares it (tied
 *  weights).
 *  @param index        i32, of rank 0 to 5; held until the pass ends. An index
 *                      out of range reads zeros
 *  @param rows, width  of the table, at least 0
 *  @return index's shape with width as last dimension */
SSQ_API ssq_var ssq_nn_embedding_at(const char *where, ssq_tape *tape,
                                    const char *name, const ssq_tensor *index,
                                    int64_t rows, int64_t width,
                                    const ssq_nn_embedding_args *options);
#define ssq_nn_embedding(...) ssq_nn_embedding_at(SSQ_AT, __VA_ARGS__)

/* ---- convolution ---- */

typedef struct ssq_nn_conv2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_conv2d_args));
    int64_t stride[2] SSQ_DEFAULT({1, 1});
    int64_t padding[4]; /**< {top, left, bottom, right} */
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    int64_t groups SSQ_DEFAULT(1);
    int64_t output_padding[2]; /**< ssq_nn_conv_transpose2d; others ignore it */
    ssq_layout layout;
    bool bias SSQ_DEFAULT(true);
    ssq_begin weight_init SSQ_DEFAULT(
        SSQ_BEGIN_LAYER); /**< default: torch's, uniform in
                              +-1 / sqrt(fan_in) */
    ssq_begin bias_init SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< the same */
} ssq_nn_conv2d_args;
#define SSQ_NN_CONV2D_DEFAULTS                                                 \
    sizeof(ssq_nn_conv2d_args), {1, 1}, {0, 0, 0, 0}, {1, 1}, 1, {0, 0},       \
        SSQ_LAYOUT_NCHW, true, SSQ_BEGIN_LAYER, SSQ_BEGIN_LAYER
#define SSQ_NN_CONV2D_INIT                                                     \
    {                                                                          \
        SSQ_NN_CONV2D_DEFAULTS                                                 \
    }
#define SSQ_NN_CONV2D(...)                                                     \
    SSQ_ARGS(ssq_nn_conv2d_args, SSQ_NN_CONV2D_DEFAULTS, __VA_ARGS__)

/** Convolve images, as ssq_conv2d. Parameters: name.weight in the layout that
 *  conv.h describes, name.bias [out].
 *  @param x              of rank 4, in the layout of the options, with a last
 *                        stride of 1 (conv.h)
 *  @param out            channels of the result, at least 0; groups must divide
 *                        it and the channels of x
 *  @param height, width  of a filter, at least 1 */
SSQ_API ssq_var ssq_nn_conv2d_at(const char *where, ssq_tape *tape,
                                 const char *name, ssq_var x, int64_t out,
                                 int64_t height, int64_t width,
                                 const ssq_nn_conv2d_args *options);
#define ssq_nn_conv2d(...) ssq_nn_conv2d_at(SSQ_AT, __VA_ARGS__)

/** Apply a transposed convolution, as ssq_conv_transpose2d. Parameters and
 *  arguments as in ssq_nn_conv2d. The default's fan_in is out / groups * height
 *  * width, as in torch. */
SSQ_API ssq_var ssq_nn_conv_transpose2d_at(const char *where, ssq_tape *tape,
                                           const char *name, ssq_var x,
                                           int64_t out, int64_t height,
                                           int64_t width,
                                           const ssq_nn_conv2d_args *options);
#define ssq_nn_conv_transpose2d(...)                                           \
    ssq_nn_conv_transpose2d_at(SSQ_AT, __VA_ARGS__)

typedef struct ssq_nn_conv1d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_conv1d_args));
    int64_t stride SSQ_DEFAULT(1);   /**< at least 1 */
    int64_t padding[2];              /**< {before, after}, at least 0 */
    int64_t dilation SSQ_DEFAULT(1); /**< at least 1 */
    int64_t groups SSQ_DEFAULT(1);   /**< at least 1 */
    int64_t output_padding; /**< ssq_nn_conv_transpose1d; others ignore it */
    ssq_layout layout;      /**< NCHW: x is [n, c, l]; NHWC: [n, l, c] */
    bool bias SSQ_DEFAULT(true);
    ssq_begin weight_init SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< default: torch's,
                                      uniform in +-1 / sqrt(fan_in) */
    ssq_begin bias_init SSQ_DEFAULT(SSQ_BEGIN_LAYER);   /**< the same */
} ssq_nn_conv1d_args;
#define SSQ_NN_CONV1D_DEFAULTS                                                 \
    sizeof(ssq_nn_conv1d_args), 1, {0, 0}, 1, 1, 0, SSQ_LAYOUT_NCHW, true,     \
        SSQ_BEGIN_LAYER, SSQ_BEGIN_LAYER
#define SSQ_NN_CONV1D_INIT                                                     \
    {                                                                          \
        SSQ_NN_CONV1D_DEFAULTS                                                 \
    }
#define SSQ_NN_CONV1D(...)                                                     \
    SSQ_ARGS(ssq_nn_conv1d_args, SSQ_NN_CONV1D_DEFAULTS, __VA_ARGS__)

/** Convolve sequences, as ssq_conv2d on images with one row. If x is not
 *  contiguous, the tape copies it first. Parameters:
 *  name.weight [out, c / groups, length] (NHWC: [out, length, c / groups]),
 *  name.bias [out].
 *  @param x       of rank 3, in the layout of the options
 *  @param out     channels of the result, at least 0; groups must divide it and
 *                 the channels of x
 *  @param length  of a filter, at least 1 */
SSQ_API ssq_var ssq_nn_conv1d_at(const char *where, ssq_tape *tape,
                                 const char *name, ssq_var x, int64_t out,
                                 int64_t length,
                                 const ssq_nn_conv1d_args *options);
#define ssq_nn_conv1d(...) ssq_nn_conv1d_at(SSQ_AT, __VA_ARGS__)

/** Apply a transposed convolution to sequences, as ssq_conv_transpose2d.
 *  name.weight is [c, out / groups, length] (NHWC: [c, length, out / groups]).
 *  The default's fan_in is out / groups * length, as in torch. Otherwise as
 *  ssq_nn_conv1d. */
SSQ_API ssq_var ssq_nn_conv_transpose1d_at(const char *where, ssq_tape *tape,
                                           const char *name, ssq_var x,
                                           int64_t out, int64_t length,
                                           const ssq_nn_conv1d_args *options);
#define ssq_nn_conv_transpose1d(...)                                           \
    ssq_nn_conv_transpose1d_at(SSQ_AT, __VA_ARGS__)

/* ---- pooling: no parameters. For images see also ssq_max_pool2d_var,
 * ssq_avg_pool2d_var and ssq_global_avg_pool2d_var ---- */

typedef struct ssq_nn_pool1d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_pool1d_args));
    int64_t stride;     /**< 0: length */
    int64_t padding[2]; /**< {before, after} */
    int64_t dilation SSQ_DEFAULT(1);
    bool ceil_mode;
    bool count_include_pad SSQ_DEFAULT(true); /**< averages only */
    ssq_layout layout; /**< NCHW: x is [n, c, l]; NHWC: [n, l, c] */
} ssq_nn_pool1d_args;
#define SSQ_NN_POOL1D_DEFAULTS                                                 \
    sizeof(ssq_nn_pool1d_args), 0, {0, 0}, 1, false, true, SSQ_LAYOUT_NCHW
#define SSQ_NN_POOL1D_INIT                                                     \
    {                                                                          \
        SSQ_NN_POOL1D_DEFAULTS                                                 \
    }
#define SSQ_NN_POOL1D(...)                                                     \
    SSQ_ARGS(ssq_nn_pool1d_args, SSQ_NN_POOL1D_DEFAULTS, __VA_ARGS__)

/** Take maxima over windows of a sequence, as ssq_max_pool2d.
 *  @param x       of rank 3, in the layout of the options. If it is not
 *                 contiguous, the tape copies it first
 *  @param length  elements of a window, 1 to 2^31 - 1 */
SSQ_API ssq_var ssq_nn_max_pool1d_at(const char *where, ssq_tape *tape,
                                     ssq_var x, int64_t length,
                                     const ssq_nn_pool1d_args *options);
#define ssq_nn_max_pool1d(...) ssq_nn_max_pool1d_at(SSQ_AT, __VA_ARGS__)

/** Take averages over windows of a sequence, as ssq_avg_pool2d. Arguments as in
 *  ssq_nn_max_pool1d. */
SSQ_API ssq_var ssq_nn_avg_pool1d_at(const char *where, ssq_tape *tape,
                                     ssq_var x, int64_t length,
                                     const ssq_nn_pool1d_args *options);
#define ssq_nn_avg_pool1d(...) ssq_nn_avg_pool1d_at(SSQ_AT, __VA_ARGS__)

/** Resize images to height by width by averaging, as torch's
 *  adaptive_avg_pool2d. Element i of a dimension is the average of elements
 *  floor(i size / new) .. ceil((i + 1) size / new) - 1. x may have any strides.
 *
 *  It is one op if the new sizes divide the old ones, as ssq_avg_pool2d_var. In
 *  a region of "float32" its result is float32. Otherwise it averages rows,
 *  then columns, in float32, and rounds to the dtype of x at the end, also in a
 *  region of "float32". In a region of NULL, means of rows are rounded to the
 *  dtype of x. If the policy moves mean to another class, means have the dtype
 *  of that class.
 *  @param x              of rank 4, in this layout, at least 1 x 1
 *  @param height, width  at least 1 */
SSQ_API ssq_var ssq_nn_adaptive_avg_pool2d_at(const char *where, ssq_tape *tape,
                                              ssq_var x, int64_t height,
                                              int64_t width, ssq_layout layout);
#define ssq_nn_adaptive_avg_pool2d(...)                                        \
    ssq_nn_adaptive_avg_pool2d_at(SSQ_AT, __VA_ARGS__)

/* ---- norms: parameters are float32 under every policy ---- */

/** Normalise channels, as ssq_batch_norm: with the batch's statistics in a pass
 *  for training, otherwise with the running ones. Parameters: name.weight and
 *  name.bias [c], initially 1 and 0. States: name.running_mean and
 *  name.running_var, initially 0 and 1.
 *
 *  With options.comm the statistics are over the x of all ranks
 *  (torch.nn.SyncBatchNorm):
 *   - All ranks must run the same passes for training. A rank without rows runs
 *     its pass over an x of 0 rows. If it calls ssq_trainer_idle instead, the
 *     group ends with an error that names both calls.
 *   - comm must live until the backward pass. The caller owns it.
 *   - A region to be recomputed exchanges its statistics twice.
 *   - The layer has no second derivative: SSQ_ERR_UNSUPPORTED.
 *   - A pass for evaluation needs no other rank, and neither does a layer whose
 *     options have training = false.
 *  @param options  axis, momentum, eps, activation, population_variance and
 *                  comm are used. If training is false, the running statistics
 *                  are used in every pass. running_mean and running_var are
 *                  ignored; other tensors must be NULL */
SSQ_API ssq_var ssq_nn_batch_norm_at(const char *where, ssq_tape *tape,
                                     const char *name, ssq_var x,
                                     const ssq_batch_norm_args *options);
#define ssq_nn_batch_norm(...) ssq_nn_batch_norm_at(SSQ_AT, __VA_ARGS__)

/** Normalise over the last ndim dimensions, as ssq_layer_norm. Parameters:
 *  name.weight and name.bias of their sizes, initially 1 and 0.
 *  @param options  ndim and eps are used; tensors must be NULL */
SSQ_API ssq_var ssq_nn_layer_norm_at(const char *where, ssq_tape *tape,
                                     const char *name, ssq_var x,
                                     const ssq_layer_norm_args *options);
#define ssq_nn_layer_norm(...) ssq_nn_layer_norm_at(SSQ_AT, __VA_ARGS__)

/** Normalise over the last ndim dimensions, as ssq_rms_norm. Parameter:
 *  name.weight of their sizes, initially 1. It has no bias.
 *  @param options  ndim and eps are used; tensors must be NULL */
SSQ_API ssq_var ssq_nn_rms_norm_at(const char *where, ssq_tape *tape,
                                   const char *name, ssq_var x,
                                   const ssq_rms_norm_args *options);
#define ssq_nn_rms_norm(...) ssq_nn_rms_norm_at(SSQ_AT, __VA_ARGS__)

/** Normalise groups of channels, as ssq_group_norm. Parameters: name.weight and
 *  name.bias [c], initially 1 and 0.
 *  @param options  axis, groups, eps and activation are used; tensors must be
 *                  NULL */
SSQ_API ssq_var ssq_nn_group_norm_at(const char *where, ssq_tape *tape,
                                     const char *name, ssq_var x,
                                     const ssq_group_norm_args *options);
#define ssq_nn_group_norm(...) ssq_nn_group_norm_at(SSQ_AT, __VA_ARGS__)

/* ---- attention ---- */

typedef struct ssq_nn_attention_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_attention_args));
    int64_t kv_heads; /**< heads of keys and values; must divide heads; 0:
                         heads */
    bool causal;      /**< a position does not attend to later ones */
    double dropout;   /**< of the attention weights, in [0, 1], in a pass for
                         training; otherwise not used and not checked */
    bool rotary;      /**< rotate queries and keys by position: ssq_rotary.
                         width / heads must be even */
    double base SSQ_DEFAULT(10000.0); /**< of rotary; above 0 and finite */
    bool bias SSQ_DEFAULT(true);      /**< of the four linear layers */
} ssq_nn_attention_args;
#define SSQ_NN_ATTENTION_DEFAULTS                                              \
    sizeof(ssq_nn_attention_args), 0, false, 0.0, false, 10000.0, true
#define SSQ_NN_ATTENTION_INIT                                                  \
    {                                                                          \
        SSQ_NN_ATTENTION_DEFAULTS                                              \
    }
#define SSQ_NN_ATTENTION(...)                                                  \
    SSQ_ARGS(ssq_nn_attention_args, SSQ_NN_ATTENTION_DEFAULTS, __VA_ARGS__)

/** Apply self-attention: the linear layers name.query, name.key and name.value,
 *  ssq_attention over heads of width / heads each, and the linear layer
 *  name.out.
 *  @param x      [batch, t, width]
 *  @param heads  at least 1; must divide width
 *  @return [batch, t, width] */
SSQ_API ssq_var ssq_nn_attention_at(const char *where, ssq_tape *tape,
                                    const char *name, ssq_var x, int64_t heads,
                                    const ssq_nn_attention_args *options);
#define ssq_nn_attention(...) ssq_nn_attention_at(SSQ_AT, __VA_ARGS__)

/* ---- recurrent layers ---- */

typedef struct ssq_nn_rnn_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_rnn_args));
    bool reverse;     /**< from the last step of x to the first */
    bool reset_first; /**< ssq_nn_gru only: see rnn.h */
    bool bias SSQ_DEFAULT(true);
} ssq_nn_rnn_args;
#define SSQ_NN_RNN_DEFAULTS sizeof(ssq_nn_rnn_args), false, false, true
#define SSQ_NN_RNN_INIT                                                        \
    {                                                                          \
        SSQ_NN_RNN_DEFAULTS                                                    \
    }
#define SSQ_NN_RNN(...)                                                        \
    SSQ_ARGS(ssq_nn_rnn_args, SSQ_NN_RNN_DEFAULTS, __VA_ARGS__)

/** Run an LSTM, as ssq_lstm: one layer, one direction. The GEMMs of all steps
 *  with the input weights are one. Parameters, initially uniform in
 *  +-1 / sqrt(hidden) as torch's: name.weight_ih [4 hidden, in], name.weight_hh
 *  [4 hidden, hidden], name.bias_ih and name.bias_hh [4 hidden].
 *  @param x       [t, batch, in], with strides as ssq_lstm: a batch-first x
 *                 that is only transposed is refused
 *  @param hidden  1 to 2^61 - 1
 *  @param h0, c0  [batch, hidden]: the initial state; SSQ_VAR_NONE: 0. c0 is
 *                 cast to float32. In a region of NULL c0 must be float32, and
 *                 h0 must have the dtype of the result
 *  @param hn, cn  out, optional: the final state, cn in float32; inert after an
 *                 error
 *  @return [t, batch, hidden]: h of all steps */
SSQ_API ssq_var ssq_nn_lstm_at(const char *where, ssq_tape *tape,
                               const char *name, ssq_var x, int64_t hidden,
                               ssq_var h0, ssq_var c0, ssq_var *hn, ssq_var *cn,
                               const ssq_nn_rnn_args *options);
#define ssq_nn_lstm(...) ssq_nn_lstm_at(SSQ_AT, __VA_ARGS__)

/** Run a GRU, as ssq_gru. As ssq_nn_lstm, with 3 hidden in place of 4 hidden,
 *  and without c. */
SSQ_API ssq_var ssq_nn_gru_at(const char *where, ssq_tape *tape,
                              const char *name, ssq_var x, int64_t hidden,
                              ssq_var h0, ssq_var *hn,
                              const ssq_nn_rnn_args *options);
#define ssq_nn_gru(...) ssq_nn_gru_at(SSQ_AT, __VA_ARGS__)

/* ---- dropout ---- */

/** Drop elements at random, as ssq_dropout, in a pass for training. In a pass
 *  for evaluation return x. p is checked in both.
 *
 *  Each call draws different numbers, and in each pass other ones. They depend
 *  on the seed of the parameters and on two numbers: of the pass, among the
 *  training passes of these parameters that draw, and of the call in it. If a
 *  pass is captured in a graph, all launches draw the same numbers. This holds
 *  also for the dropout of ssq_nn_attention. For other numbers use
 *  ssq_dropout_var with a step of the program.
 *  @param p  probability of dropping an element, in [0, 1] */
SSQ_API ssq_var ssq_nn_dropout_at(const char *where, ssq_tape *tape, ssq_var x,
                                  double p);
#define ssq_nn_dropout(...) ssq_nn_dropout_at(SSQ_AT, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
