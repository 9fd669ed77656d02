/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of rdma_mock share: a device, and what the kernel may call on it. */

#ifndef RDMA_MOCK_H
#define RDMA_MOCK_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>

#define MOCK_MAX_PORTS 16
#define MOCK_GIDS 16

struct mock_port {
        u32 caps;
        bool ethernet;
        struct net_device *netdev;      /* with a reference of ours */
};

struct mock_device {
        struct ib_device ib;            /* first: it is what ib_alloc_device() allocates */
        struct list_head list;
        struct pci_dev *pci;
        unsigned int n_ports;
        unsigned int hang;
        struct mock_port ports[MOCK_MAX_PORTS];
};

/* For all devices, for those that are not iWARP, and for iWARP. */
extern const struct ib_device_ops mock_ops;
extern const struct ib_device_ops mock_roce_ops;
extern const struct ib_device_ops mock_iwarp_ops;

#endif
