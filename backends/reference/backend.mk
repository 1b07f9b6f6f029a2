# SPDX-License-Identifier: Apache-2.0
# backend.mk - what the reference backend adds to the core.

core_sources += \
	backends/reference/backend.c \
	backends/reference/memory.c \
	backends/reference/reference.h \
	backends/reference/walk.c

# ops, one line per file
core_sources += backends/reference/data.c
core_sources += backends/reference/gather.c
core_sources += backends/reference/fold.h backends/reference/fold.c
core_sources += backends/reference/reduce.c
core_sources += backends/reference/stream.h backends/reference/random.c
core_sources += backends/reference/unary.c backends/reference/binary.c
core_sources += backends/reference/binary_backward.c
core_sources += backends/reference/gemm.c
core_sources += backends/reference/rows.h backends/reference/softmax.c
core_sources += backends/reference/loss.c backends/reference/cross_entropy.c
core_sources += backends/reference/layer_norm.c
core_sources += backends/reference/channel_norm.c backends/reference/rnn.c
core_sources += backends/reference/attention.h backends/reference/attention.c
core_sources += backends/reference/attention_backward.c
core_sources += backends/reference/rotary.c backends/reference/metrics.c
core_sources += backends/reference/tile.h backends/reference/conv.c
core_sources += backends/reference/pool.c
core_sources += backends/reference/scaler.c
core_sources += backends/reference/check.c backends/reference/tick.c
core_sources += backends/reference/optimizer.c
