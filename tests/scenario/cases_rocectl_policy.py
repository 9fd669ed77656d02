# SPDX-License-Identifier: LGPL-2.1-or-later

"""The verbs that read a policy from disk: check, plan, apply. What they print, their exit codes, what they leave behind."""

import errno
import hashlib
import json
import os
import signal
import subprocess

from tool import mixed, output, program
from world import JOURNAL, POLICY, check, equal, matches, scenario


NO_POLICY = "No policy is installed, neither /etc/roced/policy.yaml nor a drop-in; nothing is managed."


# check

@scenario()
def check_files(w):
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n", "/etc/roced/good.yaml")
    w.policy("version: 1\nrules: [{match: any, tos: 9}, {match: any}]\n", "/etc/roced/warns.yaml")
    w.policy("version: 1\nrules: [{match: any, tos: 800}]\n", "/etc/roced/bad.yaml")
    good, warns, bad, missing = (f"/etc/roced/{n}.yaml" for n in ("good", "warns", "bad", "missing"))
    output(w.check_exit(w.rocectl("check", good), 0), f"{good}: valid, 1 rule, sha256 {w.policy_sha256(good)}")
    process = w.check_exit(w.rocectl("check", warns, good), 0)
    output(process, f"{warns}: valid, 2 rules, 2 warnings, sha256 {w.policy_sha256(warns)}",
           f"{good}: valid, 1 rule, sha256 {w.policy_sha256(good)}")
    equal(process.stderr.count("warning:"), 2, f"warnings on stderr, which is {process.stderr!r}")
    process = w.check_exit(w.rocectl("check", "-q", warns), 0)
    equal(process.stdout + process.stderr, "", "what -q says of warnings")
    process = w.check_exit(w.rocectl("check", "-q", bad, good), 2)
    matches(r"bad\.yaml:2:\d+: error: .*\n.*\n.*\^", process.stderr, "error")
    equal(process.stdout, "", "stdout")
    process = w.check_exit(w.rocectl("check", bad, missing, good), 1)
    matches("missing.yaml: error: .*No such file", process.stderr, "error")
    output(process, f"{good}: valid, 1 rule, sha256 {w.policy_sha256(good)}")
    least = "version: 1\nrules: []\n"
    output(w.check_exit(w.rocectl("check", "-", stdin=least, user=65534), 0),
           f"<stdin>: valid, 0 rules, sha256 {hashlib.sha256(least.encode()).hexdigest()}")
    matches("<stdin>:1", w.check_exit(w.rocectl("check", "-", stdin="x"), 2).stderr, "error")
    document = json.loads(w.check_exit(w.rocectl("check", "-j", warns, bad, missing), 1).stdout)
    equal((document["schema"], document["valid"]), (1, False), "schema and valid")
    equal([p["valid"] for p in document["policies"]], [True, False, False], "valid by file")
    message, = document["policies"][1]["messages"]
    equal((message["file"], message["line"], message["severity"]), (bad, 2, "error"), "message")
    equal(sorted(message), ["column", "file", "line", "severity", "text"], "keys of a message")
    equal(document["policies"][0]["sha256"], w.policy_sha256(warns), "sha256")


@scenario()
def check_installed(w):
    output(w.check_exit(w.rocectl("check"), 0), NO_POLICY)
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: {device: nosuch}, tos: 8}]\n")
    w.drop_in("10-a.yaml", "version: 1\nrules: [{match: {port: 2}, tos: 8}]\n")
    # As long as udev has not finished with the device, it may yet get that name.
    w.wait_until(lambda: "2 warnings" in w.rocectl("check").stdout, "udev has finished with the device")
    process = w.check_exit(w.rocectl("check", user=65534), 0)
    files = ("/etc/roced/policy.d/10-a.yaml", POLICY)
    output(process, f"{files[0]} and 1 more: valid, 2 rules, 2 warnings, sha256 {w.policy_sha256(*files)}")
    matches("10-a.yaml:2.*port 2 does not exist: mock0 has 1 port\n.*policy.yaml:2.*matches nothing", process.stderr, "warnings")
    w.remove("mock0")
    equal(w.check_exit(w.rocectl("check"), 0).stderr, "", "warnings where there is no device at all")


# plan

@scenario(rings="fuse")
def plan_golden(w):
    mixed(w)
    process = w.check_exit(w.rocectl("plan"), 3)
    output(process,
           "DEVICE PORT NETDEV ATTRIBUTE FOUND WANTED RESULT       RULE",
           "mock0     1 n0     tos       0     104    would change storage rail (/etc/roced/policy.yaml:3)",
           "mock1     1 n1     tos       0     8      drifted      watched (/etc/roced/policy.yaml:7)",
           "mock2     1 n2     mode      v2    v1     unsupported  /etc/roced/policy.yaml:11",
           "",
           "mock1/1: tos drifted, wanted 8, found 0: the rule only reports",
           "mock2/1: mode unsupported, wanted v1, found v2: the port has no RoCE v1 GID, only v2",
           "1 value would change.",
           "2 values are not as the policy wants, and would stay so.")
    equal(w.writes() + w.accesses("write", program="rocectl"), [], "writes")
    equal(w.directories(), [], "directories")
    plan = json.loads(w.check_exit(w.rocectl("plan", "--json"), 3).stdout)
    change, = plan["changes"]
    equal([change[k] for k in ("device", "port", "attribute", "found", "wanted")], ["mock0", 1, "tos", 0, 104], "change")
    equal(change["rule"]["source"], POLICY + ":3", "rule of the change")
    equal([(p["device"], p["state"]) for p in plan["problems"]], [("mock1", "drifted"), ("mock2", "unsupported")],
          "problems")
    equal((plan["compliant"], plan["policy"]["sha256"]), (False, w.policy_sha256()), "compliant and policy")
    equal(len(w.rocectl("plan", "--no-legend").stdout.splitlines()), 3, "lines without legend")


@scenario()
def plan_for_others_than_root(w):
    """Where there is no directory they see nothing; where there is one they see all."""
    w.add("mock0")
    w.add("mock1")
    w.foreign_mkdir("mock1")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    process = w.check_exit(w.rocectl("plan", user=65534), 3)
    matches("mock0 .*unknown", process.stdout, "plan")
    matches("mock1 .* 0 +8 .*would change", process.stdout, "plan")
    matches("1 value cannot be seen; root can", process.stdout, "plan")
    equal(w.directories(), ["mock1"], "directories")


@scenario()
def plan_with_nothing_to_do(w):
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 0}]\n")
    equal(w.check_exit(w.rocectl("plan"), 0).stdout.splitlines()[-1], "Nothing to do: there is no RoCE port.", "plan without ports")
    w.policy(None)
    w.add("mock0", ["v1v2", "v1v2"])
    output(w.check_exit(w.rocectl("plan"), 0), NO_POLICY)
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 0}]\n")
    output(w.check_exit(w.rocectl("plan"), 0), "Nothing to do: 2 RoCE ports are as the policy wants.")
    equal(w.directories(), [], "directories")
    w.rdma_cm(loaded=False)
    process = w.check_exit(w.rocectl("plan"), 3)
    matches("mock0.*pending", process.stdout, "plan without rdma_cm")
    matches("rdma_cm", process.stdout, "plan without rdma_cm")


@scenario(rings="fuse")
def plan_leaves_stale_directories(w):
    """A directory with too few ports is another's; plan does not replace it."""
    w.add("mock0", ["v1v2"])
    w.foreign_mkdir("mock0")
    w.remove("mock0")
    w.add("mock0", ["v1v2", "v1v2"])
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.check_exit(w.rocectl("plan"), 3)
    equal([a["operation"] for a in w.accesses(program="rocectl") if a["operation"] in ("mkdir", "rmdir")], [], "made or removed")


# apply

@scenario(rings="fuse")
def apply_golden(w):
    mixed(w)
    output(w.check_exit(w.rocectl("apply"), 3),
           "DEVICE PORT NETDEV ATTRIBUTE FOUND WANTED RESULT      RULE",
           "mock0     1 n0     tos       0     104    changed     storage rail (/etc/roced/policy.yaml:3)",
           "mock1     1 n1     tos       0     8      drifted     watched (/etc/roced/policy.yaml:7)",
           "mock2     1 n2     mode      v2    v1     unsupported /etc/roced/policy.yaml:11",
           "",
           "mock1/1: tos drifted, wanted 8, found 0: the rule only reports",
           "mock2/1: mode unsupported, wanted v1, found v2: the port cannot do RoCE v1, the kernel refused it",
           "1 value changed.",
           "2 values are not as the policy wants.")
    equal(w.directories(), [], "directories")
    check(not os.listdir("/run/roced/made"), "a directory is on record as made")
    equal(sorted((r["ROCED_DEVICE"], r["ROCED_STATE"], r["PRIORITY"]) for r in w.records()),
          [("mock0", "ok", "5"), ("mock1", "drifted", "4"), ("mock2", "unsupported", "4")], "records")
    document = json.loads(w.check_exit(w.rocectl("apply", "--json"), 3).stdout)
    equal((document["changes"], [p["errno"] for p in document["problems"]]), ([], [None, errno.EINVAL]), "second apply")


@scenario(rings="fuse")
def apply_retries(w):
    """A device that rdma_cm does not know yet is asked for again for a while, one that it never will is given up."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.fault("mkdir", "errno", errno.ENODEV, count=3)
    w.check_exit(w.rocectl("apply"), 0)
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS")
    w.add("mock1", nocm=True)
    process = w.check_exit(w.rocectl("apply"), 3)
    matches("mock1/1: tos pending", process.stdout, "what never comes")
    tries = [a for a in w.accesses("mkdir", "mock1", program="rocectl")]
    check(2 <= len(tries) <= 10, f"{len(tries)} tries")
    equal(len(w.accesses("mkdir", "mock0", program="rocectl")), 5, "mkdir of the one that is right")
    equal(w.directories(), [], "directories")


@scenario(rings="fuse")
def apply_failures(w):
    """Refused, without effect, not there: each with its exit code, and never called done."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v1, tos: 8}]\n")
    for operation, action, argument, pattern in (("write", "errno", errno.EIO, "write: Input/output error"),
                                                 ("write", "ignore", "", "wrote 8 and read back 0"),
                                                 ("write", "short", "", "only a part")):
        w.fault(operation, action, argument, attribute="tos")
        process = w.check_exit(w.rocectl("apply"), 3)
        matches(f"mock0/1: tos failed.*{pattern}", process.stdout, "why")
        equal(w.directories(), [], "directories")
        w.clear_faults()
    w.rdma_cm(loaded=False)
    matches("rdma_cm is not loaded", w.check_exit(w.rocectl("apply"), 3).stdout, "without rdma_cm")
    w.configfs(mounted=False)
    matches("configfs is not mounted", w.check_exit(w.rocectl("apply"), 3).stdout, "without configfs")
    equal(os.listdir(w.configfs_path), [], "what was made in the plain directory")


@scenario(rings="fuse")
def apply_in_an_initramfs(w):
    """No udevd, no journald, no /run/roced: it works, and tells on stderr."""
    w.udevd(running=False)
    w.add("mock0", announce=False)
    w.policy("version: 1\nrules: [{match: {device: mock0}, tos: 8}]\n")
    os.unlink(JOURNAL)
    os.rmdir("/run/roced")
    process = w.check_exit(w.rocectl("apply"), 0)
    matches("mock0 port 1: tos changed from 0 to 8", process.stderr, "stderr")
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS")
    equal(w.directories(), [], "directories")


@scenario(rings="fuse")
def apply_interrupted(w):
    """An end in the middle of a device is put off until its directory is removed."""
    w.add("mock0")
    w.add("mock1")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.fault("write", "block", device="mock0")
    apply = subprocess.Popen([program(w), "apply"], env=w.environment(), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    w.wait_until(lambda: w.accesses("mkdir", "mock0", program="rocectl"), "the device is looked at")
    apply.send_signal(signal.SIGTERM)
    w.clear_faults()
    w.release()
    _, told = apply.communicate(timeout=10)
    equal(apply.returncode, 1, f"exit, having said {told!r}")
    matches("interrupted", told, "stderr")
    equal((w.kernel_value("mock0", 1, "tos"), w.kernel_value("mock1", 1, "tos")), (8, 0), "TOS")
    equal(w.directories(), [], "directories")


@scenario(rings="fuse")
def plan_interrupted(w):
    """A look that makes a directory ends no sooner than that is removed."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    for n, verb in enumerate(("plan", "generate")):
        w.fault("read", "block", device="mock0")
        process = subprocess.Popen([program(w), verb], env=w.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        w.wait_until(lambda: len(w.accesses("mkdir", "mock0", program="rocectl")) > n, "the device is looked at")
        process.send_signal(signal.SIGTERM)    # others may be ignored where the tests run in the background
        w.clear_faults()
        w.release()
        process.communicate(timeout=10)
        equal(process.returncode, -signal.SIGTERM, f"exit of {verb}")
        equal(w.directories(), [], f"directories after {verb}")


@scenario(rings="fuse")
def apply_clears_up_after_a_crash(w):
    """Nobody needs what a killed daemon left; what others made stays."""
    w.add("mock0")
    w.add("mock1")
    w.foreign_mkdir("mock1")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.start()
    w.kill()
    equal(w.directories(), ["mock0", "mock1"], "directories after kill -9")
    w.check_exit(w.rocectl("apply"), 0)
    equal(w.directories(), ["mock1"], "directories")
    check(not os.path.exists("/run/roced/state.json"), "the state of the killed daemon is there still")
