# SPDX-License-Identifier: Apache-2.0
# backend.mk - the opencl module: it links the ICD loader, and nothing of ours.

if BUILD_OPENCL
module_LTLIBRARIES += opencl.la
endif
opencl_la_SOURCES = lib/core/module/disk_cache.c lib/core/module/disk_cache.h \
	$(common_sources) $(mma_sources) $(opencl_sources)
if HAVE_CLBLAST
opencl_la_SOURCES += backends/opencl/gemm_clblast.c
endif
nodist_opencl_la_SOURCES = kernels/kernel_source.c kernels/kernel_source.h
opencl_la_CPPFLAGS = $(AM_CPPFLAGS) -DCL_TARGET_OPENCL_VERSION=120
opencl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined \
	-Wl,-z,defs
opencl_la_LIBADD = $(CLBLAST_LIBS) $(OPENCL_LIBS)
$(opencl_la_OBJECTS): | kernel_table.h kernels/kernel_source.h
