# SPDX-License-Identifier: LGPL-2.1-or-later

"""Others write what roced wrote, remove what it made, and the network devices under it change."""

import os
import signal

from world import check, equal, matches, scenario

ALL = "version: 1\nrules: [{name: all, match: any, mode: v2, tos: 104}]\n"


@scenario(rows=[29])
def foreign_write_is_repaired(w):
    w.add("mock0")
    w.policy(ALL)
    w.start()
    w.foreign_write("mock0", 1, "tos", "106")
    record = w.await_record(ROCED_TRIGGER="drift")
    equal((record["ROCED_ATTRIBUTE"], record["ROCED_FOUND"], record["ROCED_READBACK"], record["ROCED_STATE"]),
          ("tos", "106", "104", "ok"), "record")
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    w.foreign_write("mock0", 1, "mode", "IB/RoCE v1")
    w.await_kernel("mock0", 1, mode="v2", timeout=2)
    w.await_port("mock0", 1, "ok", "ok")


@scenario(rows=[29])
def foreign_write_of_the_right_value(w):
    """Nothing has drifted, nothing is told."""
    w.add("mock0")
    w.policy(ALL)
    w.start()
    n = len(w.changes())
    for _ in range(5):
        w.foreign_write("mock0", 1, "tos", "0x68")
    w.reload()
    equal(len(w.changes()), n, "changes told")


@scenario(rows=[29], timeout=120)
def fighting_writer(w):
    """Backed off from, reported, and in force again within the schedule once it stops."""
    w.add("mock0")
    w.policy(ALL)
    w.start()

    def fight():
        try:
            w.foreign_write("mock0", 1, "tos", "8")
        except FileNotFoundError:
            pass
        return w.records(ROCED_DEVICE="mock0", ROCED_STATE="drifted")

    told = w.wait_until(fight, "it is told")
    matches("backing off", told[0]["MESSAGE"], "what is told")
    for _ in range(40):
        fight()
        w.await_heard(0.05)
    changes = len(w.changes("mock0"))
    check(changes < 20, f"{changes} changes told of a fight")
    w.await_port("mock0", tos="ok", tos_found=104, timeout=70)


@scenario(rows=[29])
def drift_under_report(w):
    """A rule that reports sees it, and only tells."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 0, enforcement: report}]\n")
    w.start()
    w.await_port("mock0", tos="ok")
    w.foreign_write("mock0", 1, "tos", "8")
    w.await_port("mock0", tos="drifted", tos_found=8)
    w.foreign_write("mock0", 1, "tos", "0")
    w.await_port("mock0", tos="ok")
    equal([r["ROCED_STATE"] for r in w.records(ROCED_DEVICE="mock0")], ["drifted", "ok"], "states told")
    equal(w.kernel_value("mock0", 1, "tos"), 0, "TOS")


@scenario(rows=[50])
def foreign_rmdir(w):
    """No error; the watch is on the new directory."""
    w.add("mock0")
    w.policy(ALL)
    w.start()
    w.foreign_rmdir("mock0")
    w.wait_until(lambda: w.directories() == ["mock0"], "the directory is there again")
    w.await_port("mock0", 1, "ok", "ok")
    w.reload()
    w.foreign_write("mock0", 1, "tos", "8")
    w.await_kernel("mock0", 1, tos=104, timeout=2)
    equal(w.worst(4), w.records(ROCED_TRIGGER="drift", PRIORITY="4"), "warnings")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[50])
def foreign_rmdir_and_mkdir(w):
    """What another made anew is theirs: it stays after stop, and is watched all the same."""
    w.add("mock0")
    w.policy(ALL)
    w.start()
    theirs = False
    w.foreign_rmdir("mock0")
    try:
        w.foreign_mkdir("mock0")
        theirs = True
    except FileExistsError:
        pass
    w.reload()
    w.foreign_write("mock0", 1, "tos", "8")
    w.await_kernel("mock0", 1, tos=104, timeout=2)
    w.stop()
    equal(w.directories(), ["mock0"] if theirs else [], "directories after stop")


@scenario(rows=[48])
def netdev_renamed(w):
    """A rule by netdev is judged anew."""
    w.add("mock0", netdev=["lan0"])
    w.policy("version: 1\nrules: [{match: {netdev: san0}, tos: 104}]\n")
    w.start()
    w.await_port("mock0", tos="unmanaged")
    w.rename_netdev("lan0", "san0")
    w.await_port("mock0", tos="ok", tos_found=104)
    equal(w.port("mock0")["netdev"], "san0", "netdev")


@scenario(rows=[43])
def synthetic_events(w):
    """sysfs is the truth: no write, no record, no error."""
    w.add("mock0")
    w.policy(ALL)
    w.start()
    n = len(w.records())
    for action in ("add", "change", "bind", "unbind", "remove", "online", "offline"):
        for _ in range(20):
            w.uevent(action, "mock0")
    w.reload()
    w.await_port("mock0", 1, "ok", "ok")
    equal([r["MESSAGE"] for r in w.records()[n:] if "ROCED_DEVICE" in r], [], "records")
    equal(w.complaints(4), [], "warnings")
    if w.name == "fuse":
        equal(len(w.writes()), 1, "writes")
        equal(len(w.accesses("mkdir")), 1, "directories made")


@scenario(rows=[49], rings="fuse")
def no_watches_to_be_had(w):
    """Limits of inotify are used up: one warning, and the daemon works on."""
    w.add("mock0")
    w.add("mock1")
    w.policy(ALL)
    for i, limit in enumerate(("max_inotify_watches", "max_inotify_instances"), 1):
        # A user namespace has limits of its own.
        w.start(prefix=["unshare", "--user", "--map-root-user", "sh", "-c",
                        f"echo 0 > /proc/sys/user/{limit}; exec \"$@\"", "sh"])
        w.await_port("mock0", 1, "ok", "ok")
        w.await_port("mock1", 1, "ok", "ok")
        equal(len(w.worst(4)), i, f"warnings with no {limit}, which are {[r['MESSAGE'] for r in w.worst(4)]}")
        w.stop()


@scenario(rows=[49], rings="fuse", timeout=90)
def watch_queue_overflows(w):
    """What was lost is looked for."""
    w.add("mock0", ["v1v2"] * 2)
    w.policy(ALL)
    w.start()
    with open("/proc/sys/fs/inotify/max_queued_events") as f:
        limit = int(f.read())
    w.daemon.send_signal(signal.SIGSTOP)
    files = [os.open(w.attribute_path("mock0", port, "tos"), os.O_WRONLY) for port in (1, 2)]
    for _ in range(limit // 2 + 10):
        for fd in files:
            os.pwrite(fd, b"104", 0)
    for fd in files:
        os.close(fd)
    w.foreign_write("mock0", 2, "tos", "8")
    w.daemon.send_signal(signal.SIGCONT)
    w.await_kernel("mock0", 2, tos=104)
    w.await_port("mock0", 2, "ok", "ok")


@scenario(rows=[44], rings="fuse", timeout=90)
def idle_is_quiet(w):
    """No access and no record when nothing happens."""
    for i in range(8):
        w.add(f"mock{i}")
    w.policy(ALL)
    w.start()
    n = len(w.records())
    w.quiet(15)
    equal(len(w.records()), n, "records")
    equal([f for f in w.open_files() if "/sys/" in f], [], "files open below /sys")
