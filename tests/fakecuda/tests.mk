# SPDX-License-Identifier: Apache-2.0
# tests.mk - a stand-in for libcuda that interprets PTX, and tests of it.
#
# The library is built for the checks and never installed. libtool makes it
# under the name that its version says; the backend opens it by its path.

check_LTLIBRARIES += tests/fakecuda/libcuda.la tests/fakecuda/libptx.la
tests_fakecuda_libptx_la_SOURCES = \
	tests/fakecuda/ptx/ptx_access.c \
	tests/fakecuda/ptx/ptx_banks.c \
	tests/fakecuda/ptx/ptx_decode.c \
	tests/fakecuda/ptx/ptx_emit.c \
	tests/fakecuda/ptx/ptx_flight.c \
	tests/fakecuda/ptx/ptx_matrix.c \
	tests/fakecuda/ptx/ptx_memory.c \
	tests/fakecuda/ptx/ptx_module.c \
	tests/fakecuda/ptx/ptx_read.c \
	tests/fakecuda/ptx/ptx_run.c \
	tests/fakecuda/ptx/ptx_warp.c \
	tests/fakecuda/ptx/ptx.h \
	tests/fakecuda/ptx/ptx_bits.h \
	tests/fakecuda/ptx/ptx_code.h \
	tests/fakecuda/ptx/ptx_emit.h \
	tests/fakecuda/ptx/ptx_memory.h \
	tests/fakecuda/ptx/ptx_ops.h \
	tests/fakecuda/ptx/ptx_read.h \
	tests/fakecuda/ptx/ptx_warp.h \
	tests/fakecuda/tensor_core.h
tests_fakecuda_libcuda_la_SOURCES = \
	tests/fakecuda/driver/cuda.h \
	tests/fakecuda/driver/cuda_call.c \
	tests/fakecuda/driver/cuda_copy.c \
	tests/fakecuda/driver/cuda_device.c \
	tests/fakecuda/driver/cuda_event.c \
	tests/fakecuda/driver/cuda_external.c \
	tests/fakecuda/driver/cuda_graph.c \
	tests/fakecuda/driver/cuda_memory.c \
	tests/fakecuda/driver/cuda_module.c \
	tests/fakecuda/driver/cuda_run.c \
	tests/fakecuda/driver/cuda_state.h \
	tests/fakecuda/driver/cuda_stream.c \
	tests/fakecuda/driver/fakecuda.h
# symbolic: it needs none of its names itself, so that a copy may lack some
tests_fakecuda_libcuda_la_LDFLAGS = -version-info 1:0:0 -no-undefined \
	-Wl,-Bsymbolic -Wl,-z,defs -rpath $(abs_builddir)/tests/fakecuda
tests_fakecuda_libcuda_la_LIBADD = tests/fakecuda/libptx.la -lm -lpthread

check_LTLIBRARIES += tests/fakecuda/libcublasLt.la
tests_fakecuda_libcublasLt_la_SOURCES = \
	tests/fakecuda/blas/blas.c \
	tests/fakecuda/blas_check.c \
	tests/fakecuda/blas/blas_product.c \
	tests/fakecuda/blas/blas_state.h \
	tests/fakecuda/blas/fakeblas.h \
	tests/fakecuda/tensor_core.h
tests_fakecuda_libcublasLt_la_LDFLAGS = -version-info 13:0:0 -no-undefined \
	-Wl,-z,defs -rpath $(abs_builddir)/tests/fakecuda
tests_fakecuda_libcublasLt_la_LIBADD = tests/fakecuda/libcuda.la -lm -lpthread

check_LTLIBRARIES += tests/fakecuda/libnccl.la
tests_fakecuda_libnccl_la_SOURCES = \
	tests/fakecuda/nccl/fakenccl.h \
	tests/fakecuda/nccl/nccl.c \
	tests/fakecuda/nccl/nccl_run.c \
	tests/fakecuda/nccl/nccl_state.h
tests_fakecuda_libnccl_la_LDFLAGS = -version-info 2:0:0 -no-undefined \
	-Wl,-z,defs -rpath $(abs_builddir)/tests/fakecuda
tests_fakecuda_libnccl_la_LIBADD = tests/fakecuda/libcuda.la -lm -lpthread

check_DATA = tests/fakecuda/libcuda.so.1 tests/fakecuda/libcublasLt.so.13 \
	tests/fakecuda/libnccl.so.2
tests/fakecuda/libnccl.so.2: tests/fakecuda/libnccl.la
	$(AM_V_GEN)cp tests/fakecuda/.libs/libnccl.so.2 $@.new && mv $@.new $@
tests/fakecuda/libcublasLt.so.13: tests/fakecuda/libcublasLt.la
	$(AM_V_GEN)cp tests/fakecuda/.libs/libcublasLt.so.13 $@.new && \
		mv $@.new $@
tests/fakecuda/libcuda.so.1: tests/fakecuda/libcuda.la
	$(AM_V_GEN)cp tests/fakecuda/.libs/libcuda.so.1 $@.new && mv $@.new $@
CLEANFILES += tests/fakecuda/libcuda.so.1 tests/fakecuda/libcublasLt.so.13 \
	tests/fakecuda/libnccl.so.2

if BUILD_CUDA
cuda_module_tests = tests/fakecuda/blas_test tests/fakecuda/capture \
	tests/fakecuda/faults tests/fakecuda/launches \
	tests/fakecuda/misuse tests/fakecuda/mma_refused tests/fakecuda/native \
	tests/fakecuda/tuning
check_PROGRAMS += $(cuda_module_tests)
TESTS += $(cuda_module_tests)
# valgrind has no modules
slow_tests += $(cuda_module_tests)
endif
tests_fakecuda_blas_test_SOURCES = tests/fakecuda/blas_test.c \
	tests/core/driver.h tests/fakecuda/blas/fakeblas.h
tests_fakecuda_blas_test_LDADD = tests/fakecuda/libcublasLt.la \
	tests/fakecuda/libcuda.la libsesqui.la
tests_fakecuda_tuning_SOURCES = tests/fakecuda/tuning.c \
	tests/core/driver.h tests/fakecuda/blas/fakeblas.h
tests_fakecuda_tuning_LDADD = tests/fakecuda/libcublasLt.la \
	tests/fakecuda/libcuda.la libsesqui.la
tests_fakecuda_capture_SOURCES = tests/fakecuda/capture.c \
	tests/core/driver.h tests/fakecuda/driver/fakecuda.h
tests_fakecuda_capture_LDADD = tests/fakecuda/libcuda.la libsesqui.la \
	-lpthread
tests_fakecuda_faults_SOURCES = tests/fakecuda/faults.c tests/core/driver.h \
	tests/api/faults.h tests/fakecuda/driver/fakecuda.h
tests_fakecuda_faults_LDADD = tests/fakecuda/libcuda.la libsesqui.la
tests_fakecuda_misuse_SOURCES = tests/fakecuda/misuse.c tests/core/driver.h \
	tests/fakecuda/driver/fakecuda.h
tests_fakecuda_misuse_LDADD = tests/fakecuda/libcuda.la libsesqui.la \
	-lpthread
tests_fakecuda_mma_refused_SOURCES = tests/fakecuda/mma_refused.c \
	tests/core/driver.h
tests_fakecuda_mma_refused_LDADD = tests/fakecuda/libcuda.la libsesqui.la
tests_fakecuda_launches_SOURCES = tests/fakecuda/launches.c \
	tests/core/driver.h tests/fakecuda/driver/fakecuda.h
tests_fakecuda_launches_LDADD = tests/fakecuda/libcuda.la libsesqui.la
tests_fakecuda_native_SOURCES = tests/fakecuda/native.c tests/core/driver.h
tests_fakecuda_native_LDADD = tests/fakecuda/libcuda.la libsesqui.la
check_PROGRAMS += tests/fakecuda/cuda_test tests/fakecuda/ptx_test \
	tests/fakecuda/ptx_warp_test tests/fakecuda/ptx_decode_all \
	tests/fakecuda/sass_test tests/fakecuda/mma_count
TESTS += tests/fakecuda/cuda_test tests/fakecuda/ptx_test \
	tests/fakecuda/ptx_warp_test tests/fakecuda/sass_test \
	tests/fakecuda/api.sh tests/fakecuda/devices.sh \
	tests/fakecuda/mma.sh tests/fakecuda/ptx.sh \
	tests/fakecuda/races.sh tests/fakecuda/sass.sh \
	tests/fakecuda/shared.sh tests/fakecuda/tables.sh \
	tests/fakecuda/tune.sh
thread_tests += tests/fakecuda/cuda_test
slow_tests += tests/fakecuda/devices.sh tests/fakecuda/mma.sh \
	tests/fakecuda/ptx.sh tests/fakecuda/races.sh \
	tests/fakecuda/sass.sh tests/fakecuda/shared.sh \
	tests/fakecuda/tables.sh tests/fakecuda/tune.sh
full_tests += tests/fakecuda/races.sh tests/fakecuda/sass.sh \
	tests/fakecuda/shared.sh tests/fakecuda/tables.sh
TESTS += tests/fakecuda/programs.sh tests/fakecuda/shared_memory.sh
tests/fakecuda/shared_memory.log: $(module_LTLIBRARIES)
slow_tests += tests/fakecuda/programs.sh tests/fakecuda/shared_memory.sh
EXTRA_DIST += tests/fakecuda/shared_memory.sh
tests/fakecuda/programs.log: $(module_LTLIBRARIES)
if BUILD_CUDA
full_tests += tests/fakecuda/blas_test
endif
EXTRA_DIST += tests/fakecuda/api.sh tests/fakecuda/api_check.c \
	tests/fakecuda/by_mma.sh tests/fakecuda/on_cuda.sh \
	tests/fakecuda/races.sh tests/fakecuda/variants.sh \
	tests/fakecuda/devices.sh tests/fakecuda/mma.sh \
	tests/fakecuda/programs.sh tests/fakecuda/ptx.sh \
	tests/fakecuda/sass.sh \
	tests/fakecuda/shared.sh tests/fakecuda/tables.sh \
	tests/fakecuda/tune.sh
tests_fakecuda_sass_test_SOURCES = tests/fakecuda/sass_test.c
tests_fakecuda_sass_test_LDADD = tests/fakecuda/libptx.la
tests/fakecuda/tune.log: sesqui$(EXEEXT) $(module_LTLIBRARIES)
tests/fakecuda/sass.log: $(module_LTLIBRARIES)
tests/fakecuda/shared.log: $(module_LTLIBRARIES)
check_PROGRAMS += tests/fakecuda/step
tests_fakecuda_step_SOURCES = tests/fakecuda/step.c tests/api/training.h
tests_fakecuda_step_LDADD = libsesqui.la
tests/fakecuda/devices.log: sesqui$(EXEEXT) $(module_LTLIBRARIES) \
	tests/fakecuda/step$(EXEEXT)
tests/fakecuda/mma.log: sesqui$(EXEEXT) $(module_LTLIBRARIES) \
	tests/fakecuda/mma_count$(EXEEXT)
tests/fakecuda/races.log: sesqui$(EXEEXT) $(module_LTLIBRARIES)
tests/fakecuda/tables.log: sesqui$(EXEEXT) $(module_LTLIBRARIES)
tests/fakecuda/ptx.log: tests/fakecuda/ptx_decode_all$(EXEEXT)

tests_fakecuda_cuda_test_SOURCES = tests/fakecuda/cuda_test.c
tests_fakecuda_cuda_test_LDADD = tests/fakecuda/libcuda.la -lpthread
tests_fakecuda_ptx_test_SOURCES = tests/fakecuda/ptx_test.c \
	tests/fakecuda/ptx/ptx_cases.h
tests_fakecuda_ptx_test_LDADD = tests/fakecuda/libptx.la -lm -lpthread
tests_fakecuda_ptx_warp_test_SOURCES = tests/fakecuda/ptx/ptx_warp_test.c
tests_fakecuda_ptx_warp_test_LDADD = tests/fakecuda/libptx.la -lm -lpthread
tests_fakecuda_mma_count_SOURCES = tests/fakecuda/mma_count.c
tests_fakecuda_mma_count_LDADD = tests/fakecuda/libptx.la -lm -lpthread
tests_fakecuda_ptx_decode_all_SOURCES = tests/fakecuda/ptx/ptx_decode_all.c
tests_fakecuda_ptx_decode_all_LDADD = tests/fakecuda/libptx.la -lm -lpthread
