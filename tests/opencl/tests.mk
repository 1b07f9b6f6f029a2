# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the opencl backend; skipped where there is no device.

opencl_tests = \
	tests/opencl/cache \
	tests/opencl/queue
check_PROGRAMS += $(opencl_tests)
TESTS += $(opencl_tests)
EXTRA_DIST += tests/opencl/opencl.h

tests_opencl_cache_SOURCES = tests/opencl/cache.c
tests_opencl_cache_LDADD = libsesqui.la
tests_opencl_queue_SOURCES = tests/opencl/queue.c
tests_opencl_queue_LDADD = libsesqui.la
