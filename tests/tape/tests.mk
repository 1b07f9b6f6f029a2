# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of tapes, layers and trainers.

tape_tests = \
	tests/tape/accumulate \
	tests/tape/again \
	tests/tape/alloc \
	tests/tape/autocast \
	tests/tape/by_hand \
	tests/tape/by_hand_cnn \
	tests/tape/by_hand_gpt \
	tests/tape/captured \
	tests/tape/check \
	tests/tape/checkpoint \
	tests/tape/dtypes \
	tests/tape/flat \
	tests/tape/foreign \
	tests/tape/golden \
	tests/tape/grad \
	tests/tape/gradients \
	tests/tape/hooks \
	tests/tape/kept \
	tests/tape/labels \
	tests/tape/misuse \
	tests/tape/mixed \
	tests/tape/names \
	tests/tape/places \
	tests/tape/prod \
	tests/tape/probabilities \
	tests/tape/progress \
	tests/tape/recompute \
	tests/tape/replay \
	tests/tape/safetensors \
	tests/tape/scaling \
	tests/tape/second \
	tests/tape/settled \
	tests/tape/shards \
	tests/tape/thousands \
	tests/tape/torch_lists \
	tests/tape/weights \
	tests/tape/written
check_PROGRAMS += $(tape_tests)
TESTS += $(tape_tests)
full_tests += tests/tape/by_hand tests/tape/by_hand_cnn tests/tape/by_hand_gpt
full_tests += tests/tape/settled
EXTRA_DIST += tests/tape/harness.h tests/tape/cases.h tests/tape/cases.list
EXTRA_DIST += tests/tape/hand.h
EXTRA_DIST += tests/tape/tape.h
EXTRA_DIST += tests/tape/golden.py tests/tape/golden.txt
EXTRA_DIST += tests/tape/penalty.h

hand = tests/tape/hand.c tests/tape/resume.c
tests_tape_by_hand_SOURCES = tests/tape/by_hand.c $(hand)
tests_tape_by_hand_LDADD = libcore.a -lm
tests_tape_replay_SOURCES = tests/tape/replay.c
tests_tape_replay_LDADD = libcore.a -lm
tests_tape_scaling_SOURCES = tests/tape/scaling.c
tests_tape_scaling_LDADD = libcore.a -lm
tests_tape_again_SOURCES = tests/tape/again.c
tests_tape_again_LDADD = libcore.a -lm
tests_tape_places_SOURCES = tests/tape/places.c
tests_tape_places_LDADD = libcore.a -lm
tests_tape_settled_SOURCES = tests/tape/settled.c
tests_tape_settled_LDADD = libcore.a -lm
tests_tape_golden_SOURCES = tests/tape/golden.c
tests_tape_golden_LDADD = libcore.a -lm
tests_tape_second_SOURCES = tests/tape/second.c
tests_tape_second_LDADD = libcore.a -lm
tests_tape_grad_SOURCES = tests/tape/grad.c
tests_tape_grad_LDADD = libcore.a -lm
tests_tape_gradients_SOURCES = tests/tape/gradients.c
tests_tape_gradients_LDADD = libcore.a -lm
tests_tape_flat_SOURCES = tests/tape/flat.c
tests_tape_flat_LDADD = libcore.a -lm
tests_tape_thousands_SOURCES = tests/tape/thousands.c
tests_tape_thousands_LDADD = libcore.a -lm
tests_tape_names_SOURCES = tests/tape/names.c
tests_tape_names_LDADD = libcore.a -lm
tests_tape_misuse_SOURCES = tests/tape/misuse.c
tests_tape_misuse_LDADD = libcore.a -lm
tests_tape_mixed_SOURCES = tests/tape/mixed.c
tests_tape_mixed_LDADD = libcore.a -lm
tests_tape_progress_SOURCES = tests/tape/progress.c
tests_tape_progress_LDADD = libcore.a -lm
tests_tape_probabilities_SOURCES = tests/tape/probabilities.c
tests_tape_probabilities_LDADD = libcore.a -lm
tests_tape_captured_SOURCES = tests/tape/captured.c
tests_tape_captured_LDADD = libcore.a -lm
tests_tape_kept_SOURCES = tests/tape/kept.c
tests_tape_kept_LDADD = libcore.a -lm
tests_tape_labels_SOURCES = tests/tape/labels.c
tests_tape_labels_LDADD = libcore.a -lm
tests_tape_accumulate_SOURCES = tests/tape/accumulate.c
tests_tape_accumulate_LDADD = libcore.a -lm
tests_tape_alloc_SOURCES = tests/tape/alloc.c
tests_tape_alloc_LDADD = libcore.a -lm
tests_tape_dtypes_SOURCES = tests/tape/dtypes.c
tests_tape_dtypes_LDADD = libcore.a -lm
tests_tape_autocast_SOURCES = tests/tape/autocast.c
tests_tape_autocast_LDADD = libcore.a -lm
tests_tape_torch_lists_SOURCES = tests/tape/torch_lists.c
tests_tape_torch_lists_LDADD = libcore.a -lm
tests_tape_by_hand_cnn_SOURCES = tests/tape/by_hand_cnn.c $(hand)
tests_tape_by_hand_cnn_LDADD = libcore.a -lm
tests_tape_by_hand_gpt_SOURCES = tests/tape/by_hand_gpt.c $(hand)
tests_tape_by_hand_gpt_LDADD = libcore.a -lm
tests_tape_written_SOURCES = tests/tape/written.c
tests_tape_written_LDADD = libcore.a -lm
tests_tape_hooks_SOURCES = tests/tape/hooks.c
tests_tape_hooks_LDADD = libcore.a -lm
tests_tape_check_SOURCES = tests/tape/check.c
tests_tape_check_LDADD = libcore.a -lm
tests_tape_checkpoint_SOURCES = tests/tape/checkpoint.c
tests_tape_checkpoint_LDADD = libcore.a -lm
tests_tape_safetensors_SOURCES = tests/tape/safetensors.c
tests_tape_safetensors_LDADD = libcore.a -lm
tests_tape_prod_SOURCES = tests/tape/prod.c
tests_tape_prod_LDADD = libcore.a -lm
tests_tape_shards_SOURCES = tests/tape/shards.c
tests_tape_shards_LDADD = libcore.a -lm
tests_tape_recompute_SOURCES = tests/tape/recompute.c
tests_tape_recompute_LDADD = libcore.a -lm
tests_tape_foreign_SOURCES = tests/tape/foreign.c
tests_tape_foreign_LDADD = libcore.a -lm
tests_tape_weights_SOURCES = tests/tape/weights.c
tests_tape_weights_LDADD = libcore.a -lm
full_tests += tests/tape/alloc
