/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds the mode that each port here would get against what the ports of others take. */

#include "rocectl-peers.h"

#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-show.h"

/* Of the hosts that are cut off so many are named. */
#define HOSTS_NAMED_MAX 4

static void add_cut_off(json_object *list, const DeviceReport *report, const PortReport *port,
                        const FleetState *state, const FleetPorts *servers, bool certain) {
        const Verdict *verdict = port->verdicts + ATTRIBUTE_MODE;
        json_object *object = NEED(json_object_new_object());

        json_object_object_add(object, "device", json_string(report->name));
        json_object_object_add(object, "port", json_object_new_int64(port->number));
        json_object_object_add(object, "from", json_value(ATTRIBUTE_MODE, verdict->found));
        json_object_object_add(object, "to", json_value(ATTRIBUTE_MODE, verdict->wanted));
        json_object_object_add(object, "certain", json_object_new_boolean(certain));
        json_object_object_add(object, "hosts",
                               json_texts((const char *const *) state->hosts, state->n_hosts));
        json_object_object_add(object, "ports",
                               json_texts((const char *const *) servers->names, servers->n_names));
        json_object_array_add(list, object);
}

/* Whether the port's mode would be another one than it is, as far as is known. */
static bool mode_would_change(const Verdict *verdict) {
        return verdict->wanted != VALUE_NONE && verdict->wanted != verdict->found &&
               (verdict->due || verdict->state == STATE_UNKNOWN || verdict->state == STATE_PENDING);
}

static void judge_port(json_object *list, const DeviceReport *report, const PortReport *port,
                       const Fleet *fleet) {
        const Verdict *verdict = port->verdicts + ATTRIBUTE_MODE;
        PortKind today = port_kind(verdict->found, -1), then = port_kind(verdict->wanted, -1);

        if (!mode_would_change(verdict))
                return;

        for (size_t i = 0; i < fleet->n_states; i++)
                for (size_t k = 0; k < fleet->states[i].n_ports; k++) {
                        const FleetPorts *servers = fleet->states[i].ports + k;
                        PortKind server = kind_from_number(servers->kind);
                        Reach before = kind_reach(&today, &server), after = kind_reach(&then, &server);

                        if (after < before)
                                add_cut_off(list, report, port, fleet->states + i, servers,
                                            before == REACH_YES && after == REACH_NO);
                }
}

json_object *peers_judge(const Pass *pass, const Fleet *fleet) {
        json_object *peers = NEED(json_object_new_object()), *list = NEED(json_object_new_array());

        for (size_t i = 0; i < pass->n_reports; i++)
                for (size_t k = 0; k < pass->reports[i]->n_ports; k++)
                        judge_port(list, pass->reports[i], pass->reports[i]->ports + k, fleet);
        json_object_object_add(peers, "hosts", json_object_new_int64((int64_t) fleet->n_hosts));
        json_object_object_add(peers, "cut_off", list);
        return peers;
}

/* As texts_format(); allocated. */
static char *list_format(json_object *object, const char *key) {
        json_object *list;
        size_t n = json_get_list(object, key, &list);
        const char **texts = NEED((const char **) calloc(MAX_OF(n, 1U), sizeof(char *)));
        char *text;

        for (size_t i = 0; i < n; i++)
                texts[i] = json_object_get_string(json_object_array_get_idx(list, i));
        text = texts_format(texts, n, HOSTS_NAMED_MAX);
        free(texts);
        return text;
}

void peers_print(json_object *peers) {
        _cleanup_(notes_done) Notes notes = {};
        json_object *list;
        size_t n = json_get_list(peers, "cut_off", &list);
        int64_t n_hosts = json_object_get_int64(json_get(peers, "hosts"));

        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(list, i);
                _cleanup_free_ char *hosts = list_format(entry, "hosts"),
                                    *ports = list_format(entry, "ports");
                bool certain = json_object_get_boolean(json_get(entry, "certain"));

                notes_add(&notes, json_get_text(entry, "device"),
                          (unsigned) json_object_get_int64(json_get(entry, "port")),
                          need_text("mode %s %s %s of %s", json_get_text(entry, "to"),
                                    certain ? "would cut off from" : "might cut off from", ports, hosts));
        }
        notes_print(&notes);
        if (n == 0)
                output_line("No client here would be cut off from any of %lld other host%s.", (long long) n_hosts,
                            n_hosts == 1 ? "" : "s");
}
