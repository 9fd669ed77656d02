/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-load.h"
#include "rocectl-compose.h"

#define N_PORTS 3U

static Port port_table[N_PORTS] = {
        { .number = 1, .roce = true, .netdev_settled = true },
        { .number = 2, .roce = true, .netdev_settled = true },
        { .number = 11, .roce = true, .netdev_settled = true },
};

#define DEVICE(device_name, address, guid, of_driver)                                                     \
        {                                                                                                 \
                .name = (char *) (device_name), .pci = (char *) (address), .node_guid = (char *) (guid),  \
                .driver = (char *) (of_driver), .settled = true, .ports = port_table, .n_ports = N_PORTS, \
        }

#define GUID(n) "0200:0000:0000:000" n
#define NO_GUID "0000:0000:0000:0000"

typedef struct Case {
        Device device;
        int modes[N_PORTS], tos[N_PORTS];
} Case;

/* Composes, and checks that each port gets by it what it has. The text is for the caller to free. */
static char *compose(const Case *cases, size_t n, Policy **ret) {
        const Device *devices[16];
        FoundPort found[16 * N_PORTS];
        Messages messages = {};
        PolicyText file = { .path = (char *) "generated" };
        size_t size;
        FILE *f;

        for (size_t i = 0; i < n; i++) {
                devices[i] = &cases[i].device;
                for (size_t k = 0; k < N_PORTS; k++)
                        found[i * N_PORTS + k] = (FoundPort){
                                .device = devices[i],
                                .port = port_table + k,
                                .values = { cases[i].modes[k], cases[i].tos[k] },
                        };
        }
        assert_non_null(f = open_memstream(&file.bytes, &size));
        assert_int_equal(policy_compose(f, found, n * N_PORTS, devices, n), 0);
        assert_int_equal(fclose(f), 0);
        file.size = size;
        assert_int_equal(policy_parse(&file, 1, ret, &messages), 0);
        assert_int_equal(messages.n_items, 0);

        for (size_t i = 0; i < n * N_PORTS; i++) {
                const Rule *rule;

                (void) policy_find_rule(*ret, found[i].device, found[i].port, &rule);
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        assert_int_equal(rule ? rule->wanted[a] : VALUE_NONE, found[i].values[a]);
        }
        return file.bytes;
}

#define ALL(value) \
        { value, value, value }

static void test_driver(void **state) {
        static const Case cases[] = {
                { DEVICE("a", "0000:01:00.0", GUID("1"), "d"), ALL(ROCE_V2), ALL(104) },
                { DEVICE("b", "0000:02:00.0", GUID("2"), "d"), ALL(ROCE_V2), ALL(104) },
        };
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_free_ char *text = compose(cases, ELEMENTSOF(cases), &policy);

        assert_null(strstr(text, "pci"));
        assert_int_equal(policy->n_rules, 1);
        assert_int_equal(policy->keys, 1 << MATCH_DRIVER);
}

/* A driver's rule must not reach a port that differs, or that is not known. */
static void test_driver_that_does_not_agree(void **state) {
        static const Case cases[] = {
                { DEVICE("a", "0000:01:00.0", GUID("1"), "d"), ALL(ROCE_V2), ALL(104) },
                { DEVICE("b", "0000:02:00.0", GUID("2"), "d"), ALL(ROCE_V2), { 104, 104, VALUE_NONE } },
                { DEVICE("c", "0000:03:00.0", GUID("3"), "d"),
                  { ROCE_V1, ROCE_V2, ROCE_V1 },
                  ALL(VALUE_NONE) },
                { DEVICE("d", "0000:04:00.0", GUID("4"), "d"), ALL(VALUE_NONE), ALL(VALUE_NONE) },
                { DEVICE("e", "0000:05:00.0", GUID("5"), "d"), ALL(ROCE_V2), ALL(104) },
        };
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_free_ char *text = compose(cases, ELEMENTSOF(cases), &policy);

        assert_int_equal(policy->n_rules, 5);
        assert_null(strstr(text, "driver"));
        assert_non_null(strstr(text, "port: [1, 11]"));
        assert_null(strstr(text, "0000:04:00.0"));
}

/* Subfunctions share the address of their function, and virtual devices often their node GUID. */
static void test_shared_keys(void **state) {
        static const Case cases[] = {
                { DEVICE("a", "0000:01:00.0", GUID("1"), "d"), ALL(ROCE_V2), ALL(0) },
                { DEVICE("b", "0000:01:00.0", GUID("2"), "d"), ALL(ROCE_V2), ALL(4) },
                { DEVICE("c", "0000:01:00.0", GUID("2"), "d"), ALL(ROCE_V2), ALL(8) },
                { DEVICE("d", NULL, NO_GUID, NULL), ALL(ROCE_V2), ALL(12) },
                { DEVICE("e", NULL, NULL, NULL), ALL(ROCE_V2), ALL(12) },
        };
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_free_ char *text = compose(cases, ELEMENTSOF(cases), &policy);

        assert_null(strstr(text, "pci"));
        assert_int_equal(policy->n_rules, 4);
        assert_int_equal(policy->keys, 1 << MATCH_NODE_GUID | 1 << MATCH_DEVICE);
}

static void test_odd_names(void **state) {
        static const char *const names[] = { "!a", "!!a", "a*", "[ab]", "?",   "\\", "a'b",
                                             "'",  "on",  "~",  "#c",   "- x", " a " };
        Case cases[ELEMENTSOF(names)];

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                cases[i] = (Case){ DEVICE(names[i], NULL, NO_GUID, NULL), ALL(ROCE_V2), ALL((int) (4 * i)) };
        for (size_t n = 0; n <= ELEMENTSOF(names); n++) {
                _cleanup_(policy_unrefp) Policy *policy = NULL;
                _cleanup_free_ char *text = compose(cases, n, &policy);

                assert_int_equal(strncmp(text, "version: 1\n", 11), 0);
                assert_int_equal(policy->n_rules, n);
        }
}

/* Of bytes or characters that no policy can hold. */
static void test_device_that_cannot_be_told(void **state) {
        static const char *const names[] = { "b\xff", "a\tb", "a\xc2\x85", "\u2028", "a\ufeff", "a\uffff" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                Device device = DEVICE(names[i], NULL, NO_GUID, NULL), same = DEVICE(names[i], "0000:01:00.0", NO_GUID, NULL);
                const Device *devices[] = { &device, &same };

                assert_false(device_can_be_told(&device, devices, 2));
                assert_true(device_can_be_told(&same, devices, 2));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_driver),
                cmocka_unit_test(test_driver_that_does_not_agree),
                cmocka_unit_test(test_shared_keys),
                cmocka_unit_test(test_odd_names),
                cmocka_unit_test(test_device_that_cannot_be_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
