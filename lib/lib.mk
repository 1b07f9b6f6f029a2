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
	lib/backend.h \
	lib/buffer.c \
	lib/disk_cache.c \
	lib/disk_cache.h \
	lib/certificate.c \
	lib/certificate.h \
	lib/certify.c \
	lib/certify.h \
	lib/certify_reference.c \
	lib/certify_words.c \
	lib/check.c \
	lib/convert.c \
	lib/core.h \
	lib/device.c \
	lib/dispatch.c \
	lib/dtype.c \
	lib/env.c \
	lib/env.h \
	lib/error.c \
	lib/error.h \
	lib/event.c \
	lib/fallback.c \
	lib/fork.c \
	lib/fork.h \
	lib/fpenv.h \
	lib/graph.c \
	lib/host.c \
	lib/host.h \
	lib/launch.h \
	lib/log.c \
	lib/object.c \
	lib/object.h \
	lib/module_file.c \
	lib/module_file.h \
	lib/native.c \
	lib/native.h \
	lib/opencl.c \
	lib/ops.h \
	lib/plan.c \
	lib/plan.h \
	lib/plan_none.c \
	lib/pool.c \
	lib/pool.h \
	lib/queue.c \
	lib/queue.h \
	lib/registry.c \
	lib/registry.h \
	lib/size.h \
	lib/tensor.c \
	lib/tensor_io.c \
	lib/verdict.c \
	lib/version.c \
	lib/view.c \
	lib/view.h \
	lib/vulkan.c \
	lib/walk.h \
	lib/window.c \
	lib/window.h

# ops, one line per file
core_sources += lib/op/data.h lib/op/copy.c
core_sources += lib/op/arrange.c lib/op/gather.c
core_sources += lib/op/reduce.h lib/op/reduce.c lib/op/reduce_backward.c
core_sources += lib/op/reduce_axes.h lib/op/reduce_axes.c
core_sources += lib/op/reduce_long.h lib/op/reduce_long.c
core_sources += lib/op/pieces.h lib/op/pieces.c
core_sources += lib/op/random.h lib/op/random.c lib/op/init.c
core_sources += lib/op/elementwise.h lib/op/broadcast.c
core_sources += lib/op/unary.c lib/op/binary.c lib/op/binary_backward.c
core_sources += lib/op/gemm.h lib/op/gemm.c lib/op/gemm_build.c
core_sources += lib/op/operands.h lib/op/operands.c
core_sources += lib/op/softmax.h lib/op/softmax.c
core_sources += lib/op/loss.h lib/op/loss.c lib/op/cross_entropy.c
core_sources += lib/op/layer_norm.h lib/op/layer_norm.c
core_sources += lib/op/channel_norm.h lib/op/channel_norm.c lib/op/batch_norm.c
core_sources += lib/op/rnn.h lib/op/rnn.c lib/op/rnn_cell.c
core_sources += lib/op/lstm.c lib/op/gru.c
core_sources += lib/op/attention.h lib/op/attention.c
core_sources += lib/op/rotary.h lib/op/rotary.c
core_sources += lib/op/metrics.h lib/op/metrics.c
core_sources += lib/op/slide.h lib/op/slide.c
core_sources += lib/op/conv.h lib/op/conv.c lib/op/pool.h lib/op/pool.c

# plans, one line per file
core_sources += lib/plan/runs.h lib/plan/runs.c
core_sources += lib/plan/unary.c
core_sources += lib/plan/reduce_backward.c
core_sources += lib/plan/layer_norm.c
core_sources += lib/plan/argmax.c
core_sources += lib/plan/softmax_backward.c
core_sources += lib/plan/loops.h
core_sources += lib/plan/rows.h lib/plan/rows.c
core_sources += lib/plan/softmax.c
core_sources += lib/plan/binary.c lib/plan/binary_backward.c
core_sources += lib/plan/reduce.h lib/plan/reduce.c
core_sources += lib/plan/gemm.h lib/plan/gemm.c
core_sources += lib/plan/product.h lib/plan/shares.c
core_sources += lib/plan/floats.h lib/plan/rnn.c
core_sources += lib/form.h lib/plan/data.c
core_sources += lib/plan/random.c lib/plan/gather.c
core_sources += lib/plan/pool.c
core_sources += lib/plan/norm.c
core_sources += lib/plan/amp_list.h lib/plan/amp_list.c
core_sources += lib/plan/scaler.c lib/plan/grad.c lib/plan/list.c
core_sources += lib/plan/optimizer.c
core_sources += lib/plan/rotary.c
core_sources += lib/plan/loss.c
core_sources += lib/plan/total.h lib/plan/total.c
core_sources += lib/plan/cross_entropy.c
core_sources += lib/plan/attention.h
core_sources += lib/plan/attention.c
core_sources += lib/plan/metrics.c
core_sources += lib/plan/channel_norm.c
core_sources += lib/plan/conv.c
core_sources += lib/plan/attention_backward.c
core_sources += lib/plan/conv.h
core_sources += lib/plan/conv_gemm.c

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
