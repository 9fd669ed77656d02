# SPDX-License-Identifier: LGPL-2.1-or-later

"""The tool as its users meet it: words and options, what status prints with and without the daemon, for root and for
others, on a terminal and in a pipe, and how it takes what is wrong."""

import errno
import json
import os
import re
import subprocess

from tool import MIXED, mixed, on_terminal, output, program, with_environment
from world import POLICY, check, equal, matches, scenario

VERBS = ("status", "check", "plan", "explain", "apply", "compat", "doctor", "generate", "wait", "log", "metrics")


# Words and options

@scenario()
def usage(w):
    for args, code, where, pattern in (
            (["--version"], 0, "stdout", r"^rocectl \d"), (["--help"], 0, "stdout", "status.*\n.*check"),
            (["-h"], 0, "stdout", "Usage"), ([], 2, "stderr", "Usage"),
            (["stauts"], 2, "stderr", "did you mean 'status'"), (["stat"], 2, "stderr", "unknown verb"),
            (["frobnicate"], 2, "stderr", "--help"), (["status", "--jsn"], 2, "stderr", "did you mean '--json'"),
            (["status", "--js"], 2, "stderr", "unknown option '--js'"), (["status", "-x"], 2, "stderr", "x"),
            (["--policy"], 2, "stderr", "argument"), (["plan", "mock0"], 2, "stderr", "mock0"),
            (["apply", "mock0"], 2, "stderr", "mock0"), (["check", "--policy", "a", "b"], 2, "stderr", "one of them"),
            (["status", "--json=1"], 2, "stderr", "argument"),
            (["stat\x1b[31mus"], 2, "stderr", r"stat\\x1b\[31mus")):
        process = w.check_exit(w.rocectl(*args), code)
        matches(pattern, getattr(process, where), f"{where} of {args}")
        equal(getattr(process, "stdout" if where == "stderr" else "stderr"), "", f"the other stream of {args}")
        check("\x1b" not in process.stderr, "a raw control character")
    for verb in VERBS:
        text = w.check_exit(w.rocectl(verb, "--help"), 0).stdout
        matches(f"^Usage: rocectl {verb}", text, "help")
        check(len(text.splitlines()) <= 24, f"help of {verb} does not fit a screen")
    for verb in ("check", "explain", "log", "metrics"):
        check("3 " not in w.rocectl(verb, "--help").stdout.split("Exit code: ")[1], f"an exit code that {verb} never has")
    for verb in re.findall(r"^  (\w+) ", w.rocectl("--help").stdout, re.M):
        check(verb in VERBS, f"help lists {verb}")


@scenario()
def options_before_and_after(w):
    w.add("mock0")
    w.policy(MIXED)
    w.wait_until(lambda: json.loads(w.rocectl("plan", "-j").stdout)["changes"], "udev has finished with the device")
    first, second = w.rocectl("--json", "plan"), w.rocectl("plan", "-j")
    equal(json.loads(first.stdout)["changes"], json.loads(second.stdout)["changes"], "changes")
    equal(w.check_exit(w.rocectl("-q", "plan"), 3).stdout, "", "stdout of -q")
    equal(w.check_exit(w.rocectl("status", "--quiet"), 3).stdout, "", "stdout of --quiet")
    # What stands after an option that takes a word is that word, whatever it looks like.
    matches("--js", w.check_exit(w.rocectl("plan", "--policy", "--js"), 1).stderr, "policy of an odd name")
    matches("--js", w.check_exit(w.rocectl("status", "--", "--js"), 1).stderr, "device of an odd name")


@scenario()
def result_that_cannot_be_written(w):
    w.add("mock0")
    for verb in ("status", "check", "plan", "apply", "status --json", "--version", "--help", "status --help"):
        process = w.run(["sh", "-c", f"{program(w)} {verb} >/dev/full"])
        equal(process.returncode, 1, f"exit of {verb} where stdout is full")
        matches("No space left", process.stderr, "stderr")


# status

@scenario(rings="fuse")
def status_golden(w):
    mixed(w)
    output(w.check_exit(w.rocectl("status"), 3),
           "DEVICE PORT LINK       STATE        RATE NETDEV MODE TOS   RESULT   RULE",
           "mock0     1 Ethernet   ACTIVE 100 Gb/sec n0     ?→v2 ?→104 unknown  storage rail (policy.yaml:3)",
           "mock1     1 Ethernet   ACTIVE 100 Gb/sec n1     -    ?→8   unknown  watched (policy.yaml:7)",
           "mock2     1 Ethernet   ACTIVE 100 Gb/sec n2     ?→v1 -     unknown  policy.yaml:11",
           "mock3     1 InfiniBand ACTIVE 100 Gb/sec -      -    -     not-roce -",
           "",
           *[f"{what}: the device has no directory in configfs, and only root or the daemon makes one" for what in
             ("mock0/1: mode unknown, wanted v2", "mock0/1: tos unknown, wanted 104", "mock1/1: tos unknown, wanted 8",
              "mock2/1: mode unknown, wanted v1")],
           "Ports: 0 of 3 RoCE ports compliant",
           f"Policy: {w.policy_sha256()[:12]}, /etc/roced/policy.yaml",
           'Daemon: not running; "systemctl start roced" starts it')
    w.start()
    process = w.check_exit(w.rocectl("status"), 3)
    output(process,
           "DEVICE PORT LINK       STATE        RATE NETDEV MODE  TOS RESULT      RULE",
           "mock0     1 Ethernet   ACTIVE 100 Gb/sec n0     v2    104 ok          storage rail (policy.yaml:3)",
           "mock1     1 Ethernet   ACTIVE 100 Gb/sec n1     v2    0→8 drifted     watched (policy.yaml:7)",
           "mock2     1 Ethernet   ACTIVE 100 Gb/sec n2     v2→v1 0   unsupported policy.yaml:11",
           "mock3     1 InfiniBand ACTIVE 100 Gb/sec -      -     -   not-roce    -",
           "",
           "mock1/1: tos drifted, wanted 8, found 0: the rule only reports",
           "mock2/1: mode unsupported, wanted v1, found v2: the port cannot do RoCE v1, the kernel refused it",
           "Ports: 1 of 3 RoCE ports compliant",
           f"Policy: {w.policy_sha256()[:12]}, /etc/roced/policy.yaml",
           *[line for line in process.stdout.splitlines() if line.startswith("Daemon: running since 20")])
    output(w.check_exit(w.rocectl("status", "--no-legend", "mock0", "mock3"), 0),
           "mock0     1 Ethernet   ACTIVE 100 Gb/sec n0     v2   104 ok       storage rail (policy.yaml:3)",
           "mock3     1 InfiniBand ACTIVE 100 Gb/sec -      -    -   not-roce -")
    process = with_environment(w, "LC_ALL=C", "status")
    matches("v2->v1", process.stdout, "arrow in the C locale")
    check(process.stdout.isascii(), "more than ASCII in the C locale")


@scenario()
def status_says_once_what_many_share(w):
    w.add("mock0", ["v2"] * 12)
    w.policy("version: 1\nrules: [{match: {port: 3}, mode: v1}, {match: any, mode: v1, enforcement: report}]\n")
    w.start()
    w.await_port("mock0", 12, "unsupported")
    text = w.check_exit(w.rocectl("status"), 3).stdout
    notes = [line for line in text.splitlines() if re.match("mock0/", line)]
    why = "mode unsupported, wanted v1, found v2: the port"
    equal(notes, [f"mock0/1, mock0/2, mock0/4, mock0/5 and 7 more: {why} has no RoCE v1 GID, only v2",
                  f"mock0/3: {why} cannot do RoCE v1, the kernel refused it"], "notes")


@scenario(rings="fuse")
def status_of_one_device(w):
    w.add("mock0", ["v1v2", "ib"], pci=w.pci[0], guid="248a0703004bf0a4")
    w.policy("version: 1\nrules: [{name: rail, match: any, mode: v1, dscp: 26, ecn: 2, enforcement: report}]\n")
    w.start()
    process = w.check_exit(w.rocectl("status", "mock0"), 3)
    text = re.sub(r"since 20\S+Z", "since THEN", process.stdout)
    equal(text.split("\n\n")[0].splitlines(), [
        "mock0", "    Type: MT4119", "    Driver: mlx5_core", "    Firmware: 16.35.2000",
        "    PCI address: 0000:3b:00.0", "    Function: pf", "    Node GUID: 248a:0703:004b:f0a4", "    System image GUID: 248a:0703:004b:f0a4",
        "    Port 1", "        Link layer: Ethernet", "        State: ACTIVE", "        Physical state: LinkUp",
        "        Rate: 100 Gb/sec", "        Network device: n0", "        Supports: RoCE v1, RoCE v2",
        "        Mode: v2, wanted v1, drifted since THEN: the rule only reports",
        "        TOS: 0 (DSCP 0, ECN 0), wanted 106 (DSCP 26, ECN 2), drifted since THEN: the rule only reports",
        "        Rule: rail (/etc/roced/policy.yaml:2), reports only", "        GIDs:",
        "               0  v1  fe80::ff:fe00:1  n0", "               1  v2  fe80::ff:fe00:2  n0",
        "    Port 2", "        Link layer: InfiniBand", "        State: ACTIVE", "        Physical state: LinkUp",
        "        Rate: 100 Gb/sec", *[line for line in text.splitlines() if line == "        Network device: n1"],
        "        Supports: no RoCE", "        Mode: not known, not-roce since THEN",
        "        TOS: not known, not-roce since THEN",
        "        GIDs:", "               0      fe80::ff:fe00:1",
        "    Note: libibverbs finds no devices: Function not implemented; is ib_uverbs loaded? "
        "GIDs and firmware are from sysfs.",
    ], "detail")
    device, = w.json("status", "mock0")["devices"]
    equal((device["type"], device["firmware"], device["sys_image_guid"]),
          ("MT4119", "16.35.2000", "248a:0703:004b:f0a4"), "detail")
    check(device["verbs_error"], "verbs_error")
    equal(device["ports"][0]["gids"], [{"index": 0, "gid": "fe80::ff:fe00:1", "type": "v1", "netdev": "n0"},
                                       {"index": 1, "gid": "fe80::ff:fe00:2", "type": "v2", "netdev": "n0"}], "GIDs")


@scenario(rings="vm")
def status_by_verbs(w):
    """rxe has a provider: libibverbs tells of it, and agrees with sysfs. The mock device has none: sysfs serves."""
    w.add_rxe("rxe0")
    w.add("mock0", ["v1v2"])
    device, = w.json("status", "rxe0")["devices"]
    equal(device["verbs_error"], None, "verbs_error")
    gids = device["ports"][0]["gids"]
    check(gids and all(g["type"] == "v2" for g in gids), f"GIDs of rxe: {gids}")
    for g in gids:
        with open(f"{w.class_path}/rxe0/ports/1/gid_attrs/ndevs/{g['index']}") as f:
            equal(g["netdev"], f.read().strip(), "netdev of a GID")
    device, = w.json("status", "mock0")["devices"]
    check(device["verbs_error"], "no verbs_error for a device without provider")
    equal({g["type"] for g in device["ports"][0]["gids"]}, {"v1", "v2"}, "GID types")


@scenario()
def status_names_devices(w):
    w.add("mock0")
    w.add("mock1")
    equal([d["name"] for d in w.status("mock1")["devices"]], ["mock1"], "devices")
    process = w.check_exit(w.rocectl("status", "mock1", "mock7", "no\x07such"), 1)
    equal(process.stdout, "", "stdout")
    matches(r"'mock7'.*\n.*no\\x07such", process.stderr, "stderr")
    matches("did you mean 'mock0'", w.check_exit(w.rocectl("status", "mokc0"), 1).stderr, "stderr")


@scenario()
def status_tells_stale_and_invalid(w):
    """The daemon's policy counts; the file on disk is another matter."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    loaded = w.policy_sha256()
    w.start()
    w.await_port("mock0", tos="ok")
    equal(w.status()["policy"]["stale"], False, "stale")
    w.policy("version: 1\nrules: [{match: any, tos: 12}]\n")
    status = w.status()
    equal((status["policy"]["stale"], status["policy"]["sha256"], status["compliant"]), (True, loaded, True), "policy")
    matches("systemctl reload roced", w.check_exit(w.rocectl("status"), 0).stdout, "what to do")
    matches("8→12|8->12", w.check_exit(w.rocectl("status", "--policy", POLICY), 3).stdout, "status by the file")
    equal(w.json("status", "--policy", POLICY)["daemon"]["running"], True, "running")
    w.policy(None)
    equal(w.status()["policy"]["stale"], True, "stale of a file that is gone")
    w.policy("version: 1\nrules: [{match: any, tso: 8}]\n")
    matches("did you mean 'tos'", w.status()["policy"]["error"], "error before roced has seen it")
    w.reload_bad()
    status = w.status()
    equal((status["policy"]["sha256"], status["policy"]["stale"]), (loaded, True), "policy in force")
    matches("policy.yaml:2.*did you mean 'tos'", status["policy"]["error"], "error")
    matches("did you mean 'tos'", w.check_exit(w.rocectl("status"), 0).stdout, "error")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    status = w.status()
    equal((status["policy"]["error"], status["policy"]["stale"]), (None, False), "error of a file that is mended")


@scenario(rings="fuse")
def device_without_ports(w):
    w.sysfs.add_device("mock0", [])
    matches("^No port can be seen.\n", w.check_exit(w.rocectl("status"), 0).stdout, "status")
    matches("^No port of mock0 can be seen.\n", w.check_exit(w.rocectl("explain", "mock0"), 0).stdout, "explain")


@scenario()
def status_with_bad_policy_and_no_daemon(w):
    """The ports are shown all the same, and nobody can say how they stand."""
    w.policy("version: 1\nrules: [{match: any, mode: v3}]\n")
    equal(json.loads(w.check_exit(w.rocectl("status", "--json"), 2).stdout)["compliant"], None, "compliant without a port")
    w.add("mock0")
    w.foreign_mkdir("mock0")
    process = w.check_exit(w.rocectl("status", "--json"), 2)
    status = json.loads(process.stdout)
    equal((status["compliant"], status["policy"]["sha256"]), (None, None), "compliant and sha256")
    matches(r"policy\.yaml:2:", status["policy"]["error"], "error")
    port = w.port("mock0", status=status)
    equal((port["mode"]["state"], port["mode"]["found"], port["rule"]), ("unknown", "v2", None), "mode")
    matches(r"policy\.yaml:2:", process.stderr, "stderr")
    process = w.check_exit(w.rocectl("status"), 2)
    matches(r"\nPolicy: not valid; .*\nDaemon", process.stdout, "the policy's line")
    equal((process.stdout + process.stderr).count("policy.yaml:2:"), 1, "how often the error is told")
    for file, code in ((POLICY, 2), ("/etc/roced/nosuch.yaml", 1)):
        process = w.check_exit(w.rocectl("status", "--policy", file), code)
        equal(process.stdout, "", "stdout")
        matches(re.escape(file), process.stderr, "stderr")


@scenario()
def status_of_unreadable_policy(w):
    """Who may not read the policy is told so, and the ports are shown."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    os.chmod(POLICY, 0o600)
    process = w.rocectl("status", "--json", user=65534)
    equal(process.returncode, 3, f"exit, stderr {process.stderr!r}")
    status = json.loads(process.stdout)
    matches("Permission denied", status["policy"]["error"], "error")
    matches("\nPolicy: not known, .*Permission denied\nDaemon", w.rocectl("status", user=65534).stdout, "the policy's line")
    check("roced_policy_error" not in w.rocectl("metrics", user=65534).stdout, "a metric of what is not known")
    equal(w.port("mock0", status=status)["tos"]["state"], "unknown", "state")
    w.start()
    w.await_port("mock0", tos="ok")
    status = json.loads(w.check_exit(w.rocectl("status", "--json", user=65534), 0).stdout)
    equal((status["policy"]["stale"], w.port("mock0", status=status)["tos"]["state"]), (None, "ok"), "stale and state")


@scenario(rings="fuse")
def status_before_the_daemon_has_looked(w):
    """A device that the daemon has not seen is pending; a state that a killed daemon left counts for nothing."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.start()
    w.add("mock1", announce=False)
    w.add("mock2", ["ib"], announce=False)
    status = w.status()
    equal([w.port(f"mock{i}", status=status)["tos"]["state"] for i in range(3)], ["ok", "pending", "not-roce"], "states")
    matches("has not looked", w.port("mock1", status=status)["tos"]["reason"], "reason")
    equal(status["compliant"], False, "compliant")
    w.kill()
    check(os.path.exists("/run/roced/state.json"), "the killed daemon has left no state")
    status = w.status()
    equal((status["daemon"]["running"], status["daemon"]["since"]), (False, None), "daemon")
    equal(w.port("mock0", status=status)["tos"]["since"], None, "since")


@scenario(rings="fuse")
def status_before_the_daemon_has_told(w):
    """Who holds the lock and has told nothing yet may well have a policy."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.fault("mkdir", "block")
    apply = subprocess.Popen([program(w), "apply"], env=w.environment(), stdout=subprocess.DEVNULL)
    # Not by asking status: before apply has the lock it looks itself, and could block with it.
    w.wait_until(lambda: any(a["result"] == "blocked" for a in w.accesses(program="rocectl")), "apply blocks, with the lock")
    equal(w.status()["daemon"]["running"], True, "whether the lock is held")
    equal(w.status()["policy"], {"sha256": None, "files": [], "stale": None, "error": None}, "policy")
    matches("\nPolicy: not known yet\nDaemon: starting", w.check_exit(w.rocectl("status"), 3).stdout, "text")
    check("roced_policy_" not in w.rocectl("metrics").stdout, "a metric of what is not known")
    equal([f["id"] for f in json.loads(w.rocectl("doctor", "--json").stdout)["findings"]], ["not-compliant"] * 2, "findings")
    w.clear_faults()
    w.release()
    equal(apply.wait(10), 0, "exit of apply")


@scenario(rings="fuse")
def status_tells_what_blocks(w):
    """A kernel that does not answer the daemon holds up nobody who asks how things stand."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.start()
    w.fault("mkdir", "block", device="mock1")
    w.add("mock1")
    w.await_status("mock1", 15)
    w.wait_until(lambda: w.status()["daemon"]["blocked"], "status tells of it")
    text = w.check_exit(w.rocectl("status"), 3).stdout
    matches(r"\nKernel: has not answered since 20\S+Z: .*mock1", text, "status")
    matches(r"\nmock1/1: tos failed, wanted 8: mkdir has blocked in the kernel for \d+ s", text, "note")
    equal(w.status()["daemon"]["blocked"]["device"], "mock1", "device that blocks")
    w.release()
    w.await_port("mock1", tos="ok")
    equal(w.status()["daemon"]["blocked"], None, "blocked in the end")


@scenario(rings="fuse")
def status_without_permission(w):
    """What only root may look at is not known to others; for root it is a failure."""
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.fault("open", "errno", errno.EACCES)
    for user, state, compliant in ((65534, "unknown", None), (0, "failed", False)):
        status = json.loads(w.check_exit(w.rocectl("status", "--json", user=user), 3).stdout)
        tos = w.port("mock0", status=status)["tos"]
        equal((tos["state"], tos["errno"], status["compliant"]), (state, errno.EACCES, compliant), f"seen by user {user}")


@scenario(rings="fuse")
def status_with_odd_state(w):
    """What stands in the state file crashes nobody."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.start()
    for text, code in (("", 1), ("{", 1), ("[]", 1), ('{"schema": 2}', 1), ('{"schema": 1}', 3), ("\0\xff", 1),
                       ('{"schema": 1, "devices": 7, "policy": [], "warnings": {}, "blocked": 1}', 3),
                       ('{"schema": 1, "devices": [null, {"name": 1}, '
                        '{"name": "mock0", "ports": [3, {"port": 1, "tos": [], "rule": 2}]}]}', 3)):
        with open("/run/roced/state.json", "w", encoding="latin1") as f:
            f.write(text)
        for args in (["status"], ["status", "mock0"], ["status", "--json"]):
            process = w.check_exit(w.rocectl(*args), code)
            equal(bool(process.stderr), code == 1, f"something on stderr with {text!r}")


@scenario(rings="fuse")
def names_that_a_terminal_obeys(w):
    """What a name holds never reaches a terminal as it is, and JSON is JSON."""
    w.add("mock0", netdev=["n\x1b[31m\x07"], announce=False)
    w.add("mock1", netdev=["n0"], announce=False)
    with open(f"{w.class_path}/mock1/ports/1/gid_attrs/ndevs/0", "wb") as f:
        f.write(b"n\xff\x7f\xc2\x9b1m\n")
    w.policy('version: 1\nrules: [{name: "a\u202eb", match: any, tos: 8, enforcement: report}]\n')
    for args in (["status"], ["plan"], ["status", "mock0"], ["status", "--json"], ["plan", "--json"], ["check"], ["check", "--json"],
                 ["apply"]):
        process = subprocess.run([program(w), *args], env=w.environment(), capture_output=True)
        told = (process.stdout + process.stderr).decode()   # fails if it is not UTF-8
        check(not re.search(r"[\0-\x09\x0b-\x1f\x7f-\x9f]", told), f"control characters from {args}: {told!r}")
        if args[0] != "check":
            matches(r"n\\(x1b|u001b)\[31m", told, f"the name from {args}")
        if "--json" in args:
            json.loads(told)
        else:
            check("\u202e" not in told, f"text turned round by {args}: {told!r}")


@scenario(rings="fuse")
def names_that_no_path_can_hold(w):
    """sysfs shows "!" where a name has "/"."""
    w.add("mock0")
    for name, told in (("a!b", "an RDMA device has a name .* renames it$"), ("b!a", "2 RDMA devices have names .* renames them$")):
        w.add(name, announce=False, known=False)
        matches(f"(?m)^Warning: {told}", w.check_exit(w.rocectl("status"), 0).stdout, "status")
        matches(f"(?m)^rocectl: {told}", w.check_exit(w.rocectl("plan"), 0).stderr, "plan")


@scenario(rings="fuse")
def status_of_a_device_whose_name_is_no_text(w):
    """JSON cannot hold it, and its files are found all the same."""
    w.add("mock0")
    os.symlink(os.readlink(f"{w.class_path}/mock0"), os.fsencode(w.class_path) + b"/m\xff0")
    process = subprocess.run([program(w), "status", "--json", b"m\xff0"], env=w.environment(), capture_output=True)
    device, = json.loads(process.stdout.decode())["devices"]
    equal((device["name"], device["type"], len(device["ports"][0]["gids"])), ("m\\xff0", "MT4119", 2), "device")


# Terminal

@scenario()
def colour_and_pager(w):
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 0}]\n")
    w.start()
    w.await_port("mock0", tos="ok")
    text, code = on_terminal(w, "status")
    equal(code, 0, "exit on a terminal")
    check("\x1b[32mok" in text, f"no colour on a terminal: {text!r}")
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text, _ = on_terminal(w, "status", **environment)
        check("mock0" in text and "\x1b[" not in text, f"colour in spite of {environment}: {text!r}")
    check("\x1b[32m" in on_terminal(w, "status", NO_COLOR="")[0], "an empty NO_COLOR counts")
    pager = "sed s/^/PAGED/"
    for args, environment, paged in ((["status"], {"SYSTEMD_PAGER": pager}, True), (["plan"], {"SYSTEMD_PAGER": pager}, True),
                                     (["status", "--no-pager"], {"SYSTEMD_PAGER": pager}, False),
                                     (["status"], {"SYSTEMD_PAGER": "", "PAGER": pager}, False),
                                     (["status"], {"SYSTEMD_PAGER": pager, "TERM": "dumb"}, False),
                                     (["status"], {"SYSTEMD_PAGER": pager, "SYSTEMD_PAGERSECURE": "1", "LESS": ""}, False)):
        text, code = on_terminal(w, *args, **environment)
        equal((code, "PAGED" in text), (0, paged), f"exit and paging of {args} with {environment}: {text!r}")
    text, code = on_terminal(w, "status", SYSTEMD_PAGER="true")
    equal(code, 0, "exit where the pager reads nothing")
    check("PAGED" not in with_environment(w, f"TERM=xterm PAGER=false", "status").stdout, "a pager in a pipe")
