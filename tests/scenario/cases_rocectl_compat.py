# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl compat, and plan --peers: who reaches whom, from what status said on each host."""

import copy
import json
import os
import resource

from tool import output
from world import check, equal, matches, scenario

BOTH = ["v1", "v2"]
HOSTS = "/etc/roced/hosts"


def template(w):
    """What status writes of a host with a RoCE port and one of InfiniBand."""
    w.add("mock0", ["v1v2"])
    w.add("mock1", ["ib"])
    return w.json("status")


def saved(w, document, host, *ports):
    """The file of a host as the template, but for its RoCE ports: (mode, supported) each, on devices d0, d1, …"""
    document = copy.deepcopy(document)
    roce, infiniband = document["devices"]
    document["host"], document["devices"] = host, [infiniband]
    for i, (mode, supported) in enumerate(ports):
        device = copy.deepcopy(roce)
        device["name"] = f"d{i}"
        device["ports"][0]["mode"]["found"], device["ports"][0]["supported"] = mode, supported
        document["devices"].append(device)
    path = f"{HOSTS}/{host}.json"
    w.policy(json.dumps(document), path)
    return path


@scenario()
def compat_modes(w):
    for client, server, reaches in (("v1", "v1", True), ("v1", "v2", True), ("v2", "v2", True), ("v2", "v1", False)):
        process = w.check_exit(w.rocectl("compat", client, server, user=65534), 0 if reaches else 3)
        verb = "reaches" if reaches else "does not reach"
        equal(process.stdout.splitlines()[0], f"A client in mode {client} {verb} a server in mode {server}.", "text")
        equal(w.json("compat", client, server), {"schema": 1, "client": client, "server": server, "connects": reaches}, "JSON")
        equal(w.check_exit(w.rocectl("compat", "-q", client, server), 0 if reaches else 3).stdout, "", "stdout of -q")
    for words, said in ((["v1"], "not 1 mode\n"), (["v1"] * 3, "not 3 modes"), (["v1", "fleet.json"], "'fleet.json' is no mode")):
        matches(said, w.check_exit(w.rocectl("compat", *words), 2).stderr, f"what is said of {words}")
    matches("takes no v1 client", w.rocectl("compat", "v1", "v2").stdout, "what a server must be able to do")
    for words in ([], ["v1"], ["v1", "v3"], ["v1", "v2", "v1"], ["v1", "/dev/null"]):
        process = w.check_exit(w.rocectl("compat", *words), 2)
        matches("two modes, v1 or v2, or status files", process.stderr, f"stderr of {words}")
        equal(process.stdout, "", "stdout")


@scenario()
def compat_states(w):
    """The hosts of each state are one row; each pair of states that does not connect is told with its ports."""
    document = template(w)
    files = [saved(w, document, f"n{i}", ("v2", BOTH), ("v2", BOTH)) for i in range(3)]
    files += [saved(w, document, f"old{i}", ("v1", ["v1"])) for i in range(2)]
    files += [saved(w, document, "soft", ("v2", ["v2"])), saved(w, document, "down", ("v1", None)), saved(w, document, "none")]
    output(w.check_exit(w.rocectl("compat", *files, user=65534), 3),
           "STATE HOSTS CANNOT REACH IN PART NOT KNOWN PORTS                               FIRST HOST",
           "    1     3 2            -       4         d0/1, d1/1: v2, takes v1, v2        n0",
           "    2     2 5            -       -         d0/1: v1, takes v1                  old0",
           "    3     1 -            -       -         no RoCE port                        none",
           "    4     1 5            -       -         d0/1: v1, takes v1, not known of v2 down",
           "    5     1 2            -       4         d0/1: v2, takes v2                  soft",
           "",
           "State 1 cannot reach state 2: v2 of d0/1, d1/1 is not taken by d0/1.",
           "State 1 may not reach state 4: whether d0/1 take v2 is not known.",
           "State 2 cannot reach state 5: v1 of d0/1 is not taken by d0/1.",
           "State 4 cannot reach state 5: v1 of d0/1 is not taken by d0/1.",
           "State 5 cannot reach state 2: v2 of d0/1 is not taken by d0/1.",
           "State 5 may not reach state 4: whether d0/1 take v2 is not known.",
           "8 hosts in 5 states: 4 pairs of states cannot connect through every port, of 2 it is not known.")
    equal(len(w.rocectl("compat", "--no-legend", *files).stdout.splitlines()), 5, "lines without legend")

    told = w.json("compat", *files)
    equal((told["schema"], told["connects"], told["hosts"]), (1, False, 8), "head")
    equal([s["hosts"] for s in told["states"]], [["n0", "n1", "n2"], ["old0", "old1"], ["none"], ["down"], ["soft"]], "hosts")
    equal(told["states"][3]["ports"],
          [{"mode": "v1", "takes": ["v1"], "not_known": ["v2"], "names": ["d0/1"], "more": False}], "ports of a state")
    equal(told["matrix"], [["yes", "no", None, "unknown", "yes"], ["yes", "yes", None, "yes", "no"], [None] * 5,
                           ["yes", "yes", None, None, "no"], ["yes", "no", None, "unknown", None]], "matrix")
    equal([(p["client"], p["server"], p["reach"]) for p in told["pairs"]],
          [(1, 2, "no"), (1, 4, "unknown"), (2, 5, "no"), (4, 5, "no"), (5, 2, "no"), (5, 4, "unknown")], "pairs")
    pair, = told["pairs"][0]["ports"]
    equal((pair["client"]["mode"], pair["client"]["names"], pair["server"]["takes"], pair["reach"]),
          ("v2", ["d0/1", "d1/1"], ["v1"], "no"), "ports of a pair")


@scenario()
def compat_all_reach(w):
    """Nothing is wrong: neither a host with itself, nor one in v2 with one in v1 that can do both."""
    document = template(w)
    one = saved(w, document, "n0", ("v1", ["v1"]), ("v2", ["v2"]))
    equal(w.check_exit(w.rocectl("compat", "--no-legend", one), 0).stdout.split(),
          "1 1 - - - d0/1: v1, takes v1; d1/1: v2, takes v2 n0".split(), "the one row")
    matches("One host alone", w.rocectl("compat", one).stdout, "text")
    files = [saved(w, document, "n1", ("v2", BOTH)), saved(w, document, "n2", ("v1", BOTH))]
    process = w.check_exit(w.rocectl("compat", *files), 0)
    equal(process.stdout.splitlines()[-1], "2 hosts in 2 states: every client reaches every server.", "sum")
    with open(files[0]) as f:
        process = w.check_exit(w.rocectl("compat", "-", files[1], stdin=f.read()), 0)
    matches("2 hosts", process.stdout, "with one from standard input")
    # The same two ports in two hosts reach each other only in part.
    files = [one, saved(w, document, "n3", ("v1", ["v1"]), ("v2", ["v2"]))]
    matches("State 1 reaches only in part state 1", w.check_exit(w.rocectl("compat", *files), 3).stdout, "in part")
    # Of nothing but what is not known.
    files = [saved(w, document, f"n{i}", (None, None)) for i in range(2)]
    equal(json.loads(w.check_exit(w.rocectl("compat", "-j", *files), 3).stdout)["connects"], None, "connects")


@scenario()
def compat_of_one_host_twice(w):
    """An old copy of a host's file would pass for another host."""
    document = template(w)
    new, other = saved(w, document, "n0", ("v2", ["v2"])), saved(w, document, "n1", ("v2", ["v2"]))
    old = f"{HOSTS}/n0.old"
    os.rename(saved(w, document, "n0", ("v1", ["v1"])), old)
    saved(w, document, "n0", ("v2", ["v2"]))
    equal(w.check_exit(w.rocectl("compat", new, other), 0).stderr, "", "stderr")
    process = w.check_exit(w.rocectl("compat", old, new, other), 3)
    equal(process.stderr, f"rocectl: {old}, {new}: all are of a host 'n0', and each counts as a host\n", "stderr")
    process = w.check_exit(w.rocectl("compat", *[new] * 5), 0)
    equal(process.stderr, f"rocectl: {new}, {new}, {new} and 2 more: all are of a host 'n0', and each counts as a host\n", "stderr")


@scenario()
def compat_bad_files(w):
    """Each is named with the place, and there is no result of the rest."""
    document = template(w)
    good = saved(w, document, "n0", ("v2", BOTH))
    whole = json.dumps(document, indent=2)
    later = {**document, "schema": 2}
    bare = copy.deepcopy(document)
    del bare["devices"][0]["ports"][0]["mode"]
    nameless = copy.deepcopy(document)
    del nameless["devices"][1]["name"]
    for text, pattern in ((whole[:200], r"bad\.json:\d+:\d+: the file ends in the middle"), ("", r"bad\.json:1:1: the file is empty"),
                          (whole.replace('"kernel":', '"kernel"'), r"bad\.json:\d+:\d+: "), (whole + "{}", r"bad\.json:\d+:2: .*too much"),
                          (json.dumps(later), "bad.json: it is of schema 2"), ("[]", 'bad.json: .*no "schema"'), ("1", "no \"schema\""),
                          (json.dumps({"schema": 1, "changes": []}), 'bad.json: .*no "devices"'),
                          (json.dumps(bare), r"devices\[0\].ports\[0\] is not a port"),
                          (json.dumps(nameless), r"devices\[1\] is not a device"),
                          (json.dumps({"schema": 1, "devices": {"name": 1}}), 'no "devices"'), ("[" * 20000, r"bad\.json:1:\d+: ")):
        w.policy(text, f"{HOSTS}/bad.json")
        process = w.check_exit(w.rocectl("compat", good, f"{HOSTS}/bad.json", f"{HOSTS}/nosuch.json"), 1)
        matches(pattern, process.stderr, "stderr")
        matches("nosuch.json: .*No such file", process.stderr, "stderr")
        equal(process.stdout, "", "stdout")
    matches("Is a directory", w.check_exit(w.rocectl("compat", HOSTS), 1).stderr, "a directory")
    hostile = {**document, "host": "n\x1b[31m\n0"}
    w.policy(json.dumps(hostile), f"{HOSTS}/hostile.json")
    check("\x1b" not in w.rocectl("compat", f"{HOSTS}/hostile.json", good).stdout, "a raw control character")


@scenario(rings="fuse")
def compat_many_hosts(w):
    """Ten thousand hosts of five states are five rows, in less than two seconds of a processor."""
    document = template(w)
    kinds = [("v2", BOTH), ("v2", ["v2"]), ("v1", BOTH), ("v1", ["v1"]), (None, None)]
    files = [saved(w, document, f"n{i}", kinds[i % 5], kinds[i % 5]) for i in range(10000)]
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = w.check_exit(w.rocectl("compat", "--no-legend", *files), 3)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    equal([line.split()[1] for line in process.stdout.splitlines()], ["2000"] * 5, "hosts by state")
    check(took < 2, f"it took {took:.2f} s")


# plan --peers

@scenario()
def plan_peers(w):
    """Those whom a new mode would not reach any more are named; those that are no better or worse off are not."""
    document = template(w)
    files = [saved(w, document, f"n{i}", ("v2", ["v2"])) for i in range(6)] + [saved(w, document, "down", ("v2", None))]
    others = [saved(w, document, "both", ("v2", BOTH)), saved(w, document, "old", ("v1", ["v1"])), saved(w, document, "none")]
    own = saved(w, document, document["host"], ("v2", ["v2"]))
    w.policy("version: 1\nrules: [{match: {device: mock0}, mode: v1}]\n")
    process = w.check_exit(w.rocectl("plan", "--peers", *files, *others, own), 3)
    equal(process.stdout.splitlines()[-3:],
          ["1 value would change.",
           "mock0/1: mode v1 would cut off from d0/1 of n0, n1, n2, n3 and 2 more",
           "mock0/1: mode v1 might cut off from d0/1 of down"], "end of the plan")
    told = json.loads(w.check_exit(w.rocectl("plan", "-j", "--peers", *files, *others, own), 3).stdout)
    equal([c["attribute"] for c in told["changes"]], ["mode"], "changes")
    equal(told["peers"],
          {"hosts": 10, "cut_off": [
              {"device": "mock0", "port": 1, "from": "v2", "to": "v1", "certain": True,
               "hosts": [f"n{i}" for i in range(6)], "ports": ["d0/1"]},
              {"device": "mock0", "port": 1, "from": "v2", "to": "v1", "certain": False, "hosts": ["down"], "ports": ["d0/1"]}]},
          "peers")
    none = "No client here would be cut off from any of 3 other hosts."
    equal(w.rocectl("plan", "--peers", *others).stdout.splitlines()[-1], none, "plan beside others")
    one = "No client here would be cut off from any of 1 other host."
    equal(w.rocectl("plan", "--peers", others[0]).stdout.splitlines()[-1], one, "plan beside one other")
    # A rule that only reports changes nothing, and so does one for the mode that is there.
    for rule, code in (("mode: v1, enforcement: report", 3), ("mode: v2", 0)):
        w.policy(f"version: 1\nrules: [{{match: {{device: mock0}}, {rule}}}]\n", "/etc/roced/new.yaml")
        process = w.check_exit(w.rocectl("plan", "--policy", "/etc/roced/new.yaml", *files, "--peers"), code)
        matches("No client here would be cut off from any of 7", process.stdout, "plan")
    check("peers" not in w.json("plan"), "peers where none are given")
    equal(w.directories(), [], "directories")


@scenario()
def plan_peers_usage(w):
    document = template(w)
    good = saved(w, document, "n0", ("v2", BOTH))
    for args, code, pattern in ((["plan", "--peers"], 2, "--peers needs files"), (["plan", good], 2, "is too much"),
                                (["status", "--peers", good], 2, "status takes no --peers"),
                                (["plan", "--peers", good, "/nosuch"], 1, "/nosuch: .*No such file")):
        process = w.check_exit(w.rocectl(*args), code)
        matches(pattern, process.stderr, f"stderr of {args}")
        equal(process.stdout, "", "stdout")


@scenario(rings="fuse")
def plan_peers_for_others_than_root(w):
    """Who cannot see the mode that is there is told what might be."""
    document = template(w)
    files = [saved(w, document, "n0", ("v2", ["v2"])), saved(w, document, "n1", ("v2", BOTH))]
    w.policy("version: 1\nrules: [{match: any, mode: v1}]\n")
    process = w.check_exit(w.rocectl("plan", "--peers", *files, user=65534), 3)
    matches("mode v1 might cut off from d0/1 of n0$", process.stdout, "plan")
