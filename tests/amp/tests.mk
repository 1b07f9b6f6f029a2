# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of mixed precision.
#
# A test is a program: check_PROGRAMS += tests/amp/x, TESTS += tests/amp/x,
# tests_amp_x_SOURCES = tests/amp/x.c, tests_amp_x_LDADD = libsesqui.la (or
# libcore.la for internals).

check_PROGRAMS +=
TESTS +=

# scalers, policies, schedules
scaler_tests = \
	tests/amp/drift \
	tests/amp/misuse \
	tests/amp/policy \
	tests/amp/poll \
	tests/amp/schedule \
	tests/amp/state \
	tests/amp/steps \
	tests/amp/together \
	tests/amp/trace \
	tests/amp/wide
check_PROGRAMS += $(scaler_tests)
TESTS += $(scaler_tests)
full_tests += tests/amp/drift tests/amp/wide
EXTRA_DIST += tests/amp/amp.h

tests_amp_drift_SOURCES = tests/amp/drift.c
tests_amp_drift_LDADD = libcore.la -lm
tests_amp_misuse_SOURCES = tests/amp/misuse.c
tests_amp_misuse_LDADD = libcore.la -lm
tests_amp_policy_SOURCES = tests/amp/policy.c
tests_amp_policy_LDADD = libcore.la -lm
tests_amp_poll_SOURCES = tests/amp/poll.c
tests_amp_poll_LDADD = libcore.la -lm
tests_amp_schedule_SOURCES = tests/amp/schedule.c
tests_amp_schedule_LDADD = libcore.la -lm
tests_amp_state_SOURCES = tests/amp/state.c
tests_amp_state_LDADD = libcore.la -lm
tests_amp_steps_SOURCES = tests/amp/steps.c
tests_amp_steps_LDADD = libcore.la -lm
tests_amp_together_SOURCES = tests/amp/together.c
tests_amp_together_LDADD = libcore.la -lm
tests_amp_trace_SOURCES = tests/amp/trace.c tests/amp/rules.c tests/amp/rules.h
tests_amp_trace_LDADD = libcore.la -lm
tests_amp_wide_SOURCES = tests/amp/wide.c
tests_amp_wide_LDADD = libcore.la -lm
