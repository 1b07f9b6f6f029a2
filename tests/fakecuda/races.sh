#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# races.sh - every 17th case of all tables on cuda:0 once more where the
# interpreter looks for races and reads of unwritten memory, and on the least
# GPU, whose driver takes PTX 6.0 for sm_70 and no newer, with one group a launch,
# which does all the work. SSQ_TEST_FULL=1 runs every fifth.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/fakecuda/on_cuda.sh"

stride=$([ -n "${SSQ_TEST_FULL-}" ] && echo 5 || echo 17)
export FAKECUDA_RACE=1
on_cuda 'races and reads of nothing' "$stride"
unset FAKECUDA_RACE
export FAKECUDA_GROUPS=1 FAKECUDA_CAPABILITY=70 FAKECUDA_PTX=60
on_cuda 'sm_70, PTX 6.0, one group a launch' "$stride"
tap_done 2
