# SPDX-License-Identifier: Apache-2.0
# tests.mk - one case table per op.
#
# Tables (tests/op/<family>.c) go into libsuite.la, which the test program and
# the sesqui tool link, and by name into op_tables.

noinst_LTLIBRARIES += libsuite.la
libsuite_la_SOURCES = \
	tests/bounds.h \
	tests/op/suite.c \
	tests/op/suite.h \
	tests/op/suite_run.c \
	tests/op/suite_run.h \
	tests/op/suites.c
libsuite_la_LIBADD = libsesqui.la

# tables, one line per file
libsuite_la_SOURCES += tests/op/random/random.c
libsuite_la_SOURCES += tests/op/random/dropout.c
libsuite_la_SOURCES += tests/op/random/init.c
libsuite_la_SOURCES += tests/op/random/philox.h
libsuite_la_SOURCES += tests/op/reduce/reduce.c
libsuite_la_SOURCES += tests/op/reduce/reduce_backward.c
libsuite_la_SOURCES += tests/op/reduce/argmax.c
libsuite_la_SOURCES += tests/op/reduce/l2_norm.c
libsuite_la_SOURCES += tests/op/data/gather.c
libsuite_la_SOURCES += tests/op/data/one_hot.c
libsuite_la_SOURCES += tests/op/case.h
libsuite_la_SOURCES += tests/op/data/fill.c
libsuite_la_SOURCES += tests/op/data/copy.c tests/op/data/arrange.c
libsuite_la_SOURCES += tests/op/data/cast.c
libsuite_la_SOURCES += tests/op/elementwise/functions.h tests/op/elementwise/functions.c
libsuite_la_SOURCES += tests/op/elementwise/unary.c tests/op/elementwise/unary_backward.c
libsuite_la_SOURCES += tests/op/elementwise/binary.c tests/op/elementwise/binary_backward.c
libsuite_la_SOURCES += tests/op/elementwise/compare.c tests/op/elementwise/where.c tests/op/elementwise/scale.c
libsuite_la_SOURCES += tests/bounds_rows.h
libsuite_la_SOURCES += tests/op/difference.h tests/op/difference.c
libsuite_la_SOURCES += tests/op/softmax/softmax.c
libsuite_la_SOURCES += tests/op/loss/cross_entropy.h tests/op/loss/cross_entropy.c
libsuite_la_SOURCES += tests/op/loss/cross_entropy_oracle.c
libsuite_la_SOURCES += tests/op/loss/cross_entropy_edges.c
libsuite_la_SOURCES += tests/op/loss/loss.h tests/op/loss/loss.c tests/op/loss/loss_edges.c
libsuite_la_SOURCES += tests/op/norm/layer_norm.h tests/op/norm/layer_norm.c
libsuite_la_SOURCES += tests/op/norm/layer_norm_oracle.c
libsuite_la_SOURCES += tests/op/norm/layer_norm_backward.c
libsuite_la_SOURCES += tests/bounds_channel.h tests/op/norm/channel_norm.h
libsuite_la_SOURCES += tests/op/norm/channel_norm_case.c
libsuite_la_SOURCES += tests/op/norm/channel_norm_oracle.c
libsuite_la_SOURCES += tests/op/norm/batch_norm.c tests/op/norm/batch_norm_backward.c
libsuite_la_SOURCES += tests/op/golden.h tests/op/norm/golden_norm.h tests/op/golden_onnx.h
libsuite_la_SOURCES += tests/bounds_rnn.h tests/op/rnn/rnn.h tests/op/rnn/rnn_oracle.c
libsuite_la_SOURCES += tests/op/rnn/rnn_case.h tests/op/rnn/rnn_case.c
libsuite_la_SOURCES += tests/op/rnn/rnn_cell.c tests/op/rnn/rnn.c tests/op/rnn/rnn_edges.c
libsuite_la_SOURCES += tests/op/rnn/golden_rnn.h
EXTRA_DIST += tests/op/golden.py tests/op/golden_onnx.py
libsuite_la_SOURCES += tests/op/pairwise.h tests/op/pairwise.c
libsuite_la_SOURCES += tests/op/gemm/gemm_case.h tests/op/gemm/gemm_case.c
libsuite_la_SOURCES += tests/op/gemm/gemm.c tests/op/gemm/gemm_exact.c
libsuite_la_SOURCES += tests/op/gemm/gemm_shapes.c tests/op/gemm/gemm_misuse.c
libsuite_la_SOURCES += tests/op/gemm/gemm_explain.c
libsuite_la_SOURCES += tests/op/amp/optimizer.c tests/op/amp/optimizer_oracle.h
libsuite_la_SOURCES += tests/op/amp/optimizer_oracle.c tests/running.h
libsuite_la_SOURCES += tests/bounds_attention.h tests/op/attention/attention.h
libsuite_la_SOURCES += tests/op/attention/attention_oracle.c tests/op/attention/attention_case.c
libsuite_la_SOURCES += tests/op/attention/attention.c tests/op/attention/attention_backward.c
libsuite_la_SOURCES += tests/op/attention/attention_edges.c tests/op/attention/attention_misuse.c
libsuite_la_SOURCES += tests/op/attention/rotary.c tests/op/metrics/metrics.c
libsuite_la_SOURCES += tests/op/activation.h
libsuite_la_SOURCES += tests/op/conv/conv_case.h tests/op/conv/conv_case.c
libsuite_la_SOURCES += tests/op/conv/conv.c tests/op/conv/conv_backward.c
libsuite_la_SOURCES += tests/op/pool/pool_case.h tests/op/pool/pool_case.c
libsuite_la_SOURCES += tests/op/pool/max_pool.c tests/op/pool/avg_pool.c
libsuite_la_SOURCES += tests/op/conv/slide_misuse.c

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
