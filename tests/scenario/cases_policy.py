# SPDX-License-Identifier: LGPL-2.1-or-later

"""The policy's words as they reach the kernel, and how the tool answers to wrong ones. The corpus has the rest."""

import os
import re
import time

from world import check, equal, matches, scenario


@scenario(rows=[12, 13, 14])
def tos_in_all_spellings(w):
    """What reaches the kernel is plain decimal, ECN bits and all."""
    spellings = {"tos: 104": 104, "dscp: 26": 104, "tos: 0x1a": 26, "tos: 106": 106, "tos: 162": 162, "tos: 186": 186,
                 "dscp: af31": 104, "dscp: ef": 184, "dscp: 26, ecn: 2": 106, "dscp: cs0": 0, "dscp: va": 176,
                 "tos: 255": 255, "tos: 0xFF": 255, "dscp: 63, ecn: 3": 255}
    rules = []
    for i, spelling in enumerate(spellings):
        w.add(f"mock{i}", netdev=[])
        rules.append(f"  - match: {{device: mock{i}}}\n    " + spelling.replace(", ", "\n    ") + "\n")
    w.policy("version: 1\nrules:\n" + "".join(rules))
    w.start()
    for i, (spelling, value) in enumerate(spellings.items()):
        equal(w.kernel_value(f"mock{i}", 1, "tos"), value, spelling)
    if w.name == "fuse":
        equal(sorted(a["text"].removesuffix("\\x0a") for a in w.writes()), sorted(str(v) for v in spellings.values() if v),
              "what was written")


@scenario(rows=[16])
def first_match_wins(w):
    for name in ("sto0", "sto1", "hpc0", "other0"):
        w.add(name, ["v1v2", "v1v2"])
    w.policy("""
version: 1
rules:
  - name: second port of storage
    match: {device: "sto*", port: 2}
    tos: 8
  - name: storage
    match: {device: [sto0, sto1]}
    mode: v1
    tos: 104
  - name: compute
    match: {device: "hpc*"}
    tos: 184
  - name: rest
    match: any
    tos: 40
""")
    w.start()
    for name, port, rule, mode, tos in (
            ("sto0", 1, "storage", "v1", 104), ("sto0", 2, "second port of storage", "v2", 8), ("sto1", 1, "storage", "v1", 104),
            ("hpc0", 1, "compute", "v2", 184), ("hpc0", 2, "compute", "v2", 184), ("other0", 1, "rest", "v2", 40)):
        equal((w.kernel_value(name, port, "mode"), w.kernel_value(name, port, "tos")), (mode, tos), f"values of {name}/{port}")
        equal(w.port(name, port)["rule"]["name"], rule, f"rule of {name}/{port}")


@scenario(rows=[46])
def unset_is_left_alone(w):
    """mode: v2 only; the TOS was 106 before and stays so, without a write."""
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.foreign_write("mock0", 1, "tos", "106")
    w.foreign_write("mock0", 1, "mode", "IB/RoCE v1")
    w.foreign_rmdir("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v2}]\n")
    w.start()
    w.await_port("mock0", 1, "ok", "unmanaged")
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v2", 106), "values")
    if w.name == "fuse":
        equal(w.writes(attribute="tos"), [], "writes of the TOS")


@scenario()
def report_writes_nothing(w):
    w.add("mock0")
    w.add("mock1")
    w.policy("""
version: 1
enforcement: report
rules:
  - match: {device: mock0}
    mode: v1
    tos: 104
  - match: any
    mode: v1
    enforcement: enforce
""")
    w.start()
    port = w.await_port("mock0", 1, "drifted", "drifted")
    equal((port["mode"]["wanted"], port["mode"]["found"], port["rule"]["enforcement"]), ("v1", "v2", "report"), "mode")
    w.await_port("mock1", mode="ok")
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v2", 0), "values")
    records = w.records(ROCED_DEVICE="mock0")
    equal(sorted((r["ROCED_ATTRIBUTE"], r["ROCED_STATE"], r["PRIORITY"]) for r in records),
          [("mode", "drifted", "4"), ("tos", "drifted", "4")], "told")
    w.check_exit(w.rocectl("status"), 3)


@scenario(rings="fuse")
def match_keys(w):
    """Every key, by devices that differ in just that, with lists and negation."""
    w.add("a0", pci=w.pci[0], driver="mlx5_core", guid="248a0703004bf0a4", netdev=["ens1"])
    w.add("b0", pci=w.pci[1], driver="mlx4_core", netdev=["ens2"])
    w.add("c0", ["v2"], netdev=["veth9"], properties={"ID_PATH": "rack-7"})
    w.add("d0", pci="0000:5e:00.1", function="vf")
    w.add("e0", pci="0000:5e:00.0", function="sf")
    matches_of = {
        "device: [a0, 'b*']": "a0 b0",
        "device: '!a0'": "b0 c0 d0 e0",
        "device: ['[ab]0', '!b0']": "a0",
        "driver: mlx5_core": "a0 d0",
        "driver: '!mlx5_core'": "b0 c0 e0",
        "driver: 'mlx5_core.sf'": "e0",
        "pci: '0000:3b:00.*'": "a0 b0",
        "pci: '!0000:3b:00.0'": "b0 c0 d0 e0",
        "pci_id: '15B3:1017'": "a0 b0 d0 e0",
        "node_guid: '248A:0703:004b:F0A4'": "a0",
        "netdev: 'ens*'": "a0 b0",
        "netdev: ['veth9', 'ens2']": "b0 c0",
        "function: pf": "a0 b0",
        "function: vf": "d0",
        "function: sf": "e0",
        "function: '!pf'": "c0 d0 e0",
        "driver: ['*', '!mlx5_core']": "b0 e0",
        "property: {ID_PATH: 'rack-*'}": "c0",
        "port: '!2'": "a0 b0 c0 d0 e0",
        "port: 2": "",
        "{device: '?0', driver: 'mlx4*'}": "b0",
    }
    value = 0
    w.policy("version: 1\nrules: []\n")
    w.start()
    for key, names in matches_of.items():
        value += 4
        match = key if key.startswith("{") else f"{{{key}}}"
        w.policy(f"version: 1\nrules: [{{match: {match}, tos: {value}}}]\n")
        w.reload()
        found = [d for d in ("a0", "b0", "c0", "d0", "e0") if w.kernel_value(d, 1, "tos") == value]
        equal(" ".join(found), names, f"devices matched by {key}")


@scenario(rows=[12, 14, 15, 23, 32, 33, 36, 53])
def check_refuses(w):
    """No daemon, no privileges: exit 2, the place, what is allowed."""
    errors = {
        "tos: 104, dscp: 26": "tos.*dscp|dscp.*tos",
        "dscp: 64": "63",
        "dscp: 104": "63(.|\n)*tos",
        "tos: 256": "255",
        "tos: -1": ":3:",
        "tos: 010": ":3:",
        "tos: 18446744073709551720": "255",
        "ecn: 1": "dscp",
        "mode: on": "v1.*v2|v1(.|\n)*v2",
        "mode: null": "v1(.|\n)*v2",
        "mode: RoCE": "v1(.|\n)*v2",
        "mod: v2": "mode",
        "mode: v2, mode: v2": "twice|already|duplicate",
    }
    for setting, pattern in errors.items():
        process = w.rocectl("check", "-", stdin=f"version: 1\nrules:\n  - {{match: any, {setting}}}\n", user=65534)
        w.check_exit(process, 2)
        equal(process.stdout, "", f"stdout for {setting}")
        matches(":3:", process.stderr, f"place of {setting}")
        matches(pattern, process.stderr, f"error for {setting}")
        matches(r"\^", process.stderr, f"caret for {setting}")
    for name in ("..", "a/b", "../../x", '""', "x" * 64):
        w.check_exit(w.rocectl("check", "-", stdin=f"version: 1\nrules: [{{match: {{device: {name}}}}}]\n"), 2)
    for name in ("!mlx5_0", "*", "[a, mlx5_[01]]"):
        process = w.check_exit(w.rocectl("check", "-", stdin=f"version: 1\nrules: [{{match: {{device: {name}}}}}]\n"), 2)
        matches("quote it", process.stderr, f"error for {name}")
    for text in ("", "# nothing\n", "---\n", "- a\n", "version: 1\nrules: []\n---\nversion: 1\nrules: []\n"):
        w.check_exit(w.rocectl("check", "-", stdin=text), 2)


@scenario(rows=[34, 36])
def check_accepts(w):
    for text in ("version: 1\nrules: []\n", "version: 1\nrules: []", "version: 1\r\nrules: []\r\n",
                 "\ufeffversion: 1\nrules: []\n", '{"version": 1, "rules": []}', "---\nversion: 1\nrules: []\n...\n"):
        process = w.check_exit(w.rocectl("check", "-", stdin=text, user=65534), 0)
        equal(process.stderr, "", f"stderr for {text!r}")


@scenario(rows=[34, 35, 36])
def check_is_quick(w):
    """A FIFO, a flood, a bomb: an answer within a second, in little memory."""
    os.mkfifo("/etc/roced-fifo")
    with open("/etc/roced-big", "w") as f:
        f.write("version: 1\nrules: []\n" + "# filler\n" * 600000)
    with open("/etc/roced-deep", "w") as f:
        f.write("version: 1\nrules: " + "[" * 20000)
    with open("/etc/roced-bomb", "w") as f:
        f.write("a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n"
                                         for i in range(20)))
    try:
        for name in ("fifo", "big", "deep", "bomb"):
            begin = time.monotonic()
            process = w.rocectl("check", f"/etc/roced-{name}", timeout=5)
            took = time.monotonic() - begin
            w.check_exit(process, 2)
            check(took < 1 * w.factor, f"{name} takes {took:.1f} s")
            check(process.stderr, f"nothing said of {name}")
    finally:
        for name in ("fifo", "big", "deep", "bomb"):
            os.unlink(f"/etc/roced-{name}")


@scenario()
def check_lints(w):
    """Warnings do not change the exit; the installed policy is checked with its drop-ins."""
    w.policy("""
version: 1
rules:
  - match: any
    tos: 106
  - match: {device: mock0}
    mode: v1
    tos: 8
""")
    process = w.check_exit(w.rocectl("check"), 0)
    said = process.stdout + process.stderr
    matches(r"policy\.yaml:6", said, "the rule that no port can reach")
    matches(r"policy\.yaml:5", said, "ECN bits")
    matches(r"policy\.yaml:8", said, "a TOS with v1")
    w.drop_in("10-x.yaml", "version: 1\nrules: [{match: any, mode: v3}]\n")
    process = w.check_exit(w.rocectl("check"), 2)
    matches(r"policy\.d/10-x\.yaml:2", process.stderr, "error in a drop-in")


@scenario()
def check_of_foreign_file(w):
    """A policy that others than root own or may write: a warning."""
    w.policy("version: 1\nrules: []\n")
    os.chmod("/etc/roced/policy.yaml", 0o666)
    process = w.check_exit(w.rocectl("check"), 0)
    matches("policy.yaml", process.stdout + process.stderr, "warning")
    os.chmod("/etc/roced/policy.yaml", 0o644)
    process = w.check_exit(w.rocectl("check"), 0)
    check(not re.search("warn", process.stdout + process.stderr, re.I), f"warning for a good file: {process.stdout!r}")
