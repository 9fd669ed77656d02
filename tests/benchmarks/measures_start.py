# SPDX-License-Identifier: LGPL-2.1-or-later

"""From the start of the daemon to READY, with values to write on every port, beside other ways to the same values; and
what a pass costs when there is nothing to do."""

import collections
import os
import re
import shutil
import statistics
import subprocess

from places import DEFAULT, MODE, POLICY, TOS, WANTED, Supervised
from registry import benchmark
from world import check

HERE = os.path.dirname(os.path.abspath(__file__))

# How often at which size; none where one run would take minutes.
ROUNDS = {
    "roced": {1: 15, 64: 11, 256: 7, 1024: 5},
    "floor, told": {1: 15, 64: 11, 256: 7, 1024: 5},
    "floor": {1: 15, 64: 11, 256: 7, 1024: 5},
    "bare process": {1: 15, 64: 11, 256: 7, 1024: 5},
    "shell loop": {1: 5, 64: 3},
    "a process each": {1: 5, 64: 1},
}
QUICK = {1: 1, 4: 1}


def bring(place, contender):
    """Nanoseconds to READY and of processor time. Afterwards the values are the kernel's defaults again."""
    floor = place.programs["floor"]
    if contender == "bare process":
        program = Supervised(place, floor, "--wait")
        program.stop()
        return program.ns, program.cpu_ns
    if contender == "roced":
        program = Supervised(place, place.programs["roced"])
        place.check_values()
        check(program.stop() == 0, "roced fails")
        found = program.ns, program.cpu_ns
    else:
        found = place.run_once(*{"floor": [floor], "floor, told": [floor, "--told"], "shell loop": [HERE + "/loop"],
                                 "a process each": [HERE + "/each"]}[contender], *WANTED)
        place.check_values()
    place.undo()
    return found


@benchmark()
def start(place, report):
    place.policy(POLICY)
    sizes = sorted(QUICK if place.quick else ROUNDS["roced"])
    for size in sizes:
        place.populate(size)
        rounds = {c: QUICK[size] if place.quick else by_size.get(size, 0) for c, by_size in ROUNDS.items()}
        found = collections.defaultdict(list)
        bring(place, "roced")
        for i in range(max(rounds.values())):
            for contender, n in rounds.items():
                if i < n:
                    found[contender].append(bring(place, contender))
        tell_start(report, size, found)


def tell_start(report, size, found):
    for contender, runs in found.items():
        report.add("start to READY", contender, [ns / 1e6 for ns, _ in runs], "ms", size)
    ours, bare = [ns for ns, _ in found["roced"]], statistics.median(ns for ns, _ in found["bare process"])
    report.add("start to READY", "roced beyond the bare process", [(ns - bare) / 1e6 for ns in ours], "ms", size)
    for contender, target in (("floor", "≤ 1.3 ×"), ("floor, told", None)):
        report.ratio("start to READY", f"roced / {contender}", ours, [ns for ns, _ in found[contender]], size,
                     target if size >= 64 else None)
    for contender in ("floor", "floor, told"):
        report.ratio("start to READY", f"roced / {contender}, processor time", [cpu for _, cpu in found["roced"]],
                     [cpu for _, cpu in found[contender]], size)
    for contender, target in (("shell loop", "≥ 50 ×"), ("a process each", "≥ 1,000 ×")):
        runs = [ns for ns, _ in found[contender]]
        if runs:
            report.ratio("start to READY", f"{contender} / roced", runs, ours, size, target if size >= 64 else None)


def count_calls(place, daemon):
    """System calls of a pass by name, as strace counts them; none may write a value."""
    trace = "/run/bench.strace"
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", trace, "-p", str(daemon.pid)], stderr=subprocess.PIPE, text=True)
    attached = f"/proc/{daemon.pid}/status"
    while True:
        with open(attached) as f:
            if not re.search(r"^TracerPid:\s+0$", f.read(), re.M):
                break
        check(tracer.poll() is None, f"strace: {tracer.stderr.read() if tracer.poll() is not None else ''}")
    daemon.reload()
    tracer.terminate()
    tracer.wait()
    with open(trace) as f:
        lines = f.readlines()
    check(not [x for x in lines if re.search(r"O_WRONLY.*default_roce|mkdir", x)], "a settled pass writes")
    return collections.Counter(re.match(r"\d+ +(\w+)\(", x).group(1) for x in lines if re.match(r"\d+ +\w+\(", x))


@benchmark()
def settled(place, report):
    """A pass over ports that are as they should be: SIGHUP to READY."""
    place.policy(POLICY)
    calls = {}
    for size in (1, 4) if place.quick else (1, 64, 256, 1024):
        place.populate(size)
        daemon = Supervised(place, place.programs["roced"])
        place.check_values()
        writes = len(place.stores()) if place.name == "fuse" else 0
        passes = [daemon.reload() for _ in range(2 if place.quick else 15)]
        report.add("settled pass", "time", [ns / 1e6 for ns, _ in passes], "ms", size)
        report.add("settled pass", "processor time", [cpu / 1e6 for _, cpu in passes], "ms", size)
        report.add("settled pass", "time per port", [ns / size / 1e3 for ns, _ in passes], "µs", size)
        if place.name == "fuse":
            report.add("settled pass", "values written", [len(place.stores()) - writes], "", size, "0")
            reads = len(place.accesses())
            daemon.reload()
            report.add("settled pass", "accesses in configfs per port", [(len(place.accesses()) - reads) / size], "", size)
        if size <= 256 and shutil.which("strace"):
            calls[size] = count_calls(place, daemon)
            report.add("settled pass", "system calls", [sum(calls[size].values())], "", size)
        check(daemon.stop() == 0, "roced fails")
        place.undo()
    if len(calls) > 1:
        small, large = min(calls), max(calls)
        more = calls[large] - calls[small]
        report.add("settled pass", "system calls per port", [sum(more.values()) / (large - small)], "", large)
        for name, n in more.most_common(8):
            report.add("settled pass", f"of these {name}", [n / (large - small)], "", large)
