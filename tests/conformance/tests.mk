# SPDX-License-Identifier: Apache-2.0
# tests.mk - the tables of conformance/, and programs that run them again under
# other conditions.

# One program runs all tables. An empty file represents each of them.
check_PROGRAMS += tests/conformance/tables
tests_conformance_tables_SOURCES = tests/conformance/tables.c
tests_conformance_tables_LDADD = $(suite_ldadd)
op_table_files = $(op_tables:=.table)
TESTS += $(op_table_files)
CLEANFILES += $(op_table_files)
$(op_table_files): tests/conformance/tables$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) conformance && touch $@
TEST_EXTENSIONS += .table
TABLE_LOG_DRIVER = $(tap_driver)
TABLE_LOG_COMPILER = timeout -k 10 $(TEST_TIMEOUT) \
	tests/conformance/tables$(EXEEXT)

# Other test programs.
check_PROGRAMS += tests/conformance/window_test
TESTS += tests/conformance/window_test
tests_conformance_window_test_SOURCES = tests/conformance/window_test.c
tests_conformance_window_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/conformance/long_test
TESTS += tests/conformance/long_test
tests_conformance_long_test_SOURCES = tests/conformance/long_test.c
tests_conformance_long_test_LDADD = libsesqui.la
check_PROGRAMS += tests/conformance/large_test
TESTS += tests/conformance/large_test
tests_conformance_large_test_SOURCES = tests/conformance/large_test.c
tests_conformance_large_test_LDADD = libsesqui.la
check_PROGRAMS += tests/conformance/loops_test
TESTS += tests/conformance/loops_test
tests_conformance_loops_test_SOURCES = tests/conformance/loops_test.c
tests_conformance_loops_test_LDADD = libsesqui.la -lm
# Tables whose drivers take turns: see struct suite.
full_tests += conformance/binary.table conformance/binary_backward.table \
	conformance/cast.table conformance/gemm_shapes.table \
	conformance/optimizer.table conformance/unary.table \
	conformance/unary_backward.table tests/amp/replay
full_tests += tests/conformance/window_test \
	tests/conformance/long_test tests/conformance/loops_test \
	tests/conformance/large_test tests/conformance/again.sh
TESTS += tests/conformance/again.sh
EXTRA_DIST += tests/conformance/again.sh
slow_tests += tests/conformance/window_test \
	tests/conformance/long_test tests/conformance/loops_test \
	tests/conformance/large_test tests/conformance/again.sh

# valgrind's long double infinities are wrong
slow_tests += conformance/unary.table
