/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the picture of the host. What devices and ports there are is asked of sysfs each time; how they
 * stand is the running daemon's to say, or found by looking where there is no daemon. Never writes, never
 * makes a directory. */

#include "rocectl-document.h"

#include <sys/utsname.h>
#include <systemd/sd-id128.h>

#include "clock.h"
#include "config.h"
#include "report-json.h"
#include "rocectl-host.h"
#include "rocectl-sysfs.h"
#include "runtime.h"
#include "text.h"

json_object *json_get(json_object *object, const char *key) {
        json_object *member = NULL;

        (void) json_object_object_get_ex(object, key, &member);
        return member;
}

json_object *json_get_object(json_object *object, const char *key) {
        json_object *member = json_get(object, key);

        return json_object_is_type(member, json_type_object) ? member : NULL;
}

const char *json_get_text(json_object *object, const char *key) {
        json_object *member = json_get(object, key);

        return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

size_t json_get_list(json_object *object, const char *key, json_object **ret) {
        json_object *member = json_get(object, key);

        *ret = member;
        return json_object_is_type(member, json_type_array) ? json_object_array_length(member) : 0;
}

State json_get_state(json_object *port, Attribute attribute) {
        const char *text = json_get_text(json_get(port, attribute_name(attribute)), "state");
        int state = text ? state_from_string(text) : -EINVAL;

        return state < 0 ? STATE_UNKNOWN : (State) state;
}

int compliance_add(int sum, int part) {
        if (sum == 0 || part == 0)
                return 0;
        return MIN_OF(sum, part);
}

json_object *json_compliance(int compliance) {
        return compliance < 0 ? NULL : json_object_new_boolean(compliance);
}

int compliance_to_code(int compliance) {
        return compliance > 0 ? CODE_DONE : CODE_NOT_COMPLIANT;
}

json_object *document_begin(void) {
        json_object *document = NEED(json_object_new_object());
        char boot_id[SD_ID128_STRING_MAX];
        struct utsname host;
        sd_id128_t id;

        (void) uname(&host);
        json_object_object_add(document, "schema", json_object_new_int(JSON_SCHEMA));
        json_object_object_add(document, "version", json_string(VERSION));
        json_object_object_add(document, "host", json_string(host.nodename));
        json_object_object_add(document, "time", json_time(clock_usec(CLOCK_REALTIME)));
        json_object_object_add(document, "boot_id",
                               sd_id128_get_boot(&id) < 0 ? NULL
                                                          : json_string(sd_id128_to_string(id, boot_id)));
        json_object_object_add(document, "kernel", json_string(host.release));
        return document;
}

json_object *json_support(unsigned support) {
        json_object *list = NEED(json_object_new_array());

        if (support & SUPPORT_V1)
                json_object_array_add(list, json_object_new_string("v1"));
        if (support & SUPPORT_V2)
                json_object_array_add(list, json_object_new_string("v2"));
        return list;
}

static json_object *json_supported(const Device *device, const Port *port) {
        unsigned support = 0;

        if (port->roce && (port_support_acquire(device->name, port->number, &support) < 0 || support == 0))
                return NULL;
        return json_support(support);
}

static json_object *json_port(const Device *device, const Port *port, const Host *host, int *compliance) {
        json_object *object = NEED(json_object_new_object());

        json_object_object_add(object, "port", json_object_new_int64(port->number));
        json_object_object_add(object, "link_layer", json_string(link_layer_to_string(port->link_layer)));
        sysfs_add_port(object, device->name, port->number);
        json_object_object_add(object, "netdev", json_string(port->netdev));
        json_object_object_add(object, "supported", json_supported(device, port));
        host_add_verdicts(host, device, port, object);
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                *compliance = compliance_add(*compliance, state_is_compliant(json_get_state(object, a)));
        return object;
}

static json_object *json_device(const HostDevice *entry, const Host *host, int *compliance) {
        json_object *object = NEED(json_object_new_object()), *ports = NEED(json_object_new_array());
        const Device *device = entry->device;

        json_object_object_add(object, "name", json_string(entry->name));
        json_add_device(object, device);
        for (size_t i = 0; device && i < device->n_ports; i++)
                json_object_array_add(ports, json_port(device, device->ports + i, host, compliance));
        json_object_object_add(object, "ports", ports);
        if (!device)
                *compliance = compliance_add(*compliance, -1);
        return object;
}

static bool name_is_among(const char *name, char **names) {
        for (; *names; names++)
                if (streq(*names, name))
                        return true;
        return false;
}

int document_check_names(const Host *host, char **names) {
        const char **present = NEED((const char **) calloc(host->n_devices + 1, sizeof(char *)));
        int code = CODE_DONE;

        for (size_t i = 0; i < host->n_devices; i++)
                present[i] = host->devices[i].name;

        for (; *names; names++) {
                const char *nearest;

                if (name_is_among(*names, (char **) present))
                        continue;
                nearest = text_nearest(*names, present, host->n_devices);
                code = complain(CODE_FAILED, "there is no RDMA device '%s'%s%s%s", *names,
                                nearest ? "; did you mean '" : "; \"rocectl status\" shows all there are",
                                nearest ? nearest : "", nearest ? "'?" : "");
        }
        free(present);
        return code;
}

json_object *document_make(const Host *host, char **names) {
        json_object *document = document_begin(), *devices = NEED(json_object_new_array());
        int compliance = host->judge.error < 0 ? -1 : 1;

        for (size_t i = 0; i < host->n_devices; i++)
                if (!names[0] || name_is_among(host->devices[i].name, names))
                        json_object_array_add(devices, json_device(host->devices + i, host, &compliance));

        json_object_object_add(document, "compliant", json_compliance(compliance));
        json_object_object_add(document, "policy", host_policy(host));
        json_object_object_add(document, "daemon", host_daemon(host));
        json_object_object_add(document, "devices", devices);
        json_object_object_add(document, "warnings", host_warnings(host));
        return document;
}

int document_code(json_object *document) {
        return json_object_get_boolean(json_get(document, "compliant")) ? CODE_DONE : CODE_NOT_COMPLIANT;
}

int document_acquire(const Options *options, char **names, json_object **ret) {
        _cleanup_(host_done) Host host = {};
        int code;

        code = host_acquire(options, &host);
        if (code == CODE_DONE)
                code = document_check_names(&host, names);
        if (code != CODE_DONE)
                return code;

        *ret = document_make(&host, names);
        return host.judge.error == -EBADMSG ? CODE_USAGE : document_code(*ret);
}
