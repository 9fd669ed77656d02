# SPDX-License-Identifier: LGPL-2.1-or-later

"""The commands that README and manual show as examples are run, as they stand there. One that is new there is to be named here:
with what comes of it, or why it is not run."""

import errno
import json
import os
import re

from tool import keep_journal
from world import check, equal, matches, scenario

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
V1 = "version: 1\nrules: [{match: any, mode: v1}]\n"


def blocks(document):
    """What stands between lines of three backquotes, policies aside."""
    with open(f"{TOP}/{document}") as f:
        text = f.read()
    if document.endswith(".scd"):
        text = text.replace("\\\\", "\\")
    return [b for b in re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S) if not b.startswith("version:")]


def commands(document):
    """An indented line goes on with the command above it."""
    found = []
    for block in blocks(document):
        for line in block.splitlines():
            if line[:1] == " " and found:
                found[-1] += "\n" + line
            elif line:
                found.append(line)
    return found


def service(w, command):
    """The harness plays the service manager."""
    verb = re.fullmatch(r"systemctl (enable --now|start|stop|reload) roced(?:\.service)?", command)
    check(verb, f"{command}: not for this harness")
    {"enable --now": w.start, "start": w.start, "stop": w.stop, "reload": w.reload}[verb[1]]()


def run(w, command):
    """Exit code and output."""
    path = f"PATH={os.path.dirname(w.binaries['rocectl'])}:{os.environ['PATH']}"
    code, output = 0, ""
    for part in command.split(" && "):
        if part.startswith("systemctl "):
            service(w, part)
            continue
        process = w.run(["env", path, "bash", "-c", part])
        code, output = process.returncode, output + process.stdout + process.stderr
        if code != 0:
            break
    return code, output


def play(w, document, expected):
    """expected: (start of a command, in the order of the document; exit code and pattern of what it says, or why it is not run;
    what goes before it)"""
    found = commands(document)
    equal(len(found), len(expected), f"commands in {document}, which are {found}")
    for command, (start, outcome, *before) in zip(found, expected):
        check(command.startswith(start), f"{document} shows {command!r}, not {start!r}")
        for function in before:
            function()
        if isinstance(outcome, str):
            continue
        code, output = run(w, command)
        equal(code, outcome[0], f"exit of {command!r}, which said {output!r}")
        matches(outcome[1], output, f"what {command!r} says")


def write(name, text):
    os.makedirs(os.path.dirname(f"/run/cwd/{name}"), exist_ok=True)
    with open(f"/run/cwd/{name}", "w") as f:
        f.write(text)


@scenario(rings="fuse")
def examples_of_readme(w):
    w.add("mlx5_0", netdev=["ens1f0"])
    with open(f"{TOP}/README.md") as f:
        w.policy(re.search(r"^```yaml\n(.*?)^```$", f.read(), re.M | re.S)[1])
    demo = "printed by tests/demo"
    build = "installs on the host; the VM ring installs by the same meson"
    table = ["### rocectl status", "DEVICE ", "ibp0s7f1 ", "rocep0s5 ", "rocep0s6 ", "rocep0s6 ", "rocep0s7f0 ", "rocep0s5/1: "]
    shown = commands("README.md")
    counts = [c for c in shown if c not in table and re.match(r"@RUN@|[\w-]+: \d+ passed|\d+ passed", c)]
    play(w, "README.md", [
        *[(start, demo) for start in table],
        *[(line, "printed by tests/run") for line in counts],
        *[(start, build) for start in ("apt install ", "meson setup ", "meson install ", "systemctl daemon-reload")],
        ("rocectl check", (0, "policy.yaml: valid, 3 rules.*\n.*warning: rule 'old filers'")),
        ("rocectl plan", (3, "mlx5_0 .*tos +0 +104 +would change storage")),
        ("systemctl enable --now roced", (0, "")),
        ("rocectl status", (0, "mlx5_0 .* 104 ok +storage(.*\n)*Daemon: running")),
    ])


@scenario(rings="fuse")
def examples_of_the_tool(w):
    w.add("mlx5_0")
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 104}]\n")
    w.start()
    w.await_port("mlx5_0", mode="ok", tos="ok")

    def new_policy():
        write("new.yaml", V1)

    def refused():
        w.policy(V1)
        w.fault("write", "errno", errno.EIO, device="mlx5_0", attribute="mode")
        w.reload()
        w.await_port("mlx5_0", mode="failed")

    def hosts():
        w.clear_faults()
        w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 8}]\n")
        w.reload()
        w.await_port("mlx5_0", mode="ok", tos="ok")
        for name, supported in ("old", ["v1", "v2"]), ("new", ["v2"]):
            status = w.status()
            status["host"] = name
            status["devices"][0]["ports"][0]["supported"] = supported
            write(f"hosts/{name}.json", json.dumps(status))
        new_policy()
    play(w, "docs/rocectl.1.scd", [
        ("rocectl check new.yaml", (0, "new.yaml: valid, 1 rule"), new_policy),
        ("rocectl plan --policy new.yaml", (3, "mlx5_0 .*mode +v2 +v1 +would change")),
        ("rocectl generate > new.yaml", (0, "^$")),
        ("rocectl check new.yaml", (0, "new.yaml: valid, 1 rule")),
        ("rocectl plan --policy new.yaml", (0, "Nothing")),
        ("rocectl status --json |", (0, "^mlx5_0/1\n$"), refused),
        ("rocectl compat hosts/*.json", (0, "2 hosts in 2 states: every client reaches every server"), hosts),
        ("rocectl plan --policy new.yaml --peers hosts/*.json", (3, "mode v1 would cut off from mlx5_0/1 of new\n$")),
        ("rocectl log mlx5_0 --since yesterday", (0, "mlx5_0 port 1: mode failed"), lambda: keep_journal(w)),
        ("roced_port_compliant ", "an expression of Prometheus"),
    ])
    names = re.findall(r"roced_\w+", commands("docs/rocectl.1.scd")[-1])
    text = w.rocectl("metrics").stdout
    for name in names:
        check(re.search(rf"^{name}[ {{]", text, re.M), f"there is no metric {name}")


@scenario(rings="fuse")
def examples_of_the_daemon(w):
    w.add("mlx5_0")
    w.policy(V1)

    def gone():
        equal(w.directories(), [], "directories while drivers are restarted")

    def applied():
        w.stop()
        w.foreign_mkdir("mlx5_0")
        w.foreign_write("mlx5_0", 1, "mode", "RoCE v2")
        w.check_exit(w.rocectl("apply"), 0)
        keep_journal(w)
    openibd = "needs a running systemd: the ring boot has such a drop-in in a VM"
    play(w, "docs/roced.8.scd", [
        ("systemctl enable --now roced.service", (0, "")),
        ("rocectl check && systemctl reload roced.service", (0, "")),
        ("systemctl stop roced.service", (0, "")),
        ("/etc/init.d/openibd restart", "a vendor's script", gone),
        ("systemctl start roced.service", (0, "")),
        ("install -D -m 0644 examples/openibd.conf", (0, ""), lambda: os.symlink(f"{TOP}/docs/examples", "/run/cwd/examples")),
        ("systemctl daemon-reload", openibd),
        ("systemctl add-wants openibd.service roced.service", openibd),
        ("journalctl -u roced -x", (0, "mlx5_0 port 1: mode changed from v2 to v1"), applied),
        ("journalctl ROCED_DEVICE=mlx5_0 ROCED_ATTRIBUTE=mode -o verbose", (0, "ROCED_TRIGGER=apply")),
    ])
    with open("/etc/systemd/system/roced.service.d/openibd.conf") as installed, open(f"{TOP}/docs/examples/openibd.conf") as f:
        equal(installed.read(), f.read(), "the drop-in installed")


@scenario(rings="fuse")
def examples_of_journal_fields(w):
    w.add("mlx5_0")
    w.policy("version: 1\nrules: [{match: any, tos: 104}]\n")
    w.start()
    w.await_port("mlx5_0", tos="ok")
    w.foreign_write("mlx5_0", 1, "tos", "4")
    w.await_record(ROCED_TRIGGER="drift", ROCED_READBACK="104")
    w.fault("write", "errno", errno.EIO, device="mlx5_0", attribute="tos")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.reload()
    w.await_port("mlx5_0", tos="failed")
    keep_journal(w)
    play(w, "docs/roced-journal-fields.7.scd", [
        ("journalctl ROCED_DEVICE=mlx5_0 -o verbose", (0, "ROCED_RULE_SOURCE=/etc/roced/policy.yaml:2")),
        ("journalctl MESSAGE_ID=", (0, "^mlx5_0/1 tos 0 -> 104 startup\nmlx5_0/1 tos 4 -> 104 drift\n$")),
        ("journalctl ROCED_TRIGGER=drift --since yesterday", (0, "tos changed from 4, which another program had set, to 104")),
        ("journalctl ROCED_STATE=failed -x", (0, "tos failed, wanted 8")),
    ])


@scenario(rings="fuse")
def examples_of_policies(w):
    """They are policies, which the corpus's check takes, and there is no other."""
    equal(commands("docs/roced-policy.5.scd"), [], "commands")


@scenario(rings="fuse")
def examples_as_a_reader_sees_them(w):
    """The rendered page has each line of an example as it is run here: no typographic quotes and hyphens, all backslashes."""
    build = os.path.dirname(os.path.dirname(w.binaries["rocectl"]))
    for page in ("rocectl.1", "roced.8", "roced-journal-fields.7", "roced-policy.5"):
        process = w.run(["mandoc", "-T", "utf8", "-O", "width=250", f"{build}/docs/{page}"])
        rendered = [line.strip() for line in re.sub(".\b", "", process.stdout).splitlines()]
        for line in (line for command in commands(f"docs/{page}.scd") for line in command.splitlines()):
            check(line.strip() in rendered, f"{page} shows something else than {line!r}")
