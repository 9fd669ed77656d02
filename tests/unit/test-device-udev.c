/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Snapshots of devices from sysfs and udev's database. */

#include "device.h"
#include "sysfs-tree.h"

#define PF "/sys/devices/pci0000:3b/0000:3b:00.0"
#define VF "/sys/devices/pci0000:3b/0000:3b:00.2"

static int setup(void **state) {
        tree_begin();
        return 0;
}

static Device *acquire(const char *name, AcquireFlags flags) {
        Device *device = NULL;

        assert_int_equal(device_acquire(name, flags, &device), 0);
        assert_string_equal(device->name, name);
        return device;
}

/* Names of all devices, with a space after each. */
static void assert_names(const char *expected, size_t n_invalid) {
        _cleanup_(names_freep) char **names = NULL;
        char text[512] = "";
        size_t found = 77;

        assert_int_equal(device_names_acquire(&names, &found), 0);
        for (char **name = names; *name; name++) {
                strcat(text, *name);
                strcat(text, " ");
        }
        assert_string_equal(text, expected);
        assert_int_equal(found, n_invalid);
}

static void test_names(void **state) {
        assert_int_equal(system("rmdir /sys/class/infiniband"), 0);
        assert_names("", 0);
        put_directory("/sys/class/infiniband");
        assert_names("", 0);

        put_device("mlx5_10", NULL);
        put_device("rxe0", NULL);
        put_device("mlx5_1", NULL);
        put_device("on", NULL);
        assert_names("mlx5_1 mlx5_10 on rxe0 ", 0);

        /* By name, and not by where they are. */
        put_device("zz", PF);
        assert_names("mlx5_1 mlx5_10 on rxe0 zz ", 0);

        /* sysfs spells a slash as '!'. */
        put_device("a!b", NULL);
        put_device("tab\tname", NULL);
        assert_names("mlx5_1 mlx5_10 on rxe0 zz ", 2);

        /* No hidden files here. */
        put_device(".hidden", NULL);
        assert_names(".hidden mlx5_1 mlx5_10 on rxe0 zz ", 2);
}

static void test_soft_device(void **state) {
        _cleanup_(device_freep) Device *device = NULL;

        put_device("rxe0", NULL);
        put_port("rxe0", 1, "Ethernet\n");
        put_attribute("rxe0", "parent", "eth0\n");
        device = acquire("rxe0", 0);
        assert_null(device->driver);
        assert_null(device->pci);
        assert_null(device->pci_id);
        assert_string_equal(device->node_guid, "248a:0703:004b:f0a4");
        assert_int_equal(device->function, FUNCTION_UNKNOWN);
        assert_false(device->rnic);
        assert_int_equal(device->n_properties, 0);
        assert_int_equal(device->n_ports, 1);
        assert_int_equal(device->ports[0].number, 1);
        assert_int_equal(device->ports[0].link_layer, LINK_LAYER_ETHERNET);
        assert_true(device->ports[0].roce);
        assert_true(device->ports[0].netdev_settled);
        assert_string_equal(device->ports[0].netdev, "eth0");
}

static void test_pci_functions(void **state) {
        _cleanup_(device_freep) Device *pf = NULL, *vf = NULL, *sf = NULL;
        const char *const sf_directory = PF "/mlx5_core.sf.4";

        put_pci(PF, "mlx5_core", "0x15b3\n", "0x1017\n");
        put_pci(VF, "mlx5_core", "0x15B3\n", "0xA\n");
        put_link(VF "/physfn", PF);
        put(at("%s/uevent", sf_directory), "DRIVER=mlx5_core.sf\n");
        put_directory("/sys/bus/auxiliary/drivers/mlx5_core.sf");
        put_link(at("%s/subsystem", sf_directory), "/sys/bus/auxiliary");
        put_link(at("%s/driver", sf_directory), "/sys/bus/auxiliary/drivers/mlx5_core.sf");
        put_device("mlx5_0", PF);
        put_device("mlx5_1", VF);
        put_device("mlx5_2", sf_directory);

        pf = acquire("mlx5_0", 0);
        assert_string_equal(pf->driver, "mlx5_core");
        assert_string_equal(pf->pci, "0000:3b:00.0");
        assert_string_equal(pf->pci_id, "15b3:1017");
        assert_int_equal(pf->function, FUNCTION_PF);
        assert_int_equal(pf->n_ports, 0);

        vf = acquire("mlx5_1", 0);
        assert_string_equal(vf->pci, "0000:3b:00.2");
        assert_string_equal(vf->pci_id, "15b3:000a");
        assert_int_equal(vf->function, FUNCTION_VF);

        sf = acquire("mlx5_2", 0);
        assert_string_equal(sf->driver, "mlx5_core.sf");
        assert_string_equal(sf->pci, "0000:3b:00.0");
        assert_string_equal(sf->pci_id, "15b3:1017");
        assert_int_equal(sf->function, FUNCTION_SF);
}

static void test_pci_without_ids(void **state) {
        _cleanup_(device_freep) Device *device = NULL;

        put_pci(PF, "mlx5_core", "0x15b3\n", "0x1017\n");
        unlink(PF "/device");
        unlink(PF "/driver");
        put(PF "/uevent", "");
        put_device("mlx5_0", PF);
        put_attribute("mlx5_0", "node_guid", NULL);
        device = acquire("mlx5_0", 0);
        assert_string_equal(device->pci, "0000:3b:00.0");
        assert_null(device->pci_id);
        assert_null(device->driver);
        assert_null(device->node_guid);
}

/* All of them, in order of number and not of spelling; what is no number is no port. */
static void test_ports(void **state) {
        _cleanup_(device_freep) Device *device = NULL;

        put_device("mlx5_0", NULL);
        for (unsigned i = 1; i <= 12; i++) {
                unsigned port = i * 5 % 13; /* in no order that a file system may keep */

                put_port("mlx5_0", port, port == 2 ? "InfiniBand\n" : port == 3 ? "Unspecified\n" : "Ethernet\n");
        }
        put_attribute("mlx5_0", "ports/0/link_layer", "Ethernet\n");
        put_attribute("mlx5_0", "ports/x/link_layer", "Ethernet\n");
        put_attribute("mlx5_0", "ports/1x/link_layer", "Ethernet\n");
        put_attribute("mlx5_0", "ports/ 13/link_layer", "Ethernet\n");
        put_attribute("mlx5_0", "ports/-1/link_layer", "Ethernet\n");
        put_attribute("mlx5_0", "ports/4294967297/link_layer", "Ethernet\n");

        device = acquire("mlx5_0", 0);
        assert_int_equal(device->n_ports, 12);
        for (unsigned i = 0; i < 12; i++) {
                assert_int_equal(device->ports[i].number, i + 1);
                assert_int_equal(device->ports[i].roce, i != 1 && i != 2);
                assert_null(device->ports[i].netdev);
                assert_true(device->ports[i].netdev_settled);
        }
        assert_int_equal(device->ports[1].link_layer, LINK_LAYER_INFINIBAND);
        assert_int_equal(device->ports[2].link_layer, LINK_LAYER_UNKNOWN);
}

/* Its ports are Ethernet, but speak iWARP. */
static void test_rnic(void **state) {
        static const char *const types[] = { "4: RNIC\n", "1: CA\n", "2: switch\n", "<unknown>\n", "\n" };

        put_device("iw0", NULL);
        put_port("iw0", 1, "Ethernet\n");
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                _cleanup_(device_freep) Device *device = NULL;

                put_attribute("iw0", "node_type", types[i]);
                device = acquire("iw0", 0);
                assert_int_equal(device->rnic, i == 0);
                assert_int_equal(device->ports[0].roce, i != 0);
                assert_int_equal(device->ports[0].link_layer, LINK_LAYER_ETHERNET);
        }
}

static void assert_netdev(unsigned port, const char *expected) {
        _cleanup_(device_freep) Device *device = acquire("mlx5_0", 0);
        const Port *found = device_find_port(device, port);

        assert_non_null(found);
        if (!streq_ptr(found->netdev, expected))
                fail_msg("netdev of port %u is '%s', not '%s'", port, found->netdev ? found->netdev : "",
                         expected ? expected : "");
}

/* From the GID table's first slots, else by dev_port, else from "parent". */
static void test_netdev(void **state) {
        put_pci(PF, "mlx5_core", "0x15b3\n", "0x1017\n");
        put_device("mlx5_0", PF);
        put_port("mlx5_0", 1, "Ethernet\n");
        put_port("mlx5_0", 2, "Ethernet\n");
        assert_netdev(1, NULL);

        put_attribute("mlx5_0", "parent", "soft0\n");
        assert_netdev(1, "soft0");

        put(PF "/net/ens1f1np1/dev_port", "1\n");
        put(PF "/net/ens1f0np0/dev_port", "0\n");
        put(PF "/net/odd/address", "");
        assert_netdev(1, "ens1f0np0");
        assert_netdev(2, "ens1f1np1");

        put_directory("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0");
        put_attribute("mlx5_0", "ports/1/gid_attrs/ndevs/1", "\n");
        put_attribute("mlx5_0", "ports/1/gid_attrs/ndevs/3", "bond0\n");
        put_attribute("mlx5_0", "ports/1/gid_attrs/ndevs/4", "bond0.7\n");
        assert_netdev(1, "bond0");
        assert_netdev(2, "ens1f1np1");

        /* A slot far behind tells of another address, perhaps of another device. */
        put_attribute("mlx5_0", "ports/2/gid_attrs/ndevs/16", "vlan7\n");
        assert_netdev(2, "ens1f1np1");
        put_attribute("mlx5_0", "ports/2/gid_attrs/ndevs/15", "vlan7\n");
        assert_netdev(2, "vlan7");
}

static void assert_settled(bool settled, bool netdev_settled) {
        _cleanup_(device_freep) Device *device = acquire("mlx5_0", ACQUIRE_NETDEV_SETTLED);
        _cleanup_(device_freep) Device *unasked = acquire("mlx5_0", 0);

        assert_int_equal(device->settled, settled);
        assert_int_equal(device->has_database, settled);
        assert_int_equal(device->ports[0].netdev_settled, netdev_settled);
        assert_true(unasked->ports[0].netdev_settled);
}

/* Without udevd nothing is awaited; with it, its entry for the device, and where asked for, that for the network
 * device. */
static void test_settled(void **state) {
        put_device("mlx5_0", NULL);
        put_port("mlx5_0", 1, "Ethernet\n");
        put_attribute("mlx5_0", "parent", "eth0\n");
        put("/sys/devices/virtual/net/eth0/uevent", "INTERFACE=eth0\nIFINDEX=7\n");
        put("/sys/devices/virtual/net/eth0/ifindex", "7\n");
        put_link("/sys/devices/virtual/net/eth0/subsystem", "/sys/class/net");
        put_link("/sys/class/net/eth0", "/sys/devices/virtual/net/eth0");

        assert_settled(true, true);
        put_udevd(true);
        assert_settled(false, false);
        put(DATABASE "+infiniband:mlx5_0", "I:1000000\n");
        assert_settled(true, false);
        put(DATABASE "n7", "I:1000000\n");
        assert_settled(true, true);
        unlink(DATABASE "+infiniband:mlx5_0");
        assert_settled(false, true);
        put_udevd(false);
        assert_settled(true, true);

        /* The newer sign of a running udevd. */
        put("/run/udev/io.systemd.Udev", "");
        assert_settled(false, true);

        /* A network device that is not there is not awaited. */
        put_attribute("mlx5_0", "parent", "eth1\n");
        assert_settled(false, true);
}

static void test_properties(void **state) {
        _cleanup_(device_freep) Device *device = NULL, *without = NULL;

        put_udevd(true);
        put_device("mlx5_0", NULL);
        put(DATABASE "+infiniband:mlx5_0",
            "I:1000000\nE:ID_PATH=pci-0000:3b:00.0\nE:A=\nE:ID_NET_NAME_PATH=enp59s0f0\nV:1\n");
        device = acquire("mlx5_0", ACQUIRE_PROPERTIES);
        assert_string_equal(device_find_property(device, "ID_PATH"), "pci-0000:3b:00.0");
        assert_string_equal(device_find_property(device, "ID_NET_NAME_PATH"), "enp59s0f0");
        assert_string_equal(device_find_property(device, "NAME"), "mlx5_0");
        assert_string_equal(device_find_property(device, "SUBSYSTEM"), "infiniband");
        assert_null(device_find_property(device, "ID_NOT_THERE"));
        for (size_t i = 1; i < device->n_properties; i++)
                assert_true(strcmp(device->properties[i - 1].name, device->properties[i].name) < 0);
        without = acquire("mlx5_0", 0);
        assert_int_equal(without->n_properties, 0);
}

static void test_no_device(void **state) {
        static const char *const invalid[] = { "", ".", "..", "a/b", "../net/eth0", "a\n" };
        Device *device = NULL;
        uint64_t instance = 77;

        put("/sys/class/net/eth0/uevent", "");
        for (size_t i = 0; i < ELEMENTSOF(invalid); i++) {
                unsigned support = 77;

                assert_int_equal(device_acquire(invalid[i], 0, &device), -EINVAL);
                assert_int_equal(device_instance_acquire(invalid[i], &instance), -EINVAL);
                assert_int_equal(port_support_acquire(invalid[i], 1, &support), -EINVAL);
                assert_int_equal(support, 77);
                assert_int_equal(leftover_stamp_acquire(invalid[i]), 0);
        }
        assert_int_equal(device_acquire("mlx5_0", 0, &device), -ENODEV);
        assert_int_equal(device_instance_acquire("mlx5_0", &instance), -ENODEV);

        /* The link is there still, the device has gone. */
        put_link("/sys/class/infiniband/mlx5_0", "/sys/devices/virtual/infiniband/mlx5_0");
        assert_int_equal(device_acquire("mlx5_0", 0, &device), -ENODEV);
        assert_null(device);
        assert_int_equal(instance, 77);
}

/* A port whose files go while they are read belongs to a device that goes. */
static void test_port_vanishes(void **state) {
        Device *device = NULL;

        put_device("mlx5_0", NULL);
        put_directory("/sys/class/infiniband/mlx5_0/ports/1");
        assert_int_equal(device_acquire("mlx5_0", 0, &device), -ENODEV);
        put_port("mlx5_0", 1, "");
        assert_int_equal(device_acquire("mlx5_0", 0, &device), -ENODATA);
        unlink("/sys/class/infiniband/mlx5_0/ports/1/link_layer");
        put_directory("/sys/class/infiniband/mlx5_0/ports/1/link_layer");
        assert_int_equal(device_acquire("mlx5_0", 0, &device), -EISDIR);
        assert_int_equal(system("rm -r /sys/class/infiniband/mlx5_0/ports"), 0);
        put_attribute("mlx5_0", "ports", "");
        assert_int_equal(device_acquire("mlx5_0", 0, &device), -ENOTDIR);
        assert_null(device);
}

/* Kept by a rename, another one after removal and addition. */
static void test_instance(void **state) {
        _cleanup_(device_freep) Device *device = NULL;
        uint64_t first, second;

        put_device("mlx5_0", NULL);
        device = acquire("mlx5_0", 0);
        assert_int_equal(device_instance_acquire("mlx5_0", &first), 0);
        assert_int_equal(device->instance, first);

        assert_return_code(
                        rename("/sys/devices/virtual/infiniband/mlx5_0", "/sys/devices/virtual/infiniband/rocep1s0f0"),
                        errno);
        put_link("/sys/class/infiniband/rocep1s0f0", "/sys/devices/virtual/infiniband/rocep1s0f0");
        unlink("/sys/class/infiniband/mlx5_0");
        assert_int_equal(device_instance_acquire("rocep1s0f0", &second), 0);
        assert_int_equal(second, first);

        put_device("mlx5_0", NULL);
        assert_int_equal(device_instance_acquire("mlx5_0", &second), 0);
        assert_int_not_equal(second, first);
}

static unsigned support(void) {
        unsigned found = 77;

        assert_int_equal(port_support_acquire("mlx5_0", 1, &found), 0);
        return found;
}

/* Slots may be empty or missing, and nothing is known of an empty table. */
static void test_support(void **state) {
        put_device("mlx5_0", NULL);
        assert_int_equal(support(), 0);
        put_directory("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types");
        assert_int_equal(support(), 0);
        for (unsigned slot = 0; slot < 8; slot++)
                put_slot("mlx5_0", 1, slot, NULL);
        assert_int_equal(support(), 0);
        put_slot("mlx5_0", 1, 11, "RoCE v2\n");
        assert_int_equal(support(), SUPPORT_V2);
        put_slot("mlx5_0", 1, 9, "IB/RoCE v1\n");
        assert_int_equal(support(), SUPPORT_V1 | SUPPORT_V2);
        put_slot("mlx5_0", 1, 11, "RoCE v3\n");
        assert_int_equal(support(), SUPPORT_V1);
        put_slot("mlx5_0", 1, 9, "\n");
        assert_int_equal(support(), 0);

        put_attribute("mlx5_0", "ports/2/gid_attrs/types/0", "RoCE v2\n");
        assert_int_equal(support(), 0);
        put_attribute("mlx5_0", "ports/3/gid_attrs/types", "");
        assert_int_equal(port_support_acquire("mlx5_0", 3, &(unsigned){ 0 }), -ENOTDIR);
}

/* An entry of a name that no device bears is not about the next one that is born with it. */
static void test_leftovers(void **state) {
        _cleanup_(device_freep) Device *device = NULL, *announced = NULL;
        Leftover *leftovers = NULL;
        size_t n = 77;
        uint64_t stamp;

        assert_int_equal(leftovers_acquire(&leftovers, &n), 0);
        assert_int_equal(n, 0);
        leftovers_free(leftovers, n);

        put_udevd(true);
        put(DATABASE "+infiniband:mlx5_0", "I:1\n");
        put(DATABASE "+infiniband:mlx5_1", "I:1\n");
        put(DATABASE "n7", "I:1\n");
        put(DATABASE "+net:mlx5_2", "I:1\n");
        put_device("mlx5_1", NULL);
        assert_int_equal(leftovers_acquire(&leftovers, &n), 0);
        assert_int_equal(n, 1);
        assert_string_equal(leftovers[0].name, "mlx5_0");
        assert_int_equal(leftovers[0].stamp, leftover_stamp_acquire("mlx5_0"));
        stamp = leftovers[0].stamp;
        assert_int_not_equal(stamp, 0);
        assert_int_equal(leftover_stamp_acquire("mlx5_3"), 0);
        leftovers_free(leftovers, n);

        put_device("mlx5_0", NULL);
        device = acquire("mlx5_0", 0);
        assert_true(device->settled);
        assert_false(leftover_is_there("mlx5_0", 0));
        assert_false(leftover_is_there("mlx5_0", stamp + 2));
        assert_true(leftover_is_there("mlx5_0", stamp));
        assert_false(leftover_is_there("mlx5_3", stamp));

        /* udevd writes it anew, by rename. */
        put(DATABASE "new", "I:2\n");
        assert_return_code(rename(DATABASE "new", DATABASE "+infiniband:mlx5_0"), errno);
        announced = acquire("mlx5_0", 0);
        assert_true(announced->settled);
        assert_false(leftover_is_there("mlx5_0", stamp));

        put_udevd(false);
        assert_false(leftover_is_there("mlx5_0", leftover_stamp_acquire("mlx5_0")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_names, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_soft_device, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_pci_functions, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_pci_without_ids, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_ports, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_rnic, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_netdev, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_settled, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_properties, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_no_device, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_port_vanishes, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_instance, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_support, setup, tree_end),
                cmocka_unit_test_setup_teardown(test_leftovers, setup, tree_end),
        };

        namespace_enter();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
