/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the kernel holds of RDMA devices, as far as rdma_cm's configfs shows it: names, ports, what each port
 * can, and the two values. Knows the kernel's parsing rules, and nothing of directories, FUSE or faults. */

#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MODEL_NAME_MAX 63u
#define MODEL_PORTS_MAX 16u

typedef enum Capability {
        CAPABILITY_V1 = 1 << 0,         /* also what an InfiniBand, iWARP or raw port claims */
        CAPABILITY_V2 = 1 << 1,
} Capability;

typedef struct Device {
        struct Device *next;
        char name[MODEL_NAME_MAX + 1];
        bool no_cm;
        unsigned n_ports;
        unsigned capabilities[MODEL_PORTS_MAX + 1];
        Capability mode[MODEL_PORTS_MAX + 1];
        unsigned tos[MODEL_PORTS_MAX + 1];
} Device;

typedef struct Model {
        Device *devices;
        bool prefer_v1;                 /* before 4.13 the default is v1 wherever the port can */
} Model;

typedef enum Attribute {
        ATTRIBUTE_MODE,
        ATTRIBUTE_TOS,
        _ATTRIBUTE_MAX,
} Attribute;

const char *attribute_name(Attribute a);
int attribute_from_name(const char *name);

Device *model_find(Model *m, const char *name);
int model_add(Model *m, const char *name, char *ports);
int model_remove(Model *m, const char *name);
int model_rename(Model *m, const char *from, const char *to);

/* All values back to the default, as when rdma_cm is loaded anew. */
void model_reset(Model *m);

int device_show(const Device *d, unsigned port, Attribute a, char *ret, size_t size);
int device_store(Device *d, unsigned port, Attribute a, const char *text);
