#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Puts the policy in force on the RDMA devices that are there, before anything connects to storage through them. One pass that
# leaves nothing behind; roced takes over in the real root. Run by initramfs-tools, which asks for prerequisites first, and
# sourced by dracut.

if [ "$1" = prereqs ]; then
        exit 0
fi

# Names of devices are final then.
udevadm settle

for device in /sys/class/infiniband/*; do
        [ -e "$device" ] || break
        modprobe -q configfs
        modprobe -q rdma_cm
        [ -d /sys/kernel/config/rdma_cm ] || mount -t configfs configfs /sys/kernel/config
        # Where there is no journal yet, the kernel's log keeps what was changed for it: journalctl -t rocectl.
        rocectl apply --quiet 2>&1 | while read -r line; do
                echo "$line" >/dev/kmsg
        done
        break
done
