/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* RDMA devices as plain files in an empty /sys, and udev's database in an empty /run. To be used in a namespace of the
 * test's own. */

#include "namespace.h"

#define DATABASE "/run/udev/data/"

/* libudev takes a plain directory for sysfs if told to. See "SYSTEMD_DEVICE_VERIFY_SYSFS" in systemd's documentation.
 */
static inline void tree_begin(void) {
        assert_return_code(setenv("SYSTEMD_DEVICE_VERIFY_SYSFS", "0", 1), errno);
        put_directory("/sys/class/infiniband");
        put_directory("/sys/class/net");
        put_directory("/sys/bus/pci/devices");
        put_directory("/sys/devices/virtual");
        put_directory("/run/udev/data");
}

static inline int tree_end(void **state) {
        return system("rm -rf /sys/* /run/*");
}

__attribute__((format(printf, 1, 2))) static inline const char *at(const char *format, ...) {
        static char paths[16][512];
        static unsigned turn;
        char *path = paths[turn++ % ELEMENTSOF(paths)];
        va_list ap;

        va_start(ap, format);
        assert_in_range(vsnprintf(path, sizeof(paths[0]), format, ap), 1, sizeof(paths[0]) - 1);
        va_end(ap);
        return path;
}

/* One attribute of a device below /sys/class/infiniband; NULL takes it away. */
static inline void put_attribute(const char *device, const char *name, const char *text) {
        const char *path = at("/sys/class/infiniband/%s/%s", device, name);

        if (text)
                put(path, text);
        else
                assert_return_code(unlink(path), errno);
}

static inline void put_port(const char *device, unsigned port, const char *link_layer) {
        put_attribute(device, at("ports/%u/link_layer", port), link_layer);
}

/* A GID table's slot: a directory cannot be read, as little as a slot that is empty. */
static inline void put_slot(const char *device, unsigned port, unsigned slot, const char *type) {
        if (type)
                put_attribute(device, at("ports/%u/gid_attrs/types/%u", port, slot), type);
        else
                put_directory(at("/sys/class/infiniband/%s/ports/%u/gid_attrs/types/%u", device, port, slot));
}

/* A device without ports; "parent" is a directory in /sys/devices, NULL for the one of soft devices. */
static inline void put_device(const char *name, const char *parent) {
        const char *directory = at("%s/infiniband/%s", parent ? parent : "/sys/devices/virtual", name);

        put(at("%s/uevent", directory), at("NAME=%s\n", name));
        put(at("%s/node_type", directory), "1: CA\n");
        put(at("%s/node_guid", directory), "248a:0703:004b:f0a4\n");
        put_link(at("%s/subsystem", directory), "/sys/class/infiniband");
        if (parent)
                put_link(at("%s/device", directory), parent);
        put_link(at("/sys/class/infiniband/%s", name), at("../..%s", directory + strlen("/sys")));
}

static inline void put_pci(const char *directory, const char *driver, const char *vendor, const char *device) {
        put(at("%s/uevent", directory), at("DRIVER=%s\n", driver));
        put(at("%s/vendor", directory), vendor);
        put(at("%s/device", directory), device);
        put_link(at("%s/subsystem", directory), "/sys/bus/pci");
        put(at("/sys/bus/pci/drivers/%s/module", driver), "");
        put_link(at("%s/driver", directory), at("/sys/bus/pci/drivers/%s", driver));
}

/* udevd runs, or does not. */
static inline void put_udevd(bool running) {
        if (running)
                put("/run/udev/control", "");
        else
                (void) unlink("/run/udev/control");
}
