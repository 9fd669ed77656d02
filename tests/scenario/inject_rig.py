# SPDX-License-Identifier: LGPL-2.1-or-later

"""A short life of the daemon, or a call of the tool, in which one system call or allocation fails, or a kill comes; and what
has to hold whichever it was."""

import json
import os
import re
import shutil
import signal
import socket
from dataclasses import dataclass, field

from world import check, equal, links_of_open_files

LOG = "/run/inject.log"
COUNT = "/run/allocations"
SETTLE = "/run/roced/settle"
STATE = "/run/roced/state.json"
POLICY = """version: 1
rules:
  - match: {{device: mock0, netdev: "n*"}}
    mode: v2
    tos: {tos}
  - match: {{driver: mlx5_core, pci: "0000:3b:*", property: {{ID_PATH: "pci-*"}}}}
    mode: v2
    tos: {tos}
"""
PROPERTIES = {"ID_PATH": "pci-0000:3b:00.0"}
PATIENCE = 15


@dataclass(frozen=True)
class Call:
    thread: str
    name: str
    about: str
    fate: str


@dataclass
class Outcome:
    """What came of it: the calls, the exit code of a daemon that ended before its time, and what it said that it does not
    say otherwise."""
    calls: list
    exit: int = None
    told: list = field(default_factory=list)

    def hit(self):
        return next((c for c in self.calls if c.fate != "passed"), None)


def read_log():
    """The calls that were made, when all who made them are gone."""
    with open(LOG) as f:
        supervisor = int(f.readline())
    try:
        os.waitpid(supervisor, 0)
    except ChildProcessError:
        pass
    with open(LOG, errors="backslashreplace") as f:
        lines = [line.rstrip("\n").split("\t") for line in list(f)[1:]]
    return [Call(*a) for a in lines if len(a) == 4]


class Rig:
    def __init__(self, w, build):
        self.w = w
        self.tools = f"{build}/tests/fault"
        w.recheck = 0.05
        w.command("prefer v1")
        w.add("mock0")
        w.add("mock1", ["v1v2", "ib"], pci=w.pci[0], properties=PROPERTIES)
        w.foreign_mkdir("mock1")

    def reset(self):
        """As before the first start, but for the other program's directory."""
        w = self.w
        for name, ports in (("mock0", "v1v2"), ("mock1", "v1v2,ib")):
            w.command(f"del {name}")
            w.command(f"add {name} {ports}")
        shutil.rmtree("/run/roced")
        os.mkdir("/run/roced")
        w.inotify.watch("/run/roced", w.inotify.MOVED_TO)
        w.journal_sync()
        w.journal.clear()
        w.notes.clear()
        open("/run/stderr", "w").close()
        w.policy(POLICY.format(tos=104))

    def environment(self, **more):
        mark = f"{self.tools}/libmark.so"
        return {"LD_PRELOAD": f"{mark} libumockdev-preload.so.0", **more}

    def prefix(self, plan):
        return (f"{self.tools}/inject", LOG, *map(str, plan), "--")

    def clear_up(self):
        """After a case that failed, so that the next one is judged by itself."""
        w = self.w
        if w.daemon and w.daemon.poll() is None:
            w.kill()
        if "mock2" in w.netdevs:
            w.remove("mock2")
        for name in w.directories():
            if name != "mock1":
                w.foreign_rmdir(name)
        if "mock1" not in w.directories():
            w.foreign_mkdir("mock1")

    # The daemon's life

    def start(self, plan=None, **environment):
        prefix = self.prefix(plan) if plan is not None else ()
        self.w.start(wait_ready=False, prefix=prefix, **self.environment(**environment))

    def gone(self):
        return self.w.daemon.poll() is not None

    def wait(self, predicate, what, timeout=PATIENCE):
        """Until it is so, or the daemon has ended, which gives False."""
        return self.w.wait_until(lambda: self.gone() or predicate(), what, timeout) is not True or not self.gone()

    def holds(self, name, tos):
        return self.w.kernel_value(name, 1, "mode") == "v2" and self.w.kernel_value(name, 1, "tos") == tos

    def await_values(self, tos, *names):
        w = self.w

        def right():
            return all(self.holds(n, tos) for n in names) and self.state_agrees(tos, names)
        return self.wait(right, lambda: f"{names} have mode v2 and TOS {tos}, they have "
                         f"{[(w.kernel_value(n, 1, 'mode'), w.kernel_value(n, 1, 'tos')) for n in names]}, "
                         f"told {self.told()}, state {self.states()}")

    def states(self):
        """What the daemon says of each port's attribute."""
        try:
            with open(STATE) as f:
                state = json.load(f)
        except FileNotFoundError:
            return {}
        return {(d["name"], p["port"], a): p[a] for d in state["devices"] for p in d["ports"] for a in ("mode", "tos")}

    def state_agrees(self, tos, names):
        """The state file may come a moment after the values, or some seconds where it could not be written at first."""
        states = self.states()
        wanted = {"mode": "v2", "tos": tos}
        return all(states.get((n, 1, a), {}).get("state") == "ok" and states[n, 1, a]["wanted"] == wanted[a]
                   for n in names for a in wanted)

    def check_truth(self):
        """Nothing is said to be right that is not, at a moment at which nothing changes."""
        for (name, port, attribute), said in self.states().items():
            if said["state"] == "ok":
                equal(self.w.kernel_value(name, port, attribute), said["wanted"],
                      f"{attribute} of {name}/{port}, said to be ok; told {self.told()}")

    def ready(self):
        return any(n.get("READY") for n in self.w.notes)

    def repair(self, tos):
        """Another program writes. Where it could not be watched for, which is told, the next look finds it."""
        self.w.foreign_write("mock0", 1, "tos", "1")
        return self.reload(tos) if self.has_told("cannot be watched") else self.await_values(tos, "mock0")

    def hotplug(self, tos):
        self.w.add("mock2", pci=self.w.pci[1], properties=PROPERTIES)
        fine = self.await_values(tos, "mock2")
        self.w.remove("mock2")
        return fine and self.wait(lambda: "mock2" not in self.w.directories(), "the directory of the device that went is removed")

    def reload(self, tos):
        """A policy that could not be read stays without effect, which is told; the operator tries again."""
        self.w.policy(POLICY.format(tos=tos))
        before = self.count_told("policy")
        fine = self.hang_up()
        if fine and self.count_told("policy") > before:
            fine = self.hang_up()
        return fine and self.await_values(tos, "mock0", "mock1")

    def hang_up(self):
        mark = len(self.w.notes)
        self.w.daemon.send_signal(signal.SIGHUP)
        return self.wait(lambda: any(n.get("READY") for n in self.w.notes[mark:]), "an answer to the reload")

    def settle(self):
        """What udevd's program asks is answered, or there is nobody to ask."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(0.5)
            try:
                s.connect(SETTLE)
                s.send(b"add\nmock0 1\n")
                s.recv(1)
            except (OSError, TimeoutError):
                pass
        return not self.gone()

    def live(self):
        """What can happen in a short life. Each step gives False once the daemon has ended."""
        yield self.wait(self.ready, "READY=1")
        yield self.await_values(104, "mock0", "mock1")
        self.check_truth()
        yield self.settle()
        yield self.repair(104)
        yield self.hotplug(104)
        yield self.reload(48)
        self.check_truth()
        yield self.check_files()

    def check_files(self):
        """Files that stay open."""
        def links():
            return sorted(re.sub(r"\d+", "N", link) for link in links_of_open_files(self.w.daemon.pid))
        if self.files is None:
            self.files = links()
        self.wait(lambda: not [f for f in set(links()) if links().count(f) > self.files.count(f)],
                  lambda: f"only {self.files} are open, it is {links()}")
        return not self.gone()

    files = None

    def told(self):
        """What it complains of. All goes to stderr here, whether or not the journal can be reached."""
        text = self.w.stderr()
        lines = [line.split("[")[0].strip() for line in text.splitlines() if re.search(r": (error|warning): ", line)]
        states = [f"{r.get('ROCED_DEVICE')} {r.get('ROCED_ATTRIBUTE')} {r['ROCED_STATE']}" for r in list(self.w.journal)
                  if r.get("ROCED_STATE", "ok") != "ok"]
        return lines + states

    def count_told(self, words):
        return sum(words in line for line in self.told())

    def has_told(self, words):
        return self.count_told(words) > 0

    def check_changes(self):
        """Each change that is told was a write that went through."""
        self.w.journal_sync()
        for name in ("mock0", "mock1", "mock2"):
            for attribute in ("mode", "tos"):
                told = [r for r in list(self.w.journal) if "ROCED_READBACK" in r and r.get("ROCED_STATE") == "ok"
                        and (r.get("ROCED_DEVICE"), r.get("ROCED_ATTRIBUTE")) == (name, attribute)]
                writes = self.w.accesses("write", name, attribute, program=None)[self.written[name, attribute]:]
                done = [a for a in writes if a["result"].isdigit()]
                check(len(told) <= len(done), f"{len(told)} changes of {name}'s {attribute} are told, {len(done)} were made")

    def count_writes(self):
        return {(n, a): len(self.w.accesses("write", n, a, program=None))
                for n in ("mock0", "mock1", "mock2") for a in ("mode", "tos")}

    def finish(self):
        """Stop, and what is left then: nothing of its own."""
        self.w.daemon.send_signal(signal.SIGTERM)
        self.w.wait_exit(PATIENCE)

    def run_daemon(self, plan=(), **environment):
        """With the fault, and then, if it has ended or left something, once more without, as the service manager would."""
        self.reset()
        self.written = self.count_writes()
        self.start(plan, **environment)
        fine = True
        for fine in self.live():
            if not fine:
                break
        if fine:
            self.finish()
        code = self.w.daemon.wait()
        told = self.told()
        outcome = Outcome(read_log() if plan is not None else [], None if fine else code, told)
        self.check_exit(outcome, code)
        self.check_changes()
        if "mock2" in self.w.netdevs:
            self.w.remove("mock2")
        if not fine or self.w.directories() != ["mock1"] or self.leftovers():
            self.recover()
        equal(self.w.directories(), ["mock1"], "directories at the end")
        equal(self.leftovers(), [], "files at the end")
        return outcome

    def check_exit(self, outcome, code):
        """A crash is a signal; whatever else ends it is told, unless the kill was asked for."""
        hit = outcome.hit()
        if hit and hit.fate == "KILL":
            return
        right = [0] if outcome.exit is None else [1]
        if hit and "policy" in hit.about and hit.fate == "EACCES" and outcome.exit is not None:
            right = [78]
        check("Sanitizer" not in self.w.stderr(), self.w.stderr()[-3000:])
        check(code in right, f"exit {code}, told {outcome.told}, stderr {self.w.stderr()[-2000:]!r}")
        check(code == 0 or outcome.told, f"exit {code} without a word: {self.w.stderr()[-2000:]!r}")

    @staticmethod
    def leftovers():
        """Locks stay, as others may hold them; the record's directory may."""
        return sorted(os.path.join(d, f) for d, _, files in os.walk("/run/roced") for f in files
                      if f not in ("lock", "lock.owner") and d.startswith("/run/roced"))

    def recover(self):
        """All is well after a start without a fault, whatever the one before has left."""
        with open("/run/stderr", "a") as f:
            f.write("--- again\n")
        self.w.notes.clear()
        self.w.policy(POLICY.format(tos=104))
        self.start()
        check(self.wait(self.ready, "READY=1 of the next one"), "the next one ends")
        check(self.await_values(104, "mock0", "mock1"), "the next one ends")
        self.check_truth()
        self.w.stop()

    # Memory

    def count_allocations(self):
        self.run_daemon(None, FAULT_ALLOCATIONS=COUNT)
        with open(COUNT) as f:
            return int(f.read())

    def run_without_memory(self, number):
        return self.run_daemon(None, FAULT_ALLOCATION=str(number))

    # The tool

    def run_apply(self, plan=()):
        """It says what it did, and once more without a fault all is well."""
        w = self.w
        self.reset()
        self.written = self.count_writes()
        process = w.run([*self.prefix(plan), w.binaries["rocectl"], "apply"], env=w.environment(**self.environment()))
        outcome = Outcome(read_log(), None, process.stderr.splitlines())
        self.check_applied(process, outcome)
        self.check_changes()
        process = w.check_exit(w.rocectl("apply"), 0)
        check(self.holds("mock0", 104) and self.holds("mock1", 104), "the next call leaves values that are wrong")
        equal(w.directories(), ["mock1"], "directories at the end")
        equal(self.leftovers(), [], "files at the end")
        return outcome

    def check_applied(self, process, outcome):
        code, said = process.returncode, process.stdout + process.stderr
        hit = outcome.hit()
        if hit and hit.fate == "KILL":
            return
        check(code in (0, 1, 3), f"exit {code}, said {said!r}")
        right = self.holds("mock0", 104) and self.holds("mock1", 104)
        check(right or code != 0, f"it says that all is well, and it is not: {said!r}")
        check(code == 0 or said.strip(), f"exit {code} without a word")
        if code != 0 and not outcome.told:
            outcome.told = process.stdout.splitlines()
