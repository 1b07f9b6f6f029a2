# SPDX-License-Identifier: Apache-2.0
# kernel.sh - compile every kernel source in all of its variants; read with ".".
#
# Shapes of work-groups: "1 16", a processor's, and "64 4", a GPU's, as WG and
# WIDTH. A failure names the kernel, the dialect and what the compiler said.

. "${srcdir:-.}/tests/lint/tap.sh"

texts=$(cd "$srcdir" && sed -n 's/^kernel_sources += //p' lists.mk)

# kernel_list TEXT: its variants.
kernel_list() {
    sh "$srcdir/kernels/embed.sh" list "$srcdir" "$1"
}

# kernel_batches DIALECT SHAPES COMMAND...: a case per source; the command gets
# -DWG= and -DWIDTH= and the name of a source with all variants.
kernel_batches() {
    dialect=$1
    shapes=$2
    shift 2
    if ! command -v "$1" >/dev/null 2>&1; then
        tap_skip "no $1" "kernels as $dialect"
        return
    fi
    for text in $texts; do
        kernel_list "$text" >"$tmp/list"
        ${AWK:-awk} -v text="$text" -v top="$srcdir" \
            -f "$srcdir/tests/kernel/batch.awk" "$tmp/list" >"$tmp/all.c"
        for shape in $shapes; do
            tap_run "$text as $dialect, WG ${shape%,*}: $(grep -c '' \
                "$tmp/list") variants" "$@" -DWG="${shape%,*}" \
                -DWIDTH="${shape#*,}" "-I$srcdir" "$tmp/all.c"
            [ ! -s "$tmp/out" ] || tap_empty "$text as $dialect: no message"
        done
    done
}
