/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which rule wins for a port. */

#include "policy-test.h"

static MatchResult judge_port(const char *match, const Device *device, size_t port, MatchKey *ret_key) {
        _cleanup_(policy_unrefp) Policy *policy = policy_from_match(match);

        return rule_match(policy->rules, device, device->ports + port, ret_key);
}

static MatchResult judge(const char *match, const Device *device) {
        return judge_port(match, device, 0, NULL);
}

static void test_each_key(void **state) {
        Device device = test_device();

        assert_int_equal(judge("device: mlx5_0", &device), MATCH_YES);
        assert_int_equal(judge("device: mlx4_0", &device), MATCH_NO);
        assert_int_equal(judge("driver: mlx5_core", &device), MATCH_YES);
        assert_int_equal(judge("driver: 'mlx4*'", &device), MATCH_NO);
        assert_int_equal(judge("pci: '0000:3b:*'", &device), MATCH_YES);
        assert_int_equal(judge("pci: 0000:3b:00.1", &device), MATCH_NO);
        assert_int_equal(judge("pci_id: '15b3:*'", &device), MATCH_YES);
        assert_int_equal(judge("pci_id: 15b3:1013", &device), MATCH_NO);
        assert_int_equal(judge("node_guid: 248a:0703:004b:f0a4", &device), MATCH_YES);
        assert_int_equal(judge("node_guid: '248a:0703:004b:f0a[!4]'", &device), MATCH_NO);
        assert_int_equal(judge("netdev: 'ens1f0*'", &device), MATCH_YES);
        assert_int_equal(judge("netdev: ens1f1np1", &device), MATCH_NO);
        assert_int_equal(judge("function: pf", &device), MATCH_YES);
        assert_int_equal(judge("function: [vf, sf]", &device), MATCH_NO);
        assert_int_equal(judge("port: 1", &device), MATCH_YES);
        assert_int_equal(judge("port: [2, 13]", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: 'pci-*'}", &device), MATCH_YES);
        assert_int_equal(judge("property: {ID_PATH: 'usb-*'}", &device), MATCH_NO);
}

static void test_key_that_failed(void **state) {
        Device device = test_device();
        MatchKey key;

        assert_int_equal(judge_port("device: mlx5_0, driver: mlx5_core, netdev: eth0", &device, 0, &key),
                         MATCH_NO);
        assert_int_equal(key, MATCH_NETDEV);
        assert_int_equal(judge_port("device: mlx5_0, property: {ID_PATH: x}", &device, 0, &key), MATCH_NO);
        assert_int_equal(key, MATCH_PROPERTY);
        assert_int_equal(judge_port("port: 2, device: mlx5_0", &device, 0, &key), MATCH_NO);
        assert_int_equal(key, MATCH_PORT);
}

static void test_anchored(void **state) {
        Device device = test_device();

        device.name = (char *) "mlx5_1";
        assert_int_equal(judge("device: mlx5_1", &device), MATCH_YES);
        assert_int_equal(judge("device: 'lx5_1*'", &device), MATCH_NO);
        assert_int_equal(judge("device: 'mlx5_'", &device), MATCH_NO);
        device.name = (char *) "mlx5_10";
        assert_int_equal(judge("device: mlx5_1", &device), MATCH_NO);
        assert_int_equal(judge("device: 'mlx5_?'", &device), MATCH_NO);
        assert_int_equal(judge("device: 'mlx5_[0-9]'", &device), MATCH_NO);
        assert_int_equal(judge("device: 'mlx5_*'", &device), MATCH_YES);
        device.name = (char *) "mlx5_bond_0";
        assert_int_equal(judge("device: mlx5_1", &device), MATCH_NO);
        assert_int_equal(judge("device: 'mlx5_[0-9]*'", &device), MATCH_NO);
}

/* Words that YAML 1.1 would read as booleans, nulls and numbers are names like any other. */
static void test_words_are_names(void **state) {
        static const char *const names[] = { "on", "off",  "no", "yes", "null",
                                             "~",  "true", "1",  "1.5", "0x10" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                Device device = test_device();
                char match[64];

                device.name = (char *) names[i];
                snprintf(match, sizeof(match), "device: %s", names[i]);
                assert_int_equal(judge(match, &device), MATCH_YES);
                device.name = (char *) "other";
                assert_int_equal(judge(match, &device), MATCH_NO);
        }
}

static void test_case(void **state) {
        Device device = test_device();

        assert_int_equal(judge("device: MLX5_0", &device), MATCH_NO);
        assert_int_equal(judge("device: 'MLX5_*'", &device), MATCH_NO);
        assert_int_equal(judge("driver: MLX5_CORE", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: 'PCI-*'}", &device), MATCH_NO);
        assert_int_equal(judge("property: {id_path: 'pci-*'}", &device), MATCH_NO);
        assert_int_equal(judge("netdev: ENS1F0NP0", &device), MATCH_NO);
        assert_int_equal(judge("pci: 0000:3B:00.0", &device), MATCH_YES);
        assert_int_equal(judge("pci: '0000:3B:*'", &device), MATCH_YES);
        assert_int_equal(judge("pci_id: 15B3:1017", &device), MATCH_YES);
        assert_int_equal(judge("pci_id: '15B3:*'", &device), MATCH_YES);
        assert_int_equal(judge("node_guid: 248A:0703:004B:F0A4", &device), MATCH_YES);
        assert_int_equal(judge("node_guid: '248A:*:f0a4'", &device), MATCH_YES);
}

static void test_negation(void **state) {
        Device device = test_device();

        assert_int_equal(judge("device: '!mlx5_1'", &device), MATCH_YES);
        assert_int_equal(judge("device: '!mlx5_*'", &device), MATCH_NO);
        assert_int_equal(judge("device: ['!mlx5_0', '!mlx5_1']", &device), MATCH_NO);
        assert_int_equal(judge("device: ['mlx5_*', '!mlx5_0']", &device), MATCH_NO);
        assert_int_equal(judge("device: ['!mlx5_0', 'mlx5_*']", &device), MATCH_NO);
        assert_int_equal(judge("device: ['mlx5_*', '!mlx5_1']", &device), MATCH_YES);
        assert_int_equal(judge("device: ['mlx4_*', '!mlx5_1']", &device), MATCH_NO);
        assert_int_equal(judge("port: '!2'", &device), MATCH_YES);
        assert_int_equal(judge("port: '!1'", &device), MATCH_NO);
        assert_int_equal(judge("port: [1, '!1']", &device), MATCH_NO);
        assert_int_equal(judge("port: [2, '!3']", &device), MATCH_NO);
        assert_int_equal(judge("function: '!vf'", &device), MATCH_YES);
        assert_int_equal(judge("function: ['!vf', '!pf']", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: '!usb-*'}", &device), MATCH_YES);
        assert_int_equal(judge("property: {ID_PATH: ['pci-*', '!*3b:00.0']}", &device), MATCH_NO);
}

/* What a device does not have matches no pattern, plain or negated. */
static void test_absent(void **state) {
        static const char *const keys[] = { "pci", "pci_id", "driver", "netdev" };
        static const char *const values[] = { "0000:3b:00.0", "15b3:1017", "mlx5_core", "eth0" };
        Device device = test_soft_device();
        char match[128];

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                snprintf(match, sizeof(match), "%s: '*'", keys[i]);
                assert_int_equal(judge(match, &device), MATCH_NO);
                snprintf(match, sizeof(match), "%s: %s", keys[i], values[i]);
                assert_int_equal(judge(match, &device), MATCH_NO);
                snprintf(match, sizeof(match), "%s: '!%s'", keys[i], values[i]);
                assert_int_equal(judge(match, &device), MATCH_YES);
                snprintf(match, sizeof(match), "%s: '!*'", keys[i]);
                assert_int_equal(judge(match, &device), MATCH_YES);
                snprintf(match, sizeof(match), "%s: ['*', '!%s']", keys[i], values[i]);
                assert_int_equal(judge(match, &device), MATCH_NO);
        }

        assert_int_equal(judge("function: [pf, vf, sf]", &device), MATCH_NO);
        assert_int_equal(judge("function: '!vf'", &device), MATCH_YES);
        assert_int_equal(judge("property: {ID_PATH: '*'}", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: ''}", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: '!pci-*'}", &device), MATCH_YES);
}

static void test_properties_all_count(void **state) {
        Device device = test_device();

        assert_int_equal(judge("property: {ID_PATH: 'pci-*', ID_NET_NAME_PATH: [eth0, 'enp59*']}", &device),
                         MATCH_YES);
        assert_int_equal(judge("property: {ID_PATH: 'pci-*', ID_NET_NAME_PATH: eth0}", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: 'pci-*', OTHER: '*'}", &device), MATCH_NO);
        assert_int_equal(judge("property: {ID_PATH: 'pci-*', OTHER: '!x'}", &device), MATCH_YES);
}

static void test_port_numbers(void **state) {
        Device device = test_device();
        Port ports[12] = {};

        device.ports = ports;
        device.n_ports = ELEMENTSOF(ports);
        for (unsigned i = 0; i < ELEMENTSOF(ports); i++) {
                ports[i].number = i + 1;
                assert_int_equal(judge_port("device: mlx5_0", &device, i, NULL), MATCH_YES);
                assert_int_equal(judge_port("port: 2", &device, i, NULL), i == 1 ? MATCH_YES : MATCH_NO);
                assert_int_equal(judge_port("port: 12", &device, i, NULL), i == 11 ? MATCH_YES : MATCH_NO);
                assert_int_equal(judge_port("port: 13", &device, i, NULL), MATCH_NO);
        }
}

static void test_not_yet_known(void **state) {
        Device device = test_device();
        MatchKey key;

        device.settled = device.has_database = false;
        assert_int_equal(judge_port("device: mlx5_0", &device, 0, &key), MATCH_NOT_YET_KNOWN);
        assert_int_equal(key, MATCH_DEVICE);
        assert_int_equal(judge("device: other", &device), MATCH_NOT_YET_KNOWN);
        assert_int_equal(judge("device: '!mlx5_0'", &device), MATCH_NOT_YET_KNOWN);
        assert_int_equal(judge_port("netdev: ens1f0np0", &device, 0, &key), MATCH_NOT_YET_KNOWN);
        assert_int_equal(key, MATCH_NETDEV);
        assert_int_equal(judge_port("property: {NOT_THERE: x}", &device, 0, &key), MATCH_NOT_YET_KNOWN);
        assert_int_equal(key, MATCH_PROPERTY);

        /* What the kernel says is final. */
        assert_int_equal(judge("driver: mlx5_core, pci: '0000:*', pci_id: '15b3:*', function: pf, port: 1",
                               &device),
                         MATCH_YES);
        assert_int_equal(judge("node_guid: '248a:*'", &device), MATCH_YES);

        /* A key that fails for sure decides, wherever it stands. */
        assert_int_equal(judge_port("device: mlx5_0, driver: mlx4_core", &device, 0, &key), MATCH_NO);
        assert_int_equal(key, MATCH_DRIVER);
        assert_int_equal(judge_port("driver: mlx5_core, device: other", &device, 0, &key),
                         MATCH_NOT_YET_KNOWN);
        assert_int_equal(key, MATCH_DEVICE);

        /* Announced by udev: the name is final, its properties are not written down yet. */
        device.settled = true;
        assert_int_equal(judge("device: mlx5_0, netdev: ens1f0np0", &device), MATCH_YES);
        assert_int_equal(judge_port("property: {ID_PATH: 'pci-*'}", &device, 0, &key), MATCH_NOT_YET_KNOWN);
        assert_int_equal(key, MATCH_PROPERTY);

        device.has_database = true;
        device.ports[0].netdev_settled = false;
        assert_int_equal(judge("device: mlx5_0", &device), MATCH_YES);
        assert_int_equal(judge("property: {ID_PATH: 'pci-*'}", &device), MATCH_YES);
        assert_int_equal(judge("netdev: ens1f0np0", &device), MATCH_NOT_YET_KNOWN);
        assert_int_equal(judge_port("netdev: ens1f1np1", &device, 1, NULL), MATCH_YES);
}

static void test_first_match_wins(void **state) {
        _cleanup_(policy_unrefp) Policy *policy =
                        policy_from("version: 1\n"
                                    "rules:\n"
                                    "  - {match: {device: [mlx5_0, mlx5_1]}, tos: 104}\n"
                                    "  - {match: {device: 'mlx5_*', port: 2}, tos: 24}\n"
                                    "  - {match: any, mode: v2}\n"
                                    "  - {match: {device: rxe0}, mode: v1}\n");
        Device device = test_device();
        const Rule *rule = NULL;

        assert_int_equal(policy_find_rule(policy, &device, device.ports, &rule), MATCH_YES);
        assert_ptr_equal(rule, policy->rules);
        assert_int_equal(policy_find_rule(policy, &device, device.ports + 1, &rule), MATCH_YES);
        assert_ptr_equal(rule, policy->rules);
        assert_int_equal(rule->wanted[ATTRIBUTE_MODE], VALUE_NONE);

        device.name = (char *) "mlx5_2";
        assert_int_equal(policy_find_rule(policy, &device, device.ports, &rule), MATCH_YES);
        assert_ptr_equal(rule, policy->rules + 2);
        assert_int_equal(policy_find_rule(policy, &device, device.ports + 1, &rule), MATCH_YES);
        assert_ptr_equal(rule, policy->rules + 1);

        /* Born with the name of another device's rule: the search stops there, the catch-all below does not
         * get it. */
        device.settled = false;
        assert_int_equal(policy_find_rule(policy, &device, device.ports, &rule), MATCH_NOT_YET_KNOWN);
        assert_ptr_equal(rule, policy->rules);
}

static void test_no_rule(void **state) {
        _cleanup_(policy_unrefp) Policy *none = policy_from("version: 1\nrules: []\n");
        _cleanup_(policy_unrefp) Policy *other = policy_from_match("device: other");
        Device device = test_device();
        const Rule *rule = other->rules;

        assert_int_equal(none->n_rules, 0);
        assert_int_equal(none->keys, 0);
        assert_int_equal(policy_find_rule(none, &device, device.ports, &rule), MATCH_NO);
        assert_null(rule);
        assert_int_equal(policy_find_rule(other, &device, device.ports, &rule), MATCH_NO);
        assert_null(rule);
}

static void test_files(void **state) {
        static const char first[] = "version: 1\nenforcement: report\nrules:\n- match: any\n- {match: any, "
                                    "enforcement: enforce}\n";
        static const char second[] = "{\"version\": 1, \"rules\": [{\"match\": {\"netdev\": \"eth0\"}, "
                                     "\"dscp\": \"ef\", \"ecn\": 1}]}";
        PolicyText texts[] = {
                { (char *) "/etc/a.yaml", (char *) first, strlen(first) },
                { (char *) "/etc/b.yaml", (char *) second, strlen(second) },
        };
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        Messages messages = {};

        assert_int_equal(policy_parse(texts, 2, &policy, &messages), 0);
        assert_int_equal(messages.n_items, 0);
        assert_string_equal(policy->files[0], "/etc/a.yaml");
        assert_string_equal(policy->files[1], "/etc/b.yaml");
        assert_null(policy->files[2]);
        assert_int_equal(policy->n_rules, 3);
        assert_int_equal(policy->keys, 1U << MATCH_NETDEV);
        assert_int_equal(policy->rules[0].enforcement, ENFORCEMENT_REPORT);
        assert_int_equal(policy->rules[1].enforcement, ENFORCEMENT_ENFORCE);
        assert_int_equal(policy->rules[2].enforcement, ENFORCEMENT_ENFORCE);
        assert_string_equal(policy->rules[0].source, "/etc/a.yaml:4");
        assert_int_equal(policy->rules[0].column, 3);
        assert_string_equal(policy->rules[2].source, "/etc/b.yaml:1");
        assert_ptr_equal(policy->rules[2].file, policy->files[1]);
        assert_int_equal(policy->rules[2].wanted[ATTRIBUTE_TOS], 46 << 2 | 1);
        assert_null(policy->rules[0].name);
        assert_int_equal(policy->rules[0].wanted[ATTRIBUTE_MODE], VALUE_NONE);
        assert_int_equal(policy->rules[0].wanted[ATTRIBUTE_TOS], VALUE_NONE);
}

/* Of one file it is what sha256sum prints. */
static void test_hash(void **state) {
        static const char text[] = "version: 1\nrules: []\n";
        PolicyText whole = { (char *) "p", (char *) text, strlen(text) };
        _cleanup_(policy_unrefp) Policy *policy = policy_from(text);
        _cleanup_(policy_unrefp) Policy *twice = NULL;
        Messages messages = {};

        assert_string_equal(policy->sha256,
                            "7f2c43106364d8112fcc3060e4ab8b20f5d1a17d9cbf3c2540529663004adff8");
        assert_int_equal(policy_parse((PolicyText[]) { whole, whole }, 2, &twice, &messages), 0);
        assert_string_equal(twice->sha256,
                            "c5f81730a7bfb3e61a05d377cabab65b42174b14a75555862ba77e2b7e701820");
}

static void test_references(void **state) {
        Policy *policy = policy_from("version: 1\nrules: [{match: any, name: x}]");
        Policy *other = policy_ref(policy);

        assert_ptr_equal(other, policy);
        assert_null(policy_unref(policy));
        assert_string_equal(other->rules[0].name, "x");
        assert_null(policy_unref(other));
        assert_null(policy_ref(NULL));
        assert_null(policy_unref(NULL));
}

/* Prints a text with a digit in place of each "%x". */
static void fill(FILE *f, const char *text, unsigned digit) {
        for (; *text; text++)
                if (startswith(text, "%x")) {
                        fprintf(f, "%x", digit);
                        text++;
                } else
                        fputc(*text, f);
}

/* Large policies are searched through an index, which must not change what is found. */
static char *random_policy(unsigned *seed, size_t n_rules) {
        static const char *const keys[] = {
                "device: mlx5_%x",
                "device: 'mlx5_%x*'",
                "device: '!mlx5_%x'",
                "device: [mlx5_%x, rxe0, mlx5_%x]",
                "device: ['mlx5_*', '!mlx5_%x']",
                "node_guid: 248A:0703:004B:000%x",
                "pci_id: [15b3:101%x, 8086:000%x]",
                "pci: ['0000:3B:00.0', '0000:3b:0%x.0']",
                "netdev: ens1f%xnp0",
                "netdev: ['ens1f%xnp?', 'eth%x*']",
                "netdev: 'ens1f[0-%x]*'",
                "pci: '0000:3B:0%x.*'",
                "pci_id: '15B3:*'",
                "driver: ['mlx5_*', 'mlx4_cor%x']",
                "driver: '*5_core'",
                "driver: mlx5_core",
                "port: %x",
                "function: vf",
        };
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        fputs("version: 1\nrules:\n", f);
        for (size_t i = 0; i < n_rules; i++) {
                unsigned number = 1 + (unsigned) rand_r(seed) % 7;
                /* From one of the devices, or one of the rest, or one of each. */
                size_t one = (size_t) rand_r(seed) % ELEMENTSOF(keys),
                       other = 5 + (size_t) rand_r(seed) % (ELEMENTSOF(keys) - 5);

                fputs("- match: {", f);
                fill(f, keys[one], number);
                if (one < 5) {
                        fputs(", ", f);
                        fill(f, keys[other], number);
                }
                fputs("}\n", f);
        }
        fclose(f);
        return text;
}

static void test_index(void **state) {
        unsigned seed = 4791;

        for (unsigned round = 0; round < 200; round++) {
                _cleanup_free_ char *text = random_policy(&seed, 10 + round);
                _cleanup_(policy_unrefp) Policy *policy = policy_from(text);

                for (unsigned i = 0; i < 48; i++) {
                        Device device = i % 12 == 11 ? test_soft_device() : test_device();
                        const Port *port = device.ports + i % device.n_ports;
                        MatchResult result = MATCH_NO, found;
                        const Rule *rule, *expected = NULL;
                        char name[16], guid[32];

                        snprintf(name, sizeof(name), "mlx5_%u", i % 13);
                        snprintf(guid, sizeof(guid), "248a:0703:004b:%04x", i % 16);
                        if (i % 12 != 11)
                                device.name = name;
                        device.node_guid = guid;
                        device.settled = i % 5 != 0;

                        for (size_t k = 0; k < policy->n_rules && result == MATCH_NO; k++) {
                                result = rule_match(policy->rules + k, &device, port, NULL);
                                expected = result == MATCH_NO ? NULL : policy->rules + k;
                        }
                        found = policy_find_rule(policy, &device, port, &rule);
                        assert_int_equal(found, result);
                        assert_ptr_equal(rule, expected);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_key),
                cmocka_unit_test(test_key_that_failed),
                cmocka_unit_test(test_anchored),
                cmocka_unit_test(test_words_are_names),
                cmocka_unit_test(test_case),
                cmocka_unit_test(test_negation),
                cmocka_unit_test(test_absent),
                cmocka_unit_test(test_properties_all_count),
                cmocka_unit_test(test_port_numbers),
                cmocka_unit_test(test_not_yet_known),
                cmocka_unit_test(test_first_match_wins),
                cmocka_unit_test(test_no_rule),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_hash),
                cmocka_unit_test(test_references),
                cmocka_unit_test(test_index),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
