# SPDX-License-Identifier: Apache-2.0
# lib.mk - the core. Backends append to core_sources in their backend.mk.
#
# libcore.la is everything, unversioned and with hidden symbols in reach: tests
# of internals link it. libsesqui.la is what is installed.

include_HEADERS = include/sesqui.h
sesquidir = $(includedir)/sesqui
sesqui_HEADERS = \
	include/sesqui/amp.h \
	include/sesqui/device.h \
	include/sesqui/dtype.h \
	include/sesqui/graph.h \
	include/sesqui/ops.h \
	include/sesqui/status.h \
	include/sesqui/tensor.h
sesquiampdir = $(sesquidir)/amp
sesquiamp_HEADERS = \
	include/sesqui/amp/optimizer.h \
	include/sesqui/amp/policy.h \
	include/sesqui/amp/scaler.h \
	include/sesqui/amp/schedule.h
sesquiopsdir = $(sesquidir)/ops
sesquiops_HEADERS = \
	include/sesqui/ops/data.h \
	include/sesqui/ops/elementwise.h \
	include/sesqui/ops/gemm.h \
	include/sesqui/ops/loss.h \
	include/sesqui/ops/norm.h \
	include/sesqui/ops/random.h \
	include/sesqui/ops/reduce.h \
	include/sesqui/ops/softmax.h

core_sources = \
	lib/backend.h \
	lib/buffer.c \
	lib/check.c \
	lib/convert.c \
	lib/core.h \
	lib/device.c \
	lib/dispatch.c \
	lib/dtype.c \
	lib/error.c \
	lib/error.h \
	lib/event.c \
	lib/fallback.c \
	lib/fpenv.h \
	lib/graph.c \
	lib/log.c \
	lib/object.c \
	lib/object.h \
	lib/ops.h \
	lib/pool.c \
	lib/pool.h \
	lib/queue.c \
	lib/queue.h \
	lib/registry.c \
	lib/registry.h \
	lib/size.h \
	lib/tensor.c \
	lib/tensor_io.c \
	lib/version.c \
	lib/view.c \
	lib/view.h

# ops, one line per file
core_sources += lib/op/data.h lib/op/copy.c

# mixed precision
core_sources +=

noinst_LTLIBRARIES += libcore.la
libcore_la_SOURCES = $(core_sources)
libcore_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSSQ_MODULE_DIR='"$(libdir)/sesqui/0"'

lib_LTLIBRARIES += libsesqui.la
libsesqui_la_SOURCES =
libsesqui_la_LIBADD = libcore.la
libsesqui_la_LDFLAGS = -version-info 0:0:0 -no-undefined -Wl,-z,defs \
	-Wl,--version-script=$(top_srcdir)/lib/sesqui.map
EXTRA_libsesqui_la_DEPENDENCIES = lib/sesqui.map
nodist_libcore_la_SOURCES = lib/backend_table.h
EXTRA_DIST += lib/sesqui.map
