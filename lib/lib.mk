# SPDX-License-Identifier: Apache-2.0
# lib.mk - the core. Backends append to core_sources in their backend.mk.
#
# libcore.la is everything, unversioned and with hidden symbols in reach: tests
# of internals link it. libsesqui.la is what is installed.

include_HEADERS = include/sesqui.h
sesquidir = $(includedir)/sesqui
sesqui_HEADERS = \
	include/sesqui/amp.h \
	include/sesqui/args.h \
	include/sesqui/device.h \
	include/sesqui/dtype.h \
	include/sesqui/graph.h \
	include/sesqui/opencl.h \
	include/sesqui/ops.h \
	include/sesqui/status.h \
	include/sesqui/tensor.h \
	include/sesqui/vulkan.h
sesquiampdir = $(sesquidir)/amp
sesquiamp_HEADERS = \
	include/sesqui/amp/optimizer.h \
	include/sesqui/amp/policy.h \
	include/sesqui/amp/scaler.h \
	include/sesqui/amp/schedule.h
sesquiopsdir = $(sesquidir)/ops
sesquiops_HEADERS = \
	include/sesqui/ops/batch_norm.h \
	include/sesqui/ops/conv.h \
	include/sesqui/ops/attention.h \
	include/sesqui/ops/data.h \
	include/sesqui/ops/elementwise.h \
	include/sesqui/ops/gemm.h \
	include/sesqui/ops/layout.h \
	include/sesqui/ops/loss.h \
	include/sesqui/ops/metrics.h \
	include/sesqui/ops/norm.h \
	include/sesqui/ops/pool.h \
	include/sesqui/ops/random.h \
	include/sesqui/ops/reduce.h \
	include/sesqui/ops/rnn.h \
	include/sesqui/ops/softmax.h

core_sources = \
	lib/core/backend.h \
	lib/core/buffer.c \
	lib/core/disk_cache.c \
	lib/core/disk_cache.h \
	lib/certify/certificate.c \
	lib/certify/certificate.h \
	lib/certify/certify.c \
	lib/certify/certify.h \
	lib/certify/certify_reference.c \
	lib/certify/certify_words.c \
	lib/op/check.c \
	lib/core/convert.c \
	lib/core/core.h \
	lib/core/device.c \
	lib/core/dispatch.c \
	lib/core/dtype.c \
	lib/core/env.c \
	lib/core/env.h \
	lib/core/error.c \
	lib/core/error.h \
	lib/core/event.c \
	lib/core/fallback.c \
	lib/core/fork.c \
	lib/core/fork.h \
	lib/core/fpenv.h \
	lib/core/graph.c \
	lib/core/host.c \
	lib/core/host.h \
	lib/plan/launch.h \
	lib/core/log.c \
	lib/core/object.c \
	lib/core/object.h \
	lib/core/module_file.c \
	lib/core/module_file.h \
	lib/core/native.c \
	lib/core/native.h \
	lib/interop/opencl.c \
	lib/op/ops.h \
	lib/plan/plan.c \
	lib/plan/plan.h \
	lib/plan/plan_none.c \
	lib/core/pool.c \
	lib/core/pool.h \
	lib/core/queue.c \
	lib/core/queue.h \
	lib/core/registry.c \
	lib/core/registry.h \
	lib/core/size.h \
	lib/core/tensor.c \
	lib/core/tensor_io.c \
	lib/certify/verdict.c \
	lib/core/version.c \
	lib/core/view.c \
	lib/core/view.h \
	lib/interop/vulkan.c \
	lib/plan/walk.h \
	lib/core/window.c \
	lib/core/window.h

# ops, one line per file
core_sources += lib/op/data/data.h lib/op/data/copy.c
core_sources += lib/op/data/arrange.c lib/op/data/gather.c
core_sources += lib/op/reduce/reduce.h lib/op/reduce/reduce.c lib/op/reduce/reduce_backward.c
core_sources += lib/op/reduce/reduce_axes.h lib/op/reduce/reduce_axes.c
core_sources += lib/op/reduce/reduce_long.h lib/op/reduce/reduce_long.c
core_sources += lib/op/reduce/pieces.h lib/op/reduce/pieces.c
core_sources += lib/op/random/random.h lib/op/random/random.c lib/op/random/init.c
core_sources += lib/op/elementwise/elementwise.h lib/op/elementwise/broadcast.c
core_sources += lib/op/elementwise/unary.c lib/op/elementwise/binary.c lib/op/elementwise/binary_backward.c
core_sources += lib/op/gemm/gemm.h lib/op/gemm/gemm.c lib/op/gemm/gemm_build.c
core_sources += lib/op/operands.h lib/op/operands.c
core_sources += lib/op/softmax/softmax.h lib/op/softmax/softmax.c
core_sources += lib/op/loss/loss.h lib/op/loss/loss.c lib/op/loss/cross_entropy.c
core_sources += lib/op/norm/layer_norm.h lib/op/norm/layer_norm.c
core_sources += lib/op/norm/channel_norm.h lib/op/norm/channel_norm.c lib/op/norm/batch_norm.c
core_sources += lib/op/rnn/rnn.h lib/op/rnn/rnn.c lib/op/rnn/rnn_cell.c
core_sources += lib/op/rnn/lstm.c lib/op/rnn/gru.c
core_sources += lib/op/attention/attention.h lib/op/attention/attention.c
core_sources += lib/op/attention/rotary.h lib/op/attention/rotary.c
core_sources += lib/op/metrics/metrics.h lib/op/metrics/metrics.c
core_sources += lib/op/conv/slide.h lib/op/conv/slide.c
core_sources += lib/op/conv/conv.h lib/op/conv/conv.c lib/op/pool/pool.h lib/op/pool/pool.c

# plans, one line per file
core_sources += lib/plan/runs.h lib/plan/runs.c
core_sources += lib/plan/elementwise/unary.c
core_sources += lib/plan/reduce/reduce_backward.c
core_sources += lib/plan/norm/layer_norm.c
core_sources += lib/plan/reduce/argmax.c
core_sources += lib/plan/softmax/softmax_backward.c
core_sources += lib/plan/loops.h
core_sources += lib/plan/rows.h lib/plan/rows.c
core_sources += lib/plan/softmax/softmax.c
core_sources += lib/plan/elementwise/binary.c lib/plan/elementwise/binary_backward.c
core_sources += lib/plan/reduce/reduce.h lib/plan/reduce/reduce.c
core_sources += lib/plan/gemm/gemm.h lib/plan/gemm/gemm.c
core_sources += lib/plan/gemm/product.h lib/plan/gemm/shares.c
core_sources += lib/plan/floats.h lib/plan/rnn/rnn.c
core_sources += lib/plan/form.h lib/plan/data/data.c
core_sources += lib/plan/random/random.c lib/plan/data/gather.c
core_sources += lib/plan/pool/pool.c
core_sources += lib/plan/reduce/norm.c
core_sources += lib/plan/amp/amp_list.h lib/plan/amp/amp_list.c
core_sources += lib/plan/amp/scaler.c lib/plan/amp/grad.c lib/plan/amp/list.c
core_sources += lib/plan/amp/optimizer.c
core_sources += lib/plan/attention/rotary.c
core_sources += lib/plan/loss/loss.c
core_sources += lib/plan/reduce/total.h lib/plan/reduce/total.c
core_sources += lib/plan/loss/cross_entropy.c
core_sources += lib/plan/attention/attention.h
core_sources += lib/plan/attention/attention.c
core_sources += lib/plan/metrics/metrics.c
core_sources += lib/plan/norm/channel_norm.c
core_sources += lib/plan/conv/conv.c
core_sources += lib/plan/attention/attention_backward.c
core_sources += lib/plan/conv/conv.h
core_sources += lib/plan/conv/conv_gemm.c

# mixed precision
core_sources += lib/amp/scaler.h lib/amp/scaler_object.h lib/amp/scaler.c
core_sources += lib/amp/scaler_state.c lib/amp/scaler_check.c
core_sources += lib/amp/scaler_stages.c
core_sources += lib/amp/unscaled.h lib/amp/unscaled.c
core_sources += lib/amp/blob.h lib/amp/blob.c
core_sources += lib/amp/scaler_save.c lib/amp/optimizer_save.c
core_sources += lib/amp/grads.c lib/amp/clip.c
core_sources += lib/amp/options.h lib/amp/options.c lib/amp/presets.c
core_sources += lib/amp/machine.h lib/amp/machine.c lib/amp/simulate.c
core_sources += lib/amp/mailbox.h lib/amp/mailbox.c
core_sources += lib/amp/policy.c lib/amp/schedule.c
core_sources += lib/amp/list.h lib/amp/list.c lib/amp/check.h lib/amp/check.c
core_sources += lib/amp/optimizer.h lib/amp/optimizer.c
core_sources += lib/amp/optimizer_options.c lib/amp/optimizer_report.c
core_sources += lib/amp/optimizer_schedule.c lib/amp/optimizer_state.c
core_sources += lib/amp/optimizer_step.c lib/amp/optimizer_stages.c

noinst_LTLIBRARIES += libcore.la
libcore_la_SOURCES = $(core_sources)
libcore_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSSQ_MODULE_DIR='"$(libdir)/sesqui/0"'

lib_LTLIBRARIES += libsesqui.la
libsesqui_la_SOURCES =
libsesqui_la_LIBADD = libcore.la
libsesqui_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -Wl,-z,defs \
	-Wl,--version-script=$(top_srcdir)/lib/sesqui.map
EXTRA_libsesqui_la_DEPENDENCIES = lib/sesqui.map
nodist_libcore_la_SOURCES = lib/backend_table.h kernel_table.h \
	kernels/kernel_table.c
EXTRA_DIST += lib/sesqui.map
