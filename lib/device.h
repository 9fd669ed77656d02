/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Snapshots of RDMA devices and their ports: plain data, no handle inside. Taking one reads sysfs and the udev
 * database and may block in a driver, so the daemon does it on its worker only. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"

/* Longest name the kernel gives a device, IB_DEVICE_NAME_MAX less its NUL (include/rdma/ib_verbs.h). */
#define DEVICE_NAME_LENGTH_MAX 63

typedef enum LinkLayer {
        LINK_LAYER_UNKNOWN,
        LINK_LAYER_ETHERNET,
        LINK_LAYER_INFINIBAND,
} LinkLayer;

typedef enum Function {
        FUNCTION_UNKNOWN, /* no PCI device behind it, rxe for one */
        FUNCTION_PF,
        FUNCTION_VF,
        FUNCTION_SF,
} Function;

/* RoCE versions seen in a port's GID table. A version that is there proves that the port can do it; one that is missing
 * proves nothing, for the table is empty while the link is down. */
typedef enum Support {
        SUPPORT_V1 = 1 << 0,
        SUPPORT_V2 = 1 << 1,
} Support;

typedef struct Port {
        unsigned number; /* counted from 1 */
        LinkLayer link_layer;
        bool roce;           /* Ethernet, and its device is not an RNIC (iWARP) */
        bool netdev_settled; /* udev has finished with the network device, or there is none; true unless asked for */
        char *netdev;        /* NULL: has none */
} Port;

typedef struct Property {
        char *name;
        char *value;
} Property;

typedef struct Device {
        char *name;
        uint64_t instance; /* inode of the sysfs directory: kept on rename, another one after remove and add */
        bool settled;      /* udev has finished with it: its name and network devices are final */
        bool has_database; /* udev has written its properties down */
        bool rnic;         /* node type 4, iWARP */
        char *driver;      /* NULL: no parent device, or none bound */
        char *pci;         /* address, 0000:3b:00.0; NULL: no PCI device behind it */
        char *pci_id;      /* vendor:device in lower-case hex, 15b3:1017; NULL as above */
        char *node_guid;   /* 248a:0703:004b:f0a4 */
        Function function;
        Property *properties; /* of udev, sorted by name */
        size_t n_properties;
        Port *ports; /* ascending by number */
        size_t n_ports;
} Device;

Device *device_free(Device *device);
DEFINE_CLEANUP(Device *, device_free)

/* A copy that shares nothing; NULL out of memory. */
Device *device_copy(const Device *device);

/* Whether a name can be one path component below configfs and sysfs: not empty, at most DEVICE_NAME_LENGTH_MAX bytes, no '/',
 * not "." or "..", no control character. The kernel itself takes any ("rdma dev set" allows ".."). */
bool device_name_is_valid(const char *name);

const Port *device_find_port(const Device *device, unsigned number);
const char *device_find_property(const Device *device, const char *name);
const char *function_to_string(Function function); /* "pf", "vf", "sf", NULL */
const char *link_layer_to_string(LinkLayer link_layer);

/* What most policies never ask for is read on request only. */
typedef enum AcquireFlags {
        ACQUIRE_PROPERTIES = 1 << 0,     /* Device.properties */
        ACQUIRE_NETDEV_SETTLED = 1 << 1, /* Port.netdev_settled */
} AcquireFlags;

/* rdma-core renames devices within udev's "add", and udevd leaves the database entry of the name at birth behind (seen with systemd 252
 * and 257). The next device that is born with that name must not be taken for one that udev has finished with: an entry is told from the
 * leftover by its inode and time, which change when udevd writes it anew. */
typedef struct Leftover {
        char *name;
        uint64_t stamp;
} Leftover;

/* Database entries of names that no device bears, to be freed with leftovers_free(). */
int leftovers_acquire(Leftover **ret, size_t *ret_n);
Leftover *leftovers_free(Leftover *leftovers, size_t n);

/* The stamp of the entry for that name; 0: there is none. */
uint64_t leftover_stamp_acquire(const char *name);

/* Reads one device. -ENODEV: there is no such device (any more). -EINVAL: the name is not valid. */
int device_acquire(const char *name, AcquireFlags flags, Device **ret);

/* Whether udevd's entry for that name still has this stamp; 0: of none. Asked before the device is read: what is read then may be from
 * the leftover, though udevd write the entry anew meanwhile. */
bool leftover_is_there(const char *name, uint64_t stamp);

/* The names of all RDMA devices, sorted; NULL-terminated, to be freed with names_free(). No RDMA at all is an empty list.
 * Names that are not valid are left out and counted in *ret_invalid. */
int device_names_acquire(char ***ret_names, size_t *ret_invalid);
char **names_free(char **names);
DEFINE_CLEANUP(char **, names_free)

/* The instance that bears this name now; -ENODEV if none does. Costs one stat. */
int device_instance_acquire(const char *name, uint64_t *ret_instance);

/* RoCE versions in a port's GID table, as a set of Support; 0: the table says nothing. Stops as soon as both are seen. */
int port_support_acquire(const char *device, unsigned port, unsigned *ret_support);
