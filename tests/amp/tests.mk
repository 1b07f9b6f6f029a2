# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of mixed precision.
#
# A test is a program: check_PROGRAMS += tests/amp/x, TESTS += tests/amp/x,
# tests_amp_x_SOURCES = tests/amp/x.c, tests_amp_x_LDADD = libsesqui.la (or
# libcore.a for internals).

check_PROGRAMS +=
TESTS +=

# scalers, policies, schedules
scaler_tests = \
	tests/amp/alloc \
	tests/amp/drift \
	tests/amp/kept \
	tests/amp/misuse \
	tests/amp/modes \
	tests/amp/policy \
	tests/amp/poll \
	tests/amp/schedule \
	tests/amp/state \
	tests/amp/steps \
	tests/amp/together \
	tests/amp/trace \
	tests/amp/wide
check_PROGRAMS += $(scaler_tests)
TESTS += $(scaler_tests) tests/amp/compile_machine.sh
slow_tests += tests/amp/compile_machine.sh
full_tests += tests/amp/drift tests/amp/trace tests/amp/wide
EXTRA_DIST += tests/amp/amp.h tests/amp/compile_machine.sh tests/amp/kinds.h

tests_amp_alloc_SOURCES = tests/amp/alloc.c
tests_amp_alloc_LDADD = libcore.a -lm
tests_amp_drift_SOURCES = tests/amp/drift.c
tests_amp_drift_LDADD = libcore.a -lm
tests_amp_kept_SOURCES = tests/amp/kept.c
tests_amp_kept_LDADD = libcore.a -lm
tests_amp_misuse_SOURCES = tests/amp/misuse.c
tests_amp_misuse_LDADD = libcore.a -lm
tests_amp_modes_SOURCES = tests/amp/modes.c
tests_amp_modes_LDADD = libcore.a -lm
tests_amp_policy_SOURCES = tests/amp/policy.c
tests_amp_policy_LDADD = libcore.a -lm
tests_amp_poll_SOURCES = tests/amp/poll.c
tests_amp_poll_LDADD = libcore.a -lm
tests_amp_schedule_SOURCES = tests/amp/schedule.c
tests_amp_schedule_LDADD = libcore.a -lm
tests_amp_state_SOURCES = tests/amp/state.c
tests_amp_state_LDADD = libcore.a -lm
tests_amp_steps_SOURCES = tests/amp/steps.c
tests_amp_steps_LDADD = libcore.a -lm
tests_amp_together_SOURCES = tests/amp/together.c
tests_amp_together_LDADD = libcore.a -lm
tests_amp_trace_SOURCES = tests/amp/trace.c tests/amp/rules.c tests/amp/rules.h
tests_amp_trace_LDADD = libcore.a -lm
tests_amp_wide_SOURCES = tests/amp/wide.c
tests_amp_wide_LDADD = libcore.a -lm

# optimizers
optimizer_tests = \
	tests/amp/optimizer_alloc \
	tests/amp/optimizer_apply \
	tests/amp/optimizer_check \
	tests/amp/optimizer_master \
	tests/amp/optimizer_norm \
	tests/amp/optimizer_rules \
	tests/amp/optimizer_schedule \
	tests/amp/optimizer_skip \
	tests/amp/optimizer_state
check_PROGRAMS += $(optimizer_tests)
TESTS += $(optimizer_tests)
full_tests += tests/amp/optimizer_alloc tests/amp/optimizer_master \
	tests/amp/optimizer_skip tests/amp/optimizer_state tests/amp/save
train_sources = tests/amp/train.c tests/amp/train.h

tests_amp_optimizer_alloc_SOURCES = tests/amp/optimizer_alloc.c $(train_sources)
tests_amp_optimizer_alloc_LDADD = libcore.a -lm
tests_amp_optimizer_apply_SOURCES = tests/amp/optimizer_apply.c $(train_sources)
tests_amp_optimizer_apply_LDADD = libcore.a -lm
tests_amp_optimizer_check_SOURCES = tests/amp/optimizer_check.c $(train_sources)
tests_amp_optimizer_check_LDADD = libcore.a -lm
tests_amp_optimizer_master_SOURCES = tests/amp/optimizer_master.c \
	$(train_sources)
tests_amp_optimizer_master_LDADD = libcore.a -lm
tests_amp_optimizer_norm_SOURCES = tests/amp/optimizer_norm.c $(train_sources)
tests_amp_optimizer_norm_LDADD = libcore.a -lm
tests_amp_optimizer_rules_SOURCES = tests/amp/optimizer_rules.c $(train_sources)
tests_amp_optimizer_rules_LDADD = libcore.a -lm
tests_amp_optimizer_schedule_SOURCES = tests/amp/optimizer_schedule.c \
	$(train_sources)
tests_amp_optimizer_schedule_LDADD = libcore.a -lm
tests_amp_optimizer_skip_SOURCES = tests/amp/optimizer_skip.c $(train_sources)
tests_amp_optimizer_skip_LDADD = libcore.a -lm
tests_amp_optimizer_state_SOURCES = tests/amp/optimizer_state.c $(train_sources)
tests_amp_optimizer_state_LDADD = libcore.a -lm

check_PROGRAMS += tests/amp/clip tests/amp/save tests/amp/stages \
	tests/amp/unscale
TESTS += tests/amp/clip tests/amp/save tests/amp/stages tests/amp/unscale
tests_amp_clip_SOURCES = tests/amp/clip.c $(train_sources)
tests_amp_clip_LDADD = libcore.a -lm
tests_amp_save_SOURCES = tests/amp/save.c $(train_sources)
tests_amp_save_LDADD = libcore.a -lm
tests_amp_stages_SOURCES = tests/amp/stages.c
tests_amp_stages_LDADD = libcore.a -lm
tests_amp_unscale_SOURCES = tests/amp/unscale.c
tests_amp_unscale_LDADD = libcore.a -lm

check_PROGRAMS += tests/amp/many tests/amp/replay
TESTS += tests/amp/many tests/amp/replay
tests_amp_many_SOURCES = tests/amp/many.c
tests_amp_many_LDADD = libcore.a -lm
tests_amp_replay_SOURCES = tests/amp/replay.c $(train_sources)
tests_amp_replay_LDADD = libcore.a -lm

check_PROGRAMS += tests/amp/pieces
TESTS += tests/amp/pieces
tests_amp_pieces_SOURCES = tests/amp/pieces.c
tests_amp_pieces_LDADD = libsesqui.la

# valgrind has no FTZ
slow_tests += tests/amp/modes
