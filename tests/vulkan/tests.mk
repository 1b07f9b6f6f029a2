# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the vulkan backend; skipped without a device.

vulkan_tests =
# with the headers of Vulkan
if BUILD_VULKAN
vulkan_tests += \
	tests/vulkan/big \
	tests/vulkan/cache \
	tests/vulkan/compile \
	tests/vulkan/coopmat_graph \
	tests/vulkan/coopmat_refused \
	tests/vulkan/devices \
	tests/vulkan/faults \
	tests/vulkan/host_memory \
	tests/vulkan/lost \
	tests/vulkan/memory \
	tests/vulkan/native \
	tests/vulkan/queue \
	tests/vulkan/share
check_PROGRAMS += $(vulkan_tests) tests/vulkan/spirv tests/vulkan/validation
TESTS += $(vulkan_tests) tests/vulkan/spirv tests/vulkan/validation.sh
slow_tests += $(vulkan_tests) tests/vulkan/validation.sh
full_tests += tests/vulkan/host_memory
endif
EXTRA_DIST += tests/vulkan/count.h tests/vulkan/fake.h \
	tests/vulkan/validation.sh

tests_vulkan_big_SOURCES = tests/vulkan/big.c
tests_vulkan_big_LDADD = libsesqui.la
tests_vulkan_cache_SOURCES = tests/vulkan/cache.c
tests_vulkan_cache_LDADD = libsesqui.la
tests_vulkan_compile_SOURCES = tests/vulkan/compile.c
tests_vulkan_compile_LDADD = libsesqui.la
tests_vulkan_coopmat_graph_SOURCES = tests/vulkan/coopmat_graph.c
tests_vulkan_coopmat_graph_LDADD = libsesqui.la -lm
tests_vulkan_coopmat_refused_SOURCES = tests/vulkan/coopmat_refused.c
tests_vulkan_coopmat_refused_LDADD = libsesqui.la
tests_vulkan_devices_SOURCES = tests/vulkan/devices.c
tests_vulkan_devices_LDADD = libsesqui.la
tests_vulkan_faults_SOURCES = tests/vulkan/faults.c
tests_vulkan_faults_LDADD = libsesqui.la
tests_vulkan_host_memory_SOURCES = tests/vulkan/host_memory.c
tests_vulkan_host_memory_LDADD = libsesqui.la
tests_vulkan_lost_SOURCES = tests/vulkan/lost.c
tests_vulkan_lost_LDADD = libsesqui.la
tests_vulkan_memory_SOURCES = tests/vulkan/memory.c
tests_vulkan_memory_LDADD = libsesqui.la
tests_vulkan_native_SOURCES = tests/vulkan/native.c
tests_vulkan_native_LDADD = libsesqui.la $(VULKAN_LIBS)
tests_vulkan_queue_SOURCES = tests/vulkan/queue.c
tests_vulkan_queue_LDADD = libsesqui.la
tests_vulkan_share_SOURCES = tests/vulkan/share.c
tests_vulkan_share_LDADD = libsesqui.la
tests_vulkan_spirv_SOURCES = tests/vulkan/spirv.c backends/vulkan/spirv.c
tests_vulkan_spirv_CPPFLAGS = $(vulkan_la_CPPFLAGS)
tests_vulkan_validation_SOURCES = tests/vulkan/validation.c
tests_vulkan_validation_LDADD = libsesqui.la
