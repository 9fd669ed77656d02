# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl generate: a policy that says what is, which check takes and plan finds nothing to do for."""

import json

from tool import output
from world import POLICY, check, equal, matches, scenario


def set_values(w, device, *ports):
    """What another program left: (port, mode, tos) each."""
    w.foreign_mkdir(device)
    for port, mode, tos in ports:
        w.foreign_write(device, port, "mode", {"v1": "IB/RoCE v1", "v2": "RoCE v2"}[mode])
        w.foreign_write(device, port, "tos", str(tos))
    w.foreign_rmdir(device)


def body(process):
    """The policy without the two lines that say whence it is."""
    lines = process.stdout.splitlines()
    matches(r"^# The defaults for new RDMA-CM connections on \S+, as they were on 20\d\d-.*Z\.$", lines[0], "first line")
    matches(r"^# Written by rocectl \d", lines[1], "second line")
    return lines[2:]


def check_round_trip(w, n_ports):
    """It is what plan finds nothing to do for, and check nothing to say of."""
    text = w.check_exit(w.rocectl("generate"), 0).stdout
    w.policy(text)
    process = w.check_exit(w.rocectl("check"), 0)
    equal(process.stderr, "", f"what check says of {text!r}")
    ports = {0: "there is no RoCE port", 1: "1 RoCE port is as the policy wants"}
    output(w.check_exit(w.rocectl("plan"), 0), f"Nothing to do: {ports.get(n_ports, f'{n_ports} RoCE ports are as the policy wants')}.")
    equal(w.directories(), [], "directories")
    return text


@scenario(rings="fuse")
def generate_golden(w):
    """Where the ports of a driver agree, by driver; else by PCI address; by node GUID or name where there is none."""
    for i, name in enumerate(("a0", "a1", "a2")):
        w.add(name, ["v1v2", "v1v2"], pci=f"0000:3b:00.{i}", driver="mlx5_core")
    w.add("b0", ["v1v2"], pci="0000:5e:00.0", driver="mlx4_core")
    w.add("b1", ["v1v2"], pci="0000:5e:00.1", driver="mlx4_core")
    w.add("c0", ["v2"], guid="0200000000000077")
    w.add("d0", ["v2"], guid="0000000000000000")
    w.add("i0", ["ib"])
    set_values(w, "a0", (1, "v2", 104), (2, "v2", 104))
    set_values(w, "a1", (1, "v1", 106), (2, "v2", 8))
    set_values(w, "a2", (1, "v2", 104), (2, "v2", 104))
    equal(body(w.check_exit(w.rocectl("generate"), 0)),
          ["version: 1", "rules:",
           "  # a0/1, a0/2, a2/1, a2/2", "  - match:", "      pci:", "        - '0000:3b:00.0'", "        - '0000:3b:00.2'",
           "    mode: v2", "    tos: 104",
           "  # a1/1", "  - match:", "      pci: '0000:3b:00.1'", "      port: [1]", "    mode: v1", "    dscp: 26", "    ecn: 2",
           "  # a1/2", "  - match:", "      pci: '0000:3b:00.1'", "      port: [2]", "    mode: v2", "    tos: 8",
           "  # b0/1, b1/1", "  - match:", "      driver: 'mlx4_core'", "    mode: v2", "    tos: 0",
           "  # c0/1", "  - match:", "      node_guid: '0200:0000:0000:0077'", "    mode: v2", "    tos: 0",
           "  # d0/1", "  - match:", "      device: 'd0'", "    mode: v2", "    tos: 0"], "policy")
    equal(w.directories(), [], "directories")
    equal(w.accesses("write", program="rocectl"), [], "writes")
    w.policy(w.rocectl("generate").stdout)
    output(w.check_exit(w.rocectl("plan", "--no-legend"), 0))


@scenario()
def generate_round_trip(w):
    w.add("mock0", ["v1v2", "v1v2", "v2", "ib"])
    w.add("mock1", ["v2"])
    w.add("mock2", ["iwarp"])
    set_values(w, "mock0", (1, "v2", 104), (2, "v2", 7))
    text = check_round_trip(w, 4)
    # A value that has gone astray since is what plan finds.
    set_values(w, "mock0", (2, "v1", 7))
    matches("mock0 +2 .*mode +v1 +v2 +would change", w.check_exit(w.rocectl("plan"), 3).stdout, "plan after a change")
    document = w.json("generate")
    equal((document["schema"], document["complete"], document["missing"]), (1, True, []), "JSON")
    check(document["text"].count("\n") == text.count("\n") and "v1" in document["text"], f"text of {document}")
    equal(w.check_exit(w.rocectl("generate", "-q"), 0).stdout, "", "stdout of -q")


@scenario()
def generate_beside_the_daemon(w):
    """The daemon's directories stay, and what it has set is what is found."""
    w.add("mock0", ["v1v2"])
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 104}]\n")
    w.start()
    w.await_port("mock0", tos="ok")
    w.policy(w.check_exit(w.rocectl("generate"), 0).stdout, "/etc/roced/new.yaml")
    equal(w.directories(), ["mock0"], "directories")
    equal(w.check_exit(w.rocectl("plan", "--policy", "/etc/roced/new.yaml"), 0).stdout.count("Nothing to do"), 1, "plan")


@scenario()
def generate_without_devices(w):
    equal(body(w.check_exit(w.rocectl("generate"), 0)), ["version: 1", "rules: []"], "policy")
    check_round_trip(w, 0)


@scenario()
def generate_what_cannot_be_seen(w):
    """It is left out and named, what can be seen is there, and the policy is valid all the same."""
    w.add("mock0", ["v1v2"])
    w.add("mock1", ["v1v2"])
    set_values(w, "mock1", (1, "v2", 24))
    w.foreign_mkdir("mock1")
    process = w.check_exit(w.rocectl("generate", user=65534), 3)
    matches("mock0/1: mode is left out: ", process.stderr, "stderr")
    matches("mock0/1: tos is left out: ", process.stderr, "stderr")
    check("mock1" not in process.stderr and "mock0" not in process.stdout, f"output {process.stdout!r} {process.stderr!r}")
    equal(body(process)[-2:], ["    mode: v2", "    tos: 24"], "end of the policy")
    w.check_exit(w.rocectl("check", "-", stdin=process.stdout), 0)
    missing = json.loads(w.check_exit(w.rocectl("generate", "-j", user=65534), 3).stdout)["missing"]
    equal([(m["device"], m["port"], m["attribute"]) for m in missing], [("mock0", 1, "mode"), ("mock0", 1, "tos")], "missing")
    w.foreign_rmdir("mock1")
    w.rdma_cm(loaded=False)
    process = w.check_exit(w.rocectl("generate"), 3)
    matches("rdma_cm", process.stderr, "stderr")
    equal(body(process), ["version: 1", "rules: []"], "policy without rdma_cm")


@scenario(rings="fuse")
def generate_partly(w):
    """A driver's rule is not for a port of which something is not known; an old kernel has modes only."""
    w.add("a0", ["v1v2"], pci=w.pci[0])
    w.add("a1", ["v1v2"], pci=w.pci[1])
    w.fault("open", "errno", 2, device="a1", attribute="tos")
    process = w.check_exit(w.rocectl("generate"), 3)
    matches("a1/1: tos is left out: ", process.stderr, "stderr")
    equal(body(process),
          ["version: 1", "rules:",
           "  # a0/1", "  - match:", f"      pci: '{w.pci[0]}'", "    mode: v2", "    tos: 0",
           "  # a1/1", "  - match:", f"      pci: '{w.pci[1]}'", "    mode: v2"], "policy")


@scenario(rings="fuse")
def generate_odd_names(w):
    """Names that look like patterns, or like YAML, mean themselves."""
    for i, name in enumerate(("a*", "a?'b", "[ab]", "a\\b", "on", "m:[x", "m\u00fc", "#x")):
        w.add(name, ["v1v2"], guid="0000000000000000")
        set_values(w, name, (1, "v2", 8 * i))
    check_round_trip(w, 8)


@scenario(rings="fuse")
def generate_names_that_no_policy_holds(w):
    w.add("mock0", ["v1v2"])
    w.add("b\u2028d", ["v1v2"], guid="0000000000000000", announce=False, known=False)
    process = w.check_exit(w.rocectl("generate"), 3)
    matches(r"b\\u2028d/1: mode is left out", process.stderr, "stderr")
    w.policy(process.stdout, POLICY)
    w.check_exit(w.rocectl("check"), 0)
    matches("node_guid: ", process.stdout, "policy")


@scenario(rings="fuse")
def generate_many(w):
    """A hundred functions of a driver are one rule, and one that differs makes them two lists."""
    for i in range(100):
        w.add(f"m{i:02}", ["v1v2"], pci=f"0000:3b:{i // 8:02x}.{i % 8}")
    text = check_round_trip(w, 100)
    equal(text.splitlines()[4:7], ["  # m00/1, m01/1, m02/1, m03/1, m04/1, m05/1, m06/1, m07/1 and 92 more", "  - match:",
                                   "      driver: 'mlx5_core'"], "rule")
    set_values(w, "m50", (1, "v2", 32))
    text = check_round_trip(w, 100)
    equal((text.count("- match:"), text.count("        - '0000:3b:"), text.count("driver")), (2, 99, 0), "rules")
