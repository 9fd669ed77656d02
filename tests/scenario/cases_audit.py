# SPDX-License-Identifier: LGPL-2.1-or-later

"""The audit trail in the real journal: the commands of docs/audit.md, taken from the document itself, and each MESSAGE_ID
with its catalog entry."""

import contextlib
import glob
import os
import re
import shutil
import struct
import tempfile
import time

from world import Failure, check, equal, matches, scenario, shell

DOCUMENT = "/usr/share/doc/roced/audit.md"
JOURNALD = "/run/systemd/journald.conf.d/zz-audit.conf"
PERSISTENT = "/var/log/journal"
COLLECTED = f"{PERSISTENT}/remote"
RECEIVER = "/etc/systemd/system/systemd-journal-remote.service.d"
SENDER = "/etc/systemd/journal-upload.conf.d"
ALL = "version: 1\nrules: [{name: all, match: any, tos: %d}]\n"
FORGED = """import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b"MESSAGE=forged\\nSYSLOG_IDENTIFIER=roced\\nROCED_DEVICE=mlx5_0\\nROCED_TRIGGER=drift\\n"
         b"MESSAGE_ID=0ca9eb415563471f90c22a4384a34cba\\n", "/run/systemd/journal/socket")
"""


class Document:
    """Its code blocks by name. Each has to be run."""

    def __init__(self, w, directory):
        self.w, self.directory = w, directory
        with open(DOCUMENT) as f:
            text = f.read()
        found = re.findall(r"^```sh (\S+)\n(.*?)^```$", text, re.M | re.S)
        self.blocks = dict(found)
        equal((len(self.blocks), len(found) * 2), (len(found), len(re.findall("^```", text, re.M))), "named code blocks")
        self.left = set(self.blocks)

    def run(self, name, code=0):
        """What it prints; of both streams, if it is to fail."""
        self.left.discard(name)
        shell("journalctl", "--sync")
        process = self.w.run(["bash", "-euo", "pipefail", "-c", f"cd {self.directory}\n{self.blocks[name]}"], timeout=60)
        equal(process.returncode, code, f"exit of block {name}, which said {process.stdout + process.stderr!r}")
        return process.stdout if name != "verify" else process.stdout + process.stderr

    def lines(self, name):
        return self.run(name).splitlines()


def follow_anew(w):
    """journalctl watches the directories that were there when it began."""
    world = type(w)
    world.follower.kill()
    world.follower.wait()
    world.follower = None
    w.inotify.close()
    w.listen()


@contextlib.contextmanager
def own_journal(w):
    """systemd's default of where the journal is, in place of the tests', and a collector by the document's name."""
    with open("/etc/hosts") as f:
        hosts = f.read()
    try:
        w.policy("[Journal]\nStorage=auto\n", JOURNALD)
        w.policy(hosts + "127.0.0.1 collector.example\n", "/etc/hosts")
        with tempfile.TemporaryDirectory() as directory:
            yield Document(w, directory)
    finally:
        w.run(["systemctl", "disable", "--now", "systemd-journal-upload.service", "systemd-journal-remote.socket",
               "systemd-journal-remote.service"])
        w.policy(hosts, "/etc/hosts")
        for directory in (RECEIVER, SENDER):
            shutil.rmtree(directory, ignore_errors=True)
        os.unlink(JOURNALD)
        shell("systemctl", "daemon-reload")
        shell("systemctl", "restart", "systemd-journald")
        shutil.rmtree(PERSISTENT, ignore_errors=True)
        follow_anew(w)


def history(w):
    """Start, drift, another policy, rocectl; and somebody who forges."""
    w.add("mlx5_0")
    w.add("mlx5_1")
    w.policy(ALL % 8)
    w.start()
    w.foreign_write("mlx5_0", 1, "tos", "4")
    w.await_record(ROCED_TRIGGER="drift", ROCED_DEVICE="mlx5_0", ROCED_READBACK="8")
    w.foreign_write("mlx5_1", 1, "tos", "5")
    w.await_record(ROCED_TRIGGER="drift", ROCED_DEVICE="mlx5_1", ROCED_READBACK="8")
    w.policy(ALL % 12)
    w.reload()
    w.await_port("mlx5_0", tos="ok", tos_found=12)
    w.stop()
    w.policy(ALL % 16)
    w.check_exit(w.rocectl("apply"), 0)
    w.policy(ALL % 12)
    process = w.run(["python3", "-c", FORGED], user=65534)
    equal(process.returncode, 0, f"forging, which said {process.stderr!r}")
    shell("journalctl", "--sync")
    equal(len(shell("journalctl", "-ocat", "ROCED_DEVICE=mlx5_0", "MESSAGE=forged").stdout.splitlines()), 1, "forged records")


TRAIL = ["tos changed from 0 to 8", "tos changed from 4, which another program had set, to 8", "tos changed from 8 to 12",
         "tos changed from 12 to 16"]


def questions(w, document):
    """What one host's journal answers."""
    found = document.lines("device")
    equal(len(found), len(TRAIL), f"lines of {found}")
    for line, expected in zip(found, TRAIL):
        check(f"mlx5_0 port 1: {expected}" in line, f"line {line!r}, expected {expected!r}")
    text = document.run("explained")
    equal(len(re.findall("Subject: Default tos of mlx5_0 port 1 changed to", text)), 4, f"explanations in {text!r}")
    text = document.run("fields")
    check("forged" not in text, "a forged record is taken for roced's")
    for field, values in (("_COMM", ["roced"] * 3 + ["rocectl"]), ("_UID", ["0"] * 4), ("ROCED_FOUND", ["0", "4", "8", "12"]),
                          ("ROCED_READBACK", ["8", "8", "12", "16"]),
                          ("ROCED_TRIGGER", ["startup", "drift", "reload", "apply"])):
        equal(re.findall(rf"^\s+{field}=(.*)$", text, re.M), values, field)
    equal(len(set(re.findall(r"ROCED_POLICY_SHA256=([0-9a-f]{64})$", text, re.M))), 3, "policies")

    text = document.run("under-policy")
    for pattern, n in (("Policy [0-9a-f]{12} in force", 1), (r"mlx5_\d port 1: tos changed from 8 to 12", 2),
                       ("tos changed", 2)):
        equal(len(re.findall(pattern, text)), n, f"{pattern} in {text!r}")
    found = document.lines("since-policy")
    matches("Policy [0-9a-f]{12} in force", found[0], "first since the policy")
    text = "\n".join(found)
    equal(len(re.findall(r"tos changed from 8 to 12", text)), 2, "under the policy")
    equal(len(re.findall(r"tos changed from 12 to 16", text)), 2, "under the next one")
    check("to 8" not in text and "forged" not in text, f"since the policy: {text!r}")
    equal([line.split() for line in document.lines("drift")], [["2", os.uname().nodename]], "drift of this host")


ENTRY, TAG = 3, 7


def objects(path, kind):
    """Where the objects of a kind are in a journal file. See systemd's documentation of the journal's file format."""
    with open(path, "rb") as f:
        data = f.read()
    equal(data[:8], b"LPKSHHRH", "signature of the file")
    at, = struct.unpack_from("<Q", data, 88)
    tail, = struct.unpack_from("<Q", data, 136)
    found = []
    while at <= tail:
        if data[at] == kind:
            found.append(at)
        at += struct.unpack_from("<Q", data, at + 8)[0] + 7 & ~7
    return found


def forge(path, at):
    """An entry's time becomes another: the file stays whole, as a careful forger would leave it."""
    with open(path, "r+b") as f:
        f.seek(at + 24)
        usec, = struct.unpack("<Q", f.read(8))
        f.seek(at + 24)
        f.write(struct.pack("<Q", usec + 1))


def await_seal(w):
    """Until the history is sealed, which the first record after its interval brings about; the entry that ends it."""
    active, = glob.glob(f"{PERSISTENT}/*/system.journal")
    last = objects(active, ENTRY)[-1]

    def sealed():
        w.journal_sync()
        return objects(active, TAG)[-1] > last
    w.wait_until(sealed, "the records are sealed", 20)
    return last


def proof(w, document):
    """Sealed records are good; an altered one is found, by its seal."""
    last = await_seal(w)
    shell("journalctl", "--rotate")
    text = document.run("verify")
    check("FAIL" not in text and "=> Validated from" in text, f"verified: {text!r}")
    file, = (path for path in glob.glob(f"{PERSISTENT}/*/system@*.journal") if has_trail(path))
    forge(file, last)
    text = document.run("verify", code=1)
    matches(f"FAIL: {re.escape(file)}", text, "verification of a forged file")
    matches("Tag failed verification", text, "what is found wrong is the seal, and nothing else of the file")


def has_trail(file):
    return "ROCED_DEVICE=mlx5_0" in shell("journalctl", f"--file={file}", "-oexport", "ROCED_DEVICE=mlx5_0").stdout


def collected(*match):
    return shell("journalctl", f"--directory={COLLECTED}", "--unit=roced", "-ocat", *match).stdout.splitlines()


def collect(w, document):
    """Over the network, and carried by hand as from another host."""
    document.run("collector")
    document.run("host")
    w.wait_until(lambda: os.path.isdir(COLLECTED) and len(collected("ROCED_DEVICE=mlx5_0")) == 4,
                 lambda: "the records are with the collector: " + w.run(["systemctl", "status", "systemd-journal-upload",
                                                                         "systemd-journal-remote"]).stdout, 30)
    document.run("export")
    path = f"{document.directory}/roced.export"
    with open(path, "rb") as f:
        data = f.read()
    with open(path, "wb") as f:
        f.write(data.replace(f"_HOSTNAME={os.uname().nodename}\n".encode(), b"_HOSTNAME=other\n"))
    document.run("import")
    equal(sorted(line.split() for line in document.lines("fleet-drift")),
          sorted([["2", os.uname().nodename], ["2", "other"]]), "drift over all hosts")
    equal(len(collected("ROCED_DEVICE=mlx5_0", "_HOSTNAME=other")), 4, "records of the other host")


@scenario(rings="vm", timeout=300)
def audit_document(w):
    with own_journal(w) as document:
        document.run("keep")
        follow_anew(w)
        document.run("seal")
        matches(r"^[0-9a-f/-]+\n$", open(f"{document.directory}/verify.key").read(), "key")
        history(w)
        questions(w, document)
        collect(w, document)
        proof(w, document)
        equal(sorted(document.left), [], "blocks of the document that were not run")


IDS = {
    "0ca9eb415563471f90c22a4384a34cba": "changed",
    "b099e375088441ab95720f867677a353": "failed",
    "dfbfb6e05ba4441787a7fa201b8ef2b4": "drifted",
    "2dc625cc46ff464b93c117c3da65324e": "unsupported",
    "33b5936d73964739bd6e330594dc935f": "pending",
    "4ebc6e0b2a7f4edf8b33cb7a4859e30a": "compliant",
    "8a1e39fb8670481fa0d70bfc9bae574b": "device gone",
    "5c92edcd600344018b23a22bd9df99cc": "device failed",
    "56f173d06b8d4d40b66d51f51d6dea62": "device name",
    "8bd106cfb00444088aeb341bd78c006e": "blocked",
    "f1bd6172d3f64e10b9aab0fc06afd710": "unblocked",
    "6ab1a39a77614acaae174740db702a2b": "started",
    "b62e5e68b0d0404c8daa4e6399f69e69": "stopped",
    "09d666647ce7428c8412c46ae2465edb": "fatal",
    "b690b54e4f934cfbb5c4ebae78d6b32f": "policy loaded",
    "340421d0a1b141da951e21d846f29313": "policy invalid",
    "936b28aa8072497b9521d1599866d7c2": "policy warning",
    "d8e84fe68e6748e1847c5cb1f4491137": "policy none",
    "b8fef5fca4f543058e46d88613660015": "events lost",
    "39e7219188ca472892f29d4ab39f5842": "watch failed",
    "9cb7fb8aae8c42c8b1784de670ef88b1": "directories left",
    "d2558104b74f44b08469465cfb3a3345": "unavailable",
    "56025aa4abdd4e508ce1e023950e917c": "many changes",
}
# Provoked in the fuse ring: an access to a real kernel's configfs cannot be made to block and to go on by will.
FUSE_ONLY = {"blocked", "unblocked"}
MANY = """version: 1
rules:
  - {match: {device: ghost}, tos: 1}
  - {match: {device: mock1}, tos: 8, enforcement: report}
  - {match: {device: mock2}, mode: v1}
  - {match: any, mode: v1, tos: 8}
"""


@contextlib.contextmanager
def sysctl(name, value):
    path = f"/proc/sys/fs/inotify/{name}"
    with open(path) as f:
        before = f.read()
    try:
        with open(path, "w") as f:
            f.write(str(value))
        yield
    finally:
        with open(path, "w") as f:
            f.write(before)


def await_id(w, kind, timeout=10):
    message_id = next(i for i, k in IDS.items() if k == kind)
    w.await_record(MESSAGE_ID=message_id, timeout=timeout)


def provoke_policy(w):
    w.start()
    await_id(w, "policy none")
    await_id(w, "started")
    w.stop()
    await_id(w, "stopped")
    w.policy("version: 1\nrules: [{match: any, tos: 256}]\n")
    check(w.run(["systemctl", "start", "roced"]).returncode != 0, "it starts with a bad policy")
    await_id(w, "policy invalid")
    await_id(w, "fatal")
    shell("systemctl", "reset-failed", "roced")


def provoke_ports(w):
    w.policy(MANY)
    for name, port in (("mock1", "v1v2"), ("mock2", "v2")):
        w.add(name, [port])
    w.add("mock3", nocm=True)
    for name in ("mock4", "mock5"):
        w.add(name, ["v1v2"] * 16, netdev=[])
    w.start()
    for kind in ("policy loaded", "policy warning", "changed", "many changes", "drifted", "unsupported"):
        await_id(w, kind)
    w.foreign_write("mock1", 1, "tos", "8")
    await_id(w, "compliant")
    w.remove("mock5")
    await_id(w, "device gone")
    w.rename("mock4", "a!b")
    w.reload()
    await_id(w, "device name")
    w.remove("a!b")
    await_id(w, "pending")


def provoke_read_only(w):
    shell("mount", "-o", "remount,ro", "/sys/kernel/config")
    try:
        w.add("mock6")
        await_id(w, "failed")
        w.remove("mock1")
        await_id(w, "device failed")
        w.stop()
        await_id(w, "directories left")
    finally:
        shell("mount", "-o", "remount,rw", "/sys/kernel/config")


def provoke_limits(w):
    """The length of a queue is settled when roced starts."""
    os.mkdir("/run/roced/state.json")
    try:
        with sysctl("max_queued_events", 4):
            w.start()
        await_id(w, "unavailable")
    finally:
        os.rmdir("/run/roced/state.json")
    w.await_kernel("mock6", tos=8)
    pid = w.pid()
    shell("kill", "-STOP", pid)
    try:
        for _ in range(10):
            w.foreign_write("mock6", 1, "tos", "8")
            w.foreign_write("mock6", 1, "mode", "IB/RoCE v1")
            w.foreign_write("mock2", 1, "mode", "RoCE v2")
    finally:
        shell("kill", "-CONT", pid)
    await_id(w, "events lost")
    with sysctl("max_user_watches", 1):
        w.add("mock7")
        await_id(w, "watch failed")


@scenario(rings="vm", timeout=180)
def audit_explains_each_record(w):
    """Each kind of record is provoked, and journalctl -x explains it."""
    began = f"@{time.time():.6f}"
    provoke_policy(w)
    provoke_ports(w)
    provoke_read_only(w)
    provoke_limits(w)
    w.stop()

    path, = glob.glob("/usr/lib/systemd/catalog/roced.catalog")
    with open(path) as f:
        catalog = dict(re.findall(r"^-- ([0-9a-f]{32})\nSubject: (.*)$", f.read(), re.M))
    equal(sorted(catalog), sorted(IDS), "ids of the catalog")
    missing = []
    for message_id, kind in IDS.items():
        if kind in FUSE_ONLY:
            continue
        text = shell("journalctl", "-x", "-n1", "--no-pager", f"--since={began}", "--unit=roced",
                     f"MESSAGE_ID={message_id}").stdout
        subject = "Subject: " + re.sub("@[A-Z_]+@", ".+", catalog[message_id])
        if not (re.search(subject, text) and re.search("Defined-By: roced", text)):
            missing.append(f"{kind}: {text!r}")
    if missing:
        raise Failure("not explained: " + "; ".join(missing))


@scenario(rings="fuse")
def audit_records_of_a_kernel_that_blocks(w):
    w.policy(ALL % 8)
    w.start()
    w.fault("mkdir", "block", device="mock0")
    w.add("mock0")
    await_id(w, "blocked", 20)
    w.release()
    await_id(w, "unblocked")
    w.await_port("mock0", tos="ok")
