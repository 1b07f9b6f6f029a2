#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# completion.sh - completion of the tool's command line: each shell's file has
# the commands and options of `sesqui help`. If they are installed, bash and fish
# complete words, and zsh reads its file.

. "${srcdir:-.}/tests/lint/tap.sh"

files=$srcdir/tools/completion
tool=$(cd "$builddir" && pwd)/sesqui
commands='devices verify certify support report bench tune'
export LC_ALL=C

# The options that help has of a command are in $tmp/help.
helped() {
    "$tool" help "$1" | sed -n 's/^  \(-h, \)*\(--[a-z0-9]*\).*/\2/p' |
        sort >"$tmp/help"
    [ -s "$tmp/help" ]
}

# same NAME: $tmp/out has the options of $tmp/help.
same() {
    sort -u "$tmp/out" | diff "$tmp/help" - >"$tmp/diff"
    tap_ok $? "$1" || sed 's/^/# /' "$tmp/diff" "$tmp/said"
}

# The words of zsh's file for a command, whose variables are named after the
# options that they hold.
zsh_options() {
    sed -n "/^    $1)/,/;;/p" "$files/_sesqui" |
        grep -oE -e "'--[a-z0-9]+|[\$][a-z]+" | sed "s/[\$']-*/--/"
}
# The same of fish's file.
fish_options() {
    sed -e :a -e '/\\$/N; s/\\\n//; ta' "$files/sesqui.fish" |
        grep -E "^__sesqui_of '([a-z]* )*$1( [a-z]*)*'" |
        sed -n 's/.* -l \([a-z0-9]*\).*/--\1/p'
}
: >"$tmp/said"
for command in $commands; do
    helped $command
    zsh_options $command >"$tmp/out"
    same "zsh: $command has the options of its help"
    fish_options $command >"$tmp/out"
    same "fish: $command has the options of its help"
done

# ask WORD...: write bash's offers for the last word to $tmp/out, a line each.
ask() {
    bash -c '
        . "$1"
        shift
        function=$(complete -p sesqui) function=${function#complete -F }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        ${function% sesqui}
        printf "%s\n" "${COMPREPLY[@]}"' bash "$files/sesqui.bash" "$tool" "$@" \
        >"$tmp/out" 2>"$tmp/said"
}

# offers WANT WORD...: exactly these, in any order.
offers() {
    want=$1
    shift
    ask "$@"
    [ "$(sort "$tmp/out" | tr '\n' ' ')" = "$want " ] && [ ! -s "$tmp/said" ]
    tap_ok $? "bash: $*: $want" || sed 's/^/# /' "$tmp/out" "$tmp/said"
}

if command -v bash >"$tmp/out"; then
    offers "--help --version bench certify devices help report support tune verify" ''
    offers 'tune' t
    offers 'bench' help b
    for command in $commands; do
        helped $command
        ask $command --
        same "bash: $command has the options of its help"
    done
    offers 'memory' bench me
    offers 'guard' certify g
    offers 'guard' verify --device g
    offers 'guard' verify --device = g
    offers 'nn nt' tune --trans n
    offers 'relu' bench --op rel
    offers 'layer_norm layer_norm_backward' support --op = layer_n
    : >"$tmp/a file"
    offers "$tmp/a file" verify --report "$tmp/a"
    offers '' bench --threads ''
else
    tap_skip 'bash is not installed' 'what bash offers'
fi

if command -v fish >"$tmp/out"; then
    for command in $commands; do
        helped $command
        HOME=$tmp fish --no-config -c "source '$files/sesqui.fish'
            complete -C 'sesqui $command --'" 2>"$tmp/said" |
            sed 's/[[:space:]].*//' >"$tmp/out"
        same "fish: it offers the options of $command"
    done
else
    tap_skip 'fish is not installed' 'what fish offers'
fi

if command -v zsh >"$tmp/out"; then
    tap_run 'zsh: the file can be read' zsh -n "$files/_sesqui"
else
    tap_skip 'zsh is not installed' 'the file can be read by it'
fi
tap_done 15
