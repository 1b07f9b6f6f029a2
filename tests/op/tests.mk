# SPDX-License-Identifier: Apache-2.0
# tests.mk - one case table per op.
#
# Tables (tests/op/<directory>/<family>.c) go into libsuite.a, which the test
# program and the sesqui tool link. lists.mk has them by name in op_tables, as
# lib/core/module/ops.h does.

noinst_LIBRARIES += libsuite.a
libsuite_a_SOURCES = $(suite_sources) \
	tests/bounds.h \
	tests/bounds_attention.h \
	tests/bounds_channel.h \
	tests/bounds_rnn.h \
	tests/bounds_rows.h \
	tests/op/activation.h \
	tests/op/case.h \
	tests/op/difference.c \
	tests/op/difference.h \
	tests/op/draw.c \
	tests/op/draw.h \
	tests/op/golden.h \
	tests/op/golden_onnx.h \
	tests/op/names.c \
	tests/op/pairwise.c \
	tests/op/pairwise.h \
	tests/op/plot.c \
	tests/op/plot.h \
	tests/op/element.c \
	tests/op/element.h \
	tests/op/suite.c \
	tests/op/suite.h \
	tests/op/suite_run.c \
	tests/op/suite_run.h \
	tests/op/suites.c \
	tests/op/turns.c \
	tests/op/turns.h \
	tests/running.h
EXTRA_DIST += tests/op/golden.py tests/op/golden_onnx.py

# One program runs them all; what stands for one is an empty file.
check_PROGRAMS += tests/op/tables
tests_op_tables_SOURCES = tests/op/tables.c
tests_op_tables_LDADD = $(suite_ldadd)
suite_ldadd = libsuite.a libsesqui.la
op_table_files = $(op_tables:=.table)
TESTS += $(op_table_files)
CLEANFILES += $(op_table_files)
$(op_table_files): tests/op/tables$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) tests/op && touch $@
TEST_EXTENSIONS += .table
TABLE_LOG_DRIVER = $(tap_driver)
TABLE_LOG_COMPILER = timeout -k 10 $(TEST_TIMEOUT) tests/op/tables$(EXEEXT)

# other test programs
check_PROGRAMS += tests/op/window_test
TESTS += tests/op/window_test
tests_op_window_test_SOURCES = tests/op/window_test.c
tests_op_window_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/long_test
TESTS += tests/op/long_test
tests_op_long_test_SOURCES = tests/op/long_test.c
tests_op_long_test_LDADD = libsesqui.la
check_PROGRAMS += tests/op/large_test
TESTS += tests/op/large_test
tests_op_large_test_SOURCES = tests/op/large_test.c
tests_op_large_test_LDADD = libsesqui.la
check_PROGRAMS += tests/op/loops_test
TESTS += tests/op/loops_test
tests_op_loops_test_SOURCES = tests/op/loops_test.c
tests_op_loops_test_LDADD = libsesqui.la -lm
# those whose drivers take turns: see struct suite
full_tests += tests/op/binary.table tests/op/binary_backward.table \
	tests/op/cast.table tests/op/gemm_shapes.table \
	tests/op/optimizer.table tests/op/unary.table \
	tests/op/unary_backward.table tests/amp/replay
full_tests += tests/op/window_test tests/op/long_test tests/op/loops_test \
	tests/op/large_test \
	tests/op/again.sh
TESTS += tests/op/again.sh
EXTRA_DIST += tests/op/again.sh
slow_tests += tests/op/window_test tests/op/long_test tests/op/loops_test \
	tests/op/large_test \
	tests/op/again.sh

# valgrind's long double infinities are no infinities
slow_tests += tests/op/unary.table
