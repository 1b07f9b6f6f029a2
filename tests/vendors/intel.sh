#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# intel.sh - every variant as OpenCL C, by Intel's offline compiler. It runs
# inside the folder of tests/distro-env; see README.md.
#
# usage: intel.sh ocloc:GPU OUT KERNEL...
#
# For each kernel: OUT/KERNEL.log has ocloc's messages, OUT/KERNEL.info the
# description of its kernels, and OUT/KERNEL.sections the sizes of their code.
# OUT/failed has the kernels that were refused.
set -u
gpu=${1#*:} out=$2
shift 2

# The commands are named after their versions. The legacy one, 24.35, is for
# GPUs before Gen12.
case $gpu in
bdw | skl | kbl | cfl | apl | glk | icllp | ehl) wanted='ocloc-24.35.*' ;;
*) wanted='ocloc-2[5-9].* ocloc-[3-9]*' ;;
esac
ocloc=
for command in $(cd /usr/bin && ls $wanted 2>/dev/null); do
    ocloc=/usr/bin/$command
done
[ -n "$ocloc" ] && [ -f /usr/bin/llvm-objcopy ] || {
    echo 'there is no ocloc for it, or no llvm-objcopy' >"$out/skipped"
    exit 0
}
"$ocloc" ids "$gpu" >/dev/null 2>&1 || {
    echo "${ocloc##*/} does not know it" >"$out/skipped"
    exit 0
}

options='-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt'
options="$options -DNATIVE_EXACT_DIV -DPARAMS_CONSTANT -DWG=256 -DWIDTH=4"
options="$options -I/work/source"
for kernel; do
    "$ocloc" compile -q -file "/work/batch/$kernel.cl" -device "$gpu" \
        -options "$options" -output_no_suffix -output code -out_dir "$out" \
        >"$out/$kernel.log" 2>&1 &&
        llvm-objcopy --dump-section ".ze_info=$out/$kernel.info" \
            "$out/code.bin" /dev/null &&
        llvm-readelf -SW "$out/code.bin" >"$out/$kernel.sections" ||
        echo "$kernel" >>"$out/failed"
done
rm -f "$out"/code.*
times >"$out/times"
