#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# whole.sh - an interrupted make leaves no file half made under its own name.

. "${srcdir:-.}/tests/lint/tap.sh"

# ---- the rules ----

# A recipe that writes to its target, by > or -o or cp, and not to $@.new.
# libtool, which is asked to compile by -c, moves what it makes by itself.
(cd "$srcdir" &&
    find Makefile.am lib kernels backends comms conformance tools examples tests doc -type f \
        \( -name '*.mk' -o -name '*.am' \) ! -path '*/.*') >"$tmp/rules"
tap_ok "$(($(grep -c '' "$tmp/rules") < 10))" \
    "there are rules to look at: $(grep -c '' "$tmp/rules") files"
(cd "$srcdir" && xargs grep -nE -e '(>|-o|tee) *"?\$@"?([^.]|$)' \
    -e 'cp [^|&;]*\$@([^.]|$)' <"$tmp/rules") | grep -v -e '[[:space:]]-c \$< -o \$@$' \
    >"$tmp/out"
tap_empty "no recipe writes where make looks: to \$@.new, then mv"
tap_run "make removes the target of a recipe that fails" \
    grep -q '^\.DELETE_ON_ERROR:' "$srcdir/Makefile.am"

# ---- kernels/pack.sh ----

# A compiler that ends as $tmp/end says at its second text.
cat >"$tmp/glslc" <<'END'
#!/bin/sh
for word; do
    case $word in *.comp) ;; *) continue ;; esac
    echo x >>"$0.count"
    [ "$(grep -c x "$0.count")" -ne 2 ] || . "${0%/*}/end"
    echo "$word" >"$word.spv"
done
END
chmod +x "$tmp/glslc"

# pack END: make a pack of a text that has many variants, where an old one is.
pack() {
    rm -rf "$tmp/glslc.count" "$tmp/made"
    mkdir "$tmp/made"
    for part in pack table d; do
        echo old >"$tmp/made/cast.$part"
    done
    echo "$1" >"$tmp/end"
    GLSLC=$tmp/glslc sh "$srcdir/kernels/pack.sh" spirv text "$srcdir" \
        "$tmp/made/cast.pack" kernels/data/cast.k >"$tmp/out" 2>&1
}

# True if all three are the old ones.
untouched() {
    for part in pack table d; do
        [ "$(cat "$tmp/made/cast.$part")" = old ] || return 1
    done
}

interrupted() {
    ! pack "$2" && untouched
    tap_ok $? "pack.sh: $1: the old pack stays, and so does its table"
}

# The script's variables, and its parent's number, are for later.
# shellcheck disable=SC2016
{
    interrupted 'the compiler fails' 'exit 1'
    [ "$(find "$tmp/made" -type f | grep -c .)" -eq 3 ]
    tap_ok $? 'pack.sh: the compiler fails: nothing else is left'
    interrupted 'SIGTERM' 'kill -TERM $PPID; exit 1'
    [ "$(find "$tmp/made" -type f | grep -c .)" -eq 3 ]
    tap_ok $? 'pack.sh: SIGTERM: nothing else is left'
    interrupted 'SIGKILL' 'kill -KILL $PPID; exit 1'
}

# table: the table of the pack as it is now.
table() {
    sh "$srcdir/kernels/pack.sh" spirv table "$srcdir" kernels/data/cast.k \
        "$tmp/made/cast.pack" >"$tmp/header" 2>"$tmp/out"
}

pack : && ! untouched && table
tap_ok $? 'pack.sh: what nothing interrupts is made'
sed '$d' "$tmp/made/cast.table" >"$tmp/cut"
cp "$tmp/cut" "$tmp/made/cast.table"
! table && ! [ -e "$tmp/made/cast.pack" ] && grep -q 'make it' "$tmp/out"
tap_ok $? 'pack.sh: a pack whose table is cut is named, and made again'

tap_done 10
