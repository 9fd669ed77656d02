/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes a policy from values that were found. Pure: looks at nothing, and prints nothing but the policy. */

#include "policy.h"

typedef struct FoundPort {
        const Device *device;
        const Port *port;                    /* of the device; a RoCE port */
        int values[_ATTRIBUTE_MAX];          /* VALUE_NONE: not known, left out */
        const char *why_not[_ATTRIBUTE_MAX]; /* with VALUE_NONE */
} FoundPort;

/* The rules, and "version", for all ports: sorted by device, of which "devices" are all there are,
 * InfiniBand too. Where all ports of a driver agree one rule by driver says so; other devices are told by
 * PCI address, by node GUID where several share one, and by name where that is not of their own either. */
int policy_compose(FILE *f, const FoundPort *ports, size_t n_ports, const Device *const *devices,
                   size_t n_devices);

/* Whether a rule can tell this device from all others. */
bool device_can_be_told(const Device *device, const Device *const *devices, size_t n_devices);
