#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tally.sh - the driver and build-aux/tally count what a test printed: escapes,
# skips, failures, a missing plan, a crash, nothing at all.

. "${srcdir:-.}/tests/lint/tap.sh"

# drive NAME: run $tmp/NAME.sh under the driver.
drive() {
    AM_TAP_AWK=$AWK sh "$srcdir/build-aux/tap-driver.sh" --merge \
        --test-name "$1" --log-file "$tmp/$1.log" --trs-file "$tmp/$1.trs" \
        --color-tests no --enable-hard-errors yes --expect-failure no \
        -- sh "$tmp/$1.sh" >/dev/null 2>&1
}

# counts NAME WANTED STATUS WHAT: the sum of the program's lines on stdin.
counts() {
    cat >"$tmp/$1.sh"
    drive "$1"
    sum=$(sh "$srcdir/build-aux/tally" "$tmp/$1.log" | tail -n 1)
    sh "$srcdir/build-aux/tally" "$tmp/$1.log" >"$tmp/out"
    status=$?
    [ "$sum" = "$2" ] && [ "$status" -eq "$3" ]
    tap_ok $? "$4: $sum, status $status"
}

counts good '2 passed, 0 failed, 1 skipped' 0 'two ok and a skip' <<'END'
echo 'ok 1 - a'; echo 'ok 2 - b # SKIP no device'; echo 'ok 3 - c'; echo 1..3
END
counts hash '2 passed, 0 failed, 0 skipped' 0 'an escaped # is no directive' \
    <<'END'
echo 'ok 1 - queue \# SKIP'; echo 'ok 2 - \# TODO'; echo 1..2
END
counts bad '1 passed, 1 failed, 0 skipped' 1 'one not ok' <<'END'
echo 'ok 1 - a'; echo 'not ok 2 - b'; echo 1..2
END
counts short '1 passed, 1 failed, 0 skipped' 1 'a plan of two, one ran' <<'END'
echo 'ok 1 - a'; echo 1..2
END
counts noplan '1 passed, 1 failed, 0 skipped' 1 'no plan' <<'END'
echo 'ok 1 - a'
END
counts crash '1 passed, 1 failed, 0 skipped' 1 'a crash after the plan' <<'END'
echo 'ok 1 - a'; echo 1..1; kill -SEGV $$
END
counts status '1 passed, 1 failed, 0 skipped' 1 'exit status 3 after the plan' \
    <<'END'
echo 'ok 1 - a'; echo 1..1; exit 3
END
counts empty '0 passed, 1 failed, 0 skipped' 1 'no output at all' <<'END'
exit 0
END
counts skipped '0 passed, 0 failed, 1 skipped' 1 'everything skipped' <<'END'
echo '1..0 # SKIP no device'
END
counts todo '1 passed, 1 failed, 0 skipped' 1 'a TODO hides nothing' <<'END'
echo 'ok 1 - a'; echo 'not ok 2 - b # TODO later'; echo 1..2
END
counts bail '1 passed, 1 failed, 0 skipped' 1 'a bail-out' <<'END'
echo 'ok 1 - a'; echo 'Bail out! no memory'; exit 1
END
sum=$(sh "$srcdir/build-aux/tally" "$tmp/good.log" "$tmp/none.log" | tail -n 1)
[ "$sum" = '2 passed, 1 failed, 1 skipped' ]
tap_ok $? "a test that was not run fails: $sum"
sum=$(sh "$srcdir/build-aux/tally" "$tmp/good.log" "$tmp/bad.log" | tail -n 1)
[ "$sum" = '3 passed, 1 failed, 1 skipped' ]
tap_ok $? "two tests are summed: $sum"
tap_done 13
