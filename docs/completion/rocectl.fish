# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Completion of rocectl's command line for fish. Devices are those of sysfs, so that no program is run.

# The verb on the command line so far, if there is one.
function __rocectl_verb
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case --policy --since --timeout
                set skip yes
            case '-*'
            case '*'
                echo -- $word
                return 0
        end
    end
    return 1
end

function __rocectl_verb_is
    set -l verb (__rocectl_verb)
    and contains -- "$verb" $argv
end

function __rocectl_devices
    for device in /sys/class/infiniband/*
        string replace -- /sys/class/infiniband/ '' $device
    end
end

function __rocectl_ports
    for port in /sys/class/infiniband/*/ports/*
        string replace -- /sys/class/infiniband/ '' $port | string replace -- /ports/ /
    end
end

complete -c rocectl -f
complete -c rocectl -n 'not __rocectl_verb_is compat generate log wait' -l policy -rF -d 'Use this policy only, no drop-ins'
complete -c rocectl -s j -l json -d 'Write JSON'
complete -c rocectl -s q -l quiet -d 'Write errors only'
complete -c rocectl -l no-pager -d 'Do not start a pager'
complete -c rocectl -l no-legend -d 'Leave out table heads and notes'
complete -c rocectl -l version -d 'Print the version'
complete -c rocectl -s h -l help -d 'Print a help'
complete -c rocectl -n '__rocectl_verb_is plan' -l peers -d 'Tell whom the changes would cut off'
complete -c rocectl -n '__rocectl_verb_is log' -l since -xa 'now today yesterday -1h' -d 'Leave out what is older'
complete -c rocectl -n '__rocectl_verb_is wait' -l timeout -x -d 'Wait so long at most'

complete -c rocectl -n 'not __rocectl_verb' -a status -d 'Show each port'
complete -c rocectl -n 'not __rocectl_verb' -a check -d 'Test policies'
complete -c rocectl -n 'not __rocectl_verb' -a plan -d 'Show what a pass would change'
complete -c rocectl -n 'not __rocectl_verb' -a explain -d 'Tell why a port is as it is'
complete -c rocectl -n 'not __rocectl_verb' -a apply -d 'Do one pass without the daemon'
complete -c rocectl -n 'not __rocectl_verb' -a compat -d 'Tell who reaches whom'
complete -c rocectl -n 'not __rocectl_verb' -a doctor -d 'Find what stops RoCE here'
complete -c rocectl -n 'not __rocectl_verb' -a generate -d 'Write a policy of the host as it stands'
complete -c rocectl -n 'not __rocectl_verb' -a wait -d 'Wait until nothing is pending'
complete -c rocectl -n 'not __rocectl_verb' -a log -d 'Show what was done, from the journal'
complete -c rocectl -n 'not __rocectl_verb' -a metrics -d 'Write the state as Prometheus text'

complete -c rocectl -n '__rocectl_verb_is status log wait explain' -a '(__rocectl_devices)' -d 'RDMA device'
complete -c rocectl -n '__rocectl_verb_is explain' -a '(__rocectl_ports)' -d Port
complete -c rocectl -n '__rocectl_verb_is check plan compat' -F
complete -c rocectl -n '__rocectl_verb_is compat' -a 'v1 v2' -d 'RoCE mode'
