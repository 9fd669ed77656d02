# SPDX-License-Identifier: LGPL-2.1-or-later

"""The unmodified programs under umockdev, with the fake configfs in its sysfs, in mount, network and process namespaces
of their own: what they open by fixed paths is ours. The harness plays kernel, udevd, journald and service manager."""

import itertools
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import threading

import journal
from sysfs import Sysfs
from uevent import Sender
from world import FILES, JOURNAL, URGENT, Failure, Inotify, World, check, equal, shell

TESTBED = "/run/testbed"
FAKE = "/run/fake"
LOG = "/run/fake.log"
NOTIFY = "/run/notify"
STDERR = "/run/stderr"
SO_TIMESTAMPNS = 35


class FuseWorld(World):
    name = "fuse"
    pci = ["0000:3b:00.0", "0000:3b:00.1", "0000:5e:00.0"]
    configfs_path = f"{TESTBED}/sys/kernel/config"
    class_path = f"{TESTBED}/sys/class/infiniband"

    def __init__(self, build):
        super().__init__()
        self.binaries = {"roced": f"{build}/daemon/roced", "rocectl": f"{build}/daemon/rocectl"}
        self.daemon = None
        self.daemons = []
        self.netdevs = {}
        self.n_netdevs = itertools.count()
        self.make_places()
        with open(FAKE + ".stderr", "w") as stderr:
            # A kernel does not wait for its turn on a busy machine, and umockdev lets one thread wait for the other's open.
            self.fake = subprocess.Popen([*URGENT, f"{build}/tests/fuse/rdma_cm_fuse", FAKE, FAKE + ".socket", LOG],
                                         stderr=stderr)
        self.listen()
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.wait_until(self.connect, "the fake answers")
        self.sysfs = Sysfs(TESTBED, FAKE + "/empty-slot")
        self.events = Sender(TESTBED)
        self.configfs(mounted=True)
        self.rdma_cm(loaded=True)

    def make_places(self):
        shell("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
        for path in ("roced", "lock", "udev/data", "systemd/journal", "systemd/system", "cwd", "fake", "overlay",
                     "testbed/run/udev", "testbed/sys"):
            os.makedirs(f"/run/{path}")
        # Newer umockdev takes programs to a database of its own, older lets them read this one.
        os.symlink("/run/udev/data", TESTBED + "/run/udev/data")
        open("/run/udev/control", "w").close()
        with open("/proc/sys/net/unix/max_dgram_qlen", "w") as f:
            f.write("4096")
        self.overlay("/etc")
        shutil.rmtree("/etc/roced", ignore_errors=True)

    def overlay(self, path):
        """What is written there is gone with the namespace."""
        own = f"/run/overlay{path}"
        os.makedirs(own + "/upper")
        os.makedirs(own + "/work")
        shell("mount", "-t", "overlay", "-o", f"lowerdir={path},upperdir={own}/upper,workdir={own}/work", "overlay", path)

    def drop_in(self, name, text, directory="/etc/roced"):
        if directory.startswith("/usr/lib") and not os.path.exists("/run/overlay/usr/lib"):
            self.overlay("/usr/lib")
            shutil.rmtree("/usr/lib/roced", ignore_errors=True)
        super().drop_in(name, text, directory)

    def connect(self):
        try:
            return self.control.connect(FAKE + ".socket") is None
        except OSError:
            check(self.fake.poll() is None, "the fake has died")
            return False

    # What it hears

    def listen(self):
        self.selector = selectors.DefaultSelector()
        self.notify_socket = self.bind(NOTIFY, self.hear_note)
        self.journal_socket = self.bind(JOURNAL, self.hear_record)
        self.inotify = Inotify()
        self.inotify.watch("/run/roced", Inotify.MOVED_TO)
        self.inotify.watch("/run", Inotify.CREATE)
        self.selector.register(self.inotify, selectors.EVENT_READ, lambda _: self.hear_files())
        threading.Thread(target=self.listen_forever, daemon=True).start()

    def bind(self, path, hear):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        s.bind(path)
        if path[0] == "/":
            os.chmod(path, 0o666)
        self.selector.register(s, selectors.EVENT_READ, hear)
        return s

    def listen_forever(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)
                self.tell()

    def hear_note(self, s):
        data, ancillary, _, _ = s.recvmsg(65536, socket.CMSG_SPACE(16))
        text = data.decode()
        note = dict(line.partition("=")[::2] for line in text.split("\n") if line)
        note["_sent"], nanoseconds = struct.unpack("=qq", ancillary[0][2])
        note["_sent"] += nanoseconds / 1e9
        note["_text"] = text
        self.notes.append(note)

    def hear_record(self, s):
        self.hear(journal.receive(s))

    def hear_files(self):
        for _, _, name in self.inotify.read():
            if name == os.path.basename(LOG):
                self.inotify.watch(LOG, Inotify.MODIFY)

    def notifications(self, key=None):
        return [n for n in list(self.notes) if key is None or key in n]

    def check_pings(self, interval):
        """None was late: the kernel's own time stamps tell."""
        sent = [n["_sent"] for n in self.notifications("WATCHDOG")]
        gaps = [b - a for a, b in zip(sent, sent[1:])]
        check(gaps, "no pings")
        check(max(gaps) < interval, f"{max(gaps):.3f} s between two pings, {interval} s allowed")

    def status_text(self):
        notes = self.notifications("STATUS")
        return notes[-1]["STATUS"] if notes else None

    # The fake kernel

    def command(self, line):
        self.control.send(line.encode())
        answer, _, text = self.control.recv(1 << 17).decode().partition(" ")
        if answer != "ok":
            raise OSError(f"{line}: {text}")
        return text

    def kernel_text(self, name, port, attribute):
        return self.command(f"get {name} {port} {FILES[attribute]}")

    def directories(self):
        return sorted(self.command("directories").split())

    def rdma_cm(self, loaded):
        self.command("load" if loaded else "unload")
        if loaded:
            os.makedirs(f"{TESTBED}/sys/module/rdma_cm", exist_ok=True)
            self.sysfs.link("/module/rdma_cm/subsystem", "/module")
        else:
            shutil.rmtree(f"{TESTBED}/sys/module/rdma_cm")
        self.events.send("add" if loaded else "remove", "/module/rdma_cm", "module")

    def configfs(self, mounted):
        if mounted:
            shell("mount", "--bind", FAKE + "/config", self.configfs_path)
        else:
            shell("umount", self.configfs_path)

    def fault(self, operation, action, argument="", device="*", port="*", attribute="*", skip=0, count=-1):
        attribute = FILES.get(attribute, attribute)
        self.command(f"fault {operation} {device} {port} {attribute} {skip} {count} {action} {argument}")

    def release(self):
        self.command("release")

    def clear_faults(self):
        self.command("clear")

    def unblock(self):
        """By a connection of its own: a command may have been interrupted."""
        self.control.close()
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.connect(FAKE + ".socket")
        self.clear_faults()
        self.release()

    def kernel_without_tos(self):
        self.command("tos off")

    def accesses(self, operation=None, device=None, attribute=None, program="roced"):
        """What programs did in configfs, in order."""
        keys = ("number", "program", "operation", "device", "port", "attribute", "text", "result", "time")
        found = []
        with open(LOG) as f:
            for line in f:
                a = dict(zip(keys, line.rstrip("\n").split("\t")))
                if line.endswith("\n") and program in (None, a["program"]) and operation in (None, a["operation"]) \
                        and device in (None, a["device"]) and attribute in (None, FILES_BACK.get(a["attribute"])):
                    found.append(a)
        return found

    def writes(self, device=None, attribute=None):
        return self.accesses("write", device, attribute)

    def quiet(self, seconds):
        """Nothing of roced's reaches configfs for so long."""
        before = len(self.accesses())
        with self.news:
            self.news.wait_for(lambda: len(self.accesses()) != before, seconds)
        equal(self.accesses()[before:], [], f"accesses in {seconds} s of quiet")

    # The fake sysfs and udevd

    def udevd(self, running):
        if running:
            open("/run/udev/control", "w").close()
        else:
            os.unlink("/run/udev/control")

    def database_path(self, subsystem, name):
        if subsystem != "net":
            return f"/run/udev/data/+{subsystem}:{name}"
        with open(f"{TESTBED}/sys/class/net/{name}/ifindex") as f:
            return f"/run/udev/data/n{f.read().strip()}"

    def database(self, subsystem, name, **properties):
        """udevd has finished with it."""
        with open(self.database_path(subsystem, name), "w") as f:
            f.write("I:1000000\n" + "".join(f"E:{k}={v}\n" for k, v in properties.items()) + "V:1\n")

    def add_netdev(self, name, parent="/devices/virtual", announce=True):
        devpath = self.sysfs.add_netdev(name, parent)
        if announce:
            self.database("net", name)
            self.events.send("add", devpath, "net", INTERFACE=name)
        return name

    def rename_netdev(self, old, new):
        before, after = self.sysfs.rename("net", old, new)
        for device in os.listdir(f"{TESTBED}/sys/class/infiniband"):
            for directory, _, files in os.walk(f"{TESTBED}/sys/class/infiniband/{device}/ports"):
                for f in files if directory.endswith("ndevs") else []:
                    self.replace_text(f"{directory}/{f}", old, new)
        self.events.send("move", after, "net", INTERFACE=new, DEVPATH_OLD=before)

    @staticmethod
    def replace_text(path, old, new):
        if os.path.islink(path):
            return
        with open(path) as f:
            if f.read().strip() != old:
                return
        with open(path, "w") as f:
            f.write(new + "\n")

    def add(self, name, ports=("v1v2",), netdev=True, pci=None, guid=None, driver=None, nocm=False, function=None,
            slots=None, properties=None, announce=True, known=True):
        """A device appears. announce: udevd has finished with it, too; known: rdma_cm knows it, too. Returns its name."""
        parent = None
        if function == "sf":
            parent = self.sysfs.add_subfunction(4, pci or self.pci[0])
        elif pci:
            parent = self.sysfs.add_pci(pci, driver or "mlx5_core", physfn=self.pci[2] if function == "vf" else None)
        names = [f"n{next(self.n_netdevs)}" for _ in ports] if netdev is True else list(netdev or [])
        self.netdevs[name] = names
        for n in names:
            if not os.path.lexists(f"{TESTBED}/sys/class/net/{n}"):
                self.add_netdev(n, parent or "/devices/virtual")
        self.sysfs.add_device(name, ports, parent, guid, names, slots)
        if known:
            self.command(f"add {name} {','.join(ports)}{',nocm' if nocm else ''}")
        if announce:
            self.announce(name, **(properties or {}))
        return name

    def add_rxe(self, name):
        return self.add(name, ["v2"])

    def announce(self, name, **properties):
        """udevd has written its entry and tells its listeners."""
        self.database("infiniband", name, **properties)
        self.uevent("add", name, **properties)

    def uevent(self, action, name, devpath=None, **properties):
        devpath = devpath or self.sysfs.devpath("infiniband", name)
        self.events.send(action, devpath, "infiniband", NAME=name, **properties)

    def remove(self, name, announce=True):
        if name in self.command("devices").split():
            self.command(f"del {name}")
        devpath = self.sysfs.remove("infiniband", name)
        if os.path.exists(self.database_path("infiniband", name)):
            os.unlink(self.database_path("infiniband", name))
        if announce:
            self.uevent("remove", name, devpath)
        for netdev in self.netdevs.pop(name, []):
            if os.path.lexists(f"{TESTBED}/sys/class/net/{netdev}"):
                os.unlink(self.database_path("net", netdev))
                self.events.send("remove", self.sysfs.remove("net", netdev), "net", INTERFACE=netdev)

    def kernel_rename(self, old, new):
        """The kernel's part only; returns both device paths."""
        self.command(f"rename {old} {new}")
        self.netdevs[new] = self.netdevs.pop(old, [])
        return self.sysfs.rename("infiniband", old, new)

    def rename(self, old, new):
        before, after = self.kernel_rename(old, new)
        if os.path.exists(self.database_path("infiniband", old)):
            os.rename(self.database_path("infiniband", old), self.database_path("infiniband", new))
        self.uevent("move", new, after, DEVPATH_OLD=before)

    # The service manager

    def environment(self, **more):
        path = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LD_PRELOAD": "libumockdev-preload.so.0",
                "UMOCKDEV_DIR": TESTBED, "ASAN_OPTIONS": "verify_asan_link_order=0:quarantine_size_mb=1",
                "TSAN_OPTIONS": "halt_on_error=1", **more}
        return {k: v for k, v in path.items() if v is not None}

    def start(self, *args, wait_ready=True, journald=True, prefix=(), **environment):
        """environment: NOTIFY_SOCKET=None starts it without; what else is given is added."""
        if not journald:
            os.unlink(JOURNAL)
        self.mark = len(self.notes)
        with open(STDERR, "ab") as stderr:
            self.daemon = subprocess.Popen([*prefix, self.binaries["roced"], *args], cwd="/run/cwd", stdin=subprocess.DEVNULL,
                                           stdout=stderr, stderr=stderr,
                                           env=self.environment(**{"NOTIFY_SOCKET": NOTIFY, **environment}))
        self.daemons.append(self.daemon)
        if wait_ready:
            self.await_ready()
        return self.daemon

    def await_ready(self, timeout=12):
        def ready():
            check(self.daemon.poll() is None, f"roced exits {self.daemon.poll()} before READY: {self.stderr()}")
            return any(n.get("READY") for n in self.notes[self.mark:])
        self.wait_until(ready, "READY=1", timeout)

    def stderr(self):
        with open(STDERR, errors="backslashreplace") as f:
            return f.read()

    def wait_exit(self, timeout=10):
        try:
            return self.daemon.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"roced does not end within {timeout} s") from None

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        equal(self.wait_exit(), 0, "exit of roced at SIGTERM")

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def pid(self):
        return self.daemon.pid

    def running(self):
        return self.daemon.poll() is None

    def reload(self):
        """Until it is done; returns the datagrams that came with it."""
        mark = len(self.notes)
        self.daemon.send_signal(signal.SIGHUP)

        def done():
            check(self.running(), f"roced exits {self.daemon.poll()} at SIGHUP: {self.stderr()}")
            begun = [i for i, n in enumerate(self.notes) if i >= mark and n.get("RELOADING")]
            return begun and any(n.get("READY") for n in self.notes[begun[0] + 1:])
        # roced answers after 10 s at the latest.
        self.wait_until(done, "RELOADING=1 and READY=1", 20)
        return self.notes[mark:]

    def reload_bad(self):
        """There, the unit's check refuses before the daemon is asked; here, the daemon does."""
        self.reload()

    def run(self, command, timeout=30, user=None, stdin=None, env=None):
        command = [self.binaries.get(command[0], command[0]), *command[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd="/run/cwd", user=user,
                              input=stdin, env=env or self.environment())

    def describe(self):
        lines = [super().describe()]
        for daemon in self.daemons:
            lines.append(f"    roced's exit: {daemon.poll()}")
        lines += ["    stderr: " + line for line in self.stderr().splitlines()[-20:]] if os.path.exists(STDERR) else []
        lines += ["    " + " ".join(a.values()) for a in self.accesses(program=None)[-25:]]
        return "\n".join(lines)

    def close(self):
        """The namespaces end with the process, and all that runs in them; the daemon in its own way, so that what it counts of its
        lines is written."""
        self.clear_faults()
        if self.daemon and self.running():
            self.daemon.terminate()
            try:
                self.daemon.wait(5)
            except subprocess.TimeoutExpired:
                self.daemon.kill()


FILES_BACK = {v: k for k, v in FILES.items()}
