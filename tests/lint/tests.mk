# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the test helper, the headers, the build and the text.

check_PROGRAMS += tests/lint/tap
TESTS += tests/lint/tap
tests_lint_tap_SOURCES = tests/lint/tap.c
