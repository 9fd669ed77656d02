/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* lib/device.h on the model, as far as it reads sysfs and udev's database. */

#include <stdarg.h>

#include "calls.h"
#include "witness.h"

static char *text_copy(const char *format, ...) PRINTF(1, 2);

static char *text_copy(const char *format, ...) {
        char text[64];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        return strdup(text);
}

static bool port_fill(Port *port, unsigned number, const ModelPort *from) {
        *port = (Port){
                .number = number,
                .link_layer = from->link_layer,
                .roce = from->roce,
                .netdev_settled = from->netdev_settled,
        };
        return from->netdev == NO_NETDEV || (port->netdev = text_copy("lan%i", from->netdev));
}

Device *device_snapshot(const ModelDevice *from, bool settled) {
        static const char *const drivers[] = { "mlx5_core", "mlx4_core", NULL };
        _cleanup_(device_freep) Device *device = calloc(1, sizeof(Device));

        if (!device)
                return NULL;
        device->name = strdup(model_names[from->name]);
        device->node_guid = text_copy("0000:0000:0000:%04x", (unsigned) from->instance & 0xffff);
        device->driver = drivers[from->driver] ? strdup(drivers[from->driver]) : NULL;
        device->properties = calloc(1, sizeof(Property));
        device->ports = calloc(from->n_ports, sizeof(Port));
        if (!device->name || !device->node_guid || (drivers[from->driver] && !device->driver) || !device->properties ||
            !device->ports)
                return NULL;

        device->instance = from->instance;
        device->settled = device->has_database = settled;
        device->rnic = from->rnic;
        device->n_properties = 1;
        device->properties[0].name = strdup("ID_RAIL");
        device->properties[0].value = text_copy("%u", (unsigned) from->instance % 3);
        if (!device->properties[0].name || !device->properties[0].value)
                return NULL;
        for (; device->n_ports < from->n_ports; device->n_ports++)
                if (!port_fill(device->ports + device->n_ports, (unsigned) device->n_ports + 1,
                               from->ports + device->n_ports))
                        return NULL;
        return TAKE_PTR(device);
}

int device_instance_acquire(const char *device, uint64_t *ret_instance) {
        int name = name_find(device), r = world_call(CALL_INSTANCE, name);
        const ModelDevice *found = device_by_name(name);

        if (r == 0)
                witness_identity(name, found ? found->instance : 0);
        if (r == 0 && !found)
                r = -ENODEV;
        if (r == 0)
                *ret_instance = found->instance;
        return call_told(CALL_INSTANCE, name, r);
}

/* Reads piece by piece, as the real one does, and sees to it that all is of one device. */
int device_acquire(const char *text, AcquireFlags flags, Device **ret) {
        int name = name_find(text), r = world_call(CALL_ACQUIRE, name);
        const ModelDevice *found = device_by_name(name);
        uint64_t instance, stamp;
        ModelDevice before;
        Device *device;
        bool settled;

        if (r < 0 || !found)
                return call_told(CALL_ACQUIRE, name, r < 0 ? r : -ENODEV);
        before = *found;
        stamp = world.database[name];
        settled = !world.udevd || stamp != 0;

        r = device_instance_acquire(text, &instance);
        if (r < 0)
                return r;
        if (instance != before.instance)
                return call_told(CALL_ACQUIRE, name, -ENODEV);

        device = device_snapshot(&before, settled);
        if (!device)
                return -ENOMEM;
        if (!(flags & ACQUIRE_NETDEV_SETTLED))
                for (size_t i = 0; i < device->n_ports; i++)
                        device->ports[i].netdev_settled = true;
        witness_acquired(&before, stamp);
        *ret = device;
        return call_told(CALL_ACQUIRE, name, 0);
}

bool leftover_is_there(const char *device, uint64_t stamp) {
        return stamp != 0 && world.udevd && world.database[name_find(device)] == stamp;
}

int port_support_acquire(const char *device, unsigned port, unsigned *ret_support) {
        int name = name_find(device), r = world_call(CALL_SUPPORT, name);
        const ModelDevice *found = device_by_name(name);

        if (r == 0)
                *ret_support = found && port <= found->n_ports ? found->ports[port - 1].gids : 0;
        return call_told(CALL_SUPPORT, name, r);
}

uint64_t leftover_stamp_acquire(const char *device) {
        int name = name_find(device);

        return world_call(CALL_LEFTOVERS, name) < 0 ? 0 : world.database[name];
}

Leftover *leftovers_free(Leftover *leftovers, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(leftovers[i].name);
        free(leftovers);
        return NULL;
}

int leftovers_acquire(Leftover **ret, size_t *ret_n) {
        Leftover *leftovers;
        size_t n = 0;
        int r;

        leftovers = calloc(NAMES, sizeof(Leftover));
        if (!leftovers)
                return -ENOMEM;
        for (int name = 0; name < NAMES; name++) {
                uint64_t stamp = world.database[name];

                r = world_call(CALL_LEFTOVERS, name);
                if (r >= 0 && (stamp == 0 || device_by_name(name)))
                        continue;
                leftovers[n] = (Leftover){ .name = r < 0 ? NULL : strdup(model_names[name]), .stamp = stamp };
                if (!leftovers[n++].name) {
                        leftovers_free(leftovers, n);
                        return -ENOMEM;
                }
        }
        *ret = leftovers;
        *ret_n = n;
        return 0;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

int device_names_acquire(char ***ret_names, size_t *ret_invalid) {
        _cleanup_(names_freep) char **names = calloc(DEVICES + 1, sizeof(char *));
        int r = world_call(CALL_LIST, NO_NAME);
        size_t n = 0, n_invalid = 0;

        if (!names)
                return -ENOMEM;
        if (r < 0)
                return call_told(CALL_LIST, NO_NAME, r);
        for (const ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                if (device->there && !device_name_is_valid(model_names[device->name]))
                        n_invalid++;
                else if (device->there && !(names[n++] = strdup(model_names[device->name])))
                        return -ENOMEM;

        qsort(names, n, sizeof(char *), compare_names);
        *ret_names = TAKE_PTR(names);
        *ret_invalid = n_invalid;
        return call_told(CALL_LIST, NO_NAME, (int) n);
}
