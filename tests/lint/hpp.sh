#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hpp.sh - <sesqui/sesqui.hpp>: it lists all ops, compiles as every C++ from 17
# on, with and without exceptions, and costs nothing over a call in C.

. "${srcdir:-.}/tests/lint/tap.sh"
include=$srcdir/include
hpp=$include/sesqui/sesqui.hpp

${AWK:-awk} -f "$srcdir/build-aux/hpp.awk" "$include"/sesqui/ops/*.h \
    >"$tmp/want"
sed -n '/^SESQUI_OP(/,/^#undef/p' "$hpp" | sed '/^#undef/d' | sed '/^$/d' |
    diff - "$tmp/want" >"$tmp/out"
tap_empty "it lists the $(grep -c SESQUI_OP "$tmp/want") ops: else make hpp"
lines=$(grep -c '' "$hpp")
tap_ok "$((lines >= 1500))" "$lines lines, below 1500"
grep -E '<(iostream|string|vector|memory|functional)>' "$hpp" |
    grep '#include' >"$tmp/out"
tap_empty 'it includes neither iostream nor string'

cat >"$tmp/use.cc" <<'END'
#include <sesqui/sesqui.hpp>
#include <sesqui/sesqui.hpp>

#include <vector>

static_assert(sizeof(sesqui::tensor) == sizeof(void *), "one pointer");
static_assert(!std::is_copy_constructible_v<sesqui::tensor>, "move only");
static_assert(std::is_nothrow_move_constructible_v<sesqui::trainer>, "moves");

/* Two products and a view, of which the last must fail. */
ssq_status use(ssq_device *device, ssq_queue *queue);
ssq_status use(ssq_device *device, ssq_queue *queue)
{
    std::vector<float> host(6, -1.0f);
#ifdef SESQUI_NO_EXCEPTIONS
    auto x = sesqui::tensor::create(device, SSQ_F32, {2, 3});
    if (!x)
        return x.error();
    if (ssq_status st = (*x).write(queue, host))
        return st;
    ssq_unary_args args{};
    args.x = *x;
    args.y = *x;
    if (ssq_status st = sesqui::abs(queue, args))
        return st;
    if (ssq_status st = x->read(queue, host))
        return st;
    if (ssq_queue_sync(queue) != SSQ_OK || host[5] != 1.0f)
        return SSQ_ERR_DEVICE;
    sesqui::expected<sesqui::tensor> y = x->transpose({0});
    return y ? SSQ_ERR_DEVICE : y.error();
#else
    try {
        sesqui::tensor x = sesqui::tensor::create(device, SSQ_F32, {2, 3});
        x.write(queue, host);
        ssq_unary_args args{};
        args.x = x;
        args.y = x;
        sesqui::abs(queue, args);
        x.read(queue, host);
        if (ssq_queue_sync(queue) != SSQ_OK || host[5] != 1.0f)
            return SSQ_ERR_DEVICE;
        x = x.slice(1, 0, 2); /* the old tensor is destroyed */
        if (x.size(1) != 2)
            return SSQ_ERR_DEVICE;
        (void)x.reshape({5});
        return SSQ_OK;
    } catch (const sesqui::error &e) {
        return e.status();
    }
#endif
}

int main()
{
    ssq_device *device = nullptr;
    ssq_queue *queue = nullptr;
    if (ssq_device_open("reference", nullptr, &device) != SSQ_OK ||
        ssq_queue_create(device, nullptr, &queue) != SSQ_OK)
        return 1;
    ssq_status st = use(device, queue);
    ssq_queue_destroy(&queue);
    ssq_device_close(&device);
    return st == SSQ_ERR_INVALID ? 0 : 2;
}
END

cat >"$tmp/cost.cc" <<'END'
#define SESQUI_NO_EXCEPTIONS
#include <sesqui/sesqui.hpp>

extern "C" ssq_status by_hand(ssq_queue *q, const ssq_tensor *x);
extern "C" ssq_status by_class(ssq_queue *q, const ssq_tensor *x);

extern "C" ssq_status by_hand(ssq_queue *q, const ssq_tensor *x)
{
    ssq_unary_args args{};
    args.x = args.y = x;
    return ssq_relu(q, &args);
}

extern "C" ssq_status by_class(ssq_queue *q, const ssq_tensor *x)
{
    ssq_unary_args args{};
    args.x = args.y = x;
    return sesqui::relu(q, args);
}
END

# code FUNCTION: its instructions, without addresses.
code() {
    sed -n "/<$1>:/,/ret/p" "$tmp/cost.s" | sed '1d
        s/^ *[0-9a-f]*://; s/<[^>]*>//g; s/\(call *\|jmp *\)[0-9a-f]*/\1/
        s/#.*//; s/ *$//'
}

# A compiler of C++ has a standard library, too: clang++ alone may have none.
works() {
    command -v "$1" >"$tmp/out" &&
        echo '#include <vector>' | $1 -x c++ -fsyntax-only - 2>"$tmp/out"
}

# Other compilers and standards: only with SSQ_TEST_FULL=1.
if [ -n "${SSQ_TEST_FULL-}" ]; then
    others=clang++ standards='17 20'
else
    others= standards=17
fi
for cxx in ${CXX:-none} $others; do
    if ! works "$cxx"; then
        tap_skip "no compiler $cxx" 'the header in C++'
        continue
    fi
    for std in $standards; do
        for how in '' '-DSESQUI_NO_EXCEPTIONS -fno-exceptions'; do
            # shellcheck disable=SC2086
            tap_run "as C++$std by ${cxx##*/} $how" $cxx -std=c++$std -Wall \
                -Wextra -Wpedantic -Wshadow -Werror $how -I"$include" \
                -o "$tmp/use" "$tmp/use.cc" -L"$builddir/.libs" -lsesqui &&
                LD_LIBRARY_PATH="$builddir/.libs" tap_run 'and runs' \
                    "$tmp/use"
        done
    done
    command -v "${OBJDUMP:-objdump}" >"$tmp/out" || continue
    $cxx -std=c++17 -O2 -fno-exceptions -I"$include" -c -o "$tmp/cost.o" \
        "$tmp/cost.cc" &&
        ${OBJDUMP:-objdump} -d --no-show-raw-insn "$tmp/cost.o" >"$tmp/cost.s"
    code by_hand >"$tmp/hand"
    code by_class | diff "$tmp/hand" - >"$tmp/out"
    tap_empty "the $(grep -c '' "$tmp/hand") instructions of the call in C"
    tap_ok "$(($(grep -c '' "$tmp/hand") < 4))" 'which are some'
done
tap_done 7
