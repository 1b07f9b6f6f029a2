# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the API as a whole.
#
# A test is a program: check_PROGRAMS += tests/api/x, TESTS += tests/api/x,
# tests_api_x_SOURCES = tests/api/x.c, tests_api_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS +=
TESTS +=
