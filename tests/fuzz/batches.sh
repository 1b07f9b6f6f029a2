#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# batches.sh - batches of arrays: the corpus and a fixed number of runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build batches
fuzz_replay batches guard
fuzz_runs batches 5000
tap_done 3
