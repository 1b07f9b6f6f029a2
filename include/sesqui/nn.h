/* SPDX-License-Identifier: Apache-2.0 */
/* nn.h - layers: ops over vars together with their parameters.
 *
 * A layer is a call. Its parameters are made, named and initialised where it is
 * called first, and found again by their names later: "fc1.weight", with the
 * tape's scopes before them ("block3.fc1.weight"). A name that is used twice is
 * shared; a shape that differs then is an error. Weights have torch's shapes
 * and torch's initial values, unless a layer's options say otherwise; their
 * dtype is the policy's compute dtype, but for those of norms, which are
 * float32.
 *
 * As everything on a tape they are asynchronous, latch errors in the tape, and
 * come as functions that end in _at, which are told the place in the program,
 * and macros that tell it. options may be NULL: all defaults. */
#ifndef SESQUI_NN_H
#define SESQUI_NN_H

#include <sesqui/vars.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kind of an initial value that is the layer's own. */
#define SSQ_INIT_LAYER ((ssq_init_kind)-1)

/** How a parameter of a layer begins: of ssq_init_args, under the same names.
 * By default a layer's parameters begin as its comment says. */
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
        SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< torch's: uniform in +-1 / sqrt(in) */
    ssq_begin bias_init SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< torch's: likewise */
} ssq_nn_linear_args;
#define SSQ_NN_LINEAR_DEFAULTS                                                 \
    sizeof(ssq_nn_linear_args), true, SSQ_BEGIN_LAYER, SSQ_BEGIN_LAYER
#define SSQ_NN_LINEAR_INIT                                                     \
    {                                                                          \
        SSQ_NN_LINEAR_DEFAULTS                                                 \
    }
#define SSQ_NN_LINEAR(...)                                                     \
    SSQ_ARGS(ssq_nn_linear_args, SSQ_NN_LINEAR_DEFAULTS, __VA_ARGS__)

/** y = x w^T + bias over the last dimension of x, of any rank from 1 on.
 *  Parameters: name.weight [out, in], name.bias [out]. */
SSQ_API ssq_var ssq_nn_linear_at(const char *where, ssq_tape *tape,
                                 const char *name, ssq_var x, int64_t out,
                                 const ssq_nn_linear_args *options);
#define ssq_nn_linear(...) ssq_nn_linear_at(SSQ_AT, __VA_ARGS__)

/* ---- embedding ---- */

typedef struct ssq_nn_embedding_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_embedding_args));
    ssq_begin weight_init
        SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< torch's: normal, deviation 1 */
} ssq_nn_embedding_args;
#define SSQ_NN_EMBEDDING_DEFAULTS sizeof(ssq_nn_embedding_args), SSQ_BEGIN_LAYER
#define SSQ_NN_EMBEDDING_INIT                                                  \
    {                                                                          \
        SSQ_NN_EMBEDDING_DEFAULTS                                              \
    }
#define SSQ_NN_EMBEDDING(...)                                                  \
    SSQ_ARGS(ssq_nn_embedding_args, SSQ_NN_EMBEDDING_DEFAULTS, __VA_ARGS__)

/** Rows of a table: ssq_gather_rows. Parameter: name.weight [rows, width]. A
 *  linear layer of the same name without bias is tied to it.
 *  @param index  i32, any shape; held until the pass ends */
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
    int64_t output_padding[2]; /**< of the transposed one alone */
    ssq_layout layout;
    bool bias SSQ_DEFAULT(true);
    ssq_begin weight_init SSQ_DEFAULT(
        SSQ_BEGIN_LAYER); /**< torch's: uniform in +-1 / sqrt(fan_in) */
    ssq_begin bias_init SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< torch's: likewise */
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

/** ssq_conv2d with filters of height by width. Parameters: name.weight in the
 *  layout of conv.h, name.bias [out]. */
SSQ_API ssq_var ssq_nn_conv2d_at(const char *where, ssq_tape *tape,
                                 const char *name, ssq_var x, int64_t out,
                                 int64_t height, int64_t width,
                                 const ssq_nn_conv2d_args *options);
#define ssq_nn_conv2d(...) ssq_nn_conv2d_at(SSQ_AT, __VA_ARGS__)

/** ssq_conv_transpose2d, likewise. */
SSQ_API ssq_var ssq_nn_conv_transpose2d_at(const char *where, ssq_tape *tape,
                                           const char *name, ssq_var x,
                                           int64_t out, int64_t height,
                                           int64_t width,
                                           const ssq_nn_conv2d_args *options);
#define ssq_nn_conv_transpose2d(...)                                           \
    ssq_nn_conv_transpose2d_at(SSQ_AT, __VA_ARGS__)

typedef struct ssq_nn_conv1d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_conv1d_args));
    int64_t stride SSQ_DEFAULT(1);
    int64_t padding[2]; /**< {before, after} */
    int64_t dilation SSQ_DEFAULT(1);
    int64_t groups SSQ_DEFAULT(1);
    int64_t output_padding; /**< of the transposed one alone */
    ssq_layout layout;      /**< NCHW: x is [n, c, l], NHWC: [n, l, c] */
    bool bias SSQ_DEFAULT(true);
    ssq_begin weight_init SSQ_DEFAULT(SSQ_BEGIN_LAYER); /**< as of conv2d */
    ssq_begin bias_init SSQ_DEFAULT(SSQ_BEGIN_LAYER);   /**< likewise */
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

/** ssq_conv2d of images that are one row high. Parameters: name.weight [out,
 *  c / groups, length] (NHWC: [out, length, c / groups]), name.bias [out].
 *  @param x       of rank 3, as the layout says
 *  @param length  of a filter, at least 1 */
SSQ_API ssq_var ssq_nn_conv1d_at(const char *where, ssq_tape *tape,
                                 const char *name, ssq_var x, int64_t out,
                                 int64_t length,
                                 const ssq_nn_conv1d_args *options);
#define ssq_nn_conv1d(...) ssq_nn_conv1d_at(SSQ_AT, __VA_ARGS__)

/** ssq_conv_transpose2d, likewise: name.weight is [c, out / groups, length]
 *  (NHWC: [c, length, out / groups]). */
SSQ_API ssq_var ssq_nn_conv_transpose1d_at(const char *where, ssq_tape *tape,
                                           const char *name, ssq_var x,
                                           int64_t out, int64_t length,
                                           const ssq_nn_conv1d_args *options);
#define ssq_nn_conv_transpose1d(...)                                           \
    ssq_nn_conv_transpose1d_at(SSQ_AT, __VA_ARGS__)

/* ---- pooling: without parameters; of images also ssq_max_pool2d_var,
 * ssq_avg_pool2d_var and ssq_global_avg_pool2d_var ---- */

typedef struct ssq_nn_pool1d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_pool1d_args));
    int64_t stride;     /**< 0: the window's length */
    int64_t padding[2]; /**< {before, after} */
    int64_t dilation SSQ_DEFAULT(1);
    bool ceil_mode;
    bool count_include_pad SSQ_DEFAULT(true); /**< of averages alone */
    ssq_layout layout; /**< NCHW: x is [n, c, l], NHWC: [n, l, c] */
} ssq_nn_pool1d_args;
#define SSQ_NN_POOL1D_DEFAULTS                                                 \
    sizeof(ssq_nn_pool1d_args), 0, {0, 0}, 1, false, true, SSQ_LAYOUT_NCHW
#define SSQ_NN_POOL1D_INIT                                                     \
    {                                                                          \
        SSQ_NN_POOL1D_DEFAULTS                                                 \
    }
#define SSQ_NN_POOL1D(...)                                                     \
    SSQ_ARGS(ssq_nn_pool1d_args, SSQ_NN_POOL1D_DEFAULTS, __VA_ARGS__)

/** Maxima over windows of so many elements, as ssq_max_pool2d has them. */
SSQ_API ssq_var ssq_nn_max_pool1d_at(const char *where, ssq_tape *tape,
                                     ssq_var x, int64_t length,
                                     const ssq_nn_pool1d_args *options);
#define ssq_nn_max_pool1d(...) ssq_nn_max_pool1d_at(SSQ_AT, __VA_ARGS__)

/** Averages, as ssq_avg_pool2d. */
SSQ_API ssq_var ssq_nn_avg_pool1d_at(const char *where, ssq_tape *tape,
                                     ssq_var x, int64_t length,
                                     const ssq_nn_pool1d_args *options);
#define ssq_nn_avg_pool1d(...) ssq_nn_avg_pool1d_at(SSQ_AT, __VA_ARGS__)

/** An image of height by width from one of any size: element i of a dimension
 *  is the average of floor(i size / new) .. ceil((i + 1) size / new), as
 *  torch's adaptive_avg_pool2d. One op where the new sizes divide the old ones,
 *  else several: means of rows, then of columns, in float32, rounded to the
 *  dtype of x at the end.
 *  @param x              of rank 4, as the layout says, with rows and columns
 *  @param height, width  at least 1 */
SSQ_API ssq_var ssq_nn_adaptive_avg_pool2d_at(const char *where, ssq_tape *tape,
                                              ssq_var x, int64_t height,
                                              int64_t width, ssq_layout layout);
#define ssq_nn_adaptive_avg_pool2d(...)                                        \
    ssq_nn_adaptive_avg_pool2d_at(SSQ_AT, __VA_ARGS__)

/* ---- norms: parameters are float32 under every policy ---- */

/** ssq_batch_norm over the channels; with the batch's statistics in a pass for
 *  training, with the running ones else. Parameters: name.weight and name.bias
 *  [c], which begin as 1 and 0, and the states name.running_mean and
 *  name.running_var.
 *  @param options  axis, momentum, eps, population_variance, comm count; NULL
 *                  their defaults. training is the tape's: where it is false
 *                  here, the running statistics are used in every pass. With
 *                  comm the statistics are those of all ranks' x
 *                  (torch.nn.SyncBatchNorm), which take the same passes for
 *                  training then: one that calls ssq_trainer_idle instead ends
 *                  the group with an error that names both calls; one without
 *                  rows takes its pass over an x of 0 rows. A region that is
 *                  recomputed exchanges its statistics twice. There is no
 *                  gradient of the gradient: SSQ_ERR_UNSUPPORTED. An evaluation
 *                  calls no other rank */
SSQ_API ssq_var ssq_nn_batch_norm_at(const char *where, ssq_tape *tape,
                                     const char *name, ssq_var x,
                                     const ssq_batch_norm_args *options);
#define ssq_nn_batch_norm(...) ssq_nn_batch_norm_at(SSQ_AT, __VA_ARGS__)

/** ssq_layer_norm over the last ndim dimensions. Parameters: name.weight,
 *  name.bias of their sizes. @param options  ndim, eps count; NULL defaults */
SSQ_API ssq_var ssq_nn_layer_norm_at(const char *where, ssq_tape *tape,
                                     const char *name, ssq_var x,
                                     const ssq_layer_norm_args *options);
#define ssq_nn_layer_norm(...) ssq_nn_layer_norm_at(SSQ_AT, __VA_ARGS__)

/** ssq_rms_norm, likewise, without a bias. */
SSQ_API ssq_var ssq_nn_rms_norm_at(const char *where, ssq_tape *tape,
                                   const char *name, ssq_var x,
                                   const ssq_rms_norm_args *options);
#define ssq_nn_rms_norm(...) ssq_nn_rms_norm_at(SSQ_AT, __VA_ARGS__)

/** ssq_group_norm. Parameters: name.weight, name.bias [c].
 *  @param options  axis, groups, eps count; NULL their defaults */
SSQ_API ssq_var ssq_nn_group_norm_at(const char *where, ssq_tape *tape,
                                     const char *name, ssq_var x,
                                     const ssq_group_norm_args *options);
#define ssq_nn_group_norm(...) ssq_nn_group_norm_at(SSQ_AT, __VA_ARGS__)

/* ---- attention ---- */

typedef struct ssq_nn_attention_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_attention_args));
    int64_t kv_heads; /**< of keys and values, divides heads; 0: heads */
    bool causal;      /**< nothing is seen of what comes later */
    double dropout;   /**< of the weights, in a pass for training */
    bool rotary;      /**< queries and keys turn by their place: ssq_rotary */
    double base SSQ_DEFAULT(10000.0); /**< of rotary */
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

/** Self-attention: linear layers name.query, name.key and name.value, heads of
 *  width / heads each, ssq_attention, and the linear layer name.out.
 *  @param x      [batch, t, width]
 *  @param heads  divides width */
SSQ_API ssq_var ssq_nn_attention_at(const char *where, ssq_tape *tape,
                                    const char *name, ssq_var x, int64_t heads,
                                    const ssq_nn_attention_args *options);
#define ssq_nn_attention(...) ssq_nn_attention_at(SSQ_AT, __VA_ARGS__)

/* ---- recurrent layers ---- */

typedef struct ssq_nn_rnn_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nn_rnn_args));
    bool reverse;     /**< from the last step of x to the first */
    bool reset_first; /**< of gru alone: rnn.h */
    bool bias SSQ_DEFAULT(true);
} ssq_nn_rnn_args;
#define SSQ_NN_RNN_DEFAULTS sizeof(ssq_nn_rnn_args), false, false, true
#define SSQ_NN_RNN_INIT                                                        \
    {                                                                          \
        SSQ_NN_RNN_DEFAULTS                                                    \
    }
#define SSQ_NN_RNN(...)                                                        \
    SSQ_ARGS(ssq_nn_rnn_args, SSQ_NN_RNN_DEFAULTS, __VA_ARGS__)

/** ssq_lstm: one layer, one direction; the products of all steps with the
 *  inputs' weights are one gemm. Parameters, which begin uniform in
 *  +-1 / sqrt(hidden) as torch's: name.weight_ih [4 hidden, in], name.weight_hh
 *  [4 hidden, hidden], name.bias_ih and name.bias_hh [4 hidden].
 *  @param x       [t, batch, in]
 *  @param h0, c0  [batch, hidden], the state before, c0 float32; SSQ_VAR_NONE:
 * 0
 *  @param hn, cn  out, optional: the state after
 *  @return [t, batch, hidden]: h of all steps */
SSQ_API ssq_var ssq_nn_lstm_at(const char *where, ssq_tape *tape,
                               const char *name, ssq_var x, int64_t hidden,
                               ssq_var h0, ssq_var c0, ssq_var *hn, ssq_var *cn,
                               const ssq_nn_rnn_args *options);
#define ssq_nn_lstm(...) ssq_nn_lstm_at(SSQ_AT, __VA_ARGS__)

/** ssq_gru, likewise, with 3 hidden for 4, and without c. */
SSQ_API ssq_var ssq_nn_gru_at(const char *where, ssq_tape *tape,
                              const char *name, ssq_var x, int64_t hidden,
                              ssq_var h0, ssq_var *hn,
                              const ssq_nn_rnn_args *options);
#define ssq_nn_gru(...) ssq_nn_gru_at(SSQ_AT, __VA_ARGS__)

/* ---- dropout ---- */

/** ssq_dropout in a pass for training, x itself else. Each call draws numbers
 * of its own, and other ones in each pass: of the parameters' seed, the number
 * of the pass among all training passes of these parameters, and the number of
 * the call in it.
 *  @param p  chance of dropping an element, in [0, 1] */
SSQ_API ssq_var ssq_nn_dropout_at(const char *where, ssq_tape *tape, ssq_var x,
                                  double p);
#define ssq_nn_dropout(...) ssq_nn_dropout_at(SSQ_AT, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
