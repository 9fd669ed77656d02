/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl metrics": the picture of "status", and what the daemon has counted, as Prometheus' text. Each metric is
 * made as JSON first, so that both forms say the same. */

#include <time.h>

#include "config.h"
#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-output.h"

/* Adds a metric; what has no sample is left out in the end. */
static json_object *metric_add(json_object *metrics, const char *name, const char *type, const char *help) {
        json_object *metric = NEED(json_object_new_object()), *samples = NEED(json_object_new_array());

        json_object_object_add(metric, "name", json_string(name));
        json_object_object_add(metric, "type", json_string(type));
        json_object_object_add(metric, "help", json_string(help));
        json_object_object_add(metric, "samples", samples);
        json_object_array_add(metrics, metric);
        return samples;
}

/* Takes both over; a value of NULL adds nothing. "labels" NULL: none. */
static void sample_add(json_object *samples, json_object *labels, json_object *value) {
        json_object *sample;

        if (!value) {
                json_object_put(labels);
                return;
        }
        sample = NEED(json_object_new_object());
        json_object_object_add(sample, "labels", labels ? labels : NEED(json_object_new_object()));
        json_object_object_add(sample, "value", value);
        json_object_array_add(samples, sample);
}

static void gauge_add(json_object *metrics, const char *name, const char *help, json_object *value) {
        sample_add(metric_add(metrics, name, "gauge", help), NULL, value);
}

static json_object *label_add(json_object *labels, const char *name, const char *value) {
        json_object_object_add(labels, name, NEED(json_string(value ? value : "")));
        return labels;
}

static json_object *label(const char *name, const char *value) {
        return label_add(NEED(json_object_new_object()), name, value);
}

static json_object *json_one(bool value) {
        return NEED(json_object_new_int(value));
}

/* 0 and 1; NULL where it is not known. */
static json_object *json_truth(json_object *value) {
        return json_object_is_type(value, json_type_boolean) ? json_one(json_object_get_boolean(value)) : NULL;
}

/* Seconds since 1970, from the document's form of a time. */
static json_object *json_seconds(const char *text) {
        struct tm tm = {};
        const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

        if (!rest)
                return NULL;
        return NEED(json_object_new_double((double) timegm(&tm) + (rest[0] == '.' ? strtod(rest, NULL) : 0)));
}

static void add_daemon(json_object *metrics, json_object *document) {
        json_object *daemon = json_get(document, "daemon"), *running = json_get(daemon, "running");
        bool told = json_get(daemon, "since");

        gauge_add(metrics, "roced_up", "Whether roced runs.", json_truth(running));
        gauge_add(metrics, "roced_start_time_seconds", "When roced was started, in seconds since 1970.",
                  json_seconds(json_get_text(daemon, "since")));
        gauge_add(metrics, "roced_last_pass_time_seconds",
                  "When roced had last looked at all that was to be looked at, in seconds since 1970.",
                  json_seconds(json_get_text(daemon, "last_pass")));
        gauge_add(metrics, "roced_blocked", "Whether the kernel does not answer roced.",
                  told ? json_one(json_get(daemon, "blocked")) : NULL);
}

static void add_policy(json_object *metrics, json_object *document, const Host *host) {
        json_object *policy = json_get(document, "policy");
        const char *sha256 = json_get_text(policy, "sha256");
        bool known = host->ask_daemon ? host->state != NULL : host->judge.error == 0 || host->judge.error == -EBADMSG;

        sample_add(metric_add(metrics, "roced_policy_info", "gauge",
                              "The policy that ports are judged by; none: no sample."),
                   label("sha256", sha256), sha256 ? json_one(true) : NULL);
        gauge_add(metrics, "roced_policy_stale", "Whether the policy on disk differs from what roced has loaded.",
                  policy ? json_truth(json_get(policy, "stale")) : json_one(false));
        gauge_add(metrics, "roced_policy_error", "Whether the policy on disk does not load.",
                  known ? json_one(json_get(policy, "error")) : NULL);
}

static void add_counters(json_object *metrics, json_object *counters) {
        json_object *failures = metric_add(metrics, "roced_failures_total", "counter",
                                           "Accesses that failed since roced's start, by errno; none: without one.");

        sample_add(metric_add(metrics, "roced_writes_total", "counter",
                              "Values that roced has tried to write since its start."),
                   NULL, json_object_get(json_get(counters, "writes")));
        sample_add(metric_add(metrics, "roced_drifts_total", "counter",
                              "Values that roced had verified and found changed later, since its start."),
                   NULL, json_object_get(json_get(counters, "drifts")));
        if (json_get_object(counters, "failures")) {
                json_object_object_foreach(json_get(counters, "failures"), error, count)
                        sample_add(failures, label("errno", error), json_object_get(count));
        }
}

/* What is said of each attribute of a port. */
typedef struct PortMetrics {
        json_object *info, *compliant, *state, *wanted, *found;
        int n_ports, n_compliant;
} PortMetrics;

static json_object *port_labels(const char *device, json_object *port) {
        return label_add(label("device", device), "port", json_object_get_string(json_get(port, "port")));
}

/* 1 and 2 for v1 and v2. */
static json_object *json_number(json_object *value) {
        const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;

        if (text)
                return NEED(json_object_new_int(streq(text, "v1") ? ROCE_V1 : ROCE_V2));
        return json_object_get(value);
}

static void add_attribute(PortMetrics *ports, const char *device, json_object *port, Attribute attribute) {
        json_object *verdict = json_get_object(port, attribute_name(attribute));
        const char *name = attribute_name(attribute);
        State state = json_get_state(port, attribute);
        int compliance = state_is_compliant(state);

        sample_add(ports->compliant, label_add(port_labels(device, port), "attribute", name),
                   compliance < 0 ? NULL : json_one(compliance));
        sample_add(ports->state,
                   label_add(label_add(port_labels(device, port), "attribute", name), "state", state_to_string(state)),
                   json_one(true));
        sample_add(ports->wanted, label_add(port_labels(device, port), "attribute", name),
                   json_number(json_get(verdict, "wanted")));
        sample_add(ports->found, label_add(port_labels(device, port), "attribute", name),
                   json_number(json_get(verdict, "found")));
}

static void add_port(PortMetrics *ports, json_object *device, json_object *port) {
        const char *name = json_get_text(device, "name");
        json_object *labels = port_labels(name, port);
        bool compliant = true;

        label_add(labels, "link_layer", json_get_text(port, "link_layer"));
        label_add(labels, "netdev", json_get_text(port, "netdev"));
        label_add(labels, "driver", json_get_text(device, "driver"));
        label_add(labels, "pci", json_get_text(device, "pci"));
        label_add(labels, "rule", json_get_text(json_get_object(port, "rule"), "source"));
        sample_add(ports->info, labels, json_one(true));
        if (json_get_state(port, ATTRIBUTE_MODE) == STATE_NOT_ROCE)
                return;

        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                add_attribute(ports, name, port, a);
                compliant = compliant && state_is_compliant(json_get_state(port, a)) > 0;
        }
        ports->n_ports++;
        ports->n_compliant += compliant;
}

static void add_ports(json_object *metrics, json_object *document) {
        json_object *devices, *list;
        size_t n_devices = json_get_list(document, "devices", &devices);
        PortMetrics ports = {
                .info = metric_add(metrics, "roced_port_info", "gauge",
                                   "Each port of an RDMA device, and the rule for it."),
                .compliant = metric_add(
                                metrics, "roced_port_compliant", "gauge",
                                "Whether an attribute of a RoCE port is as the policy wants; not known: no sample."),
                .state = metric_add(metrics, "roced_port_state", "gauge", "The state of an attribute of a RoCE port."),
                .wanted = metric_add(metrics, "roced_port_wanted", "gauge",
                                     "What the policy wants: mode 1 for v1 and 2 for v2, or the TOS."),
                .found = metric_add(metrics, "roced_port_found", "gauge",
                                    "What the kernel holds: mode 1 for v1 and 2 for v2, or the TOS."),
        };

        for (size_t i = 0; i < n_devices; i++) {
                json_object *device = json_object_array_get_idx(devices, i);
                size_t n = json_get_list(device, "ports", &list);

                for (size_t k = 0; k < n; k++)
                        add_port(&ports, device, json_object_array_get_idx(list, k));
        }
        gauge_add(metrics, "roced_devices", "RDMA devices.", NEED(json_object_new_int64((int64_t) n_devices)));
        gauge_add(metrics, "roced_ports", "RoCE ports.", NEED(json_object_new_int(ports.n_ports)));
        gauge_add(metrics, "roced_ports_compliant", "RoCE ports that are as the policy wants.",
                  NEED(json_object_new_int(ports.n_compliant)));
        gauge_add(metrics, "roced_compliant", "Whether all ports are as the policy wants; not known: no sample.",
                  json_truth(json_get(document, "compliant")));
}

/* A label's value in quotes. What a terminal would obey is made visible, for people look at such files too. */
static void print_label(const char *name, const char *value, bool first) {
        _cleanup_free_ char *visible = output_visible(value);

        printf("%s%s=\"", first ? "{" : ",", name);
        for (const char *c = visible; *c; c++) {
                if (*c == '"' || *c == '\\')
                        putchar('\\');
                putchar(*c);
        }
        putchar('"');
}

static void print_metric(json_object *metric) {
        const char *name = json_get_text(metric, "name");
        json_object *samples;
        size_t n = json_get_list(metric, "samples", &samples);

        if (n == 0)
                return;
        printf("# HELP %s %s\n# TYPE %s %s\n", name, json_get_text(metric, "help"), name,
               json_get_text(metric, "type"));
        for (size_t i = 0; i < n; i++) {
                json_object *sample = json_object_array_get_idx(samples, i), *value = json_get(sample, "value");
                bool first = true;

                fputs(name, stdout);
                json_object_object_foreach(json_get(sample, "labels"), key, text) {
                        print_label(key, json_object_get_string(text), first);
                        first = false;
                }
                if (json_object_is_type(value, json_type_double))
                        printf("%s %.3f\n", first ? "" : "}", json_object_get_double(value));
                else
                        printf("%s %lld\n", first ? "" : "}", (long long) json_object_get_int64(value));
        }
}

int verb_metrics(const Options *options, char **arguments) {
        _cleanup_(host_done) Host host = {};
        _cleanup_json_ json_object *document = NULL, *result = NULL;
        json_object *metrics;
        int code;

        code = host_acquire(options, &host);
        if (code != CODE_DONE)
                return code;
        document = document_make(&host, arguments);

        metrics = NEED(json_object_new_array());
        sample_add(metric_add(metrics, "roced_build_info", "gauge", "The release of rocectl."),
                   label("version", VERSION), json_one(true));
        add_daemon(metrics, document);
        add_policy(metrics, document, &host);
        add_ports(metrics, document);
        add_counters(metrics, json_get_object(host.state, "counters"));

        output_open(options, false);
        if (options->json) {
                result = document_begin();
                json_object_object_add(result, "metrics", metrics);
                output_json(result);
        } else {
                for (size_t i = 0; i < json_object_array_length(metrics) && !options->quiet; i++)
                        print_metric(json_object_array_get_idx(metrics, i));
                json_object_put(metrics);
        }
        return output_close(CODE_DONE);
}
