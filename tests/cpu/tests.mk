# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the cpu backend: its threads and the program's, its
# tables, its rows, dense operands and steps, its options, and that
# neither threads nor the set of instructions change what they must not.

cpu_tests = \
	tests/cpu/dense \
	tests/cpu/gather \
	tests/cpu/halves \
	tests/cpu/lent \
	tests/cpu/nomem \
	tests/cpu/options \
	tests/cpu/pack \
	tests/cpu/parallel \
	tests/cpu/rows \
	tests/cpu/same \
	tests/cpu/steps \
	tests/cpu/table \
	tests/cpu/tiles \
	tests/cpu/tuning \
	tests/cpu/workers
check_PROGRAMS += $(cpu_tests)
TESTS += $(cpu_tests)
thread_tests += $(cpu_tests)
full_tests += tests/cpu/same tests/cpu/steps
tests_cpu_dense_SOURCES = tests/cpu/dense.c
tests_cpu_dense_LDADD = libcore.a
tests_cpu_gather_SOURCES = tests/cpu/gather.c
tests_cpu_gather_LDADD = libcore.a
tests_cpu_halves_SOURCES = tests/cpu/halves.c
tests_cpu_halves_LDADD = libcore.a
tests_cpu_lent_SOURCES = tests/cpu/lent.c
tests_cpu_lent_LDADD = libcore.a
tests_cpu_nomem_SOURCES = tests/cpu/nomem.c
tests_cpu_nomem_LDADD = libcore.a
tests_cpu_options_SOURCES = tests/cpu/options.c
tests_cpu_options_LDADD = libcore.a
tests_cpu_pack_SOURCES = tests/cpu/pack.c
tests_cpu_pack_LDADD = libcore.a
tests_cpu_parallel_SOURCES = tests/cpu/parallel.c
tests_cpu_parallel_LDADD = libcore.a
tests_cpu_rows_SOURCES = tests/cpu/rows.c
tests_cpu_rows_LDADD = libcore.a
tests_cpu_same_SOURCES = tests/cpu/same.c
tests_cpu_same_LDADD = $(suite_ldadd)
tests_cpu_steps_SOURCES = tests/cpu/steps.c
tests_cpu_steps_LDADD = libcore.a
tests_cpu_tiles_SOURCES = tests/cpu/tiles.c
tests_cpu_tiles_LDADD = $(suite_ldadd)
tests_cpu_table_SOURCES = tests/cpu/table.c
tests_cpu_table_LDADD = libcore.a
tests_cpu_tuning_SOURCES = tests/cpu/tuning.c
tests_cpu_tuning_LDADD = libcore.a
tests_cpu_workers_SOURCES = tests/cpu/workers.c
tests_cpu_workers_LDADD = libcore.a
EXTRA_DIST += tests/cpu/sets.h
