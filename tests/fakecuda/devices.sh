#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# devices.sh - drivers, GPUs and cuBLASLts that are too old, lack something, or
# lie elsewhere: what `sesqui devices --why` says of them, and that a driver
# loses the feature whose calls it has not, and not the device.
#
# The driver is the stand-in, or a copy in which a symbol has another name.

. "${srcdir:-.}/tests/lint/tap.sh"

tool=$builddir/sesqui
real=$builddir/tests/fakecuda
if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'devices of drivers'
    tap_done 0
    exit 0
fi
unset VIRTUAL_ENV CONDA_PREFIX

# says PATTERN NAME [VARIABLE=VALUE...]: a line of the tool's list, with drivers
# in $drivers.
drivers=$real
says() {
    pattern=$1 name=$2
    shift 2
    env LD_LIBRARY_PATH="$drivers" "$@" "$tool" devices --why \
        >"$tmp/out" 2>&1
    grep -q "$pattern" "$tmp/out"
    tap_ok $? "$name" || sed -n 's/^cuda/#   &/p' "$tmp/out"
}

# lacks SYMBOL DIRECTORY: a driver without that symbol.
lacks() {
    mkdir -p "$tmp/$2"
    other=$(printf '%s' "$1" | sed 's/.$/#/')
    LC_ALL=C sed "s/$1/$other/g" "$real/libcuda.so.1" \
        >"$tmp/$2/libcuda.so.1"
    drivers=$tmp/$2
}

# The loader finds a driver of NVIDIA's where no other comes before it.
if "$tool" devices 2>&1 | grep -q '^cuda:0'; then
    tap_skip 'this machine has a driver' 'without a driver'
else
    drivers=$tmp
    says '^cuda.*no NVIDIA driver' 'without a driver: the reason is told'
fi
drivers=$real
says '^cuda:0 ' 'the stand-in is found'
says '^cuda:0.*libcublasLt.so.13' 'and its cuBLASLt, by its path'
says '^auto is \(cpu\|[^c]\)' 'which auto does not take'
lacks ssq_standin_bindings nvidia
says '^auto is cuda:0' 'where it does not say that it is one, auto does'
drivers=$real
says '^cuda.*is of CUDA 11.7: 11.8 or later is needed' 'a driver too old' \
    FAKECUDA_DRIVER=11070
says '^cuda:1.*compute capability 6.1: 7.0 or later is needed' \
    'the second GPU is too old' FAKECUDA_DEVICES=2 FAKECUDA_CAPABILITY=80,61
says '^cuda:1.*sm_75' 'the first GPU is too old, the second keeps its number' \
    FAKECUDA_DEVICES=2 FAKECUDA_CAPABILITY=61,75
env LD_LIBRARY_PATH="$real" FAKECUDA_DEVICES=2 FAKECUDA_CAPABILITY=61,75 \
    "$tool" verify --device cuda:0 --op fill >"$tmp/out" 2>&1
[ $? -ne 0 ] && grep -q 'compute capability 6.1' "$tmp/out"
tap_ok $? 'opened all the same: the reason is the error'
lacks cuLaunchKernel base
says '^cuda.*has no cuLaunchKernel: a driver of CUDA 11.8 or later has' \
    'a call that every device needs'

# step NAME [VARIABLE=VALUE...]: a training program has the same loss.
step() {
    name=$1
    shift
    env LD_LIBRARY_PATH="$drivers" "$@" "$real/step" >"$tmp/step" 2>&1
    [ $? -eq 0 ] && cmp -s "$tmp/step" "$tmp/loss"
    tap_ok $? "$name: $(head -n 1 "$tmp/step")"
}
drivers=$real
env LD_LIBRARY_PATH="$drivers" "$real/step" >"$tmp/loss" 2>&1
tap_ok $? "a training program: $(head -n 1 "$tmp/loss")"
step 'a device without memory pools' FAKECUDA_POOLS=0
lacks cuMemAllocFromPoolAsync pools
step 'a driver without them'
lacks cuGraphLaunch graphs
step 'a driver without graphs'
drivers=$real
step 'a driver of CUDA 11.8' FAKECUDA_DRIVER=11080

# Without a cuBLASLt beside it.
mkdir "$tmp/alone"
cp "$real/libcuda.so.1" "$tmp/alone/"
drivers=$tmp/alone
says '^cuda:0.*no libcublasLt' 'no cuBLASLt: the device is there and says so'
step 'and trains as well'
wheel=lib/python3.11/site-packages/nvidia/cu13/lib
mkdir -p "$tmp/env/$wheel"
cp "$real/libcublasLt.so.13" "$tmp/env/$wheel/"
says "^cuda:0.*cu13/lib/libcublasLt.so.13" 'the wheel of an active environment' \
    VIRTUAL_ENV="$tmp/env"
says "^cuda:0.*cu13/lib/libcublasLt.so.13" 'of conda, too' \
    CONDA_PREFIX="$tmp/env"
says '^cuda:0.*no libcublasLt' 'a release newer than the driver is not taken' \
    VIRTUAL_ENV="$tmp/env" FAKECUDA_DRIVER=12080
(cd "$tmp" && env LD_LIBRARY_PATH="$drivers" VIRTUAL_ENV=env "$tool" devices \
    --why >"$tmp/out" 2>&1)
grep -q '^cuda:0.*no libcublasLt' "$tmp/out"
tap_ok $? 'a relative prefix is none'
chmod o+w "$tmp/env/$wheel/libcublasLt.so.13"
says '^cuda:0.*no libcublasLt' 'nor is a file that everybody may write to' \
    VIRTUAL_ENV="$tmp/env"
chmod o-w "$tmp/env/$wheel/libcublasLt.so.13"
cp "$real/libcublasLt.so.13" "$tmp/alone/"
says "^cuda:0.*alone/libcublasLt.so.13" 'one beside the driver comes first' \
    VIRTUAL_ENV="$tmp/env"
tap_done 23
