/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Device snapshots as plain data: release, look-up, spelling. Pure. */

#include "device.h"

Device *device_free(Device *device) {
        if (!device)
                return NULL;

        for (size_t i = 0; i < device->n_ports; i++)
                free(device->ports[i].netdev);
        for (size_t i = 0; i < device->n_properties; i++) {
                free(device->properties[i].name);
                free(device->properties[i].value);
        }
        free(device->ports);
        free(device->properties);
        free(device->name);
        free(device->driver);
        free(device->pci);
        free(device->pci_id);
        free(device->node_guid);
        free(device);
        return NULL;
}

/* Duplicates a string; false only out of memory. */
static bool copy_string(char **ret, const char *from) {
        *ret = from ? strdup(from) : NULL;
        return *ret || !from;
}

static bool copy_ports(Device *copy, const Device *device) {
        copy->ports = calloc(MAX_OF(device->n_ports, 1U), sizeof(Port));
        if (!copy->ports)
                return false;

        for (; copy->n_ports < device->n_ports; copy->n_ports++) {
                copy->ports[copy->n_ports] = device->ports[copy->n_ports];
                if (!copy_string(&copy->ports[copy->n_ports].netdev, device->ports[copy->n_ports].netdev))
                        return false;
        }
        return true;
}

static bool copy_properties(Device *copy, const Device *device) {
        copy->properties = calloc(MAX_OF(device->n_properties, 1U), sizeof(Property));
        if (!copy->properties)
                return false;
        copy->n_properties = device->n_properties;

        for (size_t i = 0; i < device->n_properties; i++)
                if (!copy_string(&copy->properties[i].name, device->properties[i].name) ||
                    !copy_string(&copy->properties[i].value, device->properties[i].value))
                        return false;
        return true;
}

Device *device_copy(const Device *device) {
        _cleanup_(device_freep) Device *copy = NULL;

        copy = calloc(1, sizeof(Device));
        if (!copy)
                return NULL;

        copy->instance = device->instance;
        copy->settled = device->settled;
        copy->has_database = device->has_database;
        copy->rnic = device->rnic;
        copy->function = device->function;
        if (!copy_string(&copy->name, device->name) || !copy_string(&copy->driver, device->driver) ||
            !copy_string(&copy->pci, device->pci) || !copy_string(&copy->pci_id, device->pci_id) ||
            !copy_string(&copy->node_guid, device->node_guid) || !copy_ports(copy, device) ||
            !copy_properties(copy, device))
                return NULL;
        return TAKE_PTR(copy);
}

char **names_free(char **names) {
        if (names)
                for (char **name = names; *name; name++)
                        free(*name);
        free(names);
        return NULL;
}

bool device_name_is_valid(const char *name) {
        size_t length = strlen(name);

        if (length == 0 || length > DEVICE_NAME_LENGTH_MAX || streq(name, ".") || streq(name, ".."))
                return false;

        for (const char *c = name; *c; c++)
                if (*c == '/' || (unsigned char) *c < ' ' || *c == 0x7f)
                        return false;

        return true;
}

const Port *device_find_port(const Device *device, unsigned number) {
        for (size_t i = 0; i < device->n_ports; i++)
                if (device->ports[i].number == number)
                        return device->ports + i;
        return NULL;
}

const char *device_find_property(const Device *device, const char *name) {
        for (size_t i = 0; i < device->n_properties; i++)
                if (streq(device->properties[i].name, name))
                        return device->properties[i].value;
        return NULL;
}

const char *function_to_string(Function function) {
        static const char *const table[] = {
                [FUNCTION_PF] = "pf",
                [FUNCTION_VF] = "vf",
                [FUNCTION_SF] = "sf",
        };

        return table[function];
}

const char *link_layer_to_string(LinkLayer link_layer) {
        static const char *const table[] = {
                [LINK_LAYER_ETHERNET] = "Ethernet",
                [LINK_LAYER_INFINIBAND] = "InfiniBand",
        };

        return table[link_layer];
}
