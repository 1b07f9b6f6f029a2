#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh - all kernels by the compilers of GPU vendors, without a GPU (make
# check-vendors): no error, and no kernel breaks a rule of faults.awk that
# exceptions.txt does not list. README.md describes the parts.
#
# VENDORS_ENV is a folder that tests/distro-env made. VENDORS_TARGETS='radv:navi31
# ocloc:bmg' are some of the targets, VENDORS_KERNELS='unary gemm_tiled' some of
# the kernels. The directory variant-vendors of the build gets compilers.md, the
# page of doc/performance with the new figures, and changes.txt, the differences.

. "${srcdir:-.}/tests/kernel/kernel.sh"

here=$srcdir/tests/vendors
env=${VENDORS_ENV:-$builddir/distro-env/vendors}
results=$builddir/variant-vendors
page=$srcdir/doc/performance/compilers.md
processors=$(sed -n 's/^processor_sources = //p' "$srcdir/kernels/kernels.mk" |
    sed 's|kernels/[a-z]*/||g; s|\.k||g')

# Those that take longest begin first. make check-ptxas compiles for NVIDIA's
# GPUs, too.
all='ocloc:dg2 ocloc:pvc ocloc:bmg ocloc:skl turnip:750 radv:navi31 radv:gfx1201
    radv:navi21 radv:vega10 honeykrisp:m1 clang:gfx1100 clang:gfx1201
    clang:gfx1030 clang:gfx906'
case ${SSQ_TEST_FULL-} in
'' | 0) ;;
*) all="nvk:170 $all" ;;
esac
targets=${VENDORS_TARGETS:-$all}

# ---- what the folder needs ----

# count_variants NAME...: of these kernels.
count_variants() {
    for short; do cat "$env/work/batch/$short.list"; done | grep -c ''
}

# The sources, and each kernel in all variants as one source. shipped are the
# names of kernels that ship as SPIR-V.
write_batches() {
    rm -rf "$env/work"
    mkdir -p "$env/work/source" "$env/work/batch" "$env/work/out" &&
        cp -R "$srcdir/kernels" "$env/work/source" &&
        cp "$here"/*.sh "$env/work" || return
    names= shipped=
    for kernel in $texts; do
        short=$(basename "$kernel" .k)
        case " ${VENDORS_KERNELS:-$short} " in
        *" $short "*) ;;
        *) continue ;;
        esac
        names="$names $short"
        case " $processors " in
        *" $short "*) ;;
        *) shipped="$shipped $short" ;;
        esac
        batch=$env/work/batch/$short
        kernel_list "$kernel" >"$batch.list"
        ${AWK:-awk} -v text="$kernel" -v top="$srcdir" \
            -f "$srcdir/tests/kernel/batch.awk" "$batch.list" >"$batch.cl"
    done
    expected=$(count_variants $names)
    expected_shipped=$(count_variants $shipped)
}

# The shader for matrices needs a newer glslc than most systems have.
write_coopmat() {
    mkdir -p "$tmp/quoted/kernels"
    "$env/enter" sh -c 'cd /work/source && GLSLC=glslc sh kernels/pack.sh \
        spirv words . kernels/gemm/coopmat.comp kernels/gemm/coopmat.comp' \
        >"$tmp/quoted/kernels/coopmat_spv.h"
}

# The vulkan module's files with pipelines.c, by this system's compiler.
build_pipelines() {
    sources="lib/core/module/disk_cache.c tests/vendors/pipelines.c
        tests/vendors/statistics.c $(sed -n \
        's/^\(vulkan\|common\|pack\)_sources += \(.*\.c\)$/\2/p' \
        "$srcdir/lists.mk" | grep -v '/coopmat_test\.c$')"
    # shellcheck disable=SC2046,SC2086 # lists
    (cd "$builddir" && ${CC:-cc} $CFLAGS -std=c11 -D_POSIX_C_SOURCE=200809L \
        -D_DEFAULT_SOURCE -iquote "$tmp/quoted" -I. "-I$srcdir/include" \
        "-I$srcdir" -iquote lib -o "$env/work/pipelines" \
        $(for s in $sources; do echo "$srcdir/$s"; done) \
        kernels/kernel_table.c -lvulkan -lz -pthread)
}

# ---- the targets ----

# Run all targets, as many at a time as there are processors.
run_targets() {
    for target in $targets; do
        mkdir -p "$env/work/out/$target"
    done
    # shellcheck disable=SC2016,SC2086 # the inner shell expands it; a list
    printf '%s\n' $targets | xargs -n 1 -P "$(nproc 2>/dev/null || echo 2)" \
        sh -c 'case $3 in
            clang:*) script=amdgpu.sh ;;
            ocloc:*) script=intel.sh ;;
            *) script=vulkan.sh; set -- "$2" "$2" "$3" ;;
            esac
            exec "$0/enter" sh "/work/$script" "$3" "/work/out/$3" $1' \
        "$env" "$names" "$shipped"
}

# results_of SUFFIX...: for each kernel its list and its files in $out.
results_of() {
    for short in $names; do
        echo "$env/work/batch/$short.list"
        for suffix; do
            [ ! -f "$out/$short.$suffix" ] || echo "$out/$short.$suffix"
        done
    done
}

# rows TARGET: the figures of each kernel.
rows() {
    out=$env/work/out/$1
    case $1 in
    clang:*)
        results_of symbols log |
            xargs ${AWK:-awk} -v target="$1" -f "$here/amdgpu.awk"
        ;;
    ocloc:*)
        results_of sections info log |
            xargs ${AWK:-awk} -v target="$1" -f "$here/intel.awk"
        ;;
    *) ${AWK:-awk} -v target="$1" -f "$here/vulkan.awk" "$out/pipelines" ;;
    esac
    [ ! -f "$out/failed" ] ||
        sed "s|.*|$1	&	error	it does not compile|" "$out/failed"
}

# seconds TARGET: of a processor, by the second line of times.
seconds() {
    tail -n 1 "$env/work/out/$1/times" 2>/dev/null |
        tr 'ms' '  ' | ${AWK:-awk} '{ printf "%.0f\n", 60 * ($1 + $3) + $2 + $4 }'
}

# rule TARGET MEASURE NAME: no line of faults is about it.
rule() {
    sed -n "s/^$1 $2 //p" "$tmp/faults" >"$tmp/out"
    tap_empty "$1: $3"
}

# report TARGET: its cases.
report() {
    kernels=$(${AWK:-awk} -F '\t' -v t="$1" '$1 == t { print $2 }' "$tmp/figures")
    rule "$1" error "${kernels:-0} kernels compile without a message" ||
        sed 's/^/#   /' "$env/work/out/$1/messages" 2>/dev/null | head -n 5
    least=$expected
    case $1 in
    clang:* | ocloc:*) ;;
    *) least=$expected_shipped ;;
    esac
    [ "${kernels:-0}" -ge "$least" ]
    tap_ok $? "$1: none of $least kernels is missing"
    rule "$1" spill 'no register is spilled'
    rule "$1" scalar 'no scalar register is spilled into vector registers'
    rule "$1" scratch 'no kernel has memory of an item'
    rule "$1" local 'no kernel has more than 16 KiB of local memory'
    rule "$1" code 'no kernel has too much code'
}

# ---- the page ----

# versions: a row for each package that matters, without an epoch.
versions() {
    for package in mesa-vulkan-drivers clang-21 rocm-device-libs-21 \
        intel-ocloc libigc2 intel-ocloc-legacy libigc1; do
        gzip -dc "$env/usr/share/doc/$package/changelog.Debian.gz" \
            2>/dev/null |
            sed -n "1s/^[^(]*(\([0-9]*:\)\{0,1\}\([^)]*\)).*/$package	\2/p"
    done
}

# The page with the figures of this run; and how they differ from the last.
write_page() {
    versions >"$tmp/new"
    while read -r target rest; do
        printf '%s\t%s\t%s\t%s\n' "$target" "$rest" "$(seconds "$target")" \
            "$(date -u +%Y-%m-%d)"
    done <"$tmp/figures" >>"$tmp/new"
    ${AWK:-awk} -v changes="$results/changes.txt" -f "$here/page.awk" \
        "$tmp/new" "$page" >"$results/compilers.md"
    sed 's/^/# /' "$results/changes.txt"
}

# limits: say of each part what it leaves open.
limits() {
    for target in $targets; do
        case $target in
        clang:*)
            echo '# clang: nothing is executed; ROCm has its own LLVM and' \
                'other options'
            ;;
        ocloc:*)
            echo "# ocloc: nothing is executed; Intel's Vulkan driver has" \
                'another compiler'
            ;;
        *)
            echo "# ${target%:*}: nothing is executed; the kernel driver is" \
                'replaced, and other drivers of the GPU have other compilers'
            ;;
        esac
    done | sort -u
}

# ---- all of it ----

mkdir -p "$results"
: >"$results/changes.txt"
[ -x "$env/enter" ] || {
    tap_missing vendors "no folder $env: tests/distro-env vendors $env" \
        'kernels by the compilers of vendors'
    tap_done 0
}
tap_run 'the kernels are in the folder' write_batches
case " $targets" in
*' radv:'* | *' turnip:'* | *' honeykrisp:'* | *' nvk:'*)
    if [ -f "$builddir/kernels/spirv.pack" ]; then
        tap_run 'the shader for matrices compiles' write_coopmat
        tap_run 'the program that makes pipelines is built' build_pipelines
    else
        tap_missing vulkan 'the build has no vulkan module' 'pipelines'
        targets=$(printf '%s\n' $targets | grep '^clang\|^ocloc')
    fi
    ;;
esac
limits
run_targets
for target in $targets; do
    [ -f "$env/work/out/$target/skipped" ] || rows "$target"
done >"$tmp/rows"
cp "$tmp/rows" "$results/rows.tsv"
: >"$tmp/figures"
${AWK:-awk} -v processors="$processors" -v figures="$tmp/figures" \
    -f "$here/faults.awk" "$here/exceptions.txt" "$tmp/rows" >"$tmp/faults"
for target in $targets; do
    if [ -f "$env/work/out/$target/skipped" ]; then
        tap_skip "$(cat "$env/work/out/$target/skipped")" "$target"
        continue
    fi
    report "$target"
    echo "# $target: $(seconds "$target") seconds of a processor"
done
sed -n 's/^exceptions //p' "$tmp/faults" >"$tmp/out"
if [ -n "${VENDORS_KERNELS-}${VENDORS_TARGETS-}" ]; then
    tap_skip 'some kernels or targets are left out' 'all exceptions apply'
else
    tap_empty 'all exceptions apply'
fi
[ -n "${VENDORS_KERNELS-}" ] || write_page
tap_done 3
