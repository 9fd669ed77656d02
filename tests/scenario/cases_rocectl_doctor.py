# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl doctor: each thing that it can find, with its evidence, and nothing where nothing is wrong."""

import errno
import json
import os

from tool import output
from world import POLICY, check, equal, matches, scenario

GUID = "248a0703004bf0a4"
FINE = "version: 1\nrules: [{match: any, mode: v2}]\n"


def found(w, code=3, user=None):
    """{id: [finding, …]}"""
    document = json.loads(w.check_exit(w.rocectl("doctor", "--json", user=user), code).stdout)
    equal(document["schema"], 1, "schema")
    findings = {}
    for finding in document["findings"]:
        equal(sorted(finding), ["evidence", "id", "remedy", "where"], "keys of a finding")
        check(finding["evidence"] and finding["remedy"], f"no evidence or remedy: {finding}")
        findings.setdefault(finding["id"], []).append(finding)
    return findings


def one(findings, word, where, evidence):
    """There is one finding of that word, about these places."""
    check(word in findings, f"no {word} among {findings}")
    finding, = findings[word]
    equal(finding["where"], where, f"where of {word}")
    matches(evidence, finding["evidence"], f"evidence of {word}")
    return finding


def healthy(w, policy=FINE):
    w.add("mock0", ["v1v2"], guid=GUID)
    w.policy(policy)
    w.start()
    w.await_port("mock0", mode="ok")


@scenario()
def doctor_finds_nothing(w):
    healthy(w)
    process = w.check_exit(w.rocectl("doctor", user=65534), 0)
    equal(process.stdout.splitlines()[-1], "Nothing found that stops RoCE here.", "last line")
    equal(found(w, 0), {}, "findings")
    equal(w.check_exit(w.rocectl("doctor", "-q"), 0).stdout, "", "stdout of -q")
    matches("takes no argument", w.check_exit(w.rocectl("doctor", "mock0"), 2).stderr, "stderr")


@scenario()
def doctor_changes_nothing(w):
    """Not even a directory in configfs is made, whoever asks."""
    w.add("mock0", ["v1v2"], guid=GUID)
    w.policy(FINE)
    findings = found(w)
    equal(list(findings), ["daemon-down"], "findings")
    matches("enable --now roced", findings["daemon-down"][0]["remedy"], "remedy")
    equal(w.directories(), [], "directories")
    process = w.rocectl("doctor")
    matches("(?m)^daemon-down: roced does not run", process.stdout, "text")
    matches("(?m)^    Remedy: .*systemctl", process.stdout, "text")
    matches("(?m)^Not looked at: mode of mock0/1: ", process.stdout, "text")
    equal(process.stdout.splitlines()[-1], "1 finding.", "last line")
    check("Not looked at" not in w.rocectl("doctor", "--no-legend").stdout, "a legend")


@scenario()
def doctor_kernel(w):
    w.add("mock0", ["v1v2"], guid=GUID)
    w.policy(FINE)
    w.rdma_cm(loaded=False)
    findings = found(w)
    one(findings, "rdma-cm-not-loaded", [], "neither /sys/kernel/config/rdma_cm nor /sys/module/rdma_cm")
    one(findings, "not-compliant", ["mock0/1"], "mode is pending: .*rdma_cm")
    w.rdma_cm(loaded=True)
    w.configfs(mounted=False)
    finding = one(found(w), "configfs-not-mounted", [], "/sys/kernel/config")
    matches("mount -t configfs", finding["remedy"], "remedy")
    w.configfs(mounted=True)


@scenario(rings="fuse")
def doctor_kernel_without_configfs(w):
    w.add("mock0", ["v1v2"])
    w.policy(FINE)
    w.rdma_cm(loaded=False)
    os.makedirs(f"{w.class_path}/../../module/rdma_cm")
    one(found(w), "rdma-cm-without-configfs", [], "rdma_cm is loaded, and there is no /sys/kernel/config/rdma_cm")


@scenario()
def doctor_policy(w):
    w.add("mock0", ["v1v2"], guid=GUID)
    findings = found(w)
    one(findings, "no-policy", [], "nothing is managed")
    w.policy("version: 1\nrules: [{match: any, mdoe: v2}]\n")
    one(found(w), "policy-invalid", [], "policy.yaml:2:.*did you mean 'mode'")
    os.chmod(POLICY, 0o600)
    equal(list(found(w, user=65534)), ["daemon-down"], "findings of one who may not read the policy")
    matches("(?m)^Not looked at: the policy: .*Permission denied", w.rocectl("doctor", user=65534).stdout, "what is unseen")
    w.policy(FINE)
    w.start()
    w.await_port("mock0", mode="ok")
    equal(found(w, 0), {}, "findings")
    w.policy("version: 1\nrules: [{match: any, mode: v1}]\n")
    finding = one(found(w), "policy-stale", [], "not the one that roced has loaded")
    matches("systemctl reload roced", finding["remedy"], "remedy")
    w.policy(FINE + "# more\n")
    w.reload()
    equal(found(w, 0), {}, "findings")


@scenario()
def doctor_ports(w):
    """A port that cannot do what is wanted, one without GIDs, one that another program has changed."""
    w.add("mock0", ["v2"], guid=GUID)
    w.add("mock1", ["v1v2"], netdev=False, guid="248a0703004bf0a5")
    w.add("mock2", ["ib"], guid="248a0703004bf0a6")
    w.policy("version: 1\nrules: [{match: {device: mock0}, mode: v1}, {match: {device: mock1}, tos: 8, enforcement: report}]\n")
    w.start()
    w.await_port("mock0", mode="unsupported")
    w.await_port("mock1", tos="drifted")
    findings = found(w)
    one(findings, "no-gid-of-version", ["mock0/1"], "no RoCE v1 GID, and v1 is what the policy wants")
    equal(sorted(f["where"][0] for f in findings["not-compliant"]), ["mock0/1", "mock1/1"], "not compliant")
    matches("tos is drifted: the rule only reports", json.dumps(findings["not-compliant"]), "evidence")


@scenario(rings="fuse")
def doctor_devices(w):
    """No GIDs, no GUID, the vendor's traffic class, a name of another kernel."""
    w.add("a0", ["v1v2"], pci=w.pci[0], slots=[], guid="0000000000000000")
    w.sysfs.write(w.sysfs.devpath("net", w.netdevs["a0"][0]), dev_port="0")
    w.add("a1", ["v1v2"], pci=w.pci[1], slots=[], netdev=False)
    w.add("a2", ["v1v2"], pci=w.pci[2])
    w.policy("version: 1\nrules:\n  - match: {device: mlx5_0}\n    tos: 8\n  - match: {device: 'mlx5_*'}\n    tos: 8\n"
             "  - match: {device: [nosuch0, mlx, m_0, '0']}\n    tos: 8\n  - match: {device: a2}\n    tos: 104\n")
    for device, text in (("a2", "Global tclass=106\nsrc_ip=1.2.3.4,tclass=104\n"), ("a1", "Global tclass=-1\n"), ("a0", "")):
        os.makedirs(f"{w.class_path}/{device}/tc/1")
        with open(f"{w.class_path}/{device}/tc/1/traffic_class", "w") as f:
            f.write(text)
    findings = found(w)
    equal([(f["where"], "its network device is" in f["evidence"]) for f in findings["no-gid"]],
          [(["a0/1"], True), (["a1/1"], False)], "no GID")
    one(findings, "zero-node-guid", ["a0"], "zero")
    one(findings, "traffic-class-differs", ["a2/1"], "traffic_class says 106, which overrides the TOS of 104")
    one(findings, "name-of-no-device", [POLICY + ":3"], "'mlx5_0', and no device is called so; a device of that driver here is a0")
    check(findings["warning"], "the rules that match nothing")


@scenario(rings="fuse")
def doctor_says_nothing_of_what_cannot_be_read(w):
    w.add("mock0", ["v1v2"], guid=GUID)
    os.rename(f"{w.class_path}/mock0/ports", f"{w.class_path}/mock0/hidden")
    os.mknod(f"{w.class_path}/mock0/ports")
    w.policy(FINE)
    findings = found(w)
    equal(list(findings), ["daemon-down", "warning"], "findings")
    matches("mock0: the device cannot be read", findings["warning"][0]["evidence"], "evidence")


@scenario(rings="fuse")
def doctor_sees_renamed_devices(w):
    w.add("mock0", ["v1v2"])
    w.policy("version: 1\nrules: [{match: {device: was0}, tos: 8}]\n")
    w.database("infiniband", "was0")
    one(found(w), "name-of-no-device", [POLICY + ":2"], "one was when it was born, and has been renamed")


@scenario(rings="fuse")
def doctor_asks_for_the_names_in_the_daemons_policy(w):
    w.add("mock0", ["v1v2"], guid=GUID)
    w.database("infiniband", "was0")
    w.policy("version: 1\nrules: [{match: {device: was0}, tos: 8}]\n", "/etc/roced/other.yaml")
    w.start("--policy", "/etc/roced/other.yaml")
    one(found(w), "name-of-no-device", ["/etc/roced/other.yaml:2"], "'was0'")


@scenario(rings="fuse")
def doctor_names_causes_first(w):
    """Without a device rdma-core loads nothing and starts nothing."""
    w.rdma_cm(loaded=False)
    w.policy("version: 1\nrules: [{match: {device: nosuch0}, mode: v2}]\n")
    w.policy("cma_roce_mode -d mlx5_0 -p 1 -m 2\n", "/etc/infiniband/hook.sh")
    equal(list(found(w)), ["no-device", "rdma-cm-not-loaded", "daemon-down", "another-writer", "warning"], "findings")
    w.rdma_cm(loaded=True)
    w.add("mock0", ["v1v2"], guid=GUID)
    w.policy("version: 1\nrules: [{match: any, mdoe: v2}]\n")
    equal(list(found(w)), ["policy-invalid", "daemon-down", "another-writer"], "findings")


@scenario(rings="fuse")
def advice_without_systemd(w):
    """No remedy is a program that is not here."""
    os.rmdir("/run/systemd/system")
    w.add("mock0", ["v1v2"], guid=GUID)
    w.policy("version: 1\nrules: [{match: any, mode: v1}]\n")
    matches('"rocectl apply" does one pass', found(w)["daemon-down"][0]["remedy"], "remedy")
    told = w.rocectl("status").stdout + w.rocectl("explain", "mock0").stdout + w.rocectl("wait").stderr
    equal(told.count('"roced" starts it'), 3, f"advice to start it, of {told!r}")
    w.start()
    w.await_port("mock0", mode="ok")
    w.policy(FINE)
    matches("SIGHUP", found(w)["policy-stale"][0]["remedy"], "remedy")
    told += w.rocectl("status").stdout + w.rocectl("explain", "mock0").stdout + w.rocectl("apply").stderr
    equal(told.count("roced loads it at SIGHUP"), 3, f"advice to have it load the policy, of {told!r}")
    check("systemctl" not in told, "systemctl where there is none")


@scenario(rings="fuse")
def doctor_writers(w):
    """What another tool sets is found with file and line; comments, and what is roced's own, are not."""
    healthy(w)
    line = "echo 106 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos"
    for path, text in (("/etc/rc.local", f"#!/bin/sh\n# {line}\n  {line}\n"),
                       ("/etc/network/interfaces", "iface ens1 inet dhcp\n  post-up cma_roce_tos -d mlx5_0 -t 106\n"),
                       ("/etc/tmpfiles.d/roce.conf", "w /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos - - - - 106\n"),
                       ("/etc/infiniband/post-start-hook.sh", "cma_roce_mode -d mlx5_0 -p 1 -m 2\n"),
                       ("/etc/systemd/system/qos.service.d/roce.conf", "[Service]\nExecStartPost=/usr/sbin/cma_roce_tos -d mlx5_0 -t 106\n"),
                       ("/etc/systemd/system/roced.service.d/x.conf", f"ExecStartPre=sh -c '{line}'\n"),
                       ("/etc/udev/rules.d/90-roced.rules", line + "\n"),
                       ("/etc/cron.d/hostile", "cma_roce_tos \x1b[31m\n")):
        w.policy(text, path)
    os.makedirs("/etc/init.d", exist_ok=True)
    os.mkfifo("/etc/init.d/fifo")
    findings = found(w)
    equal(list(findings), ["another-writer"], "findings")
    equal(sorted((f["where"][0], f["evidence"]) for f in findings["another-writer"]),
          [("/etc/cron.d/hostile:1", "cma_roce_tos \x1b[31m"),
           ("/etc/infiniband/post-start-hook.sh:1", "cma_roce_mode -d mlx5_0 -p 1 -m 2"), ("/etc/network/interfaces:2", "post-up cma_roce_tos -d mlx5_0 -t 106"), ("/etc/rc.local:3", line),
           ("/etc/systemd/system/qos.service.d/roce.conf:2", "ExecStartPost=/usr/sbin/cma_roce_tos -d mlx5_0 -t 106"),
           ("/etc/tmpfiles.d/roce.conf:1", "w /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos - - - - 106")], "writers")
    check("\x1b" not in w.rocectl("doctor").stdout, "a raw control character")
    os.chmod("/etc/rc.local", 0o600)
    matches("(?m)^Not looked at: /etc/rc.local: Permission denied$", w.rocectl("doctor", user=65534).stdout, "what others see")


@scenario()
def doctor_asks_for_priorities(w):
    """Of a port with a DSCP the network device's DCB state is asked for; here none has any, and that is said."""
    healthy(w, "version: 1\nrules: [{match: any, mode: v2, dscp: 26}]\n")
    document = json.loads(w.check_exit(w.rocectl("doctor", "--json"), 0).stdout)
    netdev, = w.netdevs["mock0"]
    matches(f"the priorities of {netdev}: ", "\n".join(document["unseen"]), "what is unseen")


@scenario(rings="fuse")
def doctor_blocked(w):
    """What roced says of a kernel that does not answer; doctor does not hang with it."""
    healthy(w)
    w.fault("mkdir", "block", device="mock1")
    w.add("mock1", guid="248a0703004bf0a5")
    w.await_port("mock1", mode="failed", timeout=15)
    finding = one(found(w), "kernel-blocked", [], "has not answered roced since 20.*: mkdir")
    matches("dmesg", finding["remedy"], "remedy")
    w.release()
    w.await_port("mock1", mode="ok")
    equal(found(w, 0), {}, "findings")


@scenario()
def doctor_without_devices(w):
    w.policy("version: 1\nrules: []\n")
    one(found(w), "no-device", [], "/sys/class/infiniband")
    matches("Not|no-device", w.rocectl("doctor").stdout, "text")
    matches("nosuch", w.check_exit(w.rocectl("doctor", "--policy", "/nosuch"), 1).stderr, "stderr")
