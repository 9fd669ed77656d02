/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tells of the running daemon: STATUS= and READY= to systemd, the state file to rocectl. */


#include "config.h"
#include "log.h"
#include "message-ids.h"
#include "report-json.h"
#include "runtime.h"
#include "service.h"
#include "text.h"

static json_object *json_port(const Port *on_device, const PortReport *port, const PortEntry *entry) {
        json_object *object = json_map();

        json_put(object, "port", json_integer(port->number));
        json_put(object, "link_layer", json_string(on_device ? link_layer_to_string(on_device->link_layer) : NULL));
        json_put(object, "netdev", json_string(on_device ? on_device->netdev : NULL));
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                json_put(object, attribute_name(a), json_verdict(port->verdicts + a, a, entry->stories[a].since_usec));
        json_put(object, "rule", json_rule(port->rule, port->match));
        return object;
}

static json_object *json_device(const DeviceEntry *entry) {
        json_object *object = json_map(), *ports = json_list();
        const DeviceReport *report = entry->report;

        json_put(object, "name", json_string(entry->name));
        json_add_device(object, report->device);
        for (size_t i = 0; i < report->n_ports; i++)
                json_push(ports, json_port(device_find_port(report->device, report->ports[i].number),
                                           report->ports + i, entry->ports + i));
        json_put(object, "ports", ports);
        json_put(object, "errno", report->error < 0 ? json_integer(-report->error) : NULL);
        return object;
}

static json_object *json_blocked(const Manager *manager, Now now) {
        json_object *object;
        char where[256];

        if (!manager->blocked)
                return NULL;
        object = json_map();
        progress_format(manager->running, sizeof(where), where);
        json_put(object, "where", json_string(where));
        json_put(object, "device", json_string(manager->running->name));
        json_put(object, "since", json_time(now.realtime_usec - manager_access_usec(manager, now.monotonic_usec)));
        return object;
}

static json_object *json_counters(const Counters *counters) {
        json_object *object = json_map(), *failures = json_map();

        json_put(object, "writes", json_integer((int64_t) counters->writes));
        json_put(object, "drifts", json_integer((int64_t) counters->drifts));
        for (int error = 0; error < COUNTERS_ERRNO_MAX; error++)
                if (counters->failures[error] > 0)
                        json_put(failures, error > 0 ? strerrorname_np(error) ?: "other" : "none",
                                 json_integer((int64_t) counters->failures[error]));
        json_put(object, "failures", failures);
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
                return json_take_lost() ? -ENOMEM : 1;
        }
        return 0;
}

/* Without the devices. */
static json_object *json_state(const Service *service, Now now) {
        const Manager *manager = service->manager;
        json_object *state = json_map(), *warnings = json_list();

        json_put(state, "schema", json_integer(JSON_SCHEMA));
        json_put(state, "version", json_string(VERSION));
        json_put(state, "since", json_time(service->since_usec));
        json_put(state, "last_pass", json_time(manager->last_pass_usec));
        json_put(state, "policy_file", json_string(service->policy_file));
        json_put(state, "policy", json_policy(manager->policy));
        json_put(state, "policy_error", json_string(service->policy_error));
        json_put(state, "blocked", json_blocked(manager, now));
        for (size_t i = 0; i < MIN_OF(manager->warnings.n_items, (size_t) MANAGER_WARNINGS_MAX); i++) {
                char text[1024];

                snprintf(text, sizeof(text), "%s:%u: %s", manager->warnings.items[i].path,
                         manager->warnings.items[i].line, manager->warnings.items[i].text);
                json_push(warnings, json_string(text));
        }
        json_put(state, "warnings", warnings);
        json_put(state, "counters", json_counters(&manager->counters));
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
                r = asprintf(&status, "The kernel has not answered for %u s: %s",
                             manager_blocked_sec(manager, now.monotonic_usec), where);
        } else if (service->policy_error)
                r = asprintf(&status, "Policy on disk is invalid, the old one stays in force: %s",
                             service->policy_error);
        else if (manager->list_failures > 0)
                r = asprintf(&status, "RDMA devices cannot be listed, %u times in a row", manager->list_failures);
        else if (manager->last_pass_usec == 0 && manager->running) {
                progress_format(manager->running, sizeof(where), where);
                r = asprintf(&status, "First pass not finished, %u RoCE ports looked at; now: %s", summary.ports,
                             where);
        } else if (!manager->policy)
                r = asprintf(&status, "No policy, nothing is managed; %u RoCE ports on %u RDMA devices", summary.ports,
                             summary.devices);
        else if (summary.worst[0])
                r = asprintf(&status, "%u of %u RoCE ports compliant, %s; %s", summary.compliant, summary.ports,
                             policy, summary.worst);
        else
                r = asprintf(&status, "%u of %u RoCE ports compliant, %s", summary.compliant, summary.ports, policy);
        if (r < 0)
                return NULL;

        /* A device's or file's name must not make a second line of it, and systemd takes no status that is not UTF-8. */
        text_make_plain(status, "");
        return status;
}

static void publish_status(Service *service, Now now) {
        _cleanup_free_ char *status = status_format(service, now);

        if (!status || streq_ptr(status, service->status))
                return;
        service_notify("STATUS=%s", status);
        free(service->status);
        service->status = TAKE_PTR(status);
}

void service_publish(Service *service, Now now) {
        static int told;
        _cleanup_json_ json_object *state = NULL;
        Cursor cursor = { .manager = service->manager };
        int r;

        service->unpublished = false;
        service->published_usec = now.monotonic_usec;
        publish_status(service, now);

        state = json_state(service, now);
        r = json_take_lost() ? -ENOMEM : runtime_write_state(state, next_device, &cursor);
        service->rewrite_usec = r < 0 ? now.monotonic_usec + SERVICE_REWRITE_USEC : UINT64_MAX;
        if (r < 0 && r != told)
                log_message(LOG_WARNING, MESSAGE_UNAVAILABLE_ID,
                            "%s cannot be written, rocectl will show old news: %s", STATE_PATH, strerror(-r));
        told = r;
}

void service_notify_ready(Service *service, Now now) {
        bool first = answer_give(&service->answer);
        Summary summary;

        service_publish(service, now);
        service_notify("READY=1\nSTATUS=%s", service->status ?: "Running");
        if (!first)
                return;

        manager_summarize(service->manager, &summary);
        log_message(LOG_INFO, MESSAGE_STARTED_ID, "Started: %s", service->status ?: "running");
}
