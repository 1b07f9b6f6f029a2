# SPDX-License-Identifier: Apache-2.0
# backend.mk - the cuda module: it opens the driver at run time, and links
# neither a library of CUDA nor libsesqui.

if BUILD_CUDA
module_LTLIBRARIES += cuda.la
endif
cuda_la_SOURCES = $(common_sources) $(mma_sources) $(pack_sources) \
	$(cuda_sources)
cuda_la_CPPFLAGS = $(AM_CPPFLAGS)
cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined \
	-Wl,-z,defs
cuda_la_LIBADD = $(ZLIB_LIBS)
# through a variable: otherwise automake takes it for the complete rule
ptx_user = backends/cuda/cuda_la-ptx.lo
$(ptx_user): kernels/ptx.pack kernels/ptx_table.h kernels/sass.pack \
	kernels/sass_table.h
$(cuda_la_OBJECTS): | kernel_table.h
