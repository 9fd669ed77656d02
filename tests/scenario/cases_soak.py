# SPDX-License-Identifier: LGPL-2.1-or-later

"""A host that changes all day, in a minute: whatever came, in the end it is as the policy says, and nothing was said but
what there was to say. ROCED_SOAK_SECONDS and ROCED_SOAK_SEED choose another length and another course."""

import os
import random
import time

from world import TEXTS, check, equal, scenario

SECONDS = int(os.environ.get("ROCED_SOAK_SECONDS", "60"))
SEED = int(os.environ.get("ROCED_SOAK_SEED", "4791"))
NAMES = [f"mock{i}" for i in range(8)]
POLICIES = [
    "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n",
    "version: 1\nrules: [{match: any, mode: v2, tos: 8}]\n",
    "version: 1\nrules: [{match: {device: 'mock[0-3]'}, mode: v1, tos: 184}, {match: any, mode: v2, tos: 40}]\n",
]
BAD = "version: 1\nrules: [{match: any, tos: 256}]\n"


def wanted(policy, name):
    if policy == 2:
        return ("v1", 184) if name in NAMES[:4] else ("v2", 40)
    return (("v1", 104), ("v2", 8))[policy]


class Soak:
    def __init__(self, w):
        self.w = w
        self.random = random.Random(SEED)
        self.present = set()
        self.policy = 0
        self.written = set()            # device, attribute and value of what we wrote as another program does

    def step(self):
        steps = ["add"] * 6 + ["remove"] * 4 + ["rename"] * 2 + ["write"] * 4 + ["rmdir"] * 2 + ["bounce"] * 2 \
            + ["events"] * 2 + ["reload", "bad", "kill"]
        getattr(self, self.random.choice(steps))()

    def any_present(self):
        return self.random.choice(sorted(self.present)) if self.present else None

    def any_absent(self):
        absent = sorted(set(NAMES) - self.present)
        return self.random.choice(absent) if absent else None

    def add(self):
        name = self.any_absent()
        if name:
            self.w.add(name, ["v1v2"] * self.random.randint(1, 2), netdev=[])
            self.present.add(name)

    def remove(self):
        name = self.any_present()
        if name:
            self.w.remove(name)
            self.present.remove(name)

    def bounce(self):
        name = self.any_present()
        if name:
            self.w.remove(name)
            self.w.add(name, ["v1v2"] * self.random.randint(1, 2), netdev=[])

    def rename(self):
        old, new = self.any_present(), self.any_absent()
        if old and new:
            self.w.rename(old, new)
            self.present.remove(old)
            self.present.add(new)

    def write(self):
        name = self.any_present()
        attribute = self.random.choice(["mode", "tos"])
        value = self.random.choice(["v1", "v2"]) if attribute == "mode" else str(self.random.randint(0, 255))
        try:
            if name:
                self.written.add((name, attribute, value))
                self.w.foreign_write(name, 1, attribute, TEXTS.get(value, value))
        except OSError:
            pass                # the directory is not there at the moment

    def rmdir(self):
        name = self.any_present()
        try:
            if name:
                self.w.foreign_rmdir(name)
        except OSError:
            pass

    def events(self):
        name = self.any_present()
        for action in ("change", "add", "bind") if name else ():
            self.w.uevent(action, name)

    def reload(self):
        self.policy = self.random.randrange(len(POLICIES))
        self.w.policy(POLICIES[self.policy])
        self.w.reload()

    def bad(self):
        self.w.policy(BAD)
        self.w.reload_bad()
        self.w.policy(POLICIES[self.policy])
        self.w.reload()

    def kill(self):
        self.w.kill()
        self.w.start()

    def explained(self, record):
        """Drift that is backed off from, a write of ours between roced's own and its look at it, the bad policies that we wrote, rules
        that match nothing for a moment."""
        if "ROCED_DEVICE" not in record:
            return "policy" in record["MESSAGE"]
        if record.get("ROCED_TRIGGER") == "drift" or record.get("ROCED_STATE") == "drifted":
            return True
        where = record["ROCED_DEVICE"], record.get("ROCED_ATTRIBUTE"), record.get("ROCED_READBACK")
        return record.get("ROCED_STATE") == "failed" and record.get("ROCED_PORT") == "1" and where in self.written


@scenario(rows=[24, 25, 26, 27, 29, 37, 38, 43, 50], timeout=SECONDS + 150)
def soak(w):
    soak = Soak(w)
    w.policy(POLICIES[0])
    w.start()
    begin, n = time.monotonic(), 0
    try:
        while time.monotonic() - begin < SECONDS:
            soak.step()
            n += 1
            if soak.random.random() < 0.5:
                w.await_heard(0.05)
        # The longest back-off from another writer is a minute.
        for name in sorted(soak.present):
            mode, tos = wanted(soak.policy, name)
            w.await_kernel(name, 1, mode=mode, tos=tos, timeout=70)
            w.await_port(name, 1, "ok", "ok", timeout=70)
        w.wait_until(lambda: set(w.directories()) == soak.present,
                     lambda: f"directories {w.directories()} are those of {sorted(soak.present)}")
        equal([r["MESSAGE"] for r in w.worst(4) if not soak.explained(r)], [], "warnings that nothing explains")
        check(w.running(), "the daemon has ended")
        w.stop()
        equal(w.directories(), [], "directories after stop")
    except Exception as e:
        raise type(e)(f"after {n} steps with ROCED_SOAK_SEED={SEED}: {e}") from e
