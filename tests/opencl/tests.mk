# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the opencl backend; skipped without a device.

opencl_tests = \
	tests/opencl/cache \
	tests/opencl/native \
	tests/opencl/queue
# with the headers of OpenCL
if BUILD_OPENCL
opencl_tests += tests/opencl/certificate tests/opencl/faults
opencl_tests += tests/opencl/matrix_units tests/opencl/params
check_PROGRAMS += tests/opencl/races
endif
check_PROGRAMS += $(opencl_tests)
TESTS += $(opencl_tests)
TESTS += tests/opencl/races.sh
slow_tests += $(opencl_tests) tests/opencl/races.sh
EXTRA_DIST += tests/opencl/races.sh

# A driver that says it is NVIDIA's, for LD_PRELOAD.
if BUILD_OPENCL
check_LTLIBRARIES += tests/opencl/nvidia.la
TESTS += tests/opencl/nvidia.sh
slow_tests += tests/opencl/nvidia.sh
full_tests += tests/opencl/nvidia.sh
endif
tests_opencl_nvidia_la_SOURCES = tests/opencl/nvidia.c tests/fakecuda/ptx/ptx.h
tests_opencl_nvidia_la_LDFLAGS = -module -avoid-version -no-undefined \
	-rpath $(abs_builddir)/tests/opencl
tests_opencl_nvidia_la_LIBADD = tests/fakecuda/libptx.la $(OPENCL_LIBS) -lm \
	-lpthread -ldl
tests/opencl/nvidia.log: sesqui$(EXEEXT) $(module_LTLIBRARIES) \
	tests/opencl/nvidia.la tests/fakecuda/mma_count$(EXEEXT) \
	tests/fakecuda/mma_refused$(EXEEXT)
EXTRA_DIST += tests/opencl/nvidia.sh tests/opencl/nvidia.cl

tests_opencl_cache_SOURCES = tests/opencl/cache.c
tests_opencl_cache_LDADD = libsesqui.la
tests_opencl_certificate_SOURCES = tests/opencl/certificate.c
tests_opencl_certificate_CPPFLAGS = $(opencl_la_CPPFLAGS)
tests_opencl_certificate_LDADD = libcore.a
tests_opencl_faults_SOURCES = tests/opencl/faults.c
tests_opencl_faults_CPPFLAGS = $(opencl_la_CPPFLAGS)
tests_opencl_faults_LDADD = libsesqui.la
tests_opencl_matrix_units_SOURCES = tests/opencl/matrix_units.c
tests_opencl_matrix_units_CPPFLAGS = $(opencl_la_CPPFLAGS)
tests_opencl_matrix_units_LDADD = libsesqui.la
tests_opencl_params_SOURCES = tests/opencl/params.c
tests_opencl_params_CPPFLAGS = $(opencl_la_CPPFLAGS)
tests_opencl_params_LDADD = libsesqui.la
tests_opencl_queue_SOURCES = tests/opencl/queue.c
tests_opencl_queue_LDADD = libsesqui.la
tests_opencl_native_SOURCES = tests/opencl/native.c
tests_opencl_native_LDADD = libsesqui.la $(OPENCL_LIBS)
tests_opencl_races_SOURCES = tests/opencl/races.c
tests_opencl_races_LDADD = $(suite_ldadd) $(OPENCL_LIBS)
