/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl status DEVICE": an ibstat's worth, by sysfs and libibverbs, as more keys of the document and as
 * text. */

#include "rocectl-device.h"

#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-show.h"
#include "rocectl-sysfs.h"
#include "rocectl-verbs.h"

static void port_add_gids(json_object *port, const char *device, const Verbs *verbs) {
        unsigned number = (unsigned) json_object_get_int64(json_get(port, "port"));
        bool roce = json_get_state(port, ATTRIBUTE_MODE) != STATE_NOT_ROCE;
        json_object *gids = verbs ? verbs_gids(verbs, number) : NULL;

        json_object_object_add(port, "gids", gids ? gids : sysfs_gids(device, number, roce));
}

void device_add_detail(json_object *device) {
        static const struct {
                const char *key, *file;
        } files[] = {
                { "type", "hca_type" },
                { "board", "board_id" },
                { "firmware", "fw_ver" },
                { "sys_image_guid", "sys_image_guid" },
        };
        const char *name = json_get_text(device, "name");
        json_object *ports;
        size_t n_ports = json_get_list(device, "ports", &ports);
        char why_not[VERBS_TEXT_MAX] = "";
        Verbs *verbs;

        verbs = verbs_open(name, why_not);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *line = sysfs_line(name, "%s", files[i].file);

                json_object_object_add(device, files[i].key, json_string(line));
        }
        if (verbs && verbs_firmware(verbs))
                json_object_object_add(device, "firmware", json_string(verbs_firmware(verbs)));
        json_object_object_add(device, "verbs_error", json_string(verbs ? NULL : why_not));

        for (size_t i = 0; i < n_ports; i++)
                port_add_gids(json_object_array_get_idx(ports, i), name, verbs);
        verbs_close(verbs);
}

/* A line "label: value" if there is a value. */
static void print_value(unsigned indent, const char *label, const char *value) {
        if (value)
                output_line("%*s%s: %s", (int) indent, "", label, value);
}

char *device_supported_text(json_object *port) {
        _cleanup_free_ char *text = NULL;
        json_object *list;
        size_t n = json_get_list(port, "supported", &list);

        if (!list)
                return NEED(strdup("not known, the GID table is empty"));
        for (size_t i = 0; i < n; i++) {
                char *longer = need_text("%s%sRoCE %s", text ? text : "", text ? ", " : "",
                                         json_object_get_string(json_object_array_get_idx(list, i)));

                free(text);
                text = longer;
        }
        return text ? TAKE_PTR(text) : NEED(strdup("no RoCE"));
}

/* "104 (DSCP 26, ECN 0)" */
static char *tos_text(const char *value) {
        long tos = value ? strtol(value, NULL, 10) : 0;

        return value ? need_text("%s (DSCP %ld, ECN %ld)", value, tos >> 2, tos & 3) : NULL;
}

void device_print_attribute(json_object *port, Attribute attribute, unsigned indent) {
        json_object *verdict = json_get(port, attribute_name(attribute));
        _cleanup_free_ char *wanted = value_text(verdict, "wanted"), *found = value_text(verdict, "found");
        _cleanup_free_ char *wanted_long = NULL, *found_long = NULL, *values = NULL;
        bool differs = wanted && !streq_ptr(wanted, found);
        const char *reason = json_get_text(verdict, "reason"), *since = json_get_text(verdict, "since");
        State state = json_get_state(port, attribute);

        wanted_long = attribute == ATTRIBUTE_TOS ? tos_text(wanted) : NULL;
        found_long = attribute == ATTRIBUTE_TOS ? tos_text(found) : NULL;
        values = need_text("%*s%s: %s%s%s, ", (int) indent, "", attribute == ATTRIBUTE_TOS ? "TOS" : "Mode",
                           found_long ? found_long
                           : found    ? found
                                      : "not known",
                           differs ? ", wanted " : "", !differs ? "" : wanted_long ? wanted_long : wanted);
        output_toned(TONE_PLAIN, values);
        output_toned(state_tone(state), state_to_string(state));
        output_line("%s%s%s%s", since ? " since " : "", since ? since : "", reason ? ": " : "",
                    reason ? reason : "");
}

static void print_gids(json_object *port) {
        json_object *list;
        size_t n = json_get_list(port, "gids", &list);

        output_line("        GIDs:%s", n == 0 ? " none" : "");
        for (size_t i = 0; i < n; i++) {
                json_object *gid = json_object_array_get_idx(list, i);
                const char *type = json_get_text(gid, "type"), *netdev = json_get_text(gid, "netdev");

                output_line("            %4s  %-2s  %s%s%s", json_object_get_string(json_get(gid, "index")),
                            type ? type : "", json_get_text(gid, "gid"), netdev ? "  " : "",
                            netdev ? netdev : "");
        }
}

static void print_port(json_object *port) {
        _cleanup_free_ char *supported = device_supported_text(port), *rule = rule_text(json_get(port, "rule"), true);
        const char *enforcement = json_get_text(json_get(port, "rule"), "enforcement");

        output_line("    Port %s", json_object_get_string(json_get(port, "port")));
        print_value(8, "Link layer", json_get_text(port, "link_layer"));
        print_value(8, "State", json_get_text(port, "state"));
        print_value(8, "Physical state", json_get_text(port, "physical_state"));
        print_value(8, "Rate", json_get_text(port, "rate"));
        print_value(8, "Network device", json_get_text(port, "netdev"));
        print_value(8, "Supports", supported);
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                device_print_attribute(port, a, 8);
        if (rule)
                output_line("        Rule: %s%s", rule,
                            streq_ptr(enforcement, "report") ? ", reports only" : "");
        print_gids(port);
}

void device_print(json_object *device) {
        static const struct {
                const char *label, *key;
        } lines[] = {
                { "Type", "type" },           { "Board", "board" },
                { "Driver", "driver" },       { "Firmware", "firmware" },
                { "PCI address", "pci" },     { "Function", "function" },
                { "Node GUID", "node_guid" }, { "System image GUID", "sys_image_guid" },
        };
        const char *verbs_error = json_get_text(device, "verbs_error");
        json_object *ports;
        size_t n = json_get_list(device, "ports", &ports);

        output_line("%s", json_get_text(device, "name"));
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                print_value(4, lines[i].label, json_get_text(device, lines[i].key));
        for (size_t i = 0; i < n; i++)
                print_port(json_object_array_get_idx(ports, i));
        if (verbs_error)
                output_line("    Note: %s GIDs and firmware are from sysfs.", verbs_error);
}
