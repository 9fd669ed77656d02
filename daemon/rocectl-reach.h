/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether a client reaches a server, by RoCE version. Pure: knows no files, no hosts and no output.
 *
 * The client decides: its port's RDMA_CM default is the version of the connection, and the server follows if
 * its port has that version at all (drivers/infiniband/core/cma.c). */

#include <stdint.h>

#include "attribute.h"
#include "device.h"

typedef enum Reach {
        REACH_NO,
        REACH_UNKNOWN,
        REACH_YES,
} Reach;

/* All that counts of a port. */
typedef struct PortKind {
        int mode;         /* a RoceMode, what its clients use; VALUE_NONE: not known */
        unsigned takes;   /* set of Support: versions that its servers take */
        unsigned unknown; /* set of Support: versions of which that is not known; none of "takes" */
} PortKind;

/* "supported" is a set of Support, or negative if the port's GIDs say nothing. */
PortKind port_kind(int mode, int supported);

/* The pair by name: both ports are taken to be in that mode, and the server's to take no newer version. */
Reach modes_reach(RoceMode client, RoceMode server);

Reach kind_reach(const PortKind *client, const PortKind *server);

/* A set of kinds, which is all that counts of a host; bit n is the kind of number n. */
typedef uint64_t KindSet;
#define KINDS_MAX 48U

unsigned kind_number(const PortKind *kind); /* below KINDS_MAX */
PortKind kind_from_number(unsigned number);

static inline KindSet kind_set(const PortKind *kind) {
        return (KindSet) 1 << kind_number(kind);
}

/* From every port of one host to every port of another. */
typedef enum HostReach {
        HOST_REACH_NONE,    /* one of them has no RoCE port */
        HOST_REACH_NO,      /* through no pair of ports */
        HOST_REACH_PART,    /* through some pairs, not through others */
        HOST_REACH_UNKNOWN, /* nothing stands in the way for sure, and of some pair it is not known */
        HOST_REACH_YES,
        _HOST_REACH_MAX,
} HostReach;

HostReach host_reach(KindSet client, KindSet server);
const char *host_reach_to_string(HostReach reach); /* "no", "part", "unknown", "yes"; NULL for none */
