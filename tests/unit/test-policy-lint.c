/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is legal and probably not meant. */

#include "policy-test.h"

static Messages lint(const char *text) {
        _cleanup_(policy_unrefp) Policy *policy = policy_from(text);
        Messages messages = {};

        assert_int_equal(policy_lint(policy, &messages), 0);
        for (size_t i = 0; i < messages.n_items; i++)
                assert_int_equal(messages.items[i].severity, SEVERITY_WARNING);
        return messages;
}

static void expect_message(const Messages *messages, size_t i, unsigned line, unsigned column,
                           const char *text) {
        assert_in_range(i, 0, messages->n_items - 1);
        assert_string_equal(messages->items[i].path, "test.yaml");
        assert_int_equal(messages->items[i].line, line);
        assert_int_equal(messages->items[i].column, column);
        assert_string_equal(messages->items[i].text, text);
}

static void test_clean(void **state) {
        static const char *const texts[] = {
                "version: 1\nrules: []\n",
                "version: 1\nrules: [{match: any}]\n",
                "version: 1\nrules: [{match: {device: x}}, {match: any, mode: v2, tos: 104}]\n",
                "version: 1\nrules: [{match: any, dscp: 26, ecn: 2}]\n",
                "version: 1\nrules: [{match: any, mode: v1}]\n",
                /* None of these catches everything. */
                "version: 1\nrules: [{match: {netdev: '*'}}, {match: {device: ['*', '!x']}}, {match: "
                "{device: '*', port: 1}},"
                " {match: {device: '*', property: {A: '*'}}}, {match: {device: '!x'}}, {match: {device: '!*'}}, {match: any}]\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_(messages_done) Messages messages = lint(texts[i]);

                assert_int_equal(messages.n_items, 0);
        }
}

static void test_unreachable(void **state) {
        _cleanup_(messages_done) Messages one =
                        lint("version: 1\nrules:\n- match: any\n- match: {device: x}\n");
        _cleanup_(messages_done) Messages more = lint("version: 1\nrules:\n- match: {device: '*'}\n- name: "
                                                      "late\n  match: any\n- match: any\n- match: any\n");

        assert_int_equal(one.n_items, 1);
        expect_message(&one, 0, 4, 3,
                       "this rule reaches no port: the rule at test.yaml:3 matches every one");
        assert_int_equal(more.n_items, 1);
        expect_message(&more, 0, 4, 3,
                       "rule 'late' and the 2 after it reach no port: the rule at test.yaml:3 matches every "
                       "one");
}

static void test_tos(void **state) {
        _cleanup_(messages_done) Messages messages = lint("version: 1\nrules:\n- match: {port: 1}\n  tos: "
                                                          "106\n- match: any\n  mode: v1\n  tos: 3\n");

        assert_int_equal(messages.n_items, 3);
        expect_message(&messages, 0, 4, 3,
                       "tos 106 sets ECN bits; if they are meant, 'dscp: 26' and 'ecn: 2' say so");
        expect_message(&messages, 1, 7, 3,
                       "tos 3 sets ECN bits; if they are meant, 'dscp: 0' and 'ecn: 3' say so");
        expect_message(&messages, 2, 7, 3,
                       "RoCE v1 carries no DSCP; with 'mode: v1' the TOS picks the VLAN priority only");
}

static void test_present(void **state) {
        _cleanup_(policy_unrefp) Policy *policy = policy_from("version: 1\nrules:\n"
                                                              "- match: {device: mlx5_0}\n"
                                                              "- match: {port: 2}\n"
                                                              "- match: {port: 13}\n"
                                                              "- {name: gone, match: {device: rocep1s0f0}}\n"
                                                              "- match: any\n");
        _cleanup_(messages_done) Messages messages = {}, unsettled = {}, none = {};
        Device device = test_device();
        const Device *devices[] = { &device };

        assert_int_equal(policy_lint_devices(policy, devices, 1, &messages), 0);
        assert_int_equal(messages.n_items, 2);
        expect_message(&messages, 0, 5, 3, "port 13 does not exist: mlx5_0 has 2 ports");
        expect_message(&messages, 1, 6, 4, "rule 'gone' matches nothing that is present");

        /* It may yet get that name. */
        device.settled = false;
        assert_int_equal(policy_lint_devices(policy, devices, 1, &unsettled), 0);
        assert_int_equal(unsettled.n_items, 1);
        expect_message(&unsettled, 0, 5, 3, "port 13 does not exist: mlx5_0 has 2 ports");

        assert_int_equal(policy_lint_devices(policy, NULL, 0, &none), 0);
        assert_int_equal(none.n_items, 4);
}

static void test_ports_named(void **state) {
        _cleanup_(policy_unrefp) Policy *policy = policy_from("version: 1\nrules:\n"
                                                              "- match: {port: [1, 3, 4]}\n"
                                                              "- match: {port: [\"!3\"]}\n"
                                                              "- match: {device: mlx5_7, port: 3}\n"
                                                              "- match: {driver: mlx5_core, port: 3}\n"
                                                              "- match: {netdev: nosuch, port: 3}\n"
                                                              /* It exists; the network device is another's. */
                                                              "- match: {netdev: ens1f0np0, port: 2}\n");
        _cleanup_(messages_done) Messages messages = {}, larger = {};
        Device device = test_device(), large = test_device();
        Port port = { 3, LINK_LAYER_ETHERNET, true, true, NULL };
        const Device *devices[] = { &device, &large };

        assert_int_equal(policy_lint_devices(policy, devices, 1, &messages), 0);
        assert_int_equal(messages.n_items, 6);
        expect_message(&messages, 0, 3, 3, "port 3 does not exist: mlx5_0 has 2 ports");
        expect_message(&messages, 1, 3, 3, "port 4 does not exist: mlx5_0 has 2 ports");
        expect_message(&messages, 2, 5, 3, "this rule matches nothing that is present");
        expect_message(&messages, 3, 6, 3, "port 3 does not exist: mlx5_0 has 2 ports");
        expect_message(&messages, 4, 7, 3, "this rule matches nothing that is present");
        expect_message(&messages, 5, 8, 3, "this rule matches nothing that is present");

        /* One device that has it is enough. */
        large.ports = &port;
        large.n_ports = 1;
        assert_int_equal(policy_lint_devices(policy, devices, 2, &larger), 0);
        assert_int_equal(larger.n_items, 4);
        expect_message(&larger, 0, 3, 3, "port 4 does not exist: mlx5_0 has 2 ports");
}

static void test_format(void **state) {
        Message message = { SEVERITY_WARNING, (char *) "a\nb.yaml", 3, 7, (char *) "so it is", NULL };
        _cleanup_free_ char *full = message_format(&message), *whole = NULL, *none = NULL;

        assert_string_equal(full, "a\\x0ab.yaml:3:7: warning: so it is\n");
        message.line = 0;
        message.severity = SEVERITY_ERROR;
        message.excerpt = (char *) "    1 | x\n";
        whole = message_format(&message);
        assert_string_equal(whole, "a\\x0ab.yaml: error: so it is\n    1 | x\n");
        message.path = NULL;
        none = message_format(&message);
        assert_string_equal(none, "error: so it is\n    1 | x\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_clean),  cmocka_unit_test(test_unreachable),
                cmocka_unit_test(test_tos),    cmocka_unit_test(test_present),
                cmocka_unit_test(test_format), cmocka_unit_test(test_ports_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
