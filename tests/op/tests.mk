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

# test programs: check_PROGRAMS, TESTS, SOURCES, LDADD = libsuite.la
suite_ldadd = libsuite.la libsesqui.la
