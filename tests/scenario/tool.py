# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the scenarios of rocectl share: how it is run, and a host with something of everything."""

import os
import shlex
import shutil
import subprocess
import time
import uuid

from world import check, equal

MIXED = """version: 1
rules:
  - name: storage rail
    match: {device: mock0}
    mode: v2
    dscp: 26
  - name: watched
    match: {device: mock1}
    tos: 8
    enforcement: report
  - match: {device: mock2}
    mode: v1
"""


def program(w):
    return getattr(w, "binaries", {}).get("rocectl", "rocectl")


def with_environment(w, words, *args):
    """words: "NAME=value" and what else env(1) takes."""
    return w.run(["env", *words.split(), program(w), *args])


def on_terminal(w, *args, **environment):
    """What a terminal gets to see, and the exit code."""
    words = {"TERM": "xterm", "SYSTEMD_PAGER": "", **environment}
    variables = " ".join(f"{k}={shlex.quote(v)}" for k, v in words.items())
    command = f"stty rows 50 cols 250; {variables} {shlex.join([program(w), *args])}"
    process = w.run(["script", "-qefc", command, "/dev/null"], stdin="")
    return process.stdout.replace("\r\n", "\n"), process.returncode


def mixed(w):
    """A port each: as wanted but for the TOS, only watched, not able, InfiniBand."""
    w.add("mock0", ["v1v2"])
    w.add("mock1", ["v1v2"])
    w.add("mock2", ["v2"])
    w.add("mock3", ["ib"])
    w.policy(MIXED)


def output(process, *lines):
    equal(process.stdout.splitlines(), list(lines), f"stdout of {' '.join(process.args)}")


def keep_journal(w, *more):
    """What was logged so far can be read back as on any host. In the fuse world the harness hears the records, and systemd's
    own tool makes a journal of them. more: records to add, with __REALTIME_TIMESTAMP in microseconds."""
    if w.name == "vm":
        w.run(["journalctl", "--sync"])
        return
    machine = uuid.uuid4().hex
    with open("/etc/machine-id", "w") as f:
        f.write(machine + "\n")
    shutil.rmtree("/run/log/journal", ignore_errors=True)
    os.makedirs(f"/run/log/journal/{machine}")
    now = time.time_ns() // 1000
    trusted = {"_UID": "0", "_PID": str(w.daemon.pid if w.daemon else 1), "_HOSTNAME": "host"}
    records = [{"__REALTIME_TIMESTAMP": str(now - int((time.monotonic() - r["_heard"]) * 1e6)), **trusted,
                **{k: v for k, v in r.items() if k[0] != "_"}} for r in w.records()]
    records += [{**trusted, **r} for r in more]
    export = b""
    for n, r in enumerate(sorted(records, key=lambda r: int(r["__REALTIME_TIMESTAMP"]))):
        export += f"__CURSOR=c{n}\n__MONOTONIC_TIMESTAMP={n + 1}\n_BOOT_ID={uuid.UUID(int=1).hex}\n".encode()
        export += b"".join(k.encode() + b"\n" + len(v.encode()).to_bytes(8, "little") + v.encode() + b"\n"
                           if "\n" in v else f"{k}={v}\n".encode() for k, v in r.items()) + b"\n"
    process = subprocess.run(["/lib/systemd/systemd-journal-remote", "--split-mode=none",
                              f"--output=/run/log/journal/{machine}/system.journal", "-"], input=export, capture_output=True)
    check(process.returncode == 0, f"systemd-journal-remote: {process.stderr!r}")
