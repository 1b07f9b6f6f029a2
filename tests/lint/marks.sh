#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# marks.sh - the marks @sync and @threads of the public headers: each call has
# both, doc/calls.md lists them, and no call that is marked as "host" or "async"
# calls a function of the library that waits for a device. No page teaches a
# call with the mark @deprecated.
#
# The last but one is read from the code of libsesqui.so. Calls by a pointer are not
# followed, so this does not prove that a call never waits. An op that a device
# lacks and that runs on the host waits, too: fallback_run() is left out.

. "${srcdir:-.}/tests/lint/tap.sh"

include=$srcdir/include
lib=$builddir/.libs/libsesqui.so
AWK=${AWK:-awk}
export AWK

# The functions that wait for a device or for a thread of the library.
waits='queue_wait queue_finish certify_run pthread_cond_wait@plt
pthread_cond_timedwait@plt pthread_join@plt'

# Marked "host" or "async" without a condition, although they reach one.
excused() {
    cat <<'END'
ssq_comm_local_create after an error, for the thread that it had started
ssq_log_set for log callbacks that are running, not for a device
ssq_trainer_announce after an error, so that the host memory is free
END
}

# shellcheck disable=SC2046
$AWK -f "$srcdir/build-aux/marks.awk" $(find "$include/sesqui" -name '*.h') \
    >"$tmp/marks"
tab=$(printf '\t')

cut -f 2 "$tmp/marks" | sort >"$tmp/marked"
sed 's/ .*//' "$srcdir/tests/lint/symbols.txt" | grep '^ssq_' | sort |
    comm -23 - "$tmp/marked" >"$tmp/out"
tap_empty 'every public function of symbols.txt is found in a header'

$AWK -F "$tab" '
    $3 != "host" && $3 != "async" && $3 != "waits" { print $2 ": @sync " $3 }
    $5 != "any" && $5 != "object" { print $2 ": @threads " $5 }
    $3 == "waits" && $4 == "" { print $2 ": @sync waits: for what?" }' \
    "$tmp/marks" >"$tmp/out"
tap_empty 'every call has a class of each mark'

sh "$srcdir/build-aux/calls.sh" "$include" |
    diff "$srcdir/doc/calls.md" - >"$tmp/out" 2>&1
tap_empty 'doc/calls.md has the marks of the headers: else make update-calls'

# taught MARKS PAGE...: the deprecated calls that a page names.
taught() {
    marks=$1
    shift
    $AWK -F "$tab" '$7 != "-" { print $2 "\n" $2 "_at" }' "$marks" |
        sed 's/_at$//' | sort -u >"$tmp/old"
    [ ! -s "$tmp/old" ] || grep -nwF -f "$tmp/old" "$@" /dev/null || :
}
cat >"$tmp/old.h" <<'END'
/* old.h */
/** Do it. @deprecated Use ssq_new.
 *  @sync host
 *  @threads any */
SSQ_API void ssq_old(int x);
/** Do it better. */
SSQ_API void ssq_new(int x);
END
echo 'Call `ssq_old` or `ssq_new`.' >"$tmp/page.md"
$AWK -f "$srcdir/build-aux/marks.awk" "$tmp/old.h" >"$tmp/old.marks"
[ "$(taught "$tmp/old.marks" "$tmp/page.md" | grep -c '')" -eq 1 ]
tap_ok $? 'a page with a deprecated call is found'
taught "$tmp/marks" "$srcdir"/README.md "$srcdir"/doc/*.md \
    "$srcdir"/doc/guide/*.md "$srcdir"/doc/coming-from/*.md >"$tmp/out"
tap_empty 'no page teaches a deprecated call'

# reach: the public functions from which direct calls lead to one of $waits. A
# function is known by its address: static ones share names.
reach() {
    ${OBJDUMP:-objdump} -d --no-show-raw-insn "$lib" |
        $AWK -v waits="$waits" '
        /^[0-9a-f]+ </ {
            at = $2
            gsub(/[<>:]/, "", at)
            sub(/^0+/, "", $1)
            address = $1
            name[address] = at
            next
        }
        $2 ~ /^(call|j|bl$|b$|b\.)/ && $NF ~ /^<[^+]*>$/ {
            to = $NF ~ /@plt/ ? substr($NF, 2, length($NF) - 2) : $(NF - 1)
            if (!((address, to) in edge)) {
                edge[address, to] = 1
                callers[to] = callers[to] " " address
            }
        }
        END {
            split(waits, root)
            for (i in root)
                is[root[i]] = 1
            for (a in name)
                if (name[a] in is)
                    todo[++n] = a
            for (r in is)
                if (r in callers)
                    todo[++n] = r
            for (i = 1; i <= n; i++) {
                if (name[todo[i]] == "fallback_run")
                    continue
                k = split(callers[todo[i]], from)
                for (j = 1; j <= k; j++)
                    if (!(from[j] in seen)) {
                        seen[from[j]] = 1
                        todo[++n] = from[j]
                    }
            }
            for (a in seen)
                print name[a]
        }' | grep '^ssq_' | sort -u
}

if [ ! -f "$lib" ] || ! command -v "${OBJDUMP:-objdump}" >/dev/null; then
    tap_skip 'needs libsesqui.so and objdump' 'calls that wait say so'
    tap_done 5
    exit
fi
reach >"$tmp/reach"
grep -qx ssq_queue_sync "$tmp/reach" && grep -qx ssq_params_read "$tmp/reach" &&
    ! grep -qx ssq_gemm "$tmp/reach"
tap_ok $? "$(grep -c '' "$tmp/reach") calls wait, ssq_queue_sync among them"
$AWK -F "$tab" '$3 != "waits" && $4 == "" { print $2 }' "$tmp/marks" |
    sort >"$tmp/plain"
excused | sed 's/ .*//' >"$tmp/excused"
comm -12 "$tmp/reach" "$tmp/plain" | grep -vxF -f "$tmp/excused" >"$tmp/out"
tap_empty 'no call waits that is marked as host or async'
comm -12 "$tmp/reach" "$tmp/plain" | grep -xF -f "$tmp/excused" |
    grep -vxF -f - "$tmp/excused" >"$tmp/out"
tap_empty 'every call that is excused waits'
tap_done 8
