#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tapes.sh - programs over tapes, layers and trainers, on two devices in
# lockstep: the corpus on each device, and a fixed number of runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build tapes
fuzz_replay tapes guard
fuzz_replay tapes opencl '0[1-3]'
fuzz_replay tapes vulkan '0[1-3]'
fuzz_runs tapes 300
tap_done 5
