# SPDX-License-Identifier: Apache-2.0
# tests.mk - one case table per op.
#
# A test is a program: check_PROGRAMS += tests/op/x, TESTS += tests/op/x,
# tests_op_x_SOURCES = tests/op/x.c, tests_op_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS +=
TESTS +=
