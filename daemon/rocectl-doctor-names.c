/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Examines the names in the policy, and the priorities that its TOS values lead to. */

#include "device.h"
#include "report-json.h"
#include "rocectl-dcb.h"
#include "rocectl-doctor.h"
#include "rocectl-document.h"

/* A device that the name may be meant for: of a driver "mlx5_core" for a name "mlx5_0". NULL: none. */
static const char *find_renamed(json_object *devices, size_t n, const char *name) {
        size_t length = strcspn(name, "_");

        if (name[length] == 0)
                length = strcspn(name, "0123456789");
        for (size_t i = 0; i < n; i++) {
                json_object *device = json_object_array_get_idx(devices, i);
                const char *driver = json_get_text(device, "driver");

                if (driver && length > 0 && strncmp(driver, name, length) == 0 &&
                    (driver[length] == '_' || driver[length] == 0))
                        return json_get_text(device, "name");
        }
        return NULL;
}

static bool device_is_there(json_object *devices, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq_ptr(json_get_text(json_object_array_get_idx(devices, i), "name"), name))
                        return true;
        return false;
}

static bool was_born_so(const Leftover *leftovers, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(leftovers[i].name, name))
                        return true;
        return false;
}

void examine_policy_names(const Host *host, json_object *document, Findings *findings) {
        _cleanup_(judge_done) Judge disk = {};
        const Policy *policy = host->judge.policy;
        Leftover *leftovers = NULL;
        json_object *devices;
        size_t n_devices = json_get_list(document, "devices", &devices), n_leftovers = 0;

        if (host->ask_daemon && host_load_policy(host, &disk))
                policy = disk.policy;
        if (!policy)
                return;
        (void) leftovers_acquire(&leftovers, &n_leftovers);

        for (size_t i = 0; i < policy->n_rules; i++) {
                const Rule *rule = policy->rules + i;
                const PatternList *names = rule->keys + MATCH_DEVICE;

                for (size_t k = 0; k < names->n_items; k++) {
                        const Pattern *pattern = names->items + k;
                        const char *now = pattern->literal ? find_renamed(devices, n_devices, pattern->text)
                                                           : NULL;
                        bool born = was_born_so(leftovers, n_leftovers, pattern->text);

                        if (!pattern->literal || device_is_there(devices, n_devices, pattern->text) ||
                            (!now && !born))
                                continue;
                        findings_add(findings, "name-of-no-device", rule->source,
                                     need_text("it names '%s', and no device is called so%s%s%s",
                                               pattern->text,
                                               born ? "; one was when it was born, and has been renamed"
                                                    : "",
                                               now ? "; a device of that driver here is " : "", now ?: ""),
                                     need_text("match by \"pci\" or \"driver\", which do not change with "
                                               "the name, or name it as "
                                               "\"rocectl status\" does"));
                }
        }
        leftovers_free(leftovers, n_leftovers);
}

/* What the port's network device does with packets of this DSCP. */
static void examine_dcb(const char *netdev, unsigned dscp, const char *where, const Dcb *dcb,
                        Findings *findings) {
        DcbTrouble trouble = dcb_judge(dcb, dscp);

        if (trouble & DCB_TRUSTS_NO_DSCP)
                findings_add(findings, "dcb-trusts-no-dscp", where,
                             need_text("%s does not sort packets by DSCP, so DSCP %u has no effect on it",
                                       netdev, dscp),
                             need_text("\"dcb apptrust set dev %s order dscp\"", netdev));
        if (trouble & DCB_NO_PRIORITY)
                findings_add(findings, "dcb-dscp-without-priority", where,
                             need_text("%s has no priority for DSCP %u, so its packets go with the default "
                                       "one",
                                       netdev, dscp),
                             need_text("\"dcb app add dev %s dscp-prio %u:PRIORITY\", with the priority "
                                       "that the "
                                       "switches use",
                                       netdev, dscp));
        if (trouble & DCB_NO_FLOW_CONTROL)
                findings_add(findings, "dcb-no-flow-control", where,
                             need_text("DSCP %u has priority %d on %s, for which PFC is off", dscp,
                                       dcb->priority[dscp], netdev),
                             need_text("\"dcb pfc set dev %s prio-pfc %d:on\", unless the network is to do "
                                       "without it",
                                       netdev, dcb->priority[dscp]));
}

static void examine_port_priority(json_object *port, const char *where, Findings *findings) {
        json_object *tos = json_get_object(port, "tos");
        json_object *value = json_get(tos, "wanted") ?: json_get(tos, "found");
        const char *netdev = json_get_text(port, "netdev");
        unsigned dscp = value ? (unsigned) json_object_get_int64(value) >> 2 & DSCP_MAX : 0;
        Dcb dcb;
        int r;

        if (json_get_state(port, ATTRIBUTE_MODE) == STATE_NOT_ROCE || dscp == 0 || !netdev)
                return;
        r = dcb_acquire(netdev, &dcb);
        if (r < 0)
                findings_add_unseen(findings,
                                    need_text("the priorities of %s: %s", netdev,
                                              r == -EOPNOTSUPP ? "its driver, or the kernel, has no DCB"
                                                               : strerror(-r)));
        else
                examine_dcb(netdev, dscp, where, &dcb, findings);
}

void examine_priorities(json_object *document, Findings *findings) {
        json_object *devices, *ports;
        size_t n_devices = json_get_list(document, "devices", &devices);

        for (size_t i = 0; i < n_devices; i++) {
                json_object *device = json_object_array_get_idx(devices, i);
                size_t n_ports = json_get_list(device, "ports", &ports);

                for (size_t k = 0; k < n_ports; k++) {
                        json_object *port = json_object_array_get_idx(ports, k);
                        _cleanup_free_ char *where =
                                        need_text("%s/%lld", json_get_text(device, "name"),
                                                  (long long) json_object_get_int64(json_get(port, "port")));

                        examine_port_priority(port, where, findings);
                }
        }
}
