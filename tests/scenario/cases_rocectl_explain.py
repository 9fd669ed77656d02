# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl explain: why a port is as it is."""

import re

from tool import keep_journal
from world import POLICY, check, equal, matches, scenario

RULES = """version: 1
rules:
  - name: storage rail
    match: {device: [mlx5_0, "rocep*"]}
    mode: v2
  - match: {driver: mlx4_core, device: mock0}
    mode: v1
  - name: not here
    match: {pci: "!0000:3b:*"}
    mode: v1
  - match: {property: {ID_PATH: "pci-*", ID_MODEL: "x"}}
    mode: v1
  - name: second port
    match: {port: [2, 3]}
    tos: 4
    enforcement: report
  - name: the rest
    match: any
    mode: v2
    dscp: 26
  - match: any
    tos: 1
"""


def steady(text):
    return re.sub(r"\d{4}-\d\d-\d\dT\S+Z", "THEN", re.sub(r"roced\[\d+\]", "roced[7]", text)).splitlines()


@scenario(rings="fuse")
def explain_golden(w):
    w.add("mock0", ["v1v2", "v1v2", "ib"], pci=w.pci[0], properties={"ID_PATH": "pci-0"})
    w.policy(RULES)
    w.start()
    w.await_port("mock0", 2, tos="drifted")
    keep_journal(w)
    lines = steady(w.check_exit(w.rocectl("explain", "mock0/1"), 0).stdout)
    equal(lines, [
        "mock0/1", "    Supports: RoCE v1, RoCE v2", "    Values that rules ask for:",
        "        device: mock0", "        port: 1", "        driver: mlx5_core", "        pci: 0000:3b:00.0",
        *[line for line in lines if line.startswith(("        pci_id: 15b3:", "        node_guid: "))],
        "        netdev: n0", "        function: pf",
        "    Rules, the first that matches wins:",
        "        storage rail (/etc/roced/policy.yaml:3): no: it takes device mlx5_0, rocep*, and this is mock0",
        "        /etc/roced/policy.yaml:6: no: it takes driver mlx4_core, and this is mlx5_core",
        "        not here (/etc/roced/policy.yaml:8): no: it takes pci !0000:3b:*, and this is 0000:3b:00.0",
        "        /etc/roced/policy.yaml:11: no: it takes property ID_MODEL x, and there is none here",
        "        second port (/etc/roced/policy.yaml:13): no: it takes port 2, 3, and this is 1",
        "        the rest (/etc/roced/policy.yaml:17): wins, sets mode v2 and tos 104",
        "        and 1 more that was not tried",
        "    Rule in force: the rest (/etc/roced/policy.yaml:17)",
        "    Mode: v2, ok since THEN", "        Why: the kernel holds what the policy wants",
        "        Last record: none in the journal",
        "    TOS: 104 (DSCP 26, ECN 0), ok since THEN", "        Why: the kernel holds what the policy wants",
        "        Last record: THEN notice roced[7]: mock0 port 1: tos changed from 0 to 104 "
        "(startup, /etc/roced/policy.yaml:17)",
        *[line for line in lines if line.startswith("Warning: /etc/roced/policy.yaml")],
    ], "explanation of a port that is as wanted")
    text = w.check_exit(w.rocectl("explain", "mock0"), 0).stdout
    equal(re.findall(r"(?m)^mock0/\d", text), ["mock0/1", "mock0/2", "mock0/3"], "ports")
    two, three = (part.split("\nmock0/")[0] for part in text.split("\nmock0/")[1:])
    for pattern in (r"second port \(.*:13\): wins, sets tos 4, and only reports", "and 2 more that were not tried",
                    "Mode: v2, unmanaged since", "Why: the rule does not set it, so it is left alone",
                    "wanted 4 .*drifted since .*: the rule only reports", "Last record: .*warning roced.* tos drifted, wanted 4"):
        matches(pattern, two, "port 2")
    check("Rules" not in three, "rules that were tried for an InfiniBand port")
    matches("Supports: no RoCE.*\n(.*\n)*.*Why: the port is not RoCE", three, "port 3")


@scenario()
def explain_json(w):
    w.add("mock0", ["v2", "v2"])
    w.policy("version: 1\nrules:\n  - {name: a, match: {device: other}, mode: v2}\n  - {name: b, match: any, mode: v1}\n")
    w.start()
    w.await_port("mock0", 1, mode="unsupported")
    keep_journal(w)
    document = w.json("explain", "mock0/2", codes=(0,))
    port, = document["devices"][0]["ports"]
    equal((document["schema"], port["port"], port["rules_not_tried"]), (1, 2, 0), "document")
    first, second = port["rules"]
    equal(first, {"name": "a", "source": f"{POLICY}:3", "enforcement": "enforce", "result": "no", "key": "device",
                  "property": None, "value": "mock0", "patterns": ["other"], "mode": "v2", "tos": None}, "first rule")
    equal((second["result"], second["key"], second["mode"]), ("wins", None, "v1"), "second rule")
    equal(port["values"]["port"], 2, "value")
    record = port["last_records"]["mode"]
    equal((record["device"], record["port"], record["state"], record["errno"], record["wanted"], record["priority"]),
          ("mock0", 2, "unsupported", 22, "v1", 4), "record")
    if w.name == "fuse":  # a VM's journal remembers the scenarios before
        equal(port["last_records"]["tos"], None, "record of what is left alone")


@scenario()
def explain_without_daemon(w):
    """By the policy on disk, for anyone, and without a directory of its own."""
    w.add("mock0")
    text = w.check_exit(w.rocectl("explain", "mock0"), 0).stdout
    matches("Why: there is no policy", text, "text")
    w.policy(RULES)
    text = w.check_exit(w.rocectl("explain", "mock0/1", user=65534), 0).stdout
    # A list of nothing but negated patterns takes what a device has not.
    matches(r"not here .*wins, sets mode v1\n        and 4 more that were not tried", text, "text")
    matches("Mode: not known, wanted v1, unknown: the device has no directory", text, "text")
    matches("Last record: none that this user may read", text, "text")
    matches("Daemon: not running", text, "text")
    equal(w.directories(), [], "directories")
    w.policy("version: 1\nrules: []\n")
    matches("that matches wins: there are none\n.*\n.*\n.*Why: no rule matches", w.rocectl("explain", "mock0").stdout, "text")


@scenario()
def explain_another_policy(w):
    w.add("mock0")
    w.policy("version: 1\nrules: [{name: old, match: any, tos: 8}]\n")
    w.start()
    w.await_port("mock0", tos="ok")
    w.policy("version: 1\nrules: [{name: new, match: {port: 7}, tos: 9}]\n")
    text = w.check_exit(w.rocectl("explain", "mock0"), 0).stdout
    matches(r"new .*: no: it takes port 7, and this is 1\n        none matches\n    Rule in force: old", text, "text")
    matches("Warning: the rules shown are those on disk", text, "text")
    w.policy("version: 1\nrules: [{match: any, tos: 12}]\n", "/etc/roced/other")
    text = w.check_exit(w.rocectl("explain", "mock0", "--policy", "/etc/roced/other"), 0).stdout
    matches(r"/etc/roced/other:2: wins, sets tos 12\n(.*\n)+    TOS: 8 .*wanted 12 .*drifted: a pass would write", text, "text")
    w.policy("version: 1\nrules: [{match: any, tso: 9}]\n")
    process = w.check_exit(w.rocectl("explain", "mock0"), 2)
    matches("did you mean 'tos'", process.stderr, "stderr")
    matches("Rule in force: old", process.stdout, "stdout")
    w.policy(None)
    for text in (process.stdout, w.check_exit(w.rocectl("explain", "mock0"), 0).stdout):
        matches("Rules: not known, the policy on disk is gone or cannot be read", text, "text")
        check("the rules shown" not in text, "a warning about rules that are not shown")


@scenario(rings="fuse")
def explain_by_other_files(w):
    """Standard input, and a file that only the daemon can find."""
    w.add("mock0")
    text = "version: 1\nrules: [{match: any, tos: 8}]\n"
    process = w.run(["rocectl", "explain", "mock0", "--policy", "-"], stdin=text)
    matches(r":2: wins, sets tos 8\n", w.check_exit(process, 0).stdout, "text")
    w.policy(text, "/run/cwd/here.yaml")
    w.start("--policy", "here.yaml")
    w.await_port("mock0", tos="ok")
    matches("Rules: not known.*\n    Rule in force: here.yaml:2\n", w.check_exit(w.rocectl("explain", "mock0"), 0).stdout, "text")
    matches("here.yaml:2: wins", w.check_exit(w.rocectl("explain", "mock0", "--policy", "here.yaml"), 0).stdout, "text")


@scenario(rings="fuse")
def explain_what_is_not_settled(w):
    w.add("mock0", announce=False)
    w.policy("version: 1\nrules:\n- {match: {driver: x, device: mock0}, tos: 1}\n- {match: {device: mock0}, tos: 8}\n")
    w.start(wait_ready=False)
    w.wait_until(lambda: w.port("mock0")["tos"]["since"], "roced has judged it")
    text = w.check_exit(w.rocectl("explain", "mock0"), 0).stdout
    matches("yaml:3: no: it takes driver x, and there is none here", text, "first rule")
    matches("yaml:4: the search stops here: it asks for device, and udev has not finished", text, "second rule")
    matches("TOS: .*pending since .*: udev has not finished with the device", text, "state")
    rule = w.json("explain", "mock0")["devices"][0]["ports"][0]["rules"][1]
    equal((rule["result"], rule["key"], rule["value"]), ("not-settled", "device", "mock0"), "rule")


@scenario(rings="fuse")
def explain_trusts_root_only(w):
    """A record that another user has sent is no word of the daemon's."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.start()
    later = {"__REALTIME_TIMESTAMP": "4000000000000000", "MESSAGE": "forged", "ROCED_DEVICE": "mock0", "ROCED_PORT": "1",
             "ROCED_ATTRIBUTE": "tos", "SYSLOG_IDENTIFIER": "roced", "PRIORITY": "5"}
    keep_journal(w, {**later, "_UID": "1000"})
    matches("tos changed from 0 to 8", w.rocectl("explain", "mock0").stdout, "text")
    keep_journal(w, {**later, "MESSAGE": "true"})
    matches("Last record: .*: true\n", w.rocectl("explain", "mock0").stdout, "text")


@scenario()
def explain_usage(w):
    w.add("mock0")
    for args, code, pattern in (([], 2, "takes one DEVICE"), (["mock0", "mock0"], 2, "takes one DEVICE"),
                                (["mock0/0"], 2, "'0' is no port"), (["mock0/x"], 2, "'x' is no port"),
                                (["mock0/"], 2, "'' is no port"), (["mock0/1/2"], 2, "'1/2' is no port"),
                                (["mock0/99999999999"], 2, "no port"), (["mock0/2"], 1, "mock0 has no port 2; it has 1 port"),
                                (["mokc0/1"], 1, "did you mean 'mock0'"), (["\x1b[1m"], 1, r"'\\x1b\[1m'"),
                                (["mock0", "--policy", "/nosuch"], 1, "/nosuch")):
        process = w.check_exit(w.rocectl("explain", *args), code)
        matches(pattern, process.stderr, f"stderr of {args}")
        equal(process.stdout, "", f"stdout of {args}")
    equal(w.check_exit(w.rocectl("explain", "mock0", "-q"), 0).stdout, "", "stdout of -q")
