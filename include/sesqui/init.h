/* SPDX-License-Identifier: Apache-2.0 */
/* init.h - the defaults of every struct of arguments and options, as functions.
 *
 * They are for languages that call the library and have no macros of C: Python
 * by ctypes, Rust, Julia, Go. A program in C or C++ has SSQ_GEMM_INIT and the
 * other macros, which are the same, bit for bit.
 *
 *     args = ssq_gemm_args()                          # Python, by ctypes
 *     check(lib.ssq_gemm_args_init(byref(args), sizeof(args)))
 *
 * Each function writes the defaults to *x.
 *  @param size  bytes of the struct as the caller knows it
 *  @return SSQ_ERR_INVALID x is NULL, or the library is of another version and
 *          its struct has another size: the text gives both sizes, and nothing
 *          was written. Since 0.1.
 *
 * `make init` writes this file from the other headers.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_INIT_H
#define SESQUI_INIT_H

#include <sesqui.h>
#include <sesqui/cpu.h>
#include <sesqui/cuda.h>
#include <sesqui/data.h>
#include <sesqui/dlpack.h>
#include <sesqui/mpi.h>
#include <sesqui/nccl.h>
#include <sesqui/opencl.h>
#include <sesqui/share.h>
#include <sesqui/vulkan.h>

#ifdef __cplusplus
extern "C" {
#endif

SSQ_API SSQ_MUST_CHECK ssq_status
ssq_argmax_args_init(ssq_argmax_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_argmin_args_init(ssq_argmin_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_array_info_init(ssq_array_info *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_array_read_args_init(ssq_array_read_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_attention_args_init(ssq_attention_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_attention_backward_args_init(ssq_attention_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_avg_pool2d_args_init(ssq_avg_pool2d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_avg_pool2d_backward_args_init(ssq_avg_pool2d_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_axpby_args_init(ssq_axpby_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_batch_norm_args_init(ssq_batch_norm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_batch_norm_backward_args_init(ssq_batch_norm_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_batches_args_init(ssq_batches_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_batches_position_init(ssq_batches_position *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_bce_with_logits_args_init(ssq_bce_with_logits_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_binary_args_init(ssq_binary_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_binary_backward_args_init(ssq_binary_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cast_args_init(ssq_cast_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_checkpoint_args_init(ssq_checkpoint_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_clamp_args_init(ssq_clamp_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_clamp_backward_args_init(ssq_clamp_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_all_gather_args_init(ssq_comm_all_gather_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_all_reduce_args_init(ssq_comm_all_reduce_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_broadcast_args_init(ssq_comm_broadcast_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_options_init(ssq_comm_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_place_init(ssq_comm_place *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_comm_reduce_scatter_args_init(ssq_comm_reduce_scatter_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_compare_args_init(ssq_compare_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_concat_args_init(ssq_concat_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv2d_args_init(ssq_conv2d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv2d_backward_data_args_init(
    ssq_conv2d_backward_data_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv2d_backward_weight_args_init(
    ssq_conv2d_backward_weight_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv_transpose2d_args_init(ssq_conv_transpose2d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv_transpose2d_backward_data_args_init(
    ssq_conv_transpose2d_backward_data_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv_transpose2d_backward_weight_args_init(
    ssq_conv_transpose2d_backward_weight_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_copy_args_init(ssq_copy_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cpu_info_init(ssq_cpu_info *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cpu_options_init(ssq_cpu_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cross_entropy_args_init(ssq_cross_entropy_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_entry_init(ssq_device_entry *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_options_init(ssq_device_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_device_props_init(ssq_device_props *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_dropout_args_init(ssq_dropout_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_dropout_backward_args_init(ssq_dropout_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_elu_args_init(ssq_elu_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_elu_backward_args_init(ssq_elu_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_fill_args_init(ssq_fill_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_from_dlpack_args_init(ssq_from_dlpack_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gather_rows_args_init(ssq_gather_rows_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gemm_args_init(ssq_gemm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gemm_explanation_init(ssq_gemm_explanation *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gemm_tuning_init(ssq_gemm_tuning *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_global_avg_pool2d_args_init(ssq_global_avg_pool2d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_global_avg_pool2d_backward_args_init(
    ssq_global_avg_pool2d_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_glu_args_init(ssq_glu_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_glu_backward_args_init(ssq_glu_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gradcheck_args_init(ssq_gradcheck_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gradcheck_report_init(ssq_gradcheck_report *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_group_norm_args_init(ssq_group_norm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_group_norm_backward_args_init(ssq_group_norm_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_args_init(ssq_gru_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_backward_args_init(ssq_gru_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_cell_args_init(ssq_gru_cell_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_cell_backward_args_init(ssq_gru_cell_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_reset_args_init(ssq_gru_reset_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gru_reset_backward_args_init(ssq_gru_reset_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_huber_args_init(ssq_huber_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_images_read_args_init(ssq_images_read_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_index_check_args_init(ssq_index_check_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_init_args_init(ssq_init_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status ssq_l1_args_init(ssq_l1_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_layer_norm_args_init(ssq_layer_norm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_layer_norm_backward_args_init(ssq_layer_norm_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_leaky_relu_args_init(ssq_leaky_relu_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_leaky_relu_backward_args_init(ssq_leaky_relu_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_log_softmax_args_init(ssq_log_softmax_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_log_softmax_backward_args_init(
    ssq_log_softmax_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_lstm_args_init(ssq_lstm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_lstm_backward_args_init(ssq_lstm_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_lstm_cell_args_init(ssq_lstm_cell_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_lstm_cell_backward_args_init(ssq_lstm_cell_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_args_init(ssq_max_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_backward_args_init(ssq_max_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_pool2d_args_init(ssq_max_pool2d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_pool2d_backward_args_init(ssq_max_pool2d_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mean_args_init(ssq_mean_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mean_backward_args_init(ssq_mean_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_memory_info_init(ssq_memory_info *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_memory_report_init(ssq_memory_report *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_min_args_init(ssq_min_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mse_args_init(ssq_mse_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nll_loss_args_init(ssq_nll_loss_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_attention_args_init(ssq_nn_attention_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_conv1d_args_init(ssq_nn_conv1d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_conv2d_args_init(ssq_nn_conv2d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_embedding_args_init(ssq_nn_embedding_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_linear_args_init(ssq_nn_linear_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_pool1d_args_init(ssq_nn_pool1d_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_nn_rnn_args_init(ssq_nn_rnn_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_norm_args_init(ssq_norm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_one_hot_args_init(ssq_one_hot_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_apply_args_init(ssq_optimizer_apply_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_options_init(ssq_optimizer_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_overflow_report_init(ssq_overflow_report *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_param_args_init(ssq_param_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_param_info_init(ssq_param_info *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_file_args_init(ssq_params_file_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_options_init(ssq_params_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_stats_init(ssq_params_stats *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_perplexity_args_init(ssq_perplexity_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status ssq_policy_init(ssq_policy *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_prod_args_init(ssq_prod_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_queue_options_init(ssq_queue_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_queue_stats_init(ssq_queue_stats *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_bernoulli_args_init(ssq_random_bernoulli_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_normal_args_init(ssq_random_normal_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_truncated_normal_args_init(
    ssq_random_truncated_normal_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_random_uniform_args_init(ssq_random_uniform_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_reduce_args_init(ssq_reduce_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_reduce_backward_args_init(ssq_reduce_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rms_norm_args_init(ssq_rms_norm_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rms_norm_backward_args_init(ssq_rms_norm_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rotary_args_init(ssq_rotary_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rotary_backward_args_init(ssq_rotary_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_safetensors_info_init(ssq_safetensors_info *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scale_args_init(ssq_scale_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_options_init(ssq_scaler_options *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_state_init(ssq_scaler_state *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scatter_add_rows_args_init(ssq_scatter_add_rows_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_schedule_init(ssq_schedule *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_shared_memory_init(ssq_shared_memory *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_slice_assign_args_init(ssq_slice_assign_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_smooth_l1_args_init(ssq_smooth_l1_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softmax_args_init(ssq_softmax_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softmax_backward_args_init(ssq_softmax_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softplus_args_init(ssq_softplus_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softplus_backward_args_init(ssq_softplus_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_statistics_init(ssq_statistics *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sum_args_init(ssq_sum_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sum_backward_args_init(ssq_sum_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sum_to_args_init(ssq_sum_to_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_tape_grad_args_init(ssq_tape_grad_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_tape_stats_init(ssq_tape_stats *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_tensor_desc_init(ssq_tensor_desc *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_to_dlpack_args_init(ssq_to_dlpack_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_top_k_accuracy_args_init(ssq_top_k_accuracy_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_torch_scaler_state_init(ssq_torch_scaler_state *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_trainer_args_init(ssq_trainer_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_trainer_progress_init(ssq_trainer_progress *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_transpose_args_init(ssq_transpose_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_unary_args_init(ssq_unary_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_unary_backward_args_init(ssq_unary_backward_args *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status ssq_verdict_init(ssq_verdict *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_vulkan_info_init(ssq_vulkan_info *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_vulkan_native_init(ssq_vulkan_native *x, size_t size);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_where_args_init(ssq_where_args *x, size_t size);

#ifdef __cplusplus
}
#endif

#endif
