# SPDX-License-Identifier: Apache-2.0
# sesqui.fish - completion of sesqui(1) for fish.

set -l commands devices verify certify support report bench tune help
set -l devices auto reference guard cpu cuda opencl vulkan

complete -c sesqui -f
complete -c sesqui -n "not __fish_seen_subcommand_from $commands" \
    -a "$commands"
complete -c sesqui -n "not __fish_seen_subcommand_from $commands" \
    -s h -l help -d 'print help'
complete -c sesqui -n "not __fish_seen_subcommand_from $commands" \
    -s V -l version -d 'print the version'
complete -c sesqui -n "__fish_seen_subcommand_from help" -a "$commands ops"

# of COMMANDS OPTION...
function __sesqui_of
    set -l commands (string split ' ' -- $argv[1])
    complete -c sesqui -n "__fish_seen_subcommand_from $commands" $argv[2..-1]
end

__sesqui_of 'devices verify certify support report bench tune' -l help -d 'print help'
__sesqui_of 'verify certify support report bench tune' -l device -x -a "$devices" \
    -d 'device to use'
__sesqui_of 'verify certify support bench' -l op -x -a '(sesqui help ops)' \
    -d 'op, table or function'
__sesqui_of 'certify report bench tune' -l seconds -x -d 'most seconds'
__sesqui_of 'devices support bench tune' -l json -d 'print JSON'
__sesqui_of 'bench tune' -l threads -x -d 'number of threads'
__sesqui_of 'devices' -l why -d 'say why'
__sesqui_of 'verify' -l report -r -F -d 'file for the TAP'
__sesqui_of 'certify' -l once -d 'devices with a driver, without a verdict'
__sesqui_of 'certify' -a "$devices"
__sesqui_of 'bench' -a 'gemm memory optimizer ops train latency -'
__sesqui_of 'bench' -l vs -x -a "$devices" -d 'another device'
__sesqui_of 'bench' -l cases -x -d 'cases of each table'
__sesqui_of 'bench' -l csv -d 'print comma-separated values'
__sesqui_of 'bench' -l plot -r -F -d 'roofline, SVG'
__sesqui_of 'bench' -l list -d 'print the cases'
__sesqui_of 'tune' -l types -x -a 'f32 f16 bf16 f16,f32 bf16,f32' -d 'dtypes'
__sesqui_of 'tune' -l trans -x -a 'nn nt tn tt' -d 'order of the factors'
__sesqui_of 'tune' -l tf32 -d 'allow TF32'
__sesqui_of 'tune' -l clear -d 'forget what was found'
__sesqui_of 'tune' -l train -d 'how fast the device trains'
functions -e __sesqui_of
