# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Completion of rocectl's command line for bash. Devices are those of sysfs, so that no program is run.

# A device's name may hold whatever the kernel took, so it never goes through an expansion.
_rocectl_add() {
        local word

        [[ $1 == "$2"* ]] || return 0
        printf -v word %q "$1"
        COMPREPLY+=("$word")
}

# Devices, with "ports" also DEVICE/PORT.
_rocectl_devices() {
        local device port

        for device in /sys/class/infiniband/*; do
                [[ -e $device ]] || continue
                _rocectl_add "${device##*/}" "$1"
                [[ ${2-} == ports ]] || continue
                for port in "$device"/ports/*; do
                        [[ -e $port ]] && _rocectl_add "${device##*/}/${port##*/}" "$1"
                done
        done
}

_rocectl() {
        local verbs="status check plan explain apply compat doctor generate wait log metrics"
        local options="--json --quiet --no-pager --no-legend --version --help -j -q -h"
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb='' peers='' i

        COMPREPLY=()
        # Readline takes "=" for a word of its own.
        if [[ $current == "=" ]]; then
                current=''
        elif [[ $previous == "=" ]]; then
                previous=${COMP_WORDS[COMP_CWORD - 2]}
        fi

        for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                --policy | --since | --timeout)
                        [[ ${COMP_WORDS[i + 1]} == "=" ]] && ((i++))
                        ((i++))
                        ;;
                --peers) peers=yes ;;
                -*) ;;
                *) [[ $verb ]] || verb=${COMP_WORDS[i]} ;;
                esac
        done

        case $verb in
        plan) options+=" --policy --peers" ;;
        log) options+=" --since" ;;
        wait) options+=" --timeout" ;;
        compat | generate) ;;
        *) options+=" --policy" ;;
        esac

        case $previous in
        --policy) compopt -o default ;;
        --since) mapfile -t COMPREPLY < <(compgen -W "now today yesterday -1h" -- "$current") ;;
        --timeout) ;;
        *)
                case $verb,$current in
                *,-*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current") ;;
                ,*) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current") ;;
                status,* | log,* | wait,*) _rocectl_devices "$current" ;;
                explain,*) _rocectl_devices "$current" ports ;;
                check,*) compopt -o default ;;
                plan,*) [[ $peers ]] && compopt -o default ;;
                compat,*)
                        mapfile -t COMPREPLY < <(compgen -W "v1 v2" -- "$current")
                        compopt -o default
                        ;;
                esac
                ;;
        esac
        return 0
}

complete -F _rocectl rocectl
