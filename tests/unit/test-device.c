/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy-test.h"

static void test_names(void **state) {
        static const char *const good[] = {
                "mlx5_0",
                "rocep1s0f0",
                "on",
                "null",
                ".hidden",
                "...",
                "a b",
                "a!b",
                "-",
                "*",
                "\xc3\xa4",
                "\xff",
                "123456789012345678901234567890123456789012345678901234567890123",
        };
        static const char *const bad[] = {
                "",     ".",       "..",    "/",
                "a/b",  "../../x", "a\n",   "\t",
                "\x01", "\x1f",    "a\x7f", "1234567890123456789012345678901234567890123456789012345678901234",
        };

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                if (!device_name_is_valid(good[i]))
                        fail_msg("'%s' is refused", good[i]);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (device_name_is_valid(bad[i]))
                        fail_msg("'%s' is accepted", bad[i]);
}

static void test_find(void **state) {
        Device device = test_device();

        assert_ptr_equal(device_find_port(&device, 1), device.ports);
        assert_ptr_equal(device_find_port(&device, 2), device.ports + 1);
        assert_null(device_find_port(&device, 0));
        assert_null(device_find_port(&device, 3));
        assert_string_equal(device_find_property(&device, "ID_PATH"), "pci-0000:3b:00.0");
        assert_null(device_find_property(&device, "ID_PAT"));
        assert_null(device_find_property(&device, "id_path"));
}

static void test_words(void **state) {
        assert_string_equal(function_to_string(FUNCTION_PF), "pf");
        assert_string_equal(function_to_string(FUNCTION_VF), "vf");
        assert_string_equal(function_to_string(FUNCTION_SF), "sf");
        assert_null(function_to_string(FUNCTION_UNKNOWN));
        assert_string_equal(link_layer_to_string(LINK_LAYER_ETHERNET), "Ethernet");
        assert_string_equal(link_layer_to_string(LINK_LAYER_INFINIBAND), "InfiniBand");
        assert_null(link_layer_to_string(LINK_LAYER_UNKNOWN));
}

static void assert_string_copied(const char *copy, const char *from) {
        assert_true(streq_ptr(copy, from));
        if (from)
                assert_ptr_not_equal(copy, from);
}

static void assert_copied(const Device *copy, const Device *from) {
        assert_string_copied(copy->name, from->name);
        assert_string_copied(copy->driver, from->driver);
        assert_string_copied(copy->pci, from->pci);
        assert_string_copied(copy->pci_id, from->pci_id);
        assert_string_copied(copy->node_guid, from->node_guid);
        assert_int_equal(copy->instance, from->instance);
        assert_int_equal(copy->settled, from->settled);
        assert_int_equal(copy->rnic, from->rnic);
        assert_int_equal(copy->function, from->function);

        assert_int_equal(copy->n_ports, from->n_ports);
        for (size_t i = 0; i < from->n_ports; i++) {
                assert_int_equal(copy->ports[i].number, from->ports[i].number);
                assert_int_equal(copy->ports[i].link_layer, from->ports[i].link_layer);
                assert_int_equal(copy->ports[i].roce, from->ports[i].roce);
                assert_int_equal(copy->ports[i].netdev_settled, from->ports[i].netdev_settled);
                assert_string_copied(copy->ports[i].netdev, from->ports[i].netdev);
        }

        assert_int_equal(copy->n_properties, from->n_properties);
        for (size_t i = 0; i < from->n_properties; i++) {
                assert_string_copied(copy->properties[i].name, from->properties[i].name);
                assert_string_copied(copy->properties[i].value, from->properties[i].value);
        }
}

static void test_copy(void **state) {
        Device hard = test_device(), soft = test_soft_device(), none = { .name = (char *) "none" };

        hard.instance = 0x123456789abcdef0;
        hard.rnic = true;
        hard.ports[1].roce = hard.ports[1].netdev_settled = false;
        hard.ports[1].link_layer = LINK_LAYER_INFINIBAND;

        for (size_t i = 0; i < 3; i++) {
                const Device *from = (const Device *[]){ &hard, &soft, &none }[i];
                _cleanup_(device_freep) Device *copy = device_copy(from);

                assert_non_null(copy);
                assert_copied(copy, from);
        }
}

static void test_release(void **state) {
        char **names = calloc(3, sizeof(char *));

        assert_null(device_free(NULL));
        assert_null(device_free(calloc(1, sizeof(Device))));
        names[0] = strdup("a");
        names[1] = strdup("b");
        assert_null(names_free(names));
        assert_null(names_free(calloc(1, sizeof(char *))));
        assert_null(names_free(NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names), cmocka_unit_test(test_find),    cmocka_unit_test(test_words),
                cmocka_unit_test(test_copy),  cmocka_unit_test(test_release),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
