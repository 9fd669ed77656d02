# SPDX-License-Identifier: LGPL-2.1-or-later

"""From start to stop: what is there and what is not when the daemon comes, what it leaves when it goes."""

import json
import os
import re
import stat

from world import URGENT, check, equal, matches, scenario

V1_104 = """
version: 1
rules:
  - name: all
    match: any
    mode: v1
    tos: 104
"""


@scenario()
def enforces_at_start(w):
    w.add("mock0", ["v1v2", "v1v2"])
    w.policy(V1_104)
    w.start()
    for port in (1, 2):
        equal((w.kernel_value("mock0", port, "mode"), w.kernel_value("mock0", port, "tos")), ("v1", 104),
              f"values of port {port} at READY")
    w.await_port("mock0", 1, "ok", "ok")
    w.await_port("mock0", 2, "ok", "ok")
    records = w.changes("mock0")
    equal(sorted((r["ROCED_PORT"], r["ROCED_ATTRIBUTE"]) for r in records),
          [("1", "mode"), ("1", "tos"), ("2", "mode"), ("2", "tos")], "changes told")
    netdev = w.port("mock0")["netdev"]
    for r in records:
        mode = r["ROCED_ATTRIBUTE"] == "mode"
        expected = {"ROCED_WANTED": "v1" if mode else "104", "ROCED_FOUND": "v2" if mode else "0",
                    "ROCED_READBACK": "v1" if mode else "104", "ROCED_STATE": "ok", "ROCED_RULE": "all",
                    "ROCED_RULE_SOURCE": "/etc/roced/policy.yaml:4", "ROCED_POLICY_SHA256": w.policy_sha256(),
                    "ROCED_TRIGGER": "startup", "PRIORITY": "5", "ROCED_PCI": None, "ERRNO": None}
        for key, value in expected.items():
            equal(r.get(key), value, f"{key} of {r['MESSAGE']!r}")
        check(len(r["MESSAGE_ID"]) == 32, "a record without MESSAGE_ID")
        if r["ROCED_PORT"] == "1":
            equal(r.get("ROCED_NETDEV"), netdev, "ROCED_NETDEV")
    check(netdev, "the port has no netdev")


@scenario()
def says_nothing_of_what_is_right(w):
    """No write and no record for what is as the policy wants."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 0}]\n")
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.reload()
    equal(w.records(ROCED_DEVICE="mock0"), [], "records")
    if w.name == "fuse":
        equal(w.writes(), [], "writes")
    equal(w.complaints(4), [], "warnings")


@scenario()
def ready_is_after_the_first_pass(w):
    """256 devices: at READY all have their values, read back. Few enough on an emulated processor, as READY waits 10 s at most."""
    n = 256 if w.name == "fuse" else 16
    for i in range(n):
        w.add(f"mock{i}", ["v1v2"], netdev=[])
    w.policy(V1_104)
    w.start()
    wrong = [i for i in range(n) if w.kernel_value(f"mock{i}", 1, "mode") != "v1"
             or w.kernel_value(f"mock{i}", 1, "tos") != 104]
    equal(wrong, [], "devices without their values at READY")
    equal(w.status()["compliant"], True, "compliant")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario()
def values_stay_and_directories_go(w):
    """On stop roced removes the directories that it made, no others, and no value."""
    w.add("mock0")
    w.add("mock1")
    w.foreign_mkdir("mock1")
    w.policy(V1_104)
    w.start()
    equal(w.directories(), ["mock0", "mock1"], "directories while it runs")
    w.stop()
    equal(w.directories(), ["mock1"], "directories after stop")
    for name in ("mock0", "mock1"):
        equal((w.kernel_value(name, 1, "mode"), w.kernel_value(name, 1, "tos")), ("v1", 104), f"values of {name}")


@scenario()
def no_directory_without_a_value(w):
    """A port that the policy leaves alone is not looked at; one that a rule only reports on is."""
    w.add("mock0")
    w.add("mock1")
    w.add("mock2", ["ib"])
    w.policy("""
version: 1
rules:
  - match: {device: mock0}
  - match: any
    tos: 8
    enforcement: report
""")
    w.start()
    equal(w.directories(), ["mock1"], "directories")
    w.await_port("mock1", tos="drifted", tos_found=0)
    equal(w.port("mock0")["mode"]["state"], "unmanaged", "state of what no rule sets")
    equal(w.kernel_value("mock1", 1, "tos"), 0, "TOS of a port that is only reported on")


@scenario(rows=[50])
def cleans_up_after_a_crash(w):
    """A killed daemon knows at restart which directories were its own."""
    w.add("mock0")
    w.add("mock1")
    w.foreign_mkdir("mock1")
    w.policy(V1_104)
    w.start()
    w.kill()
    if w.name == "fuse":
        equal(w.directories(), ["mock0", "mock1"], "directories after kill -9")
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), ["mock1"], "directories after stop")


@scenario(rows=[50])
def directory_remade_by_another_is_theirs(w):
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.kill() if w.name == "fuse" else w.stop()
    if w.name == "fuse":
        w.foreign_rmdir("mock0")
    w.foreign_mkdir("mock0")
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), ["mock0"], "directories after stop")


@scenario(rows=[1])
def rdma_cm_late(w):
    w.rdma_cm(loaded=False)
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    port = w.await_port("mock0", 1, "pending", "pending")
    matches("rdma_cm", port["mode"]["reason"], "reason")
    w.await_status("rdma_cm")
    w.rdma_cm(loaded=True)
    w.await_port("mock0", 1, "ok", "ok")
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104), "values")
    for attribute in ("mode", "tos"):
        equal([r["ROCED_STATE"] for r in w.records(ROCED_DEVICE="mock0", ROCED_ATTRIBUTE=attribute)], ["pending", "ok"],
              f"states told of {attribute}")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[1])
def rdma_cm_reloaded(w):
    """No directory of roced's pins the module once the devices are gone; what comes back has its values again."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.remove("mock0")
    w.wait_until(lambda: not w.directories(), "the directory of the device that went is removed", 2)
    w.rdma_cm(loaded=False)
    w.rdma_cm(loaded=True)
    w.add("mock0")
    w.await_kernel("mock0", 1, mode="v1", tos=104)
    w.await_port("mock0", 1, "ok", "ok")


@scenario(rows=[2])
def configfs_late(w):
    w.configfs(mounted=False)
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    port = w.await_port("mock0", 1, "pending", "pending")
    matches("configfs", port["mode"]["reason"], "reason")
    w.reload()
    equal(os.listdir(w.configfs_path), [], "what was made in the plain directory")
    w.configfs(mounted=True)
    w.await_port("mock0", 1, "ok", "ok")
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104), "values")


@scenario(rows=[2])
def configfs_remounted(w):
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.configfs(mounted=False)
    w.reload()
    w.await_port("mock0", 1, "pending", "pending")
    equal(os.listdir(w.configfs_path), [], "what was made in the plain directory")
    w.policy(V1_104.replace("104", "8"))
    w.configfs(mounted=True)
    w.reload()
    w.await_port("mock0", 1, "ok", "ok")
    equal(w.kernel_value("mock0", 1, "tos"), 8, "TOS")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[28])
def no_rdma_at_all(w):
    if w.name == "fuse":
        os.rmdir(w.class_path)
    w.policy(V1_104)
    w.start()
    equal(w.status()["devices"], [], "devices")
    equal(w.status()["compliant"], True, "compliant")
    check(w.running(), "the daemon has ended")
    if w.name == "fuse":
        os.mkdir(w.class_path)
    w.add("mock0")
    w.await_port("mock0", 1, "ok", "ok")
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    equal({r["ROCED_TRIGGER"] for r in w.changes()}, {"hotplug"}, "triggers")


@scenario()
def no_policy(w):
    """A legal state: nothing is managed, a warning says so, nothing is made."""
    w.add("mock0", ["v1v2", "v2"])
    w.start()
    status = w.status()
    equal((status["policy"], status["compliant"]), (None, True), "policy and compliant")
    equal(w.port("mock0")["mode"]["state"], "unmanaged", "state")
    equal(w.directories(), [], "directories")
    w.policy(V1_104)
    w.reload()
    equal(w.kernel_value("mock0", 1, "mode"), "v1", "mode after a policy came")


@scenario(rows=[40], rings="fuse")
def notify_socket_odd(w):
    """None, abstract, absent, too long: it works all the same, and says nothing about it."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 104}]\n")
    w.bind("\0roced-notify", w.hear_note)
    for address in ("@roced-notify", None, "/run/nobody-there", "/" + "x" * 300, "relative"):
        w.start(wait_ready=False, NOTIFY_SOCKET=address)
        w.wait_until(lambda: w.status()["daemon"]["running"] and w.status()["daemon"]["last_pass"], "the first pass is done")
        w.await_port("mock0", 1, "ok", "ok")
        w.stop()
    w.wait_until(lambda: w.notifications("READY"), "something comes over the abstract socket")
    equal([line for line in w.stderr().splitlines() if re.search("warn|err|notif", line)], [], "complaints on stderr")
    equal(w.complaints(4), [], "warnings")


@scenario(rings="fuse")
def notify_protocol(w):
    w.add("mock0")
    w.policy(V1_104)
    w.start(prefix=URGENT, WATCHDOG_USEC="600000")
    w.wait_until(lambda: len(w.notifications("WATCHDOG")) >= 4, "four pings have come")
    w.check_pings(0.6)
    w.stop()
    w.wait_until(lambda: w.notifications("STOPPING"), "STOPPING=1 is heard")
    check("READY" in w.notes[0] or len(w.notifications("READY")) == 1, "READY=1 more than once")
    for note in w.notes:
        for line in note["_text"].rstrip("\n").split("\n"):
            matches("^[A-Z_]+=", line, "line of a notification")


@scenario(rows=[41], rings="fuse")
def bad_policy_at_cold_start(w):
    w.add("mock0")
    w.policy("version: 1\nrules:\n  - match: any\n    mod: v2\n")
    w.start(wait_ready=False)
    equal(w.wait_exit(), 78, "exit")
    located = [r["MESSAGE"] for r in w.worst(3) if "/etc/roced/policy.yaml:4:5: " in r["MESSAGE"]]
    equal(len(located), 1, f"errors with their place, which are {located}")
    check(not w.notifications("READY"), "READY=1 in spite of it")
    w.await_status("policy")
    equal(w.accesses(), [], "accesses to configfs")
    equal(w.directories(), [], "directories")


@scenario(rows=[50])
def one_writer(w):
    """A second daemon exits 1, apply refuses, both with a clear line; neither writes."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    second = w.run(["roced"] if w.name == "fuse" else ["/usr/sbin/roced"])
    equal(second.returncode, 1, "exit of a second daemon")
    apply = w.check_exit(w.rocectl("apply"), 1)
    matches("running", apply.stderr, "what apply says")
    equal(len(apply.stderr.strip().splitlines()), 1, f"lines on stderr, which are {apply.stderr!r}")
    equal(apply.stdout, "", "stdout of apply")
    w.await_port("mock0", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rings="fuse")
def state_file(w):
    """Readable by all whatever the umask, replaced whole."""
    w.add("mock0")
    w.policy(V1_104)
    before = os.umask(0o077)
    w.start()
    os.umask(before)
    st = os.stat("/run/roced/state.json")
    equal(stat.S_IMODE(st.st_mode), 0o644, "mode of state.json")
    with open("/run/roced/state.json") as f:
        json.load(f)
    w.policy(V1_104.replace("104", "8"))
    w.reload()
    w.await_port("mock0", tos_found=8)
    check(os.stat("/run/roced/state.json").st_ino != st.st_ino, "state.json is written in place")


@scenario(rows=[31], rings="fuse")
def without_journald(w):
    """The same facts go to stderr as text."""
    w.add("mock0")
    w.policy(V1_104)
    w.start(journald=False)
    w.await_port("mock0", 1, "ok", "ok")
    matches("mock0.*mode.*v1", w.stderr(), "stderr")
    matches("mock0.*tos.*104", w.stderr(), "stderr")


@scenario(rows=[31], rings="fuse")
def without_udevd(w):
    """Nothing is awaited from a udevd that does not run."""
    w.udevd(running=False)
    w.add("mock0", announce=False)
    w.policy("version: 1\nrules: [{match: {device: mock0}, mode: v1}]\n")
    w.start()
    w.await_port("mock0", mode="ok", tos="unmanaged")


@scenario()
def policy_option_reads_one_file(w):
    """--policy FILE: that file, no drop-ins, nothing from /etc."""
    w.add("mock0")
    w.policy(V1_104)
    w.drop_in("10-x.yaml", "version: 1\nrules: [{match: any, tos: 12}]\n")
    w.policy("version: 1\nrules: [{match: any, tos: 16}]\n", "/run/roced/only.yaml")
    if w.name == "fuse":
        w.start("--policy", "/run/roced/only.yaml")
        w.await_port("mock0", tos="ok", tos_found=16)
        w.stop()
    else:
        w.check_exit(w.rocectl("apply", "--policy", "/run/roced/only.yaml"), 0)
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v2", 16), "values")
