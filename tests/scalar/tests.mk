# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of kernels/scalar/scalar.h and of the kernel texts.

scalar_tests = tests/scalar/scalar_test tests/scalar/cast_test \
	tests/scalar/arithmetic_test tests/scalar/random_test \
	tests/scalar/oracle_test tests/scalar/exp_neg_test \
	tests/scalar/exp_fused_test tests/scalar/round_test

check_PROGRAMS += $(scalar_tests)
TESTS += $(scalar_tests) tests/scalar/compile_scalar.sh
# With SSQ_TEST_FULL=1: all 2^32 casts and square roots, and long samples.
full_tests += tests/scalar/scalar_test tests/scalar/cast_test \
	tests/scalar/arithmetic_test tests/scalar/random_test \
	tests/scalar/exp_neg_test tests/scalar/exp_fused_test \
	tests/scalar/round_test
slow_tests += $(scalar_tests) tests/scalar/compile_scalar.sh
EXTRA_DIST += tests/scalar/compile_scalar.sh tests/scalar/every.awk \
	tests/scalar/bits.c \
	tests/scalar/polynomials.py

tests_scalar_scalar_test_SOURCES = tests/scalar/scalar_test.c \
	tests/scalar/oracle.h tests/scalar/special.h
tests_scalar_exp_neg_test_SOURCES = tests/scalar/exp_neg_test.c \
	tests/scalar/oracle.h
tests_scalar_exp_fused_test_SOURCES = tests/scalar/exp_neg_test.c \
	tests/scalar/oracle.h
tests_scalar_exp_fused_test_CPPFLAGS = $(AM_CPPFLAGS) -DEXP_FUSED
tests_scalar_cast_test_SOURCES = tests/scalar/cast_test.c
tests_scalar_arithmetic_test_SOURCES = tests/scalar/arithmetic_test.c
tests_scalar_random_test_SOURCES = tests/scalar/random_test.c \
	tests/scalar/oracle.h
tests_scalar_oracle_test_SOURCES = tests/scalar/oracle_test.c \
	tests/scalar/oracle.h
tests_scalar_oracle_test_LDADD = $(MPFR_LIBS)
tests_scalar_round_test_SOURCES = tests/scalar/round_test.c
