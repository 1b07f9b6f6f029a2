#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nccl_library.sh - the messages if NCCL is missing, lacks a function or is in
# another folder. The library is the stand-in, or a copy in which a symbol has
# another name.

. "${srcdir:-.}/tests/lint/tap.sh"

real=$builddir/tests/fakecuda
if ! [ -f "$builddir/nccl.la" ]; then
    tap_missing fakecuda 'no nccl module was built' 'libraries of NCCL'
    tap_done 0
    exit 0
fi

# says PATTERN NAME DIRECTORY [VARIABLE=VALUE...]
says() {
    pattern=$1 name=$2 libraries=$3
    shift 3
    env LD_LIBRARY_PATH="$libraries" "$@" "$builddir/tests/comm/nccl_id" \
        >"$tmp/out" 2>/dev/null
    grep -q "$pattern" "$tmp/out"
    tap_ok $? "$name: $(cat "$tmp/out")"
}

# lacks SYMBOL: a copy of NCCL without it, beside the driver.
lacks() {
    mkdir -p "$tmp/$1"
    cp "$real/libcuda.so.1" "$tmp/$1/"
    other=$(printf '%s' "$1" | sed 's/.$/#/')
    LC_ALL=C sed "s/$1/$other/g" "$real/libnccl.so.2" >"$tmp/$1/libnccl.so.2"
}

mkdir "$tmp/none"
env LD_LIBRARY_PATH="$tmp/none" "$builddir/tests/comm/nccl_id" >"$tmp/out" 2>&1
if grep -q 'no NCCL' "$tmp/out"; then
    says '^SSQ_ERR_UNSUPPORTED: nccl: no NCCL: libnccl.so.2' 'no library' \
        "$tmp/none"
else
    tap_skip 'this machine has an NCCL' 'no library'
fi
says '^SSQ_OK' 'the stand-in' "$real"
lacks ncclCommInitRankConfig
says "UNSUPPORTED: nccl: $tmp/ncclCommInitRankConfig/libnccl.so.2 has no ncclCommInitRankConfig" \
    'a symbol is missing' "$tmp/ncclCommInitRankConfig"
lacks ncclGetVersion
says 'UNSUPPORTED: nccl: .*has no ncclGetVersion' 'even that of the version' \
    "$tmp/ncclGetVersion"
says 'libnccl.so.2 is NCCL 2.13.4: 2.14 or later' 'too old' "$real" \
    FAKENCCL_VERSION=21304
says '^SSQ_OK' 'the oldest that is taken' "$real" FAKENCCL_VERSION=21400
says 'SSQ_MODULE_PATH is empty' 'no modules' "$real" SSQ_MODULE_PATH=

# NVIDIA's header, if a toolkit is installed: nothing of api.h may differ.
header=${CUDA_DIR:-/usr/local/cuda}/include
if [ -f "$header/nccl.h" ] && [ -f "$header/cuda_runtime.h" ]; then
    cat >"$tmp/api.c" <<'END'
#include <nccl.h>

#include "comms/nccl/api.h"

#define X(NAME, VALUE) _Static_assert((int)NAME == (VALUE), #NAME);
NCCL_NUMBERS(X)
#undef X
#define X(NAME, ANSWER, ARGS) extern ANSWER NAME ARGS;
NCCL_CALLS(X)
#undef X
_Static_assert(offsetof(ncclConfig_t, blocking) ==
                   offsetof(struct nccl_config, blocking), "blocking");
_Static_assert(sizeof(ncclUniqueId) == 128, "ids");
END
    tap_run "api.h behind $header/nccl.h" $CC -std=c11 -fsyntax-only \
        -isystem "$header" -I"$srcdir" "$tmp/api.c"
else
    tap_skip 'no nccl.h' 'api.h behind the real header'
fi
tap_done 8
