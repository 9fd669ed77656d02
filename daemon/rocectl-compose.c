/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Groups ports by their values, and finds for each group the keys that last: a driver outlives a slot, a
 * slot outlives a name. */

#include "rocectl-compose.h"

#include "text.h"

/* Of the ports that a rule is for so many are named in its comment. */
#define NAMED_MAX 8

typedef struct Draft {
        FILE *f;
        const FoundPort *ports;
        size_t n_ports;
        const Device *const *devices;
        size_t n_devices;
        bool *done; /* ports that a rule has been written for */
} Draft;

static bool values_are_known(const FoundPort *port) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (port->values[a] != VALUE_NONE)
                        return true;
        return false;
}

static bool values_equal(const FoundPort *a, const FoundPort *b) {
        return memcmp(a->values, b->values, sizeof(a->values)) == 0;
}

/* Text that a policy can hold and a pattern can mean. */
static bool text_can_be_said(const char *text) {
        size_t size = strlen(text), length;
        uint32_t character;

        for (size_t i = 0; i < size; i += length) {
                length = utf8_decode(text + i, size - i, &character);
                /* A byte order mark, and two that are no characters. */
                if (character == CHARACTER_INVALID || character_is_control(character) || character == 0xfeff ||
                    character == 0xfffe || character == 0xffff)
                        return false;
        }
        return size > 0;
}

static const char *device_key_value(const Device *device, MatchKey key) {
        switch (key) {
        case MATCH_PCI:
                return device->pci;
        case MATCH_NODE_GUID:
                return device->node_guid && strspn(device->node_guid, "0:") < strlen(device->node_guid)
                                       ? device->node_guid
                                       : NULL;
        default:
                return device->name;
        }
}

/* The most lasting key whose value no other device shares; _MATCH_KEY_MAX: there is none. */
static MatchKey device_key(const Device *device, const Device *const *devices, size_t n_devices) {
        static const MatchKey keys[] = { MATCH_PCI, MATCH_NODE_GUID, MATCH_DEVICE };

        for (size_t k = 0; k < ELEMENTSOF(keys); k++) {
                const char *value = device_key_value(device, keys[k]);
                size_t n = 0;

                if (!value || !text_can_be_said(value))
                        continue;
                for (size_t i = 0; i < n_devices; i++)
                        n += streq_ptr(device_key_value(devices[i], keys[k]), value);
                if (n <= 1)
                        return keys[k];
        }
        return _MATCH_KEY_MAX;
}

bool device_can_be_told(const Device *device, const Device *const *devices, size_t n_devices) {
        return device_key(device, devices, n_devices) < _MATCH_KEY_MAX;
}

/* A scalar that stands for itself: quoted for YAML, and what would be a pattern in it taken for what it is.
 */
static void write_literal(FILE *f, const char *text) {
        fputc('\'', f);
        for (const char *c = text; *c; c++) {
                if (strchr("*?[\\", *c) || (c == text && *c == '!'))
                        fputc('\\', f);
                else if (*c == '\'')
                        fputc('\'', f);
                fputc(*c, f);
        }
        fputc('\'', f);
}

/* "  # mlx5_0/1, mlx5_1/1 and 3 more" of the ports marked. */
static int write_comment(const Draft *draft, const bool *marked) {
        size_t n = 0, n_named = 0;

        for (size_t i = 0; i < draft->n_ports; i++)
                n += marked[i];
        fprintf(draft->f, "  # ");
        for (size_t i = 0; i < draft->n_ports && n_named < NAMED_MAX; i++) {
                _cleanup_free_ char *name = NULL;

                if (!marked[i])
                        continue;
                name = text_make_visible(draft->ports[i].device->name);
                if (!name)
                        return -ENOMEM;
                fprintf(draft->f, "%s%s/%u", n_named > 0 ? ", " : "", name, draft->ports[i].port->number);
                n_named++;
        }
        if (n > n_named)
                fprintf(draft->f, " and %zu more", n - n_named);
        fputc('\n', draft->f);
        return 0;
}

static void write_settings(FILE *f, const FoundPort *port) {
        int mode = port->values[ATTRIBUTE_MODE], tos = port->values[ATTRIBUTE_TOS];
        char text[ATTRIBUTE_TEXT_MAX];

        if (mode != VALUE_NONE)
                fprintf(f, "    mode: %s\n", attribute_format(ATTRIBUTE_MODE, mode, text));
        if (tos == VALUE_NONE)
                return;
        /* With ECN bits it is dscp and ecn that say that they are meant. */
        if (tos & 3)
                fprintf(f, "    dscp: %d\n    ecn: %d\n", tos >> 2, tos & 3);
        else
                fprintf(f, "    tos: %d\n", tos);
}

/* Whether all RoCE ports of devices that "same" finds akin have the values of this one. */
static bool all_agree(const Draft *draft, const FoundPort *port,
                      bool (*akin)(const Device *a, const Device *b)) {
        for (size_t i = 0; i < draft->n_ports; i++)
                if (akin(port->device, draft->ports[i].device) && !values_equal(port, draft->ports + i))
                        return false;
        return true;
}

static bool devices_share_driver(const Device *a, const Device *b) {
        return a->driver && streq_ptr(a->driver, b->driver);
}

static bool devices_are_one(const Device *a, const Device *b) {
        return a == b;
}

static int write_driver_rule(Draft *draft, const FoundPort *port) {
        _cleanup_free_ bool *marked = calloc(draft->n_ports, sizeof(bool));
        int r;

        if (!marked)
                return -ENOMEM;
        for (size_t i = 0; i < draft->n_ports; i++)
                if (devices_share_driver(port->device, draft->ports[i].device))
                        marked[i] = draft->done[i] = true;
        r = write_comment(draft, marked);
        if (r < 0)
                return r;
        fprintf(draft->f, "  - match:\n      driver: ");
        write_literal(draft->f, port->device->driver);
        fputc('\n', draft->f);
        write_settings(draft->f, port);
        return 0;
}

/* The devices of the ports marked, each once. */
static void write_devices(const Draft *draft, const bool *marked, MatchKey key) {
        const Device *last = NULL;
        size_t n = 0;

        for (size_t i = 0; i < draft->n_ports; i++)
                if (marked[i] && draft->ports[i].device != last) {
                        last = draft->ports[i].device;
                        n++;
                }

        last = NULL;
        fprintf(draft->f, "  - match:\n      %s:", match_key_to_string(key));
        for (size_t i = 0; i < draft->n_ports; i++)
                if (marked[i] && draft->ports[i].device != last) {
                        last = draft->ports[i].device;
                        fprintf(draft->f, n > 1 ? "\n        - " : " ");
                        write_literal(draft->f, device_key_value(last, key));
                }
        fputc('\n', draft->f);
}

static void write_port_numbers(const Draft *draft, const bool *marked) {
        const char *separator = "      port: [";

        for (size_t i = 0; i < draft->n_ports; i++)
                if (marked[i]) {
                        fprintf(draft->f, "%s%u", separator, draft->ports[i].port->number);
                        separator = ", ";
                }
        fprintf(draft->f, "]\n");
}

/* A rule for the ports of this one's device that agree with it, and for other devices that agree in all
 * their ports. */
static int write_device_rule(Draft *draft, const FoundPort *port) {
        MatchKey key = device_key(port->device, draft->devices, draft->n_devices);
        _cleanup_free_ bool *marked = calloc(draft->n_ports, sizeof(bool));
        bool whole = all_agree(draft, port, devices_are_one);
        int r;

        if (!marked)
                return -ENOMEM;
        for (size_t i = (size_t) (port - draft->ports); i < draft->n_ports; i++) {
                const FoundPort *other = draft->ports + i;

                if (draft->done[i] || !values_equal(port, other))
                        continue;
                if (other->device != port->device &&
                    (!whole || !all_agree(draft, other, devices_are_one) ||
                     !streq_ptr(other->device->driver, port->device->driver) ||
                     device_key(other->device, draft->devices, draft->n_devices) != key))
                        continue;
                marked[i] = draft->done[i] = true;
        }

        r = write_comment(draft, marked);
        if (r < 0)
                return r;
        write_devices(draft, marked, key);
        if (!whole)
                write_port_numbers(draft, marked);
        write_settings(draft->f, port);
        return 0;
}

int policy_compose(FILE *f, const FoundPort *ports, size_t n_ports, const Device *const *devices,
                   size_t n_devices) {
        _cleanup_free_ bool *done = calloc(MAX_OF(n_ports, 1U), sizeof(bool));
        Draft draft = { f, ports, n_ports, devices, n_devices, done };
        size_t n_rules = 0;
        int r = 0;

        if (!done)
                return -ENOMEM;

        fprintf(f, "version: 1\n");
        for (size_t i = 0; r >= 0 && i < n_ports; i++) {
                bool by_driver;

                if (done[i] || !values_are_known(ports + i))
                        continue;
                by_driver = ports[i].device->driver && text_can_be_said(ports[i].device->driver) &&
                            all_agree(&draft, ports + i, devices_share_driver);
                if (!by_driver && !device_can_be_told(ports[i].device, devices, n_devices))
                        continue;
                if (n_rules++ == 0)
                        fprintf(f, "rules:\n");
                r = by_driver ? write_driver_rule(&draft, ports + i) : write_device_rule(&draft, ports + i);
        }
        if (n_rules == 0)
                fprintf(f, "rules: []\n");
        return r;
}
