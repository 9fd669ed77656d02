/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is legal in a policy and probably not meant. Never fatal. */

#include "message.h"
#include "policy-index.h"
#include "text.h"

static unsigned policy_file_number(const Policy *policy, const Rule *rule) {
        unsigned i = 0;

        while (policy->files[i] && policy->files[i] != rule->file)
                i++;
        return i;
}

/* "rule 'storage rail'", or "this rule". */
static const char *rule_describe(const Rule *rule, char buffer[static TEXT_SHOWN_MAX + 8]) {
        char shown[TEXT_SHOWN_MAX];

        if (!rule->name)
                return "this rule";
        snprintf(buffer, TEXT_SHOWN_MAX + 8, "rule '%s'", text_show(rule->name, strlen(rule->name), shown));
        return buffer;
}

/* Every device has a name, so "*" leaves none out. */
static bool rule_catches_all(const Rule *rule) {
        const PatternList *names = rule->keys + MATCH_DEVICE;

        if (rule->any)
                return true;
        if (rule->n_properties > 0 || names->n_items == 0)
                return false;
        for (MatchKey key = 0; key < _MATCH_KEY_MAX; key++)
                if (key != MATCH_DEVICE && rule->keys[key].n_items > 0)
                        return false;

        for (size_t i = 0; i < names->n_items; i++)
                if (names->items[i].negated || !streq(names->items[i].text, "*"))
                        return false;
        return true;
}

static int lint_unreachable(const Policy *policy, Messages *messages) {
        char name[TEXT_SHOWN_MAX + 8];
        size_t i = 0, n_more;
        const Rule *rule;

        while (i < policy->n_rules && !rule_catches_all(policy->rules + i))
                i++;
        if (i + 1 >= policy->n_rules)
                return 0;

        rule = policy->rules + i + 1;
        n_more = policy->n_rules - i - 2;
        if (n_more == 0)
                return messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                                    rule->line, rule->column,
                                    "%s reaches no port: the rule at %s matches every one",
                                    rule_describe(rule, name), policy->rules[i].source);
        return messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                            rule->line, rule->column,
                            "%s and the %zu after it reach no port: the rule at %s matches every one",
                            rule_describe(rule, name), n_more, policy->rules[i].source);
}

static int lint_tos(const Policy *policy, const Rule *rule, Messages *messages) {
        int tos = rule->wanted[ATTRIBUTE_TOS], r = 0;

        if (tos == VALUE_NONE)
                return 0;

        if (!rule->dscp && (tos & 3) != 0)
                r = messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                                 rule->wanted_line[ATTRIBUTE_TOS], rule->wanted_column[ATTRIBUTE_TOS],
                                 "tos %d sets ECN bits; if they are meant, 'dscp: %d' and 'ecn: %d' say so",
                                 tos, tos >> 2, tos & 3);
        if (r == 0 && rule->wanted[ATTRIBUTE_MODE] == ROCE_V1)
                r = messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                                 rule->wanted_line[ATTRIBUTE_TOS], rule->wanted_column[ATTRIBUTE_TOS],
                                 "RoCE v1 carries no DSCP; with 'mode: v1' the TOS picks the VLAN priority "
                                 "only");
        return r;
}

/* Names that could have such a character in them, but do not. */
static int lint_lists(const Policy *policy, const Rule *rule, Messages *messages) {
        static const MatchKey keys[] = { MATCH_DEVICE, MATCH_DRIVER, MATCH_NETDEV };
        char shown[TEXT_SHOWN_MAX];
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                const PatternList *list = rule->keys + keys[i];

                for (size_t k = 0; r == 0 && k < list->n_items; k++) {
                        const char *text = list->items[k].text;

                        if (text && strpbrk(text, ", ;"))
                                r = messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                                                 rule->line, rule->column,
                                                 "'%s' is one pattern; a list of them is written [a, b]",
                                                 text_show(text, strlen(text), shown));
                }
        }
        return r;
}

int policy_lint(const Policy *policy, Messages *messages) {
        int r = lint_unreachable(policy, messages);

        for (size_t i = 0; r == 0 && i < policy->n_rules; i++)
                r = lint_tos(policy, policy->rules + i, messages) ?: lint_lists(policy, policy->rules + i, messages);

        messages_sort(messages);
        return r;
}

/* What has been seen of one rule among the devices that are there. */
typedef struct Trace {
        bool present;         /* matches a port, or may yet */
        const Device *device; /* the first that it matches, ports apart */
        bool *ports;          /* for each of its port patterns: some such device has that port */
} Trace;

static void traces_free(Trace *traces) {
        free(traces[0].ports);
        free(traces);
}

DEFINE_CLEANUP(Trace *, traces_free)

/* One per rule, and one more, so that there is a first. */
static Trace *traces_new(const Policy *policy) {
        Trace *traces = calloc(policy->n_rules + 1, sizeof(Trace));
        size_t n = 0;
        bool *ports;

        if (!traces)
                return NULL;

        for (size_t i = 0; i < policy->n_rules; i++)
                n += policy->rules[i].keys[MATCH_PORT].n_items;

        ports = traces[0].ports = calloc(n + 1, sizeof(bool));
        if (!ports) {
                traces_free(traces);
                return NULL;
        }
        for (size_t i = 0; i < policy->n_rules; i++) {
                traces[i].ports = ports;
                ports += policy->rules[i].keys[MATCH_PORT].n_items;
        }
        return traces;
}

static void trace_rule(Trace *trace, const Rule *rule, const Device *device, const Port *port) {
        const PatternList *numbers = rule->keys + MATCH_PORT;
        Rule rest = *rule;
        MatchResult result;

        rest.keys[MATCH_PORT] = (PatternList) {};
        result = rule_match(&rest, device, port, NULL);
        if (result == MATCH_NO)
                return;

        trace->present = trace->present || rule_match(rule, device, port, NULL) != MATCH_NO;
        if (result == MATCH_YES && !trace->device)
                trace->device = device;
        for (size_t i = 0; i < numbers->n_items; i++)
                if (!trace->ports[i] && device_find_port(device, numbers->items[i].port))
                        trace->ports[i] = true;
}

static void trace_port(Trace *traces, const Policy *policy, const Device *device, const Port *port) {
        PolicyWalk walk;
        size_t i;

        policy_walk_begin(&walk, policy, device, port);
        while (policy_walk_next(&walk, &i))
                if (policy->rules[i].keys[MATCH_PORT].n_items > 0)
                        trace_rule(traces + i, policy->rules + i, device, port);
                else if (!traces[i].present)
                        traces[i].present = rule_match(policy->rules + i, device, port, NULL) != MATCH_NO;
}

/* Ports that the rule names and no device has on which it would match; if that is not why, that it matches nothing. */
static int lint_absent(const Policy *policy, const Rule *rule, const Trace *trace, Messages *messages) {
        const PatternList *numbers = rule->keys + MATCH_PORT;
        char name[TEXT_SHOWN_MAX + 8];
        bool said = false;
        int r;

        for (size_t i = 0; trace->device && i < numbers->n_items; i++) {
                if (numbers->items[i].negated || trace->ports[i])
                        continue;

                r = messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                                 rule->line, rule->column, "port %u does not exist: %s has %zu port%s",
                                 numbers->items[i].port, trace->device->name, trace->device->n_ports,
                                 trace->device->n_ports == 1 ? "" : "s");
                if (r < 0)
                        return r;
                said = true;
        }

        if (said || trace->present || rule->any)
                return 0;
        return messages_add(messages, SEVERITY_WARNING, rule->file, policy_file_number(policy, rule),
                            rule->line, rule->column, "%s matches nothing that is present",
                            rule_describe(rule, name));
}

int policy_lint_devices(const Policy *policy, const Device *const *devices, size_t n_devices,
                        Messages *messages) {
        _cleanup_(traces_freep) Trace *traces = traces_new(policy);
        int r = 0;

        if (!traces)
                return -ENOMEM;

        for (size_t i = 0; i < n_devices; i++)
                for (size_t k = 0; k < devices[i]->n_ports; k++)
                        trace_port(traces, policy, devices[i], devices[i]->ports + k);

        for (size_t i = 0; r == 0 && i < policy->n_rules; i++)
                r = lint_absent(policy, policy->rules + i, traces + i, messages);

        messages_sort(messages);
        return r;
}
