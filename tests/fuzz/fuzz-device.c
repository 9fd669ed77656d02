/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any texts as the files of a device in sysfs, of its parent, its ports and its entry in udev's database: a snapshot
 * is taken that is whole and in order, or none. */

#include "device.h"
#include "fuzz.h"
#include "sysfs-tree.h"

#define PARENT "/sys/devices/pci0000:3b/0000:3b:00.0"
#define SUBFUNCTION PARENT "/mlx5_core.sf.4"
#define PORTS_MAX 4U

static void mount_anew(const char *path) {
        CHECK(umount2(path, MNT_DETACH) == 0);
        CHECK(mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0);
}

/* Whether it can be a file's name. */
static bool is_component(const char *text) {
        size_t length = strlen(text);

        return length > 0 && length < 64 && !strchr(text, '/') && !streq(text, ".") && !streq(text, "..");
}

/* 'p': a PCI device, 'v': a virtual function, 's': a subfunction, else the device has no parent. Gives what is above
 * it. */
static const char *parent_make(Input *input) {
        const char *kind = input_next(input), *driver = input_next(input), *vendor = input_next(input),
                   *id = input_next(input);

        if (!*kind || !strchr("pvs", kind[0]))
                return NULL;
        put_pci(PARENT, is_component(driver) ? driver : "mlx5_core", vendor, id);
        if (kind[0] == 'v')
                put_directory(PARENT "/physfn");
        if (kind[0] != 's')
                return PARENT;
        put(SUBFUNCTION "/uevent", "DRIVER=mlx5_core.rdma\n");
        put_link(SUBFUNCTION "/subsystem", "/sys/bus/auxiliary");
        return SUBFUNCTION;
}

static void port_make(Input *input, const char *name) {
        const char *port = input_next(input), *link_layer = input_next(input), *type = input_next(input),
                   *netdev = input_next(input);

        if (!is_component(port))
                return;
        put_attribute(name, at("ports/%s/link_layer", port), link_layer);
        put_attribute(name, at("ports/%s/gid_attrs/types/0", port), type);
        put_attribute(name, at("ports/%s/gid_attrs/ndevs/1", port), netdev);
}

static void tree_make(Input *input, const char *name) {
        const char *parent = parent_make(input), *text;

        put_device(name, parent);
        put_attribute(name, "node_type", input_next(input));
        put_attribute(name, "node_guid", input_next(input));
        put_attribute(name, "parent", input_next(input));
        text = input_next(input);
        if (parent && is_component(text))
                put(at("%s/net/%s/dev_port", parent, text), "0\n");
        text = input_next(input);
        if (*text)
                put(at(DATABASE "+infiniband:%s", name), text);
        put_udevd(*input_next(input));
        for (unsigned i = 0; i < PORTS_MAX && input_is_left(input); i++)
                port_make(input, name);
}

static void check_ports(const Device *device) {
        for (size_t i = 0; i < device->n_ports; i++) {
                const Port *port = device->ports + i;
                unsigned support = 0;

                CHECK(port->number > (i > 0 ? device->ports[i - 1].number : 0));
                CHECK(port->roce == (port->link_layer == LINK_LAYER_ETHERNET && !device->rnic));
                CHECK(!port->netdev || port->netdev[0]);
                CHECK(port_support_acquire(device->name, port->number, &support) == 0);
                CHECK((support & ~(unsigned) (SUPPORT_V1 | SUPPORT_V2)) == 0);
                CHECK(device_find_port(device, port->number) == port);
        }
}

static void check_device(const Device *device) {
        CHECK(device_name_is_valid(device->name));
        CHECK(!device->settled || device->has_database);
        CHECK(!device->pci == (device->function == FUNCTION_UNKNOWN));
        CHECK(!device->pci_id ||
              (device->pci && strspn(device->pci_id, "0123456789abcdef") >= 4 && strchr(device->pci_id, ':')));
        for (size_t i = 1; i < device->n_properties; i++)
                CHECK(strcmp(device->properties[i - 1].name, device->properties[i].name) < 0);
        for (size_t i = 0; i < device->n_properties; i++)
                CHECK(device_find_property(device, device->properties[i].name) == device->properties[i].value);
        check_ports(device);
}

static void check_copy(const Device *device) {
        _cleanup_(device_freep) Device *copy = device_copy(device);

        CHECK(copy);
        CHECK(streq(copy->name, device->name) && copy->instance == device->instance &&
              copy->settled == device->settled && copy->has_database == device->has_database &&
              copy->rnic == device->rnic && copy->function == device->function);
        CHECK(streq_ptr(copy->driver, device->driver) && streq_ptr(copy->pci, device->pci) &&
              streq_ptr(copy->pci_id, device->pci_id) && streq_ptr(copy->node_guid, device->node_guid));
        CHECK(copy->n_ports == device->n_ports && copy->n_properties == device->n_properties);
        for (size_t i = 0; i < copy->n_ports; i++)
                CHECK(copy->ports[i].number == device->ports[i].number &&
                      streq_ptr(copy->ports[i].netdev, device->ports[i].netdev));
        for (size_t i = 0; i < copy->n_properties; i++)
                CHECK(streq(copy->properties[i].name, device->properties[i].name) &&
                      streq(copy->properties[i].value, device->properties[i].value));
}

/* Devices whose names no path can bear are counted, the others listed. */
static void check_names(const char *name) {
        _cleanup_(names_freep) char **names = NULL;
        bool listed = !strchr(name, '!');
        size_t n_invalid = 0;

        CHECK(device_names_acquire(&names, &n_invalid) == 0);
        CHECK(listed ? names[0] && streq(names[0], name) && !names[1] : !names[0]);
        CHECK(n_invalid == (listed ? 0 : 1));
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        namespace_enter();
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(input_done) Input input = input_begin(data, size);
        const char *name = input_next(&input);
        _cleanup_(device_freep) Device *device = NULL;
        int r;

        mount_anew("/sys");
        mount_anew("/run");
        tree_begin();
        if (!device_name_is_valid(name)) {
                CHECK(device_acquire(name, 0, &device) == -EINVAL);
                return 0;
        }

        tree_make(&input, name);
        check_names(name);
        r = device_acquire(name, ACQUIRE_PROPERTIES | ACQUIRE_NETDEV_SETTLED, &device);
        CHECK((r == 0) == !!device);
        if (!device)
                return 0;
        check_device(device);
        check_copy(device);
        return 0;
}
