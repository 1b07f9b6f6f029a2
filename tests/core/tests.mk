# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the core: devices, buffers, queues, graphs, guard.
#
# A test is a program: check_PROGRAMS += tests/core/x, TESTS += tests/core/x,
# tests_core_x_SOURCES = tests/core/x.c, tests_core_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS +=
TESTS +=
