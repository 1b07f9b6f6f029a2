#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arrays.sh - files of arrays and pictures: the corpus and a fixed number of
# runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build arrays
fuzz_replay arrays reference
fuzz_runs arrays 20000
tap_done 3
