#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vulkan.sh - every pipeline, by one of Mesa's drivers, for a GPU that need not
# exist. It runs inside the folder of tests/distro-env; see README.md.
#
# usage: vulkan.sh DRIVER:GPU OUT [KERNEL...]
#
# OUT/pipelines has the lines of pipelines.c, OUT/messages the driver's messages,
# and OUT/times the seconds of the processor.
set -u
target=$1 out=$2
shift 2
gpu=${target#*:}
libraries=$(echo /usr/lib/*/libvulkan.so.1)
libraries=${libraries%/*}

# shim NAME: preload Mesa's library that replaces this kernel driver.
shim() {
    file=$libraries/lib$1_noop_drm_shim.so
    [ -f "$file" ] || {
        echo "there is no ${file##*/}" >"$out/skipped"
        exit 0
    }
    LD_PRELOAD=$file
}

LD_PRELOAD=
case $target in
radv:*)
    manifest=radeon AMDGPU_GPU_ID=$gpu
    export AMDGPU_GPU_ID
    shim amdgpu
    ;;
turnip:*)
    manifest=freedreno FD_GPU_ID=$gpu
    export FD_GPU_ID
    shim freedreno
    ;;
honeykrisp:*)
    manifest=asahi
    shim asahi
    ;;
nvk:*)
    manifest=nouveau NOUVEAU_CHIPSET=$gpu NVK_I_WANT_A_BROKEN_VULKAN_DRIVER=1
    export NOUVEAU_CHIPSET NVK_I_WANT_A_BROKEN_VULKAN_DRIVER
    shim nouveau
    ;;
*)
    echo "vulkan.sh: $target is not a driver with a GPU" >&2
    exit 2
    ;;
esac
VK_DRIVER_FILES=/usr/share/vulkan/icd.d/${manifest}_icd.json
[ -f "$VK_DRIVER_FILES" ] || {
    echo "there is no $VK_DRIVER_FILES" >"$out/skipped"
    exit 0
}
export VK_DRIVER_FILES
MESA_SHADER_CACHE_DISABLE=1 LD_PRELOAD=$LD_PRELOAD \
    timeout 3000 /work/pipelines "$@" >"$out/pipelines" 2>"$out/messages"
echo "$?" >"$out/status"
times >"$out/times"
