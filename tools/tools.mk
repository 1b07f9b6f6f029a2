# SPDX-License-Identifier: Apache-2.0
# tools.mk - the programs that are installed. They link libsesqui.la.

bin_PROGRAMS += sesqui
sesqui_SOURCES = \
	examples/gpt/model.c \
	examples/gpt/model.h \
	tools/bench/bench.c \
	tools/bench/bench.h \
	tools/bench/calls.c \
	tools/bench/case.c \
	tools/bench/gemm.c \
	tools/bench/loops.c \
	tools/bench/memory.c \
	tools/bench/ops.c \
	tools/bench/optimizer.c \
	tools/bench/report.c \
	tools/bench/ring.c \
	tools/bench/ring.h \
	tools/bench/roofline.c \
	tools/bench/roofs.c \
	tools/bench/rows.c \
	tools/bench/tables.c \
	tools/bench/train.c \
	tools/bench/workload.c \
	tools/certify.c \
	tools/devices.c \
	tools/latency.c \
	tools/overhead.c \
	tools/peak.c \
	tools/rates.c \
	tools/sesqui.c \
	tools/support.c \
	tools/tool.h \
	tools/tune.c \
	tools/verify.c
sesqui_LDADD = libsuite.a libsesqui.la
sesqui_LDFLAGS = $(AM_LDFLAGS) $(MOVED_LDFLAGS)
