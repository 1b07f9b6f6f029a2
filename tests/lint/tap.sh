# SPDX-License-Identifier: Apache-2.0
# tap.sh - the Test Anything Protocol for the shell tests; read with ".".
#
# Results go to file descriptor 1 as they come, the plan at the end. stdout and
# stderr of a checked command are shown as diagnostics if it fails.

cases=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

tap_name() {
    printf '%s' "$*" | sed 's/[\\#]/\\&/g'
}

# tap_ok STATUS NAME: one case; 0 is ok.
tap_ok() {
    cases=$((cases + 1))
    status=$1
    shift
    if [ "$status" -eq 0 ]; then
        echo "ok $cases - $(tap_name "$@")"
    else
        failed=$((failed + 1))
        echo "not ok $cases - $(tap_name "$@")"
    fi
    return "$status"
}

# tap_run NAME COMMAND...: ok if the command succeeds; its output is in
# $tmp/out either way.
tap_run() {
    name=$1
    shift
    "$@" >"$tmp/out" 2>&1
    tap_ok $? "$name" || {
        sed 's/^/#   /' "$tmp/out" | head -n 40
        return 1
    }
}

# tap_empty NAME: ok if $tmp/out is empty; else what it says, line by line.
tap_empty() {
    if [ -s "$tmp/out" ]; then
        tap_ok 1 "$1 ($(grep -c '' "$tmp/out") wrong)"
        sed 's/^/#   /' "$tmp/out" | head -n 40
        return 1
    fi
    tap_ok 0 "$1"
}

tap_skip() {
    cases=$((cases + 1))
    reason=$1
    shift
    echo "ok $cases - $(tap_name "$@") # SKIP $reason"
}

# tap_missing WHAT REASON NAME: skipped, but a failure where SSQ_TEST_REQUIRE
# names what is missing.
tap_missing() {
    case ,${SSQ_TEST_REQUIRE-}, in
    *,"$1",*) tap_ok 1 "$1 is required: $3: $2" ;;
    *) tap_skip "$2" "$3" ;;
    esac
}

# tap_done FLOOR: the plan; at least FLOOR cases.
tap_done() {
    [ "$cases" -ge "$1" ] || tap_ok 1 "at least $1 cases ran, $cases did"
    echo "# $(($(date +%s) - began)) seconds: $cases cases, $failed failed"
    echo "1..$cases"
    exit 0
}

began=$(date +%s)
srcdir=${srcdir:-.}
builddir=${builddir:-.}
