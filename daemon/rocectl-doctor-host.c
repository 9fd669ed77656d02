/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Examines the kernel's interface, the daemon, and the ports as "status" tells of them. */

#include <sys/utsname.h>
#include <systemd/sd-daemon.h>

#include "configfs.h"
#include "rocectl-doctor.h"
#include "rocectl-document.h"
#include "rocectl-show.h"
#include "rocectl-sysfs.h"

#define CONFIG_SYMBOL "CONFIG_INFINIBAND_ADDR_TRANS_CONFIGFS"

/* What the kernel's own configuration says of the option; NULL: nobody knows. */
static const char *kernel_option(const char *release) {
        _cleanup_free_ char *path = need_text("/boot/config-%s", release), *line = NULL;
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        size_t size = 0;

        while (f && getline(&line, &size, f) >= 0) {
                if (startswith(line, CONFIG_SYMBOL "=y"))
                        return "is set";
                if (startswith(line, "# " CONFIG_SYMBOL " is not set"))
                        return "is not set";
        }
        return NULL;
}

static void examine_missing_rdma_cm(Findings *findings) {
        bool loaded = access("/sys/module/rdma_cm", F_OK) == 0;
        struct utsname kernel;
        const char *option;

        (void) uname(&kernel);
        option = kernel_option(kernel.release);
        if (loaded || streq_ptr(option, "is not set")) {
                findings_add(findings, "rdma-cm-without-configfs", NULL,
                             need_text("%s there is no " RDMA_CM_PATH "%s%s",
                                       loaded ? "rdma_cm is loaded, and" : "rdma_cm is not loaded,",
                                       option ? "; " CONFIG_SYMBOL " of the running kernel " : "",
                                       option ? option : ""),
                             need_text("boot a kernel built with " CONFIG_SYMBOL
                                       ", since 4.5 there is one; without it "
                                       "nothing sets these defaults"));
                return;
        }
        findings_add(findings, "rdma-cm-not-loaded", NULL,
                     need_text("there is neither " RDMA_CM_PATH " nor /sys/module/rdma_cm"),
                     need_text("\"modprobe rdma_cm\" loads it; rdma-core does with the first RDMA device"));
}

void examine_kernel(Findings *findings) {
        _cleanup_close_ int fd = rdma_cm_open();

        if (fd == -ENOTCONN)
                findings_add(findings, "configfs-not-mounted", NULL,
                             need_text(CONFIGFS_PATH " is not a mount of configfs"),
                             need_text("\"mount -t configfs configfs " CONFIGFS_PATH "\" mounts it; in a "
                                       "container the host must hand it in"));
        else if (fd == -ENOENT)
                examine_missing_rdma_cm(findings);
        else if (fd < 0)
                findings_add_unseen(findings, need_text(RDMA_CM_PATH ": %s", strerror(-fd)));
}

/* Who may not read it knows nothing of it. */
static bool policy_is_secret(const Host *host) {
        return geteuid() != 0 && (host->judge.error == -EACCES || host->judge.error == -EPERM);
}

void examine_policy(const Host *host, json_object *document, Findings *findings) {
        json_object *policy = json_get_object(document, "policy");
        const char *error = json_get_text(policy, "error");

        if (error && policy_is_secret(host))
                findings_add_unseen(findings, need_text("the policy: %s", error));
        else if (error)
                findings_add(findings, "policy-invalid", NULL, need_text("%s", error),
                             need_text("\"rocectl check\" shows every error; mend the file%s%s",
                                       host->running > 0 ? ", then " : "", host->running > 0 ? advice_reload() : ""));
        else if (!policy)
                findings_add(findings, "no-policy", NULL,
                             need_text("there is no policy, so nothing is managed"),
                             need_text("\"rocectl generate > /etc/roced/policy.yaml\" is one to begin "
                                       "with"));
        else if (json_object_get_boolean(json_get(policy, "stale")))
                findings_add(findings, "policy-stale", NULL,
                             need_text("the policy on disk is not the one that roced has loaded"),
                             need_text("\"rocectl plan\" shows what it would change, %s", advice_reload()));
}

void examine_daemon(json_object *document, Findings *findings) {
        json_object *daemon = json_get_object(document, "daemon"), *blocked = json_get_object(daemon, "blocked");

        if (!json_get(daemon, "running"))
                findings_add_unseen(findings, need_text("whether roced runs"));
        else if (!json_object_get_boolean(json_get(daemon, "running")))
                findings_add(findings, "daemon-down", NULL,
                             need_text("roced does not run, so nothing keeps the policy in force"),
                             need_text("%s", sd_booted() > 0 ? "\"systemctl enable --now roced\"; \"systemctl status "
                                                               "roced\" tells why it ended"
                                                             : advice_start()));
        if (blocked)
                findings_add(findings, "kernel-blocked", NULL,
                             need_text("the kernel has not answered roced since %s: %s",
                                       json_get_text(blocked, "since"), json_get_text(blocked, "where")),
                             need_text("a driver hangs, see \"dmesg\"; roced goes on as soon as the kernel "
                                       "answers"));
}

void examine_warnings(json_object *document, Findings *findings) {
        json_object *warnings;
        size_t n = json_get_list(document, "warnings", &warnings);

        for (size_t i = 0; i < n; i++)
                findings_add(findings, "warning", NULL,
                             need_text("%s", json_object_get_string(json_object_array_get_idx(warnings, i))),
                             need_text("\"rocectl check\" shows those of the policy with their place"));
}

static bool supports(json_object *supported, const char *version) {
        for (size_t i = 0; i < json_object_array_length(supported); i++)
                if (streq_ptr(json_object_get_string(json_object_array_get_idx(supported, i)), version))
                        return true;
        return false;
}

/* The version that counts: the one wanted, or else the one there is. */
static void examine_gids(json_object *port, const char *where, Findings *findings) {
        json_object *mode = json_get_object(port, "mode"), *supported;
        const char *wanted = json_get_text(mode, "wanted"),
                   *version = wanted ? wanted : json_get_text(mode, "found");
        const char *netdev = json_get_text(port, "netdev");

        if (json_get_list(port, "supported", &supported) == 0) {
                findings_add(findings, "no-gid", where,
                             netdev ? need_text("the port has no GID, its network device is %s, its state "
                                                "%s",
                                                netdev, json_get_text(port, "state") ?: "not known")
                                    : need_text("the port has no GID and no network device that is seen"),
                             need_text("%s", netdev ? "bring the network device up (\"ip link set DEVICE "
                                                      "up\") and give it an address"
                                                    : "a network device that was moved to another network "
                                                      "namespace must come back"));
                return;
        }
        if (version && !supports(supported, version))
                findings_add(findings, "no-gid-of-version", where,
                             need_text("the port has no RoCE %s GID, and %s is %s", version, version,
                                       wanted ? "what the policy wants" : "its mode"),
                             need_text("\"rocectl status DEVICE\" shows its GIDs; a port that cannot do %s "
                                       "needs a rule of its own with "
                                       "another mode",
                                       version));
}

/* The vendor's file, where its driver has one: "Global tclass=106", then lines for single addresses. */
static void examine_traffic_class(json_object *port, const char *device, unsigned number, const char *where,
                                  Findings *findings) {
        _cleanup_free_ char *line = sysfs_line(device, "tc/%u/traffic_class", number);
        json_object *tos = json_get_object(port, "tos");
        json_object *value = json_get(tos, "wanted") ?: json_get(tos, "found");
        const char *digits = line ? strrchr(line, '=') : NULL;
        long set;

        if (!digits || !value)
                return;
        set = strtol(digits + 1, NULL, 0);
        if (set >= 0 && set != json_object_get_int64(value))
                findings_add(findings, "traffic-class-differs", where,
                             need_text("/sys/class/infiniband/%s/tc/%u/traffic_class says %ld, which "
                                       "overrides the TOS of %lld for every "
                                       "program",
                                       device, number, set, (long long) json_object_get_int64(value)),
                             need_text("take it out of the script that sets it, and write -1 to it or "
                                       "restart the driver"));
}

static void examine_verdicts(json_object *port, const char *where, Findings *findings) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                json_object *verdict = json_get_object(port, attribute_name(a));
                State state = json_get_state(port, a);
                const char *reason = json_get_text(verdict, "reason");

                if (state == STATE_UNKNOWN)
                        findings_add_unseen(findings, need_text("%s of %s: %s", attribute_name(a), where,
                                                                reason ?: "no reason known"));
                else if (state_is_compliant(state) == 0)
                        findings_add(findings, "not-compliant", where,
                                     need_text("%s is %s: %s", attribute_name(a), state_to_string(state),
                                               reason ?: "no reason known"),
                                     need_text("\"rocectl explain DEVICE/PORT\" tells how it came to it"));
        }
}

static bool guid_is_zero(const char *guid) {
        return guid && strspn(guid, "0:") == strlen(guid);
}

void examine_devices(json_object *document, Findings *findings) {
        json_object *devices;

        if (json_get_list(document, "devices", &devices) == 0)
                findings_add(findings, "no-device", NULL,
                             need_text("there is no RDMA device below /sys/class/infiniband"),
                             need_text("load the driver (\"lspci -k\" names it), or see whether its RoCE is "
                                       "switched off (\"devlink dev param show\")"));
}

void examine_ports(json_object *document, Findings *findings) {
        json_object *devices, *ports;
        size_t n_devices = json_get_list(document, "devices", &devices);

        for (size_t i = 0; i < n_devices; i++) {
                json_object *device = json_object_array_get_idx(devices, i);
                const char *name = json_get_text(device, "name");
                size_t n_ports = json_get_list(device, "ports", &ports);

                if (guid_is_zero(json_get_text(device, "node_guid")))
                        findings_add(findings, "zero-node-guid", name,
                                     need_text("its node GUID is zero, so programs cannot tell it from "
                                               "others"),
                                     need_text("of a virtual function set one (\"ip link set PF vf N "
                                               "node_guid GUID\") and bind its driver anew"));
                for (size_t k = 0; k < n_ports; k++) {
                        json_object *port = json_object_array_get_idx(ports, k);
                        unsigned number = (unsigned) json_object_get_int64(json_get(port, "port"));
                        _cleanup_free_ char *where = need_text("%s/%u", name, number);

                        if (json_get_state(port, ATTRIBUTE_MODE) == STATE_NOT_ROCE)
                                continue;
                        examine_gids(port, where, findings);
                        examine_traffic_class(port, name, number, where, findings);
                        examine_verdicts(port, where, findings);
                }
        }
}
