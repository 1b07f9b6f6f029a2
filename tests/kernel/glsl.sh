#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# glsl.sh - the kernels as Vulkan GLSL, as compiled by the build.
#
# Each module of the pack is valid, asks for no more of a device than the
# backend does, and has its parameters where the host puts them.

. "${srcdir:-.}/tests/kernel/kernel.sh"

pack=$builddir/kernels/spirv.pack
table=$builddir/kernels/spirv_table.h
bindings=$(awk '$2 == "LAUNCH_BINDINGS" { print $3 }' "$srcdir/lib/core/module/launch.h")
shared=$(awk '$2 == "LOCAL_BYTES" { print $3 + 0 }' \
    "$srcdir/backends/vulkan/caps.c")

# module AT BYTES: the member of the pack there.
module() {
    tail -c "+$(($1 + 1))" "$pack" | head -c "$2" | gzip -dc
}

# The errors of a disassembled module, whose name is variant.
look() {
    ${AWK:-awk} -v variant="$1" -v bindings="$bindings" -v most="$shared" '
    function bad(what) { print variant ": " what }
    # The words of a struct of parameters, or of one inside of it, that begins
    # at byte base.
    function walk(type, base,    field, n, i) {
        n = split(members[type], field, " ")
        for (i = 0; i + 4 <= n; i++)
            if (field[i + 4] in members) {
                walk(field[i + 4], base + offset[type, i])
            } else {
                if (!words[field[i + 4]]) bad("word " at + 0 " is none")
                if (base + offset[type, i] != 4 * at)
                    bad("word " at + 0 " is at " base + offset[type, i])
                at += words[field[i + 4]]
            }
    }
    BEGIN {
        n = split("Shader StorageBuffer16BitAccess StorageBuffer8BitAccess" \
            " Int16 Int8", list, " ")
        for (i = 1; i <= n; i++)
            known[list[i]] = 1
    }
    $1 == "OpCapability" && !($2 in known) { bad("capability " $2) }
    $1 == "OpName" || $1 == "OpSource" || $1 == "OpLine" { names++ }
    $1 == "OpDecorate" && $3 == "Binding" {
        if ($4 > bindings) bad("binding " $4)
        if ($4 == bindings) block = $2
    }
    $1 == "OpMemberDecorate" && $4 == "Offset" { offset[$2, $3] = $5 }
    $1 == "OpDecorate" && $3 == "ArrayStride" { stride[$2] = $4 }
    $3 == "OpTypeInt" || $3 == "OpTypeFloat" { if ($4 == 32) words[$1] = 1 }
    $3 == "OpConstant" { value[$1] = $5 }
    $3 == "OpTypeArray" {
        if ($4 in words && !($1 in stride)) bytes[$1] = 4 * value[$5]
        if ($4 in words && stride[$1] == 4) words[$1] = value[$5]
    }
    $3 == "OpTypePointer" { pointed[$1] = $5 }
    $3 == "OpTypeStruct" { members[$1] = $0 }
    $3 == "OpVariable" { type[$1] = pointed[$4] }
    $3 == "OpVariable" && $5 == "Workgroup" {
        if (!(pointed[$4] in bytes)) bad("shared memory is not of words")
        local += bytes[pointed[$4]]
    }
    $3 == "OpFunction" { exit }
    END {
        if (names) bad("names are left in it")
        walk(type[block], 0)
        if (local > most) bad(local " bytes of shared memory")
        if (at < 1 || at > 64) bad(at + 0 " words of parameters")
    }'
}

# one AT BYTES SIZE TEXT KEY=VALUE...
one() {
    at=$1 bytes=$2 size=$3
    shift 3
    module "$at" "$bytes" >"$tmp/spv"
    [ "$(wc -c <"$tmp/spv")" -eq "$size" ] || echo "$*: not $size bytes"
    spirv-val --uniform-buffer-standard-layout --target-env vulkan1.1 \
        "$tmp/spv" 2>&1 || echo "$*: not valid"
    spirv-dis --no-indent --raw-id "$tmp/spv" 2>&1 | look "$*"
}

if ! command -v spirv-val >/dev/null 2>&1; then
    tap_skip 'no spirv-val' 'kernels as GLSL'
    tap_done 1
    exit
elif ! [ -f "$table" ]; then
    tap_skip 'no SPIR-V was built' 'kernels as GLSL'
    tap_done 1
    exit
fi
sed -n 's|^ *{\([0-9]*\), \([0-9]*\), \([0-9]*\)}, /\* \(.*\) \*/$|\1 \2 \3 \4|p' \
    "$table" >"$tmp/modules"
# Kernels for processors do not ship as SPIR-V.
processors=$(sed -n 's/^processor_sources = //p' "$srcdir/kernels/kernels.mk")
for text in $texts; do
    case " $processors " in *" $text "*) continue ;; esac
    grep -E "^[0-9]+ [0-9]+ [0-9]+ $text( |\$)" "$tmp/modules" >"$tmp/of_text"
    while read -r line; do one $line; done <"$tmp/of_text" >"$tmp/out"
    kernel_list "$text" >"$tmp/list"
    cut -d ' ' -f 4- "$tmp/of_text" | cmp - "$tmp/list" >>"$tmp/out" 2>&1
    tap_empty "$text as GLSL: $(grep -c '' "$tmp/list") variants"
done
tap_done 1
