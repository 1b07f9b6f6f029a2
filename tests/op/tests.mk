# SPDX-License-Identifier: Apache-2.0
# tests.mk - one case table per op.
#
# Tables (tests/op/<family>.c) go into libsuite.la, which the tests and the
# sesqui tool link; a test program is four lines, tests/op/<name>_test.c.

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
libsuite_la_SOURCES += tests/op/random.c
libsuite_la_SOURCES += tests/op/dropout.c
libsuite_la_SOURCES += tests/op/init.c
libsuite_la_SOURCES += tests/op/philox.h
libsuite_la_SOURCES += tests/op/reduce.c
libsuite_la_SOURCES += tests/op/reduce_backward.c
libsuite_la_SOURCES += tests/op/argmax.c
libsuite_la_SOURCES += tests/op/l2_norm.c
libsuite_la_SOURCES += tests/op/gather.c
libsuite_la_SOURCES += tests/op/one_hot.c
libsuite_la_SOURCES += tests/op/case.h
libsuite_la_SOURCES += tests/op/fill.c
libsuite_la_SOURCES += tests/op/copy.c tests/op/arrange.c
libsuite_la_SOURCES += tests/op/cast.c
libsuite_la_SOURCES += tests/op/functions.h tests/op/functions.c
libsuite_la_SOURCES += tests/op/unary.c tests/op/unary_backward.c
libsuite_la_SOURCES += tests/op/binary.c tests/op/binary_backward.c
libsuite_la_SOURCES += tests/op/compare.c tests/op/where.c tests/op/scale.c
libsuite_la_SOURCES += tests/bounds_rows.h
libsuite_la_SOURCES += tests/op/difference.h tests/op/difference.c
libsuite_la_SOURCES += tests/op/softmax.c
libsuite_la_SOURCES += tests/op/cross_entropy.h tests/op/cross_entropy.c
libsuite_la_SOURCES += tests/op/cross_entropy_oracle.c
libsuite_la_SOURCES += tests/op/cross_entropy_edges.c
libsuite_la_SOURCES += tests/op/loss.h tests/op/loss.c tests/op/loss_edges.c
libsuite_la_SOURCES += tests/op/layer_norm.h tests/op/layer_norm.c
libsuite_la_SOURCES += tests/op/layer_norm_oracle.c
libsuite_la_SOURCES += tests/op/layer_norm_backward.c
libsuite_la_SOURCES += tests/op/pairwise.h tests/op/pairwise.c
libsuite_la_SOURCES += tests/op/gemm_case.h tests/op/gemm_case.c
libsuite_la_SOURCES += tests/op/gemm.c tests/op/gemm_exact.c
libsuite_la_SOURCES += tests/op/gemm_shapes.c tests/op/gemm_misuse.c
libsuite_la_SOURCES += tests/op/gemm_explain.c
libsuite_la_SOURCES += tests/op/optimizer.c tests/op/optimizer_oracle.h
libsuite_la_SOURCES += tests/op/optimizer_oracle.c tests/running.h
libsuite_la_SOURCES += tests/op/activation.h
libsuite_la_SOURCES += tests/op/conv_case.h tests/op/conv_case.c
libsuite_la_SOURCES += tests/op/conv.c tests/op/conv_backward.c
libsuite_la_SOURCES += tests/op/pool_case.h tests/op/pool_case.c
libsuite_la_SOURCES += tests/op/max_pool.c tests/op/avg_pool.c
libsuite_la_SOURCES += tests/op/slide_misuse.c

# test programs: check_PROGRAMS, TESTS, SOURCES, LDADD = libsuite.la
suite_ldadd = libsuite.la libsesqui.la

check_PROGRAMS += tests/op/fill_test
TESTS += tests/op/fill_test
tests_op_fill_test_SOURCES = tests/op/fill_test.c
tests_op_fill_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/copy_test
TESTS += tests/op/copy_test
tests_op_copy_test_SOURCES = tests/op/copy_test.c
tests_op_copy_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/arrange_test
TESTS += tests/op/arrange_test
tests_op_arrange_test_SOURCES = tests/op/arrange_test.c
tests_op_arrange_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/cast_test
TESTS += tests/op/cast_test
tests_op_cast_test_SOURCES = tests/op/cast_test.c
tests_op_cast_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/gather_test
TESTS += tests/op/gather_test
tests_op_gather_test_SOURCES = tests/op/gather_test.c
tests_op_gather_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/scatter_add_test
TESTS += tests/op/scatter_add_test
tests_op_scatter_add_test_SOURCES = tests/op/scatter_add_test.c
tests_op_scatter_add_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/one_hot_test
TESTS += tests/op/one_hot_test
tests_op_one_hot_test_SOURCES = tests/op/one_hot_test.c
tests_op_one_hot_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/unary_test
TESTS += tests/op/unary_test
tests_op_unary_test_SOURCES = tests/op/unary_test.c
tests_op_unary_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/unary_backward_test
TESTS += tests/op/unary_backward_test
tests_op_unary_backward_test_SOURCES = tests/op/unary_backward_test.c
tests_op_unary_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/binary_test
TESTS += tests/op/binary_test
tests_op_binary_test_SOURCES = tests/op/binary_test.c
tests_op_binary_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/binary_backward_test
TESTS += tests/op/binary_backward_test
tests_op_binary_backward_test_SOURCES = tests/op/binary_backward_test.c
tests_op_binary_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/compare_test
TESTS += tests/op/compare_test
tests_op_compare_test_SOURCES = tests/op/compare_test.c
tests_op_compare_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/where_test
TESTS += tests/op/where_test
tests_op_where_test_SOURCES = tests/op/where_test.c
tests_op_where_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/scale_test
TESTS += tests/op/scale_test
tests_op_scale_test_SOURCES = tests/op/scale_test.c
tests_op_scale_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/reduce_test
TESTS += tests/op/reduce_test
tests_op_reduce_test_SOURCES = tests/op/reduce_test.c
tests_op_reduce_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/reduce_backward_test
TESTS += tests/op/reduce_backward_test
tests_op_reduce_backward_test_SOURCES = tests/op/reduce_backward_test.c
tests_op_reduce_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/argmax_test
TESTS += tests/op/argmax_test
tests_op_argmax_test_SOURCES = tests/op/argmax_test.c
tests_op_argmax_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/l2_norm_test
TESTS += tests/op/l2_norm_test
tests_op_l2_norm_test_SOURCES = tests/op/l2_norm_test.c
tests_op_l2_norm_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/softmax_test
TESTS += tests/op/softmax_test
tests_op_softmax_test_SOURCES = tests/op/softmax_test.c
tests_op_softmax_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/softmax_backward_test
TESTS += tests/op/softmax_backward_test
tests_op_softmax_backward_test_SOURCES = tests/op/softmax_backward_test.c
tests_op_softmax_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/cross_entropy_test
TESTS += tests/op/cross_entropy_test
tests_op_cross_entropy_test_SOURCES = tests/op/cross_entropy_test.c
tests_op_cross_entropy_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/loss_test
TESTS += tests/op/loss_test
tests_op_loss_test_SOURCES = tests/op/loss_test.c
tests_op_loss_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/layer_norm_test
TESTS += tests/op/layer_norm_test
tests_op_layer_norm_test_SOURCES = tests/op/layer_norm_test.c
tests_op_layer_norm_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/layer_norm_backward_test
TESTS += tests/op/layer_norm_backward_test
tests_op_layer_norm_backward_test_SOURCES = tests/op/layer_norm_backward_test.c
tests_op_layer_norm_backward_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/gemm_test
TESTS += tests/op/gemm_test
tests_op_gemm_test_SOURCES = tests/op/gemm_test.c
tests_op_gemm_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/gemm_exact_test
TESTS += tests/op/gemm_exact_test
tests_op_gemm_exact_test_SOURCES = tests/op/gemm_exact_test.c
tests_op_gemm_exact_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/gemm_shapes_test
TESTS += tests/op/gemm_shapes_test
tests_op_gemm_shapes_test_SOURCES = tests/op/gemm_shapes_test.c
tests_op_gemm_shapes_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/gemm_misuse_test
TESTS += tests/op/gemm_misuse_test
tests_op_gemm_misuse_test_SOURCES = tests/op/gemm_misuse_test.c
tests_op_gemm_misuse_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/gemm_explain_test
TESTS += tests/op/gemm_explain_test
tests_op_gemm_explain_test_SOURCES = tests/op/gemm_explain_test.c
tests_op_gemm_explain_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/random_test
TESTS += tests/op/random_test
tests_op_random_test_SOURCES = tests/op/random_test.c
tests_op_random_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/dropout_test
TESTS += tests/op/dropout_test
tests_op_dropout_test_SOURCES = tests/op/dropout_test.c
tests_op_dropout_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/init_test
TESTS += tests/op/init_test
tests_op_init_test_SOURCES = tests/op/init_test.c
tests_op_init_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/window_test
TESTS += tests/op/window_test
tests_op_window_test_SOURCES = tests/op/window_test.c
tests_op_window_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/long_test
TESTS += tests/op/long_test
tests_op_long_test_SOURCES = tests/op/long_test.c
tests_op_long_test_LDADD = libsesqui.la
TESTS += tests/op/again.sh
EXTRA_DIST += tests/op/again.sh

check_PROGRAMS += tests/op/optimizer_test
TESTS += tests/op/optimizer_test
tests_op_optimizer_test_SOURCES = tests/op/optimizer_test.c
tests_op_optimizer_test_LDADD = $(suite_ldadd)

check_PROGRAMS += tests/op/conv_test
TESTS += tests/op/conv_test
tests_op_conv_test_SOURCES = tests/op/conv_test.c
tests_op_conv_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/conv_backward_test
TESTS += tests/op/conv_backward_test
tests_op_conv_backward_test_SOURCES = tests/op/conv_backward_test.c
tests_op_conv_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/conv_transpose_test
TESTS += tests/op/conv_transpose_test
tests_op_conv_transpose_test_SOURCES = tests/op/conv_transpose_test.c
tests_op_conv_transpose_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/max_pool_test
TESTS += tests/op/max_pool_test
tests_op_max_pool_test_SOURCES = tests/op/max_pool_test.c
tests_op_max_pool_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/max_pool_backward_test
TESTS += tests/op/max_pool_backward_test
tests_op_max_pool_backward_test_SOURCES = tests/op/max_pool_backward_test.c
tests_op_max_pool_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/avg_pool_test
TESTS += tests/op/avg_pool_test
tests_op_avg_pool_test_SOURCES = tests/op/avg_pool_test.c
tests_op_avg_pool_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/avg_pool_backward_test
TESTS += tests/op/avg_pool_backward_test
tests_op_avg_pool_backward_test_SOURCES = tests/op/avg_pool_backward_test.c
tests_op_avg_pool_backward_test_LDADD = $(suite_ldadd)
check_PROGRAMS += tests/op/slide_misuse_test
TESTS += tests/op/slide_misuse_test
tests_op_slide_misuse_test_SOURCES = tests/op/slide_misuse_test.c
tests_op_slide_misuse_test_LDADD = $(suite_ldadd)
