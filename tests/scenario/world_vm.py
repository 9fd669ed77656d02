# SPDX-License-Identifier: LGPL-2.1-or-later

"""A virtual machine of our own, from inside: real kernel, systemd, udevd and journald; the devices are those of the test
module rdma_mock, or rxe."""

import glob
import itertools
import json
import os
import subprocess
import threading
import time

from world import CONFIGFS, FILES, MARKER, Failure, Inotify, World, check, shell

CONTROL = "/sys/module/rdma_mock/parameters/control"
CLASS = "/sys/class/infiniband"
UNIT = "roced.service"
NO_RDMA_CM = "/run/modprobe.d/scenario.conf"


class VmWorld(World):
    name = "vm"
    recheck = 0.2
    factor = 3
    configfs_path = CONFIGFS
    class_path = CLASS

    def __init__(self):
        super().__init__()
        self.n_netdevs = itertools.count()
        self.netdevs = {}
        self.pci = sorted(os.path.basename(os.path.dirname(p)) for p in glob.glob("/sys/bus/pci/devices/*/class")
                          if open(p).read().startswith("0x0200"))
        self.reset()
        self.listen()

    def reset(self):
        """Whatever the scenario before has left. Each program started here takes its time, so only those that are needed."""
        state = dict(line.split("=", 1) for line in shell("systemctl", "show", "-p", "ActiveState,UnitFileState",
                                                          UNIT).stdout.splitlines())
        if state["UnitFileState"] == "enabled":
            shell("systemctl", "disable", UNIT)
        if state["ActiveState"] not in ("inactive", "failed"):
            shell("systemctl", "stop", UNIT)
        self.configfs(mounted=True)
        self.rdma_cm(loaded=True)
        # The module's own first: a name with a slash in it makes the class unreadable for all.
        self.control("clear")
        for name in os.listdir(CLASS) if os.path.isdir(CLASS) else []:
            self.remove(name)
        for name in os.listdir("/sys/devices/virtual/net"):
            if name != "lo":
                shell("ip", "link", "del", name)
        for name in self.directories():
            self.foreign_rmdir(name)
        self.remove_policies()
        shell("udevadm", "settle")

    def close(self):
        VmWorld.current = None
        self.inotify.close()

    # What it hears

    follower = None             # one for all scenarios
    current = None              # the world that hears it

    def listen(self):
        os.makedirs("/run/roced", exist_ok=True)
        self.inotify = Inotify()
        self.inotify.watch("/run/roced", Inotify.MOVED_TO)
        if not VmWorld.follower:
            VmWorld.follower = subprocess.Popen(
                ["journalctl", "--follow", "-n0", "-ojson", "--all", "_COMM=roced", "_TRANSPORT=journal",
                 "+", "_COMM=rocectl", "_TRANSPORT=journal", "+", f"SYSLOG_IDENTIFIER={MARKER}"],
                stdout=subprocess.PIPE, text=True, errors="backslashreplace")
            threading.Thread(target=self.listen_journal, daemon=True).start()
        VmWorld.current = self
        self.wait_until(self.journal_answers, "journalctl follows")
        self.journal.clear()

    def journal_answers(self):
        try:
            self.journal_sync(0.5)
        except Failure:
            return False
        return True

    @classmethod
    def listen_journal(cls):
        for line in cls.follower.stdout:
            record = {}
            for key, value in json.loads(line).items():
                value = value[-1] if isinstance(value, list) and value and not isinstance(value[0], int) else value
                record[key] = bytes(value).decode(errors="backslashreplace") if isinstance(value, list) else value
            if cls.current:
                cls.current.hear(record)
                cls.current.tell()

    def heard(self):
        """What changed in /run/roced is asked for, not told: the wait looks again soon enough."""
        self.n_heard += len(self.inotify.read())
        return self.n_heard

    def status_text(self):
        return self.show("StatusText")

    def show(self, name, unit=UNIT):
        return shell("systemctl", "show", "-P", name, unit).stdout.strip()

    # Devices

    def control(self, command):
        fd = os.open(CONTROL, os.O_WRONLY)
        try:
            os.write(fd, command.encode())
        finally:
            os.close(fd)

    def add_netdev(self, name):
        shell("ip", "link", "add", name, "up", "type", "dummy")
        return name

    def rename_netdev(self, old, new):
        shell("ip", "link", "set", old, "down")
        shell("ip", "link", "set", old, "name", new)
        shell("ip", "link", "set", new, "up")

    def add(self, name, ports=("v1v2",), netdev=True, pci=None, guid=None, nocm=False):
        """Below a PCI device rdma-core's rule renames it; returns the name it then has."""
        names = [f"n{next(self.n_netdevs)}" for _ in ports] if netdev is True else list(netdev or [])
        for n in names:
            if not os.path.exists(f"/sys/class/net/{n}"):
                self.add_netdev(n)
        words = [f"{p}@{names[i]}" if i < len(names) and p not in ("ib", "raw") else p for i, p in enumerate(ports)]
        before = set(os.listdir(CLASS)) if pci else None
        self.control(" ".join(filter(None, ["add", name, ",".join(words), pci and f"pci={pci}", guid and f"guid={guid}",
                                            nocm and "nocm"])))
        if pci:
            shell("udevadm", "settle")
            name, = set(os.listdir(CLASS)) - before
        self.netdevs[name] = names
        return name

    def add_rxe(self, name):
        self.netdevs[name] = [self.add_netdev(f"n{next(self.n_netdevs)}")]
        shell("rdma", "link", "add", name, "type", "rxe", "netdev", self.netdevs[name][0])
        return name

    def remove(self, name):
        if os.path.exists(f"{CLASS}/{name}/parent"):
            shell("rdma", "link", "delete", name)
        else:
            self.control(f"del {name}")
        for netdev in self.netdevs.pop(name, []):
            if os.path.exists(f"/sys/class/net/{netdev}"):
                shell("ip", "link", "del", netdev)

    def rename(self, old, new):
        self.netdevs[new] = self.netdevs.pop(old, [])
        shell("rdma", "dev", "set", old, "name", new)

    def uevent(self, action, name):
        """A synthetic one."""
        with open(f"{CLASS}/{name}/uevent", "w") as f:
            f.write(action)

    def kernel_text(self, name, port, attribute):
        """Through a directory of our own if there is none."""
        directory = f"{CONFIGFS}/rdma_cm/{name}"
        try:
            os.mkdir(directory)
            made = True
        except FileExistsError:
            made = False
        try:
            with open(f"{directory}/ports/{port}/{FILES[attribute]}") as f:
                return f.read()
        finally:
            if made:
                os.rmdir(directory)

    def rdma_cm(self, loaded):
        if loaded:
            if os.path.exists(NO_RDMA_CM):
                os.unlink(NO_RDMA_CM)
            if not os.path.isdir("/sys/module/rdma_cm"):
                shell("modprobe", "rdma_cm")
            return
        os.makedirs(os.path.dirname(NO_RDMA_CM), exist_ok=True)
        with open(NO_RDMA_CM, "w") as f:
            f.write("install rdma_cm /bin/false\n")
        try:
            self.unload("rdma_cm")
        except subprocess.CalledProcessError as e:
            os.unlink(NO_RDMA_CM)
            raise OSError(e.stderr) from None

    def unload(self, module):
        if not os.path.isdir(f"/sys/module/{module}"):
            return
        for holder in os.listdir(f"/sys/module/{module}/holders"):
            self.unload(holder)
        shell("rmmod", module)

    def configfs(self, mounted):
        """Not mounted, it stays so though the unit wants it."""
        if mounted == os.path.ismount(CONFIGFS):
            return
        if mounted:
            shell("systemctl", "unmask", "--runtime", "sys-kernel-config.mount")
            shell("mount", "-t", "configfs", "configfs", CONFIGFS)
        else:
            shell("umount", CONFIGFS)
            shell("systemctl", "mask", "--runtime", "sys-kernel-config.mount")

    # The unit

    def start(self, wait_ready=True):
        if not wait_ready:
            shell("systemctl", "start", "--no-block", UNIT)
            return
        process = self.run(["systemctl", "start", UNIT])
        check(process.returncode == 0, f"the unit does not start: {process.stderr} {self.show('Result')}")

    def stop(self):
        shell("systemctl", "stop", UNIT)
        check(self.show("Result") == "success", f"the unit's result at stop: {self.show('Result')}")

    def kill(self):
        """systemd starts it again."""
        pid = self.show("MainPID")
        shell("systemctl", "kill", "--kill-who=main", "--signal=KILL", UNIT)
        self.wait_until(lambda: self.show("MainPID") != pid, "the killed daemon is gone")

    def pid(self):
        return self.show("MainPID")

    def running(self):
        return self.show("ActiveState") in ("active", "activating", "reloading")

    def reload(self):
        """Until it is done. Where systemd does not wait for it itself (before 253), the daemon's own word is awaited."""
        before = self.status()
        process = self.run(["systemctl", "reload", UNIT])
        check(process.returncode == 0, f"reload fails: {process.stderr}")

        def done():
            now = self.status()
            fresh = any(now[k] != before[k] for k in ("policy", "daemon"))
            return fresh and self.show("SubState") == "running"
        self.wait_until(done, "the reload is done")

    def reload_bad(self):
        """The unit's check fails the reload; so that the daemon, too, has to refuse the file, it is told by hand."""
        process = self.run(["systemctl", "reload", UNIT])
        check(process.returncode != 0, "reload of a bad policy succeeds")
        shell("systemctl", "kill", "--kill-who=main", "--signal=HUP", UNIT)
        self.wait_until(lambda: self.status()["policy"]["error"], "status tells of the bad policy")

    def run(self, command, timeout=30, user=None, stdin=None):
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout * self.factor, user=user, input=stdin)

    def describe(self):
        log = subprocess.run(["journalctl", "-n25", "--no-pager", "-u", UNIT], capture_output=True, text=True).stdout
        return super().describe() + "\n" + "\n".join("    " + line for line in log.splitlines())
