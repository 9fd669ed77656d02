/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a network device's port does with priorities (IEEE 802.1Qaz), as the kernel's DCB interface tells it.
 * No library knows that interface, so its messages are taken apart here with libnl's general means. */

#include <stdbool.h>
#include <stddef.h>

#define DSCP_MAX 63
#define PRIORITY_NONE (-1)

typedef struct Dcb {
        bool has_pfc;
        unsigned pfc;               /* set of 1 << priority with flow control */
        int priority[DSCP_MAX + 1]; /* of each DSCP; PRIORITY_NONE: nothing is said of it */
        bool has_trust;             /* kernels before 6.2, and some drivers, do not tell */
        bool trusts_dscp;
} Dcb;

/* Any user may ask. -EOPNOTSUPP: the driver knows no DCB. -ENODEV: no such network device here. */
int dcb_acquire(const char *netdev, Dcb *ret);

/* One netlink message of "size" bytes, the answer. Pure. -EBADMSG: it is none. */
int dcb_parse(const void *message, size_t size, Dcb *ret);

/* What keeps packets of that DSCP from being treated as such; a set. Pure. */
typedef enum DcbTrouble {
        DCB_TRUSTS_NO_DSCP = 1 << 0,
        DCB_NO_PRIORITY = 1 << 1,     /* none but the default one */
        DCB_NO_FLOW_CONTROL = 1 << 2, /* for its priority */
} DcbTrouble;

DcbTrouble dcb_judge(const Dcb *dcb, unsigned dscp);
