# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of tapes, layers and trainers.

tape_tests = \
	tests/tape/alloc \
	tests/tape/by_hand \
	tests/tape/dtypes \
	tests/tape/flat \
	tests/tape/gradients \
	tests/tape/misuse
check_PROGRAMS += $(tape_tests)
TESTS += $(tape_tests)
full_tests += tests/tape/by_hand
EXTRA_DIST += tests/tape/tape.h

tests_tape_by_hand_SOURCES = tests/tape/by_hand.c
tests_tape_by_hand_LDADD = libcore.la -lm
tests_tape_gradients_SOURCES = tests/tape/gradients.c
tests_tape_gradients_LDADD = libcore.la -lm
tests_tape_flat_SOURCES = tests/tape/flat.c
tests_tape_flat_LDADD = libcore.la -lm
tests_tape_misuse_SOURCES = tests/tape/misuse.c
tests_tape_misuse_LDADD = libcore.la -lm
tests_tape_alloc_SOURCES = tests/tape/alloc.c
tests_tape_alloc_LDADD = libcore.la -lm
tests_tape_dtypes_SOURCES = tests/tape/dtypes.c
tests_tape_dtypes_LDADD = libcore.la -lm
