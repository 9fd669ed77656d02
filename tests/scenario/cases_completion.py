# SPDX-License-Identifier: LGPL-2.1-or-later

"""Completion of rocectl's command line. Verbs and options are those of its own help; devices those that are there. bash is
asked always, zsh and fish where they are installed; that they name each verb and option is looked at in any case."""

import os
import pty
import re
import shlex
import shutil

from world import check, equal, scenario

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/completion")
BASH = r"""
source %s
compopt() { printf '(%%s)\n' "${@: -1}"; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_rocectl
printf '%%s\n' "${COMPREPLY[@]}"
"""
OWN = {"--peers": "plan", "--since": "log", "--timeout": "wait"}


def verbs(w):
    found = re.findall(r"^  (\w+) ", w.rocectl("--help").stdout, re.M)
    check(len(found) > 10, f"verbs: {found}")
    return found


def options(w):
    """Those that the help names without a verb, and those that the help of each verb does."""
    def offered(*verb):
        lines = re.findall(r"^ +(-.*?)  ", w.rocectl(*verb, "--help").stdout, re.M)
        return {o for line in lines for o in re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)}
    common, own = offered(), {v: offered(v) for v in verbs(w)}
    equal({v: o & set(OWN) for v, o in own.items() if o & set(OWN)}, {v: {o} for o, v in OWN.items()}, "options of one verb")
    equal(sorted(v for v in own if "--policy" not in own[v]), ["compat", "generate", "log", "wait"], "verbs without --policy")
    return common, own


def host(w):
    """Two devices, and one whose name an expansion would run."""
    w.add("mock0", ["v1v2"] * 2)
    w.add("rocep1", ["v2"])
    os.makedirs(f"{w.class_path}/$(touch ran)/ports/1")


def of_bash(w, *words):
    process = w.run(["bash", "-c", BASH % shlex.quote(f"{FILES}/rocectl.bash"), "bash", "rocectl", *words])
    equal((process.returncode, process.stderr), (0, ""), f"bash at {words}")
    return sorted(process.stdout.split("\n")[:-1]) if process.stdout != "\n" else []


@scenario(rings="fuse")
def completion_of_bash(w):
    host(w)
    common, own = options(w)
    odd = r"\$\(touch\ ran\)"
    for words, found in (
            ([""], verbs(w)), (["--json", ""], verbs(w)), (["--policy", "x", "co"], ["compat"]),
            (["--policy", "=", "x", "do"], ["doctor"]), (["st"], ["status"]), (["nothing", ""], []),
            (["-"], common), (["status", "--no-p"], ["--no-pager"]), *[([v, "-"], own[v]) for v in own],
            (["status", ""], ["mock0", "rocep1", odd]), (["log", "mock0", "r"], ["rocep1"]), (["wait", "$"], [odd]),
            (["wait", "--timeout", "5", "m"], ["mock0"]), (["wait", "--timeout", "=", "5", "m"], ["mock0"]),
            (["wait", "--timeout", ""], []), (["log", "--since", "y"], ["yesterday"]),
            (["log", "--since", "=", "y"], ["yesterday"]),
            (["log", "--since", "="], ["-1h", "now", "today", "yesterday"]),
            (["explain", "mock0"], ["mock0", "mock0/1", "mock0/2"]), (["explain", "mock0/2"], ["mock0/2"]),
            *[([v, ""], []) for v in ("apply", "doctor", "generate", "metrics", "plan")],
            (["check", ""], ["(default)"]), (["plan", "--peers", "a", ""], ["(default)"]),
            (["plan", "--policy", ""], ["(default)"]), (["plan", "--policy", "="], ["(default)"]),
            (["compat", ""], ["(default)", "v1", "v2"])):
        equal([word for word in of_bash(w, *words) if word], sorted(found), f"completion of {words}")
    w.remove("rocep1")
    equal(of_bash(w, "status", "r"), [], "a device that has gone")
    check(not os.path.exists("/run/cwd/ran"), "a device's name was run")


def shell_is_here(name):
    return shutil.which(name) is not None


def check_named(w, name, verb_form, option_form):
    """Each verb and option of the help is in that file, and it has no verb that is not in the help."""
    with open(f"{FILES}/{name}") as f:
        text = f.read()
    common, own = options(w)
    equal(sorted(re.findall(verb_form, text, re.M)), sorted(verbs(w)), f"verbs in {name}")
    for option in common | set(OWN):
        check(re.search(option_form(option), text), f"{name} has no {option}")


@scenario(rings="fuse")
def completion_of_fish(w):
    host(w)
    check_named(w, "rocectl.fish", r"-n 'not __rocectl_verb' -a (\w+)",
                lambda o: rf" -l {o[2:]} " if o[:2] == "--" else rf" -s {o[1:]} ")
    if not shell_is_here("fish"):
        return

    def ask(line):
        script = f"source {shlex.quote(FILES)}/rocectl.fish; complete -C {shlex.quote(line)}"
        process = w.run(["env", "HOME=/run/cwd", "fish", "--no-config", "-c", script])
        equal((process.returncode, process.stderr), (0, ""), f"fish at {line!r}")
        return [answer.split("\t")[0] for answer in process.stdout.splitlines()]
    _, own = options(w)
    odd = "$(touch ran)"
    for line, found in (
            ("rocectl ", verbs(w)), ("rocectl --policy x st", ["status"]), ("rocectl -j explain mock0/", ["mock0/1", "mock0/2"]),
            ("rocectl status ", ["mock0", "rocep1", odd]), ("rocectl log --since y", ["yesterday"]), ("rocectl apply ", []),
            ("rocectl wait --timeout 5 m", ["mock0"]), ("rocectl compat v", ["v1", "v2"]),
            *[(f"rocectl {v} --", {o for o in own[v] if o[:2] == "--"}) for v in own]):
        answers = [a.rstrip("=").replace("\\", "") for a in ask(line)]
        equal(sorted(answers), sorted(found), f"completion of {line!r}")
    check(not os.path.exists("/run/cwd/ran"), "a device's name was run")


@scenario(rings="fuse")
def completion_of_zsh(w):
    host(w)
    check_named(w, "_rocectl", r"^ +'(\w+):[a-z]", lambda o: rf"[{{'),]{o}[=\[,}}]")
    if not shell_is_here("zsh"):
        return

    def ask(line):
        """What it lists on a terminal."""
        pid, fd = pty.fork()
        if pid == 0:
            environment = {**w.environment(), "TERM": "dumb", "HOME": "/run/cwd", "COLUMNS": "80", "LINES": "100"}
            os.chdir("/run/cwd")
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
        # What is typed before its editor has the terminal, which its prompt tells, would go to the terminal's own.
        os.write(fd, (f"fpath=({shlex.quote(FILES)} $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=0; "
                      "RPS1= PS1='REA''DY>'\n").encode())
        heard = b""
        for mark, answer in ((b"READY>", f"{line}\x04\x15print -r -- D''ONE\n"), (b"DONE\r\n", "exit\n")):
            while mark not in heard:
                heard += os.read(fd, 4096)
            os.write(fd, answer.encode())
        os.close(fd)
        os.waitpid(pid, 0)
        return heard.partition(b"READY>")[2].decode()
    common, own = options(w)
    for line, found, absent in (
            ("rocectl ", verbs(w), []), ("rocectl --policy x c", ["check", "compat"], ["status"]),
            ("rocectl status ", ["mock0", "rocep1"], ["apply"]), ("rocectl -j log r", ["rocep1"], ["mock0"]),
            ("rocectl explain ", ["mock0", "mock0/1", "mock0/2", "rocep1/1"], ["apply"]), ("rocectl apply m", [], ["mock0"]),
            ("rocectl log --since ", ["yesterday"], ["mock0"]), ("rocectl compat ", ["v1", "v2"], ["mock0"]),
            *[(f"rocectl {v} -", own[v], common - own[v] | set(OWN) - own[v]) for v in own]):
        listed = set(re.findall(r"[^\s\x07]+", ask(line).partition("\n")[2]))
        check(set(found) <= listed and not set(absent) & listed, f"zsh lists at {line!r}: {listed}")
    check(not os.path.exists("/run/cwd/ran"), "a device's name was run")
