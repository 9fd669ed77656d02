/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a policy: parsed twice with the same outcome, each message can be shown and names a place in the file,
 * and a valid policy can be linted and searched, by its index as well as rule by rule. */

#include "fuzz.h"
#include "policy-index.h"
#include "policy-load.h"

/* No policy so short has an index. */
#define RULES_MANY 20U
#define COPIES_MAX RULES_MANY

static size_t line_length(const char *bytes, size_t size, unsigned line) {
        const char *start = bytes, *end = bytes + size, *newline;

        for (; line > 1; line--) {
                newline = memchr(start, '\n', (size_t) (end - start));
                CHECK(newline);
                start = newline + 1;
        }
        newline = memchr(start, '\n', (size_t) (end - start));
        return (size_t) ((newline ? newline : end) - start);
}

static void check_messages(const Messages *messages, const char *bytes, size_t size) {
        for (size_t i = 0; i < messages->n_items; i++) {
                const Message *message = messages->items + i;
                _cleanup_free_ char *text = message_format(message);

                CHECK(text);
                CHECK(!strpbrk(message->text, "\n\r\t\x1b"));
                if (message->line == 0)
                        continue;
                CHECK(i == 0 || message->line >= messages->items[i - 1].line);
                CHECK(message->column > 0);
                CHECK(message->column <= line_length(bytes, size, message->line) + 1);
        }
}

static void check_same(const Messages *a, const Messages *b) {
        CHECK(a->n_items == b->n_items);
        for (size_t i = 0; i < a->n_items; i++) {
                CHECK(a->items[i].line == b->items[i].line);
                CHECK(a->items[i].column == b->items[i].column);
                CHECK(streq(a->items[i].text, b->items[i].text));
                CHECK(streq_ptr(a->items[i].excerpt, b->items[i].excerpt));
        }
}

/* A value that the policy speaks of; "turn" says which. */
static char *policy_pick(const Policy *policy, MatchKey key, size_t turn, const char *other) {
        size_t n = 0;

        for (size_t i = 0; i < policy->n_rules; i++)
                n += policy->rules[i].keys[key].n_items;
        if (n == 0)
                return (char *) other;

        turn %= n;
        for (size_t i = 0;; i++) {
                const PatternList *patterns = policy->rules[i].keys + key;

                if (turn < patterns->n_items)
                        return patterns->items[turn].text;
                turn -= patterns->n_items;
        }
}

static void check_search(const Policy *policy, const Device *device, const Port *port) {
        const Rule *rule = NULL, *found = NULL;
        MatchResult result = MATCH_NO;

        for (size_t i = 0; i < policy->n_rules && result == MATCH_NO; i++) {
                MatchKey key = _MATCH_KEY_MAX;

                rule = policy->rules + i;
                result = rule_match(rule, device, port, &key);
                CHECK((result == MATCH_YES) == (key == _MATCH_KEY_MAX));
        }
        if (result == MATCH_NO)
                rule = NULL;

        CHECK(policy_find_rule(policy, device, port, &found) == result);
        CHECK(found == rule);
}

/* Devices whose values stand in the policy, settled and not. */
static void check_matching(const Policy *policy) {
        static const Function functions[] = { FUNCTION_PF, FUNCTION_VF, FUNCTION_SF, FUNCTION_UNKNOWN };

        for (size_t turn = 0; turn < 8; turn++) {
                Port ports[] = { { 1, LINK_LAYER_ETHERNET, true, turn % 3 > 0,
                                   policy_pick(policy, MATCH_NETDEV, turn, "eth0") },
                                 { 2, LINK_LAYER_ETHERNET, true, false, NULL } };
                Property property = { (char *) "ID_PATH", (char *) "pci-0000:3b:00.0" };
                Device device = {
                        .name = policy_pick(policy, MATCH_DEVICE, turn, "mlx5_0"),
                        .settled = turn % 4 > 0,
                        .has_database = turn % 5 > 0,
                        .driver = policy_pick(policy, MATCH_DRIVER, turn, "mlx5_core"),
                        .pci = policy_pick(policy, MATCH_PCI, turn, NULL),
                        .pci_id = policy_pick(policy, MATCH_PCI_ID, turn, NULL),
                        .node_guid = policy_pick(policy, MATCH_NODE_GUID, turn, "248a:0703:004b:f0a4"),
                        .function = functions[turn % ELEMENTSOF(functions)],
                        .properties = &property,
                        .n_properties = 1,
                        .ports = ports,
                        .n_ports = ELEMENTSOF(ports),
                };
                const Device *devices[] = { &device };
                _cleanup_(messages_done) Messages messages = {};

                if (policy->n_rules > 0 && policy->rules[turn % policy->n_rules].n_properties > 0)
                        property.name = policy->rules[turn % policy->n_rules].properties[0].name;
                for (size_t i = 0; i < device.n_ports; i++)
                        check_search(policy, &device, ports + i);
                CHECK(policy_lint_devices(policy, devices, ELEMENTSOF(devices), &messages) == 0);
        }
}

/* The file so often that its rules get an index, if they have values to go by. */
static void check_copies(const PolicyText *text, size_t n_rules) {
        size_t n = (RULES_MANY + n_rules - 1) / n_rules;
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_(messages_done) Messages messages = {};
        PolicyText texts[COPIES_MAX];

        for (size_t i = 0; i < n; i++)
                texts[i] = *text;
        CHECK(policy_parse(texts, n, &policy, &messages) == 0);
        CHECK(policy->n_rules == n * n_rules);
        check_matching(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(input_done) Input input = input_begin(data, size);
        _cleanup_(policy_unrefp) Policy *policy = NULL, *again = NULL;
        _cleanup_(messages_done) Messages messages = {}, repeated = {};
        PolicyText text = { .path = (char *) "fuzz.yaml", .bytes = input.bytes, .size = size };
        int r;

        r = policy_parse(&text, 1, &policy, &messages);
        CHECK(policy_parse(&text, 1, &again, &repeated) == r);
        CHECK(r == 0 || r == -EBADMSG);
        CHECK((r == 0) == (messages_count(&messages, SEVERITY_ERROR) == 0));
        check_messages(&messages, text.bytes, size);
        check_same(&messages, &repeated);
        if (!policy)
                return 0;

        CHECK(streq(policy->sha256, again->sha256));
        CHECK(policy->n_rules == again->n_rules);
        CHECK(policy_lint(policy, &messages) == 0);
        check_messages(&messages, text.bytes, size);
        check_matching(policy);
        if (policy->n_rules > 0)
                check_copies(&text, policy->n_rules);
        return 0;
}
