# SPDX-License-Identifier: Apache-2.0
# backend.mk - the opencl module: it links the ICD loader, and nothing of ours.

if BUILD_OPENCL
module_LTLIBRARIES += opencl.la
endif
opencl_la_SOURCES = \
	lib/core/disk_cache.c \
	lib/core/disk_cache.h \
	lib/core/room.c \
	lib/core/room.h \
	backends/common/kernel_map.c \
	backends/common/kernel_map.h \
	backends/opencl/calls.c \
	backends/opencl/calls.h \
	backends/opencl/device.c \
	backends/opencl/event.c \
	backends/opencl/graph.c \
	backends/opencl/kernel.c \
	backends/opencl/memory.c \
	backends/opencl/native.c \
	backends/opencl/opencl.h \
	backends/opencl/program.c \
	backends/opencl/queue.c
if HAVE_CLBLAST
opencl_la_SOURCES += backends/opencl/gemm_clblast.c
endif
nodist_opencl_la_SOURCES = kernels/kernel_text.c kernels/kernel_text.h
opencl_la_CPPFLAGS = $(AM_CPPFLAGS) -DCL_TARGET_OPENCL_VERSION=120
opencl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined -Wl,-z,defs
opencl_la_LIBADD = $(CLBLAST_LIBS) $(OPENCL_LIBS)
