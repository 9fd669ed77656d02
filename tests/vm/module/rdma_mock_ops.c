/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel asks of a device of rdma_mock. Knows nothing of commands, and changes nothing. */

#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "rdma_mock.h"

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
        struct net_device *netdev;
        bool up;

        /* mock_set_netdev() waits for the end of this before it lets go of a network device. */
        rcu_read_lock();
        netdev = READ_ONCE(p->netdev);
        up = !p->ethernet || (netdev && netif_running(netdev) && netif_carrier_ok(netdev));
        rcu_read_unlock();

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
                schedule_timeout_killable(hang * HZ);
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

const struct ib_device_ops mock_ops = {
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
const struct ib_device_ops mock_roce_ops = {
        .add_gid = mock_add_gid,
        .del_gid = mock_del_gid,
};

const struct ib_device_ops mock_iwarp_ops = {
        .iw_create_listen = mock_iw_create_listen,
        .iw_destroy_listen = mock_iw_destroy_listen,
        .iw_connect = mock_iw_connect,
        .iw_accept = mock_iw_accept,
        .iw_reject = mock_iw_reject,
        .iw_add_ref = mock_iw_ref,
        .iw_rem_ref = mock_iw_ref,
        .iw_get_qp = mock_iw_get_qp,
};
