# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the API as a whole.
#
# A test is a program: check_PROGRAMS += tests/api/x, TESTS += tests/api/x,
# tests_api_x_SOURCES = tests/api/x.c, tests_api_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS += tests/api/dtype tests/api/manners
TESTS += tests/api/dtype tests/api/manners
tests_api_dtype_SOURCES = tests/api/dtype.c
tests_api_dtype_LDADD = libsesqui.la
tests_api_manners_SOURCES = tests/api/manners.c
tests_api_manners_LDADD = libsesqui.la
