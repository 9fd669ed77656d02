/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The policies that schedules choose from, parsed once. */

#include "policy-load.h"
#include "simulation.h"

static const char *const texts[POLICIES - 1] = {
        "[]",
        "[{match: any, mode: v2, tos: 104}]",
        "[{match: any, mode: v1}]",
        "[{match: {device: mlx5_0}, mode: v1}, {match: any, mode: v2, dscp: 26}]",
        "[{match: {driver: mlx4_core}, mode: v1}, {match: any, tos: 106}]",
        "[{match: {netdev: lan0}, mode: v2, tos: 8}, {match: {netdev: [lan1, lan2]}, tos: 16}]",
        "[{match: any, mode: v2, tos: 104, enforcement: report}]",
        "[{match: {port: 1}, mode: v2}, {match: {port: 2}, tos: 32}]",
        "[{match: {device: [mlx5_0, 'rocep*']}, mode: v2, tos: 104}, {match: {device: mlx5_1}}, {match: any, tos: 1}]",
        "[{match: {property: {ID_RAIL: ['0', '2']}}, mode: v1, tos: 255}, {match: any, mode: v2}]",
        "[{match: {device: '!rxe0'}, mode: v1, tos: 0}]",
        "[{match: {device: mlx5_0}, mode: v1, tos: 3, enforcement: report}, {match: any, mode: v2, tos: 104}]",
        "[{match: {device: 'rocep*'}, tos: 0}, {match: any, mode: v2, tos: 4}]",
};

static Policy *policies[POLICIES];

void policies_load(void) {
        for (unsigned i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_(messages_done) Messages messages = {};
                char text[512];
                int n = snprintf(text, sizeof(text), "version: 1\nrules: %s\n", texts[i]);
                PolicyText source = { (char *) "policy.yaml", text, (size_t) n };

                if (policy_parse(&source, 1, policies + i, &messages) < 0)
                        violated("policy %u is invalid: %s", i,
                                 messages.n_items > 0 ? messages.items[0].text : "out of memory");
        }
}

void policies_free(void) {
        for (unsigned i = 0; i < POLICIES; i++)
                policies[i] = policy_unref(policies[i]);
}

Policy *policy_choose(void) {
        unsigned i = chance(3) ? 1 : random_below(POLICIES);

        trace("world  the policy is %s", i < ELEMENTSOF(texts) ? texts[i] : "none");
        return policies[i];
}
