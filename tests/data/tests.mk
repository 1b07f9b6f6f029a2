# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of files of data, batches and metrics.

data_tests = tests/data/batches tests/data/images tests/data/metric \
	tests/data/npz tests/data/read
check_PROGRAMS += $(data_tests)
TESTS += $(data_tests)
thread_tests += tests/data/batches

tests_data_batches_SOURCES = tests/data/batches.c
tests_data_batches_LDADD = libsesqui.la -lm
tests_data_metric_SOURCES = tests/data/metric.c
tests_data_metric_LDADD = libsesqui.la -lm
tests_data_read_SOURCES = tests/data/read.c
tests_data_read_LDADD = libsesqui.la
tests_data_images_SOURCES = tests/data/images.c
tests_data_images_LDADD = libsesqui.la
tests_data_npz_SOURCES = tests/data/npz.c
tests_data_npz_LDADD = libsesqui.la
