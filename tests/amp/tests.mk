# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of mixed precision.
#
# A test is a program: check_PROGRAMS += tests/amp/x, TESTS += tests/amp/x,
# tests_amp_x_SOURCES = tests/amp/x.c, tests_amp_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS +=
TESTS +=
