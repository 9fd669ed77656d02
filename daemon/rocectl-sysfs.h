/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What sysfs says of a device beyond what policies need: for showing only. May block in a driver. */

#include <json-c/json.h>
#include <stdbool.h>

/* One line of a file below the device's directory; allocated. NULL: it is not there, is empty, or cannot be
 * read. */
char *sysfs_line(const char *device, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds "state", "physical_state" and "rate" of a port. */
void sysfs_add_port(json_object *object, const char *device, unsigned port);

/* The GIDs of a port, as a list of {"index", "gid", "type", "netdev"}; empty slots are left out. */
json_object *sysfs_gids(const char *device, unsigned port, bool roce);

/* The entry of one GID; "gid" as 16 bytes, "type" and "netdev" may be NULL. */
json_object *gid_entry(unsigned index, const void *gid, const char *type, const char *netdev);
