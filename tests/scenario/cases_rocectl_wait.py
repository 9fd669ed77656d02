# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl wait: until the daemon has judged everything, and no longer."""

import json
import os
import subprocess

from tool import program
from world import Inotify, check, equal, links_of_open_files, matches, scenario

OPEN = 0x20             # of inotify
TOS = "version: 1\nrules: [{match: any, tos: 8}]\n"


class Waiter:
    """rocectl wait in the background, once it listens."""

    def __init__(self, w, *args):
        environment = w.environment() if hasattr(w, "environment") else None
        self.w = w
        self.process = subprocess.Popen([program(w), "wait", *args], env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        w.wait_until(self.listens, "rocectl listens")

    def listens(self):
        check(self.process.poll() is None, "rocectl wait does not wait")
        return any("inotify" in link for link in links_of_open_files(self.process.pid))

    def ends(self, code):
        self.out, self.err = self.process.communicate(timeout=20 * self.w.factor)
        equal(self.process.returncode, code, f"exit of wait, which said {self.out + self.err!r}")
        return self


@scenario()
def wait_without_daemon(w):
    w.add("mock0")
    for args in ([], ["--timeout", "5"], ["mock0"]):
        process = w.check_exit(w.rocectl("wait", *args), 1)
        equal(process.stdout, "", "stdout")
        matches("systemctl start roced", process.stderr, "stderr")


@scenario()
def wait_when_all_is_judged(w):
    """At once, silent if all is well, else with the reason; any user may."""
    w.add("mock0")
    w.add("mock1", ["v2"])
    w.policy("version: 1\nrules: [{match: {device: mock1}, mode: v1}, {match: any, tos: 8}]\n")
    w.start()
    w.await_port("mock1", mode="unsupported")
    process = w.check_exit(w.rocectl("wait", "mock0", user=65534), 0)
    equal(process.stdout + process.stderr, "", "what a wait for the compliant says")
    for args in ([], ["--timeout=0"], ["mock1"]):
        process = w.check_exit(w.rocectl("wait", *args), 3)
        matches("^mock1/1: mode unsupported, wanted v1", process.stdout, "stdout")
        equal(process.stderr, "", "stderr")
    equal(w.check_exit(w.rocectl("wait", "-q"), 3).stdout, "", "stdout of -q")
    document = w.json("wait", "mock0")
    equal((document["schema"], document["compliant"], document["timed_out"]), (1, True, False), "document")
    equal([d["name"] for d in document["devices"]], ["mock0"], "devices")


@scenario()
def wait_on_a_host_without_devices(w):
    w.start()
    equal(w.json("wait", codes=(0,))["devices"], [], "devices")


@scenario()
def wait_for_the_policy_to_take_effect(w):
    """A port that is pending becomes compliant, and the one who waits hears of it."""
    w.rdma_cm(loaded=False)
    w.add("mock0")
    w.policy(TOS)
    w.start()
    w.await_port("mock0", tos="pending")
    waiter = Waiter(w)
    w.rdma_cm(loaded=True)
    equal(waiter.ends(0).out, "", "stdout")
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS")


@scenario()
def wait_for_a_device_to_come(w):
    w.policy(TOS)
    w.start()
    waiter = Waiter(w, "mock0", "--timeout", "30")
    w.add("mock0")
    waiter.ends(0)
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS")


@scenario(rings="fuse")
def wait_looks_when_there_is_news(w):
    """Not by the clock: what it reads it reads once, until the daemon has told something."""
    w.start()
    opened = Inotify()
    opened.watch("/run/roced", OPEN)
    waiter = Waiter(w, "mock0", "--timeout", "60")
    names = []

    def looked():
        names.extend(name for _, _, name in opened.read())
        return "state.json" in names
    w.wait_until(looked, "rocectl has looked")
    w.quiet(1.5)
    looked()
    equal(names, ["lock", "state.json"], "files that it has opened")
    w.add("mock0")
    waiter.ends(0)
    opened.close()


@scenario()
def wait_in_vain(w):
    """The time is up: what is still missing is named."""
    w.rdma_cm(loaded=False)
    w.add("mock0")
    w.policy(TOS)
    w.start()
    w.await_port("mock0", tos="pending")
    process = w.check_exit(w.rocectl("wait", "--timeout", "1"), 3)
    equal(process.stdout, "mock0/1: tos pending, wanted 8: rdma_cm is not loaded\n", "stdout")
    matches("time is up", process.stderr, "stderr")
    process = w.check_exit(w.rocectl("wait", "--timeout", "0", "mokc0", "--json"), 3)
    document = json.loads(process.stdout)
    equal((document["timed_out"], document["devices"]), (True, []), "document")
    matches("no RDMA device 'mokc0'; did you mean 'mock0'", process.stderr, "stderr")


@scenario(rings="fuse")
def wait_while_the_daemon_ends(w):
    """Whether it is stopped or killed, nobody waits for a daemon that is not there."""
    for end in (w.stop, w.kill):
        w.start()
        waiter = Waiter(w, "mock0", "--timeout", "600")
        end()
        matches("does not run", waiter.ends(1).err, "stderr")


@scenario(rings="fuse")
def wait_for_the_first_word(w):
    """A daemon that has told nothing yet is waited for."""
    w.add("mock0")
    w.policy(TOS)
    w.start()
    os.unlink("/run/roced/state.json")
    waiter = Waiter(w)
    w.add("mock1")
    waiter.ends(0)


@scenario()
def wait_usage(w):
    for args, pattern in ((["wait", "--timeout"], "argument"), (["wait", "--timeout", "-1"], "whole seconds.*'-1'"),
                          (["wait", "--timeout", "1.5"], "whole seconds"), (["wait", "--timeout", ""], "whole seconds"),
                          (["wait", "--timeout", "99999999999999999999"], "whole seconds"),
                          (["wait", "--policy", "x"], "takes no --policy"), (["wait", "a/b"], "no device can bear"),
                          (["status", "--timeout", "1"], "status takes no --timeout"),
                          (["--timeout=1", "plan"], "plan takes no --timeout"), (["wiat"], "did you mean 'wait'")):
        process = w.check_exit(w.rocectl(*args), 2)
        matches(pattern, process.stderr, f"stderr of {args}")
        equal(process.stdout, "", "stdout")
