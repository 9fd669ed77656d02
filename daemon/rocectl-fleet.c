/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads saved status documents, of each no more than its ports' kinds and names. */

#include "rocectl-fleet.h"

#include "plan.h"
#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-file.h"
#include "rocectl-show.h"

/* Of the files of one host so many are named. */
#define ORIGINS_NAMED_MAX 3

typedef struct HostPort {
        unsigned kind;
        char *name;
} HostPort;

/* The RoCE ports of the host that is being read. */
typedef struct HostPorts {
        HostPort *items;
        size_t n_items;
        KindSet kinds;
} HostPorts;

static void host_ports_done(HostPorts *ports) {
        for (size_t i = 0; i < ports->n_items; i++)
                free(ports->items[i].name);
        free(ports->items);
        *ports = (HostPorts){};
}

static void fleet_state_done(FleetState *state) {
        for (size_t i = 0; i < state->n_ports; i++)
                for (size_t k = 0; k < state->ports[i].n_names; k++)
                        free(state->ports[i].names[k]);
        for (size_t i = 0; i < state->n_hosts; i++)
                free(state->hosts[i]);
        free(state->ports);
        free(state->hosts);
}

void fleet_done(Fleet *fleet) {
        for (size_t i = 0; i < fleet->n_states; i++)
                fleet_state_done(fleet->states + i);
        free(fleet->states);
}

int mode_from_text(const char *text) {
        if (!text)
                return VALUE_NONE;
        return streq(text, "v1") ? ROCE_V1 : streq(text, "v2") ? ROCE_V2 : VALUE_NONE;
}

/* A set of Support; -1: not known. */
static int supported_from_json(json_object *port) {
        json_object *list;
        size_t n = json_get_list(port, "supported", &list);
        int support = 0;

        for (size_t i = 0; i < n; i++) {
                json_object *item = json_object_array_get_idx(list, i);
                int mode = mode_from_text(json_object_is_type(item, json_type_string)
                                                          ? json_object_get_string(item)
                                                          : NULL);

                support |= mode == ROCE_V1 ? SUPPORT_V1 : mode == ROCE_V2 ? SUPPORT_V2 : 0;
        }
        return list ? support : -1;
}

/* false: this is no port as "status" writes it. */
static bool host_ports_add(HostPorts *ports, const char *device, json_object *port) {
        json_object *number = json_get(port, "port"), *mode = json_get_object(port, "mode");
        PortKind kind;

        if (!json_object_is_type(number, json_type_int) || !mode || !json_get_text(mode, "state"))
                return false;
        if (json_get_state(port, ATTRIBUTE_MODE) == STATE_NOT_ROCE)
                return true;

        kind = port_kind(mode_from_text(json_get_text(mode, "found")), supported_from_json(port));
        ports->items = NEED((HostPort *) reallocarray(ports->items, ports->n_items + 1, sizeof(HostPort)));
        ports->items[ports->n_items++] = (HostPort){
                .kind = kind_number(&kind),
                .name = need_text("%s/%lld", device, (long long) json_object_get_int64(number)),
        };
        ports->kinds |= kind_set(&kind);
        return true;
}

static bool host_ports_read(HostPorts *ports, json_object *document, const char *file) {
        json_object *devices, *list;
        size_t n_devices = json_get_list(document, "devices", &devices);

        if (!json_object_is_type(devices, json_type_array)) {
                complain(CODE_FAILED,
                         "%s: this is not the output of \"rocectl status --json\", it has no \"devices\"",
                         file);
                return false;
        }

        for (size_t i = 0; i < n_devices; i++) {
                json_object *device = json_object_array_get_idx(devices, i);
                const char *name = json_get_text(device, "name");
                size_t n = json_get_list(device, "ports", &list);

                if (!name || !json_object_is_type(list, json_type_array)) {
                        complain(CODE_FAILED,
                                 "%s: devices[%zu] is not a device as \"rocectl status --json\" writes it",
                                 file, i);
                        return false;
                }
                for (size_t k = 0; k < n; k++)
                        if (!host_ports_add(ports, name, json_object_array_get_idx(list, k))) {
                                complain(CODE_FAILED,
                                         "%s: devices[%zu].ports[%zu] is not a port as \"rocectl status "
                                         "--json\" writes it",
                                         file, i, k);
                                return false;
                        }
        }
        return true;
}

static FleetState *fleet_find_state(Fleet *fleet, KindSet kinds) {
        for (size_t i = 0; i < fleet->n_states; i++)
                if (fleet->states[i].kinds == kinds)
                        return fleet->states + i;

        fleet->states = NEED(
                        (FleetState *) reallocarray(fleet->states, fleet->n_states + 1, sizeof(FleetState)));
        fleet->states[fleet->n_states] = (FleetState){ .kinds = kinds };
        return fleet->states + fleet->n_states++;
}

static void state_add_port(FleetState *state, HostPort *port) {
        FleetPorts *ports;
        size_t i = 0;

        while (i < state->n_ports && state->ports[i].kind < port->kind)
                i++;
        if (i == state->n_ports || state->ports[i].kind != port->kind) {
                state->ports = NEED((FleetPorts *) reallocarray(state->ports, state->n_ports + 1,
                                                                sizeof(FleetPorts)));
                memmove(state->ports + i + 1, state->ports + i, (state->n_ports - i) * sizeof(FleetPorts));
                state->ports[i] = (FleetPorts){ .kind = port->kind };
                state->n_ports++;
        }

        ports = state->ports + i;
        for (size_t k = 0; k < ports->n_names; k++)
                if (streq(ports->names[k], port->name))
                        return;
        if (ports->n_names < FLEET_NAMES_MAX)
                ports->names[ports->n_names++] = TAKE_PTR(port->name);
        else
                ports->more = true;
}

/* Gives the fleet's copy of the host's name. */
static const char *fleet_add(Fleet *fleet, const char *host, HostPorts *ports) {
        FleetState *state = fleet_find_state(fleet, ports->kinds);

        for (size_t i = 0; i < ports->n_items; i++)
                state_add_port(state, ports->items + i);

        /* Room for twice as many whenever the number is a power of two. */
        if ((state->n_hosts & (state->n_hosts - 1)) == 0)
                state->hosts = NEED((char **) reallocarray(state->hosts, MAX_OF(2 * state->n_hosts, 1U),
                                                           sizeof(char *)));
        state->hosts[state->n_hosts] = NEED(strdup(host));
        fleet->n_hosts++;
        return state->hosts[state->n_hosts++];
}

/* Where the word of a host was read. */
typedef struct Origin {
        const char *host;
        char **file; /* in the list of all */
} Origin;

static int compare_origins(const void *a, const void *b) {
        const Origin *x = a, *y = b;
        int r = strcmp(x->host, y->host);

        return r != 0 ? r : (x->file > y->file) - (x->file < y->file);
}

/* Names the files that are of hosts of one name: one may be an old copy, or the hosts are indeed two. */
static void origins_check(Origin *origins, size_t n) {
        size_t n_same;

        if (n > 0)
                qsort(origins, n, sizeof(Origin), compare_origins);
        for (size_t i = 0; i < n; i += n_same) {
                const char *files[ORIGINS_NAMED_MAX];
                _cleanup_free_ char *text = NULL;

                for (n_same = 0; i + n_same < n && streq(origins[i].host, origins[i + n_same].host); n_same++)
                        if (n_same < ORIGINS_NAMED_MAX)
                                files[n_same] = *origins[i + n_same].file;
                if (n_same == 1)
                        continue;
                text = texts_format(files, n_same, ORIGINS_NAMED_MAX);
                complain(CODE_DONE, "%s: all are of a host '%s', and each counts as a host", text, origins[i].host);
        }
}

static int compare_states(const void *a, const void *b) {
        const FleetState *x = a, *y = b;

        if (x->n_hosts != y->n_hosts)
                return x->n_hosts < y->n_hosts ? 1 : -1;
        return (x->kinds > y->kinds) - (x->kinds < y->kinds);
}

int fleet_read(char **files, const char *except, Fleet *ret) {
        JsonTokener *tokener = NEED(json_tokener_new());
        _cleanup_free_ Origin *origins = NULL;
        size_t n_files = 0, n_origins = 0;
        int code = CODE_DONE;
        Fleet fleet = {};

        while (files[n_files])
                n_files++;
        origins = NEED((Origin *) calloc(n_files + 1, sizeof(Origin)));

        /* Else the names of keys could be without quotes, and more. */
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
        for (; *files; files++) {
                _cleanup_json_ json_object *document = document_read(*files, tokener);
                _cleanup_(host_ports_done) HostPorts ports = {};
                const char *host = json_get_text(document, "host");

                if (!document || !host_ports_read(&ports, document, *files))
                        code = CODE_FAILED;
                else if (!host || !streq_ptr(host, except))
                        origins[n_origins++] =
                                        (Origin) { fleet_add(&fleet, host ? host : *files, &ports), files };
        }
        json_tokener_free(tokener);

        if (code != CODE_DONE) {
                fleet_done(&fleet);
                return code;
        }
        origins_check(origins, n_origins);
        if (fleet.n_states > 0)
                qsort(fleet.states, fleet.n_states, sizeof(FleetState), compare_states);
        *ret = fleet;
        return code;
}

char *fleet_ports_names(const FleetPorts *ports) {
        _cleanup_free_ char *text =
                        texts_format((const char *const *) ports->names, ports->n_names, ports->n_names);

        return need_text("%s%s", text, ports->more ? " and others" : "");
}

const char *support_text(unsigned support) {
        static const char *const table[] = { "none", "v1", "v2", "v1, v2" };

        return table[support & (SUPPORT_V1 | SUPPORT_V2)];
}
