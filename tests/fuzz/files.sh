#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# files.sh - files of tensors, and checkpoints: the corpus and a fixed number
# of runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build files
fuzz_replay files reference
fuzz_runs files 20000
tap_done 3
