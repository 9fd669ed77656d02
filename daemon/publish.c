/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tells of the running daemon: STATUS= and READY= to systemd, the state file to rocectl. */

#include <systemd/sd-daemon.h>

#include "config.h"
#include "log.h"
#include "message-ids.h"
#include "report-json.h"
#include "runtime.h"
#include "service.h"

static json_object *json_port(const Port *on_device, const PortReport *port, const PortEntry *entry) {
        json_object *object = json_object_new_object();

        json_object_object_add(object, "port", json_object_new_int64(port->number));
        json_object_object_add(object, "link_layer",
                               json_string(on_device ? link_layer_to_string(on_device->link_layer) : NULL));
        json_object_object_add(object, "netdev", json_string(on_device ? on_device->netdev : NULL));
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                json_object_object_add(object, attribute_name(a),
                                       json_verdict(port->verdicts + a, a, entry->stories[a].since_usec));
        json_object_object_add(object, "rule", json_rule(port->rule, port->match));
        return object;
}

static json_object *json_device(const DeviceEntry *entry) {
        json_object *object = json_object_new_object(), *ports = json_object_new_array();
        const DeviceReport *report = entry->report;

        json_object_object_add(object, "name", json_string(entry->name));
        json_add_device(object, report->device);
        for (size_t i = 0; i < report->n_ports; i++)
                json_object_array_add(ports, json_port(device_find_port(report->device, report->ports[i].number),
                                                       report->ports + i, entry->ports + i));
        json_object_object_add(object, "ports", ports);
        json_object_object_add(object, "errno", report->error < 0 ? json_object_new_int(-report->error) : NULL);
        return object;
}

static json_object *json_blocked(const Manager *manager, Now now) {
        json_object *object;
        char where[256];

        if (!manager->blocked)
                return NULL;
        object = json_object_new_object();
        progress_format(manager->running, sizeof(where), where);
        json_object_object_add(object, "where", json_string(where));
        json_object_object_add(object, "device", json_string(manager->running->name));
        json_object_object_add(object, "since",
                               json_time(now.realtime_usec - manager_access_usec(manager, now.monotonic_usec)));
        return object;
}

static json_object *json_counters(const Counters *counters) {
        json_object *object = json_object_new_object(), *failures = json_object_new_object();

        json_object_object_add(object, "writes", json_object_new_int64((int64_t) counters->writes));
        json_object_object_add(object, "drifts", json_object_new_int64((int64_t) counters->drifts));
        for (int error = 0; error < COUNTERS_ERRNO_MAX; error++)
                if (counters->failures[error] > 0)
                        json_object_object_add(failures, error > 0 ? strerrorname_np(error) ?: "other" : "none",
                                               json_object_new_int64((int64_t) counters->failures[error]));
        json_object_object_add(object, "failures", failures);
        return object;
}

typedef struct Cursor {
        const Manager *manager;
        size_t position;
} Cursor;

static int next_device(void *userdata, json_object **ret) {
        Cursor *cursor = userdata;

        while (cursor->position < cursor->manager->n_entries) {
                const DeviceEntry *entry = cursor->manager->entries[cursor->position++];

                if (!entry->report || !entry->report->device)
                        continue;
                *ret = json_device(entry);
                return *ret ? 1 : -ENOMEM;
        }
        return 0;
}

/* Without the devices. */
static json_object *json_state(const Service *service, Now now) {
        const Manager *manager = service->manager;
        json_object *state = json_object_new_object();
        json_object *warnings = json_object_new_array();

        json_object_object_add(state, "schema", json_object_new_int(JSON_SCHEMA));
        json_object_object_add(state, "version", json_object_new_string(VERSION));
        json_object_object_add(state, "since", json_time(service->since_usec));
        json_object_object_add(state, "last_pass", json_time(manager->last_pass_usec));
        json_object_object_add(state, "policy_file", json_string(service->policy_file));
        json_object_object_add(state, "policy", json_policy(manager->policy));
        json_object_object_add(state, "policy_error", json_string(service->policy_error));
        json_object_object_add(state, "blocked", json_blocked(manager, now));
        for (size_t i = 0; i < MIN_OF(manager->warnings.n_items, (size_t) MANAGER_WARNINGS_MAX); i++) {
                char text[1024];

                snprintf(text, sizeof(text), "%s:%u: %s", manager->warnings.items[i].path, manager->warnings.items[i].line,
                         manager->warnings.items[i].text);
                json_object_array_add(warnings, json_string(text));
        }
        json_object_object_add(state, "warnings", warnings);
        json_object_object_add(state, "counters", json_counters(&manager->counters));
        return state;
}

/* One line, from the most pressing to the plain. */
static char *status_format(const Service *service, Now now) {
        const Manager *manager = service->manager;
        char where[256], policy[64] = "no policy";
        char *status = NULL;
        Summary summary;
        int r;

        if (manager->policy)
                snprintf(policy, sizeof(policy), "policy %.12s", manager->policy->sha256);

        manager_summarize(manager, &summary);
        if (manager->blocked) {
                progress_format(manager->running, sizeof(where), where);
                r = asprintf(&status, "The kernel has not answered for %u s: %s", manager_blocked_sec(manager, now.monotonic_usec),
                             where);
        } else if (service->policy_error)
                r = asprintf(&status, "Policy on disk is invalid, the old one stays in force: %s", service->policy_error);
        else if (manager->list_failures > 0)
                r = asprintf(&status, "RDMA devices cannot be listed, %u times in a row", manager->list_failures);
        else if (manager->last_pass_usec == 0 && manager->running) {
                progress_format(manager->running, sizeof(where), where);
                r = asprintf(&status, "First pass not finished, %u RoCE ports looked at; now: %s", summary.ports, where);
        } else if (!manager->policy)
                r = asprintf(&status, "No policy, nothing is managed; %u RoCE ports on %u RDMA devices", summary.ports,
                             summary.devices);
        else if (summary.worst[0])
                r = asprintf(&status, "%u of %u RoCE ports compliant, %s; %s", summary.compliant, summary.ports, policy,
                             summary.worst);
        else
                r = asprintf(&status, "%u of %u RoCE ports compliant, %s", summary.compliant, summary.ports, policy);
        if (r < 0)
                return NULL;

        /* A rule's or file's name must not make a second line of it. */
        for (char *c = status; *c; c++)
                if ((unsigned char) *c < ' ' || *c == 0x7f)
                        *c = '?';
        return status;
}

static void publish_status(Service *service, Now now) {
        _cleanup_free_ char *status = status_format(service, now);

        if (!status || streq_ptr(status, service->status))
                return;
        (void) sd_notifyf(false, "STATUS=%s", status);
        free(service->status);
        service->status = TAKE_PTR(status);
}

void service_publish(Service *service, Now now) {
        static int told;
        _cleanup_json_ json_object *state = json_state(service, now);
        Cursor cursor = { .manager = service->manager };
        int r;

        service->unpublished = false;
        service->published_usec = now.monotonic_usec;
        publish_status(service, now);

        r = runtime_write_state(state, next_device, &cursor);
        if (r < 0 && r != told)
                log_message(LOG_WARNING, MESSAGE_UNAVAILABLE_ID, "%s cannot be written, rocectl will show old news: %s",
                            STATE_PATH, strerror(-r));
        told = r;
}

void service_notify_ready(Service *service, Now now) {
        bool first = answer_give(&service->answer);
        Summary summary;

        service_publish(service, now);
        (void) sd_notifyf(false, "READY=1\nSTATUS=%s", service->status ?: "Running");
        if (!first)
                return;

        manager_summarize(service->manager, &summary);
        log_message(LOG_INFO, MESSAGE_STARTED_ID, "Started: %s", service->status ?: "running");
}
