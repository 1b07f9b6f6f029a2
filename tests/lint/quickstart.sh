#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh - which modules the demo builds for which GPUs.

. "${srcdir:-.}/tests/lint/tap.sh"

eval "$(sed -n '/^has_file() {/,/^}/p; /^gpu_modules() {/,/^}/p' \
    "$srcdir/quickstart")"

mkdir -p "$tmp/dev/dri"
printf '%s.la: x\n' cuda vulkan opencl >"$tmp/all"
printf '%s.la: x\n' vulkan >"$tmp/one"

# modules MAKEFILE WANTED WHAT [FILE...]: with these device files.
modules() {
    makefile=$1 wanted=$2 what=$3
    shift 3
    for file; do : >"$tmp/dev/$file"; done
    got=$(gpu_modules "$tmp/dev" "$tmp/$makefile")
    for file; do rm "$tmp/dev/$file"; done
    [ "$got" = "$wanted" ]
    tap_ok $? "$what: \"$got\""
}

modules all '' 'no GPU'
modules all '' 'a display without a GPU' dri/card0
modules all 'vulkan opencl ' 'a GPU with a render node' dri/renderD128
modules all 'cuda vulkan opencl ' 'an NVIDIA GPU' nvidiactl dri/renderD129
modules all 'cuda vulkan opencl ' 'a GPU of Windows, in WSL' dxg
modules all 'vulkan opencl ' 'an AMD accelerator without a display' kfd
modules one 'vulkan ' 'modules that are not configured are left out' nvidiactl
tap_done 7
