# SPDX-License-Identifier: Apache-2.0
# sesqui.bash - completion of sesqui(1) for bash.

_sesqui_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_sesqui_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

# The value of an option; false: it is not known which values there are.
_sesqui_value() {
    case $1 in
    --device | --vs) _sesqui_words "auto $devices" ;;
    --op) _sesqui_words "$("${COMP_WORDS[0]}" help ops 2>/dev/null)" ;;
    --types) _sesqui_words 'f32 f16 bf16 f16,f32 bf16,f32' ;;
    --trans) _sesqui_words 'nn nt tn tt' ;;
    --report | --plot) _sesqui_files ;;
    --cases | --threads | --seconds) ;;
    *) return 1 ;;
    esac
}

_sesqui() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev= at=$COMP_CWORD
    local commands='devices verify certify support report bench tune'
    local devices='reference guard cpu cuda opencl vulkan'
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _sesqui_words "$commands help --help --version"
        return
    fi
    # --op=O is three words, since "=" ends one
    [ "$cur" != = ] || { cur= at=$((at + 1)); }
    prev=${COMP_WORDS[at - 1]}
    [ "$prev" != = ] || prev=${COMP_WORDS[at - 2]}
    ! _sesqui_value "$prev" || return 0
    case ${COMP_WORDS[1]} in
    help) _sesqui_words "$commands ops" ;;
    devices) _sesqui_words '--why --json --help' ;;
    verify) _sesqui_words '--device --op --report --help' ;;
    certify) _sesqui_words "$devices --op --seconds --once --device --help" ;;
    support) _sesqui_words '--device --op --json --help' ;;
    report) _sesqui_words '--device --seconds --help' ;;
    bench) _sesqui_words "gemm memory optimizer ops train latency - --device
        --vs --op --threads --cases --seconds --json --csv --plot --list
        --help" ;;
    tune) _sesqui_words '--device --types --trans --threads --tf32 --json
        --clear --train --seconds --help' ;;
    esac
}

complete -F _sesqui sesqui
