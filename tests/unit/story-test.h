/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The story of one attribute, with a clock that moves when told to. */

#include "policy-test.h"
#include "sink.h"
#include "story.h"

#define SEC USEC_PER_SEC
#define REALTIME 1700000000000000ULL

/* One attribute of port 1 of mlx5_0, and a clock that moves when told to. */
typedef struct Tale {
        Story story;
        StoryContext context;
        PortReport port;
        DeviceReport report;
        Rule rule;
        Policy policy;
        Device device;
} Tale;

static Tale tale;

static inline int setup(void **state) {
        tale = (Tale) {};
        tale.device = test_device();
        tale.policy = (Policy) { .sha256 = "7f2c43106364d8112fcc3060e4ab8b20f5d1a17d9cbf3c2540529663004adff8" };
        tale.rule = (Rule) { .name = (char *) "storage rail", .source = (char *) "/etc/roced/policy.yaml:4" };
        tale.port = (PortReport) { .number = 1, .rule = &tale.rule, .match = MATCH_YES, .watch = -1 };
        tale.report = (DeviceReport) {
                .name = (char *) "mlx5_0",
                .policy = &tale.policy,
                .device = &tale.device,
                .ports = &tale.port,
                .n_ports = 1,
        };
        tale.context = (StoryContext) {
                .report = &tale.report,
                .port = &tale.port,
                .attribute = ATTRIBUTE_TOS,
                .trigger = TRIGGER_STARTUP,
                .now = { 1000 * SEC, REALTIME },
        };
        return 0;
}

static inline int teardown(void **state) {
        sink_empty();
        return 0;
}

static inline void pass(uint64_t usec) {
        tale.context.now.monotonic_usec += usec;
        tale.context.now.realtime_usec += usec;
}

static inline bool update(Verdict verdict) {
        return story_update(&tale.story, &verdict, &tale.context);
}

static inline Verdict right(void) {
        return (Verdict) { .state = STATE_OK, .wanted = 104, .found = 104, .readback = VALUE_NONE };
}

static inline Verdict written_over(int found) {
        return (Verdict) { .state = STATE_OK, .wanted = 104, .found = found, .readback = 104, .tried = true };
}

static inline Verdict in_trouble(State state, Reason reason) {
        return (Verdict) { .state = state, .reason = reason, .wanted = 104, .found = 0, .readback = VALUE_NONE };
}

static inline Verdict pending(Reason reason) {
        return (Verdict) {
                .state = STATE_PENDING, .reason = reason, .wanted = 104, .found = VALUE_NONE, .readback = VALUE_NONE
        };
}
