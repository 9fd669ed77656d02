# SPDX-License-Identifier: LGPL-2.1-or-later

"""From an event to the value in the kernel."""

import os
import subprocess
import threading
import time

from places import MODE, POLICY, TOS, Supervised
from registry import benchmark
from world import TEXTS, URGENT, check

RULE = "90-roced.rules"
VALUES = 4                      # two ports, two attributes
BLOCK = 10                      # rounds before the next set-up takes its turn


@benchmark(worlds=("fuse",))
def uevent(place, report):
    """The harness plays udevd: from sending its announcement to the last value."""
    place.policy(POLICY)
    daemon = Supervised(place, place.programs["roced"])
    sent = {}
    for i in range(5 if place.quick else 300):
        name = f"mock{i}"
        place.add(name, ("v1v2", "v1v2"), announce=False)
        place.database("infiniband", name)
        place.uevent("add", name)
        sent[name] = place.events.sent
        place.await_kernel(name, 2, mode=MODE, tos=TOS)
        place.remove(name)
    last = {device: seconds for seconds, program, device, _ in place.stores() if program == "roced"}
    report.add("events", "udev's announcement to the last of 4 values", [(last[n] - sent[n]) * 1e3 for n in sent], "ms",
               target="p99 < 2 ms")
    check(daemon.stop() == 0, "roced fails")


@benchmark()
def repair(place, report):
    """From another program's write to roced's. Each attribute three times: the fourth would find roced backing off."""
    if place.name == "vm":
        place.trace_stores()
    place.populate(2 if place.quick else 68)
    place.policy(POLICY)
    daemon = Supervised(place, place.programs["roced"])
    found = []
    for _ in range(1 if place.quick else 3):
        for name, port in place.ports():
            for attribute, text in (("mode", TEXTS["v2"]), ("tos", "0")):
                found.append(repaired(place, name, port, attribute, text))
    report.add("events", "another program's write to its repair", [1e3 * seconds for seconds in found], "ms",
               target="p99 < 2 ms" if place.name == "fuse" else None)
    check(daemon.stop() == 0, "roced fails")


def repaired(place, name, port, attribute, text):
    """Seconds between the two writes, by the clock of who takes them."""
    begin = time.monotonic()
    place.foreign_write(name, port, attribute, text)
    while True:
        stores = [s for s in place.stores(begin) if place.name == "fuse" or s[2] == "end"]
        ours = [s[0] for s in stores if s[1] == "roced"]
        others = [s[0] for s in stores if s[1] != "roced"]
        if ours and others:
            return ours[-1] - others[0]
        check(time.monotonic() - begin < 30, f"{name}/{port} {attribute} is not repaired")
        time.sleep(0.002)


class Listener:
    """What the kernel and udevd say of RDMA devices, with the time of each."""

    def __init__(self, place):
        self.process = subprocess.Popen([*URGENT, place.programs["listen"]], stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline() == "listening\n", "nobody listens")
        self.news = threading.Condition()
        self.events = []
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        for line in self.process.stdout:
            seconds, source, action, name = line.split(" ", 3)
            with self.news:
                self.events.append((float(seconds), source, action, name.rstrip("\n")))
                self.news.notify_all()

    def await_event(self, source, action, name):
        def heard():
            return [e[0] for e in self.events if e[1:] == (source, action, name)]
        with self.news:
            check(self.news.wait_for(heard, 60), f"no {source} {action} of {name}")
            return heard()[0]


def hotplug(place, listener, name, writes):
    """Seconds after the kernel's own event: udevd's announcement, the first value's write begins, the last one has ended."""
    place.trace_write("trace", "")
    place.control(f"add {name} v1v2,v1v2")
    kernel = listener.await_event("kernel", "add", name)
    announced = listener.await_event("udev", "add", name)
    deadline = time.monotonic() + 60
    while writes:
        stores = [s for s in place.stores() if s[1] == "roced"]
        if sum(s[2] == "end" for s in stores) == VALUES:
            break
        check(time.monotonic() < deadline, f"{name} has not got its values")
        time.sleep(0.005)
    place.control(f"del {name}")
    listener.await_event("udev", "remove", name)
    times = [s[0] - kernel for s in stores] if writes else [0]
    return announced - kernel, min(times), max(times)


def set_rule(present):
    path = f"/etc/udev/rules.d/{RULE}"
    if present and os.path.lexists(path):
        os.unlink(path)
    elif not present and not os.path.lexists(path):
        os.symlink("/dev/null", path)
    subprocess.run(["udevadm", "control", "--reload"], check=True)


@benchmark(worlds=("vm",))
def window(place, report):
    """Between a device's appearance and its values: with the udev rule that holds the announcement back, and without."""
    place.trace_stores()
    listener = Listener(place)
    place.policy(POLICY)
    found = {"no daemon": [], "daemon, no rule": [], "daemon and rule": []}
    n = 0
    for _ in range(1 if place.quick else 8):
        for setup, rounds in found.items():
            set_rule(setup != "daemon, no rule")
            daemon = Supervised(place, place.programs["roced"]) if setup != "no daemon" else None
            for _ in range(3 if place.quick else BLOCK):
                n += 1
                rounds.append(hotplug(place, listener, f"w{n}", daemon))
            if daemon:
                check(daemon.stop() == 0, "roced fails")
    set_rule(True)
    tell_window(report, found)


def tell_window(report, found):
    group = "hotplug"
    for setup, rounds in found.items():
        report.add(group, f"kernel's event to udev's announcement: {setup}", [1e3 * r[0] for r in rounds], "ms")
    bare, held = found["daemon, no rule"], found["daemon and rule"]
    report.add(group, "the rule adds to the announcement", [1e3 * (b[0] - a[0]) for a, b in zip(bare, held)], "ms")
    report.add(group, "of that the writes", [1e3 * (r[2] - r[1]) for r in held], "ms")
    report.add(group, "the rule adds beyond the writes", [1e3 * (b[0] - a[0] - (b[2] - b[1])) for a, b in zip(bare, held)], "ms",
               target="< 10 ms")
    report.add(group, "announcement to the last value: daemon, no rule (the window)", [1e3 * (r[2] - r[0]) for r in bare], "ms")
    report.add(group, "announcement to the last value: daemon and rule", [1e3 * (r[2] - r[0]) for r in held], "ms", target="< 0 ms")
