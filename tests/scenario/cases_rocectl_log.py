# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl log: the audit trail, as it is in the journal."""

import os
import re
import shutil
import time

from tool import keep_journal, on_terminal
from world import check, equal, matches, scenario

POLICY = "version: 1\nrules: [{name: all, match: any, tos: 8}]\n"
LINE = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|notice|info|debug) (roced|rocectl)\[\d+\]: "


def lines(w, *args, code=0):
    return w.check_exit(w.rocectl("log", *args), code).stdout.splitlines()


def messages(w, *args):
    return [re.sub(f"^{LINE}", "", line) for line in lines(w, *args)]


def record(seconds_ago, message, **fields):
    """One of roced's, from another time."""
    return {"__REALTIME_TIMESTAMP": str(time.time_ns() // 1000 - int(seconds_ago * 1e6)), "MESSAGE": message, "PRIORITY": "5",
            "SYSLOG_IDENTIFIER": "roced", "MESSAGE_ID": "0ca9eb415563471f90c22a4384a34cba", **fields}


@scenario()
def log_of_what_happened(w):
    """Start, change, drift, stop, and what rocectl does itself: all in order, a line each."""
    began = f"@{time.time():.6f}"
    w.add("mock0")
    w.add("mock1")
    w.policy(POLICY)
    w.start()
    w.await_port("mock1", tos="ok")
    w.foreign_write("mock0", 1, "tos", "4")
    w.await_record(ROCED_TRIGGER="drift", ROCED_READBACK="8")
    w.stop()
    w.policy(POLICY.replace("8", "12"))
    w.check_exit(w.rocectl("apply"), 0)
    keep_journal(w)
    found = lines(w, "--since", began)
    for line in found:
        matches(f"^{LINE}\\S", line, "line")
    equal([line[25:] for line in found], [line[25:] for line in lines(w, f"--since={began}", "--no-legend")], "no legend")
    found = messages(w, "mock0", "--since", began)
    equal(found, ["mock0 port 1: tos changed from 0 to 8 (startup, /etc/roced/policy.yaml:2)",
                  "mock0 port 1: tos changed from 4, which another program had set, to 8 (drift, /etc/roced/policy.yaml:2)",
                  "mock0 port 1: tos changed from 8 to 12 (apply, /etc/roced/policy.yaml:2)"], "trail of mock0")
    equal(len(messages(w, "mock0", "mock1", "--since", began)), 5, "records of both")
    whole = messages(w, "--since", began)
    check(any(m.startswith("Started: ") for m in whole) and any(m.startswith("Stopped") for m in whole), f"trail: {whole}")
    programs = [m[2] for m in (re.match(LINE, line) for line in lines(w, "mock0", "--since", began))]
    equal(programs, ["roced", "roced", "rocectl"], "programs")

    document = w.json("log", "mock1", "--since", began, codes=(0,))
    equal(document["schema"], 1, "schema")
    first = document["records"][0]
    equal({k: first[k] for k in ("device", "port", "attribute", "wanted", "found", "readback", "state", "rule", "rule_source",
                                 "trigger", "priority", "errno", "program")},
          {"device": "mock1", "port": 1, "attribute": "tos", "wanted": 8, "found": 0, "readback": 8, "state": "ok",
           "rule": "all", "rule_source": "/etc/roced/policy.yaml:2", "trigger": "startup", "priority": 5, "errno": None,
           "program": "roced"}, "record")
    equal(w.check_exit(w.rocectl("log", "-q", "--since", began), 0).stdout, "", "stdout of -q")
    text, code = on_terminal(w, "log", "mock0", "--no-pager", "--since", began)
    equal((code, len(text.splitlines())), (0, 3), "on a terminal")


@scenario(rings="fuse")
def log_since(w):
    keep_journal(w, record(3 * 86400 + 60, "three days"), record(5000, "more than an hour"), record(3500, "less"), record(5, "now"))
    equal(messages(w), ["three days", "more than an hour", "less", "now"], "all")
    for since, n in (("-1h", 2), ("1 hour ago", 2), ("90min ago", 3), ("-3d", 3), ("-4 days", 4), ("-1s", 0), ("now", 0),
                     ("@0", 4), ("2020-01-01", 4), (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - 4000)), 2),
                     (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 4000)), 2)):
        equal(len(lines(w, "--no-legend", "--since", since)), n, f"records since {since}")
    equal(lines(w, "--since", "now"), ["There are no records."], "what is said of none")
    equal(w.json("log", "--since", "now")["records"], [], "JSON of none")


@scenario(rings="fuse")
def log_keeps_to_its_own(w):
    """Other programs' records, those that other users forge, and lines without an id are no part of the trail."""
    keep_journal(w, record(5, "true"), record(4, "forged", _UID="1000"), record(3, "other", SYSLOG_IDENTIFIER="other"),
                 {k: v for k, v in record(2, "plain line").items() if k != "MESSAGE_ID"},
                 record(1, "odd \x1b[31m \u202e\nnext", ROCED_DEVICE="m\x1b", ROCED_PORT="x", ERRNO="1e", PRIORITY="99",
                        SYSLOG_IDENTIFIER="rocectl"))
    process = w.check_exit(w.rocectl("log"), 0)
    found = process.stdout.splitlines()
    equal(len(found), 2, f"lines of {process.stdout!r}")
    matches(r": true$", found[0], "first")
    matches(r"^\S+ info rocectl\[1\]: odd \\x1b\[31m .*next$", found[1], "second")
    check(not re.search(r"[\0-\x09\x0b-\x1f\x7f\u202e]", process.stdout), "what a terminal obeys")
    odd = w.json("log", codes=(0,))["records"][1]
    equal((odd["port"], odd["errno"], odd["priority"]), ("x", "1e", 99), "values that are no numbers")


@scenario(rings="fuse")
def log_without_journal(w):
    w.add("mock0")
    shutil.rmtree("/run/log", ignore_errors=True)
    with open("/etc/machine-id", "w") as f:
        f.write("0" * 31 + "1\n")
    for args in ([], ["mock0"], ["--json"]):
        process = w.check_exit(w.rocectl("log", *args), 1)
        matches("there is no journal here$", process.stderr, "stderr")
        equal(process.stdout, "", "stdout")
    keep_journal(w, record(5, "secret"))
    for directory, _, files in os.walk("/run/log/journal"):
        for name in files:
            os.chmod(f"{directory}/{name}", 0o600)
    process = w.check_exit(w.rocectl("log", user=65534), 1)
    matches("may read; root and the group", process.stderr, "stderr")


@scenario()
def log_names_and_usage(w):
    w.add("mock0")
    began = f"@{time.time():.6f}"
    w.start()
    keep_journal(w)
    equal(lines(w, "mock0", "--since", began), ["There are no records."], "a device that is there and has none")
    matches("no RDMA device 'mokc0', and no record of one since then",
            w.check_exit(w.rocectl("log", "mokc0", "--since", began), 1).stderr, "stderr")
    for args, pattern in ((["--since"], "argument"), (["--since", "noon"], "takes a time.*'noon'"),
                          (["--since", "2026-02-30"], "takes a time"), (["--since", ""], "takes a time"),
                          (["--since", "\x1b"], r"'\\x1b'"), (["a/b"], "no device can bear"),
                          (["--policy", "x"], "takes no --policy"), (["--timeout", "1"], "log takes no --timeout")):
        process = w.check_exit(w.rocectl("log", *args), 2)
        matches(pattern, process.stderr, f"stderr of {args}")
        equal(process.stdout, "", "stdout")
    matches("status takes no --since", w.check_exit(w.rocectl("status", "--since", "today"), 2).stderr, "stderr")
