# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of kernels/scalar.h and of the kernel texts.
#
# A test is a program: check_PROGRAMS += tests/scalar/x, TESTS += tests/scalar/x,
# tests_scalar_x_SOURCES = tests/scalar/x.c, tests_scalar_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS +=
TESTS +=
