/* SPDX-License-Identifier: Apache-2.0 */
/* vars.h - the ops over vars: made by lib/tape/vars.awk of vars.list and of the
 * headers of the ops. Do not edit.
 *
 * ssq_<op>_var(x, .., options) is ssq_<op> with vars for the operands that a
 * gradient goes to, in the order of its arguments, and a var for the result,
 * whose memory, shape and dtype are the tape's business. An optional operand
 * that is not there is SSQ_VAR_NONE. Everything else is in the options: the
 * op's own arguments, as SSQ_<OP>(.axis = 1, .target = labels), or NULL for
 * the defaults. They are read at the call; tensors in them are held until the
 * pass ends. Operands and results in them stay NULL.
 *
 * Errors are latched in the tape (tape.h): the var that comes back is inert
 * then, and what is made of it as well. The functions that end in _at take the
 * place in the caller's program, for texts; the macros fill it in. */
#ifndef SESQUI_VARS_H
#define SESQUI_VARS_H

#include <sesqui/ops.h>
#include <sesqui/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

SSQ_API ssq_var ssq_relu_var_at(const char *where, ssq_var x);
#define ssq_relu_var(...) \
    ssq_relu_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_leaky_relu_var_at(const char *where, ssq_var x,
    const ssq_leaky_relu_args *options);
#define ssq_leaky_relu_var(...) \
    ssq_leaky_relu_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_elu_var_at(const char *where, ssq_var x,
    const ssq_elu_args *options);
#define ssq_elu_var(...) \
    ssq_elu_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_gelu_var_at(const char *where, ssq_var x);
#define ssq_gelu_var(...) \
    ssq_gelu_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_gelu_tanh_var_at(const char *where, ssq_var x);
#define ssq_gelu_tanh_var(...) \
    ssq_gelu_tanh_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_silu_var_at(const char *where, ssq_var x);
#define ssq_silu_var(...) \
    ssq_silu_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_sigmoid_var_at(const char *where, ssq_var x);
#define ssq_sigmoid_var(...) \
    ssq_sigmoid_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_tanh_var_at(const char *where, ssq_var x);
#define ssq_tanh_var(...) \
    ssq_tanh_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_softsign_var_at(const char *where, ssq_var x);
#define ssq_softsign_var(...) \
    ssq_softsign_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_softplus_var_at(const char *where, ssq_var x,
    const ssq_softplus_args *options);
#define ssq_softplus_var(...) \
    ssq_softplus_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_exp_var_at(const char *where, ssq_var x);
#define ssq_exp_var(...) \
    ssq_exp_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_expm1_var_at(const char *where, ssq_var x);
#define ssq_expm1_var(...) \
    ssq_expm1_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_log_var_at(const char *where, ssq_var x);
#define ssq_log_var(...) \
    ssq_log_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_log1p_var_at(const char *where, ssq_var x);
#define ssq_log1p_var(...) \
    ssq_log1p_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_sqrt_var_at(const char *where, ssq_var x);
#define ssq_sqrt_var(...) \
    ssq_sqrt_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_rsqrt_var_at(const char *where, ssq_var x);
#define ssq_rsqrt_var(...) \
    ssq_rsqrt_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_reciprocal_var_at(const char *where, ssq_var x);
#define ssq_reciprocal_var(...) \
    ssq_reciprocal_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_abs_var_at(const char *where, ssq_var x);
#define ssq_abs_var(...) \
    ssq_abs_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_neg_var_at(const char *where, ssq_var x);
#define ssq_neg_var(...) \
    ssq_neg_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_square_var_at(const char *where, ssq_var x);
#define ssq_square_var(...) \
    ssq_square_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_sin_var_at(const char *where, ssq_var x);
#define ssq_sin_var(...) \
    ssq_sin_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_cos_var_at(const char *where, ssq_var x);
#define ssq_cos_var(...) \
    ssq_cos_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_erf_var_at(const char *where, ssq_var x);
#define ssq_erf_var(...) \
    ssq_erf_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_clamp_var_at(const char *where, ssq_var x,
    const ssq_clamp_args *options);
#define ssq_clamp_var(...) \
    ssq_clamp_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_add_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_add_var(...) \
    ssq_add_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_sub_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_sub_var(...) \
    ssq_sub_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_mul_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_mul_var(...) \
    ssq_mul_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_div_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_div_var(...) \
    ssq_div_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_maximum_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_maximum_var(...) \
    ssq_maximum_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_minimum_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_minimum_var(...) \
    ssq_minimum_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_pow_var_at(const char *where, ssq_var a, ssq_var b);
#define ssq_pow_var(...) \
    ssq_pow_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_where_var_at(const char *where, ssq_var a, ssq_var b,
    const ssq_where_args *options);
#define ssq_where_var(...) \
    ssq_where_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_glu_var_at(const char *where, ssq_var a, ssq_var b,
    const ssq_glu_args *options);
#define ssq_glu_var(...) \
    ssq_glu_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_scale_var_at(const char *where, ssq_var x,
    const ssq_scale_args *options);
#define ssq_scale_var(...) \
    ssq_scale_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_dropout_var_at(const char *where, ssq_var x,
    const ssq_dropout_args *options);
#define ssq_dropout_var(...) \
    ssq_dropout_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_sum_var_at(const char *where, ssq_var x,
    const ssq_sum_args *options);
#define ssq_sum_var(...) \
    ssq_sum_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_mean_var_at(const char *where, ssq_var x,
    const ssq_mean_args *options);
#define ssq_mean_var(...) \
    ssq_mean_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_max_var_at(const char *where, ssq_var x,
    const ssq_max_args *options);
#define ssq_max_var(...) \
    ssq_max_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_min_var_at(const char *where, ssq_var x,
    const ssq_min_args *options);
#define ssq_min_var(...) \
    ssq_min_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_prod_var_at(const char *where, ssq_var x,
    const ssq_prod_args *options);
#define ssq_prod_var(...) \
    ssq_prod_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_gemm_var_at(const char *where, ssq_var a, ssq_var b,
    ssq_var bias, const ssq_gemm_args *options);
#define ssq_gemm_var(...) \
    ssq_gemm_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_gemm_batched_var_at(const char *where, ssq_var a, ssq_var b,
    ssq_var bias, const ssq_gemm_args *options);
#define ssq_gemm_batched_var(...) \
    ssq_gemm_batched_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_softmax_var_at(const char *where, ssq_var x,
    const ssq_softmax_args *options);
#define ssq_softmax_var(...) \
    ssq_softmax_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_log_softmax_var_at(const char *where, ssq_var x,
    const ssq_log_softmax_args *options);
#define ssq_log_softmax_var(...) \
    ssq_log_softmax_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_cross_entropy_var_at(const char *where, ssq_var logits,
    const ssq_cross_entropy_args *options);
#define ssq_cross_entropy_var(...) \
    ssq_cross_entropy_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_nll_loss_var_at(const char *where, ssq_var x,
    const ssq_nll_loss_args *options);
#define ssq_nll_loss_var(...) \
    ssq_nll_loss_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_mse_var_at(const char *where, ssq_var x,
    const ssq_mse_args *options);
#define ssq_mse_var(...) \
    ssq_mse_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_l1_var_at(const char *where, ssq_var x,
    const ssq_l1_args *options);
#define ssq_l1_var(...) \
    ssq_l1_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_smooth_l1_var_at(const char *where, ssq_var x,
    const ssq_smooth_l1_args *options);
#define ssq_smooth_l1_var(...) \
    ssq_smooth_l1_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_huber_var_at(const char *where, ssq_var x,
    const ssq_huber_args *options);
#define ssq_huber_var(...) \
    ssq_huber_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_bce_with_logits_var_at(const char *where, ssq_var x,
    const ssq_bce_with_logits_args *options);
#define ssq_bce_with_logits_var(...) \
    ssq_bce_with_logits_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_layer_norm_var_at(const char *where, ssq_var x,
    ssq_var gamma, ssq_var beta, const ssq_layer_norm_args *options);
#define ssq_layer_norm_var(...) \
    ssq_layer_norm_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_rms_norm_var_at(const char *where, ssq_var x, ssq_var gamma,
    const ssq_rms_norm_args *options);
#define ssq_rms_norm_var(...) \
    ssq_rms_norm_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_batch_norm_var_at(const char *where, ssq_var x,
    ssq_var gamma, ssq_var beta, const ssq_batch_norm_args *options);
#define ssq_batch_norm_var(...) \
    ssq_batch_norm_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_group_norm_var_at(const char *where, ssq_var x,
    ssq_var gamma, ssq_var beta, const ssq_group_norm_args *options);
#define ssq_group_norm_var(...) \
    ssq_group_norm_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_conv2d_var_at(const char *where, ssq_var x, ssq_var w,
    ssq_var bias, const ssq_conv2d_args *options);
#define ssq_conv2d_var(...) \
    ssq_conv2d_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_conv_transpose2d_var_at(const char *where, ssq_var x,
    ssq_var w, ssq_var bias, const ssq_conv_transpose2d_args *options);
#define ssq_conv_transpose2d_var(...) \
    ssq_conv_transpose2d_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_max_pool2d_var_at(const char *where, ssq_var x,
    const ssq_max_pool2d_args *options);
#define ssq_max_pool2d_var(...) \
    ssq_max_pool2d_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_avg_pool2d_var_at(const char *where, ssq_var x,
    const ssq_avg_pool2d_args *options);
#define ssq_avg_pool2d_var(...) \
    ssq_avg_pool2d_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_global_avg_pool2d_var_at(const char *where, ssq_var x,
    const ssq_global_avg_pool2d_args *options);
#define ssq_global_avg_pool2d_var(...) \
    ssq_global_avg_pool2d_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_gather_rows_var_at(const char *where, ssq_var x,
    const ssq_gather_rows_args *options);
#define ssq_gather_rows_var(...) \
    ssq_gather_rows_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_attention_var_at(const char *where, ssq_var q, ssq_var k,
    ssq_var v, const ssq_attention_args *options);
#define ssq_attention_var(...) \
    ssq_attention_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_rotary_var_at(const char *where, ssq_var x,
    const ssq_rotary_args *options);
#define ssq_rotary_var(...) \
    ssq_rotary_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_lstm_var_at(const char *where, ssq_var x, ssq_var w_ih,
    ssq_var w_hh, ssq_var b_ih, ssq_var b_hh, ssq_var h0, ssq_var c0,
    ssq_var *hn, ssq_var *cn, const ssq_lstm_args *options);
#define ssq_lstm_var(...) \
    ssq_lstm_var_at(SSQ_AT, __VA_ARGS__)
SSQ_API ssq_var ssq_gru_var_at(const char *where, ssq_var x, ssq_var w_ih,
    ssq_var w_hh, ssq_var b_ih, ssq_var b_hh, ssq_var h0, ssq_var *hn,
    const ssq_gru_args *options);
#define ssq_gru_var(...) \
    ssq_gru_var_at(SSQ_AT, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
