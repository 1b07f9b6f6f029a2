# SPDX-License-Identifier: Apache-2.0
# backend.mk - the vulkan module: it links the loader, and nothing of ours.

if BUILD_VULKAN
module_LTLIBRARIES += vulkan.la
BUILT_SOURCES += kernels/coopmat_spv.h
endif
nodist_vulkan_la_SOURCES = kernels/coopmat_spv.h
vulkan_la_SOURCES = \
	lib/core/disk_cache.c \
	lib/core/disk_cache.h \
	lib/core/room.c \
	lib/core/room.h \
	backends/common/kernel_map.c \
	backends/common/kernel_map.h \
	backends/vulkan/batch.c \
	backends/vulkan/calls.c \
	backends/vulkan/calls.h \
	backends/vulkan/caps.c \
	backends/vulkan/coopmat.c \
	backends/vulkan/coopmat.h \
	backends/vulkan/coopmat_test.c \
	backends/vulkan/coopmat_words.c \
	backends/vulkan/copy.c \
	backends/vulkan/device.c \
	backends/vulkan/event.c \
	backends/vulkan/features.c \
	backends/vulkan/features.h \
	backends/vulkan/gemm_coopmat.c \
	backends/vulkan/graph.c \
	backends/vulkan/hazard.c \
	backends/vulkan/instance.c \
	backends/vulkan/kernel.c \
	backends/vulkan/memory.c \
	backends/vulkan/modules.c \
	backends/vulkan/native.c \
	backends/vulkan/queue.c \
	backends/vulkan/queue.h \
	backends/vulkan/record.c \
	backends/vulkan/retire.c \
	backends/vulkan/spirv.c \
	backends/vulkan/vulkan.h
vulkan_la_CPPFLAGS = $(AM_CPPFLAGS)
vulkan_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined -Wl,-z,defs
vulkan_la_LIBADD = $(VULKAN_LIBS) $(ZLIB_LIBS)
# through a variable: else automake takes it for the whole rule
spirv_user = backends/vulkan/vulkan_la-modules.lo
$(spirv_user): kernels/spirv.pack kernels/spirv_table.h
