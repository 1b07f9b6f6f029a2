#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# state.sh - states that a program restores: the corpus and a fixed number of runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build state
fuzz_replay state guard
fuzz_runs state 400
tap_done 3
