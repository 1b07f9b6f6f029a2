#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# glsl.sh - the kernels as Vulkan GLSL. A shader has one main: each variant is
# compiled alone, and validated.

. "${srcdir:-.}/tests/kernel/kernel.sh"

# one NUMBER KEY=VALUE...: a variant of $text; says what is wrong with it.
one() {
    file=$tmp/$1.spv
    shift
    keys=
    for pair; do keys="$keys -D$pair"; done
    glslc -std=450core -fshader-stage=compute --target-env=vulkan1.1 \
        -Werror -DWG=64 -DWIDTH=4 $keys "-I$srcdir" -o "$file" \
        "$srcdir/$text" 2>&1 &&
        spirv-val --target-env vulkan1.1 "$file" 2>&1 ||
        echo "$text with$keys"
    rm -f "$file"
}

if ! command -v glslc >/dev/null 2>&1 ||
    ! command -v spirv-val >/dev/null 2>&1; then
    tap_skip 'no glslc or spirv-val' 'kernels as GLSL'
    tap_done 1
    exit
fi
for text in $texts; do
    number=0
    kernel_list "$text" >"$tmp/list"
    while read -r _ variant; do
        number=$((number + 1))
        one "$number" $variant
    done <"$tmp/list" >"$tmp/out"
    tap_empty "$text as GLSL: $number variants"
done
tap_done 1
