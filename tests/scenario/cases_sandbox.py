# SPDX-License-Identifier: LGPL-2.1-or-later

"""Each line of the sandbox in roced.service: what becomes possible without it."""

import os
import shutil

from world import check, equal, scenario, shell

PROBE = "/run/sandbox-probe"
RESULTS = "/run/probe"
UNITS = "/run/systemd/system"

# What is not refused with all lines in place: what the daemon needs, and what kills instead.
WHOLE = {"write_configfs": "possible", "see_processes": "possible", "call_as_another_architecture": "killed"}

# What gives a process its capabilities, and what lets it make system calls.
CAPABLE = ["CapabilityBoundingSet=", "PrivateUsers=yes"]
FILTERED = ["SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources"]

SYSFS = "ReadOnlyPaths=" + " ".join(f"-/sys/{part}" for part in (
    "block", "bus", "class", "dev", "devices", "firmware", "fs", "hypervisor", "kernel", "module", "power"))

# Line: what is different without it.
MATTERS = {
    "CapabilityBoundingSet=": {"pass_by_modes": "possible"},
    "NoNewPrivileges=yes": {"gain_privileges": "possible"},
    "PrivateUsers=yes": {"see_users": "possible"},
    "ProtectSystem=strict": {"write_usr": "possible"},
    SYSFS: {"write_sys": "possible"},
    "ReadWritePaths=-/sys/kernel/config": {"write_configfs": "refused"},
    "ProtectHome=yes": {"look_into_homes": "possible"},
    "PrivateDevices=yes": {"see_devices": "possible"},
    "PrivateIPC=yes": {"share_ipc": "possible"},
    "ProcSubset=pid": {"see_the_rest_of_proc": "possible"},
    "ProtectHostname=yes": {"share_hostname": "possible"},
    "ProtectKernelModules=yes": {"see_modules": "possible"},
    "RestrictAddressFamilies=AF_NETLINK AF_UNIX": {"reach_networks": "possible"},
    "LockPersonality=yes": {"change_personality": "possible"},
    "MemoryDenyWriteExecute=yes": {"write_code": "possible"},
    "RestrictNamespaces=yes": {"make_namespaces": "possible"},
    "RestrictSUIDSGID=yes": {"leave_a_setuid_file": "possible"},
    "SystemCallArchitectures=native": {"call_as_another_architecture": "possible"},
    "SystemCallFilter=@system-service": {"debug": "possible"},
    "SystemCallFilter=~@privileged @resources": {"take_resources": "possible"},
    "SystemCallErrorNumber=EPERM": {"set_clock": "killed"},
    "UMask=0077": {"let_others_read": "possible"},
}

# Lines that say what others say too, so that those have to go as well before something is possible. They stay, as the others
# may change, and systemd-analyze asks for each. Line: the others, and what is possible without all of them.
TWICE = {
    "ProtectControlGroups=yes": ([SYSFS], "write_cgroups"),
    "IPAddressDeny=any": (["RestrictAddressFamilies=AF_NETLINK AF_UNIX"], "send_packets"),
    "ProtectClock=yes": ([*CAPABLE, *FILTERED], "set_clock"),
    "ProtectKernelLogs=yes": ([*CAPABLE, *FILTERED, "PrivateDevices=yes"], "see_kernel_log"),
    "RestrictRealtime=yes": ([*CAPABLE, *FILTERED], "be_realtime"),
}

# Lines without an attempt of their own, and why.
UNSEEN = {
    "ProtectProc=invisible": "the kernel exempts the group root, see gid= in proc(5); systemd-analyze counts it all the same",
    "PrivateMounts=yes": "ProtectSystem= and its like imply it; systemd-analyze counts it all the same",
}

# No part of the sandbox.
OTHERS = ("Type", "Exec", "Restart", "Timeout", "Watchdog", "RuntimeDirectory", "LogRateLimit", "NotifyAccess")


def service_lines():
    """Of the unit as it is installed."""
    path = next(p for p in ("/usr/lib/systemd/system/roced.service", "/lib/systemd/system/roced.service") if os.path.exists(p))
    with open(path) as f:
        section = f.read().split("[Service]\n")[1].split("\n[Install]")[0]
    return [line for line in section.splitlines() if line and not line.startswith(("#", *OTHERS))]


class Probe:
    """Copies of the service, each without some of its lines, which run the probe in place of the daemon."""

    def __init__(self, lines):
        self.lines = lines
        self.units = {}
        shutil.rmtree(RESULTS, ignore_errors=True)
        os.makedirs(RESULTS)
        for name, owner, mode in (("of-a-user", 1, 0o600), ("locked", 0, 0)):
            open(f"{RESULTS}/{name}", "w").close()
            os.chown(f"{RESULTS}/{name}", owner, owner)
            os.chmod(f"{RESULTS}/{name}", mode)
        shell("gcc", "-D_GNU_SOURCE", "-o", PROBE, "/payload/guest/sandbox-probe.c")
        self.arguments = " ".join(os.readlink(f"/proc/self/ns/{n}") for n in ("ipc", "uts"))

    def add(self, *without):
        name = self.units.setdefault(without, f"probe-{len(self.units)}")
        with open(f"{UNITS}/{name}.service", "w") as f:
            f.write("\n".join(["[Unit]", "DefaultDependencies=no", "[Service]", "Type=oneshot", "RuntimeDirectory=roced",
                               "RuntimeDirectoryPreserve=yes", f"ExecStart={PROBE} {self.arguments}",
                               f"StandardOutput=file:{RESULTS}/{name}",
                               *(line for line in self.lines if line not in without)]) + "\n")

    def run(self):
        shell("systemctl", "daemon-reload")
        shell("systemctl", "start", *(f"{name}.service" for name in self.units.values()))

    def results(self, *without):
        with open(f"{RESULTS}/{self.units[without]}") as f:
            return dict(line.split() for line in f)

    def clean_up(self):
        for name in self.units.values():
            os.unlink(f"{UNITS}/{name}.service")
        shell("systemctl", "daemon-reload")


@scenario(rings="vm", timeout=60)
def each_line_of_the_sandbox_matters(w):
    """Without it something is possible that is not with it; and a line that nobody has thought of is seen, too."""
    lines = service_lines()
    equal(sorted(lines), sorted([*MATTERS, *TWICE, *UNSEEN]), "lines of the sandbox")
    probe = Probe(lines)
    probe.add()
    for line in MATTERS:
        probe.add(line)
    for line, (others, _) in TWICE.items():
        probe.add(*others)
        probe.add(line, *others)
    try:
        probe.run()
        whole = probe.results()
        wrong = []
        found = {a: r for a, r in whole.items() if r != "refused"}
        if found != WHOLE:
            wrong.append(f"in the whole sandbox this is not refused: {found}, expected {WHOLE}")
        for line, different in MATTERS.items():
            found = {a: r for a, r in probe.results(line).items() if whole[a] != r}
            if {a: found.get(a) for a in different} != different:
                wrong.append(f"without {line} this is different: {found}, expected {different}")
        for line, (others, attempt) in TWICE.items():
            found = probe.results(*others)[attempt], probe.results(line, *others)[attempt]
            if found != ("refused", "possible"):
                wrong.append(f"without {others} {attempt} is {found[0]}, and {found[1]} without {line} too")
        check(not wrong, "\n    ".join(wrong))
    finally:
        probe.clean_up()
