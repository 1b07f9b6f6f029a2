#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lists.sh - writes lists.mk: the files of each directory, as make's lists, and
# the tables of conformance/.
#
# usage: sh build-aux/lists.sh, in the top folder of the source
#
# The files of a directory are listed nowhere else. autoreconf runs this before
# automake reads lists.mk, and every make runs it again: a file that
# was added or removed changes lists.mk, and so makes Makefile.in again.
# lists.mk is only written where it differs: the source of a release may be
# read-only.
set -eu
LC_ALL=C
export LC_ALL

# files VARIABLE PATTERN...: the list of files that the patterns match. Files
# that editors and merges leave behind have other names; a pattern that matches
# nothing represents itself. X_clblast.c is built on a condition: backend.mk has
# it. If the build's folder is the source's, configure and make write files into
# the directories: native_table.c and compiled.h are left out.
files() {
    variable=$1
    shift
    printf '\n%s =\n' "$variable"
    for file; do
        case $file in
        *_clblast.c | */cpu/native_table.c | */cpu/compiled.h) continue ;;
        */cpu/native/* | */cpu/pre/*) continue ;;
        */cpu/isa/*) [ "$variable" = cpu_isa_sources ] || continue ;;
        esac
        [ ! -f "$file" ] || echo "$variable += $file"
    done
}

# The names of the tables, in the order in which they run: NAME for each
# definition of a NAME_suite. Ops on which most others depend come first, and
# directories that are not in this list come last.
tables() {
    for at in data elementwise random reduce gemm softmax loss norm conv pool \
        attention rnn metrics amp '*'; do
        cat conformance/$at/*.c 2>/dev/null || :
    done | sed -n 's/^const struct suite \([a-z0-9_]*\)_suite = .*/\1/p' |
        awk '!seen[$0]++'
}

# Directories of a layer, and files of the layer itself.
write() {
    echo '# lists.mk - made by build-aux/lists.sh: do not edit.'
    files sesqui_HEADERS include/sesqui/[a-z]*.h include/sesqui/sesqui.hpp
    files sesquiamp_HEADERS include/sesqui/amp/[a-z]*.h
    files sesquiops_HEADERS include/sesqui/ops/[a-z]*.h
    files core_sources lib/*/[a-z]*.[ch] lib/*/*/[a-z]*.[ch] \
        backends/reference/[a-z]*.[ch] backends/reference/*/[a-z]*.[ch] \
        backends/guard/[a-z]*.[ch] backends/cpu/[a-z]*.[ch] \
        backends/cpu/*/[a-z]*.[ch] \
        comms/local/[a-z]*.[ch]
    files cpu_isa_sources backends/cpu/isa/[a-z]*.[ch] \
        backends/cpu/isa/*/[a-z]*.[ch]
    files common_sources backends/common/[a-z]*.[ch]
    files mma_sources backends/mma/[a-z]*.[ch]
    files pack_sources backends/pack/[a-z]*.[ch]
    files cuda_sources backends/cuda/[a-z]*.[ch]
    files mpi_sources comms/mpi/[a-z]*.[ch]
    files nccl_sources comms/nccl/[a-z]*.[ch]
    files opencl_sources backends/opencl/[a-z]*.[ch]
    files vulkan_sources backends/vulkan/[a-z]*.[ch]
    files kernel_sources kernels/*/[a-z]*.k
    files kernel_headers kernels/*/[a-z]*.h
    files suite_sources conformance/*/[a-z]*.[ch]
    files torch_device python/torch-device/csrc/[a-z]*.cpp \
        python/torch-device/csrc/[a-z]*.h \
        python/torch-device/sesqui_torch/*.py
    printf '\nop_tables =\n'
    tables | sed 's|^|op_tables += conformance/|'
}

new=lists.mk.$$
trap 'rm -f "$new"' EXIT
text=$(write)
[ ! -f lists.mk ] || [ "$text" != "$(cat lists.mk)" ] || exit 0
printf '%s\n' "$text" >"$new"
mv "$new" lists.mk
