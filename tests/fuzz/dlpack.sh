#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dlpack.sh - DLPack structs: the corpus and a fixed number of runs.

. "${srcdir:-.}/tests/fuzz/target.sh"

fuzz_build dlpack
fuzz_replay dlpack reference
fuzz_runs dlpack 200000
tap_done 3
