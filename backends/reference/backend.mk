# SPDX-License-Identifier: Apache-2.0
# backend.mk - what the reference backend adds to the core.

core_sources += \
	backends/reference/backend.c \
	backends/reference/memory.c \
	backends/reference/reference.h \
	backends/reference/walk.c

# ops, one line per file
core_sources += backends/reference/data/data.c
core_sources += backends/reference/data/gather.c
core_sources += backends/reference/reduce/fold.h backends/reference/reduce/fold.c
core_sources += backends/reference/reduce/reduce.c
core_sources += backends/reference/random/stream.h backends/reference/random/random.c
core_sources += backends/reference/elementwise/unary.c backends/reference/elementwise/binary.c
core_sources += backends/reference/elementwise/binary_backward.c
core_sources += backends/reference/gemm/gemm.c
core_sources += backends/reference/rows.h backends/reference/softmax/softmax.c
core_sources += backends/reference/loss/loss.c backends/reference/loss/cross_entropy.c
core_sources += backends/reference/norm/layer_norm.c
core_sources += backends/reference/norm/channel_norm.c backends/reference/rnn/rnn.c
core_sources += backends/reference/attention/attention.h backends/reference/attention/attention.c
core_sources += backends/reference/attention/attention_backward.c
core_sources += backends/reference/attention/rotary.c backends/reference/metrics/metrics.c
core_sources += backends/reference/gemm/tile.h backends/reference/conv/conv.c
core_sources += backends/reference/pool/pool.c
core_sources += backends/reference/amp/scaler.c
core_sources += backends/reference/amp/check.c backends/reference/amp/tick.c
core_sources += backends/reference/amp/optimizer.c
