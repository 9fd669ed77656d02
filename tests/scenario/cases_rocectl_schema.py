# SPDX-License-Identifier: LGPL-2.1-or-later

"""The schema of "status --json": what the tool writes of hosts of all kinds keeps to it, and what does not is told."""

import copy
import json
import os

from schema import Validator
from tool import MIXED, mixed
from world import check, equal, scenario

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/rocectl.schema.json")


def validator():
    with open(SCHEMA) as f:
        return Validator(json.load(f))


def valid(w, *args, codes=(0, 3), user=None):
    """The document, which is as the schema says."""
    process = w.rocectl("status", "--json", *args, user=user)
    check(process.returncode in codes, f"status {args} exits {process.returncode}: {process.stderr!r}")
    document = json.loads(process.stdout)
    equal(validator().errors(document), [], f"errors in status {args}")
    return document


def states(document):
    return {port[a]["state"] for d in document["devices"] for port in d["ports"] for a in ("mode", "tos")}


@scenario(rings="fuse")
def schema_without_daemon(w):
    equal((valid(w)["policy"], valid(w)["devices"]), (None, []), "an empty host")
    mixed(w)
    w.add("mock4", ["v1v2"], pci=w.pci[0], guid="248a0703004bf0a4")
    for user in None, 65534:
        equal(states(valid(w, user=user)), {"unknown", "unmanaged", "not-roce"}, "states")
        for name in ("mock0", "mock3", "mock4"):
            device, = valid(w, name, user=user)["devices"]
            check("firmware" in device and "gids" in device["ports"][0], f"detail: {device}")
    w.foreign_mkdir("mock0")
    equal(valid(w, "mock0", "mock1")["devices"][0]["ports"][0]["mode"]["found"], "v2", "mode found")
    w.policy("version: 1\nrules: [{match: any, mode: v3}]\n")
    check(valid(w, codes=(2,))["policy"]["error"], "no error of the policy")


@scenario(rings="fuse")
def schema_with_daemon(w):
    mixed(w)
    w.add("mock4", ["v1v2"], pci=w.pci[0])
    w.start()
    w.await_port("mock2", mode="unsupported")
    equal(states(valid(w)), {"ok", "unmanaged", "drifted", "unsupported", "not-roce"}, "states")
    check(valid(w, "mock1")["devices"][0]["ports"][0]["rule"]["name"] == "watched", "rule")
    w.policy(MIXED.replace("v1", "v3"))
    w.reload_bad()
    policy = valid(w)["policy"]
    check(policy["error"] and policy["stale"], f"policy: {policy}")
    w.policy(None)
    w.reload()
    equal(valid(w)["policy"], None, "policy")
    w.policy("version: 1\nrules: [{match: any, mode: v1}]\n")
    w.reload()
    w.fault("write", "block", device="mock5", attribute="mode")
    w.add("mock5", ["v1v2"])
    w.wait_until(lambda: w.status()["daemon"]["blocked"], "the kernel is seen to block")
    document = valid(w)
    check("failed" in states(document), f"states: {states(document)}")
    w.release()


@scenario(rings="fuse")
def schema_tells_what_is_wrong(w):
    """A validator that lets all pass would let all of the above pass."""
    mixed(w)
    w.start()
    w.await_port("mock2", mode="unsupported")
    good = valid(w, "mock0")

    def spoil(path, value):
        document = at = copy.deepcopy(good)
        for key in path[:-1]:
            at = at[key]
        if value is KeyError:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        errors = validator().errors(document)
        check(errors, f"{path} may be {value!r}")
        check(str(path[-1]) in errors[0], f"error of {path}: {errors}")
    port = ("devices", 0, "ports", 0)
    for path, value in (
            (("schema",), 2), (("schema",), True), (("schema",), "1"), (("compliant",), 0), (("compliant",), KeyError),
            (("time",), "yesterday"), (("boot_id",), "x"), (("odd",), None),
            (("policy", "sha256"), "0"), (("policy", "files"), None),
            (("daemon", "running"), "yes"), (("daemon", "since"), 0), (("daemon", "blocked"), {"where": "x", "device": "y"}),
            (("devices",), {}), (("devices", 0, "name"), None), (("devices", 0, "function"), "xf"),
            (("devices", 0, "node_guid"), "0"), ((*port, "port"), 0), ((*port, "port"), True), ((*port, "supported"), ["v3"]),
            ((*port, "mode", "found"), "v3"), ((*port, "mode", "state"), "fine"), ((*port, "mode", "errno"), 0),
            ((*port, "tos", "found"), 256), ((*port, "tos", "wanted"), "104"), ((*port, "tos", "since"), KeyError),
            ((*port, "rule", "source"), "policy.yaml"), ((*port, "rule", "enforcement"), None),
            ((*port, "gids", 0, "type"), "ib"), ((*port, "gids", 0, "index"), -1), (("warnings",), [1])):
        spoil(path, value)
