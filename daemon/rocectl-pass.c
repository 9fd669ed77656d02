/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps the reports of one pass, and shows them: as changes, and as what stays wrong. */

#include "rocectl-pass.h"

#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-host.h"
#include "rocectl-peers.h"
#include "rocectl-show.h"

static const Column columns[] = {
        { "DEVICE", false },    { "PORT", true },   { "NETDEV", false },
        { "ATTRIBUTE", false }, { "FOUND", false }, { "WANTED", false },
        { "RESULT", false },    { "RULE", false },  {},
};
#define COLUMN_RESULT 6

/* How many attributes of ports there are of each kind. */
typedef struct Count {
        size_t changes, problems, unknown, ports;
} Count;

void pass_done(Pass *pass) {
        for (size_t i = 0; i < pass->n_reports; i++)
                device_report_free(pass->reports[i]);
        free(pass->reports);
}

int pass_put(Pass *pass, DeviceReport *report) {
        DeviceReport **reports;
        size_t i = 0;

        while (i < pass->n_reports && strcmp(pass->reports[i]->name, report->name) < 0)
                i++;
        if (i < pass->n_reports && streq(pass->reports[i]->name, report->name)) {
                device_report_free(pass->reports[i]);
                pass->reports[i] = report;
                return 0;
        }

        reports = reallocarray(pass->reports, pass->n_reports + 1, sizeof(DeviceReport *));
        if (!reports) {
                device_report_free(report);
                return -ENOMEM;
        }
        pass->reports = reports;
        memmove(reports + i + 1, reports + i, (pass->n_reports - i) * sizeof(DeviceReport *));
        reports[i] = report;
        pass->n_reports++;
        return 0;
}

void pass_keep(Pass *pass, char **names) {
        size_t n = 0;

        for (size_t i = 0; i < pass->n_reports; i++) {
                char **name = names;

                while (*name && !streq(*name, pass->reports[i]->name))
                        name++;
                if (*name)
                        pass->reports[n++] = pass->reports[i];
                else
                        device_report_free(pass->reports[i]);
        }
        pass->n_reports = n;
}

void signals_block(sigset_t *ret_before) {
        sigset_t signals;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGHUP);
        (void) sigprocmask(SIG_BLOCK, &signals, ret_before);
}

int pass_acquire(Pass *pass, Policy *policy) {
        _cleanup_(names_freep) char **names = NULL;
        ReconcileRequest request = {
                .policy = policy,
                .flags = geteuid() == 0 ? RECONCILE_MAKE | RECONCILE_TRANSIENT : 0,
                .inotify_fd = -EBADF,
        };
        DeviceReport *report;
        int r;

        r = device_names_acquire(&names, &pass->n_invalid);
        for (char **name = names; r >= 0 && *name; name++) {
                sigset_t before;

                request.name = *name;
                signals_block(&before);
                r = reconcile_device(&request, &report);
                (void) sigprocmask(SIG_SETMASK, &before, NULL);
                if (r < 0)
                        break;
                report_excuse(report);
                r = pass_put(pass, report);
        }
        return r;
}

int pass_lint(const Pass *pass, Judge *judge) {
        const Device **devices;
        size_t n = 0;
        int r;

        if (!judge->policy)
                return 0;
        devices = calloc(MAX_OF(pass->n_reports, 1U), sizeof(Device *));
        if (!devices)
                return -ENOMEM;
        for (size_t i = 0; i < pass->n_reports; i++)
                if (pass->reports[i]->device)
                        devices[n++] = pass->reports[i]->device;
        r = policy_lint_devices(judge->policy, devices, n, &judge->messages);
        free(devices);
        return r;
}

int pass_compliance(const Pass *pass) {
        int sum = 1;

        for (size_t i = 0; i < pass->n_reports; i++) {
                const DeviceReport *report = pass->reports[i];

                if (report->error < 0)
                        sum = compliance_add(sum, -1);
                for (size_t k = 0; k < report->n_ports; k++)
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                                sum = compliance_add(sum,
                                                     state_is_compliant(report->ports[k].verdicts[a].state));
        }
        return sum;
}

static bool verdict_is_change(const Verdict *verdict, bool applied) {
        return applied ? verdict->tried && verdict->state == STATE_OK : verdict->due;
}

/* What the operator gets to read. */
static const char *verdict_result(const Verdict *verdict, bool applied) {
        if (verdict_is_change(verdict, applied))
                return applied ? "changed" : "would change";
        return state_to_string(verdict->state);
}

static json_object *json_entry(const DeviceReport *report, const PortReport *port, Attribute attribute) {
        const Verdict *verdict = port->verdicts + attribute;
        const Port *on_device = device_find_port(report->device, port->number);
        json_object *values = NEED(json_verdict(verdict, attribute, 0));
        json_object *object = NEED(json_object_new_object());
        Verdict before = *verdict;
        json_object *found;

        before.readback = VALUE_NONE;
        found = NEED(json_verdict(&before, attribute, 0));
        json_object_object_add(object, "device", json_string(report->name));
        json_object_object_add(object, "port", json_object_new_int64(port->number));
        json_object_object_add(object, "netdev", json_string(on_device ? on_device->netdev : NULL));
        json_object_object_add(object, "attribute", json_string(attribute_name(attribute)));
        json_object_object_add(object, "found", json_object_get(json_get(found, "found")));
        json_object_object_add(object, "wanted", json_object_get(json_get(values, "wanted")));
        json_object_object_add(object, "readback",
                               verdict->readback == VALUE_NONE ? NULL
                                                               : json_object_get(json_get(values, "found")));
        json_object_object_add(object, "state", json_object_get(json_get(values, "state")));
        json_object_object_add(object, "reason", json_object_get(json_get(values, "reason")));
        json_object_object_add(object, "errno", json_object_get(json_get(values, "errno")));
        json_object_object_add(object, "rule", json_rule(port->rule, port->match));
        json_object_put(values);
        json_object_put(found);
        return object;
}

/* Sorts everything into what is a change and what is wrong and stays so. */
static void pass_collect(const Pass *pass, bool applied, json_object *changes, json_object *problems,
                         Count *count) {
        for (size_t i = 0; i < pass->n_reports; i++) {
                const DeviceReport *report = pass->reports[i];

                for (size_t k = 0; k < report->n_ports; k++) {
                        const PortReport *port = report->ports + k;

                        count->ports += port->verdicts[ATTRIBUTE_MODE].state != STATE_NOT_ROCE;
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                                if (verdict_is_change(port->verdicts + a, applied)) {
                                        count->changes++;
                                        json_object_array_add(changes, json_entry(report, port, a));
                                } else if (state_is_compliant(port->verdicts[a].state) <= 0) {
                                        if (port->verdicts[a].state == STATE_UNKNOWN)
                                                count->unknown++;
                                        else
                                                count->problems++;
                                        json_object_array_add(problems, json_entry(report, port, a));
                                }
                }
        }
}

static void table_add_verdict(Table *table, const DeviceReport *report, const PortReport *port,
                              Attribute attribute, bool applied) {
        const Verdict *verdict = port->verdicts + attribute;
        const Port *on_device = device_find_port(report->device, port->number);
        char number[16], found[ATTRIBUTE_TEXT_MAX], wanted[ATTRIBUTE_TEXT_MAX];
        _cleanup_json_ json_object *json = json_rule(port->rule, port->match);
        _cleanup_free_ char *rule = rule_text(json, true);
        const char *cells[] = {
                report->name,
                number,
                on_device ? on_device->netdev : NULL,
                attribute_name(attribute),
                attribute_format(attribute, verdict->found, found),
                attribute_format(attribute, verdict->wanted, wanted),
                verdict_result(verdict, applied),
                rule,
        };

        snprintf(number, sizeof(number), "%u", port->number);
        table_add(table, cells, COLUMN_RESULT,
                  verdict_is_change(verdict, applied) ? TONE_GOOD : state_tone(verdict->state));
}

static void print_table(const Options *options, const Pass *pass, bool applied) {
        _cleanup_(table_freep) Table *table = table_new(options, columns);

        for (size_t i = 0; i < pass->n_reports; i++)
                for (size_t k = 0; k < pass->reports[i]->n_ports; k++)
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                                const PortReport *port = pass->reports[i]->ports + k;

                                if (verdict_is_change(port->verdicts + a, applied) ||
                                    state_is_compliant(port->verdicts[a].state) <= 0)
                                        table_add_verdict(table, pass->reports[i], port, a, applied);
                        }
        table_print(table);
}

static void print_problems(const Pass *pass, bool applied) {
        _cleanup_(notes_done) Notes notes = {};

        for (size_t i = 0; i < pass->n_reports; i++)
                for (size_t k = 0; k < pass->reports[i]->n_ports; k++)
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                                const PortReport *port = pass->reports[i]->ports + k;
                                const Verdict *verdict = port->verdicts + a;
                                _cleanup_json_ json_object *json = NULL;

                                if (state_is_compliant(verdict->state) > 0 ||
                                    verdict_is_change(verdict, applied))
                                        continue;
                                json = json_verdict(verdict, a, 0);
                                notes_add(&notes, pass->reports[i]->name, port->number,
                                          verdict_text(json, a));
                        }
        notes_print(&notes);
}

/* One sentence for each kind of thing there is. */
static void print_sum(const Count *count, const Judge *judge, bool applied) {
        if (!judge->policy)
                output_line("No policy is installed, neither " POLICY_FILE " nor a drop-in; nothing is managed.");
        else if (count->ports == 0)
                output_line("Nothing to do: there is no RoCE port.");
        else if (count->changes + count->problems + count->unknown == 0)
                output_line("Nothing to do: %zu RoCE port%s as the policy wants.", count->ports,
                            count->ports == 1 ? " is" : "s are");
        if (count->changes > 0)
                output_line("%zu value%s %s.", count->changes, count->changes == 1 ? "" : "s",
                            applied ? "changed" : "would change");
        if (count->problems > 0)
                output_line("%zu value%s not as the policy wants%s.", count->problems,
                            count->problems == 1 ? " is" : "s are", applied ? "" : ", and would stay so");
        if (count->unknown > 0)
                output_line("%zu value%s cannot be seen; root can.", count->unknown,
                            count->unknown == 1 ? "" : "s");
}

int pass_complain(const Pass *pass) {
        int code = CODE_DONE;

        for (size_t i = 0; i < pass->n_reports; i++)
                if (pass->reports[i]->error < 0)
                        code = complain(CODE_FAILED, "%s: %s: %s", pass->reports[i]->name,
                                        step_to_string(pass->reports[i]->error_step),
                                        strerror(-pass->reports[i]->error));
        if (pass->n_invalid > 0) {
                _cleanup_free_ char *text = invalid_names_text(pass->n_invalid);

                complain(code, "%s", text);
        }
        return code;
}

int pass_show(const Options *options, const Pass *pass, const Judge *judge, bool applied, json_object *peers) {
        _cleanup_json_ json_object *document = document_begin();
        json_object *changes = NEED(json_object_new_array()), *problems = NEED(json_object_new_array());
        int code = pass_complain(pass), compliance = pass_compliance(pass);
        Count count = {};

        pass_collect(pass, applied, changes, problems, &count);
        json_object_object_add(document, "compliant", json_compliance(compliance));
        json_object_object_add(document, "policy", json_policy(judge->policy));
        json_object_object_add(document, "changes", changes);
        json_object_object_add(document, "problems", problems);
        json_object_object_add(document, "warnings", json_warnings(&judge->messages));
        if (peers)
                json_object_object_add(document, "peers", peers);

        if (options->json)
                output_json(document);
        else if (!options->quiet) {
                print_table(options, pass, applied);
                if (!options->no_legend) {
                        if (count.changes + count.problems + count.unknown > 0)
                                putchar('\n');
                        print_problems(pass, applied);
                        print_warnings(document);
                        print_sum(&count, judge, applied);
                        if (peers)
                                peers_print(peers);
                }
        }
        return code == CODE_DONE ? compliance_to_code(compliance) : code;
}
