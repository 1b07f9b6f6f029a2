# SPDX-License-Identifier: Apache-2.0
# tests.mk - tests of the test helper, the headers, the build and the text.

check_PROGRAMS += tests/lint/tap
TESTS += tests/lint/tap
tests_lint_tap_SOURCES = tests/lint/tap.c

lint_scripts = tests/lint/headers.sh tests/lint/symbols.sh \
	tests/lint/style.sh tests/lint/dist.sh tests/lint/consumer.sh \
	tests/lint/tally.sh tests/lint/sizes.sh tests/lint/guide.sh \
	tests/lint/bindings.sh tests/lint/args.sh tests/lint/rows.sh \
	tests/lint/whole.sh tests/lint/layers.sh tests/lint/directories.sh \
	tests/lint/prose.sh tests/lint/names.sh \
	tests/lint/faults.sh tests/lint/macros.sh \
	tests/lint/dialect.sh tests/lint/dlpack.sh tests/lint/circles.sh \
	tests/lint/lines.sh tests/lint/count_op.sh \
	tests/lint/scaling.sh tests/lint/vars.sh tests/lint/padding.sh \
	tests/lint/init.sh tests/lint/api.sh tests/lint/marks.sh \
	tests/lint/hpp.sh \
	tests/lint/quickstart.sh
TESTS += $(lint_scripts)
full_tests += tests/lint/consumer.sh tests/lint/hpp.sh
EXTRA_DIST += $(lint_scripts) tests/lint/tap.sh tests/lint/objects.sh \
	tests/lint/reproducible.sh \
	tests/lint/declarations.awk tests/lint/circles.awk \
	tests/lint/macros.awk \
	tests/lint/prose.awk tests/lint/prose.txt tests/lint/prose.words \
	tests/lint/sizes.txt \
	tests/lint/symbols.txt tests/lint/consumer.c tests/lint/consumer.cc \
	tests/lint/args_use.h \
	tests/lint/page.h tests/lint/guide.h tests/lint/rows.awk \
	tests/lint/rows.h tests/lint/rows.txt \
	tests/lint/rows/apex-megatron-deepspeed.txt \
	tests/lint/rows/fastai.txt tests/lint/rows/jax.txt \
	tests/lint/rows/keras.txt tests/lint/rows/others.txt \
	tests/lint/rows/torch-amp.txt
