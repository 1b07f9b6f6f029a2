# SPDX-License-Identifier: Apache-2.0
# backend.mk - the vulkan module: it links the loader, and nothing of ours.

if BUILD_VULKAN
module_LTLIBRARIES += vulkan.la
BUILT_SOURCES += kernels/coopmat_spv.h
endif
nodist_vulkan_la_SOURCES = kernels/coopmat_spv.h
vulkan_la_SOURCES = lib/core/module/disk_cache.c lib/core/module/disk_cache.h \
	$(common_sources) $(pack_sources) $(vulkan_sources)
vulkan_la_CPPFLAGS = $(AM_CPPFLAGS)
vulkan_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined \
	-Wl,-z,defs
vulkan_la_LIBADD = $(VULKAN_LIBS) $(ZLIB_LIBS)
# through a variable: else automake takes it for the whole rule
spirv_user = backends/vulkan/vulkan_la-modules.lo
$(spirv_user): kernels/spirv.pack kernels/spirv_table.h
$(vulkan_la_OBJECTS): | kernel_table.h kernels/coopmat_spv.h
