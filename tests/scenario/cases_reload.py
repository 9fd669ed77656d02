# SPDX-License-Identifier: LGPL-2.1-or-later

"""The policy changes while the daemon runs: for the better, for the worse, in a storm."""

import os
import signal
import time

from world import POLICY, check, equal, matches, scenario


def tos(value, **more):
    extra = "".join(f", {k}: {v}" for k, v in more.items())
    return f"version: 1\nrules: [{{match: any, tos: {value}{extra}}}]\n"


BAD = "version: 1\nrules:\n  - match: any\n    tos: 256\n"


@scenario(rows=[37])
def reload_applies(w):
    w.add("mock0")
    w.policy(tos(8))
    w.start()
    w.policy(tos(104))
    check(w.status()["policy"]["stale"], "the file differs from what is loaded, and status does not say so")
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS before the reload")
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=104)
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    status = w.status()
    equal((status["policy"]["sha256"], status["policy"]["stale"], status["policy"]["error"]),
          (w.policy_sha256(), False, None), "policy in status")
    equal([(r["ROCED_TRIGGER"], r["ROCED_FOUND"]) for r in w.changes()], [("startup", "0"), ("reload", "8")], "told")


@scenario(rows=[37], rings="fuse")
def reload_protocol(w):
    """RELOADING=1 with MONOTONIC_USEC= in one datagram, then READY=1; with a bad file, too."""
    w.add("mock0")
    w.policy(tos(8))
    w.start()
    for text in (tos(104), BAD, tos(8)):
        w.policy(text)
        before = time.monotonic_ns() // 1000
        notes = w.reload()
        begun = [n for n in notes if n.get("RELOADING")]
        equal(len(begun), 1, "RELOADING=1")
        check(before <= int(begun[0]["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000, "MONOTONIC_USEC is off")
        equal(len([n for n in notes if n.get("READY")]), 1, "READY=1")


@scenario(rows=[37], rings="fuse")
def reload_storm(w):
    """20 in 100 ms: the last content wins; one READY=1 may answer several, but the last word it is."""
    w.add("mock0")
    w.policy(tos(8))
    w.start()
    for i in range(20):
        w.policy(tos(100 + i))
        w.daemon.send_signal(signal.SIGHUP)
    w.await_port("mock0", tos="ok", tos_found=119)
    w.reload()
    words = [n for n in w.notifications() if n.get("RELOADING") or n.get("READY")]
    check(words[-1].get("READY"), "the last word is not READY=1")
    check(all("MONOTONIC_USEC" in n for n in words if n.get("RELOADING")), "RELOADING=1 without MONOTONIC_USEC=")
    equal(w.kernel_value("mock0", 1, "tos"), 119, "TOS")


@scenario(rows=[37], rings="fuse")
def reload_during_the_first_pass(w):
    for i in range(10):
        w.add(f"mock{i}")
    w.policy(tos(8))
    w.fault("write", "delay", 100)
    w.start(wait_ready=False)
    w.wait_until(lambda: w.accesses(), "the first pass has begun")
    w.policy(tos(104))
    w.daemon.send_signal(signal.SIGHUP)
    for i in range(10):
        w.await_port(f"mock{i}", tos="ok", tos_found=104)
    w.wait_until(lambda: [n for n in w.notifications() if n.get("RELOADING") or n.get("READY")][-1].get("READY"),
                 "READY=1 is the last word")


@scenario(rows=[38])
def bad_policy_on_reload(w):
    """The old one stays in force, for devices that come as well; STATUS says so until a good one is loaded."""
    w.add("mock0")
    w.policy(tos(104))
    w.start()
    loaded = w.policy_sha256()
    good = w.status_text()
    w.policy(BAD)
    w.reload_bad()
    w.wait_until(lambda: w.status_text() != good, "STATUS tells of the bad policy")
    status = w.status()
    equal(status["policy"]["sha256"], loaded, "hash of the policy in force")
    matches(r"policy\.yaml:4", status["policy"]["error"], "error in status")
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    w.add("mock1")
    w.await_port("mock1", tos="ok", tos_found=104)
    matches(r"policy\.yaml:4", w.worst(3)[0]["MESSAGE"], "error told")
    spoilt = w.status_text()
    matches(r"policy\.yaml|invalid|refused", spoilt, "STATUS")
    w.policy(tos(8))
    w.reload()
    w.await_port("mock1", tos="ok", tos_found=8)
    equal(w.status()["policy"]["error"], None, "error in status")
    w.wait_until(lambda: w.status_text() != spoilt, lambda: f"STATUS is another than {w.status_text()!r}")


@scenario(rows=[38])
def policy_deleted(w):
    """No policy: values are left alone, one warning says how many ports were let go."""
    w.add("mock0", ["v1v2", "v1v2"])
    w.policy(tos(104))
    w.start()
    w.policy(None)
    w.reload()
    w.await_port("mock0", 1, "unmanaged", "unmanaged")
    equal(w.status()["policy"], None, "policy in status")
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    warnings = [r["MESSAGE"] for r in w.worst(4)]
    equal(len(warnings), 1, f"warnings, which are {warnings}")
    matches("2 ", warnings[0], "warning")
    w.policy(tos(8))
    w.reload()
    w.await_port("mock0", 2, tos="ok", tos_found=8)


@scenario()
def rule_taken_away(w):
    """It does not bring the kernel's default back."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n")
    w.start()
    w.policy("version: 1\nrules: []\n")
    w.reload()
    w.await_port("mock0", 1, "unmanaged", "unmanaged")
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104), "values")
    w.wait_until(lambda: not w.directories(), "the directory, which is of no use any more, is removed", 2)


@scenario(rows=[45])
def read_on_reload_only(w):
    w.add("mock0")
    w.policy(tos(8))
    w.start()
    w.policy(tos(104))
    w.add("mock1")
    w.await_port("mock1", tos="ok", tos_found=8)
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS before the reload")


@scenario(rows=[45])
def symlink_swap(w):
    """As a config map is replaced: a link to a directory changes its target."""
    w.add("mock0")
    for name, value in (("a", 8), ("b", 104)):
        w.policy(tos(value), f"/etc/roced/..{name}/policy.yaml")
    os.symlink("..a", "/etc/roced/..data")
    os.symlink("..data/policy.yaml", POLICY)
    w.start()
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS")
    os.symlink("..b", "/etc/roced/..new")
    os.rename("/etc/roced/..new", "/etc/roced/..data")
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=104)


@scenario(rows=[45])
def leftovers_are_ignored(w):
    w.add("mock0")
    w.policy(tos(104))
    for name in ("x.yaml~", ".x.yaml.swp", "x.yaml.rpmnew", "x.yaml.dpkg-old", ".hidden.yaml", "README"):
        w.drop_in(name, "not: a policy\n")
    w.start()
    w.await_port("mock0", tos="ok", tos_found=104)
    equal(w.status()["policy"]["files"], [POLICY], "files")


@scenario()
def drop_ins(w):
    """Sorted by name over three directories, hidden and masked by name, before policy.yaml."""
    w.add("mock0")
    w.add("mock1")
    w.policy(tos(104))

    def one(device, value):
        return f"version: 1\nrules: [{{match: {{device: {device}}}, tos: {value}}}]\n"
    w.drop_in("20-a.yaml", one("mock0", 8), "/usr/lib/roced")
    w.drop_in("10-b.yaml", one("mock1", 12), "/usr/lib/roced")
    w.start()
    equal([w.kernel_value(f"mock{i}", 1, "tos") for i in (0, 1)], [8, 12], "TOS")
    equal(w.status()["policy"]["files"],
          ["/usr/lib/roced/policy.d/10-b.yaml", "/usr/lib/roced/policy.d/20-a.yaml", POLICY], "files")
    equal(w.status()["policy"]["sha256"],
          w.policy_sha256("/usr/lib/roced/policy.d/10-b.yaml", "/usr/lib/roced/policy.d/20-a.yaml", POLICY), "hash")
    w.drop_in("20-a.yaml", one("mock0", 16), "/run/roced")
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=16)
    w.drop_in("20-a.yaml", one("mock0", 20), "/etc/roced")
    w.drop_in("10-b.yaml", "")
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=20)
    w.await_port("mock1", tos="ok", tos_found=104)
    os.unlink("/etc/roced/policy.d/20-a.yaml")
    os.symlink("/dev/null", "/etc/roced/policy.d/20-a.yaml")
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=104)
    equal(w.status()["policy"]["files"], [POLICY], "files")


@scenario(rows=[52])
def run_drop_in_outlives_the_daemon(w):
    w.add("mock0")
    w.policy(tos(8))
    w.drop_in("50-site.yaml", tos(104), "/run/roced")
    w.start()
    w.await_port("mock0", tos="ok", tos_found=104)
    w.stop()
    check(os.path.exists("/run/roced/policy.d/50-site.yaml"), "the drop-in is gone after stop")
    w.start()
    w.await_port("mock0", tos="ok", tos_found=104)
