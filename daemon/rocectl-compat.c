/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl compat": whether a client in one mode reaches a server in another, and who reaches whom among the
 * hosts of saved status files. Looks at no device of this host. */

#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-fleet.h"
#include "rocectl-show.h"

static const Column columns[] = {
        { "STATE", true },      { "HOSTS", true },  { "CANNOT REACH", false }, { "IN PART", false },
        { "NOT KNOWN", false }, { "PORTS", false }, { "FIRST HOST", false },   {},
};
#define COLUMN_CANNOT 2

static int compat_modes(const Options *options, const char *client, const char *server) {
        bool connects = modes_reach((RoceMode) mode_from_text(client), (RoceMode) mode_from_text(server)) ==
                        REACH_YES;
        _cleanup_json_ json_object *document = NEED(json_object_new_object());

        output_open(options, false);
        if (options->json) {
                json_object_object_add(document, "schema", json_object_new_int(JSON_SCHEMA));
                json_object_object_add(document, "client", json_string(client));
                json_object_object_add(document, "server", json_string(server));
                json_object_object_add(document, "connects", json_object_new_boolean(connects));
                output_json(document);
        } else if (!options->quiet) {
                output_line("A client in mode %s %s a server in mode %s.", client,
                            connects ? "reaches" : "does not reach", server);
                if (streq(client, "v1") && streq(server, "v2") && !options->no_legend)
                        output_line("The server's port must be able to do v1: one that can only do v2 takes "
                                    "no v1 client.");
        }
        return output_close(connects ? CODE_DONE : CODE_NOT_COMPLIANT);
}

/* A host is not asked whether it reaches itself. */
static HostReach fleet_reach(const Fleet *fleet, size_t client, size_t server) {
        if (client == server && fleet->states[client].n_hosts < 2)
                return HOST_REACH_NONE;
        return host_reach(fleet->states[client].kinds, fleet->states[server].kinds);
}

/* How many pairs of states there are of each sort. */
static void fleet_count(const Fleet *fleet, size_t count[static _HOST_REACH_MAX]) {
        for (size_t i = 0; i < fleet->n_states; i++)
                for (size_t k = 0; k < fleet->n_states; k++)
                        count[fleet_reach(fleet, i, k)]++;
}

static const char *mode_text(int mode) {
        return mode == ROCE_V1 ? "v1" : mode == ROCE_V2 ? "v2" : NULL;
}

static char *kind_text(unsigned number) {
        PortKind kind = kind_from_number(number);
        const char *mode = mode_text(kind.mode);

        return need_text("%s, takes %s%s%s", mode ? mode : "mode not known", support_text(kind.takes),
                         kind.unknown ? ", not known of " : "",
                         kind.unknown ? support_text(kind.unknown) : "");
}

/* "a; b" from "a" and "b"; takes both over. */
static char *join(char *text, char *piece) {
        char *longer;

        if (!text)
                return piece;
        longer = need_text("%s; %s", text, piece);
        free(text);
        free(piece);
        return longer;
}

static char *state_ports_text(const FleetState *state) {
        char *text = NULL;

        for (size_t i = 0; i < state->n_ports; i++) {
                _cleanup_free_ char *names = fleet_ports_names(state->ports + i),
                                    *kind = kind_text(state->ports[i].kind);

                text = join(text, need_text("%s: %s", names, kind));
        }
        return text ? text : NEED(strdup("no RoCE port"));
}

/* The numbers of the states that this one reaches so; NULL: none. */
static char *states_text(const Fleet *fleet, size_t client, HostReach reach) {
        char *text = NULL;

        for (size_t server = 0; server < fleet->n_states; server++)
                if (fleet_reach(fleet, client, server) == reach) {
                        char *longer = need_text("%s%s%zu", text ? text : "", text ? "," : "", server + 1);

                        free(text);
                        text = longer;
                }
        return text;
}

static void print_states(const Options *options, const Fleet *fleet) {
        _cleanup_(table_freep) Table *table = table_new(options, columns);

        for (size_t i = 0; i < fleet->n_states; i++) {
                const FleetState *state = fleet->states + i;
                _cleanup_free_ char *no = states_text(fleet, i, HOST_REACH_NO),
                                    *part = states_text(fleet, i, HOST_REACH_PART);
                _cleanup_free_ char *unknown = states_text(fleet, i, HOST_REACH_UNKNOWN),
                                    *ports = state_ports_text(state);
                char number[24], hosts[24];
                const char *cells[] = { number, hosts, no, part, unknown, ports, state->hosts[0] };

                snprintf(number, sizeof(number), "%zu", i + 1);
                snprintf(hosts, sizeof(hosts), "%zu", state->n_hosts);
                table_add(table, cells, COLUMN_CANNOT, no ? TONE_BAD : TONE_PLAIN);
        }
        table_print(table);
}

/* Calls back for each pair of kinds of two states that does not connect, or of which that is not known. */
static void pair_foreach(const FleetState *client, const FleetState *server,
                         void (*function)(const FleetPorts *from, const FleetPorts *to, Reach reach,
                                          void *userdata),
                         void *userdata) {
        for (size_t i = 0; i < client->n_ports; i++)
                for (size_t k = 0; k < server->n_ports; k++) {
                        PortKind from = kind_from_number(client->ports[i].kind),
                                 to = kind_from_number(server->ports[k].kind);
                        Reach reach = kind_reach(&from, &to);

                        if (reach != REACH_YES)
                                function(client->ports + i, server->ports + k, reach, userdata);
                }
}

static void text_add_ports(const FleetPorts *from, const FleetPorts *to, Reach reach, void *userdata) {
        _cleanup_free_ char *clients = fleet_ports_names(from), *servers = fleet_ports_names(to);
        const char *mode = mode_text(kind_from_number(from->kind).mode);
        char **text = userdata, *piece;

        if (reach == REACH_NO)
                piece = need_text("%s of %s is not taken by %s", mode ? mode : "any mode", clients, servers);
        else if (!mode)
                piece = need_text("the mode of %s is not known", clients);
        else
                piece = need_text("whether %s take %s is not known", servers, mode);
        *text = join(*text, piece);
}

static void print_pairs(const Fleet *fleet) {
        static const char *const words[_HOST_REACH_MAX] = {
                [HOST_REACH_NO] = "cannot reach",
                [HOST_REACH_PART] = "reaches only in part",
                [HOST_REACH_UNKNOWN] = "may not reach",
        };

        for (size_t i = 0; i < fleet->n_states; i++)
                for (size_t k = 0; k < fleet->n_states; k++) {
                        HostReach reach = fleet_reach(fleet, i, k);
                        _cleanup_free_ char *text = NULL;

                        if (!words[reach])
                                continue;
                        pair_foreach(fleet->states + i, fleet->states + k, text_add_ports, &text);
                        output_line("State %zu %s state %zu: %s.", i + 1, words[reach], k + 1, text);
                }
}

static void print_sum(const Fleet *fleet, const size_t count[static _HOST_REACH_MAX]) {
        size_t wrong = count[HOST_REACH_NO] + count[HOST_REACH_PART], unknown = count[HOST_REACH_UNKNOWN];

        if (fleet->n_hosts == 1)
                output_line("One host alone has none to reach.");
        else if (wrong + unknown == 0)
                output_line("%zu hosts in %zu state%s: every client reaches every server.", fleet->n_hosts,
                            fleet->n_states, fleet->n_states == 1 ? "" : "s");
        else
                output_line("%zu hosts in %zu state%s: %zu pair%s of states cannot connect through every "
                            "port, of %zu it is not known.",
                            fleet->n_hosts, fleet->n_states, fleet->n_states == 1 ? "" : "s", wrong,
                            wrong == 1 ? "" : "s", unknown);
}

static json_object *json_ports(const FleetPorts *ports) {
        json_object *object = NEED(json_object_new_object());
        PortKind kind = kind_from_number(ports->kind);

        json_object_object_add(object, "mode", json_value(ATTRIBUTE_MODE, kind.mode));
        json_object_object_add(object, "takes", json_support(kind.takes));
        json_object_object_add(object, "not_known", json_support(kind.unknown));
        json_object_object_add(object, "names",
                               json_texts((const char *const *) ports->names, ports->n_names));
        json_object_object_add(object, "more", json_object_new_boolean(ports->more));
        return object;
}

static json_object *json_state(const FleetState *state, size_t number) {
        json_object *object = NEED(json_object_new_object()), *ports = NEED(json_object_new_array());

        for (size_t i = 0; i < state->n_ports; i++)
                json_object_array_add(ports, json_ports(state->ports + i));
        json_object_object_add(object, "state", json_object_new_int64((int64_t) number));
        json_object_object_add(object, "hosts",
                               json_texts((const char *const *) state->hosts, state->n_hosts));
        json_object_object_add(object, "ports", ports);
        return object;
}

static void json_add_pair_ports(const FleetPorts *from, const FleetPorts *to, Reach reach, void *userdata) {
        json_object *object = NEED(json_object_new_object());

        json_object_object_add(object, "client", json_ports(from));
        json_object_object_add(object, "server", json_ports(to));
        json_object_object_add(object, "reach", json_string(reach == REACH_NO ? "no" : "unknown"));
        json_object_array_add(userdata, object);
}

static json_object *json_pair(const Fleet *fleet, size_t client, size_t server) {
        json_object *object = NEED(json_object_new_object()), *ports = NEED(json_object_new_array());

        pair_foreach(fleet->states + client, fleet->states + server, json_add_pair_ports, ports);
        json_object_object_add(object, "client", json_object_new_int64((int64_t) client + 1));
        json_object_object_add(object, "server", json_object_new_int64((int64_t) server + 1));
        json_object_object_add(object, "reach",
                               json_string(host_reach_to_string(fleet_reach(fleet, client, server))));
        json_object_object_add(object, "ports", ports);
        return object;
}

static json_object *json_fleet(const Fleet *fleet, int connects) {
        json_object *document = NEED(json_object_new_object()), *states = NEED(json_object_new_array());
        json_object *matrix = NEED(json_object_new_array()), *pairs = NEED(json_object_new_array());

        for (size_t i = 0; i < fleet->n_states; i++) {
                json_object *row = NEED(json_object_new_array());

                for (size_t k = 0; k < fleet->n_states; k++) {
                        HostReach reach = fleet_reach(fleet, i, k);

                        json_object_array_add(row, json_string(host_reach_to_string(reach)));
                        if (reach != HOST_REACH_NONE && reach != HOST_REACH_YES)
                                json_object_array_add(pairs, json_pair(fleet, i, k));
                }
                json_object_array_add(matrix, row);
                json_object_array_add(states, json_state(fleet->states + i, i + 1));
        }
        json_object_object_add(document, "schema", json_object_new_int(JSON_SCHEMA));
        json_object_object_add(document, "connects", json_compliance(connects));
        json_object_object_add(document, "hosts", json_object_new_int64((int64_t) fleet->n_hosts));
        json_object_object_add(document, "states", states);
        json_object_object_add(document, "matrix", matrix);
        json_object_object_add(document, "pairs", pairs);
        return document;
}

static int compat_files(const Options *options, char **files) {
        size_t count[_HOST_REACH_MAX] = {};
        _cleanup_(fleet_done) Fleet fleet = {};
        int code, connects;

        code = fleet_read(files, NULL, &fleet);
        if (code != CODE_DONE)
                return code;

        fleet_count(&fleet, count);
        connects = count[HOST_REACH_NO] + count[HOST_REACH_PART] > 0 ? 0
                   : count[HOST_REACH_UNKNOWN] > 0                   ? -1
                                                                     : 1;
        output_open(options, true);
        if (options->json) {
                _cleanup_json_ json_object *document = json_fleet(&fleet, connects);

                output_json(document);
        } else if (!options->quiet) {
                print_states(options, &fleet);
                if (!options->no_legend) {
                        putchar('\n');
                        print_pairs(&fleet);
                        print_sum(&fleet, count);
                }
        }
        return output_close(compliance_to_code(connects));
}

int verb_compat(const Options *options, char **arguments) {
        const char *file = NULL;
        size_t n = 0, n_modes = 0;

        for (; arguments[n]; n++)
                if (mode_from_text(arguments[n]) != VALUE_NONE)
                        n_modes++;
                else if (!file)
                        file = arguments[n];

        if (n == 0)
                return complain(CODE_USAGE, "compat takes two modes, v1 or v2, or status files");
        if (n_modes > 0 && n_modes == n && n != 2)
                return complain(CODE_USAGE, "compat takes two modes, v1 or v2, or status files, not %zu mode%s", n, n == 1 ? "" : "s");
        if (n_modes > 0 && file)
                return complain(CODE_USAGE, "compat takes two modes, v1 or v2, or status files, not both: '%s' is no mode; "
                                            "'./v1' is a file of that name",
                                file);
        return n_modes > 0 ? compat_modes(options, arguments[0], arguments[1])
                           : compat_files(options, arguments);
}
