# SPDX-License-Identifier: LGPL-2.1-or-later

"""What only a real kernel can do: hold the lock of rdma_cm, move a device to another network namespace, count wake-ups."""

import contextlib
import os
import re
import subprocess

from world import check, equal, scenario, shell
from world_vm import CONTROL

V1_104 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"


@contextlib.contextmanager
def lock_held(w):
    """rdma_cm's lock is held meanwhile: a driver takes its time with a listener."""
    w.add_rxe("rxe0")
    listener = subprocess.Popen(["stdbuf", "-oL", "rping", "-s", "-P", "-d"], stdout=subprocess.PIPE, text=True)
    try:
        check(any("rdma_listen" in line for line in listener.stdout), "rping does not listen")
        netdev = w.add_netdev("hang0")
        w.netdevs["hanging"] = [netdev]
        holder = subprocess.Popen(["sh", "-c", 'echo "$1" >"$2"', "-", f"add hanging iwarp@{netdev} hang=600", CONTROL])
        try:
            w.wait_until(lambda: lock_is_held(w), "the lock is held")
            yield
        finally:
            holder.kill()
            holder.wait()
    finally:
        listener.kill()
        listener.wait()


def lock_is_held(w):
    """Whoever makes a directory has to wait, and holds up in turn who looks for one."""
    probe = subprocess.Popen(["mkdir", f"{w.configfs_path}/rdma_cm/none"], stderr=subprocess.DEVNULL)
    try:
        probe.wait(1)
        return False
    except subprocess.TimeoutExpired:
        return True


@scenario(rows=[39], rings="vm", timeout=60)
def lock_held_while_running(w):
    """What blocks is shown and told; reload, status and watchdog go on; then all is as it should be."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    with lock_held(w):
        w.uevent("change", "mock0")
        w.wait_until(lambda: w.status()["daemon"]["blocked"], "status tells that an access blocks")
        check(any("has not answered" in r["MESSAGE"] for r in w.records()), "no record of it")
        w.await_status("has not answered")
        w.policy(V1_104.replace("104", "8"))
        w.reload()
        equal(w.status()["policy"]["sha256"], w.policy_sha256(), "policy in force")
        ping = w.show("WatchdogTimestampMonotonic")
        w.wait_until(lambda: w.show("WatchdogTimestampMonotonic") != ping, "a ping")
    w.await_port("mock0", 1, "ok", "ok", tos_found=8)
    w.stop()


@scenario(rows=[39], rings="vm", timeout=60)
def lock_held_at_start(w):
    """READY comes all the same, with what hangs in STATUS, and the boot goes on."""
    w.add("mock0")
    w.policy(V1_104)
    with lock_held(w):
        w.start()
        check(w.status()["daemon"]["blocked"], "status does not tell that an access blocks")
        equal(w.status()["compliant"], False, "compliant")
        w.await_status("has not answered")
    w.await_port("mock0", 1, "ok", "ok")
    w.stop()


@scenario(rings="vm")
def moves_to_another_network_namespace(w):
    """Gone from here with its directory, whatever it is there; back it has lost its values, and has them again."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    with exclusive_namespaces():
        shell("rdma", "dev", "set", "mock0", "netns", "there")
        w.await_record(MESSAGE="mock0 has gone")
        w.wait_until(lambda: not w.directories(), "its directory is removed")
        equal(w.status()["devices"], [], "devices")
        shell("ip", "netns", "exec", "there", "rdma", "dev", "set", "mock0", "netns", "here")
        w.await_port("mock0", 1, "ok", "ok")
        equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104), "values")
    equal([r["ROCED_FOUND"] for r in w.changes()], ["v2", "0"] * 2, "values found")
    equal(w.complaints(4), [], "warnings")


@contextlib.contextmanager
def exclusive_namespaces():
    """Each device is in one network namespace, "there" is another one than ours, "here"."""
    shell("rdma", "system", "set", "netns", "exclusive")
    try:
        shell("ip", "netns", "add", "there")
        shell("ip", "netns", "attach", "here", "1")
        yield
    finally:
        for name in os.listdir("/run/netns"):
            shell("ip", "netns", "del", name)
        shell("rdma", "system", "set", "netns", "shared")


@scenario(rings="vm", timeout=60)
def idle(w):
    """Over a minute a settled daemon wakes up to ping the watchdog, and for nothing else."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.open_files()
    pid = w.show("MainPID")
    trace = subprocess.Popen(["timeout", "60", "strace", "-f", "-ttt", "-p", pid], stderr=subprocess.PIPE, text=True)
    calls = re.findall(r"^(?:\[pid +\d+\] )?[\d.]+ (?:<\.\.\. )?(\w+)", trace.communicate()[1], re.M)
    pings = calls.count("sendmsg")
    period = int(w.show("WatchdogUSec").rstrip("s"))
    check(1 <= pings <= 60 / (period / 2) + 1, f"{pings} messages, with a watchdog of {period} s: {calls}")
    wakeups = calls.count("epoll_wait")
    check(wakeups <= 2 * pings + 1, f"{wakeups} wake-ups with {pings} messages: {calls}")
    # A message is sent with the sender's credentials, from a socket of its own.
    other = set(calls) - {"epoll_wait", "futex", "read", "timerfd_settime", "clock_gettime", "sendmsg", "socket", "connect", "close",
                          "getsockopt", "setsockopt", "getpid", "gettid", "getuid", "getgid", "geteuid", "getegid"}
    equal(other, set(), "other calls")
