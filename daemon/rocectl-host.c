/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Asks the daemon, or looks: never both for one value. */

#include "rocectl-host.h"

#include "report-json.h"
#include "rocectl-document.h"
#include "runtime.h"

static void host_device_done(HostDevice *entry) {
        device_report_free(entry->report);
        device_free(entry->own);
        free(entry->name);
}

void host_done(Host *host) {
        for (size_t i = 0; i < host->n_devices; i++)
                host_device_done(host->devices + i);
        free(host->devices);
        json_object_put(host->state);
        judge_done(&host->judge);
}

void report_excuse(DeviceReport *report) {
        if (geteuid() == 0)
                return;

        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        Verdict *verdict = report->ports[i].verdicts + a;

                        if (verdict->state == STATE_FAILED &&
                            (verdict->error == -EACCES || verdict->error == -EPERM)) {
                                verdict->state = STATE_UNKNOWN;
                                verdict->reason = REASON_NO_PERMISSION;
                        }
                }
}

/* -ENODEV: it has gone meanwhile. */
static int host_device_acquire(const Host *host, HostDevice *entry) {
        ReconcileRequest request = {
                .name = entry->name,
                .policy = host->judge.policy,
                .inotify_fd = -EBADF,
        };
        int r;

        if (host->ask_daemon) {
                entry->error = device_acquire(entry->name, 0, &entry->own);
                entry->device = entry->own;
        } else {
                r = reconcile_device(&request, &entry->report);
                if (r < 0)
                        return r;
                report_excuse(entry->report);
                entry->device = entry->report->device;
                entry->error = entry->report->error;
                if (!entry->device && entry->error == 0)
                        return -ENODEV;
        }
        return entry->error == -ENODEV || entry->error == -ENOMEM ? entry->error : 0;
}

static int host_devices_acquire(Host *host) {
        _cleanup_(names_freep) char **names = NULL;
        size_t n = 0;
        int r;

        r = device_names_acquire(&names, &host->n_invalid);
        if (r < 0)
                return r;
        while (names[n])
                n++;
        host->devices = calloc(MAX_OF(n, 1U), sizeof(HostDevice));
        if (!host->devices)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                HostDevice *entry = host->devices + host->n_devices;

                entry->name = TAKE_PTR(names[i]);
                r = host_device_acquire(host, entry);
                if (r < 0) {
                        host_device_done(entry);
                        *entry = (HostDevice){};
                }
                if (r < 0 && r != -ENODEV) {
                        for (; i < n; i++)
                                free(TAKE_PTR(names[i]));
                        return r;
                }
                host->n_devices += r >= 0;
        }
        return 0;
}

static int host_lint(Host *host) {
        const Device **devices;
        size_t n = 0;
        int r = 0;

        if (!host->judge.policy)
                return 0;
        devices = calloc(MAX_OF(host->n_devices, 1U), sizeof(Device *));
        if (!devices)
                return -ENOMEM;
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].device)
                        devices[n++] = host->devices[i].device;
        r = policy_lint_devices(host->judge.policy, devices, n, &host->judge.messages);
        free(devices);
        return r;
}

int host_acquire(const Options *options, Host *host) {
        int r;

        host->running = runtime_is_locked();
        host->ask_daemon = host->running > 0 && !options->policy_file;
        r = host->running > 0 ? runtime_read_state(&host->state) : -ENOENT;
        if (host->ask_daemon) {
                if (r < 0 && r != -ENOENT)
                        return complain(CODE_FAILED,
                                        "%s cannot be read: %s; roced makes it anew when it is restarted",
                                        STATE_PATH,
                                        r == -EBADMSG ? "it is of another release" : strerror(-r));
        } else {
                if (!judge_load(options->policy_file, &host->judge))
                        return CODE_FAILED;
                if (host->judge.error < 0 && options->policy_file) {
                        messages_print(&host->judge.messages, SEVERITY_ERROR);
                        return judge_code(&host->judge);
                }
        }

        r = host_devices_acquire(host);
        if (r >= 0)
                r = host_lint(host);
        if (r < 0)
                return complain(CODE_FAILED, "RDMA devices cannot be read from /sys/class/infiniband: %s",
                                strerror(-r));
        return CODE_DONE;
}

char *invalid_names_text(size_t n) {
        if (n == 1)
                return need_text("an RDMA device has a name that no path can hold and is left out; \"rdma dev set\" "
                                 "renames it");
        return need_text("%zu RDMA devices have names that no path can hold and are left out; \"rdma dev set\" "
                         "renames them",
                         n);
}

bool host_load_policy(const Host *host, Judge *judge) {
        const char *file = json_get_text(host->state, "policy_file");

        /* This path means another file here than where the daemon was started. */
        if (file && file[0] != '/')
                return true;
        return judge_load(file, judge);
}

/* The member of a list whose "key" is that name or number. */
static json_object *list_find(json_object *object, const char *list_key, const char *key, const char *name,
                              unsigned number) {
        json_object *list, *entry;
        size_t n = json_get_list(object, list_key, &list);

        for (size_t i = 0; i < n; i++) {
                entry = json_object_array_get_idx(list, i);
                if (name ? streq_ptr(json_get_text(entry, key), name)
                         : json_object_get_int64(json_get(entry, key)) == (int64_t) number)
                        return entry;
        }
        return NULL;
}

/* A verdict that nobody has reached, and why. */
static json_object *json_unjudged(const Port *port, Attribute attribute, int found, State state,
                                  const char *reason) {
        Verdict verdict = {
                .state = port->roce ? state : STATE_NOT_ROCE,
                .wanted = VALUE_NONE,
                .found = found,
                .readback = VALUE_NONE,
        };
        json_object *object = json_verdict(&verdict, attribute, 0);

        if (port->roce)
                json_object_object_add(object, "reason", json_string(reason));
        return object;
}

static void add_daemon_verdicts(const Host *host, const Device *device, const Port *port,
                                json_object *object) {
        json_object *told = list_find(list_find(host->state, "devices", "name", device->name, 0), "ports",
                                      "port", NULL, port->number);

        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                json_object *verdict = json_get_object(told, attribute_name(a));

                json_object_object_add(object, attribute_name(a),
                                       verdict ? json_object_get(verdict)
                                               : json_unjudged(port, a, VALUE_NONE, STATE_PENDING,
                                                               "roced has not looked at it yet"));
        }
        json_object_object_add(object, "rule", json_object_get(json_get_object(told, "rule")));
}

static void add_own_verdicts(const Host *host, const DeviceReport *report, const Port *on_device,
                             json_object *object) {
        const PortReport *port = report->ports;
        const char *why_not = NULL;

        if (host->judge.error < 0)
                why_not = host->judge.error == -EBADMSG ? "the policy is invalid" :
                                                          "the policy cannot be read";
        while (port->number != on_device->number)
                port++;
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                json_object_object_add(
                                object, attribute_name(a),
                                why_not ? json_unjudged(on_device, a, port->verdicts[a].found, STATE_UNKNOWN,
                                                        why_not)
                                        : json_verdict(port->verdicts + a, a, 0));
        json_object_object_add(object, "rule", json_rule(port->rule, port->match));
}

static const HostDevice *host_find(const Host *host, const Device *device) {
        const HostDevice *entry = host->devices;

        while (entry->device != device)
                entry++;
        return entry;
}

void host_add_verdicts(const Host *host, const Device *device, const Port *port, json_object *object) {
        if (host->ask_daemon)
                add_daemon_verdicts(host, device, port, object);
        else
                add_own_verdicts(host, host_find(host, device)->report, port, object);
}

/* 0, or why the device as a whole is in trouble. */
static int host_device_error(const Host *host, const HostDevice *entry) {
        int told;

        if (entry->error < 0 || !host->ask_daemon)
                return entry->error;
        told = json_object_get_int(
                        json_get(list_find(host->state, "devices", "name", entry->name, 0), "errno"));
        return told > 0 ? -told : 0;
}

/* Whether the files on disk differ from what the daemon has loaded: null if the one who asks may not read
 * them. */
static json_object *json_stale(const Host *host, const char *loaded) {
        const char *file = json_get_text(host->state, "policy_file");
        char disk[64 + 1];
        int r;

        if (file && file[0] != '/')
                return NULL;
        r = policy_hash(file, NULL, disk);
        if (r == -EACCES || r == -EPERM)
                return NULL;
        return json_object_new_boolean(r < 0 || !streq(disk, loaded ? loaded : ""));
}

/* Why the files on disk do not load, as they are now; where they may not be read, what the daemon found. Allocated,
 * NULL: they do. */
static char *disk_error(const Host *host, json_object *stale) {
        const char *told = json_get_text(host->state, "policy_error");
        _cleanup_(judge_done) Judge disk = {};

        if (!stale)
                return told ? NEED(strdup(told)) : NULL;
        if (!json_object_get_boolean(stale))
                return NULL;
        if (!host_load_policy(host, &disk))
                need(NULL);
        return disk.error < 0 ? judge_first_error(&disk) : NULL;
}

json_object *host_policy(const Host *host) {
        json_object *policy, *stale = NULL;
        _cleanup_free_ char *error = NULL;

        if (host->ask_daemon) {
                policy = json_get_object(host->state, "policy");
                if (host->state)
                        stale = json_stale(host, json_get_text(policy, "sha256"));
                error = disk_error(host, stale);
                if (host->state && !policy && !error && !json_object_get_boolean(stale)) {
                        json_object_put(stale);
                        return NULL;
                }
                json_object_get(policy);
        } else {
                policy = json_policy(host->judge.policy);
                error = host->judge.error < 0 ? judge_first_error(&host->judge) : NULL;
                if (!policy && !error)
                        return NULL;
                stale = json_object_new_boolean(false);
        }

        if (!policy) {
                policy = NEED(json_object_new_object());
                json_object_object_add(policy, "sha256", NULL);
                json_object_object_add(policy, "files", json_object_new_array());
        }
        json_object_object_add(policy, "stale", stale);
        json_object_object_add(policy, "error", json_string(error));
        return policy;
}

json_object *host_daemon(const Host *host) {
        static const char *const keys[] = { "since", "last_pass", "blocked" };
        json_object *daemon = NEED(json_object_new_object());

        json_object_object_add(daemon, "running",
                               host->running < 0 ? NULL : json_object_new_boolean(host->running));
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                json_object_object_add(daemon, keys[i], json_object_get(json_get(host->state, keys[i])));
        return daemon;
}

json_object *host_warnings(const Host *host) {
        json_object *warnings, *told;
        size_t n;

        if (host->ask_daemon) {
                warnings = NEED(json_object_new_array());
                n = json_get_list(host->state, "warnings", &told);
                for (size_t i = 0; i < n; i++)
                        json_object_array_add(warnings, json_object_get(json_object_array_get_idx(told, i)));
        } else
                warnings = json_warnings(&host->judge.messages);

        for (size_t i = 0; i < host->n_devices; i++) {
                int error = host_device_error(host, host->devices + i);
                _cleanup_free_ char *text = NULL;

                if (error == 0)
                        continue;
                text = need_text("%s: %s: %s", host->devices[i].name,
                                 host->devices[i].device ? "its directory cannot be removed"
                                                         : "the device cannot be read",
                                 strerror(-error));
                json_object_array_add(warnings, json_string(text));
        }

        if (host->n_invalid > 0) {
                _cleanup_free_ char *text = invalid_names_text(host->n_invalid);

                json_object_array_add(warnings, json_string(text));
        }
        return warnings;
}
