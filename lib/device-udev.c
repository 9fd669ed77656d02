/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes device snapshots from sysfs, and from the udev database with libudev. Knows no policy and no configfs.
 *
 * libibverbs is not used here: it shows only devices that have a provider library in user space, and an open context
 * pins the driver's module. */

#include <dirent.h>
#include <fcntl.h>
#include <libudev.h>
#include <limits.h>
#include <sys/stat.h>

#include "device.h"
#include "file.h"

#define CLASS_PATH "/sys/class/infiniband"
#define DEVICES_PATH "/sys/devices/"

/* RDMA_NODE_RNIC in include/rdma/ib_verbs.h: an iWARP device, whose link layer says Ethernet too. */
#define NODE_TYPE_RNIC 4

/* The default GIDs stand at the start of the table; a network device that is not found there is asked for elsewhere. */
#define NETDEV_SLOTS 16

DEFINE_CLEANUP(struct udev *, udev_unref)
DEFINE_CLEANUP(struct udev_device *, udev_device_unref)
DEFINE_CLEANUP(DIR *, closedir)

static int string_copy(char **destination, const char *source) {
        char *copy = NULL;

        if (source && !(copy = strdup(source)))
                return -ENOMEM;

        free(*destination);
        *destination = copy;
        return 0;
}

static bool may_exist(const char *path) {
        return access(path, F_OK) >= 0 || error_is_shortage(-errno);
}

/* Values that hang on udev are final once it has written its database entry. Without udevd nothing is awaited. */
static bool udevd_is_running(void) {
        return may_exist("/run/udev/control") || may_exist("/run/udev/io.systemd.Udev");
}

/* Of what may be absent: 0 if it is, the error if nobody knows. */
static int unless_absent(int r) {
        return error_is_shortage(r) || r == -EIO || r == -EACCES || r == -EPERM ? r : 0;
}

/* What libudev gives as NULL may be absent, or could not be read: what it left in errno tells, which is to be 0 before. */
static int absent(void) {
        return unless_absent(-errno);
}

static int compare_ports(const void *a, const void *b) {
        const Port *x = a, *y = b;

        return (x->number > y->number) - (x->number < y->number);
}

static int compare_properties(const void *a, const void *b) {
        const Property *x = a, *y = b;

        return strcmp(x->name, y->name);
}

/* The network device behind a port: the one its first GIDs belong to, else the parent device's by dev_port, else the
 * one that soft devices such as rxe name in "parent". */
static int netdev_acquire(int device_fd, unsigned port, char **ret) {
        _cleanup_(closedirp) DIR *nets = NULL;
        char path[320], name[256], number[32];
        struct dirent *entry;
        int fd, r;

        for (unsigned slot = 0; slot < NETDEV_SLOTS; slot++) {
                snprintf(path, sizeof(path), "ports/%u/gid_attrs/ndevs/%u", port, slot);
                r = file_read_line(device_fd, path, sizeof(name), name);
                if (r >= 0)
                        return string_copy(ret, name);
                if (error_is_shortage(r))
                        return r;
        }

        fd = openat(device_fd, "device/net", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        nets = fd >= 0 ? fdopendir(fd) : NULL;
        if (!nets) {
                r = absent();
                fd_close(fd);
                if (r < 0)
                        return r;
        }
        while (nets && (errno = 0, entry = readdir(nets))) {
                if (entry->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "device/net/%s/dev_port", entry->d_name);
                r = file_read_line(device_fd, path, sizeof(number), number);
                if (r >= 0 && strtoul(number, NULL, 10) + 1 == port)
                        return string_copy(ret, entry->d_name);
                if (error_is_shortage(r))
                        return r;
        }
        if (nets && (r = absent()) < 0)
                return r;

        r = file_read_line(device_fd, "parent", sizeof(name), name);
        if (r >= 0)
                return string_copy(ret, name);
        return error_is_shortage(r) ? r : 0;
}

/* 1: yes, or it has gone. */
static int netdev_is_settled(struct udev *udev, const char *netdev) {
        _cleanup_(udev_device_unrefp) struct udev_device *device = NULL;

        errno = 0;
        device = udev_device_new_from_subsystem_sysname(udev, "net", netdev);
        if (!device)
                return absent() ?: 1;
        return udev_device_get_is_initialized(device) > 0;
}

static int port_acquire(struct udev *udev, int device_fd, bool rnic, bool check_netdev, Port *port) {
        char path[64], text[64];
        int r;

        snprintf(path, sizeof(path), "ports/%u/link_layer", port->number);
        r = file_read_line(device_fd, path, sizeof(text), text);
        if (r < 0)
                return r == -ENOENT ? -ENODEV : r;
        if (streq(text, "Ethernet"))
                port->link_layer = LINK_LAYER_ETHERNET;
        else if (streq(text, "InfiniBand"))
                port->link_layer = LINK_LAYER_INFINIBAND;

        port->roce = port->link_layer == LINK_LAYER_ETHERNET && !rnic;

        r = netdev_acquire(device_fd, port->number, &port->netdev);
        if (r < 0)
                return r;
        r = check_netdev && port->netdev ? netdev_is_settled(udev, port->netdev) : 1;
        port->netdev_settled = r > 0;
        return MIN_OF(r, 0);
}

static int ports_acquire(struct udev *udev, int device_fd, bool check_netdev, Device *device) {
        _cleanup_(closedirp) DIR *directory = NULL;
        struct dirent *entry;
        int fd, r;

        fd = openat(device_fd, "ports", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        directory = fdopendir(fd);
        if (!directory) {
                fd_close(fd);
                return -ENOMEM;
        }

        while ((errno = 0, entry = readdir(directory))) {
                char *end;
                unsigned long long number = strtoull(entry->d_name, &end, 10);
                Port *ports;

                if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || *end || number > UINT32_MAX)
                        continue;

                ports = reallocarray(device->ports, device->n_ports + 1, sizeof(Port));
                if (!ports)
                        return -ENOMEM;
                device->ports = ports;
                ports[device->n_ports++] = (Port) { .number = (unsigned) number };
                r = port_acquire(udev, device_fd, device->rnic, check_netdev, ports + device->n_ports - 1);
                if (r < 0)
                        return r;
        }
        if (errno > 0)
                return errno == ENOENT ? -ENODEV : -errno;

        if (device->n_ports > 0)
                qsort(device->ports, device->n_ports, sizeof(Port), compare_ports);
        return 0;
}

static int properties_acquire(struct udev_device *from, Device *device) {
        struct udev_list_entry *entry;
        size_t n = 0;

        udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(from))
                n++;
        /* Each device has some, DEVPATH for one. */
        if (n == 0)
                return -EIO;
        device->properties = calloc(n, sizeof(Property));
        if (!device->properties)
                return -ENOMEM;

        udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(from)) {
                Property *property = device->properties + device->n_properties++;
                const char *value = udev_list_entry_get_value(entry);

                if (string_copy(&property->name, udev_list_entry_get_name(entry)) < 0 ||
                    string_copy(&property->value, value ? value : "") < 0)
                        return -ENOMEM;
        }

        qsort(device->properties, n, sizeof(Property), compare_properties);
        return 0;
}

/* The name of what a link in a directory of sysfs points to. */
static int link_name_read(const char *directory, const char *link, size_t size, char *ret) {
        char path[PATH_MAX], target[PATH_MAX];
        const char *name;
        ssize_t n;

        snprintf(path, sizeof(path), "%s/%s", directory, link);
        n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
                return -errno;
        target[n] = 0;

        name = strrchr(target, '/');
        name = name ? name + 1 : target;
        if (strlen(name) >= size)
                return -ENAMETOOLONG;
        strcpy(ret, name);
        return 0;
}

/* Cuts a device's path in sysfs to that of the next device above it; 0: there is none. Not by libudev, which opens each
 * directory on the way. */
static int parent_find(char *path, size_t size, char *ret_subsystem) {
        char *slash;
        int r;

        while ((slash = strrchr(path, '/')) && startswith(path, DEVICES_PATH)) {
                *slash = 0;
                r = link_name_read(path, "subsystem", size, ret_subsystem);
                if (r >= 0)
                        return 1;
                r = unless_absent(r);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int pci_acquire(const char *path, Device *device) {
        _cleanup_close_ int fd = -EBADF;
        char vendor[32], id[32], text[32];
        int r;

        if (string_copy(&device->pci, strrchr(path, '/') + 1) < 0)
                return -ENOMEM;
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return unless_absent(-errno);

        r = file_read_line(fd, "vendor", sizeof(vendor), vendor);
        if (r >= 0)
                r = file_read_line(fd, "device", sizeof(id), id);
        if (r < 0)
                r = unless_absent(r);
        else {
                snprintf(text, sizeof(text), "%04lx:%04lx", strtoul(vendor, NULL, 16), strtoul(id, NULL, 16));
                r = string_copy(&device->pci_id, text);
        }
        if (r < 0)
                return r;

        r = faccessat(fd, "physfn", F_OK, 0) < 0 ? unless_absent(-errno) : 1;
        device->function = r > 0 ? FUNCTION_VF : FUNCTION_PF;
        return MIN_OF(r, 0);
}

/* What stands above the device: its driver, and the PCI device, which is the parent or, of a subfunction, the parent's. */
static int parent_acquire(const char *syspath, Device *device) {
        char path[PATH_MAX], subsystem[64], driver[256];
        bool subfunction;
        int r;

        snprintf(path, sizeof(path), "%s", syspath);
        r = parent_find(path, sizeof(subsystem), subsystem);
        if (r <= 0)
                return r;

        r = link_name_read(path, "driver", sizeof(driver), driver);
        r = r < 0 ? unless_absent(r) : string_copy(&device->driver, driver);
        if (r < 0)
                return r;

        subfunction = streq(subsystem, "auxiliary") && strstr(strrchr(path, '/'), ".sf.");
        while (!streq(subsystem, "pci")) {
                r = parent_find(path, sizeof(subsystem), subsystem);
                if (r <= 0)
                        return r;
        }
        r = pci_acquire(path, device);
        if (subfunction)
                device->function = FUNCTION_SF;
        return r;
}

int device_instance_acquire(const char *name, uint64_t *ret_instance) {
        char path[sizeof(CLASS_PATH) + DEVICE_NAME_LENGTH_MAX + 3];
        struct stat st;

        if (!device_name_is_valid(name))
                return -EINVAL;

        snprintf(path, sizeof(path), CLASS_PATH "/%s/.", name);
        if (stat(path, &st) < 0)
                return errno == ENOENT ? -ENODEV : -errno;

        *ret_instance = st.st_ino;
        return 0;
}

bool leftover_is_there(const char *name, uint64_t stamp) {
        return stamp != 0 && udevd_is_running() && leftover_stamp_acquire(name) == stamp;
}

/* Where a device stands in sysfs; -ENODEV: nowhere (any more). */
static int device_path_acquire(const char *name, size_t size, char *ret) {
        char link[sizeof(CLASS_PATH) + DEVICE_NAME_LENGTH_MAX + 2], target[PATH_MAX];
        const char *path = target;
        ssize_t n;

        snprintf(link, sizeof(link), CLASS_PATH "/%s", name);
        n = readlink(link, target, sizeof(target) - 1);
        if (n < 0)
                return errno == ENOENT ? -ENODEV : -errno;
        target[n] = 0;

        while (startswith(path, "../"))
                path += strlen("../");
        return (size_t) snprintf(ret, size, "/sys/%s", path) < size ? 0 : -ENAMETOOLONG;
}

static int udev_device_acquire(struct udev *udev, const Device *device, struct udev_device **ret) {
        uint64_t after = 0;
        int r;

        errno = 0;
        *ret = udev_device_new_from_subsystem_sysname(udev, "infiniband", device->name);
        if (*ret)
                return 0;

        r = absent() ?: device_instance_acquire(device->name, &after);
        /* One that is there and cannot be had has not gone, or it would be let go. */
        return r < 0 ? r : after == device->instance ? -EAGAIN : -ENODEV;
}

/* Twice: a line of the database that libudev has no memory for it leaves out, and does not tell. */
static int properties_read(struct udev *udev, Device *device) {
        _cleanup_(udev_device_unrefp) struct udev_device *from = NULL, *again = NULL;
        struct udev_list_entry *entry;
        size_t n = 0;
        int r;

        r = udev_device_acquire(udev, device, &from);
        if (r >= 0)
                r = properties_acquire(from, device);
        if (r >= 0)
                r = udev_device_acquire(udev, device, &again);
        if (r < 0)
                return r;

        udev_list_entry_foreach(entry, udev_device_get_properties_list_entry(again)) {
                if (!device_find_property(device, udev_list_entry_get_name(entry)))
                        return -EAGAIN;
                n++;
        }
        return n == device->n_properties ? 0 : -EAGAIN;
}

static int device_fill(AcquireFlags flags, Device *device) {
        _cleanup_(udev_unrefp) struct udev *udev = NULL;
        _cleanup_close_ int fd = -EBADF;
        char path[PATH_MAX], text[64];
        bool udevd = udevd_is_running();
        int r;

        r = device_path_acquire(device->name, sizeof(path), path);
        if (r < 0)
                return r;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? -ENODEV : -errno;

        /* What libudev says as well, which opens each directory on the way to it. */
        device->has_database = !udevd || leftover_stamp_acquire(device->name) != 0;
        device->settled = device->has_database;
        r = file_read_line(fd, "node_type", sizeof(text), text);
        if (r < 0 && unless_absent(r) < 0)
                return r;
        device->rnic = r >= 0 && strtol(text, NULL, 10) == NODE_TYPE_RNIC;

        r = file_read_line(fd, "node_guid", sizeof(text), text);
        r = r < 0 ? unless_absent(r) : string_copy(&device->node_guid, text);
        if (r < 0)
                return r;
        r = parent_acquire(path, device);
        if (r < 0)
                return r;

        if (flags != 0 && !(udev = udev_new()))
                return -ENOMEM;
        if (flags & ACQUIRE_PROPERTIES) {
                r = properties_read(udev, device);
                if (r < 0)
                        return r;
        }
        return ports_acquire(udev, fd, udevd && (flags & ACQUIRE_NETDEV_SETTLED), device);
}

int device_acquire(const char *name, AcquireFlags flags, Device **ret) {
        _cleanup_(device_freep) Device *device = NULL;
        uint64_t after = 0;
        int r;

        device = calloc(1, sizeof(Device));
        if (!device || string_copy(&device->name, name) < 0)
                return -ENOMEM;

        r = device_instance_acquire(name, &device->instance);
        if (r < 0)
                return r;
        r = device_fill(flags, device);
        if (r < 0)
                return r;

        /* The name may have changed hands while we read: then this is a mixture of two devices. */
        r = device_instance_acquire(name, &after);
        if (r < 0)
                return r;
        if (after != device->instance)
                return -ENODEV;

        *ret = TAKE_PTR(device);
        return 0;
}
