# SPDX-License-Identifier: LGPL-2.1-or-later

"""Memory, and what the daemon does while nothing happens."""

import glob
import re
import subprocess
import time

from places import POLICY, Supervised, field
from registry import benchmark
from world import check


@benchmark()
def memory(place, report):
    """Settled, after a pass that wrote every value; beside a program that does nothing, with the same libraries."""
    place.policy(POLICY)
    sizes = (0, 2) if place.quick else (0, 64, 1024)
    least = None
    for devices in sizes:
        place.populate(2 * devices)
        daemon, bare = Supervised(place, place.programs["roced"]), Supervised(place, place.programs["floor"], "--wait")
        daemon.reload()
        (pss, peak), (bare_pss, _) = daemon.memory(), bare.memory()
        least = least or pss
        size = 2 * devices
        report.add("memory", "roced, PSS", [pss], "KiB", size)
        report.add("memory", "roced, most that was resident", [peak], "KiB", size)
        report.add("memory", "bare process, PSS", [bare_pss], "KiB", size)
        report.add("memory", "roced beyond the bare process, PSS", [pss - bare_pss], "KiB", size,
                   f"≤ {1024 + size:,} KiB")
        if size:
            report.add("memory", "for each port, PSS", [(pss - least) / size], "KiB", size, "≤ 1 KiB")
        bare.stop()
        check(daemon.stop() == 0, "roced fails")
        place.undo()
    if place.name == "vm":
        report.add("memory", "rdma-ndd, PSS", [node_description_daemon()], "KiB", size)


def node_description_daemon():
    """rdma-core's daemon, which udev starts with the first device."""
    subprocess.run(["systemctl", "start", "rdma-ndd.service"], check=True)
    pid = subprocess.run(["systemctl", "show", "-P", "MainPID", "rdma-ndd.service"], check=True, stdout=subprocess.PIPE,
                         text=True).stdout.strip()
    return field(f"/proc/{pid}/smaps_rollup", "Pss")


def activity(pid):
    """How often its threads have waited so far, and their processor time in nanoseconds."""
    waits = cpu = 0
    for task in glob.glob(f"/proc/{pid}/task/*"):
        waits += field(f"{task}/status", "voluntary_ctxt_switches")
        with open(f"{task}/schedstat") as f:
            cpu += int(re.match(r"\d+", f.read()).group())
    return waits, cpu


@benchmark()
def idle(place, report):
    place.policy(POLICY)
    place.populate(2 if place.quick else 64)
    seconds = 1 if place.quick else 60
    daemon = Supervised(place, place.programs["roced"])
    before = activity(daemon.pid)
    time.sleep(seconds)
    after = activity(daemon.pid)
    report.add("idle", f"wake-ups in {seconds} s", [after[0] - before[0]], "", len(place.ports()))
    report.add("idle", f"processor time in {seconds} s", [(after[1] - before[1]) / 1e6], "ms", len(place.ports()))
    check(daemon.stop() == 0, "roced fails")
