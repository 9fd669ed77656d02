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
 *           the wildcard address, then add the device, and all of rdma_cm stands still meanwhile.
 *   del NAME
 *   clear
 *           Deletes all of them, whatever their names are by now.
 *   netdev NAME PORT NETDEV|-
 *           Gives the port another network device, or none.
 *
 * NAME is the name that the device bears now (one that is taken: ENFILE). Commands run one at a time.
 */

#include <linux/delay.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#define MOCK_MAX_PORTS 16
#define MOCK_GIDS 16
#define MOCK_MAX_COMMAND 1024

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

struct mock_ucontext {
        struct ib_ucontext ib;
};

struct mock_pd {
        struct ib_pd ib;
};

struct mock_cq {
        struct ib_cq ib;
};

struct mock_qp {
        struct ib_qp ib;
};

/* Holds the list, and commands one at a time. Never taken under RTNL, since registering takes that. */
static DEFINE_MUTEX(mock_lock);
static LIST_HEAD(mock_devices);
static atomic_t mock_guids = ATOMIC_INIT(0);

static struct mock_device *to_mock(struct ib_device *ib)
{
        return container_of(ib, struct mock_device, ib);
}

static struct mock_port *to_port(struct ib_device *ib, u32 port)
{
        return &to_mock(ib)->ports[port - 1];
}

/* What can be asked about a device and its ports. */

static int mock_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
        memset(attr, 0, sizeof(*attr));
        attr->sys_image_guid = ib->node_guid;
        attr->vendor_id = 0x02c9;
        attr->max_mr_size = U64_MAX;
        attr->page_size_cap = PAGE_SIZE;
        attr->max_pkeys = 1;
        return 0;
}

static int mock_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
        struct mock_port *p = to_port(ib, port);
        struct net_device *netdev = READ_ONCE(p->netdev);
        bool up = !p->ethernet || (netdev && netif_running(netdev) && netif_carrier_ok(netdev));

        attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
        attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
        attr->max_mtu = IB_MTU_4096;
        attr->active_mtu = IB_MTU_1024;
        attr->gid_tbl_len = MOCK_GIDS;
        attr->pkey_tbl_len = 1;
        attr->active_width = IB_WIDTH_4X;
        attr->active_speed = IB_SPEED_EDR;
        attr->max_msg_sz = SZ_1M;
        if (!p->ethernet) {
                attr->lid = port;
                attr->sm_lid = 1;
        }
        return 0;
}

static enum rdma_link_layer mock_get_link_layer(struct ib_device *ib, u32 port)
{
        return to_port(ib, port)->ethernet ? IB_LINK_LAYER_ETHERNET : IB_LINK_LAYER_INFINIBAND;
}

static int mock_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
        immutable->core_cap_flags = to_port(ib, port)->caps;
        immutable->gid_tbl_len = MOCK_GIDS;
        immutable->pkey_tbl_len = 1;
        return 0;
}

static int mock_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
        if (index > 0)
                return -EINVAL;

        *pkey = 0xffff;
        return 0;
}

/* For ports whose table the core does not fill from network devices. */
static int mock_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
        memset(gid, 0, sizeof(*gid));
        if (index == 0) {
                gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
                gid->global.interface_id = cpu_to_be64(be64_to_cpu(ib->node_guid) + port);
        }
        return 0;
}

/* The core keeps the table; that there is something to call is what makes it do so. */
static int mock_add_gid(const struct ib_gid_attr *attr, void **context)
{
        return 0;
}

static int mock_del_gid(const struct ib_gid_attr *attr, void **context)
{
        return 0;
}

static void mock_get_dev_fw_str(struct ib_device *ib, char *str)
{
        snprintf(str, IB_FW_VERSION_NAME_MAX, "1.2.3");
}

/* What must be there for rdma_cm to take the device for a whole one. None of it works. */

static int mock_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
        return 0;
}

static void mock_dealloc_ucontext(struct ib_ucontext *context)
{
}

/* Lets the device be moved between network namespaces. */
static void mock_disassociate_ucontext(struct ib_ucontext *context)
{
}

static int mock_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
        return -EOPNOTSUPP;
}

static int mock_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
        return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static int mock_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
                          struct uverbs_attr_bundle *attrs)
#else
static int mock_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
#endif
{
        return -EOPNOTSUPP;
}

static int mock_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
        return 0;
}

static int mock_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
        return 0;
}

static int mock_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
        return 0;
}

static int mock_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
        return -EOPNOTSUPP;
}

static int mock_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
        return -EOPNOTSUPP;
}

static int mock_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
        return 0;
}

static int mock_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr)
{
        *bad_wr = wr;
        return -EOPNOTSUPP;
}

static int mock_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr)
{
        *bad_wr = wr;
        return -EOPNOTSUPP;
}

static struct ib_mr *mock_get_dma_mr(struct ib_pd *pd, int access)
{
        return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *mock_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 address, int access,
                                      struct ib_udata *udata)
{
        return ERR_PTR(-EOPNOTSUPP);
}

static int mock_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
        return 0;
}

/* iWARP. Listening is asked for with the lock of rdma_cm held. */

static int mock_iw_create_listen(struct iw_cm_id *id, int backlog)
{
        unsigned int hang = to_mock(id->device)->hang;

        if (hang > 0)
                msleep(hang * 1000);
        return -EOPNOTSUPP;
}

static int mock_iw_destroy_listen(struct iw_cm_id *id)
{
        return 0;
}

static int mock_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
        return -EOPNOTSUPP;
}

static int mock_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
        return -EOPNOTSUPP;
}

static int mock_iw_reject(struct iw_cm_id *id, const void *data, u8 size)
{
        return -EOPNOTSUPP;
}

static void mock_iw_ref(struct ib_qp *qp)
{
}

static struct ib_qp *mock_iw_get_qp(struct ib_device *ib, int qpn)
{
        return NULL;
}

static const struct ib_device_ops mock_ops = {
        .owner = THIS_MODULE,
        .driver_id = RDMA_DRIVER_UNKNOWN,
        .uverbs_abi_ver = 1,

        .query_device = mock_query_device,
        .query_port = mock_query_port,
        .query_pkey = mock_query_pkey,
        .query_gid = mock_query_gid,
        .get_link_layer = mock_get_link_layer,
        .get_port_immutable = mock_get_port_immutable,
        .get_dev_fw_str = mock_get_dev_fw_str,

        .alloc_ucontext = mock_alloc_ucontext,
        .dealloc_ucontext = mock_dealloc_ucontext,
        .disassociate_ucontext = mock_disassociate_ucontext,
        .alloc_pd = mock_alloc_pd,
        .dealloc_pd = mock_dealloc_pd,
        .create_cq = mock_create_cq,
        .destroy_cq = mock_destroy_cq,
        .poll_cq = mock_poll_cq,
        .req_notify_cq = mock_req_notify_cq,
        .create_qp = mock_create_qp,
        .modify_qp = mock_modify_qp,
        .destroy_qp = mock_destroy_qp,
        .post_send = mock_post_send,
        .post_recv = mock_post_recv,
        .get_dma_mr = mock_get_dma_mr,
        .reg_user_mr = mock_reg_user_mr,
        .dereg_mr = mock_dereg_mr,

        INIT_RDMA_OBJ_SIZE(ib_ucontext, mock_ucontext, ib),
        INIT_RDMA_OBJ_SIZE(ib_pd, mock_pd, ib),
        INIT_RDMA_OBJ_SIZE(ib_cq, mock_cq, ib),
        INIT_RDMA_OBJ_SIZE(ib_qp, mock_qp, ib),
};

/* These make the core keep a GID table from the addresses of network devices: for RoCE only. */
static const struct ib_device_ops mock_roce_ops = {
        .add_gid = mock_add_gid,
        .del_gid = mock_del_gid,
};

static const struct ib_device_ops mock_iwarp_ops = {
        .iw_create_listen = mock_iw_create_listen,
        .iw_destroy_listen = mock_iw_destroy_listen,
        .iw_connect = mock_iw_connect,
        .iw_accept = mock_iw_accept,
        .iw_reject = mock_iw_reject,
        .iw_add_ref = mock_iw_ref,
        .iw_rem_ref = mock_iw_ref,
        .iw_get_qp = mock_iw_get_qp,
};

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
