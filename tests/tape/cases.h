/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - every op of a tape, with its options, as functions of parameters:
 * what gradients.c and golden.c look at. */
#ifndef TESTS_TAPE_CASES_H
#define TESTS_TAPE_CASES_H

#include "tests/tape/tape.h"

/* A parameter of normal values. */
#define P(NAME, RANK, ...)                                                     \
    ssq_var_param(t, NAME,                                                     \
                  SSQ_PARAM(.rank = (RANK), .shape = {__VA_ARGS__},            \
                            .init = SSQ_INIT_NORMAL, .value = 1.0))
#define X   P("x", 2, 5, 7)
#define Y   P("y", 2, 5, 7)
#define ROW P("row", 1, 7)
#define COL P("col", 2, 5, 1)
/* Above 0, and not near it. */
#define ABOVE(V) ssq_exp_var(ssq_scale_var((V), SSQ_SCALE(.alpha = 0.5)))

/* What the cases read that is not a var. */
struct data {
    ssq_tensor *classes;    /* i32 [5], one of them ignored */
    ssq_tensor *pixels;     /* i32 [2, 3] */
    ssq_tensor *target;     /* f32 [5, 7] */
    ssq_tensor *share;      /* the same, in 0..1, rows that sum to 1 */
    ssq_tensor *weight;     /* f32 [7] */
    ssq_tensor *rows;       /* i32 [2, 3] */
    ssq_tensor *mask;       /* f32 [4, 6] */
    ssq_tensor *place;      /* i32 [6] */
    ssq_tensor *mean, *var; /* f32 [3] */
    ssq_tensor *cond;       /* u8 [5, 7] */
};

#define CASES(C)                                                               \
    C(relu, ssq_relu_var(X))                                                   \
    C(leaky_relu, ssq_leaky_relu_var(X, SSQ_LEAKY_RELU(.alpha = 0.2)))         \
    C(elu, ssq_elu_var(X, SSQ_ELU(.alpha = 0.7)))                              \
    C(gelu, ssq_gelu_var(X))                                                   \
    C(gelu_tanh, ssq_gelu_tanh_var(X))                                         \
    C(silu, ssq_silu_var(X))                                                   \
    C(sigmoid, ssq_sigmoid_var(X))                                             \
    C(tanh, ssq_tanh_var(X))                                                   \
    C(softsign, ssq_softsign_var(X))                                           \
    C(softplus, ssq_softplus_var(X, NULL))                                     \
    C(exp, ssq_exp_var(X))                                                     \
    C(expm1, ssq_expm1_var(X))                                                 \
    C(log, ssq_log_var(ABOVE(X)))                                              \
    C(log1p, ssq_log1p_var(ABOVE(X)))                                          \
    C(sqrt, ssq_sqrt_var(ABOVE(X)))                                            \
    C(rsqrt, ssq_rsqrt_var(ABOVE(X)))                                          \
    C(reciprocal, ssq_reciprocal_var(ABOVE(X)))                                \
    C(abs, ssq_abs_var(X))                                                     \
    C(neg, ssq_neg_var(X))                                                     \
    C(square, ssq_square_var(X))                                               \
    C(sin, ssq_sin_var(X))                                                     \
    C(cos, ssq_cos_var(X))                                                     \
    C(erf, ssq_erf_var(X))                                                     \
    C(clamp, ssq_clamp_var(X, SSQ_CLAMP(.min = -0.5, .max = 0.8)))             \
    C(add, ssq_add_var(X, Y))                                                  \
    C(add_row, ssq_add_var(X, ROW))                                            \
    C(sub_column, ssq_sub_var(COL, X))                                         \
    C(mul_both, ssq_mul_var(COL, ROW))                                         \
    C(mul_itself, ssq_mul_var(X, X))                                           \
    C(div, ssq_div_var(X, ABOVE(ROW)))                                         \
    C(maximum, ssq_maximum_var(X, Y))                                          \
    C(minimum, ssq_minimum_var(X, COL))                                        \
    C(pow, ssq_pow_var(ABOVE(X), Y))                                           \
    C(glu, ssq_glu_var(X, Y, NULL))                                            \
    C(swiglu, ssq_glu_var(X, Y, SSQ_GLU(.activation = SSQ_ACTIVATION_SILU)))   \
    C(scale, ssq_scale_var(X, SSQ_SCALE(.alpha = -1.5)))                       \
    C(dropout, ssq_dropout_var(X, SSQ_DROPOUT(.p = 0.3, .seed = 5)))           \
    C(nn_dropout, ssq_nn_dropout(t, X, 0.4))                                   \
    C(sum, ssq_sum_var(X, NULL))                                               \
    C(sum_axis, ssq_sum_var(X, SSQ_SUM(.axes = {1}, .n_axes = 1)))             \
    C(sum_none, ssq_sum_var(X, SSQ_SUM(.n_axes = SSQ_AXES_NONE)))              \
    C(mean, ssq_mean_var(X, NULL))                                             \
    C(mean_axis, ssq_mean_var(X, SSQ_MEAN(.axes = {-2}, .n_axes = 1)))         \
    C(prod, ssq_prod_var(ssq_var_slice(X, 0, 0, 2, 1), NULL))                  \
    C(prod_axis, ssq_prod_var(X, SSQ_PROD(.axes = {0}, .n_axes = 1)))          \
    C(prod_axes, ssq_prod_var(P("w3", 3, 2, 5, 3),                             \
                              SSQ_PROD(.axes = {0, 2}, .n_axes = 2)))          \
    C(max_axis, ssq_max_var(X, SSQ_MAX(.axes = {1}, .n_axes = 1)))             \
    C(min, ssq_min_var(X, NULL))                                               \
    C(gemm, ssq_gemm_var(P("a", 2, 4, 3), P("b", 2, 3, 5), SSQ_VAR_NONE,       \
                         SSQ_GEMM(.alpha = 0.5)))                              \
    C(gemm_nt, ssq_gemm_var(P("a", 2, 4, 3), P("b", 2, 5, 3), P("c", 1, 5),    \
                            SSQ_GEMM(.trans_b = true)))                        \
    C(gemm_tn, ssq_gemm_var(P("a", 2, 3, 4), P("b", 2, 3, 5), P("c", 1, 5),    \
                            SSQ_GEMM(.trans_a = true,                          \
                                     .activation = SSQ_ACTIVATION_GELU)))      \
    C(gemm_tt, ssq_gemm_var(P("a", 2, 3, 4), P("b", 2, 5, 3), SSQ_VAR_NONE,    \
                            SSQ_GEMM(.trans_a = true, .trans_b = true)))       \
    C(gemm_batched,                                                            \
      ssq_gemm_batched_var(P("a", 3, 2, 4, 3), P("b", 3, 2, 3, 5),             \
                           P("c", 1, 5), NULL))                                \
    C(gemm_broadcast,                                                          \
      ssq_gemm_batched_var(P("a", 4, 2, 1, 4, 3), P("b", 3, 3, 5, 3),          \
                           SSQ_VAR_NONE, SSQ_GEMM(.trans_b = true)))           \
    C(softmax, ssq_softmax_var(X, NULL))                                       \
    C(softmax_axis, ssq_softmax_var(X, SSQ_SOFTMAX(.axis = 0)))                \
    C(log_softmax, ssq_log_softmax_var(X, NULL))                               \
    C(cross_entropy,                                                           \
      ssq_cross_entropy_var(X, SSQ_CROSS_ENTROPY(.target = d->classes)))       \
    C(cross_entropy_smooth,                                                    \
      ssq_cross_entropy_var(X, SSQ_CROSS_ENTROPY(.target = d->classes,         \
                                                 .weight = d->weight,          \
                                                 .label_smoothing = 0.1)))     \
    C(cross_entropy_each,                                                      \
      ssq_cross_entropy_var(                                                   \
          X, SSQ_CROSS_ENTROPY(.target = d->classes,                           \
                               .reduction = SSQ_REDUCTION_NONE)))              \
    C(cross_entropy_pixels,                                                    \
      ssq_cross_entropy_var(                                                   \
          P("z", 3, 2, 5, 3),                                                  \
          SSQ_CROSS_ENTROPY(.target = d->pixels,                               \
                            .reduction = SSQ_REDUCTION_NONE)))                 \
    C(cross_entropy_soft,                                                      \
      ssq_cross_entropy_var(X, SSQ_CROSS_ENTROPY(.target_prob = d->share)))    \
    C(nll_loss, ssq_nll_loss_var(ssq_log_softmax_var(X, NULL),                 \
                                 SSQ_NLL_LOSS(.target = d->classes)))          \
    C(mse, ssq_mse_var(X, SSQ_MSE(.target = d->target)))                       \
    C(mse_each, ssq_mse_var(X, SSQ_MSE(.target = d->target,                    \
                                       .reduction = SSQ_REDUCTION_NONE)))      \
    C(l1, ssq_l1_var(X, SSQ_L1(.target = d->target)))                          \
    C(smooth_l1, ssq_smooth_l1_var(X, SSQ_SMOOTH_L1(.target = d->target)))     \
    C(huber, ssq_huber_var(X, SSQ_HUBER(.target = d->target, .delta = 0.5,     \
                                        .reduction = SSQ_REDUCTION_SUM)))      \
    C(bce_with_logits,                                                         \
      ssq_bce_with_logits_var(X, SSQ_BCE_WITH_LOGITS(.target = d->share)))     \
    C(bce_weighted,                                                            \
      ssq_bce_with_logits_var(                                                 \
          X, SSQ_BCE_WITH_LOGITS(.target = d->share, .weight = d->weight,      \
                                 .pos_weight = d->target,                      \
                                 .reduction = SSQ_REDUCTION_NONE)))            \
    C(cross_entropy_soft_smooth,                                               \
      ssq_cross_entropy_var(                                                   \
          X, SSQ_CROSS_ENTROPY(.target_prob = d->share, .weight = d->weight,   \
                               .label_smoothing = 0.2,                         \
                               .reduction = SSQ_REDUCTION_SUM)))               \
    C(smooth_l1_narrow,                                                        \
      ssq_smooth_l1_var(X, SSQ_SMOOTH_L1(.target = d->target, .beta = 0.25)))  \
    C(layer_norm, ssq_layer_norm_var(X, ROW, P("beta", 1, 7), NULL))           \
    C(layer_norm_plain,                                                        \
      ssq_layer_norm_var(P("z", 3, 2, 5, 3), SSQ_VAR_NONE, SSQ_VAR_NONE,       \
                         SSQ_LAYER_NORM(.ndim = 2)))                           \
    C(rms_norm, ssq_rms_norm_var(X, ROW, NULL))                                \
    C(batch_norm, ssq_batch_norm_var(P("i", 4, 2, 3, 4, 4), P("g", 1, 3),      \
                                     P("h", 1, 3), NULL))                      \
    C(batch_norm_running,                                                      \
      ssq_batch_norm_var(P("i", 4, 2, 3, 4, 4), P("g", 1, 3), P("h", 1, 3),    \
                         SSQ_BATCH_NORM(.running_mean = d->mean,               \
                                        .running_var = d->var,                 \
                                        .training = false)))                   \
    C(group_norm,                                                              \
      ssq_group_norm_var(P("j", 4, 2, 4, 3, 3), P("g4", 1, 4), P("h4", 1, 4),  \
                         SSQ_GROUP_NORM(.groups = 2)))                         \
    C(conv2d,                                                                  \
      ssq_conv2d_var(P("i", 4, 2, 3, 4, 4), P("w", 4, 4, 3, 3, 3),             \
                     P("c", 1, 4), SSQ_CONV2D(.padding = {1, 1, 1, 1})))       \
    C(conv2d_strided,                                                          \
      ssq_conv2d_var(                                                          \
          P("j", 4, 2, 4, 3, 3), P("w", 4, 2, 2, 2, 2), SSQ_VAR_NONE,          \
          SSQ_CONV2D(.stride = {2, 1}, .groups = 2, .padding = {0, 1, 1, 0}))) \
    C(conv2d_last,                                                             \
      ssq_conv2d_var(P("k", 4, 2, 4, 4, 3), P("w", 4, 4, 3, 3, 3),             \
                     P("c", 1, 4), SSQ_CONV2D(.layout = SSQ_LAYOUT_NHWC)))     \
    C(conv2d_moved,                                                            \
      ssq_mul_var(ssq_var_transpose(ssq_conv2d_var(P("i", 4, 2, 3, 4, 4),      \
                                                   P("w", 4, 4, 3, 3, 3),      \
                                                   SSQ_VAR_NONE, NULL),        \
                                    (int[]){0, 2, 3, 1}),                      \
                  P("w16", 4, 2, 2, 2, 4)))                                    \
    C(conv2d_left,                                                             \
      ssq_conv2d_var(P("j", 4, 2, 4, 3, 3), P("wg", 4, 6, 2, 2, 1),            \
                     SSQ_VAR_NONE,                                             \
                     SSQ_CONV2D(.stride = {2, 3}, .dilation = {1, 2},          \
                                .groups = 2, .padding = {1, 0, 1, 1})))        \
    C(conv_transpose2d,                                                        \
      ssq_conv_transpose2d_var(                                                \
          P("i", 4, 2, 3, 4, 4), P("w", 4, 3, 2, 3, 3), P("c", 1, 2),          \
          SSQ_CONV_TRANSPOSE2D(.stride = {2, 2}, .output_padding = {1, 0})))   \
    C(max_pool2d, ssq_max_pool2d_var(P("i", 4, 2, 3, 4, 4),                    \
                                     SSQ_MAX_POOL2D(.kernel = {2, 2})))        \
    C(avg_pool2d,                                                              \
      ssq_avg_pool2d_var(P("i", 4, 2, 3, 4, 4),                                \
                         SSQ_AVG_POOL2D(.kernel = {3, 3}, .stride = {1, 1},    \
                                        .padding = {1, 1, 1, 1})))             \
    C(global_avg_pool2d,                                                       \
      ssq_global_avg_pool2d_var(P("i", 4, 2, 3, 4, 4), NULL))                  \
    C(gather_rows, ssq_gather_rows_var(X, SSQ_GATHER_ROWS(.index = d->rows)))  \
    C(attention, ssq_attention_var(                                            \
                     P("q", 4, 1, 2, 4, 4), P("k1", 4, 1, 2, 6, 4),            \
                     P("v", 4, 1, 2, 6, 3), SSQ_ATTENTION(.mask = d->mask)))   \
    C(attention_causal,                                                        \
      ssq_attention_var(P("q", 4, 1, 2, 4, 4), P("k2", 4, 1, 1, 4, 4),         \
                        P("v2", 4, 1, 1, 4, 3),                                \
                        SSQ_ATTENTION(.causal = true)))                        \
    C(rotary, ssq_rotary_var(P("z6", 3, 2, 5, 6), NULL))                       \
    C(lstm, lstm(t))                                                           \
    C(gru, gru(t))                                                             \
    C(cast, ssq_var_cast(ssq_square_var(X), SSQ_F32))                          \
    C(reshape, ssq_tanh_var(ssq_var_reshape(X, 3, (int64_t[]){7, -1, 1})))     \
    C(transpose, ssq_mul_var(ssq_var_transpose(X, NULL), P("u", 2, 7, 5)))     \
    C(transpose_reshape,                                                       \
      ssq_square_var(ssq_var_reshape(ssq_var_transpose(X, (int[]){1, 0}), 1,   \
                                     (int64_t[]){35})))                        \
    C(slice, ssq_square_var(ssq_var_slice(X, 1, 2, 6, 1)))                     \
    C(slice_steps, ssq_square_var(ssq_var_slice(ssq_sin_var(X), -2, 1, 5, 2))) \
    C(slice_parts, slices(t))                                                  \
    C(broadcast, ssq_mul_var(ssq_var_broadcast(COL, 3, (int64_t[]){2, 5, 7}),  \
                             P("w3", 3, 2, 5, 7)))                             \
    C(concat, joined(t))                                                       \
    C(concat_many, many(t))                                                    \
    C(where, ssq_where_var(X, Y, SSQ_WHERE(.cond = d->cond)))                  \
    C(where_row, ssq_where_var(ROW, COL, SSQ_WHERE(.cond = d->cond)))          \
    C(where_once, ssq_where_var(X, ssq_var_input(t, d->target),                \
                                SSQ_WHERE(.cond = d->cond)))                   \
    C(reshape_twice, twice(t))                                                 \
    C(nn_linear, ssq_nn_linear(t, "fc", P("z", 3, 2, 5, 3), 4, NULL))          \
    C(nn_tied, tied(t, d))                                                     \
    C(nn_conv2d, ssq_nn_conv2d(t, "conv", P("i", 4, 2, 3, 4, 4), 4, 3, 3,      \
                               SSQ_NN_CONV2D(.stride = {2, 2})))               \
    C(nn_conv_transpose2d,                                                     \
      ssq_nn_conv_transpose2d(t, "up", P("i", 4, 2, 3, 4, 4), 2, 2, 2, NULL))  \
    C(nn_conv1d, ssq_nn_conv1d(t, "c1", P("r", 3, 2, 4, 9), 6, 3,              \
                               SSQ_NN_CONV1D(.stride = 2, .padding = {2, 1},   \
                                             .groups = 2)))                    \
    C(nn_conv1d_last,                                                          \
      ssq_nn_conv1d(t, "c1", P("r", 3, 2, 9, 4), 3, 2,                         \
                    SSQ_NN_CONV1D(.dilation = 3, .layout = SSQ_LAYOUT_NHWC)))  \
    C(nn_conv_transpose1d,                                                     \
      ssq_nn_conv_transpose1d(                                                 \
          t, "u1", P("r", 3, 2, 4, 5), 6, 3,                                   \
          SSQ_NN_CONV1D(.stride = 2, .output_padding = 1, .groups = 2)))       \
    C(nn_max_pool1d,                                                           \
      ssq_nn_max_pool1d(t, P("r", 3, 2, 3, 9), 3, SSQ_NN_POOL1D(.stride = 2))) \
    C(nn_avg_pool1d,                                                           \
      ssq_nn_avg_pool1d(                                                       \
          t, P("r", 3, 2, 9, 3), 2,                                            \
          SSQ_NN_POOL1D(.padding = {1, 0}, .layout = SSQ_LAYOUT_NHWC)))        \
    C(nn_adaptive_even, ssq_nn_adaptive_avg_pool2d(t, P("i", 4, 2, 3, 4, 6),   \
                                                   2, 3, SSQ_LAYOUT_NCHW))     \
    C(nn_adaptive, ssq_nn_adaptive_avg_pool2d(t, P("i", 4, 2, 5, 7, 3), 3, 5,  \
                                              SSQ_LAYOUT_NHWC))                \
    C(nn_norms, norms(t))                                                      \
    C(nn_attention, ssq_nn_attention(t, "at", P("z8", 3, 2, 5, 8), 2,          \
                                     SSQ_NN_ATTENTION(.causal = true)))        \
    C(nn_attention_grouped,                                                    \
      ssq_nn_attention(t, "at", P("z8", 3, 2, 5, 8), 4,                        \
                       SSQ_NN_ATTENTION(.kv_heads = 2, .rotary = true,         \
                                        .dropout = 0.2, .bias = false)))       \
    C(nn_lstm, nn_lstm(t))                                                     \
    C(nn_gru, ssq_nn_gru(t, "g", P("s", 3, 3, 2, 4), 3, SSQ_VAR_NONE, NULL,    \
                         SSQ_NN_RNN(.reset_first = true)))                     \
    C(diamond, diamond(t))

/* Parts that overlap, of a parameter and of a value that is used as a whole. */
static ssq_var slices(ssq_tape *t)
{
    ssq_var x = X, z = ssq_tanh_var(x);
    ssq_var y =
        ssq_mul_var(ssq_var_slice(x, 0, 0, 3, 1), ssq_var_slice(x, 0, 2, 5, 1));
    y = ssq_add_var(y, ssq_mul_var(ssq_var_slice(z, 0, 1, 4, 1),
                                   ssq_var_slice(z, 0, 0, 5, 2)));
    return ssq_add_var(y, ssq_mul_var(ssq_sum_var(z, NULL), y));
}

/* Vars of other sizes, one of them twice, one of them a transpose. */
static ssq_var joined(ssq_tape *t)
{
    ssq_var x = ssq_sin_var(X);
    const ssq_var all[] = {x, COL, x, ssq_var_transpose(P("u", 2, 3, 5), NULL)};
    return ssq_square_var(ssq_var_concat(all, 4, -1));
}

/* More than a node has operands. */
static ssq_var many(ssq_tape *t)
{
    ssq_var x = ssq_sin_var(X), rows[5];
    for (int i = 0; i < 5; i++)
        rows[i] = ssq_var_slice(x, 0, 4 - i, 5 - i, 1);
    ssq_var all[10];
    for (int i = 0; i < 10; i++)
        all[i] = rows[i * i % 5];
    ssq_var y = ssq_var_concat(all, 10, 0);
    return ssq_mul_var(y, ssq_var_concat((ssq_var[]){x, Y}, 2, 0));
}

/* All results of a recurrent layer matter. */
static ssq_var lstm(ssq_tape *t)
{
    ssq_var hn, cn;
    ssq_var y =
        ssq_lstm_var(P("s", 3, 3, 2, 4), P("ih", 2, 12, 4), P("hh", 2, 12, 3),
                     P("b1", 1, 12), P("b2", 1, 12), P("h0", 2, 2, 3),
                     P("c0", 2, 2, 3), &hn, &cn, NULL);
    return ssq_add_var(y, ssq_mul_var(hn, cn));
}

static ssq_var nn_lstm(ssq_tape *t)
{
    ssq_var hn, cn;
    ssq_var y =
        ssq_nn_lstm(t, "l", P("s", 3, 3, 2, 4), 3, SSQ_VAR_NONE, SSQ_VAR_NONE,
                    &hn, &cn, SSQ_NN_RNN(.reverse = true));
    return ssq_add_var(y, ssq_mul_var(hn, cn));
}

static ssq_var gru(ssq_tape *t)
{
    ssq_var hn;
    ssq_var y =
        ssq_gru_var(P("s", 3, 3, 2, 4), P("ih9", 2, 9, 4), P("hh9", 2, 9, 3),
                    P("b3", 1, 9), P("b4", 1, 9), P("h0", 2, 2, 3), &hn, NULL);
    return ssq_add_var(y, ssq_square_var(hn));
}

/* Two views of one value, and the value itself. */
static ssq_var twice(ssq_tape *t)
{
    ssq_var x = ssq_tanh_var(X);
    ssq_var a = ssq_var_reshape(x, 1, (int64_t[]){35});
    ssq_var b = ssq_var_reshape(ssq_square_var(x), 1, (int64_t[]){35});
    return ssq_add_var(ssq_mul_var(a, b),
                       ssq_var_reshape(x, 1, (int64_t[]){35}));
}

/* A table of rows, and the same as weights of a product. */
static ssq_var tied(ssq_tape *t, const struct data *d)
{
    ssq_var x = ssq_nn_embedding(t, "e", d->rows, 5, 6, NULL);
    return ssq_nn_linear(t, "e", ssq_tanh_var(x), 5,
                         SSQ_NN_LINEAR(.bias = false));
}

static ssq_var norms(ssq_tape *t)
{
    ssq_var x = ssq_nn_batch_norm(t, "bn", P("j", 4, 2, 4, 3, 3), NULL);
    x = ssq_nn_group_norm(t, "gn", x, SSQ_GROUP_NORM(.groups = 2));
    x = ssq_nn_layer_norm(t, "ln", x, NULL);
    return ssq_nn_rms_norm(t, "rn", ssq_add_var(x, P("j2", 4, 2, 4, 3, 3)),
                           SSQ_RMS_NORM(.ndim = 2));
}

/* A value that goes two ways, and comes together. */
static ssq_var diamond(ssq_tape *t)
{
    ssq_var x = ssq_sin_var(X);
    ssq_var y = ssq_mul_var(ssq_exp_var(x), ssq_add_var(x, Y));
    return ssq_sub_var(y, ssq_mul_var(x, x));
}

#define CASE(NAME, VAR)                                                        \
    static ssq_var case_##NAME(ssq_tape *t, void *user)                        \
    {                                                                          \
        const struct data *d = user;                                           \
        (void)d;                                                               \
        return VAR;                                                            \
    }
CASES(CASE)

static const struct {
    const char *name;
    ssq_gradcheck_fn fn;
} cases[] = {
#define LINE(NAME, VAR) {#NAME, case_##NAME},
    CASES(LINE)
#undef LINE
};
#define N (sizeof(cases) / sizeof(cases[0]))

/** The data of all cases; data_drop() when they are done. */
static void data_fill(const struct rig *r, struct data *d)
{
    static const int classes[] = {3, -100, 0, 6, 2},
                     pixels[] = {4, 0, 2, 1, 3, 3};
    static const int rows[] = {4, 0, 4, 2, 2, 1}, place[] = {5, 0, 3, 1, 2, 9};
    static const int64_t five = 5, six = 6, seven = 7, three = 3;
    static const int64_t two_three[] = {2, 3}, five_seven[] = {5, 7};
    static const int64_t four_six[] = {4, 6};
    float x[35], share[35], mask[24];
    for (int i = 0; i < 35; i++) {
        x[i] = (float)(i * 11 % 17) / 8.0f - 1.0f;
        share[i] = (float)(1 + i % 7) / 28.0f;
    }
    for (int i = 0; i < 24; i++)
        mask[i] = (float)(i * 7 % 5) / 4.0f;
    d->classes = rig_words(r, 1, &five, classes);
    d->pixels = rig_words(r, 2, two_three, pixels);
    d->rows = rig_words(r, 2, two_three, rows);
    d->place = rig_words(r, 1, &six, place);
    d->target = rig_floats(r, 2, five_seven, x);
    d->share = rig_floats(r, 2, five_seven, share);
    d->weight = rig_floats(r, 1, &seven, share);
    d->mask = rig_floats(r, 2, four_six, mask);
    d->mean = rig_floats(r, 1, &three, x);
    d->var = rig_floats(r, 1, &three, share);
    uint8_t cond[35];
    for (int i = 0; i < 35; i++)
        cond[i] = i % 3 == 1;
    NEED(ssq_tensor_create(r->device, SSQ_U8, 2, five_seven, &d->cond));
    NEED(ssq_tensor_write(r->queue, d->cond, cond, sizeof(cond), SSQ_U8));
    NEED(ssq_queue_sync(r->queue));
}

static void data_drop(struct data *d)
{
    ssq_tensor **all[] = {&d->classes, &d->pixels, &d->target, &d->share,
                          &d->weight,  &d->rows,   &d->mask,   &d->place,
                          &d->mean,    &d->var,    &d->cond};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
}

#endif
