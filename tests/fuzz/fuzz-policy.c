/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes at all: parsed twice with the same outcome, every message of an invalid policy can be shown, and
 * a valid one can be linted and searched. For libFuzzer: clang -fsanitize=fuzzer,address,undefined. */

#include <stdint.h>

#include "policy-load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_messages(const Messages *messages) {
        for (size_t i = 0; i < messages->n_items; i++) {
                const Message *message = messages->items + i;
                _cleanup_free_ char *text = message_format(message);

                if (!text || strpbrk(message->text, "\n\r\t\x1b"))
                        abort();
                if (i > 0 && message->line > 0 && message->line < messages->items[i - 1].line)
                        abort();
        }
}

static void check_policy(const Policy *policy) {
        Port ports[] = { { 1, LINK_LAYER_ETHERNET, true, true, (char *) "eth0" },
                         { 2, LINK_LAYER_ETHERNET, true, false, NULL } };
        Property property = { (char *) "ID_PATH", (char *) "pci-0000:3b:00.0" };
        Device device = {
                .name = (char *) "mlx5_0",
                .driver = (char *) "mlx5_core",
                .pci = (char *) "0000:3b:00.0",
                .pci_id = (char *) "15b3:1017",
                .node_guid = (char *) "248a:0703:004b:f0a4",
                .function = FUNCTION_PF,
                .properties = &property,
                .n_properties = 1,
                .ports = ports,
                .n_ports = ELEMENTSOF(ports),
        };

        for (unsigned settled = 0; settled < 2; settled++)
                for (size_t i = 0; i < device.n_ports; i++) {
                        MatchResult expected = MATCH_NO;
                        const Rule *rule;
                        size_t k = 0;

                        device.settled = settled == 1;
                        while (k < policy->n_rules && expected == MATCH_NO)
                                expected = rule_match(policy->rules + k++, &device, ports + i, NULL);
                        if (policy_find_rule(policy, &device, ports + i, &rule) != expected)
                                abort();
                        if (expected != MATCH_NO && rule != policy->rules + k - 1)
                                abort();
                }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *bytes = malloc(size + 1);
        _cleanup_(policy_unrefp) Policy *policy = NULL, *again = NULL;
        _cleanup_(messages_done) Messages messages = {}, repeated = {};
        PolicyText text = { .path = (char *) "fuzz.yaml", .bytes = bytes, .size = size };
        int r;

        if (!bytes)
                return 0;
        if (size > 0)
                memcpy(bytes, data, size);
        bytes[size] = 0;

        r = policy_parse(&text, 1, &policy, &messages);
        if (policy_parse(&text, 1, &again, &repeated) != r || messages.n_items != repeated.n_items)
                abort();
        if (r != 0 && r != -EBADMSG)
                abort();
        if ((r == 0) != (messages_count(&messages, SEVERITY_ERROR) == 0))
                abort();
        check_messages(&messages);

        if (policy) {
                if (policy_lint(policy, &repeated) < 0)
                        abort();
                check_messages(&repeated);
                check_policy(policy);
        }
        return 0;
}
