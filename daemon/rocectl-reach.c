/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who reaches whom. Pure. */

#include "rocectl-reach.h"

static unsigned mode_support(int mode) {
        switch (mode) {
        case ROCE_V1:
                return SUPPORT_V1;
        case ROCE_V2:
                return SUPPORT_V2;
        default:
                return 0;
        }
}

/* The kernel sets no default that the port cannot do, so the mode found is taken too. */
PortKind port_kind(int mode, int supported) {
        unsigned takes = mode_support(mode) | (supported >= 0 ? (unsigned) supported : 0);

        return (PortKind){
                .mode = mode,
                .takes = takes,
                .unknown = supported >= 0 ? 0 : (SUPPORT_V1 | SUPPORT_V2) & ~takes,
        };
}

Reach modes_reach(RoceMode client, RoceMode server) {
        return client == ROCE_V2 && server == ROCE_V1 ? REACH_NO : REACH_YES;
}

static Reach support_reach(unsigned version, const PortKind *server) {
        if (server->takes & version)
                return REACH_YES;
        return server->unknown & version ? REACH_UNKNOWN : REACH_NO;
}

Reach kind_reach(const PortKind *client, const PortKind *server) {
        Reach v1, v2;

        if (client->mode != VALUE_NONE)
                return support_reach(mode_support(client->mode), server);

        v1 = support_reach(SUPPORT_V1, server);
        v2 = support_reach(SUPPORT_V2, server);
        return v1 == v2 ? v1 : REACH_UNKNOWN;
}

unsigned kind_number(const PortKind *kind) {
        unsigned mode = kind->mode == VALUE_NONE ? 0 : (unsigned) kind->mode;

        return mode << 4 | kind->takes << 2 | kind->unknown;
}

PortKind kind_from_number(unsigned number) {
        return (PortKind){
                .mode = number >> 4 == 0 ? VALUE_NONE : (int) (number >> 4),
                .takes = number >> 2 & 3,
                .unknown = number & 3,
        };
}

HostReach host_reach(KindSet client, KindSet server) {
        unsigned seen[REACH_YES + 1] = {};

        for (unsigned c = 0; c < KINDS_MAX; c++)
                for (unsigned s = 0; client >> c & 1 && s < KINDS_MAX; s++)
                        if (server >> s & 1) {
                                PortKind from = kind_from_number(c), to = kind_from_number(s);

                                seen[kind_reach(&from, &to)]++;
                        }

        if (seen[REACH_NO] > 0)
                return seen[REACH_YES] + seen[REACH_UNKNOWN] > 0 ? HOST_REACH_PART : HOST_REACH_NO;
        if (seen[REACH_UNKNOWN] > 0)
                return HOST_REACH_UNKNOWN;
        return seen[REACH_YES] > 0 ? HOST_REACH_YES : HOST_REACH_NONE;
}

const char *host_reach_to_string(HostReach reach) {
        static const char *const table[_HOST_REACH_MAX] = {
                [HOST_REACH_NO] = "no",
                [HOST_REACH_PART] = "part",
                [HOST_REACH_UNKNOWN] = "unknown",
                [HOST_REACH_YES] = "yes",
        };

        return table[reach];
}
