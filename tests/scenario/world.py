# SPDX-License-Identifier: LGPL-2.1-or-later

"""What scenarios are written against, whichever world they run in: devices come and go, a policy is there or not, the
daemon runs, and what came of it is looked at. The worlds differ in where devices and events come from."""

import ctypes
import hashlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time
import uuid

POLICY = "/etc/roced/policy.yaml"
CONFIGFS = "/sys/kernel/config"
JOURNAL = "/run/systemd/journal/socket"
MARKER = "roced-scenario"
LINT = "936b28aa8072497b9521d1599866d7c2"       # something in a policy looks wrong
URGENT = ("chrt", "--fifo", "1")      # to run a program in spite of a busy machine, where its timing is looked at
FILES = {"mode": "default_roce_mode", "tos": "default_roce_tos"}
TEXTS = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}

scenarios = {}


class Failure(Exception):
    pass


class Skip(Exception):
    pass


# So many times the time that a scenario may take; for longer courses than the usual.
PATIENCE = int(os.environ.get("ROCED_PATIENCE", "1"))


def scenario(rows=(), rings="both", timeout=60, slow=1):
    """rows: of field-cases; rings: "both", "fuse" or "vm"; slow: how much longer it may take in the VM."""
    def register(function):
        name = function.__name__.replace("_", "-")
        assert name not in scenarios, f"two scenarios are called {name}"
        function.rows, function.rings, function.timeout, function.slow = rows, rings, timeout, slow
        scenarios[name] = function
        return function
    return register


def check(condition, message):
    if not condition:
        raise Failure(message)


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r}, expected {expected!r}")


def matches(pattern, text, what):
    check(re.search(pattern, text or ""), f"{what}: {text!r}, expected /{pattern}/")


def links_of_open_files(pid):
    """What a process has open at the moment, less what it closes in that moment."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return found


class Inotify:
    """A watch on directories; readable when something happened there."""
    MODIFY, ATTRIB, CLOSE_WRITE, MOVED_TO, CREATE, DELETE, DELETE_SELF = 2, 4, 8, 128, 256, 512, 1024

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)

    def fileno(self):
        return self.fd

    def watch(self, path, mask):
        wd = self.libc.inotify_add_watch(self.fd, path.encode(), mask)
        if wd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        return wd

    def read(self):
        """(watch, mask, name) of all that happened so far."""
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        events = []
        while data:
            wd, mask, _, length = struct.unpack_from("iIII", data)
            events.append((wd, mask, data[16:16 + length].rstrip(b"\0").decode()))
            data = data[16 + length:]
        return events

    def close(self):
        os.close(self.fd)


class World:
    name = None                 # "fuse" or "vm"
    recheck = 1.0               # seconds after which to look again though nothing was heard
    factor = 1                  # how much slower this world is

    def __init__(self):
        self.news = threading.Condition()
        self.journal = []       # records in order, each with "_heard", the monotonic time it was seen
        self.marks = set()
        self.notes = []

    # What each world does in its own way: add(), add_rxe(), remove(), rename(), kernel_value(), rdma_cm(), configfs(),
    # start(), stop(), reload(), kill(), status_text(), directories(), run().

    def unblock(self):
        """It took too long: lets go of whoever is held in the kernel, and who could not even be killed."""

    # Waiting

    def wait_until(self, predicate, what, timeout=10):
        """Until the predicate gives something true, which is returned. It is asked again whenever anything is heard."""
        deadline = time.monotonic() + timeout * self.factor
        while True:
            with self.news:
                heard = self.heard()
            found = predicate()
            if found:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise Failure(f"waited {timeout * self.factor:g} s in vain until {what() if callable(what) else what}")
            with self.news:
                self.news.wait_for(lambda: self.heard() != heard, min(left, self.recheck))

    def await_heard(self, timeout):
        """Until anything is heard."""
        with self.news:
            heard = self.heard()
            self.news.wait_for(lambda: self.heard() != heard, timeout)

    def heard(self):
        return self.n_heard

    n_heard = 0

    def tell(self):
        """From the thread that listens: something happened."""
        with self.news:
            self.n_heard += 1
            self.news.notify_all()

    # Policy

    def policy(self, text, path=POLICY):
        """Put it in place whole, as an editor or a package does; None removes it."""
        if text is None:
            os.unlink(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        with open(path + ".new", "wb") as f:
            f.write(data)
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)

    def drop_in(self, name, text, directory="/etc/roced"):
        self.policy(text, f"{directory}/policy.d/{name}")

    def policy_sha256(self, *paths):
        digest = hashlib.sha256()
        for path in paths or [POLICY]:
            with open(path, "rb") as f:
                digest.update(f.read())
        return digest.hexdigest()

    # The tool

    def rocectl(self, *args, **options):
        """A CompletedProcess with text."""
        return self.run(["rocectl", *args], **options)

    def open(self, command, user=None):
        """A program that goes on beside the scenario, to be used with "with"; it ends with its standard input."""
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user)

    def check_exit(self, process, code):
        equal(process.returncode, code, f"exit of {' '.join(process.args)}, which said {process.stdout + process.stderr!r}")
        return process

    def json(self, *args, codes=(0, 3)):
        process = self.rocectl(*args, "--json")
        check(process.returncode in codes, f"{' '.join(args)} exits {process.returncode}: {process.stderr!r}")
        return json.loads(process.stdout)

    def status(self, *args):
        return self.json("status", *args)

    def port(self, name, port=1, status=None):
        """A port as `rocectl status` shows it, or None."""
        for device in (status or self.status())["devices"]:
            if device["name"] == name:
                for p in device["ports"]:
                    if p["port"] == port:
                        return p
        return None

    def await_port(self, name, port=1, mode=None, tos=None, timeout=10, **found):
        """Until the states are these; mode_found= and tos_found= compare values, rule= a rule's name."""
        seen = []

        def settled():
            p = self.port(name, port)
            seen[:] = [p]
            if not p:
                return None
            if mode and p["mode"]["state"] != mode or tos and p["tos"]["state"] != tos:
                return None
            for key, value in found.items():
                if key == "rule":
                    if (p["rule"] or {}).get("name") != value:
                        return None
                elif p[key.removesuffix("_found")]["found"] != value:
                    return None
            return p
        return self.wait_until(settled, lambda: f"{name}/{port} is mode={mode} tos={tos} {found}, it is {seen[0]}", timeout)

    def await_kernel(self, name, port=1, mode=None, tos=None, timeout=10):
        """Until the kernel's device holds these, whatever roced says."""
        wanted = {k: v for k, v in (("mode", mode), ("tos", tos)) if v is not None}
        self.wait_until(lambda: all(self.kernel_value(name, port, k) == v for k, v in wanted.items()),
                        lambda: f"the kernel has {wanted} for {name}/{port}, it has "
                        f"{ {k: self.kernel_value(name, port, k) for k in wanted} }", timeout)

    # The journal

    def journal_sync(self, timeout=10):
        """Until all that was logged so far has been heard: a mark of our own goes the same way, and is last."""
        if not os.path.exists(JOURNAL):
            return
        mark = uuid.uuid4().hex
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(f"MESSAGE=mark\nPRIORITY=7\nSYSLOG_IDENTIFIER={MARKER}\nMARK={mark}\n".encode(), JOURNAL)
        with self.news:
            check(self.news.wait_for(lambda: mark in self.marks, timeout * self.factor), "the journal is not heard")

    def hear(self, record):
        """From the thread that listens."""
        if record.get("SYSLOG_IDENTIFIER") == MARKER:
            self.marks.add(record["MARK"])
        else:
            self.journal.append({**record, "_heard": time.monotonic()})

    def records(self, **fields):
        """The records of roced and rocectl since the scenario began, a field of None is one that is not there."""
        self.journal_sync()
        return [r for r in list(self.journal) if all(r.get(k) == v for k, v in fields.items())]

    def await_record(self, timeout=10, **fields):
        found = self.wait_until(lambda: self.records(**fields), f"a record with {fields} comes", timeout)
        return found[0]

    def changes(self, device=None):
        """Records of changes tried: those with what was read back."""
        return [r for r in self.records() if "ROCED_READBACK" in r and device in (None, r["ROCED_DEVICE"])]

    def worst(self, priority):
        """Records of that priority or worse, what is said of the policy's style aside."""
        return [r for r in self.records() if int(r["PRIORITY"]) <= priority and r.get("MESSAGE_ID") != LINT]

    def complaints(self, priority):
        return [r["MESSAGE"] for r in self.worst(priority)]

    def lints(self):
        return [r["MESSAGE"] for r in self.records(MESSAGE_ID=LINT)]

    def await_status(self, pattern, timeout=10):
        self.wait_until(lambda: re.search(pattern, self.status_text() or ""),
                        lambda: f"STATUS matches /{pattern}/, it is {self.status_text()!r}", timeout)
        return self.status_text()

    # Other programs that use configfs

    def attribute_path(self, name, port, attribute):
        return f"{self.configfs_path}/rdma_cm/{name}/ports/{port}/{FILES[attribute]}"

    def foreign_mkdir(self, name):
        os.mkdir(f"{self.configfs_path}/rdma_cm/{name}")

    def foreign_rmdir(self, name):
        os.rmdir(f"{self.configfs_path}/rdma_cm/{name}")

    def foreign_write(self, name, port, attribute, text):
        fd = os.open(self.attribute_path(name, port, attribute), os.O_WRONLY)
        try:
            return os.write(fd, text.encode())
        finally:
            os.close(fd)

    def foreign_read(self, name, port, attribute):
        with open(self.attribute_path(name, port, attribute)) as f:
            return f.read()

    def kernel_value(self, name, port, attribute):
        """"v1", "v2" or a number, as the kernel's device holds it."""
        text = self.kernel_text(name, port, attribute).rstrip("\n")
        if attribute == "tos":
            return int(text)
        return {v: k for k, v in TEXTS.items()}[text]

    def directories(self):
        try:
            return sorted(os.listdir(f"{self.configfs_path}/rdma_cm"))
        except FileNotFoundError:
            return []

    def remove_policies(self):
        for directory in ("/etc/roced", "/run/roced", "/usr/lib/roced"):
            if os.path.isdir(directory):
                for entry in os.listdir(directory):
                    path = f"{directory}/{entry}"
                    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    # The daemon's process

    def open_files(self):
        """Those that stay: a socket of a notification that is being sent is none of them."""
        self.reload()
        seen = []

        def settled():
            seen.append(sorted(re.sub(r"\d+", "N", link) for link in links_of_open_files(self.pid())))
            return seen[-1] and seen[-2:-1] == seen[-1:]
        self.wait_until(settled, "the files that it has open are the same twice")
        return seen[-1]

    def memory(self):
        """What is its own, in KiB."""
        with open(f"/proc/{self.pid()}/smaps_rollup") as f:
            return sum(int(line.split()[1]) for line in f if line.startswith("Private_"))

    # For the report of a failure

    def describe(self):
        lines = [f"    STATUS={self.status_text()}"]
        for r in self.records()[-25:]:
            fields = " ".join(f"{k[6:].lower()}={v}" for k, v in sorted(r.items()) if k.startswith("ROCED_"))
            lines.append(f"    <{r.get('PRIORITY')}> {r.get('MESSAGE')}   [{fields}]")
        return "\n".join(lines)


def shell(*args, **options):
    return subprocess.run(args, check=True, capture_output=True, text=True, **options)
