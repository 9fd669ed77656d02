/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA devices that move no data, for tests of what looks at devices and ports: any number of ports, RoCE v1,
 * v2 or both, InfiniBand or iWARP, with a network device and a PCI parent if wanted.
 *
 * One command a write to /sys/module/rdma_mock/parameters/control; one that fails gives the writer its errno:
 *
 *   add NAME PORT[,PORT...] [pci=DDDD:BB:SS.F] [guid=HEX16] [nocm] [hang=SECONDS]
 *           PORT is CAPS[@NETDEV], CAPS is v1, v2, v1v2, ib or iwarp. One iwarp port makes the whole device
 *           iWARP; all ports must have a network device then, which the core asks for their state.
 *           nocm: the ports have no connection manager, rdma_cm ignores the device.
 *           hang: iWARP only. Listening takes that long, with the lock of rdma_cm held: start a listener on
 *           the wildcard address, then add the device, and all of rdma_cm stands still until then, or until
 *           the one who adds it is killed.
 *   del NAME
 *   clear
 *           Deletes all of them, whatever their names are by now.
 *   netdev NAME PORT NETDEV|-
 *           Gives the port another network device, or none.
 *
 * NAME is the name that the device bears now (one that is taken: ENFILE). Commands run one at a time.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "rdma_mock.h"

#define MOCK_MAX_COMMAND 1024

/* Holds the list, and commands one at a time. Never taken under RTNL, since registering takes that. */
static DEFINE_MUTEX(mock_lock);
static LIST_HEAD(mock_devices);
static atomic_t mock_guids = ATOMIC_INIT(0);

/* Making, changing and deleting devices; all with mock_lock held. */

static int mock_set_netdev(struct mock_device *device, unsigned int port, struct net_device *netdev)
{
        struct mock_port *p = &device->ports[port - 1];
        struct net_device *old = p->netdev;
        int r;

        r = ib_device_set_netdev(&device->ib, netdev, port);
        if (r < 0)
                return r;

        if (netdev)
                dev_hold(netdev);
        WRITE_ONCE(p->netdev, netdev);
        synchronize_net();
        dev_put(old);
        return 0;
}

static int mock_find_netdev(const char *name, struct net_device **ret)
{
        *ret = dev_get_by_name(&init_net, name);
        return *ret ? 0 : -ENXIO;
}

static int mock_parse_caps(const char *caps, struct mock_port *ret, bool *ret_iwarp)
{
        const u32 roce = RDMA_CORE_CAP_IB_CM | RDMA_CORE_CAP_AF_IB | RDMA_CORE_CAP_ETH_AH;

        ret->ethernet = true;
        if (!strcmp(caps, "v1"))
                ret->caps = roce | RDMA_CORE_CAP_PROT_ROCE;
        else if (!strcmp(caps, "v2"))
                ret->caps = roce | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
        else if (!strcmp(caps, "v1v2"))
                ret->caps = roce | RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
        else if (!strcmp(caps, "iwarp")) {
                ret->caps = RDMA_CORE_CAP_PROT_IWARP | RDMA_CORE_CAP_IW_CM;
                *ret_iwarp = true;
        } else if (!strcmp(caps, "ib")) {
                ret->caps = RDMA_CORE_CAP_PROT_IB | RDMA_CORE_CAP_IB_CM | RDMA_CORE_CAP_AF_IB;
                ret->ethernet = false;
        } else
                return -EINVAL;
        return 0;
}

/* Each port's network device gets a reference here; mock_device_free() drops what is left of them. */
static int mock_parse_ports(char *text, struct mock_device *device, struct net_device **netdevs,
                            bool *ret_iwarp)
{
        char *word, *netdev;
        unsigned int i;
        int r;

        while ((word = strsep(&text, ","))) {
                if (device->n_ports >= MOCK_MAX_PORTS)
                        return -E2BIG;

                netdev = strchr(word, '@');
                if (netdev)
                        *netdev++ = 0;

                r = mock_parse_caps(word, &device->ports[device->n_ports], ret_iwarp);
                if (r < 0)
                        return r;
                if (netdev) {
                        r = mock_find_netdev(netdev, &netdevs[device->n_ports]);
                        if (r < 0)
                                return r;
                }
                device->n_ports++;
        }

        if (*ret_iwarp)
                for (i = 0; i < device->n_ports; i++)
                        if (!netdevs[i])
                                return -EINVAL;
        return 0;
}

static int mock_parse_option(char *word, struct mock_device *device, bool *ret_nocm)
{
        unsigned int domain, bus, slot, function;
        u64 guid;
        int r;

        if (!strcmp(word, "nocm")) {
                *ret_nocm = true;
                return 0;
        }
        if (!strncmp(word, "hang=", 5))
                return kstrtouint(word + 5, 10, &device->hang);
        if (!strncmp(word, "guid=", 5)) {
                r = kstrtou64(word + 5, 16, &guid);
                if (r < 0)
                        return r;
                device->ib.node_guid = cpu_to_be64(guid);
                return 0;
        }
        if (sscanf(word, "pci=%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4) {
                if (device->pci)
                        return -EINVAL;
                device->pci = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, function));
                if (!device->pci)
                        return -ENXIO;
                device->ib.dev.parent = &device->pci->dev;
                return 0;
        }
        return -EINVAL;
}

static void mock_device_free(struct mock_device *device)
{
        struct pci_dev *pci = device->pci;
        unsigned int i;

        for (i = 0; i < device->n_ports; i++)
                if (device->ports[i].netdev)
                        mock_set_netdev(device, i + 1, NULL);

        ib_dealloc_device(&device->ib);
        pci_dev_put(pci);
}

static int mock_device_register(struct mock_device *device, const char *name, struct net_device **netdevs,
                                bool iwarp, bool nocm)
{
        unsigned int i;
        int r;

        ib_set_device_ops(&device->ib, &mock_ops);
        ib_set_device_ops(&device->ib, iwarp ? &mock_iwarp_ops : &mock_roce_ops);
        device->ib.node_type = iwarp ? RDMA_NODE_RNIC : RDMA_NODE_IB_CA;
        device->ib.phys_port_cnt = device->n_ports;
        device->ib.num_comp_vectors = 1;
        device->ib.local_dma_lkey = 0;
        strscpy(device->ib.node_desc, "rdma_mock", sizeof(device->ib.node_desc));

        for (i = 0; i < device->n_ports; i++) {
                if (nocm)
                        device->ports[i].caps &= ~(RDMA_CORE_CAP_IB_CM | RDMA_CORE_CAP_IW_CM);
                if (netdevs[i]) {
                        r = mock_set_netdev(device, i + 1, netdevs[i]);
                        if (r < 0)
                                return r;
                }
        }

        return ib_register_device(&device->ib, name, NULL);
}

static int mock_add(const char *name, char *ports, char *options)
{
        struct net_device *netdevs[MOCK_MAX_PORTS] = {};
        struct mock_device *device;
        bool iwarp = false, nocm = false;
        unsigned int i;
        char *word;
        int r;

        /* The core takes a % for a place where it puts a number. */
        if (strlen(name) >= IB_DEVICE_NAME_MAX || strchr(name, '%'))
                return -EINVAL;

        device = ib_alloc_device(mock_device, ib);
        if (!device)
                return -ENOMEM;
        device->ib.node_guid = cpu_to_be64(0x025e000000000000ULL +
                                           ((u64) atomic_inc_return(&mock_guids) << 8));

        r = mock_parse_ports(ports, device, netdevs, &iwarp);
        while (r == 0 && (word = strsep(&options, " ")))
                if (*word)
                        r = mock_parse_option(word, device, &nocm);
        if (r == 0)
                r = mock_device_register(device, name, netdevs, iwarp, nocm);

        for (i = 0; i < MOCK_MAX_PORTS; i++)
                dev_put(netdevs[i]);
        if (r < 0) {
                mock_device_free(device);
                return r;
        }

        list_add_tail(&device->list, &mock_devices);
        return 0;
}

/* Names may change at any time: the core compares under its own lock, we see whether what it found is ours. */
static struct mock_device *mock_find(const char *name)
{
        struct mock_device *device, *found = NULL;
        struct ib_device *ib;

        ib = ib_device_get_by_name(name, RDMA_DRIVER_UNKNOWN);
        if (!ib)
                return NULL;

        list_for_each_entry(device, &mock_devices, list)
                if (&device->ib == ib)
                        found = device;

        ib_device_put(ib);
        return found;
}

static void mock_device_remove(struct mock_device *device)
{
        list_del(&device->list);
        ib_unregister_device(&device->ib);
        mock_device_free(device);
}

static int mock_del(const char *name)
{
        struct mock_device *device = mock_find(name);

        if (!device)
                return -ENODEV;

        mock_device_remove(device);
        return 0;
}

static void mock_clear(void)
{
        struct mock_device *device, *next;

        list_for_each_entry_safe(device, next, &mock_devices, list)
                mock_device_remove(device);
}

static int mock_change_netdev(const char *name, const char *port_text, const char *netdev_name)
{
        struct mock_device *device = mock_find(name);
        struct net_device *netdev = NULL;
        unsigned int port;
        int r;

        if (!device)
                return -ENODEV;

        r = kstrtouint(port_text, 10, &port);
        if (r < 0)
                return r;
        if (port < 1 || port > device->n_ports)
                return -ENOENT;

        if (strcmp(netdev_name, "-") != 0) {
                r = mock_find_netdev(netdev_name, &netdev);
                if (r < 0)
                        return r;
        }

        r = mock_set_netdev(device, port, netdev);
        dev_put(netdev);
        return r;
}

/* A network device that goes waits until nobody refers to it. Not in the notifier, which runs under RTNL. */
static void mock_drop_netdevs(struct work_struct *work)
{
        struct mock_device *device;
        struct net_device *netdev;
        unsigned int i;

        mutex_lock(&mock_lock);
        list_for_each_entry(device, &mock_devices, list)
                for (i = 0; i < device->n_ports; i++) {
                        netdev = device->ports[i].netdev;
                        if (netdev && READ_ONCE(netdev->reg_state) != NETREG_REGISTERED)
                                mock_set_netdev(device, i + 1, NULL);
                }
        mutex_unlock(&mock_lock);
}

static DECLARE_WORK(mock_drop_work, mock_drop_netdevs);

static int mock_netdev_event(struct notifier_block *block, unsigned long event, void *arg)
{
        if (event == NETDEV_UNREGISTER)
                schedule_work(&mock_drop_work);
        return NOTIFY_DONE;
}

static struct notifier_block mock_netdev_notifier = {
        .notifier_call = mock_netdev_event,
};

static int mock_command(char *text)
{
        char *verb = strsep(&text, " "), *name = strsep(&text, " "), *first = strsep(&text, " ");

        if (!strcmp(verb, "clear") && !name) {
                mock_clear();
                return 0;
        }
        if (!name || !*name)
                return -EINVAL;
        if (!strcmp(verb, "add") && first)
                return mock_add(name, first, text);
        if (!strcmp(verb, "del") && !first)
                return mock_del(name);
        if (!strcmp(verb, "netdev") && first && text)
                return mock_change_netdev(name, first, text);
        return -EINVAL;
}

static int mock_control_set(const char *value, const struct kernel_param *param)
{
        char *text;
        int r;

        if (strlen(value) >= MOCK_MAX_COMMAND)
                return -E2BIG;

        text = kstrdup(value, GFP_KERNEL);
        if (!text)
                return -ENOMEM;

        mutex_lock(&mock_lock);
        r = mock_command(strim(text));
        mutex_unlock(&mock_lock);

        kfree(text);
        return r;
}

static const struct kernel_param_ops mock_control_ops = {
        .set = mock_control_set,
};

module_param_cb(control, &mock_control_ops, NULL, 0200);
MODULE_PARM_DESC(control, "add NAME PORT,... [pci=] [guid=] [nocm] [hang=] | del NAME | clear | "
                          "netdev NAME PORT NETDEV");

static int __init mock_init(void)
{
        return register_netdevice_notifier(&mock_netdev_notifier);
}

static void __exit mock_exit(void)
{
        unregister_netdevice_notifier(&mock_netdev_notifier);
        cancel_work_sync(&mock_drop_work);

        mutex_lock(&mock_lock);
        mock_clear();
        mutex_unlock(&mock_lock);
}

module_init(mock_init);
module_exit(mock_exit);

MODULE_DESCRIPTION("RDMA devices without hardware, for tests of RoCE configuration");
MODULE_LICENSE("GPL");
