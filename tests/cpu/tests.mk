# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the cpu backend: its threads, and that neither they nor
# the set of instructions change what they must not.

cpu_tests = \
	tests/cpu/parallel \
	tests/cpu/same
check_PROGRAMS += $(cpu_tests)
TESTS += $(cpu_tests)
tests_cpu_parallel_SOURCES = tests/cpu/parallel.c
tests_cpu_parallel_LDADD = libcore.la
tests_cpu_same_SOURCES = tests/cpu/same.c
tests_cpu_same_LDADD = $(suite_ldadd)
