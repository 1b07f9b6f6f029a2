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

# One function of each mode; the unit with exceptions has main, too.
cat >"$tmp/use.cc" <<'END'
#include <sesqui/sesqui.hpp>
#include <sesqui/sesqui.hpp>

#include <cstring>
#include <vector>

static_assert(sizeof(sesqui::tensor) == sizeof(void *), "one pointer");
static_assert(!std::is_copy_constructible_v<sesqui::tensor>, "move only");
static_assert(std::is_nothrow_move_constructible_v<sesqui::trainer>, "moves");

/* What write() and read() accept. They use the memory later. */
template <class T, class = void> struct writes : std::false_type {
};
template <class T>
struct writes<T, std::void_t<decltype(std::declval<sesqui::tensor>().write(
                     nullptr, std::declval<T>()))>> : std::true_type {
};
template <class T, class = void> struct writes_list : std::false_type {
};
template <class T>
struct writes_list<T, std::void_t<decltype(std::declval<sesqui::tensor>().write(
                          nullptr, {T(1), T(2)}))>> : std::true_type {
};
template <class T, class = void> struct reads : std::false_type {
};
template <class T>
struct reads<T, std::void_t<decltype(std::declval<sesqui::tensor>().read(
                    nullptr, std::declval<T>()))>> : std::true_type {
};
using rows = float[2][3];
static_assert(writes<std::vector<float> &>::value, "a container");
static_assert(writes<const std::vector<float> &>::value, "a const one");
static_assert(writes<rows &>::value && writes<const rows &>::value, "arrays");
static_assert(!writes<std::vector<float>>::value, "a temporary");
static_assert(!writes<const std::vector<float>>::value, "a const temporary");
static_assert(!writes<rows>::value && !writes<const rows>::value, "arrays");
static_assert(!writes<std::initializer_list<float> &>::value, "a list");
static_assert(!writes_list<float>::value, "a list in braces");
static_assert(reads<std::vector<float> &>::value && reads<rows &>::value, "");
static_assert(!reads<std::vector<float>>::value && !reads<rows>::value, "");

/* Operations of which the last must fail. */
#ifdef SESQUI_NO_EXCEPTIONS
static bool failed_with(const char *text)
{
    return std::strstr(ssq_last_error(), text) != nullptr;
}

ssq_status use_statuses(ssq_device *device, ssq_queue *queue);
ssq_status use_statuses(ssq_device *device, ssq_queue *queue)
{
    std::vector<float> host(6, -1.0f);
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
#if __cplusplus >= 202002L
    if (ssq_status st = sesqui::square(queue, SSQ_SQUARE(.x = *x, .y = *x)))
        return st;
#endif
    if (ssq_status st = x->read(queue, host))
        return st;
    if (ssq_queue_sync(queue) != SSQ_OK || host[5] != 1.0f)
        return SSQ_ERR_DEVICE;
    const sesqui::expected<sesqui::tensor> same = x->reshape({6});
    if (!same || (*same).rank() != 1 || same->size(0) != 6)
        return SSQ_ERR_DEVICE;
    sesqui::expected<sesqui::tensor> bad = sesqui::tensor().transpose({0});
    if (bad || !failed_with("NULL"))
        return SSQ_ERR_DEVICE;
    sesqui::expected<sesqui::tensor> y = x->transpose({0});
    return y || !failed_with("tensor_transpose: 1 axes (expected 2)")
               ? SSQ_ERR_DEVICE
               : y.error();
}
#else
/* The parameters of a layer, in a scope. */
static bool visits(ssq_queue *queue, const ssq_tensor *x)
{
    auto params = sesqui::params::create(ssq_queue_device(queue));
    auto tape = sesqui::tape::create(queue, params);
    tape.begin(true);
    {
        sesqui::scope scope(tape, "block");
        (void)ssq_nn_linear(tape, "fc", ssq_var_input(tape, x), 4, nullptr);
    }
    tape.status();
    std::vector<const char *> names;
    for (ssq_param_info p : params)
        names.push_back(p.name);
    std::size_t n = 0;
    for (ssq_param_info p : sesqui::parameters(params))
        n += std::strcmp(p.name, names.at(n)) == 0;
    return n == 2 && std::strcmp(names[0], "block.fc.weight") == 0 &&
           std::strcmp(names[1], "block.fc.bias") == 0;
}

/* from_host waits: the memory may then change. */
static bool waits(ssq_queue *queue)
{
    float host[2][3] = {{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}};
    auto x = sesqui::tensor::from_host(queue, host, SSQ_F16);
    host[1][2] = 7.0f;
    x.read(queue, host);
    auto y = sesqui::tensor::from_host(queue, {1, 2, 3});
    return x.rank() == 2 && x.size(0) == 2 && x.size(1) == 3 &&
           x.dtype() == SSQ_F16 && y.rank() == 1 && y.size(0) == 3 &&
           y.dtype() == SSQ_I32 && ssq_queue_sync(queue) == SSQ_OK &&
           host[1][2] == 6.0f;
}

static ssq_status use_exceptions(ssq_device *device, ssq_queue *queue)
{
    try {
        std::vector<float> host(6, -1.0f);
        sesqui::tensor x = sesqui::tensor::create(device, SSQ_F32, {2, 3});
        x.write(queue, host);
        ssq_unary_args args{};
        args.x = x;
        args.y = x;
        sesqui::abs(queue, args);
#if __cplusplus >= 202002L
        sesqui::square(queue, SSQ_SQUARE(.x = x, .y = x));
#endif
        x.read(queue, host);
        if (ssq_queue_sync(queue) != SSQ_OK || host[5] != 1.0f)
            return SSQ_ERR_DEVICE;
        if (!visits(queue, x) || !waits(queue))
            return SSQ_ERR_DEVICE;
        x = x.slice(1, 0, 2); /* the old tensor is destroyed */
        if (x.size(1) != 2)
            return SSQ_ERR_DEVICE;
        (void)x.reshape({5});
        return SSQ_OK;
    } catch (const sesqui::error &e) {
        return e.status();
    }
}

ssq_status use_statuses(ssq_device *device, ssq_queue *queue);

/* guard reads and writes the memory of the host when the queue is synced */
int main()
{
    auto device = sesqui::device::open("guard");
    auto queue = sesqui::queue::create(device);
    if (use_exceptions(device, queue) != SSQ_ERR_INVALID)
        return 1;
    return use_statuses(device, queue) == SSQ_ERR_INVALID ? 0 : 2;
}
#endif
END

# The call in C, and the same call of the class. With exceptions the status is
# tested in both, and the throw is not inline.
cat >"$tmp/cost.cc" <<'END'
#include <sesqui/sesqui.hpp>

#ifdef SESQUI_NO_EXCEPTIONS
static inline ssq_status test(ssq_status status) { return status; }
#else
[[noreturn, gnu::cold]] void fail(ssq_status status);
static inline void test(ssq_status status)
{
    if (status != SSQ_OK)
        fail(status);
}
#endif

extern "C" sesqui::outcome by_hand(ssq_queue *q, const ssq_tensor *x);
extern "C" sesqui::outcome by_class(ssq_queue *q, const ssq_tensor *x);

extern "C" sesqui::outcome by_hand(ssq_queue *q, const ssq_tensor *x)
{
    ssq_unary_args args{};
    args.x = args.y = x;
    return test(ssq_relu(q, &args));
}

extern "C" sesqui::outcome by_class(ssq_queue *q, const ssq_tensor *x)
{
    ssq_unary_args args{};
    args.x = args.y = x;
    return sesqui::relu(q, args);
}
END

# code FUNCTION: its instructions, without addresses.
code() {
    sed -n "/<$1>:/,/ret/p" "$tmp/cost.s" | sed '1d
        s/^ *[0-9a-f]*://; s/<[^>]*>//g; s/\(call *\|j[a-z]* *\)[0-9a-f]*/\1/
        s/#.*//; s/ *$//'
}

# A compiler of C++ has a standard library, too: clang++ alone may have none.
works() {
    command -v "$1" >"$tmp/out" &&
        echo '#include <vector>' | $1 -x c++ -fsyntax-only - 2>"$tmp/out"
}

# unit COMPILER STANDARD MODE: compile use.cc to MODE.o.
unit() {
    how=
    [ "$3" = exceptions ] || how='-DSESQUI_NO_EXCEPTIONS -fno-exceptions'
    # shellcheck disable=SC2086
    tap_run "as C++$2 by ${1##*/}, with $3" $1 "-std=c++$2" -Wall -Wextra \
        -Wpedantic -Wshadow -Wconversion -Werror $how -I"$include" -c \
        -o "$tmp/$3.o" "$tmp/use.cc"
}

# cost COMPILER FLAG: the class adds no instruction to the call by hand.
cost() {
    $1 -std=c++17 -O2 "$2" -I"$include" -c -o "$tmp/cost.o" "$tmp/cost.cc" &&
        ${OBJDUMP:-objdump} -d --no-show-raw-insn "$tmp/cost.o" >"$tmp/cost.s"
    code by_hand >"$tmp/hand"
    code by_class | diff "$tmp/hand" - >"$tmp/out"
    tap_empty "$2: the $(grep -c '' "$tmp/hand") instructions of the call in C"
    tap_ok "$(($(grep -c '' "$tmp/hand") < 4))" 'which are some'
}

# Other compilers and standards: only with SSQ_TEST_FULL=1. The two modes, in
# two standards, are linked into one program.
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
        rm -f "$tmp"/*.o
        unit "$cxx" "$std" exceptions
        unit "$cxx" $((37 - std)) statuses
        tap_run 'both are one program' $cxx -o "$tmp/use" \
            "$tmp/exceptions.o" "$tmp/statuses.o" -L"$builddir/.libs" \
            -lsesqui &&
            LD_LIBRARY_PATH="$builddir/.libs" tap_run 'which runs' "$tmp/use"
    done
    command -v "${OBJDUMP:-objdump}" >"$tmp/out" || continue
    cost "$cxx" -fno-exceptions
    cost "$cxx" -fexceptions
done
tap_done 7
