# SPDX-License-Identifier: Apache-2.0
# tests.mk - one case table per op.
#
# Tables (tests/op/<family>.c) go into libsuite.la, which the test program and
# the sesqui tool link, and by name into op_tables.

noinst_LTLIBRARIES += libsuite.la
libsuite_la_SOURCES = $(suite_sources) \
	tests/bounds.h \
	tests/bounds_attention.h \
	tests/bounds_channel.h \
	tests/bounds_rnn.h \
	tests/bounds_rows.h \
	tests/op/activation.h \
	tests/op/case.h \
	tests/op/difference.c \
	tests/op/difference.h \
	tests/op/golden.h \
	tests/op/golden_onnx.h \
	tests/op/pairwise.c \
	tests/op/pairwise.h \
	tests/op/suite.c \
	tests/op/suite.h \
	tests/op/suite_run.c \
	tests/op/suite_run.h \
	tests/op/suites.c \
	tests/running.h
libsuite_la_LIBADD = libsesqui.la
EXTRA_DIST += tests/op/golden.py tests/op/golden_onnx.py

# The tables, one line each: the only list. A table NAME is the suite
# NAME_suite; sesqui's verify, support and bench go by this order.
op_tables =
op_tables += tests/op/random
op_tables += tests/op/dropout
op_tables += tests/op/init
op_tables += tests/op/reduce
op_tables += tests/op/reduce_backward
op_tables += tests/op/argmax
op_tables += tests/op/l2_norm
op_tables += tests/op/gather
op_tables += tests/op/scatter_add
op_tables += tests/op/one_hot
op_tables += tests/op/fill
op_tables += tests/op/copy
op_tables += tests/op/arrange
op_tables += tests/op/cast
op_tables += tests/op/unary
op_tables += tests/op/unary_backward
op_tables += tests/op/binary
op_tables += tests/op/binary_backward
op_tables += tests/op/compare
op_tables += tests/op/where
op_tables += tests/op/scale
op_tables += tests/op/softmax
op_tables += tests/op/softmax_backward
op_tables += tests/op/cross_entropy
op_tables += tests/op/loss
op_tables += tests/op/layer_norm
op_tables += tests/op/layer_norm_backward
op_tables += tests/op/batch_norm
op_tables += tests/op/batch_norm_backward
op_tables += tests/op/group_norm
op_tables += tests/op/group_norm_backward
op_tables += tests/op/lstm_cell
op_tables += tests/op/lstm_cell_backward
op_tables += tests/op/gru_cell
op_tables += tests/op/gru_cell_backward
op_tables += tests/op/lstm
op_tables += tests/op/gru
op_tables += tests/op/gemm
op_tables += tests/op/gemm_exact
op_tables += tests/op/gemm_shapes
op_tables += tests/op/gemm_misuse
op_tables += tests/op/gemm_explain
op_tables += tests/op/conv
op_tables += tests/op/conv_backward
op_tables += tests/op/conv_transpose
op_tables += tests/op/max_pool
op_tables += tests/op/max_pool_backward
op_tables += tests/op/avg_pool
op_tables += tests/op/avg_pool_backward
op_tables += tests/op/slide_misuse
op_tables += tests/op/optimizer
op_tables += tests/op/attention
op_tables += tests/op/attention_backward
op_tables += tests/op/attention_edges
op_tables += tests/op/attention_misuse
op_tables += tests/op/rotary
op_tables += tests/op/metrics

# One program runs them all; what stands for one is an empty file.
check_PROGRAMS += tests/op/tables
tests_op_tables_SOURCES = tests/op/tables.c
tests_op_tables_LDADD = $(suite_ldadd)
suite_ldadd = libsuite.la libsesqui.la
op_table_files = $(op_tables:=.table)
TESTS += $(op_table_files)
CLEANFILES += $(op_table_files) tests/op/tables.h
$(op_table_files): tests/op/tables$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) tests/op && touch $@
TEST_EXTENSIONS += .table
TABLE_LOG_DRIVER = $(tap_driver)
TABLE_LOG_COMPILER = timeout -k 10 $(TEST_TIMEOUT) tests/op/tables$(EXEEXT)

BUILT_SOURCES += tests/op/tables.h
tests/op/suites.lo: tests/op/tables.h
tests/op/tables.h: tests/op/tests.mk
	$(AM_V_GEN)$(MKDIR_P) tests/op && { \
	echo '/* tables.h - made from tests.mk: do not edit. */' && \
	echo '#define TABLES(X) \' && \
	for t in $(notdir $(op_tables)); do echo "    X($$t) \\"; done && \
	echo '    /* the end of the list */'; } >$@.new && mv $@.new $@

# other test programs
check_PROGRAMS += tests/op/window_test
TESTS += tests/op/window_test
tests_op_window_test_SOURCES = tests/op/window_test.c
tests_op_window_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/long_test
TESTS += tests/op/long_test
tests_op_long_test_SOURCES = tests/op/long_test.c
tests_op_long_test_LDADD = libsesqui.la
check_PROGRAMS += tests/op/loops_test
TESTS += tests/op/loops_test
tests_op_loops_test_SOURCES = tests/op/loops_test.c
tests_op_loops_test_LDADD = libsesqui.la -lm
full_tests += tests/op/loops_test tests/op/again.sh
TESTS += tests/op/again.sh
EXTRA_DIST += tests/op/again.sh
slow_tests += tests/op/window_test tests/op/long_test tests/op/loops_test \
	tests/op/again.sh

# valgrind's long double infinities are no infinities
slow_tests += tests/op/unary.table
