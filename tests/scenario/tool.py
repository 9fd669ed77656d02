# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the scenarios of rocectl share: how it is run, and a host with something of everything."""

import shlex

from world import equal

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
