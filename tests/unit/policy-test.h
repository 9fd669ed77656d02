/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the tests of the policy share: policies from texts, devices from a few words. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-load.h"

/* Parses a text that must be valid. */
static inline Policy *policy_from(const char *text) {
        PolicyText source = { (char *) "test.yaml", (char *) text, strlen(text) };
        Messages messages = {};
        Policy *policy = NULL;
        int r = policy_parse(&source, 1, &policy, &messages);

        for (size_t i = 0; i < messages.n_items; i++)
                print_message("%s\n%s", messages.items[i].text,
                              messages.items[i].excerpt ? messages.items[i].excerpt : "");
        assert_int_equal(r, 0);
        assert_int_equal(messages.n_items, 0);
        messages_done(&messages);
        return policy;
}

/* One rule whose match is given, as in "device: mlx5_0". */
static inline Policy *policy_from_match(const char *match) {
        char text[1024];

        assert_in_range(snprintf(text, sizeof(text), "version: 1\nrules: [{match: {%s}}]\n", match), 1,
                        sizeof(text) - 1);
        return policy_from(text);
}

/* A settled two-port ConnectX; tests change what they are about. */
static inline Port *test_ports(void) {
        static Port ports[2];

        ports[0] = (Port) { 1, LINK_LAYER_ETHERNET, true, true, (char *) "ens1f0np0" };
        ports[1] = (Port) { 2, LINK_LAYER_ETHERNET, true, true, (char *) "ens1f1np1" };
        return ports;
}

static inline Device test_device(void) {
        static Property properties[] = {
                { (char *) "ID_NET_NAME_PATH", (char *) "enp59s0f0" },
                { (char *) "ID_PATH", (char *) "pci-0000:3b:00.0" },
        };

        return (Device){
                .name = (char *) "mlx5_0",
                .settled = true,
                .has_database = true,
                .driver = (char *) "mlx5_core",
                .pci = (char *) "0000:3b:00.0",
                .pci_id = (char *) "15b3:1017",
                .node_guid = (char *) "248a:0703:004b:f0a4",
                .function = FUNCTION_PF,
                .properties = properties,
                .n_properties = ELEMENTSOF(properties),
                .ports = test_ports(),
                .n_ports = 2,
        };
}

/* Neither PCI device nor properties nor driver nor network device. */
static inline Device test_soft_device(void) {
        static Port port;

        port = (Port) { 1, LINK_LAYER_ETHERNET, true, true, NULL };
        return (Device){
                .name = (char *) "rxe0",
                .settled = true,
                .has_database = true,
                .node_guid = (char *) "0000:0000:0000:0000",
                .ports = &port,
                .n_ports = 1,
        };
}
