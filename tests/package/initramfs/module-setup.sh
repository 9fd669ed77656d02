#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# dracut: mock.sh and look.sh, and what they need.

installkernel() {
        hostonly='' instmods rdma_mock dummy virtio_pci virtio_blk virtio_net ext4
}

install() {
        inst_multiple ip cat mkdir rmdir tar
        inst_hook pre-trigger 50 "$moddir/mock.sh"
        inst_hook pre-pivot 50 "$moddir/look.sh"
}
