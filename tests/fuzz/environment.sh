#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# environment.sh - variables and damaged caches: the corpus and a fixed
# number of runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build environment
fuzz_replay environment guard
fuzz_runs environment 60
tap_done 3
