/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl status": the picture of the host as a table with notes, as JSON, or one device in full. */

#include "report-json.h"
#include "rocectl-device.h"
#include "rocectl-document.h"
#include "rocectl-show.h"

#define COLUMN_RESULT 8

static const Column columns[] = {
        { "DEVICE", false },
        { "PORT", true },
        { "LINK", false },
        { "STATE", false },
        { "RATE", true },
        { "NETDEV", false },
        { "MODE", false },
        { "TOS", false },
        { "RESULT", false },
        { "RULE", false },
        {},
};

static char *attribute_cell(json_object *port, Attribute attribute) {
        json_object *verdict = json_get(port, attribute_name(attribute));
        _cleanup_free_ char *found = value_text(verdict, "found"), *wanted = value_text(verdict, "wanted");

        return values_format(found, wanted);
}

static void table_add_port(Table *table, const char *device, json_object *port) {
        State state = state_worse(json_get_state(port, ATTRIBUTE_MODE), json_get_state(port, ATTRIBUTE_TOS));
        _cleanup_free_ char *mode = attribute_cell(port, ATTRIBUTE_MODE);
        _cleanup_free_ char *tos = attribute_cell(port, ATTRIBUTE_TOS);
        _cleanup_free_ char *rule = rule_text(json_get(port, "rule"), false);
        const char *cells[] = {
                device,
                json_object_get_string(json_get(port, "port")),
                json_get_text(port, "link_layer"),
                json_get_text(port, "state"),
                json_get_text(port, "rate"),
                json_get_text(port, "netdev"),
                mode,
                tos,
                state_to_string(state),
                rule,
        };

        table_add(table, cells, COLUMN_RESULT, state_tone(state));
}

static void print_table(const Options *options, json_object *devices) {
        _cleanup_(table_freep) Table *table = table_new(options, columns);
        size_t n = json_object_array_length(devices), n_ports, n_all = 0;
        json_object *ports;

        for (size_t i = 0; i < n; i++) {
                json_object *device = json_object_array_get_idx(devices, i);

                n_ports = json_get_list(device, "ports", &ports);
                n_all += n_ports;
                for (size_t k = 0; k < n_ports; k++)
                        table_add_port(table, json_get_text(device, "name"),
                                       json_object_array_get_idx(ports, k));
        }
        if (n_all == 0 && !options->no_legend)
                output_line(n == 0 ? "There are no RDMA devices." : "No port can be seen.");
        table_print(table);
}

static void print_count(json_object *devices) {
        size_t n_devices = json_object_array_length(devices), n_ports, n_roce = 0, n_compliant = 0;
        json_object *ports;

        for (size_t i = 0; i < n_devices; i++) {
                n_ports = json_get_list(json_object_array_get_idx(devices, i), "ports", &ports);
                for (size_t k = 0; k < n_ports; k++) {
                        json_object *port = json_object_array_get_idx(ports, k);
                        State mode = json_get_state(port, ATTRIBUTE_MODE);
                        State tos = json_get_state(port, ATTRIBUTE_TOS);

                        n_roce += mode != STATE_NOT_ROCE;
                        n_compliant += mode != STATE_NOT_ROCE && state_is_compliant(mode) > 0 &&
                                       state_is_compliant(tos) > 0;
                }
        }
        output_line("Ports: %zu of %zu RoCE ports compliant", n_compliant, n_roce);
}

/* An error of the policy has been told on stderr where it is "invalid". */
static void print_policy(json_object *policy, bool running, bool invalid) {
        const char *sha256 = json_get_text(policy, "sha256"), *error = json_get_text(policy, "error");
        bool told = error || json_get(policy, "stale");
        json_object *files;
        size_t n_files = json_get_list(policy, "files", &files);
        _cleanup_free_ char *more = NULL;

        if (sha256 && n_files > 0) {
                more = n_files > 1 ? need_text(" and %zu more", n_files - 1) : NEED(strdup(""));
                output_line("Policy: %.12s, %s%s", sha256,
                            json_object_get_string(json_object_array_get_idx(files, 0)), more);
        } else if (invalid)
                output_line("Policy: not valid; \"rocectl check\" tells more");
        else if (error && !running)
                output_line("Policy: not known, %s", error);
        else if (policy && !told)
                output_line("Policy: not known yet");
        else
                output_line("Policy: none, nothing is managed");

        if (error && running)
                output_line("Policy on disk: %s; \"rocectl check\" tells more", error);
        else if (json_object_get_boolean(json_get(policy, "stale")))
                output_line("Policy on disk: not what is loaded; %s", advice_reload());
}

static void print_daemon(json_object *daemon) {
        const char *since = json_get_text(daemon, "since"), *last_pass = json_get_text(daemon, "last_pass");
        json_object *running = json_get(daemon, "running"), *blocked = json_get(daemon, "blocked");

        if (!running)
                output_line("Daemon: cannot tell whether it runs");
        else if (!json_object_get_boolean(running))
                output_line("Daemon: not running; %s", advice_start());
        else if (!since)
                output_line("Daemon: starting");
        else
                output_line("Daemon: running since %s, %s%s", since,
                            last_pass ? "last pass " : "first pass not done", last_pass ? last_pass : "");

        if (blocked)
                output_line("Kernel: has not answered since %s: %s", json_get_text(blocked, "since"),
                            json_get_text(blocked, "where"));
}

/* Notes and the daemon's health. */
static void print_legend(json_object *document, json_object *devices, bool invalid) {
        json_object *daemon = json_get(document, "daemon");

        putchar('\n');
        print_troubles(devices);
        print_warnings(document);
        print_count(devices);
        print_policy(json_get(document, "policy"), json_object_get_boolean(json_get(daemon, "running")), invalid);
        print_daemon(daemon);
}

int verb_status(const Options *options, char **arguments) {
        _cleanup_json_ json_object *document = NULL;
        bool detail = arguments[0] && !arguments[1];
        json_object *devices;
        int code;

        code = document_acquire(options, arguments, &document);
        if (!document)
                return code;

        devices = json_get(document, "devices");
        if (detail && !(options->quiet && !options->json))
                device_add_detail(json_object_array_get_idx(devices, 0));
        if (code == CODE_USAGE)
                complain(code, "the policy is invalid: %s",
                         json_get_text(json_get(document, "policy"), "error"));

        output_open(options, true);
        if (options->json)
                output_json(document);
        else if (!options->quiet) {
                if (detail)
                        device_print(json_object_array_get_idx(devices, 0));
                else
                        print_table(options, devices);
                if (!options->no_legend)
                        print_legend(document, devices, code == CODE_USAGE);
        }
        return output_close(code);
}
