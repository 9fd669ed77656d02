# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl status, plan and apply: what they show, what they do, how they exit."""

import json
import os
import re

from world import POLICY, check, equal, matches, scenario

V1_104 = "version: 1\nrules:\n  - name: all\n    match: any\n    mode: v1\n    tos: 104\n"


@scenario()
def status_json(w):
    w.add("mock0", ["v1v2", "ib"], guid="248a0703004bf0a4")
    w.policy(V1_104)
    w.start()
    status = w.status()
    equal(sorted(status), sorted(["schema", "version", "host", "time", "boot_id", "kernel", "compliant", "policy", "daemon",
                                  "devices", "warnings"]), "keys")
    equal((status["schema"], status["compliant"]), (1, True), "schema and compliant")
    equal(status["policy"], {"sha256": w.policy_sha256(), "files": [POLICY], "stale": False, "error": None}, "policy")
    equal(status["daemon"]["running"], True, "running")
    for key in ("since", "last_pass"):
        matches(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", status["daemon"][key], key)
    device, = status["devices"]
    equal((device["name"], device["node_guid"]), ("mock0", "248a:0703:004b:f0a4"), "device")
    equal(sorted(device), sorted(["name", "driver", "pci", "node_guid", "function", "ports"]), "keys of a device")
    first, second = device["ports"]
    equal(sorted(first), sorted(["port", "link_layer", "state", "physical_state", "rate", "netdev", "supported", "mode",
                                 "tos", "rule"]), "keys of a port")
    equal((first["port"], first["link_layer"]), (1, "Ethernet"), "port 1")
    equal(sorted(first["mode"]), sorted(["wanted", "found", "state", "reason", "errno", "since"]), "keys of a mode")
    equal((first["mode"]["wanted"], first["mode"]["found"], first["mode"]["state"]), ("v1", "v1", "ok"), "mode")
    equal((first["tos"]["wanted"], first["tos"]["found"], first["tos"]["state"]), (104, 104, "ok"), "tos")
    equal(first["rule"], {"name": "all", "source": POLICY + ":3", "enforcement": "enforce"}, "rule")
    equal((second["link_layer"], second["mode"]["state"], second["rule"]), ("InfiniBand", "not-roce", None), "port 2")


@scenario()
def status_for_anyone(w):
    """Any user, no side effects: no directory is made to look."""
    w.add("mock0")
    w.policy("version: 1\nrules: []\n")
    for running in (False, True):
        if running:
            w.start()
        status = json.loads(w.rocectl("status", "--json", user=65534).stdout)
        equal(status["daemon"]["running"], running, "running")
        equal(w.port("mock0", status=status)["mode"]["found"], None, "mode that nobody looked at")
        equal(w.directories(), [], "directories")
    w.rocectl("status")
    equal(w.directories(), [], "directories")


@scenario()
def status_without_daemon(w):
    """What it cannot see is not known; what it can see it judges itself."""
    w.add("mock0")
    w.add("mock1")
    w.foreign_mkdir("mock1")
    w.policy(V1_104)
    status = w.status()
    equal((w.port("mock0", status=status)["mode"]["state"], status["compliant"]), ("unknown", False), "mock0")
    equal(w.port("mock1", status=status)["mode"]["found"], "v2", "mode found on mock1")
    equal(w.directories(), ["mock1"], "directories")


@scenario()
def status_table(w):
    w.add("mock0")
    w.add("mock1", ["ib"])
    w.policy(V1_104)
    w.start()
    text = w.check_exit(w.rocectl("status"), 0).stdout
    for word in ("mock0", "mock1", "v1", "104", "ok", "not-roce"):
        matches(re.escape(word), text, "table")
    check("\x1b" not in text, "colour without a terminal")
    only = w.check_exit(w.rocectl("status", "mock0"), 0).stdout
    check("mock1" not in only, "a device that was not asked for")
    missing = w.check_exit(w.rocectl("status", "nosuch0"), 1)
    matches("nosuch0", missing.stderr, "error")
    bare = w.check_exit(w.rocectl("status", "--no-legend"), 0).stdout
    check("DEVICE" not in bare, "a header in spite of --no-legend")


@scenario()
def plan_changes_nothing(w):
    w.add("mock0")
    w.add("mock1", ["v2"])
    w.add("mock2", ["ib"])
    w.policy(V1_104)
    process = w.check_exit(w.rocectl("plan"), 3)
    for pattern in ("mock0.*v2.*v1", "mock0.*0.*104"):
        matches(pattern, process.stdout, "plan")
    matches("all|policy.yaml:3", process.stdout, "rule in the plan")
    equal([(w.kernel_value(n, 1, "mode"), w.kernel_value(n, 1, "tos")) for n in ("mock0", "mock1")], [("v2", 0)] * 2,
          "values after plan")
    equal(w.directories(), [], "directories after plan")
    plan = json.loads(w.rocectl("plan", "--json").stdout)
    equal(plan["schema"], 1, "schema")
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 0}]\n", "/etc/roced/other.yaml")
    w.check_exit(w.rocectl("plan", "--policy", "/etc/roced/other.yaml"), 0)
    w.policy("version: 1\nrules: [{match: any, mode: v4}]\n", "/etc/roced/other.yaml")
    w.check_exit(w.rocectl("plan", "--policy", "/etc/roced/other.yaml"), 2)


@scenario()
def plan_beside_the_daemon(w):
    """A policy tried out: nothing of the daemon's is touched."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.check_exit(w.rocectl("plan"), 0)
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n", "/etc/roced/other.yaml")
    process = w.check_exit(w.rocectl("plan", "--policy", "/etc/roced/other.yaml"), 3)
    matches("mock0.*104.*8", process.stdout, "plan")
    equal(w.directories(), ["mock0"], "directories")
    w.await_port("mock0", 1, "ok", "ok")
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")


@scenario()
def apply_without_daemon(w):
    w.add("mock0")
    w.add("mock1")
    w.foreign_mkdir("mock1")
    w.policy(V1_104)
    w.check_exit(w.rocectl("apply"), 0)
    for name in ("mock0", "mock1"):
        equal((w.kernel_value(name, 1, "mode"), w.kernel_value(name, 1, "tos")), ("v1", 104), f"values of {name}")
    equal(w.directories(), ["mock1"], "directories after apply")
    equal(len(w.changes()), 4, "changes told")
    for r in w.changes():
        equal((r["ROCED_TRIGGER"], r.get("OBJECT_SYSTEMD_UNIT")), ("apply", "roced.service"), f"fields of {r['MESSAGE']!r}")
    n = len(w.records())
    w.check_exit(w.rocectl("apply"), 0)
    equal(len(w.changes()), 4, f"changes told after a second apply, of {n} records")


@scenario()
def apply_exits(w):
    w.add("mock0", ["v2"])
    w.policy(V1_104)
    w.check_exit(w.rocectl("apply"), 3)
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS of the port that cannot do v1")
    w.policy("version: 2\n")
    w.check_exit(w.rocectl("apply"), 2)
    w.policy(None)
    w.check_exit(w.rocectl("apply"), 0)
    w.check_exit(w.rocectl("apply", "--nonsense"), 2)
    w.check_exit(w.rocectl("nonsense"), 2)
    w.check_exit(w.rocectl("--version"), 0)
    w.check_exit(w.rocectl("--help"), 0)


@scenario(rows=[30])
def apply_not_as_root(w):
    w.add("mock0")
    w.policy(V1_104)
    process = w.check_exit(w.rocectl("apply", user=65534), 1)
    equal(len(process.stderr.strip().splitlines()), 1, f"lines on stderr, which are {process.stderr!r}")
    equal(w.directories(), [], "directories")
    equal(w.kernel_value("mock0", 1, "mode"), "v2", "mode")


@scenario(rows=[30], rings="fuse")
def daemon_not_as_root(w):
    w.add("mock0")
    w.policy(V1_104)
    process = w.run(["roced"], user=65534)
    check(process.returncode == 1, f"exit {process.returncode}")
    told = [line for line in process.stderr.splitlines() if line] + [r["MESSAGE"] for r in w.worst(3)]
    check(told, "nothing said")
    equal(w.accesses(), [], "accesses")


@scenario(rings="fuse")
def daemon_options(w):
    """What it is asked about itself it says, and what it does not know it refuses, before anything is touched."""
    version = w.check_exit(w.run(["roced", "--version"]), 0).stdout
    matches(r"^roced \d+\.\d+", version, "version")
    equal(version.split()[1], w.rocectl("--version").stdout.split()[1], "version of roced, and of rocectl")
    for option in ("-h", "--help"):
        matches(r"(?s)^Usage: roced.*--policy FILE.*--version.*roced\(8\)", w.check_exit(w.run(["roced", option]), 0).stdout, option)
    matches("unrecognized option '--polcy'", w.check_exit(w.run(["roced", "--polcy", "x"]), 2).stderr, "a misspelt option")
    matches("requires an argument", w.check_exit(w.run(["roced", "--policy"]), 2).stderr, "an option without its file")
    matches("unexpected argument 'x'; try --help", w.check_exit(w.run(["roced", "x"]), 2).stderr, "an argument")
    check(not os.path.exists("/run/roced/state.json"), "a state file is there")
