/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - the slots of the cpu backend, and its own implementations. */
#include "backends/cpu/attention/attention.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/conv/conv.h"
#include "backends/cpu/norm/cross_entropy.h"
#include "backends/cpu/elementwise/dense.h"
#include "backends/cpu/norm/extreme.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/norm/layer_norm.h"
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/conv/pool.h"
#include "backends/cpu/norm/softmax.h"
#include "backends/cpu/elementwise/unary.h"
#include "backends/reference/reference.h"

/* Copies from and to host memory are the reference's. */
static const struct op_table ops = {
    .upload = reference_upload,
    .download = reference_download,
    .binary = cpu_binary,
    .cast = cpu_cast,
    .scale = cpu_scale,
    .channel_norm = cpu_channel_norm,
    .channel_norm_backward = cpu_channel_norm_backward,
    .conv = cpu_conv,
    .cross_entropy = cpu_cross_entropy,
    .gemm = cpu_gemm,
    .attention = cpu_attention,
    .attention_backward = cpu_attention_backward,
    .gemm_explain = cpu_gemm_explain,
    .gemm_panels = cpu_gemm_panels,
    .layer_norm = cpu_layer_norm,
    .layer_norm_backward = cpu_layer_norm_backward,
    .pool = cpu_pool,
    .reduce = cpu_reduce,
    .softmax = cpu_softmax,
    .softmax_backward = cpu_softmax_backward,
    .unary = cpu_unary,
    .unary_backward = cpu_unary_backward,
};

extern const struct backend cpu_backend;
const struct backend cpu_backend = {
    .abi = SSQ_BACKEND_ABI,
    .name = "cpu",
    .preference = 20,
    .single = true,
    .count = cpu_count,
    .describe = cpu_describe,
    .open = cpu_open,
    .open_native = cpu_open_native,
    .info = cpu_info,
    .import = cpu_import,
    .mem_handle = cpu_mem_handle,
    .mem_addressed = true,
    .close = cpu_close,
    .fork_hold = cpu_fork_hold,
    .fork_let_go = cpu_fork_let_go,
    .props = cpu_props,
    .limits = cpu_limits,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .queue_open = cpu_queue_open,
    .queue_close = cpu_queue_close,
    .queue_sync = cpu_queue_sync,
    .identify = cpu_identify,
    .certified = cpu_certified,
    .kernel_get = cpu_kernel_get,
    .launch = cpu_launch,
    .event_open = reference_event_open,
    .event_close = reference_event_close,
    .event_record = reference_event_record,
    .event_wait = reference_event_wait,
    .event_query = reference_event_finished,
    .event_sync = reference_event_finished,
    .event_elapsed = reference_event_elapsed,
    .ops = &ops,
};
