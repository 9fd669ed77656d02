# SPDX-License-Identifier: LGPL-2.1-or-later

"""Large policies."""

import os
import re
import shutil
import subprocess
import tempfile

from places import MODE, TOS, Supervised
from registry import benchmark
from world import check

# Of rules that match no port here; the last rule of each policy matches them all.
KINDS = {
    "in full": "{device: mlx5_%d}",
    "by their beginning": "{netdev: 'enp%df*'}",
    "by their end": "{netdev: '*v%d'}",
}


def text(kind, n):
    rules = "".join(f"  - name: rule {i}\n    match: {KINDS[kind] % (i + 5000)}\n    mode: v2\n    dscp: 26\n" for i in range(n))
    return f"version: 1\nrules:\n{rules}  - match: any\n    mode: {MODE}\n    tos: {TOS}\n"


def write(directory, kind, n):
    path = os.path.join(directory, f"{kind.replace(' ', '-')}-{n}.yaml")
    with open(path, "w") as f:
        f.write(text(kind, n))
    return path


def turns(*command):
    """Nanoseconds by name, from lines of both."""
    found = {}
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, ns = line.rsplit(" ", 1)
        found.setdefault(name, []).append(int(ns))
    return found


def instructions(program, path, function):
    """As valgrind counts them, which no load of the machine changes."""
    with tempfile.NamedTemporaryFile() as out:
        process = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", "--collect-atstart=no",
                                  f"--toggle-collect={function}", program, "parse", "1", path],
                                 check=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    return int(re.search(r"Collected : (\d+)", process.stderr).group(1))


@benchmark(worlds=("fuse",))
def parsing(place, report):
    program = place.programs["policy-cost"]
    n = 100 if place.quick else 10000
    with tempfile.TemporaryDirectory() as directory:
        for kind in "in full", "by their beginning":
            path = write(directory, kind, n)
            found = turns(program, "parse", "2" if place.quick else "25", path)
            report.add("parsing", f"rules that name devices {kind}", [ns / 1e6 for ns in found["parse"]], "ms", n)
            report.add("parsing", "bare libyaml events of the same file", [ns / 1e6 for ns in found["events"]], "ms", n)
            report.ratio("parsing", "ratio in processor time", found["parse"], found["events"], n, "≤ 1.5 ×")
            if shutil.which("valgrind") and not place.quick:
                counts = [instructions(program, path, f) for f in ("measure_parse", "measure_events")]
                report.ratio("parsing", "ratio in instructions", counts[:1], counts[1:], n, "≤ 1.5 ×")


@benchmark(worlds=("fuse",))
def matching(place, report):
    """The rules of 1,024 ports, none of which the policy names."""
    program = place.programs["policy-cost"]
    ports, sizes = (4, (10, 100)) if place.quick else (1024, (10, 10000))
    with tempfile.TemporaryDirectory() as directory:
        for kind in KINDS:
            few, many = (write(directory, kind, n) for n in sizes)
            found = turns(program, "match", "2" if place.quick else "25", str(ports), few, many)
            for n, path in zip(sizes, (few, many)):
                report.add("matching", f"all ports, rules that name devices {kind}", [ns / 1e3 for ns in found[path]], "µs", n)
            report.add("matching", "for each added rule and port",
                       [(b - a) / (sizes[1] - sizes[0]) / ports for a, b in zip(found[few], found[many])], "ns", sizes[1])


@benchmark(worlds=("fuse",))
def large_policy(place, report):
    """A whole pass of the daemon over settled ports, the policy's loading included."""
    ports, sizes = (4, (10, 100)) if place.quick else (1024, (10, 10000))
    place.populate(ports)
    for kind in KINDS:
        place.policy(text(kind, sizes[0]))
        daemon = Supervised(place, place.programs["roced"])
        found = {n: [] for n in sizes}
        for _ in range(2 if place.quick else 9):
            for n in sizes:
                place.policy(text(kind, n))
                daemon.reload()         # the first tells of rules that match nothing
                found[n].append(daemon.reload()[0])
        report.add("large policy", f"reload and pass, rules that name devices {kind}", [ns / 1e6 for ns in found[sizes[1]]], "ms",
                   sizes[1])
        report.ratio("large policy", f"{sizes[1]:,} rules / {sizes[0]} rules", found[sizes[1]], found[sizes[0]], sizes[1], "≤ 2 ×")
        check(daemon.stop() == 0, "roced fails")
