/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl generate": a policy that says what is. Writes no value; root makes a directory that is missing,
 * to look, and removes it again. */

#include "config.h"
#include "report-json.h"
#include "rocectl-compose.h"
#include "rocectl-document.h"
#include "rocectl-output.h"
#include "rocectl-pass.h"
#include "text.h"

/* To look at all there is, and to write nothing. What it wants does not matter. */
static const char looking[] = "version: 1\nrules: [{match: any, mode: v2, tos: 0, enforcement: report}]\n";

typedef struct Found {
        FoundPort *ports;
        char (*reasons)[_ATTRIBUTE_MAX][REASON_TEXT_MAX];
        size_t n_ports;
        const Device **devices;
        size_t n_devices;
} Found;

static void found_done(Found *found) {
        free(found->ports);
        free(found->reasons);
        free(found->devices);
}

static Policy *policy_from_text(const char *path, const char *text) {
        PolicyText file = { (char *) path, (char *) text, strlen(text) };
        Messages messages = {};
        Policy *policy = NULL;

        if (policy_parse(&file, 1, &policy, &messages) < 0)
                policy = NULL;
        messages_done(&messages);
        return policy;
}

static void found_add_port(Found *found, const DeviceReport *report, const PortReport *port) {
        FoundPort *entry = found->ports + found->n_ports;
        const Port *on_device = device_find_port(report->device, port->number);

        if (!on_device || !on_device->roce)
                return;
        *entry = (FoundPort){ .device = report->device, .port = on_device };
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                const Verdict *verdict = port->verdicts + a;
                char *buffer = found->reasons[found->n_ports][a];
                const char *reason = reason_format(verdict, a, buffer);

                entry->values[a] = verdict->found;
                entry->why_not[a] =
                                verdict->found == VALUE_NONE ? (reason ? reason : "no reason known") : NULL;
        }
        found->n_ports++;
}

static void found_collect(Found *found, const Pass *pass) {
        size_t n_ports = 0;

        for (size_t i = 0; i < pass->n_reports; i++)
                n_ports += pass->reports[i]->n_ports;
        found->ports = NEED((FoundPort *) calloc(MAX_OF(n_ports, 1U), sizeof(FoundPort)));
        found->reasons = need(calloc(MAX_OF(n_ports, 1U), sizeof(*found->reasons)));
        found->devices = NEED((const Device **) calloc(MAX_OF(pass->n_reports, 1U), sizeof(Device *)));

        for (size_t i = 0; i < pass->n_reports; i++) {
                const DeviceReport *report = pass->reports[i];

                if (!report->device)
                        continue;
                found->devices[found->n_devices++] = report->device;
                for (size_t k = 0; k < report->n_ports; k++)
                        found_add_port(found, report, report->ports + k);
        }
}

/* What the policy does not say, and why: to stderr or to the document. */
static size_t found_tell_missing(const Found *found, json_object *missing) {
        static const char cannot_be_told[] = "no rule can tell this device from others";
        size_t n = 0;

        for (size_t i = 0; i < found->n_ports; i++) {
                const FoundPort *port = found->ports + i;
                bool told = device_can_be_told(port->device, found->devices, found->n_devices);

                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        const char *reason = told ? port->why_not[a] : cannot_be_told;
                        json_object *object;

                        if (!reason)
                                continue;
                        n++;
                        complain(CODE_NOT_COMPLIANT, "%s/%u: %s is left out: %s", port->device->name,
                                 port->port->number, attribute_name(a), reason);
                        object = NEED(json_object_new_object());
                        json_object_object_add(object, "device", json_string(port->device->name));
                        json_object_object_add(object, "port", json_object_new_int64(port->port->number));
                        json_object_object_add(object, "attribute", json_string(attribute_name(a)));
                        json_object_object_add(object, "reason", json_string(reason));
                        json_object_array_add(missing, object);
                }
        }
        return n;
}

static char *found_compose(const Found *found, json_object *document) {
        _cleanup_free_ char *host = output_visible(json_get_text(document, "host"));
        char *text = NULL;
        size_t size;
        FILE *f = NEED(open_memstream(&text, &size));
        int r;

        fprintf(f,
                "# The defaults for new RDMA-CM connections on %s, as they were on %s.\n"
                "# Written by rocectl %s.\n",
                host, json_get_text(document, "time"), VERSION);
        r = policy_compose(f, found->ports, found->n_ports, found->devices, found->n_devices);
        if (fclose(f) != 0 || r < 0)
                need(NULL);
        return text;
}

/* The policy must do what it is for: each value that was found is what its rule wants. */
static bool found_is_said(const Found *found, const char *text) {
        _cleanup_(policy_unrefp) Policy *policy = policy_from_text("<generated>", text);

        for (size_t i = 0; policy && i < found->n_ports; i++) {
                const FoundPort *port = found->ports + i;
                const Rule *rule;

                (void) policy_find_rule(policy, port->device, port->port, &rule);
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if ((rule ? rule->wanted[a] : VALUE_NONE) != port->values[a] &&
                            device_can_be_told(port->device, found->devices, found->n_devices))
                                return false;
        }
        return policy;
}

static int generate(const Options *options, const Pass *pass) {
        _cleanup_json_ json_object *document = document_begin();
        json_object *missing = NEED(json_object_new_array());
        _cleanup_(found_done) Found found = {};
        _cleanup_free_ char *text = NULL;
        int code = CODE_DONE;

        found_collect(&found, pass);
        text = found_compose(&found, document);
        if (!found_is_said(&found, text)) {
                json_object_put(missing);
                return complain(CODE_FAILED,
                                "no policy says what was found; the devices have changed meanwhile?");
        }
        if (found_tell_missing(&found, missing) > 0)
                code = CODE_NOT_COMPLIANT;

        json_object_object_add(document, "complete", json_object_new_boolean(code == CODE_DONE));
        json_object_object_add(document, "missing", missing);
        json_object_object_add(document, "text", json_string(text));
        if (options->json)
                output_json(document);
        else if (!options->quiet)
                fputs(text, stdout);
        return code;
}

int verb_generate(const Options *options, char **arguments) {
        _cleanup_(policy_unrefp) Policy *policy = NEED(policy_from_text("<looking>", looking));
        _cleanup_(pass_done) Pass pass = {};
        int r, code, devices;

        r = pass_acquire(&pass, policy);
        if (r < 0)
                return complain(CODE_FAILED, "RDMA devices cannot be read from /sys/class/infiniband: %s",
                                strerror(-r));

        output_open(options, false);
        devices = pass_complain(&pass);
        code = generate(options, &pass);
        return output_close(devices != CODE_DONE ? devices : code);
}
