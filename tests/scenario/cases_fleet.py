# SPDX-License-Identifier: LGPL-2.1-or-later

"""The roll-out of docs/fleet with Ansible, by the commands of its guide: one host, as a canary and as one of the others."""

import contextlib
import json
import os
import re
import shutil
import socket
import threading

from world import check, equal, matches, scenario

FLEET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/fleet")
FILES, BIN, MANAGER = "/run/cwd/ansible", "/run/bin", "/run/manager"
CANARY, OTHER = "storage1.example", "compute1.example"
SYSTEMCTL = f"""#!/usr/bin/python3
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect({MANAGER!r})
    s.sendall(" ".join(sys.argv[1:]).encode())
    s.shutdown(socket.SHUT_WR)
    code, _, text = s.makefile().read().partition(" ")
print(text, end="")
sys.exit(int(code))
"""


class Manager(threading.Thread):
    """The harness as the service manager, for a systemctl that asks it."""

    def __init__(self, w):
        super().__init__(daemon=True)
        self.w, self.enabled, self.asked = w, False, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(MANAGER)
        self.socket.listen()

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            with connection, connection.makefile("rw") as stream:
                stream.write("{} {}".format(*self.answer(stream.read().replace("'", "").split())))

    def answer(self, words):
        verb = words[0]
        if verb == "show":
            running = self.w.daemons and self.w.running()
            return 0, f"LoadState=loaded\nActiveState={'active' if running else 'inactive'}\n"
        if verb == "is-enabled":
            return (0, "enabled\n") if self.enabled else (1, "disabled\n")
        self.asked.append(verb)
        if verb == "enable":
            self.enabled = True
        elif verb in ("start", "reload"):
            getattr(self.w, verb)()
        else:
            return 1, ""
        return 0, ""


class Operator:
    """The files of docs/fleet/ansible, and the named blocks of the guide."""

    def __init__(self, w):
        self.w = w
        shutil.copytree(f"{FLEET}/ansible", FILES)
        os.mkdir(BIN)
        with open(f"{BIN}/systemctl", "w") as f:
            f.write(SYSTEMCTL)
        os.chmod(f"{BIN}/systemctl", 0o755)
        with open(f"{FLEET}/README.md") as f:
            found = re.findall(r"^```sh (\S+)\n(.*?)^```$", f.read(), re.M | re.S)
        self.blocks = dict(found)
        equal(len(self.blocks), len(found), "names of blocks that differ")
        self.left = set(self.blocks)
        self.manager = Manager(w)
        self.manager.start()

    def inventory(self, canaries, others):
        hosts = {name: None for name in canaries + others}
        local = {"ansible_connection": "local", "ansible_become": False}
        with open(f"{FILES}/inventory.yml", "w") as f:
            json.dump({"roced": {"vars": local, "hosts": hosts, "children": {
                "roced_canary": {"hosts": {name: None for name in canaries}}}}}, f)

    def run(self, name, code=0):
        self.left.discard(name)
        tools = f"{BIN}:{os.path.dirname(self.w.binaries['rocectl'])}:{os.environ['PATH']}"
        environment = self.w.environment(PATH=tools, HOME="/run", ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="0",
                                         ANSIBLE_LOCAL_TEMP="/run/local", ANSIBLE_REMOTE_TEMP="/run/remote")
        process = self.w.run(["bash", "-euo", "pipefail", "-c", f"cd {FILES}\n{self.blocks[name]}"], timeout=240, env=environment)
        equal(process.returncode, code, f"exit of block {name}, which said {process.stdout + process.stderr!r}")
        return process.stdout

    def play(self, name, code=0):
        """What ansible-playbook says; {host: (changed, failed)}"""
        text = self.run(name, code)
        recap = re.findall(r"^(\S+example)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=0\s+failed=(\d+)", text, re.M)
        return text, {host: (int(changed), int(failed)) for host, changed, failed in recap}

    @contextlib.contextmanager
    def policy(self):
        """Its template, to be altered; afterwards it is as it was."""
        path = f"{FILES}/templates/policy.yaml.j2"
        with open(path) as f:
            before = f.read()

        def alter(old, new):
            check(old in before, f"the policy has no {old}")
            with open(path, "w") as f:
                f.write(before.replace(old, new))
        try:
            yield alter
        finally:
            with open(path, "w") as f:
                f.write(before)


def states(w):
    return {device["name"]: tuple(device["ports"][0][a]["state"] for a in ("mode", "tos")) for device in w.status()["devices"]}


def plan(w, operator):
    """What "rocectl plan" says that the policy changes, were it enforced."""
    operator.run("render")
    process = w.check_exit(w.rocectl("plan", "--json", "--policy", f"{FILES}/plan.yaml"), 3)
    return sorted(f'{c["device"]}/{c["port"]}: {c["attribute"]} {c["found"]} -> {c["wanted"]}'
                  for c in json.loads(process.stdout)["changes"])


def as_found(w):
    """The directory is the package's. A port for storage, one that somebody put into v1, and one that cannot be anything else."""
    os.makedirs("/etc/roced", exist_ok=True)
    w.add("mlx5_0", netdev=["storage0"])
    w.add("mlx5_1", netdev=["lan0"])
    w.add("old0", ["v1"], netdev=["lan1"])
    w.foreign_mkdir("mlx5_1")
    w.foreign_write("mlx5_1", 1, "mode", "IB/RoCE v1")


@scenario(rings="fuse", timeout=600)
def fleet_canary(w):
    """Check mode is what plan says, and changes nothing. Then it reports, and enforces once the policy fits, and is left alone."""
    as_found(w)
    operator = Operator(w)
    operator.inventory([CANARY], [OTHER])
    text, recap = operator.play("check")
    wanted = plan(w, operator)
    equal(wanted, ["mlx5_0/1: tos 0 -> 104", "mlx5_1/1: mode v1 -> v2"], "plan")
    for host in (CANARY, OTHER):
        told = re.findall(rf'^ok: \[{host}\] => \(item=.*\) => {{\n +"msg": "(.*)"$', text, re.M)
        equal((sorted(told), recap[host][1]), (wanted, 0), f"what check mode says of {host}, and failures")
    equal((operator.manager.asked, os.path.exists("/etc/roced/policy.yaml"), w.writes()), ([], False, []), "what was done")

    operator.inventory([CANARY], [])
    with operator.policy() as alter:
        alter("dscp: 26", "dscp: 260")
        text, recap = operator.play("report", 2)
        matches("0 to 63|0-63", text, "what is said of a bad policy")
        equal((recap[CANARY], os.path.exists("/etc/roced/policy.yaml")), ((0, 1), False), "failure, policy")

    _, recap = operator.play("report")
    equal((recap[CANARY][1], operator.manager.asked), (0, ["enable", "start"]), "failures, and what systemctl was asked")
    equal(states(w), {"mlx5_0": ("ok", "drifted"), "mlx5_1": ("drifted", "unmanaged"), "old0": ("unsupported", "unmanaged")},
          "states")
    equal(w.writes(), [], "writes while it reports")

    operator.inventory([CANARY], [OTHER])
    text, recap = operator.play("canary", 2)
    matches(r"old0/1: mode unsupported", text, "why it stops")
    equal((recap[CANARY][1], OTHER in recap), (1, False), "failure, and whether another host was touched")

    operator.inventory([CANARY], [])
    with operator.policy() as alter:
        alter("{driver: mlx4_core}", '{device: "old*"}')
        _, recap = operator.play("canary")
        equal((recap[CANARY], operator.manager.asked[2:]), ((2, 0), ["reload", "reload"]), "counts, and what systemctl was asked")
        equal(states(w), {"mlx5_0": ("ok", "ok"), "mlx5_1": ("ok", "unmanaged"), "old0": ("ok", "unmanaged")}, "states")
        writes = len(w.writes())
        _, recap = operator.play("enforce")
        equal((recap[CANARY], len(operator.manager.asked), len(w.writes())), ((0, 0), 4, writes), "counts where nothing is to do")
        matches("One host alone|every client reaches", operator.run("compat"), "who reaches whom")


@scenario(rings="fuse", timeout=600)
def fleet_others(w):
    """They report until the last stage. Whom that would cut off is told before."""
    as_found(w)
    operator = Operator(w)
    operator.inventory([], [OTHER])
    with operator.policy() as alter:
        alter("{driver: mlx4_core}", '{device: "old*"}')
        operator.play("canary")
        equal((states(w)["mlx5_1"], w.writes()), (("drifted", "unmanaged"), []), "state and writes while canaries enforce")

        with open(f"{FILES}/status/{OTHER}.json") as f:
            filer = json.load(f)
        filer["host"], filer["devices"] = CANARY, [d for d in filer["devices"] if d["name"] == "old0"]
        with open(f"{FILES}/status/{CANARY}.json", "w") as f:
            json.dump(filer, f)
        operator.run("render")
        matches(f"cut off .* old0/1 of {CANARY}", operator.run("peers", 3), "plan with peers")

        _, recap = operator.play("enforce")
        equal((recap[OTHER][1], states(w)["mlx5_1"]), (0, ("ok", "unmanaged")), "failures, state")
        with open(f"{FILES}/status/{OTHER}.json") as f:
            equal(json.load(f)["compliant"], True, "status that was kept")
    operator.run("compat", 3)
    equal(sorted(operator.left), ["check", "node", "report"], "blocks of the guide that are left to the canary and to tests/fleet/pod")
