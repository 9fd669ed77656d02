/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl explain": why a port is as it is, from the rules that were tried to the daemon's last record. Adds to the
 * picture of "status", and has no other side effects than that. */

#include "report-json.h"
#include "rocectl-device.h"
#include "rocectl-document.h"
#include "rocectl-journal.h"
#include "rocectl-rules.h"
#include "rocectl-show.h"

typedef struct Subject {
        char *name;
        unsigned port; /* 0: all */
        Device *device;
} Subject;

static void subject_done(Subject *subject) {
        device_free(subject->device);
        free(subject->name);
}

static int subject_parse(char **arguments, Subject *subject) {
        const char *slash;
        unsigned long port;
        char *end;

        if (!arguments[0] || arguments[1])
                return complain(CODE_USAGE, "explain takes one DEVICE or DEVICE/PORT, such as mlx5_0/1");

        slash = strchr(arguments[0], '/');
        if (slash) {
                errno = 0;
                port = strtoul(slash + 1, &end, 10);
                if (slash[1] < '1' || slash[1] > '9' || *end || errno != 0 || port > UINT32_MAX)
                        return complain(CODE_USAGE, "'%s' is no port; it is a number from 1 on, as in mlx5_0/1",
                                        slash + 1);
                subject->port = (unsigned) port;
        }
        subject->name = NEED(strndup(arguments[0], strcspn(arguments[0], "/")));
        return CODE_DONE;
}

/* Leaves the port that was asked for. */
static int device_keep_port(json_object *device, const Subject *subject) {
        json_object *ports, *kept;
        size_t n = json_get_list(device, "ports", &ports);

        if (subject->port == 0)
                return CODE_DONE;
        for (size_t i = 0; i < n; i++) {
                json_object *port = json_object_array_get_idx(ports, i);

                if (json_object_get_int64(json_get(port, "port")) != (int64_t) subject->port)
                        continue;
                kept = NEED(json_object_new_array());
                json_object_array_add(kept, json_object_get(port));
                json_object_object_add(device, "ports", kept);
                return CODE_DONE;
        }
        return complain(CODE_FAILED, "%s has no port %u; it has %zu port%s", subject->name, subject->port, n,
                        n == 1 ? "" : "s");
}

static void port_explain(json_object *port, const Subject *subject, const Judge *judge) {
        unsigned number = (unsigned) json_object_get_int64(json_get(port, "port"));
        const Port *on_device = subject->device ? device_find_port(subject->device, number) : NULL;
        json_object *rules = NULL, *records = NEED(json_object_new_object());
        size_t n_rules = judge->policy ? judge->policy->n_rules : 0;

        if (judge->policy && on_device && on_device->roce)
                rules = json_rules_tried(judge->policy, subject->device, on_device);
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                json_object_object_add(records, attribute_name(a),
                                       journal_find_last(subject->name, number, attribute_name(a)));

        json_object_object_add(port, "values", on_device ? json_match_values(subject->device, on_device) : NULL);
        json_object_object_add(port, "rules", rules);
        json_object_object_add(port, "rules_not_tried",
                               rules ? json_object_new_int64((int64_t) (n_rules - json_object_array_length(rules)))
                                     : NULL);
        json_object_object_add(port, "last_records", records);
}

static void print_values(json_object *port) {
        if (!json_get_object(port, "values"))
                return; /* the device has gone meanwhile */
        output_line("    Values that rules ask for:");
        json_object_object_foreach(json_get(port, "values"), key, value)
                        output_line("        %s: %s", key, value ? json_object_get_string(value) : "none");
}

/* "mlx5_0, rocep*" */
static char *patterns_text(json_object *rule) {
        json_object *patterns;
        size_t n = json_get_list(rule, "patterns", &patterns);
        char *text = NEED(strdup(""));

        for (size_t i = 0; i < n; i++) {
                char *longer = need_text("%s%s%s", text, i > 0 ? ", " : "",
                                         json_object_get_string(json_object_array_get_idx(patterns, i)));

                free(text);
                text = longer;
        }
        return text;
}

/* What the winner sets: ", mode v2, tos 104" */
static char *settings_text(json_object *rule) {
        char *text = NEED(strdup(""));

        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                json_object *value = json_get(rule, attribute_name(a));
                char *longer;

                if (!value)
                        continue;
                longer = need_text("%s%s %s %s", text, text[0] ? " and" : " sets", attribute_name(a),
                                   json_object_get_string(value));
                free(text);
                text = longer;
        }
        return text;
}

static char *tried_text(json_object *rule) {
        const char *result = json_get_text(rule, "result"), *key = json_get_text(rule, "key");
        const char *property = json_get_text(rule, "property"),
                   *value = json_object_get_string(json_get(rule, "value"));
        _cleanup_free_ char *patterns = patterns_text(rule), *settings = settings_text(rule);
        _cleanup_free_ char *what = property ? need_text("property %s", property) : need_text("%s", key ? key : "");

        if (streq(result, "wins"))
                return need_text("wins,%s%s", settings[0] ? settings : " sets nothing",
                                 streq_ptr(json_get_text(rule, "enforcement"), "report") ? ", and only reports" : "");
        if (streq(result, "not-settled"))
                return need_text("the search stops here: it asks for %s, and udev has not finished with the device",
                                 what);
        if (!value)
                return need_text("no: it takes %s %s, and there is none here", what, patterns);
        return need_text("no: it takes %s %s, and this is %s", what, patterns, value);
}

static void print_rules(json_object *port, bool on_policy) {
        json_object *rules;
        size_t n = json_get_list(port, "rules", &rules);
        int64_t n_more = json_object_get_int64(json_get(port, "rules_not_tried"));

        if (!rules) {
                if (on_policy && json_get_state(port, ATTRIBUTE_MODE) != STATE_NOT_ROCE)
                        output_line("    Rules: not known, the policy on disk is gone or cannot be read; --policy names another file");
                return;
        }
        output_line("    Rules, the first that matches wins:%s", n == 0 ? " there are none" : "");
        for (size_t i = 0; i < n; i++) {
                json_object *rule = json_object_array_get_idx(rules, i);
                _cleanup_free_ char *text = tried_text(rule), *name = rule_text(rule, true);

                output_line("        %s: %s", name, text);
        }
        if (n_more > 0)
                output_line("        and %lld more that %s not tried", (long long) n_more,
                            n_more == 1 ? "was" : "were");
        else if (n > 0 && streq_ptr(json_get_text(json_object_array_get_idx(rules, n - 1), "result"), "no"))
                output_line("        none matches");
}

/* What the state means here, where the document gives no reason. */
static const char *state_meaning(json_object *port, Attribute attribute, bool policy) {
        switch (json_get_state(port, attribute)) {
        case STATE_OK:
                return "the kernel holds what the policy wants";
        case STATE_NOT_ROCE:
                return "the port is not RoCE, and such ports are never touched";
        case STATE_UNMANAGED:
                return !policy                  ? "there is no policy, so it is left alone"
                       : json_get(port, "rule") ? "the rule does not set it, so it is left alone"
                                                : "no rule matches, so it is left alone";
        default:
                return NULL;
        }
}

static void print_attribute(json_object *port, Attribute attribute, bool policy) {
        const char *meaning = state_meaning(port, attribute, policy);
        json_object *record = json_get_object(json_get(port, "last_records"), attribute_name(attribute));
        _cleanup_free_ char *text = record ? journal_record_format(record) : NULL;

        device_print_attribute(port, attribute, 4);
        if (meaning)
                output_line("        Why: %s", meaning);
        if (text)
                output_line("        Last record: %s", text);
        else
                output_line("        Last record: none%s",
                            geteuid() == 0 ? " in the journal" : " that this user may read; root may read all");
}

static void print_port(json_object *device, json_object *port, bool policy) {
        _cleanup_free_ char *supported = device_supported_text(port), *rule = rule_text(json_get(port, "rule"), true);

        output_line("%s/%s", json_get_text(device, "name"), json_object_get_string(json_get(port, "port")));
        output_line("    Supports: %s", supported);
        print_values(port);
        print_rules(port, policy);
        output_line("    Rule in force: %s", rule ? rule : "none");
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                print_attribute(port, a, policy);
}

static void print_document(const Options *options, json_object *document) {
        json_object *policy = json_get(document, "policy"), *ports;
        json_object *device = json_object_array_get_idx(json_get(document, "devices"), 0);
        size_t n = json_get_list(device, "ports", &ports);
        bool shown = false;

        for (size_t i = 0; i < n; i++) {
                json_object *port = json_object_array_get_idx(ports, i);

                print_port(device, port, json_get_text(policy, "sha256"));
                shown = shown || json_get(port, "rules");
        }
        if (n == 0)
                output_line("No port of %s can be seen.", json_get_text(device, "name"));
        if (options->no_legend)
                return;
        print_warnings(document);
        if (shown && json_object_get_boolean(json_get(policy, "stale")))
                output_line("Warning: the rules shown are those on disk, of a policy that roced has not loaded; %s",
                            advice_reload());
        if (!json_object_get_boolean(json_get(json_get(document, "daemon"), "running")))
                output_line("Daemon: not running; %s", advice_start());
}

static int explain(const Options *options, const Subject *subject, const Host *host, const Judge *judge) {
        _cleanup_json_ json_object *document = document_make(host, (char *[]){ subject->name, NULL });
        json_object *device = json_object_array_get_idx(json_get(document, "devices"), 0), *ports;
        size_t n;
        int code;

        code = device_keep_port(device, subject);
        if (code != CODE_DONE)
                return code;

        if (judge->error < 0)
                messages_print(&judge->messages, SEVERITY_ERROR);
        n = json_get_list(device, "ports", &ports);
        for (size_t i = 0; i < n; i++)
                port_explain(json_object_array_get_idx(ports, i), subject, judge);

        output_open(options, true);
        if (options->json)
                output_json(document);
        else if (!options->quiet)
                print_document(options, document);
        return output_close(judge_code(judge));
}

int verb_explain(const Options *options, char **arguments) {
        _cleanup_(subject_done) Subject subject = {};
        _cleanup_(judge_done) Judge judge = {};
        _cleanup_(host_done) Host host = {};
        int code;

        code = subject_parse(arguments, &subject);
        if (code == CODE_DONE)
                code = host_acquire(options, &host);
        if (code == CODE_DONE)
                code = document_check_names(&host, (char *[]){ subject.name, NULL });
        if (code == CODE_DONE && host.ask_daemon && !host_load_policy(&host, &judge))
                code = CODE_FAILED;
        if (code != CODE_DONE)
                return code;

        (void) device_acquire(subject.name, ACQUIRE_PROPERTIES | ACQUIRE_NETDEV_SETTLED, &subject.device);
        return explain(options, &subject, &host, host.ask_daemon ? &judge : &host.judge);
}
