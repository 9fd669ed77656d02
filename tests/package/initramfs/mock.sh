#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# In the initramfs: what a driver does, devices appear. Run by initramfs-tools, sourced by dracut.
if [ "$1" = prereqs ]; then
        echo udev
        exit 0
fi

modprobe rdma_mock
for i in 0 1; do
        ip link add "d$i" type dummy
done
echo 'add mlx5_0 v1v2@d0 pci=0000:00:05.0' >/sys/module/rdma_mock/parameters/control
echo 'add m1 v1v2@d1,ib' >/sys/module/rdma_mock/parameters/control
