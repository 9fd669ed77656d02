# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl on large hosts, and over many hosts."""

import json
import os
import subprocess
import tempfile

from places import POLICY, Supervised
from registry import benchmark
from world import check


@benchmark()
def status(place, report):
    place.policy(POLICY)
    tool = place.programs["rocectl"]
    for size in (2, 4) if place.quick else (64, 1024):
        place.populate(size)
        daemon = Supervised(place, place.programs["roced"])
        runs, versions = [], []
        for _ in range(2 if place.quick else 15):
            runs.append(place.run_once(tool, "status"))
            versions.append(place.run_once(tool, "--version"))
        report.add("rocectl", "status", [ns / 1e6 for ns, _ in runs], "ms", size)
        report.add("rocectl", "status, processor time", [cpu / 1e6 for _, cpu in runs], "ms", size)
        report.add("rocectl", "status, for each port", [(ns - other) / size / 1e3 for (ns, _), (other, _) in zip(runs, versions)],
                   "µs", size)
        check(daemon.stop() == 0, "roced fails")
        place.undo()


@benchmark(worlds=("fuse",))
def compat(place, report):
    """The files of as many hosts as a large site has, beside reading them."""
    place.policy(POLICY)
    place.populate(2)
    daemon = Supervised(place, place.programs["roced"])
    status_file = json.loads(subprocess.run([place.programs["rocectl"], "status", "--json"], check=True, stdout=subprocess.PIPE,
                                            env={**os.environ, "SYSTEMD_DEVICE_VERIFY_SYSFS": "0"}).stdout)
    check(daemon.stop() == 0, "roced fails")
    sizes = (10,) if place.quick else (100, 10000)
    with tempfile.TemporaryDirectory(dir="/run") as directory:
        paths = []
        for i in range(max(sizes)):
            paths.append(f"{directory}/h{i}")
            with open(paths[-1], "w") as f:
                json.dump({**status_file, "host": f"host{i}"}, f)
        for size in sizes:
            found, read = [], []
            for _ in range(2 if place.quick else 9):
                found.append(place.run_once(place.programs["rocectl"], "compat", *paths[:size], codes=(0, 3)))
                read.append(place.run_once("cat", *paths[:size]))
            report.add("rocectl", "compat of status files", [ns / 1e6 for ns, _ in found], "ms", size)
            report.add("rocectl", "compat, for each file", [ns / size / 1e3 for ns, _ in found], "µs", size)
            report.ratio("rocectl", "compat / cat", [ns for ns, _ in found], [ns for ns, _ in read], size)
