/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any devices: the policy that is written for them is valid, and gives each port that a rule can tell from the others
 * what it has. */

#include "fuzz.h"
#include "policy-load.h"
#include "rocectl-compose.h"

#define DEVICES_MAX 8U
#define PORTS_MAX 3U

typedef struct Texts {
        char pci[sizeof("0000:00:00.0")], node_guid[sizeof("0000:0000:0000:0000")];
} Texts;

/* Values as the kernel can give them: 1 and 2 for modes, a byte for the TOS; '-' is not known. */
static void found_values(FoundPort *found, const char *text) {
        unsigned char tos = (unsigned char) text[0];

        found->values[ATTRIBUTE_MODE] = tos == '-' || tos == 0 ? VALUE_NONE : tos & 1 ? ROCE_V1 : ROCE_V2;
        found->values[ATTRIBUTE_TOS] =
                        tos == 0 || text[1] == 0 || text[1] == '-' ? VALUE_NONE : (unsigned char) text[1];
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (found->values[a] == VALUE_NONE)
                        found->why_not[a] = "no reason known";
}

/* False: no device could be so. */
static bool device_take(Input *input, Device *device, Texts *texts, Port *ports, FoundPort *found, size_t *n_found) {
        const char *driver, *numbers;

        device->name = input_next(input);
        driver = input_next(input);
        device->driver = *driver ? (char *) driver : NULL;
        numbers = input_next(input);
        if (numbers[0]) {
                snprintf(texts->pci, sizeof(texts->pci), "0000:3b:00.%u", (unsigned char) numbers[0] % 8U);
                device->pci = texts->pci;
        }
        snprintf(texts->node_guid, sizeof(texts->node_guid), "0000:0000:0000:%04x",
                 numbers[0] ? (unsigned char) numbers[1] % 8U : 0);
        device->node_guid = texts->node_guid;
        device->settled = device->has_database = true;
        device->ports = ports;
        device->n_ports = PORTS_MAX;

        for (unsigned i = 0; i < PORTS_MAX; i++) {
                const char *values = input_next(input);

                ports[i] = (Port){ .number = 1 + 5 * i, .roce = values[0] != 'i', .netdev_settled = true };
                if (!ports[i].roce)
                        continue;
                found[*n_found] = (FoundPort){ .device = device, .port = ports + i };
                found_values(found + (*n_found)++, values);
        }
        return device_name_is_valid(device->name);
}

static void check_composed(const char *text, size_t size, const FoundPort *found, size_t n_found,
                           const Device *const *devices, size_t n_devices) {
        PolicyText file = { .path = (char *) "generated", .bytes = (char *) text, .size = size };
        _cleanup_(messages_done) Messages messages = {};
        _cleanup_(policy_unrefp) Policy *policy = NULL;

        CHECK(policy_parse(&file, 1, &policy, &messages) == 0);
        CHECK(messages.n_items == 0);
        for (size_t i = 0; i < n_found; i++) {
                bool told = device_can_be_told(found[i].device, devices, n_devices);
                const Rule *rule;

                (void) policy_find_rule(policy, found[i].device, found[i].port, &rule);
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        int wanted = rule ? rule->wanted[a] : VALUE_NONE;

                        CHECK(wanted == found[i].values[a] || (!told && wanted == VALUE_NONE));
                }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(input_done) Input input = input_begin(data, size);
        Device devices[DEVICES_MAX] = {};
        const Device *pointers[DEVICES_MAX];
        Texts texts[DEVICES_MAX];
        Port ports[DEVICES_MAX][PORTS_MAX];
        FoundPort found[DEVICES_MAX * PORTS_MAX];
        size_t n_devices = 0, n_found = 0, written;
        _cleanup_free_ char *text = NULL;
        FILE *f;

        while (n_devices < DEVICES_MAX && input_is_left(&input)) {
                if (!device_take(&input, devices + n_devices, texts + n_devices, ports[n_devices], found, &n_found))
                        return 0;
                /* Names are unique, and come sorted. */
                if (n_devices > 0 && strcmp(devices[n_devices - 1].name, devices[n_devices].name) >= 0)
                        return 0;
                pointers[n_devices] = devices + n_devices;
                n_devices++;
        }

        CHECK(f = open_memstream(&text, &written));
        CHECK(policy_compose(f, found, n_found, pointers, n_devices) == 0);
        CHECK(fclose(f) == 0);
        check_composed(text, written, found, n_found, pointers, n_devices);
        return 0;
}
