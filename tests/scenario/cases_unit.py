# SPDX-License-Identifier: LGPL-2.1-or-later

"""roced.service under a real service manager: enabling, failing, reloading, the sandbox."""

import os
import subprocess
import time

from world import check, equal, matches, scenario, shell

UNIT = "roced.service"
GOOD = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"
BAD = "version: 1\nrules:\n  - match: any\n    tos: 256\n"


@scenario(rows=[51], rings="vm")
def disabled_stays_off(w):
    w.policy(GOOD)
    w.add("mock0")
    w.add("mock1", pci=w.pci[0])
    shell("udevadm", "settle")
    equal(w.show("ActiveState"), "inactive", "state of the unit")
    equal(w.kernel_value("mock0", 1, "tos"), 0, "TOS")


@scenario(rings="vm")
def enabled_comes_with_the_first_device(w):
    w.policy(GOOD)
    shell("systemctl", "stop", "rdma-hw.target")
    shell("systemctl", "enable", UNIT)
    equal(w.show("ActiveState"), "inactive", "state of the unit before there is a device")
    w.add("mock0")
    w.wait_until(lambda: w.show("ActiveState") == "active", "the unit is active")
    w.await_port("mock0", 1, "ok", "ok")


@scenario(rows=[41, 51], rings="vm", timeout=90)
def bad_policy_does_not_loop(w):
    """Exit 78, once; twenty devices later, too; then the file is fixed and the unit starts by hand at once."""
    w.policy(BAD)
    w.add("mock0")
    shell("systemctl", "enable", UNIT)
    process = w.run(["systemctl", "start", UNIT])
    check(process.returncode != 0, "the unit starts in spite of a bad policy")
    equal((w.show("ExecMainStatus"), w.show("NRestarts"), w.show("ActiveState")), ("78", "0", "failed"), "unit")
    equal(w.directories(), [], "directories")
    located = [r["MESSAGE"] for r in w.worst(3) if "/etc/roced/policy.yaml:4:" in r["MESSAGE"]]
    equal(len(located), 1, f"errors with their place, which are {located}")
    for i in range(1, 21):
        w.add(f"mock{i}", netdev=[])
    shell("udevadm", "settle")
    equal((w.show("NRestarts"), w.show("ActiveState")), ("0", "failed"), "unit after twenty devices")
    w.policy(GOOD)
    shell("systemctl", "start", UNIT)
    w.await_port("mock20", 1, "ok", "ok")


@scenario(rows=[54], rings="vm")
def systemctl_reload(w):
    """Fails on a bad file, which stays without effect; the old policy remains."""
    w.add("mock0")
    w.policy(GOOD)
    w.start()
    w.policy(BAD)
    process = w.run(["systemctl", "reload", UNIT])
    check(process.returncode != 0, "reload of a bad policy succeeds")
    journal = shell("journalctl", "-u", UNIT, "--no-pager", "-n50").stdout
    matches(r"policy\.yaml:4:\d+", journal, "the error in the unit's journal")
    equal(w.show("ActiveState"), "active", "state of the unit")
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    w.policy(GOOD.replace("104", "8"))
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=8)


@scenario(rings="vm")
def sandbox(w):
    """As tight as promised, and it works in there: hotplug, reload, directories, records."""
    w.policy(GOOD)
    w.start()
    w.add("mock0")
    w.await_port("mock0", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), [], "directories after stop")
    overall = [line for line in shell("systemd-analyze", "security", "--no-pager", UNIT).stdout.splitlines()
               if "Overall exposure" in line][0]
    level = float(overall.split(":")[1].split()[0])
    check(level <= 1.2, overall)
    shell("systemd-analyze", "verify", f"/usr/lib/systemd/system/{UNIT}" if os.path.exists(
        f"/usr/lib/systemd/system/{UNIT}") else f"/lib/systemd/system/{UNIT}")


@scenario(rings="vm")
def killed_daemon_comes_back(w):
    w.add("mock0")
    w.policy(GOOD)
    w.start()
    w.kill()
    w.wait_until(lambda: w.show("ActiveState") == "active" and w.show("NRestarts") != "0", "systemd starts it again")
    w.await_port("mock0", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rings="vm")
def watchdog_is_served(w):
    w.add("mock0")
    w.policy(GOOD)
    w.start()
    usec = w.show("WatchdogUSec")
    check(usec not in ("0", "infinity", ""), f"no watchdog: {usec!r}")
    first = w.show("WatchdogTimestampMonotonic")
    w.wait_until(lambda: w.show("WatchdogTimestampMonotonic") != first, "a ping", 20)


@scenario(rings="vm")
def catalog_explains(w):
    """Each record's MESSAGE_ID has its entry."""
    w.add("mock0")
    w.add_rxe("rxe0")
    w.policy(GOOD)
    w.start()
    w.stop()
    ids = {r["MESSAGE_ID"] for r in w.records() if "MESSAGE_ID" in r}
    check(len(ids) >= 3, f"few kinds of records: {ids}")
    for message_id in ids:
        text = subprocess.run(["journalctl", "--dump-catalog", message_id], capture_output=True, text=True).stdout
        matches("Subject:", text, f"catalog entry of {message_id}")


@scenario(rows=[42], rings="vm", timeout=200)
def lost_events(w):
    """Thousands of events while it is stopped: one record, everything looked at anew, then quiet."""
    w.add("mock0")
    w.policy(GOOD)
    w.start()
    pid = w.show("MainPID")
    shell("kill", "-STOP", pid)
    for _ in range(3000):
        with open("/sys/module/rdma_cm/uevent", "w") as f:
            f.write("change")
    w.add("mock1")
    shell("udevadm", "settle", "--timeout=200")
    shell("kill", "-CONT", pid)
    w.await_port("mock1", 1, "ok", "ok", timeout=20)
    lost = [r for r in w.records() if "lost" in r["MESSAGE"]]
    equal(len(lost), 1, f"records of it, which are {[r['MESSAGE'] for r in lost]}")

    def ticks():
        with open(f"/proc/{pid}/stat") as f:
            return sum(map(int, f.read().rsplit(") ")[1].split()[11:13]))
    before = ticks()
    time.sleep(3)
    check(ticks() - before <= 3, "it is not quiet after the storm")
