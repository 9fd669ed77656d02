#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# dracut: what the initramfs needs to put the policy in force. It is the policy as it is now: after a change of it, dracut -f.

check() {
        require_binaries rocectl udevadm || return 1
        rocectl check --quiet || {
                dwarn 'roced: the policy is not valid, the initramfs goes without'
                return 1
        }
}

depends() {
        echo base udev-rules
}

installkernel() {
        hostonly='' instmods configfs rdma_cm
}

install() {
        local file

        # A link to /dev/null masks, and so does the empty file that it becomes.
        for file in /etc/roced/policy.yaml /etc/roced/policy.d/*.yaml /usr/lib/roced/policy.d/*.yaml; do
                [ ! -e "$file" ] || command install -D -m 0644 "$file" "$initdir$file"
        done

        inst_multiple rocectl udevadm modprobe mount

        # Devices are to have the names here that they have later.
        inst_multiple -o "$udevdir/rdma_rename"
        inst_rules 60-rdma-persistent-naming.rules 75-rdma-description.rules
        # udev keeps no entry for a device of which it has nothing to say, and without one the device counts as unfinished.
        echo 'SUBSYSTEM=="infiniband", TAG+="roced"' >"$initdir/usr/lib/udev/rules.d/90-roced-initramfs.rules"

        # Storage over the network is connected in the queue, and by its jobs of this kind; the other place is for a root that
        # does not wait for any.
        inst_hook initqueue/settled 00 "$moddir/apply.sh"
        inst_hook pre-mount 00 "$moddir/apply.sh"
}
