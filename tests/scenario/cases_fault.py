# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the kernel, or somebody else, can do to each access; only the fake does it when asked."""

import errno
import signal
import subprocess
import time

from world import URGENT, check, equal, matches, scenario, shell

V1_104 = "version: 1\nrules: [{name: all, match: any, mode: v1, tos: 104}]\n"


def fails(w, attribute, found, code=None):
    """It is failed, told once as an error with what was read back, and shown so."""
    states = {"mode": "ok", "tos": "ok", attribute: "failed"}
    port = w.await_port("mock0", 1, states["mode"], states["tos"])
    equal(port[attribute]["found"], found, "found")
    check(port[attribute]["reason"], "no reason given")
    if code:
        equal(port[attribute]["errno"], code, "errno")
    records = w.records(ROCED_DEVICE="mock0", ROCED_ATTRIBUTE=attribute)
    equal([(r["ROCED_STATE"], r["PRIORITY"]) for r in records], [("failed", "3")], "states and priorities told")
    equal(records[0].get("ROCED_READBACK"), None if found is None else str(found), "ROCED_READBACK")
    if code:
        equal(records[0].get("ERRNO"), str(code), "ERRNO")
    w.check_exit(w.rocectl("status"), 3)
    check(w.running(), "the daemon has ended")
    return records[0]


def fault_scenario(name, rows, attribute, found, operation, action, argument="", code=None):
    def run(w):
        w.add("mock0")
        w.policy(V1_104)
        w.fault(operation, action, argument, attribute=attribute)
        w.start()
        fails(w, attribute, found, code)
        w.clear_faults()
        w.reload()
        w.await_port("mock0", 1, "ok", "ok")
        equal(w.records(ROCED_DEVICE="mock0", ROCED_ATTRIBUTE=attribute)[-1]["ROCED_STATE"], "ok", "state told at the end")
    run.__name__ = name
    scenario(rows=rows, rings="fuse")(run)


fault_scenario("write_of_mode_refused", [7], "mode", "v2", "write", "errno", errno.EIO, errno.EIO)
fault_scenario("write_of_tos_refused", [7], "tos", 0, "write", "errno", errno.EINVAL, errno.EINVAL)
fault_scenario("write_of_mode_without_effect", [7], "mode", "v2", "write", "ignore")
fault_scenario("write_of_tos_without_effect", [7], "tos", 0, "write", "ignore")
fault_scenario("short_write_of_mode", [7], "mode", "v2", "write", "short")
fault_scenario("short_write_of_tos", [7], "tos", 0, "write", "short")
fault_scenario("open_refused", [30], "tos", None, "open", "errno", errno.EACCES, errno.EACCES)


@scenario(rows=[7], rings="fuse")
def failure_at_close(w):
    """The value may have got there; what close(2) said counts all the same, or the value read back does."""
    w.add("mock0")
    w.policy(V1_104)
    w.fault("flush", "errno", errno.EIO, attribute="mode")
    w.start()
    w.await_port("mock0", mode="ok", tos="ok")  # the next look finds the value there
    told = [(r["ROCED_STATE"], r.get("ERRNO")) for r in w.records(ROCED_ATTRIBUTE="mode")]
    equal(told, [("failed", str(errno.EIO)), ("ok", None)], "what is told of the mode")


@scenario(rows=[7], rings="fuse")
def lie_at_read_back(w):
    """Whatever the kernel says is what counts; text that is no value is no reason to end."""
    w.add("mock0")
    w.add("mock1")
    w.policy(V1_104)
    w.fault("read", "lie", "17", device="mock0", attribute="tos")
    w.fault("read", "lie", "InfiniBand over carrier pigeon", device="mock1", attribute="mode")
    w.start()
    w.await_port("mock0", mode="ok", tos="failed", tos_found=17)
    w.await_port("mock1", mode="failed", tos="ok")


@scenario(rows=[8], rings="fuse")
def mode_refused_as_unsupported(w):
    """The GID table shows both, and yet the kernel says EINVAL to a right string: it is the port that cannot."""
    w.add("mock0", ["v2"], slots=["IB/RoCE v1", "RoCE v2"])
    w.policy(V1_104)
    w.start()
    port = w.await_port("mock0", 1, "unsupported", "ok")
    check(port["mode"]["reason"], "no reason given")
    equal([a["result"] for a in w.writes(attribute="mode")], ["EINVAL"], "writes of the mode")
    w.reload()
    w.quiet(2)
    equal(len(w.records(ROCED_DEVICE="mock0", ROCED_ATTRIBUTE="mode")), 1, "records of the mode")


@scenario(rows=[6], rings="fuse")
def kernel_without_tos_file(w):
    w.kernel_without_tos()
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    port = w.await_port("mock0", 1, "ok", "unsupported")
    equal(port["tos"]["found"], None, "TOS found")
    check(port["tos"]["reason"], "no reason given")
    equal([(r["ROCED_STATE"], r["PRIORITY"]) for r in w.records(ROCED_ATTRIBUTE="tos")], [("unsupported", "4")], "told")
    w.quiet(2)


@scenario(rows=[27], rings="fuse")
def device_vanishes(w):
    """At any step, its event before or after: it is gone, no more than that, and others are not touched."""
    w.policy(V1_104)
    w.start()
    for operation, skip in (("mkdir", 0), ("lookup", 0), ("lookup", 1), ("open", 0), ("open", 1), ("open", 2), ("open", 3), ("read", 0),
                            ("read", 1), ("read", 2), ("write", 0), ("write", 1)):
        w.fault(operation, "vanish", device="mock0", skip=skip, count=1)
        w.add("mock0")
        w.wait_until(lambda: "mock0" not in w.command("devices").split(), f"it vanishes at {operation} {skip}")
        w.remove("mock0")
        w.add("mock1")
        w.await_port("mock1", 1, "ok", "ok")
        w.remove("mock1")
        w.wait_until(lambda: not w.directories(), "no directory is left")
        w.clear_faults()
    equal(w.complaints(4), [], "warnings")
    check(w.running(), "the daemon has ended")
    w.stop()


STEPS = [(operation, skip) for operation, n in (("lookup", 8), ("open", 6), ("read", 4), ("write", 2)) for skip in range(n)]


@scenario(rows=[27], rings="fuse", timeout=90)
def directory_vanishes(w):
    """Somebody removes it between any two accesses: made again within the same pass, and no word of it."""
    w.add("mock0")
    w.policy(V1_104)
    reached = set()
    for operation, skip in STEPS:
        n = len(w.accesses())
        w.fault(operation, "rmdir", device="mock0", skip=skip, count=1)
        w.start()
        w.await_port("mock0", 1, "ok", "ok")
        equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104), f"after {operation} {skip}")
        if [a["operation"] for a in w.accesses()[n:]].count("mkdir") > 1:
            reached.add(operation)
        w.stop()
        w.clear_faults()
        w.remove("mock0")
        w.add("mock0")
    equal(reached, {"lookup", "open", "read", "write"}, "steps at which it was removed and made again")
    equal(len(w.changes()), 2 * len(STEPS), "changes told")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[27], rings="fuse")
def directory_within_its_removal(w):
    """Another program's rmdir has taken the files, and not yet the name: no reason to say that this kernel has no such files."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.fault("rmdir", "block", device="mock0")
    other = subprocess.Popen(["rmdir", f"{w.configfs_path}/rdma_cm/mock0"])
    w.wait_until(lambda: w.accesses("rmdir", program="rmdir"), "the rmdir is under way")
    w.uevent("change", "mock0")
    w.wait_until(lambda: w.status()["daemon"]["blocked"], "roced waits for it", 15)
    w.release()
    equal(other.wait(10), 0, "exit of rmdir")
    w.wait_until(lambda: not w.status()["daemon"]["blocked"] and w.directories(), "the directory is made again")
    w.await_port("mock0", 1, "ok", "ok")
    equal([r["MESSAGE"] for r in w.worst(4) if "blocked" not in r["MESSAGE"] and "answer" not in r["MESSAGE"]], [], "warnings")
    equal(len(w.changes()), 2, "changes told")
    w.foreign_write("mock0", 1, "tos", "8")
    w.await_kernel("mock0", 1, tos=104)


@scenario(rows=[27], rings="fuse")
def directory_vanishes_from_a_look(w):
    """Who only looks makes none, and says then that nobody knows."""
    w.add("mock0")
    w.policy(V1_104)
    for operation, skip in (("open", 0), ("read", 0), ("open", 1), ("read", 1)):
        w.foreign_mkdir("mock0")
        w.fault(operation, "rmdir", device="mock0", skip=skip, count=1)
        equal(w.port("mock0", 1)["tos"]["state"], "unknown", f"state of the TOS after {operation} {skip}")
        equal(w.directories(), [], "directories")
        w.clear_faults()


@scenario(rows=[26, 27], rings="fuse")
def replaced_in_the_midst(w):
    """A reset between any two steps: what comes back has its values, and no error is told of what was lost on the way."""
    w.policy(V1_104)
    w.start()
    for operation, skip in (("mkdir", 0), ("open", 0), ("read", 0), ("open", 1), ("write", 0), ("open", 2), ("read", 1),
                            ("open", 3), ("open", 4), ("write", 1), ("read", 3), ("open", 6), ("write", 2), ("write", 3)):
        n = len(w.accesses())
        w.fault(operation, "block", device="mock0", skip=skip, count=1)
        w.add("mock0", ["v1v2", "v1v2"])
        w.wait_until(lambda: any(a["result"] == "blocked" for a in w.accesses()[n:]), f"it blocks at {operation} {skip}")
        w.remove("mock0")
        w.add("mock0", ["v1v2"])
        w.release()
        w.await_kernel("mock0", 1, mode="v1", tos=104)
        w.reload()
        w.await_port("mock0", 1, "ok", "ok")
        equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104),
              f"values after {operation} {skip}")
        equal([r["MESSAGE"] for r in w.worst(4)], [], f"warnings after {operation} {skip}")
        w.remove("mock0")
        w.wait_until(lambda: not w.directories(), f"no directory is left after {operation} {skip}")


@scenario(rows=[39], rings="fuse", timeout=90)
def blocked_at_start(w):
    """An access that never returns: READY after 10 s with what hangs, and all but the values goes on."""
    w.add("mock0")
    w.add("mock1")
    w.policy(V1_104)
    w.fault("write", "block", device="mock0", attribute="mode")
    begin = time.monotonic()
    w.start(wait_ready=False, prefix=URGENT, WATCHDOG_USEC="1000000")
    w.await_ready(15)
    took = time.monotonic() - begin
    check(9 < took < 12, f"READY after {took:.1f} s")
    w.await_status("mock0")
    status = w.status()
    equal(w.port("mock0", status=status)["mode"]["state"], "failed", "state of what blocks")
    equal(status["compliant"], False, "compliant")
    matches("mock0", w.await_record(ROCED_DEVICE="mock0", PRIORITY="3")["MESSAGE"], "record")
    w.policy(V1_104.replace("104", "8"))
    begin = time.monotonic()
    w.reload()
    check(time.monotonic() - begin < 2, "a reload waits for what is blocked")
    w.check_pings(1)
    w.release()
    for name in ("mock0", "mock1"):
        w.await_port(name, 1, "ok", "ok")
        equal((w.kernel_value(name, 1, "mode"), w.kernel_value(name, 1, "tos")), ("v1", 8), f"values of {name}")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[39], rings="fuse")
def blocked_while_running(w):
    w.add("mock0")
    w.policy(V1_104)
    w.start(prefix=URGENT, WATCHDOG_USEC="1000000")
    w.fault("mkdir", "block", device="mock1")
    w.add("mock1")
    w.await_status("mock1", 15)
    w.await_port("mock1", mode="failed", timeout=15)
    equal(w.rocectl("status").returncode, 3, "exit of status")
    w.release()
    w.await_port("mock1", 1, "ok", "ok")
    w.check_pings(1)
    w.await_status("^(?!.*mock1)")


@scenario(rows=[39], rings="fuse")
def blocked_at_one_value(w):
    """Of what does not block nothing is told: what was changed before is no change once more."""
    w.add("mock0", ["v1v2", "v1v2"])
    w.policy(V1_104)
    w.start()
    w.await_port("mock0", 2, "ok", "ok")
    w.fault("read", "block", device="mock0", port=2, attribute="mode")
    w.uevent("change", "mock0")
    w.await_port("mock0", 2, mode="failed", tos="ok", timeout=15)
    w.await_port("mock0", 1, "ok", "ok")
    w.release()
    w.await_port("mock0", 2, "ok", "ok")
    equal(len(w.changes()), 4, "changes told")
    equal(len(w.worst(3)), 2, "that it blocks, and what that means for the value")


@scenario(rows=[39], rings="fuse")
def stop_while_blocked(w):
    """Stop does not wait for ever. The process itself may have to: its thread is in the kernel."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.fault("mkdir", "block", device="mock1")
    w.add("mock1")
    w.wait_until(lambda: any(a["result"] == "blocked" for a in w.accesses()), "it blocks")
    w.daemon.send_signal(signal.SIGTERM)
    w.wait_until(lambda: w.notifications("STOPPING"), "STOPPING=1", 2)
    w.wait_until(lambda: any("director" in r["MESSAGE"] for r in w.worst(4)), "a word on what it leaves behind", 10)
    w.release()
    w.wait_exit()


@scenario(rows=[39], rings="fuse", timeout=120)
def slow_kernel(w):
    """256 devices at 50 ms a write: pings in time, READY at 10 s, all values in the end."""
    for i in range(256):
        w.add(f"mock{i}", netdev=[])
    w.policy(V1_104)
    w.fault("write", "delay", 50)
    w.start(prefix=URGENT, WATCHDOG_USEC="500000")
    w.wait_until(lambda: w.status()["compliant"], "all is as it should be", 60)
    w.check_pings(0.5)
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[30], rings="fuse")
def read_only_configfs(w):
    """As a wrong sandbox makes it: failed once, with a hint, and the daemon stays up."""
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.add("mock1")
    w.policy(V1_104)
    shell("mount", "-o", "remount,bind,ro", w.configfs_path)
    w.start()
    for name in ("mock0", "mock1"):
        port = w.await_port(name, 1, "failed", "failed")
        equal(port["mode"]["errno"], errno.EROFS, f"errno of {name}")
        matches("writable", port["mode"]["reason"], f"reason of {name}")
    n = len(w.worst(3))
    w.reload()
    equal(len(w.worst(3)), n, "errors told after a reload")
    shell("mount", "-o", "remount,bind,rw", w.configfs_path)
    w.reload()
    w.await_port("mock0", 1, "ok", "ok")
    w.await_port("mock1", 1, "ok", "ok")


@scenario(rows=[50], rings="fuse")
def killed_within_mkdir(w):
    """The directory is made, and nobody is there to note it down: it is roced's own all the same."""
    w.add("mock0")
    w.add("mock1")
    w.policy(V1_104)
    w.fault("mkdir", "block", device="mock1")
    w.start(wait_ready=False)
    w.wait_until(lambda: any(a["result"] == "blocked" for a in w.accesses()), "it blocks")
    w.daemon.kill()
    w.release()
    w.wait_exit()
    equal(w.directories(), ["mock0", "mock1"], "directories after kill -9")
    w.start()
    w.await_port("mock1", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[44], rings="fuse", timeout=90)
def errors_of_many_devices(w):
    """One record for each attribute that fails, however often it is looked at."""
    n = 256
    for i in range(n):
        w.add(f"mock{i}", netdev=[])
    w.policy(V1_104)
    w.fault("write", "errno", errno.EIO)
    w.start()
    w.reload()
    for i in range(n):
        w.uevent("change", f"mock{i}")
    w.reload()
    equal(len(w.worst(3)), 2 * n, "errors told")
    w.clear_faults()
    w.reload()
    w.wait_until(lambda: w.status()["compliant"], "all is well")
    equal(len(w.changes()), 4 * n, "changes told")


@scenario(rows=[44], rings="fuse")
def a_failure_is_told_once(w):
    w.add("mock0")
    w.policy(V1_104)
    w.fault("write", "errno", errno.EIO, attribute="mode")
    w.start()
    for _ in range(5):
        w.reload()
    for _ in range(20):
        w.uevent("change", "mock0")
    w.reload()
    equal(len(w.worst(3)), 1, "errors told")
    w.await_port("mock0", 1, "failed", "ok")
