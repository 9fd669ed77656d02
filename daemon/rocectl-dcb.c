/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Asks for one network device. Message formats: include/uapi/linux/dcbnl.h, net/dcb/dcbnl.c. */

#include "rocectl-dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include "base.h"

/* Since Linux 6.2, and not in the headers of older ones. */
#define ATTRIBUTE_TRUST_TABLE 11

DEFINE_CLEANUP(struct nl_sock *, nl_socket_free)
DEFINE_CLEANUP(struct nl_msg *, nlmsg_free)

static void parse_applications(const struct nlattr *table, Dcb *dcb) {
        struct nlattr *entry;
        int rest;

        nla_for_each_nested(entry, (struct nlattr *) table, rest) {
                struct dcb_app application;

                if (nla_type(entry) != DCB_ATTR_IEEE_APP || nla_len(entry) < (int) sizeof(application))
                        continue;
                memcpy(&application, nla_data(entry), sizeof(application));
                /* The interface has a byte for a priority, of which there are eight. */
                if (application.selector != IEEE_8021QAZ_APP_SEL_DSCP || application.protocol > DSCP_MAX ||
                    application.priority >= IEEE_8021QAZ_MAX_TCS)
                        continue;
                /* Of several the kernel's drivers take the highest. */
                dcb->priority[application.protocol] =
                                MAX_OF(dcb->priority[application.protocol], (int) application.priority);
        }
}

static void parse_trust(const struct nlattr *table, Dcb *dcb) {
        struct nlattr *entry;
        int rest;

        dcb->has_trust = true;
        nla_for_each_nested(entry, (struct nlattr *) table,
                            rest) if (nla_len(entry) >= 1 && nla_get_u8(entry) == IEEE_8021QAZ_APP_SEL_DSCP)
                        dcb->trusts_dscp = true;
}

static void parse_ieee(const struct nlattr *ieee, Dcb *dcb) {
        struct nlattr *attribute;
        int rest;

        nla_for_each_nested(attribute, (struct nlattr *) ieee, rest) switch (nla_type(attribute)) {
        case DCB_ATTR_IEEE_PFC:
                /* struct ieee_pfc: what it can do, then what is enabled, a byte each. */
                if (nla_len(attribute) >= 2) {
                        dcb->has_pfc = true;
                        dcb->pfc = ((const unsigned char *) nla_data(attribute))[1];
                }
                break;
        case DCB_ATTR_IEEE_APP_TABLE:
                parse_applications(attribute, dcb);
                break;
        case ATTRIBUTE_TRUST_TABLE:
                parse_trust(attribute, dcb);
                break;
        }
}

int dcb_parse(const void *message, size_t size, Dcb *ret) {
        struct nlmsghdr *header = (struct nlmsghdr *) message;
        struct nlattr *attribute;
        int left = (int) size, rest;
        Dcb dcb = {};

        if (!nlmsg_ok(header, left))
                return -EBADMSG;
        if (header->nlmsg_type == NLMSG_ERROR) {
                int error = nlmsg_datalen(header) >= (int) sizeof(struct nlmsgerr)
                                            ? ((const struct nlmsgerr *) nlmsg_data(header))->error
                                            : 0;

                return error < 0 ? error : -EBADMSG;
        }
        if (header->nlmsg_type != RTM_GETDCB || !nlmsg_valid_hdr(header, sizeof(struct dcbmsg)))
                return -EBADMSG;

        for (size_t i = 0; i < ELEMENTSOF(dcb.priority); i++)
                dcb.priority[i] = PRIORITY_NONE;
        nlmsg_for_each_attr(attribute, header, sizeof(struct dcbmsg),
                            rest) if (nla_type(attribute) == DCB_ATTR_IEEE) parse_ieee(attribute, &dcb);
        *ret = dcb;
        return 0;
}

DcbTrouble dcb_judge(const Dcb *dcb, unsigned dscp) {
        unsigned trouble = dcb->has_trust && !dcb->trusts_dscp ? DCB_TRUSTS_NO_DSCP : 0;
        int priority = dcb->priority[dscp];

        if (priority == PRIORITY_NONE)
                trouble |= DCB_NO_PRIORITY;
        else if (dcb->has_pfc && !(dcb->pfc >> priority & 1))
                trouble |= DCB_NO_FLOW_CONTROL;
        return (DcbTrouble) trouble;
}

static int request_send(struct nl_sock *socket, const char *netdev) {
        struct dcbmsg head = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET };
        _cleanup_(nlmsg_freep) struct nl_msg *message = nlmsg_alloc_simple(RTM_GETDCB, NLM_F_REQUEST);

        if (!message || nlmsg_append(message, &head, sizeof(head), NLMSG_ALIGNTO) < 0 ||
            nla_put_string(message, DCB_ATTR_IFNAME, netdev) < 0)
                return -ENOMEM;
        nl_socket_disable_auto_ack(socket);
        return nl_send_auto(socket, message) < 0 ? -EIO : 0;
}

int dcb_acquire(const char *netdev, Dcb *ret) {
        _cleanup_(nl_socket_freep) struct nl_sock *socket = nl_socket_alloc();
        struct timeval timeout = { .tv_sec = 2 };
        _cleanup_free_ unsigned char *answer = NULL;
        struct sockaddr_nl from;
        int r;

        if (!socket)
                return -ENOMEM;
        if (nl_connect(socket, NETLINK_ROUTE) < 0)
                return -EPROTONOSUPPORT;
        (void) setsockopt(nl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        r = request_send(socket, netdev);
        if (r < 0)
                return r;
        r = nl_recv(socket, &from, &answer, NULL);
        if (r <= 0)
                return r == -NLE_NOMEM ? -ENOMEM : -ETIMEDOUT;
        return dcb_parse(answer, (size_t) r, ret);
}
